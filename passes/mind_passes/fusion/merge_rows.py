"""
Fusions over the same rows are merged: a log-sum-exp becomes one kernel, and so do the sums of a backward pass.

`fuse` puts one reduction at the end of a group. A kernel may continue after it, and reduce again, while a row is in registers or
in the cache. So a fusion is merged with a producer of an operand and, with `siblings`, with another reader of an operand, if the
merged fusion is a kernel; ops between them that need the first move behind. Bodies stay below `MOST_MERGED` ops, at most
`FARTHEST` ops are between, and each operand has at most `MOST_SIBLINGS` siblings tried, so that the cost stays linear. A target
that can rule out most combinations at little cost is asked about whole sets first, by `may_fit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.ptir import FusionOp, ReduceOp

from ..ptir.building import substitute
from .edit import FusionEdit
from .kernels import IsKernel, always

MOST_MERGED = 96
MOST_SIBLINGS = 4
"""At most so many other readers of an operand are tried, the nearest first."""
FARTHEST = 200
"""At most so many ops are between fusions that are merged."""
_STRETCHED = (ptir.ReshapeOp, ptir.BroadcastToOp)
"""Views that a fusion may hold."""

Fitting = Callable[[Sequence[FusionOp]], bool]


def merge_rows(module: Operation, is_kernel: IsKernel = always, *, siblings: bool = True, may_fit: Fitting | None = None) -> None:
    """
    Merge the fusions inside `module`, in place, until none can be merged.

    `may_fit` returns, at little cost, whether a set of fusions could be one kernel; `is_kernel` has the last word.
    """
    ops = [op for op in walk(module) if op.regions and not isinstance(op, FusionOp)]
    for block in [block for op in ops for region in op.regions for block in region.blocks]:
        if sum(isinstance(op, FusionOp) for op in block.ops) > 1:
            _take_views_in(block)
            _Merging({op: i for i, op in enumerate(block.ops)}, is_kernel, siblings, may_fit).run(block)


def _take_views_in(block: Block) -> None:
    """Let fusions read results of others directly, where they read views of them."""
    for op in list(block.ops):
        if not isinstance(op, FusionOp) or any(isinstance(inner, ptir.DotGeneralOp) for inner in op.body.block.ops):
            continue
        chains = [_chain(value, block) for value in op.operands]
        if any(chains):
            edit = FusionEdit()
            for value, chain in zip(op.operands, chains, strict=True):
                edit.read(chain[0].operands[0] if chain else value)
            for chain in reversed(chains):
                edit.append(*chain)
            edit.inline(op)
            substitute(op, edit.fusion(op.results, like=op))
            for view in dict.fromkeys(view for chain in chains for view in reversed(chain)):
                if not view.results[0].first_use:
                    block.erase_op(view)


def _chain(value: SSAValue, block: Block) -> list[Operation]:
    """Return the views, in order, between a result of a fusion of the block and a value; none if there are none."""
    chain: list[Operation] = []
    while isinstance(value.owner, _STRETCHED):
        chain.append(value.owner)
        value = value.owner.operands[0]
    return chain[::-1] if isinstance(value.owner, FusionOp) and value.owner.parent is block else []


@dataclass
class _Merging:
    """The merging of one block; `place` is the position of each op, merged ones included."""

    place: dict[Operation, int]
    is_kernel: IsKernel
    siblings: bool
    may_fit: Fitting | None
    bodies: dict[FusionOp, tuple[int, set[type[Operation]]]] = field(default_factory=dict)
    """How many ops the body of a fusion has, and of which classes."""

    def run(self, block: Block) -> None:
        if self.may_fit is not None:
            for op in reversed(list(block.ops)):
                if isinstance(op, FusionOp) and op in self.place:
                    self._grow(op, self.may_fit)
        for op in list(block.ops):
            current: FusionOp | None = op if isinstance(op, FusionOp) and op in self.place else None
            while current is not None:
                current = self._with_another(current)

    def _grow(self, user: FusionOp, may_fit: Fitting) -> None:
        """Merge a fusion at once with all that it can reach."""
        members, waiting = [user], list(self._others(user))
        while waiting:
            other = waiting.pop(0)
            if other in members or other.parent is not user.parent:
                continue
            every = sorted((*members, other), key=self.place.__getitem__)
            if self._is_short(every) and may_fit(every) and self._between(every) is not None:
                members = every
                waiting += self._others(other)
        self._try(members)

    def _with_another(self, user: FusionOp) -> FusionOp | None:
        """Return the fusion of `user` and a producer or another reader of an operand, if they can be merged."""
        for other in dict.fromkeys(self._others(user)):
            if other.parent is user.parent and other is not user and self._is_wanted(other, user):
                fits = self.may_fit is None or self.may_fit((other, user))
                merged = self._try((other, user)) if fits else None
                if merged is not None:
                    return merged
        return None

    def _try(self, members: Sequence[FusionOp]) -> FusionOp | None:
        """Return the merged fusion of `members`, if it is a kernel."""
        between = self._between(members) if len(members) > 1 and self._is_wanted(*members) else None
        if between is None:
            return None
        merged = merged_fusion(members)
        if not self.is_kernel(merged):
            merged.erase()  # drops its uses
            return None
        self._replace(members, merged, *between)
        return merged

    def _body(self, op: FusionOp) -> tuple[int, set[type[Operation]]]:
        if op not in self.bodies:
            kinds = [type(inner) for inner in op.body.block.ops]
            self.bodies[op] = len(kinds), set(kinds)
        return self.bodies[op]

    def _is_short(self, members: Sequence[FusionOp]) -> bool:
        return sum(self._body(op)[0] for op in members) <= MOST_MERGED

    def _is_wanted(self, *members: FusionOp) -> bool:
        """Return whether there is a reduction to continue after and no product, in bodies that are not too long."""
        kinds = {kind for op in members for kind in self._body(op)[1]}
        return self._is_short(members) and ReduceOp in kinds and ptir.DotGeneralOp not in kinds

    def _others(self, user: FusionOp) -> Iterator[FusionOp]:
        """Yield producers of operands, then earlier readers of operands."""
        for value in user.operands:
            if isinstance(value.owner, FusionOp):
                yield value.owner
        for value in user.operands if self.siblings else ():
            readers = dict.fromkeys(use.operation for use in value.uses)
            before = [r for r in readers if isinstance(r, FusionOp) and self.place.get(r, 1 << 62) < self.place[user]]
            yield from sorted(before, key=self.place.__getitem__, reverse=True)[:MOST_SIBLINGS]

    def _between(self, members: Sequence[FusionOp]) -> tuple[list[Operation], list[Operation]] | None:
        """
        Return the ops between fusions that do not need them, and those that do.

        None if one of the fusions needs some of the latter, or if they are too far apart.
        """
        first, last = members[0], members[-1]
        if self.place[last] - self.place[first] > FARTHEST:
            return None
        staying: list[Operation] = []
        moved: list[Operation] = []
        needed = {id(op) for op in members}  # owners are compared by identity: hashes of ops are slow
        behind: set[int] = set()
        for op in (*self._window(first, last), last):
            inside = op.walk() if op.regions and not isinstance(op, FusionOp) else (op,)
            owners = {id(v.owner) for inner in inside for v in inner.operands}
            if id(op) in needed:
                if not owners.isdisjoint(behind):
                    return None
            elif owners.isdisjoint(needed) and owners.isdisjoint(behind):
                staying.append(op)
            else:
                moved.append(op)
                behind.add(id(op))
        return staying, moved

    def _window(self, first: Operation, last: Operation) -> Iterator[Operation]:
        op = first.next_op
        while op is not None and op is not last:
            yield op
            op = op.next_op

    def _replace(
        self, members: Sequence[FusionOp], merged: FusionOp, staying: Sequence[Operation], moved: Sequence[Operation]
    ) -> None:
        """Put the merged fusion where the last member is, and the ops that need the others behind it."""
        last = members[-1]
        block = last.parent
        assert isinstance(block, Block)
        block.insert_op_before(merged, last)
        for op in reversed(moved):
            block.detach_op(op)
            block.insert_op_after(op, merged)
        for old, new in zip(_results(members), merged.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        places = sorted(self.place.pop(op) for op in (*members, *staying, *moved))
        self.place.update(zip((*staying, merged, *moved), places[len(members) - 1 :], strict=True))
        for op in reversed(members):
            op.detach()
            op.erase()


def _results(members: Sequence[FusionOp]) -> list[SSAValue]:
    """Return the results of a merged fusion: those of the last member, then those of the rest that others use."""
    inside = set(members)
    kept = [v for op in members[:-1] for v in op.results if any(use.operation not in inside for use in v.uses)]
    return [*members[-1].results, *kept]


def merged_fusion(members: Sequence[FusionOp]) -> FusionOp:
    """
    Return the bodies of fusions one after the other, as a fusion in no block.

    Its results are those of the last, then those of the rest that others use. Erase it if it is not used: it uses its operands.
    """
    edit = FusionEdit()
    for member in members:
        edit.inline(member)
    return edit.fusion(_results(members), location=members[-1].location)


@dataclass(frozen=True)
class PtirMergeRowsPass(ModulePass):
    """
    Merge fusions over the same rows, where a reduction is among them.

    With `siblings=false` only with producers of their operands, not with other readers of these.
    """

    name = "mind-ptir-merge-rows"

    siblings: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        merge_rows(op, siblings=self.siblings)
