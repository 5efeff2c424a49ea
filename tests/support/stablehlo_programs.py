"""StableHLO programs of tests: read, verified and run on the executors that are there."""

from __future__ import annotations

import importlib.util
from collections import Counter
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.verify import verify
from mind_runtime import compile
from mind_translate.stablehlo import read_stablehlo

EXECUTORS = ["numpy", *(["native"] if importlib.util.find_spec("llvmlite") else [])]
Array = np.ndarray[Any, Any]
NAMES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "bool": "i1",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    **{f"int{n}": f"i{n}" for n in (4, 8, 16, 32, 64)},
    **{f"uint{n}": f"ui{n}" for n in (4, 8, 16, 32, 64)},
}
"""The element types of StableHLO by the names of dtypes of NumPy."""


def type_of(array: Any) -> str:
    """The type of an array in StableHLO."""
    found = np.asarray(array)
    return f"tensor<{''.join(f'{n}x' for n in found.shape)}{NAMES[found.dtype.name]}>"


def program(arguments: str, body: str, results: str, others: str = "") -> str:
    """A module with `@main` of the given arguments, ops and result types; what it returns is `%r`, or `%r:n`'s results."""
    count = results.count("tensor<")
    returned = ", ".join(f"%r#{i}" for i in range(count)) if count > 1 else "%r"
    return f"""
module {{
  func.func public @main({arguments}) -> ({results}) {{
    {body}
    return {returned} : {results}
  }}
  {others}
}}
"""


def read(text: str) -> ModuleOp:
    """The verified PTIR module of a text."""
    module = read_stablehlo(text, "test.mlir")
    verify(module)
    return module


def run(text: str, *inputs: Any, executor: str = "numpy") -> Any:
    """What `@main` of a text gives."""
    return compile(read(text), "main", executor)(*inputs)


def ops(module: ModuleOp) -> Counter[str]:
    """How often each op of PTIR occurs."""
    return Counter(op.name.removeprefix("ptir.") for op in module.walk() if op.name.startswith("ptir."))


def same(actual: Any, expected: Any, tolerance: float = 0.0) -> None:
    """Assert equal dtypes, shapes and elements, NaN being equal to NaN."""
    given, wanted = np.asarray(actual), np.asarray(expected)
    assert (given.dtype, given.shape) == (wanted.dtype, wanted.shape)
    if tolerance:
        np.testing.assert_allclose(given.astype(np.complex128), wanted.astype(np.complex128), rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(given, wanted)
