"""Products that sum one term at most, as elementwise ops: the numbers of the NumPy target, and of `einsum`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mind_runtime
from mind_dialect import ptir
from mind_passes.fusion.unroll_axes import unroll_axes
from ptir_forms import program

LETTERS = "abcdefgh"


@given(st.data())
def test_drawn_products_have_the_numbers_of_einsum(data: st.DataObject) -> None:
    batch, left, right = (data.draw(st.lists(st.integers(1, 3), max_size=2)) for _ in range(3))
    terms = data.draw(st.integers(0, 2))
    names = iter(LETTERS)
    b, m, n, k = ([next(names) for _ in sizes] for sizes in (batch, left, right, range(terms)))
    sizes = dict(zip([*b, *m, *n, *k], [*batch, *left, *right, *(1,) * terms], strict=True))
    first, second = data.draw(st.permutations([*b, *m, *k])), data.draw(st.permutations([*b, *n, *k]))
    m, n = [c for c in first if c in m], [c for c in second if c in n]
    dtype = data.draw(st.sampled_from(["float32", "float64", "int32", "complex64"]))
    x, y = (data.draw(st.integers(0, 99)) for _ in range(2))
    arrays = [
        (np.random.default_rng(seed).standard_normal([sizes[c] for c in axes]) * 9).astype(dtype)
        for seed, axes in ((x, first), (y, second))
    ]

    def body(lhs: Any, rhs: Any) -> Any:
        return ptir.DotGeneralOp(
            lhs,
            rhs,
            batch_lhs=[first.index(c) for c in b],
            batch_rhs=[second.index(c) for c in b],
            contract_lhs=[first.index(c) for c in k],
            contract_rhs=[second.index(c) for c in k],
        )

    module = program(" ".join(map(_type, arrays)), body)
    unroll_axes(module)
    module.verify()
    assert not any(isinstance(op, ptir.DotGeneralOp) for op in module.walk())
    found = mind_runtime.compile(module, target="numpy")(*arrays)
    wanted = np.einsum(f"{''.join(first)},{''.join(second)}->{''.join([*b, *m, *n])}", *arrays)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert found.dtype == wanted.dtype


def _type(array: Any) -> str:
    names = {"float32": "f32", "float64": "f64", "int32": "si32", "complex64": "cf32"}
    return f"{names[str(array.dtype)]}[{','.join(map(str, array.shape))}]"


@pytest.mark.parametrize(
    ("types", "options"),
    [
        ("f32[3,2] f32[2,5]", {}),
        ("bf16[3,1] bf16[1,5]", {}),
        ("f32[3,1] f32[1,5]", {"out_dtype": "f64"}),
        ("si8[3,1] si8[1,5]", {"accum_dtype": "si32"}),
    ],
)
def test_other_products_stay(types: str, options: dict[str, str]) -> None:
    def body(lhs: Any, rhs: Any) -> Any:
        return ptir.DotGeneralOp(lhs, rhs, batch_lhs=[], batch_rhs=[], contract_lhs=[1], contract_rhs=[0], **options)

    module = program(types, body)
    unroll_axes(module)
    assert any(isinstance(op, ptir.DotGeneralOp) for op in module.walk())
