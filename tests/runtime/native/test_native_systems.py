"""Systems of equations, inverses and determinants as kernels: the numbers and the errors of NumPy's functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from hypothesis import given
from hypothesis import strategies as st

import mind_array as ma
import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from native_control_programs import scan
from native_same import text, types
from ptir_forms import program
from ptir_rows import typed

NAMES = {"float32": "f32", "float64": "f64"}
EXACT: dict[str, Callable[..., Any]] = {"solve": np.linalg.solve, "inv": np.linalg.inv, "det": np.linalg.det}


def system(kind: str, dtype: Any, shape: Sequence[int]) -> Callable[..., Any]:
    """A call with one result."""

    def body(*operands: Any) -> Any:
        result = typed(text(NAMES[str(dtype)], tuple(shape)))
        target = f"mind.linalg.{kind}.v1"
        return list(ptir.CustomCallOp(*operands, target=target, attrs={}, result_types=[result]).results)

    return body


def check(kind: str, *operands: Any) -> None:
    """Compare a kernel with NumPy in f64, within the condition of the matrices."""
    wanted = EXACT[kind](*(x.astype(np.float64) for x in operands))
    compiled = mind_runtime.compile(program(types(*operands), system(kind, operands[0].dtype, wanted.shape)), target="native")
    assert "0 ops on NumPy" in compiled.explain()[0]
    found = compiled(*operands)
    n = operands[0].shape[-1]
    condition = np.linalg.cond(operands[0].astype(np.float64)).max(initial=1)
    assert found.dtype == operands[0].dtype
    scale = np.abs(wanted).max(initial=0) or 1
    np.testing.assert_allclose(found, wanted, rtol=0, atol=60 * n * condition * np.finfo(found.dtype).eps * scale)


BATCHES = st.lists(st.integers(0, 3), max_size=2)


@given(st.data())
def test_drawn_systems_have_the_numbers_of_numpy(data: st.DataObject) -> None:
    kind, dtype = data.draw(st.sampled_from(sorted(EXACT))), data.draw(st.sampled_from(sorted(NAMES)))
    n, columns = data.draw(st.integers(1, 40)), data.draw(st.sampled_from([1, 2, 7, 16, 33]))
    batch = data.draw(BATCHES)
    rng = np.random.default_rng(data.draw(st.integers(0, 9999)))
    a = (rng.standard_normal((*batch, n, n)) * 1.5 / np.sqrt(n)).astype(dtype)
    if kind != "solve":
        check(kind, a)
        return
    shared = data.draw(st.integers(0, len(batch)))
    b = rng.standard_normal((*batch[shared:], n, columns)).astype(dtype)
    if data.draw(st.booleans()):
        a = a[(0,) * len(batch)] if a.size else a
    check(kind, a, b)


@pytest.mark.parametrize("n", [1, 3, 17, 128])
def test_matrices_that_need_exchanges_of_rows(n: int) -> None:
    a = np.eye(n)[::-1].copy()
    a[0] *= 3
    check("inv", a)
    check("det", a)
    check("solve", a, np.arange(2.0 * n).reshape(n, 2))


@pytest.mark.parametrize("kind", ["inv", "solve"])
@pytest.mark.parametrize("target", ["numpy", "native"])
def test_a_singular_matrix_is_an_error(kind: str, target: str) -> None:
    a = np.ones((2, 3, 3))
    operands = (a,) if kind == "inv" else (a, a)
    compiled = mind_runtime.compile(program(types(*operands), system(kind, a.dtype, a.shape)), target=target)
    with pytest.raises(MindError, match=rf"E6006: .*mind\.linalg\.{kind}\.v1.*: Singular matrix"):
        compiled(*operands)


def test_numbers_that_are_not_finite_are_no_error() -> None:
    inverse = ma.jit(ma.linalg.inv, target="native")
    assert np.isnan(np.asarray(inverse(np.full((3, 3), np.nan)))).all()


@pytest.mark.parametrize(
    "diagonal",
    [
        (1e200, 1e200, 1e-200, 1e-200),
        (1e-300, -1e-300, 1e300, 1e300),
        (0.0, 1e300, 1e300),
        (1e-310, 1e20),
        (1e-310, 2.0),
        (-1e200, 1e200),
        (np.inf, 2.0),
        (np.nan, 1.0),
    ],
)
def test_determinants_do_not_overflow_on_the_way(diagonal: Sequence[float]) -> None:
    found = ma.jit(ma.linalg.det, target="native")(np.diag(diagonal))
    wanted = np.longdouble(1)
    for factor in diagonal:
        wanted *= np.longdouble(factor)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(np.asarray(found), np.float64(wanted), rtol=1e-14, atol=1e-323)


def test_a_filter_by_inverses_is_one_native_loop() -> None:
    rng = np.random.default_rng(1)
    a, xs = rng.standard_normal((4, 4)) + 4 * np.eye(4), rng.standard_normal((9, 4, 4))
    inverse = system("inv", a.dtype, a.shape)
    body = lambda a, xs: scan(lambda c, x: (ptir.AddOp(inverse(c)[0], x), c), a, xs, stacks=1)  # noqa: E731
    compiled = mind_runtime.compile(program(types(a, xs), body), target="native")
    assert "0 ops on NumPy" in compiled.explain()[0]
    last = a
    for x in xs:
        last = np.linalg.inv(last) + x
    np.testing.assert_allclose(compiled(a, xs)[0], last, rtol=1e-9)
    singular = np.stack([x - np.linalg.inv(a) if i == 0 else x for i, x in enumerate(xs * 0)])
    with pytest.raises(MindError, match="E6006"):
        compiled(np.linalg.inv(np.eye(4)) * 2, singular * 0 - 0.5 * np.eye(4))
