"""Bits under a dtype of another width: the ops that are built, run by the reference kernels, against NumPy's views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.utils.test_value import create_ssa_value

import mind_runtime
from mind_dialect.errors import MindError
from mind_dialect.ptir import bitcast_ops
from mind_dialect.ptir.legal import REAL
from mind_dialect.ptir.types import DTYPES, PtirDType
from ptir_forms import program
from ptir_oracle import array, elements, ids, samples
from ptir_rows import typed


def run(x: np.ndarray, types: str, target: PtirDType) -> Any:
    return mind_runtime.compile(program(types, lambda v: bitcast_ops(v, target)[-1]))(x)


WHOLE_BYTES = [d for d in REAL if d.bits >= 8]


@pytest.mark.parametrize(("source", "target"), [(a, b) for a in WHOLE_BYTES for b in WHOLE_BYTES], ids=ids)
def test_bits_of_whole_bytes_are_those_of_a_view(source: PtirDType, target: PtirDType):
    count = max(1, target.bits // source.bits)
    x = samples(source, 24)[: 3 * count].reshape((3, count) if count > 1 else (3,))
    found = run(x, f"{source}[{','.join(map(str, x.shape))}]", target)
    expected = x.view(array([0], target).dtype) if x.ndim == 1 else x.view(array([0], target).dtype)[:, 0]
    if target.bits < source.bits:
        expected = expected.reshape(3, -1)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == np.ascontiguousarray(expected).tobytes()


def test_nibbles_come_lowest_first():
    assert elements(run(array([0x21, 0xF8], "ui8"), "ui8[2]", DTYPES["ui4"])) == [1, 2, 8, 15]
    assert elements(run(array([0x21, 0x8F], "ui8"), "ui8[2]", DTYPES["si4"])) == [1, 2, -1, -8]
    assert elements(run(array([[1, -8], [-1, 0]], "si4"), "si4[2,2]", DTYPES["ui8"])) == [0x81, 0x0F]


def test_names_of_dimensions_stay():
    (result,) = bitcast_ops(create_ssa_value(typed("f32[B,3]")), DTYPES["ui8"])[-1].results
    assert result.type == typed("ui8[B,3,4]")
    (result,) = bitcast_ops(create_ssa_value(typed("ui8[B,4]")), DTYPES["f32"])[-1].results
    assert result.type == typed("f32[B]")


@pytest.mark.parametrize(
    ("types", "target", "code"),
    [
        *[("ui8[5]", "f32", "E3003"), ("ui8[]", "ui16", "E3003"), ("ui8[B]", "ui16", "E3003"), ("i1[8]", "ui8", "E2005")],
        *[("cf32[2]", "f32", "E2005"), ("f32[2]", "cf32", "E2005"), ("ui8[8]", "i1", "E2005")],
    ],
)
def test_what_has_no_such_bits_is_refused(types: str, target: str, code: str):
    with pytest.raises(MindError) as caught:
        bitcast_ops(create_ssa_value(typed(types)), DTYPES[target])
    assert caught.value.code == code
