"""
The derivatives of windows at index vectors: what was read is added back where it was, what was written is read.

The dimension numbers of a gather and of the scatter that undoes it are the same, under other names. Of updates that meet,
`replace` keeps the last, so only that one has an adjoint; those that tie for the greatest (or least) share it. The
derivative of a product by a factor is the product of the other ones, where zeros are counted and summed apart from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import ClampOp, ConstantOp, GatherWindowsOp, IotaOp, ScatterWindowsOp
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import SI64
from mind_dialect.ptir.windows_at import gather_dims, scatter_dims
from mind_dialect.ptir_shapes import axes

from ...ptir.construct import (
    Value,
    add,
    broadcast,
    cast,
    compare,
    dims,
    div,
    elementwise,
    full,
    make,
    mul,
    reshape,
    scalar,
    spec,
    static,
    sub,
    typed,
    where,
)
from ..rules import Rules, linear
from ..walks import ForwardRow, Row, Whole
from .extreme_scatters import ExtremeScatter
from .indexing import replaced_x
from .shared import jointly, zeros

# Gather


def gather_x(op: GatherWindowsOp, g: SSAValue) -> Value:
    """The adjoints of the windows, added where they were read; those moved inside, where they were moved to."""
    values = op.values()
    indices: Value = clamped(op) if values["mode"] == "clamp" else op.indices
    mode = "drop" if values["mode"] == "fill" else "raise"
    return make(ScatterWindowsOp, zeros(op.x), indices, g, kind="add", mode=mode, unique=False, **scatter_dims(values))


def clamped(op: GatherWindowsOp) -> Value:
    """The index vectors, moved so that windows are inside."""
    values, (dtype, shape) = op.values(), spec(op.indices)
    sizes, targets = static(op.x), axes(values["start_index_map"], len(static(op.x)))
    most = [sizes[a] - values["slice_sizes"][a] for a in targets]
    vector = values["index_vector_dim"]
    literal = PtirLiteralAttr.from_values(dtype, (len(most),), most)
    row: Value = ConstantOp(literal)
    if vector < len(shape):
        row = reshape(row, tuple(len(most) if i == vector else 1 for i in range(len(shape))))
    else:
        row = reshape(row, ())
    return elementwise(ClampOp, op.indices, full(0, op.indices), broadcast(row, dims(op.indices)))


# Scatter


def read(op: ScatterWindowsOp, v: Value) -> Value:
    """Read `v`, of the shape of the result, at the place of each update; 0 for updates that were left out."""
    values, rank = op.values(), len(spec(op.x).shape)
    gone = axes((*values["inserted_window_dims"], *values["input_batching_dims"]), rank)
    updates = static(op.updates)
    windows = iter([updates[d] for d in axes(values["update_window_dims"], len(updates))])
    sizes = tuple(1 if a in gone else next(windows) for a in range(rank))
    mode = "fill" if values["mode"] == "drop" else "raise"
    result = typed(spec(v).dtype, updates)
    return make(GatherWindowsOp, v, op.indices, type=result, slice_sizes=sizes, mode=mode, **gather_dims(values))


def written(op: ScatterWindowsOp, kind: str, x: Value, updates: Value) -> Value:
    """Other updates combined with another tensor at the same places."""
    values: dict[str, Any] = {**op.values(), "kind": kind}
    return make(ScatterWindowsOp, x, op.indices, updates, type=None, **values)


def replacing(op: ScatterWindowsOp, g: SSAValue) -> Value:
    """The adjoint at the place of each update that lasts: each place keeps the number of the last one."""
    found = read(op, g)
    if op.values()["unique"]:
        return found
    shape = static(op.updates)
    flat = make(IotaOp, type=typed(SI64, (prod(shape),)), shape=(prod(shape),), dtype=SI64, axis=0)
    numbers = reshape(flat, shape)
    last = written(op, "replace", broadcast(scalar(-1, SI64), dims(op.x)), numbers)
    return where(compare("equal", read(op, last), numbers), found, zeros(found))


def multiplied_x(op: ScatterWindowsOp, g: Value) -> Value:
    """The adjoint times all updates of its place."""
    return mul(g, written(op, "mul", full(1.0, op.x), op.updates))


def multiplying(op: ScatterWindowsOp, g: SSAValue) -> Value:
    """The adjoint times all that each update is multiplied with: what was there before, and other updates of its place."""
    return read(op, mul(g, op.x)) if op.values()["unique"] else mul(read(op, g), others(op))


def others(op: ScatterWindowsOp) -> Value:
    """
    The product of what each update is multiplied with, exact where factors are 0, and so is its derivative.

    Quotients by the update are of the factors that are not 0. Where one other is 0, it is a factor itself, by the sum of zeros.
    """
    in_x, in_updates = (compare("equal", v, zeros(v)) for v in (op.x, op.updates))
    product = written(op, "mul", where(in_x, full(1, op.x), op.x), where(in_updates, full(1, op.updates), op.updates))
    zero_x, zero_updates = where(in_x, op.x, zeros(op.x)), where(in_updates, op.updates, zeros(op.updates))
    total = sub(read(op, written(op, "add", zero_x, zero_updates)), zero_updates)
    own = cast(in_updates, SI64)
    count = sub(read(op, written(op, "add", cast(in_x, SI64), own)), own)
    rest = div(read(op, product), where(in_updates, full(1, op.updates), op.updates))
    is_none, is_one = (compare("equal", count, full(n, count)) for n in (0, 1))
    return mul(rest, where(is_none, full(1, op.updates), where(is_one, total, zeros(op.updates))))


EXTREME = ExtremeScatter(read, written)
SCATTERS: dict[str, Rules | Whole] = {
    "add": (lambda op, g: g, None, lambda op, g: read(op, g)),
    "mul": (multiplied_x, None, multiplying),
    "replace": (replaced_x, None, replacing),
    "max": EXTREME.reverse,
    "min": EXTREME.reverse,
}


def scatter(op: ScatterWindowsOp) -> Rules | Whole:
    """The rules by kind."""
    return SCATTERS[op.values()["kind"]]


def tangent(op: ScatterWindowsOp, ts: Sequence[SSAValue | None]) -> Value:
    kind = op.values()["kind"]
    x, _, updates = ts
    if kind in ("add", "replace"):
        return x if kind == "add" and updates is None and x is not None else jointly(0, 2)(op, ts)
    if kind == "mul":
        factors = read(op, op.x) if op.values()["unique"] else others(op)
        changed = None if updates is None else written(op, "add", zeros(op.x), mul(factors, updates))
        scaled = None if x is None else multiplied_x(op, x)
        if scaled is None or changed is None:
            found = scaled if changed is None else changed
            assert found is not None
            return found
        return add(scaled, changed)
    return EXTREME.tangent(op, x, updates)


REVERSE: dict[type[Operation], Row] = {GatherWindowsOp: (gather_x, None), ScatterWindowsOp: scatter}
FORWARD: dict[type[Operation], ForwardRow] = {GatherWindowsOp: linear(0), ScatterWindowsOp: tangent}
