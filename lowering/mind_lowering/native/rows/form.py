"""
Fusions of a prepared module as row kernels, as far as they can be.

`fuse` ends a group at its reduction. Here layer norms become what they mean, reductions leave the fusions of products, sums over
rows and more are taken of each row first, and what has its rows in common is merged. What is alone again is no fusion then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.ptir import FUSIBLE, FusionOp, PtirOp, ReduceOp, YieldOp
from mind_dialect.ptir.types import read_type
from mind_passes.fusion.defuse import defuse
from mind_passes.fusion.edit import FusionEdit
from mind_passes.ptir.dce import replace_values
from mind_passes.ptir.patterns.matching import fusion

from ...merge_rows import merge_rows
from ...norms import expand_norms
from ..kernels import why_not
from ..reductions import accumulator
from ..target_info import TargetInfo
from .body import axes_of_reduction
from .step import is_row_kernel

Shape = tuple[int | str, ...]


def ready_to_fuse(module: ModuleOp, host: TargetInfo) -> None:
    """Expand layer norms of dtypes that are computed in here."""
    expand_norms(module, lambda op: all(why_not(o, host) is None for o in _computed(op)))


def form_rows(module: ModuleOp, host: TargetInfo) -> None:
    """Merge fusions of a fused module of functions of known sizes, in place."""
    if not any(isinstance(op, ReduceOp) for op in walk(module)):
        return
    _let_reductions_out(module)
    _wrap(module, host)
    for op in [op for op in walk(module) if isinstance(op, FusionOp)]:
        _sum_rows_first(op)
    merge_rows(module, lambda op: is_row_kernel(op, host), siblings=True, may_fit=Domains().may_fit)
    defuse(module, only=lambda op: len(op.body.block.ops) == 2 and op.pattern is None)


@dataclass
class Domains:
    """The shapes that fusions compute over and the axes that they reduce, which tell most of what cannot be one kernel."""

    known: dict[FusionOp, tuple[set[Shape], set[tuple[Shape, tuple[int, ...]]]]] = field(default_factory=dict)

    def may_fit(self, fusions: Sequence[FusionOp]) -> bool:
        """Whether some fusions could be a row kernel."""
        shapes, reduced = set[Shape](), set[tuple[Shape, tuple[int, ...]]]()
        for op in fusions:
            if op not in self.known:
                self.known[op] = _domain(op)
            shapes |= self.known[op][0]
            reduced |= self.known[op][1]
        if not reduced:
            return True
        rows = {(shape, axes) for shape, axes in reduced if len(shape) - 1 in axes}
        if len({shape for shape, _ in reduced}) != 1 or len(rows) != 1:
            return False
        ((shape, axes),) = rows
        thin = tuple(1 if a in axes else n for a, n in enumerate(shape)), tuple(n for a, n in enumerate(shape) if a not in axes)
        return shapes <= {shape, *thin}


def _domain(fusion: FusionOp) -> tuple[set[Shape], set[tuple[Shape, tuple[int, ...]]]]:
    shapes, reduced = set[Shape](), set[tuple[Shape, tuple[int, ...]]]()
    for op in fusion.body.block.ops:
        if isinstance(op, ReduceOp):
            reduced.add((read_type(op.x.type).shape, axes_of_reduction(op)))
        elif _is_computed(op):
            shapes.add(read_type(op.results[0].type).shape)
    return shapes, reduced


def _computed(fusion: FusionOp) -> list[PtirOp]:
    """The ops of a fusion that compute something."""
    return [op for op in fusion.body.block.ops if isinstance(op, PtirOp) and _is_computed(op)]


def _is_computed(op: Operation) -> bool:
    return FUSIBLE.get(type(op)) in ("elementwise", "reduction")


def _let_reductions_out(module: ModuleOp) -> None:
    """Fusions of products without their reductions, which stand behind them: these are a row's, not a tile's."""
    parts: list[tuple[list[Operation], list[Operation]]] = []
    held: set[Operation] = set()
    for op in walk(module):
        if not isinstance(op, FusionOp) or op.pattern is not None:
            continue
        inner = [o for o in op.body.block.ops if not isinstance(o, YieldOp)]
        sums: list[Operation] = [o for o in inner if isinstance(o, ReduceOp)]
        if sums and any(isinstance(o, ptir.DotGeneralOp) for o in inner):
            held.add(op)
            parts.append(([o for o in inner if not isinstance(o, ReduceOp)], sums))
    defuse(module, only=held.__contains__)
    became: dict[SSAValue, SSAValue] = {}
    for part, sums in parts:
        members, needed = set(part), {v.owner for o in part for v in o.operands}
        results = [v for o in part for v in o.results if any(use.operation not in members for use in v.uses)]
        block = part[-1].parent
        if len(part) > 1 and isinstance(block, Block) and needed.isdisjoint(sums):
            made = fusion(part, results)
            block.insert_op_after(made, part[-1])
            for op in reversed(sums):
                block.detach_op(op)
                block.insert_op_after(op, made)
            became.update(zip(results, made.results, strict=True))
    replace_values(module, became)


def _wrap(module: ModuleOp, host: TargetInfo) -> None:
    """What is alone of elementwise ops and reductions as fusions."""
    became: dict[SSAValue, SSAValue] = {}
    for op in list(walk(module)):
        if not isinstance(op, PtirOp) or isinstance(op.parent_op(), FusionOp):
            continue
        block = op.parent
        if isinstance(block, Block) and (isinstance(op, ptir.GatherOp) or (_is_computed(op) and why_not(op, host) is None)):
            made = fusion([op], op.results)
            block.insert_op_after(made, op)
            became[op.results[0]] = made.results[0]
    replace_values(module, became)


def _sum_rows_first(op: FusionOp) -> None:
    """
    A reduction over rows and other axes as one over the rows, in the fusion, and one of the rest behind it.

    Only where a fusion beside it, which makes or reads an operand of it, reduces such rows: they may be one kernel.
    """
    ending = op.body.block.last_op
    assert isinstance(ending, YieldOp), "verified"
    for i, value in enumerate(ending.operands):
        reduction = value.owner
        if not isinstance(reduction, ReduceOp) or reduction.parent is not op.body.block:
            continue
        if any(use.operation is not ending for use in reduction.result.uses):
            continue
        axes, shape = axes_of_reduction(reduction), read_type(reduction.x.type).shape
        rows = {axes_of_reduction(r) for other in _beside(op) for r in other.body.block.ops if isinstance(r, ReduceOp)
                and read_type(r.x.type).shape == shape}  # fmt: skip
        inner = [r for r in rows if r and set(r) < set(axes) and len(shape) - 1 in r]
        if len(inner) == 1:
            _split(op, i, reduction, inner[0])
            return


def _beside(op: FusionOp) -> Iterator[FusionOp]:
    """The fusions that make an operand of one, or read one."""
    for value in op.operands:
        if isinstance(value.owner, FusionOp):
            yield value.owner
        for use in list(value.uses)[:8]:
            if isinstance(use.operation, FusionOp) and use.operation is not op:
                yield use.operation


def _split(op: FusionOp, place: int, reduction: ReduceOp, rows: tuple[int, ...]) -> None:
    """Replace a fusion whose result `place` is a reduction by one that reduces rows, and a reduction of those."""
    total, kind = accumulator(reduction), reduction.values()["kind"]
    first = ReduceOp(reduction.x, kind=kind, axes=rows, keepdims=True, accum_dtype=total, out_dtype=total)
    first.result.name_hint = reduction.result.name_hint and f"{reduction.result.name_hint}.row"
    first.location = reduction.location
    block = op.parent
    assert isinstance(block, Block)
    op.body.block.insert_op_before(first, reduction)
    edit = FusionEdit()
    edit.inline(op)
    results = [first.result if i == place else v for i, v in enumerate(op.results)]
    edit.prune(results)
    made = edit.fusion(results, location=op.location)
    values = reduction.values()
    last = ReduceOp(
        made.results[place],
        kind=kind,
        axes=tuple(a % len(read_type(reduction.x.type).shape) for a in values["axes"]),
        keepdims=values["keepdims"],
        accum_dtype=total,
        out_dtype=reduction.result_spec().dtype,
    )
    last.location = reduction.location
    block.insert_ops_before([made, last], op)
    for i, (old, new) in enumerate(zip(op.results, made.results, strict=True)):
        target = last.result if i == place else new
        target.name_hint = old.name_hint
        old.replace_all_uses_with(target)
    op.detach()
    op.erase()
