"""Ops of PTIR that move no element, only the address and the layout of an array."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import read_type

from .ref import Ref, row_major

Layout = tuple[tuple[int, ...], tuple[int, ...], int]
"""Extents, strides and offset of a view, all in elements."""
Rule = Callable[[Ref, Mapping[str, Any], tuple[int, ...]], Layout | None]


def _transpose(x: Ref, values: Mapping[str, Any], shape: tuple[int, ...]) -> Layout:
    perm: tuple[int, ...] = values["perm"]
    return shape, tuple([x.strides[a] for a in perm]), 0


def _broadcast_to(x: Ref, values: Mapping[str, Any], shape: tuple[int, ...]) -> Layout:
    kept = [0 if n == 1 and m != 1 else s for n, m, s in zip(x.shape, shape[len(shape) - len(x.shape) :], x.strides, strict=True)]
    return shape, (*([0] * (len(shape) - len(x.shape))), *kept), 0


def _reshape(x: Ref, values: Mapping[str, Any], shape: tuple[int, ...]) -> Layout | None:
    return (shape, row_major(shape), 0) if x.is_row_major else None


def _slice(x: Ref, values: Mapping[str, Any], shape: tuple[int, ...]) -> Layout:
    return shape, x.strides, sum(a * s for a, s in zip(values["starts"], x.strides, strict=True))


def _strided_slice(x: Ref, values: Mapping[str, Any], shape: tuple[int, ...]) -> Layout:
    strides = tuple([a * s for a, s in zip(values["strides"], x.strides, strict=True)])
    return shape, strides, sum(a * s for a, s in zip(values["starts"], x.strides, strict=True))


def _reverse(x: Ref, values: Mapping[str, Any], shape: tuple[int, ...]) -> Layout:
    given: tuple[int, ...] = values["axes"]
    axes = {a % len(shape) for a in given}
    strides = tuple([-s if a in axes else s for a, s in enumerate(x.strides)])
    return shape, strides, sum((shape[a] - 1) * x.strides[a] for a in axes)


VIEWS: Mapping[type[PtirOp], Rule] = {
    ptir.BroadcastToOp: _broadcast_to,
    ptir.ReshapeOp: _reshape,
    ptir.ReverseOp: _reverse,
    ptir.SliceOp: _slice,
    ptir.StridedSliceOp: _strided_slice,
    ptir.TransposeOp: _transpose,
}
"""Ops that are views of their operand, where its layout allows."""


def view_of(op: PtirOp, x: Ref) -> tuple[Ref, int] | None:
    """Return the layout of an op's result in its operand's memory, and its offset; None where it needs memory of its own."""
    rule = VIEWS.get(type(op))
    shape = tuple([n for n in read_type(op.results[0].type).shape if isinstance(n, int)])
    found = None if rule is None else rule(x, op.values(), shape)
    if found is None:
        return None
    extents, strides, offset = found
    layout = Ref(x.dtype, extents, strides)
    return layout, offset if layout.count else 0
