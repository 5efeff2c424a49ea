"""
Which shapes and properties each rule refuses, over every axis and operand and the extents 0, 1, 2 and 3, held against NumPy.

A row of the table is a rule, what it is tried with, and an oracle: the shape that NumPy gives for arrays of such shapes, None
where that refuses. Where a specification wants more than NumPy does, the oracle says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

from mind_dialect import ptir_shapes, shapes
from mind_dialect.errors import MindError

Shape = tuple[int, ...]
Given = tuple[tuple[Shape, ...], dict[str, Any]]
EXTENTS = (0, 1, 2, 3)


def shapes_of(*ranks: int, extents: tuple[int, ...] = EXTENTS) -> list[Shape]:
    return [shape for rank in ranks for shape in product(extents, repeat=rank)]


def lists(values: range | tuple[int, ...], *lengths: int) -> list[tuple[int, ...]]:
    return [found for n in lengths for found in product(values, repeat=n)]


def axes_of(rank: int) -> range:
    """All axes of a rank, counted from both ends, and one beyond each."""
    return range(-rank - 1, rank + 1)


@dataclass(frozen=True)
class Rule:
    """A rule, what it is tried with, and what it should give: a shape, or None where it refuses."""

    rule: Callable[..., Any]
    cases: Callable[[], Iterator[Given]]
    oracle: Callable[..., Any]


def zeros(shape: Shape) -> Any:
    return np.zeros(shape, np.int8)


def shaped(run: Callable[[], Any]) -> Shape | None:
    """The shape of what NumPy gives, None if it refuses."""
    try:
        return run().shape
    except (ValueError, IndexError, TypeError):
        return None


# What rules are tried with


def unary(ranks: tuple[int, ...], **properties: Callable[[int], Any]) -> Callable[[], Iterator[Given]]:
    """One shape, and every combination of properties, which depend on its rank."""

    def cases() -> Iterator[Given]:
        for shape in shapes_of(*ranks):
            for values in product(*(of(len(shape)) for of in properties.values())):
                yield (shape,), dict(zip(properties, values, strict=True))

    return cases


def pairs(ranks: tuple[int, ...], others: tuple[int, ...] | None = None, **properties: Callable[[int], Any]) -> Any:
    """Two shapes, and every combination of properties, which depend on the rank of the first."""

    def cases() -> Iterator[Given]:
        for a, b in product(shapes_of(*ranks), shapes_of(*(ranks if others is None else others))):
            for values in product(*(of(len(a)) for of in properties.values())):
                yield (a, b), dict(zip(properties, values, strict=True))

    return cases


BOOLS = lambda rank: (False, True)  # noqa: E731
SOME_AXES = lambda rank: lists(axes_of(rank), 0, 1, 2)  # noqa: E731
ONE_AXIS = lambda rank: axes_of(rank)  # noqa: E731
EACH = lambda *values: lambda rank: lists(values, *{max(rank - 1, 0), rank, rank + 1})  # noqa: E731


# What they should give


def from_front(axes: tuple[int, ...], rank: int) -> bool:
    """Whether axes are all counted from the front, as Core IR has them where it is not said otherwise."""
    return all(0 <= a < rank for a in axes)


def reduced(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape | None:
    return shaped(lambda: zeros(shape).sum(axis=axes, keepdims=keepdims))


def core_reduce(shape: Shape, axes: tuple[int, ...], keepdims: bool, negative: bool = False) -> Shape | None:
    """Without axes all are reduced, to rank 0."""
    if not negative and not from_front(axes, len(shape)):
        return None
    return reduced(shape, axes, keepdims) if axes else ()


def core_mean(shape: Shape, axes: tuple[int, ...], keepdims: bool, negative: bool = False) -> Shape | None:
    """As a sum, but that a mean of nothing is none."""
    found = core_reduce(shape, axes, keepdims, negative)
    over = {a % len(shape) for a in axes} if axes and shape else set(range(len(shape)))
    return None if found is None or any(shape[a] == 0 for a in over) else found


def core_reshape(shape: Shape, new_shape: tuple[int, ...]) -> Shape | None:
    """No extent of the result is 0, stated or found."""
    found = None if 0 in new_shape or min(new_shape, default=1) < -1 else shaped(lambda: zeros(shape).reshape(new_shape))
    return None if found is None or 0 in found else found


def ptir_reshape(shape: Shape, new_shape: tuple[int, ...]) -> Shape | None:
    return None if min(new_shape, default=0) < -1 else shaped(lambda: zeros(shape).reshape(new_shape))


def core_transpose(shape: Shape, permutation: tuple[int, ...]) -> Shape | None:
    return shaped(lambda: zeros(shape).transpose(permutation)) if from_front(permutation, len(shape)) else None


def core_expand(shape: Shape, axes: tuple[int, ...], negative: bool = False) -> Shape | None:
    if not negative and not from_front(axes, len(shape) + len(axes)):
        return None
    return shaped(lambda: np.expand_dims(zeros(shape), axes))


def core_squeeze(shape: Shape, axes: tuple[int, ...], negative: bool = False) -> Shape | None:
    if not negative and not from_front(axes, len(shape)):
        return None
    return shaped(lambda: np.squeeze(zeros(shape), axes))


def core_slice(shape: Shape, starts: Shape, ends: Shape, steps: Shape) -> Shape | None:
    """A start may lie beyond the end; an end beyond the extent is refused, which NumPy cuts off."""
    if not len(starts) == len(ends) == len(steps) == len(shape):
        return None
    each = list(zip(shape, starts, ends, steps, strict=True))
    if any(step < 1 or start < 0 or not 0 <= end <= n for n, start, end, step in each):
        return None
    return zeros(shape)[tuple(slice(a, b, s) for _, a, b, s in each)].shape


def ptir_slice(shape: Shape, starts: Shape, sizes: Shape) -> Shape | None:
    if not len(starts) == len(sizes) == len(shape) or min((*starts, *sizes), default=0) < 0:
        return None
    found = zeros(shape)[tuple(slice(a, a + n) for a, n in zip(starts, sizes, strict=True))].shape
    inside = all(a <= n for a, n in zip(starts, shape, strict=True))
    return found if found == sizes and inside else None


def strided_slice(shape: Shape, starts: Shape, limits: Shape, strides: Shape) -> Shape | None:
    found = core_slice(shape, starts, limits, strides)
    return None if found is None or any(a > b for a, b in zip(starts, limits, strict=True)) else found


def matmul(a: Shape, b: Shape) -> Shape | None:
    return shaped(lambda: zeros(a) @ zeros(b)) if len(a) >= 2 <= len(b) else None


def dot(a: Shape, b: Shape) -> Shape | None:
    return shaped(lambda: np.asarray(zeros(a) @ zeros(b))) if 1 <= len(a) <= 2 >= len(b) >= 1 else None


def core_broadcast_to(shape: Shape, to: Shape) -> Shape | None:
    return shaped(lambda: np.broadcast_to(zeros(shape), to)) if min(to, default=0) >= 0 else None


def core_gather(shape: Shape, indices: Shape) -> Shape | None:
    return indices + zeros(shape)[:0].shape[1:] if shape else None


def same(a: Shape, b: Shape) -> Shape | None:
    return a if a == b else None


def ptir_reduce(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape | None:
    """Without axes none is reduced."""
    return reduced(shape, axes, keepdims)


def arg_max(shape: Shape, axis: int, keepdims: bool) -> Shape | None:
    return shaped(lambda: np.asarray(np.argmax(zeros(shape), axis=axis, keepdims=keepdims))) if shape else None


def gathered(a: Shape, b: Shape, axis: int) -> Shape | None:
    """The indices' shape, which is x's but along the axis."""
    if len(a) != len(b) or not -len(a) <= axis < len(a):
        return None
    return b if all(m == n for i, (m, n) in enumerate(zip(a, b, strict=True)) if i != axis % len(a)) else None


def top_k(shape: Shape, k: int, axis: int) -> Shape | None:
    if not -len(shape) <= axis < len(shape) or not 0 <= k <= shape[axis]:
        return None
    return zeros(shape).take(range(k), axis=axis).shape


def layer_norm(shape: Shape, gamma: Shape, feature_axis: int) -> Shape | None:
    found = -len(shape) <= feature_axis < len(shape) and gamma == (shape[feature_axis],)
    return shape if found else None


def dynamic_slice(shape: Shape, start: Shape, sizes: Shape) -> Shape | None:
    fits = len(sizes) == len(shape) and all(0 <= size <= n for size, n in zip(sizes, shape, strict=True))
    return sizes if fits and start == (len(shape),) else None


def padded(shape: Shape, low: Shape, high: Shape, interior: Shape) -> Shape | None:
    if not len(low) == len(high) == len(interior) == len(shape) or min((*low, *high, *interior), default=0) < 0:
        return None
    wide = zeros(tuple(max(0, n + (n - 1) * i) for n, i in zip(shape, interior, strict=True)))
    return np.pad(wide, list(zip(low, high, strict=True))).shape if shape else ()


def tiled(shape: Shape, repeats: Shape) -> Shape | None:
    return np.tile(zeros(shape), repeats).shape if len(repeats) == len(shape) and min(repeats, default=0) >= 0 else None


def reversed_(shape: Shape, axes: tuple[int, ...]) -> Shape | None:
    return shaped(lambda: np.flip(zeros(shape), axes))


def along(shape: Shape, axis: int) -> Shape | None:
    return shaped(lambda: np.sort(zeros(shape), axis=axis))


def dot_general(a: Shape, b: Shape, **axes: tuple[int, ...]) -> Shape | None:
    """By names of axes, as `einsum` has them: batch axes, then what is left of each operand."""
    names: list[list[str]] = [[], []]
    letters = iter("abcdefghijklmnop")
    for side, shape in enumerate((a, b)):
        taken = [*axes[("batch_lhs", "batch_rhs")[side]], *axes[("contract_lhs", "contract_rhs")[side]]]
        if any(not -len(shape) <= x < len(shape) for x in taken) or len({x % len(shape) for x in taken}) < len(taken):
            return None
        names[side] = [next(letters) for _ in shape]
    batch: list[str] = []
    for kind in ("batch", "contract"):
        left, right = axes[f"{kind}_lhs"], axes[f"{kind}_rhs"]
        if len(left) != len(right):
            return None
        for x, y in zip(left, right, strict=True):
            if a[x] != b[y]:
                return None
            names[1][y] = names[0][x]
            batch += [names[0][x]] if kind == "batch" else []
    contracted = {names[0][x] for x in axes["contract_lhs"]}
    out = [*batch, *(n for side in names for n in side if n not in batch and n not in contracted)]
    return np.einsum(f"{''.join(names[0])},{''.join(names[1])}->{''.join(out)}", zeros(a), zeros(b)).shape


def dot_general_cases() -> Iterator[Given]:
    some: list[tuple[int, ...]] = [(), (0,), (1,), (-1,), (2,), (-3,), (0, 1), (1, 0), (0, 0), (0, -2)]
    for a, b in product([(2, 3), (3, 2), (2, 2), (0, 2), (1, 2)], repeat=2):
        for batch_lhs, batch_rhs, contract_lhs, contract_rhs in product(some, repeat=4):
            given = {"batch_lhs": batch_lhs, "batch_rhs": batch_rhs, "contract_lhs": contract_lhs, "contract_rhs": contract_rhs}
            yield (a, b), given


def concat_cases() -> Iterator[Given]:
    for count in (1, 2, 3):
        for given in product(shapes_of(0, 1, 2, extents=(0, 1, 2)), repeat=count):
            for axis in axes_of(len(given[0])):
                yield given, {"axis": axis}


def concatenated(*given: Shape, axis: int) -> Shape | None:
    return shaped(lambda: np.concatenate([zeros(shape) for shape in given], axis))


def window_cases() -> Iterator[Given]:
    """Spatial extents by windows, strides, padding and both dilations, on each of two axes."""
    for n, window, stride, low, high, base, dilation in product(
        (0, 1, 3), (1, 2, 3), (0, 1, 2), (0, 1), (-1, 0, 1), (1, 2), (0, 1, 2)
    ):
        for axis in (0, 1):
            plain: list[Any] = [3, 1, 1, (0, 0), 1, 1]
            odd: list[Any] = [n, window, stride, (low, high), base, dilation]
            extents, *lists_ = zip(*((odd, plain) if axis == 0 else (plain, odd)), strict=True)
            names = ("window_dims", "strides", "padding", "base_dilation", "window_dilation")
            yield (tuple(extents),), dict(zip(names, lists_, strict=True))


def windowed(shape: Shape, **values: Any) -> Shape | None:
    """The places of a window, one by one."""
    found: list[int] = []
    names = ("window_dims", "strides", "padding", "base_dilation", "window_dilation")
    for n, window, stride, (low, high), base, dilation in zip(shape, *(values[name] for name in names), strict=True):
        if window < 1 or stride < 1 or dilation < 1 or base < 1 or min(low, high) < 0:
            return None
        wide = low + len(range(0, (n - 1) * base + 1)) * (n > 0) + high
        reach = (window - 1) * dilation
        found.append(sum(1 for start in range(0, wide, stride) if start + reach < wide))
    return tuple(found)


def scatter_cases() -> Iterator[Given]:
    """Every order and length of the lists of axes."""
    some = [(), (0,), (1,), (-1,), (2,), (0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0), (0, 0)]
    for x, indices, updates in product([(3, 2), (2, 3, 4)], [(), (2,), (2, 1), (2, 2)], [(), (2,), (2, 2), (2, 3, 4), (2, 3, 2)]):
        for window, inserted, targets in product(some, repeat=3):
            for vector in (None, -1, 0, 1, 2, 3):
                given = {"update_window_dims": window, "inserted_window_dims": inserted, "scatter_dims_to_operand_dims": targets}
                yield (x, indices, updates), {**given, "index_vector_dim": vector}


def scattered(
    x: Shape,
    indices: Shape,
    updates: Shape,
    update_window_dims: Shape,
    inserted_window_dims: Shape,
    scatter_dims_to_operand_dims: Shape,
    index_vector_dim: int | None,
) -> Shape | None:
    """StableHLO's constraints on the dimensions of a scatter, one after the other."""
    vector = len(indices) if index_vector_dim is None else index_vector_dim
    if not 0 <= vector <= len(indices):
        return None
    for axes, rank in (
        (update_window_dims, len(updates)),
        (inserted_window_dims, len(x)),
        (scatter_dims_to_operand_dims, len(x)),
    ):
        if any(not -rank <= a < rank for a in axes) or len({a % rank for a in axes}) < len(axes):
            return None
    if any(list(axes) != sorted(axes) for axes in (update_window_dims, inserted_window_dims)):
        return None
    if len(scatter_dims_to_operand_dims) != (indices[vector] if vector < len(indices) else 1):
        return None
    window = [n for i, n in enumerate(x) if i not in {a % len(x) for a in inserted_window_dims}]
    places = [n for i, n in enumerate(indices) if i != vector]
    dims = {a % len(updates) for a in update_window_dims} if updates else set[int]()
    if len(dims) != len(window) or len(updates) != len(window) + len(places):
        return None
    sizes = [n for i, n in enumerate(updates) if i in dims]
    fits = all(m <= n for m, n in zip(sizes, window, strict=True))
    return x if fits and [n for i, n in enumerate(updates) if i not in dims] == places else None


