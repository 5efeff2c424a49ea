"""
Models of opsets before 13 in the form of opset 13, by the converter of the package `onnx`.

It is asked only where a model has an op whose form has changed, and gets no large weights to copy. A model that it does not
convert stays as it is: its ops whose forms have changed are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from math import prod
from typing import Any

from .model import DOMAINS, OLDEST_OPSET, SAME_SINCE, package

CONVERTED = {
    **dict.fromkeys(
        """
    ArgMax ArgMin AveragePool BatchNormalization Clip Constant DepthToSpace DequantizeLinear Dropout GatherND Gemm LogSoftmax
    MaxPool Pad QuantizeLinear ReduceSum Scatter Slice Softmax Split Squeeze TopK Unsqueeze
        """.split(),
        7,
    ),
    "Resize": 11,
}
"""Ops with other attributes or operands in opset 13, and since which opset their conversion is checked."""
NOT_CONVERTED = {
    "Hardmax": "the converter keeps the axis, along all that follows which older opsets look for the greatest",
    "Resize": "before opset 11, positions of elements are their corners; the converter makes them centres",
    "Scan": "before opset 9, its first axis is a batch",
    "Upsample": "positions of elements are their corners; the converter makes them centres",
}
"""Such ops that it converts wrongly or not at all, and why."""
EXPORT = f"export the model with opset {OLDEST_OPSET} or newer"
"""Advice for such ops: not to convert the model by hand, which may give other numbers."""
LARGEST = 1024
"""Elements of a tensor that the converter may have to read, at most: shapes, axes and scales."""


def schema_of(name: str, version: int, domain: str) -> Any:
    """The schema of an operator in an opset; None where the opset has none."""
    with suppress(Exception):  # its SchemaError, whose place in the package has changed
        return package().defs.get_schema(name, version, domain)
    return None


def is_changed(name: str, version: int) -> bool:
    """Return whether an op of the default domain has another form in opset 13 than in an older one, or none."""
    if version >= SAME_SINCE.get(name, OLDEST_OPSET) or (old := schema_of(name, version, "")) is None:
        return False
    new = schema_of(name, OLDEST_OPSET, "")
    return new is None or new.since_version != old.since_version


def is_converted(name: str, version: int) -> bool:
    """Return whether the converter brings an op of an older opset to opset 13: only its types have changed, or it is checked."""
    if name in CONVERTED:
        return version >= CONVERTED[name]
    old, new = schema_of(name, version, ""), schema_of(name, OLDEST_OPSET, "")
    return new is not None and not new.deprecated and _form(old) == _form(new)


def _form(schema: Any) -> tuple[Any, ...]:
    """Return the attributes of an op, with their defaults, and its operands and results."""
    attributes = {k: (str(a.type), a.required, a.default_value.SerializeToString()) for k, a in schema.attributes.items()}
    return attributes, [[str(v.option) for v in values] for values in (schema.inputs, schema.outputs)]


def in_oldest_opset(model: Any, version: int) -> Any:
    """Return a model in opset 13 if its opset is older, some op has another form there, and the converter takes it."""
    if version >= OLDEST_OPSET or model.functions or model.graph.sparse_initializer:
        return model
    changed = {p.op_type for p in nodes_of(model.graph) if p.domain in DOMAINS and is_changed(p.op_type, version)}
    if not changed or not all(is_converted(name, version) for name in changed):
        return model
    return _converted(model) or model


def _converted(model: Any) -> Any:
    """Return a model in opset 13; None where it is not valid or the converter does not take it."""
    onnx, graph = package(), model.graph
    given = {i.name for i in graph.input}
    large = {t.name: t for t in graph.initializer if prod(t.dims) > LARGEST or t.external_data}
    try:
        small = _without(model, large)
        _check(small)
        found = import_module("onnx.version_converter").convert_version(small, OLDEST_OPSET)
    except Exception:  # of several kinds, some of them of the package's C++
        return None
    made = {t.name: t for t in found.graph.initializer}
    weights = [large.get(t.name) or made.pop(t.name, None) for t in graph.initializer]
    result = onnx.ModelProto()
    result.CopyFrom(found)
    del result.graph.initializer[:], result.graph.input[:]
    result.graph.initializer.extend([*(t for t in weights if t is not None), *made.values()])
    result.graph.input.extend(i for i in found.graph.input if i.name not in large or i.name in given)
    known, name = {value for proto in graph.node for value in proto.output}, ""
    for proto in reversed(result.graph.node):  # nodes that the converter has made are named after what they are made for
        if proto.name:
            name = proto.name
        elif not known.intersection(proto.output):
            proto.name = name
    return result


def _check(model: Any) -> None:
    """Raise the error of ONNX's checker for a model that is not valid: the converter reads operands without looking for them."""
    onnx = package()
    checked = onnx.ModelProto()
    checked.CopyFrom(model)
    for value in checked.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()  # which the checker wants, and many models lack
    onnx.checker.check_model(checked)


def _without(model: Any, large: dict[str, Any]) -> Any:
    """Return the graph of a model, some of whose initialisers are inputs, as a model; these initialisers are not copied."""
    helper, graph = package().helper, model.graph
    given = {i.name for i in graph.input}
    more = [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in large.values() if t.name not in given]
    weights = [t for t in graph.initializer if t.name not in large]
    made = helper.make_graph(graph.node, graph.name, [*graph.input, *more], graph.output, weights, value_info=graph.value_info)
    return helper.make_model(made, opset_imports=model.opset_import, ir_version=model.ir_version)


def nodes_of(graph: Any) -> Iterator[Any]:
    """Yield the nodes of a graph and of those in it."""
    for proto in graph.node:
        yield proto
        for attribute in proto.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from nodes_of(inner)
