"""
A PTIR program as the public implementation stores it: numbered values, tuples, regions beside the functions.

Both serialised forms are texts of these records; `to_program` and `to_module` lead to the dialect and back. A record's `place`
is whatever the reader needs to say where it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mind_dialect.errors import MindError, error
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import TensorSpec

if TYPE_CHECKING:
    from .rows import PtirRow


@dataclass(frozen=True)
class TupleType:
    """The type of an instruction that has not exactly one result, or of a tuple that is a parameter."""

    elements: tuple[ValueType, ...]


ValueType = TensorSpec | TupleType
Operand = int | tuple[int, int] | PtirLiteralAttr
"""The value of an id; an element, by index, of the tuple of an id; a tensor that stands in the operand's place."""


@dataclass(frozen=True)
class Instruction:
    """
    One value, and how it comes about.

    `values` are the op's properties, and by their names the numbers of its regions; a pad value is a bare number when read.
    """

    id: int
    row: PtirRow
    values: Mapping[str, Any]
    operands: Sequence[Operand]
    output: ValueType
    place: Any = None

    @property
    def regions(self) -> tuple[int, ...]:
        """The numbers of its regions."""
        return tuple([self.values[name] for name in self.row.op.REGION_NAMES])


@dataclass(frozen=True)
class RegionRecord:
    """Parameters have the ids 0 .. n-1, local to the region; its results are its last instructions."""

    id: int
    parameters: Sequence[ValueType]
    body: Sequence[Instruction]
    results: Sequence[ValueType]
    place: Any = None


@dataclass(frozen=True)
class FunctionRecord:
    """A function; ids are its own."""

    name: str
    parameters: Sequence[ValueType]
    parameter_ids: Sequence[int]
    results: Sequence[ValueType]
    body: Sequence[Instruction]
    result_ids: Sequence[int]
    hints: str | None = None
    """The fusion hints as they stood in the text, which are advice."""
    place: Any = None
    dims: Sequence[str] = ()
    """What it declares of sizes, which only the extended form has."""


@dataclass(frozen=True)
class Program:
    """A whole program of the one version we speak."""

    entry: str
    functions: Sequence[FunctionRecord]
    regions: Sequence[RegionRecord] = field(default_factory=tuple[RegionRecord, ...])
    place: Any = None


def leaves(type: ValueType) -> list[TensorSpec]:
    """The tensors of a type, those of nested tuples in order."""
    if isinstance(type, TensorSpec):
        return [type]
    found: list[TensorSpec] = []
    stack: list[ValueType] = [type]
    while stack:
        top = stack.pop()
        if isinstance(top, TensorSpec):
            found.append(top)
        else:
            stack.extend(reversed(top.elements))
    return found


class Misplaced(Exception):
    """A coded error of a part of something; `path` leads to the part, innermost last."""

    def __init__(self, error: MindError):
        super().__init__(str(error))
        self.error = error
        self.path: list[str | int] = []

    def under(self, *keys: str | int) -> Misplaced:
        """The same error, of a part of the part that `keys` lead to."""
        self.path[:0] = keys
        return self


def misplaced(code: str, message: str, **context: Any) -> Misplaced:
    """A coded error whose place the callers know."""
    return Misplaced(error(code, message, **context))


def shown_path(path: Sequence[str | int]) -> str:
    """
    A path into a JSON text.

    >>> shown_path(["functions", 0, "body", 3, "op", "Reduce", "axes"]), shown_path(["attrs", "a b"])
    ('functions[0].body[3].op.Reduce.axes', "attrs['a b']")
    """
    shown = ""
    for key in path:
        if isinstance(key, int):
            shown += f"[{key}]"
        elif key.isidentifier() and key.isascii():
            shown += f".{key}" if shown else key
        else:
            shown += f"[{key[:40]!r}]"
    return shown
