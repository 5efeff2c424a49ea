"""Arguments for a program, drawn from its types: floats of the normal distribution, indices that are inside what they index."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect.dominance import walk
from mind_dialect.errors import error
from mind_dialect.program import input_names
from mind_dialect.ptir.attributes import INTEGER
from mind_dialect.ptir.types import Kind, PtirDType, read_type
from mind_dialect.types import Shape
from mind_lowering.memory_need import Sizes, extents

from ..compilation import find_function
from ..signature import TensorSpec

MOST = 10
"""Integers are below this, and below every extent that the program indexes."""
INDEXING = ("ptir.take", "ptir.gather", "ptir.scatter_add", "ptir.scatter_reduce", "ptir.gather_windows", "ptir.scatter_windows")
DEFAULT_SIZE = 4
"""Of a named dimension without a given size."""


def draw_arguments(
    module: ModuleOp, function: str | None = None, seed: int = 0, sizes: Sizes | None = None, *, special: bool = False
) -> list[Any]:
    """
    Return an argument for each input of a function, the same ones on every machine.

    Named dimensions have the sizes in `sizes`, else 4. With `special`, floats hold NaN, infinities, zeros of both signs and the
    largest and smallest magnitudes of their dtype among the others. E7001 for a dimension without size and name.
    """
    func = find_function(module, function)
    sizes = sizes or {}
    bound = _bound(func, sizes)
    specs = [TensorSpec.of(name, type) for name, type in zip(input_names(func), func.function_type.inputs.data, strict=True)]
    return [_argument(spec, np.random.default_rng([seed, i]), bound, sizes, special) for i, spec in enumerate(specs)]


def _bound(func: FuncOp, sizes: Sizes) -> int:
    """Return what integers of inputs stay below: the least extent that anything indexes."""
    indexed = [n for op in walk(func) if op.name in INDEXING for n in _indexed(op, _Known(sizes))]
    segments = [read_type(op.results[0].type).shape[0] for op in walk(func) if op.name == "ptir.segment_reduce"]
    return max(1, min([MOST, *(n for n in indexed if n > 0), *(n for n in segments if isinstance(n, int) and n > 0)]))


def _indexed(op: Operation, sizes: Sizes) -> Shape:
    """Return the extents of an operand that indices of an op may select from, or more of them."""
    shape = extents(op.operands[0].type, sizes)
    if op.name == "ptir.take":
        return shape[:1]
    axis = op.properties.get("axis")
    return shape if axis is None else (shape[INTEGER.value(axis)],)


class _Known(dict[str, int]):
    """Sizes of names, the default for those that have none."""

    def __missing__(self, name: str) -> int:
        return DEFAULT_SIZE

    def get(self, key: str, default: Any = None) -> Any:
        return self[key]


def _argument(spec: TensorSpec, rng: np.random.Generator, bound: int, sizes: Sizes, special: bool) -> Any:
    if "?" in spec.shape:
        raise error("E7001", f"input {spec.name!r} is {spec}: a dimension has neither size nor name", option=spec.name)
    shape = tuple(n if isinstance(n, int) else sizes.get(n, DEFAULT_SIZE) for n in spec.shape)
    kind = spec.dtype.kind if isinstance(spec.dtype, PtirDType) else Kind.FLOAT if spec.dtype.is_float else Kind.SIGNED
    wanted = spec.numpy_dtype
    if kind is Kind.BOOL:
        return rng.integers(0, 2, shape).astype(wanted)
    if kind in (Kind.SIGNED, Kind.UNSIGNED):
        return rng.integers(0, min(bound, 8) if wanted.kind == "V" else bound, shape).astype(wanted)
    values = rng.standard_normal(shape)
    if kind is Kind.COMPLEX:
        return (values + 1j * rng.standard_normal(shape)).astype(wanted)
    floats = np.asarray(values.astype(wanted))
    if special:
        _scatter_special(floats, rng)
    return floats


def _scatter_special(floats: Any, rng: np.random.Generator) -> None:
    """Overwrite one element in three, or fewer where there are few, with special values of the dtype."""
    with np.errstate(all="ignore"):
        values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-3, 1.0, -1.0]).astype(floats.dtype)
    places = rng.permutation(floats.size)[: (floats.size + 2) // 3]
    floats.reshape(-1)[places] = values[np.arange(len(places)) % len(values)]
