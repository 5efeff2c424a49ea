"""
Windows of updated arrays, written where they are in the result.

A value that a `dynamic_update_slice` at a constant place alone reads is not computed in memory of its own and copied. The array
is copied first, which costs nothing where it dies, and the kernel of the value writes the window. Such a kernel reads parts of
the array in the copy, if each is this window, whose elements are read before they are written, or has none of its elements. One
that reads other parts of the array needs memory of its own for its results.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.ptir import DynamicUpdateSliceOp, ReshapeOp
from mind_dialect.ptir.types import known_extents
from mind_passes.ptir.building import literal_of

from ..launch.views import VIEWS
from .concats import outer_use
from .views import Buffer, Joined, View, in_memory_of, indices_of, reshaped, window


def update_of(value: SSAValue, members: Container[Operation]) -> DynamicUpdateSliceOp | None:
    """Return the update that a result of a group is alone for, perhaps in another shape."""
    use = outer_use(value, members)
    while use is not None and isinstance(use.operation, ReshapeOp):
        use = outer_use(use.operation.result, ())
    if use is None or use.index != 1 or not isinstance(use.operation, DynamicUpdateSliceOp):
        return None
    return use.operation


def window_of(op: DynamicUpdateSliceOp, whole: View, shape: Sequence[int]) -> View | None:
    """Return the window of an array that an update writes, in a shape; None where its place is data or strides cannot say it."""
    literal = literal_of(op.operands[2])
    if literal is None or whole.lookups:
        return None
    sizes, starts = known_extents(op.operands[1].type), [int(s.real) for s in literal.values()]
    starts = starts * len(sizes) if literal.is_fill else starts
    places = [min(max(s, 0), n - size) for s, n, size in zip(starts, whole.shape, sizes, strict=True)]
    return reshaped(window(whole, places, sizes, (1,) * len(sizes)), shape)


def moved(views: Sequence[View], x: View, target: View, part: View) -> list[View] | None:
    """
    Return what a kernel reads after an array `x` is copied to `target`, and while it writes `part` of that; None if it cannot.

    What is not read in `x` any more lets `x` die in the copy, which is none then.
    """
    if not isinstance(x.base, Buffer) or not x.is_whole:
        return list(views)
    found = [replace(v, base=target.base) if v.base is x.base else v for v in views]
    inner = [p for v in views for p in in_memory_of(v)]
    reads = [v for v in inner if v.base is x.base]
    joins = [p for v in views if isinstance(v.base, Joined) for p in in_memory_of(v)]
    is_hidden = any(v.base is x.base for v in (*indices_of(inner), *joins))
    is_apart = all(_are_same(v, part) or _are_apart(v, part, x) for v in reads)
    return found if is_apart and not is_hidden and all(v.dtype is x.dtype and not v.lookups for v in reads) else None


def _are_same(a: View, b: View) -> bool:
    """Return whether two parts of an array are the same one, in the same order."""
    strides = zip(a.shape, a.strides, b.strides, strict=True) if a.shape == b.shape and a.offset == b.offset else [(2, 0, 1)]
    return all(n == 1 or first == second for n, first, second in strides)


def _are_apart(a: View, b: View, whole: View) -> bool:
    """Return whether two boxes of an array have no element in common."""
    first, second = (_box(v, whole) for v in (a, b))
    if first is None or second is None:
        return False
    return any(i + m <= j or j + n <= i for (i, m), (j, n) in zip(first, second, strict=True))


def _box(view: View, whole: View) -> list[tuple[int, int]] | None:
    """Return the start and extent along each axis of an array of the box that a view is; None if it is no box."""
    axes = [(stride, n) for n, stride in zip(view.shape, view.strides, strict=True) if n > 1]
    sizes = dict(axes)
    if len(sizes) < len(axes):
        return None
    rest, box = view.offset, list[tuple[int, int]]()
    for extent, stride in zip(whole.shape, whole.strides, strict=True):
        start, rest = divmod(rest, stride) if extent > 1 else (0, rest)
        box.append((start, sizes.pop(stride, 1) if extent > 1 else 1))
    fits = all(start + size <= n for (start, size), n in zip(box, whole.shape, strict=True))
    return box if fits and not rest and not sizes else None


def dies_in(op: DynamicUpdateSliceOp, value: SSAValue, planned: Mapping[SSAValue, View]) -> bool:
    """Return whether nothing reads the updated array after the kernel of a value but the update; `planned` values are before."""
    producer = _in_block(value.owner if isinstance(value.owner, Operation) else None, op.parent)
    return producer is not None and _is_read_before(op.operands[0], producer, op, planned)


def _is_read_before(x: SSAValue, producer: Operation, update: DynamicUpdateSliceOp, planned: Mapping[SSAValue, View]) -> bool:
    for use in x.uses:
        user = _in_block(use.operation, producer.parent)
        if user is producer or (user is update and use.index == 0):
            continue
        if user is not None and type(user) in VIEWS:
            if not _is_read_before(user.results[0], producer, update, planned):
                return False
        elif user is None or not user.results or any(result not in planned for result in user.results):
            return False
    return True


def _in_block(op: Operation | None, block: Block | None) -> Operation | None:
    """Return the op of a block that an op is, or is in."""
    while op is not None and op.parent is not block:
        op = op.parent_op()
    return op
