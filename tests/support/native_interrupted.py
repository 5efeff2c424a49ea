"""
Signals, forks and the end of the process in the middle of native calls.

    python native_interrupted.py CASE THREADS

Prints `running` before a long call begins, then the outcome. No case depends on how fast the machine is, or on what the parent
process does with signals: calls that must be interrupted never end by themselves, and calls that must end are measured first.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import F32
from native_control_programs import counted
from ptir_control_programs import number
from ptir_forms import like, program, reduce

LONG = 2_000_000
LONG_SECONDS = 3.0
"""How long a call lasts that a signal has to find at work."""


def tanh_often(x: Any, *, times: int = 120) -> Any:
    """A kernel of many units, each of them long."""
    for _ in range(times):
        x = ptir.TanhOp(x)
    return x.results[0]


def forever(body: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that runs `body` in a loop whose condition always holds for values of at most 1."""

    def loop(x: Any) -> Any:
        def cond(x: Any) -> Any:
            return [ptir.CompareOp(reduce(x, "min", 0, keepdims=False), number(F32, (), 2.0), kind="less"), x]

        return ptir.WhileOp(x, cond=cond, body=lambda x: [body(x)]).results

    return loop


def compiled(types: str, body: Callable[..., Any], threads: int) -> Any:
    return mind_runtime.compile(program(types, body), target="native", threads=threads)


def endless_program(threads: int) -> Any:
    """A program that runs one long kernel again and again."""
    return compiled(f"f32[{LONG}]", forever(tanh_often), threads)


def long_call(threads: int) -> Callable[[], Any]:
    """A call of some seconds on this machine: the number of its iterations is an argument, found by measuring a few."""
    run = compiled(f"f32[{LONG}] si32[]", lambda x, n: counted(n, lambda x: [tanh_often(x)], x), threads)
    x = np.ones(LONG, np.float32)
    run(x, np.asarray(1, np.int32))
    begin = time.perf_counter()
    run(x, np.asarray(2, np.int32))
    each = (time.perf_counter() - begin) / 2
    iterations = np.asarray(math.ceil(LONG_SECONDS / each), np.int32)
    return lambda: run(x, iterations)


def short_program(threads: int) -> Any:
    """A program that a signal finds at work only by chance, and whose result is known."""
    return compiled("f32[100000]", lambda x: [ptir.AddOp(x, like(x, 1.0))], threads)


def sound(threads: int) -> None:
    """Say so if calls still do what they should."""
    run = short_program(threads)
    good = all((run(np.full(100_000, n, np.float32)) == n + 1).all() for n in range(50))
    print("sound" if good else "broken", flush=True)


def interrupt(run: Any, x: Any, threads: int) -> None:
    """Run a program that only an interrupt can end."""
    try:
        print("running", flush=True)
        run(x)
        print("finished", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    sound(threads)


def interrupted(threads: int) -> None:
    """Ctrl-C in the middle of long kernels."""
    interrupt(endless_program(threads), np.ones(LONG, np.float32), threads)


def interrupted_loop(threads: int) -> None:
    """Ctrl-C between the iterations of a loop whose kernels are short."""
    run = compiled("f32[4]", forever(lambda x: ptir.AbsOp(ptir.NegOp(x)).results[0]), threads)
    interrupt(run, np.ones(4, np.float32), threads)


def handled(threads: int) -> None:
    """A handler that runs a native program, and after a few times raises what it likes."""
    run, x, inner = endless_program(threads), np.ones(LONG, np.float32), short_program(threads)
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
    call = long_call(threads)
    children: list[int] = []
    warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of forks beside threads

    def handler(*_: Any) -> None:
        children.append(os.fork())

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    print("running", flush=True)
    try:
        call()
        outcome = "finished"
    except MindError as e:
        outcome = f"{e.code} {e.message}"
    if not children[0]:
        sys.stdout.write(f"child {outcome} ")
        sound(threads)
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(children[0], 0)
    print("parent", outcome, end=" ")
    sound(threads)


def left(threads: int) -> None:
    """The process ends while other threads of Python are in native calls, and workers are awake."""
    run, x = short_program(threads), np.ones(100_000, np.float32)
    slow, y = endless_program(threads), np.ones(LONG, np.float32)

    def work(call: Any, argument: Any) -> None:
        while True:
            call(argument)

    for call, argument in ((run, x), (run, x), (slow, y)):
        threading.Thread(target=work, args=(call, argument), daemon=True).start()
    print("running", flush=True)
    time.sleep(0.3)
    print("left", flush=True)


def hear_signals() -> None:
    """Take the dispositions that Python sets up by itself: a job in the background of a shell inherits an ignored SIGINT."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGALRM})


if __name__ == "__main__":
    hear_signals()
    cases = (interrupted, interrupted_loop, handled, forked, left)
    {f.__name__: f for f in cases}[sys.argv[1]](int(sys.argv[2]))
