"""
Batching of ops with regions.

A loop whose condition is the same for all examples runs once, with batched values. Where examples go different ways, both
branches of a `cond` are computed and selected from if nothing in them can fail; all else is a loop over the examples.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.ptir.types import I1, Kind, read_type
from mind_dialect.ptir_shapes import UNKNOWN

from ..ptir import construct as c
from ..ptir.building import element_bytes
from .driver import Driver, RegionRow
from .rules import Flags, Value, Values, batched_type, from_front, spread

FALLIBLE = (ptir.TakeOp, ptir.GatherOp, ptir.ScatterOp, ptir.SegmentReduceOp, ptir.WhileOp, ptir.CustomCallOp)
"""Ops whose run may end in an error, or not end."""
_ANY_SIZES = (
    *(
        ptir.ReduceOp,
        ptir.TransposeOp,
        ptir.PadOp,
        ptir.TileOp,
        ptir.ReverseOp,
        ptir.CumulativeSumOp,
        ptir.CumulativeOp,
        ptir.SortOp,
        ptir.ConstantOp,
    ),
    *(ptir.RegionOp, ptir.YieldOp),
)
"""Ops that take dynamic dimensions of any size."""


def may_fail(root: Operation) -> bool:
    """Return whether a run of what `root` holds may end in an error that depends on the values, or not end."""
    return any(op is not root and _may_fail(op) for op in walk(root))


def _may_fail(op: Operation) -> bool:
    if not isinstance(op, ptir.PtirOp) or isinstance(op, FALLIBLE):
        return True
    if isinstance(op, ptir.DivOp | ptir.RemainderOp) and read_type(op.operands[1].type).dtype.kind in (
        Kind.SIGNED,
        Kind.UNSIGNED,
    ):
        found = element_bytes(op.operands[1])
        return found is None or not any(found)
    shapes = [read_type(v.type).shape for v in (*op.operands, *op.results)]
    if all(isinstance(n, int) for shape in shapes for n in shape):
        return False
    if any(UNKNOWN in shape for shape in shapes):
        return True
    alike = ptir.FUSIBLE.get(type(op)) == "elementwise" and all(shape == shapes[0] for shape in shapes)
    return not (alike or isinstance(op, _ANY_SIZES))


# cond


def branched(driver: Driver, op: ptir.CondOp, xs: Values, flags: Flags) -> Value | Sequence[Value]:
    """Batched branches; for a batched predicate both, and of each example's results those of its own branch."""
    if not flags[0]:
        outs = [driver.is_batched(r) for r in op.results]
        regions = [driver.region(r.block, flags[1:], outs) for r in op.regions]
        types = driver.types(op.results)
        return ptir.CondOp.create(operands=xs, attributes=dict(op.attributes), result_types=types, regions=regions)
    if may_fail(op):
        return driver.loop(op, xs, flags)
    on_true, on_false = (driver.inline(region.block, xs[1:]) for region in op.regions)
    return [_selected(driver, xs[0], t, f) for t, f in zip(on_true, on_false, strict=True)]


def _selected(driver: Driver, pred: SSAValue, on_true: tuple[SSAValue, bool], on_false: tuple[SSAValue, bool]) -> Value:
    """For each example the value of its branch."""
    values = [spread(*each, driver.size) for each in (on_true, on_false)]
    shape = c.dims(values[0])
    return c.where(c.broadcast(c.reshape(pred, (driver.size, *[1] * (len(shape) - 1))), shape), *values)


def _cond_enters(op: ptir.CondOp, i: int) -> Sequence[SSAValue]:
    return op.results if i == 0 else [region.block.args[i - 1] for region in op.regions]


def _cond_leaves(op: ptir.CondOp, region: int, i: int) -> Sequence[SSAValue]:
    return [op.results[i]]


# while


def repeated(driver: Driver, op: ptir.WhileOp, xs: Values, flags: Flags) -> Value | Sequence[Value]:
    """A batched loop, of which each example takes what its own iterations give it."""
    condition = op.cond_region.block.last_op
    assert condition is not None, "verified"
    if driver.is_batched(condition.operands[0]):
        return driver.loop(op, xs, flags) if may_fail(op) else _masked(driver, op, xs, flags)
    carried = [driver.is_batched(r) for r in op.results]
    initial = [driver.spread(x, flag, out) for x, flag, out in zip(xs, flags, carried, strict=True)]
    cond = driver.region(op.cond_region.block, carried, [False, *carried])
    body = driver.region(op.body_region.block, carried, carried)
    types = driver.types(op.results)
    return ptir.WhileOp.create(operands=initial, attributes=dict(op.attributes), result_types=types, regions=[cond, body])


