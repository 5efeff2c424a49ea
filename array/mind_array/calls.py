"""
Functions that PTIR has no op for: NumPy functions under a name that custom calls refer to.

A traced call becomes `ptir.custom_call "mind.array.NAME.v1"`, which the targets `numpy` and `cupy` run with their own library and
`native` hands to the host. The row of the table states in `call` why there is no op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mind_dialect.errors import MindError
from mind_dialect.ptir import CustomCallOp
from mind_dialect.ptir.types import TensorSpec, tensor_type
from mind_lowering.custom_calls import register_custom_call

from .array import Array, wrap
from .dtypes import DType, ptir_dtype
from .emit import quietly
from .faults import ArrayLinAlgError, fault, translated
from .kinds import is_tuple
from .trace import ACTIVE

_functions: dict[str, Callable[..., Any]] = {}


def define(name: str, function: Callable[..., Any]) -> str:
    """Let custom calls of `mind.array.NAME.v1` run `function(xp, *arrays, **attributes)`; returns the target."""
    return define_as(f"mind.array.{name}.v1", function)


def define_as(target: str, function: Callable[..., Any]) -> str:
    """As `define`, under a target of another namespace."""
    _functions[target] = function
    register_custom_call(target, function)
    return target


def define_numpy(name: str, theirs: str) -> str:
    """Let custom calls of `mind.array.NAME.v1` run NumPy's function of that name."""

    def function(xp: Any, *xs: Any) -> Any:
        return getattr(xp, theirs)(*xs)

    return define(name, function)


def call(target: str, operands: Sequence[Array], results: Sequence[tuple[DType, tuple[Any, ...]]], **attributes: Any) -> Any:
    """Return what the function of a target gives: an array, or a tuple of several. `results` are their dtypes and shapes."""
    trace = ACTIVE.get()
    if trace is None:
        arrays = [x.ndarray for x in operands]
        try:
            found = quietly(lambda: _functions[target](np, *arrays, **attributes))
        except np.linalg.LinAlgError as e:
            message = f"custom call {target!r}: {e}"
            raise fault("E6006", message, kind=ArrayLinAlgError, operands=[x.shape for x in operands]) from None
        made = [
            wrap(np.array(x, dtype, copy=True))
            for x, (dtype, _) in zip(found if is_tuple(found) else (found,), results, strict=True)
        ]
        return made[0] if len(made) == 1 else tuple(made)
    values = [trace.lift(x) for x in operands]
    specs = [
        TensorSpec(ptir_dtype(dtype), tuple([str(d) if isinstance(d, str) else d for d in shape])) for dtype, shape in results
    ]
    try:
        op = CustomCallOp(*values, target=target, attrs=attributes, result_types=[tensor_type(*spec) for spec in specs])
    except MindError as e:
        raise translated(e) from None
    recorded = trace.results(op, specs)
    return recorded[0] if len(recorded) == 1 else tuple(recorded)
