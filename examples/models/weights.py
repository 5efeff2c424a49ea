"""
Weights: what they must be, random ones, and safetensors files.

A file is checked by its header before a tensor is read: every name, shape and dtype. Floats narrower than what is expected
(bf16 and f16 for f32) are widened, which loses nothing; wider ones are refused. Reading needs the extra `models`.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mind_array as ma
from mind_dialect.errors import brief, error
from mind_lowering.ptir_kernels.formats import array_dtype

Weights = dict[str, np.ndarray]
FLOATS = {"f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16"}
"""Floats that weights may have: the contract's names, and those in the files."""
WIDENED = {"f64": ("F32", "F16", "BF16"), "f32": ("F16", "BF16")}
"""What else a file may hold for a dtype."""


class Spec(NamedTuple):
    """What a tensor is: a dtype of the contract and a shape."""

    dtype: str
    shape: tuple[int, ...]


def inputs(specs: Mapping[str, Spec], *, parameter: bool = False) -> dict[str, Any]:
    """Inputs of a program by name, in this order."""
    return OrderedDict((name, ma.spec(spec.shape, spec.dtype, name=name, parameter=parameter)) for name, spec in specs.items())


def parameters(specs: Mapping[str, Spec]) -> dict[str, Any]:
    """Inputs of a program that are weights, by name, in this order."""
    return inputs(specs, parameter=True)


def numpy_dtype(name: str) -> np.dtype:
    """The NumPy dtype of a float of the contract; E2005 for what weights cannot be, a coded error without ml_dtypes for bf16."""
    if name not in FLOATS:
        raise error("E2005", f"weights of {brief(name)}, expected one of {list(FLOATS)}", dtype=name, supported=list(FLOATS))
    return array_dtype(name)


def random_weights(specs: Mapping[str, Spec], seed: int = 0) -> Weights:
    """
    Weights drawn so that activations neither vanish nor explode, the same for the same seed.

    Matrices `[in, out]` have variance 1 / in, filters `[out, in, h, w]` 2 / (in h w), vectors and embeddings 0.01; the mean is 0,
    that of `gamma` is 1.
    """
    rng = np.random.default_rng(seed)
    made: Weights = {}
    for name, (dtype, shape) in specs.items():
        values = rng.standard_normal(shape, dtype=np.float32)
        values *= np.float32(_deviation(name, shape))
        if name.endswith("gamma"):
            values += np.float32(1)
        made[name] = values.astype(numpy_dtype(dtype), copy=False)
    return made


def _deviation(name: str, shape: tuple[int, ...]) -> float:
    if len(shape) == 1 or "embeddings" in name:
        return 0.1
    return math.sqrt(2 / math.prod(shape[1:])) if len(shape) == 4 else math.sqrt(1 / shape[0])


@contextmanager
def opened(path: Path | str):
    """A safetensors file; E7002 for one that is not there, or damaged, E6002 without the package."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        message = "safetensors is not installed: install the extra `models`"
        raise error("E6002", message, requested="safetensors", available=[]) from None
    try:
        file = safe_open(str(path), framework="np")
    except (OSError, SafetensorError) as e:
        raise error("E7002", f"{brief(path)} is no readable safetensors file: {brief(e)}", path=str(path)) from None
    with file as f:
        yield f


def shapes_in(path: Path | str) -> dict[str, tuple[int, ...]]:
    """The name and shape of every tensor of a file, from its header alone."""
    with opened(path) as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}


def load_safetensors(
    path: Path | str,
    specs: Mapping[str, Spec],
    *,
    rename: Callable[[str], str] = lambda name: name,
    ignore: Callable[[str], bool] = lambda name: False,
) -> Weights:
    """
    The tensors of `specs` from a file, in their order.

    `rename` gives the name in the file, `ignore` says which names there are of no use. E7003 for a tensor that is missing or
    that nobody asked for, E3003 for a wrong shape, E2001 for a dtype that does not fit; none is read before all are right.
    """
    with opened(path) as file:
        held = set(file.keys())
        wanted = {name: rename(name) for name in specs}
        _check_names(path, held, set(wanted.values()), ignore)
        for name, spec in specs.items():
            found = file.get_slice(wanted[name])
            _check_tensor(path, wanted[name], spec, tuple(found.get_shape()), found.get_dtype())
        return {name: file.get_tensor(wanted[name]).astype(numpy_dtype(specs[name].dtype), copy=False) for name in specs}


def _check_names(path: Path | str, held: set[str], wanted: set[str], ignore: Callable[[str], bool]) -> None:
    if missing := sorted(wanted - held):
        message = f"{brief(path)} has no tensor {missing[0]!r} ({len(missing)} missing); it holds {brief(sorted(held))}"
        raise error("E7003", message, name=missing[0], known=sorted(held))
    if extra := sorted(name for name in held - wanted if not ignore(name)):
        message = f"{brief(path)} holds {brief(repr(extra[0]))} ({len(extra)} unknown); the model has {brief(sorted(wanted))}"
        raise error("E7003", message, name=extra[0], known=sorted(wanted))


def _check_tensor(path: Path | str, name: str, spec: Spec, shape: tuple[int, ...], dtype: str) -> None:
    if shape != spec.shape:
        message = f"{brief(path)}: {name} has shape {brief(list(shape))}, the model needs {list(spec.shape)}"
        raise error("E3003", message, dimension=name, extents=[shape, spec.shape])
    allowed = (FLOATS.get(spec.dtype, spec.dtype), *WIDENED.get(spec.dtype, ()))
    if dtype not in allowed:
        message = f"{brief(path)}: {name} is {brief(dtype)}, the model needs one of {list(allowed)}"
        raise error("E2001", message, expected=list(allowed), actual=dtype)


def save_safetensors(path: Path | str, weights: Mapping[str, np.ndarray]) -> None:
    """Write weights to a file."""
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(values) for name, values in weights.items()}, str(path))


def in_order(specs: Iterable[str], weights: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The weights as a program's arguments."""
    return [weights[name] for name in specs]
