"""Products of matrices appended to a plan: operands that no iteration of a loop changes are packed before it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod

from mind_dialect.ptir.types import PtirDType

from ..patterns import Builder, Hoisted
from ..views import Buffer, Use, View
from .chain import Epilogue, Prologue
from .kernels import ProductStep, steps_of
from .product import Product, copied_size, copied_strides, distinct_axes, planned


def add_matrices(
    build: Builder,
    name: str,
    views: tuple[View, View, View],
    total: PtirDType,
    epilogue: Epilogue | None,
    prologue: Prologue | None = None,
    *,
    turned: bool = False,
) -> None:
    """Append the steps of a product of matrices, as `planned` takes it."""

    def scratch(dtype: PtirDType, count: int, name: str) -> Buffer:
        return build.buffer(Use.ARENA, dtype, count, name)

    reads = () if prologue is None else prologue.reads
    lhs = _lasting(build, views[0], reads if turned else (), total)
    rhs = _lasting(build, views[1], () if turned else reads, total)
    still = lhs is not None, rhs is not None
    product = planned(build.host, name, *views, total, scratch, epilogue, prologue, turned=turned, still=still)
    loops = {"rows": rhs, "panels": lhs} if product.swapped else {"rows": lhs, "panels": rhs}
    for step in steps_of(product):
        if (loop := loops.get(step.part)) is None:
            build.add(step)
        else:
            _pack(build, loop, step)


def _lasting(build: Builder, view: View, reads: Sequence[View], total: PtirDType) -> Hoisted | None:
    """
    The loop before which an operand is packed, if there is one.

    Weights in a narrow dtype stay in it unless all of them are in cache: else it is memory that takes the time.
    """
    size = prod(distinct_axes(view)) * prod(view.shape[-2:]) * total.size
    narrow = view.dtype.size < total.size and size > build.host.l2_bytes
    return None if narrow else build.lasting([view, *reads], size)


def _pack(build: Builder, loop: Hoisted, step: ProductStep) -> None:
    """Append the copy of an operand to what is done before a loop, once for all products that read it in the same order."""
    product = step.product
    known = loop.packed.setdefault(_layout(step), step.addresses[1])
    if known is step.addresses[1]:
        with build.appending(loop):
            build.add(step)
    elif step.part == "rows":
        product.lhs_copy = known
    else:
        product.rhs_copy = known


def _layout(step: ProductStep) -> Hashable:
    """Return all that the contents of a copy of an operand, and their order, depend on."""
    product: Product = step.product
    if step.part == "rows":
        return product.lhs, product.total, copied_strides(product), copied_size(product)
    prologue = None if product.prologue is None else (product.prologue.key, tuple(product.prologue.reads))
    return product.rhs, product.total, product.cut.columns, prologue
