"""The memory that a lowered function needs, known before it runs: shapes are known then, and frees are explicit."""

from __future__ import annotations

from math import prod

from xdsl.ir import Attribute, Block, SSAValue

from mind_dialect.ptir import FusionOp
from mind_dialect.ptir.types import Kind, read_type

from ..memory_need import Need, Sizes, byte_count, check_rank, extents
from .functions import FUNCTIONS, ROW_MAJOR, ROW_MAJOR_RESULTS, Storage
from .liveness import home
from .ops import CallOp, FreeOp
from .regions import IfOp, LoopOp

RESHAPE = "k.reshape"


def peak(block: Block, sizes: Sizes | None = None) -> Need:
    """
    Return what the calls of a lowered function need at their peak, kernels' own buffers for convolutions included.

    A view counts nothing while its memory lives, but no value may be larger than the limit even as a view: reading all of
    a tensor of 10^15 elements would not end. What a loop carries counts once more, unless the loop passes it on as it is.
    """
    return Meter(block, sizes or {}).need


class Meter:
    """
    A walk over a lowered function that allocates and frees as a run does.

    `need` is the peak; the values that have memory of their own have themselves as their `owner`.
    """

    def __init__(self, block: Block, sizes: Sizes):
        self.sizes = sizes
        self.owner: dict[SSAValue, SSAValue | None] = {}
        self.users: dict[SSAValue, int] = {}
        self.strided: set[SSAValue] = set()
        """Values that may not be in row-major order: views, and what NumPy computes from them. To reshape them takes a copy."""
        self.log: list[tuple[SSAValue, int]] = []
        self.live, self.need = 0, Need(0, None)
        self.block(block)

    def block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, FreeOp):
                for value in op.operands:
                    self.release(value)
            elif isinstance(op, CallOp):
                self.call(op)
            elif isinstance(op, FusionOp):
                for result in op.results:
                    self.bind(result, result)
                    self.note(result)
            elif isinstance(op, IfOp):
                self.branches(op)
            elif isinstance(op, LoopOp):
                self.loop(op)

    def call(self, op: CallOp) -> None:
        scratch, storage = scratch_bytes(op, self.sizes), FUNCTIONS[op.function]
        if (target := op.target) is not None:
            self.bind(op.results[0], self.owner.get(target))
            self.strided.update(op.results if target in self.strided else ())
            return self.note(op.results[0])
        is_strided = any(value in self.strided for value in op.operands)
        copies = op.function in (RESHAPE, ROW_MAJOR) and is_strided
        if storage is Storage.PART or (storage is Storage.OWN and is_strided and op.function not in ROW_MAJOR_RESULTS):
            self.strided.update(op.results)
        for result in op.results:
            own = copies or storage is Storage.OWN or (storage is Storage.PART and not op.operands)
            self.bind(result, result if own else self.owner.get(op.operands[0]) if op.operands else None)
            self.note(result, scratch)

    def bind(self, value: SSAValue, memory: SSAValue | None) -> None:
        """Let `value` have `memory`, which is allocated if it is `value` itself."""
        check_rank(value.type)
        self.owner[value] = memory
        if memory is not None:
            self.change(memory, 1)
            self.live += byte_count(value.type, self.sizes) if memory is value else 0

    def change(self, memory: SSAValue, by: int) -> None:
        self.log.append((memory, by))
        self.users[memory] = self.users.get(memory, 0) + by

    def release(self, value: SSAValue) -> None:
        memory = self.owner.get(value)
        if memory is not None:
            self.change(memory, -1)
            self.live -= byte_count(memory.type, self.sizes) if self.users[memory] == 0 else 0

    def note(self, result: SSAValue, scratch: int = 0) -> None:
        size = byte_count(result.type, self.sizes)
        here = max(self.live + scratch, size, _extent_bytes(result.type, self.sizes))
        if here > self.need.bytes:
            self.need = Need(here, result.type)

    def branches(self, op: IfOp) -> None:
        """Both branches from the same state; the results are then as if the last one had been taken."""
        live, start = self.live, len(self.log)
        ends: list[int] = []
        for i, region in enumerate(op.regions):
            self.block(region.block)
            ends.append(self.live)
            if i == 0:
                for memory, by in reversed(self.log[start:]):
                    self.users[memory] -= by
                del self.log[start:]
                self.live = live
        last = op.regions[-1].block.last_op
        for result, value in zip(op.results, () if last is None else last.operands, strict=True):
            self.owner[result] = self.owner.get(value)
        self.strided.update(result for i, result in enumerate(op.results) if self._yields_strided(op, i))
        self.live = max(self.live, *ends)

    def _yields_strided(self, op: IfOp, i: int) -> bool:
        ends = [region.block.last_op for region in op.regions]
        return any(end is not None and end.operands[i] in self.strided for end in ends)

    def loop(self, op: LoopOp) -> None:
        """One iteration of the loop, with room for what it carries."""
        first, last = op.regions[0].block, op.regions[-1].block
        initial = op.initial()
        ending = last.last_op
        final = () if ending is None else ending.operands
        for i, (value, argument) in enumerate(zip(initial, first.args, strict=False)):
            passed = final[i] in (argument, last.args[i])
            self.bind(argument, self.owner.get(value) if passed else argument)
            self.note(argument)
            if value in self.strided:
                self.strided.add(argument)
        for i in op.taken():
            self.release(op.operands[i])
        self.block(first)
        if len(op.regions) > 1 and first.last_op is not None:
            body = op.regions[1].block
            for argument, value in zip(body.args, first.last_op.operands[1:], strict=True):
                self.owner[argument] = self.owner.get(value)
            self.block(body)
        moved: set[SSAValue] = set()
        for result, argument, value in zip(op.results, first.args, final, strict=False):
            self.owner[result] = self.owner.get(argument)
            if (memory := self.owner[result]) is not None and self.users.get(memory, 0) <= 0:
                if self.owner.get(value) is value and home(value) is last and value not in moved:
                    self.owner[result] = value
                    moved.add(value)
                else:
                    self.bind(result, result)