TABLE: dict[str, Rule] = {
    "core broadcast": Rule(
        shapes.broadcast,
        pairs((0, 1, 2, 3)),
        lambda a, b: shaped(lambda: np.broadcast_to(zeros(a), np.broadcast_shapes(a, b))),
    ),
    "core reduce": Rule(shapes.reduce, unary((0, 1, 2, 3), axes=SOME_AXES, keepdims=BOOLS), core_reduce),
    "core reduce, from the end": Rule(
        shapes.reduce, unary((0, 1, 2), axes=SOME_AXES, keepdims=BOOLS, negative=lambda rank: (True,)), core_reduce
    ),
    "core mean": Rule(shapes.mean, unary((0, 1, 2, 3), axes=SOME_AXES, keepdims=BOOLS, negative=BOOLS), core_mean),
    "core reshape": Rule(
        shapes.reshape, unary((0, 1, 2), new_shape=lambda rank: lists((-2, -1, 0, 1, 2, 3, 6), 0, 1, 2, 3)), core_reshape
    ),
    "core transpose": Rule(
        shapes.transpose, unary((0, 1, 2, 3), permutation=lambda rank: lists(axes_of(rank), 0, 1, 2, 3)), core_transpose
    ),
    "core expand_dims": Rule(
        shapes.expand_dims, unary((0, 1, 2), axes=lambda rank: lists(axes_of(rank + 2), 0, 1, 2), negative=BOOLS), core_expand
    ),
    "core squeeze": Rule(shapes.squeeze, unary((0, 1, 2, 3), axes=SOME_AXES, negative=BOOLS), core_squeeze),
    "core broadcast_to": Rule(
        shapes.broadcast_to,
        unary((0, 1, 2), shape=lambda rank: lists((-1, 0, 1, 2, 3), 0, 1, 2, 3)),
        lambda x, shape: core_broadcast_to(x, shape),
    ),
    "core slice of one axis": Rule(
        shapes.slice, unary((0, 1), starts=EACH(-1, 0, 1, 3, 4), ends=EACH(-1, 0, 1, 3, 4), steps=EACH(-1, 0, 1, 2)), core_slice
    ),
    "core slice of two axes": Rule(
        shapes.slice,
        lambda: (
            ((shape,), {"starts": starts, "ends": ends, "steps": (1, 2)})
            for shape in shapes_of(2)
            for starts, ends in product(lists((-1, 0, 1, 3), 2), repeat=2)
        ),
        core_slice,
    ),
    "core matmul": Rule(shapes.matmul, pairs((0, 1, 2, 3)), matmul),
    "core dot": Rule(shapes.dot, pairs((0, 1, 2)), dot),
    "core gather": Rule(shapes.gather, pairs((0, 1, 2)), core_gather),
    "core index": Rule(
        shapes.index, unary((0, 1, 2), indices=EACH(0, 5)), lambda shape, indices: () if len(indices) == len(shape) else None
    ),
    "ptir compare": Rule(ptir_shapes.compare, pairs((0, 1, 2, 3)), same),
    "ptir reduce": Rule(ptir_shapes.reduce, unary((0, 1, 2, 3), axes=SOME_AXES, keepdims=BOOLS), ptir_reduce),
    "ptir arg_max": Rule(ptir_shapes.arg_max, unary((0, 1, 2, 3), axis=ONE_AXIS, keepdims=BOOLS), arg_max),
    "ptir reshape": Rule(
        ptir_shapes.reshape, unary((0, 1, 2), new_shape=lambda rank: lists((-2, -1, 0, 1, 2, 3, 6), 0, 1, 2, 3)), ptir_reshape
    ),
    "ptir transpose": Rule(
        ptir_shapes.transpose,
        unary((0, 1, 2, 3), perm=lambda rank: lists(axes_of(rank), 0, 1, 2, 3)),
        lambda shape, perm: shaped(lambda: zeros(shape).transpose(perm)),
    ),
    "ptir broadcast_to": Rule(
        ptir_shapes.broadcast_to,
        unary((0, 1, 2), result_shape=lambda rank: lists((-1, 0, 1, 2, 3), 0, 1, 2, 3)),
        lambda x, result_shape: core_broadcast_to(x, result_shape),
    ),
    "ptir slice": Rule(ptir_shapes.slice, unary((0, 1, 2), starts=EACH(-1, 0, 1, 3), sizes=EACH(-1, 0, 1, 3)), ptir_slice),
    "ptir strided_slice": Rule(
        ptir_shapes.strided_slice,
        unary((0, 1), starts=EACH(-1, 0, 1, 3, 4), limits=EACH(-1, 0, 1, 3, 4), strides=EACH(-1, 0, 1, 2)),
        strided_slice,
    ),
    "ptir concat": Rule(ptir_shapes.concat, concat_cases, concatenated),
    "ptir pad": Rule(ptir_shapes.pad, unary((0, 1, 2), low=EACH(-1, 0, 2), high=EACH(0, 1), interior=EACH(-1, 0, 1)), padded),
    "ptir tile": Rule(ptir_shapes.tile, unary((0, 1, 2), repeats=EACH(-1, 0, 1, 2)), tiled),
    "ptir reverse": Rule(ptir_shapes.reverse, unary((0, 1, 2, 3), axes=SOME_AXES), reversed_),
    "ptir along": Rule(ptir_shapes.along, unary((0, 1, 2, 3), axis=ONE_AXIS), along),
    "ptir take": Rule(ptir_shapes.take, pairs((0, 1, 2)), core_gather),
    "ptir gather": Rule(ptir_shapes.gather, pairs((0, 1, 2), axis=ONE_AXIS), gathered),
    "ptir top_k": Rule(ptir_shapes.top_k, unary((0, 1, 2), k=lambda rank: range(-1, 5), axis=ONE_AXIS), top_k),
    "ptir dynamic_slice": Rule(ptir_shapes.dynamic_slice, pairs((0, 1, 2), (0, 1, 2), sizes=EACH(-1, 0, 1, 3)), dynamic_slice),
    "ptir layer_norm": Rule(
        lambda x, gamma, *, feature_axis: ptir_shapes.layer_norm(x, gamma, gamma, feature_axis=feature_axis),
        pairs((0, 1, 2), (0, 1, 2), feature_axis=ONE_AXIS),
        layer_norm,
    ),
    "ptir dot_general": Rule(ptir_shapes.dot_general, dot_general_cases, dot_general),
    "ptir reduce_window": Rule(ptir_shapes.reduce_window, window_cases, windowed),
    "ptir scatter_add": Rule(ptir_shapes.scatter_add, scatter_cases, scattered),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TABLE)
def test_a_rule_refuses_what_it_should_and_nothing_else(name: str) -> None:
    row = TABLE[name]
    refused = accepted = 0
    for operands, properties in row.cases():
        try:
            found = tuple(row.rule(*operands, **properties))
        except MindError:
            found = None
        expected = row.oracle(*operands, **properties)
        assert found == expected, f"{operands} {properties}"
        refused += expected is None
        accepted += expected is not None
    assert accepted, "no case is accepted"
    assert refused, "no case is refused"


@pytest.mark.parametrize("ids", [(), (6, 1), (6, 4, 2)])
def test_the_rank_that_segment_ids_should_have_is_said(ids: Shape) -> None:
    with pytest.raises(MindError, match=f"E3002: segment_ids has rank {len(ids)}, expected 1$"):
        ptir_shapes.segment_reduce((6, 4), ids, num_segments=3)
