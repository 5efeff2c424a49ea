"""Linear algebra from StableHLO and JAX's calls of LAPACK: values by definition, derivatives by differences, batches."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

import mind_runtime
from gradcheck import check_vjp
from mind_dialect.errors import MindError
from mind_passes.functional import jvp, vjp, vmap
from stablehlo_programs import Array, program, read, run, same

RNG = np.random.default_rng(3)
A = RNG.normal(size=(2, 4, 4)) + 3 * np.eye(4)
Z = A + 1j * RNG.normal(size=(2, 4, 4))
B = RNG.normal(size=(2, 4, 3))
T, W = "tensor<2x4x4xf64>", "tensor<2x4x3xf64>"
SPD = A @ A.swapaxes(1, 2)


def adjoint(x: Array) -> Array:
    return x.swapaxes(-1, -2).conj()


def cholesky(lower: bool, type: str = T) -> str:
    return program(f"%a: {type}", f"%r = stablehlo.cholesky %a, lower = {str(lower).lower()} : {type}", type)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_reads_one_triangle(lower: bool) -> None:
    for matrix, type, tolerance in ((SPD, T, 1e-12), (Z @ adjoint(Z), T.replace("f64", "complex<f64>"), 1e-12)):
        given = np.tril(matrix) if lower else np.triu(matrix)
        factor = run(cholesky(lower, type), given)
        same(factor @ adjoint(factor) if lower else adjoint(factor) @ factor, matrix, tolerance)
        np.testing.assert_array_equal(factor, np.tril(factor) if lower else np.triu(factor))


def test_a_matrix_without_a_factor_is_nan_and_leaves_others_alone() -> None:
    given = SPD.copy()
    given[1] = -given[1]
    factor = run(cholesky(True), given)
    same(factor[0] @ factor[0].T, SPD[0], 1e-12)
    assert np.isnan(factor[1]).all()


def solve_text(left: bool, lower: bool, unit: bool, turned: str) -> str:
    flags = f"left_side = {str(left).lower()}, lower = {str(lower).lower()}, unit_diagonal = {str(unit).lower()}"
    attributes = f"<{{{flags}, transpose_a = #stablehlo<transpose {turned}>}}>"
    b = W if left else "tensor<2x3x4xf64>"
    body = f'%r = "stablehlo.triangular_solve"(%a, %b) {attributes} : ({T}, {b}) -> {b}'
    return program(f"%a: {T}, %b: {b}", body, b)


@pytest.mark.parametrize(("left", "lower", "unit"), list(product([True, False], repeat=3)))
@pytest.mark.parametrize("turned", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
def test_triangular_systems(left: bool, lower: bool, unit: bool, turned: str) -> None:
    text = solve_text(left, lower, unit, turned)
    matrix = np.tril(A) if lower else np.triu(A)
    if unit:
        matrix = np.where(np.eye(4, dtype=bool), 1.0, matrix)
    matrix = matrix if turned == "NO_TRANSPOSE" else matrix.swapaxes(1, 2)
    b = B if left else B.swapaxes(1, 2)
    found = run(text, A, b)
    same(matrix @ found if left else found @ matrix, b, 1e-10)
    check_vjp(read(text), "main", 0, [A, b], 1e-5)


def test_zeros_on_the_diagonal_give_infinities() -> None:
    singular = np.zeros((2, 4, 4))
    found = run(solve_text(True, True, False, "NO_TRANSPOSE"), singular, B)
    assert not np.isfinite(found).any()


def lapack(name: str, results: list[str], config: str, arguments: str = f"%a: {T}", operands: str = "%a") -> str:
    types = ", ".join(t.partition(": ")[2] for t in arguments.split(", "))
    shown = ", ".join(results)
    body = (
        f"%r:{len(results)} = stablehlo.custom_call @lapack_d{name}_ffi({operands}) {{mhlo.backend_config = {{{config}}}}} "
        f": ({types}) -> ({shown})"
    )
    return program(arguments, body, shown)


def u8(**letters: str) -> str:
    return ", ".join(f"{name} = {ord(letter)} : ui8" for name, letter in letters.items())


INFO, PIVOTS = "tensor<2xi32>", "tensor<2x4xi32>"


def test_lu_of_lapack_is_a_product_of_exchanged_rows() -> None:
    packed, pivots, info = run(lapack("getrf", [T, PIVOTS, INFO], ""), A)
    assert (pivots.dtype, info.tolist()) == (np.int32, [0, 0])
    for matrix, found, exchanges in zip(A, packed, pivots, strict=True):
        rows = matrix.copy()
        for i, pivot in enumerate(exchanges - 1):
            rows[[i, pivot]] = rows[[pivot, i]]
        same((np.tril(found, -1) + np.eye(4)) @ np.triu(found), rows, 1e-12)
        assert np.abs(np.tril(found, -1)).max() <= 1


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (1, 1), (0, 2)])
def test_lu_of_other_shapes(shape: tuple[int, int]) -> None:
    m, n = shape
    matrix, t = RNG.normal(size=shape), f"tensor<{m}x{n}xf64>"
    text = lapack("getrf", [t, f"tensor<{min(shape)}xi32>", "tensor<i32>"], "", f"%a: {t}")
    packed, pivots, _ = run(text, matrix)
    for i, pivot in enumerate(pivots - 1):
        matrix[[i, pivot]] = matrix[[pivot, i]]
    k = min(shape)
    same((np.tril(packed, -1) + np.eye(m, n))[:, :k] @ np.triu(packed)[:k], matrix, 1e-12)


def test_eigenvectors_and_singular_values_of_lapack() -> None:
    vectors, values, _ = run(lapack("syevd", [T, "tensor<2x4xf64>", INFO], u8(mode="V", uplo="L")), SPD)
    same(SPD @ vectors, vectors * values[:, None], 1e-10)
    _, s, u, vt, _ = run(lapack("gesdd", [T, "tensor<2x4xf64>", T, T, INFO], u8(mode="S")), A)
    same(u * s[:, None] @ vt, A, 1e-10)
    found = run(lapack("gesdd", [T, "tensor<2x4xf64>", T, T, INFO], u8(mode="N")), A)
    same(found[1], s, 1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_matrix_that_is_not_finite_has_nan_and_leaves_others_alone(bad: float) -> None:
    given = SPD.copy()
    given[1, 2, 1] = bad
    singular = [T, "tensor<2x4xf64>", T, T, INFO]
    texts = {
        lapack("syevd", [T, "tensor<2x4xf64>", INFO], u8(mode="V", uplo="L")): (0, 1),
        lapack("gesdd", singular, u8(mode="S")): (1, 2, 3),
        lapack("gesdd", singular, u8(mode="N")): (1,),
    }
    for text, results in texts.items():
        found, expected = run(text, given), run(text, SPD)
        for i in results:
            same(np.abs(found[i][0]), np.abs(expected[i][0]), 1e-12)
            assert np.isnan(found[i][1]).all()


def qr(m: int, n: int, after: str = "", factors: str = "%q, %r") -> str:
    """Q and R as JAX's `qr` makes them of reflectors; `after` stands between the two calls."""
    k, flags = min(m, n), "{mhlo.backend_config = {}}"
    x, q, r, s = f"tensor<{m}x{n}xf64>", f"tensor<{m}x{k}xf64>", f"tensor<{k}x{n}xf64>", f"tensor<{k}xf64>"
    body = f"""%f:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%a) {flags} : ({x}) -> ({x}, {s})
    %h = stablehlo.slice %f#0 [0:{m}, 0:{k}] : ({x}) -> {q}
    {after}
    %q = stablehlo.custom_call @lapack_dorgqr_ffi({"%g" if after else "%h"}, %f#1) {flags} : ({q}, {s}) -> {q}
    %u = stablehlo.slice %f#0 [0:{k}, 0:{n}] : ({x}) -> {r}
    %i = stablehlo.iota dim = 0 : tensor<{k}x{n}xi32>
    %j = stablehlo.iota dim = 1 : tensor<{k}x{n}xi32>
    %c = stablehlo.compare GT, %i, %j, SIGNED : (tensor<{k}x{n}xi32>, tensor<{k}x{n}xi32>) -> tensor<{k}x{n}xi1>
    %z = stablehlo.constant dense<0.0> : {r}
    %r = stablehlo.select %c, %z, %u : tensor<{k}x{n}xi1>, {r}"""
    types = {"%q": q, "%r": r, "%f#1": s, "%f#0": x}
    results = ", ".join(types[name] for name in factors.split(", "))
    return re.sub("return .* :", f"return {factors} :", program(f"%a: {x}", body, results))


