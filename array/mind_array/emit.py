"""
The one place that makes an op: recorded into the active trace, or run at once by the op's kernel.

Concrete and compiled results agree because the kernel is the same: `kernel_call` of the NumPy target names it. What verification
found for a kind of op is remembered, by its class, dtypes, shapes (where the kernel depends on them) and properties.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from xdsl.ir import Block

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import PtirDType, TensorSpec, tensor_type
from mind_lowering.kernels import NUMPY
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_lowering.ptir_kernels.table import kernel_call
from mind_lowering.xp.functions import FUNCTIONS, Storage

from .array import Array, wrap, wrap_shared
from .dtypes import DType, int64, numpy_dtype, ptir_dtype
from .faults import fault, translated
from .kinds import is_tuple
from .trace import ACTIVE, Trace, TracedArray, leaked

Kernel = Callable[..., Any]
SHAPELESS: frozenset[type[ptir.PtirOp]] = frozenset(
    (
        *ptir.UNARY_OPS,
        *ptir.BINARY_OPS,
        *ptir.UNARY_EXTENSIONS,
        *ptir.BINARY_EXTENSIONS,
        *ptir.CONVERSIONS,
        *ptir.COMPLEX_OPS,
        ptir.CastOp,
        ptir.ClampOp,
        ptir.CompareOp,
        ptir.SelectOp,
    )
)
"""Ops whose kernel does not depend on shapes; their operands have one shape already."""
MOST_KERNELS = 1 << 13

_kernels: dict[Any, tuple[Kernel, bool]] = {}

try:  # entering numpy.errstate costs more than most small operations; this is what it does
    from numpy._core.umath import _extobj_contextvar, _make_extobj  # pyright: ignore

    _ignore: Any = _make_extobj(all="ignore")  # pyright: ignore
    _set: Callable[[Any], Any] = _extobj_contextvar.set  # pyright: ignore
    _reset: Callable[[Any], None] = _extobj_contextvar.reset  # pyright: ignore

except (ImportError, TypeError):  # another NumPy: the public way
    _ignore = None

    def _set(value: Any) -> Any:
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    def _reset(token: Any) -> None:
        token.__exit__(None, None, None)


def quietly(function: Callable[..., Any], *operands: Any) -> Any:
    """Call a function of NumPy for which overflow, division by zero and NaN are results, not accidents."""
    token = _set(_ignore)
    try:
        return function(*operands)
    finally:
        _reset(token)


def emit(cls: type[ptir.PtirOp], *operands: Array, **properties: Any) -> Any:
    """
    Return the result of an op, or a tuple of several; operands have the shapes and dtypes that the op wants.

    Raises the coded error of the op as an error of this package, E1102 for an array that left its function.
    """
    trace = ACTIVE.get()
    if trace is not None:
        return trace.append(cls, operands, properties)
    shapes = None if cls in SHAPELESS else tuple([x.ndarray.shape for x in operands if type(x) is Array])
    for x in operands:
        if type(x) is TracedArray:
            raise leaked(x)
    arrays = [x.ndarray for x in operands]
    key = (cls, tuple([a.dtype for a in arrays]), shapes, tuple(properties.items()))
    found = _kernels.get(key)
    if found is None:
        found = _prepared(key, cls, arrays, properties)
    kernel, shares = found
    try:
        result = quietly(kernel, *arrays)
    except MindError as e:
        raise translated(e) from None
    except MemoryError:
        raise no_memory(max((a.shape for a in arrays), default=(), key=math.prod), arrays[0].dtype if arrays else int64) from None
    if shares:
        for x in operands:
            x.shared = True
        return wrap_shared(result)
    return tuple([wrap(x) for x in result]) if is_tuple(result) else wrap(result)


def _prepared(key: Any, cls: type[ptir.PtirOp], arrays: list[Any], properties: dict[str, Any]) -> tuple[Kernel, bool]:
    """The kernel of an op of this kind with its properties, and whether its result may be memory of an operand or read-only."""
    block = Block(arg_types=[tensor_type(ptir_dtype(a.dtype), () if cls in SHAPELESS else a.shape) for a in arrays])
    try:
        op = cls(*block.args, **properties)
        for spec in () if cls in SHAPELESS else map(op.result_spec, range(len(op.results))):
            check_memory(spec.shape, numpy_dtype(spec.dtype))
        call = kernel_call(op)
        target: Any = np if call.callee.startswith("xp.") else NUMPY
        for name in call.callee.split(".")[1:]:
            target = getattr(target, name)
        arguments = {n: array_dtype(v.name) if isinstance(v, PtirDType) else v for n, v in call.arguments.items()}
    except MindError as e:
        raise translated(e) from None
    if len(_kernels) >= MOST_KERNELS:
        _kernels.clear()
    made = (partial(target, **arguments) if arguments else target), FUNCTIONS[call.callee] is not Storage.OWN
    _kernels[key] = made
    return made


def check_memory(shape: Sequence[Any], dtype: DType) -> None:
    """Raise E6004 for an array that is larger than the memory of this machine, before anything tries to allocate it."""
    if math.prod(n for n in shape if not isinstance(n, str)) * dtype.itemsize > _memory():
        raise no_memory(shape, dtype)


def no_memory(shape: Sequence[Any], dtype: DType) -> MindError:
    """E6004 for an array of a shape and dtype."""
    extents = tuple(shape)
    message = f"cannot allocate {dtype}{list(extents)}: the memory of this machine is {_memory()} bytes"
    return fault("E6004", message, shape=extents, dtype=str(dtype), backend="numpy")


@cache
def _memory() -> int:
    from mind_lowering.memory_need import physical_memory

    return physical_memory()


def constant(value: Any, dtype: DType, shape: tuple[Any, ...] = ()) -> Array:
    """Return a number everywhere in an array; recorded as a constant of rank 0 and a broadcast."""
    trace = ACTIVE.get()
    if trace is None:
        if shape:
            check_memory(shape, dtype)
        return wrap(np.full(shape, value, dtype))
    return recorded_constant(trace, value, dtype, shape)


def recorded_constant(trace: Trace, value: Any, dtype: DType, shape: tuple[Any, ...]) -> Array:
    """Record a number everywhere."""
    from .trace import traced

    contract = ptir_dtype(dtype)
    element = np.asarray(value).astype(dtype)
    found: Any = (
        element.item() if contract.element.size > 2 or contract.kind in ("bool", "signed", "unsigned") else float(element)
    )
    return traced(trace.scalar(contract, found, shape), trace, TensorSpec(contract, tuple(shape)))
