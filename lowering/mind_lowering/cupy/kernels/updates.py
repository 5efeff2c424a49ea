"""
Updates of an array in place: a window that is overwritten, and scattered updates.

Several updates of one element are combined in their order, as on NumPy, without sorting and without atomics: the first of them
looks for the others and takes them up. A kernel works in the memory of the array that it updates; who needs the old one copies
it before.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block

from mind_dialect.dominance import walk
from mind_dialect.ptir import DynamicUpdateSliceOp, PtirOp, ScatterAddOp, ScatterReduceOp
from mind_dialect.ptir.types import F32, F64, SI64, PtirDType

from .body import Body
from .element import flat, for_each, function, lone_body, mixed, scratch
from .kernel import CudaKernel, KernelWriter, Schedule
from .maps import is_one_update
from .places import Dims, place, spec
from .scalars import STORED, register
from .unsupported import Unsupported

MOST_UPDATES = 1 << 16
"""So many updates at most can meet: each looks at all others."""
UPDATES = (DynamicUpdateSliceOp, ScatterAddOp, ScatterReduceOp)
"""Ops that work in the memory of their first operand, which must not be computed in the kernel then."""
_KINDS = {"add": "mind::Sum", "max": "mind::Max", "min": "mind::Min", "replace": "mind::Last"}


ANY_ORDER = "mind.any_order"
"""Marks sums of floats that may be added up in any order."""
ATOMIC = {"add": "add_to", "max": "max_to", "min": "min_to"}
"""The functions that combine an update with an element atomically, by the kind of the update."""
_EXACT = ("si32", "ui32", "si64", "ui64")
"""Dtypes of which these are the same in any order."""


def free_order(module: ModuleOp) -> None:
    """Mark scatters of f32 and f64 that add as such whose order does not matter."""
    for op in walk(module):
        if isinstance(op, ScatterAddOp | ScatterReduceOp):
            op.attributes[ANY_ORDER] = UnitAttr()


def is_atomic(op: ScatterAddOp | ScatterReduceOp) -> bool:
    """Return whether updates are combined where they are, by atomics: the result is exact, or its order does not matter."""
    dtype = spec(op.x)[0]
    kind = "add" if isinstance(op, ScatterAddOp) else op.values()["kind"]
    if dtype.name in _EXACT:
        return kind in ATOMIC
    return kind == "add" and ANY_ORDER in op.attributes and dtype in (F32, F64)


def updated(body: Body, op: PtirOp) -> int:
    """The number of the input that is updated, which nothing else may read."""
    x = op.operands[0]
    if x not in body.inputs or sum(v is x for o in body.ops for v in o.operands) != 1:
        raise Unsupported("an update of a computed value, or of one that is also read")
    if 0 in (prod(spec(v)[1]) for v in op.operands):
        raise Unsupported("an update of nothing, or by nothing")
    return [v is x for v in body.inputs].index(True)


def is_in_place(op: PtirOp, block: Block) -> bool:
    """Return whether an update is a kernel by itself, in the memory of what it updates; others are maps among other ops."""
    ending, x = block.last_op, op.operands[0]
    alone = ending is not None and list(ending.operands) == [op.results[0]] and x in block.args
    if isinstance(op, DynamicUpdateSliceOp):
        return alone and sum(v is x for o in block.ops for v in o.operands) == 1
    return alone or not (isinstance(op, ScatterReduceOp) and is_one_update(op))


class WindowUpdateSchedule(Schedule):
    """A window that is overwritten in place."""

    def __init__(self, op: DynamicUpdateSliceOp, block: Block):
        self.op, self.body = op, lone_body(op, block)
        self.into = updated(self.body, op)
        self.extents, self.shape = spec(op.x)[1], spec(op.update)[1]
        if any(size > n for size, n in zip(self.shape, self.extents, strict=True)):
            raise Unsupported("a window that does not fit")

    def emit(self) -> CudaKernel:
        op, writer, extents, shape = self.op, KernelWriter(self.body), self.extents, self.shape
        dtype = spec(op.x)[0]
        lines = function(writer.source, "element", op.update, place((shape, "u")), "I u", dtype)
        start = ["0"]
        for a, (extent, size) in enumerate(zip(extents, shape, strict=True)):
            if extent != size:
                lines += function(writer.source, f"at{a}", op.start, place((spec(op.start)[1], str(a))), "", SI64)
                lines.append(f"const I start{a} = I(mind::clamp(at{a}(), mind::si64(0), mind::si64({extent - size})));")
                start.append(f"start{a} * {prod(extents[a + 1 :])}")
        names = scratch(writer.source)
        where = flat(mixed(names, [(range(len(shape)), shape, "u")]), range(len(shape)), extents)
        write = f"b0[start + {where}] = mind::Stored<{STORED[dtype]}>::store(element(u));"
        lines.append(f"const I start = {' + '.join(start[1:] or start)};")
        return for_each(writer, "u", prod(shape), [*names.lines, write], lines, self.into)


class AxisScatterSchedule(Schedule):
    """A thread for each update along an axis; the first of those that meet takes up the others."""

    def __init__(self, op: ScatterReduceOp, block: Block):
        self.op, self.body = op, lone_body(op, block)
        self.into = updated(self.body, op)
        self.axis: int = op.values()["axis"] % len(spec(op.x)[1])
        self.shape = spec(op.indices)[1]
        self.count = self.shape[self.axis]
        if self.count > MOST_UPDATES and not is_atomic(op):
            raise Unsupported(f"{self.count} updates that may meet")

    def emit(self) -> CudaKernel:
        op, writer, axis, shape, count = self.op, KernelWriter(self.body), self.axis, self.shape, self.count
        (dtype, extents), inner = spec(op.x), prod(shape[axis + 1 :])
        at = place((shape[:axis], "o"), ((count,), "c"), (shape[axis + 1 :], "i"))
        lines = function(writer.source, "index", op.indices, at, "I o, I c, I i", SI64)
        lines += function(writer.source, "update", op.updates, at, "I o, I c, I i", dtype)
        names, rank = scratch(writer.source), len(shape)
        parts: list[tuple[Sequence[int], Dims, str]] = [
            (range(axis), shape[:axis], "o"),
            ((axis,), (extents[axis],), "k"),
            (range(axis + 1, rank), shape[axis + 1 :], "i"),
        ]
        where = flat(mixed(names, parts), range(rank), extents)
        kind = op.values()["kind"]
        iteration = [
            f"const I i = u % {inner}, c = u / {inner} % {count}, o = u / {inner * count};",
            "const mind::si64 mine = index(o, c, i);",
            f"if (mind::ui64(mine) >= {extents[axis]}u) {{",
            "    mind::fail(record, 0, mind::ui64(u), mine);",
            "    continue;",
            "}",
            "const I k = I(mine);",
            *names.lines,
            *(_combined(kind, where) if is_atomic(op) else _taken_up(kind, dtype, where, count)),
        ]
        return for_each(writer, "u", prod(shape), iteration, lines, self.into)


def _combined(kind: str, where: str) -> list[str]:
    """The statement of an update that is combined at `where` by itself."""
    return [f"mind::{ATOMIC[kind]}(b0 + ({where}), update(o, c, i));"]


def _taken_up(kind: str, dtype: PtirDType, where: str, count: int) -> list[str]:
    """The statements of an update: the first of those that meet takes up all of them, which is then written at `where`."""
    stored = STORED[dtype]
    return [
        "bool is_first = true;",
        "for (I d = 0; d < c && is_first; ++d) is_first = index(o, d, i) != mine;",
        "if (!is_first) continue;",
        f"{register(dtype)} total = mind::Stored<{stored}>::load(b0[{where}]);",
        f"for (I d = c; d < {count}; ++d)",
        f"    if (index(o, d, i) == mine) total = {_KINDS[kind]}::of(total, update(o, d, i));",
        f"b0[{where}] = mind::Stored<{stored}>::store(total);",
    ]
