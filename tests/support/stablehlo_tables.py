"""
The table of docs/stablehlo.md that the code knows better than a writer: ops that are refused, with their reasons.

`python tests/support/stablehlo_tables.py` writes it into the page, between `<!-- refused -->` and `<!-- end -->`; a test finds a
stale page.
"""

from __future__ import annotations

import re
from pathlib import Path

from mind_translate.stablehlo.table import ROWS
from mind_translate.unsupported import Refused

PAGE = Path(__file__).parents[2] / "docs" / "stablehlo.md"


def refused() -> str:
    """The ops that are refused, by reason."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for name, row in sorted(ROWS.items()):
        if isinstance(row, Refused):
            by_reason.setdefault((row.reason, row.advice), []).append(name)
    lines = ["| reason | what to do | ops |", "| --- | --- | --- |"]
    lines += [f"| {reason} | {advice} | {' '.join(names)} |" for (reason, advice), names in sorted(by_reason.items())]
    return "\n".join(lines)


def written(page: str) -> str:
    """The page with its table."""
    table = re.compile(r"(?<=<!-- refused -->\n).*?(?=<!-- end -->)", re.DOTALL)
    return table.sub(lambda _: refused() + "\n", page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
