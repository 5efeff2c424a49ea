"""
`outline-shape-computation`: how a value's shape is computed, moved out of a function into shape functions.

    %v = shape.with_shape %y, %s           %y
    %z = shape.value_of %v                 shape.func private @shape_cal_0(...) -> !shape.shape, which gives %s

The shapes of ranked tensors are outlined; `with_shape` of another value is only removed where its value is taken out again. A
shape function holds the pure ops that serve shapes of `with_shape` only; what else they need is its arguments. The attribute
`mind.shape_functions` of the function lists what belongs to what: [@shape_cal_0, number of %y, numbers of the arguments], where
the arguments of the function and the results of its ops are numbered as they stand in the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, ModuleOp, StringAttr, SymbolRefAttr, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure

from mind_dialect import register
from mind_dialect.dominance import values_of, walk
from mind_dialect.shape import FuncOp as ShapeFuncOp
from mind_dialect.shape import ReturnOp, ValueOfOp, WithShapeOp
from mind_dialect.shape.evaluate import shape_of_type
from mind_dialect.shape.lattice import Invalid, join
from mind_dialect.shape.types import ValueShapeType

FUNCTIONS_ATTRIBUTE = "mind.shape_functions"


@dataclass(frozen=True)
class Outlined:
    """A shape function, the values whose shape it gives, and the values that it takes."""

    function: ShapeFuncOp
    values: list[SSAValue]
    inputs: list[SSAValue]


def outline(module: ModuleOp) -> None:
    """Outline the shapes of every function of a verified module, in place."""
    names = {str(cast(StringAttr, n).data) for op in walk(module) if (n := op.get_attr_or_prop("sym_name")) is not None}
    for function in [op for op in walk(module) if isinstance(op, FuncOp)]:
        found = _outline(function, names)
        block = cast(Block, function.parent)
        last: Operation = function
        for made in found:
            block.insert_op_after(made.function, last)
            last = made.function
        if found:
            function.attributes[FUNCTIONS_ATTRIBUTE] = _listed(function, found)


def _outline(function: FuncOp, names: set[str]) -> list[Outlined]:
    ops = [op for op in walk(function) if op is not function]
    cone = _cone(ops)
    pairs: dict[SSAValue, list[WithShapeOp]] = {}
    for op in ops:
        if isinstance(op, WithShapeOp) and isinstance(op.operand.type, TensorType):
            pairs.setdefault(op.shape, []).append(op)
    found: list[Outlined] = []
    for value, users in pairs.items():
        name = _free(f"shape_cal_{len(found)}", names)
        made, inputs = _function(name, value, cone)
        found.append(Outlined(made, list(dict.fromkeys(_behind(user.operand) for user in users)), inputs))
    for op in ops:
        if isinstance(op, WithShapeOp):
            _unwrap(op)
    for op in reversed(ops):
        if op in cone and all(r.first_use is None for r in op.results):
            op.detach()
            op.erase()
    return found


def _behind(value: SSAValue) -> SSAValue:
    """The value itself that a chain of `with_shape` and `value_of` is about."""
    while isinstance(value.owner, ValueOfOp | WithShapeOp):
        value = value.owner.operands[0]
    return value


def _cone(ops: Sequence[Operation]) -> dict[Operation, int]:
    """The ops that only serve shapes of `with_shape`, and their places in the text."""
    found: dict[Operation, int] = {}
    for place in range(len(ops) - 1, -1, -1):
        op = ops[place]
        if isinstance(op, WithShapeOp | ValueOfOp) or op.regions or not op.has_trait(Pure, value_if_unregistered=False):
            continue
        uses = [use for result in op.results for use in result.uses]
        if uses and all(u.operation in found or (isinstance(u.operation, WithShapeOp) and u.index == 1) for u in uses):
            found[op] = place
    return found


def _function(name: str, value: SSAValue, cone: dict[Operation, int]) -> tuple[ShapeFuncOp, list[SSAValue]]:
    """The function that computes `value`, and its inputs."""
    members: set[Operation] = set()
    stack = [value]
    while stack:
        owner = stack.pop().owner
        if isinstance(owner, Operation) and owner in cone and owner not in members:
            members.add(owner)
            stack += owner.operands
    ordered = sorted(members, key=cone.__getitem__)
    needed = [v for op in ordered for v in op.operands] or [value]
    inputs = [v for v in dict.fromkeys(needed) if v.owner not in members]
    made = ShapeFuncOp.of(name, [v.type for v in inputs], [value.type])
    made.properties["sym_visibility"] = StringAttr("private")
    block = made.body.block
    known: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for old, new in known.items():
        new.name_hint = old.name_hint
    for op in ordered:
        copy = op.clone(known)
        copy.location = op.location
        block.add_op(copy)
    block.add_op(ReturnOp.create(operands=[known[value]]))
    return made, inputs


def _unwrap(op: WithShapeOp) -> None:
    """The value itself wherever it was taken out again."""
    for use in list(op.result.uses):
        user = use.operation
        if not isinstance(user, ValueOfOp):
            continue
        if isinstance(op.operand.type, ValueShapeType):
            user.operands = [op.operand]
        elif (value := _as(op.operand, user)) is not None:
            Rewriter.replace_op(user, [], [value])
    if op.result.first_use is None:
        op.detach()
        op.erase()


def _as(value: SSAValue, user: ValueOfOp) -> SSAValue | None:
    """`value` with the type that `user` gives it, by a cast if need be; None if there is none."""
    given, wanted = value.type, user.result.type
    if given == wanted:
        return value
    fits = not isinstance(join(shape_of_type(given), shape_of_type(wanted)), Invalid)
    if not (isinstance(given, TensorType) and isinstance(wanted, TensorType) and fits):
        return None
    made = tensor.CastOp.create(operands=[value], result_types=[cast(Any, wanted)])
    made.location = user.location
    cast(Block, user.parent).insert_op_before(made, user)
    return made.dest


def _listed(function: FuncOp, found: Sequence[Outlined]) -> Attribute:
    numbers: dict[SSAValue, int] = {}
    for op in walk(function):
        for value in values_of(op):
            numbers[value] = len(numbers)
    rows: list[Attribute] = []
    for made in found:
        inputs = DenseArrayBase.from_list(i64, [numbers[v] for v in made.inputs])
        for value in made.values:
            place = DenseArrayBase.from_list(i64, [numbers[value]])
            rows.append(ArrayAttr([SymbolRefAttr(made.function.sym_name.data), place, inputs]))
    return ArrayAttr(rows)


def _free(name: str, taken: set[str]) -> str:
    found, i = name, 0
    while found in taken:
        found = f"{name}_{i}"
        i += 1
    taken.add(found)
    return found


@dataclass(frozen=True)
class OutlineShapeComputationPass(ModulePass):
    """Move computations of the shapes of `with_shape` into shape functions."""

    name = "mind-outline-shape-computation"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        if ctx.get_optional_dialect(tensor.Tensor.name) is None:
            ctx.load_dialect(tensor.Tensor)
        outline(op)
