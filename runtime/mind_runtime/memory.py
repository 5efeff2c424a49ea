"""
The memory that a program may take: a need that is known before it runs, held against what is there.

An allocation that cannot succeed must not be tried: an operating system which promises more than it has takes the process
down later, or the machine. So a program that would need more than the limit is refused with E6004.
"""

from __future__ import annotations

import os
from pathlib import Path

from xdsl.ir import Attribute

from mind_dialect.errors import MindError, error
from mind_lowering.xp.peak import Need, read_any

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
        raise allocation_error(need.type, f"{need.bytes} bytes are needed at once, {limit} are there")


def allocation_error(type: Attribute, reason: str) -> MindError:
    """E6004 for a value of `type`."""
    dtype, shape = read_any(type)
    message = f"cannot allocate {dtype}{list(shape)} on numpy: {reason}"
    return error("E6004", message, shape=shape, dtype=str(dtype), backend="numpy")
