"""
Random programs of rows: numbers of a row and of all its places, reductions of it that later ops use, columns, indices, masks.

Values stay small, and what is compared is exact, so that two ways to round do not part.
"""

from __future__ import annotations

import random
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import DTYPES, Kind, PtirDType
from ptir_forms import program, shape, spread

SHAPES = ((5, 37), (3, 2), (1, 130), (9, 16), (2, 257), (20, 3), (4, 64), (33, 17), (2, 3, 40), (3, 1, 5), (2, 700), (6, 2, 9))
ACROSS = (
    (37, 5),
    (2, 3),
    (130, 70),
    (16, 9),
    (257, 2),
    (3, 20),
    (64, 64),
    (17, 33),
    (2, 40, 3),
    (3, 5, 150),
    (2, 140, 19),
    (4, 3, 2, 65),
)
"""Shapes of rows that lie across the last axis."""
FLOAT = ("tanh", "abs", "neg", "shrink", "logistic", "mask", "picked", "twice")
WHOLE = ("abs", "neg", "twice", "mask", "picked", "less")


class RowMaker:
    """Grows a program over one shape, whose last axes are the row, or, `across` it, some others next to each other."""

    def __init__(self, seed: int, dtype: PtirDType, *, across: bool = False):
        self.pick = random.Random(seed)
        self.dtype = dtype
        self.shape = self.pick.choice(ACROSS if across else SHAPES)
        end = len(self.shape) - across
        self.axes = tuple(range(end - self.pick.randint(1, end - (not across)), end))
        self.run = self.axes[-1]
        """The axis that indices are of."""
        self.thin = tuple(1 if a in self.axes else n for a, n in enumerate(self.shape))
        self.full: list[Any] = []
        self.numbers: list[Any] = []
        self.index: Any = None

    def module(self) -> ModuleOp:
        text = [f"{self.dtype}[{','.join(map(str, s))}]" for s in (self.shape, self.shape, self.shape[-1:], self.thin)]
        index = [1 if a == self.run else n for a, n in enumerate(self.shape)]
        return program(" ".join([*text, f"si32[{','.join(map(str, index))}]"]), self.body)

    def body(self, x: Any, y: Any, column: Any, number: Any, index: Any) -> list[Any]:
        """The results, given two rows, one row for all, a number for each row and an index for each run of the last axis."""
        self.full, self.numbers, self.index = [x, y, spread(column, x)], [number], index
        for _ in range(self.pick.randint(6, 16)):
            self.step()
        results = self.pick.sample(self.full[3:] + self.numbers[1:], 3)
        results += [self.column(v) for v in self.pick.sample(self.full, self.pick.randint(0, 2))]
        return [v for v in results if isinstance(v, ptir.PtirOp)] or [ptir.NegOp(x)]

    def step(self) -> None:
        """One value more."""
        kind = self.pick.choice(("unary", "binary", "binary", "with a number", "with a number", "reduce", "reduce", "number"))
        match kind:
            case "unary":
                self.full.append(self.unary(self.pick.choice(self.full)))
            case "binary":
                self.full.append(self.binary(self.pick.choice(self.full), self.pick.choice(self.full)))
            case "with a number":
                x = self.pick.choice(self.full)
                self.full.append(self.binary(x, spread(self.pick.choice(self.numbers), x)))
            case "reduce":
                self.numbers.append(self.reduced(self.pick.choice(self.full)))
            case _:
                a, b = self.pick.choice(self.numbers), self.pick.choice(self.numbers)
                self.numbers.append(self.binary(a, b) if self.pick.random() < 0.6 else self.unary(a))

    def is_float(self) -> bool:
        return self.dtype.kind is Kind.FLOAT

    def unary(self, x: Any) -> Any:
        is_full = shape(x) == self.shape
        match self.pick.choice(FLOAT if self.is_float() else WHOLE):
            case "tanh":
                return ptir.TanhOp(x)
            case "abs":
                return ptir.AbsOp(x) if self.dtype.kind is not Kind.UNSIGNED else ptir.NotOp(x)
            case "neg":
                return ptir.NegOp(x)
            case "shrink":
                return ptir.ExpOp(ptir.NegOp(ptir.AbsOp(x)))
            case "logistic":
                return ptir.LogisticOp(x)
            case "mask" if is_full:
                return self.masked(x)
            case "picked" if is_full and self.index is not None:
                there = ptir.GatherOp(x, self.index, axis=self.run)
                return ptir.MaximumOp(x, spread(there, x))
            case "less" if is_full:
                return ptir.SelectOp(ptir.CompareOp(x, spread(self.reduced(x), x), kind="less"), x, x)
            case _:
                return ptir.MaximumOp(x, self.constant(1 if self.dtype.kind is Kind.UNSIGNED else -1, shape(x)))

    def masked(self, x: Any) -> Any:
        """What is before, at or behind an index in each run of a row's last axis, as with labels or causal masks."""
        dtype = self.pick.choice(("si32", "si64", "ui8") if self.shape[self.run] < 256 else ("si32", "si64"))
        axis = self.pick.choice((self.run, 0))
        place = ptir.IotaOp(shape=self.shape, dtype=dtype, axis=axis)
        other = ptir.CastOp(spread(self.index, x), dtype=dtype)
        test = ptir.CompareOp(*((place, other) if self.pick.random() < 0.5 else (other, place)), kind=self.pick.choice(KINDS))
        return ptir.SelectOp(test, x, self.constant(1, shape(x)))

    def binary(self, a: Any, b: Any) -> Any:
        op = self.pick.choice((ptir.AddOp, ptir.SubOp, ptir.MulOp, ptir.MaximumOp, ptir.MinimumOp))
        made = op(a, b)
        return ptir.TanhOp(made) if self.is_float() and op is not ptir.MaximumOp else made

    def reduced(self, x: Any) -> Any:
        """A number for each row: reduced axes kept, or dropped and put back; sums as means."""
        kind = self.pick.choice(("sum", "max", "min"))
        keepdims = self.pick.random() < 0.5
        found = ptir.ReduceOp(x, kind=kind, axes=self.axes, keepdims=keepdims)
        if not keepdims:
            found = ptir.ReshapeOp(found, new_shape=self.thin)
        if kind == "sum" and self.is_float():
            found = ptir.MulOp(found, self.constant(1.0 / 64, self.thin))
        return found

    def column(self, x: Any) -> Any:
        others = tuple(a for a in range(len(self.shape)) if a not in self.axes)
        return ptir.ReduceOp(x, kind=self.pick.choice(("sum", "max")), axes=others, keepdims=self.pick.random() < 0.5)

    def constant(self, number: float, extents: tuple[int, ...]) -> Any:
        value = float(number) if self.is_float() else int(number)
        return ptir.ConstantOp(PtirLiteralAttr.filled(self.dtype, extents, self.dtype.element.check(value)))


KINDS = ("less", "less_equal", "equal", "not_equal", "greater", "greater_equal")
ROW_DTYPES = [DTYPES[name] for name in ("f32", "f64", "bf16", "f16", "si32", "ui8", "si64")]
