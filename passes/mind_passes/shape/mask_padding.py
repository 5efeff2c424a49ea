"""
Masks what the tail of a padded dimension would change, so that one program of static sizes serves all sizes up to a bound.

    reduce %x axes = [0]   ->   select(iota < T_size, %x, -0.0), then the sum

The function takes the size of each name as an input in addition, rank 0 in si64. Called with arrays of any longer dimension,
whose elements beyond that size are anything, it gives results whose elements within it are those of the arrays without a tail.
Binding the names to upper bounds afterwards (`shape-infer{bind=...}`) leaves a static program. Sizes are at least 1. The
attribute `mind.extents` states that no more than the sizes is read of the results, so that kernels need not compute the rest.

Most ops leave a tail where it is. A reduction, a contraction or an index must not read it, so a mask replaces it by a value
that changes nothing. `ROWS` of `tail_rules.py` says so for each op, `WITHOUT_ROW` why an op is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, error
from mind_dialect.program import functions, input_names
from mind_dialect.ptir import PtirOp, YieldOp
from mind_dialect.ptir.control import RegionOp
from mind_dialect.ptir.types import SI64, read_type, tensor_type
from mind_dialect.read_extents import ALL, state_read_extents

from ..dim_names import names_used
from ..ptir.building import row_of_kind, spec_of
from .tail_masks import Masks
from .tail_regions import masks_regions
from .tail_rules import ROWS, WITHOUT_ROW
from .tail_sizes import Refused, Sizes


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
    inputs = _size_inputs(func, chosen)
    masks = Masks(Sizes(inputs))
    try:
        for name, type in zip(input_names(func), func.function_type.inputs, strict=True):
            for n in read_type(type).shape:
                masks.sizes.demand_growing(n, f"a dimension of {name}")
    except Refused as e:
        raise _refusal(masks, e, None) from None
    _mask_block(masks, func.body.block)
    numbers = {name: size.index for name, size in inputs.items() if isinstance(size, BlockArgument)}
    results = [read_type(type).shape for type in func.function_type.outputs]
    state_read_extents(func, [[numbers.get(str(n), ALL) for n in shape] for shape in results])
    return chosen


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


def _mask_block(masks: Masks, block: Block) -> None:
    for op in list(block.ops):
        try:
            _mask(masks, op)
        except Refused as e:
            raise _refusal(masks, e, op) from None


def _refusal(masks: Masks, reason: Refused, op: Operation | None) -> MindError:
    message = f"sizes of {', '.join(masks.sizes.inputs)} cannot be padded: {reason}"
    refused = error("E6003", message, backend="mask-padding", operation=op)
    return refused.at(op, op.place()) if isinstance(op, PtirOp) else refused


def _mask(masks: Masks, op: Operation) -> None:
    if isinstance(op, (ReturnOp, YieldOp)):
        return
    masks.rewire(op)
    values = [v for inner in walk(op) for v in (*inner.operands, *inner.results)]
    if not isinstance(op, PtirOp):
        raise Refused(f"{op.name} is not an op of PTIR")
    if not any(isinstance(n, str) for v in values for n in spec_of(v).shape):
        return
    for value in values:
        for n in spec_of(value).shape:
            masks.sizes.demand_growing(n)
    if isinstance(op, RegionOp):
        masks_regions(masks, op, _mask_block)
    elif (row := row_of_kind(ROWS, type(op))) is None:
        raise Refused(f"{op.OPCODE} {WITHOUT_ROW[type(op)]}")
    else:
        row(masks, op)


@dataclass(frozen=True)
class MaskPaddingPass(ModulePass):
    """Mask the tails of named dimensions (`names=`, or all), whose sizes become inputs."""

    name = "mind-mask-padding"
    names: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for func in functions(op):
            mask_padding(func, self.names or None)
