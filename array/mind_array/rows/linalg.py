# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
"""
Linear algebra: compositions of other functions, and decompositions as custom calls of NumPy's.

The latter have names of their own, `mind.linalg.NAME.v1`, so that derivative rules and other executors find them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import calls
from ..array import Array
from ..calls import call
from ..dtypes import DType, int64, kind_of, real_of
from ..emit import constant
from ..faults import fault
from ..operands import array_of, axes_of, axis_of, broadcast, broadcast_shapes, cast, promoted, together
from ..table import SMOOTH, register, row
from . import elementwise as e
from . import lapack
from .contraction import matmul, outer, tensordot, vecdot
from .creation import eye
from .indexing import diagonal_of
from .manipulation import matrix_transpose, moveaxis, reshape, reshaped
from .mathematics import pow_ as power
from .parts import abs_, conj
from .reductions import max_, min_, reduced, sum_, truth

LAPACK = "decompositions are functions of LAPACK, not ops"
"""The reason of rows that are custom calls."""


class EighResult(NamedTuple):
    """Results of `eigh`."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """Results of `qr`."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """Results of `slogdet`."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """Results of `svd`."""

    U: Array
    S: Array
    Vh: Array


def _cholesky(xp: Any, x: Any, *, failure: str = "error") -> Any:
    """The factor; with `failure="nan"` NaN for a matrix of a batch that has none, instead of an error for all."""
    if failure == "error":
        return xp.linalg.cholesky(x)
    found = xp.empty_like(x)
    for place in np.ndindex(x.shape[:-2]):
        try:
            found[place] = xp.linalg.cholesky(x[place])
        except np.linalg.LinAlgError:
            found[place] = math.nan
    return found


_FUNCTIONS: dict[str, Any] = {
    "cholesky": _cholesky,
    "qr": lambda xp, x, *, mode: tuple(xp.linalg.qr(x, mode=mode)),
    "svd": lapack.svd,
    "svdvals": lapack.svdvals,
    "eigh": lapack.eigh,
    "eigvalsh": lapack.eigvalsh,
    "inv": lambda xp, x: xp.linalg.inv(x),
    "solve": lambda xp, a, b: xp.linalg.solve(a, b),
    "det": lambda xp, x: xp.linalg.det(x),
    "slogdet": lambda xp, x: tuple(xp.linalg.slogdet(x)),
}
TARGETS: dict[str, str] = {name: calls.define_as(f"mind.linalg.{name}.v1", function) for name, function in _FUNCTIONS.items()}
"""Targets of custom calls of each decomposition; each function takes any number of leading axes."""


def conjugate_transposed(x: Array) -> Array:
    """Return the conjugates of transposed matrices; of real ones the transposed."""
    turned = matrix_transpose(x)
    return conj(turned) if kind_of(x.dtype) == "c" else turned


def matrices(x: Any, function: str, *, square: bool = True) -> Array:
    """An operand as floating-point matrices; E3003 for ones that are not square."""
    array = array_of(x, function)
    calls_category(function, array.dtype)
    if array.ndim < 2:
        raise fault("E3002", f"{function}: rank {array.ndim}, expected at least 2", expected="at least 2", actual=array.ndim)
    m, n = array.shape[-2:]
    if square and m != n:
        raise fault(
            "E3003", f"{function}: matrices of {m} by {n}, expected square ones", dimension="rows and columns", extents=(m, n)
        )
    return array


def calls_category(function: str, dtype: DType) -> None:
    """Raise E2005 for a dtype that LAPACK does not take."""
    from ..dtypes import check_category

    check_category(function, dtype, "floating")


@row("linalg.cholesky", module="linalg", category="floating", derivative=SMOOTH, call=LAPACK)
def cholesky(x: Any, /, *, upper: bool = False) -> Array:
    """Return the triangular L with `L @ conj(L.T) == x`, or its upper form; x is Hermitian and positive definite."""
    array = matrices(x, "cholesky")
    found = call(TARGETS["cholesky"], (array,), [(array.dtype, array.shape)])
    return conjugate_transposed(found) if upper else found


@row("linalg.qr", module="linalg", category="floating", derivative=SMOOTH, call=LAPACK)
def qr(x: Any, /, mode: str = "reduced") -> QRResult:
    """Return Q with orthonormal columns and upper triangular R with `Q @ R == x`."""
    array = matrices(x, "qr", square=False)
    if mode not in ("reduced", "complete"):
        raise fault("E1110", f"qr: mode is {mode!r}, expected 'reduced' or 'complete'", argument="mode", value=mode)
    *batch, m, n = array.shape
    k = m if mode == "complete" else min(m, n)
    shapes = [(array.dtype, (*batch, m, k)), (array.dtype, (*batch, k, n))]
    return QRResult(*call(TARGETS["qr"], (array,), shapes, mode=mode))


@row("linalg.svd", module="linalg", category="floating", derivative=SMOOTH, call=LAPACK)
def svd(x: Any, /, full_matrices: bool = True) -> SVDResult:
    """Return U, the singular values in descending order, and Vh with `U * S @ Vh == x`."""
    return singular(matrices(x, "svd", square=False), full_matrices=bool(full_matrices))


def singular(array: Array, *, full_matrices: bool = False, **attributes: Any) -> SVDResult:
    """As `svd`, with attributes of the call."""
    *batch, m, n = array.shape
    k, d = min(m, n), array.dtype
    shapes = [(d, (*batch, m, m if full_matrices else k)), (real_of(d), (*batch, k)), (d, (*batch, n if full_matrices else k, n))]
    return SVDResult(*call(TARGETS["svd"], (array,), shapes, full_matrices=full_matrices, **attributes))


@row("linalg.svdvals", module="linalg", category="floating", derivative=SMOOTH, call=LAPACK)
def svdvals(x: Any, /) -> Array:
    """Return the singular values in descending order."""
    array = matrices(x, "svdvals", square=False)
    *batch, m, n = array.shape
    return call(TARGETS["svdvals"], (array,), [(real_of(array.dtype), (*batch, min(m, n)))])


@row("linalg.eigh", module="linalg", category="floating", derivative=SMOOTH, call=LAPACK)
def eigh(x: Any, /) -> EighResult:
    """Return the eigenvalues in ascending order and the eigenvectors, as columns, of Hermitian matrices."""
    return hermitian(matrices(x, "eigh"))


def hermitian(array: Array, **attributes: Any) -> EighResult:
    """As `eigh`, with attributes of the call."""
    shapes = [(real_of(array.dtype), array.shape[:-1]), (array.dtype, array.shape)]
    return EighResult(*call(TARGETS["eigh"], (array,), shapes, **attributes))


@row("linalg.eigvalsh", module="linalg", category="floating", derivative=SMOOTH, call=LAPACK)
def eigvalsh(x: Any, /) -> Array:
    """Return the eigenvalues of Hermitian matrices in ascending order."""
    array = matrices(x, "eigvalsh")
    return call(TARGETS["eigvalsh"], (array,), [(real_of(array.dtype), array.shape[:-1])])


@row("linalg.inv", module="linalg", category="floating", derivative=SMOOTH, call=LAPACK)
def inv(x: Any, /) -> Array:
    """Return the inverses of square matrices."""
    array = matrices(x, "inv")
    return call(TARGETS["inv"], (array,), [(array.dtype, array.shape)])


@row("linalg.solve", module="linalg", category="floating", arrays=2, derivative=SMOOTH, call=LAPACK)
def solve(x1: Any, x2: Any, /) -> Array:
    """Return the solutions of `x1 @ y == x2`; `x2` is a vector or holds columns."""
    (a, b), dtype = promoted("solve", "floating", matrices(x1, "solve"), array_of(x2, "solve"))
    n = b.shape[0] if b.ndim == 1 else b.shape[-2] if b.ndim else None
    if n != a.shape[-1]:
        raise fault("E3003", f"solve: shapes {list(a.shape)} and {list(b.shape)}", dimension="rows", extents=(a.shape[-1], n))
    if b.ndim == 1:
        columns = solve(a, reshaped(b, (n, 1)))
        return reshaped(columns, columns.shape[:-1])
    leading = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return call(TARGETS["solve"], (a, b), [(dtype, (*leading, *b.shape[-2:]))])


@row("linalg.det", module="linalg", category="floating", derivative=SMOOTH, call=LAPACK)
def det(x: Any, /) -> Array:
    """Return the determinants of square matrices."""
    array = matrices(x, "det")
    return call(TARGETS["det"], (array,), [(array.dtype, array.shape[:-2])])


@row("linalg.slogdet", module="linalg", category="floating", derivative=SMOOTH, call=LAPACK)
def slogdet(x: Any, /) -> SlogdetResult:
    """Return the signs of the determinants and the logarithms of their magnitudes."""
    array = matrices(x, "slogdet")
    shapes = [(array.dtype, array.shape[:-2]), (real_of(array.dtype), array.shape[:-2])]
    return SlogdetResult(*call(TARGETS["slogdet"], (array,), shapes))


def _threshold(values: Array, shape: tuple[Any, ...], rtol: Any) -> Array:
    """The singular values below which they count as 0, with an axis of extent 1 at the end."""
    from .dtype_functions import finfo
    from .manipulation import expand_dims

    greatest = reduced("max", values, (values.ndim - 1,), True)
    if rtol is None:
        rtol = max(shape[-2:]) * finfo(values.dtype).eps
    share = rtol if isinstance(rtol, int | float) else expand_dims(cast(array_of(rtol, "rtol"), values.dtype), axis=-1)
    return e.multiply(greatest, share)


@row("linalg.matrix_rank", module="linalg", category="floating", call=LAPACK)
def matrix_rank(x: Any, /, *, rtol: Any = None) -> Array:
    """Return how many singular values are greater than `rtol` times the greatest."""
    array = matrices(x, "matrix_rank", square=False)
    if 0 in array.shape[-2:]:
        return constant(0, int64, array.shape[:-2])
    values = svdvals(array)
    kept = e.greater(values, broadcast(_threshold(values, array.shape, rtol), values.shape))
    return reduced("sum", cast(kept, int64), (values.ndim - 1,), False)


@row("linalg.matrix_power", module="linalg", category="floating", derivative=SMOOTH)
def matrix_power(x: Any, n: int, /) -> Array:
    """Return square matrices multiplied `n` times, their inverses for a negative `n`."""
    array = matrices(x, "matrix_power")
    if n < 0:
        return matrix_power(inv(array), -n)
    found: Array | None = None
    while n:
        if n & 1:
            found = array if found is None else matmul(found, array)
        n >>= 1
        array = matmul(array, array) if n else array
    return broadcast(eye(array.shape[-1], dtype=array.dtype), array.shape) if found is None else found


@row("linalg.diagonal", module="linalg", category="all", derivative=SMOOTH)
def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """Return the elements of a diagonal of the last two axes, above the main one for a positive offset."""
    array = array_of(x, "diagonal")
    if array.ndim < 2:
        raise fault("E3002", f"diagonal: rank {array.ndim}, expected at least 2", expected="at least 2", actual=array.ndim)
    return diagonal_of(array, int(offset))


@row("linalg.trace", module="linalg", category="numeric", derivative=SMOOTH)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Return the sum of a diagonal of the last two axes."""
    return sum_(diagonal(x, offset=offset), axis=-1, dtype=dtype)


