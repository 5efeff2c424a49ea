"""
Names of entry points that depend on the program and on nothing else: the function's name and a hash of the canonical text.

The canonical text is the generic form of the module with values numbered in definition order and attributes sorted by name;
locations and the names of values are no part of it. So a program hashes alike in every process, after a text round trip, and
however its values are called. The hash is FNV-1a of 64 bits over the text in UTF-8. It differs from the one of the public
implementation, which hashes a serialised form of its own data structures.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.printer import Printer

from mind_dialect.dominance import values_of, walk

FNV_OFFSET = 0xCBF29CE484222325
FNV_PRIME = 0x100000001B3
_MASK = (1 << 64) - 1


def fnv1a_64(data: bytes) -> int:
    """
    The FNV-1a hash of 64 bits.

    >>> hex(fnv1a_64(b"")), hex(fnv1a_64(b"foobar"))
    ('0xcbf29ce484222325', '0x85944171f73967e8')
    """
    found = FNV_OFFSET
    for byte in data:
        found = (found ^ byte) * FNV_PRIME & _MASK
    return found


def sanitize_symbol(name: str) -> str:
    """
    `name` with all but ASCII letters, digits and underscores replaced, not beginning with a digit, not empty.

    >>> sanitize_symbol("my.model-2"), sanitize_symbol("2x"), sanitize_symbol("")
    ('my_model_2', '_2x', 'entry')
    """
    found = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{found}" if found[:1].isdigit() else found or "entry"


class _CanonicalPrinter(Printer):
    """The generic form with attributes sorted by name."""

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        super().print_attr_dict(dict(sorted(attr_dict.items())))


def canonical_text(module: ModuleOp) -> str:
    """The text that `program_hash` hashes."""
    work = module.clone()
    for op in walk(work):
        for region in op.regions:
            for block in region.blocks:
                block.name_hint = None
        for value in values_of(op):
            value.name_hint = None
    stream = io.StringIO()
    _CanonicalPrinter(stream, print_generic_format=True).print_op(work)
    return stream.getvalue()


def program_hash(module: ModuleOp) -> int:
    """FNV-1a of the canonical text, in time linear in it; function names count, names of values do not."""
    return fnv1a_64(canonical_text(module).encode())


def default_entrypoint_name(module: ModuleOp, function: str) -> str:
    """
    The name of the entry point that a target makes of a function: `sanitized__hash`, with 16 hexadecimal digits.

    The hash is of the whole module.
    """
    return entrypoint_name(function, program_hash(module))


def entrypoint_name(function: str, hash: int) -> str:
    """
    The name for a function, or for what a caller wants it called, in a program of this hash.

    >>> entrypoint_name("main.1", 0xabc)
    'main_1__0000000000000abc'
    """
    return f"{sanitize_symbol(function)}__{hash:016x}"