@pytest.mark.parametrize(("m", "n"), [(4, 3), (3, 3), (3, 5), (1, 1)])
def test_q_and_r_of_lapack(m: int, n: int) -> None:
    x = np.random.default_rng(1).normal(size=(m, n))
    q, r = run(qr(m, n), x)
    same(q @ r, x, 1e-12)
    same(q.T @ q, np.eye(min(m, n)), 1e-12)
    np.testing.assert_array_equal(r, np.triu(r))


@pytest.mark.parametrize("output", [0, 1])
def test_q_and_r_have_derivatives(output: int) -> None:
    check_vjp(read(qr(4, 3)), "main", output, [np.random.default_rng(2).normal(size=(4, 3))], 1e-5)


def test_reflectors_themselves_have_none() -> None:
    """What depends on them or on their scales is NaN, never a number that leaves them out."""
    x, g = np.random.default_rng(2).normal(size=(3, 3)), np.ones((3, 3))
    for factors, cotangent in (("%f#0", g), ("%f#1", g[0])):
        gradient = vjp(read(qr(3, 3, factors=factors)), "main")
        assert np.isnan(mind_runtime.compile(gradient, "main_grad")(x, cotangent)[1]).all()
    kept = mind_runtime.compile(vjp(read(qr(3, 3, factors="%f#0")), "main"), "main_grad")(x, np.triu(g))
    assert np.isfinite(kept[1]).all()
    tangents = mind_runtime.compile(jvp(read(qr(3, 3, factors="%f#0")), "main"), "main_jvp")(x, g)[1]
    np.testing.assert_array_equal(np.isnan(tangents), np.tril(g, -1) == 1)


