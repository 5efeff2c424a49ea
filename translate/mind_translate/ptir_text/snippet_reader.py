"""
The snippet form, read: one function, one statement a line.

    snippet   := ( "func" | "function" ) [ "@" ] name "(" [ parameter ("," parameter)* ] ")" "->" type "{" line* "}"
    parameter := [ "%" ] name ":" type
    line      := [ "%" ] name "=" op ( "(" operand ("," operand)* ")" | operand | attribute | "," )* "->" type
               | "return" [ "%" ] name ("," [ "%" ] name)* [ ";" ]
    operand   := %name [ "[" number "]" ]
    attribute := name "[" ... "]"
    type      := "tensor<" dtype [ "," number ("x" number)* ] ">" | "(" type ("," type)* ")"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect.errors import MindError, brief, error
from mind_dialect.names import note_names
from mind_dialect.ptir.types import DTYPES, PtirDType, TensorSpec, unknown_dtype
from mind_dialect.source_text import decode

from ..ptir.importer import to_module
from ..ptir.kinds import INT, SIZE
from ..ptir.misplaced import Misplaced
from ..ptir.records import FunctionRecord, Instruction, Operand, Program
from ..ptir.rows import ROW_OF
from ..ptir.tensor_kinds import MAX_TUPLE_DEPTH, check_bytes, shown_type
from ..ptir.value_types import TupleType, ValueType
from .bindings import Binding, bind, snippet_dtype
from .cursor import PtirTextCursor
from .snippet import SNIPPET_OPS, properties

_TYPE = re.compile(r"[tT]ensor[ \t]*<[ \t]*(\w+)[ \t]*(?:,([ \tx0-9]*))?>", re.ASCII)
_DTYPES: dict[str, PtirDType] = {snippet_dtype(d): d for d in DTYPES.values()}


def parse_snippet(
    source: str | bytes, bindings: Mapping[str, Binding] | None = None, name: str = "<input>", *, strict: bool = False
) -> ModuleOp:
    """
    Read a snippet into a module of one function, its placeholders filled in from `bindings`, every op checked.

    `MindParseError` with line and column of the text after filling in. The module has our version: the form states none.
    `strict` changes nothing here, as the form has no extensions.
    """
    text = decode(source, name)
    return _SnippetReader(bind(text, bindings or {}, name), name).module()


class _SnippetReader(PtirTextCursor):
    """The statement under the cursor; a record's place is where its line starts, and the line's number."""

    def __init__(self, text: str, name: str):
        super().__init__(text, name)
        self.file = StringAttr(name)
        self.ids: dict[str, int] = {}
        self.types: dict[str, TensorSpec] = {}
        self.value_types: list[ValueType] = []
        self.body: list[Instruction] = []
        self.returned: list[int] | None = None
        self.number = 1

    def module(self) -> ModuleOp:
        """The whole text."""
        brace = self.text.find("{")
        self.enter(0, brace if brace >= 0 else len(self.text))
        name, result, parameters = self._header()
        if brace < 0:
            raise self.unexpected("`{`")
        self.done()
        place = (0, 1)
        self._lines(brace + 1)
        if self.returned is None:
            raise self.fail(self.start, self.start + 1, error("E1007", "expected `return` before the end of the function"))
        found = [self.value_types[i] for i in self.returned]
        ids = range(len(parameters))
        record = FunctionRecord(name, parameters, ids, found, self.body, self.returned, place=place)
        module = to_module(Program(name, [record], place=place), self._failure, locate=self._location)
        wanted = [result] if isinstance(result, TensorSpec) else list(result.elements)
        if found != wanted:
            shown, expected = (shown_type(TupleType(tuple(types))) for types in (wanted, found))
            err = error("E4015", f"declares results {shown}, returns {expected}", declared=shown, inferred=expected)
            raise self.line(self.start, err)
        self._name_values(module)
        return module

    def _name_values(self, module: ModuleOp) -> None:
        func = module.body.block.first_op
        assert isinstance(func, FuncOp)
        values = [*func.body.block.args, *(op.results[0] for op in func.body.block.ops if op.results)]
        for name, i in self.ids.items():
            if isinstance(op := values[i].owner, Operation):
                note_names(op.location, [name])
            if not name[0].isdecimal():
                values[i].name_hint = name

    def _failure(self, place: Any, keys: Any, err: MindError) -> Exception:
        return self.line(place[0], err)

    def _location(self, place: Any) -> FileLineColLoc:
        start, number = place
        line = self.text[start : start + 200]
        return FileLineColLoc(self.file, IntAttr(number), IntAttr(len(line) - len(line.lstrip(" \t")) + 1))

    # The header

    def _header(self) -> tuple[str, ValueType, list[ValueType]]:
        if not (self.accept("func") or self.accept("function")):
            raise self.unexpected("`func @name(...) -> type {`")
        self.accept("@")
        name = self.word("the name of the function")
        self.expect("(")
        parameters: list[ValueType] = []
        while not self.accept(")"):
            if parameters:
                self.expect(",")
            key = self._name()
            self.expect(":")
            type = self._type()
            self._define(key, type)
            parameters.append(type)
        self.expect("->")
        return name, self._type(), parameters

    def _name(self) -> str:
        """A name with or without `%`."""
        return self.value() if self.tokens[self.i][:1] == "%" else self.word("a value %name")

    def _define(self, name: str, type: ValueType) -> None:
        if isinstance(type, TupleType):
            raise self.here(self.i - 1, error("E2001", "a value is a tensor, found a tuple", expected="tensor", actual="tuple"))
        if name in self.ids:
            raise self.here(self.i - 1, error("E4002", f"%{name[:60]} is defined again", value=name[:60]))
        self.ids[name] = len(self.ids)
        self.value_types.append(type)

    def _type(self) -> ValueType:
        """A type; tuples nest without recursion."""
        stack: list[list[ValueType]] = []
        while True:
            if self.accept("("):
                if len(stack) == MAX_TUPLE_DEPTH:
                    raise self.here(self.i - 1, error("E1007", f"tuples nested more than {MAX_TUPLE_DEPTH} deep"))
                stack.append([])
                continue
            type: ValueType = self._tensor()
            while stack:
                stack[-1].append(type)
                if self.accept(","):
                    break
                self.expect(")")
                type = TupleType(tuple(stack.pop()))
            else:
                return type

    def _tensor(self) -> TensorSpec:
        token = self.tokens[self.i]
        if (spec := self.types.get(token)) is None:
            if (match := _TYPE.fullmatch(token)) is None:
                raise self.unexpected("a type like tensor<f32, 2x3>")
            self.i += 1
            try:
                sizes = [SIZE.read(self.digits(d.strip())) for d in match[2].split("x")] if (match[2] or "").strip() else []
                spec = TensorSpec(self._dtype(match[1]), tuple(sizes))
                check_bytes(spec)
            except Misplaced as e:
                raise self.part(self.i - 1, e) from None
            self.types[token] = spec
            return spec
        self.i += 1
        return spec

    def _dtype(self, name: str) -> PtirDType:
        """The dtype of a name, in capitals or not."""
        if (dtype := _DTYPES.get(name.lower())) is None:
            raise self.here(self.i - 1, unknown_dtype(name[:60]))
        return dtype

    # The body

    def _lines(self, start: int) -> None:
        end = len(self.text)
        self.number += self.text.count("\n", 0, start)
        while start <= end:
            newline = self.text.find("\n", start)
            stop = end if newline < 0 else newline
            self.enter(start, stop)
            if self.tokens[0] == "}":
                self.i = 1
                self.done()
                if self.text[stop:].strip():
                    raise self.fail(stop, end, error("E1007", "expected the end of the text after `}`"))
                return
            if self.tokens[0]:
                self._statement()
            start, self.number = stop + 1, self.number + 1
        self.enter(end, end)
        raise self.unexpected("`}`")

    def _statement(self) -> None:
        if self.returned is not None:
            raise self.unexpected("`}` after return")
        if self.tokens[0] == "return" and self.tokens[1] != "=":
            self.i = 1
            self.returned = [self._known()]
            while self.accept(","):
                self.returned.append(self._known())
            self.accept(";")
            self.done()
            return
        name = self._name()
        self.expect("=")
        first = self.i
        op = self.word("an op")
        if op not in SNIPPET_OPS:
            message = f"unknown op {op[:60]}, expected one of {list(SNIPPET_OPS)}"
            raise self.here(first, error("E4000", message, given=op[:60], expected=list(SNIPPET_OPS)))
        operands, given = self._operands_and_attributes(op)
        self.expect("->")
        type = self._type()
        try:
            values = properties(op, given, type)
        except MindError as e:
            raise self.here(first, e) from None
        self.done()
        number = len(self.ids)
        self._define(name, type)
        self.body.append(Instruction(number, ROW_OF[SNIPPET_OPS[op].op], values, operands, type, (self.start, self.number)))

    def _known(self) -> int:
        """The number of a value that is defined."""
        first = self.i
        name = self._name()
        if (number := self.ids.get(name)) is None:
            raise self.here(first, error("E4001", f"%{name[:60]} is used before its definition", operand=name[:60]))
        return number

    def _operands_and_attributes(self, op: str) -> tuple[list[Operand], dict[str, Any]]:
        operands: list[Operand] = []
        given: dict[str, Any] = {}
        while self.tokens[self.i] not in ("->", ""):
            token = self.tokens[self.i]
            if token == "(":
                self.i += 1
                while not self.accept(")"):
                    operands.append(self._operand())
                    if self.tokens[self.i] != ")":
                        self.expect(",")
            elif token[0] == "%":
                operands.append(self._known())
            elif token == ",":
                self.i += 1
            else:
                self._attribute(op, given)
        return operands, given

    def _operand(self) -> Operand:
        if self.tokens[self.i][:1] != "%":
            raise self.unexpected("a value %name")
        first, number = self.i, self._known()
        if self.accept("["):
            index = self.integer()
            self.expect("]")
            message = f"element {brief(index)} of a value that is not a tuple"
            raise self.here(first, error("E2001", message, expected="a tuple", actual="a tensor"))
        return number

    def _attribute(self, op: str, given: dict[str, Any]) -> None:
        first = self.i
        name = self.word("an operand, an attribute or `->`")
        snippet = SNIPPET_OPS[op]
        keys = snippet.synonyms.get(name, (name,))
        known = [*snippet.attributes, *snippet.synonyms]
        if name not in known or any(key in given for key in keys):
            issue = "is given twice" if name in known else "is unknown"
            message = f"{op}: the attribute {name[:60]} {issue}, expected each of {known} at most once"
            raise self.here(first, error("E4000", message, given=name[:60], expected=known))
        self.expect("[")
        value = self._attribute_value(snippet.attributes[keys[0]])
        self.expect("]")
        given.update(dict.fromkeys(keys, value))

    def _attribute_value(self, kind: str) -> Any:
        if kind == "dtype":
            return self._dtype(self.word("a dtype"))
        if kind == "bool":
            if self.tokens[self.i] not in ("true", "false"):
                raise self.unexpected("true or false")
            self.i += 1
            return self.tokens[self.i - 1] == "true"
        found: list[int] = []
        while self.tokens[self.i] != "]":
            if found:
                self.expect(",")
            first, number = self.i, self.integer()
            try:
                found.append(INT.read(number))
            except Misplaced as e:
                raise self.part(first, e) from None
        return tuple(found)
