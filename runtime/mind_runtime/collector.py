"""Python's collector of cyclic garbage, paused while something allocates much and drops little, or must not be disturbed."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """Pause the collector; a thread that finds it paused leaves it so."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
