"""
Dead loop-carried values, and those of branches: operands, results and parts of regions that no result depends on.

A carried value that only feeds itself looks used. So the question is asked the other way: from what is returned, and from what
must stay, back through loops and branches to everything that is needed for it, each value once. What is not found goes, in all
nesting levels at once. A loop keeps what decides how often it iterates.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import CondOp, ScanOp, WhileOp
from mind_dialect.ptir.control import terminator, yielded
from mind_dialect.ptir.types import tensor_type
from mind_dialect.ptir_shapes import UNKNOWN

from .building import rewire, spec_of, stays
from .dead_ops import erase_dead, holders
from .failing import is_marked

RegionLoop = CondOp | WhileOp | ScanOp


def drop_unneeded(root: Operation) -> bool:
    """Remove dead carries of ops inside `root`, and unused ops; return whether there were any."""
    ops = [op for op in walk(root) if isinstance(op, CondOp | WhileOp | ScanOp)]
    if not ops:
        return erase_dead(root)
    needs = _Needs(root)
    plans = [plan for op in ops if op in needs.ops and (plan := _plan(op, needs.values)).is_shorter()]
    became: dict[SSAValue, SSAValue] = {}
    for plan in plans:
        became.update(plan.shorten())
    if became:
        for op in walk(root):
            rewire(op, became)
    erased = erase_dead(root)
    for plan in plans:
        plan.finish()
    return bool(plans) or erased


class _Needs:
    """The values that are needed, and the loops and branches that are."""

    def __init__(self, root: Operation):
        self.values: set[SSAValue] = set()
        self.ops: dict[RegionLoop, None] = {}
        self._stack: list[SSAValue] = []
        kept = holders(root, marked=True)
        for op in walk(root):
            if stays(op) or is_marked(op):
                self._all(op.operands)
            elif op in kept and isinstance(op, CondOp | WhileOp | ScanOp):
                self._run(op)
        self._find()

    def _find(self) -> None:
        """Follow what was found; a scan none of whose slices is needed needs one input still, for its length."""
        asked = 0
        while self._stack or asked < len(self.ops):
            while self._stack:
                self._follow(self._stack.pop())
            ops = list(self.ops)
            for op in ops[asked:]:
                if isinstance(op, ScanOp):
                    first = op.num_carries
                    if not any(v in self.values for v in op.body_region.block.args[first:]):
                        self._all([op.operands[first]])
            asked = len(ops)

    def _all(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            if value not in self.values:
                self.values.add(value)
                self._stack.append(value)

    def _run(self, op: RegionLoop) -> None:
        """The op is needed: so is what decides how often its regions run."""
        if op in self.ops:
            return
        self.ops[op] = None
        if isinstance(op, CondOp):
            self._all([op.pred])
        elif isinstance(op, WhileOp):
            self._all([yielded(op.cond_region.block)[0]])
        elif not _of_one_length(op):
            self._all(op.body_region.block.args[op.num_carries :])

    def _follow(self, value: SSAValue) -> None:
        owner = value.owner
        op = owner.parent_op() if isinstance(owner, Block) else owner
        if isinstance(op, CondOp | WhileOp | ScanOp):
            assert isinstance(value, OpResult | BlockArgument)
            self._run(op)
            self._all(_behind(op, value.index, inside=isinstance(owner, Block)))
        elif isinstance(owner, Operation):
            self._all(owner.operands)


def _behind(op: RegionLoop, i: int, *, inside: bool) -> list[SSAValue]:
    """Return the dependences of result `i`, or with `inside` of argument `i` of a region; all parts of a carry go together."""
    if isinstance(op, CondOp):
        return [op.operands[i + 1]] if inside else [yielded(region.block)[i] for region in op.regions]
    arguments = [region.block.args[i] for region in op.regions if i < len(region.block.args)]
    if isinstance(op, WhileOp):
        return [op.operands[i], yielded(op.cond_region.block)[i + 1], yielded(op.body_region.block)[i], *arguments]
    following = yielded(op.body_region.block)
    if i < op.num_carries:
        return [op.operands[i], following[i], *arguments]
    return [op.operands[i] if inside else following[i]]


def _of_one_length(op: ScanOp) -> bool:
    """Return whether all that is scanned surely has one length; else the run checks it."""
    lengths = {spec_of(v).shape[0] for v in op.scanned}
    return len(lengths) == 1 and UNKNOWN not in lengths


@dataclass
class _Remaining:
    """The rest of a loop or branch: the numbers of operands, results, and of each region arguments and what it yields."""

    op: RegionLoop
    operands: list[int]
    results: list[int]
    arguments: list[int]
    yields: list[list[int]]
    counts: dict[str, int]

    def is_shorter(self) -> bool:
        return len(self.operands) < len(self.op.operands) or len(self.results) < len(self.op.results)

    def shorten(self) -> dict[SSAValue, SSAValue]:
        """
        Put a shorter op in the place of the old one; what the results that stay become.

        Its regions keep unused arguments, and the old op its results, until those who use them are gone.
        """
        op, block = self.op, self.op.parent
        assert isinstance(block, Block)
        regions = [op.detach_region(region) for region in tuple(op.regions)]
        for region, yields in zip(regions, self.yields, strict=True):
            last = terminator(region.block)
            last.operands = _picked(last.operands, yields)
        new = type(op).create(
            operands=_picked(op.operands, self.operands),
            result_types=_picked_types(op.result_types, self.results),
            properties={**op.properties, **op.store_properties(self.counts)},
            attributes=op.attributes,
            regions=regions,
            location=op.location,
        )
        olds = _picked(op.results, self.results)
        for old, result in zip(olds, new.results, strict=True):
            result.name_hint = old.name_hint
        block.insert_op_before(new, op)
        block.detach_op(op)
        op.operands = []
        self._regions = regions
        return dict(zip(olds, new.results, strict=True))

    def finish(self) -> None:
        """Take away the arguments that are without uses by now, and the old op."""
        for region in self._regions:
            old = region.block
            if len(self.arguments) == len(old.args):
                continue
            kept = [old.args[i] for i in self.arguments]
            new = Block(arg_types=[v.type for v in kept])
            for before, after in zip(kept, new.args, strict=True):
                after.name_hint = before.name_hint
            became: dict[SSAValue, SSAValue] = dict(zip(kept, new.args, strict=True))
            for inner in tuple(old.ops):
                old.detach_op(inner)
                new.add_op(inner)
                for user in walk(inner) if inner.regions and stays(inner) else (inner,):
                    rewire(user, became)
            region.insert_block(new, 0)
            region.erase_block(old)
        self.op.erase()


def _picked(values: Sequence[SSAValue], numbers: Sequence[int]) -> list[SSAValue]:
    return [values[i] for i in numbers]


def _picked_types(types: Sequence[Attribute], numbers: Sequence[int]) -> list[Attribute]:
    return [types[i] for i in numbers]


def _plan(op: RegionLoop, needed: set[SSAValue]) -> _Remaining:
    """Return the part of an op that is needed."""
    results = [i for i, v in enumerate(op.results) if v in needed]
    count = len(op.regions[0].block.args)
    arguments = [i for i in range(count) if any(region.block.args[i] in needed for region in op.regions)]
    if isinstance(op, CondOp):
        return _Remaining(op, [0, *(i + 1 for i in arguments)], results, arguments, [results, results], {})
    if isinstance(op, WhileOp):
        return _Remaining(op, arguments, arguments, arguments, [[0, *(i + 1 for i in arguments)], arguments], {})
    carried = [i for i in arguments if i < op.num_carries]
    outputs = [i for i in results if i >= op.num_carries]
    scanned = [i for i in arguments if i >= op.num_carries] or [op.num_carries]
    results = [*carried, *outputs]
    counts = {"carry_count": len(carried), "scan_output_count": len(outputs)}
    return _Remaining(op, [*carried, *scanned], results, [*carried, *scanned], [results], counts)


def extend(op: RegionLoop, carried: Sequence[SSAValue], scanned: Sequence[SSAValue] = ()) -> list[list[BlockArgument]]:
    """
    Give a loop more invariant carries and scanned inputs, or a branch more arguments, in place of the old op.

    Returns the new arguments of each region. New carries come after the old ones, new inputs last.
    """
    first = 1 if isinstance(op, CondOp) else 0
    carries = op.num_carries if isinstance(op, ScanOp) else len(op.operands) - first
    block = op.parent
    assert isinstance(block, Block)
    arguments = list[list[BlockArgument]]()
    for region in op.regions:
        inner, last = region.block, terminator(region.block)
        new = [inner.insert_arg(v.type, carries + i) for i, v in enumerate(carried)]
        slices = [inner.insert_arg(_slice_type(v), len(inner.args)) for v in scanned]
        leading = carries if isinstance(op, ScanOp) else len(last.operands)
        if not isinstance(op, CondOp):
            last.operands = [*last.operands[:leading], *new, *last.operands[leading:]]
        arguments.append([*new, *slices])
    counts = {"carry_count": carries + len(carried)} if isinstance(op, ScanOp) else {}
    results, kept = list(op.result_types), len(op.results) if isinstance(op, CondOp) else carries
    added = [] if isinstance(op, CondOp) else [v.type for v in carried]
    made = type(op).create(
        operands=[*op.operands[: first + carries], *carried, *op.operands[first + carries :], *scanned],
        result_types=[*results[:kept], *added, *results[kept:]],
        properties={**op.properties, **op.store_properties(counts)},
        attributes=op.attributes,
        regions=[op.detach_region(region) for region in tuple(op.regions)],
        location=op.location,
    )
    block.insert_op_before(made, op)
    for old, new_result in zip(op.results, [*made.results[:kept], *made.results[kept + len(added) :]], strict=True):
        new_result.name_hint = old.name_hint
        old.replace_all_uses_with(new_result)
    block.erase_op(op)
    return arguments


def _slice_type(value: SSAValue) -> Attribute:
    dtype, shape = spec_of(value)
    return tensor_type(dtype, shape[1:])
