"""A node of a graph: its operands and attributes, read with checks; and what its values can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect.errors import brief, error
from mind_dialect.ptir.types import PtirDType

from ..unsupported import Refused
from .emitter import HOW_SIZED, Emitter
from .extents import Array, Extent
from .model import DOMAINS, Tensors, dtype_of_number, package, type_name
from .values import Unusable, Value

STATIC = "a known value"


class Node:
    """A node: its operands and attributes, read with checks. `schema` is what the package knows of its operator, or None."""

    def __init__(self, to: Emitter, proto: Any, operands: list[Value | None], schema: Any, tensors: Tensors):
        self.to, self.proto, self.operands, self.schema, self.tensors = to, proto, operands, schema, tensors
        self.attributes: dict[str, Any] = {a.name: a for a in proto.attribute}
        self.name: str = proto.op_type if proto.domain in DOMAINS else f"{proto.domain}.{proto.op_type}"
        self.results = len(proto.output)

    def wants(self, i: int) -> bool:
        """Return whether result `i` has a name."""
        return i < self.results and bool(self.proto.output[i])

    def check(self) -> None:
        """Raise E2007 for operands and results, E4000 and E8002 for attributes, that the schema does not state, or that lack."""
        schema = self.schema
        count, least, most = len(self.proto.input), schema.min_input, schema.max_input
        if not least <= count <= most:
            expected = f"{least} to {most}" if most != least else least
            raise error("E2007", f"has {count} operands, expected {expected}", expected=expected, actual=count)
        optional = package().defs.OpSchema.FormalParameterOption.Optional
        for i, formal in enumerate(schema.inputs[:least]):
            if formal.option != optional and not self.has(i):
                raise error("E2007", f"operand {formal.name} is missing", expected=least, actual=count)
        if self.results > schema.max_output:
            expected, actual = schema.max_output, self.results
            raise error("E2007", f"has {actual} results, expected at most {expected}", expected=expected, actual=actual)
        if unknown := [a for a in self.attributes if a not in schema.attributes]:
            known = sorted(schema.attributes)
            message = f"has no attribute {brief(unknown[0])!r}, expected one of {known}"
            raise error("E4000", message, given=unknown[0], expected=known)
        for name, stated in sorted(schema.attributes.items()):
            if name in self.attributes:
                self._attribute(name, stated.type.name)
            elif stated.required:
                message = f"attribute {name} is missing, expected {stated.type.name}"
                raise error("E8002", message, attribute=name, value=None)

    # Operands

    def has(self, i: int) -> bool:
        """Return whether operand `i` is given."""
        return i < len(self.operands) and self.operands[i] is not None

    def raw(self, i: int) -> Value:
        """Operand `i`; E2007 where it is missing. Raises `Refused` for what PTIR cannot hold."""
        if not self.has(i):
            raise error("E2007", f"operand {self.formal(i)} is missing", expected=i + 1, actual=len(self.operands))
        value = self.operands[i]
        assert value is not None
        if isinstance(value, Unusable):
            raise value.refused
        return value

    def x(self, i: int = 0) -> SSAValue:
        """Operand `i` as a value."""
        return self.to.value(self.raw(i))

    def ranked(self, i: int, rank: int) -> SSAValue:
        """Operand `i` as a value of a rank; E3002 for another."""
        x = self.x(i)
        if (actual := len(self.to.shape(x))) != rank:
            raise error("E3002", f"{self.formal(i)} has rank {actual}, expected {rank}", expected=rank, actual=actual)
        return x

    def optional(self, i: int) -> SSAValue | None:
        """Operand `i` as a value; None where it is not given."""
        return self.x(i) if self.has(i) else None

    def xs(self) -> list[SSAValue]:
        """All operands that are given."""
        return [self.x(i) for i in range(len(self.operands)) if self.has(i)]

    def array(self, i: int) -> Array | None:
        """Return the known elements of operand `i`; None where it is not given. Raises `Refused` for data."""
        if not self.has(i):
            return None
        value = self.raw(i)
        found = value if isinstance(value, np.ndarray) else self.to.known_array(value) if isinstance(value, SSAValue) else None
        if found is None:
            names = self.formal(i)
            raise Refused(f"{names} must be {STATIC}", f"make it an initializer, or pass static={{{self.proto.input[i]!r}: ...}}")
        return found

    def number(self, i: int) -> Any:
        """The one element of operand `i`; None where it is not given, E3002 for fewer or more. Raises `Refused` for data."""
        found = self.array(i)
        if found is not None and found.size != 1:
            message = f"{self.formal(i)} has shape {list(found.shape)}, expected a scalar"
            raise error("E3002", message, expected=0, actual=found.ndim)
        return None if found is None else found.reshape(-1)[0]

    def formal(self, i: int) -> str:
        """Return the name that the schema gives operand `i`."""
        schema = self.schema
        return schema.inputs[min(i, len(schema.inputs) - 1)].name if schema is not None and schema.inputs else f"operand {i}"

    def sizes(self, i: int) -> list[Any] | None:
        """Operand `i` as integers, which may be sizes with names; None where it is not given. Raises `Refused` for data."""
        found = self.array(i)
        return None if found is None else [v if isinstance(v, Extent) else int(v) for v in found.reshape(-1)]

    def integers(self, i: int) -> list[int] | None:
        """Operand `i` as known integers. Raises `Refused` for data and for sizes with names."""
        found = self.sizes(i)
        if found is not None and any(isinstance(v, Extent) for v in found):
            raise Refused(f"{self.formal(i)} depends on a dimension without a size", HOW_SIZED)
        return found

    # Attributes

    def _attribute(self, name: str, kind: str) -> Any:
        found = self.attributes.get(name)
        if found is None:
            return None
        types = package().AttributeProto
        if found.type != getattr(types, kind):
            given = types.AttributeType.Name(found.type)
            raise error("E8002", f"{name} is of type {given}, expected {kind}", attribute=name, value=given)
        return package().helper.get_attribute_value(found)

    def int(self, name: str, default: int = 0) -> int:
        """An attribute that is an integer."""
        found = self._attribute(name, "INT")
        return default if found is None else int(found)

    def float(self, name: str, default: float) -> float:
        """An attribute that is a number."""
        found = self._attribute(name, "FLOAT")
        return default if found is None else float(found)

    def word(self, name: str, default: str = "", among: Sequence[str] = ()) -> str:
        """An attribute that is a word, one of `among`; E8002 for another."""
        found = self._attribute(name, "STRING")
        text = default if found is None else found.decode("utf-8", "replace")
        if among and text not in among:
            raise error("E8002", f"{name} is {brief(text)!r}, expected one of {list(among)}", attribute=name, value=text)
        return text

    def ints(self, name: str) -> list[int] | None:
        """An attribute that is a list of integers."""
        found = self._attribute(name, "INTS")
        return None if found is None else [int(n) for n in found]

    def each(self, name: str, count: int, default: int) -> list[int]:
        """An attribute that is a list of `count` integers; E8002 for more or fewer."""
        found = self.ints(name) or [default] * count
        if len(found) != count:
            raise error("E8002", f"{name} has {len(found)} entries, expected {count}", attribute=name, value=found)
        return found

    def floats(self, name: str) -> list[float] | None:
        """An attribute that is a list of numbers."""
        found = self._attribute(name, "FLOATS")
        return None if found is None else [float(n) for n in found]

    def words(self, name: str) -> list[str] | None:
        """An attribute that is a list of words."""
        found = self._attribute(name, "STRINGS")
        return None if found is None else [s.decode("utf-8", "replace") for s in found]

    def graph(self, name: str) -> Any:
        """An attribute that is a graph; E2007 where it is missing."""
        found = self._attribute(name, "GRAPH")
        if found is None:
            raise error("E2007", f"has no graph {name}", expected=name, actual=None)
        return found

    def tensor(self, name: str) -> Array | None:
        """An attribute that is a tensor. Raises `Refused` for an element type that PTIR lacks."""
        found = self._attribute(name, "TENSOR")
        if found is None:
            return None
        array = self.tensors.array(found)
        if array is None:
            raise no_dtype(found.data_type)
        return array

    def dtype(self, name: str, default: PtirDType | None = None) -> PtirDType:
        """An attribute that is an element type. Raises `Refused` for one that PTIR lacks."""
        number = self.int(name, 0)
        found = default if not number else dtype_of_number(number)
        if found is None:
            raise no_dtype(number)
        return found

    def axis(self, name: str, default: int, x: SSAValue) -> int:
        """An attribute that is an axis of `x`, from 0; E3004 for one out of range."""
        return axis_of(self.int(name, default), len(self.to.shape(x)))

    def axes(self, i: int, x: SSAValue) -> list[int] | None:
        """Axes of `x`, from the attribute `axes` or operand `i`, from 0; None where none are given."""
        found = self.ints("axes") if "axes" in self.attributes else self.integers(i)
        return None if found is None else distinct_axes(found, len(self.to.shape(x)))


def no_dtype(number: int) -> Refused:
    """The reason for an element type that PTIR lacks."""
    return Refused(f"the element type {type_name(number)}", "use an element type that PTIR has")


def axis_of(axis: int, rank: int) -> int:
    """
    An axis counted from 0; E3004 for one out of range.

    >>> axis_of(-1, 3)
    2
    """
    if not -rank <= axis < rank:
        raise error("E3004", f"axis {brief(axis)} is out of range for rank {rank}", axis=axis, rank=rank)
    return axis % rank


def distinct_axes(axes: Sequence[int], rank: int) -> list[int]:
    """Axes counted from 0; E3004 and E3005 for wrong ones."""
    found = [axis_of(axis, rank) for axis in axes]
    if len(set(found)) != len(found):
        raise error("E3005", f"axes {brief(list(axes))} name one twice", axes=tuple(axes), duplicate=None)
    return found


def slice_of(start: int, end: int, step: int, extent: int) -> slice:
    """Return the slice of Python that ONNX's bounds mean: one backwards from before the first element begins at that."""
    return slice(max(start, -extent), None if end < -extent else end, step) if step < 0 else slice(start, end, step)
