"""
The tests of the CuPy target on a GPU, in slices of less than ten minutes that go on where the last run stopped.

    python tests/on_gpu.py [--again] [--minutes 9] [--only WORD] [--list]

Each slice is a process: the tables of tests on the GPU, then the same kernels under compute-sanitizer where that is installed.
What came out is kept in `.gpu/tests.json`. Without a GPU nothing runs, and that is said. The status is 0 if all slices passed, 1
if one failed, 2 without a GPU, 3 if slices are left for another run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = (".", "passes", "lowering", "runtime", "translate", "array", "tools")
"""Where the packages are, so that nothing need be installed."""
LONGEST = 540
"""Seconds of a slice at most."""


@dataclass(frozen=True)
class Slice:
    """Tests that run in one process, perhaps under a tool of compute-sanitizer."""

    name: str
    tests: tuple[str, ...]
    tool: str | None = None

    def command(self) -> list[str]:
        """What runs it."""
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", *self.tests]
        if self.tool is None:
            return pytest
        return ["compute-sanitizer", "--tool", self.tool, "--error-exitcode", "9", "--target-processes", "all", *pytest]


def slices() -> list[Slice]:
    """One for each file of tests of the target, and for those with kernels one for each tool."""
    files = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests/runtime/cupy").glob("test_*.py"))
    found = [Slice(Path(f).stem, (f,)) for f in files]
    kernels = [f for f in files if Path(f).stem.startswith("test_cupy")]
    return [*found, *(Slice(f"{tool} {Path(f).stem}", (f,), tool) for tool in ("memcheck", "racecheck") for f in kernels)]


def gpu() -> str | None:
    """The GPU that CuPy finds; None without one."""
    code = "import cupy; print(cupy.cuda.runtime.getDeviceProperties(0)['name'].decode(), cupy.__version__)"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None if done.returncode == 0 else None


def run(part: Slice) -> dict[str, object]:
    """Run a slice: how it ended, how long it took, the end of what it said."""
    path = os.pathsep.join(str(ROOT / f) for f in FOLDERS)
    environment = {**os.environ, "MIND_TEST_GPU": "1", "PYTHONPATH": path + os.pathsep + os.environ.get("PYTHONPATH", "")}
    start = time.monotonic()
    try:
        done = subprocess.run(
            part.command(), cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
        )
        status, said = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as e:
        status, said = -1, f"longer than {LONGEST} s\n{(e.stdout or b'').decode(errors='replace')}"
    return {"status": status, "seconds": round(time.monotonic() - start), "said": said[-6000:]}


def main(argv: Sequence[str] | None = None) -> int:
    """Run what has not passed yet."""
    parser = argparse.ArgumentParser(description="the tests of the CuPy target on a GPU")
    parser.add_argument("--again", action="store_true", help="run also what has passed")
    parser.add_argument("--minutes", type=float, default=9.0, help="after which no slice is begun any more")
    parser.add_argument("--only", default="", help="slices whose names have this word")
    parser.add_argument("--list", action="store_true", help="say which slices there are, and how they ended")
    parser.add_argument("--kept", type=Path, default=ROOT / ".gpu" / "tests.json", help="where results are kept")
    options = parser.parse_args(argv)
    every = [s for s in slices() if options.only in s.name]
    held: dict[str, dict[str, object]] = json.loads(options.kept.read_text()) if options.kept.exists() else {}
    if options.list:
        for part in every:
            print(f"{part.name}: {shown(held.get(part.name))}")
        return 0
    found = gpu()
    if found is None:
        print(f"SKIPPED: {len(every)} slices of tests of the CuPy target, as CuPy finds no GPU here")
        return 2
    print(f"on {found}")
    end, left, failed = time.monotonic() + 60 * options.minutes, 0, 0
    for part in every:
        if part.tool is not None and shutil.which("compute-sanitizer") is None:
            print(f"{part.name}: SKIPPED, no compute-sanitizer")
            continue
        if options.again or held.get(part.name, {}).get("status") != 0:
            if time.monotonic() > end:
                left += 1
                continue
            held[part.name] = {**run(part), "on": found}
            options.kept.parent.mkdir(parents=True, exist_ok=True)
            options.kept.write_text(json.dumps(held, indent=1))
        failed += held[part.name]["status"] != 0
        print(f"{part.name}: {shown(held[part.name])}", flush=True)
    if left:
        print(f"{left} slices are left for another run")
    return 1 if failed else 3 if left else 0


def shown(result: dict[str, object] | None) -> str:
    """How a slice ended, in a line; what failed in full."""
    if result is None:
        return "not run yet"
    last = str(result["said"]).strip().splitlines()[-1:] or [""]
    return f"passed: {last[0]}" if result["status"] == 0 else f"FAILED ({result['status']}):\n{result['said']}"


if __name__ == "__main__":
    raise SystemExit(main())
