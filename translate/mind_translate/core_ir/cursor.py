"""The place of the reader in a text, and the values that attributes take there: each read by its kind, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from xdsl.ir import Attribute

from mind_dialect.core.attributes import BooleanCodec, Codec, Integers, PaddingCodec, Scalar
from mind_dialect.errors import MindError, MindParseError, brief, error
from mind_dialect.literals import Number, ragged
from mind_dialect.types import DType, Shape, dtype_named

from .builder import Nested, Symbol
from .lexer import Line, is_word, number, string
from .types import extents

_CLOSERS = {"[": "]", "(": ")"}
_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}
P = ParamSpec("P")
T = TypeVar("T")


class CoreIrCursor:
    """Token `i` of line `number`; the last token of a line is empty."""

    def __init__(self, text: str, name: str):
        self.text, self.name = text, name
        self.lines = text.split("\n")
        self.number = 0
        self.tokens: list[str] = [""]
        self.i = 0

    # Errors

    def fail(self, start: int, err: MindError) -> MindParseError:
        """`err`, from token `start` to the cursor."""
        return self._line().error(start, self.i, err)

    def unexpected(self, expected: str) -> MindParseError:
        """The token at the cursor is not what the grammar wants."""
        return self._line().unexpected(self.i, self.tokens[self.i], expected)

    def coded(self, start: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function`; what it raises is placed from token `start` to the cursor."""
        try:
            return function(*args, **kwargs)
        except MindError as e:
            raise self.fail(start, e) from None

    def _line(self) -> Line:
        return Line(self.text, self.name, sum(len(line) + 1 for line in self.lines[: self.number]), self.lines[self.number])

    # Tokens

    def accept(self, token: str) -> bool:
        """Step over `token` if it is next."""
        if self.tokens[self.i] == token:
            self.i += 1
            return True
        return False

    def expect(self, token: str) -> None:
        """Step over `token`, or E1007."""
        if self.tokens[self.i] != token:
            raise self.unexpected(f"`{token}`")
        self.i += 1

    def word(self, expected: str) -> str:
        """A word: letters, digits, `_` and `.`."""
        if not is_word(token := self.tokens[self.i]):
            raise self.unexpected(expected)
        self.i += 1
        return token

    def name_or_string(self, expected: str) -> str:
        """A word or a quoted string."""
        token = self.tokens[self.i]
        if token[:1] != '"' or len(token) < 2:
            return self.word(expected)
        self.i += 1
        return self.coded(self.i - 1, string, token)

    # Values

    def scalar(self) -> Number:
        """A number."""
        value = self.coded_number()
        if value is None:
            raise self.unexpected("a number")
        self.i += 1
        return value

    def coded_number(self) -> Number | None:
        """The number at the cursor, which stays; None if there is none."""
        try:
            return number(self.tokens[self.i])
        except MindError as e:
            raise self._line().error(self.i, self.i + 1, e) from None

    def integer(self) -> int:
        """A number without point and exponent."""
        value = self.coded_number()
        if not isinstance(value, int):
            raise self.unexpected("an integer")
        self.i += 1
        return value

    def boolean(self) -> bool:
        """`true` or `false`, or Python's spelling."""
        if (value := _BOOLEANS.get(self.tokens[self.i])) is None:
            raise self.unexpected("true or false")
        self.i += 1
        return value

    def items(self, item: Callable[[], T]) -> list[T]:
        """A list `[1, 2]`, or a tuple in Python's spelling: `()`, `(2,)`, `(2, 3)`."""
        if (closer := _CLOSERS.get(self.tokens[self.i])) is None:
            raise self.unexpected("a list")
        self.i += 1
        found: list[T] = []
        while not self.accept(closer):
            if found:
                self.expect(",")
                if closer == ")" and self.accept(closer):
                    break
            found.append(item())
        return found

    def integers(self) -> list[int]:
        """A list of integers."""
        return self.items(self.integer)

    def ranges(self) -> list[tuple[int, int, int]]:
        """Slices per dimension: `[0:2:1, 1:4]`; a step is 1 unless given."""

        def item() -> tuple[int, int, int]:
            start = self.integer()
            self.expect(":")
            end = self.integer()
            return start, end, self.integer() if self.accept(":") else 1

        return self.items(item)

    def shape(self) -> Shape:
        """The extents of a constant."""
        start = self.i
        return self.coded(start, extents, self.items(lambda: "?" if self.accept("?") else self.integer()))

    def dtype(self) -> DType:
        """The name of a dtype."""
        start = self.i
        return self.coded(start, dtype_named, self.name_or_string("a dtype"))

    def padding(self) -> object:
        """`Valid`, `Same`, `Custom([[top, bottom], [left, right]])`, or the pairs alone."""
        custom = self.tokens[self.i] == "Custom"
        if not custom and self.tokens[self.i] not in _CLOSERS:
            return self.name_or_string("a padding")
        if custom:
            self.i += 1
            self.expect("(")
        pairs = self.items(self.integers)
        if custom:
            self.expect(")")
        return pairs

    def elements(self) -> Nested | str:
        """The value of a constant: nested lists, or a string of hex digits."""
        return self.name_or_string("hex digits") if self.tokens[self.i][:1] == '"' else self.nested()

    def nested(self) -> Nested:
        """Nested lists of numbers, or one number; E3010 if ragged."""
        start = self.i
        flat: list[Number] = []
        places: list[int] = []
        lengths: list[int] = []  # of the lists at each depth; -1 until one has ended
        closers: list[str] = []  # of the open lists
        counts: list[int] = []  # what the open lists hold so far
        while True:
            if (closer := _CLOSERS.get(self.tokens[self.i])) is not None:
                self.i += 1
                closers.append(closer)
                counts.append(0)
                if len(lengths) < len(counts):
                    if flat:
                        raise self.fail(start, ragged())
                    lengths.append(-1)
                if self.tokens[self.i] != closer:
                    continue
            else:
                places.append(self.i)
                flat.append(self.scalar())
                if len(counts) != len(lengths):
                    raise self.fail(start, ragged())
                if counts:
                    counts[-1] += 1
            self._end_lists(start, lengths, closers, counts)
            if not counts:
                return Nested(flat, tuple(lengths), places)

    def _end_lists(self, start: int, lengths: list[int], closers: list[str], counts: list[int]) -> None:
        """After an element: end the lists that end here, or step over the comma."""
        while counts:
            if not self.accept(closers[-1]):
                self.expect(",")
                if closers[-1] != ")" or self.tokens[self.i] != ")":
                    return
                continue
            closers.pop()
            n, depth = counts.pop(), len(counts)
            if lengths[depth] not in (-1, n):
                raise self.fail(start, ragged())
            lengths[depth] = n
            if counts:
                counts[-1] += 1

    def fields(self, value: Callable[[str], Any], found: dict[str, Any]) -> None:
        """Add attributes in braces, `{a=1, b: 2}`, to `found`; each value is read by `value` of its name."""
        self.expect("{")
        if self.accept("}"):
            return
        while True:
            start = self.i
            key = self.word("an attribute")
            if key in found:
                message = f"attribute {brief(key)} is given twice"
                raise self.fail(start, error("E4000", message, given=key, expected="once"))
            if not self.accept("="):
                self.expect(":")
            found[key] = value(key)
            if not self.accept(","):
                self.expect("}")
                return

    def notes_here(self) -> dict[str, Any]:
        """The attributes of an input, a function or the module, if braces follow."""
        found: dict[str, Any] = {}
        if self.tokens[self.i] == "{":
            self.fields(self.note, found)
        return found

    def note(self, key: str) -> object:
        """The value of an attribute of an input, a function or the module, by its form."""
        token = self.tokens[self.i]
        if key == "name" or token[:1] == '"':
            return self.name_or_string("a name")
        if token == "@":
            self.i += 1
            return Symbol(self.name_or_string("a name"))
        if token in _CLOSERS:
            return self.integers()
        return self.boolean()

    def property(self, codec: Codec) -> Attribute:
        """The value of an op's attribute, by its kind."""
        start = self.i
        return self.coded(start, codec.attribute, _BY_KIND[type(codec)](self))


_BY_KIND: Mapping[type[Codec], Callable[[CoreIrCursor], Any]] = {
    Integers: CoreIrCursor.integers,
    BooleanCodec: CoreIrCursor.boolean,
    PaddingCodec: CoreIrCursor.padding,
    Scalar: CoreIrCursor.scalar,
}
