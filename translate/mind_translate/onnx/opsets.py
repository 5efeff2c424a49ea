"""
Operators of opsets 7 to 12 in the form of opset 13: attributes become operands, operators that were replaced get their new names.

The forms that differ are those of the schemas that the package `onnx` has of all opsets.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ..unsupported import Refused
from .model import OLDEST_OPSET, array_dtype, package
from .node import Node

EXPORT = f"export the model with opset {OLDEST_OPSET} or newer"
OLDEST_FORMS = 7
"""Operators of older opsets broadcast by attributes: those that changed since then are refused."""
Form = Callable[[Node], Node]


def schema_of(name: str, version: int, domain: str) -> Any:
    """The schema of an operator in an opset; None where the opset has none."""
    with suppress(Exception):  # its SchemaError, whose place in the package has changed
        return package().defs.get_schema(name, version, domain)
    return None


def is_changed(name: str, version: int) -> bool:
    """Return whether opset 13 has another schema of an op of the default domain than an older opset, or none."""
    if version >= OLDEST_OPSET or (old := schema_of(name, version, "")) is None:
        return False
    return _since(name, OLDEST_OPSET) != old.since_version


def is_read(name: str, version: int) -> bool:
    """Return whether the importer reads the form that an op has in an older opset."""
    if _since(name, max(version, OLDEST_FORMS)) != _since(name, version):
        return False
    old, new = schema_of(name, version, ""), schema_of(name, OLDEST_OPSET, "")
    return name in FORMS or (new is not None and not new.deprecated and _signature(old) == _signature(new))


def _since(name: str, version: int) -> int | None:
    schema = schema_of(name, version, "")
    return None if schema is None else schema.since_version


def _signature(schema: Any) -> tuple[Any, ...]:
    """Return the attributes of an op, with their defaults, and its operands and results."""
    attributes = {k: (str(a.type), a.required, a.default_value.SerializeToString()) for k, a in schema.attributes.items()}
    return attributes, [[str(v.option) for v in values] for values in (schema.inputs, schema.outputs)]


def in_oldest_opset(node: Node, version: int) -> Node:
    """Return a node of an older opset in the form of opset 13. Raises `Refused` for a form that is not read."""
    name = node.proto.op_type
    if node.schema is None or node.schema.domain or not is_changed(name, version):
        return node
    if not is_read(name, version):
        raise Refused(f"its form in opset {version}, which opset {OLDEST_OPSET} changed", EXPORT)
    return FORMS.get(name, _same)(node)


def _same(node: Node) -> Node:
    """The forms are the same, or the row reads both."""
    return node


def _changed(node: Node, operands: list[Any], op: str = "", without: tuple[str, ...] = ()) -> Node:
    """A node with other operands: those of `node` by number, arrays, and None for those that are not given."""
    old = node.proto
    proto = package().NodeProto(op_type=op or old.op_type, name=old.name, output=old.output)
    proto.attribute.extend(a for a in old.attribute if a.name not in without)
    proto.input.extend(old.input[v] if isinstance(v, int) and node.has(v) else "" for v in operands)
    values = [(node.operands[v] if node.has(v) else None) if isinstance(v, int) else v for v in operands]
    return Node(node.to, proto, values, schema_of(proto.op_type, OLDEST_OPSET, "") if not op else node.schema, node.tensors)


def _with_operands(*names: str) -> Form:
    """Attributes of a schema as operands after the first, numbers in its dtype; operands stay as they are in later forms."""

    def form(node: Node) -> Node:
        stated = {name: node.schema.attributes[name] for name in names if name in node.schema.attributes}
        if not stated:
            return node
        operands: list[Any] = [0]
        for name in names:
            operands.append(_operand(node, stated[name]) if name in stated else None)
        return _changed(node, operands, without=names)

    return form


def _operand(node: Node, stated: Any) -> Any:
    """The value of an attribute as an array, its default where it is not given; None where it has none."""
    kind = stated.type.name
    if kind in ("INT", "INTS"):
        found = node.ints(stated.name) if kind == "INTS" else node.int(stated.name)
        return None if found is None else np.array(found, np.int64).reshape(-1)
    default = package().helper.get_attribute_value(stated.default_value)
    return np.array(node.float(stated.name, default)).astype(array_dtype(node.to.dtype(node.x())))


def _batch_normalization(node: Node) -> Node:
    if not node.int("spatial", 1):
        raise Refused("statistics of each position", EXPORT)
    return node


def _dropout(node: Node) -> Node:
    """A node that only names its operand, as it is without training."""
    return _changed(node, [0], without=("ratio",)) if node.schema.since_version < 12 else node


def _scatter(node: Node) -> Node:
    return _changed(node, [0, 1, 2], "ScatterElements")


def _upsample(node: Node) -> Node:
    """An op with the scales as an operand: opset 7 has them as an attribute, and opset 10 calls it Resize."""
    scales = node.floats("scales")
    return _changed(node, [0, 1 if scales is None else np.array(scales, np.float32)], "Upsample", ("scales",))


def _resize(node: Node) -> Node:
    return _upsample(node) if node.schema.since_version < 11 else node


FORMS: dict[str, Form] = {
    **dict.fromkeys(
        """
    ArgMax ArgMin AveragePool Constant DepthToSpace DequantizeLinear GatherND Gemm Hardmax LogSoftmax MaxPool QuantizeLinear
    Softmax
        """.split(),
        _same,
    ),
    "BatchNormalization": _batch_normalization,
    "Clip": _with_operands("min", "max"),
    "Dropout": _dropout,
    "Pad": _with_operands("pads", "value"),
    "ReduceSum": _with_operands("axes"),
    "Resize": _resize,
    "Scatter": _scatter,
    "Slice": _with_operands("starts", "ends", "axes"),
    "Split": _with_operands("split"),
    "Squeeze": _with_operands("axes"),
    "TopK": _with_operands("k"),
    "Unsqueeze": _with_operands("axes"),
    "Upsample": _upsample,
}
"""Ops whose attributes or operands have changed, and how they are brought to the form of opset 13."""
NOT_READ = {"Scan": "before opset 9, its first axis is a batch"}
"""Such ops that are refused, and why."""
