"""
How much memory a lowered function needs, known before it runs: shapes are static, frees are explicit.

An allocation that cannot succeed must not be tried: an operating system which promises more than it has takes the process
down later, or the machine. So a program that would need more than the limit is refused with E6004.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Block, SSAValue

from mind_dialect.errors import MindError, error
from mind_dialect.types import Shape, read_type
from mind_lowering.xp import FUNCTIONS, CallOp, FreeOp, Storage

_GROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@dataclass(frozen=True)
class Need:
    """The most bytes a function holds at once beyond its inputs, and the type of the value whose making needs them."""

    bytes: int
    type: Attribute | None


def physical_memory() -> int:
    """Bytes of memory of this machine or, where that is less, of this process's control group; no bound if unknown."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 62
    for path in map(Path, _GROUP_LIMITS):
        try:
            found = min(found, int(path.read_text()))
        except (OSError, ValueError):
            continue
    return found


def byte_count(type: Attribute) -> int:
    """Bytes of the elements of a tensor type."""
    dtype, shape = read_type(type)
    return dtype.size * prod(shape)


def peak(block: Block) -> Need:
    """
    What the calls of a lowered function need at their peak, kernels' own buffers for convolutions included.

    A view counts nothing while its memory lives, but no value may be larger than the limit even as a view: reading all of
    a tensor of 10^15 elements would not end.
    """
    owner: dict[SSAValue, SSAValue | None] = {}
    users: dict[SSAValue, int] = {}
    live, need = 0, Need(0, None)
    for op in block.ops:
        if isinstance(op, FreeOp):
            for value in op.operands:
                memory = owner.get(value)
                if memory is not None:
                    users[memory] -= 1
                    live -= byte_count(memory.type) if users[memory] == 0 else 0
        elif isinstance(op, CallOp):
            result = op.results[0]
            check_rank(result.type)
            size, storage = byte_count(result.type), FUNCTIONS[op.function]
            own = storage is Storage.OWN
            memory = result if own else owner.get(op.operands[0]) if op.operands else None
            owner[result] = memory
            if memory is not None:
                users[memory] = users.get(memory, 0) + 1
            live += size if own else 0
            here = max(live + _scratch(op), size, _extent_bytes(result.type))
            if here > need.bytes:
                need = Need(here, result.type)
    return need


def _extent_bytes(type: Attribute) -> int:
    """What NumPy bounds even for an empty array: the product of the extents other than 0."""
    dtype, shape = read_type(type)
    count = dtype.size * prod(n for n in shape if n)
    return count if 0 in shape and count > 1 << 62 else 0


MAX_RANK = 64 if int(np.__version__.split(".")[0]) >= 2 else 32
"""The most dimensions a NumPy array has."""


def check_rank(type: Attribute) -> None:
    """Raise E6003 for a type of more dimensions than NumPy has."""
    rank = len(read_type(type)[1])
    if rank > MAX_RANK:
        raise error("E6003", f"rank {rank} is not supported on numpy, expected at most {MAX_RANK}", backend="numpy")


def check_need(need: Need, limit: int) -> None:
    """Raise E6004 if `need` is more than `limit` bytes."""
    if need.bytes > limit and need.type is not None:
        raise allocation_error(need.type, f"{need.bytes} bytes are needed at once, {limit} are there")


def allocation_error(type: Attribute, reason: str) -> MindError:
    """E6004 for a value of `type`."""
    dtype, shape = read_type(type)
    message = f"cannot allocate {dtype}{list(shape)} on numpy: {reason}"
    return error("E6004", message, shape=shape, dtype=str(dtype), backend="numpy")


def _padded_and_windows(x: Shape, filter: Shape, out: Shape, pads: Shape) -> int:
    """Elements of the padded input and of its windows."""
    padded = x[0] * (x[1] + pads[0] + pads[1]) * (x[2] + pads[2] + pads[3]) * x[3]
    return padded + prod(out[:3]) * prod(filter[:3])


_Shapes = Callable[[Shape, Shape, Shape], tuple[Shape, Shape, Shape]]

_CONVOLUTIONS: Mapping[str, _Shapes] = {
    "k.conv2d": lambda x, filter, out: (x, filter, out),
    "k.conv2d_backward_input": lambda g, filter, x: (x, filter, g),
    "k.conv2d_backward_filter": lambda x, g, filter: (x, filter, g),
}
"""Which of the two operands and the result are the input, the filter and the output of the convolution."""


def _scratch(op: CallOp) -> int:
    """Bytes a kernel needs beside its result."""
    if (order := _CONVOLUTIONS.get(op.function)) is None:
        return 0
    read = [read_type(v.type) for v in (*op.operands, *op.results)]
    pads: Any = op.values()["pads"]
    return read[0][0].size * _padded_and_windows(*order(*(shape for _, shape in read)), pads)
