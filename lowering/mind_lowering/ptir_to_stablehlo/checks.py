"""
Checks for what PTIR rejects at run time and XLA computes anyway: integers divided by zero, and indices out of range.

A row says for an op which of its elements are wrong, as a tensor of i1, or None where none can be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.extents.dims import sub_dims
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir_shapes import Dim, Dims

from ..divisors import is_never_zero
from .builder import INTEGERS, StablehloBuilder, Values, dtype_of, shape_of
from .window_numbers import WindowNumbers, gather_numbers, scatter_numbers

Check = Callable[[StablehloBuilder, Any, Values], SSAValue | None]


def _zero_divisor(b: StablehloBuilder, op: PtirOp, x: Values) -> SSAValue:
    return b.compare("EQ", x[1], b.like(0, x[1]))


def _outside(b: StablehloBuilder, indices: SSAValue, extent: Dim) -> SSAValue:
    below = b.compare("LT", indices, b.like(0, indices))
    most = b.broadcast(b.extent(extent, dtype_of(indices)), shape_of(indices), [])
    return b("or", below, b.compare("GE", indices, most))


def _take(b: StablehloBuilder, op: ptir.TakeOp, x: Values) -> SSAValue:
    return _outside(b, x[1], shape_of(x[0])[0])


def _along(b: StablehloBuilder, op: PtirOp, x: Values) -> SSAValue:
    shape, axis = shape_of(x[0]), op.values()["axis"]
    return _outside(b, x[1], shape[int(axis) % len(shape)])


def _segment(b: StablehloBuilder, op: ptir.SegmentReduceOp, x: Values) -> SSAValue:
    count: Dim = op.values()["num_segments"]
    return _outside(b, x[1], count)


def _scatter_add(b: StablehloBuilder, op: ptir.ScatterAddOp, x: Values) -> SSAValue | None:
    """A window lies inside if its first element does and its last does."""
    values, shape, updates = op.values(), shape_of(x[0]), shape_of(x[2])
    inserted = set(values["inserted_window_dims"])
    windows: dict[int, int] = dict(
        zip((d for d in range(len(shape)) if d not in inserted), values["update_window_dims"], strict=True)
    )
    targets: Sequence[int] = values["scatter_dims_to_operand_dims"]
    sizes: Dims = updates
    limits = [sub_dims(shape[d], sizes[windows[d]] if d in windows else 1) for d in targets]
    if 0 in updates:
        return None
    return _starts_outside(b, x[1], values["index_vector_dim"], limits)


def _gather_windows(b: StablehloBuilder, op: ptir.GatherWindowsOp, x: Values) -> SSAValue | None:
    if op.values()["mode"] != "raise" or 0 in op.result_spec().shape:
        return None
    return _windows_outside(b, x, gather_numbers(op, x))


def _scatter_windows(b: StablehloBuilder, op: ptir.ScatterWindowsOp, x: Values) -> SSAValue | None:
    if op.values()["mode"] != "raise" or 0 in shape_of(x[2]):
        return None
    return _windows_outside(b, x, scatter_numbers(op, x))


def _windows_outside(b: StablehloBuilder, x: Values, found: WindowNumbers) -> SSAValue:
    shape = shape_of(x[0])
    return _starts_outside(b, x[1], found.vector, [sub_dims(shape[d], found.windows[d]) for d in found.targets])


def _starts_outside(b: StablehloBuilder, indices: SSAValue, vector: int | None, limits: Sequence[Dim]) -> SSAValue:
    """Find the entries of index vectors that are below 0 or above their limits."""
    if vector is None or vector == len(shape_of(indices)):
        indices, vector = b.reshape(indices, (*shape_of(indices), 1)), len(shape_of(indices))
    below = b.compare("LT", indices, b.like(0, indices))
    most = b.broadcast(b.convert(b.vector(limits), dtype_of(indices)), shape_of(indices), [vector])
    return b("or", below, b.compare("GT", indices, most))


CHECKS: Mapping[type[PtirOp], Check] = {
    ptir.DivOp: _zero_divisor,
    ptir.RemainderOp: _zero_divisor,
    ptir.TakeOp: _take,
    ptir.GatherOp: _along,
    ptir.ScatterReduceOp: _along,
    ptir.ScatterAddOp: _scatter_add,
    ptir.SegmentReduceOp: _segment,
    ptir.GatherWindowsOp: _gather_windows,
    ptir.ScatterWindowsOp: _scatter_windows,
}
"""The ops that can be wrong at run time, each with what is wrong of its operands."""


def is_checked(op: Operation) -> bool:
    """Return whether an op may be wrong at run time: an integer divisor that is known not to be 0 cannot."""
    if not isinstance(op, PtirOp) or type(op) not in CHECKS:
        return False
    if isinstance(op, ptir.DivOp | ptir.RemainderOp):
        return op.operand_spec(0).dtype.kind in INTEGERS and not is_never_zero(op.operands[1])
    if isinstance(op, ptir.GatherWindowsOp | ptir.ScatterWindowsOp):
        return op.values()["mode"] == "raise"
    return True


def check(b: StablehloBuilder, op: Operation, x: Values) -> None:
    """Report an op whose operands are wrong, where the program does that."""
    if b.fault is not None and is_checked(op) and (bad := CHECKS[type(op)](b, op, x)) is not None:  # pyright: ignore[reportArgumentType]
        b.check(bad)
