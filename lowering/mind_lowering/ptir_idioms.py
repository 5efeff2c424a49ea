"""
PTIR blocks as steps: which function runs each op, on which values; several ops are one call where an array library has it.

Array functions broadcast by themselves, so their operands are taken as they are before a `broadcast_to`, and a constant of one
number is a scalar to them. A selection by the sign of what is selected from is a kernel. Results are the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import F32, F64, Kind, TensorSpec, read_type

from .ptir_kernels.table import WITHOUT_KERNEL, accumulates_plainly, kernel_call

_ABSORBED = (ptir.BroadcastToOp, ptir.ConstantOp, ptir.CompareOp)
"""Ops that need not run once nothing uses them any more."""

Shape = tuple[int, ...]


@dataclass(frozen=True)
class IdiomStep:
    """One op, and unless it has regions what to call for it on which values."""

    op: PtirOp
    operands: Sequence[SSAValue]
    callee: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


def steps(ops: Sequence[Operation], ending: Sequence[SSAValue]) -> list[IdiomStep]:
    """The steps of the ops of a block, given the values that its last op uses."""
    made: list[IdiomStep] = []
    for op in ops:
        if isinstance(op, PtirOp):
            made += _steps(op)
    needed: set[SSAValue] = set(ending)
    kept: list[IdiomStep] = []
    for step in reversed(made):
        if isinstance(step.op, _ABSORBED) and (result := step.op.results[0]) not in needed:
            if result.first_use is not None or step.op.parent is None:  # a scalar made here is in no block
                continue
        needed.update(step.operands)
        kept.append(step)
    kept.reverse()
    return kept


def _steps(op: PtirOp) -> list[IdiomStep]:
    """The step of an op, after those of scalars that it takes instead of full constants."""
    if type(op) in WITHOUT_KERNEL:
        return [IdiomStep(op, op.operands)]
    if (found := _positive(op)) is not None:
        return [found]
    if (product := _product(op)) is not None:
        return product
    call = kernel_call(op)
    callee, arguments = call.callee, call.arguments
    is_array_function = callee.startswith("xp.") and not callee.endswith(".reduce")  # a reduction needs every element
    broadcasts = is_array_function or callee == "k.power"
    if not broadcasts or not all(_static(v) for v in op.operands):
        return [IdiomStep(op, op.operands, callee, arguments)]
    scalars: list[IdiomStep] = []
    thin = [_thin(v, scalars) for v in op.operands]
    if not _covers(thin, read_type(op.results[0].type)):
        thin, scalars = list(op.operands), []
        thin[1:] = [_thin(v, scalars) for v in thin[1:]]
    return [*scalars, IdiomStep(op, thin, callee, arguments)]


def _static(value: SSAValue) -> bool:
    return read_type(value.type).is_static


def _shape(value: SSAValue) -> Shape:
    return tuple([n for n in read_type(value.type).shape if isinstance(n, int)])


def _thin(value: SSAValue, scalars: list[IdiomStep]) -> SSAValue:
    """Return the value that `value` repeats; a constant of one number is made again, as a scalar."""
    while isinstance(op := value.owner, ptir.BroadcastToOp) and _static(op.operands[0]):
        value = op.operands[0]
    if isinstance(op, ptir.ConstantOp) and op.literal.is_fill:
        dtype, _ = op.literal.spec
        scalar = ptir.ConstantOp(PtirLiteralAttr.from_bytes(dtype, (), op.literal.data.data))
        scalar.location = op.location
        scalars.append(IdiomStep(scalar, (), "k.constant", {"value": scalar.literal}))
        return scalar.results[0]
    return value


def _covers(values: Sequence[SSAValue], result: TensorSpec) -> bool:
    """Return whether the values, broadcast against each other, have the result's shape, its rank included."""
    return _broadcasts_to([_shape(v) for v in values], tuple(n for n in result.shape if isinstance(n, int)))


