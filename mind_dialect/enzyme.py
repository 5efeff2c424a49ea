"""
The calls of Enzyme's MLIR dialect that stand for derivatives: `enzyme.autodiff` (reverse) and `enzyme.fwddiff` (forward mode).

    %dx = enzyme.autodiff @f(%x, %seed) {activity = [#enzyme<activity enzyme_active>],
                                         ret_activity = [#enzyme<activity enzyme_activenoneed>]} : (...) -> ...

`activity` has a word per argument of the function, `ret_activity` one per result; the pass `lower-enzyme` says what the words ask
for. The spellings of all versions of Enzyme are read: properties as `{...}`, `<{...}>` or `<...>`, words as
`#enzyme<activity word>` or `#enzyme.activity<word>`. Ops print in the generic form, which each version reads.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, FlatSymbolRefAttrConstr, IntegerAttr, SymbolRefAttr
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser

from .errors import brief, error
from .stablehlo.dialect import ForeignEnumeration

ACTIVITIES = tuple(f"enzyme_{word}" for word in ("active", "dup", "const", "dupnoneed", "activenoneed", "constnoneed"))
"""The words of `activity` and `ret_activity`."""


@irdl_attr_definition
class Activity(ForeignEnumeration):
    """Activity of an argument or a result: its part in a derivative."""

    name = "enzyme.activity"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """Read one of the words, in brackets or not."""
        word = super().parse_parameter(parser).strip("<> ")
        if word not in ACTIVITIES:
            parser.raise_error(f"unknown activity {brief(word)!r}, expected one of {', '.join(ACTIVITIES)}")
        return word


class DerivativeCall(IRDLOperation):
    """A call of a derivative of a function."""

    inputs = var_operand_def()
    outputs = var_result_def()
    fn = prop_def(FlatSymbolRefAttrConstr)
    activity = prop_def(ArrayAttr[Activity])
    ret_activity = opt_prop_def(ArrayAttr[Activity])
    width = opt_prop_def(base(IntegerAttr))
    strong_zero = opt_prop_def(BoolAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        """Read what follows the op's name in the pretty form."""
        fn = parser.parse_symbol_name()
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        properties: dict[str, Attribute] = {"fn": SymbolRefAttr(fn)}
        if parser.parse_optional_punctuation("<") is not None:
            properties |= parser.parse_optional_attr_dict() or dict(_entries(parser))
            parser.parse_punctuation(">")
        attributes = parser.parse_optional_attr_dict()
        known = cls.get_irdl_definition().properties
        properties |= {name: attributes.pop(name) for name in list(attributes) if name in known}
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_function_type()
        inputs = parser.resolve_operands(operands, types.inputs.data, position)
        return cls.create(operands=inputs, result_types=types.outputs.data, properties=properties, attributes=attributes)

    def words(self, name: str) -> list[str]:
        """The words of `activity` or `ret_activity`. E8002 for a list that is missing."""
        if not isinstance(given := self.properties.get(name), ArrayAttr):
            message = f"{self.name} without {name}, expected one activity per {'argument' if name == 'activity' else 'result'}"
            raise error("E8002", message, operation=self, attribute=name, value=None)
        return [word.data for word in cast("ArrayAttr[Activity]", given)]


def _entries(parser: Parser) -> list[tuple[str, Attribute]]:
    """Read `name = value, ...` up to a bracket."""

    def entry() -> tuple[str, Attribute]:
        name = parser.parse_identifier()
        parser.parse_punctuation("=")
        return name, parser.parse_attribute()

    return parser.parse_comma_separated_list(parser.Delimiter.NONE, entry)


@irdl_op_definition
class AutodiffOp(DerivativeCall):
    """Reverse mode: arguments and the adjoints of results in, results and the adjoints of arguments out."""

    name = "enzyme.autodiff"


@irdl_op_definition
class FwddiffOp(DerivativeCall):
    """Forward mode: arguments, each with its tangent, in; results, each with its tangent, out."""

    name = "enzyme.fwddiff"


Enzyme = Dialect("enzyme", [AutodiffOp, FwddiffOp], [Activity])
