"""
The text of the kernels of a product: one for each of its parts, such as packed panels and tiles.
"""

from __future__ import annotations

from collections.abc import Callable

from ..failures import Failure, Sites
from ..ir import Function
from ..target_info import TargetInfo
from .dot import emit_dots
from .epilogue import emitted, look_at_flag
from .kernels import ProductStep
from .loops import emit_tiles
from .pack import emit_panels, emit_rows
from .product import EmittedProduct
from .stream import emit_stream
from .sums import emit_sums

PARTS: dict[str, Callable[[Function, TargetInfo, EmittedProduct], int]] = {
    **{"panels": emit_panels, "rows": emit_rows, "dots": emit_dots, "stream": emit_stream},
    **{"sums": emit_sums, "product": emit_tiles},
}
"""By part of a product."""


def emit_product(f: Function, host: TargetInfo, step: ProductStep, sites: Sites) -> int:
    """Emit a part of a product; how many units of work it has."""
    watched = host.checked and (step.product.epilogue.words or step.product.prologue is not None)
    if watched:
        sites.add(Failure.OUTSIDE, None)
    units = PARTS[step.part](f, host, emitted(step.product))
    if watched:
        look_at_flag(f)
    f.ret("0")
    return units
