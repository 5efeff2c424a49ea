"""
Scatters of one element per row into a constant become selections: the gradient of a cross entropy has such rows at its labels.

    scatter_reduce fill(c), indices [n, 1], updates [n, 1]   is   select(iota == indices, combined(c, updates), c)

Every element is written once either way; a selection fuses with the ops that read the row. A selection does not check indices, so
the block must hold a gather by the same indices, which does.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import GatherOp, PtirOp, ScatterReduceOp
from mind_dialect.ptir.types import Kind, tensor_type

from ..ptir.construct import compare, elementwise, make, spec, where
from ..ptir.patterns.matching import is_fill

_COMBINED: dict[str, type[PtirOp] | None] = {"add": ptir.AddOp, "max": ptir.MaximumOp, "min": ptir.MinimumOp, "replace": None}
"""The op that combines what is there with an update; None: the update alone."""


def select_scatters(root: Operation) -> None:
    """Rewrite, inside a verified `root`, the scatters of `ptir.scatter_reduce` that are selections."""
    for op in [op for op in walk(root) if isinstance(op, ScatterReduceOp) and _is_selection(op)]:
        block = op.parent
        assert block is not None
        made = _selection(op)
        block.insert_ops_before(made, op)
        for new in made:
            new.location = op.location
        made[-1].results[0].name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(made[-1].results[0])
        op.detach()
        op.erase()


def _is_selection(op: ScatterReduceOp) -> bool:
    """Return whether each row gets one update, of a constant, at an index that a gather checks."""
    shape, (element, places) = spec(op.indices).shape, spec(op.x)
    axis: int = op.values()["axis"] % len(places)
    if element.kind is Kind.COMPLEX or not isinstance(op.x.owner, Operation) or not is_fill(op.x.owner):
        return False
    if any(not isinstance(n, int) for n in places) or shape != (*places[:axis], 1, *places[axis + 1 :]):
        return False
    return any(_is_checked_by(use.operation, op, axis) for use in op.indices.uses)


def _is_checked_by(other: Operation, op: ScatterReduceOp, axis: int) -> bool:
    """Return whether another op of the block rejects the indices that this one must reject."""
    if not isinstance(other, GatherOp) or other.parent is not op.parent or other.indices is not op.indices:
        return False
    shape = spec(other.x).shape
    return other.values()["axis"] % len(shape) == axis and shape[axis] == spec(op.x).shape[axis]


def _selection(op: ScatterReduceOp) -> list[Operation]:
    """The ops of a selection, the last giving the result."""
    (dtype, _), (element, shape) = spec(op.indices), spec(op.x)
    axis: int = op.values()["axis"] % len(shape)
    counted = ptir.IotaOp(shape=shape, dtype=dtype, axis=axis)
    indices, updates = (
        make(ptir.BroadcastToOp, value, type=tensor_type(of, shape), result_shape=shape)
        for value, of in ((op.indices, dtype), (op.updates, element))
    )
    here = compare("equal", counted, indices)
    combine = _COMBINED[op.values()["kind"]]
    combined = [] if combine is None else [elementwise(combine, op.x, updates)]
    return [counted, indices, updates, here, *combined, where(here, (*combined, updates)[0], op.x)]


@dataclass(frozen=True)
class PtirSelectScattersPass(ModulePass):
    """Replace scatters of one element per row by selections, where a gather checks the indices."""

    name = "mind-ptir-select-scatters"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        select_scatters(op)
