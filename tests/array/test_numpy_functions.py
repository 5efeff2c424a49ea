"""NumPy's functions beyond the standard, against NumPy: by our names and by NumPy's, eager, compiled and native."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import mind_array as ma
from mind_array.rows import numpy_indices, numpy_linalg, numpy_mathematics, numpy_products, numpy_shapes, numpy_statistics
from mind_array.table import TABLE
from mind_dialect.errors import MindError

Program = Callable[[Any, Any], Any]
RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (3, 4))
HOLES = np.where(RNG.random((3, 4)) < 0.4, np.nan, X)
HOLES[1] = np.nan
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, 2.5, np.inf, -np.inf, np.nan, 1e-5, -7.0])
WHOLE = np.array([[3, -1, 4], [1, -5, 9]])
Z = X + 1j * X[::-1]
TIES = np.array([2.0, 1.0, 2.0, np.nan, 1.0, 0.0])

PROGRAMS: dict[str, tuple[Any, Program]] = {
    "exp2": (X, lambda xp, x: xp.exp2(x)),
    "average": (X, lambda xp, x: xp.average(x, axis=1, weights=xp.abs(x)) + xp.average(x)),
    "fabs": (X, lambda xp, x: xp.fabs(x) + xp.fabs(xp.floor(x))),
    "logaddexp2": (X, lambda xp, x: xp.logaddexp2(x, x[::-1] * 400.0)),
    "deg2rad": (X, lambda xp, x: xp.deg2rad(x) + xp.radians(x)),
    "rad2deg": (X, lambda xp, x: xp.rad2deg(x) + xp.degrees(x)),
    "sinc": (np.linspace(-3, 3, 61), lambda xp, x: xp.sinc(x)),
    "heaviside": (SPECIAL, lambda xp, x: xp.heaviside(x, x + 0.5)),
    "fmax": (SPECIAL, lambda xp, x: xp.fmax(x, x[::-1])),
    "fmin": (SPECIAL, lambda xp, x: xp.fmin(x[:, None], x)),
    "float_power": (WHOLE, lambda xp, x: xp.float_power(x, 2)),
    "nan_to_num": (SPECIAL, lambda xp, x: xp.nan_to_num(x) + xp.nan_to_num(x, nan=1.0, posinf=2.0, neginf=3.0)),
    "nan_to_num of complex numbers": (SPECIAL * (1 + 1j), lambda xp, x: xp.nan_to_num(x)),
    "nan_to_num of integers": (WHOLE, lambda xp, x: xp.nan_to_num(x)),
    "isreal": (SPECIAL, lambda xp, x: xp.isreal(x * (1 + 0j)) & xp.isreal(x)),
    "iscomplex": (SPECIAL, lambda xp, x: xp.iscomplex(x[::-1] + 1j * x) | xp.iscomplex(x)),
    "angle": (SPECIAL, lambda xp, x: xp.angle(x)),
    "angle in degrees": (Z, lambda xp, x: xp.angle(x, deg=True)),
    "divmod": (X, lambda xp, x: xp.stack([*xp.divmod(x, 0.3), *divmod(x, -0.7)])),
    "modf": (SPECIAL, lambda xp, x: xp.stack([*xp.modf(x)])),
    "isposinf": (SPECIAL, lambda xp, x: xp.isposinf(x)),
    "isneginf": (SPECIAL, lambda xp, x: xp.isneginf(x)),
    "dot": (X, lambda xp, x: xp.dot(x, x.T) + xp.dot(x[0], x[0]) + xp.dot(2.0, x[0, 0])),
    "dot of more axes": (RNG.random((2, 3, 4)), lambda xp, x: xp.dot(x, xp.swapaxes(x, 1, 2))),
    "inner": (X, lambda xp, x: xp.inner(x, x) * xp.inner(x[0], x[1])),
    "vdot": (Z, lambda xp, x: xp.vdot(x, x[::-1])),
    "outer": (X, lambda xp, x: xp.outer(x, x[0])),
    "einsum of other axes": (RNG.random((2, 3, 4)), lambda xp, x: xp.einsum("...ij,...kj->...ik", x, x[0])),
    "einsum of axes between": (RNG.random((2, 3, 4)), lambda xp, x: xp.einsum("i...j, ...k -> k...i", x, x[0, :, :2])),
    "einsum of other axes, implicit": (RNG.random((2, 3, 4)), lambda xp, x: xp.einsum("...ba,a...", x, xp.swapaxes(x, 0, 2))),
    "einsum of repeated axes": (RNG.random((2, 3, 4)), lambda xp, x: xp.einsum("...i,...i->...", x[:, :1], x[:1])),
    "einsum of an axis of extent 1": (X, lambda xp, x: xp.einsum("ij,kj->ik", x[:, :1], x) + xp.einsum("ij->j", x[:1])[:3]),
    "einsum of no other axes": (X, lambda xp, x: xp.einsum("...i->i...", x[0]) + xp.einsum("...", x)),
    "matvec": (Z, lambda xp, x: xp.matvec(x, x[0])),
    "vecmat": (Z, lambda xp, x: xp.vecmat(x[:, 0], x)),
    "kron": (X, lambda xp, x: xp.kron(x, x[0]) + xp.kron(x[:1], xp.ones((3, 4)))[:, ::1]),
    "polyval": (X, lambda xp, x: xp.polyval(x[0], x)),
    "polyadd": (X, lambda xp, x: xp.polyadd(x[0], x[1, :2])),
    "polysub": (X, lambda xp, x: xp.polysub(x[0, :3], x[1])),
    "polymul": (X, lambda xp, x: xp.polymul(x[0], x[1, :2])),
    "polyder": (X, lambda xp, x: xp.polyder(x[0]) * 2.0),
    "polyder of a constant": (X, lambda xp, x: xp.polyder(x[0], 4)),
    "polyint": (X, lambda xp, x: xp.polyint(x[0], 2)),
    "vander": (X, lambda xp, x: xp.vander(x[0])),
    "vander of so many columns": (WHOLE[0], lambda xp, x: xp.vander(x, 5, increasing=True)),
    "polyfit": (RNG.random((2, 9)), lambda xp, x: xp.polyfit(x[0], x[1], 2)),
    "polyfit of columns": (RNG.random((4, 9)), lambda xp, x: xp.polyfit(x[0], x[1:].T, 3, w=x[1] + 1.0)),
    "convolve": (X, lambda xp, x: xp.convolve(x[0], x[1, :3])),
    "convolve integers": (WHOLE, lambda xp, x: xp.convolve(x[0], x[1], "same")),
    "correlate": (X, lambda xp, x: xp.correlate(x[0], x[1, :3])),
    "correlate complex numbers": (Z, lambda xp, x: xp.correlate(x[0, :2], x[1], "same")),
    "logspace": (X, lambda xp, x: x[0] + xp.logspace(0, 2, 4) + xp.logspace(1, 3, 4, endpoint=False, base=2.0)),
    "geomspace": (X, lambda xp, x: x[0] + xp.geomspace(1, 1000, 4) + xp.geomspace(-8, -1, 4, False)),
    "linspace between arrays": (X, lambda xp, x: xp.linspace(x[0], x[1] * 2.0, 5) + xp.linspace(0.0, x[2, 0], 5)[:, None]),
    "ndim": (X, lambda xp, x: x * xp.ndim(x)),
    "shape": (X, lambda xp, x: xp.reshape(x, xp.shape(x)[::-1])),
    "size": (X, lambda xp, x: x * xp.size(x) + xp.size(x, 1)),
    "copy": (X, lambda xp, x: xp.copy(x)),
    "array": (X, lambda xp, x: x + xp.array([1.0, 2.0, 3.0, 4.0])),
    "atleast_1d": (X, lambda xp, x: xp.atleast_1d(x[0, 0])),
    "atleast_2d": (X, lambda xp, x: xp.stack([*xp.atleast_2d(x[0], x[1])])),
    "atleast_3d": (X, lambda xp, x: xp.atleast_3d(x[0]) + xp.atleast_3d(x)[:1]),
    "column_stack": (X, lambda xp, x: xp.column_stack([x, x[:, 0]])),
    "block": (X, lambda xp, x: xp.block([[x, x], [x[:, :2], x, x[:, 2:]]])),
    "block of vectors": (X, lambda xp, x: xp.block([x[0], x[1]])),
    "hsplit": (X, lambda xp, x: xp.hsplit(x, 2)[1] + xp.hsplit(x[0], [2])[1]),
    "vsplit": (X, lambda xp, x: xp.vsplit(x, [1, 2])[1]),
    "dsplit": (X, lambda xp, x: xp.dsplit(x[None], 2)[1]),
    "append": (X, lambda xp, x: xp.append(xp.append(x, x), x[0])),
    "append along an axis": (X, lambda xp, x: xp.append(x, x[:1], axis=0)),
    "delete": (X, lambda xp, x: xp.delete(xp.delete(x, [0, -1], 1), 1, 0)),
    "delete a slice": (X, lambda xp, x: xp.delete(x, slice(1, 5, 2))),
    "insert": (X, lambda xp, x: xp.insert(x, 1, x[:, 0], 1)),
    "insert several": (X, lambda xp, x: xp.insert(x, [0, 3, 3], x[:, :3], 1)),
    "insert in all": (X, lambda xp, x: xp.insert(x, 5, 9.0)),
    "insert rows": (X, lambda xp, x: xp.insert(x, -1, x[:2], 0)),
    "ediff1d": (X, lambda xp, x: xp.ediff1d(x, to_end=np.array([1.0, 2.0]), to_begin=0.5)),
    "fliplr": (X, lambda xp, x: xp.fliplr(x)),
    "flipud": (X, lambda xp, x: xp.flipud(x)),
    "rot90": (X, lambda xp, x: xp.stack([xp.rot90(x, k) for k in (1, -1)]) + xp.rot90(x.T, 2) + xp.rot90(x.T, 4)),
    "rot90 of other axes": (X, lambda xp, x: xp.rot90(x[None], 1, (2, 0))),
    "diag": (X, lambda xp, x: xp.diag(x[0]) + xp.diag(x[0, :3], 1) + xp.diag(x[0, :2], -2)),
    "diag of a matrix": (X, lambda xp, x: xp.diag(x, 1) + xp.diag(x)),
    "diagflat": (X, lambda xp, x: xp.diagflat(x, 1)),
    "tri": (X, lambda xp, x: x * xp.tri(3, 4, 1) + xp.tri(4, dtype=int)[1:].astype("float64")),
    "tril_indices": (X, lambda xp, x: x[xp.tril_indices(3, -1)]),
    "triu_indices": (X, lambda xp, x: x[xp.triu_indices(3, 1, 4)]),
    "tril_indices_from": (X, lambda xp, x: x[xp.tril_indices_from(x)]),
    "triu_indices_from": (X, lambda xp, x: x[xp.triu_indices_from(x, 1)]),
    "diag_indices": (X, lambda xp, x: x[xp.diag_indices(3)]),
    "diag_indices_from": (X, lambda xp, x: x[:, :3][xp.diag_indices_from(x[:, :3])]),
    "select": (X, lambda xp, x: xp.select([x > 1.0, x > 0.0], [x, x * 2.0], -1.0)),
    "choose": (X, lambda xp, x: xp.choose(np.array([[0, 1, 1, 0]]), [x, x * 2.0])),
    "isin": (WHOLE, lambda xp, x: xp.isin(x, np.array([[3], [9]])) ^ xp.isin(x, x[0], invert=True)),
    "array_equal": (HOLES, lambda xp, x: xp.stack([xp.array_equal(x, x), xp.array_equal(x, x, True), xp.array_equal(x, x[0])])),
    "lexsort": (TIES, lambda xp, x: xp.lexsort((x[::-1], x))),
    "lexsort along an axis": (WHOLE % 3, lambda xp, x: xp.lexsort((-x, x), axis=0)),
    "cumsum": (X, lambda xp, x: xp.cumsum(x, axis=1) + xp.cumsum(x)[-1]),
    "cumsum of bool": (X > 0, lambda xp, x: xp.cumsum(x)),
    "cumprod": (X, lambda xp, x: xp.cumprod(x, 0) * xp.cumprod(x)[-1]),
    "nancumsum": (HOLES, lambda xp, x: xp.nancumsum(x, axis=1)),
    "nancumprod": (HOLES, lambda xp, x: xp.nancumprod(x)),
    "nanprod": (HOLES, lambda xp, x: xp.nanprod(x, axis=0)),
    "nanvar": (HOLES, lambda xp, x: xp.nanvar(x, axis=1) + xp.nanvar(x, axis=1, ddof=1)),
    "nanstd": (HOLES, lambda xp, x: xp.nanstd(x, keepdims=True)),
    "percentile": (X, lambda xp, x: xp.percentile(x, 30, axis=1)),
    "percentile of several": (X, lambda xp, x: xp.percentile(x, [0, 25, 100], axis=0, keepdims=True)),
    "quantile of several": (X, lambda xp, x: xp.quantile(x, np.array([0.1, 0.5]))),
    "nanquantile": (HOLES, lambda xp, x: xp.nanquantile(x, 0.3, axis=1)),
    "nanpercentile": (HOLES, lambda xp, x: xp.nanpercentile(x, 70, keepdims=True)),
    "nanmedian": (HOLES, lambda xp, x: xp.nanmedian(x, axis=0, keepdims=True)),
    "nanargmax": (HOLES[::2], lambda xp, x: xp.nanargmax(x, axis=1) + xp.nanargmax(x)),
    "nanargmin": (HOLES[::2], lambda xp, x: xp.nanargmin(x, axis=1, keepdims=True)),
    "cov": (X, lambda xp, x: xp.cov(x) + xp.cov(x[0], x[1], bias=True)[0, 1] + xp.cov(x[0])),
    "cov of columns": (Z, lambda xp, x: xp.cov(x, rowvar=False, ddof=0)),
    "corrcoef": (X, lambda xp, x: xp.corrcoef(x) + xp.corrcoef(x[0], x[1])[0, 1]),
    "diagonal": (
        RNG.random((3, 4, 2)),
        lambda xp, x: xp.diagonal(x) + xp.diagonal(x, 1).sum() + xp.diagonal(x, 0, 2, 1).sum(),
    ),
    "bincount": (np.array([1, 0, 3, 1, 1]), lambda xp, x: xp.bincount(x, minlength=5)),
    "bincount of weights": (np.array([1, 0, 3, 1]), lambda xp, x: xp.bincount(x, np.array([0.5, 1.0, 2.0, 0.25]), 5)),
    "digitize": (X, lambda xp, x: xp.digitize(x, np.array([-1.0, 0.0, 1.0])) + xp.digitize(x, x[0, :1], right=True)),
    "histogram": (X, lambda xp, x: xp.histogram(x, bins=5)[0].astype("float64") + xp.histogram(x, 5)[1][1:]),
    "histogram between": (X, lambda xp, x: xp.histogram(x, 4, range=(-1.0, 1.0), density=True)[0]),
    "histogram of edges": (X, lambda xp, x: xp.histogram(x, np.array([-1.0, 0.5, 0.6, 2.0]), weights=x * x)[0]),
    "histogram of equal numbers": (np.ones(4), lambda xp, x: xp.histogram(x, 4)[0].astype("float64") + xp.histogram(x, 4)[1][1:]),
    "trapezoid": (X, lambda xp, x: xp.trapezoid(x, dx=0.5) + xp.trapezoid(x, x[0])),
    "trapezoid along an axis": (X, lambda xp, x: xp.trapezoid(x, x[:, 0], axis=0) + xp.trapezoid(x, x * x, axis=0)),
    "gradient": (X, lambda xp, x: xp.stack([*xp.gradient(x)]) + xp.gradient(x, 0.5, axis=1)),
    "gradient at points": (X, lambda xp, x: xp.gradient(x, np.array([0.0, 1.0, 1.5, 4.0]), axis=1)),
    "interp": (X * 3, lambda xp, x: xp.interp(x, np.array([-2.0, 0.0, 2.0]), np.array([1.0, 5.0, 0.0]))),
    "interp with ends": (SPECIAL, lambda xp, x: xp.interp(x, np.array([0.0, 1.0, 1.0]), np.array([1.0, 5.0, 0.0]), -7.0, 9.0)),
    "interp of one point": (SPECIAL, lambda xp, x: xp.interp(x, x[:1], x[2:3]) + xp.interp(x, x[:1], x[2:3], 5.0, 7.0)),
    "interp of jumps": (SPECIAL, lambda xp, x: xp.interp(x, np.array([0.0, 0.0, 1.0, 1.0]), np.array([3.0, 2.0, 5.0, 4.0]))),
    "unwrap": (np.cumsum(X * 5, axis=1), lambda xp, x: xp.unwrap(x) + xp.unwrap(x, axis=0, period=3.0)),
    "unwrap of few": (X * 5, lambda xp, x: xp.unwrap(x, discont=4.0)),
    "pad": (X, lambda xp, x: xp.stack([xp.pad(x, ((1, 2), (3, 2)), m) for m in ("edge", "reflect", "symmetric", "wrap")])),
    "pad far": (X, lambda xp, x: xp.pad(x, 9, "reflect") + xp.pad(x, 9, "wrap") + xp.pad(x, 9, "symmetric")),
    "round": (X * 100, lambda xp, x: xp.round(x, 1) + xp.around(x, -1) + xp.rint(x)),
    "cross": (X[:, :3], lambda xp, x: xp.cross(x, x[::-1])),
    "outer of a function": (X[0], lambda xp, x: np.add.outer(x, x) + np.maximum.outer(x, x[:1])),
    "take of a list": (X, lambda xp, x: np.take(x, [2, 0], axis=1)),
    "indices": (X, lambda xp, x: xp.indices((3, 4), dtype="float64") * x + xp.indices((4,)).astype("float64")),
    "unravel_index": (WHOLE, lambda xp, x: xp.stack([*xp.unravel_index(abs(x), (2, 5, 3)), xp.unravel_index(x * x, 99)[0]])),
    "ravel_multi_index": (WHOLE, lambda xp, x: xp.ravel_multi_index((abs(x), abs(x) % 2), (10, 2)) + abs(x)),
    "ravel_multi_index inside": (
        WHOLE,
        lambda xp, x: xp.ravel_multi_index((x, x), (5, 2), mode="wrap") - xp.ravel_multi_index((x, x), (5, 2), mode="clip"),
    ),
    "ix_": (X, lambda xp, x: x[xp.ix_(np.array([2, 0]), np.array([1, 3, 1]))]),
    "partition": (X, lambda xp, x: xp.partition(x, 2)[:, 2] + xp.partition(x, (1, -1), axis=None)[1]),
    "argpartition": (X, lambda xp, x: xp.argpartition(x, 1, axis=0)[1]),
    "apply_along_axis": (X, lambda xp, x: xp.apply_along_axis(lambda v: v * v.sum(), 0, x)),
    "apply_along_axis to a number": (
        RNG.random((2, 3, 4)),
        lambda xp, x: xp.apply_along_axis(lambda v, k: v.max() * k, 1, x, 2.0),
    ),
    "apply_along_axis to a matrix": (
        RNG.random((2, 3, 4)),
        lambda xp, x: xp.apply_along_axis(lambda v: v[:, None] * v[:2], 1, x),
    ),
    "piecewise": (X, lambda xp, x: xp.piecewise(x, [x < -1, x > 1], [lambda v: v * v, -3])),
    "piecewise else": (X, lambda xp, x: xp.piecewise(x, [x < 0], [lambda v: -v, lambda v: v + 1.0])),
    "histogram2d": (X, lambda xp, x: xp.histogram2d(x[0], x[1], bins=3)[0] + xp.histogram2d(x[0], x[1], (3, 3))[1][1:]),
    "histogram2d between": (
        np.concatenate([X, X - 0.5], axis=1),
        lambda xp, x: xp.histogram2d(x[0], x[1], (4, 3), ((-2.0, 1.0), (-1.0, 2.0)), weights=x[2] ** 2, density=True)[0],
    ),
    "bartlett": (X, lambda xp, x: xp.bartlett(4) * x),
    "blackman": (X, lambda xp, x: xp.blackman(4) * x),
    "hamming": (X, lambda xp, x: xp.hamming(4) * x),
    "hanning": (X, lambda xp, x: xp.hanning(4) * x),
    "cond": (X, lambda xp, x: xp.linalg.cond(x) + xp.linalg.cond(x[:, :3], 1) + xp.linalg.cond(x[:, :3], "fro")),
    "cond of least": (RNG.random((2, 3, 3)), lambda xp, x: xp.linalg.cond(x, -2) + xp.linalg.cond(x, np.inf)),
    "multi_dot": (X, lambda xp, x: xp.linalg.multi_dot([x, x.T, x[:, :2], x[:2]]) + xp.linalg.multi_dot([x[0], x.T, x])),
    "multi_dot of vectors": (X, lambda xp, x: xp.linalg.multi_dot([x[0], x.T, x, x[1]]) + xp.linalg.multi_dot([x, x[0]])),
    "lstsq": (X.T, lambda xp, x: xp.linalg.lstsq(x[:, :2], x[:, 2])[0] + xp.linalg.lstsq(x[:, :2], x[:, 2], rcond=None)[1]),
    "lstsq of columns": (X.T, lambda xp, x: xp.linalg.lstsq(x[:, :2], x)[0] + xp.linalg.lstsq(x[:, :2], x)[1]),
    "lstsq of few rows": (X, lambda xp, x: xp.linalg.lstsq(x, x[:, 1])[0] + xp.linalg.lstsq(x, x[:, 1])[3][0]),
    "accumulate": (SPECIAL, lambda xp, x: np.maximum.accumulate(x[:7]) - np.minimum.accumulate(x[3:])),
    "accumulate along an axis": (X, lambda xp, x: np.maximum.accumulate(x, axis=1) + np.minimum.accumulate(x)),
    "quantile of a number of NumPy": (X, lambda xp, x: xp.quantile(x, np.array(0.3)) + xp.percentile(x, np.array([5.0, 50.0]))),
    "names": (X, lambda xp, x: xp.concatenate([xp.absolute(x), xp.power(x, 2), xp.amax(x, 0)[None]]) + xp.mod(x, 2.0)[0]),
}
"""For each row of the modules of NumPy's functions at least one program, of `xp`, NumPy or `mind_array`, and an array."""

