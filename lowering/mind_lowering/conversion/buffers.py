"""
Where the values of a function could live: live ranges, aliases, slots, and the most bytes that are live at once.

Ops are numbered from 1 in text order, an op with regions once where it begins and once where it ends; parameters are there at 0.
A value lives from its op to its last use, those of region parameters and of yielded values included, so nothing is shared that a
region still needs. A view is live memory: its source lives as long as the view. Values that share memory form a group, numbered
by its first buffer. Sizes are of dense tensors; 4-bit numbers take a byte. A value that a loop carries has one buffer, which is
its result too; what an iteration yields moves there, all values at once.

The plan says what a program needs whoever runs it. What the `numpy` target allocates, kernels' scratch included, is known only
after lowering: `mind_runtime.memory` counts that from the frees in the lowered function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, Flag, auto

from xdsl.ir import Operation, SSAValue

from mind_dialect import core, ptir
from mind_dialect.ptir_shapes import Dims
from mind_dialect.types import DType


class Usage(Flag):
    """What a buffer is to the caller. One that is neither parameter, result nor constant is temporary."""

    TEMPORARY = 0
    PARAMETER = auto()
    RESULT = auto()
    CONSTANT = auto()


class Alias(Enum):
    """How a value shares the memory of another."""

    IDENTITY = "all of it, in the same order"
    VIEW = "some of it, or in another order, or some of it several times"


IDENTITIES: frozenset[type[Operation]] = frozenset(
    {ptir.ReshapeOp, ptir.StopGradientOp, core.ReshapeOp, core.ExpandDimsOp, core.SqueezeOp}
)
"""Ops whose result is their first operand's memory under another shape. The reshape of a view is a copy."""
VIEWS: frozenset[type[Operation]] = frozenset(
    {
        *(ptir.TransposeOp, ptir.BroadcastToOp, ptir.SliceOp, ptir.DynamicSliceOp, ptir.StridedSliceOp, ptir.ReverseOp),
        *(core.TransposeOp, core.BroadcastToOp, core.SliceOp),
    }
)
"""Ops whose result is part of their first operand's memory, with strides, of 0 for what is repeated."""
CONSTANTS: frozenset[type[Operation]] = frozenset({ptir.ConstantOp, core.ConstantOp, *core.ScalarConstant.__subclasses__()})
IN_PLACE: dict[type[Operation], tuple[int, ...]] = {
    **dict.fromkeys((*ptir.UNARY_OPS, *ptir.UNARY_EXTENSIONS), (0,)),
    **dict.fromkeys((*ptir.BINARY_OPS, *ptir.BINARY_EXTENSIONS), (0, 1)),
    ptir.SelectOp: (1, 2),
    ptir.ClampOp: (0, 1, 2),
    **dict.fromkeys((ptir.DynamicUpdateSliceOp, ptir.ScatterAddOp, ptir.ScatterReduceOp), (0,)),
    **dict.fromkeys((core.AddOp, core.SubOp, core.MulOp, core.DivOp), (0, 1)),
    **dict.fromkeys((core.ReluOp, core.NegOp, core.ExpOp, core.LogOp, core.ReciprocalOp), (0,)),
}
"""Ops that may write their result over an operand of the same type which dies there, and which operands."""


@dataclass(frozen=True)
class BufferizeOptions:
    """
    What must be known: the size of every dimension, the dtype of every tensor.

    `sizes` are those of named dimensions in one call, where that is what to plan.
    """

    require_static_shapes: bool = False
    require_known_dtypes: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass
class PlannedBuffer:
    """The memory of one tensor value."""

    index: int
    value: SSAValue
    dtype: DType | None
    shape: Dims
    byte_len: int | None
    """None where a dimension or the dtype is unknown."""
    usage: Usage
    live: tuple[int, int]
    """The numbers of the first and the last op that need it, both included; of its whole group."""
    alias: Alias | None = None
    source: int | None = None
    """The buffer whose memory it shares."""
    group: int = 0
    slot: int | None = None
    in_place: int | None = None
    """A buffer that dies where this one is made and could be overwritten. A hint: slots do not depend on it."""

    @property
    def owns(self) -> bool:
        """Whether it is memory of its own."""
        return self.source is None

    def __str__(self) -> str:
        """As `b2: 24 bytes, live 1 to 3, slot 0`."""
        size = "unknown size" if self.byte_len is None else f"{self.byte_len} bytes"
        parts = [size, *(usage.name.lower() for usage in self.usage if usage.name), f"live {self.live[0]} to {self.live[1]}"]
        if self.alias is not None:
            parts.append(f"{'is' if self.alias is Alias.IDENTITY else 'views'} b{self.source}")
        if self.slot is not None:
            parts.append(f"slot {self.slot}")
        if self.in_place is not None:
            parts.append(f"may overwrite b{self.in_place}")
        return f"b{self.index}: {', '.join(parts)}"


@dataclass(frozen=True)
class BufferSlot:
    """Memory that temporaries of one dtype and size use one after the other; `byte_len` is None where unknown."""

    index: int
    dtype: DType | None
    byte_len: int | None
    buffers: tuple[int, ...]

    def __str__(self) -> str:
        """As `slot 0: 24 bytes of f32, for b1, b4`."""
        size = "unknown size" if self.byte_len is None else f"{self.byte_len} bytes"
        kind = "" if self.dtype is None else f" of {self.dtype}"
        return f"slot {self.index}: {size}{kind}, for {', '.join(f'b{i}' for i in self.buffers)}"


@dataclass
class FunctionPlan:
    """The buffers of a function with all that its regions hold, in order of definition."""

    name: str
    buffers: list[PlannedBuffer] = field(default_factory=list[PlannedBuffer])
    values: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    slots: list[BufferSlot] = field(default_factory=list[BufferSlot])
    peak_bytes: int = 0
    """The most bytes live at once, parameters and constants not counted, results counted; of what has a known size."""

    def bytes_of(self, usage: Usage) -> int:
        """Bytes of the memory that is used as `usage`; of what has a known size."""
        return sum(b.byte_len or 0 for b in self.buffers if b.owns and usage in b.usage)

    @property
    def slot_bytes(self) -> int:
        """Bytes of all slots of known size."""
        return sum(s.byte_len or 0 for s in self.slots)

    @property
    def unknown(self) -> int:
        """How many buffers with memory of their own have no known size."""
        return sum(1 for b in self.buffers if b.owns and b.byte_len is None)


@dataclass
class BufferPlan:
    """The plan of every function, by name."""

    functions: dict[str, FunctionPlan]


def plan_text(plan: BufferPlan) -> str:
    """
    A plan as lines of text: for each function its totals, its buffers, its slots.

    The first lines are as `@main: peak 48 bytes, slots 24, parameters 24, constants 0, results 24`.
    """
    lines: list[str] = []
    for function in plan.functions.values():
        lines.append(f"@{function.name}: {totals(function)}")
        lines += [f"  {buffer}" for buffer in function.buffers]
        lines += [f"  {slot}" for slot in function.slots]
    return "\n".join(lines)


def totals(plan: FunctionPlan) -> str:
    """A plan in one line."""
    used = {"parameters": Usage.PARAMETER, "constants": Usage.CONSTANT, "results": Usage.RESULT}
    parts = [f"peak {plan.peak_bytes} bytes", f"slots {plan.slot_bytes}"]
    parts += [f"{name} {plan.bytes_of(usage)}" for name, usage in used.items()]
    parts += [f"{plan.unknown} buffers of unknown size besides"] if plan.unknown else []
    return ", ".join(parts)
