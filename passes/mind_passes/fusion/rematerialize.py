"""
Cheap producers are rematerialized in their consumers, where that reduces memory traffic.

A derivative reads what the function before it computed: for an activation by tanh five arrays, which can all be computed from the
one that the function itself reads. A value that needs a total of its row, such as a row less its mean, can be rematerialized from
the row and the total. The bits are the same, because the same ops run on the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FUSIBLE, ConstantOp, ConvolutionOp, DotGeneralOp, FusionOp, IotaOp, PtirOp, ReduceOp
from mind_dialect.ptir.types import read_type

from ..ptir.building import substitute
from ..ptir.failing import can_fail
from .edit import FusionEdit
from .kernels import IsKernel, always

MOST_OPS = 32
"""At most so many ops are rematerialized for one value."""
LEAST_BYTES = 1 << 16
"""Smaller arrays are stored: they are in the cache when they are read."""
SMALL = 16
"""Totals of rows that have so many times fewer bytes than a value are stored so that the value need not be."""
_ANYWHERE = ("elementwise", "view")


def rematerialize(
    module: Operation,
    is_kernel: IsKernel = always,
    are_cheap: Callable[[Sequence[Operation]], bool] = always,
    *,
    least_bytes: int = LEAST_BYTES,
    totals: bool = False,
) -> None:
    """
    Rematerialize results of fusions, elementwise ops on others of their values, in the fusions that read them.

    Each fusion must be a kernel still, as `is_kernel` says. `are_cheap` is whether ops may be computed once for each consumer.
    Results of fewer than `least_bytes` bytes stay, as does what a contraction reads: it reads each element many times. With
    `totals`, fusions store totals of rows that others need to rematerialize a value, and results of fusions that look up or move
    elements are rematerialized from what these store, too.
    """
    for block in dict.fromkeys(op.parent for op in walk(module) if isinstance(op, FusionOp)):
        op = None if block is None else block.first_op
        while op is not None:
            following = op.next_op
            if isinstance(op, FusionOp) and (_is_plain(op) or (totals and op.pattern is None)):
                count = len(op.results)
                op = _with_totals(op, least_bytes, is_kernel) if totals else op
                gone = _moved(op, is_kernel, are_cheap, least_bytes)
                gone.update(result for result in op.results[count:] if not result.first_use)
                following = op.next_op  # may be new: users are behind
                if gone:
                    _without(op, gone)
            op = following


def _moved(
    op: FusionOp, is_kernel: IsKernel, are_cheap: Callable[[Sequence[Operation]], bool], least_bytes: int
) -> set[SSAValue]:
    """Rematerialize results, those computed last first; return the results that are unused then."""
    ending = op.body.block.last_op
    assert ending is not None
    made = dict(zip(ending.operands, op.results, strict=True))
    gone: set[SSAValue] = set()
    for inner in reversed(list(op.body.block.ops)):
        for value in inner.results:
            found = _Slice.of(op, made[value], value, gone) if value in made and _bytes(made[value]) >= least_bytes else None
            if found is not None and are_cheap(found.ops) and found.is_cheaper() and found.move(is_kernel):
                gone.add(made[value])
    return gone


def _with_totals(op: FusionOp, least_bytes: int, is_kernel: IsKernel) -> FusionOp:
    """Return a fusion that has totals of its rows as further results, where others could rematerialize a value from them."""
    ending = op.body.block.last_op
    assert ending is not None
    totals = _computed_of_sums(op)
    if not totals:
        return op
    stored: dict[SSAValue, None] = {}
    for result, value in zip(op.results, ending.operands, strict=True):
        if value in totals and _bytes(result) >= least_bytes:
            small = {v for v in totals if _bytes(v) * SMALL <= _bytes(result)}
            found = _Slice.of(op, result, value, set(), small)
            if found is not None and found.is_cheaper():
                stored.update(dict.fromkeys(v for v in found.leaves if v in small and v not in ending.operands))
    if not stored:
        return op
    edit = FusionEdit()
    edit.inline(op)
    made = edit.fusion([*op.results, *stored], like=op)
    if not is_kernel(made):
        made.erase()
        return op
    substitute(op, made)
    return made


def _computed_of_sums(op: FusionOp) -> set[SSAValue]:
    """Return the reductions of the body of a fusion, and what is computed of them."""
    found: set[SSAValue] = set()
    for inner in op.body.block.ops:
        if isinstance(inner, ReduceOp) or not found.isdisjoint(inner.operands):
            found.update(inner.results)
    return found


def _is_plain(op: FusionOp) -> bool:
    """Return whether a fusion is elementwise, with or without reductions and a contraction."""
    inner = list(op.body.block.ops)[:-1]
    return op.pattern is None and all(
        FUSIBLE.get(type(o)) in _ANYWHERE or isinstance(o, ReduceOp | DotGeneralOp | ConvolutionOp) for o in inner
    )


def _is_contracted(value: SSAValue, user: FusionOp) -> bool:
    """Return whether a contraction of a fusion reads an operand, or what is computed of it."""
    read: set[SSAValue] = {a for a, v in zip(user.body.block.args, user.operands, strict=True) if v is value}
    for op in user.body.block.ops:
        if not read.isdisjoint(op.operands):
            if isinstance(op, DotGeneralOp | ConvolutionOp):
                return True
            read.update(op.results)
    return False


def _bytes(value: SSAValue) -> int:
    """Return the size of a value in bytes; 0 if it is not static."""
    spec, count = read_type(value.type), 1
    for n in spec.shape:
        count *= n if isinstance(n, int) else 0
    return count * spec.dtype.size


class _Slice:
    """The ops that rematerialize a result of a fusion in the fusions that use it."""

    def __init__(self, result: SSAValue, value: SSAValue, users: Sequence[FusionOp]):
        self.result, self.value, self.users = result, value, users
        self.ops: list[Operation] = []
        """In the order of the fusion."""
        self.leaves: dict[SSAValue, SSAValue] = {}
        """From values in the body to the values outside that hold them: operands and other results."""

    @staticmethod
    def of(
        op: FusionOp, result: SSAValue, value: SSAValue, gone: set[SSAValue], small: Collection[SSAValue] = ()
    ) -> _Slice | None:
        """
        Return the slice of a result that only plain fusions of its block use, or None; what is `gone` is no leaf.

        Values of the body that are `small` are leaves: they stand for results that hold them.
        """
        users = list(dict.fromkeys(use.operation for use in result.uses))
        plain = [
            user
            for user in users
            if isinstance(user, FusionOp) and user.parent is op.parent and _is_plain(user) and not _is_contracted(result, user)
        ]
        if not users or len(plain) != len(users):
            return None
        found = _Slice(result, value, plain)
        block = op.body.block
        ending = block.last_op
        assert ending is not None
        held = {v: r for r, v in zip(op.results, ending.operands, strict=True) if r is not result and r not in gone}
        arguments = dict(zip(block.args, op.operands, strict=True))
        outside: dict[SSAValue, SSAValue] = {**{v: v for v in small}, **arguments, **held}
        return found if found.reached(outside) else None

    def reached(self, outside: dict[SSAValue, SSAValue]) -> bool:
        """Collect ops and leaves; return whether the value is computed elementwise, in not too many ops."""
        seen: set[Operation] = set()
        stack = [self.value]
        while stack:
            value = stack.pop()
            if value in outside and value is not self.value:
                self.leaves[value] = outside[value]
                continue
            op = value.owner
            if not isinstance(op, PtirOp) or FUSIBLE.get(type(op)) not in _ANYWHERE or can_fail(op):
                return False
            if op not in seen:
                seen.add(op)
                stack += op.operands
        owner = self.value.owner
        assert isinstance(owner, Operation)
        block = owner.parent
        assert isinstance(block, Block)
        self.ops = [op for op in block.ops if op in seen]
        return sum(not isinstance(op, ConstantOp | IotaOp) for op in self.ops) <= MOST_OPS

    def is_cheaper(self) -> bool:
        """Return whether the additional reads are fewer bytes than the write and the reads that are saved."""
        saved = _bytes(self.result) * (1 + len(self.users))
        for user in self.users:
            saved -= sum(_bytes(v) for v in dict.fromkeys(self.leaves.values()) if v not in user.operands)
        return saved > 0

    def move(self, is_kernel: IsKernel) -> bool:
        """Rematerialize the value in its users and return True, if they are all kernels then; else change nothing."""
        made = [self.within(user) for user in self.users]
        if not all(is_kernel(new) for new in made):
            for new in made:
                new.erase()
            return False
        for user, new in zip(self.users, made, strict=True):
            substitute(user, new)
        return True

    def within(self, user: FusionOp) -> FusionOp:
        """Return a copy of a fusion that computes the value itself."""
        edit = FusionEdit()
        for argument, value in zip(user.body.block.args, user.operands, strict=True):
            if value is not self.result:
                edit.read(value, argument.name_hint)
        for leaf, outer in self.leaves.items():
            edit.inner[leaf] = edit.read(outer)
        edit.append(*self.ops)
        edit.inner[self.result] = edit.inner[self.value]
        edit.inline(user)
        return edit.fusion(user.results, like=user)


def _without(op: FusionOp, gone: set[SSAValue]) -> None:
    """Remove unused results of a fusion, and the ops that only they needed."""
    kept = [result for result in op.results if result not in gone]
    if kept:
        edit = FusionEdit()
        edit.inline(op)
        edit.prune(kept)
        new, block = edit.fusion(kept, like=op), op.parent
        assert block is not None
        block.insert_op_before(new, op)
        for old, result in zip(kept, new.results, strict=True):
            result.name_hint = old.name_hint
            old.replace_all_uses_with(result)
    op.detach()
    op.erase()


@dataclass(frozen=True)
class PtirRematerializePass(ModulePass):
    """
    Rematerialize results of fusions in the fusions that read them, where that reduces memory traffic.

    The fusions are elementwise, over rows, or a product or convolution with what follows it. Results of fewer than `least-bytes`
    bytes are stored: they stay in the cache. With `totals=true`, totals of rows are stored instead of what is computed of them.
    """

    name = "mind-ptir-rematerialize"

    least_bytes: int = LEAST_BYTES
    totals: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        rematerialize(op, least_bytes=self.least_bytes, totals=self.totals)
