"""
Products of floats as steps for cuBLAS: stacks of matrices, which lie where the operands do if cuBLAS can read them there.

Axes in another order, and several that become one, are other strides of the same memory; only what no strides can say is copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect.ptir.types import BF16, F16, F32, F64

from ...launch import compute_ops as launch
from ...launch.ref import Ref, read_ref, row_major
from ...ptir_kernels.contraction import plan as dot_plan
from ...xp import CallOp
from ...xp.arguments import stored
from ..products.cublas import layout
from .builder import LaunchBuilder


def plan_product(build: LaunchBuilder, op: CallOp, inputs: Sequence[SSAValue], arguments: Mapping[str, Any]) -> bool:
    """A product of floats as one of stacks of matrices, its operands as they lie where cuBLAS can read them."""
    dtype, _ = build.spec(op.results[0])
    x, y = (read_ref(v.type) for v in inputs)
    given = x.dtype
    accumulators = (None, F32 if given in (F16, BF16) else given)
    if given not in (F16, BF16, F32, F64) or arguments.get("accum_dtype") not in accumulators or dtype not in (given, F32):
        return False
    axes = [arguments[name] for name in ("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs")]
    p = dot_plan((len(x.shape), len(y.shape)), *axes)
    lhs, rhs = _transposed(build, inputs[0], p.lhs), _transposed(build, inputs[1], p.rhs)
    a, b = read_ref(lhs.type).shape, read_ref(rhs.type).shape
    rows, inner = len(a) - p.contracted, p.batch + p.contracted
    batch, free = a[: p.batch], (prod(a[p.batch : rows]), prod(b[inner:]))
    depth = prod(a[rows:])
    _multiply(build, op, (lhs, (*batch, free[0], depth)), (rhs, (*batch, depth, free[1])), (*batch, *free))
    return True


def plan_matmul(build: LaunchBuilder, op: CallOp, inputs: Sequence[SSAValue]) -> bool:
    """As `plan_product`, of what NumPy multiplies as it is; a vector is a matrix of one row, or of one column."""
    refs = [read_ref(v.type) for v in inputs]
    a, b = (x.shape for x in refs)
    batch = max(a[:-2], b[:-2], key=len)
    mixed = any(len(shape) > 1 and shape[:-2] != batch for shape in (a, b))
    if refs[0].dtype not in (F32, F64) or op.target is not None or mixed:
        return False
    left, right = (a[-2:] if len(a) > 1 else (1, *a)), (b[-2:] if len(b) > 1 else (*b, 1))
    _multiply(build, op, (inputs[0], (*a[:-2], *left)), (inputs[1], (*b[:-2], *right)), (*batch, left[0], right[1]))
    return True


EPILOGUE = "k.product_epilogue"


def plan_epilogue(build: LaunchBuilder, op: CallOp, inputs: Sequence[SSAValue], arguments: Mapping[str, Any]) -> bool:
    """A product with an epilogue as one of two matrices, whose rows lie one after another in the results."""
    axes = [(), (), arguments["contract_lhs"], arguments["contract_rhs"]]
    a, b = (read_ref(v.type).shape for v in inputs[:2])
    p = dot_plan((len(a), len(b)), *axes)
    lhs, rhs = _transposed(build, inputs[0], p.lhs), _transposed(build, inputs[1], p.rhs)
    depth = prod(b[n] for n in p.rhs[:-1])
    rows, columns = prod(a) // depth, b[p.rhs[-1]]
    reads = [_matrices(build, (lhs, (rows, depth)), op), _matrices(build, (rhs, (depth, columns)), op)]

    def by_rows(value: SSAValue) -> SSAValue:
        x = read_ref(value.type)
        shape = (rows, columns) if len(x.shape) > 1 else x.shape
        return build.view(value, Ref(x.dtype, shape, row_major(shape)))

    reads += [by_rows(build.ready(value, op)) for value in inputs[2:]]
    writes = [by_rows(build.made(result)) for result in op.results]
    words = {"form": arguments["form"], "contract_lhs": (1,), "contract_rhs": (0,)}
    build.add(launch.CallOp(EPILOGUE, reads, writes, **{"with": stored(words)}), op)
    return True


Matrices = tuple[SSAValue, tuple[int, ...]]
"""An operand, and its sizes as a stack of matrices."""


def _multiply(build: LaunchBuilder, op: CallOp, lhs: Matrices, rhs: Matrices, shape: tuple[int, ...]) -> None:
    """Append the product of two stacks of matrices, of the sizes `shape`."""
    reads = [_matrices(build, lhs, op), _matrices(build, rhs, op)]
    made = build.made(op.results[0])
    dtype = read_ref(made.type).dtype
    build.add(launch.CallOp("xp.matmul", reads, [build.view(made, Ref(dtype, shape, row_major(shape)))]), op)


def _matrices(build: LaunchBuilder, operand: Matrices, op: CallOp) -> SSAValue:
    """A stack of matrices that cuBLAS can read: as it lies, or a copy."""
    value, shape = operand
    found = build.reshaped(value, shape)
    if found is not None:
        x = read_ref(found.type)
        if layout(x.shape, tuple([s * x.dtype.size for s in x.strides]), x.dtype.size) is not None:
            return found
    moved = build.moved(value, op)
    return build.view(moved, Ref(read_ref(moved.type).dtype, shape, row_major(shape)))


def _transposed(build: LaunchBuilder, value: SSAValue, perm: Sequence[int]) -> SSAValue:
    """An array with its axes in another order."""
    x = read_ref(value.type)
    return build.view(value, Ref(x.dtype, tuple([x.shape[a] for a in perm]), tuple([x.strides[a] for a in perm])))
