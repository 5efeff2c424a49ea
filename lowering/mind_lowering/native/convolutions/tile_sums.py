"""
The sums of a tile of a convolution, in registers.

Along the other axes, the part of the window that is in the image is a pair of bounds. Along the tile's own axis it differs from
row to row where the image ends: there each place of the window is code of its own, for the rows that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import PtirDType

from ..casts import cast
from ..failures import Failure, Sites
from ..ir import Function
from ..kernel_text import argument, fail_where, multiply_add, prefetch
from ..lanes import Lanes, ones, stored
from ..target_info import LINE, TargetInfo
from ..views import Buffer, View
from .by_channel import elements_met, is_shared
from .convolution import EmittedConvolution
from .sums import Sum, Taps, runs_of_taps, sums_of

AHEAD = 8
"""So many steps ahead memory is asked for, a line of `LINE` bytes at a time."""
UNROLL = 4
"""Steps of the innermost sum in one iteration."""


@dataclass(frozen=True)
class ConvolutionTile:
    """A tile: `rows` by `columns`; `taps` where windows reach beyond the image."""

    rows: int
    columns: int
    taps: Taps | None


@dataclass(frozen=True)
class At:
    """A place in both operands: addresses, and the same in elements from what a kernel was given."""

    a: str
    b: str
    a_index: str
    b_index: str


class TileSums:
    """Emits the sums of a tile in a function whose parameters are those of the tile."""

    def __init__(self, f: Function, host: TargetInfo, convolution: EmittedConvolution, tile: ConvolutionTile, sites: Sites):
        self.f, self.host, self.it, self.tile, self.sites = f, host, convolution, tile, sites
        self.width, self.total = convolution.cut.width, convolution.total
        whole, rest = divmod(tile.columns, self.width)
        self.masks = [None] * whole + ([ones(self.width, rest) if self.width > 1 else None] if rest else [])
        self.sums = sums_of(convolution, tile.rows, tile.taps)
        rows = prod(convolution.weights.shape[:-1]) * convolution.weights.strides[-1]
        self.streamed = rows * tile.columns * convolution.rhs.dtype.size > host.l1_bytes
        """True if weights come from beyond the first cache, more of them at each step than a processor asks for by itself."""
        along = convolution.cut.along
        step = convolution.slides[along - 1].stride if along else 1
        self.across = step * convolution.lhs.strides[along]
        self.shares = convolution.by_channel and along > 0 and is_shared(convolution.slides[along - 1])

    def lanes(self, mask: str | None = None, hint: str = "c") -> Lanes:
        return Lanes(self.f, self.host, self.width, mask, hint)

    def emit_sums(self) -> list[str]:
        """Emit the sums of all rows, skipped taps left out."""
        f, it = self.f, self.it
        a, b = (argument(f, i, name) for i, name in enumerate(("lhs", "rhs")))
        at = At(f.address(stored(it.lhs.dtype), a, "%a"), f.address(stored(it.weights.dtype), b, "%b"), "%a", "%b")
        return self.nest(0, at, self.start() * self.tile.rows, (0, self.tile.rows))

    def moved(self, at: At, one: Sum, index: str, *, innermost: bool = False) -> At:
        """
        Return the place so many steps further along an axis, with frozen addresses.

        Without `freeze`, the code generator spends much of its time on recomputing the addresses that are relative to these.
        In the innermost loop the address in the image is not frozen, so that loads can add the index themselves.
        """
        f, it = self.f, self.it
        a, b = f.mul(index, one.a), f.mul(index, one.b)
        a_index, b_index = (f.add(at.a_index, a), f.add(at.b_index, b)) if self.host.checked else ("", "")
        to_a, to_b = f.address(stored(it.lhs.dtype), at.a, a, "a"), f.address(stored(it.weights.dtype), at.b, b, "b")
        to_a = to_a if innermost or to_a == at.a else f.op(f"freeze ptr {to_a}", "a")
        to_b = to_b if to_b == at.b else f.op(f"freeze ptr {to_b}", "b")
        return At(to_a, to_b, a_index, b_index)

    def nest(self, level: int, at: At, state: Sequence[str], rows: tuple[int, int]) -> list[str]:
        """The sums from an axis on, for some rows of the tile."""
        if level == len(self.sums):
            self.check(at, Sum(1, 0, 0), "1", rows)
            return self.steps(state, at, Sum(1, 0, 0), 1, rows)
        one = self.sums[level]
        if self.shares and one.taps is not None and level == len(self.sums) - 1:
            for tap, some in enumerate(one.taps):
                if some[0] < some[1]:
                    self.check(self.moved(at, one, str(tap)), Sum(1, 0, 0), "1", some)
            return self.by_channel(state, at, one, one.taps)
        if one.taps is not None:
            for first, count, (low, high) in runs_of_taps(one.taps):
                some = max(low, rows[0]), min(high, rows[1])
                if some[0] < some[1]:
                    run = Sum(count, one.a, one.b)
                    state = self.over(run, level, self.moved(at, one, str(first)), state, some)
            return list(state)
        return self.over(one, level, at, state, rows)

    def over(self, one: Sum, level: int, at: At, state: Sequence[str], rows: tuple[int, int]) -> list[str]:
        """The sums over an axis, all of whose steps the same rows have, and those after it."""
        if one.extent == 1 and one.bounds is None:
            return self.nest(level + 1, at, state, rows)
        if level == len(self.sums) - 1:
            return self.innermost(one, at, state, rows)

        def iteration(t: str, values: Sequence[str]) -> list[str]:
            return self.nest(level + 1, self.moved(at, one, t), values, rows)

        return self.summed(one.bounds or ("0", str(one.extent)), 1, iteration, state, rows, "t")

    def summed(
        self,
        bounds: tuple[str, str],
        step: int,
        body: Callable[[str, Sequence[str]], Sequence[str]],
        state: Sequence[str],
        rows: tuple[int, int],
        hint: str,
    ) -> list[str]:
        """Put a loop around what `body` emits, which changes the sums of some rows: the others are not carried."""
        first, end = (row * len(self.masks) for row in rows)

        def iteration(index: str, /, *values: str) -> Sequence[str]:
            return body(index, [*state[:first], *values, *state[end:]])[first:end]

        found = self.f.loop(*bounds, step, iteration, self.typed(state[first:end]), hint)
        return [*state[:first], *found, *state[end:]]

    def start(self) -> list[str]:
        """The vectors that the sums of a row begin with."""
        it, f = self.it, self.f
        if it.start is None:
            return [self.lanes().constant(self.total, 0)] * len(self.masks)
        base, found = argument(f, 2 + len(it.epilogue.views), "start"), list[str]()
        for q, mask in enumerate(self.masks):
            last = min(self.width, self.tile.columns - q * self.width) - 1
            index = f.add("%column", str(q * self.width))
            if self.host.checked:
                self.inside(it.start, [index, f.add(index, str(last))])
            found.append(self.lanes(mask, "start").load(self.total, base, index, 1))
        return found

    def typed(self, state: Sequence[str]) -> list[tuple[str, str]]:
        type = self.lanes().type(self.total)
        return [(type, value) for value in state]

    def innermost(self, one: Sum, at: At, state: Sequence[str], rows: tuple[int, int]) -> list[str]:
        """The innermost sum, some steps an iteration."""
        f = self.f

        def steps(count: int) -> Callable[[str, Sequence[str]], list[str]]:
            def iteration(k: str, values: Sequence[str]) -> list[str]:
                here = self.moved(at, one, k, innermost=True)
                return self.steps(values, here, one, count, rows, self.streamed)

            return iteration

        if one.bounds is not None:
            low, high = one.bounds
            self.check(self.moved(at, one, low), one, f.op(f"sub i64 {high}, {low}") if self.host.checked else "0", rows)
            return self.summed((low, high), 1, steps(1), state, rows, "k")
        self.check(at, one, str(one.extent), rows)
        # Unrolled places of the window are kept apart by loops: in one block, the code generator would keep all elements of
        # the image in registers that several of them meet, and sums in memory.
        unroll = 1 if self.it.by_channel or (self.tile.taps is not None and one.extent < 2 * UNROLL) else UNROLL
        full = one.extent // unroll * unroll
        state = self.summed(("0", str(full)), unroll, steps(unroll), state, rows, "k")
        rest = one.extent - full
        return steps(rest)(str(full), state) if rest else state

    def ask_weights(self, at: At, index: str) -> None:
        """Have the weights of later channels brought, where no processor foresees them."""
        if self.streamed:
            self.ask_row(at, self.f.add(index, str(AHEAD * self.it.weight_strides[-1])))

    def ask_row(self, at: At, index: str) -> None:
        """Have the weights of the tile's columns brought, at an index counted from `at`."""
        type, line = stored(self.it.weights.dtype), LINE // self.it.weights.dtype.size
        for column in range(0, self.tile.columns, line):
            prefetch(self.f, self.f.address(type, at.b, self.f.add(index, str(column))))

    def steps(self, state: Sequence[str], at: At, one: Sum, count: int, rows: tuple[int, int], ask: bool = False) -> list[str]:
        """The products of some steps along an axis, of each result of some rows; `ask` has later weights brought step by step."""
        if self.it.by_channel:
            return self.by_channel(state, at, one, (rows,) * count)
        for u in range(count):
            if ask:
                self.ask_row(at, str((AHEAD + u) * one.b))
            state = self.step(state, at, u * one.a, u * one.b, rows)
        return list(state)

    def step(self, state: Sequence[str], at: At, a: int, b: int, rows: tuple[int, int]) -> list[str]:
        """One product of each result of some rows, which share an element of the image."""
        it, found, lanes = self.it, list(state), self.lanes(hint="c")
        columns = [self._vector(it.weights.dtype, at.b, b, q, it.weights.strides[-1], "b") for q in range(len(self.masks))]
        for r in range(*rows):
            index = a + r * self.across
            one = self.lanes(hint="a").load(it.lhs.dtype, at.a, str(index), 0)
            factor = cast(lanes, one, it.lhs.dtype, self.total)
            for q, column in enumerate(columns):
                place = r * len(columns) + q
                found[place] = multiply_add(lanes, self.total, factor, column, found[place])
        return found

    def by_channel(self, state: Sequence[str], at: At, one: Sum, taps: Taps) -> list[str]:
        """The products of some neighbouring taps by channel, each for some rows: elements and weights are read once."""
        it, found, lanes = self.it, list(state), self.lanes(hint="c")
        for q in range(len(self.masks)):
            weights: dict[int, str] = {}
            for index, uses in elements_met(self.across, one.a, taps):
                x = self._vector(it.lhs.dtype, at.a, index, q, it.lhs.strides[-1], "a")
                for tap, row in uses:
                    if tap not in weights:
                        weights[tap] = self._vector(it.weights.dtype, at.b, tap * one.b, q, it.weights.strides[-1], "b")
                    place = row * len(self.masks) + q
                    found[place] = multiply_add(lanes, self.total, x, weights[tap], found[place])
        return found

    def _vector(self, dtype: PtirDType, base: str, index: int, q: int, stride: int, hint: str) -> str:
        lanes = self.lanes(self.masks[q], hint)
        return cast(lanes, lanes.load(dtype, base, str(index + q * self.width * stride), stride), dtype, self.total)

    def weights(self, at: At, index: str, q: int) -> str:
        """A vector of weights at an index counted from `at`."""
        weights = self.it.weights
        stride, first = weights.strides[-1], q * self.width
        if self.host.checked:
            last = min(first + self.width, self.tile.columns) - 1
            start = self.f.add(at.b_index, index)
            self.inside(weights, [self.f.add(start, str(column * stride)) for column in (first, last)])
        lanes = self.lanes(self.masks[q], "tap")
        x = lanes.load(weights.dtype, at.b, self.f.add(index, str(first * stride)), stride)
        return cast(lanes, x, weights.dtype, self.total)

    # Checks

    def check(self, at: At, one: Sum, count: str, rows: tuple[int, int]) -> None:
        """Return early, in checked kernels, unless all that some steps read is inside of the operands."""
        if not self.host.checked:
            return
        f, it = self.f, self.it
        last = f.add(count, "-1")
        wide = (self.tile.columns - 1) * it.lhs.strides[-1] if it.by_channel else 0
        corners = [
            f.add(f.add(at.a_index, f.mul(k, one.a)), str(r * self.across)) for k in ("0", last) for r in (rows[0], rows[1] - 1)
        ]
        corners += [f.add(c, str(wide)) for c in corners] if wide else []
        along = (self.tile.columns - 1) * it.weights.strides[-1]
        starts = [f.add(at.b_index, f.mul(k, one.b)) for k in ("0", last)]

        def both() -> None:
            self.inside(it.lhs, corners)
            self.inside(it.weights, [*starts, *(f.add(s, str(along)) for s in starts)])

        if count.isdigit():
            both()
        else:
            f.when(f.op(f"icmp sgt i64 {count}, 0"), both)

    def inside(self, view: View, places: Sequence[str]) -> None:
        """Leave the kernel unless some places of a view, in elements from its first, are in its memory."""
        one = Lanes(self.f, self.host, 1)
        assert isinstance(view.base, Buffer), "operands have memory"
        for at in places:
            beyond = one.compare("icmp uge", "i64", self.f.add(at, str(view.offset)), str(view.room))
            fail_where(one, self.sites, beyond, Failure.OUTSIDE, None, [("i64", at, True)])
