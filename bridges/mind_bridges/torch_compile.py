"""
The backend `mind` of `torch.compile`: each graph forwards by our program of it, backwards by our reverse mode.

Dynamo hands over graphs whose parameters are inputs. Each is exported again, which makes it functional and says what it writes
to; a program of PTIR computes it, in an `autograd.Function` whose backward runs our derivative of that program. A graph with ops
that have no form in PTIR is left to torch.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from mind_dialect.errors import MindError, brief, error
from mind_dialect.program import input_names
from mind_passes.autodiff import GradientOptions, differentiate
from mind_runtime import Program, compile
from mind_runtime.compilation import find_function
from mind_translate.fx import DTYPE_NAMES, Exported

from .torch import as_array, exported, read_program, require

_OF_TORCH = {ours: theirs for theirs, ours in DTYPE_NAMES.items()}


class CompiledGraph:
    """
    A functional graph as a program. Arguments are the graph's; results the user's, after arguments that it writes to are written.

    `moving` are the numbers of the arguments that need a derivative.
    """

    def __init__(self, found: Exported, moving: Sequence[int], target: str):
        self.exported, self.moving, self.target = found, tuple(moving), target
        self.program = compile(found.module, "main", target)
        names = input_names(find_function(found.module, "main"))
        self._constants = [as_array(x) for x in found.weights.values()]
        self._written = [names.index(name) - len(self._constants) for name in found.mutated]
        self._users = len(self.program.outputs) - len(found.mutated)
        self.differentiable = [i for i, spec in enumerate(self.program.outputs[: self._users]) if spec.dtype.is_float]
        """The numbers of the results that take cotangents."""

    @cached_property
    def backward(self) -> Program:
        """The adjoints of what moves, from the arguments and cotangents. Raises E5001 for an op without a derivative."""
        wrt = tuple(len(self._constants) + i for i in self.moving)
        options = GradientOptions(wrt, tuple(self.differentiable), seed="cotangent", keep_primal=False)
        return compile(differentiate(self.exported.module, "main", options).module, "main_grad", self.target)

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The user's results; what the graph writes to is written."""
        torch = require()
        results = self._run(self.program, arguments)
        with torch.no_grad():
            for i, value in zip(self._written, results[self._users :], strict=True):
                (arguments[i] if i >= 0 else list(self.exported.weights.values())[i]).copy_(value)
        return tuple(results[: self._users])

    def pull(self, arguments: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Any | None, ...]:
        """The adjoint of each argument, None for those that need none."""
        adjoints = self._run(self.backward, [*arguments, *(cotangents[i] for i in self.differentiable)])
        found: dict[int, Any] = dict(zip(self.moving, adjoints, strict=True))
        return tuple(found.get(i) for i in range(len(arguments)))

    def kept(self, arguments: Sequence[Any]) -> list[Any]:
        """The arguments as they are before the run, for the derivative: those that are written to as copies."""
        return [x.clone() if i in self._written else x for i, x in enumerate(arguments)]

    def _run(self, program: Program, arguments: Sequence[Any]) -> list[Any]:
        """Run on tensors; results are written to the memory of new ones."""
        torch = require()
        results = [torch.empty(spec.shape, dtype=getattr(torch, _OF_TORCH[spec.dtype.name])) for spec in program.outputs]
        if results:
            out = [as_array(x) for x in results]
            program(*self._constants, *map(as_array, arguments), out=out[0] if len(out) == 1 else tuple(out))
        return results


def compiled(graph: Any, inputs: Sequence[Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a callable for a graph of dynamo: our programs, or the graph itself, with one warning that says why."""
    native = "native" if importlib.util.find_spec("llvmlite") is not None else "numpy"
    known = ("target",)
    for name in options:
        if name not in known:
            raise error("E7001", f"option {brief(name)} of the backend 'mind', expected one of {list(known)}", option=name)
    try:
        found = _compiled(graph, inputs, str(options.get("target", native)))
    except MindError as e:
        if e.code == "E6002":  # the target is not there
            raise
        warnings.warn(f"the backend 'mind' leaves a graph to PyTorch: {e}", UserWarning, stacklevel=2)
        return graph.forward
    return _function(found).apply if found.moving else lambda *arguments: found.run(arguments)


def _compiled(graph: Any, inputs: Sequence[Any], target: str) -> CompiledGraph:
    torch = require()
    for x in inputs:
        if not isinstance(x, torch.Tensor):
            raise error("E7001", "a size that is data; torch.compile(..., dynamic=False) gives static ones", option="dynamic")
        if x.device.type != "cpu":
            raise error("E7001", f"a tensor on {x.device}, expected the CPU", option="device")
    moving = [i for i, x in enumerate(inputs) if x.requires_grad]
    found = read_program(exported(graph, tuple(inputs), {}, None))
    if any(x.requires_grad for x in found.weights.values()) or any(inputs[i].is_complex() for i in moving):
        raise error("E7001", "parameters that are no inputs of the graph, or complex ones", option="model")
    made = CompiledGraph(found, moving, target)
    if moving and made.differentiable:
        _ = made.backward
    return made


def _function(graph: CompiledGraph) -> Any:
    """The `autograd.Function` of a graph."""
    torch = require()

    def forward(ctx: Any, *arguments: Any) -> Any:
        ctx.save_for_backward(*graph.kept(arguments))
        results = graph.run(arguments)
        ctx.mark_non_differentiable(*(y for i, y in enumerate(results) if i not in graph.differentiable))
        return results

    def backward(ctx: Any, *cotangents: Any) -> Any:
        return graph.pull(ctx.saved_tensors, cotangents)

    once = torch.autograd.function.once_differentiable(backward)
    methods = {"forward": staticmethod(forward), "backward": staticmethod(once)}
    return type("MindGraph", (torch.autograd.Function,), methods)
