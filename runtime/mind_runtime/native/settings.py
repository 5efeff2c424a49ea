"""Number of threads that a call may have: what `compile` says, else `MIND_NUM_THREADS`, else that of the cores (`cores.py`)."""

from __future__ import annotations

import os

from mind_dialect.errors import brief, error
from mind_lowering.native.record import MOST_THREADS

from .cores import cores

THREADS_VARIABLE = "MIND_NUM_THREADS"


def threads_of(option: object = None) -> int:
    """Return the number of threads that a program may use; E7001 for an option or a variable that is no number of threads."""
    if option is not None:
        if not isinstance(option, int) or isinstance(option, bool) or not 1 <= option <= MOST_THREADS:
            given = repr(option) if isinstance(option, str) else brief(option)
            raise error("E7001", f"threads {given}, expected an integer from 1 to {MOST_THREADS}", option="threads")
        return option
    return min(setting(THREADS_VARIABLE, 1, MOST_THREADS) or cores(), MOST_THREADS)


def setting(variable: str, least: int, most: int) -> int | None:
    """Read an environment variable, None if it is absent or empty; E7001 if it is no number from `least` to `most`."""
    given = os.environ.get(variable, "").strip()
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 10 and least <= int(given) <= most):
        raise error("E7001", f"{variable}={given!r}, expected an integer from {least} to {most}", option=variable)
    return int(given)
