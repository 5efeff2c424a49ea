"""
The specification's `CoreOperation` records, from a function and back. The text is rendered from them.

Attributes are plain Python values: lists of integers, booleans, numbers, strings, nested lists for the value of a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from mind_dialect.core import ConstantOp, CoreOp
from mind_dialect.errors import MindError, brief, error
from mind_dialect.literals import LiteralAttr, flatten
from mind_dialect.profiles import Profile
from mind_dialect.program import LATE_ATTRIBUTE, NAME_ATTRIBUTE, core_block, input_names
from mind_dialect.types import DType, dtype_named, read_type

from .builder import DEFAULT_NAME, VISIBILITY, FunctionBuilder, Nested, Note, literal, note_value, opcode_named
from .types import extents, parse_type, type_text


@dataclass(slots=True)
class CoreOperation:
    """One instruction, inputs included, as the Core IR chapter models it."""

    value_id: int
    opcode: str
    operands: list[int]
    attributes: dict[str, Any]
    result_type: str


class FunctionRecords(NamedTuple):
    """A function: its instructions in order, the ids of its outputs, its name, and its attributes."""

    operations: list[CoreOperation]
    outputs: list[int]
    name: str = DEFAULT_NAME
    attributes: Mapping[str, Note] = {}


def records(func: FuncOp) -> FunctionRecords:
    """
    The records of a flat Core IR function, ids dense in definition order.

    Raises E4000 naming what the records cannot hold: another dialect's op, an attribute of another kind.
    """
    block = core_block(func)
    names = input_names(func)
    types: dict[int, str] = {}  # by identity: types are shared between ops
    ids: dict[SSAValue, int] = {}
    found: list[CoreOperation] = []

    def text(type: Attribute) -> str:
        if (known := types.get(id(type))) is None:
            known = types[id(type)] = type_text(type)
        return known

    for i, argument in enumerate(block.args):
        ids[argument] = i
        found.append(CoreOperation(i, "Input", [], {"name": names[i], **_input_notes(func, i)}, text(argument.type)))
    outputs: list[int] = []
    for op in block.ops:
        if not isinstance(op, CoreOp):  # func.return, by core_block
            outputs = _ids(op, ids)
            continue
        attributes = _attributes(op)
        operands = _ids(op, ids)
        number = ids[op.results[0]] = len(ids)
        found.append(CoreOperation(number, op.OPCODE, operands, attributes, text(op.results[0].type)))
    return FunctionRecords(found, outputs, func.sym_name.data, _function_notes(func))


def _ids(op: Operation, ids: Mapping[SSAValue, int]) -> list[int]:
    try:
        return [ids[v] for v in op.operands]
    except KeyError:
        i = next(i for i, v in enumerate(op.operands) if v not in ids)
        raise error("E4001", f"{op.name} uses operand {i} before its definition", operation=op, operand=i) from None


def _attributes(op: CoreOp) -> dict[str, Any]:
    if op.attributes or op.regions:
        what = sorted(op.attributes) or "regions"
        message = f"{op.name} carries {what}, which this text form cannot hold; remove them first"
        raise error("E4000", message, operation=op, given=what, expected="none")
    op.check_arity(len(op.operands), len(op.results))
    values = op.values()
    if isinstance(op, ConstantOp):
        return constant_attributes(op.literal)
    return {k: _plain(v) for k, v in values.items()}


def _plain(value: Any) -> Any:
    """Lists for tuples."""
    return [_plain(v) for v in value] if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownVariableType]


def constant_attributes(value: LiteralAttr) -> dict[str, Any]:
    """The attributes of a `ConstTensor`."""
    dtype, shape = read_type(value.type)
    numbers = value.values()
    if value.is_fill:
        return {"dtype": str(dtype), "shape": list(shape), "fill": numbers[0]}
    value.check()
    if any(v != v for v in numbers) and LiteralAttr.from_values(dtype, shape, numbers) != value:
        return {"dtype": str(dtype), "shape": list(shape), "value": value.hex().strip('"')}  # NaNs that decimals cannot say
    level: list[Any] = list(numbers)
    for n in reversed(shape):
        level = [level[i : i + n] for i in range(0, len(level), n)]
    return {"dtype": str(dtype), "shape": list(shape), "value": level[0]}


def _input_notes(func: FuncOp, i: int) -> dict[str, Note]:
    if func.arg_attrs is None:
        return {}
    return {k: note_value(k, v) for k, v in func.arg_attrs.data[i].data.items() if k not in (NAME_ATTRIBUTE, LATE_ATTRIBUTE)}


def _function_notes(func: FuncOp) -> dict[str, Note]:
    """Return the notes that a function carries in addition to its name and block."""
    if func.res_attrs is not None and any(attributes.data for attributes in func.res_attrs):
        raise error(
            "E4000",
            f"@{func.sym_name.data} has result attributes, which this text form cannot hold",
            given="res_attrs",
            expected="none",
        )
    returned = func.body.block.last_op
    types = () if returned is None else returned.operand_types
    if func.function_type.inputs.data != func.body.block.arg_types or func.function_type.outputs.data != tuple(types):
        declared, inferred = str(func.function_type), "the types of its arguments and of what it returns"
        raise error(
            "E4015", f"@{func.sym_name.data} is declared {declared}, not {inferred}", declared=declared, inferred=inferred
        )
    notes = {k: note_value(k, v) for k, v in func.attributes.items()}
    if func.sym_visibility is not None:
        notes[VISIBILITY] = func.sym_visibility.data
    return notes


def from_records(
    operations: Sequence[CoreOperation],
    outputs: Sequence[int],
    name: str = DEFAULT_NAME,
    attributes: Mapping[str, Note] | None = None,
    profile: Profile = Profile.CORE_V1,
) -> FuncOp:
    """
    The function of records; ids are any distinct numbers, attributes are checked, types are left to the verifier.

    Raises the coded errors of the text reader: E4000, E4001, E4002, E4003, E4004, E4005, E3010.

    >>> type = "tensor<f32[2]>"
    >>> ops = [CoreOperation(0, "Input", [], {"name": "x"}, type), CoreOperation(7, "Relu", [0], {}, type)]
    >>> records(from_records(ops, [7], "f")).operations[1]
    CoreOperation(value_id=1, opcode='Relu', operands=[0], attributes={}, result_type='tensor<f32[2]>')
    """
    builder = FunctionBuilder(name, attributes or {}, profile)
    defined: set[int] = set()
    for i, record in enumerate(operations):
        try:
            _check_kinds(record)
            if record.value_id in defined:
                raise error("E4002", f"value {record.value_id} is defined again", value=record.value_id)
            _add(builder, record)
        except MindError as e:
            raise MindError(e.code, f"record {i}: {e.message}", {"record": i, **e.context}) from None
        defined.add(record.value_id)
    returned: list[SSAValue] = []
    for i, number in enumerate(outputs):
        if (value := builder.value(number)) is None:
            raise error("E4003", f"output {i} is {number}, which is not defined", index=i, value=number)
        returned.append(value)
    return builder.finish(returned)


def _check_kinds(record: CoreOperation) -> None:
    """Raise E4000 unless each field is of its kind."""
    kinds: Mapping[str, Callable[[Any], bool]] = {
        "value_id": lambda v: isinstance(v, int),
        "opcode": lambda v: isinstance(v, str),
        "operands": lambda v: isinstance(v, list | tuple) and all(isinstance(n, int) for n in v),  # pyright: ignore[reportUnknownVariableType]
        "attributes": lambda v: isinstance(v, Mapping) and all(isinstance(k, str) for k in v),  # pyright: ignore[reportUnknownVariableType]
        "result_type": lambda v: isinstance(v, str),
    }
    for name, fits in kinds.items():
        if not fits(given := getattr(record, name)):
            expected = str(CoreOperation.__annotations__[name])
            message = f"{name} is {brief(repr(given))}, expected {expected}"
            raise error("E4000", message, given=brief(repr(given)), expected=expected)


def _add(builder: FunctionBuilder, record: CoreOperation) -> None:
    type = parse_type(record.result_type)
    if record.opcode == "Input":
        notes = {k: v for k, v in record.attributes.items() if k != "name"}
        builder.add_input(record.value_id, record.attributes.get("name"), notes, type, None)
        return
    cls = opcode_named(record.opcode)
    operands: list[SSAValue] = []
    for number in record.operands:
        if (value := builder.value(number)) is None:
            raise error("E4001", f"value {number} is used before its definition", operand=number)
        operands.append(value)
    if cls is ConstantOp:
        properties: Mapping[str, Attribute] = {"value": literal(_constant(record.attributes), type)}
    else:
        if unknown := sorted(record.attributes.keys() - cls.CODECS.keys()):
            expected = sorted(cls.CODECS)
            raise error(
                "E4000", f"{cls.OPCODE} has no attributes {unknown}, expected {expected}", given=unknown, expected=expected
            )
        properties = {k: cls.CODECS[k].attribute(v) for k, v in record.attributes.items()}
    builder.define(record.value_id, builder.instruction(cls, operands, properties, type, None))


def _constant(attributes: Mapping[str, Any]) -> dict[str, object]:
    """The attributes of a `ConstTensor` record as `literal` takes them."""
    if unknown := sorted(attributes.keys() - _CONSTANT.keys()):
        expected = sorted(_CONSTANT)
        raise error("E4000", f"ConstTensor has no attributes {unknown}, expected {expected}", given=unknown, expected=expected)
    return {k: _CONSTANT[k](v) for k, v in attributes.items()}


def _dtype(value: object) -> DType:
    return dtype_named(value if isinstance(value, str) else brief(value))


def _shape(value: object) -> tuple[int, ...]:
    return extents(value if isinstance(value, list | tuple) else [value])  # pyright: ignore[reportUnknownArgumentType]


def _value(value: object) -> Nested | str:
    if isinstance(value, str):
        return value
    flat, shape = flatten(value)
    return Nested(flat, shape)  # pyright: ignore[reportArgumentType], the elements are checked with the dtype


_CONSTANT: Mapping[str, Callable[[Any], object]] = {"dtype": _dtype, "shape": _shape, "value": _value, "fill": lambda v: v}
__all__ = ["CoreOperation", "FunctionRecords", "from_records", "records"]
