"""
What memory arguments and results of a call may have: every pattern of aliasing, for every size, position and target.

A pattern makes two arrays of the shape of the program's inputs and results. Whether a call is refused follows from the addresses
of their bytes, found one by one here; a call that is not refused gives the numbers of one on arrays of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from ptir_forms import program

Shape = tuple[int, ...]
Pair = tuple[Any, Any]
SHAPES: list[Shape] = [(), (0,), (1,), (2,), (7,), (0, 3), (3, 0), (1, 1), (1, 2), (2, 1), (2, 3), (3, 2, 2)]
TARGETS = ["numpy", "native", "cupy"]


def room(shape: Shape, times: int = 4) -> Any:
    return np.arange(times * (int(np.prod(shape)) + 8), dtype=np.float32)


def own(shape: Shape) -> Any:
    """An array of memory of its own."""
    return room(shape)[: int(np.prod(shape))].reshape(shape).copy()


def cut(memory: Any, start: int, shape: Shape) -> Any:
    """An array in row-major order that begins at an element of some memory."""
    return memory[start : start + int(np.prod(shape))].reshape(shape)


def shifted(by: Callable[[int], int]) -> Callable[[Shape], Pair]:
    """Two arrays of one memory, `by(number of elements)` elements apart."""

    def make(shape: Shape) -> Pair:
        memory, size = room(shape), int(np.prod(shape))
        return cut(memory, size + 4, shape), cut(memory, size + 4 + by(size), shape)

    return make


def same(shape: Shape) -> Pair:
    x = own(shape)
    return x, x


def interleaved(shape: Shape) -> Pair:
    """Every other element: no byte is of both, but the ranges of their addresses meet."""
    memory = room(shape)
    return _strided(memory, shape, 2, 0), _strided(memory, shape, 2, 1)


def _strided(memory: Any, shape: Shape, step: int, start: int) -> Any:
    """An array in row-major order but for a step between its elements."""
    strides = np.empty(shape, np.float32).strides if 0 not in shape else (4,) * len(shape)
    return as_strided(memory[start:], shape, tuple(s * step for s in strides))


def one_of(make: Callable[[Shape], Any], other: Callable[[Shape], Any] = own) -> Callable[[Shape], Pair]:
    """An array of some kind, and one of its own memory."""
    return lambda shape: (make(shape), other(shape))


def read_only(shape: Shape) -> Any:
    x = own(shape)
    x.flags.writeable = False
    return x


def unaligned(shape: Shape) -> Any:
    memory = np.zeros(4 * int(np.prod(shape)) + 1, np.uint8)[1:]
    return memory.view(np.float32).reshape(shape)


def fortran(shape: Shape) -> Any:
    return np.array(own(shape), order="F")


def backwards(axis: int) -> Callable[[Shape], Any]:
    def make(shape: Shape) -> Any:
        where = [slice(None)] * len(shape)
        if axis < len(shape):
            where[axis] = slice(None, None, -1)
        return own(shape)[(*where, ...)]

    return make


def repeated(axis: int) -> Callable[[Shape], Any]:
    """All elements along an axis are one."""

    def make(shape: Shape) -> Any:
        x = own(shape)
        return as_strided(x, shape, [0 if i == axis else s for i, s in enumerate(x.strides)])

    return make


def sliding(shape: Shape) -> Any:
    """Each row begins one element after the one before."""
    return as_strided(room(shape), shape, (4,) * len(shape))


PATTERNS: dict[str, Callable[[Shape], Pair]] = {
    "each its own": one_of(own),
    "the same": same,
    "a view of the other": lambda shape: (lambda x: (x, x[...]))(own(shape)),
    "the same from another view": shifted(lambda size: 0),
    "neighbours": shifted(lambda size: size),
    "neighbours, the other first": shifted(lambda size: -size),
    "one element": shifted(lambda size: max(size - 1, 0)),
    "one element, the other first": shifted(lambda size: -max(size - 1, 0)),
    "one element apart": shifted(lambda size: 1),
    "interleaved": interleaved,
    "read-only": one_of(read_only),
    "the other read-only": lambda shape: (own(shape), read_only(shape)),
    "unaligned": one_of(unaligned),
    "strided": one_of(lambda shape: _strided(room(shape), shape, 2, 0)),
    "Fortran order": one_of(fortran),
    "both in Fortran order": one_of(fortran, fortran),
    **{f"backwards along {axis}": one_of(backwards(axis)) for axis in range(3)},
    **{f"repeated along {axis}": one_of(repeated(axis)) for axis in range(3)},
    **{f"the other repeated along {axis}": one_of(own, repeated(axis)) for axis in range(3)},
    "sliding rows": one_of(sliding),
}


# Which bytes an array has, one by one


def places(x: Any) -> list[int]:
    """The address of each element."""
    return [
        x.__array_interface__["data"][0] + sum(i * s for i, s in zip(at, x.strides, strict=True)) for at in np.ndindex(x.shape)
    ]


def ranges_meet(x: Any, y: Any) -> bool:
    """Whether the least range of addresses that holds an array meets that of the other."""
    a, b = places(x), places(y)
    return bool(a and b) and min(a) < max(b) + 4 and min(b) < max(a) + 4


def covers_itself(x: Any) -> bool:
    at = sorted(places(x))
    return any(b - a < 4 for a, b in pairwise(at))


def in_row_major_order(x: Any) -> bool:
    """Whether elements follow each other, where there are several."""
    at = places(x)
    return at == [at[0] + 4 * i for i in range(len(at))] if at else True


# Programs, by target


def module(shape: Shape) -> Any:
    types = f"f32[{','.join(map(str, shape))}] " * 2
    return program(types, lambda a, b: [ptir.AddOp(a, b), ptir.SubOp(a, b)])


def compiled(shape: Shape, target: str, donated: tuple[int, ...] = ()) -> Any:
    if target == "cupy":
        pytest.importorskip("ml_dtypes")
        from cuda_emulation import compiler
        from fake_device import compile_on_fake

        compiler()
        return compile_on_fake(module(shape), donated)
    if target == "native":
        pytest.importorskip("llvmlite")
    made = module(shape)
    names = [spec.name for spec in mind_runtime.compile(made).inputs]
    return mind_runtime.compile(made, target=target, donate=[names[i] for i in donated])


def outcome(run: Callable[[], Any]) -> Any:
    """What a call gives, as copies, or the code of its error."""
    try:
        with np.errstate(all="ignore"):
            return [np.array(x) for x in run()]
    except MindError as e:
        return e.code


def check(found: Any, refused: bool, a: Any, b: Any, what: str) -> None:
    if refused:
        assert found == "E2001", f"{what}: {found}"
    else:
        assert not isinstance(found, str), f"{what}: {found}"
        for x, y in zip(found, (a + b, a - b), strict=True):
            np.testing.assert_array_equal(x, y, err_msg=what)


def cases() -> list[tuple[str, Shape]]:
    return list(product(PATTERNS, SHAPES))


@pytest.mark.parametrize("target", TARGETS)
def test_results_that_are_given(target: str) -> None:
    """Writeable, elements apart, and apart from each other; any order and place else."""
    for shape in SHAPES:
        run = compiled(shape, target)
        for pattern in PATTERNS:
            a, b = own(shape), own(shape) * 3
            out = PATTERNS[pattern](shape)
            refused = not all(x.flags.writeable for x in out) or any(map(covers_itself, out)) or ranges_meet(*out)
            before = [x.copy() for x in out]
            found = outcome(lambda run=run, a=a, b=b, out=out: run(a, b, out=out))
            check(found, refused, a, b, f"{pattern} {shape}")
            for x, y in zip(out, before, strict=True):
                assert not refused or np.array_equal(x, y), f"{pattern} {shape}: written to"


@pytest.mark.parametrize("target", TARGETS)
def test_results_that_are_given_over_arguments(target: str) -> None:
    """Results may have the memory of arguments, whatever they share."""
    for shape in SHAPES:
        run = compiled(shape, target)
        for pattern in PATTERNS:
            for swapped in (False, True):
                a, out = PATTERNS[pattern](shape)[:: -1 if swapped else 1]
                values, b, second = np.array(a), own(shape) * 3, own(shape)
                refused = not out.flags.writeable or covers_itself(out)
                found = outcome(lambda run=run, a=a, b=b, out=out, second=second: run(a, b, out=(out, second)))
                check(found, refused, values, b, f"{pattern} {shape} {swapped}")


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_that_are_not_donated(target: str) -> None:
    """Arguments may have any memory: none is written to."""
    for shape in SHAPES:
        run = compiled(shape, target)
        for pattern in PATTERNS:
            a, b = PATTERNS[pattern](shape)
            before = np.array(a), np.array(b)
            check(outcome(lambda run=run, a=a, b=b: run(a, b)), False, *before, f"{pattern} {shape}")
            assert all(np.array_equal(x, y) for x, y in zip((a, b), before, strict=True)), f"{pattern} {shape}: written to"


@pytest.mark.parametrize("donated", [(0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_arguments_that_are_donated(target: str, donated: tuple[int, ...]) -> None:
    """Each writeable, in row-major order, and apart from every other argument."""
    for shape in SHAPES:
        run = compiled(shape, target, donated)
        for pattern in PATTERNS:
            given = PATTERNS[pattern](shape)
            before = [np.array(x) for x in given]
            refused = ranges_meet(*given) or not all(given[i].flags.writeable and in_row_major_order(given[i]) for i in donated)
            found = outcome(lambda run=run, given=given: run(*given))
            check(found, refused, *before, f"{pattern} {shape}")
            kept = range(2) if refused else set(range(2)) - set(donated)
            assert all(np.array_equal(given[i], before[i]) for i in kept), f"{pattern} {shape}: written to"


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("donated", [(0,), (0, 1)], ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_results_that_are_given_over_donated_arguments(target: str, donated: tuple[int, ...], place: int) -> None:
    """An array for a result may have any of the memory of a donated argument: both rules hold, and nothing else."""
    for shape in SHAPES:
        run = compiled(shape, target, donated)
        for pattern in PATTERNS:
            a, mine = PATTERNS[pattern](shape)
            values, b, other = np.array(a), own(shape) * 3, own(shape)
            out = (mine, other) if place == 0 else (other, mine)
            refused = not (a.flags.writeable and in_row_major_order(a)) or not mine.flags.writeable or covers_itself(mine)
            before = [np.array(x) for x in (a, b, *out)]
            found = outcome(lambda run=run, a=a, b=b, out=out: run(a, b, out=out))
            check(found, refused, values, before[1], f"{pattern} {shape}")
            if refused:
                same = (np.array_equal(x, y) for x, y in zip((a, b, *out), before, strict=True))
                assert all(same), f"{pattern} {shape}: written to"


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("target", TARGETS)
def test_a_donated_argument_beside_a_bound_one(target: str, which: int) -> None:
    """The same rules where the other argument is bound, whether that owns its memory or not."""
    for shape in SHAPES:
        for pattern in PATTERNS:
            run = compiled(shape, target, (which,))
            given = PATTERNS[pattern](shape)
            before = [np.array(x) for x in given]
            bound = run.type_of_bound(mind_runtime.Bound)(run, {run.inputs[1 - which].name: given[1 - which]})
            writeable = given[which].flags.writeable and in_row_major_order(given[which])
            meet = ranges_meet(*given) and target != "cupy"  # where a bound array is a copy on the GPU
            found = outcome(lambda bound=bound, x=given[which]: bound(x))
            check(found, meet or not writeable, *before, f"{pattern} {shape}")
            assert np.array_equal(given[1 - which], before[1 - which]), f"{pattern} {shape}: written to"


def test_the_oracle_refuses_and_accepts() -> None:
    """Each pattern is refused somewhere and accepted elsewhere, or is meant to be harmless."""
    meeting = {p for p, shape in cases() if ranges_meet(*PATTERNS[p](shape))}
    covering = {p for p, shape in cases() if any(map(covers_itself, PATTERNS[p](shape)))}
    disordered = {p for p, shape in cases() if not all(map(in_row_major_order, PATTERNS[p](shape)))}
    assert meeting == {p for p in PATTERNS if "same" in p or "one element" in p or p in ("a view of the other", "interleaved")}
    assert covering == {p for p in PATTERNS if "repeated" in p or "sliding" in p}
    assert disordered == {
        p for p in PATTERNS if any(w in p for w in ("repeated", "sliding", "strided", "Fortran", "backwards", "interleaved"))
    }
