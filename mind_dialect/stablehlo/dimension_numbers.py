"""Pretty forms of ops whose axes have roles: slices, products and convolutions of StableHLO."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import DenseIntElementsAttr, TensorType, i64
from xdsl.ir import Operation

from .syntax import ANGLES, Syntax, integer_array, integer_list, precisions

_CONV = re.compile(r"\[[^\]]*\]\s*x\s*\[[^\]]*\]\s*->\s*\[[^\]]*\]")
_WINDOW = {"stride": "window_strides", "lhs_dilate": "lhs_dilation", "rhs_dilate": "rhs_dilation"}


def slice_bounds(s: Syntax) -> Operation:
    """Read `%x [start:limit:stride, ...]`."""
    values = [s.parser.parse_unresolved_operand()]
    starts, limits, strides = list[int](), list[int](), list[int]()

    def dimension() -> None:
        starts.append(s.parser.parse_integer())
        s.punctuation(":")
        limits.append(s.parser.parse_integer())
        strides.append(s.parser.parse_integer() if s.accept(":") else 1)

    s.bracketed(dimension)
    for name, numbers in (("start_indices", starts), ("limit_indices", limits), ("strides", strides)):
        s.properties[name] = integer_array(numbers)
    return s.finish(values)


def dot_general(s: Syntax) -> Operation:
    """Read `dot_general`, with its batching and contracting dimensions."""
    values = s.values()
    dims: dict[str, list[int]] = {}
    while (word := s.parser.parse_optional_identifier()) is not None:
        s.punctuation("=")
        if word in ("batching_dims", "contracting_dims"):
            kind = word.removesuffix("_dims")
            dims[f"lhs_{kind}_dimensions"] = s.integers()
            s.keyword("x")
            dims[f"rhs_{kind}_dimensions"] = s.integers()
        elif word == "precision":
            s.properties["precision_config"] = precisions(s)
        else:
            s.properties[word] = s.parser.parse_attribute() if not s.at("<") else s.wrap("dot_algorithm", s.scan(ANGLES, "<...>"))
        if not s.accept(","):
            break
    s.properties["dot_dimension_numbers"] = s.wrap("dot", ", ".join(f"{name} = {v}" for name, v in dims.items()))
    return s.finish(values)


def convolution(s: Syntax) -> Operation:
    """Read `convolution`, with its dimension numbers and window."""
    values = s.parenthesized(s.parser.parse_unresolved_operand)
    s.keyword("dim_numbers")
    s.punctuation("=")
    s.properties["dimension_numbers"] = s.wrap("conv", s.scan(_CONV, "dimension numbers such as [b, 0, f]x[0, i, o]->[b, 0, f]"))
    if s.accept(","):
        s.keyword("window")
        s.punctuation("=")
        _window(s)
    return s.finish(values)


def _window(s: Syntax) -> None:
    """`{stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = .., rhs_dilate = .., reverse = [false, false]}`."""
    s.punctuation("{")
    while not s.at("}"):
        word = s.word()
        s.punctuation("=")
        if word == "pad":
            pairs = s.bracketed(s.integers)
            flat = [n for pair in pairs for n in pair]
            type = TensorType(i64, [len(pairs), 2])
            if len(flat) != 2 * len(pairs):
                s.parser.raise_error("expected pairs of integers")
            s.properties["padding"] = DenseIntElementsAttr.from_list(type, flat) if pairs else integer_array([])
        elif word == "reverse":
            flags = s.bracketed(lambda: s.parser.parse_optional_boolean() or (not s.at("false") and bool(_flag(s))))
            s.properties["window_reversal"] = integer_array(map(int, flags))
        elif word in _WINDOW:
            s.properties[_WINDOW[word]] = integer_list(s)
        else:
            s.parser.raise_error(f"expected one of pad, reverse, {', '.join(_WINDOW)}")
        if not s.accept(","):
            break
    s.punctuation("}")


def _flag(s: Syntax) -> int:
    return s.parser.parse_optional_integer(allow_boolean=False) or 0
