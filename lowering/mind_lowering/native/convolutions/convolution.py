"""
Convolution as products that read windows where they lie: no patches in memory, no copy with a border.

    out[n, p..., o] = sum over t..., c of lhs[n, p * stride + t * dilation - low..., c] * rhs[t..., c, o]

A tile is some neighbouring places along one axis by some vectors of columns, summed in registers over all places of the window
and all channels. Places of the window outside of the image are skipped; `padding.py` adds what they give where a weight there is
infinite or NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from functools import partial
from math import prod

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import Kind, PtirDType

from ...launch.views import Ints
from ..demanded import shape_of
from ..memory import Access, buffers_of
from ..products.chain import BeginFinish, Epilogue
from ..slides import Slide
from ..steps import NativeStep
from ..target_info import TargetInfo
from ..views import View, form
from .by_channel import APART, most_rows, tile_by_channel

MOST_VECTORS = 6
MOST_TAPS = 16
"""Tiles run along an axis where so many places of the window at most are beyond the image somewhere."""
ENOUGH = 12
"""Units of work, so that some threads have about equally much to do."""
UNIT = 4 << 20
"""Multiplications in a unit of work, at most, about: some 50 microseconds."""
SHORT_UNIT = UNIT >> 4
"""Multiplications in a unit of work of a short convolution, about."""
UNIT_BYTES = 1 << 18
"""Bytes that a unit of work moves, about, where each channel is by itself: as many as the second cache holds."""
LONG = 64
"""Places of a long window, at least."""
LONGER = 4
"""So many times as many as it has results, at least."""


def is_long(op: ptir.ConvolutionOp) -> bool:
    """Return whether a window has many more places than results; it is then cut into blocks."""
    taps = prod(shape_of(op.rhs)[:-2])
    return taps >= max(LONG, LONGER * prod(shape_of(op.result)[1:-1]))


@dataclass(frozen=True)
class ConvolutionCut:
    """Tiling of a convolution: `rows` places along axis `along` of the result by `vectors` of `width` columns."""

    width: int
    along: int
    rows: int
    vectors: int

    @property
    def columns(self) -> int:
        """Of a panel."""
        return self.vectors * self.width


@dataclass
class Convolution:
    """
    Operands and result of a kernel: `lhs` is `[N, image..., C]`, `rhs` `[window..., C / groups, O]`, `out` `[N, places..., O]`.

    If it is `by_channel`, each column has a channel of its own, and `groups` says 1.
    """

    name: str
    lhs: View
    rhs: View
    out: View
    total: PtirDType
    slides: Sequence[Slide]
    groups: int
    by_channel: bool
    cut: ConvolutionCut
    epilogue: Epilogue
    parts: int = 1
    """Parts of the blocks, which are units of work: their sums follow each other along the last axis of `out`."""
    packed: View | None = None
    """The weights, panel by panel: `[groups, panels, window..., C / groups, columns of a panel]`."""
    start: View | None = None
    """Initial values of the sums of each column, in `total`; None for 0."""

    @property
    def columns(self) -> int:
        """Of a group."""
        return self.out.shape[-1] // self.groups // self.parts

    @property
    def blocks(self) -> int:
        """Return the number of blocks that the window is cut into, of all parts."""
        return prod(s.blocks for s in self.slides)

    @property
    def panels(self) -> int:
        """Of the columns of a group."""
        return -(-self.columns // self.cut.columns)

    @property
    def depth(self) -> int:
        """Return the number of products that are summed."""
        return prod(self.rhs.shape[:-1])

    @property
    def outer(self) -> Ints:
        """The axes of the result that tiles do not run along, the columns left out."""
        return tuple(i for i in range(len(self.out.shape) - 1) if i != self.cut.along)

    @property
    def bounded(self) -> Ints:
        """Return the outer axes along which windows reach beyond the image."""
        return tuple(i for i in self.outer if i and not self.slides[i - 1].is_inside)

    @property
    def extents(self) -> Ints:
        """The extents of the outer axes."""
        return tuple(self.out.shape[i] for i in self.outer)

    @property
    def weights(self) -> View:
        """Return the view that kernels read the weights from."""
        return self.rhs if self.packed is None else self.packed

    @property
    def weight_strides(self) -> Ints:
        """Return the strides of the weights per place of the window along each axis, and per channel."""
        return self.rhs.strides[:-1] if self.packed is None else self.packed.strides[2:-1]

    @property
    def weights_of_group(self) -> int:
        """Return the bytes of the weights of a group."""
        return self.depth * self.columns * self.weights.dtype.size

    @property
    def worth(self) -> int:
        """Return the number of units that the work is worth; of a channel by itself, reading and writing is much of it."""
        moved = self.lhs.count * self.lhs.dtype.size + (self.rhs.count + self.out.count) * self.total.size
        multiplied = prod(self.out.shape) // self.parts * self.depth // UNIT
        return max(multiplied, moved // UNIT_BYTES) if self.by_channel else multiplied

    @property
    def work(self) -> tuple[int, int]:
        """Of a unit: so many panels, so many places along the outer axes."""
        count, panels = prod(self.extents), self.panels
        if self.blocks > 1:  # a block of the operands is in cache while places pass by
            return 1, count if self.parts * self.groups * panels >= ENOUGH else 1
        each = self.out.shape[self.cut.along] * self.depth * min(self.columns, self.cut.columns)
        near = self.by_channel or self.weights_of_group <= 1 << 20
        unit = UNIT if self.by_channel else max(SHORT_UNIT, min(UNIT, prod(self.out.shape) * self.depth // (2 * ENOUGH)))
        together = panels if near and each * panels <= 2 * unit else max(1, min(panels, unit // each)) if near else 1
        some = max(1, min(count, unit // (each * together)))
        if self.by_channel:
            some = max(1, min(some, count // max(1, self.worth)))
        return together, -(-count // -(-count // some))

    @property
    def grid(self) -> Ints:
        """Return the number of units of work by part, group, panels and places."""
        panels, places = self.work
        return self.parts, self.groups, -(-self.panels // panels), -(-prod(self.extents) // places)

    def key(self) -> Hashable:
        """Return all that the text of its kernel depends on."""
        return self.sums_key(), self.epilogue.key

    def sums_key(self) -> Hashable:
        """Return all that the text of its sums depends on."""
        views = form(self.lhs), form(self.rhs), form(self.out), None if self.packed is None else form(self.packed)
        start = None if self.start is None else len(self.epilogue.views)  # its address is the argument behind these
        return views, self.total, tuple(self.slides), self.groups, self.by_channel, self.cut, self.parts, start

    def describe(self) -> str:
        """In words, for the text of the module."""
        cut, window = self.cut, "x".join(str(s.taps) for s in self.slides) or "no"
        groups = f", {self.groups} groups" if self.groups > 1 else ", each channel by itself" if self.by_channel else ""
        packed = ", weights packed" if self.packed is not None else ""
        then = f", then {self.epilogue.words}" if self.epilogue.words else ""
        size = f"{list(self.lhs.shape)} by a {window} window to {list(self.out.shape)}"
        blocks = f", {self.blocks} blocks of the window in {self.parts} parts" if self.blocks > 1 else ""
        first = "" if self.start is None else ", from the sums of skipped taps"
        return f"convolution {size} in {self.total}{groups}{first}{then}: tiles {cut.rows} by {cut.columns}{packed}{blocks}"


def choose(
    host: TargetInfo,
    shape: Ints,
    columns: int,
    total: PtirDType,
    slides: Sequence[Slide],
    *,
    by_channel: bool = False,
    near: int = -1,
) -> ConvolutionCut:
    """
    The axis, the rows and the vectors of tiles that keep the multipliers busiest; `shape` is that of the result.

    Tiles run along the axis `near`, along which the elements of the image are near each other, unless others are better.

    >>> from mind_dialect.ptir.types import F32
    >>> from mind_lowering.native.target_info import TARGETS
    >>> for n, columns in ((56, 64), (7, 512), (112, 64)):
    ...     cut = choose(TARGETS["avx512"], (1, n, n, columns), columns, F32, [Slide(n, n, 3, 1, 1, 1)] * 2)
    ...     print(cut.along, cut.rows, cut.vectors)
    2 14 2
    2 7 3
    2 6 4
    """
    width = host.lanes(total.size)
    spare = 1 if host.fma and total.kind is Kind.FLOAT else 4
    needed, apart = -(-columns // width), APART if by_channel else 1.1
    best: tuple[float, ConvolutionCut] | None = None
    for vectors in range(1, min(needed, MOST_VECTORS) + 1):
        for along, n in enumerate(shape[:-1]):
            slide = slides[along - 1] if along else None
            if slide is not None and min(slide.window, slide.edges) > MOST_TAPS:
                continue
            room = host.registers - 1 - spare
            most = most_rows(room, vectors, slide) if by_channel else (room - vectors) // vectors
            if most <= 0:
                continue
            rows = -(-n // -(-n // most))
            tile = partial(tile_by_channel, slides, slide, width * total.size) if by_channel else _tile
            cost = _cost(tile, n, rows, needed, vectors) * (1.0 if along == near % (len(shape) - 1) else apart)
            if best is None or cost <= best[0]:
                best = cost, ConvolutionCut(width, along, rows, vectors)
    assert best is not None, "there are registers"
    return best[1]


def _tile(height: int, wide: int) -> float:
    """Return the cycles of a step of a tile, as far as they differ: multiplications, loads, weights from the second cache."""
    return max(height * wide / 2, (height + wide) / 2, wide * 1.5, 4.0) + (height + 2 * wide) / 64


def _cost(tile: Callable[[int, int], float], n: int, rows: int, needed: int, vectors: int) -> float:
    """Return the cycles of a step of all tiles along an axis of `n` places, by place."""
    panels, rest = needed // vectors, needed % vectors
    total = 0.0
    for height, count in ((rows, n // rows), (n % rows, 1)):
        if height:
            total += count * (panels * tile(height, vectors) + (tile(height, rest) if rest else 0))
    return total / n


@dataclass
class EmittedConvolution(Convolution):
    """A convolution while its kernel is emitted: the emitter of its epilogue."""

    finish: BeginFinish = field(kw_only=True)


@dataclass
class ConvolutionStep(NativeStep):
    """The kernel of a convolution."""

    convolution: Convolution

    def __post_init__(self) -> None:
        self.name = self.convolution.name

    @property
    def addresses(self) -> Sequence[View]:
        it = self.convolution
        return [it.lhs, it.weights, *it.epilogue.views, *([] if it.start is None else [it.start])]

    def access(self) -> Access:
        it = self.convolution
        views = it.lhs, it.weights, *it.epilogue.reads, *([] if it.start is None else [it.start])
        reads = buffers_of(views)
        return Access(reads, buffers_of(it.epilogue.writes), list(it.epilogue.over))

    def cost(self, host: TargetInfo) -> float:
        """Some three multiplications of vectors a nanosecond."""
        it = self.convolution
        return prod(it.out.shape) // it.parts * it.depth / it.cut.width / 3

    @property
    def flops(self) -> int:
        return 2 * prod(self.convolution.out.shape) // self.convolution.parts * self.convolution.depth

    def key(self) -> Hashable:
        return self.convolution.key()

    def contents(self) -> str:
        return self.convolution.describe()
