"""Kernels that move elements: on every dtype, against plain loops over places."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import DTYPES, PtirDType, tensor_type
from ptir_oracle import array, assert_elements, elements, ids, is_integer, legal, rounded, run, samples, wrapped

Place = tuple[int, ...]


def places(shape: tuple[int, ...]) -> list[Place]:
    return list(itertools.product(*map(range, shape)))


def check(found: Any, x: Any, source: Callable[[Place], Place | None], fill: Any = None) -> None:
    """Each place of the result holds the element of `x` at `source(place)`, or `fill` for None."""
    expected = [fill if (p := source(place)) is None else x[p].tolist() for place in places(found.shape)]
    assert_elements(found, expected)


def block(dtype: PtirDType, shape: tuple[int, ...] = (2, 3, 4)) -> np.ndarray:
    return np.resize(samples(dtype), math.prod(shape)).reshape(shape)


def reshape(dtype: PtirDType) -> None:
    x = block(dtype)
    for new_shape, shape in (((6, 4), (6, 4)), ((-1,), (24,)), ((2, -1, 2, 1), (2, 6, 2, 1))):
        found = run("reshape", x, new_shape=new_shape)
        assert found.shape == shape
        assert_elements(found, elements(x))
        assert_elements(run("reshape", x.transpose(2, 0, 1), new_shape=new_shape), elements(x.transpose(2, 0, 1)))
    assert run("reshape", x[:0], new_shape=(3, 0)).shape == (3, 0)
    assert run("reshape", x[0, 0, 0], new_shape=(1, 1)).shape == (1, 1)
    assert run("reshape", x[:1, :1, :1], new_shape=()).shape == ()


def transpose(dtype: PtirDType) -> None:
    x = block(dtype)
    for perm in itertools.permutations(range(3)):
        check(run("transpose", x, perm=perm), x, lambda p, perm=perm: tuple(p[perm.index(a)] for a in range(3)))
    assert run("transpose", x[0, 0, 0], perm=()).shape == ()


def broadcast_to(dtype: PtirDType) -> None:
    x = block(dtype, (3, 1))
    check(run("broadcast_to", x, result_shape=(2, 3, 4)), x, lambda p: (p[1], 0))
    check(run("broadcast_to", x, result_shape=(3, 0)), x, lambda p: p)
    check(run("broadcast_to", x[0, 0], result_shape=(2,)), x, lambda p: (0, 0))


def window(dtype: PtirDType) -> None:
    x = block(dtype)
    check(run("slice", x, starts=(1, 0, 2), sizes=(1, 3, 2)), x, lambda p: (p[0] + 1, p[1], p[2] + 2))
    check(run("slice", x, starts=(2, 0, 0), sizes=(0, 3, 4)), x, lambda p: p)


def strided_slice(dtype: PtirDType) -> None:
    x = block(dtype, (7, 5))
    check(run("strided_slice", x, starts=(1, 0), limits=(7, 4), strides=(3, 2)), x, lambda p: (1 + 3 * p[0], 2 * p[1]))
    check(run("strided_slice", x, starts=(7, 0), limits=(7, 5), strides=(9, 1 << 40)), x, lambda p: p)


def dimension_size(dtype: PtirDType) -> None:
    for axis, size in ((0, 7), (-1, 5)):
        found = run("dimension_size", block(dtype, (7, 5)), axis=axis)
        assert (found.dtype, found.shape, found) == (np.int64, (), size)


def reverse(dtype: PtirDType) -> None:
    x = block(dtype)
    check(run("reverse", x, axes=(0, -1)), x, lambda p: (1 - p[0], p[1], 3 - p[2]))
    check(run("reverse", x, axes=()), x, lambda p: p)


def concat(dtype: PtirDType) -> None:
    x, y = block(dtype), block(dtype, (2, 1, 4))
    both = {**{p: x[p] for p in places(x.shape)}, **{(p[0], p[1] + 3, p[2]): y[p] for p in places(y.shape)}}
    for axis in (1, -2):
        check(run("concat", x, y, axis=axis), both, lambda p: p)
    check(run("concat", x, axis=0), x, lambda p: p)
    check(run("concat", x[:, :0], x, axis=1), x, lambda p: p)


def pad(dtype: PtirDType) -> None:
    x = block(dtype, (2, 3))
    fill = elements(samples(dtype, 12))[-1]

    def source(p: Place) -> Place | None:
        i, j = p[0] - 1, p[1]
        return (i // 3, j) if 0 <= i <= 3 and i % 3 == 0 and j < 3 else None

    check(run("pad", x, low=(1, 0), high=(2, 1), interior=(2, 0), pad_value=fill), x, source, fill)
    check(run("pad", x, low=(0, 0), high=(0, 0), interior=(0, 0), pad_value=fill), x, lambda p: p)
    check(run("pad", x[:0], low=(1, 0), high=(0, 0), interior=(5, 5), pad_value=fill), x, lambda p: None, fill)
    assert_elements(run("pad", x[0, 0], low=(), high=(), interior=(), pad_value=fill), elements(x[0, 0]))


def tile(dtype: PtirDType) -> None:
    x = block(dtype, (2, 3))
    check(run("tile", x, repeats=(2, 3)), x, lambda p: (p[0] % 2, p[1] % 3))
    check(run("tile", x, repeats=(1, 1)), x, lambda p: p)
    assert run("tile", x, repeats=(0, 2)).shape == (0, 6)
    assert_elements(run("tile", x[0, 0], repeats=()), elements(x[0, 0]))


def iota(dtype: PtirDType) -> None:
    for shape, axis in (((3, 40), 1), ((300,), 0), ((5, 2), -2), ((2, 0), 1)):
        found = run("iota", shape=shape, dtype=dtype, axis=axis)
        numbers = [p[axis] for p in places(shape)]
        assert_elements(found, [wrapped(n, dtype) if is_integer(dtype) else rounded(n, dtype.name) for n in numbers])


def constant(dtype: PtirDType) -> None:
    x = samples(dtype)
    literal = PtirLiteralAttr.from_values(dtype, (len(x),), elements(x))
    found = run("constant", value=literal)
    assert_elements(found, elements(x))
    assert not found.flags.writeable
    for value in elements(x)[-3:]:
        assert_elements(run("constant", value=PtirLiteralAttr.filled(dtype, (2, 3), value)), [value] * 6)
        assert_elements(run("constant", value=PtirLiteralAttr.from_values(dtype, (), [value])), [value])
    assert run("constant", value=PtirLiteralAttr.from_values(dtype, (0, 2), [])).shape == (0, 2)


def stop_gradient(dtype: PtirDType) -> None:
    x = block(dtype)
    assert run("stop_gradient", x) is x


CHECKS: dict[str, Callable[[PtirDType], None]] = {
    "constant": constant,
    "stop_gradient": stop_gradient,
    "reshape": reshape,
    "transpose": transpose,
    "broadcast_to": broadcast_to,
    "slice": window,
    "concat": concat,
    "pad": pad,
    "tile": tile,
    "iota": iota,
    "reverse": reverse,
    "strided_slice": strided_slice,
    "dimension_size": dimension_size,
}


@pytest.mark.exhaustive
@pytest.mark.parametrize(("op", "dtype"), legal("structure"), ids=ids)
def test_every_legal_dtype(op: str, dtype: PtirDType):
    CHECKS[op](dtype)


def test_4_bit_literals_hold_the_low_half_of_each_byte():
    type = tensor_type(DTYPES["si4"], (3,))
    assert type is not None
    literal = PtirLiteralAttr.from_bytes(DTYPES["si4"], (3,), bytes([15, 8, 7]))
    assert_elements(run("constant", value=literal), [-1, -8, 7])
    literal = PtirLiteralAttr.from_bytes(DTYPES["ui4"], (3,), bytes([15, 8, 7]))
    assert_elements(run("constant", value=literal), [15, 8, 7])


def test_views_are_views():
    x = array(np.arange(24.0).reshape(2, 3, 4).tolist(), "f32")
    for op, properties in (
        ("transpose", {"perm": (2, 0, 1)}),
        ("slice", {"starts": (0, 1, 0), "sizes": (2, 2, 4)}),
        ("reverse", {"axes": (0,)}),
        ("reshape", {"new_shape": (6, 4)}),
        ("broadcast_to", {"result_shape": (5, 2, 3, 4)}),
    ):
        assert np.shares_memory(run(op, x, **properties), x), op
