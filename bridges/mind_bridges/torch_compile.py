"""
The backend `mind` of `torch.compile`: each graph forwards by our program of it, backwards by our reverse mode.

Dynamo hands over graphs whose parameters are inputs. Each is exported again, which makes it functional and says what it writes
to; a program of PTIR computes it. Where gradients are wanted, an `autograd.Function` runs our derivative of that program in two
parts: the forward part also returns residuals, from which the backward part computes the adjoints. A graph with ops that have no
form in PTIR is left to torch. Results that are views of arguments or of each other are views again (`torch_views`).
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mind_dialect.errors import MindError, brief, error
from mind_dialect.program import input_names
from mind_dialect.ptir.types import read_type
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.split_gradient import split_gradient
from mind_runtime import Program, compile
from mind_runtime.compilation import find_function
from mind_translate.fx import DTYPE_NAMES, Exported

from .torch_export import exported, read_program, require, shared_array
from .torch_views import ResultView, restored, shared_results

_OF_TORCH = {ours: theirs for theirs, ours in DTYPE_NAMES.items()}


class GradientFlows(NamedTuple):
    """The ends of gradients in a graph: numbers of arguments that get one, and of results that have one."""

    arguments: tuple[int, ...]
    results: tuple[int, ...]


class Flows(NamedTuple):
    """Ends of the gradients of a graph, and its results that are views by their number."""

    gradients: GradientFlows
    views: dict[int, ResultView]


class CompiledGraph:
    """
    A functional graph as a program. Arguments are the graph's; results the user's, after arguments that it writes to are written.

    `flows` says which arguments need a derivative, which results have one, and which are views.
    """

    def __init__(self, found: Exported, flows: Flows, target: str):
        self.exported, self.target = found, target
        gradients, self.views = flows
        func = find_function(found.module, "main")
        names, results = input_names(func), func.function_type.outputs
        self._constants = list(found.weights.values())
        self._written = [names.index(name) - len(self._constants) for name in found.mutated]
        self._users = len(results) - len(found.mutated)
        self.differentiable = [i for i in gradients.results if read_type(results.data[i]).dtype.is_float]
        """The numbers of the results that take cotangents."""
        self.moving = gradients.arguments if self.differentiable else ()
        self.saved: tuple[int, ...] = ()
        """The inputs of the backward part before the cotangents: positions in constants, arguments and results of the program."""
        if self.moving:
            self.program, self.backward = self._parts()
        else:
            self.program = compile(found.module, "main", target)
        self._results = _types(self.program)
        self._adjoints = _types(self.backward) if self.moving else []

    def _parts(self) -> tuple[Program, Program]:
        """Return the program with residuals as further results, and that of the adjoints; E5001 for an op without one."""
        wrt = tuple(len(self._constants) + i for i in self.moving)
        options = GradientOptions(wrt, tuple(self.differentiable), seed="cotangent")
        gradient = differentiate(self.exported.module, "main", options)
        parts = split_gradient(gradient.module, gradient.function)
        self.saved = parts.saved
        forward, backward = (compile(gradient.module, f.sym_name.data, self.target) for f in (parts.forward, parts.backward))
        return forward, backward

    def run(self, arguments: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
        """The user's results, and the tensors that the backward part needs; what the graph writes to is written."""
        inputs = [*self._constants, *arguments]
        written = {i + len(self._constants) for i in self._written}
        before = {i: inputs[i].clone() if i in written else inputs[i] for i in self.saved if i < len(inputs)}
        results = _run(self.program, self._results, inputs)
        if written:
            with require().no_grad():
                for i, value in zip(self._written, results[self._users :], strict=False):
                    inputs[i + len(self._constants)].copy_(value)
        return tuple(results[: self._users]), [before[i] if i in before else results[i - len(inputs)] for i in self.saved]

    def results(self, *arguments: Any) -> tuple[Any, ...]:
        """The user's results alone."""
        return self.run(arguments)[0]

    def pull(self, saved: Sequence[Any], cotangents: Sequence[Any], count: int) -> tuple[Any | None, ...]:
        """The adjoint of each of so many arguments, None for those that need none."""
        adjoints = _run(self.backward, self._adjoints, [*saved, *(cotangents[i] for i in self.differentiable)])
        found: dict[int, Any] = dict(zip(self.moving, adjoints, strict=True))
        return tuple(found.get(i) for i in range(count))


def _types(program: Program) -> list[tuple[Any, Any]]:
    """Return the shape and torch's dtype of each result of a program."""
    torch = require()
    return [(spec.shape, getattr(torch, _OF_TORCH[spec.dtype.name])) for spec in program.outputs]


def _run(program: Program, types: Sequence[tuple[Any, Any]], inputs: Sequence[Any]) -> list[Any]:
    """Run a program on tensors; results are written to the memory of new ones."""
    empty = require().empty
    results = [empty(shape, dtype=dtype) for shape, dtype in types]
    if results:
        out = [shared_array(x) for x in results]
        program(*map(shared_array, inputs), out=out[0] if len(out) == 1 else tuple(out))
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
    return _with_views(_function(found).apply if found.moving else found.results, found.views)


