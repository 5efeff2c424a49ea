"""
The pool of threads of this process: made once, on first use, and never let go, because its workers run in its code.

How many threads a call may have is said in `settings.py`.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import Any

import numpy as np

from mind_dialect.errors import error
from mind_dialect.lazy_dataclass import dataclass
from mind_lowering.native.host import this_machine
from mind_lowering.native.pool.pool import pool_text
from mind_lowering.native.record import INTERRUPTED, Record, system_of

from . import jit
from .settings import setting

SPIN_VARIABLE = "MIND_SPIN_MICROSECONDS"
SPIN = 60
"""Microseconds that a worker without work stays awake."""
MOST_SPIN = 1_000_000
POLL = 25_000_000
"""Nanoseconds between two looks for signals."""
_NAMES = ("mind.share", "mind.poll")
_lock = threading.Lock()


_made: list[Pool] = []
_LOST = "the process was forked by a handler of a signal in the middle of a native call, whose results are not whole in the fork"


@dataclass(frozen=True)
class Pool:
    """The addresses of its functions."""

    share: int
    poll: int


def new_record(threads: int) -> Any:
    """A record for the calls of one frame, one after the other."""
    made = pool()
    record = np.zeros(Record.WORDS, np.int64)
    record[Record.SHARE], record[Record.POLL], record[Record.THREADS] = made.share, made.poll, threads
    return record


def pool() -> Pool:
    """The pool of this process; E7001 for a setting that is none."""
    with _lock:
        if not _made:
            host, spin = this_machine(), setting(SPIN_VARIABLE, 0, MOST_SPIN)
            text = pool_text(host.triple, system_of(host.triple, sys.platform), 1000 * (SPIN if spin is None else spin), POLL)
            addresses = jit.load_for_good(text, host, _NAMES, {})  # workers are in this code until the process ends
            _made.append(Pool(*(addresses[name] for name in _NAMES)))
        return _made[0]


def ended(status: int, record: Any) -> BaseException:
    """Return the error of a status below 0: what a signal handler raised, or E7004 for a call that its fork cannot finish."""
    if status == INTERRUPTED:
        words = [int(w) or None for w in record[Record.RAISED : Record.RAISED + 3]]
        restore = ctypes.pythonapi.PyErr_Restore
        restore.argtypes, restore.restype = [ctypes.c_void_p] * 3, None
        try:
            restore(*words)  # ctypes raises what is set after a call of one of Python's own functions
        except BaseException as e:
            return e
    return error("E7004", _LOST, stage="native", issue=_LOST)
