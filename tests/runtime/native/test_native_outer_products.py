"""Products without anything to sum: one multiplication for each result, bit for bit what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.program import functions
from mind_dialect.ptir.types import BF16, F32, F64, SI8, SI64, PtirDType
from mind_lowering.native import TARGETS
from mind_lowering.native.program import lower, prepared
from native_same import block, same, way
from ptir_forms import dot, program

__all__ = ["way"]
FORMS: dict[str, tuple[tuple[int, ...], tuple[int, ...], Any]] = {
    "a column by a row": ((37, 1), (1, 70), lambda a, b: dot(a, b, (1,), (0,))),
    "vectors": ((37,), (70,), lambda a, b: dot(a, b, (), ())),
    "vectors of each example": ((5, 37), (5, 70), lambda a, b: dot(a, b, (), (), ((0,), (0,)))),
    "two contracted axes of extent 1": ((1, 9, 1), (1, 1, 33), lambda a, b: dot(a, b, (0, 2), (1, 0))),
    "a batch that lies last": ((37, 1, 3), (3, 20, 1), lambda a, b: dot(a, b, (1,), (2,), ((2,), (0,)))),
    "no columns": ((4, 1), (1, 0), lambda a, b: dot(a, b, (1,), (0,))),
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("dtype", [F32, F64, BF16, SI8, SI64], ids=str)
def test_outer_products_equal_numpys(name: str, dtype: PtirDType) -> None:
    left, right, form = FORMS[name]
    same(lambda a, b: form(a, b).result, block(dtype, left), block(dtype, right, 1))


def test_a_wider_result_is_not_rounded_in_between() -> None:
    options: dict[str, Any] = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (), "contract_rhs": ()}

    def wide(a: Any, b: Any) -> Any:
        return ptir.DotGeneralOp(a, b, accum_dtype="si32", out_dtype="si32", **options).result

    a, b = (np.arange(-128, 128).astype(np.int8) for _ in range(2))
    found = mind_runtime.compile(program("si8[256] si8[256]", wide), target="native")(a, b)
    np.testing.assert_array_equal(found, np.multiply.outer(a.astype(np.int32), b.astype(np.int32)))


def explained(types: str, body: Any) -> str:
    return "\n".join(mind_runtime.compile(program(types, body), target="native").explain(rejected=True))


def test_a_product_with_a_sum_is_no_outer_product() -> None:
    assert "not outer product: it sums 2 products for each result" in explained(
        "f32[8,2] f32[2,4]", FORMS["a column by a row"][2]
    )
    assert "outer product" not in explained("f32[8,1] f32[1,4]", FORMS["a column by a row"][2])
    assert "tiles" not in explained("f32[8,1] f32[1,4]", FORMS["a column by a row"][2])


@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline", "neon"])
def test_large_results_go_past_the_caches(isa: str) -> None:
    def text(rows: int) -> str:

        (func,) = functions(program(f"f32[{rows},1] f32[1,4096]", FORMS["a column by a row"][2]))
        return lower(prepared(func, TARGETS[isa]), TARGETS[isa]).text

    assert "!nontemporal" in text(4096)
    assert "!nontemporal" not in text(64)
