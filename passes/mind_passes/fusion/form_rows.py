"""
Fusions take the form of row kernels, as far as they can.

`fuse` ends a group at its reduction. Here reductions leave the fusions of products, single ops become fusions, reductions over
the rows and further axes reduce each row first, and fusions over the same rows are merged. A fusion of one op is no fusion then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import islice

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FusionOp, GatherOp, PtirOp, ReduceOp, YieldOp
from mind_dialect.ptir.types import read_type

from ..ptir.building import accumulator, axes_of_reduction
from .defuse import defuse
from .edit import FusionEdit
from .kernels import IsKernel, always
from .merge_rows import merge_rows
from .split import split_reductions
from .wrap import is_pointwise_or_reduction, wrap_ops

Shape = tuple[int | str, ...]


def form_rows(root: Operation, is_kernel: IsKernel = always, is_computed: Callable[[PtirOp], bool] = always) -> None:
    """
    Form row fusions of the fusions and ops of static shape inside `root`, in place.

    `is_kernel` is whether a fusion is a row kernel, `is_computed` whether kernels compute an elementwise op or a reduction.
    """
    if not any(isinstance(op, ReduceOp) for op in walk(root)):
        return
    split_reductions(root)
    wrap_ops(root, lambda op: isinstance(op, GatherOp) or (is_pointwise_or_reduction(op) and is_computed(op)))
    for op in [op for op in walk(root) if isinstance(op, FusionOp)]:
        _reduce_rows_first(op)
    merge_rows(root, is_kernel, may_fit=Domains().may_fit)
    defuse(root, only=lambda op: len(op.body.block.ops) == 2 and op.pattern is None)


@dataclass
class Domains:
    """The shapes that fusions compute over and the axes that they reduce, which rule out most of what is not one kernel."""

    known: dict[FusionOp, tuple[set[Shape], set[tuple[Shape, tuple[int, ...]]]]] = field(default_factory=dict)

    def may_fit(self, fusions: Sequence[FusionOp]) -> bool:
        """Return whether fusions could be one row kernel."""
        shapes, reduced = set[Shape](), set[tuple[Shape, tuple[int, ...]]]()
        for op in fusions:
            if op not in self.known:
                self.known[op] = _domain(op)
            shapes |= self.known[op][0]
            reduced |= self.known[op][1]
        if not reduced:
            return True
        rows = {(shape, axes) for shape, axes in reduced if len(shape) - 1 in axes} or reduced
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
        elif is_pointwise_or_reduction(op):
            shapes.add(read_type(op.results[0].type).shape)
    return shapes, reduced


def _reduce_rows_first(op: FusionOp) -> None:
    """
    Split a reduction over rows and other axes into one over the rows, in the fusion, and one over the rest behind it.

    Only where a neighbour, which computes or reads an operand of the fusion, reduces such rows: they may be one kernel.
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
        rows = {axes_of_reduction(r) for other in _neighbours(op) for r in other.body.block.ops if isinstance(r, ReduceOp)
                and read_type(r.x.type).shape == shape}  # fmt: skip
        inner = [r for r in rows if r and set(r) < set(axes) and len(shape) - 1 in r]
        if len(inner) == 1:
            _split(op, i, reduction, inner[0])
            return


def _neighbours(op: FusionOp) -> Iterator[FusionOp]:
    """Yield the fusions that compute an operand of a fusion, or read one."""
    for value in op.operands:
        if isinstance(value.owner, FusionOp):
            yield value.owner
        for use in islice(value.uses, 8):
            if isinstance(use.operation, FusionOp) and use.operation is not op:
                yield use.operation


def _split(op: FusionOp, index: int, reduction: ReduceOp, rows: tuple[int, ...]) -> None:
    """Replace a fusion whose result `index` is a reduction by one that reduces rows, and a reduction of those."""
    total, kind = accumulator(reduction), reduction.values()["kind"]
    first = ReduceOp(reduction.x, kind=kind, axes=rows, keepdims=True, accum_dtype=total, out_dtype=total)
    first.result.name_hint = reduction.result.name_hint and f"{reduction.result.name_hint}.row"
    first.location = reduction.location
    block = op.parent
    assert isinstance(block, Block)
    op.body.block.insert_op_before(first, reduction)
    edit = FusionEdit()
    edit.inline(op)
    results = [first.result if i == index else v for i, v in enumerate(op.results)]
    edit.prune(results)
    made = edit.fusion(results, location=op.location)
    values = reduction.values()
    last = ReduceOp(
        made.results[index],
        kind=kind,
        axes=tuple(a % len(read_type(reduction.x.type).shape) for a in values["axes"]),
        keepdims=values["keepdims"],
        accum_dtype=total,
        out_dtype=reduction.result_spec().dtype,
    )
    last.location = reduction.location
    block.insert_ops_before([made, last], op)
    for i, (old, new) in enumerate(zip(op.results, made.results, strict=True)):
        target = last.result if i == index else new
        target.name_hint = old.name_hint
        old.replace_all_uses_with(target)
    op.detach()
    op.erase()


@dataclass(frozen=True)
class PtirFormRowsPass(ModulePass):
    """
    Form row fusions: fuse ops over the same rows, including reductions.

    The functions are of static shape. Run `ptir-fuse` before.
    """

    name = "mind-ptir-form-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        form_rows(op)
