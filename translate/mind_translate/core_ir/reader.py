"""
Core IR text, both forms, straight to ops: one pass over the lines, no recursion, every error coded and placed.

    function    := [ header ] instruction* [ "outputs:" %id ("," %id)* ]
    header      := "# @name" [ "{" note ("," note)* "}" ]        the whole line; without one the function is @main
    instruction := %id "=" ( %id | opcode [ "(" argument ("," argument)* ")" ] [ attributes ] [ ":" type ] )
    argument    := %id | parameter                               operands first, then parameters by place
    attributes  := "{" name ( "=" | ":" ) value ("," name ( "=" | ":" ) value)* "}"

`%8 = %7` gives a value a second name. `BinOp(Add, %0, %1)` is `Add (%0, %1)`. A line `# module {...}` before all functions holds
notes of the module. Any other `#` starts a comment. A missing result type is inferred. The reader checks the form, the
names and each attribute by itself; the rules between operands and types are the verifier's, which finds line and
column in the location of each op. An `Input` behind an operation is the verifier's to refuse; one without name is refused here.
"""

from __future__ import annotations

import re
from typing import IO, Any, cast

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, OpResult, SSAValue

from mind_dialect.core import ConstantOp, CoreOp, SliceOp
from mind_dialect.errors import MindError, brief, error
from mind_dialect.literals import LiteralAttr, check_element
from mind_dialect.names import note_names
from mind_dialect.profiles import PROFILE_ATTRIBUTE, Profile
from mind_dialect.source_text import decode
from mind_dialect.types import read_type

from .builder import DEFAULT_NAME, FunctionBuilder, Nested, literal, note_attribute, opcode_named
from .cursor import CoreIrCursor
from .lexer import is_id, split
from .types import parse_type

_HEADER = re.compile(r'[ \t]*#[ \t]*(?:@[ \t]*(?:[A-Za-z_][\w.]*|"(?:[^"\\]|\\.)*")[ \t\r]*(?:\{.*)?|module[ \t]*\{.*)', re.ASCII)
_CONSTANT: dict[str, Any] = {
    "value": CoreIrCursor.elements,
    "dtype": CoreIrCursor.dtype,
    "shape": CoreIrCursor.shape,
    "fill": CoreIrCursor.scalar,
}
"""The attributes of `ConstTensor`, the first three also parameters by place."""
_BINARY = ("Add", "Sub", "Mul", "Div")


def parse_core_ir(text: str | bytes, name: str = "<input>") -> ModuleOp:
    """
    Read Core IR text into a module; `MindParseError` with code, line and column for what is malformed.

    >>> print(parse_core_ir("%0 = Input {name=x} : tensor<f32[2]>\\n%1 = Relu (%0) : tensor<f32[2]>\\noutputs: %1"))
    builtin.module {
      func.func @main(%0: tensor<2xf32> {mind.name = "x"}) -> tensor<2xf32> {
        %1 = mind.relu %0 : tensor<2xf32>
        func.return %1 : tensor<2xf32>
      }
    }
    """
    return _CoreIrReader(decode(text, name), name).module()


def read_core_ir(io: IO[bytes]) -> ModuleOp:
    """The tools' frontend for files that end in `.coreir`."""
    return parse_core_ir(io.read(), str(getattr(io, "name", "<input>")))


