"""
The time of a call of native code: each kernel between two reads of the clock, and each step on NumPy.

The program is lowered once more, to code with counters (`mind_lowering/native/timing.py`); the measured one stays as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.func import FuncOp

from mind_dialect.locations import locations_in, shown_location
from mind_lowering.native import Entry, Foreign, Native, Reading
from mind_lowering.native import program as lowering
from mind_lowering.native.outlining import shown
from mind_lowering.native.timing import NANOSECONDS, RUNS, WORDS

from ..bound import Bound
from ..program import Program
from ..spans import REPEATS, Limits, Profile, Span, medians, time_of
from . import jit
from .call import Frame, NativeRunner, Packed, Step, address
from .executable import foreign_step, types_of
from .program import NativeProgram


class TimedRunner(NativeRunner):
    """A program whose entries count, on one frame: `spans` yields the steps of the last call."""

    def __init__(self, native: Native, threads: int, outputs: Sequence[Any]):
        entries = [step.name for step in native.steps if isinstance(step, Entry)]
        library = jit.load(native.text, native.host, entries if native.packing is None else [*entries, native.packing.entry])
        foreign = [foreign_step(step)[0] for step in native.steps if isinstance(step, Foreign)]
        self._elapsed: list[float] = []
        """Of each step on NumPy, the microseconds."""
        kernels = sum(len(step.timed) for step in native.steps if isinstance(step, Entry))
        self._counters: Any = np.zeros((kernels, WORDS), np.int64)
        super().__init__(native, library, outputs, foreign, threads, lambda: native, lambda: native)

    def run(self, *arguments: Any, seed: int = 0, packed: Packed | None = None) -> Any:
        self._counters[...] = 0
        self._elapsed.clear()
        return super().run(*arguments, seed=seed, packed=packed)

    def spans(self) -> Iterator[Span]:
        """Yield the steps of the last call in their order, each with the time of all of its runs; those of no run too."""
        counters, elapsed = iter(self._counters), iter(self._elapsed)
        for step in self.native.steps:
            if isinstance(step, Foreign):
                size = sum(_bytes(reading) for reading in step.inputs)
                yield Span(f"numpy: {shown(step.op)}", 0.0, next(elapsed), size, locations=_places(step.op.location))
                continue
            for kernel in step.timed:
                words = next(counters)
                duration, runs = int(words[NANOSECONDS]) / 1e3, int(words[RUNS])
                sizes = runs * kernel.bytes, runs * kernel.flops
                yield Span(kernel.name, 0.0, duration, *sizes, locations=_places(kernel.location), runs=runs)

    def _frame(self) -> Frame:
        frame = super()._frame()
        assert self.native.times is not None, "timed"
        frame.table[self.native.times] = address(self._counters)
        return frame

    def _foreign(self, step: Foreign, run: Callable[..., Any]) -> Step:
        perform = super()._foreign(step, run)

        def timed(frame: Frame, seed: int) -> None:
            start = time.perf_counter()
            perform(frame, seed)
            self._elapsed.append((time.perf_counter() - start) * 1e6)

        return timed


def profile_native(program: NativeProgram, func: FuncOp, arguments: Sequence[Any], seed: int, call: Program | Bound) -> Profile:
    """
    Measure a program on arguments that it accepts, of whose function `func` has the sizes.

    `call` is the program, or its binding: then `arguments` are those of all inputs, None where calls do not read them.
    """
    free = call.free if isinstance(call, Bound) else range(len(arguments))

    def once() -> Any:
        copies = program.copied_where_donated(arguments)
        return call(*(copies[i] for i in free), seed=seed)

    once()  # which raises what a call raises
    host, (fixed, packed) = program.options.host(), program.packed_for(call)
    native = lowering.lower(lowering.prepared(func, host), host, program.donated, fixed, timed=True)
    runner = TimedRunner(native, program.threads, types_of(func.function_type.outputs.data))
    if fixed and packed is None:
        packed = runner.packed({i: np.require(arguments[i], requirements=["C", "A"]) for i in fixed})
    runs: list[list[Span]] = []
    for _ in range(REPEATS):
        runner.run(*program.copied_where_donated(arguments), seed=seed, packed=packed)
        runs.append(list(runner.spans()))
    spans = tuple(span for span in medians(runs) if span.runs)
    threads = f"{program.threads} thread{'s' * (program.threads != 1)}"
    return Profile(spans, Limits(f"{host.isa}, {threads}"), time_of(once), program.name)


def _places(location: LocationAttr) -> tuple[str, ...]:
    return tuple(filter(None, map(shown_location, locations_in(location))))


def _bytes(reading: Reading) -> int:
    return int(np.prod(reading.shape, dtype=np.int64)) * reading.dtype.size
