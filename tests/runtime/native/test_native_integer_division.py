"""Integer quotients and remainders: those of NumPy's kernels for extremes, neighbours of multiples, and many numbers."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import DTYPES
from mind_lowering.native.program import print_module
from mind_lowering.native.target_info import TARGETS
from native_same import block, same, way
from ptir_forms import program

__all__ = ["way"]
INTEGERS = ("si8", "ui8", "si16", "ui16", "si32", "ui32", "si64", "ui64")
rng = np.random.default_rng(0)


def numpy_dtype(name: str) -> np.dtype[Any]:
    return block(DTYPES[name], (1,)).dtype


def both(a: Any, b: Any) -> list[Any]:
    return [ptir.DivOp(a, b).result, ptir.RemainderOp(a, b).result]


def pairs_of(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return dividends at and beside multiples of their divisors, extremes of both, and random numbers of every size."""
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    ends = [
        v for v in (*range(-4, 5), *(s * 2**k + d for k in range(65) for s in (1, -1) for d in (-1, 0, 1))) if least <= v <= most
    ]
    ends += [least + 1, most - 1]
    a, b = (list(v) for v in zip(*((x, y) for x in ends for y in ends if y), strict=True))
    numbers = Random(0)
    for _ in range(4000):
        y = numbers.randint(1, most >> numbers.randrange(dtype.itemsize * 8 - 1))
        x = numbers.randint(0, most // y) * y
        for near in (x - 1, x, x + 1):
            if 0 <= near <= most:
                signs = (-1, 1) if least < 0 else (1,)
                a += [s * near for s in signs for _ in signs]
                b += [t * y for _ in signs for t in signs]
    return np.array(a, dtype), np.array(b, dtype)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", INTEGERS)
def test_quotients_and_remainders(name: str) -> None:
    same(both, *pairs_of(numpy_dtype(name)))


@pytest.mark.parametrize("name", ["si8", "ui8"])
def test_all_bytes(name: str) -> None:
    dtype = numpy_dtype(name)
    every = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)
    a, b = np.meshgrid(every, every[every != 0])
    same(both, a.copy(), b.copy())


@pytest.mark.parametrize("name", ["si16", "ui16"])
def test_all_numbers_of_16_bits_by_some(name: str) -> None:
    dtype = numpy_dtype(name)
    every = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)
    divisors = np.concatenate([every[[0, 1, 2, -1, -2, -3]], rng.choice(every[every != 0], 40)])
    same(both, *(v.copy() for v in np.broadcast_arrays(every, divisors[divisors != 0, None])))


DIVISORS = (1, 2, 3, 7, 10, 64, 127, -1, -2, -3, -128, 255, 1000, 32768, 65536, 2**31 - 1, -(2**31), 2**63)
CONSTANTS = [(name, n) for name in INTEGERS for i in [np.iinfo(numpy_dtype(name))] for n in DIVISORS if i.min <= n <= i.max]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("name", "number"), CONSTANTS)
def test_constants(name: str, number: int) -> None:
    """LLVM multiplies and shifts."""
    dtype = numpy_dtype(name)
    a = np.unique(pairs_of(dtype)[0])
    literal = PtirLiteralAttr.filled(DTYPES[name], a.shape, number)
    same(lambda x: both(x, ptir.ConstantOp(literal).result), a)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", ["si8", "ui16", "si32", "ui32", "si64"])
@pytest.mark.parametrize("op", [ptir.DivOp, ptir.RemainderOp])
def test_zero_is_an_error(name: str, op: Any) -> None:
    """In one lane, at the end of a row, and everywhere."""
    a = np.arange(1, 38).astype(numpy_dtype(name))
    for place in (0, 20, 36):
        b = a.copy()
        b[place] = 0
        same(lambda x, y: op(x, y).result, a, b)
    zero = PtirLiteralAttr.filled(DTYPES[name], a.shape, 0)
    same(lambda x: op(x, ptir.ConstantOp(zero).result).result, a)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", ["si32", "si64"])
def test_zero_is_an_error_where_the_quotient_is_unused(name: str) -> None:
    """Its operands are in a fusion with ops of which others use the results."""

    def body(x: Any, y: Any) -> Any:
        product = ptir.MulOp(x, y).result
        square = ptir.MulOp(product, product).result
        quotient = ptir.DivOp(ptir.MulOp(square, product), product).result
        return ptir.SliceOp(ptir.ConcatOp(quotient, square, axis=0), starts=(39,), sizes=(1,)).result

    a = np.arange(1, 38).astype(numpy_dtype(name))
    for first in (1, 0):
        a[20] = first
        same(body, a, a)


@pytest.mark.parametrize("name", ["si8", "ui8", "si16", "ui16", "si32", "ui32"])
def test_lanes_are_divided_as_floats(name: str) -> None:
    """No lane is divided as an integer."""
    text = print_module(program(f"{name}[64] {name}[64]", both), TARGETS["avx2"])
    assert "sdiv <" not in text
    assert "udiv <" not in text
    assert ("fdiv <8 x double>" if name.endswith("32") else "x float>") in text
