"""Kernels of a training step by what they are for, as their bodies and the values that they read and write show."""

from __future__ import annotations

from collections.abc import Callable

from mind_dialect import ptir
from mind_lowering.launch.compute_ops import KernelOp
from mind_lowering.launch.control_ops import YieldOp
from mind_lowering.launch.memory_ops import AllocOp


def family_of(op: KernelOp) -> str:
    """Return the family of a kernel: the first of `FAMILIES` whose test it passes."""
    return next(name for name, test in FAMILIES.items() if test(op))


def _overwrites_state(op: KernelOp) -> bool:
    """Return whether all results of a kernel take the place of arguments of the function."""
    owners = [value.owner for value in op.results_written]
    return all(isinstance(o, AllocOp) and o.over is not None and not isinstance(o.over.owner, KernelOp) for o in owners)


def _is_attention(op: KernelOp) -> bool:
    """Return whether a kernel is an attention, or computes something that only attentions read."""
    if has(op, ptir.DotGeneralOp):
        return True
    readers = [use.operation for value in op.results_written for use in value.uses if use.operation is not op]
    return bool(readers) and all(isinstance(reader, KernelOp) and has(reader, ptir.DotGeneralOp) for reader in readers)


def has(op: KernelOp, *kinds: type[ptir.PtirOp]) -> bool:
    """Return whether the body of a kernel has an op of these kinds."""
    return any(isinstance(inner, kinds) for block in op.body.blocks for inner in block.ops)


def _only_casts(op: KernelOp) -> bool:
    return all(isinstance(inner, ptir.CastOp | YieldOp) for block in op.body.blocks for inner in block.ops)


FAMILIES: dict[str, Callable[[KernelOp], bool]] = {
    "attention": _is_attention,
    "updates of weights": _overwrites_state,
    "cross entropy": lambda op: has(op, ptir.GatherOp),
    "casts": _only_casts,
    "gradient of the embedding": lambda op: has(op, ptir.ScatterAddOp, ptir.ScatterReduceOp),
    "layer norms": lambda op: has(op, ptir.ReduceOp),
    "others": lambda _: True,
}
"""Kernels of a training step by what they are for."""
