"""
Arguments of the kernels of a product: addresses by name, each part of a product its own.

The parts are `panels`, which copies the right operand, `rows`, which copies the left one, and `product`, which multiplies.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Function
from ..kernel_text import argument
from ..views import View
from .product import Finish, Product
from .weights import Corner, corner


def arguments(product: Product) -> dict[str, View]:
    """Return the arguments of the part that multiplies, apart from what its epilogue needs."""
    cut, found = product.cut, dict[str, View]()
    if not cut.whole_lhs:
        found["lhs"] = product.lhs
    if not cut.whole_rhs:
        found["rhs"] = product.rhs
    if "rhs" in found and product.prologue is not None:
        found.update((f"w{i}", view) for i, view in enumerate(product.prologue.reads))
    for name, view in (("lhs_copy", product.lhs_copy), ("rhs_copy", product.rhs_copy), ("partial", product.partial)):
        if view is not None:
            found[name] = view
    return found


def addresses_of(f: Function, product: Product, *names: str) -> dict[str, str]:
    """The addresses of those of some arguments that there are, in a function of the part that multiplies."""
    return {name: argument(f, i, name) for i, name in enumerate(arguments(product)) if name in names}


def corner_of(f: Function, product: Product, batch: Sequence[str], step: str = "0", column: str = "0") -> Corner:
    """Return the corner of the right operand that is read by a function of the part that multiplies."""
    names = list(arguments(product))
    first = names.index("w0") if "w0" in names else 0
    return corner(f, product.rhs, product.prologue, first, batch, step, column)


def finish_of(f: Function, product: Product) -> Finish:
    """The epilogue, begun in a function of the part that multiplies."""
    first = len(arguments(product))
    epilogue = product.epilogue
    return epilogue.begin(f, [argument(f, first + i, view_name(view)) for i, view in enumerate(epilogue.views)])


def view_name(view: View) -> str:
    """Return the name of the address of an epilogue's view."""
    return f"e{len(view.shape)}"
