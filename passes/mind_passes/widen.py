"""
Programs with every floating-point type widened to f64, to hold derivatives against differences.

    widened(module)     a copy in which bf16, f16, f32 and 8-bit floats are f64, and cf32 is cf64

Literals keep their values. Only types change, so what depends on a width is not the same function: a cast to bf16 no longer
rounds, and a bit cast is refused by its verifier.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from mind_dialect.dominance import walk
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import CF64, DTYPE_OF_TYPE, DTYPES, F64, Kind
from mind_dialect.verify import verify

from .selection import own_copy

WIDEST: Mapping[Attribute, Attribute] = {
    d.type: (F64 if d.kind is Kind.FLOAT else CF64).type for d in DTYPES.values() if d.kind in (Kind.FLOAT, Kind.COMPLEX)
}


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
            if (type := with_dtypes(value.type, WIDEST)) != value.type:
                Rewriter.replace_value_with_new_type(value, type)
    for attributes in (op.properties, op.attributes):
        for name, attribute in attributes.items():
            attributes[name] = with_dtypes(attribute, WIDEST)


def with_dtypes(attribute: Attribute, types: Mapping[Attribute, Attribute]) -> Attribute:
    """Return an attribute with other element types in place of those in it that `types` names; literals keep their values."""
    if attribute in DTYPE_OF_TYPE:
        return types.get(attribute, attribute)
    match attribute:
        case PtirLiteralAttr():
            return _literal(attribute, types)
        case TensorType():
            return TensorType(with_dtypes(attribute.element_type, types), attribute.shape, attribute.encoding)
        case FunctionType():
            inputs, outputs = ([with_dtypes(t, types) for t in side] for side in (attribute.inputs, attribute.outputs))
            return FunctionType.from_lists(inputs, outputs)
        case ArrayAttr():
            return ArrayAttr([with_dtypes(item, types) for item in attribute])
        case DictionaryAttr():
            return DictionaryAttr({name: with_dtypes(item, types) for name, item in attribute.data.items()})
        case _:
            return attribute


def _literal(literal: PtirLiteralAttr, types: Mapping[Attribute, Attribute]) -> PtirLiteralAttr:
    dtype, shape = literal.spec
    wide = DTYPE_OF_TYPE[types.get(dtype.type, dtype.type)]
    if wide is dtype:
        return literal
    if literal.is_fill:
        return PtirLiteralAttr.filled(wide, shape, literal.item())
    return PtirLiteralAttr.from_values(wide, shape, literal.values())
