"""
Masks what the tail of a padded dimension would change, so that one program of static sizes serves all sizes up to a bound.

    reduce %x axes = [0]   ->   select(iota < T_size, %x, -0.0), then the sum

The function takes the size of each name as an input in addition, rank 0 in si64. Called with arrays of any longer dimension,
whose elements beyond that size are anything, it gives results whose elements within it are those of the arrays without a tail.
Binding the names to upper bounds afterwards (`shape-infer{bind=...}`) leaves a static program. Sizes are at least 1. The
attribute `mind.extents` states that no more than the sizes is read of the results, so that kernels need not compute the rest.

Most ops leave a tail where it is. A reduction, a contraction or an index must not read it, so a mask replaces it by a value
that changes nothing. `ROWS` says so for each op; an op without a row is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, error
from mind_dialect.program import functions, input_names
from mind_dialect.ptir import (
    ArgMaxOp,
    ArgMinOp,
    BinaryOp,
    BroadcastToOp,
    CastOp,
    ClampOp,
    CompareOp,
    ConcatOp,
    CumulativeOp,
    CumulativeSumOp,
    DimensionSizeOp,
    DivOp,
    DotGeneralOp,
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    ExpOp,
    GatherOp,
    IotaOp,
    LayerNormOp,
    PadOp,
    PtirOp,
    ReduceOp,
    ReshapeOp,
    ReverseOp,
    SelectOp,
    SliceOp,
    SortOp,
    SubOp,
    TakeOp,
    TransposeOp,
    UnaryOp,
)
from mind_dialect.ptir.elementwise import DivisionOp
from mind_dialect.ptir.legal import WIDE_FLOATS
from mind_dialect.ptir.types import SI64, Kind, PtirDType, read_type, tensor_type
from mind_dialect.ptir_shapes import Dims
from mind_dialect.read_extents import ALL, state_read_extents

from ..dim_names import names_used
from ..ptir.building import axes_of_reduction, fill, row_of_kind, spec_of

Axes = Sequence[int]


class Refused(Exception):
    """Why an op cannot be masked."""


@dataclass
class Masks:
    """The inputs that are sizes, and what is known of tails."""

    sizes: dict[str, SSAValue]
    vanishing: dict[SSAValue, frozenset[int]] = field(default_factory=dict[SSAValue, frozenset[int]])
    """Axes along which the tail of a value is 0 in each row, but where the row is NaN as a whole: the parts of a softmax."""

    def tails(self, value: SSAValue) -> list[int]:
        """Return the axes of a value that have a tail."""
        return [i for i, n in enumerate(spec_of(value).shape) if n in self.sizes]

    def masked(self, op: Operation, value: SSAValue, axes: Axes, number: float) -> SSAValue:
        """Return `value` with `number` in the tails of some axes; its later uses take that too, as tails are anything."""
        spec = spec_of(value)
        for axis in axes:
            keep = self._within(op, spec.shape, axis)
            other = self._put(op, BroadcastToOp(fill(op, spec.dtype, (), number), result_shape=spec.shape))
            made = self._put(op, SelectOp(keep, value, other))
            made.name_hint = value.name_hint
            value = made
        return value

    def _within(self, op: Operation, shape: Dims, axis: int) -> SSAValue:
        """Return where an index along an axis is below the size."""
        size = self.sizes[str(shape[axis])]
        index = self._put(op, IotaOp(shape=shape, dtype=SI64, axis=axis))
        return self._put(op, CompareOp(index, self._put(op, BroadcastToOp(size, result_shape=shape)), kind="less"))

    def _put(self, op: Operation, made: PtirOp) -> SSAValue:
        block = op.parent
        assert isinstance(block, Block)
        for operand in made.operands:
            if isinstance(operand.owner, Operation) and operand.owner.parent is None:
                block.insert_op_before(operand.owner, op)
        made.location = op.location
        block.insert_op_before(made, op)
        return made.results[0]


Row = Callable[[Masks, Any], None]


def mask_padding(func: FuncOp, names: Sequence[str] | None = None) -> list[str]:
    """
    Mask the tails of named dimensions of a verified function of PTIR without calls, in place, and return the names.

    All names that it uses, by default. Raises E6003 with the op and the reason where an op cannot be masked; E7003 for a name
    that the function does not use.
    """
    known = names_used(func)
    chosen = known if names is None else list(names)
    for name in chosen:
        if name not in known:
            raise error("E7003", f"no dimension is named {name}, known: {known}", name=name, known=known)
    if not chosen:
        return []
    for name, type in zip(input_names(func), func.function_type.inputs, strict=True):
        for n in read_type(type).shape:
            if isinstance(n, str) and n not in chosen:
                message = f"sizes of {', '.join(chosen)} cannot be padded: a dimension of {name} is {n}"
                raise error("E6003", message, backend="mask-padding")
    masks = Masks(_size_inputs(func, chosen))
    for op in list(func.body.block.ops):
        try:
            _mask(masks, op)
        except Refused as e:
            message = f"sizes of {', '.join(chosen)} cannot be padded: {e}"
            raise _at(error("E6003", message, backend="mask-padding", operation=op), op) from None
    numbers = {name: size.index for name, size in masks.sizes.items() if isinstance(size, BlockArgument)}
    results = [read_type(type).shape for type in func.function_type.outputs]
    state_read_extents(func, [[numbers.get(str(n), ALL) for n in shape] for shape in results])
    return chosen


def _at(e: MindError, op: Operation) -> MindError:
    return e.at(op, op.place()) if isinstance(op, PtirOp) else e


def _size_inputs(func: FuncOp, names: Sequence[str]) -> dict[str, SSAValue]:
    """Add an input for the size of each name."""
    block, taken = func.body.block, set(input_names(func))
    type = tensor_type(SI64, ())
    found: dict[str, SSAValue] = {}
    for name in names:
        hint = f"{name}_size"
        while hint in taken:
            hint += "_"
        taken.add(hint)
        found[name] = block.insert_arg(type, len(block.args))
        found[name].name_hint = hint
    inputs = [*func.function_type.inputs.data, *[type] * len(names)]
    func.function_type = FunctionType.from_lists(inputs, func.function_type.outputs.data)
    if func.arg_attrs is not None:
        func.arg_attrs = ArrayAttr([*func.arg_attrs.data, *[DictionaryAttr({})] * len(names)])
    return found


def _mask(masks: Masks, op: Operation) -> None:
    if isinstance(op, ReturnOp):
        return
    values = [v for inner in walk(op) for v in (*inner.operands, *inner.results)]
    if not isinstance(op, PtirOp):
        raise Refused(f"{op.name} is not an op of PTIR")
    if not any(isinstance(n, str) for v in values for n in spec_of(v).shape):
        return
    for value in values:
        for n in spec_of(value).shape:
            if isinstance(n, str) and n not in masks.sizes:
                raise Refused(f"a dimension is {n}, expected one of the names or a number")
    if (row := row_of_kind(ROWS, type(op))) is None:
        raise Refused(f"{op.OPCODE} has no rule for tails")
    row(masks, op)


# Rules


def _stays(masks: Masks, op: PtirOp) -> None:
    """Leave an op that takes each element of a tail into the tail of its result."""


def _divides(masks: Masks, op: DivisionOp) -> None:
    if op.can_fail():
        _replace(op, 1, masks.masked(op, op.rhs, masks.tails(op.rhs), 1))
    elif isinstance(op, DivOp) and (axes := masks.vanishing.get(op.lhs)):
        _vanishes_over_sum(masks, op, axes)


def _vanishes_over_sum(masks: Masks, op: DivOp, axes: frozenset[int]) -> None:
    """Note that the parts of a softmax over their sum have tails that vanish: the sum is at least 1, or NaN as its row is."""
    total = op.rhs.owner
    inner = total.x.owner if isinstance(total, BroadcastToOp) else None
    if isinstance(inner, ReduceOp) and inner.x is op.lhs and inner.values()["kind"] == "sum" and inner.values()["keepdims"]:
        masks.vanishing[op.result] = axes & frozenset(axes_of_reduction(inner))


def _exponential(masks: Masks, op: ExpOp) -> None:
    """Note that `exp(x - max x)` vanishes where a mask put -inf into the tail of `x`."""
    found = op.x.owner
    if not isinstance(found, SubOp) or not isinstance(found.rhs.owner, BroadcastToOp):
        return
    most = found.rhs.owner.x.owner
    if isinstance(most, ReduceOp) and most.values()["kind"] == "max" and most.values()["keepdims"] and most.x is found.lhs:
        masks.vanishing[op.result] = frozenset(a for a in axes_of_reduction(most) if a in masks.tails(op.result))


def _reshapes(masks: Masks, op: ReshapeOp) -> None:
    """Demand that a reshape moves no element across an axis with a tail: between two such the counts are equal."""
    given, made = (_runs(masks, spec_of(v).shape) for v in (op.x, op.result))
    if given != made:
        raise Refused("reshape merges or splits a dimension with a tail")


def _runs(masks: Masks, shape: Dims) -> list[int | str]:
    found: list[int | str] = [1]
    for n in shape:
        if isinstance(n, int):
            last = found[-1]
            assert isinstance(last, int)
            found[-1] = last * n
        else:
            found += [n, 1]
    return found


def _slices(masks: Masks, op: SliceOp) -> None:
    values = op.values()
    for i, (n, start, size) in enumerate(zip(spec_of(op.x).shape, values["starts"], values["sizes"], strict=True)):
        first = start == 0 and (size == n or (isinstance(n, int) and size in masks.sizes))  # the tail is more of the operand
        if not first and not (isinstance(start, int) and isinstance(size, int)):
            raise Refused(f"slice takes elements {start} and on, {size} of them, along dimension {i}")


def _along_static(*properties: str) -> Row:
    """Return the rule of an op that moves or combines elements along some axes, none of which may have a tail."""

    def row(masks: Masks, op: PtirOp) -> None:
        for name in properties:
            given = op.values()[name]
            _demand_static(masks, op, [given] if isinstance(given, int) else given)

    return row


def _demand_static(masks: Masks, op: PtirOp, axes: Axes) -> None:
    rank = len(op.operand_spec(0).shape)
    if any(a % rank in masks.tails(op.operands[0]) for a in axes):
        raise Refused(f"{op.OPCODE} along a dimension with a tail")


def _pads(masks: Masks, op: PadOp) -> None:
    values = op.values()
    edges = [values[name] for name in ("low", "high", "interior")]
    _demand_static(masks, op, [i for i, edge in enumerate(zip(*edges, strict=True)) if any(n != 0 for n in edge)])


def _accumulates(masks: Masks, op: CumulativeSumOp | CumulativeOp) -> None:
    if op.values()["reverse"]:
        _demand_static(masks, op, [op.values()["axis"]])


def _reduces(masks: Masks, op: ReduceOp) -> None:
    tails = [a for a in axes_of_reduction(op) if a in masks.tails(op.x)]
    kind, dtype = op.values()["kind"], spec_of(op.x).dtype
    if kind == "sum":
        tails = [a for a in tails if a not in masks.vanishing.get(op.x, ())]
    if tails:
        _replace_later(op, op.x, masks.masked(op, op.x, tails, neutral(kind, dtype)))


def _finds(masks: Masks, op: ArgMaxOp | ArgMinOp) -> None:
    kind = "max" if isinstance(op, ArgMaxOp) else "min"
    axis = op.values()["axis"] % len(spec_of(op.x).shape)
    if axis in masks.tails(op.x):
        _replace(op, 0, masks.masked(op, op.x, [axis], neutral(kind, spec_of(op.x).dtype)))


def _multiplies(masks: Masks, op: DotGeneralOp) -> None:
    """Mask both operands along contracted axes, as the product of 0 and a tail may be NaN."""
    values = op.values()
    for i, name in enumerate(("contract_lhs", "contract_rhs")):
        value = op.operands[i]
        rank = len(spec_of(value).shape)
        axes = [a % rank for a in values[name] if a % rank in masks.tails(value)]
        axes = [a for a in axes if a not in masks.vanishing.get(value, ())]
        if axes:
            _replace(op, i, masks.masked(op, value, axes, 0))


def _looks_up(masks: Masks, op: TakeOp | GatherOp) -> None:
    """Let the indices of tails be 0, which a dimension of a known size has."""
    axis = op.values()["axis"] % len(spec_of(op.x).shape) if isinstance(op, GatherOp) else 0
    n = spec_of(op.x).shape[axis]
    if not isinstance(n, int) or n == 0:
        raise Refused(f"{op.OPCODE} along a dimension with a tail, or of no elements")
    _replace(op, 1, masks.masked(op, op.indices, masks.tails(op.indices), 0))


def _windows(masks: Masks, op: DynamicSliceOp | DynamicUpdateSliceOp) -> None:
    """Demand that a window takes dimensions with a tail as a whole, and others by numbers."""
    for n, size in zip(spec_of(op.x).shape, op.values()["sizes"], strict=True):
        if n != size and not (isinstance(n, int) and isinstance(size, int)):
            raise Refused(f"{op.OPCODE} takes {size} of {n} elements")


def _measures(masks: Masks, op: DimensionSizeOp) -> None:
    axis: int = op.values()["axis"]
    dim = spec_of(op.x).shape[axis]
    if isinstance(dim, str):
        op.result.replace_all_uses_with(masks.sizes[dim])


def _replace(op: Operation, i: int, value: SSAValue) -> None:
    operands = list(op.operands)
    operands[i] = value
    op.operands = operands


def _replace_later(op: Operation, old: SSAValue, new: SSAValue) -> None:
    """Let an op, and those after it, take a masked value."""
    block = op.parent
    assert isinstance(block, Block)
    later = {op}
    following = op.next_op
    while following is not None:
        later.add(following)
        following = following.next_op
    for use in [use for use in old.uses if use.operation in later and not isinstance(use.operation, ReturnOp)]:
        _replace(use.operation, use.index, new)


def neutral(kind: str, dtype: PtirDType) -> float:
    """Return the number that changes no reduction of a kind."""
    if kind in ("max", "min"):
        sign = -1 if kind == "max" else 1
        if dtype in WIDE_FLOATS:
            return sign * float("inf")
        if dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
            least = -(1 << (dtype.bits - 1)) if dtype.kind is Kind.SIGNED else 0
            return least if kind == "max" else least + (1 << dtype.bits) - 1
        raise Refused(f"the least and the greatest {dtype} are not known")
    if kind == "sum":
        return -0.0 if dtype.kind in (Kind.FLOAT, Kind.COMPLEX) else 0
    if kind == "and":
        return 1 if dtype.kind is Kind.BOOL else -1 if dtype.kind is Kind.SIGNED else (1 << dtype.bits) - 1
    return {"prod": 1, "or": 0, "xor": 0}[kind]


ROWS: dict[type[PtirOp], Row] = {
    UnaryOp: _stays,
    CastOp: _stays,
    BinaryOp: _stays,
    CompareOp: _stays,
    SelectOp: _stays,
    ClampOp: _stays,
    DivisionOp: _divides,
    ExpOp: _exponential,
    BroadcastToOp: _stays,
    TransposeOp: _stays,
    IotaOp: _stays,
    ReshapeOp: _reshapes,
    SliceOp: _slices,
    ConcatOp: _along_static("axis"),
    PadOp: _pads,
    ReverseOp: _along_static("axes"),
    SortOp: _along_static("axis"),
    LayerNormOp: _along_static("feature_axis"),
    CumulativeSumOp: _accumulates,
    CumulativeOp: _accumulates,
    ReduceOp: _reduces,
    ArgMaxOp: _finds,
    ArgMinOp: _finds,
    DotGeneralOp: _multiplies,
    TakeOp: _looks_up,
    GatherOp: _looks_up,
    DynamicSliceOp: _windows,
    DynamicUpdateSliceOp: _windows,
    DimensionSizeOp: _measures,
}
"""What becomes of tails, by class of op, or by a class that it is of; of other ops it is not known."""


@dataclass(frozen=True)
class MaskPaddingPass(ModulePass):
    """Mask the tails of named dimensions (`names=`, or all), whose sizes become inputs."""

    name = "mind-mask-padding"
    names: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for func in functions(op):
            mask_padding(func, self.names or None)
