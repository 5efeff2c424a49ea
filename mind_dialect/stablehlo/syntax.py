"""
Text forms of StableHLO, CHLO and Shardy ops: their parts, and the values of their properties.

The forms themselves are in `forms`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    StringAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand

T = TypeVar("T")
Property = tuple[str, Callable[["Syntax"], Attribute]]
ANGLES = re.compile(r"<[^<>]*>")


class Syntax:
    """The parts of text forms; the parser is behind the op's name."""

    def __init__(self, op_type: type[Operation], parser: Parser):
        self.op_type, self.parser = op_type, parser
        self.properties: dict[str, Attribute] = {}

    # Tokens

    def at(self, text: str) -> bool:
        """Return whether the next token is `text`."""
        return cast(Any, self.parser)._current_token.text == text

    def at_value(self) -> bool:
        """Return whether an SSA value comes next."""
        return cast(Any, self.parser)._current_token.text[:1] == "%"

    def punctuation(self, text: Any) -> None:
        """Read one punctuation mark."""
        self.parser.parse_punctuation(text)

    def accept(self, text: Any) -> bool:
        """Read a punctuation mark if it comes next."""
        return self.parser.parse_optional_punctuation(text) is not None

    def word(self) -> str:
        """Read a bare word."""
        return self.parser.parse_identifier()

    def keyword(self, text: str) -> None:
        """Read a given word."""
        self.parser.parse_keyword(text)

    def scan(self, pattern: re.Pattern[str], expected: str) -> str:
        """Read text that is no sequence of MLIR tokens, from the next token on."""
        parser = cast(Any, self.parser)
        match = pattern.match(parser.lexer.input.content, parser._current_token.span.start)
        if match is None:
            self.parser.raise_error(f"expected {expected}")
        parser._resume_from(match.end())
        return match[0]

    # Parts

    def values(self) -> list[UnresolvedOperand]:
        """Read values separated by commas, up to what is no value; a last comma is read too."""
        found: list[UnresolvedOperand] = []
        while self.at_value():
            found.append(self.parser.parse_unresolved_operand())
            if not self.accept(","):
                break
        return found

    def argument(self) -> Parser.Argument:
        """Read `%x: type`, and the location that may follow."""
        argument = self.parser.parse_argument()
        self.parser.parse_optional_location()
        return argument

    def parenthesized(self, read: Callable[[], T]) -> list[T]:
        """Read `(a, b)`."""
        return self.parser.parse_comma_separated_list(Parser.Delimiter.PAREN, read)

    def bracketed(self, read: Callable[[], T]) -> list[T]:
        """Read `[a, b]`."""
        return self.parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, read)

    def integers(self) -> list[int]:
        """Read `[1, 2]`."""
        return self.bracketed(self.parser.parse_integer)

    def attributes(self) -> dict[str, Attribute]:
        """Read `{...}` if it is there."""
        return self.parser.parse_optional_attr_dict()

    def types(self, count: int) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """Read `: (a, b) -> c`, `: a -> b`, or one type (or one each) for operands and results."""
        self.punctuation(":")
        if self.at("("):
            return self.function_type()
        types = self.type_list()
        inputs = types * count if len(types) == 1 else types
        if self.accept("->"):
            return inputs, self.results()
        return inputs, types

    def type_list(self) -> list[Attribute]:
        """Read types separated by commas."""
        types: list[Attribute] = [self.parser.parse_type()]
        while self.accept(","):
            types.append(self.parser.parse_type())
        return types

    def results(self) -> list[Attribute]:
        """Read `t` or `(t, u)`."""
        return list(self.parenthesized(self.parser.parse_type)) if self.at("(") else [self.parser.parse_type()]

    def function_type(self) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """Read `(a, b) -> c`."""
        type: FunctionType = self.parser.parse_function_type()
        return type.inputs.data, type.outputs.data

    def resolve(self, values: Sequence[UnresolvedOperand], types: Sequence[Attribute]) -> Sequence[SSAValue]:
        """The values of these types."""
        return self.parser.resolve_operands(values, types, self.parser.pos)

    def build(
        self,
        operands: Sequence[SSAValue],
        results: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ) -> Operation:
        """The op with the properties collected so far."""
        return self.op_type.create(
            operands=operands,
            result_types=results,
            properties=self.properties,
            attributes=dict(attributes or {}),
            regions=regions,
        )

    def finish(self, values: Sequence[UnresolvedOperand], regions: Sequence[Region] = ()) -> Operation:
        """Read attributes and types, and build the op."""
        attributes = self.attributes()
        inputs, outputs = self.types(len(values))
        return self.build(self.resolve(values, inputs), outputs, attributes, regions)

    # Forms

    def plain(self) -> Operation:
        """Operands, attributes, types."""
        read = self.parser.parse_unresolved_operand
        return self.finish(self.parser.parse_comma_separated_list(Parser.Delimiter.NONE, read) if self.at_value() else [])

    def with_properties(self, known: Mapping[str, Property]) -> Operation:
        """Operands, then `name = value` separated by commas."""
        values = self.values()
        while (word := self.parser.parse_optional_identifier()) is not None:
            if word not in known:
                self.parser.raise_error(f"expected one of {', '.join(known)}")
            self.punctuation("=")
            name, read = known[word]
            self.properties[name] = read(self)
            if not self.accept(","):
                break
        return self.finish(values)

    def wrap(self, name: str, text: str) -> Attribute:
        """An attribute of this dialect with the given text."""
        return cast(Any, self.parser.ctx.get_attr(f"{self.op_type.dialect_name()}.{name}"))(text)


def integer_array(values: Iterable[int]) -> DenseArrayBase:
    """`array<i64: ...>`."""
    return DenseArrayBase.from_list(i64, list(values))


def integer_list(s: Syntax) -> Attribute:
    """Read `[1, 2]` as `array<i64: 1, 2>`."""
    return integer_array(s.integers())


def integer(s: Syntax) -> Attribute:
    """Read an integer as `i64`."""
    return IntegerAttr(s.parser.parse_integer(), i64)


def boolean(s: Syntax) -> Attribute:
    """Read `true` or `false` as `i1`."""
    return IntegerAttr(int(s.parser.parse_boolean()), i1)


def string(s: Syntax) -> Attribute:
    """Read a string literal."""
    return StringAttr(s.parser.parse_str_literal())


def word(s: Syntax) -> Attribute:
    """Read a word as a string."""
    return StringAttr(s.word())


def precisions(s: Syntax) -> Attribute:
    """Read `[HIGHEST, DEFAULT]` as attributes of the dialect."""
    return ArrayAttr([s.wrap("precision", word) for word in s.bracketed(s.word)])


def enumeration(name: str) -> Callable[[Syntax], Attribute]:
    """Return a reader of a word as the attribute `name` of the dialect."""
    return lambda s: s.wrap(name, s.word())
