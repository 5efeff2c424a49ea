"""
Arguments of the kernels of a product: addresses by name, each part of a product its own.

The parts are `panels`, which copies the right operand, `rows`, which copies the left one, and `product`, which multiplies.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Function
from ..kernel_text import argument
from ..views import View
from .chain import Finish
from .product import EmittedProduct, arguments
from .weights import Corner, corner


def addresses_of(f: Function, product: EmittedProduct, *names: str) -> dict[str, str]:
    """The addresses of those of some arguments that there are, in a function of the part that multiplies."""
    return {name: argument(f, i, name) for i, name in enumerate(arguments(product)) if name in names}


def corner_of(f: Function, product: EmittedProduct, batch: Sequence[str], step: str = "0", column: str = "0") -> Corner:
    """Return the corner of the right operand that is read by a function of the part that multiplies."""
    names = list(arguments(product))
    first = names.index("w0") if "w0" in names else 0
    return corner(f, product, first, batch, step, column)


def finish_of(f: Function, product: EmittedProduct) -> Finish:
    """The epilogue, begun in a function of the part that multiplies."""
    first = len(arguments(product))
    return product.finish(f, [argument(f, first + i, view_name(view)) for i, view in enumerate(product.epilogue.views)])


def view_name(view: View) -> str:
    """Return the name of the address of an epilogue's view."""
    return f"e{len(view.shape)}"
