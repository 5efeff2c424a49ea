"""
The harnesses of JAX's own tests on our executors: values, and our reverse mode against JAX's.

    python benchmarks/suites_jax.py [--executors numpy,native] [--visible] [--most 40] [--only TEXT] [--write FILE]

They come with the wheel of JAX (`jax._src.internal_test_util.test_harnesses`). At most so many of a group run, chosen by hashes
of their names. A group is visible if `int(sha256(name), 16) % 10 < 3`; rows are written for visible groups only. Each of
`--processes` processes judges its share and is started again where a case ends it; a run goes on where the last one stopped,
unless sources changed. The status is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import dataclasses
import faulthandler
import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from suites import Case, Outcome, shown_reason, table, write_part

from mind_translate.stablehlo.table import ROWS
from mind_translate.unsupported import Refused

ROOT = Path(__file__).parents[1]
STATE = ROOT / ".suites"
SOURCES = ("mind_dialect", "passes", "lowering", "runtime", "translate", "array", "bridges", "benchmarks/*.py")
SECONDS = 300
"""After which the process of a case ends."""


def digest(options: Sequence[str]) -> str:
    """Return a name for all that decides the outcome of a case."""
    found = hashlib.sha256(repr([version("jax"), version("numpy"), *options]).encode())
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern if "*" in pattern else f"{pattern}/**/*.py")):
            found.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def judge_share(file: Path, share: int, shares: int, options: argparse.Namespace) -> None:
    """Judge every so many-th harness that the file does not have yet; a line says that a case begins, one what became of it."""
    from jax_harnesses import harnesses, run_case

    known = {record["name"] for record in records(file)}
    with file.open("a", encoding="utf-8") as lines:
        for i, harness in enumerate(harnesses(visible=options.visible, most=options.most)):
            if i % shares != share or harness.fullname in known or options.only not in harness.fullname:
                continue
            print(json.dumps({"name": harness.fullname, "group": harness.group_name}), file=lines, flush=True)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            case = run_case(harness, options.executors.split(","))
            faulthandler.cancel_dump_traceback_later()
            outcomes = {key: dataclasses.astuple(outcome) for key, outcome in case.outcomes.items()}
            print(json.dumps({"name": harness.fullname, "ops": sorted(case.ops), "outcomes": outcomes}), file=lines, flush=True)


def records(file: Path) -> list[dict[str, object]]:
    """Return the lines of a file, but for one that was cut off."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def run(options: argparse.Namespace) -> dict[str, list[Case]]:
    """Judge all harnesses in processes; return the cases of each group."""
    fixed = [options.executors, str(options.visible), str(options.most), options.only, str(options.processes)]
    folder = STATE / f"jax-{digest(fixed)}"
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{share}.jsonl" for share in range(options.processes)]
    command = [sys.executable, __file__, "--executors", options.executors, "--most", str(options.most), "--only", options.only]
    command += ["--visible"] if options.visible else []
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "MIND_NUM_THREADS": "1"}

    def start(share: int) -> tuple[subprocess.Popen[bytes], int]:
        place = ["--share", f"{share}/{options.processes}", "--file", str(files[share])]
        return subprocess.Popen([*command, *place], env=environment, stdout=subprocess.DEVNULL), len(records(files[share]))

    running = {share: start(share) for share in range(options.processes)}
    while running:
        share, (process, known) = running.popitem()
        if process.wait() == 0:
            continue
        if len(records(files[share])) == known:
            raise SystemExit("the harnesses cannot be run; see above")
        running[share] = start(share)
    return gathered(files)


def gathered(files: Sequence[Path]) -> dict[str, list[Case]]:
    """Return the cases of each group; one that ended its process is wrong."""
    cases: dict[str, Case] = {}
    groups: dict[str, str] = {}
    for record in (record for file in files for record in records(file)):
        name = str(record["name"])
        case = cases.setdefault(name, Case(name, frozenset(), {"values": Outcome("wrong", ("the process ended",))}))
        if "group" in record:
            groups[name] = str(record["group"])
        else:
            case.ops = frozenset(record["ops"])  # pyright: ignore[reportArgumentType]
            outcomes: Mapping[str, tuple[str, list[str]]] = record["outcomes"]  # pyright: ignore[reportAssignmentType]
            case.outcomes = {key: Outcome(status, tuple(reasons)) for key, (status, reasons) in outcomes.items()}
    found: dict[str, list[Case]] = {}
    for name in sorted(cases):
        found.setdefault(groups[name], []).append(cases[name])
    return found


def counted(found: Mapping[str, Sequence[Case]], kind: str, executor: str) -> Counter[str]:
    """Return how many cases have each outcome."""
    return Counter(
        c.outcomes[key].status for cases in found.values() for c in cases if (key := f"{kind} {executor}") in c.outcomes
    )


