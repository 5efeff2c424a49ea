"""Print short forms of long constants for `--mlir-elide-elementsattrs-if-larger`."""

from __future__ import annotations

import math
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, ModuleOp

from mind_dialect.dominance import walk
from mind_dialect.literals import LiteralAttr
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.stablehlo.literal import DenseAttr

Constant = DenseIntOrFPElementsAttr | DenseAttr | LiteralAttr | PtirLiteralAttr


def elided(module: ModuleOp, most: int) -> ModuleOp:
    """Return a copy of `module` for printing: no numbers in constants of more than `most` elements that are not all equal."""
    shown = module.clone()
    for op in walk(shown):
        for held in (op.attributes, op.properties):
            for name, value in held.items():
                if isinstance(value, Constant) and _is_long(cast(Constant, value), most):
                    held[name] = DenseResourceAttr.from_params("__elided__", cast(Any, value).type)
    return shown


def _is_long(value: Constant, most: int) -> bool:
    """Return whether a constant has more than `most` elements, and not one for all of them."""
    count = math.prod(cast(Any, value).type.get_shape())
    if count <= most or (isinstance(value, LiteralAttr | PtirLiteralAttr) and value.is_fill):
        return False
    data = value.as_read().data.data if isinstance(value, DenseAttr) else value.data.data
    return data != data[: len(data) // count] * count
