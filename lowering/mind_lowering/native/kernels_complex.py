"""
Rows of the table: complex numbers and their parts.

A part is a view; a kernel that computes both parts of a number writes them together. Everything else about complex numbers is
computed with their parts by then: see `expand_complex`.
"""

from __future__ import annotations

from mind_dialect import ptir

from .complex_parts import complex_parts
from .patterns import Builder, KernelPattern, in_memory, row


def _part(build: Builder, op: ptir.RealOp | ptir.ImagOp) -> None:
    view = in_memory(build, op.x)
    if view.strides and view.strides[-1] not in (0, 1) and view.shape[-1] > 1:  # transposed: whole numbers move faster
        build.views[op.x] = view = build.copied(op.x, view)
    build.views[op.result] = complex_parts(view)[isinstance(op, ptir.ImagOp)]


def _join(build: Builder, op: ptir.ComplexOp) -> None:
    build.group([op], [op.result])


COMPLEX: tuple[KernelPattern, ...] = (
    *(row("parts", op, _part) for op in (ptir.RealOp, ptir.ImagOp)),
    row("joined parts", ptir.ComplexOp, _join),
)
