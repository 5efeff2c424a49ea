"""
Random PTIR programs in f64 as `ptir_smooth_programs` makes, with the ops that those lack.

Special functions, products and extremes along axes, pads, windows, convolutions, complex numbers and Fourier transforms, gathers
and scatters of windows, norms, ragged products, the largest elements, roundings as factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.op import value_of
from mind_dialect.ptir.types import F64, SI32, SI64
from mind_passes.ptir.construct import add, broadcast, full, mul, reduce_sum, reshape
from ptir_forms import shape
from ptir_smooth_programs import Maker, Step, number

_BOUNDED = (ptir.ExpOp, ptir.Expm1Op, ptir.SinOp)
_ABOVE_ONE = (ptir.SqrtOp, ptir.Log1pOp, ptir.LgammaOp, ptir.DigammaOp, ptir.CbrtOp)
_STEPS = (ptir.FloorOp, ptir.CeilOp, ptir.RoundOp, ptir.RoundAwayOp, ptir.SignOp)


class WideMaker(Maker):
    """Mostly ops that `Maker` has not."""

    def flat(self) -> list[Step]:
        own = [self.function, self.powers, self.step, self.along, self.padded, self.pooled, self.convolved, self.complex_parts]
        own += [
            self.transformed,
            self.gathered,
            self.scattered,
            self.normed,
            self.ragged,
            self.largest,
            self.placed,
            self.batched,
        ]
        return [*super().flat(), *own]

    def matrix(self, pool: list[SSAValue]) -> SSAValue:
        return self.of_shape(pool, (2, 3))

    def bounded(self, pool: list[SSAValue], extents: tuple[int, ...] = (2, 3)) -> SSAValue:
        return value_of(ptir.TanhOp(self.of_shape(pool, extents)))

    def whole(self, x: Any) -> Any:
        """Something of shape (2, 3) that depends on every element of `x`, each by a factor of its own."""
        extents = shape(value_of(x))
        count = 1
        for n in extents:
            count *= n
        factors = number(F64, extents, *[self.pick.choice((-1.0, 0.5, 1.25)) for _ in range(count)])
        return broadcast(value_of(reduce_sum(mul(value_of(x), factors), range(len(extents)))), (2, 3))

    # Elementwise

    def function(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x = self.bounded(pool)
        kind = self.pick.choice(("bounded", "above", "above", "erf_inv", "atan2"))
        if kind == "bounded":
            return self.pick.choice(_BOUNDED)(x)
        if kind == "erf_inv":
            return ptir.ErfInvOp(mul(x, full(0.9, x)))
        if kind == "atan2":
            return ptir.Atan2Op(self.matrix(pool), add(mul(x, x), full(self.pick.choice((0.5, -1.5)), x)))
        return self.pick.choice(_ABOVE_ONE)(add(full(1.25, x), x))

    def powers(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x, y = self.bounded(pool), self.bounded(pool)
        if self.pick.choice((True, False)):
            return ptir.PowOp(add(full(1.5, x), x), y)
        if self.pick.choice((True, False)):
            return ptir.PowOp(x, full(self.pick.choice((0.0, 1.0, 2.0, 3.0)), x))
        return ptir.RemainderOp(mul(x, full(3.0, x)), add(full(self.pick.choice((1.5, -2.75)), y), y))

    def step(self, pool: list[SSAValue], n: SSAValue) -> Any:
        """A factor that is constant almost everywhere."""
        x = self.matrix(pool)
        return mul(self.pick.choice(_STEPS)(mul(x, full(3.0, x))), ptir.TanhOp(x))

    # Axes

    def along(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x, axis = self.bounded(pool), self.pick.choice((0, 1))
        if self.pick.choice((True, False)):
            return broadcast(ptir.ReduceOp(x, kind="prod", axes=(axis,), keepdims=True).results[0], (2, 3))
        kind, back = self.pick.choice(("prod", "max", "min")), self.pick.choice((True, False))
        without = kind == "prod" and self.pick.choice((True, False))
        return ptir.CumulativeOp(x, kind=kind, axis=axis, exclusive=without, reverse=back)

    def padded(self, pool: list[SSAValue], n: SSAValue) -> Any:
        low, high = self.pick.choice((((0, 1), (1, 0)), ((1, 0), (0, 2)), ((0, 0), (0, 0))))
        interior = self.pick.choice(((0, 0), (1, 2)))
        return self.whole(ptir.PadOp(self.matrix(pool), low=low, high=high, interior=interior, pad_value=0.75))

    def largest(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x, axis = self.matrix(pool), self.pick.choice((0, 1))
        if self.pick.choice((True, False)):
            found = self.pick.choice((ptir.ArgMaxOp, ptir.ArgMinOp))(x, axis=axis, keepdims=True, output_dtype=SI64)
            return broadcast(ptir.GatherOp(self.matrix(pool), found, axis=axis).results[0], (2, 3))
        top = ptir.TopKOp(x, k=2, axis=axis, largest=self.pick.choice((True, False)), indices_dtype=SI32)
        return self.whole(top.results[0])

    # Windows

    def pooled(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x = self.matrix(pool)
        pads = self.pick.choice((((0, 0), (0, 0)), ((1, 0), (0, 1))))
        if self.pick.choice((True, False)):
            patches = {"window": (2, 2), "strides": (1, self.pick.choice((1, 2))), "dilation": (1, 1), "padding": pads}
            four = reshape(x, (1, 2, 3, 1))
            return self.whole(ptir.ExtractPatchesOp(four, pad_value=0.0, **patches))
        kind = self.pick.choice(("sum", "max", "min"))
        sizes = {"window_dims": (2, 2), "strides": (1, self.pick.choice((1, 2))), "padding": pads}
        dilated = {"base_dilation": self.pick.choice(((1, 1), (2, 1))) if kind == "sum" else (1, 1), "window_dilation": (1, 1)}
        return self.whole(ptir.ReduceWindowOp(x, kind=kind, **sizes, **dilated))

    def convolved(self, pool: list[SSAValue], n: SSAValue) -> Any:
        groups = self.pick.choice((1, 2))
        x = ptir.TransposeOp(
            reshape(ptir.ConcatOp(self.bounded(pool), self.bounded(pool), axis=0), (1, 2, 2, 3)), perm=(0, 2, 3, 1)
        )
        taps = ptir.ConcatOp(self.bounded(pool), self.bounded(pool), axis=1)
        kernel = reshape(taps, (2, 1, 2, 3)) if groups == 1 else reshape(taps, (3, 2, 1, 2))
        if groups == 2:
            kernel = value_of(ptir.SliceOp(kernel, starts=(0, 0, 0, 0), sizes=(2, 2, 1, 2)))
        made = ptir.ConvolutionOp(
            x,
            kernel,
            strides=self.pick.choice(((1, 1), (1, 2))),
            padding=self.pick.choice((((0, 0), (0, 0)), ((1, 0), (1, 2)))),
            base_dilation=self.pick.choice(((1, 1), (2, 1))),
            window_dilation=self.pick.choice(((1, 1), (1, 2))) if groups == 1 else (1, 1),
            feature_group_count=groups,
        )
        return self.whole(made)

    # Complex numbers

    def complex_parts(self, pool: list[SSAValue], n: SSAValue) -> Any:
        z, w = (ptir.ComplexOp(self.bounded(pool), self.bounded(pool)) for _ in range(2))
        kind = self.pick.choice(("mul", "div", "exp", "abs", "conj", "tanh", "dot"))
        if kind == "abs":
            return ptir.AbsOp(z)
        if kind == "dot":
            dims = {"batch_lhs": (0,), "batch_rhs": (0,), "contract_lhs": (1,), "contract_rhs": (1,)}
            return self.whole(self.part(ptir.DotGeneralOp(z, ptir.ConjOp(w), **dims)))
        one = ptir.ComplexOp(full(2.5, self.matrix(pool)), full(0.0, self.matrix(pool)))
        made: dict[str, Any] = {
            "mul": lambda: ptir.MulOp(z, w),
            "div": lambda: ptir.DivOp(z, ptir.AddOp(w, one)),
            "exp": lambda: ptir.ExpOp(z),
            "conj": lambda: ptir.MulOp(ptir.ConjOp(z), w),
            "tanh": lambda: ptir.TanhOp(z),
        }
        return self.part(made[kind]())

    def part(self, z: Any) -> Any:
        return self.pick.choice((ptir.RealOp, ptir.ImagOp))(z)

    def transformed(self, pool: list[SSAValue], n: SSAValue) -> Any:
        kind = self.pick.choice(("fft", "ifft", "rfft", "irfft"))
        x, y = self.matrix(pool), self.matrix(pool)
        if kind == "rfft":
            return self.whole(self.part(ptir.FftOp(x, kind=kind, lengths=self.pick.choice(((3,), (2, 3))))))
        z = ptir.ComplexOp(x, y)
        if kind == "irfft":
            return self.whole(ptir.FftOp(z, kind=kind, lengths=self.pick.choice(((4,), (5,), (2, 4)))))
        return self.part(ptir.FftOp(z, kind=kind, lengths=self.pick.choice(((3,), (2, 3)))))

    # Indices

    def starts(self, count: int, least: int, most: int) -> SSAValue:
        return number(SI32, (count, 1), *[self.pick.randint(least, most) for _ in range(count)])

    def gathered(self, pool: list[SSAValue], n: SSAValue) -> Any:
        mode = self.pick.choice(("raise", "clamp", "fill"))
        at = self.starts(2, *((0, 1) if mode == "raise" else (-1, 3)))
        dims = {"offset_dims": (1, 2), "collapsed_slice_dims": (), "operand_batching_dims": (), "start_indices_batching_dims": ()}
        more = {"start_index_map": (1,), "index_vector_dim": 1, "slice_sizes": (2, 2)}
        return self.whole(ptir.GatherWindowsOp(self.matrix(pool), at, mode=mode, **dims, **more))

    def scattered(self, pool: list[SSAValue], n: SSAValue) -> Any:
        kind, mode = self.pick.choice(("add", "mul", "min", "max", "replace")), self.pick.choice(("raise", "drop"))
        at = self.starts(2, *((0, 1) if mode == "raise" else (-1, 3)))
        updates = reshape(ptir.ConcatOp(self.matrix(pool), self.matrix(pool), axis=0), (2, 2, 3))
        updates = value_of(ptir.SliceOp(updates, starts=(0, 0, 0), sizes=(2, 2, 2)))
        dims = {"update_window_dims": (1, 2), "inserted_window_dims": (), "input_batching_dims": ()}
        more = {"scatter_indices_batching_dims": (), "scatter_dims_to_operand_dims": (1,), "index_vector_dim": 1}
        return ptir.ScatterWindowsOp(self.matrix(pool), at, updates, kind=kind, mode=mode, unique=False, **dims, **more)

    def placed(self, pool: list[SSAValue], n: SSAValue) -> Any:
        """Positions as factors, and a size."""
        x = self.matrix(pool)
        positions = ptir.CastOp(ptir.IotaOp(shape=(2, 3), dtype=SI32, axis=self.pick.choice((0, 1))), dtype=F64)
        size = ptir.CastOp(ptir.DimensionSizeOp(x, axis=1), dtype=F64)
        return mul(x, add(positions, broadcast(value_of(size), (2, 3))))

    # Models

    def normed(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x, scales, biases = self.matrix(pool), self.of_shape(pool, (3,)), self.of_shape(pool, (3,))
        axis = self.pick.choice((0, 1))
        if axis == 0:
            scales, biases = (value_of(ptir.SliceOp(v, starts=(1,), sizes=(2,))) for v in (scales, biases))
        return ptir.LayerNormOp(x, scales, biases, epsilon=0.3, feature_axis=axis)

    def ragged(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x, y = self.bounded(pool), self.bounded(pool)
        groups = number(SI32, (2,), *self.pick.choice(((1, 1), (2, 0), (0, 1), (0, 2))))
        if self.pick.choice((True, False)):
            return self.whole(ptir.RaggedDotOp(x, y, groups, kind="contract"))
        stacked = reshape(ptir.ConcatOp(y, self.bounded(pool), axis=0), (2, 3, 2))
        return self.whole(ptir.RaggedDotOp(x, stacked, groups, kind="rows"))

    def batched(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x, y = self.bounded(pool), self.bounded(pool)
        axis = self.pick.choice((0, 1))
        dims: Sequence[Any] = self.pick.choice(
            (((axis,), (axis,), (1 - axis,), (1 - axis,)), ((), (), (), ()), ((), (), (0, 1), (0, 1)))
        )
        return self.whole(
            ptir.DotGeneralOp(x, y, **dict(zip(("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs"), dims, strict=True)))
        )
