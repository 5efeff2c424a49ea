"""
Shared by all kernels: the text of one CUDA kernel, its launch, the loop over neighbouring elements.

Sizes are part of the text, so that the compiler knows every stride and every tail. Which kernel a fusion is, `patterns.py` says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import TensorSpec

from .body import Body, Reduction
from .failures import FailingOp
from .folds import combiner, taken_up
from .places import Place, linear, reshaped, spec
from .scalars import STORED, register
from .scope import KernelSource, Scope

NAME = "@NAME@"
"""Stands for the name of the kernel in its text."""
THREADS = 256
MOST_BLOCKS = 1 << 20
"""So many blocks at most where each can do more than one share."""
VECTOR_BYTES = 16


@dataclass(frozen=True)
class Launch:
    """The launch of a kernel: all but its arguments."""

    outputs: tuple[TensorSpec, ...]
    grid: int
    """The number of blocks; 0 where there is nothing to do."""
    block: int
    scratch: int = 0
    """Bytes for the partial results of blocks."""
    counters: int = 0
    """The number of counters of finished blocks, 0 at first."""
    into: int | None = None
    """The operand whose memory the one result has, which holds the operand's elements when the kernel begins."""
    fails: tuple[FailingOp, ...] = ()
    """Ops that can fail, by number; if there are any, the kernel takes a record of failures."""


@dataclass(frozen=True)
class CudaKernel:
    """A kernel: its text, in which `NAME` stands for its name, how to launch it, and the ops of `Launch.fails`."""

    text: str
    launch: Launch
    sites: tuple[PtirOp, ...]
    opcodes: tuple[str, ...]

    def named(self, name: str) -> str:
        """The text under a name."""
        return self.text.replace(NAME, name)


class Schedule(ABC):
    """A kernel that was matched: all that its text depends on. Making one raises Unsupported for what it cannot compute."""

    body: Body
    into: int | None = None
    """The operand whose memory the one result has."""
    is_narrow: bool = False
    """True if a few blocks have much work, which they cannot share with others."""

    @abstractmethod
    def emit(self) -> CudaKernel:
        """Emit the kernel."""


