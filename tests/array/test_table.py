"""The table of `mind_array`: it has the names of the standard, and its functions mean the same eager, traced and in NumPy."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_array.dtypes import CATEGORIES, STANDARD, kind_of
from mind_array.emit import _prepared, quietly
from mind_array.table import BY_NUMPY, TABLE, Row
from mind_dialect.errors import MindError

NAMES = """
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not
logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
round sign signbit sin sinh square sqrt subtract tan tanh trunc arange asarray empty empty_like eye from_dlpack full
full_like linspace meshgrid ones ones_like tril triu zeros zeros_like astype can_cast finfo iinfo isdtype result_type
take take_along_axis __array_namespace_info__ matmul matrix_transpose tensordot vecdot broadcast_arrays broadcast_to
concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack argmax argmin count_nonzero
nonzero searchsorted where unique_all unique_counts unique_inverse unique_values argsort sort cumulative_prod
cumulative_sum max mean min prod std sum var all any diff linalg.cholesky linalg.cross linalg.det linalg.diagonal
linalg.eigh linalg.eigvalsh linalg.inv linalg.matmul linalg.matrix_norm linalg.matrix_power linalg.matrix_rank
linalg.matrix_transpose linalg.outer linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.svd linalg.svdvals
linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm fft.fft fft.ifft fft.fftn fft.ifftn fft.rfft fft.irfft
fft.rfftn fft.irfftn fft.hfft fft.ihfft fft.fftfreq fft.rfftfreq fft.fftshift fft.ifftshift
""".split()
"""Every function of the Python array API standard 2024.12, its extensions included."""

ELEMENTWISE = [r for r in TABLE.values() if r.ufunc is not None or (r.arrays in (1, 2) and r.standard and r.name in NAMES[:66])]
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e-30, 88.0)


@pytest.mark.quick
def test_the_table_has_the_names_of_the_standard():
    assert {r.qualified for r in TABLE.values() if r.standard} == set(NAMES)
    for name in NAMES:
        module, _, short = name.rpartition(".")
        assert callable(getattr(getattr(ma, module) if module else ma, short))


@pytest.mark.quick
def test_every_row_has_a_docstring_and_a_category():
    for row in TABLE.values():
        assert row.function.__doc__, row.qualified
        assert row.category in CATEGORIES, row.qualified


LATER = {"matvec": "2.2.0", "vecmat": "2.2.0"}
"""Functions that the oldest NumPy does not have, and the version since which it has them."""


@pytest.mark.quick
def test_numpy_names_are_functions_of_numpy():
    for name in BY_NUMPY:
        if np.lib.NumpyVersion(np.__version__) < LATER.get(name, "2.0.0"):
            continue
        module, _, short = name.rpartition(".")
        assert hasattr(getattr(np, module) if module else np, short), name


def test_the_version_is_that_of_the_standard():
    assert ma.__array_api_version__ == "2024.12"
    assert ma.zeros(2).__array_namespace__() is ma
    with pytest.raises(MindError, match="E1110"):
        ma.zeros(2).__array_namespace__(api_version="2035.12")


def sample(dtype: np.dtype[Any], seed: int = 0) -> np.ndarray[Any, Any]:
    """Special values of floats and of both parts of complex numbers, and some numbers of every other dtype."""
    rng = np.random.default_rng(seed)
    match kind_of(dtype):
        case "b":
            return rng.integers(0, 2, 12).astype(bool)
        case "i" | "u":
            numbers = rng.integers(1, 7, 12).astype(dtype)
            numbers[:2] = (1, np.iinfo(dtype).max) if seed == 0 else (1, 2)
            return numbers
        case "f":
            return np.array(SPECIAL if seed == 0 else rng.permutation(SPECIAL), dtype)
        case _:
            numbers = np.empty(12, dtype)
            numbers.real, numbers.imag = np.roll(SPECIAL, seed), rng.permutation(SPECIAL)
            return numbers


def operands(row: Row, dtype: np.dtype[Any]) -> list[np.ndarray[Any, Any]]:
    return [sample(dtype, seed) for seed in range(row.arrays)]


CASES = [(r, d) for r in ELEMENTWISE for d in STANDARD.values() if kind_of(d) in CATEGORIES[r.category]]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("row", "dtype"), CASES, ids=[f"{r.name}-{d}" for r, d in CASES])
def test_a_function_gives_the_same_bits_eager_and_compiled(row: Row, dtype: np.dtype[Any]):
    if row.name == "where":
        given = [np.arange(12) % 2 == 0, *operands(row, dtype)[:2]]
    else:
        given = operands(row, dtype)
    arrays = [ma.asarray(x) for x in given]
    eager = row.function(*arrays)
    compiled = ma.jit(lambda *xs: row.function(*xs))(*arrays)
    assert type(eager) is ma.Array
    assert eager.dtype == compiled.dtype
    np.testing.assert_array_equal(eager.ndarray, compiled.ndarray, strict=True)


@pytest.mark.parametrize("row", [r for r in TABLE.values() if r.fast], ids=lambda r: r.name)
def test_the_quick_way_to_a_ufunc_gives_the_bits_of_the_kernel(row: Row):
    """What the eager function does for two arrays of one dtype, against the kernel of the op behind it."""
    for dtype in sorted(row.fast, key=str):
        given = operands(row, dtype)
        wide = [np.broadcast_to(x, (2, 12)) for x in given]  # broadcast arrays take the general way
        quick = row.function(*(ma.asarray(x) for x in given)).ndarray
        module = ma.trace(row.function, *(ma.spec((12,), dtype) for _ in given))
        op = next(op for op in module.walk() if op.name.startswith("ptir."))
        kernel, _ = _prepared(object(), type(op), given, op.values())
        np.testing.assert_array_equal(quick, quietly(kernel, *given), strict=True)
        np.testing.assert_array_equal(row.function(*(ma.asarray(x) for x in wide)).ndarray[1], quick, strict=True)


NUMPY_CASES = [
    (r, d)
    for r in ELEMENTWISE
    for d in (ma.float64, ma.int32)
    if kind_of(d) in CATEGORIES[r.category] and r.numpy and r.name not in ("sign", "where", "clip")
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("row", "dtype"), NUMPY_CASES, ids=[f"{r.name}-{d}" for r, d in NUMPY_CASES])
def test_a_function_is_that_of_numpy(row: Row, dtype: np.dtype[Any]):
    rng = np.random.default_rng(1)
    low, high = row.domain
    given = [
        rng.uniform(low, high, 8).astype(dtype) if dtype.kind == "f" else rng.integers(1, 5, 8).astype(dtype)
        for _ in range(row.arrays)
    ]
    expected = getattr(np, row.numpy[0])(*given)
    found = row.function(*(ma.asarray(x) for x in given)).ndarray
    np.testing.assert_allclose(found.astype(expected.dtype), expected, rtol=1e-13, atol=1e-14)


def test_rows_that_run_on_the_host_only_say_why_and_refuse_traced_arrays():
    hosts = [r for r in TABLE.values() if r.host and r.name != "from_dlpack"]
    assert {r.name for r in hosts} >= {"nonzero", "unique_all"}
    for row in hosts:
        with pytest.raises(MindError, match="E1108"):
            ma.trace(row.function, ma.spec((3,)))


def test_signatures_are_those_that_positional_arguments_of_the_standard_need():
    for name in ("add", "where", "matmul", "sum", "linalg.solve"):
        parameters = list(inspect.signature(TABLE[name].function).parameters.values())
        assert parameters[0].kind is inspect.Parameter.POSITIONAL_ONLY, name


def _positional(function: Any) -> list[str]:
    """The names of the parameters that may be given by position, under our names."""
    renamed = {"ddof": "correction", "N": "n_rows", "M": "n_cols", "a_min": "min", "a_max": "max"}
    parameters = inspect.signature(function).parameters.values()
    return [renamed.get(p.name, p.name) for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _numpy_function(row: Row) -> Any:
    """The function of NumPy of a row's name, or one that it stands for; None for ufuncs, which take arrays by position only."""
    module: Any = getattr(np, row.module, None) if row.module else np
    found = getattr(module, row.name, None)
    for name in row.numpy:
        found = found or getattr(np, name, None)
    return None if isinstance(found, np.ufunc) or not inspect.isfunction(found) else found


