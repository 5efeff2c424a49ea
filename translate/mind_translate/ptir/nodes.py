"""JSON nodes: what the standard library makes of a text, read with errors that name their location."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from mind_dialect.errors import brief

from .misplaced import Misplaced, misplaced

Node = Any
_SURROGATE = re.compile("[\ud800-\udfff]")


def shown(node: Node) -> str:
    """A node for a message, bounded however large it is."""
    if isinstance(node, dict):
        return f"an object of {len(cast(dict[str, Node], node))} fields"
    if isinstance(node, list):
        return f"a list of {len(cast(list[Node], node))}"
    if isinstance(node, str):
        return ascii(node[:60])
    return brief(node) if isinstance(node, int) and not isinstance(node, bool) else json.dumps(node)


def unexpected(expected: str, node: Node) -> Misplaced:
    """E4000: another kind of node."""
    return misplaced("E4000", f"expected {expected}, found {shown(node)}", given=shown(node), expected=expected)


def fields(node: Node, required: Sequence[str], optional: Sequence[str] = ()) -> Mapping[str, Node]:
    """The fields of an object; E4000 for one that is missing or unknown."""
    if not isinstance(node, dict):
        raise unexpected(f"an object with {[*required, *optional]}", node)
    found = cast(dict[str, Node], node)
    for name in required:
        if name not in found:
            given = sorted(found)[:20]
            raise misplaced("E4000", f"the field {name!r} is missing", given=given, expected=[*required])
    if len(found) != len(required):
        for name in found:
            if name not in required and name not in optional:
                expected = [*required, *optional]
                raise misplaced("E4000", f"unknown field {shown(name)}, expected {expected}", given=name[:60], expected=expected)
    return found


def tagged(node: Node, expected: str) -> tuple[str, Node]:
    """The tag and the payload of an enum's value; a bare string is a tag without payload."""
    if isinstance(node, str):
        return node, None
    if isinstance(node, dict) and len(cast(dict[str, Node], node)) == 1:
        return next(iter(cast(dict[str, Node], node).items()))
    raise unexpected(expected, node)


def items(node: Node, read: Callable[[Node], Any], expected: str = "a list") -> list[Any]:
    """A list of what `read` makes of each item; its errors are placed."""
    if not isinstance(node, list):
        raise unexpected(expected, node)
    found: list[Any] = []
    try:
        for item in cast(list[Node], node):
            found.append(read(item))
    except Misplaced as e:
        raise e.under(len(found)) from None
    return found


def under(key: str, read: Callable[[Node], Any], node: Node) -> Any:
    """Return what `read` makes of the part of a node that `key` leads to."""
    try:
        return read(node)
    except Misplaced as e:
        raise e.under(key) from None


def text(node: Node, expected: str = "a string") -> str:
    """A string that UTF-8 can hold."""
    if not isinstance(node, str):
        raise unexpected(expected, node)
    if (half := _SURROGATE.search(node)) is not None:
        escape = ascii(half[0])[1:-1]
        raise misplaced("E1004", f"{escape} is half of a surrogate pair", escape=escape)
    return node


def real(node: Node) -> float:
    """A float: a number, or `"Infinity"`, `"-Infinity"`, `"NaN"`. E4005 for `null`, which serde_json writes for these."""
    if isinstance(node, float):
        return node
    if isinstance(node, int) and not isinstance(node, bool):
        try:
            return float(node)
        except OverflowError:
            pass
    elif isinstance(node, str) and node in SPECIAL:
        return SPECIAL[node]
    issue = f"expected a number or one of {list(SPECIAL)}, found {shown(node)}"
    raise misplaced("E4005", issue, dtype="f64", issue=issue)


SPECIAL = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}


def real_node(value: float) -> Node:
    """The inverse of `real`."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def rust_real(value: float) -> str:
    """
    A float as Rust shows it.

    >>> rust_real(1e-7), rust_real(1e16), rust_real(-0.0), rust_real(float("-inf")), rust_real(float("nan"))
    ('1e-7', '1e16', '-0.0', '-inf', 'NaN')
    """
    if math.isnan(value):
        return "NaN"
    mantissa, e, exponent = repr(value).partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa


def rust_text(value: str) -> str:
    r"""
    A string as Rust shows it.

    >>> print(rust_text('a"b\n\x1f'))
    "a\"b\n\u{1f}"
    """
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in value) + '"'


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def rust_number(value: float) -> str:
    """A truth or a number as Rust shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else rust_real(value)
