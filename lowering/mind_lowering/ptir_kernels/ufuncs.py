"""Array functions of elementwise ops, wherever a dtype is native to the array namespace."""

from __future__ import annotations

from mind_dialect.ptir import CompareOp
from mind_dialect.ptir.scalars import SCALARS

UFUNCS: dict[str, str] = {
    **{opcode: row.array for opcode, row in SCALARS.items() if row.array is not None},
    **{kind: kind for kind in CompareOp.KINDS},
}
"""By opcode, for `compare` by kind: the function `xp.NAME`, and the kernel `k.NAME` which takes every dtype."""

REDUCERS: dict[str, str] = {
    **{"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"},
    **{"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"},
}
"""The array function that each kind of reduction repeats."""
