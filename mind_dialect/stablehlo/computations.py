"""Pretty forms of ops with regions: reductions, loops and computations of StableHLO and Shardy."""

from __future__ import annotations

import re

from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.parser import Parser, UnresolvedOperand

from .syntax import Syntax, integer_list, string

_AXES = re.compile(r"\{[^{}]*\}")
_SHARDINGS = re.compile(r"\[(?:\s*<[^<>]*>\s*,?)*\s*\]")


def reduce(s: Syntax) -> Operation:
    """Read `reduce`, whose body is a region or, after `applies`, the name of one op."""
    inputs, inits = list[UnresolvedOperand](), list[UnresolvedOperand]()
    while True:
        s.punctuation("(")
        inputs.append(s.parser.parse_unresolved_operand())
        s.keyword("init")
        s.punctuation(":")
        inits.append(s.parser.parse_unresolved_operand())
        s.punctuation(")")
        if not s.accept(","):
            break
    applied = s.word() if s.parser.parse_optional_keyword("applies") is not None else None
    s.keyword("across")
    s.keyword("dimensions")
    s.punctuation("=")
    s.properties["dimensions"] = integer_list(s)
    attributes = s.attributes()
    s.punctuation(":")
    types, results = s.function_type()
    region = _applied(s, applied, types[-1]) if applied is not None and types else _reducer(s)
    return s.build(s.resolve([*inputs, *inits], types), results, attributes, [region])


def _applied(s: Syntax, name: str, type: Attribute) -> Region:
    """The body that applies one op to both arguments, which have the type of the initial value."""
    block = Block(arg_types=[type, type])
    op_type = s.parser.ctx.get_optional_op(name)
    if name.partition(".")[0] not in ("stablehlo", "chlo") or op_type is None or op_type.name != name:  # or an unregistered one
        s.parser.raise_error(f"expected an op of StableHLO, found {name}")
    op = op_type.create(operands=block.args, result_types=[type])
    block.add_ops([op, s.parser.ctx.get_op("stablehlo.return").create(operands=op.results)])
    return Region(block)


def _reducer(s: Syntax) -> Region:
    """`reducer(%a: t, %b: t) (%c: u, %d: u) {...}`: the block takes all first ones, then all second ones."""
    s.keyword("reducer")
    first, second = list[Parser.Argument](), list[Parser.Argument]()
    while s.at("("):
        pair = s.parenthesized(s.argument)
        if len(pair) != 2:
            s.parser.raise_error("expected two arguments")
        first.append(pair[0])
        second.append(pair[1])
    return s.parser.parse_region([*first, *second])


def while_loop(s: Syntax) -> Operation:
    """Read `while` with its two regions."""
    names, values = list[UnresolvedOperand](), list[UnresolvedOperand]()

    def carried() -> None:
        names.append(s.parser.parse_unresolved_operand())
        s.punctuation("=")
        values.append(s.parser.parse_unresolved_operand())

    s.parenthesized(carried)
    types: list[Attribute] = []
    if values:
        s.punctuation(":")
        types = s.type_list()
    attributes = s.attributes() if s.parser.parse_optional_keyword("attributes") is not None else {}
    operands = s.resolve(values, types)
    regions: list[Region] = []
    for keyword in ("cond", "do"):
        s.keyword(keyword)
        arguments = [Parser.Argument(n.span, t) for n, t in zip(names, types, strict=True)]
        regions.append(s.parser.parse_region(arguments))
    return s.build(operands, types, attributes, regions)


def manual_computation(s: Syntax) -> Operation:
    """`(%a, %b) in_shardings=[...] out_shardings=[...] manual_axes={...} (%x: t, %y: u) {...} : (t, u) -> v`."""
    values = s.parenthesized(s.parser.parse_unresolved_operand)
    for name in ("in_shardings", "out_shardings"):
        s.keyword(name)
        s.punctuation("=")
        s.properties[name] = s.wrap("sharding_per_value", s.scan(_SHARDINGS, "[<...>, ...]"))
    s.keyword("manual_axes")
    s.punctuation("=")
    s.properties["manual_axes"] = s.wrap("manual_axes", s.scan(_AXES, "{...}"))
    region = s.parser.parse_region(s.parenthesized(s.argument))
    return s.finish(values, [region])


def named_computation(s: Syntax) -> Operation:
    """`<"name">(%a) (%x: t) {...} : (t) -> u`."""
    s.punctuation("<")
    s.properties["name"] = string(s)
    s.punctuation(">")
    values = s.parenthesized(s.parser.parse_unresolved_operand)
    region = s.parser.parse_region(s.parenthesized(s.argument))
    return s.finish(values, [region])
