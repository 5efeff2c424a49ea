"""
The parts of the text form that no declarative format can say: constants, and join and meet.

    shape.constant [3, ?] : !shape.shape          shape.const_shape [3, 4] : tensor<2xindex>
    shape.join %a, %b, error = "why" : !shape.size          shape.meet %a, %b : index, !shape.size -> !shape.size
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from .types import ShapeType, SizeType, index, is_array, is_integer

INVALID, UNKNOWN_WORD, UNRANKED_WORD = "invalid", "?", "*"


def parse_constant(parser: Parser) -> tuple[Attribute, Attribute]:
    """Parse the value of `shape.constant` and its type; the verifier checks whether they fit."""
    items = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_item(parser, typed=True))
    alone = _parse_item(parser) if items is None else []
    parser.parse_punctuation(":")
    type = parser.parse_type()
    if len(alone) == 1 and is_integer(alone[0]) and parser.parse_optional_punctuation(":") is not None:
        alone, type = [_integer(parser, alone[0].value.data, type)], parser.parse_type()
    if items is not None:
        return ArrayAttr([attribute for item in items for attribute in item]), type
    one: Attribute = alone[0]
    is_list = len(alone) > 1 or (isinstance(type, ShapeType) and isinstance(one, StringAttr))
    return ArrayAttr(alone) if is_list else one, type


def _parse_item(parser: Parser, *, typed: bool = False) -> list[Attribute]:
    """A number, with its type if it may be `typed`, `?`, `*`, or `invalid` with the reason, if any."""
    if (number := parser.parse_optional_integer(allow_boolean=False)) is not None:
        return [_number(parser, number) if typed else IntegerAttr(number, index)]
    for word in (UNKNOWN_WORD, UNRANKED_WORD):
        if parser.parse_optional_punctuation(word) is not None:
            return [StringAttr(word)]
    if parser.parse_optional_keyword(INVALID) is not None:
        reason = parser.parse_optional_str_literal()
        return [StringAttr(INVALID), *(() if reason is None else (StringAttr(reason),))]
    parser.raise_error("expected a size from 0 up, ?, * or invalid")


def _number(parser: Parser, number: int) -> Attribute:
    """A number of a list, which is an index unless a type follows."""
    return (
        IntegerAttr(number, index)
        if parser.parse_optional_punctuation(":") is None
        else _integer(parser, number, parser.parse_type())
    )


def _integer(parser: Parser, number: int, type: Attribute) -> Attribute:
    if not isinstance(type, IntegerType | IndexType):
        parser.raise_error(f"expected an integer type for {number}, found {type}")
    return IntegerAttr(number, cast(Any, type))


def print_constant(printer: Printer, value: Attribute, type: Attribute) -> None:
    """Write what `parse_constant` reads before the colon; a value that makes no sense as a plain attribute."""
    if not is_array(value):
        _print_item(printer, value)
        return
    reason = value.data[1] if len(value.data) == 2 and value.data[0] == StringAttr(INVALID) else None
    if isinstance(reason, StringAttr) and isinstance(type, SizeType):
        _print_invalid(printer, reason)
        return
    with printer.in_square_brackets():
        if isinstance(reason, StringAttr):
            _print_invalid(printer, reason)
        else:
            printer.print_list(value.data, lambda item: _print_item(printer, item))


def _print_invalid(printer: Printer, reason: StringAttr) -> None:
    printer.print_string(f"{INVALID} ")
    printer.print_attribute(reason)


def _print_item(printer: Printer, item: Attribute) -> None:
    match item:
        case _ if is_integer(item) and item.type == index:
            printer.print_string(str(item.value.data))
        case StringAttr() if item.data in (INVALID, UNKNOWN_WORD, UNRANKED_WORD):
            printer.print_string(item.data)
        case _:
            printer.print_attribute(item)


def parse_results(parser: Parser) -> Sequence[Attribute]:
    """Parse the types after `->`: one, or several in parentheses, as in MLIR."""
    listed = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if listed is None else listed


def parse_integers(parser: Parser) -> list[int]:
    """`[1, -1, 3]`, the extents of `shape.const_shape`."""
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False))


def parse_meet(parser: Parser) -> tuple[Sequence[SSAValue], dict[str, Attribute], dict[str, Attribute], Attribute]:
    """Operands, properties, attributes and result type of join or meet, in the spelling of either generation."""
    start = parser.pos
    operands = [parser.parse_unresolved_operand()]
    parser.parse_punctuation(",")
    operands.append(parser.parse_unresolved_operand())
    properties: dict[str, Attribute] = {}
    if parser.parse_optional_punctuation(",") is not None:
        parser.parse_keyword("error")
        parser.parse_punctuation("=")
        properties["error"] = parser.parse_attribute()
    attributes = parser.parse_optional_attr_dict()
    if "error" in attributes and "error" not in properties:
        properties["error"] = attributes.pop("error")
    parser.parse_punctuation(":")
    types = [parser.parse_type()]
    if parser.parse_optional_punctuation(",") is None:
        types *= 3
    else:
        types.append(parser.parse_type())
        parser.parse_punctuation("->")
        types.append(parser.parse_type())
    return parser.resolve_operands(operands, types[:2], start), properties, attributes, types[2]


def print_meet(
    printer: Printer,
    operands: Sequence[SSAValue],
    properties: Mapping[str, Attribute],
    attributes: Mapping[str, Attribute],
    result: Attribute,
    *,
    one_type: bool,
) -> None:
    """Write what `parse_meet` reads, the types as one where they are equal and `one_type` allows it."""
    printer.print_string(" ")
    printer.print_list(operands, printer.print_ssa_value)
    if "error" in properties:
        printer.print_string(", error = ")
        printer.print_attribute(properties["error"])
    printer.print_op_attributes(attributes)
    printer.print_string(" : ")
    types = [operand.type for operand in operands]
    if one_type and all(t == result for t in types):
        printer.print_attribute(result)
        return
    printer.print_list(types, printer.print_attribute)
    printer.print_string(" -> ")
    printer.print_attribute(result)
