"""
Signals, forks and the end of the process in the middle of native calls.

    python native_interrupted.py CASE THREADS

Prints `running` when a long call is about to begin, then what became of it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from ptir_forms import like, program

LONG = 10_000_000
TURNS = 120


def long_program(threads: int) -> Any:
    """A program of one kernel that takes seconds."""

    def body(x: Any) -> Any:
        for _ in range(TURNS):
            x = ptir.TanhOp(x)
        return [x]

    return mind_runtime.compile(program(f"f32[{LONG}]", body), target="native", threads=threads)


def short_program(threads: int) -> Any:
    """A program that a signal finds at work only by chance, and whose result is known."""
    return mind_runtime.compile(program("f32[100000]", lambda x: [ptir.AddOp(x, like(x, 1.0))]), target="native", threads=threads)


def sound(threads: int) -> None:
    """Say so if calls still do what they should."""
    run = short_program(threads)
    good = all((run(np.full(100_000, n, np.float32)) == n + 1).all() for n in range(50))
    print("sound" if good else "broken", flush=True)


def interrupted(threads: int) -> None:
    """Ctrl-C in a long call."""
    run, x = long_program(threads), np.ones(LONG, np.float32)
    try:
        print("running", flush=True)
        run(x)
        print("finished", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    sound(threads)


def handled(threads: int) -> None:
    """A handler that runs a native program, and after a few times raises what it likes."""
    run, x, inner = long_program(threads), np.ones(LONG, np.float32), short_program(threads)
    seen: list[bool] = []

    def handler(*_: Any) -> None:
        seen.append(bool((inner(np.ones(100_000, np.float32)) == 2).all()))
        if len(seen) == 3:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise LookupError("enough")

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        print("running", flush=True)
        run(x)
        print("finished", flush=True)
    except LookupError as e:
        print(e, seen, flush=True)
    sound(threads)


def forked(threads: int) -> None:
    """A handler that forks in the middle of a call: the parent goes on, the child fails or ends it alone."""
    run, x = long_program(threads), np.ones(LONG, np.float32)
    children: list[int] = []
    warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of forks beside threads

    def handler(*_: Any) -> None:
        children.append(os.fork())

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    print("running", flush=True)
    try:
        run(x)
        told = "finished"
    except MindError as e:
        told = f"{e.code} {e.message}"
    if not children[0]:
        sys.stdout.write(f"child {told} ")
        sound(threads)
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(children[0], 0)
    print("parent", told, end=" ")
    sound(threads)


def left(threads: int) -> None:
    """The process ends while other threads of Python are in native calls, and workers are awake."""
    run, x = short_program(threads), np.ones(100_000, np.float32)
    slow, y = long_program(threads), np.ones(LONG, np.float32)

    def work(call: Any, argument: Any) -> None:
        while True:
            call(argument)

    for call, argument in ((run, x), (run, x), (slow, y)):
        threading.Thread(target=work, args=(call, argument), daemon=True).start()
    print("running", flush=True)
    time.sleep(0.3)
    print("left", flush=True)


if __name__ == "__main__":
    {f.__name__: f for f in (interrupted, handled, forked, left)}[sys.argv[1]](int(sys.argv[2]))
