"""
Core IR as text, form 1 of the reference encoding, rendered from the records: lossless, one spelling for each program.

    %2 = Sum (%1) {axes=[1], keepdims=false} : tensor<f32[2]>

Booleans are `true` and `false`, lists have square brackets, a string is bare if it is a word and JSON otherwise, floats are the
shortest decimals that read back; a constant whose NaNs are not all the usual one is a string of hex digits. A header line
`# @name {notes}` precedes a function unless it is the only one, called @main, without notes and not empty. Notes of the
module stand in a line `# module {notes}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import IO, Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.target import Target

from mind_dialect.core import OPS_BY_OPCODE
from mind_dialect.core.attributes import BooleanCodec, Codec, Integers, PaddingCodec, Scalar
from mind_dialect.errors import error
from mind_dialect.literals import flatten, nested, shortest
from mind_dialect.types import DTYPES

from .builder import DEFAULT_NAME, Note, Symbol, note_value
from .lexer import quoted
from .records import CoreOperation, FunctionRecords, records

Render = Callable[[Any], str]


def print_core_ir(module: ModuleOp) -> str:
    """
    The text of a module of Core IR functions, without a newline at its end.

    Raises E4000, naming it, for anything the text cannot carry.
    """
    if module.sym_name is not None:
        raise error(
            "E4000",
            f"module @{module.sym_name.data} has a name, which this text form cannot hold",
            given="sym_name",
            expected="none",
        )
    functions: list[FunctionRecords] = []
    for op in module.body.ops:
        if not isinstance(op, FuncOp):
            raise error(
                "E4000", f"found {op.name}, expected functions of Core IR", operation=op, given=op.name, expected="func.func"
            )
        functions.append(records(op))
    if not functions:
        raise error("E4000", "a module without functions has no Core IR text", given="no function", expected="a function")
    notes = {k: note_value(k, v) for k, v in module.attributes.items()}
    return render(functions, notes)


def render(functions: Iterable[FunctionRecords], notes: Mapping[str, Note] | None = None) -> str:
    """
    The text of functions in records, with the module's notes.

    >>> ops = [CoreOperation(0, "ConstTensor", [], {"dtype": "f32", "shape": [2], "value": [0.1, 1e-7]}, "tensor<f32[2]>")]
    >>> print(render([FunctionRecords(ops, [0])]))
    %0 = ConstTensor {dtype=f32, shape=[2], value=[0.1, 1e-07]} : tensor<f32[2]>
    outputs: %0
    """
    several = list(functions)
    plain = len(several) == 1 and several[0].name == DEFAULT_NAME and not several[0].attributes and not notes
    bare = plain and bool(several[0].operations or several[0].outputs)
    sections = [f"# module {_notes(notes)}"] if notes else []
    sections += ["\n".join(_function(f, header=not bare)) for f in several]
    return "\n\n".join(sections)


def _function(function: FunctionRecords, header: bool) -> Iterable[str]:
    if header:
        yield f"# @{quoted(function.name)}" + (f" {_notes(function.attributes)}" if function.attributes else "")
    for operation in function.operations:
        yield _line(operation)
    if function.outputs:
        yield "outputs: " + ", ".join([f"%{number}" for number in function.outputs])


def _line(operation: CoreOperation) -> str:
    operands = f" (%{', %'.join(map(str, operation.operands))})" if operation.operands else ""
    attributes = _ATTRIBUTES[operation.opcode](operation.attributes) if operation.attributes else ""
    return f"%{operation.value_id} = {operation.opcode}{operands}{attributes} : {operation.result_type}"


def _notes(notes: Mapping[str, Note]) -> str:
    return "{" + ", ".join(f"{k}={_note(v)}" for k, v in sorted(notes.items())) + "}"


def _note(value: Note) -> str:
    if isinstance(value, Symbol):
        return f"@{quoted(value)}"
    if isinstance(value, str):
        return json.dumps(value)
    return "true" if value is True else str(value)


def _padding(value: str | list[list[int]]) -> str:
    return quoted(value) if isinstance(value, str) else f"Custom({value})"


def _renderer(codec: Codec) -> Render:
    """Return the renderer of a record's values of a kind."""
    if isinstance(codec, Scalar):
        return lambda value: shortest(value, codec.dtype)
    return _BY_KIND[type(codec)]


_BY_KIND: Mapping[type[Codec], Render] = {
    Integers: str,
    BooleanCodec: lambda value: "true" if value else "false",
    PaddingCodec: _padding,
}


def _input(attributes: Mapping[str, Any]) -> str:
    texts = {k: quoted(v) if k == "name" else _note(v) for k, v in attributes.items()}
    return " {" + ", ".join(f"{k}={texts[k]}" for k in sorted(texts)) + "}"


def _constant(attributes: Mapping[str, Any]) -> str:
    dtype, shape = DTYPES[attributes["dtype"]], attributes["shape"]
    if "fill" in attributes:
        return f" {{dtype={dtype}, fill={shortest(attributes['fill'], dtype)}, shape={shape}}}"
    if isinstance(attributes["value"], str):
        return f" {{dtype={dtype}, shape={shape}, value={json.dumps(attributes['value'])}}}"
    flat, extents = flatten(attributes["value"])
    texts = [shortest(v, dtype) for v in flat]  # pyright: ignore[reportArgumentType]
    return f" {{dtype={dtype}, shape={shape}, value={nested(texts, extents)}}}"


def _by_codecs(codecs: Mapping[str, Codec]) -> Callable[[Mapping[str, Any]], str]:
    renderers = [(k, _renderer(codecs[k])) for k in sorted(codecs)]
    return lambda attributes: " {" + ", ".join([f"{k}={render(attributes[k])}" for k, render in renderers]) + "}"


_ATTRIBUTES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    **{opcode: _by_codecs(cls.CODECS) for opcode, cls in OPS_BY_OPCODE.items() if opcode != "ConstTensor"},
    "ConstTensor": _constant,
    "Input": _input,
}
"""Renderers of the attributes of each opcode, sorted by name."""


@dataclass(frozen=True)
class CoreIRTarget(Target):
    """Print a module as Core IR text."""

    name = "mind-core-ir"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        print(print_core_ir(module), file=output)
