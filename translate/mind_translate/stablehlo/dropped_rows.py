"""
Scatters whose index -1 drops a row, as StableHLO drops what leaves the operand; PTIR refuses an index out of range when run.

The operand is as a rule larger than the updates: it is not copied for the rows that are dropped.
"""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import Kind
from mind_dialect.ptir_shapes import Dims

from ..unsupported import Refused
from .converter import StablehloConverter
from .structural import static, zero

_UNKNOWN = Refused("an index into dimensions whose sizes are not known", "give the program static shapes")


def sizes_of(*shapes: Dims) -> list[tuple[int, ...]]:
    """The sizes of static shapes. Raises `Refused`."""
    found = [static(shape) for shape in shapes]
    if any(sizes is None for sizes in found):
        raise _UNKNOWN
    return [sizes for sizes in found if sizes is not None]


def combined_rows(to: StablehloConverter, kind: str, cells: SSAValue, numbers: SSAValue, rows: SSAValue, axis: int) -> SSAValue:
    """
    Combine rows along an axis with those of `cells` that the numbers say; -1 drops a row.

    Where the rows are smaller than `cells`, which are not copied then, dropped sums add nothing to the first row, and other
    dropped rows repeat another one; else all that is dropped goes to one row more.
    """
    of_cells, of_rows = sizes_of(to.shape(cells), to.shape(rows))
    count, is_out = of_cells[axis], to.compare("less", numbers, 0)
    is_small = math.prod(of_rows) < math.prod(of_cells)
    if kind == "add" and is_small:
        nothing = {Kind.FLOAT: -0.0, Kind.COMPLEX: complex(-0.0, -0.0)}.get(to.dtype(rows).kind, 0)  # 0 would change a -0
        rows = to.select(to.place(is_out, [axis], of_rows), to.like(nothing, rows), rows)
        numbers = to.select(is_out, to.like(0, numbers), numbers)
    elif is_small:
        numbers, rows = _repeated(to, cells, numbers, rows, axis)
    else:
        cells, numbers = one_more(to, cells, axis), to.select(is_out, to.like(count, numbers), numbers)
    made = to.emit(ptir.ScatterReduceOp, cells, to.place(numbers, [axis], of_rows), rows, kind=kind, axis=axis)
    return made if is_small else to.part(made, axis, 0, count)


def _repeated(to: StablehloConverter, cells: SSAValue, numbers: SSAValue, rows: SSAValue, axis: int) -> tuple[SSAValue, SSAValue]:
    """
    Return numbers and rows along an axis where each dropped row repeats the last one before it that is not dropped.

    What is set, or combined to an extreme, twice in a row is as it was after the first time. Rows dropped before all others
    repeat the first of `cells`, which has no update so far.
    """
    (of_rows,) = sizes_of(to.shape(rows))
    positions = to.emit(ptir.IotaOp, shape=to.shape(numbers), dtype=to.dtype(numbers), axis=0)
    kept = to.select(to.compare("less", numbers, 0), to.like(-1, numbers), positions)
    last = to.emit(ptir.CumulativeOp, kept, kind="max", axis=0, exclusive=False, reverse=False)
    is_none, source = to.compare("less", last, 0), to.emit(ptir.MaximumOp, last, to.like(0, last))
    first = to.broadcast(to.part(cells, axis, 0, 1), of_rows)
    repeated = to.emit(ptir.GatherOp, rows, to.place(source, [axis], of_rows), axis=axis)
    chosen = to.select(is_none, to.like(0, numbers), to.emit(ptir.TakeOp, numbers, source))
    return chosen, to.select(to.place(is_none, [axis], of_rows), first, repeated)


def one_more(to: StablehloConverter, cells: SSAValue, axis: int) -> SSAValue:
    """One row more along an axis, for what is dropped."""
    more = [int(d == axis) for d in range(len(to.shape(cells)))]
    return to.pad(cells, zero(to.dtype(cells)), [0] * len(more), more)
