"""Sums over the places of patches as convolutions: the same sums up to their order, and only where patches are not needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.verify import verify
from mind_passes.fusion.convolve_patches import convolve_patches
from mind_runtime import compile
from ptir_forms import program

IMAGE, PLACES = "f64[2,9,8,6]", "f64[2,4,7,"
WINDOW = {"window": [3, 2], "strides": [2, 1], "dilation": [1, 2], "padding": [(1, 0), (0, 1)]}
OVER = {"contract_lhs": (0, 1, 2), "contract_rhs": (0, 1, 2)}
Body = Callable[..., Any]


def patches(x: Any, **changed: Any) -> Any:
    return ptir.ExtractPatchesOp(x, **{**WINDOW, "pad_value": 0.0, **changed}).result


def dense(x: Any, g: Any, **changed: Any) -> Any:
    return ptir.DotGeneralOp(patches(x, **changed), g, batch_lhs=(), batch_rhs=(), **OVER).result


def product(a: Any, b: Any, of_a: tuple[int, ...], of_b: tuple[int, ...], batch: Any = ((), ())) -> Any:
    return ptir.DotGeneralOp(a, b, batch_lhs=batch[0], batch_rhs=batch[1], contract_lhs=of_a, contract_rhs=of_b).result


def split(x: Any) -> Any:
    return ptir.ReshapeOp(patches(x), new_shape=(2, 4, 7, 6, 3, 2)).result


def grouped(x: Any, g: Any) -> Any:
    split = ptir.ReshapeOp(patches(x), new_shape=(2, 4, 7, 6, 3, 2))
    return ptir.DotGeneralOp(split, g, batch_lhs=(4,), batch_rhs=(3,), **OVER).result


def by_channel(x: Any, g: Any, axes: tuple[int, ...] = (0, 1, 2), kind: str = "sum", first: bool = True) -> Any:
    split = ptir.ReshapeOp(patches(x), new_shape=(2, 4, 7, 6, 6))
    spread = ptir.BroadcastToOp(ptir.ReshapeOp(g, new_shape=(2, 4, 7, 1, 6)), result_shape=(2, 4, 7, 6, 6))
    product = ptir.MulOp(split, spread) if first else ptir.MulOp(spread, split)
    return ptir.ReduceOp(product, kind=kind, axes=axes, keepdims=False).result


def shared(x: Any, g: Any) -> Any:
    found = patches(x)
    return ptir.DotGeneralOp(found, g, batch_lhs=(), batch_rhs=(), **OVER).result, found


FOUND: dict[str, tuple[str, Body]] = {
    "dense": (f"{IMAGE} {PLACES}5]", dense),
    "dense, two axes of outputs": (f"{IMAGE} {PLACES}5,3]", dense),
    "groups": (f"{IMAGE} {PLACES}3,4]", grouped),
    "channels before places": (f"{IMAGE} f64[2,5,4,7]", lambda x, g: product(patches(x), g, (0, 1, 2), (0, 2, 3))),
    "axes in another order": (f"{IMAGE} f64[7,5,2,3,4]", lambda x, g: product(patches(x), g, (2, 0, 1), (0, 2, 4))),
    "patches to the right": (f"{IMAGE} {PLACES}5]", lambda x, g: product(g, patches(x), (0, 1, 2), (0, 1, 2))),
    "patches to the right, channels first": (f"{IMAGE} f64[5,2,4,7]", lambda x, g: product(g, patches(x), (2, 1, 3), (1, 0, 2))),
    "groups first": (f"{IMAGE} f64[3,2,4,4,7]", lambda x, g: product(split(x), g, (0, 1, 2), (1, 3, 4), ((4,), (0,)))),
    "groups to the right": (f"{IMAGE} f64[2,4,3,4,7]", lambda x, g: product(g, split(x), (0, 3, 4), (0, 1, 2), ((2,), (4,)))),
    "by channel": (f"{IMAGE} {PLACES}6]", by_channel),
    "by channel, exchanged": (f"{IMAGE} {PLACES}6]", lambda x, g: by_channel(x, g, first=False)),
    "in f32": (f"{IMAGE} {PLACES}5]".replace("f64", "f32"), dense),
}
LEFT: dict[str, tuple[str, Body]] = {
    "padding is no 0": (f"{IMAGE} {PLACES}5]", lambda x, g: dense(x, g, pad_value=1.0)),
    "no sum": (
        f"{IMAGE} {PLACES}6]",
        lambda x, g: by_channel(x, g, kind="max"),
    ),
    "not all places": (f"{IMAGE} {PLACES}6]", lambda x, g: by_channel(x, g, (0, 1))),
    "patches are a result": (f"{IMAGE} {PLACES}5]", shared),
    "windows of one element": (
        "f64[2,9,8,6] f64[2,5,4,5]",
        lambda x, g: dense(x, g, window=[1, 1], strides=[2, 2], dilation=[1, 1], padding=[(0, 0), (0, 0)]),
    ),
    "integers": (f"{IMAGE} {PLACES}5]".replace("f64", "si32"), lambda x, g: dense(x, g, pad_value=0)),
    "a batch of places": (f"{IMAGE} {PLACES}5]", lambda x, g: product(patches(x), g, (0, 1), (0, 1), ((2,), (2,)))),
    "places and channels": (f"{IMAGE} f64[2,4,7,36]", lambda x, g: product(patches(x), g, (0, 1, 2, 3), (0, 1, 2, 3))),
    "no images": ("f64[0,9,8,6] f64[0,4,7,5]", dense),
}


def rewritten(types: str, body: Body) -> tuple[ModuleOp, bool]:
    module = program(types, body)
    found = convolve_patches(module)
    verify(module)
    return module, found


def names(module: ModuleOp) -> set[str]:
    return {op.name for op in walk(module)}


@pytest.mark.parametrize(("types", "body"), FOUND.values(), ids=FOUND)
def test_a_convolution_gives_the_sums(types: str, body: Body) -> None:
    module, found = rewritten(types, body)
    assert found
    assert "ptir.convolution" in names(module)
    assert "ptir.extract_patches" not in names(module)
    rng = np.random.default_rng(0)
    before = compile(program(types, body))
    given = [rng.standard_normal(spec.shape).astype(types[:3].replace("f", "float")) for spec in before.inputs]
    np.testing.assert_allclose(compile(module)(*given), before(*given), rtol=1e-4 if "f32" in types else 1e-12, atol=1e-5)


@pytest.mark.parametrize(("types", "body"), LEFT.values(), ids=LEFT)
def test_what_is_no_such_sum_stays(types: str, body: Body) -> None:
    module, found = rewritten(types, body)
    assert not found
    assert str(module) == str(program(types, body))


def test_a_target_that_has_no_kernel_keeps_its_patches() -> None:
    module = program(*FOUND["dense"])
    assert not convolve_patches(module, lambda op: False)