def _with_views(run: Callable[..., tuple[Any, ...]], views: Mapping[int, ResultView]) -> Callable[..., tuple[Any, ...]]:
    """Return a callable whose results are views where PyTorch's are."""

    def results(*arguments: Any) -> tuple[Any, ...]:
        return restored(views, run(*arguments), arguments)

    return results if views else run


OWN_DERIVATIVES = {
    "autograd_function_apply": "an autograd.Function, whose backward",
    "register_hook": "Tensor.register_hook, whose hook",
}
"""The higher-order ops of dynamo that hold derivatives of the user's own, which torch.export drops."""


def _check_derivatives(graph: Any) -> None:
    """E7001 for a graph with derivatives of the user's own: exporting it again keeps the values only."""
    found = [str(node.target) for part in graph.modules() for node in getattr(getattr(part, "graph", None), "nodes", ())]
    named = [what for name, what in OWN_DERIVATIVES.items() if name in found]
    if named:
        raise error("E7001", f"{' and '.join(named)} torch.export drops; PyTorch itself runs it", option="model")


def _flows(graph: Any, inputs: Sequence[Any], differentiable: bool) -> Flows:
    """
    Return where gradients go, and which results are views, which torch says of a run without data.

    What is detached has no gradient, nor what only that reads. Autograd itself differentiates views. E7001 where an argument gets
    a gradient by being written to: the caller's tensor would not have it.
    """
    torch = require()
    with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = [mode.from_tensor(x.detach()).requires_grad_(differentiable and x.requires_grad) for x in inputs]
        leaves = torch.utils._pytree.tree_leaves(graph(*(x.view_as(x) if x.requires_grad else x for x in given)))
        results = [y for y in leaves if isinstance(y, torch.Tensor)]
        if differentiable and any(x.requires_grad and not old.requires_grad for x, old in zip(given, inputs, strict=True)):
            raise error("E7001", "an argument that is written to with values that have a gradient", option="model")
        views = shared_results(given, results)
        moved = [i for i, y in enumerate(results) if y.requires_grad and (i not in views or views[i].holds(i))]
        wanted = [i for i, x in enumerate(given) if x.requires_grad]
        if not moved or not wanted:
            return Flows(GradientFlows((), ()), views)
        ends = [results[i] for i in moved]
        seeds = [torch.ones_like(y) for y in ends]
        found = torch.autograd.grad(ends, [given[i] for i in wanted], seeds, allow_unused=True)
    arguments = tuple(i for i, g in zip(wanted, found, strict=True) if g is not None)
    return Flows(GradientFlows(arguments, tuple(moved)), views)


def _compiled(graph: Any, inputs: Sequence[Any], target: str) -> CompiledGraph:
    torch = require()
    for x in inputs:
        if not isinstance(x, torch.Tensor):
            raise error("E7001", "a size that is data; torch.compile(..., dynamic=False) gives static ones", option="dynamic")
        if x.device.type != "cpu":
            raise error("E7001", f"a tensor on {x.device}, expected the CPU", option="device")
    moving = [i for i, x in enumerate(inputs) if x.requires_grad and torch.is_grad_enabled()]
    if moving:
        _check_derivatives(graph)
    found = read_program(exported(graph, tuple(inputs), {}, None))
    if any(isinstance(x, torch._subclasses.FakeTensor) for x in found.weights.values()):
        raise error("E7001", "a tensor that torch.export keeps without its elements, as it does for x.data", option="model")
    if any(x.requires_grad for x in found.weights.values()) or any(inputs[i].is_complex() for i in moving):
        raise error("E7001", "parameters that are not inputs of the graph, or complex ones", option="model")
    _check_memory(found, inputs)
    return CompiledGraph(found, _flows(graph, inputs, bool(moving)), target)


def _check_memory(found: Exported, inputs: Sequence[Any]) -> None:
    """E7001 for an argument that is written to and shares memory with another, which would read the old values."""
    names = input_names(find_function(found.module, "main"))[len(found.weights) :]
    memories = [x.untyped_storage()._cdata for x in inputs]
    if any(memories.count(memory) > 1 for name, memory in zip(names, memories, strict=True) if name in found.mutated):
        raise error("E7001", "an argument that is written to and shares memory with another argument", option="model")


def _function(graph: CompiledGraph) -> Any:
    """The `autograd.Function` of a graph."""
    torch = require()

    def forward(ctx: Any, *arguments: Any) -> Any:
        results, saved = graph.run(arguments)
        ctx.save_for_backward(*saved)
        ctx.mark_non_differentiable(*(y for i, y in enumerate(results) if i not in graph.differentiable))
        return results

    def backward(ctx: Any, *cotangents: Any) -> Any:
        return graph.pull(ctx.saved_tensors, cotangents, len(ctx.needs_input_grad))

    once = torch.autograd.function.once_differentiable(backward)
    methods = {"forward": staticmethod(forward), "backward": staticmethod(once)}
    return type("MindGraph", (torch.autograd.Function,), methods)
