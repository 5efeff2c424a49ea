"""
The sources of the documentation site, staged for mkdocs: committed pages, generated reference, and the files that they link.

`make docs` runs `python tests/support/site_sources.py .site/src`. The stage has the layout of the checkout, so a relative
link leads to the same file in both.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import reference_pages

ROOT = Path(__file__).parents[2]
PATTERNS = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**/*.md", "docs/**/*.svg", "docs/*.css"),
    "benchmarks/results/*.md",
)
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"^```(\w+) ([\w./-]+)$", re.MULTILINE)
"""The first line of a block with the name of its file, which Markdown's extension writes as a title."""
TARGET = re.compile(r"\]\((?![a-z]+://|mailto:)([^)#\s]+)")


def committed() -> list[Path]:
    """The pages and figures of the checkout that are on the site, relative to it."""
    return sorted({file.relative_to(ROOT) for pattern in PATTERNS for file in ROOT.glob(pattern)})


def linked(page: Path) -> set[Path]:
    """The files of the checkout that a page links, relative to it; links that lead nowhere are left for mkdocs to report."""
    text = FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    targets = ((ROOT / page.parent / target).resolve() for target in TARGET.findall(text))
    return {target.relative_to(ROOT) for target in targets if target.is_file() and target.is_relative_to(ROOT)}


def titled(text: str) -> str:
    """A page with the names of files as titles of their blocks."""
    return NAMED.sub(r'```\1 title="\2"', text)


def stage(folder: Path) -> None:
    """Write all sources of the site to `folder`, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = [file for file in committed() if file.suffix == ".md"]
    for file in {*committed(), *(target for page in pages for target in linked(page))}:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            (folder / file).write_text(titled((ROOT / file).read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / file, folder / file)
    for name, text in reference_pages.pages().items():
        (folder / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
