"""
The memory plan that a run on NumPy follows: which arrays it allocates, from which op to which it needs each, and its peak.

The plan is read from the function as it is lowered: its frees, results in place, views and copies are what runs; the peak counts
what kernels need in addition. Ops of the lowered function have numbers from 1 in text order, an op with regions one more at its
end; frees, checks and constants have none. What a loop carries has memory of its own around the loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Flag, auto

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.core import CoreOp
from mind_dialect.dominance import walk
from mind_dialect.errors import brief, error
from mind_dialect.extents.dims import size_in
from mind_dialect.program import functions
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.control import yielded
from mind_dialect.ptir.types import read_type

from .memory_need import Sizes, byte_count
from .numpy import lowered
from .xp import ops
from .xp.liveness import ArrayRanges
from .xp.ops import XpOp, is_constant
from .xp.peak import Meter


class Usage(Flag):
    """The use of a buffer by the caller. One that is neither parameter, result nor constant is temporary."""

    TEMPORARY = 0
    PARAMETER = auto()
    RESULT = auto()
    CONSTANT = auto()


@dataclass(frozen=True)
class BufferizeOptions:
    """`sizes` are those of named dimensions; `require_static_shapes` refuses a dimension without a size."""

    require_static_shapes: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass
class PlannedBuffer:
    """A tensor of the lowered function: memory of its own, or that of others."""

    index: int
    value: SSAValue
    origin: Operation | None
    """The op of the program that it comes from; None for a parameter."""
    byte_len: int | None
    """None where a dimension has no size."""
    usage: Usage
    live: tuple[int, int] | None = None
    """The numbers of the first and the last op that need its memory, both included; None for parameters, constants, and views."""
    sources: tuple[int, ...] = ()
    """The buffers in whose memory it may lie; empty for memory of its own."""
    in_place: bool = False
    """True if it was written over what was there."""

    @property
    def owns(self) -> bool:
        """Return whether it is memory of its own."""
        return not self.sources

    def __str__(self) -> str:
        """Return a line like `b2 %h: 24 bytes, live 1 to 3`."""
        parts = ["unknown size" if self.byte_len is None else f"{self.byte_len} bytes"]
        parts += [usage.name.lower() for usage in self.usage if usage.name]
        parts += [f"live {self.live[0]} to {self.live[1]}"] if self.live is not None else []
        parts += [f"{'over' if self.in_place else 'in'} {' or '.join(f'b{i}' for i in self.sources)}"] if self.sources else []
        name = f" %{self.value.name_hint}" if self.value.name_hint else ""
        return f"b{self.index}{name}: {', '.join(parts)}"


@dataclass
class FunctionPlan:
    """The buffers of a function with all that its regions hold, in order of definition."""

    name: str
    buffers: list[PlannedBuffer]
    peak_bytes: int
    """The most bytes at once, parameters and constants not counted, results counted; an unknown extent counts as 1."""

    def bytes_of(self, usage: Usage) -> int:
        """Return the bytes of the memory that is used as `usage`; of what has a known size."""
        return sum(b.byte_len or 0 for b in self.buffers if b.owns and usage in b.usage)

    @property
    def unknown(self) -> int:
        """Return how many buffers with memory of their own have no known size."""
        return sum(1 for b in self.buffers if b.owns and b.byte_len is None)

    @property
    def temporaries(self) -> list[PlannedBuffer]:
        """Return the buffers that a run allocates and that no caller sees."""
        return [b for b in self.buffers if b.owns and not b.usage]

    def __str__(self) -> str:
        """Return the totals, and a line for each buffer."""
        used = {"parameters": Usage.PARAMETER, "constants": Usage.CONSTANT, "results": Usage.RESULT}
        parts = [f"peak {self.peak_bytes} bytes", *(f"{name} {self.bytes_of(usage)}" for name, usage in used.items())]
        parts += [f"{self.unknown} buffers of unknown size"] if self.unknown else []
        return "\n  ".join([f"@{self.name}: {', '.join(parts)}", *map(str, self.buffers)])


@dataclass
class BufferPlan:
    """The plan of every function, by name."""

    functions: dict[str, FunctionPlan]


def plan_buffers(module: ModuleOp, options: BufferizeOptions | None = None) -> BufferPlan:
    """Plan every function of a module that holds ops of ours alone. See `plan_function`."""
    return BufferPlan({func.sym_name.data: plan_function(func, options) for func in planned_functions(module)})


def planned_functions(module: ModuleOp) -> list[FuncOp]:
    """Return the functions with results whose bodies are Core IR, PTIR or `xp`, and calls, and nothing else."""
    ours = (CoreOp, PtirOp, XpOp, CallOp, ReturnOp)
    found = [f for f in functions(module) if f.body.blocks and f.function_type.outputs.data]
    return [f for f in found if all(op is f or isinstance(op, ours) for op in walk(f))]


def plan_text(plan: BufferPlan) -> str:
    """
    Return a plan as lines of text, those of each function together.

    The first of them is like `@main: peak 48 bytes, parameters 24, constants 0, results 24`.
    """
    return "\n".join(map(str, plan.functions.values()))


def plan_function(func: FuncOp, options: BufferizeOptions | None = None, donate: Collection[int] = ()) -> FunctionPlan:
    """
    Plan a function of Core IR, PTIR or `xp`, calls put in place, as it runs on NumPy; in linear time.

    `donate` names inputs by number whose memory may be overwritten. Raises what verification and lowering raise, and E8001 for a
    dimension without a size if `options` asks for sizes.
    """
    options = options or BufferizeOptions()
    found = lowered(func, donate)
    origins = dict(zip(found.func.body.block.walk(), found.origins, strict=True))
    block = found.func.body.block
    meter = Meter(block, options.sizes)
    constants = [op.results[0] for op in walk(found.func) if is_constant(op)]
    made = [value for value, memory in meter.owner.items() if value is memory]
    live = ArrayRanges(block, [*constants, *made])
    returned = {root for v in yielded(block) for root in live.memory[v]}
    numbers: dict[SSAValue, int] = {}
    plan = FunctionPlan(func.sym_name.data, [], meter.need.bytes)
    for value in _values(block):
        index = numbers[value] = len(numbers)
        owner = value.owner
        origin = origins.get(owner if isinstance(owner, Operation) else owner.parent_op() or func)
        buffer = PlannedBuffer(index, value, origin, _size(func, value, options), Usage.TEMPORARY)
        buffer.sources = tuple(sorted(numbers[root] for root in live.memory.get(value, ()) if root is not value))
        buffer.in_place = isinstance(owner, ops.CallOp) and owner.written_over is not None
        if value in block.args:
            buffer.usage |= Usage.PARAMETER
        elif isinstance(owner, Operation) and is_constant(owner):
            buffer.usage |= Usage.CONSTANT
        elif buffer.owns:
            buffer.live = (live.first[value] + 1, live.last[value] + 1)
        if value in returned:
            buffer.usage |= Usage.RESULT
        plan.buffers.append(buffer)
    return plan


def _values(block: Block) -> Iterator[SSAValue]:
    """Yield the values of a block and of those inside, in text order."""
    yield from block.args
    for op in block.ops:
        for region in op.regions:
            yield from _values(region.block)
        yield from op.results


def _size(func: FuncOp, value: SSAValue, options: BufferizeOptions) -> int | None:
    """Return the bytes of a value, or None; E8001 where they are unknown and must not be."""
    sizes: Sizes = options.sizes
    dims = [d for d in read_type(value.type).shape if not isinstance(d, int)]
    unknown = next((d for d in dims if size_in(d, sizes) is None), None)
    if unknown is not None and options.require_static_shapes:
        issue = f"{brief(value.type)} in @{func.sym_name.data}"
        raise error("E8001", f"{issue} has no known size", operation=func, name=unknown, extents=())
    return byte_count(value.type, sizes) if unknown is None else None
