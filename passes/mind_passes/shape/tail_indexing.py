"""
Tails of ops whose places are data: of lookups, and of scatters, whose updates beyond a size must change nothing.

Indices in tails become 0, which each dimension that is looked up in has. Those that are beyond a size, but inside of the bound,
become -1: out of range as before. Updates in tails become what changes nothing: the neutral element of the combination, or the
last update once more where updates overwrite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from xdsl.ir import SSAValue

from mind_dialect.ptir import (
    GatherOp,
    GatherWindowsOp,
    MinimumOp,
    ScatterAddOp,
    ScatterReduceOp,
    ScatterWindowsOp,
    SegmentReduceOp,
    TakeOp,
)
from mind_dialect.ptir.base import OneResultOp
from mind_dialect.ptir.types import SI64
from mind_dialect.ptir_shapes import Dim
from mind_dialect.shapes import inverse_permutation

from ..ptir.building import put_before, spec_of
from ..ptir.construct import broadcast, cast, compare, elementwise, full, make, reshape, scalar, sub, transpose, where
from ..ptir.parts import make_iota
from .tail_masks import Axes, Masks, neutral
from .tail_sizes import Put, Refused
from .tail_windows import vector

COMBINED: Mapping[str, str] = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}
"""The reduction that a kind of scatter combines updates by; one that overwrites combines none."""


def looks_up(masks: Masks, op: TakeOp | GatherOp) -> None:
    axis: int = op.values()["axis"] if isinstance(op, GatherOp) else 0
    _mask_indices(masks, op, [spec_of(op.x).shape[axis]])


def looks_up_windows(masks: Masks, op: GatherWindowsOp) -> None:
    """Let windows along a dimension with a tail fit into its size, or read 0 from its tail, as the mode says."""
    values, x = op.values(), spec_of(op.x).shape
    mode: str = values["mode"]
    sizes: tuple[int, ...] = values["slice_sizes"]
    indexed: tuple[int, ...] = values["start_index_map"]
    if mode == "fill":
        op.operands[0] = masks.masked(op, op.x, [a for a in masks.tails(op.x) if a in indexed], 0)
        return
    _limit_starts(masks, op, {k: (x[a], sizes[a]) for k, a in enumerate(indexed)}, values["index_vector_dim"], mode)
    if mode == "raise":
        op.operands[1] = masks.masked(op, op.indices, masks.tails(op.indices), 0)


def scatters_elements(masks: Masks, op: ScatterReduceOp) -> None:
    """Mask updates along the axis of the indices; along others a tail is combined with a tail."""
    values, shape = op.values(), spec_of(op.updates).shape
    axis: int = values["axis"] % len(shape)
    done = _mask_updates(masks, op, [a for a in masks.tails(op.updates) if a == axis], {axis: axis}, values["kind"])
    _mask_indices(masks, op, [spec_of(op.x).shape[axis]], done)


def scatters_windows(masks: Masks, op: ScatterAddOp) -> None:
    """Mask updates along the dimensions of the indices; along those of a window a tail is added to a tail."""
    vector: int | None = op.values()["index_vector_dim"]
    rank = len(spec_of(op.indices).shape)
    _scatter_windows(masks, op, "add", (), rank if vector is None else vector % rank, "raise")


def scatters_into_windows(masks: Masks, op: ScatterWindowsOp) -> None:
    """Mask updates as above, of each kind; batches of updates are combined with those of `x`, tails with tails."""
    values = op.values()
    if values["unique"] and any(a not in values["update_window_dims"] for a in masks.tails(op.updates)):
        op.properties.update(op.store_properties({**values, "unique": False}))  # tails are scattered where others are
    _scatter_windows(masks, op, values["kind"], values["input_batching_dims"], values["index_vector_dim"], values["mode"])


def _scatter_windows(
    masks: Masks, op: ScatterAddOp | ScatterWindowsOp, kind: str, batches: Sequence[int], vector_dim: int, mode: str
) -> None:
    values, x, updates = op.values(), spec_of(op.x).shape, spec_of(op.updates).shape
    single = {a % len(x) for a in (*values["inserted_window_dims"], *batches)}
    windows = [a % len(updates) for a in values["update_window_dims"]]
    extents = dict.fromkeys(single, 1) | dict(zip([a for a in range(len(x)) if a not in single], windows, strict=True))
    sizes: dict[int, Dim] = {a: 1 if a in single else updates[extents[a]] for a in range(len(x))}
    for a in set(sizes) - single:
        if sizes[a] != x[a] and isinstance(sizes[a], str):
            raise Refused(f"{op.OPCODE} has windows of {sizes[a]} of {x[a]} elements")
    places = [a for a in range(len(spec_of(op.indices).shape)) if a != vector_dim]
    scattered = dict(zip([a for a in range(len(updates)) if a not in windows], places, strict=True))
    done = _mask_updates(masks, op, [a for a in masks.tails(op.updates) if a in scattered], scattered, kind)
    dims: tuple[int, ...] = values["scatter_dims_to_operand_dims"]
    indexed = [a % len(x) for a in dims]
    if mode == "raise":
        _limit_starts(masks, op, {k: (x[a], sizes[a]) for k, a in enumerate(indexed)}, vector_dim, mode)
    tails = [a for a in masks.tails(op.indices) if a not in done]
    for a in indexed if tails else ():
        if sizes[a] == 1 and not masks.sizes.is_positive(x[a]):
            raise Refused(f"{op.OPCODE} along a dimension of {x[a]} elements, expected at least 1")
    op.operands[1] = masks.masked(op, op.indices, tails, 0)


def reduces_segments(masks: Masks, op: SegmentReduceOp) -> None:
    """Let the rows of a tail be neutral elements of segment 0, which keep no promise about the ids."""
    values = op.values()
    if 0 in masks.tails(op.data):
        for promise in ("indices_are_sorted", "unique"):
            if values[promise]:
                raise Refused(f"{op.OPCODE} along a dimension with a tail promises {promise}")
        op.operands[0] = masks.masked(op, op.data, [0], neutral(values["kind"], spec_of(op.data).dtype))
    _mask_indices(masks, op, [values["num_segments"]])


def _mask_indices(masks: Masks, op: OneResultOp, extents: Sequence[Dim], done: Axes = ()) -> None:
    """Mask the indices, the second operand, into dimensions of some extents: one, where it has a tail along an axis not done."""
    indices = op.operands[1]
    tails = [a for a in masks.tails(indices) if a not in done]
    for n in extents:
        if tails and not masks.sizes.is_positive(n):
            raise Refused(f"{op.OPCODE} along a dimension of {n} elements, expected at least 1")
        if isinstance(n, str):
            shape = spec_of(indices).shape
            size = put_before(op, broadcast(masks.size(op, n), shape))
            inside = put_before(op, compare("less", put_before(op, cast(indices, SI64)), size))
            indices = put_before(op, where(inside, indices, full(-1, indices)))
    op.operands[1] = masks.masked(op, indices, tails, 0)


def _limit_starts(masks: Masks, op: OneResultOp, windows: Mapping[int, tuple[Dim, Dim]], vector_dim: int, mode: str) -> None:
    """
    Keep the starts of windows, by component of index vectors the extent of x and that of the window, within sizes.

    Those that are not become -1 where the op raises, so that it does, else the last start at which the window fits.
    """
    if not any(isinstance(n, str) and n != m for n, m in windows.values()):
        return
    put: Put = partial(put_before, op)
    indices = put(cast(op.operands[1], SI64))
    shape = spec_of(indices).shape
    last = [put(sub(masks.sizes.of(n, put), masks.sizes.of(m, put))) for n, m in (windows[k] for k in range(len(windows)))]
    thin = [len(last) if a == vector_dim else 1 for a in range(len(shape))]
    limits = put(broadcast(reshape(vector(put, last), thin), shape))
    if mode == "clamp":
        op.operands[1] = put(elementwise(MinimumOp, indices, limits))
    else:
        op.operands[1] = put(where(put(compare("less_equal", indices, limits)), indices, full(-1, indices)))


def _mask_updates(
    masks: Masks, op: ScatterReduceOp | ScatterAddOp | ScatterWindowsOp, axes: Axes, places: Mapping[int, int], kind: str
) -> list[int]:
    """
    Mask updates along some axes, of which `places` has those of the indices; return those along which indices need no mask.

    Where updates overwrite, a tail becomes the last update of the size, and its index that of this one.
    """
    if kind != "replace":
        op.operands[2] = masks.masked(op, op.updates, axes, neutral(COMBINED[kind], spec_of(op.updates).dtype))
        return []
    for axis in axes:
        n = spec_of(op.updates).shape[axis]
        if not masks.sizes.is_positive(n):
            raise Refused(f"{op.OPCODE} overwrites elements by {n} updates, expected at least 1")
        op.operands[1] = _last_repeated(masks, op, op.indices, places[axis])
        op.operands[2] = _last_repeated(masks, op, op.updates, axis)
    return [places[axis] for axis in axes]


def _last_repeated(masks: Masks, op: OneResultOp, x: SSAValue, axis: int) -> SSAValue:
    """Return `x` with the last element of the size along an axis throughout its tail."""
    put: Put = partial(put_before, op)
    shape = spec_of(x).shape
    n = shape[axis]
    last = put(sub(masks.sizes.of(n, put), scalar(1, SI64)))
    number = put(make_iota(n))
    places = put(elementwise(MinimumOp, number, broadcast(last, (n,))))
    perm = (axis, *(a for a in range(len(shape)) if a != axis))
    front = put(transpose(x, perm))
    found = put(make(TakeOp, front, places, type=front.type))
    return put(transpose(found, inverse_permutation(perm)))