def part(found: Mapping[str, Sequence[Case]], options: argparse.Namespace) -> str:
    """Return the results as Markdown."""
    executors: list[str] = options.executors.split(",")
    which = "its visible groups" if options.visible else "all its groups"
    lines = ["## Harnesses of JAX", "", HEAD.format(version=version("jax"), which=which, most=options.most, kept=not_compared())]
    lines += table(["suite", "executor", "cases", "passed", "refused", "wrong"])
    for kind in KINDS:
        for executor in executors:
            n = counted(found, kind, executor)
            cells = [f"JAX harnesses, {kind}", executor, n.total(), n["passed"], n["refused"], n["wrong"]]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    cases = [c for group in found.values() for c in group]
    outcomes = [(c, key, o) for c in cases for key, o in c.outcomes.items()]
    known = {group: [c for c in members if has_rows(c)] for group, members in found.items()}
    shares = [f"{n['passed']} of {n.total()} {kind}" for kind in KINDS for n in [counted(known, kind, executors[0])]]
    lines += ["", f"Where every op has a row, {' and '.join(shares)} pass on {executors[0]}."]
    in_f32 = len({c.name for c, _, o in outcomes if o.status == "passed" and o.reasons})
    lines += [f"{in_f32} VJPs were judged so.", "", "### Refused by the import or the executor", ""]
    lines += table(["reason", *KINDS])
    reasons = Counter({(r, key.split()[0], c.name) for c, key, o in outcomes if o.status == "refused" for r in o.reasons})
    by_kind = {kind: Counter(reason for reason, k, _ in reasons if k == kind) for kind in KINDS}
    for reason in sorted({r for r, _, _ in reasons}):
        lines.append(f"| {shown_reason(reason)} | {' | '.join(str(by_kind[kind][reason]) for kind in KINDS)} |")
    lines += ["", "### By group", ""]
    lines += table(["group", *(name for kind in KINDS for name in (kind, *(f"passed ({e})" for e in executors)))])
    for group, members in found.items():
        cells = [cell for kind in KINDS for cell in _cells({group: members}, kind, executors)]
        lines.append(f"| {group} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def not_compared() -> str:
    """Return a list of the harnesses whose VJPs are not compared, and why."""
    from jax_harnesses import NOT_COMPARED

    return "\n".join(f"- `{name}`: {reason}" for name, reason in NOT_COMPARED.items())


def has_rows(case: Case) -> bool:
    """Whether every op of a case has a row, and every custom call."""
    reasons = [reason for outcome in case.outcomes.values() if outcome.status == "refused" for reason in outcome.reasons]
    calls = any(": a custom call of " in reason for reason in reasons)
    return not calls and not any(isinstance(ROWS.get(op), Refused) for op in case.ops - {"stablehlo.return"})


def _cells(found: Mapping[str, Sequence[Case]], kind: str, executors: Sequence[str]) -> list[int]:
    """The cells of a group: how many cases, and how many pass on each executor."""
    counts = [counted(found, kind, e) for e in executors]
    return [counts[0].total(), *(n["passed"] for n in counts)]


KINDS = ("values", "VJPs")
HEAD = """\
`make suites-jax` writes this part: the harnesses that come with JAX {version} (`jax._src.internal_test_util.test_harnesses`).
This run took {which}, at most {most} cases of each, by hashes of their names. A group is visible if
`int(sha256(name), 16) % 10 < 3`.

Each case is lowered to StableHLO, imported and run, and compared with what JAX computes, by the tolerances above. Where JAX has
a derivative of reverse mode, ours of the imported program is compared with it, for a random cotangent. JAX differentiates
functions, we the ops that they are lowered to. Adjoints of these may be rounded more often, and leave the range of f16 where the
result does not, so f16 and bf16 that differ are judged in f32, Cholesky factors of f32 in f64. Of a Cholesky factor one triangle
is compared, of eigenvectors and singular vectors the squares of absolute values, of a sort that is not stable the first key, of
an approximate top-k the values, as nothing else is determined.

These VJPs are not compared. The list was written by looking at all groups, so the figures are no blind score:

{kept}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the harnesses and write their part of the page."""
    parser = argparse.ArgumentParser(description="the harnesses of JAX on our executors")
    parser.add_argument("--executors", default="numpy,native")
    parser.add_argument("--visible", action="store_true", help="run visible groups only")
    parser.add_argument("--most", type=int, default=40, help="cases of a group")
    parser.add_argument("--only", default="", help="harnesses whose names hold this text")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", type=Path, help="the page with a part to write")
    parser.add_argument("--share", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.share is not None:
        share, shares = map(int, options.share.split("/"))
        judge_share(options.file, share, shares, options)
        return 0
    found = run(options)
    text = part(found, options)
    if options.write is None:
        print(text)
    else:
        write_part(options.write, text, first=False)
    wrong = [(c.name, key, o) for cases in found.values() for c in cases for key, o in c.outcomes.items() if o.status == "wrong"]
    for name, key, outcome in wrong:
        print(f"wrong: {key}: {name}: {outcome.reasons[0]}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
