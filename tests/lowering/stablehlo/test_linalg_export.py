"""Decompositions and systems, and their derivatives, as ops of StableHLO that XLA runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_array.calls import call
from mind_array.rows.factors import LU
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_lowering.ptir_to_stablehlo import ExportOptions, stablehlo_program
from mind_passes.functional import vjp
from mind_runtime import compile
from stablehlo_programs import Array, program, read, run, same, type_of
from xla_runs import run_all

RNG = np.random.default_rng(5)
A = RNG.normal(size=(2, 4, 4)) + 3 * np.eye(4)
Z = A + 1j * RNG.normal(size=(2, 4, 4))
B = RNG.normal(size=(2, 4, 3))


def solve(a: Array, lower: bool, turned: str) -> tuple[str, list[Array]]:
    b = B.astype(a.dtype)
    flags = f"left_side = true, lower = {str(lower).lower()}, unit_diagonal = false"
    body = f"""%r = "stablehlo.triangular_solve"(%a, %b) <{{{flags}, transpose_a = #stablehlo<transpose {turned}>}}> :
      ({type_of(a)}, {type_of(b)}) -> {type_of(b)}"""
    return program(f"%a: {type_of(a)}, %b: {type_of(b)}", body, type_of(b)), [a, b]


def cholesky(x: Array, lower: bool) -> tuple[str, list[Array]]:
    spd = x @ x.swapaxes(-1, -2).conj()
    body = f"%r = stablehlo.cholesky %a, lower = {str(lower).lower()} : {type_of(x)}"
    return program(f"%a: {type_of(x)}", body, type_of(x)), [spd]


CASES = {
    "lower": solve(A, True, "NO_TRANSPOSE"),
    "upper": solve(A, False, "NO_TRANSPOSE"),
    "complex": solve(Z, True, "ADJOINT"),
    "f32": solve(A.astype(np.float32), False, "TRANSPOSE"),
    "cholesky": cholesky(A, True),
    "cholesky upper": cholesky(A, False),
    "cholesky complex": cholesky(Z, True),
}


@pytest.mark.parametrize("name", CASES)
def test_xla_gives_the_same_values_and_gradients(name: str) -> None:
    pytest.importorskip("jax")
    text, inputs = CASES[name]
    module, value = vjp(read(text)), run(text, *inputs)
    cotangent = RNG.normal(size=value.shape).astype(value.dtype)
    main, gradient = functions(module)
    found = run_all([(main, inputs), (gradient, [*inputs, cotangent])])
    tolerance = 1e-4 if value.dtype == np.float32 else 1e-10
    same(found[0][0], value, tolerance)
    wanted = compile(module, "main_grad")(*inputs, cotangent)
    for given, expected in zip(found[1], wanted, strict=True):
        same(given, expected, tolerance)


def test_xla_gives_nan_for_a_matrix_without_a_factor() -> None:
    pytest.importorskip("jax")
    text, (spd,) = cholesky(A, True)
    spd = np.stack([spd[0], -spd[1]])
    ((found,),) = run_all([(next(functions(read(text))), [spd])])
    same(found[0], np.linalg.cholesky(spd[0]), 1e-12)
    assert np.isnan(found[1][np.tril_indices(4)]).all()


ZERO_PIVOTS = np.array([[0.0, 2, 1], [1, 0, 0], [3, 1, 1]])
TALL, WIDE = RNG.normal(size=(5, 3)), RNG.normal(size=(2, 3, 5))


@pytest.mark.parametrize("x", [A, A.astype(np.float32), Z, ZERO_PIVOTS, TALL, WIDE, np.zeros((2, 2)), np.zeros((0, 0)), A[:0]])
def test_lu_decompositions_are_those_of_numpy(x: Array) -> None:
    pytest.importorskip("jax")
    *batch, m, n = x.shape
    shapes = [(x.dtype, x.shape), (ma.int32, (*batch, min(m, n))), (ma.int32, (*batch, m))]
    module = ma.trace(lambda x: call(LU, (x,), shapes), ma.spec(x.shape, x.dtype), name="main")
    (found,) = run_all([(next(functions(module)), [x])])
    expected = compile(module, "main")(x)
    for given, wanted in zip(found, expected, strict=True):
        same(given, wanted, 1e-4 if x.dtype == np.float32 else 1e-12)


SOLUTIONS: dict[str, tuple[Any, list[Array]]] = {
    "solve": (ma.linalg.solve, [A, B]),
    "solve a vector": (ma.linalg.solve, [A, B[0, :, 0]]),
    "solve with one matrix": (ma.linalg.solve, [A[:1], B]),
    "solve complex": (ma.linalg.solve, [Z, B.astype(np.complex128)]),
    "inv": (ma.linalg.inv, [A]),
    "inv complex": (ma.linalg.inv, [Z]),
    "inv with exchanges": (ma.linalg.inv, [ZERO_PIVOTS]),
    "det": (ma.linalg.det, [A - 3 * np.eye(4)]),
    "det complex": (ma.linalg.det, [Z]),
    "log of det": (lambda x: ma.linalg.slogdet(x)[1], [A - 3 * np.eye(4)]),
    "sign of det": (lambda x: ma.linalg.slogdet(x)[0], [Z]),
    "in a loop": (lambda a, b: ma.scan(lambda c, x: (ma.linalg.solve(x, c), c), b[0], a)[1], [A, B]),
}


@pytest.mark.parametrize("name", SOLUTIONS)
def test_what_uses_an_lu_decomposition_runs_with_its_gradient(name: str) -> None:
    pytest.importorskip("jax")
    f, inputs = SOLUTIONS[name]

    def loss(*xs: Any) -> Any:
        y = f(*xs)
        return ma.sum(ma.sin(ma.real(y) + 2.0 * ma.imag(y) if y.dtype == ma.complex128 else y))

    gradient = ma.value_and_grad(loss, tuple(range(len(inputs))))
    expected = ma.tree.leaves(gradient(*map(ma.asarray, inputs)))
    for found, wanted in zip(ma.tree.leaves(ma.jit(gradient, target="xla")(*inputs)), expected, strict=True):
        same(np.asarray(found), np.asarray(wanted), 1e-9)


def test_determinants_of_singular_matrices() -> None:
    pytest.importorskip("jax")
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    sign, logarithm = ma.jit(ma.linalg.slogdet, target="xla")(singular)
    assert (float(sign), float(logarithm)) == (0.0, -np.inf)
    assert float(ma.jit(ma.linalg.det, target="xla")(singular)) == 0.0
    assert not np.isfinite(np.asarray(ma.jit(ma.linalg.inv, target="xla")(singular))).any()


def test_other_custom_calls_are_refused() -> None:
    eigh = """%r:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}} :
      (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xf64>, tensor<i32>)"""
    text = program("%a: tensor<4x4xf64>", eigh, "tensor<4x4xf64>, tensor<4xf64>, tensor<i32>")
    with pytest.raises(MindError, match=r"ptir\.custom_call is not allowed: its function is Python"):
        stablehlo_program(next(functions(read(text))), ExportOptions())


def test_open_dimensions_are_refused() -> None:
    text, _ = cholesky(A, True)
    main = next(functions(read(text.replace("2x4x4", "?x4x4"))))
    with pytest.raises(MindError, match=r"ptir\.custom_call is not allowed in programs with open dimensions"):
        stablehlo_program(main, ExportOptions(dynamic=True))
