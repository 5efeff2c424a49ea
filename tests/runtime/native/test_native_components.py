"""Components of vectors that a concat puts together: one kernel writes all of them, a few elements apart."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from native_same import same, types, way
from ptir_forms import program

__all__ = ["way"]
pytestmark = pytest.mark.usefixtures("way")

ONE_WAY = pytest.mark.parametrize("way", [""], indirect=True)


def component(x: Any, number: int) -> Any:
    *outer, _ = x.type.get_shape()
    return ptir.SliceOp(x, starts=(*[0] * len(outer), number), sizes=(*outer, 1)).result


def joined(*parts: Any) -> Any:
    return ptir.ConcatOp(*parts, axis=-1).result


def cross(a: Any, b: Any) -> Any:
    """The product of vectors, its components stacked along the first axis and turned, as `jnp.cross` has it."""
    n = a.type.get_shape()[0]

    def line(x: Any, i: int) -> Any:
        return ptir.ReshapeOp(component(x, i % 3), new_shape=(n,)).result

    found = [ptir.SubOp(ptir.MulOp(line(a, i + 1), line(b, i + 2)), ptir.MulOp(line(a, i + 2), line(b, i + 1))) for i in range(3)]
    rows = [ptir.BroadcastToOp(x, result_shape=(1, n)) for x in found]
    return ptir.TransposeOp(ptir.ConcatOp(*rows, axis=0), perm=(1, 0)).result


def test_products_of_vectors() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 7, 40, 333):
        same(cross, rng.standard_normal((n, 3)).astype(np.float32), rng.standard_normal((n, 3)).astype(np.float32))


@ONE_WAY
def test_components_are_one_kernel_without_memory() -> None:
    x = np.random.default_rng(1).standard_normal((5000, 3)).astype(np.float32)
    compiled = mind_runtime.compile(program(types(x, x), cross), target="native")
    assert "1 native kernel, 0 ops on NumPy, arena 0 bytes" in compiled.explain()[0]
    np.testing.assert_allclose(compiled(x, x[::-1].copy()), np.cross(x, x[::-1]), rtol=1e-5, atol=1e-6)


@ONE_WAY
@pytest.mark.parametrize("seed", range(30))
def test_random_components(seed: int) -> None:
    """Components that are computed, copied, constant, read by others as well, or given twice; up to more than are written so."""
    pick = random.Random(seed)
    kind = pick.choice([np.float32, np.float64, np.int32, np.int8, np.float16])
    shape = (*[pick.choice([1, 2, 3, 5]) for _ in range(pick.randrange(2))], pick.choice([1, 9, 40, 130]), pick.randrange(2, 5))
    x, y = ((np.random.default_rng(seed + i).standard_normal(shape) * 3).astype(kind) for i in (0, 1))

    def body(a: Any, b: Any) -> list[Any]:
        made: list[Any] = []
        for _ in range(pick.randrange(2, 11)):
            u, v = (component(pick.choice([a, b]), pick.randrange(shape[-1])) for _ in range(2))
            part = pick.choice([ptir.AddOp, ptir.MulOp, ptir.SubOp, ptir.MaximumOp])(u, v).result
            choices = [u, part, ptir.MulOp(part, u).result, ptir.NegOp(part).result]
            made.append(pick.choice([*choices, *made[:1]]))
        others = [ptir.AbsOp(made[-1])] if pick.random() < 0.3 else []
        return [joined(*made), *others]

    same(body, x, y)
