"""The native code of the runtime, generated in a thread while the first program of a process is lowered."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from .llvm import begin
from .pool import pool
from .support import support


@cache
def start() -> None:
    """
    Begin to generate what each program calls, if it is the first time; who needs it waits for it.

    LLVM works outside of Python's lock. Python waits for the thread when it ends, so that LLVM is whole as long as it works.
    """
    begin(_generate, "mind-native-startup")


def _generate() -> None:
    with suppress(Exception):  # which who needs it is given
        pool()
        support()
