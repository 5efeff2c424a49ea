"""
`torch.export`: modules of torch as exported programs, these as modules of PTIR, and tensors as arrays.

Every function here is E6002 where torch is not installed.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mind_dialect.errors import MindError, brief, error
from mind_dialect.locations import shown_location
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_translate.fx import DECOMPOSED, KEPT, KEPT_STATIC, dtype_of, read_exported
from mind_translate.fx.graph import Exported, key_of
from mind_translate.fx.locations import location_of
from mind_translate.unsupported import Refused, Unsupported

from .torch_gradients import stopped_gradients
from .torch_patches import exportable

LEAST = (2, 9)
"""The oldest version of torch that is supported; the extra says the same."""


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


def exported(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], dynamic: Any) -> Any:
    """Return the export of a module by torch; E2001 for what is none, E7001 with torch's reason where it cannot."""
    torch = require()
    if not isinstance(model, torch.nn.Module):
        message = f"expected an nn.Module or an ExportedProgram, found {brief(type(model).__name__)}"
        raise error("E2001", message, expected="nn.Module", actual=type(model).__name__)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with exportable(torch):
                return _by_torch(torch, model, args, dict(kwargs) or None, dynamic)
    except Exception as e:
        message = f"torch.export cannot export {type(model).__name__}: {brief(e)}"
        raise error("E7001", message, option="model") from None


def _by_torch(torch: Any, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None, dynamic: Any) -> Any:
    """Return torch's export; some uses of `vmap` need the strict form, which reads the source."""
    try:
        return torch.export.export(model, args, kwargs, dynamic_shapes=dynamic)
    except Exception as e:
        if _UNTRACED in str(e):
            raise ValueError(f"{_CAPTURED} ({e})") from None
        if "vmap" not in str(e):
            raise
        try:
            found = torch.export.export(model, args, kwargs, dynamic_shapes=dynamic, strict=True)
        except Exception:
            raise e from None
        if any(hasattr(constant, "fake_mode") for constant in found.constants.values()):
            raise ValueError(f"{_CAPTURED} ({e})") from None
        return found


_UNTRACED = "fake tensor in the exported program constant's list"
_CAPTURED = "a tensor that it cannot trace: pass what a function of vmap captures by in_dims=None, use .detach() for .data"


def open_exported(path: Path | str) -> Any:
    """The `ExportedProgram` of a file of `torch.export.save` (`.pt2`); E7002 for a file that is none."""
    torch = require()
    try:
        return torch.export.load(str(path))
    except OSError as e:
        raise error("E7002", f"{path}: {e.strerror or e}", path=str(path)) from None
    except Exception as e:
        raise error("E7002", f"{path} is not an exported program that this torch can read: {brief(e)}", path=str(path)) from None


def read_program(program: Any) -> Exported:
    """The module of an exported program, which torch decomposes first. Raises E8008; E7001 where torch cannot."""
    torch = require()
    _refuse_random_layers(program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with stopped_gradients(torch, program):
                decomposed = program.run_decompositions(_decompositions())
        except MindError:
            raise
        except Exception as e:
            raise error("E7001", f"torch cannot decompose the program: {brief(e)}", option="model") from None
    return read_exported(decomposed, torch.result_type)


_DROPOUT = Refused(
    "dropout between layers in training mode, whose random numbers no other library reproduces", "use model.eval()"
)


def _refuse_random_layers(program: Any) -> None:
    """Raise E8008 for recurrent networks with dropout in training, which torch's decomposition leaves out."""
    found = Unsupported()
    nodes = [n for part in program.graph_module.modules() if hasattr(part, "graph") for n in part.graph.nodes]
    for node in nodes:
        schema = getattr(node.target, "_schema", None)
        if node.op != "call_function" or schema is None or schema.name not in _RECURRENT:
            continue
        given = {a.name: node.args[i] if i < len(node.args) else node.kwargs.get(a.name) for i, a in enumerate(schema.arguments)}
        if given["train"] and given["dropout"] and given["num_layers"] > 1:
            found.add(key_of(node.target), _DROPOUT, place=shown_location(location_of(node)))
    found.raise_if_any()


_RECURRENT = frozenset(f"aten::{name}" for name in ("gru", "lstm", "rnn_relu", "rnn_tanh"))


def _decompositions() -> Any:
    """Return the ops that torch decomposes: all that is not core ATen, but for what has a row here, and some that is."""
    torch = require()
    table = torch.export.default_decompositions()
    for name, _, overload in (key.partition(".") for key in KEPT):
        packet = getattr(torch.ops.aten, name)
        for kept in [overload] if overload else packet.overloads():
            table.pop(getattr(packet, kept), None)
    more = [getattr(getattr(torch.ops.aten, name), overload) for name, overload in (key.split(".") for key in DECOMPOSED)]
    table.update(torch._decomp.get_decompositions(more))
    static = [getattr(getattr(torch.ops.aten, name), overload) for name, overload in (key.split(".") for key in KEPT_STATIC)]
    table.update({op: _unless_static(f) for op, f in torch._decomp.get_decompositions(static).items()})
    # As registered it computes the places of a grid once for each channel, so that one kernel of torch's compiler does it all.
    sampler = partial(torch._decomp.decompositions._grid_sampler_2d, _expand_grid=False)
    table[torch.ops.aten.grid_sampler_2d.default] = _unless_static(sampler)
    return table


def _unless_static(decomposition: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decomposition that leaves calls whole all of whose sizes are known."""
    torch = require()

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        leaves = torch.utils._pytree.tree_leaves((args, kwargs))
        sizes = [n for v in leaves for n in (v.shape if isinstance(v, torch.Tensor) else [v])]
        return decomposition(*args, **kwargs) if any(isinstance(n, torch.SymInt) for n in sizes) else NotImplemented

    return decomposed


def shared_array(tensor: Any) -> np.ndarray:
    """Return `as_array` of a tensor, without its checks where torch itself refuses what they are for: each call pays for them."""
    try:
        return tensor.detach().numpy() if tensor.is_contiguous() else as_array(tensor)
    except (RuntimeError, TypeError):  # no array of torch's: bf16, lazy conjugates, other devices and layouts
        return as_array(tensor)


def as_array(tensor: Any, what: str = "a tensor") -> np.ndarray:
    """
    The elements of a tensor of torch as a NumPy array, which shares its memory where it is a contiguous one of the CPU.

    bf16 and fp8 need ml_dtypes. Raises E2005 for a dtype that PTIR does not have, E2001 for a tensor that has only a type.
    """
    torch = require()
    try:
        dtype = array_dtype(dtype_of(tensor.dtype).name)
    except Refused as refused:
        raise error("E2005", f"{what}: {refused}", dtype=str(tensor.dtype), supported=["the dtypes of PTIR"]) from None
    if str(tensor.layout) != "torch.strided":
        raise error("E2005", f"{what} is sparse, expected a dense one", dtype=str(tensor.layout), supported=["torch.strided"])
    if tensor.is_meta or hasattr(tensor, "fake_mode"):
        message = f"{what} has a type but no elements, expected a tensor in memory"
        raise error("E2001", message, expected="a tensor in memory", actual=type(tensor).__name__)
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    plain = torch.zeros_like(plain) if torch._is_zerotensor(plain) else plain
    if dtype.kind == "V" or dtype.name.startswith(("bfloat", "float8")):
        bits = plain.view(torch.uint16 if dtype.itemsize == 2 else torch.uint8)
        return bits.numpy().view(dtype)
    return plain.numpy()
