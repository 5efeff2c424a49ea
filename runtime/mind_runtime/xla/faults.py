"""Errors of XLA as coded errors: the report of a run's checks, and what JAX raises."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation

from mind_dialect import ptir
from mind_dialect.errors import MindError, error
from mind_dialect.ptir.types import read_type
from mind_lowering.memory_need import allocation_error

from .session import first_line


def fault_error(op: Operation) -> MindError:
    """E8004 for an integer divided by zero, E6001 for an index out of range. XLA does not say which numbers they were."""
    if isinstance(op, ptir.DivOp | ptir.RemainderOp):
        return error("E8004", "division of an integer by 0, expected another divisor", operands=None)
    shape = list(read_type(op.operands[0].type).shape)
    if isinstance(op, ptir.SegmentReduceOp):
        shape = [op.values()["num_segments"]]
    message = f"an index is out of bounds for shape {shape}, expected 0 <= index < extent"
    return error("E6001", message, indices=None, shape=shape)


def runtime_error(e: Exception, name: str, results: Sequence[Attribute]) -> MindError:
    """Return an error of XLA as a coded one: E6004 for memory, E6007 for a time-out, E6008 for all else."""
    said = first_line(e)
    if "RESOURCE_EXHAUSTED" in said or isinstance(e, MemoryError):
        return allocation_error(results[0], f"XLA is out of memory: {said}")
    if "DEADLINE_EXCEEDED" in said:
        return error("E6007", f"@{name} on xla did not end in time: {said}", limit=None)
    return error("E6008", f"XLA failed in @{name}: {said}", device="xla", status=type(e).__name__)
