"""
The derivatives of ops whose places are data: what was read is added back where it was, what was written is read.

Of updates that go to one place, `replace` keeps the last in row-major order, so only that one has an adjoint; those that tie for
the greatest (or least) share it equally, among them the element of `x` itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import SI64, tensor_type
from mind_dialect.ptir_shapes import axis

from ...ptir.building import uniform
from ...ptir.construct import Value, add, broadcast, compare, dims, make, scalar, spec, where
from ..rules import Rules, linear
from ..walks import ForwardRow, Reverse, Row, Whole
from .extreme_scatters import ExtremeScatter
from .scatter_windows import gather_windows
from .shared import applied, jointly, zeros


def take_x(op: ptir.TakeOp, g: SSAValue) -> Value:
    """Rows of the adjoint, added where they were taken from."""
    first = len(spec(op.indices).shape)
    return make(
        ptir.ScatterAddOp,
        zeros(op.x),
        op.indices,
        g,
        update_window_dims=tuple(range(first, len(spec(g).shape))),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
    )


def scattered(kind: str, x: Value, indices: Value, updates: Value, axis: int) -> Value:
    return make(ptir.ScatterReduceOp, x, indices, updates, kind=kind, axis=axis)


def gathered(x: Value, indices: Value, axis: int) -> Value:
    return make(ptir.GatherOp, x, indices, type=tensor_type(spec(x).dtype, dims(indices)), axis=axis)


def gather_x(op: ptir.GatherOp, g: SSAValue) -> Value:
    return scattered("add", zeros(op.x), op.indices, g, op.values()["axis"])


# scatter_add


def scatter_add_tangent(op: ptir.ScatterAddOp, ts: Sequence[SSAValue | None]) -> Value:
    x, _, updates = ts
    if updates is None:
        assert x is not None
        return x
    return applied(op, {0: zeros(op.x) if x is None else x, 2: updates})


# scatter_reduce


def read(op: ptir.ScatterReduceOp, v: Value) -> Value:
    """Read `v`, of the shape of the result, at the place of each update."""
    return gathered(v, op.indices, op.values()["axis"])


def replaced_x(op: ptir.ScatterReduceOp | ptir.ScatterWindowsOp, g: SSAValue) -> Value:
    """The adjoint, but for the places that were overwritten."""
    return applied(op, {0: g, 2: zeros(op.updates)})


def replacing(op: ptir.ScatterReduceOp, g: SSAValue) -> Value:
    """
    The adjoint at the place of each update that lasts.

    Updates of one place differ along the axis only; each place keeps the number of the last one.
    """
    along = axis(op.values()["axis"], len(spec(op.updates).shape))
    found = read(op, g)
    if spec(op.updates).shape[along] in (0, 1):
        return found
    shape = dims(op.updates)
    numbers = make(ptir.IotaOp, type=tensor_type(SI64, shape), shape=shape, dtype=SI64, axis=along)
    last = scattered("replace", broadcast(scalar(0, SI64), dims(op.x)), op.indices, numbers, along)
    return where(compare("equal", read(op, last), numbers), found, zeros(found))


def written(op: ptir.ScatterReduceOp, kind: str, x: Value, updates: Value) -> Value:
    """Combine updates into `x` as the op does, by a kind."""
    return scattered(kind, x, op.indices, updates, op.values()["axis"])


EXTREME = ExtremeScatter(read, written)


def scatter_reduce_tangent(op: ptir.ScatterReduceOp, ts: Sequence[SSAValue | None]) -> Value:
    values = op.values()
    if values["kind"] == "add" and ts[2] is None:
        assert ts[0] is not None
        return ts[0]
    if values["kind"] in ("add", "replace"):
        return jointly(0, 2)(op, ts)
    return EXTREME.tangent(op, ts[0], ts[2])


SCATTERS: dict[str, Rules | Whole] = {
    "add": (lambda op, g: g, None, lambda op, g: read(op, g)),
    "replace": (replaced_x, None, replacing),
    "max": EXTREME.reverse,
    "min": EXTREME.reverse,
}
"""The rules of `scatter_reduce` by kind."""


# Windows that start where an operand says; reading and writing clamp the start alike


def sliced_x(op: ptir.DynamicSliceOp, g: SSAValue) -> Value:
    return make(ptir.DynamicUpdateSliceOp, zeros(op.x), g, op.start, sizes=op.values()["sizes"])


def sum_of_adjoints(a: SSAValue, b: SSAValue) -> Operation:
    """Return the sum of two adjoints: a window among zeros is added to the other in place."""
    for x, part in ((a, b), (b, a)):
        op = part.owner
        if isinstance(op, ptir.DynamicUpdateSliceOp) and uniform(op.x) == 0:
            old = make(ptir.DynamicSliceOp, x, op.start, type=op.update.type, sizes=op.values()["sizes"])
            return make(ptir.DynamicUpdateSliceOp, x, add(old, op.update), op.start, sizes=op.values()["sizes"])
    return add(a, b)


def updated_x(op: ptir.DynamicUpdateSliceOp, g: SSAValue) -> Value:
    return applied(op, {0: g, 1: zeros(op.update)})


def update(op: ptir.DynamicUpdateSliceOp, g: SSAValue) -> Value:
    return make(ptir.DynamicSliceOp, g, op.start, type=op.update.type, sizes=op.values()["sizes"])


def overwritten(sweep: Reverse, op: ptir.DynamicUpdateSliceOp, gs: Sequence[SSAValue | None]) -> Sequence[Value | None]:
    """The adjoints of an update; that of its window is read first, so that the other may overwrite `g` in place."""
    (g,) = gs
    assert g is not None
    window = sweep.append(update(op, g), op) if op.update in sweep.varied else None
    return [updated_x(op, g), window, None]


REVERSE: dict[type[Operation], Row] = {
    ptir.TakeOp: (take_x, None),
    ptir.GatherOp: (gather_x, None),
    ptir.ScatterAddOp: (lambda op, g: g, None, gather_windows),
    ptir.ScatterReduceOp: lambda op: SCATTERS[op.values()["kind"]],
    ptir.DynamicSliceOp: (sliced_x, None),
    ptir.DynamicUpdateSliceOp: Whole(overwritten, lambda flows, op: [0b011]),
}
FORWARD: dict[type[Operation], ForwardRow] = {
    ptir.TakeOp: linear(0),
    ptir.GatherOp: linear(0),
    ptir.ScatterAddOp: scatter_add_tangent,
    ptir.ScatterReduceOp: scatter_reduce_tangent,
    ptir.DynamicSliceOp: linear(0),
    ptir.DynamicUpdateSliceOp: jointly(0, 1),
}
