"""
Custom calls of `mind.linalg` for importers, and the small ops around them: transposes, triangles, and the side of a system.

`mind_array` has the kernels and derivatives of the calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F32, SI32, Kind, PtirDType, TensorSpec, tensor_type

from .landing import Lander
from .unsupported import Refused

_DTYPES = ("f32", "f64", "cf32", "cf64")
_WIDENED = ("f16", "bf16")


def call(
    to: Lander, name: str, operands: Sequence[SSAValue], results: Sequence[TensorSpec], **attributes: Any
) -> Sequence[SSAValue]:
    """The results of `mind.linalg.NAME.v1`, of these types; f16 and bf16 are computed in f32."""
    if (dtype := to.dtype(operands[0])).name in _WIDENED:
        wide = [TensorSpec(F32, shape) if given is dtype else TensorSpec(given, shape) for given, shape in results]
        found = call(to, name, [to.cast(x, F32) for x in operands], wide, **attributes)
        return [to.cast(x, given) for x, (given, _) in zip(found, results, strict=True)]
    if dtype.name not in _DTYPES:
        raise Refused(f"linear algebra of {dtype.name}", "convert the operands to f32, and the result back")
    types = [tensor_type(*spec) for spec in results]
    made = to.add(ptir.CustomCallOp(*operands, target=f"mind.linalg.{name}.v1", attrs=attributes, result_types=types))
    return made.results


def transposed(to: Lander, x: SSAValue, *, conjugate: bool = False) -> SSAValue:
    """Matrices with rows and columns exchanged; with `conjugate` the adjoint."""
    rank = len(to.shape(x))
    x = to.transpose(x, [*range(rank - 2), rank - 1, rank - 2])
    return to.emit(ptir.ConjOp, x) if conjugate and to.dtype(x).kind is Kind.COMPLEX else x


def mirrored(to: Lander, x: SSAValue, *, lower: bool) -> SSAValue:
    """
    The Hermitian matrices of which one triangle is read.

    What a call computes of whole matrices then has the derivative of what is computed of the triangle.
    """
    kept = to.emit(ptir.CompareOp, *row_and_column(to, x), kind="greater_equal" if lower else "less_equal")
    return to.select(kept, x, transposed(to, x, conjugate=True))


def row_and_column(to: Lander, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The indices of each element in its matrix."""
    shape, last = to.shape(x), len(to.shape(x)) - 1
    row, column = (to.emit(ptir.IotaOp, shape=shape, dtype=SI32, axis=axis) for axis in (last - 1, last))
    return row, column


def permutation_matrix(to: Lander, order: SSAValue, dtype: PtirDType) -> SSAValue:
    """P with `P x` in the order of the rows of L and U: column i of P has its one in row `order[i]`."""
    *batch, rows = to.shape(order)
    square = (*batch, rows, rows)
    number = to.emit(ptir.IotaOp, shape=square, dtype=SI32, axis=len(batch))
    source = to.broadcast(to.reshape(order, (*batch, 1, rows)), square)
    return to.cast(to.emit(ptir.CompareOp, number, source, kind="equal"), dtype)


def triangular_solution(
    to: Lander, a: SSAValue, b: SSAValue, *, left: bool, lower: bool, unit: bool = False, turned: str = "NO_TRANSPOSE"
) -> SSAValue:
    """The solution of `op(a) x = b`, or of `x op(a) = b`, for triangular `a`; `turned` is op by its name in StableHLO."""
    if unit:
        a = to.select(to.emit(ptir.CompareOp, *row_and_column(to, a), kind="equal"), to.like(1, a), a)
    if turned != "NO_TRANSPOSE":
        a, lower = transposed(to, a, conjugate=turned == "ADJOINT"), not lower
    if not left:
        a, b, lower = transposed(to, a), transposed(to, b), not lower
    (found,) = call(to, "solve_lower" if lower else "solve_upper", [a, b], [to.spec(b)])
    return found if left else transposed(to, found)
