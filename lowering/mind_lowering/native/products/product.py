"""
Matrix products: what is multiplied, and how it is cut into tiles that fit registers and caches.

    out[b, i, j] = sum over k of lhs[b, i, k] * rhs[b, k, j]

Operands lie anywhere, with any strides; products of transposes are products of other strides. Each sum runs over k in order (in
lanes of partial sums where k is contiguous in both operands), in blocks whose size depends on shapes and host alone: results do
not depend on how units of work are shared out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import field, replace
from math import prod
from typing import NamedTuple

from xdsl.ir import SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import F32, F64, SI32, SI64, UI32, UI64, PtirDType

from ...launch.ref import row_major
from ...launch.views import Ints
from ..target_info import TargetInfo
from ..views import Buffer, View, form
from .chain import BeginDecode, BeginFinish, Epilogue, Prologue, stored_in
from .cut import ProductCut, band_of, better_swapped, choose, flipped
from .words import TILE_ROWS, by_words

STACK = 256 << 10
"""Bytes of a copy on the stack, at most."""
TOTALS = (F32, F64, SI32, SI64, UI32, UI64)
"""Dtypes that products are accumulated in here."""


Scratch = Callable[[PtirDType, int, str], Buffer]
"""Makes memory in the arena: dtype, count, name."""


class SizeLimit(NamedTuple):
    """A size that limits rows or columns, of which one of its indices has `scale`."""

    size: SSAValue
    scale: int


Limits = tuple[SizeLimit | None, SizeLimit | None]
"""Of rows and of columns, None where all are demanded."""


@dataclass
class Product:
    """A product that a kernel computes: views `[*batch, rows, depth]`, `[*batch, depth, columns]`, `[*batch, rows, columns]`."""

    name: str
    lhs: View
    rhs: View
    out: View
    total: PtirDType
    cut: ProductCut
    epilogue: Epilogue
    prologue: Prologue | None = None
    """Of the right operand, where its elements are more than converted."""
    swapped: bool = False
    """True if operands changed places, so that the last two axes of `out` did."""
    lhs_copy: View | None = None
    rhs_copy: View | None = None
    partial: View | None = None
    """Sums of all blocks but the last."""
    limits: Limits = (None, None)
    """Of rows and of columns."""

    @property
    def distinct(self) -> list[int]:
        """The extents of the batch axes of the right operand, 1 where all of its matrices are the same."""
        return distinct_axes(self.rhs)

    @property
    def batch(self) -> Ints:
        """The extents of the leading axes."""
        return self.out.shape[:-2]

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return self.lhs.shape[-2]

    @property
    def depth(self) -> int:
        """The number of steps along the contracted axis: its extent, or that in words."""
        return self.left.shape[-1]

    @property
    def left(self) -> View:
        """Return the left operand by steps of the contracted axis."""
        return by_words(self.lhs, self.cut.words, -1)

    @property
    def right(self) -> View:
        """Return the right operand by steps of the contracted axis."""
        return by_words(self.rhs, self.cut.words, -2)

    @property
    def packed(self) -> PtirDType:
        """The dtype of packed operands: that of sums, or of words of it."""
        return SI32 if self.cut.words is not None and self.total is F32 else self.total

    @property
    def heads(self) -> int:
        """The number of steps before the others in a packed panel: one if its columns have offsets (`words.py`)."""
        return int(self.cut.words is not None and self.cut.words.offset)

    @property
    def columns(self) -> int:
        """Return the number of columns."""
        return self.rhs.shape[-1]

    @property
    def blocks(self) -> int:
        """Of the contracted axis."""
        return -(-self.depth // self.cut.depth)

    @property
    def band(self) -> int:
        """Rows of the right operand in a band."""
        return band_of(self.depth, self.cut.bands)

    @property
    def panels(self) -> int:
        """Of columns."""
        return -(-self.columns // self.cut.columns)

    @property
    def groups(self) -> int:
        """Of panels."""
        return -(-self.panels // self.cut.group)

    @property
    def row_blocks(self) -> int:
        """Blocks of rows that are units of work, or 1."""
        return -(-self.rows // (self.cut.rows * self.cut.tiles)) if self.cut.by_rows else 1

    def key(self) -> Hashable:
        """Return all that the text of its kernels depends on."""
        kept = None if self.partial is None else (form(self.partial), self.partial == self.out)
        decoded = None if self.prologue is None else self.prologue.key
        own = self.epilogue.key, self.swapped, kept, decoded, self.cut.kept, self.limits[0] is None
        return form(self.lhs), form(self.rhs), form(self.out), self.total, own

    def describe(self) -> str:
        """In words, for the text of the module."""
        cut, of = self.cut, f"{list(self.batch)} " if self.batch else ""
        how = (
            f"dot products of {cut.dots} rows"
            if cut.dots
            else f"{cut.stream} {'row' if cut.stream == 1 else 'rows'} at a time, {cut.bands} bands"
            if cut.stream
            else f"tiles {cut.rows} by {cut.columns}, depth {cut.depth}"
        )
        copies = [name for name, yes in (("lhs", cut.copy_lhs), ("rhs", cut.copy_rhs)) if yes]
        copied = f", {' and '.join(copies)} packed" if copies else ""
        then = f", then {self.epilogue.words}" if self.epilogue.words else ""
        read = f" read in {self.rhs.dtype}" if self.rhs.dtype is not self.total else ""
        read += f" with {self.prologue.words}" if self.prologue is not None else ""
        read += f" by {cut.words.instruction}" if cut.words is not None else ""
        depth = self.lhs.shape[-1]
        return f"{of}{self.rows}x{depth} by {depth}x{self.columns}{read} in {self.total}{then}: {how}{copied}"


@dataclass
class EmittedProduct(Product):
    """A product while its kernels are emitted: emitters of its epilogue and of its prologue, if it has one."""

    finish: BeginFinish = field(kw_only=True)
    decode: BeginDecode | None = field(kw_only=True)


def planned(
    host: TargetInfo,
    name: str,
    lhs: View,
    rhs: View,
    out: View,
    total: PtirDType,
    scratch: Scratch,
    epilogue: Epilogue | None = None,
    prologue: Prologue | None = None,
    *,
    turned: bool = False,
    still: tuple[bool, bool] = (False, False),
    limits: Limits = (None, None),
) -> Product:
    """
    A product, cut for a machine, with the memory that it needs in addition to its operands.

    No extent is 0; `total`, one of `TOTALS`, is what is accumulated in. `epilogue` replaces the conversion to the dtype of `out`
    and the store; `out` then says no more than the shape. `prologue` is that of the right operand, or if `turned` that of the
    left one, whose axes change places then: it becomes the right one. `still` says which operands serve many products as they
    are, so that it is worth packing them as a whole. `limits` are those of rows and columns of `out`.
    """
    epilogue = epilogue or stored_in(out, total)
    swapped = better_swapped(host, lhs, rhs, total) if prologue is None else turned
    if swapped:
        lhs, rhs, out = flipped(rhs), flipped(lhs), flipped(out)
        still, limits = (still[1], still[0]), (limits[1], limits[0])
    cut = choose(host, lhs, rhs, total, decoded=prologue is not None, kept=still[1], limited=limits[0] is not None)
    product = Product(name, lhs, rhs, out, total, cut, epilogue, prologue, swapped, limits=limits)
    _allocate(product, scratch)
    return product


def _allocate(product: Product, scratch: Scratch) -> None:
    """Reserve the memory of packed operands, where it is not on the stack, and of partial sums."""
    cut, total, batches = product.cut, product.total, prod(product.batch)

    def reserve(what: str, count: int, dtype: PtirDType = product.packed) -> View:
        return View(scratch(dtype, count, f"{product.name}.{what}"), dtype, (count,), (1,))

    if cut.whole_rhs:
        product.rhs_copy = reserve("rhs", _matrix_count(product.rhs) * product.panels * whole_panel_size(product))
    elif cut.copy_rhs and not on_stack(product, panel_size(product)):
        product.rhs_copy = reserve("rhs", batches * product.groups * panel_size(product))
    if cut.whole_lhs:
        product.lhs_copy = reserve("lhs", _matrix_count(product.lhs) * copied_size(product))
    elif cut.copy_lhs and not on_stack(product, copied_size(product)):
        product.lhs_copy = reserve("lhs", batches * product.row_blocks * copied_size(product))
    if cut.bands > 1:
        shape = (*product.batch, cut.bands, product.rows, product.columns)
        product.partial = replace(reserve("partial", prod(shape), total), shape=shape, strides=row_major(shape))
    elif product.blocks > 1 or cut.stream:
        product.partial = _partial_sums_view(product.epilogue, total, product.swapped)
        if product.partial is None:
            area = product.rows * product.columns
            strides = (*[area * n for n in _flat_strides(product.batch)], product.columns, 1)
            product.partial = replace(reserve("partial", batches * area, total), shape=product.out.shape, strides=strides)


def _partial_sums_view(epilogue: Epilogue, total: PtirDType, swapped: bool) -> View | None:
    """Return the view that holds sums of some blocks until they are finished: what is written, if rows of it lie in order."""
    taken = {new for new, _ in epilogue.over}
    for view in epilogue.writes:
        view = flipped(view) if swapped else view
        if view.dtype is total and view.strides[-1] == 1 and view.base not in taken:
            return view
    return None


def _matrix_count(view: View) -> int:
    """Return the number of different matrices of a view."""
    return prod(distinct_axes(view))


def distinct_axes(view: View) -> list[int]:
    """The extents of the batch axes, 1 where all matrices are the same."""
    return [n if s else 1 for n, s in zip(view.shape[:-2], view.strides[:-2], strict=True)]


def copied_batches(view: View) -> list[int]:
    """For each batch axis, how many copies further the next matrix is; equal matrices are copied once."""
    return [n if s else 0 for n, s in zip(_flat_strides(distinct_axes(view)), view.strides, strict=False)]


def _flat_strides(extents: Sequence[int]) -> list[int]:
    """Row-major strides of the batch axes."""
    found, step = list[int](), 1
    for n in reversed(extents):
        found.append(step)
        step *= n
    return found[::-1]


# Operands, copied


def on_stack(product: Product, count: int) -> bool:
    """Return whether the elements that a unit of work copies for itself are on its thread's stack: there they stay in cache."""
    return count * product.total.size <= STACK