class KernelWriter:
    """Writes what all kernels share: parameters, head, the loop over neighbouring elements."""

    def __init__(self, body: Body):
        self.body = body
        self.source = KernelSource(body, {v: f"a{i}" for i, v in enumerate(body.inputs)})
        self.outputs = [f"b{i}" for i in range(len(body.results))]
        self.sites = tuple(op for op, _ in body.sites)

    def launch(self, grid: int, block: int, scratch: int = 0, counters: int = 0, into: int | None = None) -> Launch:
        """Return the launch of the kernel."""
        outputs = tuple(TensorSpec(*spec(v)) for v in self.body.results)
        return Launch(outputs, grid, block, scratch, counters, into, tuple(site for _, site in self.body.sites))

    def kernel(self, lines: Sequence[str], launch: Launch, names: Sequence[str] = (), threads: int = 0) -> CudaKernel:
        """
        The whole kernel, given the statements of its body; it is called after its ops, unless other `names` are given.

        `threads` are resident at once at least, which bounds registers: without it the compiler may spill some for more threads.
        """
        parameters = [f"const {_stored(v)}* __restrict__ {name}" for v, name in self.source.pointers.items()]
        parameters += [f"{_stored(v)}* __restrict__ {b}" for v, b in zip(self.body.results, self.outputs, strict=True)]
        parameters += ["unsigned char* scratch", "mind::ui32* counters"] if launch.scratch else []
        parameters += ["mind::ui64* record"] if launch.fails else []
        bounds = f"{launch.block}, {max(1, threads // launch.block)}" if threads else f"{launch.block}"
        head = f'extern "C" __global__ void __launch_bounds__({bounds}) {NAME}({", ".join(parameters)})'
        text = "\n".join([head, "{", *indented([f"typedef {self.index_type()} I;", *lines]), "}", ""])
        return CudaKernel(text, launch, self.sites, tuple(names) or tuple(op.OPCODE for op in self.body.ops))

    def index_type(self) -> str:
        """The type of indices: 64 bits where 32 would not do."""
        values = [*self.body.inputs, *(v for op in self.body.ops for v in op.results)]
        return "int" if max(prod(spec(v)[1]) for v in values) <= 1 << 30 else "long long"

    def elements(
        self,
        scope: Scope,
        at: Place,
        head: Sequence[str],
        outputs: Iterable[int] = (),
        sums: Iterable[tuple[Reduction, str]] = (),
        vector: tuple[int, str, str] = (1, "", ""),
        guard: str | None = None,
        along: str = "",
    ) -> list[str]:
        """
        Statements for the elements at `at`: outputs by number are written, reductions taken up in the named variables.

        `head` gives the variables of the place. With a `vector` of a width, the first place and the end, they are a loop over
        `j` between loads and stores of that many elements, which are all there if the end is empty. `guard` says which of them
        there are, `along` is the index along the reduced axes.
        """
        width, base = vector[0], ", ".join(filter(None, vector[1:]))
        scope.whole = linear(at, scope)
        packs, after = self._packed(scope, at, vector), list[str]()
        outputs, sums = list(outputs), list(sums)
        results = [self.body.results[n] for n in outputs]
        roots = [(v, reshaped(at, spec(v)[1], scope)) for v in (*results, *(op.x for op, _ in sums))]
        names = scope.values(roots)
        before = [line for value, lines in packs.items() if value in scope.unpacked for line in lines]
        writes: list[str] = []
        for number, value, name in zip(outputs, results, names, strict=False):
            pointer = self.outputs[number]
            if width == 1:
                writes.append(store(pointer, scope.whole, value, name))
            else:
                before.append(f"{register(spec(value)[0])} {pointer}_[{width}] = {{}};")
                writes.append(f"{pointer}_[j] = {name};")
                after.append(f"mind::store<{width}>({pointer}, {pointer}_, {base});")
        for (op, total), name in zip(sums, names[len(results) :], strict=True):
            writes.append(f"{total} = {combiner(op)}::of({total}, {taken_up(op, name, along)});")
        inner = [*scope.lines, *writes, *scope.keep(at)]
        if guard is not None:
            inner = [f"if ({guard}) {{", *indented(inner), "}"]
        inner = [*head, *inner]
        if width > 1:
            inner = ["#pragma unroll", f"for (int j = 0; j < {width}; ++j) {{", *indented(inner), "}"]
        return [*before, *inner, *after]

    def _packed(self, scope: Scope, at: Place, vector: tuple[int, str, str]) -> dict[SSAValue, list[str]]:
        """Loads of several elements of the inputs that have as many as there are places."""
        width, base = vector[0], ", ".join(filter(None, vector[1:]))
        found: dict[SSAValue, list[str]] = {}
        size = prod(prod(chunk.dims) for chunk in at)
        for value, pointer in self.source.pointers.items():
            dtype, shape = spec(value)
            if width > 1 and prod(shape) == size:
                scope.packed[value] = f"{pointer}_"
                load = f"mind::load<{width}>({pointer}_, {pointer}, {base});"
                found[value] = [f"{register(dtype)} {pointer}_[{width}];", load]
        return found


def vector_width(body: Body, size: int) -> int:
    """Return the number of elements that are read and written at once of arrays of `size` elements: 16 bytes of the widest."""
    bytes = [spec(v)[0].size for v in (*body.inputs, *body.results) if prod(spec(v)[1]) == size]
    return VECTOR_BYTES // max(bytes, default=VECTOR_BYTES)


def store(pointer: str, index: str, value: SSAValue, name: str) -> str:
    """The statement that writes one element."""
    return f"{pointer}[{index}] = mind::Stored<{_stored(value)}>::store({name});"


def _stored(value: SSAValue) -> str:
    return STORED[spec(value)[0]]


def indented(lines: Sequence[str]) -> list[str]:
    """Lines one step further in; directives stay where they are."""
    return [line if line.startswith("#") else f"    {line}" for line in lines]