def _extent_bytes(type: Attribute, sizes: Sizes) -> int:
    """Return what NumPy bounds even for an empty array: the product of the extents other than 0."""
    shape = extents(type, sizes)
    count = read_type(type).dtype.size * prod(n for n in shape if n)
    return count if 0 in shape and count > 1 << 62 else 0


def scratch_bytes(op: CallOp, sizes: Sizes) -> int:
    """
    Bytes that a kernel of windows needs in addition to its result.

    These are the padded input; of a reduction two partial results as large, of an index of one those and their indices; of a
    convolution the windows as rows, and where it has groups these a second time, sorted by group, and the result by group.
    """
    if op.function not in ("k.convolution", "k.extract_patches", "k.reduce_window", "k.window_arg"):
        return 0
    values = op.values()
    x, out = extents(op.operands[0].type, sizes), extents(op.results[0].type, sizes)
    padding = values["padding"]
    outer = len(x) - len(padding)  # batch and channels, where padding has none for them
    pads = [0] * (outer // 2) + [low + high for low, high in padding] + [0] * (outer - outer // 2)
    base = [1] * (outer // 2) + list(values.get("base_dilation", [1] * len(padding))) + [1] * (outer - outer // 2)
    padded = prod(pad + max(0, (n - 1) * step + 1) for n, pad, step in zip(x, pads, base, strict=True))
    dtype = read_type(op.operands[0].type).dtype
    size = max(dtype.size, 4) if dtype.kind is Kind.FLOAT else dtype.size  # small floats are computed in f32
    cast = (prod(x) + prod(out)) * size if size > dtype.size else 0
    if op.function == "k.reduce_window":
        return 2 * padded * size + cast
    if op.function == "k.window_arg":  # values and indices, each twice, and three masks
        return padded * (2 * size + 2 * read_type(op.results[0].type).dtype.size + 3) + prod(x) * size
    if op.function == "k.extract_patches":
        return padded * dtype.size
    groups: int = values["feature_group_count"]
    windows = prod(out[:-1]) * prod(extents(op.operands[1].type, sizes)[:-1]) * groups
    copies = max(2 * windows, windows + 2 * prod(out)) if groups > 1 else windows
    return (padded + copies) * size + cast