def _broadcasts_to(shapes: Sequence[Shape], result: Shape) -> bool:
    """Return whether shapes that each broadcast to `result` give just that together."""
    rank = len(result)
    aligned = [(1,) * (rank - len(s)) + s for s in shapes]
    return max(map(len, shapes)) == rank and all(any(s[d] == n for s in aligned) for d, n in enumerate(result) if n != 1)


def _thin_matrices(op: PtirOp) -> Sequence[SSAValue]:
    """The operands of a stacked product before leading dimensions were broadcast, where the result has them all the same."""
    thin: list[SSAValue] = []
    if not all(_static(v) for v in op.operands):
        return op.operands
    for value in op.operands:
        source = value.owner.operands[0] if isinstance(value.owner, ptir.BroadcastToOp) else value
        kept = _static(source) and len(_shape(source)) >= 2 and _shape(source)[-2:] == _shape(value)[-2:]
        thin.append(source if kept else value)
    if _broadcasts_to([_shape(v)[:-2] for v in thin], _shape(op.results[0])[:-2]):
        return thin
    return [op.operands[0], thin[1]]


def _positive(op: PtirOp) -> IdiomStep | None:
    """select(x > 0, values, 0) -> keep_positive(values, x)."""
    if not isinstance(op, ptir.SelectOp):
        return None
    compare = op.pred.owner
    if not isinstance(compare, ptir.CompareOp) or compare.values()["kind"] != "greater":
        return None
    if not _zero(compare.rhs) or not _zero(op.on_false):
        return None
    if read_type(op.on_true.type) != read_type(compare.lhs.type):
        return None
    return IdiomStep(op, (op.on_true, compare.lhs), "k.keep_positive")


def _zero(value: SSAValue) -> bool:
    """Return whether every element is +0 of f32 or f64."""
    constant = value.owner
    if not isinstance(constant, ptir.ConstantOp):
        return False
    dtype, _ = constant.literal.spec
    return dtype in (F32, F64) and not any(constant.literal.data.data)


def _product(op: PtirOp) -> list[IdiomStep] | None:
    """
    A product of vectors and matrices, or of stacks of matrices with leading batch axes, is the array library's own.

    It contracts the last axis of lhs with the last but one of rhs; a matrix that lies the other way is transposed before, which
    costs nothing: the library multiplies matrices in either order.
    """
    if not isinstance(op, ptir.DotGeneralOp):
        return None
    values = op.values()
    if not accumulates_plainly(op, values) or op.operand_spec(0).dtype.kind not in (Kind.FLOAT, Kind.COMPLEX):
        return None
    ranks = {side: len(op.operand_spec(i).shape) for i, side in enumerate(("lhs", "rhs"))}
    n = len(values["batch_lhs"])
    batch, contracted = ([_positive_axes(values[f"{role}_{s}"], r) for s, r in ranks.items()] for role in ("batch", "contract"))
    if any(axes != list(range(n)) for axes in batch) or len(contracted[0]) != 1:
        return None
    left, right = ranks.values()
    straight = contracted == [[left - 1], [max(0, right - 2)]]
    if straight and ((n == 0 and {left, right} <= {1, 2}) or left == right == n + 2):
        return [IdiomStep(op, _thin_matrices(op), "xp.matmul")]
    if not left == right == n + 2:
        return None
    turned: list[IdiomStep] = []
    operands = list(op.operands)
    for i, (axes, wanted) in enumerate(zip(contracted, (n + 1, n), strict=True)):
        if axes != [wanted]:
            view = ptir.TransposeOp(operands[i], perm=(*range(n), n + 1, n))
            view.location = op.location
            turned.append(IdiomStep(view, [operands[i]], "k.transpose", view.values()))
            operands[i] = view.result
    return [*turned, IdiomStep(op, operands, "xp.matmul")]


def _positive_axes(axes: Sequence[int], rank: int) -> list[int]:
    return [a % rank for a in axes]
