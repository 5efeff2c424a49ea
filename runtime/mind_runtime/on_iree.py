"""The target `iree`: a function as StableHLO text, which IREE compiles for the CPU of this machine and runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp

from mind_lowering.ptir_to_stablehlo import ExportOptions, stablehlo_program

from .translated import Run, TranslatedProgram, refused, required

FLAGS = (
    *("--iree-llvmcpu-target-cpu=host", "--iree-input-demote-f64-to-f32=false", "--iree-input-demote-i64-to-i32=false"),
    "--iree-opt-strip-assertions=false",
)


def require() -> tuple[Any, Any]:
    """Return IREE's compiler and its runtime; E6002 where one is not installed."""
    install = "IREE: pip install iree-base-compiler iree-base-runtime"
    names = ("iree.compiler.tools", "iree.runtime")
    return required("iree", names[0], install=install), required("iree", names[1], install=install)


class IreeProgram(TranslatedProgram):
    """A function that IREE compiles and runs."""

    target = "iree"

    def build(self, func: FuncOp) -> Run:
        """Return a call of the compiled module; E8008 for what has no form in StableHLO, E7004 for what IREE does not take."""
        compiler, runtime = require()
        program = stablehlo_program(func, ExportOptions(), shardings=False)
        try:
            data = compiler.compile_str(program.text, target_backends=["llvm-cpu"], input_type="stablehlo", extra_args=FLAGS)
        except Exception as e:
            raise refused("iree", e) from None
        main = runtime.load_vm_flatbuffer(data, driver="local-sync")["main"]

        def run(arguments: Sequence[Any], seed: int) -> Sequence[Any]:
            words = [np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32)] if program.takes_seed else []
            found: Any = main(*arguments, *words)
            return [x.to_host() for x in (found if type(found) in (tuple, list) else (found,))]

        return run
