"""
Branches and loops of the `xp` dialect. Regions are not isolated: they use the values around them.

A loop takes the values named in `takes`: they are used no more after it has begun, so their memory may be taken back then.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator

from mind_dialect.codecs import INTEGERS, is_array
from mind_dialect.errors import error

from ..coded_op import ending, expect_types
from .ops import XpOp, check_tensor

__all__ = ["ConditionOp", "ForOp", "IfOp", "LoopOp", "WhileOp", "YieldOp"]


@irdl_op_definition
class YieldOp(XpOp):
    """The results of a region."""

    name = "xp.yield"
    inputs = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "(`(` $inputs^ `:` type($inputs) `)`)? attr-dict"

    def __init__(self, inputs: Sequence[SSAValue]):
        super().__init__(operands=[inputs])

    def check(self) -> None:
        if not isinstance(self.parent_op(), IfOp | LoopOp):
            parent = self.parent_op()
            given = "nothing" if parent is None else parent.name
            raise error("E8005", f"is in {given}, expected a region of xp", region=None, expected="xp", actual=given)


@irdl_op_definition
class ConditionOp(XpOp):
    """The end of a loop's `cond` region: whether to go on, and the values that the body or the results get."""

    name = "xp.condition"
    go_on = operand_def()
    inputs = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "$go_on `:` type($go_on) (`(` $inputs^ `:` type($inputs) `)`)? attr-dict"

    def __init__(self, go_on: SSAValue, inputs: Sequence[SSAValue]):
        super().__init__(operands=[go_on, inputs])

    def check(self) -> None:
        if not isinstance(self.parent_op(), WhileOp):
            raise error("E8005", "is not in an xp.while", region="cond", expected="xp.while", actual="another op")


@irdl_op_definition
class IfOp(XpOp):
    """The results of the first region if the condition holds, else of the second."""

    name = "xp.if"
    condition = operand_def()
    then_region = region_def()
    else_region = region_def()
    outputs = var_result_def()
    assembly_format = "$condition `:` type($condition) `->` `(` type($outputs) `)` $then_region `else` $else_region attr-dict"

    def __init__(self, condition: SSAValue, result_types: Sequence[Attribute], then: Block, otherwise: Block):
        super().__init__(operands=[condition], result_types=[result_types], regions=[Region(then), Region(otherwise)])

    def check(self) -> None:
        check_tensor(self.condition)
        for region, name in zip(self.regions, ("then", "else"), strict=True):
            expect_types(name, "yields", ending(region, name, YieldOp).operand_types, self.result_types)
            expect_types(name, "takes", region.block.arg_types, [])


class LoopOp(XpOp):
    """A loop over carried values."""

    def taken(self) -> tuple[int, ...]:
        """The numbers of the operands that the loop takes; E8002 for others than initial values."""
        takes = self.properties.get("takes")
        found = INTEGERS.value(takes) if takes is not None and is_array(takes) else None
        if found is None or any(not 0 <= i < len(self.initial()) for i in found) or len(set(found)) != len(found):
            message = f"takes {takes}, expected distinct numbers of initial values"
            raise error("E8002", message, attribute="takes", value=str(takes))
        return found

    def initial(self) -> Sequence[SSAValue]:
        """The initial values of the carries."""
        return ()


@irdl_op_definition
class WhileOp(LoopOp):
    """`body` again and again while the region `cond`, run before it, says so."""

    name = "xp.while"
    inits = var_operand_def()
    takes = prop_def()
    cond_region = region_def()
    body_region = region_def()
    outputs = var_result_def()
    assembly_format = (
        "`(` $inits `)` `takes` $takes `:` functional-type($inits, $outputs) $cond_region `do` $body_region attr-dict"
    )

    def __init__(self, inits: Sequence[SSAValue], result_types: Sequence[Attribute], cond: Block, body: Block):
        super().__init__(
            operands=[inits],
            result_types=[result_types],
            regions=[Region(cond), Region(body)],
            properties={"takes": INTEGERS.attribute([])},
        )

    def initial(self) -> Sequence[SSAValue]:
        return self.inits

    def check(self) -> None:
        self.taken()
        condition = ending(self.cond_region, "cond", ConditionOp)
        types = [v.type for v in self.inits]
        expect_types("cond", "takes", self.cond_region.block.arg_types, types)
        expect_types("cond", "passes", condition.operand_types[1:], types)
        expect_types("body", "takes", self.body_region.block.arg_types, types)
        expect_types("body", "yields", ending(self.body_region, "body", YieldOp).operand_types, types)
        expect_types("body", "gives", self.result_types, types)


@irdl_op_definition
class ForOp(LoopOp):
    """
    A loop over axis 0 of `scanned`; the values that the body yields after the carried ones are put into `stacks`.

    Results are the carried values at the end. `stacks` are arrays that the loop fills.
    """

    name = "xp.for"
    inits = var_operand_def()
    scanned = var_operand_def()
    stacks = var_operand_def()
    takes = prop_def()
    body_region = region_def()
    outputs = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "`(` $inits `)` `over` `(` $scanned `)` `into` `(` $stacks `)` `takes` $takes `:` `(` type($inits) `)` "
        "`over` `(` type($scanned) `)` `into` `(` type($stacks) `)` `->` `(` type($outputs) `)` $body_region attr-dict"
    )

    def __init__(self, inits: Sequence[SSAValue], scanned: Sequence[SSAValue], stacks: Sequence[SSAValue], body: Block):
        super().__init__(
            operands=[inits, scanned, stacks],
            result_types=[[v.type for v in inits]],
            regions=[Region(body)],
            properties={"takes": INTEGERS.attribute([])},
        )

    def initial(self) -> Sequence[SSAValue]:
        return self.inits

    def check(self) -> None:
        self.taken()
        if not self.scanned:
            raise error("E2007", "scans 0 values, expected at least 1", expected=1, actual=0)
        types = [v.type for v in self.inits]
        last, block = ending(self.body_region, "body", YieldOp), self.body_region.block
        expect_types("body", "takes", block.arg_types[: len(types)], types)
        expect_types("body", "carries", last.operand_types[: len(types)], types)
        expect_types("body", "gives", self.result_types, types)
        if len(block.args) != len(types) + len(self.scanned) or len(last.operands) != len(types) + len(self.stacks):
            given = (len(block.args), len(last.operands))
            expected = (len(types) + len(self.scanned), len(types) + len(self.stacks))
            message = f"region body takes and yields {given} values, expected {expected}"
            raise error("E8005", message, region="body", expected=expected, actual=given)
