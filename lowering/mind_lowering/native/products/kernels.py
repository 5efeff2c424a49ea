"""
Steps of products, in the order of their run: copies of operands as a whole where the cut wants them, then the product.

Appended to a plan, copies of operands that no iteration of a loop changes are packed before it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import F32, PtirDType

from .. import costs
from ..memory import Access, buffers_of
from ..patterns import Builder
from ..steps import NativeStep
from ..target_info import TargetInfo
from ..views import Buffer, Use, View, form
from .blocked import COLUMNS, BlockedWeights
from .chain import Epilogue, Prologue
from .product import Limits, Product, arguments, copied_size, copied_strides, distinct_axes, planned
from .words import Words, words_of

_COPIES = ("panels", "rows")


_TILED = 4.0
"""Vectors of words that tiles multiply in the time of one, about."""
_FAR = 16.0
"""Bytes that one core brings from memory in a nanosecond: of a large matrix that a few rows are multiplied with, once."""


@dataclass
class ProductStep(NativeStep):
    """
    A part of a product: `panels` and `rows` copy the right and the left operand, `dots`, `stream` or `product` multiply.

    Where a stream is in bands, each has sums of its own, which `sums` adds up and hands to the epilogue.
    """

    name: str
    part: str
    product: Product

    @property
    def addresses(self) -> Sequence[View]:
        product = self.product
        match self.part:
            case "panels":
                scales = () if product.prologue is None else product.prologue.reads
                return [*(v for v in (product.rhs, product.rhs_copy) if v is not None), *scales]
            case "rows":
                return [v for v in (product.lhs, product.lhs_copy) if v is not None]
            case "stream" if product.cut.bands > 1:
                return list(arguments(product).values())
            case "sums":
                assert product.partial is not None, "planned"
                return [product.partial, *product.epilogue.views]
            case _:
                return [*arguments(product).values(), *product.epilogue.views]

    def access(self) -> Access:
        views, product = self.addresses, self.product
        if self.part in _COPIES:
            return Access(buffers_of([views[0], *views[2:]]), buffers_of(views[1:2]))
        if product.cut.bands > 1:
            return self._of_bands(buffers_of(views))
        cut, own = product.cut, [product.partial]
        own += [None if cut.whole_lhs else product.lhs_copy, None if cut.whole_rhs else product.rhs_copy]
        written = buffers_of([*product.epilogue.writes, *[v for v in own if v is not None]])
        return Access([b for b in buffers_of(views) if b not in written], written, list(product.epilogue.over))

    def _of_bands(self, buffers: list[Buffer]) -> Access:
        epilogue = self.product.epilogue
        if self.part == "stream":
            return Access(buffers[:-1], buffers[-1:])
        written = buffers_of(epilogue.writes)
        return Access([b for b in buffers if b not in written], written, list(epilogue.over))

    def key(self) -> Hashable:
        return "product", self.part, self.product.key()

    def cost(self, host: TargetInfo) -> float:
        if self.part in _COPIES or self.part == "sums":
            return 2 * costs.traffic(self.addresses) / costs.BYTES
        return _cost(host, self.product)

    @property
    def flops(self) -> int:
        copies = self.part in _COPIES or self.part == "sums"
        return 0 if copies else 2 * prod(self.product.out.shape) * self.product.lhs.shape[-1]

    def contents(self) -> str:
        return f"{self.part} of {self.product.describe()}" if self.part in (*_COPIES, "sums") else self.product.describe()


@dataclass
class BlockedStep(NativeStep):
    """A product of `lhs`, dense and in the order of decoding, and weights; `out` is `[rows, columns]`."""

    name: str
    lhs: View
    weights: BlockedWeights
    out: View
    epilogue: Epilogue

    @property
    def addresses(self) -> Sequence[View]:
        return [self.lhs, *self.weights.reads, *self.epilogue.views]

    def access(self) -> Access:
        writes = buffers_of(self.epilogue.writes)
        reads = [b for b in buffers_of(self.addresses) if b not in writes]
        return Access(reads, writes, list(self.epilogue.over))

    def cost(self, host: TargetInfo) -> float:
        vectors = self.weights.rows * self.weights.depth / host.lanes(F32.size)
        return max(vectors * (2 + self.lhs.shape[0]) / costs.VECTORS, costs.traffic(self.weights.reads) / costs.BYTES)

    def key(self) -> Hashable:
        return form(self.lhs), self.weights.key(), form(self.out), self.epilogue.key

    def contents(self) -> str:
        w, rows = self.weights, self.lhs.shape[0]
        then = f", then {self.epilogue.words}" if self.epilogue.words else ""
        return (
            f"{rows}x{w.depth} by {w.depth}x{w.rows} of {8 // w.per_byte}-bit codes in blocks of {w.block}, "
            f"decoded in registers{then}: dot products of {COLUMNS} rows"
        )


def steps_of(product: Product) -> list[ProductStep]:
    """The steps of a product."""
    cut, name = product.cut, product.name
    if cut.dots or cut.stream:
        found = [ProductStep(name, "dots" if cut.dots else "stream", product)]
        return [*found, ProductStep(f"{name}.sums", "sums", product)] if cut.bands > 1 else found
    found: list[ProductStep] = []
    if cut.whole_rhs:
        found.append(ProductStep(f"{name}.panels", "panels", product))
    if cut.whole_lhs:
        found.append(ProductStep(f"{name}.rows", "rows", product))
    return [*found, ProductStep(name, "product", product)]


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


def _cost(host: TargetInfo, product: Product) -> float:
    """About how many nanoseconds a matrix product takes on one thread."""
    steps = 1.0 * prod(product.batch) * product.rows * product.columns * product.depth
    read = costs.traffic((product.lhs, product.rhs, product.out))
    if product.cut.words is not None and product.cut.words.in_tiles:
        steps /= _TILED
    return max(steps / host.lanes(product.total.size) / costs.VECTORS, read / (_FAR if product.cut.stream else costs.BYTES))
