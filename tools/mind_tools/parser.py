"""
The parser of our tools: xDSL's, with coded errors, bounds, and the place of every op in the text.

Everything it accepts, xdsl-opt accepts too, with the same meaning, except for hex floats in `dense<...>`, which xDSL prints for
NaN and infinity and reads back as other numbers. Whatever the input, it ends in a module or a `MindParseError`.
"""

from __future__ import annotations

import difflib
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnknownLoc,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.exceptions import ParseError, UnregisteredConstructException, VerifyException
from xdsl.utils.lexer import Input, Span

from mind_dialect.errors import MindError, MindParseError, error

from .lexer import CodedLexer, beyond

MAX_DENSE_ELEMENTS = 1 << 24
"""All `dense<...>` literals of a text together may have this many elements; `mind.constant fill` has no such bound."""
MAX_ALIAS_USES = 1 << 20
"""Aliases of aliases may expand to this many uses."""
MAX_WIDTH = (1 << 24) - 1
"""The widest integer type, as in MLIR."""

_CODES: tuple[tuple[re.Pattern[str], str, dict[str, Any]], ...] = tuple(
    (re.compile(pattern, re.DOTALL), code, context)
    for pattern, code, context in (
        (r"Unexpected character: (?P<char>.)", "E1002", {}),
        (r"Expected suffix identifier after|@ identifier expected to start", "E1002", {"char": "%#!^@"}),
        (r"undefined symbol alias '(?P<given>[^']*)'", "E4000", {"expected": "a defined alias"}),
        (r"SSA value used before assignment", "E4001", {"operand": None}),
        (r"expected (?P<expected>\d+) operand types but had (?P<actual>\d+)", "E2007", {}),
        (r"Operation has (?P<expected>\d+) results, but was given (?P<actual>\d+)", "E2007", {}),
        (
            r"operand is used with type (?P<actual>.*), but has been previously used or defined with type (?P<expected>.*)",
            "E2001",
            {},
        ),
        (r"Result .* is defined with type (?P<expected>.*), but used with type (?P<actual>.*)", "E2001", {}),
    )
)
"""xDSL's messages that have a code of their own, with what their context takes from the message; all others are E1007."""


_UNREGISTERED = re.compile(r"'([^']*)' is not registered")
OURS = ("mind", "ptir", "shape")
"""The dialects in which an unknown op is looked for, whatever dialect it was said to be of."""
MANY = 40
"""As many names of a dialect, or fewer, are shown in full where none is near to the one that was given."""

_REWORDED = {
    "Expected shape type.": "expected an element type, such as f32, i64 or index",
    " in block definition": "expected an op, a block label or '}'",
    "Could not parse entire input!": "expected an op or an alias",
    "Expected suffix identifier after {first_char}": "expected a name or number after %, #, ! or ^",
}
"""Messages of xDSL's that do not say what would be right."""


def syntax_error(message: str) -> MindError:
    """The coded error for a message of xDSL's parser."""
    lowered = message[:1].lower() + message[1:].rstrip("!.") if message[1:2].islower() else message
    text = _REWORDED.get(message, lowered)
    for pattern, code, context in _CODES:
        if (match := pattern.match(message)) is not None:
            found: dict[str, Any] = match.groupdict()
            return error(code, text, **(context | found))
    return error("E1007", text)


class _Aliases(dict[str, Attribute]):
    """Attribute aliases that count how often each is expanded, aliases within aliases included."""

    def __init__(self) -> None:
        super().__init__()
        self.uses = 0
        self.weights: dict[str, int] = {}

    def __getitem__(self, name: str) -> Attribute:
        self.uses += self.weights.get(name, 1)
        if self.uses > MAX_ALIAS_USES:
            raise error("E1007", f"aliases expand to more than {MAX_ALIAS_USES} uses")
        return super().__getitem__(name)


