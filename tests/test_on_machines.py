"""`make test-machines` makes the circumstances that it names: a process asks for each what it finds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

sys.path.insert(0, str(Path(__file__).parent))

import on_machines

from machines import RUNNABLE
from mind_lowering.native.target_info import TARGETS

PROBES = {
    "one thread, one core": "import os; assert len(os.sched_getaffinity(0)) == 1; assert os.environ['MIND_NUM_THREADS'] == '1'",
    "64 threads": "from mind_runtime.native.settings import threads_of; assert threads_of() == 64",
    "SIGINT ignored": "import signal; assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN",
    "another user's files": """
import locale, os, pathlib, time
assert os.umask(0) == 0o077
home = pathlib.Path.home()
assert locale.setlocale(locale.LC_ALL, "") == "C"
assert time.tzname == ("+14", "+14")
try:
    (home / "file").touch()
except PermissionError:
    pass
else:
    raise AssertionError(f"{home} can be written to")
""",
    "busy cores": """
import os, pathlib
siblings = pathlib.Path(f"/proc/{os.getppid()}/task/{os.getppid()}/children")
assert not siblings.exists() or len(siblings.read_text().split()) > os.cpu_count()
""",
    "least": "import signal; from mind_lowering.native import detect; assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN; "
    f"assert detect().isa == {RUNNABLE[-1]!r}",
}
ISA = """
from mind_lowering.native import detect
from numpy._core._multiarray_umath import __cpu_features__ as found
assert detect().isa == {isa!r}
for names, expected in ((("X86_V4", "AVX512_SKX"), {widest}), (("X86_V3", "FMA3"), {wide})):
    (name,) = [n for n in names if n in found][:1]
    assert found[name] == expected, (name, found)
"""


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A folder that its owner may not write to."""
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    return home


def test_every_circumstance_is_probed(closed: Path) -> None:
    assert [c.name for c in on_machines.circumstances(closed)] == [*RUNNABLE, *PROBES]


@pytest.mark.parametrize("name", PROBES)
def test_a_process_finds_the_circumstance(name: str, closed: Path) -> None:
    (found,) = [c for c in on_machines.circumstances(closed) if c.name == name]
    if name == "another user's files" and os.geteuid() == 0 and not found.prefix:
        pytest.skip("root may write to every folder, and setpriv is absent or not permitted")
    assert on_machines.run(found, ["-c", PROBES[name]]) == 0
    assert on_machines.run(found, ["-c", f"{PROBES[name]}\nraise SystemExit(3)"]) == 3


@pytest.mark.skipif(RUNNABLE[-1] != "baseline", reason="not an x86 machine")
@pytest.mark.parametrize("isa", RUNNABLE[1:])
def test_a_process_finds_a_lesser_instruction_set(isa: str, closed: Path) -> None:
    """NumPy does without wider vectors too; OpenBLAS reads the same variables when it begins, and says nothing of it."""
    (found,) = [c for c in on_machines.circumstances(closed) if c.name == isa]
    widths = {"wide": TARGETS[isa].vector_bytes >= 32, "widest": TARGETS[isa].has_avx512}
    assert on_machines.run(found, ["-c", ISA.format(isa=isa, **widths)]) == 0


def test_hogs_end_with_their_block() -> None:
    with on_machines.hogs(2) as processes:
        assert [process.poll() for process in processes] == [None, None]
    assert [process.returncode for process in processes] == [-signal.SIGKILL, -signal.SIGKILL]


def test_a_sample_is_the_same_every_time() -> None:
    counts: list[list[str]] = []
    for sample in ("1", "4", "4"):
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", f"--sample={sample}"]
        file = Path(__file__).parent / "runtime" / "native" / "test_native_attention.py"
        done = subprocess.run([*command, str(file)], cwd=on_machines.ROOT, capture_output=True, text=True, check=True)
        counts.append([line for line in done.stdout.splitlines() if "::test_" in line])
    assert len(counts[0]) > 30
    assert 0 < len(counts[1]) < len(counts[0]) / 2
    assert counts[1] == counts[2]
    assert set(counts[1]) < set(counts[0])
