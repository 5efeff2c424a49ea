"""Python's collector of cyclic garbage, paused while something allocates much and drops little, or must not be disturbed."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


def collect_recent() -> None:
    """
    Collect the garbage among objects that are new since the collector was paused, which it would look through next.

    That is the two youngest generations: what was in use at one such call, and is not at the next one, is in the second.
    """
    gc.collect(1)


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