def panel_size(product: Product) -> int:
    """Return the number of elements of the panels that a unit of work copies for itself."""
    return product.cut.group * product.cut.columns * (product.heads + product.cut.depth)


def whole_panel_size(product: Product) -> int:
    """Return the number of elements of a panel of the right operand packed as a whole."""
    return product.cut.columns * (product.heads + product.depth)


def copied_strides(product: Product) -> tuple[int, int]:
    """Return the strides of a copied left operand per row and per step of the contracted axis; its lines do not share places."""
    cut = product.cut
    rows = min(product.rows, cut.rows * cut.tiles) if cut.by_rows else product.rows
    depth = min(product.depth, cut.depth) if cut.by_rows else product.depth
    by_column = product.lhs.strides[-2] == 1 and product.lhs.strides[-1] != 1
    if by_column and not (cut.words is not None and cut.words.in_tiles):
        return 1, -(-rows // cut.width) * cut.width + cut.width
    return -(-depth // cut.width) * cut.width + cut.width, 1


def copied_size(product: Product) -> int:
    """Return the number of elements of one copy of the left operand."""
    cut = product.cut
    row, step = copied_strides(product)
    rows = min(product.rows, cut.rows * cut.tiles) if cut.by_rows else product.rows
    depth = min(product.depth, cut.depth) if cut.by_rows else product.depth
    if cut.words is not None and cut.words.in_tiles:
        rows = -(-rows // TILE_ROWS) * TILE_ROWS
    return rows * row if step == 1 else depth * step


def arguments(product: Product) -> dict[str, View]:
    """Return the arguments of the part that multiplies, apart from what its epilogue needs."""
    cut, found = product.cut, dict[str, View]()
    if not cut.whole_lhs:
        found["lhs"] = product.lhs
    if not cut.whole_rhs:
        found["rhs"] = product.rhs
    if "rhs" in found and product.prologue is not None:
        found.update((f"w{i}", view) for i, view in enumerate(product.prologue.reads))
    for name, view in (("lhs_copy", product.lhs_copy), ("rhs_copy", product.rhs_copy), ("partial", product.partial)):
        if view is not None:
            found[name] = view
    return found