@pytest.mark.parametrize(("m", "n"), [(5, 3), (3, 3), (1, 0)])
def test_all_of_q(m: int, n: int) -> None:
    """As JAX's `full_matrices`: columns of any numbers stand behind the reflectors."""
    x, s = f"tensor<{m}x{n}xf64>", f"tensor<{n}xf64>"
    body = f"""%f:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%a) {{mhlo.backend_config = {{}}}} : ({x}) -> ({x}, {s})
    %z = stablehlo.constant dense<7.0> : tensor<f64>
    %p = stablehlo.pad %f#0, %z, low = [0, 0], high = [0, {m - n}], interior = [0, 0] : ({x}, tensor<f64>) -> tensor<{m}x{m}xf64>
    %r = stablehlo.custom_call @lapack_dorgqr_ffi(%p, %f#1) {{mhlo.backend_config = {{}}}}
      : (tensor<{m}x{m}xf64>, {s}) -> tensor<{m}x{m}xf64>"""
    matrix = np.random.default_rng(4).normal(size=(m, n))
    q = run(program(f"%a: {x}", body, f"tensor<{m}x{m}xf64>"), matrix)
    same(q.T @ q, np.eye(m), 1e-12)
    same(q @ np.linalg.qr(matrix, mode="complete")[1], matrix, 1e-12)


