"""
The walk over a graph of ONNX: nodes by the table of rows, function bodies for what has no row, all that is refused in one error.

A value is an SSA value, or an array that is known at import: an initialiser, a constant, or a size that the model computes.
Known arrays become constants where an op reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np
from xdsl.dialects.builtin import LocationAttr, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from mind_dialect.errors import MindError, brief, error
from mind_dialect.ptir_shapes import UNKNOWN

from ..unsupported import Refused, Unsupported
from .emitter import HOW_SIZED, Emitter, SizesMayDiffer
from .extents import Array, UndecidedError, is_symbolic, settled
from .model import DOMAINS, NUMBER_OF, Tensors, dtype_of_array, package
from .names import hint_of, shown_name
from .node import Node, no_dtype
from .opsets import in_oldest_opset, schema_of
from .values import Sequenced, Unusable, Value, Values

MOST_FOLDED = 1 << 16
"""Arrays of at most this many elements are computed at import."""
MOST_NODES = 1 << 17
"""As many nodes are converted, those of inlined functions included."""
CONTRIB_DOMAINS = frozenset({"com.microsoft"})
"""Domains whose operators the package `onnx` does not define; their rows check attributes themselves."""
BLOCKED_DOMAINS = frozenset({"com.microsoft.nchwc", "com.ms.internal.nhwc"})
"""Domains of the layouts that it chooses for one processor."""
CONTRIB_NAMES = frozenset({"SimplifiedLayerNormalization"})
"""Such operators that ONNX Runtime has in the default domain."""
ELEMENT = "\0element\0"
"""Between the name of a sequence and the number of an element, in the name of a captured value."""
MAX_DEPTH = 40
"""Functions may call functions this deep."""


class OnnxRow(Protocol):
    """Emits the ops of one node; its results are those of the node, in order, fewer where the last ones are not wanted."""

    def __call__(self, to: OnnxConverter, node: Node, /) -> Any: ...


Table = Mapping[str, OnnxRow | Refused]
Fold = Callable[["Node", list[Array]], "Array | list[Array] | None"]


@dataclass
class Scope:
    """Meaning of names in a graph or in the body of a function, and the versions of the operators that hold there."""

    values: dict[str, Value]
    opsets: Mapping[str, int]
    outer: Scope | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of a function's body: the attributes of its call."""

    def find(self, name: str) -> Value | None:
        """The value of a name, here or around."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        return None


class OnnxConverter(Emitter):
    """Converts graphs by a table of rows, one of folds, and the functions of a model."""

    def __init__(self, table: Table, folds: Mapping[str, Fold], functions: Mapping[tuple[str, str, str], Any], tensors: Tensors):
        super().__init__()
        self.table, self.folds, self.functions, self.tensors = table, folds, functions, tensors
        self.unsupported = Unsupported()
        self.unequal: list[SizesMayDiffer] = []
        """Refusals of shapes that may fit."""
        self.scope: Scope = Scope({}, {})
        self._nodes: int = 0
        self._depth: int = 0

    def schema(self, proto: Any) -> Any:
        """The schema of a node in the opset that holds; None for what the package does not know."""
        domain = "" if proto.domain in DOMAINS else proto.domain
        version = self.scope.opsets.get(domain)
        return None if version is None else schema_of(proto.op_type, version, domain)

    # Nodes

    def convert_nodes(self, nodes: Sequence[Any]) -> None:
        """Convert nodes in order and bind their results."""
        outer = self.location
        for proto in nodes:
            self.location = self.location_of(proto)
            self.convert(proto)
        self.location = outer

    def location_of(self, proto: Any) -> LocationAttr:
        """The location of a node: its name, else that of its first result."""
        name = shown_name(proto.name or next((o for o in proto.output if o), ""))
        return NameLoc(StringAttr(name), UnknownLoc()) if name else UnknownLoc()

    def convert(self, proto: Any) -> None:
        """Convert one node; what has no form is counted, and its results are unusable."""
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise error("E4000", f"more than {MOST_NODES} nodes, those of functions included", given="nodes", expected="fewer")
        name = proto.op_type if proto.domain in DOMAINS else f"{proto.domain}.{proto.op_type}"
        place = shown_name(proto.name or next((o for o in proto.output if o), ""))
        try:
            operands = [self._operand(name) for name in proto.input]
            if any(isinstance(v, Unusable) and v.refused is FOLLOWS for v in operands):
                raise FOLLOWS
            made = self._made(Node(self, proto, operands, self.schema(proto), self.tensors))
            if absent := [i for i, o in enumerate(proto.output) if o and (i >= len(made) or made[i] is None)]:
                raise error("E2007", f"has no result {absent[0]}", expected=len(proto.output), actual=len(made))
        except Refused as refused:
            if refused is not FOLLOWS:
                self.unsupported.add(name, refused, place=place)
            if isinstance(refused, SizesMayDiffer):
                self.unequal.append(refused)
            made = [Unusable(FOLLOWS)] * len(proto.output)
        except MindError as e:
            if not e.message.startswith("node "):
                raise MindError(e.code, f"node {brief(place)!r} ({brief(name)}): {e.message}", dict(e.context)) from None
            raise
        except VerifyException as e:
            raise error("E4016", f"node {brief(place)!r} ({brief(name)}): {brief(e)}", issue=str(e)) from None
        except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError) as e:
            message = f"node {brief(place)!r} ({brief(name)}): malformed: {brief(e)}"
            raise error("E4016", message, issue=f"{type(e).__name__}: {brief(e)}") from e
        self._bind(proto.output, made)

    def _operand(self, name: str) -> Value | None:
        if not name:
            return None
        found = self.scope.find(name)
        if found is None:
            raise error("E2002", f"no value is named {brief(name)!r}", name=brief(name))
        return found

    def _bind(self, names: Sequence[str], made: Values) -> None:
        for name, value in zip(names, made, strict=False):
            if name and value is not None:
                self.scope.values[name] = value
                if isinstance(value, SSAValue) and value.name_hint is None and value not in self.parameters:
                    value.name_hint = hint_of(name)

    def _made(self, node: Node) -> Values:
        domain = "" if node.proto.domain in DOMAINS else node.proto.domain
        overload = getattr(node.proto, "overload", "")  # since version 1.16 of the package
        if (function := self.functions.get((domain, node.proto.op_type, overload))) is not None:
            return self._called(node, function)
        if node.schema is not None:
            node.check()
        node = in_oldest_opset(node, self.scope.opsets.get("", 0))
        if (folded := self._folded(node)) is not None:
            return folded
        row = self.table.get(node.name)
        if row is None:
            return self.by_function(node)
        if isinstance(row, Refused):
            raise row
        self._check_schema(node)
        try:
            made = row(self, node)
        except UndecidedError:
            raise Refused("sizes that depend on dimensions without sizes", HOW_SIZED) from None
        except MindError as e:
            if e.code == "E2005":  # PTIR has the op, but not for this dtype
                raise Refused(e.message) from None
            raise
        return [*cast(Values, made)] if isinstance(made, list | tuple) and not isinstance(made, Sequenced) else [made]

    def _check_schema(self, node: Node) -> None:
        """Raise E4000 for an op that its opset lacks."""
        if node.schema is None and node.proto.domain not in CONTRIB_DOMAINS and node.name not in CONTRIB_NAMES:
            domain = node.proto.domain or "ai.onnx"
            version = self.scope.opsets.get("" if domain in DOMAINS else domain)
            message = f"no op of opset {version} of {brief(domain)}"
            raise error("E4000", message, given=node.name, expected=f"an op of opset {version}")

    def _folded(self, node: Node) -> Values | None:
        """The results as arrays, where all operands are known, and small enough."""
        fold = self.folds.get(node.name)
        arrays = [v for v in node.operands if v is not None]
        if fold is None:
            return None
        if node.name not in OF_TYPES:
            arrays = [v for v in arrays if isinstance(v, np.ndarray) and v.size <= MOST_FOLDED]
            if len(arrays) != sum(v is not None for v in node.operands):
                return None
        try:
            with np.errstate(all="ignore"):
                found = fold(node, cast(list[Array], arrays))
        except UndecidedError:
            return None
        return None if found is None else [settled(v) for v in (found if isinstance(found, list) else [found])]

    # Functions

    def by_function(self, node: Node) -> Values:
        """The results of a node by the function body that the schema of its op has; `Refused` for an op without one."""
        if (function := self._function_of(node)) is not None:
            return self._called(node, function)
        if node.proto.domain in CONTRIB_DOMAINS or node.proto.domain in BLOCKED_DOMAINS:
            raise _of_runtime(node.proto.domain)
        if node.schema is None:
            raise Refused("an op that no opset of the model has", "import the domain, or define the function in the model")
        raise Refused(f"an op of the domain {brief(node.proto.domain) or 'ai.onnx'} without an import rule")

    def _function_of(self, node: Node) -> Any:
        """The body that the schema of an op has; None for an op without one."""
        schema = node.schema
        if schema is None:
            return None
        domain = "" if node.proto.domain in DOMAINS else node.proto.domain
        version = self.scope.opsets[domain]
        proto = package().FunctionProto()
        if schema.has_context_dependent_function:
            text = schema.get_context_dependent_function_with_opset_version(
                max(v for v in schema.context_dependent_function_opset_versions if v <= version),
                node.proto.SerializeToString(),
                [self._type_of(v).SerializeToString() for v in node.operands],
            )
        elif schema.has_function:
            text = schema.get_function_with_opset_version(max(v for v in schema.function_opset_versions if v <= version))
        else:
            return None
        if not text:
            return None
        proto.ParseFromString(text)
        if not proto.attribute_proto:  # defaults that the body refers to
            proto.attribute_proto.extend(a.default_value for a in schema.attributes.values() if a.default_value.name)
        return proto

    def _type_of(self, value: Value | None) -> Any:
        onnx = package()
        if isinstance(value, SSAValue | np.ndarray):
            shaped = value if isinstance(value, np.ndarray) and not is_symbolic(value) else self.value(value)
            dtype = dtype_of_array(shaped.dtype) if isinstance(shaped, np.ndarray) else self.dtype(shaped)
            shape = shaped.shape if isinstance(shaped, np.ndarray) else self.shape(shaped)
            if dtype is not None:
                dims = [None if n == UNKNOWN else n for n in shape]
                return onnx.helper.make_tensor_type_proto(NUMBER_OF[dtype.name], dims)
        return onnx.TypeProto()

    def _called(self, node: Node, function: Any) -> Values:
        """The nodes of a function's body in the place of its call."""
        if self._depth >= MAX_DEPTH:
            raise error("E4000", f"calls nested deeper than {MAX_DEPTH}", given="a recursive call", expected="calls that end")
        if len(node.operands) > len(function.input):
            given, expected = len(node.operands), len(function.input)
            raise error("E2007", f"has {given} operands, expected at most {expected}", expected=expected, actual=given)
        given = [*node.operands, *[None] * (len(function.input) - len(node.operands))]
        attributes = {a.name: a for a in function.attribute_proto} | node.attributes
        opsets = {("" if o.domain in DOMAINS else o.domain): o.version for o in function.opset_import}
        values = {name: v for name, v in zip(function.input, given, strict=True) if v is not None}
        outer, self.scope = self.scope, Scope(dict(values), {**self.scope.opsets, **opsets}, None, attributes)
        self.scope.values.update({name: ABSENT for name, v in zip(function.input, given, strict=True) if v is None})
        self._depth += 1
        try:
            for proto in function.node:
                self.convert(with_attributes(proto, attributes, self.scope))
            return [self._result(name) for name in function.output]
        finally:
            self.scope = outer
            self._depth -= 1

    def _result(self, name: str) -> Value | None:
        found = self.scope.find(name)
        return None if found is ABSENT else found

    # Graphs

    def inlined(self, graph: Any, arguments: Values) -> list[Value]:
        """The nodes of a subgraph here, its inputs bound to `arguments`; its outputs."""
        outer = self.scope
        self.scope = Scope({}, outer.opsets, outer, outer.attributes)
        try:
            if len(arguments) != len(graph.input):
                given, expected = len(graph.input), len(arguments)
                message = f"graph {brief(graph.name)!r} takes {given} values, expected {expected}"
                raise error("E8005", message, region=0, expected=expected, actual=given)
            self.scope.values.update({i.name: v for i, v in zip(graph.input, arguments, strict=True)})
            for tensor in graph.initializer:
                array = self.tensors.array(tensor)
                self.scope.values[tensor.name] = Unusable(no_dtype(tensor.data_type)) if array is None else array
            for proto in graph.node:
                self.convert(with_attributes(proto, outer.attributes, outer) if outer.attributes else proto)
            found = [self.scope.find(o.name) for o in graph.output]
            missing = [o.name for o, v in zip(graph.output, found, strict=True) if v is None]
            if missing:
                raise error("E2002", f"no value is named {brief(missing[0])!r}", name=brief(missing[0]))
            return [v for v in found if v is not None]
        finally:
            self.scope = outer

    def captured(self, *graphs: Any) -> list[str]:
        """The names of values of the run, from outside, that graphs read, in the order of their first use."""
        found: dict[str, None] = {}
        for graph in graphs:
            _reads(graph, set(), found)
        names: list[str] = []
        for name in found:
            value = self.scope.find(name)
            if isinstance(value, Sequenced):  # its elements have names of their own
                elements: dict[str, Any] = {f"{name}{ELEMENT}{i}": v for i, v in enumerate(value) if isinstance(v, SSAValue)}
                self.scope.values.update(elements)
                names += elements
            elif isinstance(value, SSAValue):
                names.append(name)
        return names

    def inner_scope(self, names: Sequence[str], values: Values) -> Scope:
        """The scope of a region in which captured names have these values, those of elements of sequences included."""
        outer, found = self.scope, dict[str, Value](zip(names, values, strict=True))
        for name in [name for name in found if ELEMENT in name]:
            sequence, _, i = name.partition(ELEMENT)
            held = found.setdefault(sequence, Sequenced(cast(Sequenced, outer.find(sequence))))
            cast(Sequenced, held)[int(i)] = found[name]
        return Scope(found, outer.opsets, outer, outer.attributes)

    def outer_values(self, names: Sequence[str]) -> list[SSAValue]:
        """The values of captured names."""
        return [v for v in map(self.scope.find, names) if isinstance(v, SSAValue)]

    def landed(self, arguments: Values, names: Sequence[str], body: Callable[[Values], Values]) -> Any:
        """A region whose arguments are those and the captured values, which have their names in it."""
        outer = self.scope
        types: list[Attribute] = [v.type for v in arguments] + [v.type for v in self.outer_values(names)]
        count = len(arguments)

        def inside(landed: Values) -> Values:
            self.scope = self.inner_scope(names, landed[count:])
            return [*body(landed[:count])]

        try:
            return self.region(types, inside)
        finally:
            self.scope = outer

    def trial(self, run: Callable[[], Any]) -> Any:
        """Return what `run` gives, with its ops thrown away and nothing of it counted."""
        counted, self.unsupported, nodes = self.unsupported, Unsupported(), self._nodes
        try:
            with self.inside(Block()):
                return run()
        finally:
            self.unsupported, self._nodes = counted, nodes


