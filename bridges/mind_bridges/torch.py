"""
PyTorch: its modules as modules of PTIR, and a backend of `torch.compile`.

    module, weights = from_torch(model, x)       # any nn.Module, or an ExportedProgram
    module, weights = load("model.pt2")
    step = torch.compile(model, backend="mind")  # forwards and backwards by our programs

The extra `torch` installs it; without it every function here is E6002.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import error
from mind_dialect.ptir.types import is_dim_name
from mind_passes.shape.specialize import rename_dims
from mind_runtime.collector import collector_paused
from mind_translate.fx.graph import size_of

from .torch_compile import compiled
from .torch_export import as_array, exported, open_exported, read_program, require


class Imported(NamedTuple):
    """A module and the arrays of its weights by the names of their inputs, which share memory with torch's."""

    module: ModuleOp
    weights: dict[str, np.ndarray]


def from_torch(model: Any, *args: Any, dynamic: Any = None, **kwargs: Any) -> Imported:
    """
    The PTIR module of an `nn.Module` called with `args` and `kwargs`, or of an `ExportedProgram`, and its weights.

    The entry is `@main`. Its inputs are the parameters, buffers and constants, under their names in the model and marked
    `ptir.parameter`, and then the tensors among the arguments; its results are the model's, then the new values of buffers that
    it writes to, such as running statistics in training mode. `dynamic` is `dynamic_shapes` of `torch.export`: dimensions that
    are a `torch.export.Dim` keep their names, those derived from one are expressions, and ranges are declared (`mind.dims`).
    Of an exported program, names are torch's symbols. What depends on `model.training` is exported as it is set.

    Raises E8008 with all that PTIR cannot express, each with its first line in the model; E7001 for a model that torch cannot
    export, with torch's reason, and for arguments beside an exported program. Warns of every `autograd.Function` that the model
    calls: torch does not export its backward.
    """
    torch = require()
    with collector_paused():  # torch keeps most of what it allocates, and each collection walks all of its modules
        if isinstance(model, torch.export.ExportedProgram):
            if args or kwargs or dynamic is not None:
                raise error("E7001", "an exported program has its arguments already, expected none", option="args")
            program = model
        else:
            with _custom_functions_named(model):
                program = exported(model, args, kwargs, dynamic)
        found = read_program(program)
        if dynamic is not None:
            rename_dims(found.module, _dim_names(program, model, args, kwargs, dynamic))
        return Imported(found.module, {name: as_array(tensor, name) for name, tensor in found.weights.items()})


def _dim_names(program: Any, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], dynamic: Any) -> dict[str, str]:
    """The names that `dynamic` gives to the symbols of a program; none where torch does not say which is which."""
    torch = require()
    walk, asked = torch.export.dynamic_shapes, list[Any]()

    def ask(_path: Any, _leaf: Any, spec: Any = None) -> None:
        asked.append(spec)

    try:
        given = walk._combine_args(model, args, dict(kwargs))
        tree = type(dynamic)(given.values()) if type(dynamic) in (tuple, list) else given
        walk._tree_map_with_path(ask, tree, dynamic)
    except Exception:  # which are functions of torch's own, and may change
        return {}
    placeholders = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
    inputs = program.graph_signature.user_inputs
    found: dict[str, str] = {}
    for name, spec in zip(inputs, asked, strict=False) if len(inputs) == len(asked) else ():
        sizes: Any = getattr(placeholders.get(name) if isinstance(name, str) else None, "shape", ())
        dims: list[tuple[Any, Any]] = list(spec.items() if isinstance(spec, dict) else enumerate(spec or ()))  # pyright: ignore[reportUnknownArgumentType]
        for axis, dim in dims:
            if type(dim) is torch.export.Dim and is_dim_name(dim.__name__) and axis < len(sizes):
                found.setdefault(str(size_of(sizes[axis])), dim.__name__)
    symbols = {str(e) for e in program.range_constraints} - found.keys()
    return {symbol: name for symbol, name in found.items() if is_dim_name(symbol) and name not in symbols}


def load(path: Path | str) -> Imported:
    """The module and weights of a file of `torch.export.save` (`.pt2`); E7002 for a file that is none. Raises as `from_torch`."""
    return from_torch(open_exported(path))


@contextmanager
def _custom_functions_named(model: Any) -> Generator[None]:
    """Warn of functions with a backward of their own that are called meanwhile: torch exports what they compute, without it."""
    base = require().autograd.Function
    plain = base.__dict__["apply"]
    called: dict[str, None] = {}

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if not str(cls.__module__).startswith("torch._higher_order_ops."):  # of branches and loops, which are exported
            called[cls.__name__] = None
        return plain.__func__(cls, *args, **kwargs)

    base.apply = classmethod(apply)
    try:
        yield
    finally:
        base.apply = plain
    if called:
        message = f"{type(model).__name__} calls {', '.join(called)} (autograd.Function), whose backward torch.export drops"
        warnings.warn(f"{message}: gradients of the module will be those of the ops in forward", UserWarning, stacklevel=4)


def backend(graph: Any, inputs: Any, *, options: Mapping[str, Any] | None = None) -> Any:
    """
    The backend of `torch.compile(model, backend="mind")`, which finds it by its entry point.

    Graphs run by our programs, forwards and backwards, on the CPU; `options` may hold `target`, by default `native` where it is
    installed. A graph with ops that have no form in PTIR is left to torch, with one warning that lists them all.
    """
    return compiled(graph, inputs, dict(options or {}))
