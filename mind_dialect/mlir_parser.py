"""
The parser of our tools: xDSL's, with coded errors, bounds, and the place of every op in the text.

Everything it accepts, xdsl-opt accepts too, with the same meaning, except for hex floats in `dense<...>`, which xDSL prints for
NaN and infinity and reads back as other numbers. Whatever the input, it ends in a module or a `MindParseError`.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    UnknownLoc,
    UnregisteredOp,
)
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.exceptions import ParseError, UnregisteredConstructException, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .errors import MindError, MindParseError, error
from .mlir_aliases import AliasParser
from .mlir_lexer import CodedLexer
from .mlir_resources import ResourceParser
from .mlir_types import TypeParser
from .names import note_names
from .op import CodedOp
from .profiles import Profile
from .program import functions, state_names
from .source_text import decode

_CODES: tuple[tuple[re.Pattern[str], str, dict[str, Any]], ...] = tuple(
    (re.compile(pattern, re.DOTALL), code, context)
    for pattern, code, context in (
        (r"Unexpected character: (?P<char>.)", "E1002", {}),
        (r"Expected suffix identifier after|@ identifier expected to start", "E1002", {"char": "%#!^@"}),
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

_NOTHING_THERE = "Could not parse entire input!"
_REWORDED = {
    "Expected shape type.": "expected an element type, such as f32, i64 or index",
    " in block definition": "expected an op, a block label or '}'",
    _NOTHING_THERE: "expected an op or an alias",
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


class MindParser(AliasParser, ResourceParser, TypeParser):
    """Parse MLIR text; `line_offset` is added to the lines of op locations. Raises `MindParseError` only."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>", line_offset: int = 0, byte_offset: int = 0):
        text = decode(input, name, byte_offset)
        super().__init__(ctx, "", name)
        source = Input(text, name)
        self._file = StringAttr(name)
        self._line_offset = line_offset
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._stated_unknown = UnknownLoc()
        self._columns: dict[int, IntAttr] = {}
        self._line = (0, IntAttr(0))
        self._is_generic = False
        self._first_uses: dict[str, Span] = {}
        self._written: dict[SSAValue, str] = {}
        self._input_names: dict[SSAValue, str] = {}
        try:
            self._parser_state = ParserState(CodedLexer(source))
        except ParseError as e:
            raise coded(e) from None

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            module = super().parse_module(allow_implicit_module)
            self._name_inputs(module)
            return module
        except ParseError as e:
            if allow_implicit_module and e.msg == _NOTHING_THERE and self._current_token.kind is MLIRTokenKind.EOF:
                return ModuleOp([])  # as in MLIR, of a text that holds no op
            if self.forward_ssa_references and e.msg.startswith("values used but not defined"):
                raise self._undefined() from None
            if e.msg.startswith("operand is used with type") and (cause := self._wrong_definition(e.span)) is not None:
                raise cause from None
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

    def _wrong_definition(self, span: Span[Any]) -> MindParseError | None:
        """The error of the op that defines a value used with another type, if the type that it declares is not what it infers."""
        values = self.ssa_values.get(span.text[1:], ())
        op = values[0].owner if values else None
        if not isinstance(op, CodedOp) or not isinstance(op.location, FileLineColLoc):
            return None
        found: list[MindError] = []
        for profile in Profile:
            try:
                op.check(profile)
            except MindError as e:
                found.append(e)
        if len(found) < len(Profile) or found[0].code not in _OF_RESULT_TYPES:
            return None
        line, column = op.location.line.data - self._line_offset, op.location.column.data
        start = self._line_starts[line - 1] + column - 1
        return MindParseError(Span(start, start + len(op.name), self.lexer.input), found[0])

    def _states_one_type(self, span: Span[Any]) -> bool:
        """
        Return whether a position is in an op of our dialects, on a line that states one type for all operands and the result.
        """
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
        start = self._name_of_op(self._current_token.span.start)
        self._is_generic = self.lexer.input.content[start : start + 1] == '"'
        op = super().parse_operation()
        names = [self._written.pop(result) for result in op.results if result in self._written]
        if isinstance(op.location, UnknownLoc) and op.location is not self._stated_unknown:
            op.location = self._location(start)
            note_names(op.location, names)
        return op

    def parse_optional_location(self) -> LocationAttr | None:
        location = super().parse_optional_location()
        return self._stated_unknown if isinstance(location, UnknownLoc) else location

    def _name_of_op(self, start: int) -> int:
        """Find the name of the op that starts, perhaps with its results, at `start`."""
        match = (
            _RESULTS.match(self.lexer.input.content, start) if self._current_token.kind is MLIRTokenKind.PERCENT_IDENT else None
        )
        return start if match is None else match.end()

    def _location(self, start: int) -> FileLineColLoc:
        line = bisect_right(self._line_starts, start)
        column = start - self._line_starts[line - 1] + 1
        if self._line[0] != line:
            self._line = (line, IntAttr(line + self._line_offset))
        if (stored := self._columns.get(column)) is None:
            stored = self._columns[column] = IntAttr(column)
        return FileLineColLoc(self._file, self._line[1], stored)

    # Names

    def _get_op_by_name(self, name: str) -> type[Operation]:
        """As xDSL's; where unknown ops are allowed, they must be in the generic form, as no other form of them is known."""
        known = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if known is not None and (known.name != UnregisteredOp.name or self._is_generic):
            return known
        dialect = self.ctx.get_optional_dialect(name.partition(".")[0]) if "." in name else None
        expected, shown = self._instead_of(name, [] if dialect is None else [op.name for op in dialect.operations])
        message = f"unknown op {name!r}, expected {shown}"
        start = max(self.lexer.input.content.rfind(name, 0, self.pos), 0)
        span = Span(start, start + len(name), self.lexer.input)
        raise MindParseError(span, error("E4000", message, given=name, expected=expected))

    def _instead_of(self, name: str, names: Sequence[str]) -> tuple[list[str], str]:
        """
        Return a suggestion for an unknown op, with its wording: the same op in one of our dialects, else the nearest of `names`.
        """
        short = name.rpartition(".")[2]
        ours = (dialect for dialect in (self.ctx.get_optional_dialect(own) for own in OURS) if dialect is not None)
        same = [op.name for dialect in ours for op in dialect.operations if op.name.endswith(f".{short}")]
        if name.startswith("mhlo.") and self.ctx.get_optional_op(f"stablehlo.{short}") is not None:
            same = [f"stablehlo.{short}"]  # which has the same text
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
        if any(value.first_use is None for value in self.forward_ssa_references.get(name, {}).values()):
            message = f"%{name} is used by the op in whose regions it is defined"  # the op is not built yet
            raise MindParseError(self._first_uses.get(name, span), error("E4001", message, operand=f"%{name}"))
        super()._register_ssa_definition(name, values, span)
        self._written |= {v: name if len(values) == 1 else f"{name}#{i}" for i, v in enumerate(values) if isinstance(v, OpResult)}
        if len(values) == 1 and isinstance(values[0], BlockArgument) and values[0].name_hint is not None:
            self._input_names[values[0]] = name

    def _name_inputs(self, module: ModuleOp) -> None:
        """
        State the names of the inputs of a function of which xDSL shortens one, `%x_1` to `x`.

        xDSL takes the digits for a suffix of its own, so without this `@f(%x_0, %x)` has the inputs `x` and `x_1`, in that
        order. Only functions of modules with ops of ours have named inputs.
        """
        shortened = {value for value, name in self._input_names.items() if value.name_hint != name}
        if shortened and any(op.dialect_name() in OURS for op in module.walk()):
            for func in functions(module):
                if func.body.blocks and not shortened.isdisjoint(func.body.blocks[0].args):
                    state_names(func, self._input_names)


_OURS = re.compile(r"\b(?:mind|ptir)\.\w+ ")
_OF_RESULT_TYPES = frozenset({"E4015", "E9003", "E3007"})
"""The errors that say that an op declares another type than it infers."""
_TYPES_DIFFER = "one type is that of all operands and of the result; where they differ, write (types) -> type"
_RESULTS = re.compile(r"[^=]*=(?:\s+|//[^\n]*)*")


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
            why = f": {message}" if str(e) else f"; xDSL's parser gives no reason ({message})"
            return error("E1007", f"cannot be read{why}")
