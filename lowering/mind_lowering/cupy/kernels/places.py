"""
Places in shapes as C++ expressions: how an element of a result finds the elements that it is made of.

A place is a list of chunks: neighbouring dimensions with one row-major index over them. Views turn a place in their result into
one in their operand, with a division or a remainder only where dimensions of one chunk are repeated and others are not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import NamedTuple, Protocol

from xdsl.ir import SSAValue

from mind_dialect.ptir.types import PtirDType, read_type

from .unsupported import Unsupported

Dims = tuple[int, ...]


class Chunk(NamedTuple):
    """Neighbouring dimensions and the index over them, an identifier or a number; `0` where there is one element."""

    dims: Dims
    number: str


Place = tuple[Chunk, ...]


class IndexNames(Protocol):
    """Gives names to index expressions."""

    def index(self, text: str) -> str:
        """The name of a new or known variable with that value."""
        ...


def spec(value: SSAValue) -> tuple[PtirDType, Dims]:
    """The dtype and shape of a value; Unsupported for a dimension without a size."""
    dtype, shape = read_type(value.type)
    sizes = tuple(n for n in shape if isinstance(n, int))
    if len(sizes) != len(shape):
        raise Unsupported("a dimension without a size")
    return dtype, sizes


def place(*chunks: tuple[Dims, str]) -> Place:
    """A place without chunks of no dimensions; the index of one element is 0."""
    return tuple(Chunk(dims, index if prod(dims) != 1 else "0") for dims, index in chunks if dims)


def dims_of(at: Place) -> Dims:
    """The shape that a place is in."""
    return tuple(n for chunk in at for n in chunk.dims)


def linear(at: Place, names: IndexNames) -> str:
    """The row-major index of a place in its shape."""
    found = "0"
    for dims, index in at:
        size = prod(dims)
        if size == 1:
            continue
        if found == "0":
            found = index
        else:
            text = f"{found} * {size}" + ("" if index == "0" else f" + {index}")
            found = names.index(text)
    return found


def cut(at: Place, starts: Collection[int], names: IndexNames) -> list[Chunk]:
    """The chunks of a place, divided before these dimensions, counted over all of them."""
    found: list[Chunk] = []
    position = 0
    for dims, index in at:
        inner = sorted({s - position for s in starts if 0 < s - position < len(dims)})
        for first, last in zip((0, *inner), (*inner, len(dims)), strict=True):
            found.append(Chunk(dims[first:last], _part(dims, index, first, last, names)))
        position += len(dims)
    return found


def _part(dims: Dims, index: str, first: int, last: int, names: IndexNames) -> str:
    """Of an index over `dims` that over those from `first` up to `last`."""
    right, left, size = prod(dims[last:]), prod(dims[:first]), prod(dims[first:last])
    if size == 1 or index == "0":
        return "0"
    text = index if right == 1 else names.index(f"{index} / {right}")
    return text if left == 1 else names.index(f"{text} % {size}")


def reshaped(at: Place, dims: Dims, names: IndexNames) -> Place:
    """The same place under another shape; chunks are kept where both shapes are divided alike."""
    chunks: list[tuple[Dims, str]] = []
    rest = list(dims)
    for old, index in at:
        taken: list[int] = []
        while rest and prod(taken) < prod(old):
            taken.append(rest.pop(0))
        if prod(taken) != prod(old):
            return place((dims, linear(at, names)))
        chunks.append((tuple(taken), index))
    if rest:  # of extent 1, all of them
        chunks.append((tuple(rest), "0"))
    return place(*chunks)


def repeated(at: Place, dims: Dims, names: IndexNames) -> Place:
    """The place in a shape that was broadcast to the place's."""
    chunks: list[tuple[Dims, str]] = []
    missing = len(dims_of(at)) - len(dims)
    position = -missing
    for old, index in at:
        new = [dims[i] if i >= 0 else None for i in range(position, position + len(old))]
        position += len(old)
        chunks += _repeated_chunk(old, new, index, names)
    return place(*chunks)


def _repeated_chunk(old: Dims, new: Sequence[int | None], index: str, names: IndexNames) -> list[tuple[Dims, str]]:
    """The part of an operand's shape that a chunk covers; None stands for a dimension which it lacks."""
    if all(a == b or a == 1 for a, b in zip(old, new, strict=True)):
        return [(tuple(n for n in new if n is not None), index)]
    chunks: list[tuple[Dims, str]] = []
    start = 0
    while start < len(old):
        end = start + 1
        kept = new[start] == old[start]
        while end < len(old) and (new[end] == old[end]) == kept:
            end += 1
        dims = tuple(n for n in new[start:end] if n is not None)
        chunks.append((dims, _part(old, index, start, end, names) if kept else "0"))
        start = end
    return chunks