def _masked(driver: Driver, op: ptir.WhileOp, xs: Values, flags: Flags) -> Sequence[Value]:
    """
    A loop that iterates while any example goes on; those that do not keep what they carry.

    It carries which examples go on. The region `cond` gives an example that went on what it passes, at its end too.
    """
    size = driver.size
    going = driver.place(c.broadcast(c.scalar(True, I1), (size,)))
    initial = [driver.spread(x, flag, True) for x, flag in zip(xs, flags, strict=True)]
    types = [going.type, *driver.types(op.results)]

    def tested(before: SSAValue, carried: Values) -> list[Value]:
        (go_on, _), *passed = driver.inline(op.cond_region.block, carried)
        still = c.make(ptir.AndOp, before, go_on)
        return [c.reduce("max", still, (0,)), still, *_kept(driver, before, passed, carried)]

    def turned(still: SSAValue, carried: Values) -> list[Value]:
        return [still, *_kept(driver, still, driver.inline(op.body_region.block, carried), carried)]

    regions = [driver.built(types, lambda args, part=part: part(args[0], args[1:])) for part in (tested, turned)]
    made = ptir.WhileOp.create(operands=[going, *initial], attributes=dict(op.attributes), result_types=types, regions=regions)
    return made.results[1:]


def _kept(driver: Driver, going: SSAValue, found: Sequence[tuple[SSAValue, bool]], carried: Values) -> list[Value]:
    """Select what each example carries on: the new value if it goes on, else the one that it had."""
    pairs = zip(found, carried, strict=True)
    return [old if new[0] is old else _selected(driver, going, new, (old, True)) for new, old in pairs]


def _while_carries(op: ptir.WhileOp, i: int) -> Sequence[SSAValue]:
    return [op.cond_region.block.args[i], op.body_region.block.args[i], op.results[i]]


def _while_leaves(op: ptir.WhileOp, region: int, i: int) -> Sequence[SSAValue]:
    if region == 0:
        return [v for k in range(len(op.operands)) for v in _while_carries(op, k)] if i == 0 else _while_carries(op, i - 1)
    return _while_carries(op, i)


# scan


def scanned(driver: Driver, op: ptir.ScanOp, xs: Values, flags: Flags) -> Sequence[Value]:
    """The steps stay along axis 0 of what is scanned and stacked; there the batch is axis 1, in the body axis 0."""
    count = op.num_carries
    outs = [driver.is_batched(r) for r in op.results]
    initial = [driver.spread(x, flag, out) for x, flag, out in zip(xs[:count], flags[:count], outs[:count], strict=True)]
    inputs = [driver.place(from_front(x, 1)) if flag else x for x, flag in zip(xs[count:], flags[count:], strict=True)]
    body = driver.region(op.body_region.block, [*outs[:count], *flags[count:]], outs)
    stacked = [batched_type(r.type, driver.size, int(i >= count)) if out else r.type
               for i, (r, out) in enumerate(zip(op.results, outs, strict=True))]  # fmt: skip
    made = ptir.ScanOp.create(
        operands=[*initial, *inputs],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        result_types=stacked,
        regions=[body],
    )
    carried, stacks = made.results[:count], made.results[count:]
    moved = [from_front(r, 1) if out else r for r, out in zip(stacks, outs[count:], strict=True)]
    return [*carried, *moved]


def _scan_enters(op: ptir.ScanOp, i: int) -> Sequence[SSAValue]:
    argument = op.body_region.block.args[i]
    return [argument, op.results[i]] if i < op.num_carries else [argument]


def _scan_leaves(op: ptir.ScanOp, region: int, i: int) -> Sequence[SSAValue]:
    return _scan_enters(op, i) if i < op.num_carries else [op.results[i]]


_GOES_ON = "the condition is batched and an iteration may fail, or not end, at run time"

CONTROL: dict[type[ptir.PtirOp], RegionRow] = {
    ptir.CondOp: RegionRow(
        branched, _cond_enters, _cond_leaves, "the predicate is batched and a branch may fail, or not end, at run time"
    ),
    ptir.WhileOp: RegionRow(repeated, _while_carries, _while_leaves, _GOES_ON),
    ptir.ScanOp: RegionRow(scanned, _scan_enters, _scan_leaves),
}
