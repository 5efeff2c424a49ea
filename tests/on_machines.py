"""
The tests of native code and of the tools as on other machines and in other processes than the one at hand.

    python tests/on_machines.py [--only WORD] [--sample N] [--list] [TESTS ...]

A circumstance is an instruction set (with NumPy and its BLAS held to it too), a number of threads, an ignored signal, a user
without privileges, a HOME that cannot be written to, another locale and time zone, or cores that other processes use. Each runs
pytest in a process of its own. The status is 0 if all pass. With `--sample N` one test in N runs, always the same ones.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from machines import RUNNABLE, environment  # noqa: E402

NATIVE = ("tests/runtime/native", "tests/lowering/native")
TOOLS = ("tests/tools", "tests/runtime/test_program.py", "tests/runtime/test_donation.py")


@dataclass(frozen=True)
class Circumstance:
    """One circumstance of a test run: variables, the command that starts it, a step in its process, hogs of other cores."""

    name: str
    variables: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    first: Callable[[], object] | None = None
    hogs: int = 0
    tests: tuple[str, ...] = (*NATIVE, *TOOLS)


def without_privileges() -> tuple[str, ...]:
    """Return the command that runs another without root's right to read and write every file, where this process may do so."""
    prefix = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
    if os.geteuid() != 0 or shutil.which(prefix[0]) is None:
        return ()
    works = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    return prefix if works else ()


def alone() -> None:
    """Keep this process on one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def ignore_interrupts() -> None:
    """Do as a shell does for jobs in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def closed_files() -> None:
    """Give new files to their owner alone."""
    os.umask(0o077)


def circumstances(home: Path) -> list[Circumstance]:
    """Return all of them; `home` is a folder that cannot be written to."""
    elsewhere = {"CI": "true", "HOME": str(home), "XDG_CACHE_HOME": "", "LC_ALL": "C", "LANG": "", "TZ": "Pacific/Kiritimati"}
    by_isa = [Circumstance(isa, environment(isa)) for isa in RUNNABLE]
    least = environment(RUNNABLE[-1])
    return [
        *by_isa,
        Circumstance("one thread, one core", {"MIND_NUM_THREADS": "1"}, first=alone),
        Circumstance("64 threads", {"MIND_NUM_THREADS": "64"}),
        Circumstance("SIGINT ignored", first=ignore_interrupts),
        Circumstance("another user's files", elsewhere, without_privileges(), closed_files),
        Circumstance("busy cores", hogs=2 * (os.cpu_count() or 1)),
        # The least of everything at once, which is what a run before each change has time for.
        Circumstance("least", {**least, **elsewhere, "MIND_NUM_THREADS": "1"}, without_privileges(), ignore_interrupts),
    ]


@contextmanager
def hogs(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """So many processes that never wait, until the block ends."""
    processes: list[subprocess.Popen[bytes]] = []
    with ExitStack() as stack:
        for _ in range(count):
            processes.append(stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"])))
            stack.callback(processes[-1].kill)
        yield processes


def run(found: Circumstance, command: Sequence[str]) -> int:
    """Run Python with these arguments as it finds things there, and return its status."""
    with hogs(found.hogs):
        done = subprocess.run(
            [*found.prefix, sys.executable, *command],
            cwd=ROOT,
            env={**os.environ, **found.variables},
            stdin=subprocess.DEVNULL,
            preexec_fn=found.first,
            check=False,
        )
    return done.returncode


def run_tests(found: Circumstance, options: Sequence[str], tests: Sequence[str]) -> int:
    """Run some tests, or those of the circumstance, and return pytest's status."""
    chosen = tests or found.tests
    print(f"== {found.name}: {' '.join(chosen)}", flush=True)
    return run(found, ["-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *chosen])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the circumstances that are asked for, and say which failed."""
    parser = argparse.ArgumentParser(description="tests as on other machines and in other processes")
    parser.add_argument("--only", default="", help="circumstances whose names have this word")
    parser.add_argument("--list", action="store_true", help="print the circumstances")
    parser.add_argument("--sample", default="1", metavar="N", help="run one test in N")
    parser.add_argument("--workers", default="auto", help="how many processes pytest has")
    parser.add_argument("tests", nargs="*", help="in place of the tests of native code and of the tools")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o555)
        every = [c for c in circumstances(home) if options.only in c.name]
        if options.list or not every:
            print("\n".join(c.name for c in every))
            return 0 if every else 2
        chosen = [f"--sample={options.sample}", f"--numprocesses={options.workers}", "--maxprocesses=8", "--dist=worksteal"]
        statuses = {c.name: run_tests(c, chosen, options.tests) for c in every}
    for name, status in statuses.items():
        print(f"{name}: {'passed' if status == 0 else f'FAILED ({status})'}")
    return int(any(statuses.values()))


if __name__ == "__main__":
    raise SystemExit(main())
