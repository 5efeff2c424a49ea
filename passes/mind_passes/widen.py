"""
Programs with every floating-point type widened to f64, to hold derivatives against differences.

    widened(module)     a copy in which bf16, f16, f32 and 8-bit floats are f64, and cf32 is cf64

Literals keep their values. Only types change, so what depends on a width is not the same function: a cast to bf16 no longer
rounds, and a bit cast is refused by its verifier.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from mind_dialect.dominance import walk
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import CF64, DTYPE_OF_TYPE, F64, Kind, PtirDType
from mind_dialect.verify import verify

from .selection import own_copy

WIDEST = {Kind.FLOAT: F64, Kind.COMPLEX: CF64}


def widened(module: ModuleOp) -> ModuleOp:
    """
    Return a copy of a module of PTIR with f64 in place of narrower floats.

    E2001 for what is no module; the verifier's error where an op has no form in f64, as a bit cast.
    """
    copy = own_copy(module)
    for op in walk(copy):
        _widen(op)
    verify(copy)
    return copy


def _widen(op: Operation) -> None:
    for values in (op.results, *(block.args for region in op.regions for block in region.blocks)):
        for value in tuple(values):
            if (type := _wide(value.type)) != value.type:
                Rewriter.replace_value_with_new_type(value, type)
    for attributes in (op.properties, op.attributes):
        for name, attribute in attributes.items():
            attributes[name] = _wide(attribute)


def _wide(attribute: Attribute) -> Attribute:
    """Return an attribute with the wide types in place of the narrow ones in it."""
    if (dtype := DTYPE_OF_TYPE.get(attribute)) is not None:
        return _wide_dtype(dtype).type
    match attribute:
        case PtirLiteralAttr():
            return _wide_literal(attribute)
        case TensorType():
            return TensorType(_wide(attribute.element_type), attribute.shape, attribute.encoding)
        case FunctionType():
            return FunctionType.from_lists([*map(_wide, attribute.inputs)], [*map(_wide, attribute.outputs)])
        case ArrayAttr():
            return ArrayAttr([_wide(item) for item in attribute])
        case DictionaryAttr():
            return DictionaryAttr({name: _wide(item) for name, item in attribute.data.items()})
        case _:
            return attribute


def _wide_dtype(dtype: PtirDType) -> PtirDType:
    return WIDEST.get(dtype.kind, dtype)


def _wide_literal(literal: PtirLiteralAttr) -> PtirLiteralAttr:
    dtype, shape = literal.spec
    wide = _wide_dtype(dtype)
    if literal.is_fill:
        return PtirLiteralAttr.filled(wide, shape, literal.item())
    return PtirLiteralAttr.from_values(wide, shape, literal.values())
