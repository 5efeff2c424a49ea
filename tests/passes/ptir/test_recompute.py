"""Gradients of attention that make weights anew: what is recognised, what it means, and what is left as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.test_value import create_ssa_value

import mind_runtime
import ptir_forms as forms
from attention_gradients import CASES, NARROW, Body, attend, gradient, qkv
from cupy_agreement import arguments, close
from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.ptir import FusionOp
from mind_dialect.ptir.types import read_type
from mind_dialect.verify import verify
from mind_lowering.outline import drop_barriers
from mind_lowering.ptir_optimize import optimize
from mind_passes.ptir.recompute import KEPT, recompute_attention
from mind_passes.ptir.recompute.softmax import Meaning, Powers, meaning
from ptir_rows import typed

THREE = "f32[2,20,8] f32[2,30,8] f32[2,30,8]"


def simplified(types: str, body: Body, wrt: Sequence[int] | None = None) -> ModuleOp:
    module = gradient(types, body, wrt)
    drop_barriers(module)
    optimize(module, patterns=False)
    return module


def anything(op: FusionOp) -> str | None:
    """A target that refuses nothing."""
    return None


def reason(module: ModuleOp) -> str | None:
    """Why weights are kept; the module is then as if nobody had asked."""
    for op in walk(module):
        if KEPT in op.attributes:
            return op.attributes.pop(KEPT).data
    return None


def kept(module: ModuleOp) -> list[Any]:
    """The types of the values outside of fusions that have as many elements as the scores, which no other value has."""
    outside = [op for op in walk(module) if not isinstance(op.parent_op(), FusionOp)]
    return [v.type for op in outside for v in op.results if read_type(v.type).shape[-2:] in ((20, 30), (30, 20))]


@pytest.mark.parametrize("name", [*CASES, *NARROW])
def test_results_stay_what_they_are(name: str) -> None:
    pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays")
    module = simplified(*{**CASES, **NARROW}[name])
    before = mind_runtime.compile(module.clone())
    assert recompute_attention(module, anything)
    verify(module)
    assert [op.values()["pattern"] for op in walk(module) if isinstance(op, FusionOp)] == [
        "attention",
        *["attention_gradient"] * 2,
    ]
    given = arguments(before, 1)
    if name == "padded":
        given[-2][:] = np.where(np.arange(70) < 20, -np.inf, 0)
        given[-2][60:] = -np.inf
    with np.errstate(all="ignore"):
        for x, y in zip(mind_runtime.compile(module)(*given), before(*given), strict=True):
            close(x, y, name)


def test_nothing_of_the_size_of_scores_is_kept() -> None:
    module = simplified(THREE, attend)
    assert kept(module)
    assert recompute_attention(module, anything)
    assert not kept(module)


@pytest.mark.parametrize(("wrt", "fusions"), [((0,), 2), ((1,), 2), ((2,), 2), ((1, 2), 2), ((0, 2), 3)])
def test_gradients_of_some_inputs_alone(wrt: Sequence[int], fusions: int) -> None:
    module = simplified(THREE, attend, wrt)
    before = mind_runtime.compile(module.clone())
    assert recompute_attention(module, anything)
    assert sum(isinstance(op, FusionOp) for op in walk(module)) == fusions
    given = arguments(before, 2)
    for x, y in zip(mind_runtime.compile(module)(*given), before(*given), strict=True):
        close(x, y, str(wrt))


def with_weights(q: Any, k: Any, v: Any) -> list[Any]:
    o = attend(q, k, v)
    return [o, o.lhs]


def of_exponentials(q: Any, k: Any, v: Any) -> Any:
    """Values are also weighed by exponentials that are not shares of a sum."""
    o = attend(q, k, v)
    axes = {"batch_lhs": (0,), "batch_rhs": (0,), "contract_lhs": (2,), "contract_rhs": (1,)}
    return ptir.AddOp(o, ptir.DotGeneralOp(o.lhs.owner.lhs, k, **axes))


def two_products(q: Any, k: Any, v: Any) -> list[Any]:
    o = attend(q, k, v)
    axes = {"batch_lhs": (0,), "batch_rhs": (0,), "contract_lhs": (2,), "contract_rhs": (1,)}
    return [o, ptir.DotGeneralOp(o.lhs.owner.lhs, k, **axes)]


def with_sums(q: Any, k: Any, v: Any) -> list[Any]:
    """The logarithm of the sum is a result too, and has an adjoint."""
    o = attend(q, k, v)
    return [o, ptir.LogOp(o.lhs.owner.rhs.owner.x)]


def biased(q: Any, k: Any, v: Any, m: Any) -> Any:
    return attend(q, k, v, lambda s: ptir.AddOp(s, forms.spread(m, s)))


def narrow(q: Any, k: Any, v: Any) -> Any:
    axes = {"batch_lhs": (0,), "batch_rhs": (0,), "contract_lhs": (2,)}
    return ptir.DotGeneralOp(forms.softmax(ptir.DotGeneralOp(q, k, **axes, contract_rhs=(2,))), v, **axes, contract_rhs=(1,))


OTHERS: dict[str, tuple[str, Body, Sequence[int] | None, str]] = {
    "weights are a result": (THREE, with_weights, None, "func.return uses what depends on scores"),
    "exponentials by themselves": (THREE, of_exponentials, None, "exponentials are added to what is no share of them"),
    "exponentials in a product": (THREE, two_products, (2,), "exponentials or their sums are used otherwise than as shares"),
    "the sum is a result": (THREE, with_sums, None, "func.return uses what depends on scores"),
    "a bias that learns": (THREE + " f32[20,30]", biased, (0, 1, 2, 3), "func.return uses what depends on scores"),
    "softmax in f16": ("f16[2,20,8] f16[2,30,8] f16[2,30,8]", narrow, None, "the softmax is in f16"),
    "no size": ("f32[B,20,8] f32[B,30,8] f32[B,30,8]", attend, None, "a dimension has no size"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_something_else_stays(name: str) -> None:
    *case, expected = OTHERS[name]
    module = simplified(*case)
    before = str(module)
    assert not recompute_attention(module, anything)
    assert reason(module) == expected
    assert str(module) == before


SUMS: list[tuple[dict[Powers, float], dict[Powers, float] | None]] = [
    ({(1, 0, 0): 3.0}, {(0, 0, 0): 3.0}),
    ({(1, 1, 0): -2.0}, {(0, 0, 1): -2.0}),
    ({(1, 1, 0): 1.0, (1, 0, 1): -1.0}, {}),
    ({(1, 0, 2): 5.0}, {(0, 0, 2): 5.0}),
    ({(0, 1, 0): 1.0}, None),
    ({(0, 0, 0): 1.0}, None),
    ({(2, 0, 0): 1.0}, None),
    ({(1, 2, 0): 1.0}, None),
]


@pytest.mark.parametrize(("terms", "expected"), SUMS)
def test_sums_over_keys_are_known_if_each_term_is_weighed_once(
    terms: dict[Powers, float], expected: dict[Powers, float] | None
) -> None:
    x = create_ssa_value(typed("f32[2,20,30]"))
    for axis, known in ((2, expected), (1, None)):
        op = ptir.ReduceOp(x, kind="sum", axes=(axis,), keepdims=True)
        assert meaning(op, [Meaning(terms, 1)], 2).polynomial == known


def test_what_the_target_has_no_kernel_for_stays() -> None:
    for refused in ("attention", "attention_gradient"):
        module = simplified(*CASES["20,20,8,8"])
        before = str(module)
        assert not recompute_attention(module, lambda op, refused=refused: "no" if op.values()["pattern"] == refused else None)
        assert reason(module) == "no"
        assert str(module) == before


def test_a_forward_pass_alone_is_not_this_ones_to_take() -> None:
    module = forms.program(qkv("f32", "2,", 20, 30, 8, 8), attend)
    optimize(module, patterns=False)
    assert not recompute_attention(module, anything)
    assert reason(module) is None
