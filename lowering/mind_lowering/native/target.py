"""The native target in tools: a pass that stops before the text, and the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from mind_dialect.errors import error
from mind_dialect.program import functions
from mind_passes.ptir.failing import forget_origins
from mind_passes.staged import Stage, StagedPass

from ..core_to_ptir import replace_body
from ..outline import own_functions
from .host import detect
from .program import dynamic, fusion_stages, lower, planned, prepared
from .target_info import TargetInfo, target_of


def stated(isa: str | None) -> TargetInfo:
    """Return the target that the option `isa` names, by default this machine; E7001 for an unknown one."""
    return detect() if isa is None else target_of(isa)


def print_module(module: ModuleOp, isa: str | None = None, *, timed: bool = False) -> str:
    """
    Return the LLVM IR of every function of a module, each a module of its own, for an `isa`, by default this machine's.

    With `timed`, entries read a clock around each kernel.

    E7001 for an unknown `isa`. E6003 for a dimension without a size: such functions are lowered when a call gives the sizes.
    """
    host = stated(isa)
    texts: list[str] = []
    for func in functions(module):
        work = prepared(func, host)
        if (unsized := dynamic(work)) is not None:
            message = f"@{func.sym_name.data} has {unsized}, expected sizes; it is lowered when a call gives them"
            raise error("E6003", message, backend="native")
        native = lower(work, host, timed=timed)
        notes = "".join(f"; {ascii(line)[1:-1]}\n" for line in native.explain())
        texts.append(f"{notes}{native.text}")
    return "\n".join(texts)


@dataclass(frozen=True)
class LowerToNativePass(StagedPass):
    """
    Optimise and fuse the functions of a module for the native target: Core IR is converted, calls are inlined.

    Each `ptir.fusion`, and each op outside of one, is then a kernel. Kernels are for an `isa`, by default that of this machine:
    `avx512vnni`, `avx512`, `avx2vnni`, `avx2`, `baseline`, `sve256`, `neondot` or `neon`. `launches=true` lowers
    functions to the `launch` dialect: kernels and calls on assigned memory; E8001 for a dimension without a size.
    """

    name = "mind-lower-to-native"

    isa: str | None = None
    launches: bool = False

    def stages(self) -> Sequence[Stage]:
        return [
            Stage("mind-convert-to-ptir", lambda module: own_functions(module, "native")),
            *fusion_stages(stated(self.isa)),
            Stage("mind-forget-origins", forget_origins),
            *([Stage("mind-plan-native", lambda module: plan_launches(module, stated(self.isa)))] if self.launches else []),
        ]


def plan_launches(module: ModuleOp, host: TargetInfo) -> None:
    """Replace each prepared function of a module by the launches that run; E8001 where a dimension has no size."""
    for func in list(functions(module)):
        if (unsized := dynamic(func)) is not None:
            message = f"@{func.sym_name.data} has no launches: {unsized} has a dimension without a size"
            raise error("E8001", message, name="?", extents=()).at(func, func.name)
        replace_body(func, planned(func, host).func)


@dataclass(frozen=True)
class NativeTarget(Target):
    """
    Print LLVM IR for an instruction set.

    `isa` is `avx512vnni`, `avx512`, `avx2vnni`, `avx2`, `baseline`, `sve256`, `neondot` or `neon`; by default that of this
    machine. With `timed=true` the entry reads a clock around each kernel, as the code that `mind-run --profile` runs does.
    """

    name = "mind-native"

    isa: str | None = None
    timed: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_module(module, self.isa, timed=self.timed))
