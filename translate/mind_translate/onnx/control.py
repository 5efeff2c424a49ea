"""
Rows of branches and loops: If, Loop and Scan with their graphs as regions.

PTIR's regions see their arguments only: what a graph reads from outside becomes an operand, and a loop carries it unchanged.
Known arrays become constants inside. A branch that is known at import is inlined. A Loop that counts becomes a
scan, others a while; one over sequences, or whose values change their types, is unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.extents.dims import are_equal
from mind_dialect.ptir.types import SI64, read_type
from mind_dialect.ptir_shapes import Dim
from mind_dialect.shapes import inverse_permutation

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow, Values
from .emitter import HOW_SIZED
from .extents import dim_of, greatest, settled
from .node import Node, axis_of
from .values import Sequenced, Unusable, Value

MOST_UNROLLED = 1024
"""Iterations of a Loop that are written one after another."""


def _values(to: OnnxConverter, found: Sequence[Any]) -> list[SSAValue]:
    return [to.value(v) for v in found]


def _alike(to: OnnxConverter, found: Sequence[SSAValue], wanted: Sequence[SSAValue], what: str) -> None:
    """Raise `Refused` unless values have the same types."""
    for x, y in zip(found, wanted, strict=True):
        if x.type != y.type:
            raise Refused(f"{what} of {read_type(x.type)} and {read_type(y.type)}", "give both the same type")


def _flat(found: Sequence[Any]) -> list[Any]:
    """Values with the elements of sequences in their places."""
    return [x for v in found for x in (v if isinstance(v, Sequenced) else [v])]


def _if(to: OnnxConverter, node: Node) -> Values:
    """A sequence that branches return is one of as many values of the run, of the same types in both."""
    then, other = node.graph("then_branch"), node.graph("else_branch")
    if isinstance(node.raw(0), np.ndarray):
        return to.inlined(then if bool(node.number(0)) else other, [])
    names = to.captured(then, other)
    held: list[list[SSAValue]] = []
    lengths: list[list[int | None]] = []

    def branch(graph: Any) -> Any:
        def body(_: Values) -> Values:
            found = to.inlined(graph, [])
            lengths.append([len(v) if isinstance(v, Sequenced) else None for v in found])
            held.append(_values(to, _flat(found)))
            return held[-1]

        return to.landed([], names, body)

    regions = [branch(then), branch(other)]
    if lengths[0] != lengths[1]:
        raise Refused("branches that return sequences of different lengths", "give both as many elements")
    _alike(to, held[0], held[1], "branches that return tensors")
    values = to.outer_values(names)
    results = iter(to.add(ptir.CondOp(to.reshape(node.x(), ()), *values, true=regions[0], false=regions[1])).results)
    return [next(results) if n is None else Sequenced(islice(results, n)) for n in lengths[0]]


def _loop(to: OnnxConverter, node: Node) -> Values:
    body = node.graph("body")
    count = max(0, len(node.operands) - 2)
    given = [node.raw(i + 2) for i in range(count)]
    rows = len(body.output) - 1 - count
    if rows < 0 or len(body.input) != count + 2:
        raise error("E8005", f"a body of {len(body.input)} inputs for {count} values", region=0, expected=count + 2, actual=0)
    start = np.array(True) if not node.has(1) else node.raw(1)
    if isinstance(start, np.ndarray) and node.has(1) and not bool(node.number(1)):
        return _counted(to, body, _values(to, given), 0) if rows else given
    trips = node.raw(0) if node.has(0) else None
    is_known = isinstance(start, np.ndarray) and isinstance(trips, np.ndarray)
    goes_on, is_steady = _tried(to, body, given)
    if is_known and goes_on and is_steady:
        return _counted(to, body, _values(to, given), _trip_count(node))
    if is_known and (rows or not is_steady):
        return _unrolled(to, body, given, rows, _trip_count(node))
    if rows or not is_steady:
        what = "with scan outputs" if rows else "over sequences, or that changes a type,"
        raise Refused(f"the trip count and the condition of a Loop {what} must be known values", _how_known(node))
    return _while(to, node, body, _values(to, given), start)


def _how_known(node: Node) -> str:
    """Return what makes the trip count and the condition of a Loop known."""
    data = [node.proto.input[i] for i in (0, 1) if node.has(i) and not isinstance(node.raw(i), np.ndarray)]
    pinned = ", ".join(f"{name!r}: ..." for name in data)
    how = "make them initializers, and let the condition stay true"
    return how + (f", or pass static={{{pinned}}} if they are inputs" if data else "")


def _trip_count(node: Node) -> Dim:
    """Return the known number of iterations, which may be a size with names."""
    return dim_of(settled(greatest(np.asarray(node.number(0)), np.array(0))).item())


def _type(to: OnnxConverter, value: Value) -> object:
    """The type of a value; None of a sequence, which has one value for each element, and the value of what is refused."""
    return value if isinstance(value, Unusable) else None if isinstance(value, Sequenced) else to.spec(to.value(value))


def _tried(to: OnnxConverter, body: Any, carried: Values) -> tuple[bool, bool]:
    """Return whether the condition of a body stays true, and whether its values keep their types; sequences have none."""

    def run() -> tuple[bool, bool]:
        values: list[Value] = [v if isinstance(v, Sequenced) else to.value(v) for v in carried]
        goes, *found = to.inlined(body, [to.fill(0, SI64), np.array(True), *values])
        pairs = [(_type(to, x), _type(to, y)) for x, y in zip(values, found[: len(values)], strict=True)]
        is_steady = all(isinstance(y, Unusable) or (x is not None and x == y) for x, y in pairs)
        return isinstance(goes, np.ndarray) and goes.size == 1 and bool(goes.all()), is_steady

    return to.trial(run)


def _unrolled(to: OnnxConverter, body: Any, carried: Values, rows: int, trips: Dim) -> Values:
    """The iterations one after another, until the condition is known to be false."""
    if not isinstance(trips, int) or trips > MOST_UNROLLED:
        raise Refused(
            f"a Loop that is unrolled, with the trip count {trips}",
            f"at most {MOST_UNROLLED} iterations are unrolled; {HOW_SIZED}",
        )
    stacked: list[list[SSAValue]] = [[] for _ in range(rows)]
    for i in range(trips):
        goes, *found = to.inlined(body, [np.array(i, np.int64), np.array(True), *carried])
        carried = found[: len(carried)]
        for sequence, value in zip(stacked, _values(to, found[len(carried) :]), strict=True):
            sequence.append(to.reshape(value, (1, *to.shape(value))))
        if not isinstance(goes, np.ndarray):
            what = "a Loop with scan outputs, over sequences or that changes a type, whose condition depends on data"
            raise Refused(what, "give it a condition that is true")
        if not goes.all():
            break
    if rows and not stacked[0]:
        raise Refused("a Loop of zero iterations that changes a type", "remove it")
    return [*carried, *(to.concat(xs, 0) for xs in stacked)]


def _counted(to: OnnxConverter, body: Any, carried: Values, trips: Dim) -> Values:
    names = to.captured(body)
    outer = to.outer_values(names)
    rows = len(body.output) - 1 - len(carried)

    def iteration(carries: Values, xs: Values) -> tuple[Values, Values]:
        own, captured = carries[: len(carried)], carries[len(carried) :]
        found = _in_scope(to, names, captured, body, [xs[0], np.array(True), *own])
        _alike(to, found[1 : 1 + len(own)], own, "a Loop that changes a type: values")
        return [*found[1 : 1 + len(own)], *captured], found[1 + len(own) :]

    after, stacked = to.scan([*carried, *outer], [to.counted(trips)], rows, iteration)
    return [*after[: len(carried)], *stacked]


def _in_scope(to: OnnxConverter, names: Sequence[str], captured: Values, body: Any, arguments: Values) -> list[Any]:
    """The outputs of a graph whose captured names are the arguments of a region; the first may stay known."""
    outer, to.scope = to.scope, to.inner_scope(names, captured)
    try:
        found = to.inlined(body, arguments)
    finally:
        to.scope = outer
    return [found[0] if isinstance(found[0], np.ndarray) else to.value(found[0]), *_values(to, found[1:])]


def _while(to: OnnxConverter, node: Node, body: Any, carried: Values, start: Any) -> Values:
    """Carries the iteration, the condition, the values and what the body reads."""
    names = to.captured(body)
    outer = to.outer_values(names)
    limit = to.reshape(node.x(0), ()) if node.has(0) else to.fill((1 << 63) - 1, SI64)
    initial = [to.fill(0, SI64), limit, to.reshape(to.value(start), ()), *carried, *outer]
    types = [v.type for v in initial]
    n = 3 + len(carried)

    def goes_on(v: Values) -> Values:
        return [to.emit(ptir.AndOp, v[2], to.compare("less", v[0], v[1])), *v]

    def iteration(v: Values) -> Values:
        found = _in_scope(to, names, v[n:], body, [v[0], v[2], *v[3:n]])
        own = found[1:]
        _alike(to, own, v[3:n], "a Loop that changes a type: values")
        return [to.plus(v[0], 1), v[1], to.reshape(to.value(found[0]), ()), *own, *v[n:]]

    made = ptir.WhileOp(*initial, cond=to.region(types, goes_on), body=to.region(types, iteration))
    return to.add(made).results[3:n]


def _scan(to: OnnxConverter, node: Node) -> Values:
    """Axes and directions of inputs and outputs are transposes and reverses around a loop over axis 0."""
    body, m = node.graph("body"), node.int("num_scan_inputs")
    n = len(node.operands) - m
    k = len(body.output) - n
    if m < 1 or n < 0 or k < 0 or len(body.input) != n + m:
        raise error("E8005", f"a body of {len(body.input)} inputs", region=0, expected=n + m, actual=len(body.input))
    carried = [node.x(i) for i in range(n)]
    xs = [
        _turned(to, node.x(n + i), axis, backwards)
        for i, (axis, backwards) in enumerate(
            zip(node.each("scan_input_axes", m, 0), node.each("scan_input_directions", m, 0), strict=True)
        )
    ]
    lengths = [to.shape(x)[0] for x in xs]
    if not all(are_equal(n, lengths[0]) or (isinstance(n, int) and isinstance(lengths[0], int)) for n in lengths):
        raise Refused(f"a Scan over {' and '.join(map(str, lengths))} elements, which may differ", HOW_SIZED)
    names = to.captured(body)
    outer = to.outer_values(names)

    def iteration(carries: Values, rows: Values) -> tuple[Values, Values]:
        own, captured = carries[:n], carries[n:]
        found = _values(to, _in_scope(to, names, captured, body, [*own, *rows]))
        _alike(to, found[:n], own, "a Scan that changes a type: values")
        return [*found[:n], *captured], found[n:]

    after, stacked = to.scan([*carried, *outer], xs, k, iteration)
    directions, axes = node.each("scan_output_directions", k, 0), node.each("scan_output_axes", k, 0)
    found = [_turned(to, y, axis, back, out=True) for y, axis, back in zip(stacked, axes, directions, strict=True)]
    return [*after[:n], *found]


def _turned(to: OnnxConverter, x: SSAValue, axis: int, backwards: int, *, out: bool = False) -> SSAValue:
    """The scanned axis first, or from the first place to its own, in the direction of the loop."""
    rank = len(to.shape(x))
    axis = axis_of(axis, rank)
    x = to.emit(ptir.ReverseOp, x, axes=(0 if out else axis,)) if backwards else x
    order = [axis, *(i for i in range(rank) if i != axis)]
    return to.transpose(x, inverse_permutation(order) if out else order)


CONTROL: dict[str, OnnxRow | Refused] = {"If": _if, "Loop": _loop, "Scan": _scan}
