"""Transposes of what lies backwards, as rotations of images are: loops go the other way round, so that vectors are transposed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mind_dialect import ptir
from mind_dialect.ptir.types import DTYPES
from mind_lowering.native import TARGETS
from mind_lowering.native.program import lower, prepared
from native_same import block, same, way
from ptir_evaluator import function_of
from ptir_forms import program

__all__ = ["way"]


def transposed(x: Any) -> Any:
    return ptir.TransposeOp(x, perm=(0, 2, 1)).result


def turned(x: Any, *axes: int) -> Any:
    return ptir.ReverseOp(x, axes=axes).result


def counted(x: Any, axis: int) -> Any:
    """The index along an axis of a rotated image."""
    return ptir.IotaOp(shape=(3, 37, 21), dtype=DTYPES["f32"], axis=axis).result


FORMS: dict[str, Callable[[Any], Any]] = {
    "a quarter turn": lambda x: turned(transposed(x), 1),
    "a quarter turn back": lambda x: turned(transposed(x), 2),
    "a half turn": lambda x: turned(x, 1, 2),
    "both ways": lambda x: turned(transposed(x), 1, 2),
    "with the batch": lambda x: turned(transposed(x), 0, 1),
    "computed": lambda x: ptir.AddOp(*[ptir.MulOp(turned(transposed(x), 1), turned(transposed(x), 1)).result] * 2).result,
    "beside forwards": lambda x: ptir.SubOp(turned(transposed(x), 1), transposed(x)).result,
    "across": lambda x: ptir.SubOp(turned(transposed(x), 1), turned(transposed(x), 2)).result,
    "reduced": lambda x: ptir.ReduceOp(turned(transposed(x), 1), kind="max", axes=(2,), keepdims=False).result,
    "of an index": lambda x: ptir.MulOp(turned(transposed(x), 1), counted(x, 1)).result,
    "of another index": lambda x: ptir.MulOp(turned(transposed(x), 1), turned(counted(x, 2), 2)).result,
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", FORMS)
def test_forms(name: str) -> None:
    same(FORMS[name], block(DTYPES["f32"], (3, 21, 37)))


@pytest.mark.parametrize("dtype", ["f64", "bf16", "si8", "ui16", "si64", "i1"])
def test_other_dtypes(dtype: str) -> None:
    x = block(DTYPES[dtype], (3, 21, 37))
    same(FORMS["a quarter turn"], x)
    same(FORMS["both ways"], x)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 40), (2, 40, 1), (1, 16, 16), (1, 17, 33), (2, 130, 70), (0, 3, 4)])
def test_shapes(shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    same(FORMS["a quarter turn"], x)
    same(FORMS["a quarter turn back"], x)


@pytest.mark.parametrize("name", ["a quarter turn", "a quarter turn back", "computed"])
def test_nothing_is_gathered(name: str) -> None:
    module = program("f32[3,64,64]", FORMS[name])
    text = lower(prepared(function_of(module), TARGETS["avx512"]), TARGETS["avx512"]).text
    assert not any("call" in line and "masked.gather" in line for line in text.splitlines())
