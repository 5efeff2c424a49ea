"""
Products of floats as steps for cuBLAS: stacks of matrices, which lie where the operands do if cuBLAS can read them there.

Axes in another order, and several that become one, are other strides of the same memory; only what no strides can say is copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np
from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir.types import BF16, F16, F32, F64, PtirDType

from ...ptir_kernels.contraction import plan as dot_plan
from ...xp import CallOp
from ..products.cublas import layout
from .plan import Call, Place, Step, row_major


class Planner(Protocol):
    """What makes places, and takes steps."""

    steps: list[Step]

    def spec(self, value: SSAValue) -> tuple[PtirDType, tuple[int, ...]]:
        """The dtype and sizes of a value."""
        ...

    def made(self, value: SSAValue) -> Place:
        """A place of its own for a value."""
        ...

    def moved(self, place: Place, op: Operation) -> Place:
        """A copy in row-major order."""
        ...


def plan_product(planner: Planner, op: CallOp, inputs: Sequence[Place], arguments: Mapping[str, Any]) -> bool:
    """A product of floats as one of stacks of matrices, its operands as they lie where cuBLAS can read them."""
    dtype, _ = planner.spec(op.results[0])
    given = inputs[0].dtype
    accumulators = (None, F32 if given in (F16, BF16) else given)
    if given not in (F16, BF16, F32, F64) or arguments.get("accum_dtype") not in accumulators or dtype not in (given, F32):
        return False
    axes = [arguments[name] for name in ("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs")]
    p = dot_plan((len(inputs[0].shape), len(inputs[1].shape)), *axes)
    lhs, rhs = _transposed(inputs[0], p.lhs), _transposed(inputs[1], p.rhs)
    rows, inner = len(lhs.shape) - p.contracted, p.batch + p.contracted
    batch, free = lhs.shape[: p.batch], (prod(lhs.shape[p.batch : rows]), prod(rhs.shape[inner:]))
    depth = prod(lhs.shape[rows:])
    a = _matrices(planner, lhs, (*batch, free[0], depth), op)
    b = _matrices(planner, rhs, (*batch, depth, free[1]), op)
    made = planner.made(op.results[0])
    shape = (*batch, *free)
    target = Place(made.buffer, 0, shape, row_major(shape, dtype.size), dtype)
    planner.steps.append(Call(op, "xp.matmul", [a, b], {}, [target]))
    return True


def plan_matmul(planner: Planner, op: CallOp, inputs: Sequence[Place]) -> bool:
    """As `plan_product`, of what NumPy multiplies as it is; a vector is a matrix of one row, or of one column."""
    a, b = inputs
    batch = max(a.shape[:-2], b.shape[:-2], key=len)
    mixed = any(len(x.shape) > 1 and x.shape[:-2] != batch for x in (a, b))
    if a.dtype not in (F32, F64) or op.target is not None or mixed:
        return False
    made = planner.made(op.results[0])
    left, right = (a.shape[-2:] if len(a.shape) > 1 else (1, *a.shape)), (b.shape[-2:] if len(b.shape) > 1 else (*b.shape, 1))
    a, b = _matrices(planner, a, (*a.shape[:-2], *left), op), _matrices(planner, b, (*b.shape[:-2], *right), op)
    shape = (*batch, left[0], right[1])
    target = Place(made.buffer, 0, shape, row_major(shape, made.dtype.size), made.dtype)
    planner.steps.append(Call(op, "xp.matmul", [a, b], {}, [target]))
    return True


def _matrices(planner: Planner, place: Place, shape: tuple[int, ...], op: Operation) -> Place:
    """A place as a stack of matrices that cuBLAS can read: as it lies, or a copy."""
    found = reshaped(place, shape)
    if found is None or layout(found.shape, found.strides, found.dtype.size) is None:
        made = planner.moved(place, op)
        found = Place(made.buffer, 0, shape, row_major(shape, place.dtype.size), place.dtype)
    return found


def _transposed(place: Place, perm: Sequence[int]) -> Place:
    """A place with its axes in another order."""
    shape, strides = tuple(place.shape[a] for a in perm), tuple(place.strides[a] for a in perm)
    return Place(place.buffer, place.offset, shape, strides, place.dtype)


def reshaped(place: Place, shape: tuple[int, ...]) -> Place | None:
    """The same elements under another shape, as NumPy finds them; None if they have to be moved."""
    seen: Any = np.lib.stride_tricks.as_strided(np.empty(1, f"V{place.dtype.size}"), place.shape, place.strides)
    try:
        seen.shape = shape
    except AttributeError:
        return None
    return Place(place.buffer, place.offset, shape, tuple(seen.strides), place.dtype)
