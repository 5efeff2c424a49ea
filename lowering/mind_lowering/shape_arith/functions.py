"""
Functions on shapes rebuilt as functions on numbers, op by op.

    !shape.size argument      an index, which must be a size
    !shape.witness argument   an i1
    !shape.size result        an index; where it may be invalid, an i1 after it that says whether it is valid
    !shape.shape result       an index per extent; where it may be invalid, an i1 after them
    !shape.witness result     an i1

`mind.results` says on the function what its results came to: "shape 2?" are two extents and a validity, "size" is an index,
"value" is what it was. A type that holds no errors gets an assertion where the error arises. `reduce` is unrolled, `assuming`
asserted, calls that pass shapes are put in place, and a `shape.func` becomes a `func.func`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, FileLineColLoc, FunctionType, IntegerAttr, StringAttr, i1
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import Pure
from xdsl.transforms.dead_code_elimination import region_dce

from mind_dialect.errors import brief, error
from mind_dialect.shape import AssumingOp, ReduceOp, ShapeOp
from mind_dialect.shape import FuncOp as ShapeFuncOp
from mind_dialect.shape import ReturnOp as ShapeReturnOp
from mind_dialect.shape.types import SHAPE_TYPES, ShapeType, SizeType, WitnessType, index, is_extents

from .control_flow import CONTROL_FLOW, passes_shapes
from .numbers import VALID, Check, Numbers
from .operands import Holds, Lowered, Paired, Refused, Shape, SizeOperand, shape, truth
from .rows import ROWS

RESULTS_ATTRIBUTE = "mind.results"
MAX_OPS = 1 << 17
"""The regions of all `reduce` of a function together may come to so many ops."""
MAX_DEPTH = 100
"""The greatest nesting depth of regions."""


def is_of_shapes(type: Attribute) -> bool:
    """Return whether `type` is one of the dialect."""
    return isinstance(type, SHAPE_TYPES)


@dataclass(frozen=True)
class Refusal:
    """An op that has no lowering, and why."""

    op: Operation
    issue: str

    def __str__(self) -> str:
        op = self.op
        hint = next((f" %{r.name_hint}" for r in op.results if r.name_hint), "")
        place = f" at line {op.location.line.data}" if isinstance(op.location, FileLineColLoc) else ""
        return f"{op.name}{hint}{place}: {self.issue}"


class Rebuilt:
    """One function, lowered into a new one; `refusals` are the ops that have no lowering."""

    def __init__(self, function: FuncOp | ShapeFuncOp):
        self.function = function
        self.refusals: list[Refusal] = []
        self._blocks: dict[Block, Block] = {}
        self._values: dict[SSAValue, Lowered] = {}
        self._ops = 0
        self._depth = 0
        self._layouts: list[tuple[str, ...]] = []
        self._outputs: list[Attribute] = []
        self.body = Region()
        old = function.body.blocks
        for block in old:
            made = self._blocks[block] = Block()
            self.body.add_block(made)
        self.to = Numbers(self.body.blocks[0])
        for block in old:
            if block is function.body.first_block:
                self._block(block)
            else:
                with self.to.inside(self._blocks[block]):
                    self._block(block)

    def made(self) -> FuncOp:
        """The new function, if nothing was refused."""
        old = self.function
        region_dce(self.body)
        inputs = [argument.type for argument in self.body.blocks[0].args]
        name = cast(StringAttr, old.properties["sym_name"])
        attributes = dict(old.attributes)
        stated = {n: p for n, p in old.properties.items() if n in ("sym_name", "sym_visibility", "arg_attrs")}
        layout = self._layouts[0] if self._layouts else ()
        if any(part != "value" for part in layout):
            attributes[RESULTS_ATTRIBUTE] = ArrayAttr([StringAttr(part) for part in layout])
        elif (given := old.properties.get("res_attrs")) is not None:
            stated["res_attrs"] = given
        type = FunctionType.from_lists(inputs, self._outputs)
        made = FuncOp.create(
            properties={**stated, "sym_name": name, "function_type": type}, attributes=attributes, regions=[self.body]
        )
        made.location = old.location
        return made

    # Blocks

    def _refuse(self, op: Operation, issue: str) -> None:
        self.refusals.append(Refusal(op, issue))

    def _block(self, block: Block) -> None:
        made = self._blocks[block]
        for argument in block.args:
            self._argument(argument, made, outermost=block is self.function.body.first_block)
        for op in block.ops:
            self._op(op)

    def _argument(self, argument: Any, made: Block, *, outermost: bool) -> None:
        type: Attribute = argument.type
        if is_of_shapes(type) and (not outermost or not isinstance(type, SizeType | WitnessType)):
            hint = "" if argument.name_hint is None else f" %{argument.name_hint}"
            why = "has no rank that is known" if isinstance(type, ShapeType) else "is not a number"
            owner = argument.block.parent_op() or self.function
            self._refuse(owner, f"argument {argument.index}{hint} of type {type} {why}")
            return
        lowered = index if isinstance(type, SizeType) else i1 if isinstance(type, WitnessType) else type
        value = made.insert_arg(lowered, len(made.args))
        value.name_hint = argument.name_hint
        self._values[argument] = value
        if isinstance(type, SizeType):
            self.to.know_natural(value)
            self._values[argument] = SizeOperand(value)
        elif isinstance(type, WitnessType):
            self._values[argument] = Holds(value, ("a constraint that does not hold",))

    # Ops

    def _op(self, op: Operation) -> None:
        to = self.to
        if any(v not in self._values for v in op.operands):
            return  # what it needs was refused
        before, to.source = to.source, op
        operands = [self._values[v] for v in op.operands]
        try:
            if isinstance(op, ReturnOp | ShapeReturnOp):
                self._return(op, operands)
            elif isinstance(op, AssumingOp):
                self._assuming(op, operands[0])
            elif isinstance(op, ReduceOp):
                self._reduce(op, operands)
            elif (lower := CONTROL_FLOW.get(type(op))) is not None and passes_shapes(op):
                lower(self, op)
            elif (row := ROWS.get(type(op))) is not None:
                found = row(to, op, *operands)
                results = found if type(found) is tuple else (cast(Lowered, found),)
                for result, lowered in zip(op.results, results, strict=True):
                    self._values[result] = self._settled(lowered, result)
            elif isinstance(op, ShapeOp):
                self._refuse(op, "it contains functions, which are not numbers")
            else:
                self._foreign(op)
        except Refused as refused:
            self._refuse(op, str(refused))
        finally:
            to.source = before

    def _settled(self, x: Lowered, result: SSAValue) -> Lowered:
        """A result as one of its type: no negative sizes, and an assertion where the type holds no errors."""
        to, type = self.to, result.type
        if isinstance(x, SizeOperand):
            check = x.check
            if isinstance(type, SizeType):
                return SizeOperand(x.n, check if x.natural else to.all_of([check, to.natural(x.n)]))
            to.demand(check)
            if x.natural and isinstance(x.n, SSAValue):
                to.know_natural(x.n)
            self._name(x.n, result)
            return SizeOperand(x.n, VALID, x.natural)
        if isinstance(x, Shape) and is_extents(type):
            to.demand(x.check)
            (length,) = type.get_shape()
            if length not in (DYNAMIC_INDEX, len(x.extents)):
                raise Refused(f"it is invalid: a shape of rank {len(x.extents)}, declared {type}")
            return Shape(x.extents)
        return x

    def _name(self, x: Any, result: SSAValue) -> None:
        if isinstance(x, SSAValue) and x.name_hint is None:
            x.name_hint = result.name_hint

    def value(self, x: Lowered, type: Attribute) -> SSAValue:
        """A lowered value as one of a type that is not of the dialect."""
        to = self.to
        match x:
            case SizeOperand():
                return to.number(x.n)
            case Holds():
                return to.truth(x.truth)
            case Shape():
                made = to.extents(x.extents)
                return made if made.type == type else to.once(tensor.CastOp, [made], type)
            case Paired():
                raise Refused("it takes a !shape.value_shape")
            case _:
                return x

    def lowered(self, value: SSAValue) -> Lowered:
        """Return the lowered form of a value."""
        return self._values[value]

    def operand(self, value: SSAValue) -> SSAValue:
        """A value that is not of the dialect, as what it was lowered to."""
        return self.value(self._values[value], value.type)

    def define(self, values: Sequence[SSAValue], lowered: Sequence[Lowered]) -> None:
        """State what values were lowered to."""
        self._values.update(zip(values, lowered, strict=True))

    def inside(self, op: Operation, block: Block) -> list[Lowered]:
        """Lower the ops of a block of a region of `op` where ops are put down; what its terminator passes on."""
        self._deeper(op)
        refused = len(self.refusals)
        found = self._inline(block)
        self._depth -= 1
        if found is None or len(self.refusals) > refused:
            raise Refused("a region of it was refused")
        return list(found)

    def _foreign(self, op: Operation) -> None:
        """An op of another dialect, which may take indices and extent tensors but no shapes."""
        for value in (*op.operands, *op.results):
            if is_of_shapes(value.type):
                verb = "gives" if value in op.results else "takes"
                raise Refused(f"it {verb} a {value.type}; only ops of the shape dialect, functions and their calls may")
        operands = [self.operand(v) for v in op.operands]
        regions = [Region() for _ in op.regions]
        made = type(op).create(
            operands=operands,
            result_types=op.result_types,
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            successors=[self._blocks.get(b, b) for b in op.successors],
            regions=regions,
        )
        made.location = op.location
        self.to.block.add_op(made)
        for old, new in zip(op.results, made.results, strict=True):
            new.name_hint = old.name_hint
            self._values[old] = new
        for old_region, region in zip(op.regions, regions, strict=True):
            self._region(op, old_region, region)

    def _region(self, op: Operation, old: Region, made: Region) -> None:
        self._deeper(op)
        for block in old.blocks:
            new = self._blocks[block] = Block()
            made.add_block(new)
        for block in old.blocks:
            with self.to.inside(self._blocks[block]):
                self._block(block)
        self._depth -= 1

    def _deeper(self, op: Operation) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise error("E6003", f"regions nest more than {MAX_DEPTH} deep", operation=op, backend="lower-shape-to-arith")

    # Ops with regions

    def _assuming(self, op: AssumingOp, witness: Lowered) -> None:
        reasons = witness.reasons if isinstance(witness, Holds) else ()
        self.to.demand(Check(truth(witness), reasons))
        self._deeper(op)
        passed = self._inline(op.body.block)
        self._depth -= 1
        if passed is not None:
            self._values.update(zip(op.results, passed, strict=True))

    def _inline(self, block: Block) -> Sequence[Lowered] | None:
        """Lower the ops of a block in place; what its terminator passes on, None if that was refused."""
        last = block.last_op
        assert last is not None
        for op in block.ops:
            if op is not last:
                self._op(op)
        found = [self._values.get(v) for v in last.operands]
        return None if None in found else cast("list[Lowered]", found)

    def _reduce(self, op: ReduceOp, operands: Sequence[Lowered]) -> None:
        to, of = self.to, shape(self.to, operands[0])
        holds_errors = all(isinstance(t, SizeType | ShapeType) for t in op.result_types)
        if not holds_errors or is_extents(op.shape.type):
            to.demand(of.check)
            of = Shape(of.extents)
        carried: Sequence[Lowered] = operands[1:]
        block, start = op.body.block, to.block.last_op
        counter = block.args[0].type
        self._deeper(op)
        for i, extent in enumerate(of.extents):
            self._ops += 1 + sum(1 for _ in block.ops)
            if self._ops > MAX_OPS:
                raise error("E9022", f"reduce unrolls to more than {MAX_OPS} ops", operation=op, limit=MAX_OPS)
            place: Lowered = SizeOperand(i) if counter == index else to.constant(IntegerAttr(i, cast(Any, counter)), counter)
            self._values.update(zip(block.args, (place, SizeOperand(extent, of.check), *carried), strict=True))
            refused = len(self.refusals)
            passed = self._inline(block)
            if passed is None or len(self.refusals) > refused:
                self._depth -= 1
                return
            carried = [self._settled(x, v) for x, v in zip(passed, op.results, strict=True)]
        self._depth -= 1
        if to.known(of.check.holds) is not True:
            self._check_pure(op, start)
        for result, x in zip(op.results, carried, strict=True):
            self._values[result] = self._also(x, of.check)

    def _check_pure(self, op: Operation, start: Operation | None) -> None:
        """Over an invalid shape no step runs, but what was unrolled does; it must do no harm."""
        made = self.to.block.first_op if start is None else start.next_op
        while made is not None:
            if not made.has_trait(Pure, value_if_unregistered=False):
                raise Refused("the shape may be invalid, and the region does more than compute what may be invalid too")
            made = made.next_op

    def _also(self, x: Lowered, check: Check) -> Lowered:
        """A value that is invalid, too, where something else is."""
        if isinstance(x, SizeOperand):
            return SizeOperand(x.n, self.to.all_of([check, x.check]), x.natural)
        return Shape(x.extents, self.to.all_of([check, x.check])) if isinstance(x, Shape) else x

    # Results

    def _return(self, op: Operation, operands: Sequence[Lowered]) -> None:
        values, layout = list[SSAValue](), list[str]()
        for x, old in zip(operands, op.operands, strict=True):
            parts, shown = self._parts(x, old.type)
            values += parts
            layout.append(shown)
        types = [v.type for v in values]
        if self._layouts and (self._layouts[0] != tuple(layout) or self._outputs != types):
            raise Refused(f"results have the layout {layout}, elsewhere {list(self._layouts[0])}; expected the same")
        self._layouts.append(tuple(layout))
        self._outputs = types
        self.to.put(ReturnOp.create(operands=values))

    def _parts(self, x: Lowered, type: Attribute) -> tuple[list[SSAValue], str]:
        """The values that a result comes to, and their layout."""
        to = self.to
        if not is_of_shapes(type):
            return [self.value(x, type)], "value"
        match x:
            case SizeOperand():
                numbers, check, shown = [x.n], x.check, "size"
            case Shape():
                numbers, check, shown = list(x.extents), x.check, f"shape {len(x.extents)}"
            case Holds():
                return [to.truth(x.truth)], "witness"
            case _:
                raise Refused(f"a result of type {brief(type)} is not a number")
        values = [to.number(n) for n in numbers]
        if to.known(check.holds) is True:
            return values, shown
        return [*values, to.truth(check.holds)], f"{shown}?"


def decoded(layout: Sequence[str], values: Sequence[Any]) -> list[Any]:
    """
    Return what the results of a lowered function stand for: sizes, tuples of extents, None for what is invalid.

    >>> decoded(["shape 2?", "size", "value"], [3, 4, True, 5, 6]), decoded(["size?"], [7, False])
    ([(3, 4), 5, 6], [None])
    """
    found, rest = list[Any](), list(values)
    for part in layout:
        name, _, count = part.rstrip("?").partition(" ")
        taken = [rest.pop(0) for _ in range(int(count) if count else 1)]
        valid = not part.endswith("?") or rest.pop(0)
        found.append(None if not valid else tuple(taken) if name == "shape" else taken[0])
    return found
