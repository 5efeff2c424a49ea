"""A function traced for one signature, and what its passes and its target make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

import mind_runtime
from mind_dialect.errors import MindError, brief
from mind_dialect.program import functions
from mind_lowering.ptir_optimize import optimize
from mind_passes.inline import inline_module

from ..faults import fault
from ..kinds import is_sequence
from ..staging import at_op

Passes = str | Sequence[ModulePass] | None
"""Names of passes as a pipeline, passes as objects, or None for the optimiser."""


def inline_all(module: ModuleOp) -> None:
    """Replace every call by the ops of what it calls, and erase private functions, derivative rules among them, in place."""
    inline_module(module)
    for func in [f for f in functions(module) if f.sym_visibility == StringAttr("private")]:
        func.detach()
        func.erase()


def run_passes(module: ModuleOp, passes: Passes) -> ModuleOp:
    """Run a pipeline on a module, in place: None for the optimiser, names for xDSL's registry, or passes as objects."""
    from xdsl.context import Context
    from xdsl.dialects.builtin import Builtin
    from xdsl.dialects.func import Func
    from xdsl.passes import PassPipeline
    from xdsl.universe import Universe

    import mind_dialect

    if passes is None:
        inline_all(module)
        optimize(module)
        return module
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Func)
    mind_dialect.register(ctx)
    if isinstance(passes, str):
        try:
            pipeline = PassPipeline.parse_spec(Universe.get_multiverse().all_passes, passes)
        except Exception as e:
            known = sorted(Universe.get_multiverse().all_passes)
            raise fault("E7003", f"passes={passes!r}: {str(e).splitlines()[0]}", name=passes, known=known) from None
        pipeline.apply(ctx, module)
    else:
        if not is_sequence(passes) or not all(isinstance(one, ModulePass) for one in passes):
            message = f"passes={brief(passes)}, expected None, names of passes, or a list of passes"
            raise fault("E7001", message, option="passes")
        for one in passes:
            one.apply(ctx, module)
    return module


class Lowered:
    """A function traced for one signature: its stages are `ptir`, `optimized`, `source` and `explain()`."""

    def __init__(self, module: ModuleOp, name: str, passes: Passes, target: str, options: Mapping[str, Any], structures: Any):
        self.ptir = module
        """The module as it was traced."""
        self.name = name
        self.structures = structures
        """The structures of the arguments and of the result."""
        self._passes, self.target, self._options = passes, target, options
        self._optimized: ModuleOp | None = None
        self._program: mind_runtime.Program | None = None

    @property
    def optimized(self) -> ModuleOp:
        """The module after the passes."""
        if self._optimized is None:
            self._optimized = run_passes(self.ptir.clone(), self._passes)
        return self._optimized

    def compile(self) -> mind_runtime.Program:
        """Return the compiled program, which takes one NumPy array per leaf."""
        if self._program is None:
            try:
                self._program = mind_runtime.compile(self.optimized, self.name, self.target, **self._options)
            except MindError as e:
                raise at_op(e) from None
        return self._program

    @property
    def source(self) -> str:
        """The code that the target runs."""
        return self.compile().source

    def explain(self) -> list[str]:
        """Lines that say what runs where."""
        return self.compile().explain()

    def __str__(self) -> str:
        return str(self.ptir)

    def _repr_html_(self) -> str:
        from ..notebook import html

        return html(self.ptir)
