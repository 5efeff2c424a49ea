"""Shared by the ops of the `launch` dialect: optional properties as words of their text, operands with types after a colon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import DenseResourceAttr, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from mind_dialect.codecs import Codec
from mind_dialect.errors import error

from ..coded_op import CodedOp


class Flag(Codec):
    """A property that is there or not; its name is all of its text."""

    kind = "unit"

    @override
    def attribute(self, value: bool) -> Attribute:
        return UnitAttr()

    @override
    def value(self, attribute: Attribute) -> bool:
        if isinstance(attribute, UnitAttr):
            return True
        raise self.wrong(attribute)

    @override
    def print(self, printer: Printer, attribute: Attribute) -> None:
        return

    @override
    def parse(self, parser: Parser) -> Attribute:
        return UnitAttr()


class AnyAttribute(Codec):
    """An attribute of any kind, in its own text."""

    kind = "an attribute"

    @override
    def attribute(self, value: Attribute) -> Attribute:
        return value

    @override
    def value(self, attribute: Attribute) -> Attribute:
        return attribute

    @override
    def print(self, printer: Printer, attribute: Attribute) -> None:
        printer.print_attribute(attribute)

    @override
    def parse(self, parser: Parser) -> Attribute:
        return parser.parse_attribute()


class LaunchOp(CodedOp):
    """
    An op with properties that its text writes as words.

    `WORDS` are optional properties, in the order of the text: a name and its value.
    """

    WORDS: ClassVar[Mapping[str, Codec]] = {}

    def word(self, name: str, default: Any = None) -> Any:
        """Return the value of an optional property; a coded error for one of another kind."""
        found = self.properties.get(name)
        return default if found is None else self.WORDS[name].value(found)

    def check(self) -> None:
        for name in self.WORDS:
            self.word(name)
        self.check_op()

    def check_op(self) -> None:
        """Raise a coded error unless the op is well-formed; its words are."""

    def effects(self) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        """Return the arrays that the op itself reads and writes; ops in its regions have effects of their own."""
        return (), ()

    @property
    def inplace_pairs(self) -> Sequence[tuple[int, int]]:
        """The pairs of numbers of writes and reads that may share memory, each element being read before it is written."""
        return ()

    def invalid(self, name: str, expected: str) -> Exception:
        """Return E8002 for a property whose value is of the right kind and wrong."""
        found = self.properties.get(name)
        given = "absent" if found is None else str(found)
        return error("E8002", f"{name} is {given}, expected {expected}", attribute=name, value=given)

    def print_words(self, printer: Printer) -> None:
        """Write the optional properties, then all other attributes."""
        for name, codec in self.WORDS.items():
            if (found := self.properties.get(name)) is not None:
                printer.print_string(f" {name}" if isinstance(codec, Flag) else f" {name} ")
                if isinstance(found, DenseResourceAttr):  # a literal that is elided, for display only
                    printer.print_attribute(found)
                else:
                    codec.print(printer, found)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse_words(cls, parser: Parser) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
        """Read what `print_words` writes: properties and other attributes."""
        properties = {
            name: codec.parse(parser) for name, codec in cls.WORDS.items() if parser.parse_optional_keyword(name) is not None
        }
        return properties, parser.parse_optional_attr_dict()

    @classmethod
    def words_of(cls, values: Mapping[str, Any]) -> dict[str, Attribute]:
        """Return the properties for Python values, of which None stands for an absent one and False for an absent flag."""
        return {name: cls.WORDS[name].attribute(v) for name, v in values.items() if v is not None and v is not False}


def print_values(printer: Printer, values: Iterable[SSAValue], brackets: str = "()") -> None:
    """Write the names of values between brackets."""
    printer.print_string(brackets[0])
    printer.print_list(values, printer.print_operand)
    printer.print_string(brackets[1])


def print_types(printer: Printer, values: Iterable[SSAValue]) -> None:
    """Write the types of values between parentheses."""
    printer.print_string("(")
    printer.print_list(values, lambda v: printer.print_attribute(v.type))
    printer.print_string(")")


def parse_values(parser: Parser) -> list[UnresolvedOperand]:
    """Read the names of values between parentheses."""
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)


def parse_types(parser: Parser) -> list[Attribute]:
    """Read types between parentheses."""
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
