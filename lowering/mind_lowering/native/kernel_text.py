"""
Text that every kind of kernel has: arguments, indices, failures, polls for signals, fused multiplications.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import Kind, PtirDType

from .failures import Failure, Sites
from .ir import Function, LoopBody
from .lanes import Lanes, register
from .record import Record
from .views import View


def argument(f: Function, i: int, hint: str) -> str:
    """The address of the `i`-th of a step's `addresses`."""
    return f.op(f"load ptr, ptr {argument_place(f, i)}, align 8", hint)


def argument_place(f: Function, i: int) -> str:
    """Return the place of the `i`-th argument in the table of a kernel."""
    return f.address("ptr", "%args", str(1 + i), "entry")


def poll(f: Function) -> None:
    """In a kernel one unit of which may take more than some milliseconds: look for signals; where one ends the call, leave."""
    f.polls = True
    record = f.op("load ptr, ptr %args, align 8", "record")
    function = f.op(f"load ptr, ptr {f.address('i64', record, str(int(Record.POLL)))}, align 8", "poll")
    found = f.op(f"call i64 {function}(ptr {record})", "found")
    f.leave(f.op(f"icmp ne i64 {found}, 0", "interrupted"), lambda: found)


PATIENCE = 1 << 16
"""Iterations of a long loop between two looks for signals."""


def patient(
    f: Function, low: str, high: str, body: LoopBody, carried: Sequence[tuple[str, str]] = (), hint: str = "i"
) -> list[str]:
    """A loop as `f.loop` makes it, by steps of 1; if it is long, a kernel that looks for signals now and then."""
    if high.isdigit() and int(high) <= PATIENCE:
        return f.loop(low, high, 1, body, carried, hint)
    types = [type for type, _ in carried]

    def some(start: str, /, *values: str) -> list[str]:
        poll(f)
        end = f.least(f.add(start, str(PATIENCE)), high)
        return f.loop(start, end, 1, body, list(zip(types, values, strict=True)), hint)

    return f.loop(low, high, PATIENCE, some, carried, "some")


def patiently(f: Function, low: str, high: str, hint: str = "i") -> Iterator[str]:
    """Return the iterations of a loop without carries, as `patient` makes it."""
    if high.isdigit() and int(high) <= PATIENCE:
        yield from f.each(low, high, hint=hint)
        return
    for start in f.each(low, high, PATIENCE, "some"):
        poll(f)
        yield from f.each(start, f.least(f.add(start, str(PATIENCE)), high), hint=hint)


def fail_where(
    lanes: Lanes, sites: Sites, bits: str, failure: Failure, op: PtirOp | None, numbers: Sequence[tuple[str, str, bool]]
) -> None:
    """
    Leave the kernel if any lane of `bits` that counts is true.

    `numbers` are the types, the vectors and the signedness of what to record of the first such lane.
    """
    f, wrong = lanes.function, lanes.active(bits)

    def status() -> str:
        record = f.op("load ptr, ptr %args, align 8", "record")
        lane = "0"
        if lanes.width > 1:
            mask = f.op(f"bitcast {lanes.of('i1')} {wrong} to i{lanes.width}", "wrong")
            first = f.call(
                f"llvm.cttz.i{lanes.width}", f"i{lanes.width}", (f"i{lanes.width}", mask), ("i1", "true"), immediate=(1,)
            )
            code = "zext" if lanes.width < 64 else "bitcast"
            lane = f.op(f"{code} i{lanes.width} {first} to i64", "lane")
        for i, (type, value, signed) in enumerate(numbers):
            one = lanes.extract(type, value, lane)
            if type != "i64":
                one = f.op(f"{'sext' if signed else 'zext'} {type} {one} to i64")
            f.do(f"store i64 {one}, ptr {f.address('i64', record, str(i))}, align 8")
        return str(sites.add(failure, op))

    f.leave(lanes.any(wrong), status)


def check_inside(one: Lanes, sites: Sites, index: str, count: int) -> None:
    """Leave the kernel, where kernels check what they address, unless an index is below a count; `one` is a single lane."""
    if one.host.checked:
        beyond = one.function.op(f"icmp uge i64 {index}, {count}", "beyond")
        fail_where(one, sites, beyond, Failure.OUTSIDE, None, [("i64", index, True)])


def index_of(f: Function, view: View, at: Sequence[str]) -> str:
    """The place of an element of a view, counted from its first."""
    index = "0"
    for i, stride in zip(at, view.strides, strict=True):
        index = f.add(index, f.mul(i, stride))
    return index


def unflattened(f: Function, index: str, extents: Sequence[int]) -> list[str]:
    """The indices along some axes of the element of a number in row-major order."""
    found: list[str] = []
    for n in reversed(extents[1:]):
        found.append("0" if n == 1 else f.op(f"urem i64 {index}, {n}", "b"))
        index = index if n == 1 else f.op(f"udiv i64 {index}, {n}", "b")
    return [*([index] if extents else []), *reversed(found)]


def divided(f: Function, number: str, by: int) -> tuple[str, str]:
    """Return the quotient and the remainder of a number that is not negative."""
    if number.isdigit():
        quotient, remainder = divmod(int(number), by)
        return str(quotient), str(remainder)
    quotient, remainder = unflattened(f, number, [1, by])
    return quotient, remainder


def prefetch(f: Function, address: str, *, write: bool = False, level: int = 1) -> None:
    """Have a line of memory brought into a level of the caches, the first or the second."""
    flags = (("i32", "1" if write else "0"), ("i32", str(4 - level)), ("i32", "1"))
    f.call("llvm.prefetch.p0", "void", ("ptr", address), *flags, immediate=(1, 2, 3))


def multiply_add(lanes: Lanes, total: PtirDType, a: str, b: str, c: str) -> str:
    """`a * b + c`, rounded once on machines that can."""
    type = register(total)
    if total.kind is not Kind.FLOAT:
        return lanes.binary("add", type, lanes.binary("mul", type, a, b), c)
    if lanes.host.fma:
        return lanes.intrinsic("fma", type, a, b, c)
    return lanes.binary("fadd", type, lanes.binary("fmul", type, a, b), c)
