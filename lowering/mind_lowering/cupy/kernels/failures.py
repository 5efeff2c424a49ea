"""
Failures in a kernel: each site in it where something can go wrong knows the error that the NumPy target gives.

A kernel notes the first site and place that failed; which number it was comes from a second run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mind_dialect import ptir
from mind_dialect.errors import MindError, error
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import Kind

from ...ptir_kernels.indexing import GATHER, SCATTER, broken_promise, out_of_bounds

DIVISION, UNSIGNED, INDEX, WINDOW, PROMISE = "division", "unsigned division", "index", "window", "promise"


class FailingOp(NamedTuple):
    """An op that can fail; of an index the shape, axis and extent of the window that it is an index of."""

    what: str
    shape: tuple[int, ...] = ()
    axis: int = 0
    window: int = 1
    detail: str = ""
    """Of an index what it is called in the contract; of a promise its name."""


def sites_of(op: PtirOp) -> tuple[FailingOp, ...]:
    """The sites of an op, in the order in which the NumPy target checks them."""
    if isinstance(op, ptir.DivOp | ptir.RemainderOp):
        what = {Kind.SIGNED: DIVISION, Kind.UNSIGNED: UNSIGNED}.get(op.operand_spec(0).dtype.kind)
        return () if what is None else (FailingOp(what),)
    if isinstance(op, ptir.TakeOp | ptir.GatherOp | ptir.ScatterReduceOp):
        shape = tuple(n for n in op.operand_spec(0).shape if isinstance(n, int))
        axis = 0 if isinstance(op, ptir.TakeOp) else op.values()["axis"] % max(1, len(shape))
        return (FailingOp(INDEX, shape, axis, 1, SCATTER if isinstance(op, ptir.ScatterReduceOp) else GATHER),)
    if isinstance(op, ptir.ScatterAddOp):
        return _windows(op)
    if isinstance(op, ptir.SegmentReduceOp):
        values = op.values()
        promises = [FailingOp(PROMISE, detail=name) for name in ("indices_are_sorted", "unique") if values[name]]
        return (FailingOp(INDEX, (values["num_segments"],), 0, 1, SCATTER), *promises)
    return ()


def _windows(op: ptir.ScatterAddOp) -> tuple[FailingOp, ...]:
    """A site for each number of an index vector."""
    values = op.values()
    shape = tuple(n for n in op.operand_spec(0).shape if isinstance(n, int))
    updates = op.operand_spec(2).shape
    rank = len(shape)
    inserted = {a % rank for a in values["inserted_window_dims"]}
    kept = [a for a in range(rank) if a not in inserted]
    window: Sequence[int] = values["update_window_dims"]
    sizes = {a: n for a, w in zip(kept, window, strict=True) if isinstance(n := updates[w], int)}
    targets: list[int] = [a % rank for a in values["scatter_dims_to_operand_dims"]]
    return tuple(FailingOp(INDEX, shape, a, sizes.get(a, 1), SCATTER) for a in targets)


def failure(site: Sequence[object], number: int) -> MindError:
    """The error of a site at a number, given as 64 bits without a sign."""
    what, shape, axis, window, detail = FailingOp(*site)  # type: ignore[arg-type]
    if number >= 1 << 63 and what != UNSIGNED:
        number -= 1 << 64
    if what in (DIVISION, UNSIGNED):
        return error("E8004", f"division of the integer {number} by 0, expected another divisor", operands=[number, 0])
    if what == PROMISE:
        return broken_promise(detail)
    return out_of_bounds(number, shape, axis, detail, window)
