"""Random well-typed Core IR functions, dense in what rewrites look for, and random programs equal to a given one."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from evaluator import only_function, special_numbers
from mind_dialect import core
from mind_dialect.core import CoreOp
from mind_dialect.errors import MindError
from mind_dialect.literals import LiteralAttr
from mind_dialect.profiles import PROFILE_ATTRIBUTE, Profile
from mind_dialect.types import F32, F64, I64, NUMERIC, DType, Shape, read_type, tensor_type

SHAPES: tuple[Shape, ...] = ((), (1,), (3,), (2, 3), (1, 3), (3, 1), (3, 2), (2, 1, 3), (1, 1), (3, 3))
NUMBERS = (0, 0.0, -0.0, 1, -1, 2)
SCALARS = {I64: core.ConstI64Op, F32: core.ConstF32Op, F64: core.ConstF64Op}


def constant(rng: random.Random, dtype: DType) -> CoreOp:
    """A constant of any kind: mostly the numbers that identities are about, else special ones."""
    shape = rng.choice(SHAPES)

    def element() -> int | float:
        value = rng.choice(NUMBERS) if rng.random() < 0.7 else rng.choice(special_numbers(dtype))
        return float(value) if dtype.is_float else int(value)

    if not shape and dtype in SCALARS and rng.random() < 0.7:
        return SCALARS[dtype](element())
    if rng.random() < 0.5:
        return core.ConstantOp(LiteralAttr.filled(dtype, shape, element()))
    same = element()
    values = [same if rng.random() < 0.7 else element() for _ in range(math.prod(shape))]
    return core.ConstantOp(LiteralAttr.from_values(dtype, shape, values))


def _shape(value: SSAValue) -> Shape:
    return read_type(value.type)[1]


def _axes(rng: random.Random, rank: int, profile: Profile) -> list[int]:
    axes = rng.sample(range(rank), rng.randint(0, rank))
    return [a - rank if profile is not Profile.CORE_V1 and rng.random() < 0.5 else a for a in axes]


def structural(rng: random.Random, x: SSAValue, profile: Profile) -> CoreOp:
    """A random op that moves elements of `x` or reduces it; MindError where the draw is ill-typed."""
    shape = _shape(x)
    rank = len(shape)

    def slice() -> CoreOp:
        starts = [rng.randint(0, max(0, n - 1)) if rng.random() < 0.5 else 0 for n in shape]
        ends = [rng.randint(0, n) if rng.random() < 0.3 else n for n in shape]
        if profile is not Profile.CORE_V1 and starts and rng.random() < 0.3:
            starts[0] = -rng.randint(1, 9)
        return core.SliceOp(x, starts=starts, ends=ends, steps=[rng.choice((1, 1, 2, 3)) for _ in shape], profile=profile)

    def scatter() -> CoreOp:
        grow = rng.choice((0, 2))
        starts, steps = [rng.randint(0, grow) for _ in shape], [rng.choice((1, 1 + grow)) for _ in shape]
        extents = [max(1, n) * t + s + grow if grow else n for n, s, t in zip(shape, starts, steps, strict=True)]
        return core.SliceScatterOp(x, shape=extents, starts=starts, steps=steps)

    makers: list[Callable[[], CoreOp]] = [
        lambda: core.ReshapeOp(x, new_shape=rng.choice((shape, (-1,), *SHAPES))),
        lambda: core.ReshapeOp(x, new_shape=(-1,)),
        lambda: core.TransposeOp(x, permutation=rng.sample(range(rank), rank)),
        lambda: core.ExpandDimsOp(x, axes=_axes(rng, rank + rng.randint(0, 2), profile)[:2], profile=profile),
        lambda: core.SqueezeOp(x, axes=[a for a in range(rank) if shape[a] == 1 and rng.random() < 0.7]),
        lambda: core.BroadcastToOp(x, shape=rng.choice((shape, (2, *shape), tuple(3 if n == 1 else n for n in shape)))),
        lambda: core.SumOp(x, axes=_axes(rng, rank, profile), keepdims=rng.random() < 0.5, profile=profile),
        lambda: core.MeanOp(x, axes=_axes(rng, rank, profile), keepdims=rng.random() < 0.5, profile=profile),
        lambda: core.IndexOp(x, indices=[rng.randint(0, n + (rng.random() < 0.1)) for n in shape]),
        slice,
        scatter,
    ]
    return rng.choice(makers)()


def elementwise(rng: random.Random, values: Sequence[SSAValue], x: SSAValue, profile: Profile) -> CoreOp:
    """A random op that computes with `x`, and perhaps another value of its dtype."""
    y = rng.choice([v for v in values if read_type(v.type)[0] is read_type(x.type)[0]])
    a, b = (x, y) if rng.random() < 0.5 else (y, x)
    makers: list[Callable[[], CoreOp]] = [
        *[lambda cls=cls: cls(a, b) for cls in (core.AddOp, core.SubOp, core.MulOp, core.AddOp, core.SubOp, core.MulOp)],
        *[lambda: core.NegOp(x)] * 4,
        *[lambda cls=cls: cls(x) for cls in (core.ReluOp, core.ReluOp, core.ExpOp, core.LogOp, core.ReciprocalOp)],
        *[lambda cls=cls: cls(a, b) for cls in (core.DotOp, core.MatMulOp, core.ReluGradOp, core.ReluGradOp)],
    ]
    if profile is not Profile.CORE_V1 and read_type(x.type)[0].is_float:
        makers += [lambda: core.DivOp(a, b)] * 5
    return rng.choice(makers)()


def rewritable_program(rng: random.Random, size: int = 14) -> ModuleOp:
    """A verified module of one function; new ops prefer recent operands, so that chains come to be."""
    profile = rng.choice(list(Profile))
    dtypes = rng.sample(NUMERIC, 2)
    inputs = [tensor_type(rng.choice(dtypes), rng.choice(SHAPES)) for _ in range(rng.randint(1, 3))]
    block = Block(arg_types=inputs)
    values: list[SSAValue] = list(block.args)
    while len(values) < len(inputs) + size:
        x = rng.choice(values[-3:] if rng.random() < 0.7 else values)
        draw = rng.random()
        try:
            if draw < 0.2:
                op = constant(rng, read_type(x.type)[0])
            elif draw < 0.6:
                op = structural(rng, x, profile)
            else:
                op = elementwise(rng, values, x, profile)
        except MindError:
            continue
        if sum(_shape(op.result)) > 40:
            continue
        block.add_op(op)
        values.append(op.result)
    outputs = [rng.choice(values[-4:]) for _ in range(rng.randint(1, 3))]
    block.add_op(ReturnOp(*outputs))
    func = FuncOp("f", (inputs, [v.type for v in outputs]), Region(block))
    func.attributes[PROFILE_ATTRIBUTE] = StringAttr(profile)
    return ModuleOp([func])


def scrambled(rng: random.Random, module: ModuleOp) -> ModuleOp:
    """The same program with other names for results, Add and Mul operands swapped at random, and dead code."""
    other = module.clone()
    block = only_function(other).body.block
    earlier: list[CoreOp] = []
    for op in list(block.ops):
        if not isinstance(op, CoreOp):
            break
        op.result.name_hint = rng.choice((None, "a", "b", "x_adj", "c"))
        if isinstance(op, core.AddOp | core.MulOp) and rng.random() < 0.5:
            op.operands = tuple(reversed(op.operands))
        earlier.append(op)
        while rng.random() < 0.4:
            dead = rng.choice(earlier).clone()
            deader = core.AddOp(dead.result, rng.choice((dead, op if op.result.type == dead.result.type else dead)).result)
            block.insert_ops_after([dead, deader], op)
    return other
