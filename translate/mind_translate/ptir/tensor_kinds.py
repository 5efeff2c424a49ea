"""The kinds of payload value that tensors bring: dimensions, shapes, types, literals, the attributes of custom calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

from mind_dialect.codecs import INT64
from mind_dialect.elements import Number
from mind_dialect.errors import MindError, brief, error
from mind_dialect.extents import ExtentSyntaxError, TooLarge
from mind_dialect.extents.dims import canonical, is_expression
from mind_dialect.literals import HEX_ABOVE, MAX_ELEMENTS
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import UNKNOWN, Dim, Dims, TensorSpec, is_dim_name
from mind_dialect.ptir.types import Kind as Family

from .kinds import DTYPE, FLAG, INT, SIZE, AttributeKind, Listed
from .misplaced import Misplaced, misplaced
from .nodes import Node, fields, items, real, real_node, rust_number, rust_real, rust_text, shown, tagged, text, under, unexpected
from .value_types import TupleType, ValueType

MAX_TUPLE_DEPTH = 32
MAX_BYTES = (1 << 63) - 1
"""Most bytes of a tensor; larger ones cannot exist."""


class Dimension(AttributeKind):
    """A size or a name; in the extended form an expression of names too, in any spelling."""

    def write(self, value: Dim) -> Node:
        return {"Static": value} if isinstance(value, int) else {"Dynamic": value}

    def read(self, node: Node) -> Dim:
        tag, payload = tagged(node, "a dimension, Static or Dynamic")
        if tag == "Static":
            if isinstance(payload, int) and not isinstance(payload, bool) and not 0 <= payload < INT64.stop:
                value = shown(payload)
                message = f"size {value}, expected 0 to 2^63 - 1"
                context = {"shape": (value,), "index": 0, "value": value}
                raise misplaced("E3006", message, category="NegativeDimension", **context).under(tag)
            return under(tag, SIZE.read, payload)
        if tag == "Dynamic":
            name = under(tag, text, payload)
            try:
                return name if is_dim_name(name) else canonical(name)
            except (ExtentSyntaxError, TooLarge):
                message = f"dimension {shown(name)}, expected letters, digits and underscores, or an expression of such names"
                raise misplaced("E8002", message, attribute="dimension", value=shown(name)).under(tag) from None
        raise unexpected("Static or Dynamic", tag)

    def rust(self, value: Dim) -> str:
        return f"Static({value})" if isinstance(value, int) else f'Dynamic(DimSymbol("{named(value)}"))'


def named(dim: str, *, extended: bool = False) -> str:
    """The name of a dimension; E8001 for one without, and E4000 for an expression unless the form is the extended one."""
    if dim == UNKNOWN:
        message = "a dynamic dimension without a name, which this form cannot express"
        raise error("E8001", f'{message}; name it in the type, as in tensor<?x4xf32, "B,*">', name=dim, extents=())
    if is_expression(dim) and not extended:
        message = (
            f"the dimension {dim}, an expression of names, which this form cannot express; give it a size or a name in the types"
        )
        raise error("E4000", message, given=dim, expected="a size or a name")
    return dim


class Shape(AttributeKind):
    """Dimensions, in an object of their own."""

    def write(self, value: Dims) -> Node:
        return {"dims": [DIM.write(d) for d in value]}

    def read(self, node: Node) -> Dims:
        return under("dims", _dims, fields(node, ("dims",))["dims"])

    def rust(self, value: Dims) -> str:
        return f"Shape {{ dims: [{', '.join([DIM.rust(d) for d in value])}] }}"


def _dims(node: Node) -> Dims:
    return tuple(items(node, DIM.read))


class Bound(AttributeKind):
    """A size; in the extended form a name or an expression of names too, as a dimension is written."""

    def write(self, value: Dim) -> Node:
        return value if isinstance(value, int) else DIM.write(value)

    def read(self, node: Node) -> Dim:
        return DIM.read(node) if isinstance(node, dict) else SIZE.read(node)

    def rust(self, value: Dim) -> str:
        return SIZE.rust(sized(value))


def sized(bound: Dim) -> int:
    """The size of a bound; E4000 for a name or an expression, which the contract's forms lack."""
    if isinstance(bound, str):
        raise error("E4000", f"the bound {bound}, which this form cannot express; give it a size", given=bound, expected="a size")
    return bound


