"""Adjoints of what a scan leaves unchanged: one product over all iterations, where that takes little memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import UnitAttr

import mind_array as ma
from gradcheck import check_vjp
from mind_dialect.program import functions
from mind_dialect.ptir import DotGeneralOp, ScanOp, invariant_carries
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.loop_options import CHECKPOINT
from mind_runtime import compile

T, B, N, M = 5, 3, 4, 6
ROWS, WIDE, SQUARE, BIAS, XS = (B, N), (T, B, M), (N, N), (N,), (T, B, N)
Cell = Callable[..., Any]


def scanned(cell: Cell, *weights: Any, h: Any, xs: Any) -> Any:
    """The stacked results of a recurrence whose cells read weights."""
    return ma.scan(lambda h, x: (g := cell(h, x, *weights), g), h, xs)[1]


def outputs(cell: Cell) -> Callable[..., Any]:
    """The function of weights, a first state and a sequence that scans a cell."""
    return lambda h, xs, *weights: scanned(cell, *weights, h=h, xs=xs)


def both(h: Any, xs: Any, w: Any) -> Any:
    """A recurrence whose result depends on its weights apart from it, too."""
    return scanned(lambda h, x, w: ma.tanh(h @ w + x), w, h=h, xs=xs) + ma.sum(w * w)


def returned(h: Any, xs: Any, w: Any) -> Any:
    """A recurrence that returns its weights, too."""
    (_, w), ys = ma.scan(lambda c, x: ((h := ma.tanh(c[0] @ c[1] + x), c[1]), h), (h, w), xs)
    return ys + ma.sum(w * w)


def layers(h: Any, xs: Any, w: Any, u: Any) -> Any:
    """Two recurrences, one on what the other gives."""
    first = scanned(lambda h, x, w: ma.tanh(h @ w + x), w, h=h, xs=xs)
    return scanned(lambda h, x, u: ma.tanh(h @ u + x), u, h=h, xs=first)


SUMMED: dict[str, tuple[Callable[..., Any], Sequence[tuple[int, ...]], int]] = {
    "weights": (outputs(lambda h, x, w: ma.tanh(h @ w + x)), (ROWS, XS, SQUARE), 1),
    "weights read transposed": (outputs(lambda h, x, w: ma.tanh(h @ w.T + x)), (ROWS, XS, SQUARE), 1),
    "weights of another shape": (outputs(lambda h, x, w: ma.tanh(h @ ma.reshape(w, (N, N)) + x)), (ROWS, XS, (2, 2, N)), 1),
    "weights read twice": (outputs(lambda h, x, w: ma.tanh(h @ w + x @ w)), (ROWS, XS, SQUARE), 2),
    "weights and bias": (outputs(lambda h, x, w, b: ma.tanh(h @ w + x + b)), (ROWS, XS, SQUARE, BIAS), 1),
    "a bias of rank 2": (outputs(lambda h, x, w, b: ma.tanh(h @ w + x + b)), (ROWS, XS, SQUARE, (1, N)), 1),
    "weights of inputs": (outputs(lambda h, x, w, u: ma.tanh(h @ w + x @ u)), (ROWS, WIDE, SQUARE, (M, N)), 2),
    "batches of weights": (
        outputs(lambda h, x, w: ma.tanh(ma.einsum("bn,bnm->bm", h, w) + x)),
        (ROWS, XS, (B, N, N)),
        1,
    ),
    "weights that the result reads, too": (both, (ROWS, XS, SQUARE), 1),
    "two layers": (layers, (ROWS, XS, SQUARE, SQUARE), 2),
    "weights that are returned": (returned, (ROWS, XS, SQUARE), 1),
}
"""A function, the shapes of its inputs, and the products that are computed behind backward scans."""
CARRIED: dict[str, tuple[Callable[..., Any], Sequence[tuple[int, ...]]]] = {
    "weights of elements": (outputs(lambda h, x, w: ma.tanh(h * w + x)), (ROWS, XS, ROWS)),
    "a product of two weights": (outputs(lambda h, x, w, u: ma.tanh(h + w @ u + x)), (ROWS, XS, ROWS, SQUARE)),
    "weights smaller than what they multiply": (outputs(lambda h, x, w: ma.tanh(ma.sin(h) * w + x)), (ROWS, XS, ())),
    "weights whose adjoint is a larger product": (outputs(lambda h, x, w: ma.tanh(h @ ma.exp(w) + x)), (ROWS, XS, SQUARE)),
}
"""Functions whose last input has an adjoint that the backward scan carries."""


def traced(function: Callable[..., Any], shapes: Sequence[tuple[int, ...]]) -> Any:
    names = ("h", "xs", "w", "u")
    return ma.trace(
        lambda *given: function(*given), *(ma.spec(s, np.float64, name=n) for s, n in zip(shapes, names, strict=False))
    )


def drawn(shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.standard_normal(s) for s in shapes]


def scans_of(module: Any) -> list[ScanOp]:
    func = list(functions(module))[-1]
    return [op for op in func.body.block.ops if isinstance(op, ScanOp)]


def products_behind(module: Any) -> int:
    """The products of the gradient function that contract the iterations."""
    ops = list(functions(module))[-1].body.block.ops
    return sum(isinstance(op, DotGeneralOp) and 0 in op.values()["contract_lhs"] for op in ops)


def moving(scan: ScanOp) -> int:
    """The number of carries that change."""
    return scan.num_carries - len(invariant_carries(scan))


def only_function(module: Any) -> str:
    (func,) = functions(module)
    return func.sym_name.data


@pytest.mark.parametrize("name", SUMMED)
def test_one_product_over_all_iterations(name: str) -> None:
    function, shapes, products = SUMMED[name]
    module = traced(function, shapes)
    gradient = check_vjp(module, only_function(module), 0, drawn(shapes))
    assert all(moving(scan) == 1 for scan in scans_of(gradient)), "the adjoint of the state alone"
    assert products_behind(gradient) == products


@pytest.mark.parametrize("name", CARRIED)
def test_what_the_backward_scan_carries(name: str) -> None:
    function, shapes = CARRIED[name]
    module = traced(function, shapes)
    gradient = check_vjp(module, only_function(module), 0, drawn(shapes))
    assert moving(scans_of(gradient)[-1]) >= 2


def test_a_backward_scan_with_nothing_to_do_is_left_out() -> None:
    module = traced(outputs(lambda h, x, w: x @ w), (ROWS, WIDE, (M, N)))
    gradient = differentiate(module, only_function(module), GradientOptions(wrt=["w"], seed="cotangent"))
    assert len(scans_of(gradient.module)) == 1
    h, xs, w = drawn((ROWS, WIDE, (M, N)))
    dy = np.ones((T, B, N))
    found = compile(gradient.module, gradient.function.sym_name.data)(h, xs, w, dy)
    np.testing.assert_allclose(found[-1], np.einsum("tbm,tbn->mn", xs, dy))


def test_no_iteration_adds_nothing() -> None:
    module = traced(outputs(lambda h, x, w: ma.tanh(h @ w + x)), (ROWS, (0, B, N), SQUARE))
    gradient = differentiate(module, only_function(module), GradientOptions(wrt=["w"], seed="cotangent"))
    h, xs, w = drawn((ROWS, (0, B, N), SQUARE))
    found = compile(gradient.module, gradient.function.sym_name.data)(h, xs, w, np.zeros((0, B, N)))
    np.testing.assert_array_equal(found[-1], np.zeros(SQUARE))


@pytest.mark.parametrize(("summed", "wrt"), [(True, ["xs", "w"]), (False, ["w"])])
def test_a_marked_scan_stacks_nothing_for_a_sum(summed: bool, wrt: list[str]) -> None:
    """The adjoint of the gates is stacked where that of the inputs is wanted, and not for the weights alone."""
    module = traced(outputs(lambda h, x, w: ma.tanh(h @ w + x)), (ROWS, XS, SQUARE))
    scans_of(module)[0].attributes[CHECKPOINT] = UnitAttr()
    gradient = differentiate(module, only_function(module), GradientOptions(wrt=wrt, seed="cotangent")).module
    assert products_behind(gradient) == int(summed)
    assert moving(scans_of(gradient)[-1]) == (1 if summed else 2)
