"""
Rows of sequences, which are lists of values at import, and of optional values, of which the import knows whether they are there.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import brief, error

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow
from .emitter import static
from .indexing import from_start
from .node import Node, axis_of
from .values import NOTHING, Sequenced


def _sequence(node: Node, i: int = 0) -> Sequenced:
    value = node.raw(i)
    if not isinstance(value, Sequenced):
        raise Refused("a sequence as an input", "pass its tensors as inputs")
    return value


def _place(node: Node, i: int, length: int, *, end: bool = False) -> int:
    given = node.integers(i)
    place = given[0] if given else length if end else length - 1
    if not -length <= place < length + end:
        raise error("E3004", f"position {place} in a sequence of {length}", axis=place, rank=length)
    return place % length if place < 0 else place


def _sequence_insert(to: OnnxConverter, node: Node) -> Sequenced:
    found = Sequenced(_sequence(node))
    found.insert(_place(node, 2, len(found), end=True), node.raw(1))
    return found


def _sequence_erase(to: OnnxConverter, node: Node) -> Sequenced:
    found = Sequenced(_sequence(node))
    del found[_place(node, 1, len(found))]
    return found


def _sequence_at(to: OnnxConverter, node: Node) -> Any:
    """An element; at a position of the run, one of elements that have the same type."""
    held = _sequence(node)
    position = node.raw(1)
    if isinstance(position, SSAValue) and to.known_array(position) is None and held:
        xs = [to.value(v) for v in held]
        if any(x.type != xs[0].type for x in xs):
            raise Refused("a position that is data, in a sequence of different types", "give all elements one type")
        rows = to.concat([to.reshape(x, (1, *to.shape(x))) for x in xs], 0)
        return to.emit(ptir.TakeOp, rows, from_start(to, to.reshape(position, ()), len(xs)))
    return held[_place(node, 1, len(held))]


def _concat_from_sequence(to: OnnxConverter, node: Node) -> SSAValue:
    xs = [to.value(v) for v in _sequence(node)]
    new = bool(node.int("new_axis"))
    if not xs:
        raise error("E2007", "an empty sequence", expected="1 or more", actual=0)
    axis = axis_of(node.int("axis", 0), len(to.shape(xs[0])) + new)
    if new:
        xs = [to.reshape(x, (*to.shape(x)[:axis], 1, *to.shape(x)[axis:])) for x in xs]
    return to.concat(xs, axis)


def _split_to_sequence(to: OnnxConverter, node: Node) -> Sequenced:
    x = node.x()
    axis, keep = node.axis("axis", 0, x), bool(node.int("keepdims", 1))
    (n,) = static((to.shape(x)[axis],), "SplitToSequence")
    split = node.array(1)
    sizes = [1] * n if split is None else [int(v) for v in split.reshape(-1)]
    if split is not None and split.ndim == 0:
        chunk = max(1, sizes[0])
        sizes = [min(chunk, n - i) for i in range(0, n, chunk)]
    if sum(sizes) != n or any(k < 0 for k in sizes):
        raise error("E3003", f"parts of {brief(sizes)} along an extent of {n}", dimension=axis, extents=(sum(sizes), n))
    starts = np.cumsum([0, *sizes]).tolist()
    parts = [to.part(x, axis, a, b) for a, b in pairwise(starts)]
    if split is None and not keep:
        parts = [to.reshape(p, (*to.shape(p)[:axis], *to.shape(p)[axis + 1 :])) for p in parts]
    return Sequenced(parts)


def _sequence_map(to: OnnxConverter, node: Node) -> list[Sequenced]:
    """The body on each element; operands that are no sequences are the same for all."""
    body, held = node.graph("body"), _sequence(node)
    found = [Sequenced() for _ in body.output]
    for i, value in enumerate(held):
        rest = [node.raw(j) for j in range(1, len(node.operands))]
        given = [value, *(v[i] if isinstance(v, Sequenced) else v for v in rest)]
        for sequence, result in zip(found, to.inlined(body, given), strict=True):
            sequence.append(result)
    return found


def _has_element(to: OnnxConverter, node: Node) -> Any:
    return np.array(node.has(0) and node.operands[0] is not NOTHING)


SEQUENCES: dict[str, OnnxRow | Refused] = {
    "ConcatFromSequence": _concat_from_sequence,
    "Optional": lambda to, node: node.raw(0) if node.has(0) else NOTHING,
    "OptionalGetElement": lambda to, node: node.raw(0),
    "OptionalHasElement": _has_element,
    "SequenceAt": _sequence_at,
    "SequenceConstruct": lambda to, node: Sequenced(node.raw(i) for i in range(len(node.operands))),
    "SequenceEmpty": lambda to, node: Sequenced(),
    "SequenceErase": _sequence_erase,
    "SequenceInsert": _sequence_insert,
    "SequenceLength": lambda to, node: np.array(len(_sequence(node)), np.int64),
    "SequenceMap": _sequence_map,
    "SplitToSequence": _split_to_sequence,
}
