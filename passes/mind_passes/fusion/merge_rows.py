"""
Fusions over the same rows are merged: a log-sum-exp becomes one kernel, and so do the sums of a backward pass.

`fuse` puts one reduction at the end of a group. A kernel may continue after it, and reduce again, while a row is in registers or
in the cache. So a fusion is merged with a producer of an operand and, with `siblings`, with another reader of an operand, if the
merged fusion is a kernel; ops between them that need the first move behind. Bodies have at most `MOST_MERGED` ops, at most
`FARTHEST` ops are between, and each operand has at most `MOST_SIBLINGS` siblings tried, so that the cost stays linear. A target
that can rule out most combinations at little cost is asked about whole sets first, by `may_fit`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
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


def merge_rows(
    module: Operation,
    is_kernel: IsKernel = always,
    *,
    siblings: bool = True,
    may_fit: Fitting | None = None,
    around: Collection[type[Operation]] = (ReduceOp,),
    most: int = MOST_MERGED,
) -> None:
    """
    Merge the fusions inside `module`, in place, until none can be merged: always one with an op of `around`, `most` ops at most.

    `may_fit` returns, at little cost, whether a set of fusions could be one kernel; `is_kernel` has the last word.
    """
    ops = [op for op in walk(module) if op.regions and not isinstance(op, FusionOp)]
    for block in [block for op in ops for region in op.regions for block in region.blocks]:
        if sum(isinstance(op, FusionOp) for op in block.ops) > 1:
            _take_views_in(block)
            _Merging(list(block.ops), is_kernel, siblings, may_fit, around, most).run(block)


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
    """The merging of one block; `order` are its ops by their places, None where the members of a merged fusion were."""

    order: list[Operation | None]
    is_kernel: IsKernel
    siblings: bool
    may_fit: Fitting | None
    around: Collection[type[Operation]]
    most: int
    bodies: dict[FusionOp, tuple[int, set[type[Operation]]]] = field(default_factory=dict)
    """The number of ops in the body of each fusion, and their classes."""
    place: dict[Operation, int] = field(init=False)
    makers: list[set[int]] = field(init=False)
    """Of each place, what makes the operands of the op there, by identity: hashes of ops are slow."""

    def __post_init__(self) -> None:
        self.place = {op: i for i, op in enumerate(self.order) if op is not None}
        self.makers = [set() if op is None else _makers(op) for op in self.order]

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
            if self._is_short(every) and may_fit(every) and self._behind(every) is not None:
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
        behind = self._behind(members) if len(members) > 1 and self._is_wanted(*members) else None
        if behind is None:
            return None
        merged = merged_fusion(members)
        if not self.is_kernel(merged):
            merged.erase()  # drops its uses
            return None
        self._replace(members, merged, behind)
        return merged

    def _body(self, op: FusionOp) -> tuple[int, set[type[Operation]]]:
        if op not in self.bodies:
            kinds = [type(inner) for inner in op.body.block.ops]
            self.bodies[op] = len(kinds), set(kinds)
        return self.bodies[op]

    def _is_short(self, members: Sequence[FusionOp]) -> bool:
        return sum(self._body(op)[0] for op in members) <= self.most

    def _is_wanted(self, *members: FusionOp) -> bool:
        """Return whether there is an op to merge around and no product, in bodies that are not too long."""
        kinds = {kind for op in members for kind in self._body(op)[1]}
        return self._is_short(members) and not kinds.isdisjoint(self.around) and ptir.DotGeneralOp not in kinds

    def _others(self, user: FusionOp) -> Iterator[FusionOp]:
        """Yield producers of operands, then the nearest earlier readers of each operand, at most `FARTHEST` ops before."""
        for value in user.operands:
            if isinstance(value.owner, FusionOp):
                yield value.owner
        place = self.place[user]
        readers: dict[SSAValue, list[FusionOp]] = {value: [] for value in user.operands} if self.siblings else {}
        for before in range(place - 1, max(place - FARTHEST, 0) - 1, -1) if readers else ():
            op = self.order[before]
            if isinstance(op, FusionOp) and not self.makers[before].isdisjoint(self.makers[place]):
                for value in dict.fromkeys(op.operands):
                    if value in readers and len(readers[value]) < MOST_SIBLINGS:
                        readers[value].append(op)
        for found in readers.values():
            yield from found

    def _behind(self, members: Sequence[FusionOp]) -> set[Operation] | None:
        """
        Return the ops between fusions, given in their order, that need some of them.

        None if one of the fusions needs some of the former, or if they are too far apart.
        """
        first, last = self.place[members[0]], self.place[members[-1]]
        if last - first > FARTHEST:
            return None
        behind = set[Operation]()
        reached = {id(op) for op in members}
        for place in range(first + 1, last + 1):
            if self.makers[place].isdisjoint(reached):
                continue
            op = self.order[place]
            if op in members:
                if not self.makers[place].isdisjoint(map(id, behind)):
                    return None
            elif op is not None:
                behind.add(op)
                reached.add(id(op))
        return behind

    def _put(self, places: Sequence[int], ops: Sequence[Operation | None]) -> None:
        """Let ops be at places: what is new there, or was at another one of them."""
        found = [set[int]() if op is None else self.makers[self.place[op]] if op in self.place else _makers(op) for op in ops]
        for place, op, makers in zip(places, ops, found, strict=True):
            self.order[place], self.makers[place] = op, makers
            if op is not None:
                self.place[op] = place

    def _replace(self, members: Sequence[FusionOp], merged: FusionOp, behind: set[Operation]) -> None:
        """Put the merged fusion where the last member is, and the ops that need the others behind it."""
        last = members[-1]
        block = last.parent
        assert isinstance(block, Block)
        places = [i for i in range(self.place[members[0]], self.place[last] + 1) if self.order[i] is not None]
        between = [op for op in map(self.order.__getitem__, places) if op is not None and op not in members]
        staying, moved = [op for op in between if op not in behind], [op for op in between if op in behind]
        block.insert_op_before(merged, last)
        for op in reversed(moved):
            block.detach_op(op)
            block.insert_op_after(op, merged)
        for old, new in zip(_results(members), merged.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        self._put(places, [*[None] * (len(members) - 1), *staying, merged, *moved])
        for op in reversed(members):
            del self.place[op]
            op.detach()
            op.erase()
        for user in {_holder(use.operation, block) for value in merged.results for use in value.uses}:
            makers = self.makers[self.place[user]]
            makers.difference_update(map(id, members))
            makers.add(id(merged))


def _makers(op: Operation) -> set[int]:
    """Return the identities of what makes the operands of an op, those of ops in its regions included."""
    inside = op.walk() if op.regions and not isinstance(op, FusionOp) else (op,)
    return {id(v.owner) for inner in inside for v in inner.operands}


def _holder(op: Operation, block: Block) -> Operation:
    """Return the op of a block that an op inside the block is, or is in."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None, "uses are inside the block"
        op = parent
    return op


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