@row("linalg.cross", "cross", module="linalg", category="numeric", arrays=2, derivative=SMOOTH)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Return the cross products of vectors of three elements along `axis`."""
    a, b = together("cross", "numeric", x1, x2)
    place = axis_of(axis, a.ndim, "cross")
    for x, given in ((a, x1), (b, x2)):
        n = array_of(given, "cross").shape[axis] if array_of(given, "cross").ndim else 0
        if n != 3 or x.shape[place] != 3:
            raise fault("E3003", f"cross: extent {n} along axis {axis}, expected 3", dimension=axis, extents=(n, 3))
    from .manipulation import stack

    before: tuple[Any, ...] = (slice(None),) * place
    p, q = ([x[(*before, i)] for i in range(3)] for x in (a, b))
    parts = [e.subtract(e.multiply(p[i], q[j]), e.multiply(p[j], q[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return stack(parts, axis=place)


@row("linalg.vector_norm", module="linalg", category="floating", derivative=SMOOTH, domain=(0.5, 2.0))
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """Return the norms of vectors along the axes, all for None: the greatest for inf, the count for 0, else of order `ord`."""
    array = array_of(x, "vector_norm")
    calls_category("vector_norm", array.dtype)
    axes = axes_of(axis, array.ndim, "vector_norm")
    magnitude = abs_(array)
    if isinstance(ord, str):
        raise fault("E1110", f"vector_norm: ord is {ord!r}, expected a number", argument="ord", value=ord)
    if ord in (math.inf, -math.inf):
        return (max_ if ord > 0 else min_)(magnitude, axis=axes, keepdims=keepdims)
    if ord == 0:
        return reduced("sum", cast(truth(magnitude), magnitude.dtype), axes, keepdims)
    if ord == 1:
        return reduced("sum", magnitude, axes, keepdims)
    if ord == 2:
        return e.sqrt(reduced("sum", e.multiply(magnitude, magnitude), axes, keepdims))
    return power(reduced("sum", power(magnitude, float(ord)), axes, keepdims), 1.0 / float(ord))


@row("linalg.matrix_norm", module="linalg", category="floating", derivative=SMOOTH, call=LAPACK)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Return the norms of matrices: Frobenius, nuclear, the greatest (or least) sum of columns or rows, or singular value."""
    array = matrices(x, "matrix_norm", square=False)
    rank = array.ndim
    if ord == "fro":
        found = vector_norm(array, axis=(-2, -1), keepdims=True)
    elif ord in (1, -1, math.inf, -math.inf):
        columns = ord in (1, -1)
        sums = reduced("sum", abs_(array), (rank - 2 if columns else rank - 1,), True)
        found = reduced("max" if ord > 0 else "min", sums, (rank - 1 if columns else rank - 2,), True)
    elif ord in (2, -2, "nuc"):
        values = svdvals(array)
        kind = "sum" if ord == "nuc" else "max" if ord > 0 else "min"
        found = reduced(kind, values, (rank - 2,), False)
        found = reshaped(found, (*found.shape, 1, 1))
    else:
        known = ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf]
        raise fault("E1110", f"matrix_norm: ord is {ord!r}, expected one of {known}", argument="ord", value=str(ord))
    return found if keepdims else reshaped(found, found.shape[:-2])


@row(standard=False, module="linalg", category="floating", derivative=SMOOTH, domain=(0.5, 2.0))
def norm(x: Any, /, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """Return a norm as NumPy's `linalg.norm`: of vectors, or of matrices for two axes or a matrix with an order."""
    array = array_of(x, "norm")
    if isinstance(axis, tuple) and len(axis) == 2:
        found = matrix_norm(moveaxis(array, axis, (-2, -1)), ord="fro" if ord is None else ord)
        if not keepdims:
            return found
        places = axes_of(axis, array.ndim, "norm")
        return reshape(found, tuple([1 if a in places else n for a, n in enumerate(array.shape)]))
    if ord is not None and axis is None and array.ndim == 2:
        return matrix_norm(array, ord=ord, keepdims=keepdims)
    return vector_norm(array, ord=2 if ord is None else ord, axis=axis, keepdims=keepdims)


def _again(function: Any, *numpy: str) -> None:
    """Let a function of the main namespace be one of `linalg` too."""
    from dataclasses import replace

    from ..table import TABLE

    found = TABLE[function.__name__]
    register(replace(found, module="linalg", numpy=numpy, standard=True))


for _function in (matmul, matrix_transpose, outer, tensordot, vecdot):
    _again(_function)
