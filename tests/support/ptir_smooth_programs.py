"""
Random PTIR programs in f64 to be differentiated: ops of every family, branches, scans and loops, nested.

What they compute stays small and is smooth almost everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.op import value_of
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import DTYPES, F64, SI32, SI64, PtirDType
from mind_passes.ptir.construct import add, broadcast, full, make, mul, reduce_sum, reshape
from ptir_forms import program, shape

SHAPES = ((), (3,), (2, 3))
ARGUMENTS = "f64[] f64[3] f64[2,3] i1[] si32[]"
TURNS = 4
"""No loop iterates more often."""
Step = Callable[[list[SSAValue], SSAValue], Any]
_UNARY = (ptir.SinOp, ptir.TanhOp, ptir.LogisticOp, ptir.NegOp, ptir.CosOp, ptir.AbsOp, ptir.ErfOp)
_BINARY = (ptir.AddOp, ptir.SubOp, ptir.MulOp, ptir.MaximumOp, ptir.MinimumOp)


def number(dtype: PtirDType, extents: Sequence[int], *values: Any) -> SSAValue:
    return ptir.ConstantOp(PtirLiteralAttr.from_values(dtype, tuple(extents), values)).results[0]


class Maker:
    """Grows a program; `pool` holds the f64 values at hand, `truth` and `n` are an i1 and an si32 in reach."""

    def __init__(self, pick: Random):
        self.pick = pick

    def module(self, size: int, depth: int) -> ModuleOp:
        """`@f` of `ARGUMENTS` with a scalar and a (2, 3) output."""

        def body(*arguments: SSAValue) -> list[SSAValue]:
            *values, truth, n = arguments
            pool = self.grown(list(values), truth, n, size, depth)
            return [self.of_shape(pool, ()), self.of_shape(pool, (2, 3))]

        return program(ARGUMENTS, body)

    def value(self, pool: list[SSAValue]) -> SSAValue:
        """A value, mostly a new one."""
        return self.pick.choice(pool[-3:] if self.pick.randint(0, 2) else pool)

    def of_shape(self, pool: list[SSAValue], extents: tuple[int, ...]) -> SSAValue:
        """A value of the pool, summed or repeated to a shape."""
        x = self.value(pool)
        given = shape(x)
        if len(given) > len(extents):
            x = value_of(reduce_sum(x, range(len(given) - len(extents))))
        return value_of(broadcast(x, extents))

    def flat(self) -> list[Step]:
        """The steps without regions."""
        found = [self.unary, self.binary, self.quotient, self.reduction, self.view, self.indexed, self.window, self.ordered]
        return [*found, self.chosen, self.product, self.rounded]

    def grown(self, pool: list[SSAValue], truth: SSAValue, n: SSAValue, size: int, depth: int) -> list[SSAValue]:
        flat = self.flat()
        deep = [self.branch, self.scan, self.loop] if depth else []
        for _ in range(size):
            step = self.pick.choice(deep if deep and self.pick.randint(0, 2) == 0 else flat)
            made = step(pool, truth, n, depth - 1) if step in deep else [value_of(step(pool, n))]
            pool = [*pool, *made]
        return pool

    # Without regions

    def unary(self, pool: list[SSAValue], n: SSAValue) -> Any:
        return self.pick.choice(_UNARY)(self.value(pool))

    def binary(self, pool: list[SSAValue], n: SSAValue) -> Any:
        extents = self.pick.choice(SHAPES)
        return self.pick.choice(_BINARY)(self.of_shape(pool, extents), self.of_shape(pool, extents))

    def quotient(self, pool: list[SSAValue], n: SSAValue) -> Any:
        extents = self.pick.choice(SHAPES)
        y = self.of_shape(pool, extents)
        below = add(full(1.5, y), mul(y, y))
        other = self.pick.choice((ptir.RsqrtOp, ptir.LogOp, ptir.ReciprocalOp, None))
        return ptir.DivOp(self.of_shape(pool, extents), below) if other is None else other(below)

    def reduction(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x = self.of_shape(pool, (2, 3))
        axes = self.pick.choice(((0,), (1,), (0, 1), (-1,)))
        keep = self.pick.choice((True, False))
        found = ptir.ReduceOp(x, kind=self.pick.choice(("sum", "max", "min")), axes=axes, keepdims=keep)
        return found if shape(found) in SHAPES else broadcast(reshape(reduce_sum(found, range(len(shape(found)))), ()), (3,))

    def view(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x = self.of_shape(pool, (2, 3))
        kind = self.pick.choice(("reshape", "transpose", "reverse", "concat", "joint", "strided", "tile"))
        if kind == "reshape":
            return ptir.ReshapeOp(ptir.TransposeOp(x, perm=(1, 0)), new_shape=(2, 3))
        if kind == "transpose":
            return ptir.SliceOp(ptir.ReshapeOp(ptir.TransposeOp(x, perm=(1, 0)), new_shape=(6,)), starts=(2,), sizes=(3,))
        if kind == "reverse":
            return ptir.ReverseOp(x, axes=(self.pick.choice((0, 1)),))
        row = ptir.SliceOp(x, starts=(self.pick.choice((0, 1)), 0), sizes=(1, 3))
        if kind == "concat":
            return ptir.ConcatOp(row, row, axis=0)
        if kind == "tile":
            return ptir.TileOp(row, repeats=(2, 1))
        if kind == "strided":
            wide = ptir.ConcatOp(x, x, axis=1)
            return ptir.StridedSliceOp(wide, starts=(0, 1), limits=(2, 6), strides=(1, 2))
        return reshape(ptir.SliceOp(ptir.ConcatOp(row, x, axis=0), starts=(1, 0), sizes=(2, 3)), (2, 3))

    def indexed(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x = self.of_shape(pool, (2, 3))
        rows = [self.pick.randint(0, 1) for _ in range(2)]
        kind = self.pick.choice(("take", "gather", "scatter_add", "max", "add", "replace", "segment"))
        if kind == "take":
            return ptir.TakeOp(x, number(SI64, (2,), *rows))
        if kind == "gather":
            return ptir.GatherOp(x, number(SI32, (2, 3), *[self.pick.randint(0, 1) for _ in range(6)]), axis=0)
        updates = self.of_shape(pool, (2, 3))
        if kind == "segment":
            found = value_of(ptir.SegmentReduceOp(x, number(SI32, (2,), *rows), num_segments=2, **self.promises()))
            # The maximum of an empty segment is -inf, of which a sine or a difference of two is not a number.
            return ptir.MaximumOp(found, full(-9.0, found))
        if kind == "scatter_add":
            dims = {"update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
            return ptir.ScatterAddOp(x, number(SI32, (2,), *rows), updates, **dims)
        indices = number(SI32, (2, 3), *[self.pick.randint(0, 1) for _ in range(6)])
        return ptir.ScatterReduceOp(x, indices, updates, kind=kind, axis=0)

    def promises(self) -> dict[str, Any]:
        return {"kind": self.pick.choice(("sum", "max")), "indices_are_sorted": False, "unique": False}

    def window(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x, start = self.of_shape(pool, (2, 3)), ptir.ConcatOp(number(SI32, (1,), 0), reshape(n, (1,)), axis=0)
        column = ptir.DynamicSliceOp(x, start, sizes=(2, 1))
        if self.pick.choice((True, False)):
            return ptir.BroadcastToOp(column, result_shape=(2, 3))
        return ptir.DynamicUpdateSliceOp(self.of_shape(pool, (2, 3)), column, start, sizes=(2, 1))

    def ordered(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x = self.of_shape(pool, (2, 3))
        if self.pick.choice((True, False)):
            back, without = self.pick.choice((True, False)), self.pick.choice((True, False))
            return ptir.CumulativeSumOp(x, axis=self.pick.choice((0, 1)), exclusive=without, reverse=back)
        return ptir.SortOp(x, axis=self.pick.choice((0, 1)), descending=self.pick.choice((True, False)))

    def chosen(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x, y = self.of_shape(pool, (2, 3)), self.of_shape(pool, (2, 3))
        below = ptir.CompareOp(x, full(0.1, x), kind="less")
        return ptir.SelectOp(below, y, ptir.ClampOp(x, full(-0.7, x), full(0.9, x)))

    def product(self, pool: list[SSAValue], n: SSAValue) -> Any:
        x, y = self.of_shape(pool, (2, 3)), self.of_shape(pool, (2, 3))
        square = ptir.DotGeneralOp(x, y, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(1,))
        return ptir.TanhOp(ptir.DotGeneralOp(square, x, batch_lhs=(), batch_rhs=(), contract_lhs=(0,), contract_rhs=(0,)))

    def rounded(self, pool: list[SSAValue], n: SSAValue) -> Any:
        """By way of integers, or of a barrier: nothing flows, and what comes out is a factor."""
        x = self.of_shape(pool, (3,))
        whole = ptir.CastOp(ptir.CastOp(mul(x, full(3.0, x)), dtype=DTYPES["si32"]), dtype=F64)
        return add(mul(x, ptir.TanhOp(whole)), x)

    # With regions

    def inner(self, arguments: Sequence[SSAValue], truth: SSAValue, n: SSAValue, depth: int) -> list[SSAValue]:
        return self.grown(list(arguments), truth, n, self.pick.randint(1, 4), depth)

    def inputs(self, pool: list[SSAValue]) -> list[SSAValue]:
        return [self.value(pool) for _ in range(self.pick.randint(1, 3))]

    def yielded(self, pool: list[SSAValue], like: Sequence[SSAValue]) -> list[SSAValue]:
        """A value for each; a quarter stay as they were, as what a loop does not change."""
        found: list[SSAValue] = []
        for x in like:
            y = x if self.pick.randint(0, 3) == 0 else self.of_shape(pool, shape(x))
            found.append(y if y in like else value_of(make(ptir.TanhOp, y)))
        return found

    def branch(self, pool: list[SSAValue], truth: SSAValue, n: SSAValue, depth: int) -> Sequence[SSAValue]:
        inputs = self.inputs(pool)
        extents = [self.pick.choice(SHAPES) for _ in range(self.pick.randint(1, 2))]
        if self.pick.choice((True, False)):
            x = self.of_shape(pool, ())
            truth = value_of(ptir.CompareOp(x, full(0.2, x), kind="less"))

        def body(*arguments: SSAValue) -> list[SSAValue]:
            *values, inner_truth, m = arguments
            grown = self.inner(values, inner_truth, m, depth)
            return [self.of_shape(grown, e) for e in extents]

        return ptir.CondOp(truth, *inputs, truth, n, true=body, false=body).results

    def scan(self, pool: list[SSAValue], truth: SSAValue, n: SSAValue, depth: int) -> Sequence[SSAValue]:
        inputs = self.inputs(pool)
        scanned = self.of_shape(pool, (2, 3))

        def body(*arguments: SSAValue) -> list[SSAValue]:
            inner_truth, m, *values, step = arguments
            grown = self.inner([*values, step], inner_truth, m, depth)
            return [inner_truth, m, *self.yielded(grown, values), self.of_shape(grown, (3,))]

        made = ptir.ScanOp(truth, n, *inputs, scanned, carry_count=2 + len(inputs), scan_output_count=1, body=body)
        return made.results[2:]

    def loop(self, pool: list[SSAValue], truth: SSAValue, n: SSAValue, depth: int) -> Sequence[SSAValue]:
        inputs = self.inputs(pool)
        kind = self.pick.choice(("counted", "bounded", "by value"))
        limit = self.pick.randint(0, 3)
        passes = self.pick.randint(0, 3) > 0

        def cond(count: SSAValue, *arguments: SSAValue) -> list[Any]:
            inner_truth, m, *values = arguments
            go_on = ptir.CompareOp(count, number(SI32, (), limit) if kind == "counted" else m, kind="less")
            if kind == "by value":
                x = value_of(reduce_sum(values[0], range(len(shape(values[0])))))
                go_on = ptir.AndOp(go_on, ptir.CompareOp(x, full(0.3, x), kind="less"))
            passed = values if passes else self.yielded(self.inner(values, inner_truth, m, 0), values)
            return [go_on, count, inner_truth, m, *passed]

        def body(count: SSAValue, *arguments: SSAValue) -> list[Any]:
            inner_truth, m, *values = arguments
            grown = self.inner(values, inner_truth, m, depth)
            return [add(count, number(SI32, (), 1)), inner_truth, m, *self.yielded(grown, values)]

        made = ptir.WhileOp(number(SI32, (), 0), truth, n, *inputs, cond=cond, body=body)
        if kind != "counted":
            made.attributes["ptir.max_iterations"] = IntegerAttr(TURNS, i64)
        return made.results[3:]
