"""The `{{name}}` placeholders of snippets: texts to fill in before anything is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from xdsl.utils.lexer import Input, Span

from mind_dialect.errors import MindError, MindParseError, error
from mind_dialect.ptir.types import PtirDType

Binding = bool | int | str | PtirDType | Sequence[int]
_PLACEHOLDER = re.compile(r"\{\{([^{}\n]*)\}\}|\{\{")


def extents(shape: Sequence[int]) -> str:
    """
    A shape as types write it.

    >>> extents((2, 3))
    '2x3'
    """
    return "x".join(map(str, shape))


def snippet_dtype(dtype: PtirDType) -> str:
    """
    A dtype as snippets spell it.

    >>> from mind_dialect.ptir.types import F8E4M3, SI32
    >>> snippet_dtype(F8E4M3), snippet_dtype(SI32)
    ('fp8e4m3', 'si32')
    """
    return dtype.name.replace("_", "")


def bind(text: str, bindings: Mapping[str, Binding], name: str = "<input>") -> str:
    """
    `text` with each placeholder filled in: a dtype as its name, a truth as `true`, several numbers as `2, 3`, text as it is.

    A shape in a type is text, as `extents` makes it. E2002 for a placeholder that nothing binds.

    >>> from mind_dialect.ptir.types import F32
    >>> bind("tensor<{{dtype}}, {{shape}}> axes[{{axes}}]", {"dtype": F32, "shape": extents((2, 3)), "axes": (0, 1)})
    'tensor<f32, 2x3> axes[0, 1]'
    """

    def filled(match: re.Match[str]) -> str:
        key = (match[1] or "").strip()
        if match[1] is None or key not in bindings:
            known = sorted(bindings)
            err = error("E2002", f"{match[0][:60]!a} is not bound; bound are {known[:20]}", name=key[:60])
            raise MindParseError(Span(match.start(), match.end(), Input(text, name)), err)
        return _shown(key, bindings[key])

    return _PLACEHOLDER.sub(filled, text)


def _shown(key: str, value: Binding) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, PtirDType):
        return snippet_dtype(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        if "{{" in value or "\n" in value:
            raise _unfit(key, value)
        return value
    items: list[object] = list(value)
    if not all(isinstance(n, int) and not isinstance(n, bool) for n in items):
        raise _unfit(key, items)
    return ", ".join(map(str, items))


def _unfit(key: str, value: object) -> MindError:
    expected = "a number, a boolean, a dtype, numbers, or text of one line without placeholders"
    given = ascii(value)[:60]
    return error("E4000", f"{key} is bound to {given}, expected {expected}", given=given, expected=expected)