BY_POSITION = {r.qualified: (r, f) for r in TABLE.values() if (f := _numpy_function(r)) is not None}


@pytest.mark.quick
@pytest.mark.parametrize("name", BY_POSITION)
def test_arguments_that_numpy_takes_by_position_are_taken_by_position(name: str):
    """In NumPy's order, up to the first parameter that we do not have: `ma.sum(x, 0)`."""
    row, function = BY_POSITION[name]
    ours, every = _positional(row.function), list(inspect.signature(row.function).parameters)
    for i, theirs in enumerate(_positional(function)):
        if i >= len(ours) and theirs not in every:
            break
        if theirs != "device":  # of the standard, where it is a keyword
            assert i < len(ours), f"{theirs} of {name} is a keyword only"
            assert theirs == ours[i] or theirs not in every, f"{theirs} of {name} is at another position than NumPy's"


def test_axes_and_dtypes_by_position_are_read_as_numpy_reads_them():
    x = np.arange(12.0).reshape(3, 4)
    for f in (
        lambda xp, x: xp.sum(x, 0),
        lambda xp, x: xp.var(x, 1),
        lambda xp, x: xp.stack([x, x], 1),
        lambda xp, x: xp.diff(x, 2, 0),
        lambda xp, x: xp.roll(x, 1, 1),
        lambda xp, x: xp.triu(x, 1) + xp.eye(3, 4, 1, "float32"),
        lambda xp, x: xp.zeros(3, "int32"),
        lambda xp, x: xp.linspace(0, 1),
        lambda xp, x: xp.linspace(0, 1, 4, False),
        lambda xp, x: xp.fft.fft(x, 3, 0),
        lambda xp, x: xp.linalg.svd(x, False)[1],
    ):
        expected, found = f(np, x), f(ma, ma.asarray(x))
        np.testing.assert_allclose(found.ndarray, expected, strict=True)
