"""Names of the model in messages, in text and as dimensions."""

from __future__ import annotations

import re

from xdsl.ir import SSAValue

from mind_dialect.errors import brief
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