class MindParser(Parser):
    """Parse MLIR text; `line_offset` is added to the lines of op locations. Raises `MindParseError` only."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>", line_offset: int = 0, byte_offset: int = 0):
        text = decode(input, name, byte_offset) if isinstance(input, bytes) else input
        super().__init__(ctx, "", name)
        self.attribute_aliases = _Aliases()
        source = Input(text, name)
        self._file = StringAttr(name)
        self._line_offset = line_offset
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._stated_unknown = UnknownLoc()
        self._columns: dict[int, IntAttr] = {}
        self._line = (0, IntAttr(0))
        self._first_uses: dict[str, Span] = {}
        self._dense_elements = 0
        self._splat, self._splat_type = False, cast(Any, None)
        try:
            self._parser_state = ParserState(CodedLexer(source))
        except ParseError as e:
            raise coded(e) from None

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as e:
            if self.forward_ssa_references and e.msg.startswith("values used but not defined"):
                raise self._undefined() from None
            if e.msg.startswith("operand is used with type") and self._states_one_type(e.span):
                plain = syntax_error(e.msg)
                raise MindParseError(e.span, MindError(plain.code, f"{plain.message}; {_TYPES_DIFFER}", plain.context)) from None
            if (unregistered := _UNREGISTERED.fullmatch(e.msg)) is not None:
                name = unregistered[1]
                start = self.lexer.input.content.rfind(name, 0, e.span.end)
                span = e.span if start < 0 else Span(start, start + len(name), self.lexer.input)
                raise MindParseError(span, self._unregistered(name)) from None
            raise coded(e) from None
        except Exception as e:
            raise MindParseError(self._current_token.span, foreign(e)) from e

    def _states_one_type(self, span: Span[Any]) -> bool:
        """Whether a place stands in an op of ours, on a line that states one type for all of its operands and its result."""
        text = self.lexer.input.content
        before, rest = text[text.rfind("\n", 0, span.start) + 1 : span.start], text[span.start :].partition("\n")[0]
        return _OURS.search(before) is not None and not {"(", "->"} & set(re.findall(r"\(|->", rest.rpartition(" : ")[2]))

    def _undefined(self) -> MindParseError:
        name = next(iter(self.forward_ssa_references))
        span = self._first_uses.get(name, self._current_token.span)
        others = [f"%{n}" for n in self.forward_ssa_references if n != name][:5]
        also = f" (nor are {', '.join(others)})" if others else ""
        return MindParseError(span, error("E4001", f"%{name} is used but not defined{also}", operand=f"%{name}"))

    # Places

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        op = super().parse_operation()
        if isinstance(op.location, UnknownLoc) and op.location is not self._stated_unknown:
            op.location = self._location(start)
        return op

    def parse_optional_location(self) -> LocationAttr | None:
        location = super().parse_optional_location()
        return self._stated_unknown if isinstance(location, UnknownLoc) else location

    def _location(self, start: int) -> FileLineColLoc:
        """Where the name of the op stands that starts, maybe with its results, at `start`."""
        if self.lexer.input.content[start] == "%":
            match = _RESULTS.match(self.lexer.input.content, start)
            start = start if match is None else match.end()
        line = bisect_right(self._line_starts, start)
        column = start - self._line_starts[line - 1] + 1
        if self._line[0] != line:
            self._line = (line, IntAttr(line + self._line_offset))
        if (stored := self._columns.get(column)) is None:
            stored = self._columns[column] = IntAttr(column)
        return FileLineColLoc(self._file, self._line[1], stored)

    # Names

    def _get_op_by_name(self, name: str) -> type[Operation]:
        """As xDSL's, but an unknown op of a known dialect is refused even where unknown dialects are allowed."""
        known = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if known is not None and known.name != UnregisteredOp.name:
            return known
        dialect = self.ctx.get_optional_dialect(name.partition(".")[0]) if "." in name else None
        if known is not None and dialect is None:
            return known
        expected, shown = self._instead_of(name, [] if dialect is None else [op.name for op in dialect.operations])
        message = f"unknown op {name!r}, expected {shown}"
        start = max(self.lexer.input.content.rfind(name, 0, self.pos), 0)
        span = Span(start, start + len(name), self.lexer.input)
        raise MindParseError(span, error("E4000", message, given=name, expected=expected))

    def _instead_of(self, name: str, names: Sequence[str]) -> tuple[list[str], str]:
        """What an unknown op may have meant, and how to say so: the same op in a dialect of ours, else the nearest of `names`."""
        short = name.rpartition(".")[2]
        ours = (dialect for dialect in (self.ctx.get_optional_dialect(own) for own in OURS) if dialect is not None)
        same = [op.name for dialect in ours for op in dialect.operations if op.name.endswith(f".{short}")]
        shorts = {n.partition(".")[2]: n for n in names}
        close = same or [shorts[n] for n in difflib.get_close_matches(short, shorts, n=3)]
        if close or not names:
            expected = close or ["an op of a registered dialect"]
            return expected, " or ".join(expected)
        some = list(names if len(names) <= MANY else names[: MANY // 4])
        return some, f"one of {', '.join(some)}" + (f" and {len(names) - len(some)} more" if len(names) > len(some) else "")

    def _unregistered(self, name: str) -> MindError:
        """The error for a type or attribute that no dialect has, with what is near."""
        dialect = self.ctx.get_optional_dialect(name.partition(".")[0])
        names = [] if dialect is None else [attribute.name for attribute in dialect.attributes]
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.7)
        expected = close or names[:MANY] or ["a type or attribute of a registered dialect"]
        message = f"{name!r} is not registered, expected {' or '.join(expected)}"
        return error("E4000", message, given=name, expected=expected)

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue[Any]:
        name = operand.operand_name
        if name not in self.ssa_values:
            self._first_uses.setdefault(name, operand.span)
        return super().resolve_operand(operand, type)

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        if (first := self.ssa_values.get(name)) is not None:
            owner = first[0].owner if first else None
            place = owner.location if isinstance(owner, Operation) else None
            at = f", at line {place.line.data}" if isinstance(place, FileLineColLoc) else ""
            message = f"%{name} is already defined{at}; every value has its own name"
            raise MindParseError(span, error("E4002", message, value=f"%{name}", first=str(place) if place else None))
        super()._register_ssa_definition(name, values, span)

    def _parse_alias_def(self) -> None:
        name, aliases = self._current_token.text, self.attribute_aliases
        assert isinstance(aliases, _Aliases)
        before = aliases.uses
        super()._parse_alias_def()
        aliases.weights[name] = 1 + aliases.uses - before

    # Numbers and literals

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        span = self._current_token.span
        if span.len > 10 and self._builtin_integer_type_regex.match(span.text) is not None:
            message = f"integer type {span.text[:20]}... is too wide, at most {MAX_WIDTH} bits"
            raise MindParseError(span, error("E1005", message, text=span.text[:20]))
        type = super()._parse_optional_integer_or_float_type()
        if isinstance(type, IntegerType) and cast(Any, type).bitwidth > MAX_WIDTH:
            message = f"integer type {span.text} is too wide, at most {MAX_WIDTH} bits"
            raise MindParseError(span, error("E1005", message, text=span.text))
        return type  # pyright: ignore[reportUnknownVariableType]

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr[Any] | FloatAttr[Any] | None:
        first = self._current_token
        attr: Any = self._ranged(super().parse_optional_builtin_int_or_float_attr, "a float attribute", first.span)
        value = attr.value.data if type(attr) is FloatAttr else 0.0
        if math.isinf(value) and first.text[:2] not in ("0x", "0X"):
            raise MindParseError(Span(first.span.start, self.pos, first.span.input), beyond("a number", str(attr.type)))
        return attr

    def _ranged(self, parse: Callable[[], Any], what: str, span: Span) -> Any:
        """Call `parse`; an `OverflowError` of a float that its type cannot hold becomes E4005 at `span`."""
        try:
            return parse()
        except OverflowError:
            raise MindParseError(span, beyond(f"a number in {what}", "its type")) from None

    def _parse_builtin_densearray_attr(self) -> Any:
        return self._ranged(super()._parse_builtin_densearray_attr, "array<...>", self._current_token.span)

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> Any:
        """As xDSL's, but a splat is read as one element and repeated as bytes, which is a thousand times faster."""
        text, after = self.lexer.input.content, self._current_token.span.end
        blank = _BLANK.match(text, after)
        splat = text[after if blank is None else blank.end()] not in '[">'
        if type is not None:
            self._count_elements(type)
            attr = super().parse_dense_int_or_fp_elements_attr(_scalar(type) if splat else type)
        else:
            self._splat, outer = splat, self._splat
            attr = super().parse_dense_int_or_fp_elements_attr(None)
            self._splat, type = outer, self._splat_type
        return DenseIntOrFPElementsAttr(type, BytesAttr(attr.data.data * math.prod(type.get_shape()))) if splat else attr

    def _parse_dense_literal_type(self) -> Any:
        splat, self._splat = self._splat, False
        type: Any = super()._parse_dense_literal_type()
        self._count_elements(type)
        if splat:
            self._splat_type, type = type, _scalar(type)
        return type

    def _count_elements(self, type: Any) -> None:
        count = math.prod(type.get_shape())
        self._dense_elements += count
        if self._dense_elements > MAX_DENSE_ELEMENTS:
            issue = f"the dense literals have more than {MAX_DENSE_ELEMENTS} elements together (this one: {_short(count)})"
            message = f"{issue}; pass large data as arguments, or use mind.constant fill"
            raise MindParseError(self._current_token.span, error("E4005", message, dtype=str(type.element_type), issue=issue))

    class _TensorLiteralElement(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
        """An element of `dense<...>`: a hex integer of a float type is its bit pattern."""

        def to_type(self, parser: AttrParser, type: Any) -> Any:
            if not isinstance(type, AnyFloat):
                return super().to_type(parser, type)
            text = self.span.text
            try:
                if isinstance(self.value, int) and text[:2].lower() == "0x":
                    return type.unpack(self.value.to_bytes(type.compile_time_size, "little"), 1)[0]
                value = self.to_float(parser)
                if abs(value) > 240 and not math.isfinite(type.unpack(type.pack((value,)), 1)[0]):
                    raise OverflowError
                return value
            except OverflowError:
                raise MindParseError(self.span, beyond(text, str(type))) from None


_OURS = re.compile(r"\b(?:mind|ptir)\.\w+ ")
_TYPES_DIFFER = "one type is that of all operands and of the result; where they differ, write (types) -> type"
_RESULTS = re.compile(r"[^=]*=\s*")
_BLANK = re.compile(r"(?:\s+|//[^\n]*)*")


def _scalar(type: Any) -> TensorType[Any]:
    return TensorType(type.element_type, [])


def decode(data: bytes, name: str, byte_offset: int = 0) -> str:
    """The text of `data`; E1001 at the first byte that is not UTF-8, its offset counted from `byte_offset`."""
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        offset = byte_offset + e.start
        shown = ", ".join(f"0x{b:02X}" for b in data[e.start : e.start + 4])
        err = error("E1001", f"invalid UTF-8 at offset {offset}: [{shown}]", offset=offset, bytes=data[e.start : e.start + 4])
        raise MindParseError(Span(e.start, e.start + 1, Input(data, name)), err) from None


def coded(e: ParseError) -> MindParseError:
    """`e` as a coded error at the same place."""
    if isinstance(e, MindParseError):
        return e
    return MindParseError(e.span, syntax_error(e.msg))


def foreign(e: Exception) -> MindError:
    """The coded error for what else xDSL's parser, or an op's or attribute's own, raises on malformed text."""
    message = str(e).splitlines()[0] if str(e) else type(e).__name__
    match e:
        case MindError():
            return e
        case RecursionError():
            return error("E1007", "nested too deeply")
        case MemoryError():
            return error("E6004", "not enough memory to read this", shape=None, dtype=None, backend="parser")
        case UnregisteredConstructException():
            return error("E4000", message, given=message, expected="a registered name")
        case VerifyException():
            return error("E4016", f"does not verify: {message}", issue=message)
        case OverflowError():
            return error("E4005", f"a number that its type cannot hold: {message}", dtype=None, issue=message)
        case ValueError() if "limit" in message and "digits" in message:
            return error("E1005", "a number of too many digits", text=message)
        case _:
            return error("E1007", f"cannot be read: {message}")


def _short(n: int) -> str:
    return str(n) if n < 10**20 else "more than 10^20"
