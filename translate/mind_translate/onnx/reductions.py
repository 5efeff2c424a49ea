"""Rows of reductions, softmax and running reductions. Axes are an attribute or, in newer opsets, an operand."""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.extents.dims import product_dims
from mind_dialect.ptir.types import F64, I1, SI64, UI8, Kind

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow, Values
from .emitter import static
from .model import OLDEST_OPSET
from .node import Node, axis_of

Pre = Callable[[OnnxConverter, SSAValue], SSAValue]


def _reduced_axes(to: OnnxConverter, node: Node, x: SSAValue) -> list[int] | None:
    """The axes to reduce; None for no reduction."""
    axes = node.axes(1, x)
    if axes:
        return axes
    return None if node.int("noop_with_empty_axes") else list(range(len(to.shape(x))))


def _reduction(kind: str, before: Pre | None = None, after: Pre | None = None) -> OnnxRow:
    def row(to: OnnxConverter, node: Node) -> SSAValue:
        x = node.x()
        axes, keep = _reduced_axes(to, node, x), bool(node.int("keepdims", 1))
        y = x if before is None else before(to, x)
        if to.dtype(y) is I1:
            y = to.cast(y, UI8)
        found = y if axes is None else to.reduced(kind, y, axes, keepdims=keep)
        found = found if after is None else after(to, found)
        return to.cast(found, I1) if to.is_truth(x) else found

    return row


