"""
The time of a call: what ran, for how long, and what it moved and computed, compared with what the machine could do.

    print(profile(program, arguments).table())

The trace is that of Chrome's tracing, which Perfetto reads too.
"""

from __future__ import annotations

import builtins
import inspect
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, cast

import numpy as np

from mind_dialect.errors import error
from mind_dialect.locations import shown_location
from mind_lowering.kernels import NUMPY

from .bound import Bound
from .program import Program
from .spans import REPEATS, Limits, Profile, Span, medians, time_of

__all__ = ["REPEATS", "Limits", "Profile", "Span", "check_steps", "medians", "profile", "time_of"]


def profile(program: Program | Bound, arguments: Sequence[Any], seed: int = 0) -> Profile:
    """
    Measure a program on arguments, which are not donated: each call gets copies of what it would overwrite.

    The arguments of a bound program are those of its inputs that are left; packing of bound arrays is no part of a call.
    E7001 for a program of another target than `numpy`, `native` and `cupy`.
    """
    call, program = program, program.program if isinstance(program, Bound) else program
    check_steps(program)
    every = call.every(arguments) if isinstance(call, Bound) else arguments
    if program.target == "native":
        from .native.profile import profile_native
        from .native.program import NativeProgram

        assert isinstance(program, NativeProgram)
        func = program.sized(every)
        return _on_numpy(program, every, seed) if func is None else profile_native(program, func, every, seed, call)
    from .on_cupy import CupyProgram

    if isinstance(program, CupyProgram):
        from .cupy.profile import profile_on_gpu

        return profile_on_gpu(program, every, seed)
    return _on_numpy(program, every, seed)


def check_steps(program: Program) -> None:
    """E7001 for a program that `profile` cannot measure."""
    from .on_cupy import CupyProgram

    if type(program) is not Program and program.target != "native" and not isinstance(program, CupyProgram):
        message = f"--profile is for the targets numpy, native and cupy: a call on {program.target!r} has no steps to measure"
        raise error("E7001", message, option="--profile")


Note = Callable[[str, float, float, Sequence[Any], int], None]
"""Takes the name of a call, its start and duration in seconds, its arrays, and the line of the printed Python."""


class _Timed:
    """A namespace whose functions note what they take and how long."""

    def __init__(self, inner: Any, name: str, note: Note):
        self._inner, self._name, self._note = inner, name, note

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if isinstance(found, type) or not (callable(found) or hasattr(found, "reduce")):
            return found
        return _Timed(found, f"{self._name}.{name}", self._note)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        start = time.perf_counter()
        made: Any = self._inner(*arguments, **options)
        results = cast("tuple[Any, ...]", made) if isinstance(made, tuple) else (made,)
        arrays: list[Any] = [a for a in (*arguments, *results) if isinstance(a, np.ndarray)]
        duration = time.perf_counter() - start
        caller = cast(FrameType, cast(FrameType, inspect.currentframe()).f_back)
        self._note(self._name, start, duration, arrays, caller.f_lineno)
        return cast("Any", made)


def _on_numpy(program: Program, arguments: Sequence[Any], seed: int) -> Profile:
    """The calls of NumPy that the printed Python makes."""
    body = program._body  # pyright: ignore[reportPrivateUsage]
    spans: list[Span] = []

    def note(name: str, start: float, duration: float, arrays: Sequence[Any], line: int) -> None:
        size = sum(int(a.nbytes) for a in arrays)
        op = program.op_of_line(line)
        locations = (shown_location(op.location),) if op is not None else ()
        spans.append(Span(name, start * 1e6, duration * 1e6, size, locations=locations))

    scope: dict[str, Any] = {"__builtins__": {}, "xp": _Timed(np, "xp", note), "k": _Timed(NUMPY, "k", note)}
    for name, literal in body.source.constants:
        scope[name] = NUMPY.constant(value=literal)
    exec(builtins.compile(body.source.text, f"<mind-numpy {body.source.name}>", "exec", dont_inherit=True), scope)
    run = scope[body.source.name]
    options = {"seed": seed} if body.source.draws else {}
    runs: list[list[Span]] = []
    with np.errstate(all="ignore"):
        for _ in range(REPEATS):
            spans = []
            run(*program.copied_where_donated(arguments), *body.constants(), **options)
            runs.append(spans)
    call = time_of(lambda: program(*program.copied_where_donated(arguments), seed=seed))
    return Profile(medians(runs), Limits("NumPy"), call, program.name)
