"""
Fusions write their results into the parts of an array that concatenates them, so that nothing is copied.

The gradients of queries, keys and values are parts of the gradient of the product that they come from. The first fusion returns
the array with its own parts. Each of the others gets the array and returns it with its own parts replaced, which a kernel does in
the memory of the operand. Parts of others are marked constants in the first: they are overwritten, so that none writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.ptir import AddOp, CastOp, ConcatOp, ConstantOp, FusionOp, PtirLiteralAttr, PtirOp, SliceOp
from mind_dialect.ptir.literal import static_spec
from mind_dialect.ptir.types import PtirDType

from ..ptir.building import spec_of
from ..ptir.rewrites.casts import lossless
from .edit import FusionEdit
from .kernels import IsKernel, always

OVERWRITTEN = "mind.overwritten"
"""The attribute of a constant that is a part of a result, and is overwritten before that is read."""


def place_parts(module: Operation, is_kernel: IsKernel = always, is_candidate: IsKernel = always) -> None:
    """Let candidates write their results into an array where a fusion of static shape concatenates these, as kernels still."""
    for op in [op for op in walk(module) if isinstance(op, FusionOp)]:
        found = _Parts.of(op, is_candidate)
        if found is not None:
            found.place(is_kernel)


@dataclass
class _Parts:
    """The results of fusions that another one concatenates, after casts to a wider dtype and sums with 0."""

    user: FusionOp
    concat: ConcatOp
    parts: list[SSAValue]
    """The results, in their order along the axis."""
    adds: bool
    """True if 0 is added to each, which makes 0 of a negative 0."""

    @staticmethod
    def of(user: FusionOp, is_candidate: IsKernel) -> _Parts | None:
        """Return the parts of a fusion with one concatenation, of all results of candidates that nothing else reads; or None."""
        concats = [op for op in user.body.block.ops if isinstance(op, ConcatOp)]
        if user.pattern is not None or len(concats) != 1:
            return None
        outer: dict[SSAValue, SSAValue] = dict(zip(user.body.block.args, user.operands, strict=True))
        ends = [_through(v) for v in concats[0].operands]
        parts = [outer[end[0]] for end in ends if end is not None and end[0] in outer and end[0].has_one_use()]
        if len(parts) != len(concats[0].operands) or len({end[1] for end in ends if end is not None}) != 1:
            return None
        producers = dict.fromkeys(v.owner for v in parts)
        if not all(isinstance(op, FusionOp) and op.parent is user.parent and is_candidate(op) for op in producers):
            return None
        results = [v for op in producers if isinstance(op, FusionOp) for v in op.results]
        if sorted(map(id, results)) != sorted(map(id, parts)) or not all(v.has_one_use() for v in parts):
            return None
        spec = spec_of(concats[0].result)
        if not spec.is_static or len({spec_of(v).dtype for v in parts}) != 1:
            return None
        return _Parts(user, concats[0], parts, any(end[1] for end in ends if end is not None))

    @property
    def dtype(self) -> PtirDType:
        """The dtype of the parts."""
        return spec_of(self.parts[0]).dtype

    def place(self, is_kernel: IsKernel) -> None:
        """Change the fusions, if all are kernels then."""
        block = self.user.parent
        assert isinstance(block, Block)
        producers = {op for v in self.parts if isinstance(op := v.owner, FusionOp)}
        ordered = [op for op in block.ops if isinstance(op, FusionOp) and op in producers]
        made: list[FusionOp] = []
        for op in ordered:
            made.append(self._producer(op, made[-1].results[0] if made else None))
        user = self._user(made[-1].results[0])
        if not all(is_kernel(op) for op in (*made, *([user] if user.results else []))):
            for op in (user, *reversed(made)):
                op.erase()
            return
        self._replace(block, ordered, made, user)

    def _replace(self, block: Block, ordered: Sequence[FusionOp], made: Sequence[FusionOp], user: FusionOp) -> None:
        ending = self.user.body.block.last_op
        assert ending is not None
        kept = iter(user.results)
        for result, value in zip(self.user.results, list(ending.operands), strict=True):
            new = made[-1].results[0] if self._is_whole(value) else next(kept)
            new.name_hint = result.name_hint
            result.replace_all_uses_with(new)
        if user.results:
            block.insert_op_before(user, self.user)
        else:
            user.erase()
        block.erase_op(self.user)
        for old, new in zip(ordered, made, strict=True):
            block.insert_op_before(new, old)
            block.erase_op(old)

    def _producer(self, op: FusionOp, whole: SSAValue | None) -> FusionOp:
        """Return a fusion that makes, or replaces, its parts of an array."""
        edit = FusionEdit()
        edit.inline(op)
        before = None if whole is None else edit.argument(whole)
        axis: int = self.concat.values()["axis"] % len(spec_of(self.concat.result).shape)
        parts: list[SSAValue] = []
        start = 0
        for part in self.parts:
            shape = static_spec(part.type)[1]
            if part.owner is op:
                parts.append(self._finished(edit, edit.inner[part]))
            elif before is None:
                skipped = _zeros(self.dtype, part)
                skipped.attributes[OVERWRITTEN] = UnitAttr()
                parts.append(_added(edit, skipped))
            else:
                starts = tuple(start if a == axis else 0 for a in range(len(shape)))
                parts.append(_added(edit, SliceOp(before, starts=starts, sizes=shape)))
            start += shape[axis]
        made = _added(edit, ConcatOp(*parts, axis=axis))
        edit.inner[made] = made
        return edit.fusion([made], like=op)

    def _finished(self, edit: FusionEdit, value: SSAValue) -> SSAValue:
        """Return a part as the concatenation has it, in the dtype of the parts."""
        if not self.adds:
            return value
        wide = spec_of(self.concat.result).dtype
        x = value if wide is self.dtype else _added(edit, CastOp(value, dtype=wide.name))
        x = _added(edit, AddOp(x, _added(edit, _zeros(wide, value))))
        return x if wide is self.dtype else _added(edit, CastOp(x, dtype=self.dtype.name))

    def _is_whole(self, value: SSAValue) -> bool:
        """Return whether a value of the user's body is the array of the parts."""
        narrowed = isinstance(op := value.owner, CastOp) and op.x is self.concat.result and spec_of(value).dtype is self.dtype
        return narrowed or (value is self.concat.result and spec_of(value).dtype is self.dtype)

    def _user(self, whole: SSAValue) -> FusionOp:
        """Return the user, which reads the array instead."""
        edit, body = FusionEdit(), self.user.body.block
        for argument, value in zip(body.args, self.user.operands, strict=True):
            if value not in self.parts:
                edit.inner[argument] = edit.read(value, argument.name_hint)
        read = edit.argument(whole)
        behind = _needed(self.concat)
        for op in list(body.ops)[:-1]:
            if op is self.concat:
                wide = spec_of(self.concat.result).dtype
                edit.inner[op.results[0]] = read if wide is self.dtype else _added(edit, CastOp(read, dtype=wide.name))
            elif self._is_whole(op.results[0]):
                edit.inner[op.results[0]] = read
            elif op not in behind:
                edit.copy(op)
        ending = body.last_op
        assert ending is not None
        values = [v for v in ending.operands if not self._is_whole(v)]
        edit.prune(values)
        return edit.fusion(values, like=self.user)


