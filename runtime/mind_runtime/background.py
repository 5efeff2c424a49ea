"""
The thread of this process on which dynamic programs are compiled for sizes while calls go on.

It ends when it was idle for a while, and starts again with the next job. Jobs run one after the other.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from .specialized import Built, Shapes

IDLE = 30.0
"""Seconds without a job after which the thread ends, and `at_end` is called."""
SECONDS_PER_OP = {"numpy": 1e-3, "native": 3e-3}
"""
The seconds that compiling an op, other than a constant or a view, is expected to take before any was measured (of models 1 to
10 ms); others as `numpy`.
"""
GAINS = {"numpy": 0.3, "native": 0.7}
"""The share of a run in the general program that one for the sizes is expected to save before that was measured."""


class Worker:
    """A thread that runs jobs in order, which raise nothing."""

    def __init__(self, idle: float = IDLE):
        self.idle = idle
        self.at_end: list[Callable[[], None]] = []
        """Called, and forgotten, when the thread ends."""
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)  # a fork has no thread

    def _reset(self) -> None:
        self.at_end = []
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, job: Callable[[], None]) -> bool:
        """Run a job some time; False where no thread can be started, as when Python ends."""
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="mind-compile", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    return False
                self._thread = thread
            self._jobs.put(job)
        return True

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=self.idle)
            except queue.Empty:
                with self._lock:
                    if not self._jobs.empty():
                        continue
                    self._thread = None
                    ends, self.at_end = self.at_end, []
                for end in ends:
                    end()
                return
            job()
            del job


WORKER = Worker()


class Holding(Protocol):
    """A program that holds memory."""

    @property
    def held_bytes(self) -> int:
        """About how many bytes it keeps."""
        ...


P = TypeVar("P", bound=Holding)
Q = TypeVar("Q", covariant=True)


class Specializable(Protocol[Q]):
    """A dynamic program, from which ones for sizes are compiled."""

    compiles_in_background: bool

    def whole_shapes(self, shapes: Shapes) -> Shapes:
        """Return the shapes of all inputs, given those of the ones whose sizes only a call tells."""
        ...

    def specialised(self, shapes: Shapes) -> Q | None:
        """Return the program for these shapes, compiled now; None where there is none."""
        ...

    def specialised_apart(self, shapes: Shapes) -> tuple[Q | None, float]:
        """As `specialised`, on another thread than that of calls; also the seconds that another process computed for it."""
        ...


class SizeCompiler(Generic[P]):
    """Compiles a dynamic program for sizes, by its `specialised`."""

    def __init__(self, program: Specializable[P], target: str, ops: int):
        self._program = program
        self.seconds = max(1, ops) * SECONDS_PER_OP.get(target, SECONDS_PER_OP["numpy"])
        self.gain = GAINS.get(target, GAINS["numpy"])

    def build(self, shapes: Shapes) -> Built[P] | None:
        """Compile now, in this thread."""
        start = time.perf_counter()
        made = self._program.specialised(self._program.whole_shapes(shapes))
        return None if made is None else Built(made, made.held_bytes, time.perf_counter() - start)

    def start(self, shapes: Shapes, done: Callable[[Built[P] | None], None]) -> bool:
        """Compile on the worker; False where the program is one that only the thread of its calls may compile."""
        if not self._program.compiles_in_background:
            return False

        def job() -> None:
            start = time.thread_time()  # what it takes from calls, not what it waits for them
            try:
                made, elsewhere = self._program.specialised_apart(self._program.whole_shapes(shapes))
            except Exception:  # whatever it is, the general program runs these sizes, and the report says so
                done(None)
                return
            seconds = time.thread_time() - start + elsewhere
            done(None if made is None else Built(made, made.held_bytes, seconds))

        return WORKER.submit(job)
