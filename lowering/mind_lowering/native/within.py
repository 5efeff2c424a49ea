"""
Calls of kernels for a part of their grid: how many units of work sizes need, and a function that runs these alone.

Where a size limits the first axis of a grid, the units that are run are the first ones, and the kernel itself runs them. Else

    define internal i64 @k.name.within(ptr %args, i64 %begin, i64 %end)

does so: it numbers the units within the limits, and calls the kernel for runs of these that follow each other in the grid.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod

from ..launch.limits import Limit
from .ir import Function, LlvmModule, symbol
from .kernel_text import argument_place


def units_within(f: Function, grid: Sequence[int], limits: Sequence[Limit], sizes: Sequence[str]) -> dict[int, str]:
    """Emit the number of units along each axis that a size limits, whatever the size is."""
    found: dict[int, str] = {}
    for limit, size in zip(limits, sizes, strict=True):
        most = grid[limit.axis]
        at_most = f.call("llvm.umin.i64", "i64", ("i64", size), ("i64", str(most * limit.tile)), hint="size")
        items = f.add(f.mul(at_most, limit.scale), str(limit.tile - 1))
        units = items if limit.tile == 1 else f.op(f"udiv i64 {items}, {limit.tile}", "units")
        found[limit.axis] = f.least(units, str(most))
    return found


def product(f: Function, numbers: Sequence[str]) -> str:
    """Emit the product of numbers, of which some are known."""
    total = prod(int(n) for n in numbers if n.isdigit())
    found = ""
    for number in numbers:
        if not number.isdigit():
            found = f.op(f"mul nsw i64 {found}, {number}", "units") if found else number
    return f.mul(found, total) if found else str(total)


def counts_within(grid: Sequence[int], units: Mapping[int, str]) -> list[str]:
    """Return the number of units along each axis."""
    return [units.get(axis, str(n)) for axis, n in enumerate(grid)]


def are_first(grid: Sequence[int], axes: Collection[int]) -> bool:
    """Return whether units within limits along some axes are the first ones of a grid."""
    return prod(grid[: max(axes)]) == 1


def within_function(module: LlvmModule, kernel: str, grid: Sequence[int], axes: Sequence[int], words: int) -> str:
    """
    Return the name of the function that runs a kernel within limits along some axes.

    The numbers of units along these are in the table of arguments, after `words` addresses.
    """
    f = module.function(module.unique(f"{kernel}.within"), "i64", [("ptr", "args"), ("i64", "begin"), ("i64", "end")])
    units = {a: f.op(f"load i64, ptr {argument_place(f, words + i)}, align 8", "units") for i, a in enumerate(axes)}
    last, counts = max(axes), counts_within(grid, units)
    inner = prod(grid[last + 1 :])
    run, whole = f.mul(counts[last], inner), grid[last] * inner

    def body(unit: str) -> list[str]:
        outer = f.op(f"udiv i64 {unit}, {run}", "outer")
        inside = f.op(f"sub nsw i64 {unit}, {f.op(f'mul nsw i64 {outer}, {run}', 'first')}", "inside")
        left, wanted = (f.op(f"sub nsw i64 {a}, {b}", "left") for a, b in ((run, inside), ("%end", unit)))
        count = f.least(left, wanted)
        begin = f.add(f.mul(_in_grid(f, outer, grid[:last], counts[:last]), whole), inside)
        status = f.op(f"call i64 {symbol(kernel)}(ptr %args, i64 {begin}, i64 {f.add(begin, count)})", "status")
        f.leave(f.op(f"icmp ne i64 {status}, 0", "failed"), lambda: status)
        return [f.add(unit, count)]

    def is_left(unit: str) -> str:
        return f.op(f"icmp slt i64 {unit}, %end", "more")

    f.repeat([("i64", "%begin")], is_left, body)
    f.ret("0")
    return f.name


def _in_grid(f: Function, number: str, grid: Sequence[int], counts: Sequence[str]) -> str:
    """Emit the number in a grid of a unit that is numbered within limits."""
    if counts == [str(n) for n in grid]:
        return number
    found, step = "0", 1
    for n, count in zip(reversed(grid), reversed(counts), strict=True):
        found = f.add(found, f.mul(f.op(f"urem i64 {number}, {count}", "index"), step))
        number, step = f.op(f"udiv i64 {number}, {count}", "rest"), step * n
    return found
