"""
Constant folding of PTIR: what depends on constants alone is computed, once, by the kernels that would compute it in every run.

So the numbers are those of a run on the `numpy` target, to the last bit. Ops fold where operands and results are small, and
elementwise ops of integers also where each operand is one number everywhere. They stay where the run would fail (an integer
divided by zero, an index out of range), so that it still does. Custom calls fold if the function is one of this project, whose
targets begin with `mind.`. Random ops, other custom calls and what has regions stay; inside regions ops fold. Whatever the
constant is, a result that is one element everywhere is a fill.
"""

from __future__ import annotations

from math import prod
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import BytesAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import (
    FUSIBLE,
    CompareOp,
    ConstantOp,
    ConvolutionOp,
    CustomCallOp,
    ExtractPatchesOp,
    IotaOp,
    PtirLiteralAttr,
    PtirOp,
    ReduceWindowOp,
    SelectOp,
)
from mind_dialect.ptir.types import Kind, PtirDType, read_type, tensor_type
from mind_passes.ptir.building import is_plain, rewire, stays
from mind_passes.ptir.dead_ops import erase_dead
from mind_passes.ptir.failing import unmark

from .custom_calls import run_custom_call
from .ptir_kernels.formats import array_dtype
from .ptir_kernels.kernels import PtirKernels
from .ptir_kernels.table import WITHOUT_KERNEL, kernel_call

DEFAULT_LIMIT = 1024
"""So many elements at most has each operand and result of what is folded; fills of floats are computed in full."""

_WORK = 1 << 20
"""So many products at most are summed to fold one op."""


OURS = "mind."
"""The beginning of the targets of this project's functions; others may be registered again at any time."""
WINDOWS = (ReduceWindowOp, ExtractPatchesOp, ConvolutionOp)
"""Ops whose work no operand and no result bounds."""


