"""
A PTIR program as the public implementation stores it: numbered values, tuples, regions beside the functions.

Both serialised forms are texts of these records; `to_program` and `to_module` lead to the dialect and back. A record's `place`
is whatever the reader needs to say where it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mind_dialect.ptir.literal import PtirLiteralAttr

from .rows import PtirRow
from .value_types import ValueType

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
    """Its declarations of sizes, which only the extended form has."""


@dataclass(frozen=True)
class Program:
    """A whole program of the one version we speak."""

    entry: str
    functions: Sequence[FunctionRecord]
    regions: Sequence[RegionRecord] = field(default_factory=tuple[RegionRecord, ...])
    place: Any = None