class NewShape(AttributeKind):
    """The dimensions of a reshape, of which one may be left to be inferred: -1 here."""

    def write(self, value: Dims) -> Node:
        return ["Infer" if d == -1 else {"Explicit": DIM.write(d)} for d in value]

    def read(self, node: Node) -> Dims:
        return tuple(items(node, self._dim))

    def _dim(self, node: Node) -> Dim:
        tag, payload = tagged(node, "Explicit or Infer")
        if tag == "Explicit":
            return under(tag, DIM.read, payload)
        if node != "Infer":
            raise unexpected("Explicit or Infer", tag)
        return -1

    def rust(self, value: Dims) -> str:
        return f"[{', '.join(['Infer' if d == -1 else f'Explicit({DIM.rust(d)})' for d in value])}]"


class Tensor(AttributeKind):
    """A dtype and a shape."""

    def write(self, value: TensorSpec) -> Node:
        return {"dtype": DTYPE.write(value.dtype), "shape": SHAPE.write(value.shape)}

    def read(self, node: Node) -> TensorSpec:
        found = fields(node, ("dtype", "shape"))
        spec = TensorSpec(under("dtype", DTYPE.read, found["dtype"]), under("shape", SHAPE.read, found["shape"]))
        check_bytes(spec)
        return spec

    def rust(self, value: TensorSpec) -> str:
        return f"TensorSpec {{ dtype: {DTYPE.rust(value.dtype)}, shape: {SHAPE.rust(value.shape)} }}"


def check_bytes(spec: TensorSpec) -> None:
    """E3006 for more bytes than a size can count."""
    size = spec.dtype.size
    for i, n in enumerate(spec.shape):
        if isinstance(n, int):
            size *= n
            if size > MAX_BYTES and 0 not in spec.shape:
                message = f"a tensor of {brief(list(spec.shape))} {spec.dtype} has more than 2^63 - 1 bytes"
                raise misplaced("E3006", message, shape=spec.shape[:20], index=i, value=n)


class Literal(AttributeKind):
    """A tensor of numbers with its bytes. More than 100 equal elements are read as a fill."""

    def write(self, value: PtirLiteralAttr) -> Node:
        return {"spec": TENSOR.write(TensorSpec(*value.spec)), "bytes": list(whole(value))}

    def read(self, node: Node) -> PtirLiteralAttr:
        found = fields(node, ("spec", "bytes"))
        spec = under("spec", TENSOR.read, found["spec"])
        try:
            return literal_of(spec, under("bytes", _bytes, found["bytes"]))
        except MindError as e:
            raise Misplaced(e) from None

    def rust(self, value: PtirLiteralAttr) -> str:
        spec = TENSOR.rust(TensorSpec(*value.spec))
        return f"TensorLiteral {{ spec: {spec}, bytes: [{', '.join(map(str, whole(value)))}] }}"


def whole(literal: PtirLiteralAttr) -> bytes:
    """The bytes of every element; E4005 for a fill of more elements than a literal may have."""
    dtype, shape = literal.spec
    if not literal.is_fill:
        return literal.data.data
    if (count := math.prod(shape)) > MAX_ELEMENTS:
        issue = f"a fill of {brief(count)} elements, at most {MAX_ELEMENTS} can be written; broadcast one instead"
        raise error("E4005", issue, dtype=str(dtype), issue=issue)
    return literal.data.data * count