MODULES = (numpy_indices, numpy_linalg, numpy_mathematics, numpy_products, numpy_shapes, numpy_statistics)
ROWS = [
    r
    for r in TABLE.values()
    if inspect.getmodule(inspect.unwrap(r.function)) in MODULES
    or inspect.unwrap(r.function).__code__.co_filename in {m.__file__ for m in MODULES}
]


@pytest.mark.quick
def test_every_function_has_a_program():
    assert len(ROWS) > 70
    assert not {r.name for r in ROWS} - {name.split()[0] for name in PROGRAMS}


def close(found: Any, expected: Any) -> None:
    assert isinstance(found, ma.Array)
    assert found.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found.ndarray, expected, rtol=1e-9, atol=1e-12, strict=True)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.RankWarning")
def test_a_function_is_that_of_numpy(name: str):
    array, program = PROGRAMS[name]
    if name in ("matvec", "vecmat") and not hasattr(np, name):
        pytest.skip("NumPy has it since 2.2")
    expected = program(np, array)
    for xp in (ma, np):
        close(program(xp, ma.asarray(array)), expected)

    def function(x: ma.Array) -> Any:
        return program(ma, x)

    for target in ("numpy", "native"):
        close(ma.jit(function, target=target)(array), expected)


def _delete(x: ma.Array, i: ma.Array) -> ma.Array:
    return ma.delete(x, i)


