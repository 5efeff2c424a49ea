"""
What README.md says of speed: rows of benchmarks/results/native.md, as they stand there.

`python tests/support/result_tables.py` writes them into the page, between `<!-- fast -->` and `<!-- end -->`; a test finds a
stale page.
"""

from __future__ import annotations

import re
from pathlib import Path

from ptir_tables import table

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results" / "native.md"
SHOWN = (
    "20 ops on 8 elements",
    "8 ops on 10 million elements",
    "layer norm, value and gradients",
    "training step of 784-512-256-10",
    "a token of GPT-2 small",
    "ResNet34, one image",
    "convolution 3x3, 56x56x64",
)
"""The workloads that the page shows: small ones and large ones, where ours is ahead and where it is not."""


def fast() -> str:
    """A row per workload; ValueError for one that was not measured."""
    text = RESULTS.read_text(encoding="utf-8")
    measured = {cells[0]: cells for line in text.splitlines() if (cells := [c.strip() for c in line.strip("|").split("|")])[1:]}
    if absent := [name for name in SHOWN if name not in measured]:
        raise ValueError(f"{RESULTS.name} has no row {absent[0]!r}")
    rows = [[name, measured[name][1], measured[name][2], measured[name][3].partition(" ")[0]] for name in SHOWN]
    return table(["workload", "ours", "best peer", "its time / ours"], rows)


def filled(page: str) -> str:
    """The page with the table as the results have it now."""
    place = re.compile(r"(?<=<!-- fast -->\n).*?(?=<!-- end -->)", re.DOTALL)
    content = f"\n{fast()}\n\n"
    return place.sub(lambda _: content, page, count=1)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
