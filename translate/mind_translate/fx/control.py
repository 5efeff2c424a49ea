"""
Higher-order ops of torch, `cond`, `while_loop` and `scan`, with their graphs as regions.

Torch passes all that a graph reads as operands, sizes too: tensors become arguments of the region, and sizes stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Region, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import read_type, tensor_type

from ..unsupported import Refused
from .converter import AtenConverter

Graph = Callable[[Sequence[Any]], Sequence[SSAValue]]
"""Emits the ops of a graph on its arguments and returns its results. Raises `MissingError`."""
Values = Sequence[SSAValue]


class MissingError(Exception):
    """Raised by a graph whose results need ops that are refused, which are counted already."""


def _held(operands: Sequence[Any]) -> list[SSAValue]:
    return [v for v in operands if isinstance(v, SSAValue)]


def _with(operands: Sequence[Any], values: Values) -> list[Any]:
    """Return the operands with `values` for the tensors among them."""
    rest = iter(values)
    return [next(rest) if isinstance(v, SSAValue) else v for v in operands]


def _regions(to: AtenConverter, types: Sequence[Any], *bodies: Callable[[Values], Values]) -> list[Region]:
    """Emit each body into a region, also after one that misses ops, so that all of them are counted."""
    found: list[Region] = []
    location = to.location
    for body in bodies:
        try:
            found.append(to.region(types, body))
        except MissingError:
            continue
        finally:
            to.location = location
    if len(found) < len(bodies):
        raise MissingError
    return found


def _cond(to: AtenConverter, count: int, pred: Any, then: Graph, other: Graph, operands: Sequence[Any]) -> Values:
    scalar = _held([pred])
    if not scalar:
        raise Refused("a branch on a size", "branch on a tensor, or fix the size")
    held, types = _held(operands), list[list[Any]]()

    def branch(graph: Graph) -> Callable[[Values], Values]:
        def body(values: Values) -> Values:
            found = graph(_with(operands, values))
            types.append([v.type for v in found])
            return found

        return body

    regions = _regions(to, [v.type for v in held], branch(then), branch(other))
    for first, second in zip(*types, strict=True):
        if first != second:
            raise Refused(f"branches that return tensors of {read_type(first)} and {read_type(second)}", "return one type")
    return to.add(ptir.CondOp(to.reshape(scalar[0], ()), *held, true=regions[0], false=regions[1])).results


def _while_loop(
    to: AtenConverter, count: int, goes_on: Graph, body: Graph, carried: Sequence[Any], more: Sequence[Any] = ()
) -> Values:
    if len(_held(carried)) < len(carried):
        raise Refused("a loop that carries a number of Python", "carry a tensor of rank 0")
    initial = [*carried, *_held(more)]

    def arguments(v: Values) -> list[Any]:
        return [*v[:count], *_with(more, v[count:])]

    def condition(v: Values) -> Values:
        return [to.reshape(goes_on(arguments(v))[0], ()), *v]

    def iteration(v: Values) -> Values:
        return [*body(arguments(v)), *v[count:]]

    cond, step = _regions(to, [v.type for v in initial], condition, iteration)
    return to.add(ptir.WhileOp(*initial, cond=cond, body=step)).results[:count]


def _scan(
    to: AtenConverter, count: int, body: Graph, initial: Sequence[Any], xs: Sequence[Any], more: Sequence[Any] = ()
) -> Values:
    if len(_held([*initial, *xs])) < len(initial) + len(xs):
        raise Refused("a scan of a number of Python", "carry a tensor of rank 0")
    held, n = _held(more), len(initial)
    m = n + len(held)

    def iteration(v: Values) -> Values:
        found = body([*v[:n], *v[m:], *_with(more, v[n:m])])
        return [*found[:n], *v[n:m], *found[n:]]

    types = [v.type for v in (*initial, *held)] + [tensor_type(to.dtype(x), to.shape(x)[1:]) for x in xs]
    (step,) = _regions(to, types, iteration)
    made = ptir.ScanOp(*initial, *held, *xs, carry_count=m, scan_output_count=count - n, body=step)
    results = to.add(made).results
    return [*results[:n], *results[m:]]


CONTROL: dict[str, Callable[..., Values]] = {"cond": _cond, "while_loop": _while_loop, "scan": _scan}
"""`row(to, count, *arguments)` by the name of the op; `count` is the number of results, and graphs are functions."""
