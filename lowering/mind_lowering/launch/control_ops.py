"""Control flow of the `launch` dialect: values are addresses, so a loop that swaps two carries swaps no elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator

from mind_dialect.errors import error
from mind_dialect.ptir.attributes import Int
from mind_dialect.ptir.types import I1

from ..coded_op import ending, expect_types
from .base import Flag, LaunchOp, parse_types, parse_values, print_types, print_values
from .ref import Ref, read_ref, ref


def trip_count(value: SSAValue) -> int | None:
    """Return the number of iterations of the loop whose induction variable a value is; None for another value."""
    loop = value.block.parent_op() if isinstance(value, BlockArgument) and value.index == 0 else None
    return loop.trip_count if isinstance(loop, ForOp) and value.type == IndexType() else None


@irdl_op_definition
class YieldOp(LaunchOp):
    """The results of a region: addresses, or the tensors that the body of a kernel computes."""

    name = "launch.yield"
    inputs = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "($inputs^ `:` type($inputs))? attr-dict"

    def __init__(self, inputs: Sequence[SSAValue] = ()):
        super().__init__(operands=[inputs])

    def check_op(self) -> None:
        parent = self.parent_op()
        if not isinstance(parent, LaunchOp) or (isinstance(parent, WhileOp) and self.parent is parent.test.blocks.first):
            given = "nothing" if parent is None else parent.name
            raise error("E9006", f"is in {given}, expected a region of launch", parent=given, expected="launch")


@irdl_op_definition
class ConditionOp(LaunchOp):
    """The end of the test of a loop: whether it goes on, and the values that the body or the results get."""

    name = "launch.condition"
    go_on = operand_def()
    inputs = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "$go_on `:` type($go_on) (`,` $inputs^ `:` type($inputs))? attr-dict"

    def __init__(self, go_on: SSAValue, inputs: Sequence[SSAValue] = ()):
        super().__init__(operands=[go_on, inputs])

    def effects(self) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        return (self.go_on,), ()

    def check_op(self) -> None:
        parent = self.parent_op()
        if not isinstance(parent, WhileOp):
            given = "nothing" if parent is None else parent.name
            raise error("E9006", f"is in {given}, expected launch.while", parent=given, expected="launch.while")
        check_predicate(self.go_on)


def check_predicate(value: SSAValue) -> None:
    """Raise E2001 unless a value is one truth value in memory."""
    if read_ref(value.type) != Ref(I1, (), ()):
        raise error("E2001", f"condition is {value.type}, expected memref<i1>", expected="memref<i1>", actual=str(value.type))


@irdl_op_definition
class ForOp(LaunchOp):
    """
    A loop of a known number of iterations.

    The body takes the induction variable and the carries, and yields the carries of the next iteration. One that is `unrolled` is
    its iterations one after the other, each with addresses of its own.
    """

    name = "launch.for"
    WORDS: ClassVar = {"unrolled": Flag()}
    count = prop_def()
    unrolled = opt_prop_def()
    inits = var_operand_def()
    body = region_def()
    res = var_result_def()

    def __init__(self, count: int, inits: Sequence[SSAValue], body: Block, *, unrolled: bool = False):
        properties = {"count": IntegerAttr(count, i64), **self.words_of({"unrolled": unrolled})}
        types = [v.type for v in inits]
        super().__init__(operands=[inits], result_types=[types], regions=[Region(body)], properties=properties)

    @property
    def trip_count(self) -> int:
        """The number of iterations."""
        return Int().value(self.count)

    def check_op(self) -> None:
        if self.trip_count < 0:
            raise self.invalid("count", "at least 0")
        types = _carried(self.inits)
        last = ending(self.body, "body", YieldOp)
        expect_types("body", "takes", self.body.block.arg_types, [IndexType(), *types])
        expect_types("body", "yields", last.operand_types, types)
        expect_types("body", "gives", self.result_types, types)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.trip_count}{'' if self.unrolled is None else ' unrolled'} ")
        _print_loop(printer, self.inits)
        printer.print_region(self.body)
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        count = Int().parse(parser)
        words = {} if parser.parse_optional_keyword("unrolled") is None else {"unrolled": UnitAttr()}
        inits = _parse_loop(parser)
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        types = [v.type for v in inits]
        return cls.build(
            operands=[inits],
            result_types=[types],
            properties={"count": count, **words},
            attributes={} if attributes is None else attributes.data,
            regions=[body],
        )


@irdl_op_definition
class WhileOp(LaunchOp):
    """
    A loop that goes on while its test says so.

    The test takes the carries and hands values on, to the body while the loop goes on, and to the results when it ends.
    """

    name = "launch.while"
    inits = var_operand_def()
    test = region_def()
    body = region_def()
    res = var_result_def()

    def __init__(self, inits: Sequence[SSAValue], test: Block, body: Block):
        types = [v.type for v in inits]
        super().__init__(operands=[inits], result_types=[types], regions=[Region(test), Region(body)])

    def check_op(self) -> None:
        types = _carried(self.inits)
        condition = ending(self.test, "test", ConditionOp)
        last = ending(self.body, "body", YieldOp)
        expect_types("test", "takes", self.test.block.arg_types, types)
        expect_types("test", "passes", condition.operand_types[1:], types)
        expect_types("body", "takes", self.body.block.arg_types, types)
        expect_types("body", "yields", last.operand_types, types)
        expect_types("body", "gives", self.result_types, types)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_loop(printer, self.inits)
        printer.print_region(self.test)
        printer.print_string(" do ")
        printer.print_region(self.body)
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> WhileOp:
        inits = _parse_loop(parser)
        test = parser.parse_region()
        parser.parse_keyword("do")
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        types = [v.type for v in inits]
        return cls.build(
            operands=[inits], result_types=[types], attributes={} if attributes is None else attributes.data, regions=[test, body]
        )


def _carried(inits: Sequence[SSAValue]) -> Sequence[Attribute]:
    """The types of what a loop carries; E2001 for other types than memory's."""
    for value in inits:
        read_ref(value.type)
    return [value.type for value in inits]


