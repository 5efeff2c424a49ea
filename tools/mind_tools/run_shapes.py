"""
`mind-run` for functions on shapes, in xDSL's interpreter: what their values are on a command line.

    !shape.size    3   ?   invalid                          index, i32   3
    !shape.shape   [3, ?]   [*]   [invalid "why"]           i1           true
    !shape.value_shape   its shape                          !shape.witness   true   invalid "why"
    tensors        as for other programs; extent tensors as lists, [3, 4]

Results are printed in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType, ModuleOp, TensorType, i1
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, brief, error
from mind_dialect.program import input_names
from mind_dialect.shape import FuncOp as ShapeFuncOp
from mind_dialect.shape import FunctionLibraryOp, ShapeOp
from mind_dialect.shape.lattice import UNKNOWN, UNRANKED, Invalid, ranked, show
from mind_dialect.shape.types import SHAPE_TYPES, ShapeType, SizeType, ValueShapeType, WitnessType, is_extents
from mind_runtime import TensorSpec, register_implementations
from mind_runtime.interpreted_shape import ValueShape

from .flags import unknown
from .inputs import read_input

Function = FuncOp | ShapeFuncOp
LARGEST = (1 << 63) - 1
_INVALID = re.compile(r'\[?\s*invalid(?:\s+"(.*)")?\s*\]?', re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]{1,40}")


def functions_by_name(module: ModuleOp) -> dict[str, Function]:
    """Every function that has a body: by name, in a library as `library.name`."""
    found: dict[str, Function] = {}
    for op in module.ops:
        if isinstance(op, FunctionLibraryOp):
            found |= {f"{op.sym_name.data}.{name}": f for name, f in op.functions.items() if not f.is_declaration}
        elif isinstance(op, FuncOp | ShapeFuncOp) and op.body.blocks:
            found[op.sym_name.data] = op
    return found


def is_on_shapes(function: Function) -> bool:
    """Return whether a function uses the shape dialect."""
    return isinstance(function, ShapeFuncOp) or any(
        isinstance(op, ShapeOp) or any(isinstance(v.type, SHAPE_TYPES) for v in op.results) for op in walk(function)
    )


def pick(module: ModuleOp, wanted: str | None) -> Function | None:
    """The function to run if it is one on shapes: the one that is named, else the only one; None for other programs."""
    found = functions_by_name(module)
    if wanted is not None:
        chosen = found.get(wanted)
        return chosen if chosen is not None and is_on_shapes(chosen) else None
    public = [f for f in found.values() if isinstance(f, FuncOp)] or list(found.values())
    return public[0] if len(public) == 1 and is_on_shapes(public[0]) else None


def run(module: ModuleOp, function: Function, given: Sequence[str], default: str | None) -> list[str]:
    """The results as lines; `given` are inputs as NAME=VALUE, `default` is the value of those that are not given."""
    names = input_names(cast(FuncOp, function))
    texts = _texts(names, function, given, default)
    arguments: list[Any] = []
    for place, (name, argument) in enumerate(zip(names, _entry(function), strict=True)):
        try:
            arguments.append(read_value(texts[name], argument.type, name, place))
        except MindError as e:
            raise MindError(e.code, f"input {name!r}: {e.message}", {"input": name, **e.context}) from None
    interpreter = Interpreter(module)
    register_implementations(interpreter)
    try:
        results = interpreter.call_op(function, tuple(arguments))
    except InterpretationError as e:
        raise error("E4000", f"{e}", given=str(e), expected="ops that the interpreter knows") from None
    except RecursionError:
        raise error(
            "E9022", "functions call each other too deep, or for ever", operation=function, limit="Python's stack"
        ) from None
    return [f"{name}: {type} = {shown(value, type)}" for name, value, type in zip(*_results(function, results), strict=True)]


def _entry(function: Function) -> Sequence[SSAValue]:
    block = function.body.first_block
    return () if block is None else block.args


def _texts(names: Sequence[str], function: Function, given: Sequence[str], default: str | None) -> Mapping[str, str]:
    """The text for each input; E7001, E7003 and E2007 for names that do not match."""
    found: dict[str, str] = {}
    for text in given:
        name = max((n for n in names if text.startswith(f"{n}=")), key=len, default=None)
        if name is None and "=" not in text:
            raise error("E7001", f"cannot read {brief(text)!r}, expected name=value", option=text)
        if name is None:
            raise unknown("input", text.partition("=")[0], names)
        if name in found:
            raise error("E7001", f"input {name!r} is given twice", option=name)
        found[name] = text[len(name) + 1 :]
    missing = [name for name in names if name not in found]
    if missing and default is None:
        types = ", ".join(f"{name}: {v.type}" for name, v in zip(names, _entry(function), strict=True))
        message = f"@{function.sym_name.data} takes {types}; missing: {', '.join(missing)}"
        raise error("E2007", message, expected=len(names), actual=len(found))
    return {name: found.get(name, str(default)) for name in names}


def _results(function: Function, values: Sequence[Any]) -> tuple[Sequence[str], Sequence[Any], Sequence[Attribute]]:
    """Names, values and types."""
    block = function.body.last_block
    last: Operation | None = None if block is None else block.last_op
    operands = () if last is None else last.operands
    names: list[str] = []
    for i in range(len(values)):
        hint = operands[i].name_hint if i < len(operands) else None
        names.append(hint if hint and hint not in names else f"out{i}")
    type = function.function_type if isinstance(function, FuncOp) else function.type
    return names, values, list(type.outputs.data)


# Values


def read_value(text: str, type: Attribute, name: str, place: int) -> Any:
    """The value that a text stands for; E1005 and E1007 for what cannot be read."""
    text = text.strip()
    if isinstance(type, WitnessType):
        return _invalid(text) or (True if text == "true" else _unreadable(text, 'true or invalid "why"'))
    if isinstance(type, SizeType):
        return UNKNOWN if text == UNKNOWN else _invalid(text) or _integer(text, 0, LARGEST)
    if isinstance(type, ShapeType):
        return _shape(text)
    if isinstance(type, ValueShapeType):
        found = _shape(text)
        return found if isinstance(found, Invalid) else ValueShape(None, found)
    if type == i1:
        return text == "true" if text in ("true", "false") else _unreadable(text, "true or false")
    if isinstance(type, IndexType | IntegerType):
        width = 64 if isinstance(type, IndexType) else cast(Any, type).width.data
        return _integer(text, -(1 << width - 1), (1 << width - 1) - 1)
    if is_extents(type):
        return np.array([_integer(item, -LARGEST - 1, LARGEST) for item in _items(text)], np.int64)
    if not isinstance(type, TensorType):
        raise error("E2005", f"no value of type {brief(type)} can be given", dtype=brief(type), supported=["tensors", "indices"])
    return read_input(text, TensorSpec.of(name, cast(Attribute, type)), place)


def _unreadable(text: str, expected: str) -> Any:
    raise error("E1007", f"cannot read {brief(text)!r}, expected {expected}")


def _invalid(text: str) -> Invalid | None:
    match = _INVALID.fullmatch(text)
    return None if match is None else Invalid(match[1] or "invalid")


def _integer(text: str, least: int, greatest: int) -> int:
    text = text.strip()
    if _NUMBER.fullmatch(text) is None or not least <= int(text) <= greatest:
        raise error("E1005", f"{brief(text)!r} is no integer from {least} to {greatest}", text=brief(text))
    return int(text)


def _items(text: str) -> list[str]:
    if not (text.startswith("[") and text.endswith("]")):
        _unreadable(text, "a list such as [3, 4]")
    inner = text[1:-1].strip()
    return inner.split(",") if inner else []


def _shape(text: str) -> Any:
    if text in ("*", "[*]"):
        return UNRANKED
    if (bad := _invalid(text)) is not None:
        return bad
    return ranked([UNKNOWN if item.strip() == UNKNOWN else _integer(item, 0, LARGEST) for item in _items(text)])


def shown(value: Any, type: Attribute) -> str:
    """A value as text that can be given again."""
    if isinstance(value, Invalid):
        text = f'invalid "{value.reason}"'
        return f"[{text}]" if isinstance(type, ShapeType) else text
    if isinstance(value, ValueShape):
        return show(value.shape)
    if isinstance(value, np.ndarray):
        return np.array2string(cast("np.ndarray[Any, Any]", value), separator=", ", threshold=1000, max_line_width=110)
    if isinstance(type, WitnessType):
        return UNKNOWN if value is None else "true"
    if type == i1:
        return "true" if value else "false"
    return show(value)