CHANGES = {
    "negated": (4, 3, "%g = stablehlo.negate %h : tensor<4x3xf64>"),
    "other columns": (3, 5, "%g = stablehlo.slice %f#0 [0:3, 1:4] : (tensor<3x5xf64>) -> tensor<3x3xf64>"),
    "columns before": (
        *(4, 3),
        "%y = stablehlo.constant dense<0.0> : tensor<f64>\n"
        "%w = stablehlo.slice %f#0 [0:4, 0:2] : (tensor<4x3xf64>) -> tensor<4x2xf64>\n"
        "%g = stablehlo.pad %w, %y, low = [0, 1], high = [0, 0], interior = [0, 0] "
        ": (tensor<4x2xf64>, tensor<f64>) -> tensor<4x3xf64>",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_q_of_other_reflectors_is_refused(name: str) -> None:
    e = refused(qr(*CHANGES[name]))
    assert (e.code, "that are not the result of geqrf" in e.message) == ("E8008", True)


@pytest.mark.parametrize("output", [0, 1])
def test_wide_matrices_have_derivatives(output: int) -> None:
    check_vjp(read(qr(3, 5)), "main", output, [np.random.default_rng(2).normal(size=(3, 5))], 1e-5)


CASES: dict[str, tuple[str, Any]] = {
    "cholesky": (cholesky(True), SPD),
    "lu": (lapack("getrf", [T, PIVOTS, INFO], ""), A),
    "eigh": (lapack("syevd", [T, "tensor<2x4xf64>", INFO], u8(mode="V", uplo="L")), SPD),
    "qr": (qr(4, 4), A[0]),
    "svd": (lapack("gesdd", [T, "tensor<2x4xf64>", T, T, INFO], u8(mode="S")), A),
}


@pytest.mark.parametrize("name", CASES)
def test_batches_are_loops(name: str) -> None:
    text, matrices = CASES[name]
    module = read(text)
    batch = np.stack([matrices, 2 * matrices, matrices[::-1]])
    found = mind_runtime.compile(vmap(module), "main_vmap")(batch)
    each = [mind_runtime.compile(module, "main")(x) for x in batch]
    if not isinstance(found, tuple):
        found, each = (found,), [(x,) for x in each]
    for i, result in enumerate(found):
        np.testing.assert_allclose(result, np.stack([x[i] for x in each]), rtol=1e-12, atol=1e-12)


def test_lu_and_cholesky_are_differentiated() -> None:
    check_vjp(read(CASES["lu"][0]), "main", 0, [A], 1e-5)
    symmetric = f"""
    %t = stablehlo.transpose %a, dims = [0, 2, 1] : ({T}) -> {T}
    %s = stablehlo.add %a, %t : {T}
    %r = stablehlo.cholesky %s, lower = true : {T}"""
    check_vjp(read(program(f"%a: {T}", symmetric, T)), "main", 0, [SPD], 1e-5)


@pytest.mark.parametrize("lower", [False, True])
def test_a_triangle_that_is_read_has_the_derivative_of_what_is_computed_of_it(lower: bool) -> None:
    """The other triangle, which no program of JAX leaves as it is, neither counts nor varies."""
    check_vjp(read(cholesky(lower)), "main", 0, [SPD], 1e-5)
    eigh = lapack("syevd", [T, "tensor<2x4xf64>", INFO], u8(mode="V", uplo="L" if lower else "U"))
    check_vjp(read(eigh), "main", 0, [SPD], 1e-5)
    unread = np.where(np.triu(np.ones((4, 4)), 1) == 1, np.nan, 0.0)
    other = SPD + (unread if lower else unread.T)
    for text in (cholesky(lower), eigh):
        for found, wanted in zip(several(run(text, other)), several(run(text, SPD)), strict=True):
            same(found, wanted, 1e-12)


def several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def refused(text: str) -> MindError:
    with pytest.raises(MindError) as caught:
        read(text)
    return caught.value


def test_what_has_no_form_says_so() -> None:
    e = refused(lapack("geev", [T, "tensor<2x4xf64>"], ""))
    assert (e.code, "lapack_dgeev_ffi" in e.message) == ("E8008", True)
    assert refused(lapack("potrf", [T, INFO], "")).code == "E8002"
    flags = u8(side="L", uplo="L", diag="N", trans_x="Q")
    assert refused(lapack("trsm", [W], flags, f"%a: {T}, %b: {W}", "%a, %b")).code == "E8002"
    assert "without eigenvectors" in refused(lapack("syevd", [T, "tensor<2x4xf64>", INFO], u8(mode="N", uplo="L"))).message


def test_narrow_floats_are_computed_in_f32() -> None:
    half = T.replace("f64", "f16")
    factor = run(cholesky(True, half), SPD.astype(np.float16))
    same(factor, np.linalg.cholesky(SPD.astype(np.float16).astype(np.float32)).astype(np.float16))


def test_shapes_that_make_no_system_are_refused() -> None:
    wide = "tensor<2x4x3xf64>"
    assert refused(program(f"%a: {wide}", f"%r = stablehlo.cholesky %a, lower = true : {wide}", wide)).code == "E3003"
    vector = "tensor<4xf64>"
    assert refused(program(f"%a: {vector}", f"%r = stablehlo.cholesky %a, lower = true : {vector}", vector)).code == "E3002"
    text = solve_text(True, True, False, "NO_TRANSPOSE")
    for other in ("tensor<2x5x3xf64>", "tensor<3x4x3xf64>"):
        assert refused(text.replace(W, other)).code == "E3003"
    assert refused(text.replace(W, "tensor<4x3xf64>")).code == "E3002"
