"""
The display form, read line by line.

    program  := "program @" name "(spec_version =" version ")" "{" ( function | region )* "}"
    function := "func @" name "{" [ "params:" typed* ] [ "body:" line* ] [ "hints:" ... ] [ "results:" typed* ] "}"
    region   := "region ^r" number "{" [ "params:" typed* ] [ "body:" line* ] [ "results:" typed* ] "}"
    typed    := %value ":" type
    line     := %number "=" op [ "(" operand ("," operand)* ")" ] "->" type
    type     := "tensor<" dtype "x" dims ">" | "tuple<" type ("," type)* ">"

A name with blanks, brackets or quotes is a JSON string, an extension that `strict` refuses. An op is as Rust shows it. A line
that starts with `//` is a comment. A literal operand is refused, as its bytes are not shown.
"""

from __future__ import annotations

import re
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr

from mind_dialect.errors import MindError, brief, error
from mind_dialect.ptir.types import Dim, TensorSpec, is_dim_name
from mind_dialect.ptir_program import check_version
from mind_dialect.source_text import decode

from ..core_ir.lexer import string
from ..ptir.importer import to_module
from ..ptir.kinds import DTYPE, SIZE
from ..ptir.misplaced import Misplaced
from ..ptir.records import FunctionRecord, Instruction, Operand, Program, RegionRecord
from ..ptir.rows import UNIT_VARIANTS, PtirRow, read_op
from ..ptir.tensor_kinds import MAX_TUPLE_DEPTH, check_bytes
from ..ptir.value_types import TupleType, ValueType
from .cursor import PtirTextCursor
from .rust import read_rust

_NAME = r'"(?:[^"\\]|\\.)*"|[^\s"]\S*'
_HEAD = re.compile(rf"program\s+@({_NAME})\s*(?:\(\s*spec_version\s*=\s*([^\s()]*)\s*\))?\s*\{{")
_BLOCK = re.compile(rf"(?:func\s+@(?P<name>{_NAME})|region\s+\^r(?P<number>[0-9]{{1,18}}))\s*\{{")
_SECTIONS = ("params:", "body:", "hints:", "results:")
_TENSOR = re.compile(r"tensor<(\w+) x (.*)>", re.ASCII)
_DIM = re.compile(r"([0-9]+|\?[A-Za-z_]\w*?)(?:x(?=[0-9?])|$)", re.ASCII)


def parse_display(source: str | bytes, name: str = "<input>", *, strict: bool = False, lenient: bool = False) -> ModuleOp:
    """
    Read the display form of a program into a module, every op of it checked; `MindParseError` with line and column.

    `strict` refuses ops and quoted names, which the public form lacks, `lenient` lets the version be missing.
    """
    reader = _DisplayReader(decode(source, name), name, strict=strict)
    return to_module(reader.program(lenient), reader.failure, strict=strict, locate=reader.location)


