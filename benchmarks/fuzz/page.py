"""The page of results."""

from __future__ import annotations

import subprocess

from .farm import SOURCES, Farm, Tally
from .judge import ROOT

MOST = 6
"""Codes that a row names; the others are counted together."""


def page(farm: Farm) -> str:
    """Return a row for each kind of inputs, then the findings with their causes."""
    tallies = farm.tallies
    head = (
        "# Fuzzing\n\n"
        f"Generated inputs with seed {farm.seed} {revision()}, and what became of them.\n"
        "`make fuzz SECONDS=600` writes this page and goes on where it was stopped while the sources are the same;\n"
        "`benchmarks/fuzz` says what each kind of inputs is.\n\n"
        "| kind | inputs | accepted | refused | by code | findings |\n|---|---|---|---|---|---|\n"
    )
    rows = [_row(name, tally) for name, tally in tallies.items()]
    sums = [sum(t.inputs for t in tallies.values()), sum(t.results["accepted"] for t in tallies.values())]
    causes = sum(len(t.counts) for t in tallies.values())
    refused = sum(_refused(t) for t in tallies.values())
    rows.append(f"| all | {sums[0]:,} | {sums[1]:,} | {refused:,} | | {causes} |")
    found = [f"- {name}: {cause}, {n} inputs" for name, t in tallies.items() for cause, n in sorted(t.counts.items())]
    return head + "\n".join(rows) + "\n\n## Findings\n\n" + ("\n".join(found) or "None.") + "\n"


def revision() -> str:
    """Return which commit the sources are of, in words."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", *SOURCES)
        return f"{'on changed sources of' if changed else 'at'} commit {git('rev-parse', '--short=10', 'HEAD')}"
    except (OSError, subprocess.CalledProcessError):
        return "outside of a checkout"


def _refused(tally: Tally) -> int:
    return tally.results.total() - tally.results["accepted"]


def _row(name: str, tally: Tally) -> str:
    codes = sorted(((n, code) for code, n in tally.results.items() if code != "accepted"), key=lambda row: (-row[0], row[1]))
    shown = [f"{code} {n:,}" for n, code in codes[:MOST]]
    if rest := sum(n for n, _ in codes[MOST:]):
        shown.append(f"{len(codes) - MOST} others {rest:,}")
    cells = (
        f"{tally.inputs:,}",
        f"{tally.results['accepted']:,}",
        f"{_refused(tally):,}",
        ", ".join(shown),
        str(len(tally.counts)),
    )
    return f"| {name} | {' | '.join(cells)} |"
