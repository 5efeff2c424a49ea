"""
Run a part of a program over a batch example by example, where its intermediate values leave the caches.

A layer of MobileNetV2 writes 77 MB for 16 images, which the next layer reads, and 5 MB for one image. A *region* is a set of ops
of one block that treat each example by itself, as listed in the table of `batch_axis.py`: with `n` examples in parts of `t`,

    f(x) = reshape(scan(parts(x), f)),    parts(x) = reshape(x, [n / t, t, ..])

so each part goes through all ops of the region before the next one begins, and its values stay in the caches. Results are equal,
except that sums whose kernel is chosen by extents may differ in their last bits.

It is worth it where the traffic that is saved is more than what is repeated for each part:

- saved: twice the bytes of each value that an op other than an elementwise one reads, that nothing outside of the region reads,
  that has `large` bytes or more, and whose part fits in a cache;
- repeated: the weights, that each part reads again, and what each kernel costs by itself, taken for `step` bytes.

The region grows from the first product or convolution of large operands along the text; of its beginnings the one that saves most
is taken. What depends on the region and is not in it comes after the loop, unless it can fail: the region ends before such an op.
All shapes are static. Linear in the ops for each number of examples, of which a few are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isqrt

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.program import functions
from mind_dialect.ptir import FUSIBLE, ConvolutionOp, DotGeneralOp, PtirOp, ReshapeOp, ScanOp
from mind_dialect.ptir.types import tensor_type

from ..ptir.batch_axis import Cut, cut_of, for_part, part_shape
from ..ptir.building import is_plain, spec_of
from ..ptir.failing import can_fail
from ..ptir.weight import bytes_of

LARGE_BYTES = 8 << 20
"""Smaller values stay in a cache anyway."""
PART_BYTES = 4 << 20
"""Bytes of each value of a part, at most, if parts of so few are possible."""
FITS = 4
"""A value of one example stays in a cache up to so many times `PART_BYTES`."""
STEP_BYTES = 200 << 10
"""Bytes that move in the time that a kernel takes by itself: to share it out and to wait for all threads."""
MOST_COUNTS = 8
"""Numbers of examples that are tried, at most."""
_VIEWS = (ptir.TransposeOp, ptir.ReshapeOp, ptir.BroadcastToOp, ptir.ConstantOp, ptir.IotaOp)
"""Ops that each iteration computes for itself."""


@dataclass(frozen=True)
class Limits:
    """Bytes that are large, that stay in the caches, and that a kernel costs."""

    large: int = LARGE_BYTES
    part: int = PART_BYTES
    step: int = STEP_BYTES


def tile_batch(module: ModuleOp, has_kernel: Callable[[PtirOp], bool] = lambda _: True, limits: Limits = Limits()) -> bool:
    """Put the region that saves most of each function in `module` into a loop, in place; whether there was any."""
    changed = False
    for block in [block for func in functions(module) for block in func.body.blocks]:
        regions = [region for n in _counts(block, limits) if (region := _grown(block, n, has_kernel, limits)).gain > 0]
        if regions:
            _Loop(block, max(regions, key=lambda region: region.gain)).put()
            changed = True
    return changed


def _is_kernel(op: Operation) -> bool:
    """Return whether an op is a kernel by itself, that reads its operands from memory."""
    return FUSIBLE.get(type(op)) not in ("elementwise", "view")


def _is_anchor(op: Operation, limits: Limits) -> bool:
    """Return whether an op may begin a region: a product or a convolution of large values."""
    return isinstance(op, ConvolutionOp | DotGeneralOp) and max(bytes_of(op.operands[0]), bytes_of(op.results[0])) >= limits.large


def _counts(block: Block, limits: Limits) -> list[int]:
    """Return the numbers of examples to try: extents of axis 0 of the operands of anchors, 8 at most."""
    shapes = [spec_of(op.operands[0]).shape for op in block.ops if _is_anchor(op, limits)]
    return list(dict.fromkeys(s[0] for s in shapes if s and isinstance(s[0], int) and s[0] > 1))[:MOST_COUNTS]


@dataclass
class _BatchRegion:
    """Ops that treat each of `examples` examples by itself, in the order of the block, with the parts that operands need."""

    examples: int
    limits: Limits
    ops: dict[PtirOp, Cut] = field(default_factory=dict[PtirOp, Cut])
    parts: int = 1
    """The number of parts."""
    gain: int = 0
    """Bytes that the loop saves."""

    def values(self) -> Iterator[SSAValue]:
        """Yield the results."""
        return (op.results[0] for op in self.ops)

    def is_stored(self, value: SSAValue) -> bool:
        """Return whether a value is in memory between two kernels: where an op reads it that is no elementwise one."""
        users = [use.operation for use in value.uses]
        return bytes_of(value) >= self.limits.large and any(map(_is_kernel, users))

    def choose(self) -> None:
        """Choose the size of parts and the beginning of the region that saves most."""
        stored = {v: bytes_of(v) for v in self.values() if self.is_stored(v)}
        each = max(stored.values(), default=0) // self.examples
        self.parts = self.examples // _largest_divisor(self.examples, max(1, self.limits.part // max(1, each)))
        if self.parts == 1 or each > FITS * self.limits.part:
            return
        order = {op: i for i, op in enumerate(self.ops)}
        saved = [0] * len(order)
        for value, count in stored.items():
            users = [order.get(use.operation, len(order)) for use in value.uses if isinstance(use.operation, PtirOp)]
            if len(users) == len(list(value.uses)) and max(users) < len(order):
                saved[max(users)] += 2 * count
        gain, best, taken = 0, 0, 0
        for i, (op, cut) in enumerate(self.ops.items()):
            gain += saved[i] - self._repeated(op, cut)
            if gain > best:
                best, taken = gain, i + 1
        self.gain, self.ops = best, dict(list(self.ops.items())[:taken])

    def _repeated(self, op: PtirOp, cut: Cut) -> int:
        """Return the bytes that the loop adds for an op."""
        if not _is_kernel(op):
            return 0
        weights = sum(bytes_of(v) for v, is_cut in zip(op.operands, cut, strict=True) if not is_cut)
        return (self.parts - 1) * (weights + self.limits.step)


def _largest_divisor(n: int, most: int) -> int:
    """
    Return the largest divisor of a number that is at most another.

    >>> _largest_divisor(48, 10)
    8
    """
    small = [d for d in range(1, isqrt(n) + 1) if n % d == 0]
    return max(d for d in (*small, *(n // d for d in small)) if d <= most)


def _grown(block: Block, examples: int, has_kernel: Callable[[PtirOp], bool], limits: Limits) -> _BatchRegion:
    """Return the region of a block for a number of examples."""
    region, inside, after = _BatchRegion(examples, limits), set[SSAValue](), set[SSAValue]()
    for op in block.ops:
        depends = not after.isdisjoint(op.operands)
        touches = not inside.isdisjoint(op.operands) or (not region.ops and _is_anchor(op, limits))
        if not depends and not touches:
            continue
        cut = None if depends else _cut_in(op, examples, inside, has_kernel)
        if isinstance(op, PtirOp) and cut is not None:
            region.ops[op] = cut
            inside.update(op.results)
        elif region.ops:
            if not isinstance(op, PtirOp) or not is_plain(op) or can_fail(op):
                break
            after.update(op.results)
    region.choose()
    return region


def _cut_in(op: Operation, examples: int, inside: set[SSAValue], has_kernel: Callable[[PtirOp], bool]) -> Cut | None:
    """Return the parts of operands that an op needs in a region, None if it cannot be in it."""
    if not isinstance(op, PtirOp) or not is_plain(op) or can_fail(op) or not has_kernel(op):
        return None
    cut = cut_of(op, examples)
    if cut is None or any(v in inside and not is_cut for v, is_cut in zip(op.operands, cut, strict=True)):
        return None
    return cut


class _Loop:
    """A region on its way into a scan."""

    def __init__(self, block: Block, region: _BatchRegion):
        self.block, self.region, self.parts = block, region, region.parts
        self.body = Block()
        self.wholes: list[SSAValue] = []
        """Values that each part reads as a whole: the first arguments of the body."""
        self.scanned: list[SSAValue] = []
        """Values that each part reads a slice of: the other arguments."""
        self.inner: dict[tuple[SSAValue, bool], SSAValue] = {}
        """Values in the body, by the value outside and whether they are a part of it."""

    def put(self) -> None:
        """Put the region into a scan where it ends, and what depends on it after that."""
        ops = list(self.region.ops)
        results = [v for v in self.region.values() if any(use.operation not in self.region.ops for use in v.uses)]
        for op, cut in self.region.ops.items():
            operands = [self._inside(v, is_cut) for v, is_cut in zip(op.operands, cut, strict=True)]
            self.inner[op.results[0], True] = self._add(op, operands, self.parts)
        carries = self.body.args[: len(self.wholes)]
        self.body.add_op(ptir.YieldOp(*carries, *(self.inner[v, True] for v in results)))
        self._move_dependents(ops)
        self._replace(ops[-1], results)
        for op in reversed(ops):
            self.block.erase_op(op)

    def _inside(self, value: SSAValue, is_cut: bool) -> SSAValue:
        """Return a value, or a part of it, in the body; views and constants are made there, everything else is an argument."""
        asked, remade = (value, is_cut), list[tuple[tuple[SSAValue, bool], PtirOp]]()
        while (value, is_cut) not in self.inner:
            owner = self._source(value, is_cut)
            if owner is None:
                self.inner[value, is_cut] = self._argument(value, is_cut)
                break
            remade.append(((value, is_cut), owner))
            if not owner.operands:
                break
            value, is_cut = owner.operands[0], False
        for key, owner in reversed(remade):
            self.inner[key] = self._add(owner, [self.inner[v, False] for v in owner.operands], self.parts if key[1] else 1)
        return self.inner[asked]

    def _source(self, value: SSAValue, is_cut: bool) -> PtirOp | None:
        """Return the view or constant behind a value that each iteration can make, if it reads nothing that is cut."""
        owner = value.owner
        if not isinstance(owner, _VIEWS):
            return None
        return owner if not is_cut or cut_of(owner, self.region.examples) in ((), (False,)) else None

    def _argument(self, value: SSAValue, is_cut: bool) -> SSAValue:
        """Add an argument for a value, or for a part of it."""
        type = tensor_type(spec_of(value).dtype, part_shape(value, self.parts)) if is_cut else value.type
        place = len(self.wholes) + len(self.scanned) * is_cut
        (self.scanned if is_cut else self.wholes).append(value)
        argument = self.body.insert_arg(type, place)
        argument.name_hint = value.name_hint
        return argument

    def _add(self, op: PtirOp, operands: Sequence[SSAValue], parts: int) -> SSAValue:
        """Add an op to the body, for one of some parts."""
        made = for_part(op, operands, parts)
        self.body.add_op(made)
        return made.results[0]

    def _move_dependents(self, ops: Sequence[PtirOp]) -> None:
        """Move what depends on the region and comes before its end to after it."""
        depends, moved, last = set(self.region.values()), list[Operation](), ops[-1]
        op = ops[0].next_op
        while op is not None and op is not last:
            if op not in self.region.ops and not depends.isdisjoint(op.operands):
                depends.update(op.results)
                moved.append(op)
            op = op.next_op
        for op in reversed(moved):
            op.detach()
            self.block.insert_op_after(op, last)

    def _replace(self, last: PtirOp, results: Sequence[SSAValue]) -> None:
        """Put the scan after the last op of the region, and let everything outside use its results."""
        parts = [ReshapeOp(v, new_shape=(self.parts, *part_shape(v, self.parts))) for v in self.scanned]
        carries, outputs = len(self.wholes), len(results)
        scan = ScanOp(*self.wholes, *parts, carry_count=carries, scan_output_count=outputs, body=Region(self.body))
        wholes = [ReshapeOp(stack, new_shape=spec_of(v).shape) for v, stack in zip(results, scan.stacks, strict=True)]
        for op in (*parts, scan, *wholes):
            op.location = last.location
        self.block.insert_ops_after([*parts, scan, *wholes], last)
        for value, whole in zip(results, wholes, strict=True):
            whole.result.name_hint = value.name_hint
            value.replace_uses_with_if(whole.result, lambda use: use.operation not in self.region.ops)


@dataclass(frozen=True)
class PtirTileBatchPass(ModulePass):
    """
    Run layers over a large batch part by part, so that values between them stay in the caches.

    Layers are products and convolutions with the ops between them. Values of `large-bytes` or more are large; a part of each has
    `part-bytes` at most, if parts of so few examples are possible. Each kernel of each part is taken to cost as much as moving
    `step-bytes`.
    """

    name = "mind-ptir-tile-batch"

    large_bytes: int = LARGE_BYTES
    part_bytes: int = PART_BYTES
    step_bytes: int = STEP_BYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        tile_batch(op, limits=Limits(self.large_bytes, self.part_bytes, self.step_bytes))
