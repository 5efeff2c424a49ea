"""
The memory that a program needs, known before it runs, held against what a machine has.

An allocation that cannot succeed must not be tried: an operating system which promises more than it has takes the process
down later, or the machine. So a program that would need more than the limit is refused with E6004.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import prod
from pathlib import Path

import numpy as np
from xdsl.ir import Attribute

from mind_dialect.errors import MindError, error
from mind_dialect.extents.dims import size_in
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_shapes import Dims
from mind_dialect.types import DType, Shape
from mind_dialect.types import read_type as read_core_type


@dataclass(frozen=True)
class Need:
    """The most bytes a function holds at once beyond its inputs, and the type of the value whose making needs them."""

    bytes: int
    type: Attribute | None


Sizes = Mapping[str, int]
"""The sizes of named dimensions."""


def extents(type: Attribute, sizes: Sizes) -> Shape:
    """The extents of a tensor type; what has no size counts as 1."""
    return tuple([n if isinstance(n, int) else _extent(n, sizes) for n in read_type(type).shape])


def _extent(dim: str, sizes: Sizes) -> int:
    found = size_in(dim, sizes)
    return 1 if found is None else found


def byte_count(type: Attribute, sizes: Sizes) -> int:
    """Bytes of the elements of a tensor type."""
    return read_type(type).dtype.size * prod(extents(type, sizes))


MAX_RANK = 64 if int(np.__version__.split(".")[0]) >= 2 else 32
"""The most dimensions a NumPy array has."""


def check_rank(type: Attribute) -> None:
    """Raise E6003 for a type of more dimensions than NumPy has."""
    rank = len(read_any(type)[1])
    if rank > MAX_RANK:
        raise error("E6003", f"rank {rank} is not supported on numpy, expected at most {MAX_RANK}", backend="numpy")


def read_any(type: Attribute) -> tuple[DType, Dims]:
    """The dtype and dimensions of a type of PTIR or of Core IR."""
    try:
        return read_type(type)
    except MindError:
        return read_core_type(type)


_GROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


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


def check_need(need: Need, limit: int) -> None:
    """Raise E6004 if `need` is more than `limit` bytes."""
    if need.bytes > limit and need.type is not None:
        raise allocation_error(need.type, f"{need.bytes} bytes are needed at once, {limit} are available")


def allocation_error(type: Attribute, reason: str) -> MindError:
    """E6004 for a value of `type`."""
    dtype, shape = read_any(type)
    message = f"cannot allocate {dtype}{list(shape)} on numpy: {reason}"
    return error("E6004", message, shape=shape, dtype=str(dtype), backend="numpy")
