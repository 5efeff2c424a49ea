"""Ops that give memory, addresses into it, and copies."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from mind_dialect.by_identity import by_identity
from mind_dialect.errors import error
from mind_dialect.ptir.attributes import LITERAL, Int, Word
from mind_dialect.ptir.literal import PtirLiteralAttr, static_spec

from .base import Flag, LaunchOp, print_types
from .ref import Ref, read_ref


class Space(StrEnum):
    """Who gives the memory of an allocation, and for how long."""

    ARENA = "arena"
    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    KEPT = "kept"
    RECORD = "record"
    STATE = "state"
    HOST = "host"


NUMBERED = frozenset({Space.INPUT, Space.OUTPUT, Space.CONSTANT, Space.KEPT})
"""Spaces with several allocations that are known from outside, by number."""
PLANNED = frozenset({Space.ARENA, Space.KEPT, Space.RECORD, Space.STATE})
"""Spaces that are one block of memory, in which each allocation gets an offset."""
ALIGNMENT = 64
"""Bytes that the address of an allocation is a multiple of, if it says nothing: a cache line, and the widest vector."""
_SPACE = Word(*Space)
_SPACES = {space: StringAttr(space) for space in Space}


@by_identity
def _kind(space: Attribute) -> Space:
    return Space(_SPACE.value(space))


@irdl_op_definition
class AllocOp(LaunchOp):
    """
    Memory for one array in row-major order, and its address.

    `at` is the byte offset within its space, as `launch-assign-memory` states it. An output, or a temporary, `over` a donated
    input has its memory: as many elements of the same dtype. Constants state their literal; a `fixed` input is the same array in
    each call.
    """

    name = "launch.alloc"
    WORDS: ClassVar = {"literal": LITERAL, "at": Int(), "align": Int(), "donated": Flag(), "fixed": Flag()}
    space = prop_def()
    index = opt_prop_def()
    literal = opt_prop_def()
    at = opt_prop_def()
    align = opt_prop_def()
    donated = opt_prop_def()
    fixed = opt_prop_def()
    over = opt_operand_def()
    res = result_def()

    def __init__(
        self,
        type: Attribute,
        space: Space,
        index: int | None = None,
        *,
        literal: PtirLiteralAttr | None = None,
        at: int | None = None,
        align: int | None = None,
        donated: bool = False,
        fixed: bool = False,
        over: SSAValue | None = None,
    ):
        properties = self.words_of({"literal": literal, "at": at, "align": align, "donated": donated, "fixed": fixed})
        stored = {"space": _SPACES[space], **({} if index is None else {"index": IntegerAttr(index, i64)}), **properties}
        Operation.__init__(self, operands=[] if over is None else [over], result_types=[type], properties=stored)

    @property
    def kind(self) -> Space:
        """The space; E8002 for another word."""
        return _kind(self.properties["space"])

    @property
    def number(self) -> int | None:
        """Return the number of the input, output, constant or kept block."""
        return None if self.index is None else Int().value(self.index)

    @property
    def ref(self) -> Ref:
        """The layout of what is allocated."""
        return read_ref(self.res.type)

    @property
    def literal_value(self) -> PtirLiteralAttr:
        """The literal of a constant."""
        return self.word("literal")

    def become_output(self, index: int) -> None:
        """Let the caller of the function give this memory, as result `index`."""
        self.space, self.index = _SPACES[Space.OUTPUT], IntegerAttr(index, i64)

    def check_op(self) -> None:
        space, number, align = self.kind, self.number, self.word("align", 1)
        if not self.ref.is_row_major:
            raise error(
                "E2001", f"allocates {self.res.type}, expected row-major", expected="row-major", actual=str(self.res.type)
            )
        if (number is not None) != (space in NUMBERED) or (number or 0) < 0:
            raise self.invalid("index", f"a number from 0 up exactly for {', '.join(sorted(NUMBERED))}")
        if align < 1 or align & (align - 1):
            raise self.invalid("align", "a power of two")
        at = self.word("at")
        if at is not None and (space not in PLANNED or at < 0 or at % align):
            raise self.invalid("at", f"a multiple of {align} from 0 up, in {', '.join(sorted(PLANNED))} only")
        self._check_sources(space)

    def _check_sources(self, space: Space) -> None:
        """Raise unless constants have literals, inputs alone are donated, and outputs alone take over what is donated."""
        if (self.literal is not None) != (space is Space.CONSTANT):
            raise self.invalid("literal", "a literal exactly for constants")
        literal = self.word("literal")
        if literal is not None and static_spec(literal.type) != (self.ref.dtype, self.ref.shape):
            raise error(
                "E2001",
                f"literal {literal.type}, expected {self.ref.tensor}",
                expected=str(self.ref.tensor),
                actual=str(literal.type),
            )
        for name in ("donated", "fixed"):
            if name in self.properties and space is not Space.INPUT:
                raise self.invalid(name, f"nothing but inputs to be {name}")
        if self.donated is not None and self.fixed is not None:
            raise self.invalid("fixed", "a donated input to change from call to call")
        if self.over is None:
            return
        owner = self.over.owner
        given = isinstance(owner, AllocOp) and owner.donated is not None and is_alike(owner.ref, self.ref)
        if space not in (Space.OUTPUT, Space.ARENA) or not given or self.at is not None:
            expected = "an output or a temporary over a donated input with as many elements of its dtype"
            raise error(
                "E8002", f"{space} over {self.over.type}, expected {expected}", attribute="over", value=str(self.over.type)
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {_SPACE.value(self.space)}")
        if self.number is not None:
            printer.print_string(f" {self.number}")
        if self.over is not None:
            printer.print_string(" over ")
            printer.print_operand(self.over)
            if self.over.type != self.res.type:
                print_types(printer, (self.over,))
        self.print_words(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.res.type)

    @classmethod
    def parse(cls, parser: Parser) -> AllocOp:
        space = _SPACE.parse(parser)
        index = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        over = parser.parse_unresolved_operand() if parser.parse_optional_keyword("over") is not None else None
        types = None if over is None else parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        properties, attributes = cls.parse_words(parser)
        parser.parse_punctuation(":")
        type = parser.parse_type()
        given = [] if over is None else [over]
        operands = parser.resolve_operands(given, [type] * len(given) if types is None else types, parser.pos)
        number = {} if index is None else {"index": IntegerAttr(index, i64)}
        return cls.create(
            operands=operands, result_types=[type], properties={"space": space, **number, **properties}, attributes=attributes
        )


@irdl_op_definition
class ViewOp(LaunchOp):
    """
    Another layout of what lies at an address, `offset` elements from it.

    Every element of the view lies between the first and the last one of its source. The dtype may be another whose size divides
    that of the source's elements, as that of the parts of complex numbers: `offset` counts elements of the view.
    """

    name = "launch.view"
    WORDS: ClassVar = {"offset": Int()}
    source = operand_def()
    offset = opt_prop_def()
    res = result_def()

    def __init__(self, source: SSAValue, type: Attribute, offset: int = 0):
        Operation.__init__(self, operands=[source], result_types=[type], properties=self.words_of({"offset": offset or None}))

    def check_op(self) -> None:
        source, view, offset = read_ref(self.source.type), read_ref(self.res.type), self.word("offset", 0)
        if source.dtype.size % view.dtype.size:
            lhs, rhs = str(source.dtype), str(view.dtype)
            message = f"views {lhs} as {rhs}, expected a dtype whose size divides {source.dtype.size} bytes"
            raise error("E2004", message, lhs=lhs, rhs=rhs)
        each = source.dtype.size // view.dtype.size
        reach, room = (
            range(view.span.start + offset, view.span.stop + offset),
            (source.span.start * each, source.span.stop * each),
        )
        if view.count and not (room[0] <= reach.start and reach.stop <= room[1]):
            expected = f"all in {room[0]} to {room[1] - 1}"
            message = f"reaches elements {reach.start} to {reach.stop - 1} of its source, expected {expected}"
            raise error("E4012", message, dimension=0, bounds=(reach.start, reach.stop), extent=room[1])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        self.print_words(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" to ")
        printer.print_attribute(self.res.type)

    @classmethod
    def parse(cls, parser: Parser) -> ViewOp:
        source = parser.parse_unresolved_operand()
        properties, attributes = cls.parse_words(parser)
        parser.parse_punctuation(":")
        operands = [parser.resolve_operand(source, parser.parse_type())]
        parser.parse_characters("to")
        return cls.create(operands=operands, result_types=[parser.parse_type()], properties=properties, attributes=attributes)


@irdl_op_definition
class CopyOp(LaunchOp):
    """The elements of one array put into another of the same extents."""

    name = "launch.copy"
    source = operand_def()
    target = operand_def()
    assembly_format = "$source `to` $target attr-dict `:` type($source) `to` type($target)"

    def __init__(self, source: SSAValue, target: SSAValue):
        super().__init__(operands=[source, target])

    def effects(self) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        return (self.source,), (self.target,)

    def check_op(self) -> None:
        source, target = read_ref(self.source.type), read_ref(self.target.type)
        if source.shape != target.shape:
            raise error(
                "E3003", f"copies {source.shape} to {target.shape}", dimension="copied", extents=(source.shape, target.shape)
            )
        if source.dtype.size != target.dtype.size:
            sizes = (str(source.dtype), str(target.dtype))
            raise error("E2004", f"copies {sizes[0]} to {sizes[1]}, expected one size", lhs=sizes[0], rhs=sizes[1])
        check_writable(target, "target")


def is_alike(one: Ref, other: Ref) -> bool:
    """Return whether what one allocation holds fits into another: as many elements of the same dtype."""
    return one.dtype is other.dtype and one.count == other.count


def check_writable(layout: Ref, what: str) -> None:
    """Raise E8002 for an array of which several elements share a place: writes would depend on their order."""
    if layout.repeats:
        message = f"{what} has strides {layout.strides} for extents {layout.shape}, expected none to be 0"
        raise error("E8002", message, attribute="strides", value=layout.strides)
