"""Products of a domain with vectors, which `unroll_axes` computes for each element of the short axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mind_array as ma
import mind_runtime
from mind_dialect.ptir import ConcatOp, DotGeneralOp
from mind_passes.fusion.unroll_axes import unroll_axes

N, M = 40, 50
RNG = np.random.default_rng(0)
POINTS, OTHERS = RNG.standard_normal((N, 3)), RNG.standard_normal((M, 3))
MASSES, NUMBERS = RNG.random(M), RNG.random((N, M))


def differences(x: Any, y: Any) -> Any:
    return y[None] - x[:, None]


PROGRAMS: dict[str, Callable[..., Any]] = {
    "batch and sum": lambda x, y, m, w: ma.einsum("ijk,ij->ik", differences(x, y), w),
    "sum over the first axis": lambda x, y, m, w: ma.einsum("ijk,ij->jk", differences(x, y), w),
    "a vector": lambda x, y, m, w: ma.einsum("ijk,j->ik", differences(x, y) ** 2, m),
    "a vector first": lambda x, y, m, w: ma.einsum("j,ijk->ik", m, differences(x, y)),
    "all but the last axis": lambda x, y, m, w: ma.einsum("ijk,ij->k", differences(x, y), w),
    "axes in another order": lambda x, y, m, w: ma.einsum("ijk,ji->jk", differences(x, y), w.T),
    "axes in another order, all": lambda x, y, m, w: ma.einsum("ijk,ji->k", differences(x, y), w.T),
    "three operands": lambda x, y, m, w: ma.einsum("ijk,ij,j->ik", differences(x, y), w, m),
    "forces": lambda x, y, m, w: ma.einsum(
        "ijk,ij,j->ik", differences(x, y), (ma.sum(differences(x, y) ** 2, axis=-1) + 0.01) ** -1.5, m
    ),
    "and a sum": lambda x, y, m, w: (
        ma.einsum("ijk,ij->ik", differences(x, y), w),
        ma.sum(differences(x, y), axis=1),
    ),
}


def results(module: Any) -> Any:
    found = mind_runtime.compile(module, "f", target="numpy")(POINTS, OTHERS, MASSES, NUMBERS)
    return found if isinstance(found, tuple) else (found,)


def traced(program: Callable[..., Any]) -> Any:
    return ma.trace(program, *(ma.spec(a.shape) for a in (POINTS, OTHERS, MASSES, NUMBERS)), name="f")


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_with_vectors_are_unrolled(name: str) -> None:
    module = traced(PROGRAMS[name])
    wanted = results(module.clone())
    assert any(isinstance(op, DotGeneralOp) for op in module.walk())
    assert unroll_axes(module)
    module.verify()
    assert not any(isinstance(op, DotGeneralOp) for op in module.walk())
    assert any(isinstance(op, ConcatOp) for op in module.walk())
    for x, y in zip(results(module), wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


APART: dict[str, Callable[..., Any]] = {
    "free axes of the other operand": lambda x, y, m, w: ma.einsum("ijk,jl->ikl", differences(x, y), w.T),
    "the last axis": lambda x, y, m, w: ma.einsum("ijk,ik->ij", differences(x, y), x),
    "a batch along the last axis": lambda x, y, m, w: ma.einsum("ijk,jk->ik", differences(x, y), y),
}


@pytest.mark.parametrize("name", APART)
def test_other_products_stay(name: str) -> None:
    assert not unroll_axes(traced(APART[name]))
