"""
PyTorch in: programs of torch.export as PTIR modules.

One table per family of ops, keyed by the names of ATen's overloads; every op that is tagged core ATen has a row or a stated
reason. `mind_bridges.torch` exports modules and calls this.
"""

from __future__ import annotations

from .graph import DTYPE_NAMES, Exported, dtype_of, read_exported
from .table import DECOMPOSED, KEPT, KEPT_STATIC, ROWS, SIZES

__all__ = ["DECOMPOSED", "DTYPE_NAMES", "KEPT", "KEPT_STATIC", "ROWS", "SIZES", "Exported", "dtype_of", "read_exported"]
