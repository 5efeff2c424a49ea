"""Facts about addresses that are known before the run: their order, their alignment, and whether two are one."""

from __future__ import annotations

from math import gcd

from xdsl.ir import SSAValue

from ...launch.control_ops import AtOp
from ...launch.liveness import base, offset
from ...launch.memory_ops import ViewOp
from ...launch.ref import read_ref
from ..launching import ALIGNMENT


def is_ordered(value: SSAValue) -> bool:
    """Return whether the elements at an address are one after the other in row-major order."""
    layout = read_ref(value.type)
    return not layout.count or layout.is_row_major


def are_same(a: SSAValue, b: SSAValue) -> bool:
    """Return whether two addresses of one shape are those of the same elements."""
    if a is b:
        return True
    x, y = read_ref(a.type), read_ref(b.type)
    same = all(n == 1 or s == t for n, s, t in zip(x.shape, x.strides, y.strides, strict=True))
    return base(a) is base(b) and offset(a) is not None and offset(a) == offset(b) and (same or not x.count)


def alignment(value: SSAValue) -> int:
    """Return the bytes that an address is a multiple of, up to `ALIGNMENT`, as far as that is known before the run."""
    owner = value.owner
    if not read_ref(value.type).count:
        return ALIGNMENT
    if isinstance(owner, ViewOp):
        return gcd(alignment(owner.source), owner.word("offset", 0) * read_ref(value.type).dtype.size)
    if isinstance(owner, AtOp):
        source = read_ref(owner.source.type)
        return gcd(alignment(owner.source), source.strides[0] * source.dtype.size)
    return ALIGNMENT