class _CoreIrReader(CoreIrCursor):
    """The statement under the cursor, and the function it belongs to."""

    def __init__(self, text: str, name: str):
        super().__init__(text, name)
        self.file = StringAttr(name)
        self.types: dict[str, TensorType] = {}
        self.functions: dict[str, tuple[int, FunctionBuilder]] = {}  # with the line of each
        self.made: list[FuncOp] = []
        self.notes: dict[str, Attribute] = {}
        self.profile = Profile.CORE_V1
        self.builder: FunctionBuilder | None = None
        self.defined: dict[str, int] = {}  # the line of each value
        self.outputs: list[SSAValue] | None = None
        self.place: FileLineColLoc | None = None

    def module(self) -> ModuleOp:
        """Read the whole text."""
        for number, line in enumerate(self.lines):
            self.number = number
            tokens = split(line)
            if tokens and tokens[-1][0] == "#":
                tokens.pop()
                if not tokens and _HEADER.fullmatch(line):
                    self._header(line)
            if tokens:
                tokens.append("")
                self.tokens, self.i = tokens, 0
                self._statement()
        if self.builder is None:
            self.tokens, self.i = [""], 0
            raise self.fail(0, error("E1007", "expected an instruction, found an empty text"))
        self._finish()
        module = ModuleOp(self.made)
        module.attributes.update(self.notes)
        return module

    def _header(self, line: str) -> None:
        self.lines[self.number] = line.replace("#", " ", 1)  # for errors, which split the line again
        self.tokens, self.i = [*split(self.lines[self.number]), ""], 0
        if self.accept("module"):
            self._module_notes()
        else:
            self.expect("@")
            name = self.name_or_string("a function name")
            notes = self.notes_here()
            if self.builder is not None:
                self._finish()
            self._start(name, notes)
        if self.tokens[self.i]:
            raise self.unexpected("the end of the line")

    def _module_notes(self) -> None:
        notes = self.notes_here()
        if self.builder is not None or self.notes:
            raise self.fail(0, error("E1007", "the module header once, before the first function"))
        self.notes = {k: self.coded(0, note_attribute, k, v) for k, v in notes.items()}
        stated = notes.get(PROFILE_ATTRIBUTE)
        self.profile = Profile(stated) if isinstance(stated, str) else self.profile

    def _start(self, name: str, notes: dict[str, Any]) -> None:
        if name in self.functions:
            message = f"@{name} is defined again, first on line {self.functions[name][0]}"
            raise self.fail(0, error("E4002", message, value=f"@{name}"))
        self.builder = self.coded(0, FunctionBuilder, name, notes, self.profile)
        self.functions[name] = (self.number + 1, self.builder)
        self.defined, self.outputs, self.place = {}, None, self._location()

    def _finish(self) -> None:
        assert self.builder is not None
        self.made.append(self.builder.finish(self.outputs or (), self.place))

    def _location(self) -> FileLineColLoc:
        line = self.lines[self.number]
        indent = len(line) - len(line.lstrip(" \t\r")) if line[:1] in " \t" else 0
        return FileLineColLoc(self.file, IntAttr(self.number + 1), IntAttr(indent + 1))

    def _statement(self) -> None:
        if self.builder is None:
            self._start(DEFAULT_NAME, {})
        assert self.builder is not None
        if self.outputs is not None:
            raise self.unexpected("a function header `# @name` after outputs")
        first = self.tokens[0]
        if first[0] == "%":
            self._definition(self.builder, first)
        elif self.accept("outputs"):
            self.expect(":")
            self.outputs = [self._output(0)]
            while self.accept(","):
                self.outputs.append(self._output(len(self.outputs)))
        else:
            raise self.unexpected("an instruction `%id = Opcode ...` or `outputs: %id, ...`")
        if self.tokens[self.i]:
            raise self.unexpected("the end of the line")

    def _definition(self, builder: FunctionBuilder, key: str) -> None:
        if not is_id(key):
            raise self.unexpected("a value %id")
        self.i = 1
        if key in self.defined:
            raise self.fail(0, error("E4002", f"{key} is defined again, first on line {self.defined[key]}", value=key))
        self.expect("=")
        if self.tokens[2] == "Input":
            self._input(builder, key)
        elif self.tokens[2][:1] == "%":
            builder.define(key, self._value(builder))
        else:
            value = self._operation(builder)
            note_names(cast(OpResult, value).op.location, [key[1:]])
            builder.define(key, value)
            if not key[1].isdecimal():
                value.name_hint = key[1:]
        self.defined[key] = self.number + 1

    def _value(self, builder: FunctionBuilder) -> SSAValue:
        key = self.tokens[self.i]
        if key[:1] != "%" or not is_id(key):
            raise self.unexpected("a value %id")
        self.i += 1
        if (value := builder.value(key)) is None:
            raise self.fail(self.i - 1, error("E4001", f"{key} is used before its definition{self._later(key)}", operand=key))
        return value

    def _later(self, key: str) -> str:
        """Return a note on the line that defines a value after its use, or that no line does."""
        pattern = re.compile(rf"[ \t]*{key}[ \t]*=")
        for number in range(self.number, len(self.lines)):
            if pattern.match(self.lines[number]):
                return f" on line {number + 1}"
        return ", no line defines it"

    def _output(self, i: int) -> SSAValue:
        assert self.builder is not None
        key = self.tokens[self.i]
        if key[:1] == "%" and is_id(key) and key not in self.defined:
            self.i += 1
            raise self.fail(self.i - 1, error("E4003", f"output {i} is {key}, which is not defined", index=i, value=key))
        return self._value(self.builder)

    def _type(self) -> TensorType | None:
        """The declared type, if any."""
        if not self.accept(":"):
            return None
        token = self.tokens[self.i]
        if (type := self.types.get(token)) is None:
            if token[:1] not in ("t", "T") or "<" not in token:
                if token in ("tensor", "Tensor") and self.tokens[self.i + 1] == "<":
                    start, self.i = self.i, len(self.tokens) - 1
                    raise self.fail(
                        start, error("E1007", "a type that lacks its closing `>`, expected a form like tensor<f32[2, 3]>")
                    )
                raise self.unexpected("a type like tensor<f32[2, 3]>")
            self.i += 1
            type = self.types[token] = self.coded(self.i - 1, parse_type, token)
        else:
            self.i += 1
        return type

    def _input(self, builder: FunctionBuilder, key: str) -> None:
        self.i = 3
        if self.accept("("):
            self.expect(")")
        notes = self.notes_here()
        if (type := self._type()) is None:
            raise self.fail(2, error("E2003", f"the type of Input {key} is missing", name=key))
        name = notes.pop("name", None)
        self.coded(2, builder.add_input, key, name, notes, type, self._location())

    def _operation(self, builder: FunctionBuilder) -> SSAValue:
        start = self.i
        opcode = self.word("an opcode")
        if opcode == "BinOp" and self.accept("("):
            start = self.i
            cls = self.coded(start, _binary, self.word("Add, Sub, Mul or Div"))
            self.expect(",")
            opened = True
        else:
            cls = self.coded(start, opcode_named, opcode)
            opened = self.accept("(")
        operands: list[SSAValue] = []
        found: dict[str, Any] = {}
        if not opened and self.tokens[self.i][:1] == "%":
            raise self.unexpected(f"operands in parentheses, as in {opcode} (%0)")
        if opened and not self.accept(")"):
            self._arguments(builder, cls, operands, found)
        if self.tokens[self.i] == "{":
            self.fields(lambda key: self._attribute(cls, key), found)
        type = self._type()
        if cls is ConstantOp:
            found = {"value": self._literal(start, found, type)}
        try:
            return builder.instruction(cls, operands, found, type, self._location())
        except MindError as e:
            raise self.fail(start, e) from None

    def _arguments(self, builder: FunctionBuilder, cls: type[CoreOp], operands: list[SSAValue], found: dict[str, Any]) -> None:
        """Operands, then parameters by place, up to the closing parenthesis."""
        while True:
            if self.tokens[self.i][:1] == "%" and not found:
                operands.append(self._value(builder))
            else:
                self._parameter(cls, found)
            if not self.accept(","):
                self.expect(")")
                return

    def _parameter(self, cls: type[CoreOp], found: dict[str, Any]) -> None:
        names = tuple(_CONSTANT)[:3] if cls is ConstantOp else tuple(cls.CODECS)
        if cls is SliceOp and not found and self._at_ranges():
            start = self.i
            starts, ends, steps = zip(*rows, strict=True) if (rows := self.ranges()) else ((), (), ())
            values = {"starts": starts, "ends": ends, "steps": steps}
            found.update({k: self.coded(start, cls.CODECS[k].attribute, v) for k, v in values.items()})
        elif len(found) == len(names):
            if self.tokens[self.i] in ("", ",", ")"):
                raise self.unexpected("a value or a parameter")
            self.i += 1
            message = f"{cls.OPCODE} takes {len(names)} parameters {list(names)}, found one more"
            raise self.fail(self.i - 1, error("E2007", message, expected=len(names), actual=len(found) + 1))
        else:
            key = names[len(found)]
            found[key] = self._attribute(cls, key)

    def _at_ranges(self) -> bool:
        """Return whether `[0:2:1, 1:4]` follows rather than the list of starts."""
        following = [*self.tokens[self.i : self.i + 3], "", ""]
        return following[2] == ":" or following[1:3] == ["]", ")"]

    def _attribute(self, cls: type[CoreOp], key: str) -> Any:
        """The value of an op's attribute: of a constant as it stands, of other ops as a property."""
        if cls is ConstantOp and key in _CONSTANT:
            return _CONSTANT[key](self)
        if (codec := cls.CODECS.get(key)) is None:
            expected = list(_CONSTANT) if cls is ConstantOp else sorted(cls.CODECS)
            message = f"{cls.OPCODE} has no attribute {brief(key)}, expected {expected}"
            raise self.fail(self.i - 2, error("E4000", message, given=key, expected=expected))
        return self.property(codec)

    def _literal(self, start: int, found: dict[str, Any], type: TensorType | None) -> LiteralAttr:
        """A constant's value; an element that does not fit is the place of its error."""
        try:
            return literal(found, type)
        except MindError as e:
            value, dtype = found.get("value"), found.get("dtype") or (type and read_type(type)[0])
            if e.code == "E4005" and isinstance(value, Nested) and dtype is not None:
                for self.i, number in zip((i + 1 for i in value.places), value.flat, strict=True):
                    self.coded(self.i - 1, check_element, number, dtype)
            raise self.fail(start, e) from None


def _binary(opcode: str) -> type[CoreOp]:
    """The op of `BinOp(opcode, ...)`; E4000 if it is none of the four."""
    if opcode not in _BINARY:
        message = f"BinOp has no operator {brief(opcode)}, expected one of {list(_BINARY)}"
        raise error("E4000", message, given=opcode, expected=list(_BINARY))
    return opcode_named(opcode)
