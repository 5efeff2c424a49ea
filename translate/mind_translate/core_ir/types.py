"""The type of a value as text: `tensor<f32[2, 3]>`; two other spellings are read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from mind_dialect.errors import brief, error
from mind_dialect.types import Shape, dtype_named, read_type, tensor_type

TYPE_TOKEN = r'[Tt]ensor<[^<>"\#]*>(?:\[[^\[\]"\#]*\])?'
"""Pattern of the tokens that the lexer takes for a type; `parse_type` says whether one is."""

_TYPE = re.compile(r"[Tt]ensor<\s*(\w+)\s*(?:,?\s*\[([^\[\]]*)\]\s*)?>(?:\[([^\[\]]*)\])?", re.ASCII)
_EXTENT = re.compile(r"[ \t]*(-?[0-9]+|\?)[ \t]*")
_EXTENTS = range(1 << 63)


def type_text(type: Attribute) -> str:
    """
    A Core IR type in the reference encoding; the errors of `read_type` for any other.

    >>> from xdsl.dialects.builtin import f32
    >>> type_text(TensorType(f32, [2, 3])), type_text(TensorType(f32, []))
    ('tensor<f32[2, 3]>', 'tensor<f32[]>')
    """
    dtype, shape = read_type(type)
    return f"tensor<{dtype}{list(shape)}>"


def parse_type(text: str) -> TensorType:
    """
    Read a type: `tensor<f32[2, 3]>`, `Tensor<f32, [2, 3]>` or `tensor<f32>[2, 3]`.

    Raises E1007 for another form, E2005 for an unknown dtype, E3006 for a dynamic, negative or too large extent.

    >>> str(parse_type("Tensor<f32, [2, 3]>")), str(parse_type("tensor<i64>[]"))
    ('tensor<2x3xf32>', 'tensor<i64>')
    """
    match = _TYPE.fullmatch(text)
    if match is None or (match[2] is None) == (match[3] is None):
        raise error("E1007", f"{brief(text)} is not a type, expected a form like tensor<f32[2, 3]>")
    dtype = dtype_named(match[1])
    return tensor_type(dtype, _extents(match[2] if match[3] is None else match[3]))


def _extents(text: str) -> Shape:
    if not text.strip():
        return ()
    parts: list[int | str] = []
    for part in text.split(","):
        if (match := _EXTENT.fullmatch(part)) is None:
            raise error("E1007", f"{brief(part.strip())!r} is not an extent, expected a number")
        parts.append(match[1] if match[1] == "?" or len(match[1]) > 20 else int(match[1]))
    return extents(parts)


def extents(values: Sequence[object]) -> Shape:
    """
    A shape that a static type can have; E3006 for what is no number in 0 .. 2^63 - 1.

    >>> extents([2, "?"])
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3006: extent ? at 1 in [2, '?'], expected 1 to 2^63 - 1, or 0 behind an empty slice
    """
    for i, n in enumerate(values):
        if not isinstance(n, int) or isinstance(n, bool) or n not in _EXTENTS:
            expected = "expected 1 to 2^63 - 1, or 0 behind an empty slice"
            message = f"extent {brief(n)} at {i} in {brief(list(values))}, {expected}"
            raise error("E3006", message, shape=brief(list(values)), index=i, value=brief(n))
    return tuple(n for n in values if isinstance(n, int))
