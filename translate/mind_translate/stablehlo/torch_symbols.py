"""
Sizes as torch-mlir states them: symbols with ranges, and an affine map of symbols for the dimensions of a value.

    %s = torch.symbolic_int "T" {min_val = 2, max_val = 1024} : !torch.int
    torch.bind_symbolic_shape %x, [%s], affine_map<()[s0] -> (s0 * 2, 4)> : tensor<?x4xf32>

Dimensions of arguments get these names and expressions, symbols of arguments a declared range. A least size of 2 says that
PyTorch treats 0 and 1 apart, not that the program demands it; a most of 2^63 - 1 says nothing. Bindings of other values follow
from these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr, AffineSymExpr

from mind_dialect.errors import brief, error
from mind_dialect.extents import Extent, TooLarge
from mind_dialect.extents.dims import Dim, dim_of
from mind_dialect.extents.expr import extent, symbol
from mind_dialect.extents.operations import ceildiv, floordiv, has_value, mod
from mind_dialect.ptir.types import is_dim_name

from .foreign import name_of

SYMBOL, BINDING = "torch.symbolic_int", "torch.bind_symbolic_shape"
TORCH_SYMBOLS = frozenset({SYMBOL, BINDING})
NO_LIMIT = (1 << 63) - 1
APART = 2
"""The least size that PyTorch states of every dimension which is not 0 or 1 where it was recorded."""


def bound_dims(argument: SSAValue) -> list[Dim] | None:
    """
    Return the dimensions that a binding states of an argument; None without one.

    E4000 for a binding that is none: another number of dimensions or symbols, or an expression that is no size for all symbols.
    """
    for use in argument.uses:
        op = use.operation
        if name_of(op) == BINDING and use.index == 0:
            return _dims(op)
    return None


def symbol_facts(block: Block) -> Iterator[str]:
    """Yield what the symbols of a function are declared to be."""
    for op in block.ops:
        if name_of(op) == SYMBOL:
            name, (least, most) = _symbol(op), (_number(op, "min_val"), _number(op, "max_val"))
            if least is not None and least > APART:
                yield f"{name} >= {least}"
            if most is not None and most < NO_LIMIT:
                yield f"{name} <= {most}"


def _attribute(op: Operation, name: str) -> Attribute | None:
    return op.properties.get(name) or op.attributes.get(name)


def _number(op: Operation, name: str) -> int | None:
    found = _attribute(op, name)
    return cast("IntegerAttr[Any]", found).value.data if isinstance(found, IntegerAttr) else None


def _symbol(op: Operation | Block) -> str:
    """Return the name of a symbol, as a dimension can have it."""
    found = _attribute(op, "symbol_name") if isinstance(op, Operation) and name_of(op) == SYMBOL else None
    if not isinstance(found, StringAttr) or not is_dim_name(found.data):
        shown = brief(found.data) if isinstance(found, StringAttr) else "nothing"
        raise _wrong(f"a symbol called {shown}", "a name of letters, digits and underscores")
    return found.data


def _wrong(given: str, expected: str) -> Exception:
    return error("E4000", f"{BINDING} has {given}, expected {expected}", given=given, expected=expected)


def _dims(op: Operation) -> list[Dim]:
    shapes = _attribute(op, "shape_expressions")
    names = [_symbol(v.owner) for v in op.operands[1:]]
    if not isinstance(shapes, AffineMapAttr) or shapes.data.num_dims or shapes.data.num_symbols != len(names):
        raise _wrong("other shape expressions", f"a map of {len(names)} symbols")
    found: list[Dim] = []
    for e in shapes.data.results:
        try:
            size = _extent(e, names)
        except (TooLarge, ZeroDivisionError):
            size = None
        if size is None or not has_value(size):
            raise _wrong(f"the size {e}", "an expression of symbols, divided by positive numbers only")
        found.append(dim_of(size))
    return found


_OPERATIONS: Mapping[AffineBinaryOpKind, Any] = {
    AffineBinaryOpKind.Add: Extent.__add__,
    AffineBinaryOpKind.Mul: Extent.__mul__,
    AffineBinaryOpKind.Mod: mod,
    AffineBinaryOpKind.FloorDiv: floordiv,
    AffineBinaryOpKind.CeilDiv: ceildiv,
}


def _extent(e: AffineExpr, names: Sequence[str]) -> Extent | None:
    """Return an affine expression as a size; None for a dimension in it."""
    match e:
        case AffineConstantExpr():
            return extent(e.value)
        case AffineSymExpr():
            return symbol(names[e.position])
        case AffineBinaryOpExpr():
            a, b = _extent(e.lhs, names), _extent(e.rhs, names)
            return None if a is None or b is None else _OPERATIONS[e.kind](a, b)
        case _:
            return None
