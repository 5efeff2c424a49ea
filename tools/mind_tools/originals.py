"""
The model that a program was read from, run by the system that it was written for: the executor `original` of mind-check.

An ONNX model runs by ONNX Runtime, or by the reference evaluator of the package `onnx` where that is absent; a `.pt2` by
PyTorch; an artifact of `jax.export` by JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect.errors import error
from mind_dialect.program import input_names
from mind_translate.onnx.model import package

if TYPE_CHECKING:
    from mind_runtime.agreement.gradients import Adjoints
    from mind_runtime.translated import Run

NAME = "original"


@dataclass(frozen=True)
class Original:
    """
    A model and how it runs.

    `run` returns what runs the results of a function: the one that was read, or a cut of it, for which it may raise E8008.
    """

    system: str
    run: Callable[[FuncOp], Run]
    comparable: Callable[[Operation], bool] | None = None
    """Predicate of the ops whose results are values of the model; None if the model runs as a whole only."""
    weights: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The arrays of inputs that the model holds itself."""
    adjoints: Adjoints | None = None
    """Its own gradients, if it has any."""
    differentiable: Container[int] | None = None
    """The positions of the results that these are of; None for all."""
    no_adjoints: str = ""
    """The reason why it has no gradients, if it has none."""

    def executor(self) -> Any:
        """Return the executor that runs the model."""
        from mind_runtime.executors import Executor
        from mind_runtime.translated import TranslatedProgram

        run = self.run

        class OriginalProgram(TranslatedProgram):
            """The model as a program."""

            target = NAME

            def build(self, func: FuncOp) -> Run:
                return run(self.function)

        return Executor(OriginalProgram.of, checks=False)


def _is_same(func: FuncOp, whole: FuncOp) -> bool:
    """Return whether a function is the whole one and not a part of it."""
    counts = [sum(1 for _ in f.walk()) for f in (func, whole)]
    return counts[0] == counts[1] and func.function_type == whole.function_type


def original_onnx(data: bytes, path: str, whole: FuncOp) -> Original:
    """Return an ONNX model; external data lies next to the file `path`. `whole` is the function that was read from it."""
    from mind_translate.onnx.names import hint_of

    outputs = _onnx_outputs(data)
    values: dict[str, list[str]] = {}
    for name in outputs[1]:
        values.setdefault(hint_of(name) or "", []).append(name)
    named = {hint: names[0] for hint, names in values.items() if hint and len(names) == 1}

    def run(func: FuncOp) -> Run:
        wanted = outputs[0]
        if not _is_same(func, whole):
            returned = func.body.block.last_op
            hints = [value.name_hint or "" for value in returned.operands] if returned is not None else []
            if any(hint not in named for hint in hints):
                raise error("E8008", "the original has no value of this name", target=NAME, diagnostics=[])
            wanted = [named[hint] for hint in hints]
        evaluate = _onnx_runner(data, path, wanted)
        names = input_names(func)
        return lambda arguments, seed: evaluate(dict(zip(names, arguments, strict=True)))

    def comparable(op: Operation) -> bool:
        return all(result.name_hint in named for result in op.results)

    system = "ONNX Runtime" if find_spec("onnxruntime") else "the reference evaluator of onnx"
    return Original(system, run, comparable, no_adjoints="an ONNX model holds no derivative")


def _onnx_outputs(data: bytes) -> tuple[list[str], list[str]]:
    """Return the names of a model's results, and of all values that its nodes give."""
    graph = package().load_model_from_string(data).graph
    return [o.name for o in graph.output], [name for node in graph.node for name in node.output if name]


def _onnx_runner(data: bytes, path: str, wanted: Sequence[str]) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    """Return what evaluates some values of a model."""
    onnx = package()
    model = onnx.load_model_from_string(data)
    del model.graph.output[:]
    model.graph.output.extend([onnx.ValueInfoProto(name=name) for name in wanted])
    if (folder := Path(path).parent).is_dir():
        onnx.load_external_data_for_model(model, str(folder))
    if find_spec("onnxruntime") is None:
        reference = import_module("onnx.reference").ReferenceEvaluator(model)
        return lambda feeds: [np.asarray(x) for x in reference.run(None, dict(feeds))]
    from mind_runtime.on_onnxruntime import session

    made = session(model.SerializeToString(), NAME)
    taken = {i.name for i in made.get_inputs()}
    return lambda feeds: made.run(list(wanted), {name: a for name, a in feeds.items() if name in taken})


def original_torch(path: str) -> tuple[ModuleOp, Original]:
    """Return the program of a `.pt2` file, with weights as inputs, and the original; raises as `mind_bridges.torch.load`."""
    from mind_bridges.torch import from_torch
    from mind_bridges.torch_export import open_exported
    from mind_bridges.torch_original import TorchOriginal

    program = open_exported(path)
    module, weights = from_torch(program)
    original = TorchOriginal(program)
    (whole,) = [op for op in module.walk() if isinstance(op, FuncOp)]

    run = _whole_only(whole, original.results)
    return module, Original("PyTorch", run, None, weights, original.adjoints, original.differentiable)


def original_jax(path: str) -> tuple[ModuleOp, Original]:
    """
    Return the program of an artifact of `jax.export`, and the original.

    E6002 without JAX, E7002 for a file that is no artifact, and what `read_stablehlo` raises.
    """
    from mind_bridges.jax import load
    from mind_bridges.jax_original import NO_DERIVATIVE, JaxOriginal
    from mind_runtime.compilation import find_function

    original = JaxOriginal(load(path))
    module = original.module(path)
    if original.device is None:
        reason = f"the artifact is for {', '.join(original.exported.platforms)}, of which JAX has no device here"

        def refuse(func: FuncOp) -> Run:
            raise error("E6003", reason, backend=NAME)

        return module, Original("JAX", refuse, no_adjoints=reason)
    run = _whole_only(find_function(module, None), original.results)
    if not original.has_adjoints:
        return module, Original("JAX", run, no_adjoints=NO_DERIVATIVE)
    return module, Original("JAX", run, adjoints=original.adjoints)


def _whole_only(whole: FuncOp, results: Callable[[Sequence[Any]], Sequence[Any]]) -> Callable[[FuncOp], Run]:
    """Return what runs a model that has no cuts; E8008 for one."""

    def run(func: FuncOp) -> Run:
        if not _is_same(func, whole):
            raise error("E8008", "the original runs as a whole only", target=NAME, diagnostics=[])
        return lambda arguments, seed: results(arguments)

    return run