def _print_loop(printer: Printer, inits: Sequence[SSAValue]) -> None:
    print_values(printer, inits)
    printer.print_string(" : ")
    print_types(printer, inits)
    printer.print_string(" ")


def _parse_loop(parser: Parser) -> Sequence[SSAValue]:
    names = parse_values(parser)
    parser.parse_punctuation(":")
    return parser.resolve_operands(names, parse_types(parser), parser.pos)


@irdl_op_definition
class IfOp(LaunchOp):
    """The results of the first region where the predicate holds, else of the second."""

    name = "launch.if"
    predicate = operand_def()
    then = region_def()
    otherwise = region_def()
    res = var_result_def()
    assembly_format = "$predicate `:` type($predicate) `->` `(` type($res) `)` $then `else` $otherwise attr-dict-with-keyword"

    def __init__(self, predicate: SSAValue, types: Sequence[Attribute], then: Block, otherwise: Block):
        super().__init__(operands=[predicate], result_types=[types], regions=[Region(then), Region(otherwise)])

    def effects(self) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        return (self.predicate,), ()

    def check_op(self) -> None:
        check_predicate(self.predicate)
        for region, name in ((self.then, "then"), (self.otherwise, "otherwise")):
            expect_types(name, "yields", ending(region, name, YieldOp).operand_types, self.result_types)
            expect_types(name, "takes", region.block.arg_types, [])


@irdl_op_definition
class AtOp(LaunchOp):
    """The part of an array at one index of its first axis: the induction variable of a loop around it."""

    name = "launch.at"
    source = operand_def()
    index = operand_def(IndexType())
    res = result_def()
    assembly_format = "$source `[` $index `]` attr-dict `:` type($source) `to` type($res)"

    def __init__(self, source: SSAValue, index: SSAValue):
        super().__init__(operands=[source, index], result_types=[part_type(read_ref(source.type))])

    def check_op(self) -> None:
        layout, count = read_ref(self.source.type), trip_count(self.index)
        if count is None:
            raise error(
                "E2001", "its index is not an induction variable of launch.for", expected="induction variable", actual="a value"
            )
        if not layout.shape:
            raise error("E3002", "its source has rank 0, expected at least 1", expected=1, actual=0)
        expected = part_type(layout)
        if self.res.type != expected:
            raise error("E2001", f"found {self.res.type}, expected {expected}", expected=str(expected), actual=str(self.res.type))
        if count > layout.shape[0]:
            message = f"its loop has {count} iterations, axis 0 of its source {layout.shape[0]} elements"
            raise error("E4012", message, dimension=0, bounds=(0, count), extent=layout.shape[0])


def part_type(layout: Ref) -> Attribute:
    """Return the type of an array without its first axis."""
    return ref(layout.dtype, layout.shape[1:], layout.strides[1:])


@irdl_op_definition
class PrepackOp(LaunchOp):
    """Runs once, before any call of the program: fills kept memory from constants, and from inputs that stay the same."""

    name = "launch.prepack"
    body = region_def()
    assembly_format = "$body attr-dict-with-keyword"

    def __init__(self, body: Block):
        super().__init__(regions=[Region(body)])

    def check_op(self) -> None:
        expect_types("body", "takes", self.body.block.arg_types, [])
        expect_types("body", "yields", ending(self.body, "body", YieldOp).operand_types, [])
        if not isinstance(self.parent_op(), FuncOp):
            raise error("E9006", "is in an op, expected a function", parent="an op", expected="func.func")
