"""
Weights: what they must be, random ones, and safetensors files.

A file is checked by its header before a tensor is read: every name, shape and dtype. Floats narrower than what is expected
(bf16 and f16 for f32) are widened, which loses nothing; wider ones are refused. Writing needs the extra `models`.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mind_array as ma
from mind_dialect.errors import brief, error
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_runtime.weights import Wanted, held_in, read_weights

Weights = dict[str, np.ndarray]
FLOATS = ("f64", "f32", "f16", "bf16")
"""Floats that weights may have."""


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


def shapes_in(path: Path | str) -> dict[str, tuple[int, ...]]:
    """The name and shape of every tensor of a file, from its header alone."""
    return {name: held.shape for name, held in held_in(path).items()}


def load_safetensors(
    path: Path | str,
    specs: Mapping[str, Spec],
    *,
    rename: Callable[[str], str] = lambda name: name,
    ignore: Callable[[str], bool] = lambda name: False,
) -> Weights:
    """
    The tensors of `specs` from a file, or from several with an index, in their order; memory maps that cannot be written to.

    `rename` gives the name in the file, `ignore` says which names there are of no use. E7003 for a tensor that is missing or
    that nobody asked for, E3003 for a wrong shape, E2001 for a dtype that does not fit; none is read before all are right.
    """
    return read_weights(path, {name: Wanted(*spec) for name, spec in specs.items()}, rename=rename, ignore=ignore)


def save_safetensors(path: Path | str, weights: Mapping[str, np.ndarray]) -> None:
    """Write weights to a file."""
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(values) for name, values in weights.items()}, str(path))


def in_order(specs: Iterable[str], weights: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The weights as a program's arguments."""
    return [weights[name] for name in specs]
