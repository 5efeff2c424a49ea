"""The tables of the native target are whole; strides of views are right."""

from __future__ import annotations

import random
from functools import partial
from math import prod
from typing import Any

import numpy as np
import pytest

from closed_tables import expect_rows
from counting import calls
from mind_dialect import ptir
from mind_dialect.ptir import FUSIBLE, OPS_BY_OPCODE, PtirOp
from mind_dialect.ptir.types import F32
from mind_lowering.launch.ref import row_major
from mind_lowering.launch.views import VIEWS
from mind_lowering.native import fusions
from mind_lowering.native.control import CONTROL
from mind_lowering.native.costs import CALLS
from mind_lowering.native.elementwise import EMITTERS, EXACT
from mind_lowering.native.kernels import FALLBACK, ROWS
from mind_lowering.native.nest import axes_of
from mind_lowering.native.views import Buffer, Use, View, broadcast, reshaped, whole, window
from ptir_evaluator import function_of
from ptir_forms import program


@pytest.mark.quick
def test_every_op_has_a_kernel_or_a_reason() -> None:
    assert not {*ROWS, *CONTROL} & set(FALLBACK)
    others = {op for op in OPS_BY_OPCODE.values() if FUSIBLE.get(op) != "elementwise"}
    found = {op for op in (*ROWS, *CONTROL, *FALLBACK, ptir.YieldOp) if FUSIBLE.get(op) != "elementwise"}
    expect_rows("PATTERNS or FALLBACK of mind_lowering/native", found, others)
    assert all(FALLBACK.values())


@pytest.mark.quick
def test_every_elementwise_op_has_an_emitter() -> None:
    wanted = {op for op, part in FUSIBLE.items() if part == "elementwise"}
    expect_rows("EMITTERS of mind_lowering/native/elementwise.py", EMITTERS, wanted)
    assert {*ROWS, *FALLBACK} >= set(EMITTERS)
    assert set(EMITTERS) >= {*EXACT, *CALLS}


@pytest.mark.quick
def test_every_view_within_a_fusion_is_a_view_or_made() -> None:
    made: set[type[PtirOp]] = {ptir.ConstantOp, ptir.IotaOp}
    assert {op for op, part in FUSIBLE.items() if part == "view"} <= {*VIEWS, *made}


def test_whether_an_op_joins_a_group_does_not_depend_on_how_long_it_is() -> None:
    def asked(n: int) -> int:
        ops = [op for op in function_of(program("f32[3]", partial(chain, n=n))).body.block.ops if isinstance(op, PtirOp)]
        pending: dict[Any, PtirOp] = {op: op for op in ops[:-1]}
        fusions._must_wait(ops[-1], pending)
        return calls(lambda: fusions._must_wait(ops[-1], pending))

    def chain(x: Any, n: int) -> Any:
        for _ in range(n):
            x = ptir.NegOp(x)
        return x

    assert asked(100) == asked(10)


# Views, against NumPy


def places(view: View) -> np.ndarray:
    """The number of the element of memory at each place of a view."""
    found = np.full(view.shape, view.offset)
    for axis, (n, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        found = found + (np.arange(n) * stride).reshape([-1 if a == axis else 1 for a in range(len(view.shape))])
    return found


def random_view(pick: random.Random) -> View:
    shape = tuple(pick.choices((1, 2, 3, 4, 6), k=pick.randint(1, 4)))
    view = whole(Buffer(Use.INPUT, 0, F32, prod(shape)), shape)
    for _ in range(pick.randint(0, 3)):
        kind = pick.choice(("transpose", "window", "broadcast"))
        rank = len(view.shape)
        if kind == "transpose":
            order = pick.sample(range(rank), rank)
            view = View(view.base, F32, tuple(view.shape[a] for a in order), tuple(view.strides[a] for a in order), view.offset)
        elif kind == "window":
            starts = [pick.randrange(n) for n in view.shape]
            view = window(view, starts, [n - s for n, s in zip(view.shape, starts, strict=True)], [1] * rank)
        elif rank < 5:
            view = broadcast(view, (2, *(3 if n == 1 else n for n in view.shape)))
    return view


def factored(n: int, pick: random.Random) -> tuple[int, ...]:
    """Extents of product `n`, in random order, some of them 1."""
    found = [1] * pick.randint(0, 2)
    for p in (2, 3, 5, 7):
        while n % p == 0:
            n //= p
            found.append(p)
    pick.shuffle(found)
    while len(found) > 1 and pick.random() < 0.6:
        i = pick.randrange(len(found) - 1)
        found[i : i + 2] = [found[i] * found[i + 1]]
    return tuple(found)


@pytest.mark.parametrize("seed", range(200))
def test_reshapes(seed: int) -> None:
    pick = random.Random(seed)
    view = random_view(pick)
    shape = factored(view.count, pick)
    expected = places(view).reshape(shape)
    found = reshaped(view, shape)
    if found is not None:
        np.testing.assert_array_equal(places(found), expected)
        return
    strides = [int(np.take(expected, [1], axis=a).flat[0] - expected.flat[0]) if n > 1 else 0 for a, n in enumerate(shape)]
    linear = places(View(view.base, F32, shape, tuple(strides), int(expected.flat[0])))
    assert not np.array_equal(linear, expected), "strides could have said it"


@pytest.mark.parametrize("seed", range(50))
def test_joined_axes_visit_the_same_places(seed: int) -> None:
    pick = random.Random(seed)
    view = random_view(pick)
    strides = [view.strides, row_major(view.shape)]
    axes = axes_of(view.shape, (), strides)
    for k, given in enumerate(strides):
        joined = View(view.base, F32, tuple(a.extent for a in axes), tuple(a.strides[k] for a in axes))
        assert places(joined).ravel().tolist() == places(View(view.base, F32, view.shape, tuple(given))).ravel().tolist()
