"""The pool by itself: each unit is run once, whoever runs it, with workers awake, asleep, refused, or on systems without any."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mind_lowering.native import TARGETS
from mind_lowering.native.host import this_machine
from mind_lowering.native.ir import LlvmModule
from mind_lowering.native.pool.chunks import chunk_at
from mind_lowering.native.pool.pool import pool_text
from mind_lowering.native.record import INTERRUPTED, MOST_CHUNKS, Record, System, system_of
from mind_runtime.native import jit, pool

LINUX = system_of(this_machine().triple, "linux")
KERNEL = """
target triple = "{triple}"
define i64 @count(ptr %args, i64 %begin, i64 %end) {{
entry:
  %at = getelementptr ptr, ptr %args, i64 1
  %counts = load ptr, ptr %at
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %fine ]
  %p = getelementptr i32, ptr %counts, i64 %i
  %old = atomicrmw add ptr %p, i32 1 monotonic
  %bad = icmp sge i32 %old, 100
  br i1 %bad, label %failed, label %fine
failed:
  %record = load ptr, ptr %args
  store i64 %i, ptr %record
  ret i64 7
fine:
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret i64 0
}}
"""

WAIT = """
target triple = "{triple}"
define i64 @wait(ptr %args, i64 %begin, i64 %end) {{
entry:
  %record = load ptr, ptr %args
  %at = getelementptr i64, ptr %record, i64 {poll}
  %poll = load ptr, ptr %at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
  %found = call i64 %poll(ptr %record)
  %over = icmp ne i64 %found, 0
  br i1 %over, label %done, label %again
again:
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, 200000000
  br i1 %more, label %loop, label %done
done:
  ret i64 %found
}}
"""
"""A unit of it ends where a signal ends the call, or after a long time."""

Share = Callable[..., tuple[int, Any, Any]]


def pool_of(system: System, spin: int, imports: dict[str, int] | None = None) -> Share:
    """`run(units, size, threads, words, counts)` in a pool of its own: the status, the counts, the record."""
    host = this_machine()
    kernels = {
        "count": jit.load(KERNEL.format(triple=host.triple), host, ["count"]),
        "wait": jit.load(WAIT.format(triple=host.triple, poll=int(Record.POLL)), host, ["wait"]),
    }
    text = pool_text(host.triple, system, spin, 10_000_000)
    share, poll = jit.load_for_good(text, host, ["mind.share", "mind.poll"], imports or {}).values()
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 7)(share)

    def run(
        units: int, size: int, threads: int, words: int = 0, counts: Any = None, name: str = "count", caches: int = 0
    ) -> tuple[int, Any, Any]:
        counts = np.zeros(units, np.int32) if counts is None else counts
        record = np.zeros(Record.WORDS, np.int64)
        record[Record.THREADS], record[Record.SHARE], record[Record.POLL] = threads, share, poll
        table = np.array([record.ctypes.data, counts.ctypes.data], np.uint64)
        status = function(kernels[name].addresses[name], table.ctypes.data, units, size, words, caches, record.ctypes.data)
        return status, counts, record

    return run


POOLS = {
    "awake": lambda: pool_of(LINUX, 10_000_000),
    "asleep": lambda: pool_of(LINUX, 0),
    "no pool": lambda: pool_of(system_of(this_machine().triple, "darwin"), 0),
}
SIZES = [(1000, 1), (1000, 7), (MOST_CHUNKS, 1), (10**5, 1000), (10, 3), (5, 5), (1, 1), (2, 1)]


@pytest.fixture(scope="module", params=POOLS)
def run(request: Any) -> Share:
    if not LINUX.has_pool:
        pytest.skip("workers are for Linux")
    return POOLS[request.param]()


@pytest.mark.exhaustive
@pytest.mark.parametrize("words", [0, 2, -1], ids=["plain", "can fail", "alone"])
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_each_unit_is_run_once(run: Share, threads: int, words: int) -> None:
    for units, size in SIZES:
        for i in range(10):
            status, counts, _ = run(units, size, threads, words, caches=threads + i % 3)
            assert status == 0
            assert (counts == 1).all(), (units, size)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_first_failure_is_told(run: Share, threads: int) -> None:
    rng = np.random.default_rng(threads)
    for _ in range(50):
        counts = np.zeros(3000, np.int32)
        places = rng.integers(0, 3000, 9)
        counts[places] = 100
        status, _, record = run(3000, 11, threads, 2, counts, caches=100)
        assert (status, record[0]) == (7, places.min())
        assert (counts[: places.min()] == 1).all()


def test_halves_of_every_other_job_that_alternates_are_backwards() -> None:
    host = this_machine()
    for alternates in (0, 1):
        module = LlvmModule(host.triple, "the order of chunks")
        module.globals.append(f"@alternates = internal global i64 {alternates}, align 8")
        f = module.function("chunk", "i64", [("i64", "place"), ("i64", "count"), ("i64", "job")], internal=False)
        f.ret(chunk_at(f, "%place", "%count", "%job"))
        library = jit.load(module.text(), host, ["chunk"])
        chunk = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 4)(library.addresses["chunk"])
        for count in range(2, 9):
            plain = list(range(count))
            halves = [*reversed(plain[: count // 2]), *reversed(plain[count // 2 :])]
            for job in (6, 7, (1 << 32) - 1):
                expected = halves if alternates and job % 2 else plain
                assert [chunk(place, count, job) for place in plain] == expected, (alternates, count, job)


@pytest.mark.parametrize("words", [0, 2], ids=["plain", "can fail"])
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_a_signal_ends_long_units_of_all_threads(run: Share, threads: int, words: int) -> None:
    def handler(*_: Any) -> None:
        raise LookupError(f"{threads}")

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        status, _, record = run(20, 1, threads, words, name="wait")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert status == INTERRUPTED
    raised = pool.ended(status, record)
    assert isinstance(raised, LookupError)
    assert str(raised) == str(threads)
    assert (run(3000, 11, threads, words)[1] == 1).all()


def test_many_threads_of_python_call_at_once(run: Share) -> None:
    wrong: list[int] = []

    def work() -> None:
        for _ in range(100):
            status, counts, _ = run(3000, 11, 3, 0)
            if status or not (counts == 1).all():
                wrong.append(status)

    threads = [threading.Thread(target=work) for _ in range(5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forks_of_forks(run: Share) -> None:
    assert run(3000, 11, 3)[0] == 0
    pid = os.fork()
    if not pid:
        good = (run(3000, 11, 3)[1] == 1).all()
        second = os.fork()
        if not second:
            os._exit(0 if (run(3000, 11, 3)[1] == 1).all() else 1)
        os._exit(0 if good and os.waitpid(second, 0)[1] == 0 and (run(3000, 11, 4)[1] == 1).all() else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert (run(3000, 11, 3)[1] == 1).all()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_in_the_middle_of_a_job_of_another_thread(run: Share) -> None:
    """Nothing is taken of the first job that the fork has of its own."""
    within = 0
    for _ in range(100):
        other = threading.Thread(target=run, args=(1_000_000, 20, 3))
        other.start()
        time.sleep(0.002)
        pid = os.fork()
        if not pid:
            signal.alarm(10)
            os._exit(0 if (run(3000, 11, 3)[1] == 1).all() else 1)
        within += other.is_alive()
        assert os.waitpid(pid, 0)[1] == 0
        other.join()
        if within > 3:
            break
    assert within


@pytest.mark.skipif(not LINUX.has_pool, reason="workers are for Linux")
@pytest.mark.parametrize("allowed", [0, 1])
def test_threads_that_the_system_refuses(allowed: int) -> None:
    """The caller does with those it has, and does not ask again."""
    asked: list[int] = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)
    true = kind(("pthread_create", ctypes.CDLL(None)))

    @kind
    def create(*arguments: Any) -> int:
        asked.append(1)
        return true(*arguments) if len(asked) <= allowed else 11

    refused = pool_of(LINUX, 0, {"pthread_create": ctypes.cast(create, ctypes.c_void_p).value or 0})
    for _ in range(30):
        assert (refused(3000, 11, 6)[1] == 1).all()
    assert len(asked) == allowed + 1


@pytest.mark.parametrize("isa", TARGETS)
@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_it_assembles_for_every_machine(isa: str, platform: str) -> None:
    host = TARGETS[isa]
    assert jit.object_code(pool_text(host.triple, system_of(host.triple, platform), 1, 1), host)[:4] == b"\x7fELF"
    assert system_of(host.triple, platform).has_pool is (platform == "linux")
