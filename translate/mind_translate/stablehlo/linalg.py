"""
Rows of linear algebra: `cholesky` and `triangular_solve`, and the calls of LAPACK that JAX makes of them on a CPU.

Each becomes a custom call of `mind.linalg`, whose kernels and derivatives `mind_array` has. Transposes, conjugates, diagonals of
ones and the side of a system are ops around it, so that the calls need no rules for them.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir.types import SI32, TensorSpec
from mind_dialect.ptir_shapes import Dims

from ..linear_algebra import call, mirrored, transposed, triangular_solution
from ..unsupported import Refused
from .converter import StablehloConverter, StablehloRow, Values
from .foreign import ForeignOp


def square(to: StablehloConverter, x: SSAValue) -> Dims:
    """The dimensions of square matrices; E3002 and E3003 for what is none."""
    shape = to.shape(x)
    if len(shape) < 2:
        raise error("E3002", f"a matrix of shape {list(shape)}, expected rank 2 or more", expected="2 or more", actual=len(shape))
    if isinstance(shape[-1], int) and isinstance(shape[-2], int) and shape[-1] != shape[-2]:
        message = f"matrices of {shape[-2]} by {shape[-1]}, expected square ones"
        raise error("E3003", message, dimension="rows and columns", extents=shape[-2:])
    return shape


def _cholesky(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return factor(to, op.operands[0], lower=op.flag("lower"))


def factor(to: StablehloConverter, x: SSAValue, *, lower: bool) -> SSAValue:
    """The Cholesky factor of matrices of which one triangle is read; NaN for ones that have none."""
    square(to, x)
    (found,) = call(to, "cholesky", [mirrored(to, x, lower=lower)], [to.spec(x)], failure="nan")
    return found if lower else transposed(to, found, conjugate=True)


def _triangular_solve(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    turned = op.word("transpose_a", ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"), "NO_TRANSPOSE")
    a, b = op.operands
    return solution(to, a, b, left=op.flag("left_side"), lower=op.flag("lower"), unit=op.flag("unit_diagonal"), turned=turned)


def solution(to: StablehloConverter, a: SSAValue, b: SSAValue, *, left: bool, lower: bool, unit: bool, turned: str) -> SSAValue:
    """The solution of `op(a) x = b`, or of `x op(a) = b`, for triangular `a`."""
    shapes = [square(to, a), to.shape(b)]
    if len(shapes[0]) != len(shapes[1]):
        message = f"a triangular system of shapes {list(shapes[0])} and {list(shapes[1])}, expected the same rank"
        raise error("E3002", message, expected=len(shapes[0]), actual=len(shapes[1]))
    side = -2 if left else -1
    meeting = [[*shape[:-2], shape[i]] for shape, i in zip(shapes, (-1, side), strict=True)]
    to.sizes.same_shapes(meeting)
    if any(isinstance(m, int) and isinstance(n, int) and m != n for m, n in zip(*meeting, strict=True)):
        message = f"a triangular system of shapes {list(shapes[0])} and {list(shapes[1])}, expected equal batches and extents"
        raise error("E3003", message, dimension="batch and rows", extents=tuple(map(tuple, meeting)))
    return triangular_solution(to, a, b, left=left, lower=lower, unit=unit, turned=turned)


def _letter(op: ForeignOp, name: str) -> str:
    """A character of LAPACK's, such as `uplo`; E8002 if it is absent."""
    for place in ("mhlo.backend_config", "backend_config"):
        config = op.attributes.get(place)
        if isinstance(config, DictionaryAttr) and isinstance(found := config.data.get(name), IntegerAttr):
            return chr(found.value.data) if 0 < found.value.data < 128 else "?"
    raise op.wrong("mhlo.backend_config", f"{name}, a character of LAPACK's")


def _info(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    """The last result of LAPACK's functions, 0: failures are NaN already."""
    return to.fill(0, SI32, op.results[-1].shape)


def _potrf(to: StablehloConverter, op: ForeignOp) -> Values:
    return [factor(to, op.operands[0], lower=_letter(op, "uplo") == "L"), _info(to, op)]


_TURNED = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}


def _trsm(to: StablehloConverter, op: ForeignOp) -> Values:
    flags = {"left": _letter(op, "side") == "L", "lower": _letter(op, "uplo") == "L", "unit": _letter(op, "diag") == "U"}
    if (turned := _TURNED.get(_letter(op, "trans_x"))) is None:
        raise op.wrong("mhlo.backend_config", "trans_x N, T or C")
    return [solution(to, op.operands[0], op.operands[1], turned=turned, **flags)]


