"""
A lowered function as Python over CuPy and CUDA C++: the target `mind-cupy`, and what the runtime compiles.

Names of kernels are made of the plain name of the function, a number and the opcodes, and no other text of a program reaches the
C++; see `PythonNames` for the Python. Equal fusions of a module are one kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.target import Target

from mind_dialect.errors import error
from mind_dialect.program import functions
from mind_dialect.ptir import FusionOp
from mind_dialect.ptir.types import TensorSpec

from ..launch.kernel_patterns import Choice
from ..python_names import PythonNames
from ..xp.arguments import dtype_text
from ..xp.python import PythonSource, python_source
from .kernels.kernel import CudaKernel, Launch
from .kernels.patterns import choose
from .lower import lowered_for_cupy
from .options import DEFAULT, CupyOptions

HEADER = """\
# Python over CuPy, with kernels in CUDA C++, made by the target mind-cupy.
from mind_lowering.cupy.launching import device

k = device()
xp = k.xp
"""
_VIEWS = ("constant", "broadcast_to", "reshape", "cast", "yield")
_LONGEST = 40


@dataclass
class CudaKernels:
    """The kernels of one function: by text, so that equal ones are one."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    """From the text to the name in Python."""
    symbols: dict[str, str] = field(default_factory=dict[str, str])
    """From the name in Python to that in CUDA."""
    found: dict[str, CudaKernel] = field(default_factory=dict[str, CudaKernel])
    """By the name in Python."""
    of: dict[FusionOp, str] = field(default_factory=dict["FusionOp", str])
    """The name in Python of the kernel of each fusion."""

    def name(self, function: str, op: FusionOp) -> str:
        """The name in Python of the kernel of a fusion; E6003 if it has none, which a lowering never leaves."""
        chosen = choose(op.body.block)
        if not isinstance(chosen, Choice):
            raise error("E6003", f"the fusion cannot be a CUDA kernel: {chosen[-1][1].reason}", backend="cupy").at(op, op.name)
        self.of[op] = self.add(function, chosen.match.schedule.emit())
        return self.of[op]

    def add(self, function: str, kernel: CudaKernel) -> str:
        """The name in Python of a kernel of a function."""
        key = f"{kernel.launch}\n{kernel.text}" if not kernel.sites else f"{len(self.found)}"  # failures name their op
        if key not in self.names:
            name = self.names[key] = f"{function}_k{len(self.found)}"
            self.found[name] = kernel
            opcodes = "_".join(c for c in kernel.opcodes if c not in _VIEWS) or "copy"
            self.symbols[name] = f"{name}_{opcodes[:_LONGEST].rstrip('_')}"
        return self.names[key]

    def launches(self) -> dict[FusionOp, tuple[str, Launch]]:
        """For each fusion the name of its kernel in Python, and how that is launched."""
        return {op: (name, self.found[name].launch) for op, name in self.of.items()}

    def text(self) -> str:
        """All kernels as C++."""
        return "\n".join(kernel.named(self.symbols[name]) for name, kernel in self.found.items())

    def printed(self, function: str) -> str:
        """The kernels as Python."""
        if not self.found:
            return ""
        module = f"{function}_k{len(self.found)}"  # no other name looks like this, see `PythonNames`
        lines = [f'{module} = k.module(r"""', self.text() + '""")']
        lines += [f"{n} = {module}.kernel({self.symbols[n]!r}, {launch_text(x.launch)})" for n, x in self.found.items()]
        return "\n".join([*lines, ""])


def launch_text(launch: Launch) -> str:
    """Return the launch of a kernel as arguments of `Module.kernel`."""
    outputs = ", ".join(f"({_shape(spec)}, {dtype_text(spec.dtype)})" for spec in launch.outputs)
    parts = [f"outputs=[{outputs}]", f"grid={launch.grid}", f"block={launch.block}"]
    if launch.scratch:
        parts.append(f"scratch={launch.scratch}, counters={launch.counters}")
    if launch.into is not None:
        parts.append(f"into={launch.into}")
    if launch.fails:
        parts.append(f"fails={[tuple(site) for site in launch.fails]!r}")
    return ", ".join(parts)


def _shape(spec: TensorSpec) -> str:
    return repr(tuple(spec.shape))


def cupy_source(func: FuncOp, scope: PythonNames | None = None) -> tuple[PythonSource, CudaKernels]:
    """The Python of a function lowered for CuPy, and its kernels. E4000 as for NumPy, E6003 for a fusion that is no kernel."""
    kernels = CudaKernels()
    return python_source(func, scope, kernels.name), kernels


def print_module(module: ModuleOp, options: CupyOptions = DEFAULT) -> str:
    """Every function of a module as Python and CUDA C++; Core IR and PTIR are lowered first, in a copy."""
    scope = PythonNames()
    parts: list[str] = []
    for func in functions(module):
        source, kernels = cupy_source(lowered_for_cupy(func, options=options).func, scope)
        parts.append("\n".join(filter(None, [source.printed_constants(), kernels.printed(source.name), source.text])))
    return "\n".join([HEADER, *parts])


@dataclass(frozen=True)
class CupyTarget(Target):
    """
    Print Python over CuPy with its kernels in CUDA C++.

    `fast-reduce` lets sums of floats be added in any order, `tf32` lets products of f32 round their operands, `epilogues` lets
    cuBLASLt add biases and apply GELU, `warp-groups` lets attention use `wgmma` of sm_90a, `graph=off` captures no CUDA graphs.
    Each is on or off.
    """

    name = "mind-cupy"

    fast_reduce: bool | str | None = False
    tf32: bool | str | None = False
    epilogues: bool | str | None = False
    warp_groups: bool | str | None = False
    graph: bool | str | None = True

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        words = {f.name.replace("_", "-"): getattr(self, f.name) for f in fields(CupyOptions)}
        options = CupyOptions.of({word: True if value is None else value for word, value in words.items()})
        output.write(print_module(module, options))
