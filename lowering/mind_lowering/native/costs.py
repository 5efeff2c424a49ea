"""
About how long kernels take on one thread, in nanoseconds: rough, to tell microseconds from milliseconds.

What is decided by it is whether threads share a kernel, and in what pieces; no result depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from xdsl.ir import Operation

from mind_dialect.ptir import FUSIBLE, OPS_BY_OPCODE, PtirOp, RemainderOp
from mind_dialect.ptir.scalars import SCALARS
from mind_dialect.ptir.types import read_type

from .target_info import TargetInfo
from .views import Buffer, View

BYTES = 32.0
"""That pass between cache and one core in a nanosecond."""
CHEAP = 4
"""Instructions that are rather repeated than their result is stored beyond the caches and loaded again."""
LONG = 10
"""Instructions of one op that are longer than what overlaps with loads before and after it."""
VECTORS = 3.0
"""Instructions on vectors in a nanosecond."""
CALLS: frozenset[type[PtirOp]] = frozenset(
    {op for code, op in OPS_BY_OPCODE.items() if (row := SCALARS.get(code)) is not None and row.library} | {RemainderOp}
)
"""Ops that are a call of a function, at least for some dtypes: nothing else stays in registers meanwhile."""


def instructions(op: type[PtirOp]) -> int:
    """Return the number of instructions of an op for one vector."""
    row = SCALARS.get(op.OPCODE)
    return 30 if op in CALLS else 1 if row is None else row.instructions


def are_cheap(ops: Iterable[Operation]) -> bool:
    """Return whether ops are fewer instructions than a load that misses the caches is worth."""
    return sum(instructions(type(op)) for op in ops if isinstance(op, PtirOp) and FUSIBLE.get(type(op)) == "elementwise") <= CHEAP


def traffic(views: Iterable[View]) -> int:
    """The bytes of the elements that views read or write, each counted once for a view."""
    return sum(_element_count(v) * v.dtype.size for v in views if isinstance(v.base, Buffer))


def _element_count(view: View) -> int:
    if view.lookups:
        return view.count
    return prod(n for n, stride in zip(view.shape, view.strides, strict=True) if stride)


def elementwise(host: TargetInfo, shape: Sequence[int], ops: Sequence[PtirOp], views: Sequence[View]) -> float:
    """Of a loop over `shape` that does `ops` to `views`."""
    each = 0.0
    for op in ops:
        lanes = host.lanes(max(4, read_type(op.results[0].type).dtype.size))
        each += 30.0 if type(op) in CALLS else instructions(type(op)) / lanes
    for view in views:
        gathered = bool(view.lookups) or (bool(view.strides) and view.strides[-1] not in (0, 1))
        each += 1.0 if gathered else 1.0 / host.lanes(max(4, view.dtype.size))
    return max(prod(shape) * each / VECTORS, traffic(views) / BYTES)