def _getrf(to: StablehloConverter, op: ForeignOp) -> Values:
    packed, pivots = op.results[:2]
    *batch, rows, _ = packed.shape
    found = call(to, "lu", op.operands, [packed, TensorSpec(SI32, pivots.shape), TensorSpec(SI32, (*batch, rows))])
    return [found[0], to.emit(ptir.AddOp, found[1], to.like(1, found[1])), _info(to, op)]


def _geqrf(to: StablehloConverter, op: ForeignOp) -> Values:
    """R and the reflectors that Q is made of; Q is a third result, for `_orgqr`."""
    packed, scales = op.results
    *batch, rows, columns = packed.shape
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise Refused("a QR decomposition of matrices whose sizes are not known", "give the last two dimensions sizes")
    q = TensorSpec(packed.dtype, (*batch, rows, min(rows, columns)))
    return call(to, "geqrf", op.operands, [packed, scales, q])[:2]


def _orgqr(to: StablehloConverter, op: ForeignOp) -> Values:
    """
    Q of reflectors as `_geqrf` gave them, which the program brought to the shape of Q.

    Of wide matrices it takes the first columns, of all of Q for tall ones it adds columns, whose values do not count.
    """
    reflectors, scales = op.operands
    source = _without_last_columns(reflectors)
    made = source.owner
    if isinstance(made, ptir.CustomCallOp) and made.results[0] is source and scales.owner is made and len(made.results) == 3:
        q, shape = made.results[2], to.shape(reflectors)
        if to.shape(q) == op.shape == shape:
            return [q]
        if op.shape == shape == (*to.shape(source)[:-1], to.shape(source)[-2]):
            return call(to, "qr", made.operands, [op.results[0], to.spec(source)], mode="complete")[:1]
    raise Refused("Q of reflectors that are not the result of geqrf", "pass the result of geqrf unchanged, as jnp.linalg.qr does")


def _without_last_columns(x: SSAValue) -> SSAValue:
    """Return the matrices of which these are the first columns, or which these are with columns behind them; else themselves."""
    op = x.owner
    if isinstance(op, ptir.SliceOp) and not any(op.values()["starts"]):
        return op.x
    if isinstance(op, ptir.PadOp):
        values = op.values()
        if not any((*values["low"], *values["interior"], *values["high"][:-1])):
            return op.x
    return x


def _eigh(to: StablehloConverter, op: ForeignOp) -> Values:
    if _letter(op, "mode") != "V":
        raise Refused("eigenvalues without eigenvectors", "use both, and drop the vectors")
    x = mirrored(to, op.operands[0], lower=_letter(op, "uplo") == "L")
    values, vectors = call(to, "eigh", [x], [op.results[1], op.results[0]], failure="nan")
    return [vectors, values, _info(to, op)]


def _gesdd(to: StablehloConverter, op: ForeignOp) -> Values:
    (x,), (_, s, u, vt, _) = op.operands, op.results
    mode = _letter(op, "mode")
    if mode == "N":
        (values,) = call(to, "svdvals", [x], [s], failure="nan")
        return [x, values, *(to.fill(0, spec.dtype, spec.shape) for spec in (u, vt)), _info(to, op)]
    left, values, right = call(to, "svd", [x], [u, s, vt], full_matrices=mode == "A", failure="nan")
    return [x, values, left, right, _info(to, op)]


_LAPACK: dict[str, Callable[[StablehloConverter, ForeignOp], Values]] = {
    "potrf": _potrf,
    "trsm": _trsm,
    "getrf": _getrf,
    "geqrf": _geqrf,
    **dict.fromkeys(("orgqr", "ungqr"), _orgqr),
    "syevd": _eigh,
    "heevd": _eigh,
    "gesdd": _gesdd,
}
"""By the names of LAPACK without the letter of the dtype."""
LAPACK = {
    f"{library}_{letter}{name}_ffi": row for name, row in _LAPACK.items() for letter in "sdcz" for library in ("lapack", "blas")
}
LINALG: dict[str, StablehloRow | Refused] = {"stablehlo.cholesky": _cholesky, "stablehlo.triangular_solve": _triangular_solve}
