"""
Loop-invariant code motion: work that a loop repeats on the same values is done before it.

Two equations, for a value `f(...)` of the body of a `scan` or `while`:

- `f(c)`, where c are invariant carries, is the same in every iteration: it is computed once and carried in its place;
- `f(x[t], c)`, where `x[t]` are slices of scanned inputs, is slice t of `f` over the batch of all slices, which is scanned in its
  place. It moves if it holds a product of few rows with an invariant operand, which is one product over all steps then (the input
  products of an LSTM), or if it is stacked as a result.

Regions are isolated, so what moves comes back as a carry or a scanned input. Only ops that cannot fail move, as a loop may run
zero iterations; random ops, constants and views alone stay, and so does a cheap value larger than what it is computed from, which
it would cost more to read. Sums of floats are not batched, whose order a target may choose by shape; products are, as theirs is
open. Innermost loops come first; each region is read forwards and backwards once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.control import terminator
from mind_dialect.ptir.types import Kind

from ..batching import BATCHING
from ..batching.driver import Driver
from .building import is_plain, spec_of
from .failing import is_marked
from .hoist_branches import hoist_from_branches
from .loop_carried import drop_unneeded, extend
from .weight import HEAVY, VIEWS, bytes_of, part_of

BATCHABLE = (*ptir.FUSIBLE, ptir.TransposeOp, ptir.SliceOp, ptir.StridedSliceOp, ptir.ReverseOp, ptir.PadOp, ptir.ConcatOp)
"""Ops that a batch dimension leaves one op."""
LEAST_CONTRACTED = 8
"""A product of fewer terms is no more work than reading its result."""
MOST_ROWS = 8
"""A product of more rows per step is as fast in the loop as before it, where its result stays in a cache until it is used."""
MOST_GROWTH = 4
"""So many times as large as the largest array that a scan reads or stacks may an array be that is computed before it..."""
SMALL = 1 << 26
"""...unless it has at most so many bytes."""

Loop = ptir.WhileOp | ptir.ScanOp


def hoist(root: Operation) -> bool:
    """Move work out of the loops and branches inside `root`; whether any moved."""
    loops = [op for op in walk(root) if isinstance(op, ptir.WhileOp | ptir.ScanOp)]
    changed = hoist_from_branches(root)
    for op in reversed(loops):  # what encloses a loop comes before it
        changed |= _Hoisting(op).run()
    if changed:
        drop_unneeded(root)
    return changed


@dataclass(frozen=True)
class _Origin:
    """The computation, before the loop, of a value of a region."""

    sliced: bool
    """True if it depends on a slice of a scanned input."""
    leaf: int
    """The bytes of the largest argument it is computed from, per iteration."""
    heavy: bool
    """True if it holds more than elementwise work; of sliced inputs, a product with an invariant operand."""


_CONSTANT = _Origin(False, 0, False)


@dataclass
class _Hoisting:
    """One loop. `origins` has what can be computed before it, `exports` what it is given again, in order."""

    op: Loop
    origins: dict[SSAValue, _Origin] = field(default_factory=dict[SSAValue, _Origin])
    exports: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    stacked: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    """By number of a result, the value of the body that it stacks and that is computed before the loop."""

    def run(self) -> bool:
        """Move what moves; whether anything did."""
        op = self.op
        self.outside = dict[SSAValue, SSAValue]()
        self.carries = op.num_carries if isinstance(op, ptir.ScanOp) else len(op.operands)
        self.length = self._length()
        self.most = max(SMALL, MOST_GROWTH * max((bytes_of(v) for v in self._arrays()), default=0))
        for region in op.regions:
            self._forwards(region)
        if not any(isinstance(value.owner, Operation) and found != _CONSTANT for value, found in self.origins.items()):
            return False
        for region in op.regions:
            self._backwards(region)
        if not self.exports and not self.stacked:
            return False
        self._compute()
        self._replace()
        return True

    def _length(self) -> int | None:
        """Return the number of steps of a scan of static shapes."""
        if not isinstance(self.op, ptir.ScanOp) or not all(spec_of(v).is_static for v in self._arrays()):
            return None
        lengths = {spec_of(v).shape[0] for v in self.op.operands[self.carries :]}
        length = lengths.pop()
        return length if not lengths and isinstance(length, int) and length > 1 else None

    def _arrays(self) -> list[SSAValue]:
        """Return the arrays that a scan reads and stacks."""
        return [*self.op.operands[self.carries :], *self.op.results[self.carries :]] if isinstance(self.op, ptir.ScanOp) else []

    # What can be computed before the loop

    def _forwards(self, region: Region) -> None:
        block = region.block
        for i in ptir.invariant_carries(self.op):
            self._argument(block.args[i], self.op.operands[i], sliced=False)
        if self.length is not None:
            for argument, value in zip(block.args[self.carries :], self.op.operands[self.carries :], strict=True):
                self._argument(argument, value, sliced=True)
        for op in block.ops:
            if (found := self._origin(op)) is not None:
                self.origins[op.results[0]] = found

    def _argument(self, argument: BlockArgument, value: SSAValue, *, sliced: bool) -> None:
        self.outside[argument] = value
        self.origins[argument] = _Origin(sliced, bytes_of(argument), False)

    def _origin(self, op: Operation) -> _Origin | None:
        """Return the values that the result of `op` is computed from, if that can be done before the loop."""
        if (
            not isinstance(op, ptir.PtirOp)
            or not is_plain(op)
            or len(op.results) != 1
            or is_marked(op)
            or not op.is_speculatable()
        ):
            return None
        if not all(v in self.origins for v in op.operands) or not all(spec_of(v).is_static for v in (*op.operands, *op.results)):
            return None
        behind = [self.origins[v] for v in op.operands]
        sliced = any(found.sliced for found in behind)
        if sliced and not self._is_batchable(op):
            return None
        leaf = max((found.leaf for found in behind), default=0)
        heavy = _is_input_product(op, behind) if sliced else leaf > 0 and part_of(op) in HEAVY
        heavy |= any(found.heavy for found in behind if found.sliced == sliced)
        return _Origin(sliced, leaf, heavy)

    def _is_batchable(self, op: ptir.PtirOp) -> bool:
        """Return whether all steps at once give the bits of one after the other, in arrays that are not too large."""
        assert self.length is not None
        if not isinstance(op, BATCHABLE) or self.length * bytes_of(op.results[0]) > self.most:
            return False
        inexact = spec_of(op.results[0]).dtype.kind in (Kind.FLOAT, Kind.COMPLEX)
        return not (isinstance(op, ptir.ReduceOp) and inexact and op.values()["kind"] in ("sum", "prod"))

    # What is

    def _backwards(self, region: Region) -> None:
        """Find what moves: what the rest of the region needs, as late as it is worth it."""
        needed, outside = set[SSAValue](), set[SSAValue]()
        last = terminator(region.block)
        outputs = dict[SSAValue, list[int]]()
        if isinstance(self.op, ptir.ScanOp):
            for i, value in enumerate(last.operands[self.carries :], self.carries):
                if self.op.results[i].first_use is not None:
                    outputs.setdefault(value, []).append(i)
            needed.update(last.operands[: self.carries])
        else:
            needed.update(last.operands)
        op = last.prev_op
        while op is not None:
            value = op.results[0] if op.results else None
            found = None if value is None else self.origins.get(value)
            if value is None or found is None:
                needed.update(op.operands)
                op = op.prev_op
                continue
            wanted = outputs.get(value, [])
            if whole := bool(wanted) and found.sliced and all(self._stacks(i, value) for i in wanted):
                self.stacked |= dict.fromkeys(wanted, value)
            inside = value in needed or (bool(wanted) and not whole)
            if inside and self._is_worth(op, found, value in outside or whole):
                self.exports[value] = None
            elif inside:
                needed.update(op.operands)
            if whole or value in outside or value in self.exports:
                outside.update(op.operands)
            op = op.prev_op

    def _stacks(self, i: int, value: SSAValue) -> bool:
        """Return whether result `i` of a scan is declared as what stacking `value` gives."""
        dtype, shape = spec_of(self.op.results[i])
        return (dtype, shape) == (spec_of(value).dtype, (self.length, *spec_of(value).shape))

    def _is_worth(self, op: Operation, found: _Origin, anyway: bool) -> bool:
        """Return whether reading the value costs no more than computing it in each iteration; `anyway` it is computed before."""
        if isinstance(op, VIEWS) or found.leaf == 0:
            return False
        if not found.sliced:
            return found.heavy or bytes_of(op.results[0]) <= found.leaf
        grows = bytes_of(op.results[0]) > max(bytes_of(v) for v in op.operands)
        return anyway or (found.heavy and (isinstance(op, ptir.DotGeneralOp) or not grows))

    # The change

    def _compute(self) -> None:
        """Insert what moves before the loop."""
        before = self.op.parent
        assert isinstance(before, Block)
        moving = {*self.exports, *self.stacked.values()}
        order = list[Operation]()
        for region in self.op.regions:
            for op in reversed(tuple(region.block.ops)):
                if op.results and op.results[0] in moving:
                    moving.update(op.operands)
                    order.append(op)
        sliced = {value for value, found in self.origins.items() if found.sliced}
        block = Block()
        driver = Driver(block, self.length or 1, sliced, BATCHING)
        driver.copies.update(self.outside)
        driver.run(reversed(order))
        for op in tuple(block.ops):
            op.detach()
            before.insert_op_before(op, self.op)
        self.outside = driver.copies

    def _replace(self) -> None:
        """Put a loop that is given what moved in the place of the old one."""
        carried = [v for v in self.exports if not self.origins[v].sliced]
        scanned = [v for v in self.exports if self.origins[v].sliced]
        for i, value in self.stacked.items():
            self.op.results[i].replace_all_uses_with(self.outside[value])
        arguments = extend(self.op, [self.outside[v] for v in carried], [self.outside[v] for v in scanned])
        for regional in arguments:
            for value, argument in zip((*carried, *scanned), regional, strict=True):
                owner = value.owner
                assert isinstance(owner, Operation)
                if owner.parent is argument.owner:
                    argument.name_hint = value.name_hint
                    value.replace_all_uses_with(argument)
        for value in reversed(self.origins):
            owner = value.owner
            if isinstance(owner, Operation) and value.first_use is None and isinstance(owner.parent, Block):
                owner.parent.erase_op(owner)


def _is_input_product(op: ptir.PtirOp, behind: Sequence[_Origin]) -> bool:
    """Return whether `op` multiplies few rows of slices, of enough terms each, with an invariant: one matrix for all steps."""
    if not isinstance(op, ptir.DotGeneralOp) or all(found.sliced for found in behind):
        return False
    side = "lhs" if behind[0].sliced else "rhs"
    shape, contracted = spec_of(op.operands[side == "rhs"]).shape, op.values()[f"contract_{side}"]
    terms = prod(n for a, n in enumerate(shape) if isinstance(n, int) and a in contracted)
    rows = prod(n for a, n in enumerate(shape) if isinstance(n, int) and a not in contracted)
    return terms >= LEAST_CONTRACTED and rows <= MOST_ROWS


@dataclass(frozen=True)
class PtirHoistPass(ModulePass):
    """Move loop-invariant work out of loops, batch what depends on scanned inputs alone, share what branches compute too."""

    name = "mind-ptir-hoist"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        hoist(op)