def _bytes(node: Node) -> bytes:
    if not isinstance(node, list):
        raise unexpected("a list of bytes", node)
    found = cast(list[Node], node)
    if not set(map(type, found)) <= {int}:
        i = next(i for i, b in enumerate(found) if type(b) is not int)
        raise unexpected("a byte", found[i]).under(i)
    try:
        return bytes(found)
    except ValueError:
        i = next(i for i, b in enumerate(found) if not 0 <= b <= 255)
        issue = f"a byte {shown(found[i])}, expected 0 to 255"
        raise misplaced("E4005", issue, dtype="ui8", issue=issue).under(i) from None


def literal_of(spec: TensorSpec, data: bytes) -> PtirLiteralAttr:
    """The literal of a type and bytes; coded errors for what does not fit."""
    shape = tuple(d for d in spec.shape if isinstance(d, int))
    if len(shape) != len(spec.shape):
        i = next(i for i, d in enumerate(spec.shape) if isinstance(d, str))
        message = f"a literal of shape {brief(list(spec.shape))}, expected static"
        raise error("E3006", message, shape=spec.shape, index=i, value=spec.shape[i])
    literal = PtirLiteralAttr.from_bytes(spec.dtype, shape, data)
    size = spec.dtype.size
    if len(data) > HEX_ABOVE * size and data == data[:size] * (len(data) // size):
        return PtirLiteralAttr.filled(spec.dtype, shape, spec.dtype.element.unpack(data[:size])[0])
    return literal


class Scalar(AttributeKind):
    """One number tagged with its family; which dtype it has, another operand says. Read as a bare number."""

    _TAGS = {
        Family.BOOL: "I1",
        Family.SIGNED: "Signed",
        Family.UNSIGNED: "Unsigned",
        Family.FLOAT: "Float",
        Family.COMPLEX: "Complex",
    }

    def write(self, value: PtirLiteralAttr) -> Node:
        number = value.item()
        node: Node = number
        if isinstance(number, complex):
            node = {"re": real_node(number.real), "im": real_node(number.imag)}
        elif isinstance(number, float):
            node = real_node(number)
        return {self._TAGS[value.spec[0].kind]: node}

    def read(self, node: Node) -> Number:
        tag, payload = tagged(node, "a literal, one of I1, Signed, Unsigned, Float, Complex")
        if (read := _NUMBERS.get(tag)) is None:
            raise unexpected(f"one of {list(_NUMBERS)}", tag)
        return under(tag, read, payload)

    def rust(self, value: PtirLiteralAttr) -> str:
        number, tag = value.item(), self._TAGS[value.spec[0].kind]
        if isinstance(number, complex):
            return f"{tag} {{ re: {rust_real(number.real)}, im: {rust_real(number.imag)} }}"
        return f"{tag}({rust_number(number)})"


def _complex(node: Node) -> complex:
    found = fields(node, ("re", "im"))
    return complex(under("re", real, found["re"]), under("im", real, found["im"]))


def _unsigned(node: Node) -> int:
    if isinstance(node, int) and not isinstance(node, bool) and 0 <= node < 1 << 64:
        return node
    issue = f"found {shown(node)}, expected an integer from 0 to 2^64 - 1"
    raise misplaced("E4005", issue, dtype="ui64", issue=issue)


class CallAttributes(AttributeKind):
    """The attributes of a custom call: by name, each with the name of its kind. An empty array has no kind, and is I64Array."""

    optional = True
    missing: Any = {}
    _SINGLE = {bool: "Bool", int: "I64", float: "F64", str: "String"}

    def write(self, value: Mapping[str, Any]) -> Node:
        return {name: self._node(v) for name, v in sorted(value.items())}

    def _tag(self, value: Any) -> str:
        if isinstance(value, tuple):
            values = cast(tuple[Any, ...], value)
            return (self._SINGLE[type(values[0])] if values else "I64") + "Array"
        return self._SINGLE[type(value)]

    def _node(self, value: Any) -> Node:
        payload = [_plain(v) for v in cast(tuple[Any, ...], value)] if isinstance(value, tuple) else _plain(value)
        return {"kind": self._tag(value), "value": payload}

    def read(self, node: Node) -> dict[str, Any]:
        if not isinstance(node, dict):
            raise unexpected("an object of attributes", node)
        found = cast(dict[str, Node], node)
        for name in found:
            if not text(name):
                raise misplaced("E8002", "an attribute with an empty name", attribute="attrs", value="")
        return {name: under(name, self._value, v) for name, v in found.items()}

    def _value(self, node: Node) -> Any:
        found = fields(node, ("kind", "value"))
        kind = found["kind"]
        if not isinstance(kind, str) or (read := _CALL_VALUES.get(kind.removesuffix("Array"))) is None:
            names = [name + array for array in ("", "Array") for name in _CALL_VALUES]
            raise unexpected(f"one of {names}", kind).under("kind")
        if not kind.endswith("Array"):
            return under("value", read, found["value"])
        return under("value", lambda n: tuple(items(n, read)), found["value"])

    def rust(self, value: Mapping[str, Any]) -> str:
        return f"{{{', '.join([f'{rust_text(name)}: {self._rust(v)}' for name, v in sorted(value.items())])}}}"

    def _rust(self, value: Any) -> str:
        tag = self._tag(value)
        if isinstance(value, tuple):
            return f"{tag}([{', '.join(map(_rust_plain, cast(tuple[Any, ...], value)))}])"
        return f"{tag}({_rust_plain(value)})"


def _plain(value: Any) -> Node:
    return real_node(value) if isinstance(value, float) else value


def _rust_plain(value: Any) -> str:
    return rust_text(value) if isinstance(value, str) else rust_number(value)


DIM, SHAPE, NEW_SHAPE, TENSOR, LITERAL, SCALAR = Dimension(), Shape(), NewShape(), Tensor(), Literal(), Scalar()
BOUND = Bound()
BOUNDS = Listed(BOUND)
CALL_ATTRIBUTES = CallAttributes()
_NUMBERS: dict[str, Callable[[Node], Number]] = {
    "I1": FLAG.read,
    "Signed": INT.read,
    "Unsigned": _unsigned,
    "Float": real,
    "Complex": _complex,
}
_CALL_VALUES: dict[str, Callable[[Node], Any]] = {"I64": INT.read, "F64": real, "Bool": FLAG.read, "String": text}


def value_type_node(type: ValueType) -> Node:
    """The JSON node of a type."""
    if isinstance(type, TensorSpec):
        return {"Tensor": TENSOR.write(type)}
    return {"Tuple": [value_type_node(t) for t in type.elements]}


def value_type(node: Node, depth: int = 0) -> ValueType:
    """The type of a node; E1007 for tuples nested too deeply."""
    tag, payload = tagged(node, "a type, Tensor or Tuple")
    if tag == "Tensor":
        return under(tag, TENSOR.read, payload)
    if tag != "Tuple":
        raise unexpected("Tensor or Tuple", tag)
    if depth == MAX_TUPLE_DEPTH:
        raise misplaced("E1007", f"tuples nested more than {MAX_TUPLE_DEPTH} deep")
    return TupleType(tuple(under(tag, lambda n: items(n, lambda t: value_type(t, depth + 1)), payload)))


def shown_type(type: ValueType) -> str:
    """
    A type as the display form writes it.

    >>> from mind_dialect.ptir.types import F32
    >>> shown_type(TensorSpec(F32, (2, "B"))), shown_type(TupleType((TensorSpec(F32, ()),)))
    ('tensor<F32 x 2x?B>', 'tuple<tensor<F32 x []>>')
    """
    if isinstance(type, TupleType):
        return f"tuple<{', '.join([shown_type(t) for t in type.elements])}>"
    dims = "x".join([str(d) if isinstance(d, int) else f"?{d}" for d in type.shape])
    return f"tensor<{DTYPE.rust(type.dtype)} x {dims or '[]'}>"
