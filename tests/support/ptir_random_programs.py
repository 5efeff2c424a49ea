"""Random well-typed PTIR programs: a mix of ops of one dtype on a few shapes, with constants that invite rewrites."""

from __future__ import annotations

import random
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import DTYPES, Kind, PtirDType
from ptir_forms import program, shape

SHAPES = ((2, 3), (3,), (2, 1), (1, 3), (3, 2), ())
UNARY = (ptir.NegOp, ptir.AbsOp)
FLOAT_UNARY = (ptir.ExpOp, ptir.TanhOp, ptir.FloorOp, ptir.SqrtOp, ptir.LogisticOp, ptir.StopGradientOp, ptir.ReciprocalOp)
BINARY = (ptir.AddOp, ptir.SubOp, ptir.MulOp, ptir.MaximumOp, ptir.MinimumOp)
KINDS = ("unary", "binary", "binary", "constant", "view", "view", "reduce", "select", "dot", "branch", "twin")
REDUCTIONS = ("sum", "max", "min")


class Maker:
    """Grows a program from a pool of values; every choice comes from one generator."""

    def __init__(self, seed: int, dtype: PtirDType, *, regions: bool = True):
        self.pick = random.Random(seed)
        self.dtype = dtype
        self.regions = regions

    def module(self, size: int) -> ModuleOp:
        types = [f"{self.dtype}[{','.join(map(str, s))}]" for s in self.pick.choices(SHAPES, k=3)]
        return program(f"{' '.join(types)} i1[]", lambda *arguments: self.body(list(arguments), size))

    def body(self, pool: list[Any], size: int) -> list[Any]:
        *values, truth = pool
        for _ in range(size):
            values.append(self.op(values, truth))
        last = values[-1:] + self.pick.sample(values, 2)
        return [v for v in last if isinstance(v, ptir.PtirOp)] or [ptir.NegOp(values[0])]

    def constant(self, extents: tuple[int, ...]) -> Any:
        numbers = [0, 1, 2] if self.dtype.kind is Kind.UNSIGNED else [0, 1, -1, 2]
        if self.dtype.kind is Kind.FLOAT:
            numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 8.0, 3.0, float("inf"), float("nan")]
        return ptir.ConstantOp(PtirLiteralAttr.filled(self.dtype, extents, self.pick.choice(numbers)))

    def op(self, values: list[Any], truth: Any) -> Any:
        x = self.pick.choice(values)
        extents = shape(x)
        kind = self.pick.choice(
            ("unary", "binary", "binary", "constant", "view", "view", "reduce", "select", "dot", "branch", "twin")
        )
        float_ = self.dtype.kind is Kind.FLOAT
        match kind:
            case "unary":
                return self.pick.choice(UNARY + (FLOAT_UNARY if float_ else ()))(x)
            case "binary":
                others = [v for v in values if shape(v) == extents]
                return self.pick.choice(BINARY)(x, self.pick.choice(others))
            case "constant":
                c = self.constant(extents)
                op = self.pick.choice((*BINARY, ptir.DivOp) if float_ else BINARY)
                return op(x, c) if self.pick.random() < 0.7 else op(c, x)
            case "view":
                return self.view(x, extents)
            case "reduce" if extents:
                axes = self.pick.sample(range(-len(extents), 0), self.pick.randint(1, len(extents)))
                return ptir.ReduceOp(x, kind=self.pick.choice(REDUCTIONS), axes=axes, keepdims=self.pick.random() < 0.5)
            case "select":
                others = [v for v in values if shape(v) == extents]
                p = ptir.CompareOp(x, self.pick.choice(others), kind=self.pick.choice(ptir.CompareOp.KINDS))
                return ptir.SelectOp(p, x, self.pick.choice(others))
            case "dot" if extents:
                return self.dot(x, extents, values)
            case "branch" if self.regions:
                return ptir.CondOp(truth, x, true=lambda a: [ptir.NegOp(ptir.NegOp(a))], false=lambda a: [ptir.AddOp(a, a)])
            case "twin" if isinstance(x, ptir.PtirOp) and not x.regions and len(x.results) == 1:
                return x.clone()
            case _:
                return ptir.NegOp(x)

    def view(self, x: Any, extents: tuple[int, ...]) -> Any:
        match self.pick.choice(("reshape", "transpose", "broadcast", "slice", "cast")):
            case "reshape":
                return ptir.ReshapeOp(
                    x, new_shape=self.pick.choice(((-1,), (*extents, 1), (1, *extents), tuple(reversed(extents))))
                )
            case "transpose":
                return ptir.TransposeOp(x, perm=self.pick.sample(range(len(extents)), len(extents)))
            case "broadcast":
                wide = tuple(self.pick.choice((2, 3)) if n == 1 else n for n in extents)
                return ptir.BroadcastToOp(x, result_shape=self.pick.choice((wide, (1, *wide), extents)))
            case "slice":
                starts = [self.pick.randint(0, max(0, n - 1)) for n in extents]
                return ptir.SliceOp(x, starts=starts, sizes=[n - a for n, a in zip(extents, starts, strict=True)])
            case _:
                other = DTYPES["f64" if self.dtype.kind is Kind.FLOAT else "si64"]
                return ptir.CastOp(ptir.CastOp(x, dtype=other), dtype=self.dtype)

    def dot(self, x: Any, extents: tuple[int, ...], values: list[Any]) -> Any:
        y = self.pick.choice([v for v in values if shape(v) and shape(v)[-1] == extents[-1]])
        if len(shape(y)) > 3 or len(extents) > 3:
            return ptir.NegOp(x)
        y = ptir.TransposeOp(y, perm=self.pick.sample(range(len(shape(y))), len(shape(y))))
        common = [(i, j) for i, m in enumerate(extents) for j, n in enumerate(shape(y)) if m == n]
        i, j = self.pick.choice(common)
        return ptir.DotGeneralOp(x, y, batch_lhs=(), batch_rhs=(), contract_lhs=(i,), contract_rhs=(j,))
