"""
Ops with regions. A fusion is what its body is, a branch takes its arguments by capture, a scan counts its iterations.

A loop also carries what else its body needs or changes: the number of the iteration where it draws random numbers, and the
number of the first op that was wrong where it has checked ones.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.ir import Attribute, Operation, Region, SSAValue

from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.extents.dims import add_dims
from mind_dialect.ptir.control import yielded
from mind_dialect.ptir.types import I1, SI32, UI64, PtirDType
from mind_passes.ptir.ragged import expansion

from .builder import StablehloBuilder, Values, dtype_of, shape_of, stablehlo_type, static
from .checks import is_checked
from .structural import dynamic_slice

Inline = Callable[[StablehloBuilder, Region, Sequence[SSAValue]], Values]
"""Emits the ops of a region, given its parameters, and returns what it yields."""


def holds_checks(b: StablehloBuilder, *regions: Region) -> bool:
    """Return whether the program reports what is wrong, and one of the regions may be."""
    return b.fault is not None and any(map(is_checked, _ops(regions)))


def holds_random(*regions: Region) -> bool:
    """Return whether one of the regions draws random numbers."""
    return any(isinstance(op, ptir.RandomOp) for op in _ops(regions))


def _ops(regions: Sequence[Region]) -> Iterator[Operation]:
    for region in regions:
        for op in region.block.ops:
            yield from walk(op)


def fusion(b: StablehloBuilder, op: ptir.FusionOp, x: Values, inline: Inline) -> Values:
    return inline(b, op.regions[0], x)


def ragged_dot(b: StablehloBuilder, op: ptir.RaggedDotOp, x: Values, inline: Inline) -> Values:
    """As the masked products that it means."""
    return inline(b, expansion(op), x)


def cond(b: StablehloBuilder, op: ptir.CondOp, x: Values, inline: Inline) -> Values:
    checked = holds_checks(b, *op.regions)
    before = b.fault

    def branch(region: Region) -> Region:
        def body(_: Sequence[SSAValue]) -> Values:
            b.fault = before
            found = inline(b, region, x[1:])
            return [*found, *_fault(b, checked)]

        return b.region([], body)

    regions = [branch(region) for region in op.regions]
    types: list[Attribute] = [stablehlo_type(spec.dtype, static(spec)) for spec in map(op.result_spec, range(len(op.results)))]
    made = b.add("if", [x[0]], [*types, *([_FAULT] if checked else [])], None, regions)
    b.fault = made.pop() if checked else before
    return made


def while_loop(b: StablehloBuilder, op: ptir.WhileOp, x: Values, inline: Inline) -> Values:
    """
    A loop whose condition yields its arguments as they are is one of StableHLO.

    Any other becomes one that carries whether it goes on, asked before it and after each iteration.
    """
    test, body = op.regions
    checked, random = holds_checks(b, test, body), holds_random(test, body)
    passes = list(yielded(test.block)[1:]) == list(test.block.args)
    if passes and not holds_checks(b, test) and not holds_random(test):
        return _direct(b, op, x, inline, checked=checked, random=random)
    return _rotated(b, op, x, inline, checked=checked, random=random)


_FAULT = stablehlo_type(SI32, ())


def _fault(b: StablehloBuilder, checked: bool) -> Values:
    return [b.fault] if checked and b.fault is not None else []


@contextmanager
def _iteration(b: StablehloBuilder, number: SSAValue | None) -> Generator[None]:
    """While the body of a loop is emitted whose iterations have numbers."""
    if number is None:
        yield
        return
    b.iterations.append(number)
    try:
        yield
    finally:
        b.iterations.pop()


def _next(b: StablehloBuilder, number: SSAValue) -> SSAValue:
    return b("add", number, b.scalar(1, dtype_of(number)))


def _direct(b: StablehloBuilder, op: ptir.WhileOp, x: Values, inline: Inline, *, checked: bool, random: bool) -> Values:
    count = len(x)
    start = [*x, *([b.scalar(0, UI64)] if random else []), *_fault(b, checked)]
    types = [v.type for v in start]

    def body(v: Sequence[SSAValue]) -> Values:
        number = v[count] if random else None
        if checked:
            b.fault = v[-1]
        with _iteration(b, number):
            found = inline(b, op.regions[1], v[:count])
        return [*found, *([] if number is None else [_next(b, number)]), *_fault(b, checked)]

    before = b.fault
    test = b.region(types, lambda v: inline(b, op.regions[0], v[:count])[:1])
    made = b.add("while", start, types, None, [test, b.region(types, body)])
    b.fault = made[-1] if checked else before
    return made[:count]


def _rotated(b: StablehloBuilder, op: ptir.WhileOp, x: Values, inline: Inline, *, checked: bool, random: bool) -> Values:
    test, region = op.regions
    zero = b.scalar(0, UI64) if random else None
    with _iteration(b, zero):
        first = inline(b, test, x)
    start = [*first, *([] if zero is None else [zero]), *_fault(b, checked)]
    types = [v.type for v in start]
    count = len(first)

    def body(v: Sequence[SSAValue]) -> Values:
        number = v[count] if random else None
        if checked:
            b.fault = v[-1]
        with _iteration(b, number):
            found = inline(b, region, v[1:count])
        after = None if number is None else _next(b, number)
        with _iteration(b, after):
            found = inline(b, test, found)
        return [*found, *([] if after is None else [after]), *_fault(b, checked)]

    before = b.fault
    made = b.add("while", start, types, None, [b.region(types, lambda v: v[:1]), b.region(types, body)])
    b.fault = made[-1] if checked else before
    return made[1:count]


def scan(b: StablehloBuilder, op: ptir.ScanOp, x: Values, inline: Inline) -> Values:
    """A loop over a counter: each iteration reads a slice of what is scanned and writes one of what is stacked."""
    count = op.num_carries
    length = op.trip_count
    spare = 0 if b.has_elements(length) or length == 0 else 1  # a row that keeps accesses well-formed where there is none
    scanned = [_with_spare(b, value, spare) for value in x[count:]]
    results = [op.result_spec(i) for i in range(count, len(op.results))]
    stacks = [b.fill(_zero(s.dtype), (s.dtype, (add_dims(length, spare), *s.shape[1:]))) for s in results]
    checked = holds_checks(b, *op.regions)
    start = [b.scalar(0, SI32), *x[:count], *stacks, *scanned, *_fault(b, checked)]
    types = [v.type for v in start]
    first_scanned = 1 + count + len(stacks)

    def body(v: Sequence[SSAValue]) -> Values:
        number, carried, written = v[0], v[1 : 1 + count], v[1 + count : first_scanned]
        inputs = v[first_scanned : first_scanned + len(scanned)]
        if checked:
            b.fault = v[-1]
        with _iteration(b, number):
            found = inline(b, op.regions[0], [*carried, *(_row(b, value, number) for value in inputs)])
        new = [_written(b, into, row, number) for into, row in zip(written, found[count:], strict=True)]
        return [_next(b, number), *found[:count], *new, *inputs, *_fault(b, checked)]

    before = b.fault
    test = b.region(types, lambda v: [b.compare("LT", v[0], b.extent(length, SI32))])
    made = b.add("while", start, types, None, [test, b.region(types, body)])
    b.fault = made[-1] if checked else before
    stacked = made[1 + count : first_scanned]
    return [*made[1 : 1 + count], *(b.slice(v, [0] * len(s.shape), s.shape) for v, s in zip(stacked, results, strict=True))]


def _zero(dtype: PtirDType) -> int:
    return False if dtype is I1 else 0


def _with_spare(b: StablehloBuilder, x: SSAValue, rows: int) -> SSAValue:
    """`x` with further rows of zeros."""
    none = [0] * len(shape_of(x))
    return b.pad(x, b.scalar(_zero(dtype_of(x)), dtype_of(x)), none, [rows, *none[1:]], none) if rows else x


def _row(b: StablehloBuilder, x: SSAValue, number: SSAValue) -> SSAValue:
    """`x[number]`."""
    rest = shape_of(x)[1:]
    if not shape_of(x)[0]:  # a loop without iterations, whose body must be well-formed all the same
        return b.fill(_zero(dtype_of(x)), (dtype_of(x), rest))
    zero = b.scalar(0, SI32)
    return b.reshape(dynamic_slice(b, x, [number, *[zero] * len(rest)], (1, *rest)), rest)


def _written(b: StablehloBuilder, into: SSAValue, row: SSAValue, number: SSAValue) -> SSAValue:
    """`into` with `row` at `number`."""
    shape = shape_of(row)
    if not shape_of(into)[0]:
        return into
    zero = b.scalar(0, SI32)
    return b("dynamic_update_slice", into, b.reshape(row, (1, *shape)), number, *[zero] * len(shape))


RULES: Mapping[type[ptir.PtirOp], Any] = {
    ptir.FusionOp: fusion,
    ptir.RaggedDotOp: ragged_dot,
    ptir.CondOp: cond,
    ptir.WhileOp: while_loop,
    ptir.ScanOp: scan,
}
"""Each rule returns all results of its op, given what emits a region."""