def _of_runtime(domain: str) -> Refused:
    """The reason for an operator of ONNX Runtime that has no row."""
    if domain in BLOCKED_DOMAINS:
        return Refused("a layout of ONNX Runtime for one processor", 'optimize the model up to the level "extended", not "all"')
    return Refused(
        "an operator of ONNX Runtime without an import rule", "export the model without it, or define it as a function"
    )


FOLLOWS = Refused("an operand is computed by a refused node")
"""Of results of refused nodes: they are not counted again."""
ABSENT = Unusable(Refused("an operand that is missing"))
OF_TYPES = frozenset({"Shape", "Size", "CastLike", "Constant"})
"""Folds that look at the type of an operand, or have none."""


def with_attributes(proto: Any, attributes: Mapping[str, Any], scope: Scope) -> Any:
    """A node of a function's body: references to attributes as those of the call, operands that are absent as no operands."""
    absent = [name for name in proto.input if name and scope.find(name) is ABSENT]
    if not absent and not any(a.ref_attr_name for a in proto.attribute):
        return proto
    found = package().NodeProto()
    found.CopyFrom(proto)
    del found.attribute[:]
    for a in proto.attribute:
        if not a.ref_attr_name:
            found.attribute.append(a)
        elif a.ref_attr_name in attributes:
            found.attribute.add().CopyFrom(attributes[a.ref_attr_name])
            found.attribute[-1].name = a.name
    found.input[:] = ["" if name in absent else name for name in proto.input]
    return found


def _reads(graph: Any, inside: set[str], found: dict[str, None]) -> None:
    known = inside | {i.name for i in graph.input} | {t.name for t in graph.initializer}
    for proto in graph.node:
        found.update(dict.fromkeys(name for name in proto.input if name and name not in known))
        for a in proto.attribute:
            if a.HasField("g"):
                _reads(a.g, known, found)
        known.update(proto.output)
    found.update(dict.fromkeys(o.name for o in graph.output if o.name not in known))
