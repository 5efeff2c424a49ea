"""Programs of branches and loops, by what goes from iteration to iteration: the types of their arguments, and the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F32, SI32
from ptir_control_programs import number
from ptir_forms import attention, like, reduce


def dot(a: Any, b: Any) -> Any:
    return ptir.DotGeneralOp(a, b, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))


def across(a: Any, w: Any) -> Any:
    """Rows times rows, small: of weights that lie so, products are packed."""
    found = ptir.DotGeneralOp(a, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(1,))
    return ptir.MulOp(found, like(found, 0.1)).results[0]


def convolved(x: Any, w: Any) -> Any:
    """An image that keeps its size, small."""
    w = w if isinstance(w, SSAValue) else w.results[0]
    extents = w.type.get_shape()[:-2]
    ones, padding = (1,) * len(extents), tuple((n // 2, n // 2) for n in extents)
    found = ptir.ConvolutionOp(
        x, w, strides=ones, padding=padding, base_dilation=ones, window_dilation=ones, feature_group_count=1
    )
    return ptir.MulOp(found, like(found, 0.1)).results[0]


def scan(body: Callable[..., Any], *operands: Any, carries: int = 1, stacks: int = 0) -> Any:
    return ptir.ScanOp(*operands, carry_count=carries, scan_output_count=stacks, body=body).results


def counted(iterations: Any, body: Callable[..., Any], *operands: Any) -> Any:
    """A while of the given number of iterations, given as an si32; its results without the counter."""

    def cond(left: Any, *values: Any) -> Any:
        return [ptir.CompareOp(left, number(SI32, (), 0), kind="greater"), left, *values]

    def iteration(left: Any, *values: Any) -> Any:
        return [ptir.SubOp(left, number(SI32, (), 1)), *body(*values)]

    return ptir.WhileOp(iterations, *operands, cond=cond, body=iteration).results[1:]


def updated(x: Any, row: Any, at: Any) -> Any:
    """`x` with one row replaced."""
    rest = [number(SI32, (1,), 0)] * (len(x.type.get_shape()) - 1)
    place = ptir.ConcatOp(ptir.ReshapeOp(at, new_shape=(1,)), *rest, axis=0)
    return ptir.DynamicUpdateSliceOp(x, row, place, sizes=(1, *x.type.get_shape()[1:])).results[0]


def add(a: Any, b: Any) -> Any:
    return ptir.AddOp(a, b).results[0]


def neg(a: Any) -> Any:
    return ptir.NegOp(a).results[0]


def flipped(a: Any) -> Any:
    return ptir.TransposeOp(a, perm=(1, 0)).results[0]


def backwards(x: Any, *axes: int) -> Any:
    return ptir.ReverseOp(x, axes=axes).results[0]


def stacked(a: Any, s: Any) -> Any:
    return scan(lambda a, r: [add(a, r), neg(a)], a, s, stacks=1)[1]


def chosen(p: Any, true: Callable[..., Any], false: Callable[..., Any], *operands: Any) -> Any:
    return ptir.CondOp(p, *operands, true=true, false=false).results


LOOPS: dict[str, tuple[str, Callable[..., Any]]] = {
    "a value made from the one before": ("f32[4] f32[7,4]", lambda x, s: scan(lambda a, r: [ptir.TanhOp(add(a, r))], x, s)),
    "a product with the value before": (
        "f32[3,5] f32[5,5] f32[6,3,5]",
        lambda h, w, s: scan(lambda h, w, r: [ptir.TanhOp(add(dot(h, w), r)), w], h, w, s, carries=2),
    ),
    "a product, in a while": (
        "f32[3,5] f32[5,5] si32[]",
        lambda h, w, n: counted(n, lambda h, w: [ptir.TanhOp(dot(h, w)), w], h, w),
    ),
    "weights that no iteration changes": (
        "f32[7,40] f32[40,40] f32[6,7,40]",
        lambda h, w, s: scan(
            lambda h, w, r: [ptir.TanhOp(add(neg(across(h, w)), across(add(h, r), w))), w],
            h,
            ptir.ExpOp(w),
            s,
            carries=2,
        ),
    ),
    "weights that iterations change": (
        "f32[40,40] f32[40,40] si32[]",
        lambda h, w, n: counted(n, lambda h, w: [ptir.TanhOp(across(h, w)), ptir.TanhOp(across(w, h))], h, w),
    ),
    "weights of a branch in a loop": (
        "f32[7,40] f32[40,40] f32[] si32[]",
        lambda h, w, y, n: counted(
            n,
            lambda h, w, y: [
                chosen(
                    ptir.CompareOp(reduce(reduce(h, "max", 1, keepdims=False), "max", 0, keepdims=False), y, kind="less"),
                    lambda h, w: [across(h, w)],
                    lambda h, w: [neg(h)],
                    h,
                    w,
                )[0],
                w,
                y,
            ],
            h,
            w,
            y,
        ),
    ),
    "weights of loops in loops": (
        "f32[7,40] f32[40,40] f32[3,40,40] si32[]",
        lambda h, w, s, n: scan(
            lambda h, w, n, v: [
                counted(n, lambda h, w, v, u: [add(across(h, w), add(across(h, v), across(h, u))), w, v, u], h, w, v, neg(v))[0],
                w,
                n,
            ],
            h,
            w,
            n,
            s,
            carries=3,
        ),
    ),
    "weights of convolutions": (
        "f32[1,9,9,20] f32[20,20,3,3] f32[4,1,9,9,20]",
        lambda x, w, s: scan(
            lambda x, w, r: [add(r, convolved(x, ptir.TransposeOp(w, perm=(2, 3, 1, 0)))), w],
            x,
            w,
            s,
            carries=2,
        ),
    ),
    "keys and values that no iteration changes": (
        "f32[1,2,9,16] f32[1,2,20,16] f32[1,2,20,16] f32[4,1,2,9,16]",
        lambda x, k, v, s: scan(
            lambda x, k, v, r: [add(r, attention(x, k, v)), k, v],
            x,
            k,
            v,
            s,
            carries=3,
        ),
    ),
    "values that change places": (
        "f32[4] f32[4] f32[3,4]",
        lambda a, b, s: scan(lambda a, b, r: [b, a], a, b, s, carries=2),
    ),
    "a sum of the last two": ("f32[4] f32[4] si32[]", lambda a, b, n: counted(n, lambda a, b: [b, add(a, b)], a, b)),
    "three that go round, one of them new": (
        "f32[2,3] f32[3,3] f32[2,3] f32[2,3] si32[]",
        lambda a, w, b, c, n: counted(n, lambda a, w, b, c: [b, w, c, dot(a, w)], a, w, b, c),
    ),
    "a queue of what was stacked": (
        "f32[4] f32[4] f32[5,4]",
        lambda a, b, s: scan(lambda a, b, r: [t := add(neg(b), r), a, t], a, b, s, carries=2, stacks=1),
    ),
    "a queue of slices": (
        "f32[4] f32[4] f32[5,4]",
        lambda a, b, s: scan(lambda a, b, r: [r, a, add(b, r)], a, b, s, carries=2, stacks=1),
    ),
    "one value yielded three times": (
        "f32[4] f32[4] f32[5,4]",
        lambda a, b, s: scan(lambda a, b, r: [t := add(add(a, b), r), t, t], a, b, s, carries=2, stacks=1),
    ),
    "one value carried twice": (
        "f32[4] f32[4] si32[]",
        lambda a, b, n: counted(n, lambda a, b: [t := add(a, b), t], a, b),
    ),
    "an argument carried twice": (
        "f32[4] f32[4] f32[4] si32[]",
        lambda a, b, c, n: counted(n, lambda a, b, c: [b, b, add(a, c)], a, b, c),
    ),
    "what is passed through": (
        "f32[4] f32[4] f32[5,4]",
        lambda a, b, s: scan(lambda a, b, r: [a, add(b, a)], a, b, s, carries=2),
    ),
    "what is passed through, and carried on": (
        "f32[4] f32[4] si32[]",
        lambda a, b, n: counted(n, lambda a, b: [a, a], a, b),
    ),
    "the value before, stacked": (
        "f32[4] f32[7,4]",
        lambda a, s: scan(lambda a, r: [add(a, r), a], a, s, stacks=1),
    ),
    "a view of the value before": (
        "f32[4,4] f32[3,4,4]",
        lambda a, s: scan(lambda a, r: [add(flipped(a), r), flipped(a)], a, s, stacks=1),
    ),
    "views that change places": (
        "f32[3,3] f32[3,3] si32[]",
        lambda a, b, n: counted(n, lambda a, b: [flipped(b), flipped(a)], a, b),
    ),
    "constants yielded": (
        "f32[4] f32[5,4]",
        lambda a, s: scan(lambda a, r: [like(a, 2.0), add(a, r), like(a, 3.0)], a, s, stacks=2),
    ),
    "inputs transposed, reversed, broadcast and counted": (
        "f32[3] f32[3,5] f32[1,3]",
        lambda a, s, b: scan(
            lambda a, x, y, z, i: [add(add(ptir.MulOp(a, x), add(y, z)), i)],
            a,
            flipped(s),
            ptir.ReverseOp(flipped(s), axes=(0, 1)),
            ptir.BroadcastToOp(b, result_shape=(5, 3)),
            ptir.IotaOp(shape=(5, 3), dtype="f32", axis=0),
        ),
    ),
    "no carry": ("f32[5,4]", lambda s: scan(lambda r: [neg(r), reduce(r, "sum", 0, keepdims=False)], s, carries=0, stacks=2)),
    "one iteration": ("f32[4] f32[1,4]", lambda a, s: scan(lambda a, r: [add(a, r), add(r, r)], a, s, stacks=1)),
    "a stack that is reversed": ("f32[4] f32[5,4]", lambda a, s: backwards(stacked(a, s), 0)),
    "a stack that is reversed, with the carry in it": (
        "f32[4] f32[4] f32[5,4]",
        lambda a, b, s: backwards(scan(lambda a, b, r: [t := add(neg(b), r), a, t], a, b, s, carries=2, stacks=1)[2], 0),
    ),
    "a reversed stack in a loop": ("f32[3,2] f32[4,2]", lambda x, s: scan(lambda x, r: [backwards(stacked(r, x), 0)], x, s)),
    "a stack in both orders": ("f32[4] f32[5,4]", lambda a, s: [t := stacked(a, s), backwards(t, 0)]),
    "a stack that is reversed along two axes": ("f32[4] f32[5,4]", lambda a, s: backwards(stacked(a, s), 0, 1)),
    "no iteration": ("f32[4] f32[0,4]", lambda a, s: scan(lambda a, r: [add(a, r), add(r, r)], a, s, stacks=1)),
    "no elements": ("f32[0] f32[5,0]", lambda a, s: scan(lambda a, r: [add(a, r), add(r, r)], a, s, stacks=1)),
    "a loop in a loop": (
        "f32[4] f32[3,4] si32[]",
        lambda a, s, n: scan(lambda a, n, r: [counted(n, lambda a, r: [add(a, r), r], a, r)[0], n], a, n, s, carries=2),
    ),
    "a loop in a loop in a loop": (
        "f32[2,3] f32[3,3] f32[4,2,3] si32[]",
        lambda a, w, s, n: counted(
            n,
            lambda a, w, s: [
                (made := scan(lambda a, w, r: [ptir.TanhOp(add(dot(a, w), r)), w, a], a, w, s, carries=2, stacks=1))[0],
                w,
                scan(lambda x, r: [add(x, r), x], a, made[2], stacks=1)[1],
            ],
            a,
            w,
            s,
        ),
    ),
    "branches in a loop": (
        "f32[4] f32[6,4] f32[]",
        lambda a, s, y: scan(
            lambda a, y, r: [
                chosen(
                    ptir.CompareOp(reduce(a, "sum", 0, keepdims=False), y, kind="less"),
                    lambda a, r: [add(a, r)],
                    lambda a, r: [neg(a)],
                    a,
                    r,
                )[0],
                y,
            ],
            a,
            y,
            s,
            carries=2,
        ),
    ),
    "a cache written row by row": (
        "f32[6,4] f32[4,4] si32[]",
        lambda c, s, n: [
            counted(
                n,
                lambda c, d, i: [
                    updated(
                        updated(c, ptir.SliceOp(d, starts=(1, 0), sizes=(1, 4)), i),
                        like(ptir.SliceOp(d, starts=(0, 0), sizes=(1, 4)), 7.0),
                        add(i, i),
                    ),
                    add(d, like(d, 1.0)),
                    add(i, number(SI32, (), 1)),
                ],
                c,
                s,
                number(SI32, (), 0),
            )[0]
        ],
    ),
    "what a test computes is carried": (
        "f32[4] si32[]",
        lambda a, n: (
            ptir.WhileOp(
                a,
                n,
                cond=lambda a, n: [
                    ptir.CompareOp(n, number(SI32, (), 0), kind="greater"),
                    add(a, a),
                    ptir.SubOp(n, number(SI32, (), 1)),
                ],
                body=lambda a, n: [neg(a), n],
            ).results
        ),
    ),
    "a test that makes the next value": (
        "f32[4] f32[4] si32[]",
        lambda a, b, n: (
            ptir.WhileOp(
                a,
                b,
                n,
                cond=lambda a, b, n: [
                    ptir.CompareOp(n, number(SI32, (), 0), kind="greater"),
                    a,
                    ptir.TanhOp(a),
                    ptir.SubOp(n, number(SI32, (), 1)),
                ],
                body=lambda a, b, n: [b, neg(b), n],
            ).results
        ),
    ),
    "a test that changes places": (
        "f32[4] f32[4] si32[]",
        lambda a, b, n: (
            ptir.WhileOp(
                a,
                b,
                n,
                cond=lambda a, b, n: [
                    ptir.CompareOp(n, number(SI32, (), 0), kind="greater"),
                    b,
                    a,
                    ptir.SubOp(n, number(SI32, (), 1)),
                ],
                body=lambda a, b, n: [a, add(a, b), n],
            ).results
        ),
    ),
    "truths": (
        "i1[4] i1[6,4]",
        lambda a, s: scan(lambda a, r: [ptir.XorOp(a, r), ptir.AndOp(a, r)], a, s, stacks=1),
    ),
    "complex numbers, only moved": ("cf32[4] cf32[5,4]", lambda a, s: scan(lambda a, r: [r, a], a, s, stacks=1)),
}

BRANCHES: dict[str, tuple[str, Callable[..., Any]]] = {
    "either": ("i1[] f32[4] f32[4]", lambda p, x, y: chosen(p, lambda x, y: [add(x, y)], lambda x, y: [ptir.TanhOp(x)], x, y)),
    "passed through": ("i1[] f32[4] f32[4]", lambda p, x, y: chosen(p, lambda x, y: [neg(x), y], lambda x, y: [x, y], x, y)),
    "changed places": ("i1[] f32[4] f32[4]", lambda p, x, y: chosen(p, lambda x, y: [x, y], lambda x, y: [y, x], neg(x), neg(y))),
    "one value twice": (
        "i1[] f32[4]",
        lambda p, x: chosen(p, lambda x: [t := neg(x), t], lambda x: [x, like(x, 2.0)], x),
    ),
    "views": ("i1[] f32[3,3]", lambda p, x: chosen(p, lambda x: [flipped(x)], lambda x: [flipped(flipped(neg(x)))], x)),
    "an update of what dies": (
        "i1[] f32[4,3] f32[1,3] si32[]",
        lambda p, x, r, i: chosen(p, lambda x, r, i: [updated(x, r, i)], lambda x, r, i: [x], neg(x), r, i),
    ),
    "an update of what is used afterwards": (
        "i1[] f32[4,3] f32[1,3] si32[]",
        lambda p, x, r, i: [
            *chosen(p, lambda x, r, i: [updated(x, r, i)], lambda x, r, i: [x], y := neg(x), r, i),
            y,
        ],
    ),
    "within each other": (
        "i1[] f32[4] i1[]",
        lambda p, x, q: chosen(
            p,
            lambda x, q: [chosen(q, lambda x: [neg(x)], lambda x: [add(x, x)], x)[0]],
            lambda x, q: [chosen(q, lambda x: [x], lambda x: [ptir.TanhOp(x)], add(x, x))[0]],
            x,
            q,
        ),
    ),
    "a predicate that is computed": (
        "f32[] f32[4]",
        lambda y, x: chosen(ptir.CompareOp(y, number(F32, (), 0.5), kind="less"), lambda x: [neg(x)], lambda x: [add(x, x)], x),
    ),
    "loops": (
        "i1[] f32[4] si32[]",
        lambda p, x, n: chosen(
            p,
            lambda x, n: counted(n, lambda x: [add(x, x)], x),
            lambda x, n: counted(n, lambda x: [neg(x)], x),
            x,
            n,
        ),
    ),
}
BOTH = {**LOOPS, **{f"branch: {name}": row for name, row in BRANCHES.items()}}
"""All of them."""
