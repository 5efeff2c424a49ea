"""Products of matrices appended to a plan: operands that no iteration of a loop changes are packed before it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod

from mind_dialect.ptir.types import PtirDType

from ..patterns import Builder
from ..views import Buffer, Use, View
from .chain import Epilogue, Prologue
from .kernels import ProductStep, steps_of
from .product import Limits, Product, copied_size, copied_strides, distinct_axes, planned
from .words import Words, words_of


def add_matrices(
    build: Builder,
    name: str,
    views: tuple[View, View, View],
    total: PtirDType,
    epilogue: Epilogue | None,
    prologue: Prologue | None = None,
    *,
    turned: bool = False,
    limits: Limits = (None, None),
) -> None:
    """Append the steps of a product of matrices, as `planned` takes it."""

    def scratch(dtype: PtirDType, count: int, name: str) -> Buffer:
        return build.buffer(Use.ARENA, dtype, count, name)

    reads = () if prologue is None else prologue.reads
    lhs, rhs = [views[0], *(reads if turned else ())], [views[1], *(() if turned else reads)]
    words = words_of(build.host, lhs[0], rhs[0], total) if prologue is None else None
    still = _is_hoisted(build, lhs, total, words), _is_hoisted(build, rhs, total, words)
    product = planned(build.host, name, *views, total, scratch, epilogue, prologue, turned=turned, still=still, limits=limits)
    for step in steps_of(product):
        which = {"rows": product.swapped, "panels": not product.swapped}.get(step.part)
        if which is None or not still[which]:
            build.add(step)
            continue
        packed = (lhs, rhs)[which]
        with build.packing(packed, _size(packed[0], total, words), _layout(step)):
            build.add(step)


def _is_hoisted(build: Builder, views: Sequence[View], total: PtirDType, words: Words | None) -> bool:
    """
    Return whether an operand, the first of the views that its copy is of, is packed before a loop, or once for all calls.

    Weights in a narrow dtype stay in it unless all of them are in cache: else it is memory that takes the time.
    """
    size = _size(views[0], total, words)
    narrow = words is None and views[0].dtype.size < total.size and size > build.host.l2_bytes
    return not narrow and build.hoists(views, size)


def _size(view: View, total: PtirDType, words: Words | None) -> int:
    """About how many bytes a copy of an operand takes."""
    return prod(distinct_axes(view)) * prod(view.shape[-2:]) * total.size // (1 if words is None else words.factors)


def _layout(step: ProductStep) -> Hashable:
    """Return all that the contents of a copy of an operand, and their order, depend on."""
    product: Product = step.product
    if step.part == "rows":
        return product.lhs, product.total, copied_strides(product), copied_size(product), product.cut.words
    prologue = None if product.prologue is None else (product.prologue.key, tuple(product.prologue.reads))
    return product.rhs, product.total, product.cut.columns, prologue, product.cut.words