def _mean(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    axes = _reduced_axes(to, node, x)
    return x if axes is None else to.mean(x, axes, keepdims=bool(node.int("keepdims", 1)))


def _square(to: OnnxConverter, x: SSAValue) -> SSAValue:
    return to.emit(ptir.MulOp, x, x)


def _absolute(to: OnnxConverter, x: SSAValue) -> SSAValue:
    return x if to.dtype(x).kind is Kind.UNSIGNED else to.emit(ptir.AbsOp, x)


def _root(to: OnnxConverter, x: SSAValue) -> SSAValue:
    """The root; of an integer its whole part, as ONNX Runtime and the package's evaluator have it."""
    if to.dtype(x).is_float:
        return to.emit(ptir.SqrtOp, x)
    return to.cast(to.emit(ptir.SqrtOp, to.cast(x, F64)), to.dtype(x))


def _log(to: OnnxConverter, x: SSAValue) -> SSAValue:
    return to.emit(ptir.LogOp, x) if to.dtype(x).is_float else _refuse_integers()


def _refuse_integers() -> SSAValue:
    raise Refused("a logarithm of integers, which ONNX leaves open and opset 28 dropped", "cast the operand to a float")


def _log_sum_exp(to: OnnxConverter, node: Node) -> SSAValue:
    """`m + log(sum(exp(x - m)))` with `m` the greatest, or 0 where that is infinite."""
    x = node.x()
    axes, keep = _reduced_axes(to, node, x), bool(node.int("keepdims", 1))
    if not to.dtype(x).is_float:
        return _refuse_integers()
    if axes is None:
        return to.emit(ptir.LogOp, to.emit(ptir.ExpOp, x))
    top = to.reduced("max", x, axes)
    finite = to.select(to.compare("less", to.emit(ptir.AbsOp, top), math.inf), top, to.like(0, top))
    finite = to.emit(ptir.StopGradientOp, finite)
    total = to.reduced("sum", to.emit(ptir.ExpOp, to.minus(x, finite)), axes)
    found = to.plus(to.emit(ptir.LogOp, total), finite)
    return found if keep else to.reshape(found, tuple(n for i, n in enumerate(to.shape(found)) if i not in axes))


def softmax(to: OnnxConverter, x: SSAValue, axis: int) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The shifted operand, its exponentials and their sum along an axis."""
    shifted = to.minus(x, to.reduced("max", x, [axis]))
    powers = to.emit(ptir.ExpOp, shifted)
    return shifted, powers, to.reduced("sum", powers, [axis])


def _along_axis(function: Callable[[OnnxConverter, SSAValue, int], SSAValue]) -> OnnxRow:
    """A function along an axis; before opset 13, along it and all that follow, as if they were one."""

    def row(to: OnnxConverter, node: Node) -> SSAValue:
        x, is_old = node.x(), node.schema.since_version < OLDEST_OPSET
        axis = node.axis("axis", 1 if is_old else -1, x)
        shape = to.shape(x)
        if not is_old or all(n == 1 for n in shape[axis + 1 :]):
            return function(to, x, axis)
        return to.reshape(function(to, to.reshape(x, (*shape[:axis], product_dims(shape[axis:]))), axis), shape)

    return row


def _softmax(to: OnnxConverter, x: SSAValue, axis: int) -> SSAValue:
    _, powers, total = softmax(to, x, axis)
    return to.over(powers, total)


def _log_softmax(to: OnnxConverter, x: SSAValue, axis: int) -> SSAValue:
    shifted, _, total = softmax(to, x, axis)
    return to.minus(shifted, to.emit(ptir.LogOp, total))


def _hardmax(to: OnnxConverter, x: SSAValue, axis: int) -> SSAValue:
    """1 at the first greatest along an axis, 0 elsewhere."""
    first = to.emit(ptir.ArgMaxOp, x, axis=axis, keepdims=True, output_dtype=SI64)
    places = to.emit(ptir.IotaOp, shape=to.shape(x), dtype=SI64, axis=axis)
    return to.cast(to.compared("equal", places, first), to.dtype(x))


def _arg(op_type: type[ptir.PtirOp]) -> OnnxRow:
    def row(to: OnnxConverter, node: Node) -> SSAValue:
        x = node.x()
        axis, keep = node.axis("axis", 0, x), bool(node.int("keepdims", 1))
        if not node.int("select_last_index"):
            return to.emit(op_type, x, axis=axis, keepdims=keep, output_dtype=SI64)
        (n,) = static((to.shape(x)[axis],), "the last of equals")
        found = to.emit(op_type, to.emit(ptir.ReverseOp, x, axes=(axis,)), axis=axis, keepdims=keep, output_dtype=SI64)
        return to.minus(to.like(n - 1, found), found)

    return row


def _running_axis(to: OnnxConverter, node: Node, x: SSAValue) -> int:
    found = node.integers(1) or [0]
    return axis_of(found[0], len(to.shape(x)))


def _cum_sum(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    flags = {"exclusive": bool(node.int("exclusive")), "reverse": bool(node.int("reverse"))}
    return to.emit(ptir.CumulativeSumOp, x, axis=_running_axis(to, node, x), **flags)


def _cum_prod(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    flags = {"exclusive": bool(node.int("exclusive")), "reverse": bool(node.int("reverse"))}
    return to.emit(ptir.CumulativeOp, x, kind="prod", axis=_running_axis(to, node, x), **flags)


def _top_k(to: OnnxConverter, node: Node) -> Values:
    x = node.x()
    axis = node.axis("axis", -1, x)
    k = (node.integers(1) or [0])[0]
    largest = bool(node.int("largest", 1))
    return to.add(ptir.TopKOp(x, k=k, axis=axis, largest=largest, indices_dtype=SI64)).results


REDUCTIONS: dict[str, OnnxRow | Refused] = {
    "ArgMax": _arg(ptir.ArgMaxOp),
    "ArgMin": _arg(ptir.ArgMinOp),
    "CumProd": _cum_prod,
    "CumSum": _cum_sum,
    "Hardmax": _along_axis(_hardmax),
    "LogSoftmax": _along_axis(_log_softmax),
    "ReduceL1": _reduction("sum", _absolute),
    "ReduceL2": _reduction("sum", _square, _root),
    "ReduceLogSum": _reduction("sum", None, _log),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": _reduction("max"),
    "ReduceMean": _mean,
    "ReduceMin": _reduction("min"),
    "ReduceProd": _reduction("prod"),
    "ReduceSum": _reduction("sum"),
    "ReduceSumSquare": _reduction("sum", _square),
    "Softmax": _along_axis(_softmax),
    "TopK": _top_k,
}
