"""
The adjoint of a windowed maximum, gathered: each element of x adds up what the windows that hold it give.

Along an axis, element `i` of x is at place `j` of window `p` where `i + low = p * stride + j * dilation`. With `i + low = a *
stride + b`, these are the windows `a`, `a - 1`, ... at the places `b`, `b + stride`, ... below the window's length; with a stride
of 1, the windows `dilation` apart. So x is laid out in blocks of `stride` elements, and results in windows over places. A target
that reads windows in place stores nothing for each element of each window.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from mind_dialect.ptir import ConstantOp, PtirLiteralAttr
from mind_dialect.ptir.types import I1
from mind_dialect.ptir_shapes import Dim

from ...ptir.construct import (
    Value,
    broadcast,
    cast,
    compare,
    full,
    make,
    mul,
    reduce_sum,
    reshape,
    spec,
    where,
)
from ...ptir.parts import AxisSlice
from .folding import Folding, folding
from .windows import Sliding, cut, padded, sized, still, unfold

NAN = float("nan")


Ways = Sequence[Folding | None]
"""The overlap of windows along each axis of x; None where each element is a window of its own."""


def gathered(x: Value, y: Value, share: Value, axes: Sequence[Sliding], whole: Value | None = None) -> Value | None:
    """
    Add up, for each element of x, the shares of the windows whose result `y` it equals; in the dtype of `share`.

    `whole` is x with the border of its blocks, if that is known.

    None where windows tile x, extents are dynamic, x has holes, or strides and dilation do not fit together: `fold` does these.
    """
    if (ways := _ways(axes)) is None:
        return None
    shape = tuple(n for f, a in zip(ways, axes, strict=True) for n in ((a.x,) if f is None else (*_blocks(f), f.count)))
    here = compare("equal", broadcast(_in_blocks(x, ways, whole), shape), broadcast(_in_windows(y, ways, NAN), shape))
    given = mul(cast(here, spec(share).dtype), broadcast(_in_windows(share, ways, 0.0), shape))
    inner = _laid_out(ways)
    sums = reduce_sum(_inside(given, ways, shape), [i + 2 for i in inner])
    whole = reshape(sums, [a.x if f is None else f.phases * _blocks(f)[0] for f, a in zip(ways, axes, strict=True)])
    return cut(whole, {i: AxisSlice(f.axis.low % f.phases, f.axis.n) for i, f in enumerate(ways) if f is not None})


def is_gathered(axes: Sequence[Sliding]) -> bool:
    """Return whether `gathered` has a result."""
    return _ways(axes) is not None


def shares_border(axes: Sequence[Sliding]) -> bool:
    """Return whether `gathered` lays x out with the border that windows have, so that one copy with it does for both."""
    ways = _ways(axes)
    return ways is not None and _borders(ways) == ([a.low for a in axes], [a.high for a in axes])


def _ways(axes: Sequence[Sliding]) -> Ways | None:
    """Return how windows overlap along each axis; None where they are not gathered."""
    if any(a.dynamic or a.base > 1 or 0 in (a.x, a.y) for a in axes) or all(a.tiled for a in axes):
        return None
    ways = [None if a.still else folding(a) for a in axes]
    return None if any(f is not None and (f.interior or sized(_used(f).size) <= 0) for f in ways) else ways


def _borders(ways: Ways) -> tuple[list[int], list[int]]:
    """Return how many elements blocks of x have before and after it along each axis."""
    low = [0 if f is None else f.axis.low % f.phases for f in ways]
    return low, [0 if f is None else f.wanted[1] * f.phases - f.axis.low - f.axis.n for f in ways]


def _laid_out(ways: Ways) -> list[int]:
    """Return, for each axis along which windows overlap, the first of the three that it is laid out in."""
    found, at = list[int](), 0
    for f in ways:
        found += [] if f is None else [at]
        at += 1 if f is None else 3
    return found


def _blocks(f: Folding) -> tuple[int, int]:
    """Return the number of blocks, and of elements of each."""
    return f.wanted[1] - f.wanted[0], f.phases


def _around(f: Folding) -> tuple[int, int]:
    """Return how many places there are to be before and after those of an axis; less than none where some are unused."""
    return (f.count - 1) * f.dilation - f.wanted[0], f.wanted[1] - f.axis.o


def _used(f: Folding) -> AxisSlice:
    """Return the places whose windows hold elements of x."""
    before, after = (max(0, -n) for n in _around(f))
    return AxisSlice(before, f.axis.o - before - after)


def _in_blocks(x: Value, ways: Ways, whole: Value | None) -> Value:
    """Lay x out in blocks; what is around it is cut off at the end."""
    whole = padded(x, *_borders(ways), [0] * len(ways), NAN) if whole is None else whole
    shape: list[Dim] = []
    for f, n in zip(ways, spec(x).shape, strict=True):
        shape += [n] if f is None else [*_blocks(f), 1]
    return reshape(whole, shape)


def _in_windows(v: Value, ways: Ways, padding: float) -> Value:
    """Lay results out in windows over their places: for each block of x those that hold elements of it."""
    around = [(0, 0) if f is None else _around(f) for f in ways]
    used = cut(v, {i: _used(f) for i, f in enumerate(ways) if f is not None})
    low, high = ([max(0, pair[side]) for pair in around] for side in (0, 1))
    whole = padded(used, low, high, [0] * len(ways), padding)
    axes, shape = list[Sliding](), list[Dim]()
    for f, n in zip(ways, spec(whole).shape, strict=True):
        if f is None:
            axes, shape = [*axes, still(n)], [*shape, n]
            continue
        blocks = _blocks(f)[0]
        axes.append(Sliding(n, blocks, f.count, 1, 0, 0, 1, f.dilation))
        shape += [blocks, 1, f.count]
    return reshape(unfold(whole, axes, padding), shape)


def _inside(given: Value, ways: Ways, shape: Sequence[Dim]) -> Value:
    """Keep what windows give to elements that they hold: the furthest may be too short for some elements of a block."""
    moving = [f for f in ways if f is not None]
    short = [(f, at) for f, at in zip(moving, _laid_out(ways), strict=True) if f.phases * f.count != f.axis.window]
    if not short:
        return given
    around = {at + k for _, at in short for k in (1, 2)}
    common = tuple(sized(n) if k in around else 1 for k, n in enumerate(shape))
    inside = [all(_holds(f, *index[at + 1 : at + 3]) for f, at in short) for index in product(*map(range, common))]
    literal = PtirLiteralAttr.from_values(I1, common, inside)
    mask = make(ConstantOp, type=literal.type, value=literal)
    return where(broadcast(mask, shape), given, full(0.0, given))


def _holds(f: Folding, element: int, window: int) -> bool:
    """Return whether an element of a block is in a window over it, of which the furthest comes first."""
    return element + (f.count - 1 - window) * f.phases < f.axis.window
