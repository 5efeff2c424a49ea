"""Names of the model in messages, in text and as dimensions."""

from __future__ import annotations

import re

from xdsl.ir import SSAValue

from mind_dialect.errors import brief
from mind_dialect.extents import ExtentSyntaxError, TooLarge
from mind_dialect.extents.dims import Dim, canonical, is_expression, names_in
from mind_dialect.ptir.types import is_dim_name


def shown_name(name: str) -> str:
    """A name of the model, as messages and locations show it."""
    return brief(name) if name.isprintable() else brief(ascii(name)[1:-1])


def hint_of(name: str) -> str | None:
    """
    A name as MLIR text can write it; None for one that has no such letters.

    >>> hint_of("encoder/layer.0:out"), hint_of("12"), hint_of("x")
    ('encoder_layer.0_out', None, 'x')
    """
    found = re.sub(r"[^A-Za-z0-9_$.-]", "_", name)[:200]
    return (
        found if found and not found[0].isdigit() and SSAValue.is_valid_name(found) and not re.search(r"_\d+$", found) else None
    )


def dim_name(name: str, fallback: str) -> str:
    """
    A `dim_param` as the name of a dimension.

    >>> dim_name("batch", "x_0"), dim_name("seq len", "x_0"), dim_name("1+", "x_0")
    ('batch', 'seq_len', 'x_0')
    """
    found = re.sub(r"\W", "_", name, flags=re.ASCII)[:100]
    return found if is_dim_name(found) else fallback


_SPELLINGS = (
    (re.compile(r"\bMax\("), "max("),
    (re.compile(r"\bMin\("), "min("),
    (re.compile(r"//"), " floordiv "),
    (re.compile(r"%"), " mod "),
)


def dim_expression(text: str) -> Dim | None:
    """
    A `dim_param` that is an expression, as some exporters write it; None for what is none.

    >>> dim_expression("2*batch"), dim_expression("seq//2 + 1"), dim_expression("Max(a, b)"), dim_expression("batch")
    ('2*batch', '(seq floordiv 2)+1', 'max(a,b)', None)
    >>> dim_expression("seq len"), dim_expression("a/b"), dim_expression("")
    (None, None, None)
    """
    for spelling, ours in _SPELLINGS:
        text = spelling.sub(ours, text)
    try:
        found = canonical(text)
    except (ExtentSyntaxError, TooLarge):
        return None
    return found if is_expression(found) and all(map(is_dim_name, names_in(found))) else None