class _DisplayReader(PtirTextCursor):
    """The line under the cursor."""

    def __init__(self, text: str, name: str, *, strict: bool = False):
        super().__init__(text, name)
        self.strict = strict
        self.file = StringAttr(name)
        self.types: dict[str, TensorSpec] = {}
        self.next = 0
        self.number = 0
        self.current = ""

    # Lines. A record's place is the start and the number of its line.

    def advance(self) -> bool:
        """Go to the next line that is neither blank nor a comment; False at the end of the text."""
        while self.next <= len(self.text):
            start, end = self.next, self.text.find("\n", self.next)
            end = len(self.text) if end < 0 else end
            self.next, self.number = end + 1, self.number + 1
            self.current = self.text[start:end].strip()
            if self.current and not self.current.startswith("//"):
                self.start, self.end, self.i, self.tokens = start, end, 0, [""]
                return True
        self.start = self.end = len(self.text)
        self.current, self.tokens, self.i = "", [""], 0
        return False

    def place(self) -> tuple[int, int]:
        """The place of what stands on this line."""
        return self.start, self.number

    def failure(self, place: Any, keys: Any, err: MindError) -> Exception:
        """An error of the record of a line."""
        return self.line(place[0], err)

    def location(self, place: Any) -> FileLineColLoc:
        """The line of a record."""
        start, number = place
        indent = len(self.text[start : start + 200]) - len(self.text[start : start + 200].lstrip(" \t"))
        return FileLineColLoc(self.file, IntAttr(number), IntAttr(indent + 1))

    def wrong(self, expected: str) -> Exception:
        """The line is not what the grammar wants."""
        found = ascii(brief(self.current))[1:-1] if self.current else "the end of the text"
        return self.line(self.start, error("E1007", f"expected {expected}, found {found}"))

    # The program

    def program(self, lenient: bool) -> Program:
        """The whole text."""
        self.advance()
        if (head := _HEAD.fullmatch(self.current)) is None:
            raise self.wrong("`program @entry (spec_version = ptir.v0.4) {`")
        place, entry = self.place(), self._symbol(head[1])
        try:
            stated = StringAttr(head[2][:80]) if head[2] is not None else None
            check_version(stated, lenient=lenient, begin="program @entry (spec_version = ptir.v0.4) {")
        except MindError as e:
            raise self.line(self.start, e) from None
        functions: list[FunctionRecord] = []
        regions: list[RegionRecord] = []
        while self.advance() and self.current != "}":
            if (block := _BLOCK.fullmatch(self.current)) is None:
                raise self.wrong("`func @name {`, `region ^r0 {` or `}`")
            if block["name"] is not None:
                functions.append(self._function(self._symbol(block["name"])))
            else:
                regions.append(self._region(int(block["number"])))
        if self.current != "}":
            raise self.wrong("`}`")
        if self.advance():
            raise self.wrong("the end of the text")
        return Program(entry, functions, regions, place)

    def _symbol(self, name: str) -> str:
        """Return the name of a function, which may be quoted; E1004 for a bad escape, E4000 for an empty or a refused name."""
        if name[0] != '"':
            return name
        try:
            text = string(name)
            if not text or self.strict:
                expected = "a name without quotes, as strict reads the public form" if text else "a name"
                raise error("E4000", f"the name {brief(name)}, expected {expected}", given=brief(name), expected=expected)
        except MindError as e:
            raise self.line(self.start, e) from None
        return text

    def _sections(self, known: tuple[str, ...]) -> Any:
        """The lines of a block by section, up to its `}`, the cursor being on each in iteration."""
        section = -1
        while self.advance():
            if self.current == "}":
                return
            if self.current in known and known.index(self.current) > section:
                section = known.index(self.current)
                if self.current == "hints:":
                    yield "hints:"
            elif section < 0:
                raise self.wrong(f"one of {', '.join(known)} or `}}`")
            else:
                yield known[section]
        raise self.wrong("`}`")

    def _function(self, name: str) -> FunctionRecord:
        place, hints = self.place(), None
        parameters: list[tuple[int, ValueType]] = []
        results: list[tuple[int, ValueType]] = []
        body: list[Instruction] = []
        for section in self._sections(_SECTIONS):
            if section == "body:":
                body.append(self._instruction(""))
            elif section == "hints:":
                hints = self._hints()
            else:
                value, type = self._typed()
                (parameters if section == "params:" else results).append((self._id(value, ""), type))
        ids, types = [i for i, _ in parameters], [t for _, t in parameters]
        return FunctionRecord(name, types, ids, [t for _, t in results], body, [i for i, _ in results], hints, place)

    def _region(self, number: int) -> RegionRecord:
        place = self.place()
        parameters: list[ValueType] = []
        results: list[ValueType] = []
        body: list[Instruction] = []
        for section in self._sections(("params:", "body:", "results:")):
            if section == "body:":
                body.append(self._instruction("arg"))
                continue
            value, type = self._typed()
            prefix, found = ("arg", parameters) if section == "params:" else ("res", results)
            if value != f"{prefix}{len(found)}":
                self.i = 1
                raise self.here(0, error("E1007", f"expected %{prefix}{len(found)}, found %{value[:60]}"))
            found.append(type)
        return RegionRecord(number, parameters, body, results, place)

    def _hints(self) -> str:
        """The lines of the hints, as they stand."""
        start, depth, end = self.next, 0, self.next
        while self.advance():
            depth += self.current.endswith("{") - (self.current == "}")
            if depth < 0 or (depth == 0 and self.current == "results:"):
                break
            end = self.next
        else:
            raise self.wrong("`}`")
        self.next, self.number = self.start, self.number - 1
        return self.text[start:end].rstrip()

    # Lines

    def _typed(self) -> tuple[str, ValueType]:
        self.enter(self.start, self.end)
        value = self.value()
        self.expect(":")
        type = self._type()
        self.done()
        return value, type

    def _id(self, name: str, prefix: str) -> int:
        """The number of the value before the cursor; in regions `%arg0` is also `%0`."""
        digits = name.removeprefix(prefix)
        if not (digits.isascii() and digits.isdecimal()) or len(digits) > 10 or int(digits) >= 1 << 32:
            raise self.here(self.i - 1, error("E1007", f"expected a value %0 to %4294967295, found %{name[:60]}"))
        return int(digits)

    def _instruction(self, prefix: str) -> Instruction:
        self.enter(self.start, self.end)
        number = self._id(self.value(), "")
        self.expect("=")
        row, values = self._op()
        operands: list[Operand] = []
        if self.accept("(") and not self.accept(")"):
            operands.append(self._operand(prefix))
            while self.accept(","):
                operands.append(self._operand(prefix))
            self.expect(")")
        self.expect("->")
        output = self._type()
        self.done()
        return Instruction(number, row, values, operands, output, self.place())

    def _op(self) -> tuple[PtirRow, dict[str, Any]]:
        first = self.i
        token = self.tokens[first]
        if token in UNIT_VARIANTS:
            self.i += 1
            node: Any = token
        else:
            node = read_rust(self)
        try:
            row, values = read_op(node)
        except Misplaced as e:
            raise self.part(first, e) from None
        if row.spec is not None and self.tokens[first + 2] != row.spec:
            given = self.tokens[first + 2][:60]
            err = error("E4000", f"{row.variant}: expected {row.spec}, found {given!a}", given=given, expected=row.spec)
            raise self.here(first, err)
        return row, values

    def _operand(self, prefix: str) -> Operand:
        if self.tokens[self.i] == "literal":
            message = "a literal operand, whose bytes this form cannot express; use a Constant"
            self.i += 1
            raise self.here(self.i - 1, error("E4000", message, given="literal", expected="a value"))
        number = self._id(self.value(), prefix)
        if not self.accept("["):
            return number
        index = self.integer()
        self.expect("]")
        return number, max(index, 0) if index >= 0 else self._negative(index)

    def _negative(self, index: int) -> int:
        err = error("E8002", f"element {brief(index)}, expected 0 or more", attribute="index", value=brief(index))
        raise self.here(self.i - 2, err)

    def _type(self) -> ValueType:
        """A type; tuples nest without recursion."""
        stack: list[list[ValueType]] = []
        while True:
            if self.accept("tuple"):
                self.expect("<")
                if len(stack) == MAX_TUPLE_DEPTH:
                    raise self.here(self.i - 2, error("E1007", f"tuples nested more than {MAX_TUPLE_DEPTH} deep"))
                stack.append([])
                if not self.accept(">"):
                    continue
                type: ValueType = TupleType(tuple(stack.pop()))
            else:
                type = self._tensor()
            while stack:
                stack[-1].append(type)
                if self.accept(","):
                    break
                self.expect(">")
                type = TupleType(tuple(stack.pop()))
            else:
                return type

    def _tensor(self) -> TensorSpec:
        token = self.tokens[self.i]
        if (spec := self.types.get(token)) is None:
            if (match := _TENSOR.fullmatch(token)) is None:
                raise self.unexpected("a type like tensor<F32 x 2x3> or tuple<...>")
            try:
                spec = TensorSpec(DTYPE.read(match[1]), self._dims(match[2]))
                check_bytes(spec)
            except Misplaced as e:
                self.i += 1
                raise self.part(self.i - 1, e) from None
            self.types[token] = spec
        self.i += 1
        return spec

    def _dims(self, text: str) -> tuple[Dim, ...]:
        if text == "[]":
            return ()
        dims: list[Dim] = []
        position = 0
        while (match := _DIM.match(text, position)) is not None:
            position = match.end()
            name = match[1]
            if name[0] == "?":
                assert is_dim_name(name[1:]), "the pattern is that of a name"
                dims.append(name[1:])
            else:
                self.i += 1
                size = self.digits(name)
                self.i -= 1
                dims.append(SIZE.read(size))
            if position == len(text):
                return tuple(dims)
        raise self.unexpected("dimensions like 2x?Bx3 or []")
