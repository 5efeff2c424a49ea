"""Signals reach Python in the middle of a native call, forks have a pool of their own, and a process may end at any time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from ptir_forms import program

SUPPORT = Path(__file__).parents[2] / "support"
LIMIT = 240
"""Seconds after which a child that still runs is a failure, on a machine however slow or busy."""


def started(case: str, threads: int) -> subprocess.Popen[str]:
    """A process in the middle of a case."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SUPPORT), *sys.path])}
    command = [sys.executable, str(SUPPORT / "native_interrupted.py"), case, str(threads)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    return process


def ended(process: subprocess.Popen[str]) -> list[str]:
    """What a process says until it ends, which it does by itself."""
    try:
        out, err = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert (process.returncode, err) == (0, "")
    return out.split("\n")[:-1]


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("case", ["interrupted", "interrupted_loop"])
def test_an_interrupt_ends_a_call_that_does_not_end(case: str, threads: int) -> None:
    process = started(case, threads)
    time.sleep(0.3)  # so that it finds the call at work, and not its beginning
    process.send_signal(signal.SIGINT)
    assert ended(process) == ["interrupted", "sound"]


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_handlers_of_signals_run_in_a_long_call(threads: int) -> None:
    assert ended(started("handled", threads)) == ["enough [True, True, True]", "sound"]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_handler_may_fork(threads: int) -> None:
    child, parent = ended(started("forked", threads))
    assert parent == "parent finished sound"
    if threads == 1:
        assert child == "child finished sound"
    else:
        assert child.startswith("child E7004")
        assert child.endswith(" sound")


@pytest.mark.parametrize("threads", [1, 3])
def test_a_process_may_end_in_the_middle_of_calls(threads: int) -> None:
    assert ended(started("left", threads)) == ["left"]


def _in_child(run: Any, x: Any, expected: bytes, queue: Any) -> None:
    queue.put([run(x).tobytes() == expected for _ in range(20)])


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forks_share_work_with_workers_of_their_own() -> None:
    run = mind_runtime.compile(program("f32[300000]", lambda a: [ptir.ExpOp(a)]), target="native", threads=3)
    x = np.linspace(0, 1, 300_000, dtype=np.float32)
    expected = run(x).tobytes()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    children = [context.Process(target=_in_child, args=(run, x, expected, queue)) for _ in range(4)]
    for child in children:
        child.start()
    assert all(run(x).tobytes() == expected for _ in range(20))
    assert [queue.get() for _ in children] == [[True] * 20] * 4
    for child in children:
        child.join(60)
        assert child.exitcode == 0