NOTHING: dict[str, Any] = {}
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "block": (lambda: ma.block([[X], X]), "E1110: block: lists of depths"),
    "delete": (lambda: ma.delete(X, 7, 0), "E6001: delete: index 7 is out of bounds"),
    "delete traced": (lambda: ma.jit(_delete)(X, 1), "E1101"),
    "einsum": (lambda: ma.einsum("...i->i", X), r"E1110: einsum: output 'i' of '...i->i', expected"),
    "einsum twice": (lambda: ma.einsum("...i...->...", X), "E1110: einsum: output"),
    "einsum of dots": (lambda: ma.einsum("i.j->ij", X), "E1110"),
    "einsum of ranks": (lambda: ma.einsum("...ijk", X), r"E3002: einsum: '...ijk' for an operand of rank 2"),
    "einsum of extents": (lambda: ma.einsum("...i,...i->...", X, X[:2]), "E3"),
    "insert": (lambda: ma.insert(X, 9, X[0], 0), "E6001: insert: index 9 is out of bounds"),
    "choose": (lambda: ma.choose(np.array([0, 5, 0, 0]), [X, X]), "E6001"),
    "rot90": (lambda: ma.rot90(X, 1, (1, 1)), "E1110: rot90: axes"),
    "select": (lambda: ma.select([X > 0], []), "E1110: select: 1 conditions for 0 choices"),
    "hstack": (lambda: ma.hstack([]), "E1110: concat: no arrays"),
    "lexsort": (lambda: ma.lexsort([]), "E1110: lexsort: no keys"),
    "diag": (lambda: ma.diag(X[None]), "E3002: diag: rank 3, expected 1 or 2"),
    "convolve": (lambda: ma.convolve(X[0], X[0, :0]), "E1110: convolve: a vector of length 0"),
    "correlate": (lambda: ma.correlate(X[0], X[0], "half"), "E1110: correlate: mode 'half'"),
    "polyder": (lambda: ma.polyder(X[0], -1), "E1110: polyder: m is -1"),
    "vander": (lambda: ma.vander(X), "E3002: vander: rank 2"),
    "geomspace": (lambda: ma.geomspace(-1, 1), "E1110: geomspace: from"),
    "bincount": (lambda: ma.bincount(np.array([1, -2])), "E1110: bincount: x contains -2"),
    "bincount traced": (lambda: ma.jit(ma.bincount)(np.array([1, 2])), "E1108"),
    "bincount of floats": (lambda: ma.bincount(X[0]), "E2005"),
    "bincount beyond memory": (lambda: ma.bincount(np.array([1 << 60])), "E6004"),
    "diagonal": (lambda: ma.diagonal(X, 0, 1, -1), "E1110: diagonal: axes"),
    "unique traced": (lambda: ma.jit(ma.unique)(X), "E1108"),
    "gradient": (lambda: ma.gradient(X, 1.0, 1.0, 1.0), "E1110: gradient: 3 distances for 2 axes"),
    "gradient of one": (lambda: ma.gradient(X[:1], axis=0), "E1110: gradient: axis 0 has 1 elements"),
    "interp": (lambda: ma.interp(X, X[0], X[0, :2]), r"E1110: interp: xp of shape \(4,\) and fp of shape \(2,\)"),
    "interp of nothing": (lambda: ma.interp(X, X[0, :0], X[0, :0]), "E1110: interp"),
    "histogram": (lambda: ma.histogram(X, 0), "E1110: histogram: 0 bins"),
    "percentile": (lambda: ma.percentile(X, 101), "E1110: quantile: q is 1.01"),
    "quantile traced": (
        lambda: ma.jit(lambda x, q: ma.quantile(x, q))(X, np.array([0.5])),
        "E1101: the shares of a quantile of a traced array",
    ),
    "quantile of matrices": (lambda: ma.percentile(X, np.ones((2, 2))), "E1110: quantile: q has 2 axes"),
    "nanquantile": (lambda: ma.nanquantile(X, 2), "E1110: nanquantile: q is 2"),
    "cov": (lambda: ma.cov(X[None]), "E3002: cov: rank 3"),
    "pad": (lambda: ma.pad(X[:0], 1, "edge"), "E1110: pad: axis 0 has no elements"),
    "pad mode": (lambda: ma.pad(X, 1, "mean"), "E6003: pad: mode 'mean'"),
    "tril_indices": (lambda: ma.tril_indices(**NOTHING), "E1110: tril_indices: "),
    "unravel_index": (lambda: ma.unravel_index(np.array([3, 6]), (2, 3)), "E6001: unravel_index: index 6 is out of bounds"),
    "ravel_multi_index": (lambda: ma.ravel_multi_index((WHOLE, WHOLE), (10, 3)), "E6001: ravel_multi_index: index -1"),
    "ravel_multi_index of few": (
        lambda: ma.ravel_multi_index((WHOLE,), (2, 3)),
        "E1110: ravel_multi_index: 1 indices for 2 axes",
    ),
    "ravel_multi_index mode": (lambda: ma.ravel_multi_index((WHOLE,), (2,), mode="fill"), "E1110: ravel_multi_index: mode"),
    "ix_": (lambda: ma.ix_(X), r"E3002: ix_: ranks \[2\]"),
    "partition": (lambda: ma.partition(X, 4), "E1110: partition: kth is 4"),
    "piecewise": (lambda: ma.piecewise(X, [X > 0], []), "E1110: piecewise: 0 functions for 1 conditions"),
    "cond": (lambda: ma.linalg.cond(X, 1), "E3003: cond: matrices of 3 by 4"),
    "multi_dot": (lambda: ma.linalg.multi_dot([X]), "E3002: multi_dot"),
    "lstsq": (lambda: ma.linalg.lstsq(X, X[0]), r"E3003: lstsq: shapes \[3, 4\] and \[4\]"),
    "linspace": (lambda: ma.linspace(X, X, -1), "E1110: linspace: num is -1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_a_coded_error(name: str):
    call, message = WRONG[name]
    with pytest.raises(MindError, match=message):
        call()


def test_no_number_is_found_where_all_are_nan():
    """NumPy raises, which a compiled program cannot; JAX gives -1 too."""
    np.testing.assert_array_equal(ma.nanargmax(HOLES, 1).ndarray[1], -1)
    np.testing.assert_array_equal(ma.nanargmin(ma.asarray([np.nan])).ndarray, -1)


@pytest.mark.parametrize("xp", [ma, np], ids=("ours", "numpys"))
def test_functions_whose_size_depends_on_data(xp: Any):
    x = ma.asarray(np.round(HOLES))
    close(xp.flatnonzero(x > 0), np.flatnonzero(x.ndarray > 0))
    close(xp.argwhere(x > 0), np.argwhere(x.ndarray > 0))
    close(xp.bincount(ma.asarray([1, 4, 1]), minlength=2), np.bincount([1, 4, 1], minlength=2))
    close(xp.bincount(ma.asarray([1, 4, 1]), weights=ma.asarray([0.5, 1.0, 2.0])), np.bincount([1, 4, 1], [0.5, 1.0, 2.0]))
    close(xp.unique(x), np.unique(x.ndarray))
    for found, expected in zip(xp.unique(x, True, True, True), np.unique(x.ndarray, True, True, True), strict=True):
        close(found, expected)
    close(xp.unique(ma.asarray(WHOLE % 2), axis=0), np.unique(WHOLE % 2, axis=0))


def test_a_missing_name_tells_similar_ones():
    with pytest.raises(AttributeError, match=r"'det'; there is linalg\.det"):
        getattr(ma, "det")  # noqa: B009
    with pytest.raises(AttributeError, match="'cumsums'; there are cumsum"):
        getattr(ma, "cumsums")  # noqa: B009
    with pytest.raises(TypeError, match=r"E2001: np\.add\.reduceat has no row for these arrays"):
        np.add.reduceat(cast("Any", ma.asarray(X)), [0])
