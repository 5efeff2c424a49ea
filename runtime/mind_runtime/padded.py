"""
Programs for classes of sizes of a dynamic program: one for a bound serves all sizes of a class, whose arrays are padded to it.

Masks that `mask-padding` puts in keep tails out of what is read, so results are those of the sizes. A class is compiled for when
its sizes together lost what compiling takes; sizes that are called very often are then compiled for by themselves as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np

from mind_dialect.errors import MindError
from mind_dialect.extents.dims import size_in

from .background import WORKER
from .signature import TensorSpec
from .specialization import Specialization
from .specialized import TIMED, Account, Shapes, Specialized


class DynamicProgram(Protocol):
    """A program with open sizes, as compiling for classes of sizes needs it."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    specialization: Specialization

    @cached_property
    def by_sizes(self) -> Specialized[Any]:
        """The programs for sizes."""
        ...

    def sizes_of(self, shapes: Shapes) -> dict[str, int]:
        """Return the sizes by name, of shapes of the inputs whose sizes only a call tells."""
        ...


def upper_bound(n: int) -> int:
    """
    Return the bound of the class of a size: a power of two.

    >>> [upper_bound(n) for n in (0, 1, 2, 3, 9, 17, 33, 129, 1000)]
    [0, 1, 2, 4, 16, 32, 64, 256, 1024]
    """
    return n if n < 2 else 1 << (n - 1).bit_length()


class PaddedPrograms:
    """
    The programs for bounds of a dynamic program, which `masked` makes with sizes as inputs in addition, whose names it returns.

    Dimensions named in `pinned`, as those of bound arrays, are not padded.
    """

    def __init__(
        self,
        program: DynamicProgram,
        masked: Callable[[], tuple[DynamicProgram, Sequence[str]]],
        pinned: Collection[str] = frozenset(),
    ):
        self._program, self._make, self._pinned = program, masked, frozenset(pinned)
        self._masked: DynamicProgram | None = None
        self._names: Sequence[str] = ()
        self._begun = False
        self._refused: set[Shapes] = set()
        self.reason = ""
        """The reason why there are none."""

    def account(self, account: Account[Any], limits: Specialization) -> tuple[Account[Any] | None, bool]:
        """Return the account of the class of some sizes, if there is one, and whether sizes are to wait for their class."""
        if self.reason or limits.eager or limits.max_programs < 2:
            return None, False
        sizes = self._program.sizes_of(account.shapes)
        bounds = {name: n if name in self._pinned else upper_bound(n) for name, n in sizes.items()}
        fits = bounds == sizes  # a program of its own then costs no more than that of the class, and runs faster
        if 0 in sizes.values() or (fits and self._masked is None):
            return None, False
        if not self._begun:
            self._begun = True
            if not limits.background or not WORKER.submit(lambda: self._prepare(limits)):
                self._prepare(limits)
        if self._masked is None:
            return None, not self.reason
        key = self._padded_shapes(bounds)
        if key in self._refused:
            return None, False
        try:
            found = self._masked.by_sizes.of(key)
        except MindError:  # a bound that breaks what is declared
            self._refused.add(key)
            return None, False
        return found, found.program is None and found.state.may_compile and not fits

    def _prepare(self, limits: Specialization) -> None:
        try:
            masked, self._names = self._make()
        except MindError as e:
            self.reason = e.message
            return
        half = replace(limits, max_programs=limits.max_programs // 2, max_bytes=limits.max_bytes // 2)
        exact = self._program.by_sizes
        masked.specialization = exact.limits = half
        masked.by_sizes.shares_with, exact.shares_with = exact, masked.by_sizes
        self._masked = masked

    def _padded_shapes(self, bounds: Mapping[str, int]) -> Shapes:
        specs = [s for s in self._program.inputs if not s.is_static]
        return tuple([_shape(s.shape, bounds) for s in specs])

    def run(
        self, found: Account[Any], arguments: Sequence[Any], account: Account[Any], own: Callable[[Any, Sequence[Any]], Any]
    ) -> Any:
        """Run the program of a class, which `own` calls, on arguments of the smaller sizes of an account."""
        assert self._masked is not None
        sizes = self._program.sizes_of(account.shapes)
        given, widened = list(arguments), iter(found.shapes)
        for i, spec in enumerate(self._program.inputs):
            if not spec.is_static:
                given[i] = _padded(arguments[i], next(widened))
        given += [np.array(sizes[name], np.int64) for name in self._names]
        by_sizes, program = self._masked.by_sizes, found.program
        start = by_sizes.clock()
        results = own(program, given)
        made = cast("tuple[Any, ...]", results if isinstance(results, tuple) else (results,))
        cut = [_cut(r, s.shape, sizes) for r, s in zip(made, self._program.outputs, strict=True)]
        seconds = by_sizes.clock() - start
        by_sizes.used(found)
        if found.timed < TIMED and account.unpadded < float("inf"):  # smaller sizes take less in both programs
            by_sizes.timed(found, seconds / account.unpadded * found.general)
        return tuple(cut) if isinstance(results, tuple) else cut[0]

    def ran(self, found: Account[Any], account: Account[Any], seconds: float) -> None:
        """Take in how long the general program took for the sizes of an account, which are of a class."""
        assert self._masked is not None
        account.unpadded = min(account.unpadded, seconds)
        self._masked.by_sizes.ran(found, seconds)

    def report(self) -> list[str]:
        """Return lines that say what the classes are compiled for, or why not."""
        if self.reason:
            return [f"no program for padded sizes: {self.reason}"]
        return [] if self._masked is None else [f"padded to bounds: {line}" for line in self._masked.by_sizes.report()]


def _shape(dims: Sequence[int | str], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return the shape for sizes of names, which are all known."""
    return tuple([cast("int", size_in(n, sizes)) for n in dims])


def _padded(x: Any, shape: Sequence[int]) -> Any:
    if x.shape == shape:
        return x
    found = np.zeros(shape, x.dtype)
    found[tuple(map(slice, x.shape))] = x
    return found


def _cut(x: Any, dims: Sequence[int | str], sizes: Mapping[str, int]) -> Any:
    """Return the elements of a result that are within sizes, in memory of their own."""
    shape = _shape(dims, sizes)
    return x if x.shape == shape else x[tuple(map(slice, shape))].copy()
