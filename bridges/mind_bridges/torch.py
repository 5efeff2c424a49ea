"""
PyTorch: its modules as modules of PTIR, and a backend of `torch.compile`.

    module, weights = from_torch(model, x)       # any nn.Module, or an ExportedProgram
    module, weights = load("model.pt2")
    step = torch.compile(model, backend="mind")  # forwards and backwards by our programs

The extra `torch` installs it; without it every function here is E6002.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import MindError, brief, error
from mind_dialect.ptir.types import is_dim_name
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_passes.shape.specialize import rename_dims
from mind_translate.fx import DECOMPOSED, KEPT, dtype_of, read_exported
from mind_translate.fx.graph import Exported, size_of
from mind_translate.unsupported import Refused

from .torch_replaced import replacing

LEAST = (2, 9)
"""The oldest version of torch that is supported; the extra says the same."""


class Imported(NamedTuple):
    """A module and the arrays of its weights by the names of their inputs, which share memory with torch's."""

    module: ModuleOp
    weights: dict[str, np.ndarray]


def require() -> Any:
    """The module `torch`; E6002 without it, or with an older version than the extra asks for."""
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError as e:
        raise _unavailable(f"PyTorch cannot be imported ({brief(e)}): pip install 'mind-dialect[torch]'") from None
    if tuple(int(n) for n in torch.__version__.split(".")[:2]) < LEAST:
        least = ".".join(map(str, LEAST))
        issue = f"PyTorch {torch.__version__} is installed, {least} or newer is needed"
        raise _unavailable(f"{issue}: pip install 'mind-dialect[torch]'")
    return torch


def _unavailable(issue: str) -> MindError:
    return error("E6002", issue, requested="torch", available=[])


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


def open_exported(path: Path | str) -> Any:
    """The `ExportedProgram` of a file of `torch.export.save` (`.pt2`); E7002 for a file that is none."""
    torch = require()
    try:
        return torch.export.load(str(path))
    except OSError as e:
        raise error("E7002", f"{path}: {e.strerror or e}", path=str(path)) from None
    except Exception as e:
        raise error("E7002", f"{path} is not an exported program that this torch can read: {brief(e)}", path=str(path)) from None


def exported(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], dynamic: Any) -> Any:
    """Return the export of a module by torch; E2001 for what is none, E7001 with torch's reason where it cannot."""
    torch = require()
    if not isinstance(model, torch.nn.Module):
        message = f"expected an nn.Module or an ExportedProgram, found {brief(type(model).__name__)}"
        raise error("E2001", message, expected="nn.Module", actual=type(model).__name__)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with replacing(torch):
                return torch.export.export(model, args, dict(kwargs) or None, dynamic_shapes=dynamic)
    except Exception as e:
        message = f"torch.export cannot export {type(model).__name__}: {brief(e)}"
        raise error("E7001", message, option="model") from None


@contextmanager
def _custom_functions_named(model: Any) -> Generator[None]:
    """Warn of functions with a backward of their own that are called meanwhile: torch exports what they compute, without it."""
    base = require().autograd.Function
    plain = base.__dict__["apply"]
    called: dict[str, None] = {}

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
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


def read_program(program: Any) -> Exported:
    """The module of an exported program, which torch decomposes first. Raises E8008; E7001 where torch cannot."""
    torch = require()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with stopped_gradients(program):
                decomposed = program.run_decompositions(_decompositions())
        except Exception as e:
            raise error("E7001", f"torch cannot decompose the program: {brief(e)}", option="model") from None
    return read_exported(decomposed, torch.result_type)


@contextmanager
def stopped_gradients(program: Any) -> Generator[None]:
    """Detach, for a while, what blocks of `torch.no_grad()` give: decomposing the program takes the blocks away."""
    torch = require()
    block, graph, signature = torch.ops.higher_order.wrap_with_set_grad_enabled, program.graph, program.graph_signature
    detached: list[Any] = []
    for node in [n for n in graph.nodes if n.target is block and not n.args[0]]:
        for result in list(node.users):
            with graph.inserting_after(result):
                made = graph.call_function(torch.ops.aten.detach.default, (result,))
            made.meta.update(result.meta)
            result.replace_all_uses_with(made)
            made.args = (result,)  # it was replaced there too
            signature.replace_all_uses(result.name, made.name)
            detached.append(made)
    program.graph_module.recompile()
    try:
        yield
    finally:
        for made in detached:
            made.replace_all_uses_with(made.args[0])
            signature.replace_all_uses(made.name, made.args[0].name)
            graph.erase_node(made)
        program.graph_module.recompile()


def _decompositions() -> Any:
    """Return the ops that torch decomposes: all that is not core ATen, but for what has a row here, and some that is."""
    torch = require()
    table = torch.export.default_decompositions()
    for packet in (getattr(torch.ops.aten, name) for name in KEPT):
        for overload in packet.overloads():
            table.pop(getattr(packet, overload), None)
    more = [getattr(getattr(torch.ops.aten, name), overload) for name, overload in (key.split(".") for key in DECOMPOSED)]
    table.update(torch._decomp.get_decompositions(more))
    return table


def as_array(tensor: Any, what: str = "a tensor") -> np.ndarray:
    """
    The elements of a tensor of torch as a NumPy array, which shares its memory where it is a contiguous one of the CPU.

    bf16 and fp8 need ml_dtypes. Raises E2005 for a dtype that PTIR does not have.
    """
    torch = require()
    try:
        dtype = array_dtype(dtype_of(tensor.dtype).name)
    except Refused as refused:
        raise error("E2005", f"{what}: {refused}", dtype=str(tensor.dtype), supported=["the dtypes of PTIR"]) from None
    if str(tensor.layout) != "torch.strided":
        raise error("E2005", f"{what} is sparse, expected a dense one", dtype=str(tensor.layout), supported=["torch.strided"])
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    plain = torch.zeros_like(plain) if torch._is_zerotensor(plain) else plain
    if dtype.kind == "V" or dtype.name.startswith(("bfloat", "float8")):
        bits = plain.view(torch.uint16 if dtype.itemsize == 2 else torch.uint8)
        return bits.numpy().view(dtype)
    return plain.numpy()


def backend(graph: Any, inputs: Any, *, options: Mapping[str, Any] | None = None) -> Any:
    """
    The backend of `torch.compile(model, backend="mind")`, which finds it by its entry point.

    Graphs run by our programs, forwards and backwards, on the CPU; `options` may hold `target`, by default `native` where it is
    installed. A graph with ops that have no form in PTIR is left to torch, with one warning that lists them all.
    """
    from .torch_compile import compiled

    return compiled(graph, inputs, dict(options or {}))
