"""Whether a program gives on CuPy, or on a device that is none, what it gives on the NumPy target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import mind_runtime
from fake_device import Batch
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES, Kind
from mind_runtime.on_cupy import CupyProgram

EPSILON = {"f64": 1e-13, "f32": 2e-5, "f16": 4e-3, "bf16": 4e-2}


def arguments(program: Any, seed: int) -> list[np.ndarray]:
    """Small numbers of every dtype."""
    rng = np.random.default_rng(seed)
    found: list[np.ndarray] = []
    for spec in program.inputs:
        kind = DTYPES[{"i32": "si32", "i64": "si64"}.get(spec.dtype.name, spec.dtype.name)].kind
        numbers = rng.standard_normal(spec.shape) if kind in (Kind.FLOAT, Kind.COMPLEX) else rng.integers(0, 7, spec.shape)
        found.append(np.asarray(numbers % 2 if kind is Kind.BOOL else numbers).astype(spec.numpy_dtype))
    return found


def in_one_batch(modules: Sequence[tuple[str, Any]]) -> tuple[Batch, list[tuple[str, CupyProgram, Any]]]:
    """Programs whose kernels one compiler compiles together: their names, what runs them, the modules."""
    made = Batch()
    return made, [(name, made.add(module.clone()), module) for name, module in modules]


def close(found: Any, expected: Any, name: str) -> None:
    """Equal, but for the last digits of floats."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), name
    if found.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected, err_msg=name)
        return
    epsilon = EPSILON.get({"float64": "f64", "float32": "f32", "float16": "f16"}.get(found.dtype.name, "bf16"), 1e-5)
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    scale = np.nan_to_num(np.abs(expected.astype(wide)), posinf=0).max(initial=1e-3)
    np.testing.assert_allclose(found.astype(wide), expected.astype(wide), epsilon, epsilon * scale / 10, err_msg=name)


def agree(name: str, made: CupyProgram, module: Any, values: list[np.ndarray]) -> None:
    """The two targets give the same, errors included."""
    outcomes: list[Any] = []
    for run in (made, mind_runtime.compile(module)):
        try:
            found = run(*values)
            outcomes.append(found if isinstance(found, tuple) else (found,))
        except MindError as e:
            outcomes.append((e.code, e.message.partition(":")[2]))
    found, expected = outcomes
    assert len(found) == len(expected), name
    for x, y in zip(found, expected, strict=True):
        assert x == y if isinstance(y, str) else close(x, y, name) is None, name
