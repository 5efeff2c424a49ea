"""The command line of the fuzz farm."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from . import page
from .child import unpacked
from .farm import Farm
from .judge import ROOT, Finding, judge
from .kinds import all_kinds


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the farm, write the page, return whether there are findings."""
    parser = argparse.ArgumentParser("fuzz", description="generated inputs, each of which must be accepted or refused by a code")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--inputs", type=int, default=sys.maxsize, help="stop after so many inputs of this and earlier runs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append", help="only this kind of inputs; may be given several times")
    parser.add_argument("--fresh", action="store_true", help="forget earlier runs")
    parser.add_argument("--list", action="store_true", help="name the kinds and run nothing")
    parser.add_argument(
        "--try", dest="file", type=Path, help="try the input in this file, of the one --kind, and show what it does"
    )
    parser.add_argument("--folder", type=Path, default=ROOT / ".fuzz", help="where counts and findings are kept")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results", help="where fuzz.md is written")
    options = parser.parse_args(arguments)
    known = all_kinds()
    if unknown := set(options.kind or ()) - known.keys():
        parser.error(f"unknown kind {sorted(unknown)[0]!r}, expected one of {list(known)}")
    chosen = [kind for name, kind in known.items() if not options.kind or name in options.kind]
    if options.list:
        print(*known, sep="\n")
        return 0
    if options.file is not None:
        found = judge(chosen[0], options.file.read_bytes())
        print(f"{found.cause}\n{found.detail}" if isinstance(found, Finding) else found)
        return int(isinstance(found, Finding))
    if options.fresh:
        (options.folder / "state.json").unlink(missing_ok=True)
    farm = Farm(options.folder, chosen, options.seed)
    try:
        farm.load()
        for name, path in farm.regressions():
            farm.try_one(name, path.read_bytes())
        farm.run(options.seconds, options.inputs)
    finally:
        farm.child.close()
        farm.save()
        _write_findings(farm)
        if not options.kind:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / "fuzz.md").write_text(page.page(farm), encoding="utf-8")
    print(page.page(farm))
    return int(any(tally.findings for tally in farm.tallies.values()))


def _write_findings(farm: Farm) -> None:
    """Write each example of a finding as a file that `--try` reads, and its traceback as another file."""
    for name, tally in farm.tallies.items():
        folder = farm.folder / name.replace(" ", "-").lower()
        for number, (cause, examples) in enumerate(sorted(tally.findings.items())):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.txt").write_text(f"{cause}\n{tally.details.get(cause, '')}", encoding="utf-8", errors="replace")
            for i, data in enumerate(examples):
                (folder / f"{number}.{i}.input").write_bytes(unpacked(data))


if __name__ == "__main__":
    sys.exit(main())
