"""A limit on the time of a call, as `mind-run --time-limit` sets it."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from mind_dialect.errors import error


def seconds_of(text: str) -> float:
    """Return a positive number of seconds; E7001 for anything else."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < 1e9:
        raise error("E7001", f"--time-limit {text!r}, expected a positive number of seconds", option="--time-limit")
    return seconds


@contextmanager
def time_limit(seconds: float | None) -> Generator[None]:
    """
    Raise E6007 in a block that takes longer than `seconds` of wall-clock time; None sets no limit.

    The signal SIGALRM ends the block, as SIGINT would: loops of native code poll for signals between iterations. E7001 where the
    system has no such signal, or in a thread other than the main one, which alone receives signals in Python.
    """
    if seconds is None:
        yield
        return
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        raise error("E7001", "--time-limit needs SIGALRM and the main thread, which are not there", option="--time-limit")

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise error("E6007", f"the call took longer than {seconds:g} s, which is its limit", limit=seconds)

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)  # again, where Python drops what the handler raised, as in __del__
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
