"""
Fusions that have their rows in common as one: a log-sum-exp is one kernel then, and so are the sums of a backward pass.

`fuse` puts one reduction at the end of a group. A kernel of ours can go on after it, and reduce again, while it has a row in
registers. So a fusion and one that uses what it gives are merged where the whole is a kernel, unless a row is so long that
several blocks should share it. Bodies stay below `MOST_MERGED` ops, so that the cost stays linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.ptir import FusionOp, ReduceOp, YieldOp

from .kernel import make_kernel
from .unsupported import Unsupported

MOST_MERGED = 96


def merge_rows(module: ModuleOp) -> None:
    """Merge fusions of a module, each with what it uses, for as long as there is something to merge."""
    ops = [op for op in walk(module) if op.regions and not isinstance(op, FusionOp)]
    for block in [block for op in ops for region in op.regions for block in region.blocks]:
        _Merging({op: i for i, op in enumerate(block.ops)}).run(list(block.ops))


@dataclass
class _Merging:
    """One block on its way; `place` orders its ops, merged ones included."""

    place: dict[Operation, int]

    def run(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            current: FusionOp | None = op if isinstance(op, FusionOp) else None
            while current is not None:
                current = self._with_a_maker(current)

    def _with_a_maker(self, user: FusionOp) -> FusionOp | None:
        """The fusion of `user` and one that makes an operand of it, if they can be one."""
        for maker in dict.fromkeys(v.owner for v in user.operands):
            if isinstance(maker, FusionOp) and maker.parent is user.parent and _is_wanted(maker, user):
                where = self._where(maker, user)
                merged = None if where is None else _merged(maker, user)
                if merged is not None and where is not None and _is_good(merged):
                    self._replace(maker, user, merged, where)
                    return merged
        return None

    def _where(self, maker: FusionOp, user: FusionOp) -> Operation | None:
        """Which of the two the whole can stand for: nothing between them may need the one and be needed by the other."""
        first, last = self.place[maker], self.place[user]
        others = [v.owner for v in user.operands if v.owner is not maker]
        if all(not isinstance(o, Operation) or self.place.get(o, -1) < first for o in others):
            return maker
        users = [self._holder(use.operation, maker) for v in maker.results for use in v.uses]
        return user if all(self.place[u] >= last for u in users) else None

    def _holder(self, op: Operation, beside: Operation) -> Operation:
        """The op of the block of `beside` that `op` is, or is in."""
        while op.parent is not beside.parent:
            parent = op.parent_op()
            assert parent is not None
            op = parent
        return op

    def _replace(self, maker: FusionOp, user: FusionOp, merged: FusionOp, where: Operation) -> None:
        block = where.parent
        assert isinstance(block, Block)
        block.insert_op_before(merged, where)
        self.place[merged] = self.place[where]
        kept = [v for v in maker.results if any(use.operation is not user for use in v.uses)]
        for old, new in zip((*user.results, *kept), merged.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        for op in (user, maker):
            op.detach()
            op.erase()


def _is_wanted(maker: FusionOp, user: FusionOp) -> bool:
    """Whether there is a reduction to go on after, in bodies that are not too long."""
    ops = [*maker.body.block.ops, *user.body.block.ops]
    return len(ops) <= MOST_MERGED and any(isinstance(op, ReduceOp) for op in ops)


def _merged(maker: FusionOp, user: FusionOp) -> FusionOp:
    """Both bodies, one after the other; first what `user` gives, then what others need of `maker`."""
    values: dict[SSAValue, SSAValue] = {}
    arguments: dict[SSAValue, SSAValue] = {}
    body = Block()
    results: dict[SSAValue, SSAValue] = {}
    for fusion in (maker, user):
        for argument, value in zip(fusion.body.block.args, fusion.operands, strict=True):
            if value in results:
                values[argument] = results[value]
                continue
            if value not in arguments:
                arguments[value] = body.insert_arg(value.type, len(body.args))
                arguments[value].name_hint = argument.name_hint
            values[argument] = arguments[value]
        for op in fusion.body.block.ops:
            if isinstance(op, YieldOp):
                results.update(zip(fusion.results, (values[v] for v in op.operands), strict=True))
            else:
                body.add_op(op.clone(values))
    kept = [v for v in maker.results if any(use.operation is not user for use in v.uses)]
    given = [*user.results, *kept]
    body.add_op(YieldOp.create(operands=[results[v] for v in given]))
    return FusionOp.create(
        operands=list(arguments), result_types=[v.type for v in given], regions=[Region(body)], location=user.location
    )


def _is_good(fusion: FusionOp) -> bool:
    """Whether a fusion is a kernel with enough blocks for a long row."""
    try:
        return not make_kernel(fusion.body.block).is_narrow
    except Unsupported:
        return False
