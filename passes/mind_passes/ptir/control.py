"""
Simplification of branches and loops by what is known before they run.

A branch whose predicate is constant is what it would run, and so is a loop that does not iteration, or a scan of one step.
Constants that a region is given are made inside of it, where rules can see them; what a loop passes on unchanged, or a branch
either way, is what it was given. No op that stays is dropped, no random op leaves a loop. One walk forward, each op once.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.ptir import CondOp, FusionOp, ReshapeOp, ScanOp, WhileOp, invariant_carries
from mind_dialect.ptir.control import terminator, yielded
from mind_dialect.ptir_shapes import UNKNOWN

from .building import FOLD_LIMIT, constant, literal_of, rewire, same_type, spec_of, uniform
from .dead_ops import holders
from .loop_carried import RegionLoop


def simplify_control(root: Operation) -> bool:
    """Put what is known in the place of branches and loops inside `root`; whether there was anything."""
    if not any(isinstance(op, CondOp | WhileOp | ScanOp) for op in walk(root)):
        return False
    return _Walk(root).run()


class _Walk:
    """One walk. `became` says what values became, `gone` are ops that are detached and still have results."""

    def __init__(self, root: Operation):
        self.root = root
        self.kept = holders(root)
        self.became: dict[SSAValue, SSAValue] = {}
        self.gone: list[Operation] = []
        self.endings: dict[Operation, RegionLoop] = {}
        """The yields of regions that stand in the place of an op of `gone`."""
        self.changed = False

    def run(self) -> bool:
        stack: list[tuple[Operation, bool]] = [(self.root, False)]
        while stack:
            op, leaving = stack.pop()
            if leaving:
                self._leave(op)
                continue
            rewire(op, self.became)
            following = op.next_op if op is not self.root else None
            if op in self.endings:
                self._end(op)
            elif isinstance(op, CondOp | WhileOp | ScanOp) and (begun := self._replace(op)) is not None:
                following = begun
            elif op.regions and not isinstance(op, FusionOp):
                if isinstance(op, CondOp | WhileOp | ScanOp):
                    self._enter(op)
                stack += [] if following is None else [(following, False)]
                stack.append((op, True))
                blocks = [block for region in op.regions for block in region.blocks]
                stack += [(block.first_op, False) for block in reversed(blocks) if block.first_op is not None]
                continue
            if following is not None:
                stack.append((following, False))
        for op in self.gone:
            for result in op.results:
                if result.first_use is not None:  # a use that stands before its definition in the text, in another block
                    result.replace_all_uses_with(self._final(result))
            op.erase()
        return self.changed

    def _final(self, value: SSAValue) -> SSAValue:
        while value in self.became:
            value = self.became[value]
        return value

    def _become(self, old: SSAValue, new: SSAValue) -> None:
        """Let those who come later use `new`, if anybody does."""
        if old.first_use is not None:
            self.became[old] = self._final(new)
            self.changed = True
            new.name_hint = new.name_hint or old.name_hint

    # Ops that are what one of their regions is, once

    def _replace(self, op: RegionLoop) -> Operation | None:
        """Put what is known to run in the place of `op`; the first op to look at then, or None if nothing is known."""
        if isinstance(op, CondOp):
            pred = uniform(op.pred)
            if pred is None:
                return None
            taken, other = (op.true_region, op.false_region) if pred else (op.false_region, op.true_region)
            if self._holds(other.block):
                return None
            return self._inline(op, taken, op.operands[1:], leading=0)
        if isinstance(op, WhileOp):
            pred = yielded(op.cond_region.block)[0]
            if uniform(pred) not in (False, 0) or op in self.kept:
                return None
            return self._inline(op, op.cond_region, op.operands, leading=1)
        return None if op in self.kept else self._scan_of_few(op)

    def _holds(self, block: Block) -> bool:
        return any(op in self.kept for op in block.ops)

    def _inline(
        self, op: RegionLoop, region: Region, arguments: Sequence[SSAValue], *, leading: int, checked: int | None = None
    ) -> Operation | None:
        """
        Move the ops of a region before `op`, its yield included, which is dealt with when it is reached.

        None where one of the first `checked` results is declared to be more than is yielded: the run checks that.
        """
        last, block = terminator(region.block), op.parent
        assert isinstance(block, Block)
        values = last.operands[leading:]
        if not all(same_type(v.type, r.type) for v, r in list(zip(values, op.results, strict=True))[:checked]):
            return None
        for argument, value in zip(region.block.args, arguments, strict=True):
            self.became[argument] = value
        ops = tuple(region.block.ops)
        for inner in ops:
            region.block.detach_op(inner)
            block.insert_op_before(inner, op)
        self.endings[last] = op
        self._discard(op)
        return ops[0]

    def _end(self, last: Operation) -> None:
        """A region that stands in the place of `op` ends here."""
        op, block = self.endings.pop(last), last.parent
        assert isinstance(block, Block)
        values = list(last.operands[1:] if isinstance(op, WhileOp) else last.operands)
        if isinstance(op, ScanOp):
            for i in range(op.num_carries, len(values)):
                values[i] = _reshaped(values[i], op.results[i], last, block)
        self.became.update(zip(op.results, values, strict=True))
        for result, value in zip(op.results, values, strict=True):
            value.name_hint = value.name_hint or result.name_hint
        block.erase_op(last)

    def _scan_of_few(self, op: ScanOp) -> Operation | None:
        """A scan of no steps gives what it was given, and stacks of nothing; of one step it is its body."""
        count, block = op.num_carries, op.parent
        assert isinstance(block, Block)
        scanned, stacks, slices = op.operands[count:], op.results[count:], yielded(op.body_region.block)[count:]
        lengths = {spec_of(v).shape[0] for v in scanned}
        if not all(same_type(v.type, r.type) for v, r in zip(op.operands[:count], op.results, strict=False)):
            return None
        if lengths == {1} and all(UNKNOWN not in spec_of(v).shape for v in (*scanned, *stacks)):
            if [(1, *spec_of(v).shape) for v in slices] != [spec_of(v).shape for v in stacks]:
                return None
            arguments = op.body_region.block.args[count:]
            views = [_reshaped(v, like, op, block) for v, like in zip(scanned, arguments, strict=True)]
            return self._inline(op, op.body_region, [*op.operands[:count], *views], leading=0, checked=count)
        if lengths != {0} or not all(spec_of(v).is_static for v in stacks):
            return None
        following = op.next_op
        for old, new in zip(op.results, [*op.operands[:count], *(_constant(v, b"", op, block) for v in stacks)], strict=True):
            self.became[old] = new
        self._discard(op)
        return following

    def _discard(self, op: Operation) -> None:
        """Take `op` out of its block; it goes at the end, when its results are unused."""
        op.detach()
        op.operands = []
        self.gone.append(op)
        self.changed = True

    # What regions are given

    def _enter(self, op: RegionLoop) -> None:
        """Before the regions: constants go inside, one argument stands for others of the same value."""
        first = 1 if isinstance(op, CondOp) else 0
        scanned = op.num_carries if isinstance(op, ScanOp) else len(op.operands)
        seen: dict[tuple[SSAValue, bool], int] = {}
        invariant = set[int]() if isinstance(op, CondOp) else set(invariant_carries(op))
        for i, value in enumerate(op.operands[first:]):
            sliced = i >= scanned
            if not isinstance(op, CondOp) and not sliced:
                if i not in invariant or not same_type(value.type, op.results[i].type):
                    continue
                self._become(op.results[i], value)
            other = seen.setdefault((value, sliced), i)
            for region in op.regions:
                argument = region.block.args[i]
                if argument.first_use is None:
                    continue
                if other != i:
                    self._become(argument, region.block.args[other])
                elif (data := _small(value, whole=not sliced)) is not None and region.block.first_op is not None:
                    self._become(argument, _constant(argument, data, region.block.first_op, region.block))

    def _leave(self, op: Operation) -> None:
        """After the regions: results that are what the op was given, whatever it does, and constants."""
        if isinstance(op, CondOp):
            for i, (a, b) in enumerate(zip(yielded(op.true_region.block), yielded(op.false_region.block), strict=True)):
                if isinstance(a, BlockArgument) and isinstance(b, BlockArgument) and a.index == b.index:
                    self._result(op, i, op.operands[a.index + 1])
                elif (literal := literal_of(a)) is not None and literal == literal_of(b):
                    self._result(op, i, literal.data.data)
        elif isinstance(op, ScanOp):
            count = op.num_carries
            for i, value in enumerate(yielded(op.body_region.block)[count:], count):
                if isinstance(value, BlockArgument) and value.index >= count:
                    self._result(op, i, op.operands[value.index])
                elif (data := _small(value, whole=False)) is not None and spec_of(op.results[i]).is_static:
                    self._result(op, i, data)

    def _result(self, op: RegionLoop, i: int, found: SSAValue | bytes) -> None:
        """Let result `i` be a value of its type, or a constant of these bytes."""
        result, block = op.results[i], op.parent
        assert isinstance(block, Block)
        if result.first_use is None:
            return
        if isinstance(found, bytes):
            self._become(result, _constant(result, found, op, block))
        elif same_type(found.type, result.type):
            self._become(result, found)


def _small(value: SSAValue, *, whole: bool) -> bytes | None:
    """The stored bytes of a constant that is small enough to be made twice; without `whole` of one that is a fill."""
    literal = literal_of(value)
    if literal is None:
        return None
    size, data = literal.spec[0].size, literal.data.data
    return data if len(data) == size or (whole and len(data) <= FOLD_LIMIT * size) else None


def _constant(like: SSAValue, data: bytes, before: Operation, block: Block) -> SSAValue:
    """A constant of the type of `like`, which is static, made before an op."""
    dtype, shape = spec_of(like)
    extents = tuple(n for n in shape if isinstance(n, int))
    made = constant(before, dtype, extents, data if 0 not in extents else b"")
    block.insert_op_before(made, before)
    return made.result


def _reshaped(value: SSAValue, like: SSAValue, before: Operation, block: Block) -> SSAValue:
    """`value` under the shape of `like`, made before an op."""
    view = ReshapeOp.create(
        operands=[value],
        properties=ReshapeOp.store_properties({"new_shape": spec_of(like).shape}),
        result_types=[like.type],
        location=before.location,
    )
    block.insert_op_before(view, before)
    return view.result
