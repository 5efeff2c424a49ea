"""
The tables of docs/errors.md: every coded error, by the first digit of its code.

`python tests/support/error_tables.py` writes them into the page, between `<!-- name -->` and `<!-- end -->`; a test finds a stale
page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from mind_dialect.errors import CATALOGUE
from ptir_tables import table

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "errors.md"
PACKAGES = ("mind_dialect", "passes", "lowering", "runtime", "translate", "array", "bridges", "tools")


@cache
def raised() -> set[str]:
    """The codes that stand between quotes in our packages, outside of the catalogue and its cures."""
    tables = {ROOT / "mind_dialect" / name for name in ("errors.py", "error_cures.py")}
    files = (f for package in PACKAGES for f in (ROOT / package).rglob("*.py") if f not in tables)
    return {code for file in files for code in re.findall(r"[\"'](E\d{4})[\"']", file.read_text(encoding="utf-8"))}


def errors(family: str) -> str:
    """The codes of one family; those that nothing raises say so."""
    found = raised()
    rows = [
        [code, entry.name if code in found else f"{entry.name}; nothing here raises it", entry.category, ", ".join(entry.context)]
        for code, entry in CATALOGUE.items()
        if code.startswith(family)
    ]
    return table(["code", "problem", "category", "context"], rows)


TABLES: dict[str, Callable[[], str]] = {family: partial(errors, family) for family in sorted({code[:2] for code in CATALOGUE})}


def filled(page: str) -> str:
    """The page with every table as the code has it now; ValueError if the page has no place for one."""
    for name, make in TABLES.items():
        place = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- end -->)", re.DOTALL)
        if place.search(page) is None:
            raise ValueError(f"docs/errors.md has no place for the table {name!r}")
        content = f"\n{make()}\n\n"
        page = place.sub(lambda _, content=content: content, page, count=1)
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
