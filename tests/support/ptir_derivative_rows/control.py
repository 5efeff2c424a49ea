"""Ops with regions: branches and loops, alone and inside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from mind_dialect.ptir import (
    CondOp,
    CosOp,
    DotGeneralOp,
    ExpOp,
    ReciprocalOp,
    ReduceOp,
    ScanOp,
    SinOp,
    TanhOp,
    WhileOp,
)
from mind_dialect.ptir.types import SI64
from mind_passes.ptir.construct import add, compare, full, mul, scalar, scale, spec, sub

from .base import R, Row, between, positive

Value = SSAValue | Operation


def marked(op: Operation, name: str, value: Attribute) -> Operation:
    op.attributes[name] = value
    return op


def matvec(w: Value, h: Value) -> Operation:
    return DotGeneralOp(w, h, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))


def total(x: Value) -> Operation:
    return ReduceOp(x, kind="sum", axes=tuple(range(len(spec(x).shape))), keepdims=False)


# Branches


def branches(pred: SSAValue, x: SSAValue, y: SSAValue) -> Operation:
    """Residuals of one type in both branches, of another in one; `y` unused in a branch."""
    return CondOp(
        pred,
        x,
        y,
        true=lambda x, y: [mul(TanhOp(x), ExpOp(y)), total(mul(SinOp(x), SinOp(x)))],
        false=lambda x, y: [mul(ExpOp(SinOp(x)), x), scale(total(x), 3.0)],
    )


def constant_branch(pred: SSAValue, x: SSAValue) -> Operation:
    return CondOp(pred, x, true=lambda x: [full(2.0, x)], false=lambda x: [ExpOp(SinOp(x))])


def nested(pred: SSAValue, x: SSAValue) -> Operation:
    def inner(x: SSAValue) -> Operation:
        asked = compare("less", total(x), total(mul(x, x)))
        return CondOp(asked, x, true=lambda x: [ExpOp(SinOp(x))], false=lambda x: [mul(x, TanhOp(x))])

    return CondOp(pred, x, true=lambda x: [inner(x)], false=lambda x: [x])


def recomputed_cond(pred: SSAValue, x: SSAValue, y: SSAValue) -> Operation:
    return marked(branches(pred, x, y), "ptir.checkpoint", UnitAttr())


CONDS: list[Row] = [
    row
    for pred in (True, False)
    for row in (
        R(CondOp, "i1[] f64[3] f64[3]", data={0: pred}, build=branches, note=f"of two results, {pred}"),
        R(CondOp, "i1[] f64[2]", data={0: pred}, build=constant_branch, domain=(None, positive), note=f"constant, {pred}"),
        R(CondOp, "i1[] f64[4]", data={0: pred}, build=nested, note=f"in a branch, {pred}", smooth=pred),
        R(CondOp, "i1[] f64[3,1] f64[3,1]", data={0: pred}, build=recomputed_cond, note=f"recomputed, {pred}", smooth=False),
    )
]


# Scans


def rnn(w: SSAValue, h: SSAValue, xs: SSAValue) -> Operation:
    """Weights that are the same in each step, a state, and inputs."""

    def body(w: SSAValue, h: SSAValue, x: SSAValue) -> Sequence[Value]:
        state = TanhOp(add(matvec(w, h), x))
        return [w, state, mul(state, x)]

    return ScanOp(w, h, xs, carry_count=2, scan_output_count=1, body=body)


def checkpointed(mark: Attribute) -> Callable[..., Operation]:
    return lambda w, h, xs: marked(rnn(w, h, xs), "ptir.checkpoint", mark)


def exchanged(a: SSAValue, b: SSAValue, xs: SSAValue) -> Operation:
    """Carried values that change places; one is forgotten in each step."""
    return ScanOp(a, b, xs, carry_count=2, scan_output_count=1, body=lambda a, b, x: [mul(SinOp(b), x), a, mul(a, CosOp(b))])


def no_carry(xs: SSAValue, ys: SSAValue) -> Operation:
    return ScanOp(xs, ys, carry_count=0, scan_output_count=2, body=lambda x, y: [mul(x, TanhOp(y)), CosOp(x)])


def counted(x: SSAValue, xs: SSAValue) -> Operation:
    """An integer is carried beside the float, and asked."""

    def body(x: SSAValue, n: SSAValue, y: SSAValue) -> Sequence[Value]:
        odd = compare("greater", n, scalar(1, SI64))
        return [CondOp(odd, x, y, true=lambda x, y: [mul(x, y)], false=lambda x, y: [SinOp(x)]), add(n, scalar(1, SI64))]

    return ScanOp(x, scalar(0, SI64), xs, carry_count=2, scan_output_count=0, body=body)


def scan_in_scan(h: SSAValue, xs: SSAValue) -> Operation:
    def outer(h: SSAValue, row: SSAValue) -> Sequence[Value]:
        found = ScanOp(h, row, carry_count=1, scan_output_count=1, body=lambda h, x: [TanhOp(mul(h, x)), mul(h, h)])
        return [found.res[0], found.res[1]]

    return ScanOp(h, xs, carry_count=1, scan_output_count=1, body=outer)


def state_only(h: SSAValue, xs: SSAValue) -> Operation:
    return ScanOp(h, xs, carry_count=1, scan_output_count=0, body=lambda h, x: [TanhOp(SinOp(h))])


SCANS: list[Row] = [
    R(ScanOp, "f64[3,3] f64[3] f64[4,3]", build=rnn, note="of weights, state and inputs"),
    *(R(ScanOp, f"f64[2,2] f64[2] f64[{n},2]", build=rnn, note=f"of {n} steps", smooth=False) for n in (0, 1)),
    R(ScanOp, "f64[2,2] f64[2] f64[T,2]", build=rnn, extents={"T": 3}, note="of T steps", smooth=False),
    R(ScanOp, "f64[] f64[] f64[5]", build=exchanged, note="that exchanges"),
    R(ScanOp, "f64[3,2] f64[3,2]", build=no_carry, note="without state"),
    R(ScanOp, "f64[2] f64[4,2]", build=counted, note="that counts"),
    R(ScanOp, "f64[] f64[3,2]", build=scan_in_scan, note="in a scan"),
    R(ScanOp, "f64[2] f64[3]", build=state_only, note="without inputs", smooth=False),
    R(ScanOp, "f64[3,3] f64[3] f64[6,3]", build=checkpointed(UnitAttr()), note="recomputed", smooth=False),
    R(ScanOp, "f64[2,2] f64[2] f64[5,2]", build=checkpointed(StringAttr("every-2")), note="every-2"),
    R(ScanOp, "f64[3,3] f64[3] f64[9,3]", build=checkpointed(StringAttr("sqrt")), note="sqrt", smooth=False),
    R(ScanOp, "f64[3,3] f64[3] f64[2,3]", build=checkpointed(StringAttr("every-5")), note="every-5", smooth=False),
]


# Whiles


def power(x: SSAValue, w: SSAValue) -> Operation:
    """Five iterations, which the loop itself tells."""

    def body(n: SSAValue, x: SSAValue, w: SSAValue) -> Sequence[Value]:
        return [add(n, scalar(2, SI64)), SinOp(mul(x, w)), w]

    def asked(n: SSAValue, x: SSAValue, w: SSAValue) -> Sequence[Value]:
        return [compare("less", n, scalar(10, SI64)), n, x, w]

    return WhileOp(scalar(0, SI64), x, w, cond=asked, body=body)


def until_large(x: SSAValue, w: SSAValue) -> Operation:
    """As many iterations as the values need, at most 20; what is asked is computed with."""

    def asked(x: SSAValue, w: SSAValue) -> Sequence[Value]:
        return [compare("less", total(x), scalar(40.0, spec(x).dtype)), mul(x, w), w]

    def body(x: SSAValue, w: SSAValue) -> Sequence[Value]:
        return [mul(x, ExpOp(scale(x, 0.05))), w]

    return marked(WhileOp(x, w, cond=asked, body=body), "ptir.max_iterations", IntegerAttr(20, i64))


def until_near(x: SSAValue) -> Operation:
    """Newton's method for a square root: how often it iterates depends on the data."""

    def asked(y: SSAValue, x: SSAValue) -> Sequence[Value]:
        miss = sub(mul(y, y), x)
        return [compare("greater", mul(miss, miss), scalar(1e-8, spec(y).dtype)), y, x]

    def body(y: SSAValue, x: SSAValue) -> Sequence[Value]:
        return [scale(add(y, mul(x, ReciprocalOp(y))), 0.5), x]

    return marked(WhileOp(x, x, cond=asked, body=body), "ptir.max_iterations", IntegerAttr(40, i64))


def while_in_scan(x: SSAValue, xs: SSAValue) -> Operation:
    return ScanOp(x, xs, carry_count=1, scan_output_count=0, body=lambda h, x: [power(h, x).results[1]])


WHILES: list[Row] = [
    R(WhileOp, "f64[3] f64[3]", build=power, note="that counts"),
    R(WhileOp, "f64[] f64[]", build=power, note="that counts, rank 0", smooth=False),
    R(WhileOp, "f64[2] f64[2]", build=until_large, domain=between(1.1, 1.4), note="that computes in cond"),
    R(WhileOp, "f64[]", build=until_near, domain=between(2, 9), note="by Newton's method", smooth=False),
    R(WhileOp, "f64[2] f64[3,2]", build=while_in_scan, note="in a scan", smooth=False),
]

ROWS: list[Row] = [*CONDS, *SCANS, *WHILES]
