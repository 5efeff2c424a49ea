"""
The public test suite of the Python array API standard, run on `mind_array`: eager, and with every call traced and compiled.

    python benchmarks/suites_array.py SUITE [--jit] [--target numpy] [--examples 20] [--only PATTERN] [--write]

SUITE is a checkout of data-apis/array-api-tests; nothing of it is kept here. Tests that cannot pass stand with a reason in
`benchmarks/array_api_skips.txt`. Failures are shown for the ids that development may look at, those whose SHA-256 modulo 10 is
below 3; the others are counted only. `--write` updates the table in `docs/conformance-array.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from hashlib import sha256
from pathlib import Path

from machine import versions

ROOT = Path(__file__).parents[1]
SKIPS = Path(__file__).parent / "array_api_skips.txt"
PAGE = ROOT / "docs" / "conformance-array.md"


_SUMS = {"sum": "all", "visible": "of these visible to development"}


def _ordered(rows: dict[str, Counter[str]]) -> list[str]:
    """The files of the suite, then the sums."""
    return [*sorted(f for f in rows if f not in _SUMS), *_SUMS]


def is_visible(node: str) -> bool:
    """Whether development may look at a test, by its id."""
    return int(sha256(node.encode()).hexdigest(), 16) % 10 < 3


def run(suite: Path, *, jit: bool, target: str, examples: int, only: str | None, workers: int) -> list[dict[str, object]]:
    """The tests of the suite with their outcomes."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        environment = os.environ | {
            "ARRAY_API_TESTS_MODULE": "array_api_jitted" if jit else "mind_array",
            "ARRAY_API_TESTS_VERSION": "2024.12",
            "MIND_ARRAY_JIT_TARGET": target,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": folder,
        }
        command = [sys.executable, "-m", "pytest", "array_api_tests", "-q", "-p", "no:cacheprovider", "--tb=short"]
        command += ["--max-examples", str(examples), "--hypothesis-disable-deadline", "--derandomize"]
        command += ["--json-report", f"--json-report-file={report}", *(["-n", str(workers)] if workers > 1 else [])]
        command += ["-k", only] if only else []
        done = subprocess.run(command, cwd=suite, env=environment, check=False, capture_output=True, text=True)
        if not report.exists():
            raise SystemExit(done.stdout[-3000:] + done.stderr[-3000:])
        return json.loads(report.read_text())["tests"]


def skips() -> dict[str, tuple[str, str]]:
    """The tests that cannot pass: from a pattern of ids to the modes (`eager`, `jit` or both) and the reason."""
    found: dict[str, tuple[str, str]] = {}
    for line in SKIPS.read_text().splitlines() if SKIPS.exists() else ():
        if line.strip() and not line.startswith("#"):
            pattern, modes, reason = (part.strip() for part in line.split(" | ", 2))
            found[pattern] = modes, reason
    return found


def failed(test: dict[str, object]) -> str:
    """The message of a failure."""
    for stage in ("setup", "call", "teardown"):
        crash = test.get(stage, {}).get("crash")  # pyright: ignore
        if crash:
            return str(test[stage].get("longrepr", crash))[-2500:]  # pyright: ignore
    return ""


def main() -> int:
    """Run, count, and say what fails that is not listed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--jit", action="store_true", help="trace, compile and run every call")
    parser.add_argument("--target", default="numpy")
    parser.add_argument("--examples", type=int, default=20)
    parser.add_argument("--only")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--details", type=int, default=0, help="so many failures in full")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    tests = run(
        options.suite,
        jit=options.jit,
        target=options.target,
        examples=options.examples,
        only=options.only,
        workers=options.workers,
    )
    mode = f"jit, {options.target}" if options.jit else "eager"
    known = {p: reason for p, (modes, reason) in skips().items() if mode.split(",")[0] in modes}
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    unexpected: list[dict[str, object]] = []
    hidden = 0
    for test in tests:
        node = str(test["nodeid"])
        file = re.sub(r".*/test_(\w+)\.py.*", r"\1", node)
        outcome = {"passed": "passed", "skipped": "skipped by the suite", "xfailed": "skipped by the suite"}.get(
            str(test["outcome"]), "failed"
        )
        if outcome == "failed":
            listed = any(re.search(pattern, node) for pattern in known)
            outcome = "failed, listed" if listed else "failed"
            if not listed and is_visible(node):
                unexpected.append(test)
            hidden += not listed and not is_visible(node)
        for name in (file, "sum", *(["visible"] if is_visible(node) else [])):
            rows[name][outcome] += 1
    print(f"mode {mode}, {options.examples} examples")
    for file in _ordered(rows):
        print(f"{file:45} {dict(rows[file])}")
    for test in unexpected:
        print("FAILED", test["nodeid"])
    for test in unexpected[: options.details]:
        print("-" * 100, test["nodeid"], failed(test), sep="\n")
    print(f"{len(unexpected)} visible failures, {hidden} others")
    if options.write:
        write(mode, options.examples, rows)
    return 1 if unexpected or hidden else 0


def write(mode: str, examples: int, rows: dict[str, Counter[str]]) -> None:
    """Put the counts of one mode into the page, between its markers."""
    names = ("passed", "failed, listed", "failed", "skipped by the suite")
    lines = [f"| file of the suite | tests | {' | '.join(names)} |", "| --- " * (2 + len(names)) + "|"]
    for file in _ordered(rows):
        lines.append(f"| {_SUMS.get(file, file)} | {rows[file].total()} | {' | '.join(str(rows[file][n]) for n in names)} |")
    text = PAGE.read_text(encoding="utf-8")
    body = f"\n{examples} examples per test; {versions(('numpy', 'hypothesis', 'xdsl'))}.\n\n" + "\n".join(lines) + "\n\n"
    found = re.sub(rf"(?<=<!-- {re.escape(mode)} -->\n).*?(?=<!-- end -->)", lambda _: body, text, count=1, flags=re.DOTALL)
    PAGE.write_text(found, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
