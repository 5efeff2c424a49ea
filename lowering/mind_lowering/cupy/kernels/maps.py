"""
Ops that only say which element of an operand each element of the result is, as index arithmetic: no kernel of their own, no copy.

A map gives for a place in the result the places in the operands that are read, and the result from what is there. Places outside
of an operand, as in padding, become its first element, which is then not taken: nothing is read that does not exist. Where
places are data the index is computed first, and an index out of bounds is noted as a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple, Protocol

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp

from .failures import sites_of
from .places import Chunk, Dims, IndexNames, Place, cut, dims_of, linear, place, spec
from .scalars import NARROW, STORED, literal
from .unsupported import Unsupported

Key = tuple[SSAValue, Place]
MOST_OPERANDS = 16
"""So many arrays at most are put together in a kernel: each element looks at all of them."""


def _first(v: Sequence[str]) -> str:
    return v[0]


class Mapped(NamedTuple):
    """The elements to read, and the result as an expression of the registers that hold them."""

    reads: Sequence[Key]
    text: Callable[[Sequence[str]], str] = _first


class Reader(IndexNames, Protocol):
    """Names index expressions, and reads the values of indices that are data."""

    def flag(self, text: str) -> str:
        """The name of a condition."""
        ...

    def values(self, roots: Sequence[Key]) -> list[str]:
        """The registers of values at places, after the statements that fill them."""
        ...

    def fail(self, op: PtirOp, condition: str, at: str, number: str) -> None:
        """A statement that notes that `op` failed for a number, where the condition holds."""
        ...


def _runs(at: Place, axes: Sequence[int], names: IndexNames) -> tuple[list[Chunk], dict[int, int]]:
    """A place with a chunk for each of these axes alone, and where those chunks are."""
    shape = dims_of(at)
    starts = {s for a in axes for s in (a, a + 1)}
    chunks = cut(at, starts, names)
    where: dict[int, int] = {}
    position = 0
    for i, chunk in enumerate(chunks):
        if position in axes and len(chunk.dims) == 1:
            where[position] = i
        position += len(chunk.dims)
    assert position == len(shape)
    return chunks, where


def _moved(at: Place, names: IndexNames, new: dict[int, tuple[int, Callable[[str], str]]]) -> Place:
    """A place whose indices along some axes are others, along which the shape has another extent."""
    chunks, where = _runs(at, list(new), names)
    for axis, (extent, text) in new.items():
        old = chunks[where[axis]].number
        made = text(old)
        chunks[where[axis]] = Chunk((extent,), made if made == old or made.isdecimal() else names.index(made))
    return place(*chunks)


def _transpose(op: ptir.TransposeOp, at: Place, names: Reader) -> Mapped:
    perm = [a % len(op.values()["perm"]) for a in op.values()["perm"]]
    starts = {i for i, a in enumerate(perm) if i and a != perm[i - 1] + 1}
    chunks = cut(at, starts, names)
    position, found = 0, list[tuple[int, Chunk]]()
    for chunk in chunks:
        found.append((perm[position], chunk))
        position += len(chunk.dims)
    return Mapped([(op.x, place(*(chunk for _, chunk in sorted(found, key=lambda f: f[0]))))])


def _shifted(start: int, stride: int = 1) -> Callable[[str], str]:
    def text(i: str) -> str:
        if i.isdecimal():
            return str(int(i) * stride + start)
        scaled = i if stride == 1 else f"{i} * {stride}"
        return scaled if start == 0 else f"{scaled} + {start}"

    return text


def _slice(op: ptir.SliceOp | ptir.StridedSliceOp, at: Place, names: Reader) -> Mapped:
    extents = spec(op.x)[1]
    starts: Sequence[int] = op.values()["starts"]
    strides: Sequence[int] = op.values().get("strides") or [1] * len(starts)
    sizes = dims_of(at)
    new = {
        a: (extents[a], _shifted(first, stride))
        for a, (first, stride) in enumerate(zip(starts, strides, strict=True))
        if (first, stride) != (0, 1) or extents[a] != sizes[a]
    }
    return Mapped([(op.x, _moved(at, names, new))])


def _reverse(op: ptir.ReverseOp, at: Place, names: Reader) -> Mapped:
    extents = spec(op.x)[1]
    axes: list[int] = sorted({a % len(extents) for a in op.values()["axes"]})

    def flipped(extent: int) -> Callable[[str], str]:
        return lambda i: str(extent - 1 - int(i)) if i.isdecimal() else f"{extent - 1} - {i}"

    return Mapped([(op.x, _moved(at, names, {a: (extents[a], flipped(extents[a])) for a in axes}))])


def _tile(op: ptir.TileOp, at: Place, names: Reader) -> Mapped:
    extents = spec(op.x)[1]

    def wrapped(extent: int) -> Callable[[str], str]:
        return lambda i: str(int(i) % extent) if i.isdecimal() else "0" if extent == 1 else f"{i} % {extent}"

    shape = dims_of(at)
    return Mapped([(op.x, _moved(at, names, {a: (n, wrapped(n)) for a, n in enumerate(extents) if n != shape[a]}))])


def _pad(op: ptir.PadOp, at: Place, names: Reader) -> Mapped:
    values, (dtype, extents) = op.values(), spec(op.x)
    inside: list[str] = []

    def source(axis: int) -> tuple[int, Callable[[str], str]]:
        low, step, extent = values["low"][axis], values["interior"][axis] + 1, extents[axis]

        def text(i: str) -> str:
            from_low = names.index(f"{i} - {low}")
            tests = [f"{from_low} >= 0", f"{from_low} < {(extent - 1) * step + 1}"]
            tests += [f"{from_low} % {step} == 0"] if step > 1 else []
            test = names.flag(" && ".join(tests))
            inside.append(test)
            return f"{test} ? {from_low}{'' if step == 1 else f' / {step}'} : 0"

        return extent, text

    shape = dims_of(at)
    rows: Iterable[tuple[int, ...]] = zip(values["low"], values["high"], values["interior"], strict=True)
    touched = [a for a, row in enumerate(rows) if any(row) or extents[a] != shape[a]]
    found = _moved(at, names, {a: source(a) for a in touched})
    padding = literal(dtype, values["pad_value"].item())

    def chosen(v: Sequence[str]) -> str:
        return f"{' && '.join(inside)} ? {v[0]} : {padding}" if inside else v[0]

    return Mapped([(op.x, found)], chosen)


def _patches(op: ptir.ExtractPatchesOp, at: Place, names: Reader) -> Mapped:
    """Windows of an image: the last axis is that over the places of a window and its channels."""
    values, (dtype, extents) = op.values(), spec(op.x)
    window: Sequence[int] = values["window"]
    rank = len(window)
    chunks = cut(at, range(rank + 2), names)
    inner = cut((Chunk((*window, extents[-1]), chunks[-1].number),), range(rank + 1), names)
    found, inside = [chunks[0]], list[str]()
    for a, extent in enumerate(extents[1:-1]):
        low, high = values["padding"][a]
        stride, dilation = values["strides"][a], values["dilation"][a]
        text = f"{chunks[a + 1].number} * {stride} + {inner[a].number} * {dilation} - {low}"
        there = names.index(text)
        if low or high:
            inside.append(names.flag(f"{there} >= 0 && {there} < {extent}"))
            there = names.index(f"{inside[-1]} ? {there} : 0")
        found.append(Chunk((extent,), there))
    found.append(Chunk((extents[-1],), inner[-1].number))
    padding = literal(dtype, values["pad_value"].item())

    def chosen(v: Sequence[str]) -> str:
        return f"{' && '.join(inside)} ? {v[0]} : {padding}" if inside else v[0]

    return Mapped([(op.x, place(*found))], chosen)


def _concat(op: ptir.ConcatOp, at: Place, names: Reader) -> Mapped:
    axis: int = op.values()["axis"] % len(dims_of(at))
    operands = [v for v in op.operands if prod(spec(v)[1])]
    extents: list[int] = [spec(v)[1][axis] for v in operands]
    ends = list(accumulate(extents))
    chunks, where = _runs(at, [axis], names)
    i = chunks[where[axis]].number
    reads: list[Key] = []
    for value, extent, end in zip(operands, extents, ends, strict=True):
        start = end - extent
        tests = [f"{i} >= {start}"] * (start > 0) + [f"{i} < {end}"] * (end < ends[-1])
        moved = i if start == 0 else f"{i} - {start}"
        text = f"{' && '.join(tests)} ? {moved} : 0" if tests else moved
        chunks[where[axis]] = Chunk((extent,), text if text == i else names.index(text))
        reads.append((value, place(*chunks)))

    def chosen(v: Sequence[str]) -> str:
        return "".join(f"{i} < {end} ? {x} : " for x, end in zip(v[:-1], ends, strict=False)) + v[-1]

    return Mapped(reads, chosen)


def _checked(op: PtirOp, value: SSAValue, where: Place, extent: int, names: Reader) -> str:
    """An index that is data; one that is out of bounds is noted, and 0 from there on."""
    (given,) = names.values([(value, where)])
    names.fail(op, f"mind::ui64(mind::si64({given})) >= {extent}u", linear(where, names), given)
    return names.index(f"mind::ui64(mind::si64({given})) < {extent}u ? I({given}) : I(0)")


def _take(op: ptir.TakeOp, at: Place, names: Reader) -> Mapped:
    extents, shape = spec(op.x)[1], spec(op.indices)[1]
    chunks = cut(at, {len(shape)}, names)
    head, rest, rank = list[Chunk](), list[Chunk](), 0
    for chunk in chunks:
        (head if rank < len(shape) else rest).append(chunk)
        rank += len(chunk.dims)
    row = _checked(op, op.indices, place(*head), extents[0], names)
    return Mapped([(op.x, place(((extents[0],), row), *rest))])


def _gather(op: ptir.GatherOp, at: Place, names: Reader) -> Mapped:
    extents = spec(op.x)[1]
    axis: int = op.values()["axis"] % len(extents)
    index = _checked(op, op.indices, at, extents[axis], names)
    return Mapped([(op.x, _moved(at, names, {axis: (extents[axis], lambda _: index)}))])


def _starts(op: ptir.DynamicSliceOp | ptir.DynamicUpdateSliceOp, extents: Dims, names: Reader) -> list[str]:
    """Return the start of a window along each axis, clamped so that it fits."""
    shape = spec(op.start)[1]
    found: list[str] = []
    for k, (extent, size) in enumerate(zip(extents, op.values()["sizes"], strict=True)):
        if extent == size:
            found.append("0")
            continue
        (given,) = names.values([(op.start, place((shape, str(k))))])
        found.append(names.index(f"I(mind::clamp(mind::si64({given}), mind::si64(0), mind::si64({extent - size})))"))
    return found


def _dynamic_slice(op: ptir.DynamicSliceOp, at: Place, names: Reader) -> Mapped:
    extents = spec(op.x)[1]
    starts = _starts(op, extents, names)

    def after(start: str) -> Callable[[str], str]:
        return lambda i: start if i == "0" else f"{start} + {i}"

    return Mapped([(op.x, _moved(at, names, {a: (extents[a], after(s)) for a, s in enumerate(starts) if s != "0"}))])


def _dynamic_update_slice(op: ptir.DynamicUpdateSliceOp, at: Place, names: Reader) -> Mapped:
    extents, sizes = spec(op.x)[1], spec(op.update)[1]
    inside: list[str] = []

    def within(start: str, size: int) -> tuple[int, Callable[[str], str]]:
        def text(i: str) -> str:
            there = names.index(f"{i} - {start}")
            test = names.flag(f"{there} >= 0 && {there} < {size}")
            inside.append(test)
            return f"{test} ? {there} : 0"

        return size, text

    starts = _starts(op, extents, names)
    found = _moved(at, names, {a: within(s, sizes[a]) for a, s in enumerate(starts) if s != "0"})

    def chosen(v: Sequence[str]) -> str:
        return f"{' && '.join(inside)} ? {v[1]} : {v[0]}" if inside else v[1]

    return Mapped([(op.x, at), (op.update, found)], chosen)


def _one_update(op: ptir.ScatterReduceOp, at: Place, names: Reader) -> Mapped:
    """An array of which one element of each row is updated, as where a class is marked."""
    (dtype, extents), values = spec(op.x), op.values()
    axis: int = values["axis"] % len(extents)
    where = _moved(at, names, {axis: (1, lambda _: "0")})
    (given,) = names.values([(op.indices, where)])
    names.fail(op, f"mind::ui64(mind::si64({given})) >= {extents[axis]}u", linear(where, names), given)
    chunks, found = _runs(at, [axis], names)
    here = names.flag(f"mind::si64({chunks[found[axis]].number}) == mind::si64({given})")

    def chosen(v: Sequence[str]) -> str:
        both = {"add": "mind::add({}, {})", "max": "mind::maximum({}, {})", "min": "mind::minimum({}, {})", "replace": "{1}"}
        new = both[values["kind"]].format(*v)
        new = f"mind::rounded<{STORED[dtype]}>({new})" if dtype in NARROW else new
        return f"{here} ? {new} : {v[0]}"

    return Mapped([(op.x, at), (op.updates, where)], chosen)


MAPS: dict[type[PtirOp], Callable[[Any, Place, Reader], Mapped]] = {
    ptir.TransposeOp: _transpose,
    ptir.SliceOp: _slice,
    ptir.StridedSliceOp: _slice,
    ptir.ReverseOp: _reverse,
    ptir.TileOp: _tile,
    ptir.PadOp: _pad,
    ptir.ExtractPatchesOp: _patches,
    ptir.ConcatOp: _concat,
    ptir.TakeOp: _take,
    ptir.GatherOp: _gather,
    ptir.DynamicSliceOp: _dynamic_slice,
    ptir.DynamicUpdateSliceOp: _dynamic_update_slice,
    ptir.ScatterReduceOp: _one_update,
}
"""The map of every op that is one."""


def is_one_update(op: ptir.ScatterReduceOp) -> bool:
    """Return whether a scatter has one update for each row along its axis."""
    extents, shape = op.operand_spec(0).shape, op.operand_spec(1).shape
    axis = op.values()["axis"] % len(extents)
    return shape == tuple(1 if a == axis else n for a, n in enumerate(extents))


def check_map(op: PtirOp) -> None:
    """Raise Unsupported for a map over what has no first element, or whose failures would go unnoticed."""
    sizes = [prod(spec(v)[1]) for v in op.operands]
    result = prod(spec(op.results[0])[1])
    if isinstance(op, ptir.ScatterReduceOp) and not is_one_update(op):
        raise Unsupported("several updates of one row")
    if isinstance(op, ptir.ConcatOp):
        if sum(n > 0 for n in sizes) > MOST_OPERANDS:
            raise Unsupported(f"{len(sizes)} arrays put together")
        return
    if result and 0 in sizes:
        raise Unsupported(f"{op.OPCODE} of nothing")
    if sites_of(op) and not result and sizes[1]:
        raise Unsupported("indices of elements without an index")
    if isinstance(op, ptir.DynamicSliceOp | ptir.DynamicUpdateSliceOp):
        extents, window = spec(op.operands[0])[1], op.values()["sizes"]
        if any(size > n for size, n in zip(window, extents, strict=True)):
            raise Unsupported("a window that does not fit")
