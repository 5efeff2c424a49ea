"""
The readable form of an op of our dialects, one for all: operands, properties by name, types, named regions.

    %2 = mind.add %0, %1 : tensor<2x3xf32>
    %3 = mind.sum %2 axes = [1] keepdims = false : tensor<2x3xf32> -> tensor<2xf32>
    %4 = mind.matmul %a, %b : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %v, %i = ptir.top_k %x k = 2 ... : tensor<5xf32> -> (tensor<2xf32>, tensor<2xsi32>)

One type stands for all when they are equal. An ill-formed op prints too, so that a diagnostic can show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.ir import Attribute, Region
from xdsl.parser import Parser
from xdsl.printer import Printer

from .codecs import Codec
from .declared_op import DeclaredOp
from .errors import MindError, error
from .literals import coded

Op = TypeVar("Op", bound=DeclaredOp)


def print_op(op: DeclaredOp, printer: Printer) -> None:
    """Write what follows the op's name."""
    if op.operands:
        printer.print_string(" ")
        printer.print_list(op.operands, printer.print_ssa_value)
    for name, codec in op.CODECS.items():
        if (stored := op.properties.get(name)) is not None:
            printer.print_string(f" {name} = ")
            print_property(printer, codec, stored)
    print_rest(op, printer)
    printer.print_string(" : ")
    _print_types(op.operand_types, op.result_types, printer)
    for name, region in zip(op.REGION_NAMES, op.regions, strict=False):
        printer.print_string(f" {name} ")
        printer.print_region(region)


def print_property(printer: Printer, codec: Codec, stored: Attribute) -> None:
    """Write a property in its own form, or as a plain attribute if it is of the wrong kind."""
    try:
        codec.value(stored)
    except MindError:
        printer.print_attribute(stored)
    else:
        codec.print(printer, stored)


def print_rest(op: DeclaredOp, printer: Printer) -> None:
    """Write the attributes, and the properties that the op should not have, so that nothing vanishes."""
    unknown = {name: a for name, a in op.properties.items() if name not in op.CODECS}
    printer.print_op_attributes({**op.attributes, **unknown})


def _print_types(operands: Sequence[Attribute], results: Sequence[Attribute], printer: Printer) -> None:
    if len(results) == 1 and all(t == results[0] for t in operands):
        printer.print_attribute(results[0])
        return
    if len(operands) == 1:
        printer.print_attribute(operands[0])
    else:
        with printer.in_parens():
            printer.print_list(operands, printer.print_attribute)
    printer.print_string(" -> ")
    if len(results) == 1:
        printer.print_attribute(results[0])
    else:
        with printer.in_parens():
            printer.print_list(results, printer.print_attribute)


_TYPES = frozenset({"tensor", "memref", "vector", "f16", "bf16", "f32", "f64", "i1", "i8", "i16", "i32", "i64", "index"})
"""Beginnings of a type, recognized where the colon before it is missing."""


def parse_op(cls: type[Op], parser: Parser) -> Op:
    """Read what `print_op` writes; malformed text is a parse error, ill-typed ops are left to the verifier."""
    start = parser.pos
    if parser.parse_optional_punctuation("(") is not None:
        raise coded(parser, start, error("E1007", f"{cls.OPCODE}: operands stand without parentheses, as in {cls.name} %x, %y"))
    operands = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    properties: dict[str, Attribute] = {}
    while True:
        place = parser.pos
        if (name := parser.parse_optional_identifier()) is None:
            break
        if name not in cls.CODECS or name in properties:
            if "." in name or name in _TYPES:  # the next op, or the types
                raise coded(parser, place, error("E1007", f"{cls.OPCODE}: expected ':' and the types of operands and results"))
            expected = [n for n in cls.CODECS if n not in properties]
            message = f"{cls.OPCODE}: unexpected attribute {name!r}, expected {expected}"
            raise coded(parser, place, error("E4000", message, given=name, expected=expected))
        parser.parse_punctuation("=")
        properties[name] = cls.CODECS[name].parse(parser)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    operand_types, results = _parse_types(parser, len(operands or ()))
    regions: list[Region] = []
    for name in cls.REGION_NAMES:
        parser.parse_keyword(name)
        regions.append(parser.parse_region())
    return cls.create(
        operands=parser.resolve_operands(operands or (), operand_types, start),
        properties=properties,
        attributes=attributes,
        result_types=results,
        regions=regions,
    )


def _parse_types(parser: Parser, operands: int) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
    paren = parser.Delimiter.PAREN
    types = parser.parse_optional_comma_separated_list(paren, parser.parse_type)
    if types is None:
        one = parser.parse_type()
        if parser.parse_optional_punctuation("->") is None:
            return [one] * operands, [one]
        types = [one]
    else:
        parser.parse_punctuation("->")
    results = parser.parse_optional_comma_separated_list(paren, parser.parse_type)
    return types, [parser.parse_type()] if results is None else results
