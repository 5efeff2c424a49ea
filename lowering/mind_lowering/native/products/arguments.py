"""
Arguments of the kernels of a product: addresses by name, each part of a product its own.

The parts are `panels`, which copies the right operand, `rows`, which copies the left one, and `product`, which multiplies.
"""

from __future__ import annotations

from ..ir import Function
from ..kernel_text import argument
from ..views import View
from .chain import Finish
from .product import EmittedProduct, arguments


def addresses_of(f: Function, product: EmittedProduct, *names: str) -> dict[str, str]:
    """The addresses of those of some arguments that there are, in a function of the part that multiplies."""
    return {name: argument(f, i, name) for i, name in enumerate(arguments(product)) if name in names}


def finish_of(f: Function, product: EmittedProduct) -> Finish:
    """The epilogue, begun in a function of the part that multiplies."""
    first = len(arguments(product))
    return product.finish(f, [argument(f, first + i, view_name(view)) for i, view in enumerate(product.epilogue.views)])


def view_name(view: View) -> str:
    """Return the name of the address of an epilogue's view."""
    return f"e{len(view.shape)}"