class Folder:
    """Folds ops over NumPy. Constants are read once; a small `iota` counts as one but stays as it is."""

    def __init__(self, limit: int):
        self._limit = limit
        self._kernels = PtirKernels(np)
        self._arrays: dict[SSAValue, Any] = {}

    def fold(self, op: PtirOp) -> list[ConstantOp] | None:
        """The constants that the results of a verified op are; None where it does not fold."""
        if isinstance(op, CustomCallOp):
            return None if stays(op) else self._called(op)
        if not is_plain(op) or type(op) in WITHOUT_KERNEL or isinstance(op, WINDOWS) or not op.operands or op.stated_dims():
            return None
        if (number := self._fill(op)) is not None:
            return [number]
        if not all(self._is_small(v) for v in op.results) or not all(self._is_constant(v) for v in op.operands):
            return None
        if prod(prod(cast(tuple[int, ...], read_type(v.type).shape)) for v in op.operands) > _WORK:
            return None
        try:
            found = self._call(op, [self._array(v) for v in op.operands])
        except MindError:  # as it will be when it runs
            return None
        return [self._constant(op, x, v) for x, v in zip(found, op.results, strict=True)]

    def _called(self, op: CustomCallOp) -> list[ConstantOp] | None:
        """The constants that the results of a call of a function of ours are; None where it does not fold, or fails."""
        values, specs = op.values(), [read_type(v.type) for v in op.results]
        is_constant = bool(op.operands) and all(self._is_constant(v) for v in op.operands)
        if not values["target"].startswith(OURS) or not is_constant or not all(self._is_small(v) for v in op.results):
            return None
        dtypes = [array_dtype(spec.dtype.name) for spec in specs]
        try:
            with np.errstate(all="ignore"):
                found = run_custom_call(np, values["target"], [self._array(v) for v in op.operands], values["attrs"], dtypes)
        except MindError:  # as it will be when it runs
            return None
        arrays = cast(tuple[Any, ...], found) if isinstance(found, tuple) else (found,)
        if any(x.shape != spec.shape for x, spec in zip(arrays, specs, strict=True)):
            return None
        return [self._constant(op, x, v) for x, v in zip(arrays, op.results, strict=True)]

    def _fill(self, op: PtirOp) -> ConstantOp | None:
        """
        Return the constant that an elementwise op of fills is, of any size, computed on one element.

        Only for what has one result whatever instructions compute it: integers, truths, comparisons and selections.
        """
        if FUSIBLE.get(type(op)) != "elementwise" or not (isinstance(op, SelectOp) or _is_exact(op)):
            return None
        literals = [v.owner.literal for v in op.operands if isinstance(v.owner, ConstantOp)]
        static = read_type(op.results[0].type).is_static
        if not static or len(literals) != len(op.operands) or not all(literal.is_fill for literal in literals):
            return None
        arrays = [np.frombuffer(x.data.data, array_dtype(x.spec[0].name)) for x in literals]
        try:
            (found,) = self._call(op, arrays)
        except MindError:  # as it will be when it runs
            return None
        return self._constant(op, found, op.results[0])

    def _is_small(self, value: SSAValue) -> bool:
        spec = read_type(value.type)
        return spec.is_static and prod(cast(tuple[int, ...], spec.shape)) <= self._limit

    def _is_constant(self, value: SSAValue) -> bool:
        return isinstance(value.owner, ConstantOp | IotaOp) and self._is_small(value)

    def _array(self, value: SSAValue) -> Any:
        if value not in self._arrays:
            (self._arrays[value],) = self._call(cast(PtirOp, value.owner), [])
        return self._arrays[value]

    def _call(self, op: PtirOp, arrays: list[Any]) -> tuple[Any, ...]:
        call = kernel_call(op)
        root, _, path = call.callee.partition(".")
        target: Any = np if root == "xp" else self._kernels
        for name in path.split("."):
            target = getattr(target, name)
        arguments = {n: array_dtype(v.name) if isinstance(v, PtirDType) else v for n, v in call.arguments.items()}
        with np.errstate(all="ignore"):
            found: Any = target(*arrays, **arguments)
        return cast(tuple[Any, ...], found) if isinstance(found, tuple) else (found,)

    def _constant(self, op: PtirOp, x: Any, value: SSAValue) -> ConstantOp:
        dtype, shape = read_type(value.type)
        data = np.ascontiguousarray(x).tobytes()
        if dtype.bits == 4:
            data = bytes(b & 15 for b in data)
        if len(data) > dtype.size and data == data[: dtype.size] * (len(data) // dtype.size):
            data = data[: dtype.size]
        literal = PtirLiteralAttr(tensor_type(dtype, shape), BytesAttr(data))
        new = ConstantOp.create(properties={"value": literal}, result_types=[literal.type], location=op.location)
        new.results[0].name_hint = value.name_hint
        return new


def _is_exact(op: PtirOp) -> bool:
    """Return whether an op compares, or computes integers or truths of such."""
    values = op.results if isinstance(op, CompareOp) else (*op.operands, *op.results)
    return all(read_type(v.type).dtype.kind in (Kind.SIGNED, Kind.UNSIGNED, Kind.BOOL) for v in values)


def fold_constants(root: Operation, *, limit: int = DEFAULT_LIMIT) -> bool:
    """Fold the verified ops inside `root`, in place, in one pass forward; whether there were any."""
    folder = Folder(limit)
    became: dict[SSAValue, SSAValue] = {}
    for op in walk(root):
        rewire(op, became)
        found = folder.fold(op) if isinstance(op, PtirOp) else None
        if found is None:
            continue
        block = op.parent
        assert isinstance(block, Block)
        block.insert_ops_before(found, op)
        became.update((old, new.result) for old, new in zip(op.results, found, strict=True))
        unmark(op)
    return bool(became) and (erase_dead(root) or True)


@dataclass(frozen=True)
class PtirFoldPass(ModulePass):
    """
    Compute what depends on constants alone, where no operand or result has more than `limit` elements.

    The kernels of the `numpy` target compute it, so a run gives the same bits; ops that would fail stay.
    """

    name = "mind-ptir-fold"

    limit: int = DEFAULT_LIMIT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        fold_constants(op, limit=self.limit)