def _through(value: SSAValue) -> tuple[SSAValue, bool] | None:
    """Return what a value is after casts to wider dtypes and sums with 0, and whether there is a sum; None for another value."""
    adds = False
    while isinstance(op := value.owner, CastOp | AddOp):
        if not value.has_one_use():
            return None
        if isinstance(op, AddOp):
            zero = [v for v in op.operands if _is_zero(v)]
            if len(zero) != 1:
                return None
            adds, value = True, next(v for v in op.operands if v is not zero[0])
        else:
            if not lossless(spec_of(op.x).dtype, spec_of(op.result).dtype):
                return None
            value = op.x
    return value, adds


def _is_zero(value: SSAValue) -> bool:
    """Return whether a value is a constant of positive zeros."""
    op = value.owner
    return isinstance(op, ConstantOp) and op.literal.is_fill and not any(op.literal.data.data)


def _zeros(dtype: PtirDType, like: SSAValue) -> ConstantOp:
    """Return a constant of zeros of the shape of a value."""
    return ConstantOp(PtirLiteralAttr.filled(dtype, static_spec(like.type)[1], 0))


def _needed(concat: ConcatOp) -> set[Operation]:
    """Return the ops of a body between its arguments and a concatenation of parts, constants left out."""
    found: set[Operation] = set()
    for value in concat.operands:
        while isinstance(op := value.owner, CastOp | AddOp):
            found.add(op)
            value = op.x if isinstance(op, CastOp) else next(v for v in op.operands if not _is_zero(v))
    return found


def _added(edit: FusionEdit, op: PtirOp) -> SSAValue:
    """Append an op that reads values of the body."""
    edit.body.add_op(op)
    return op.results[0]


@dataclass(frozen=True)
class PtirPlacePartsPass(ModulePass):
    """Let fusions write their results into the parts of an array that concatenates them."""

    name = "mind-ptir-place-parts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        place_parts(op)
