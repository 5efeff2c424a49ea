"""
The two textual forms of PTIR programs: the display form of dumps, and the snippets that hold one small function.

`parse_ptir_text` reads either, by its first word.
"""

from __future__ import annotations

from typing import IO

from xdsl.dialects.builtin import ModuleOp

from mind_dialect.source_text import decode

from .bindings import Binding, bind, extents
from .display import PtirTextTarget, print_ptir_text
from .display_reader import parse_display
from .snippet import PtirSnippetTarget, print_snippet
from .snippet_reader import parse_snippet

__all__ = [
    "Binding",
    "PtirSnippetTarget",
    "PtirTextTarget",
    "bind",
    "extents",
    "parse_display",
    "parse_ptir_text",
    "parse_snippet",
    "print_ptir_text",
    "print_snippet",
    "read_ptir_text",
]


def parse_ptir_text(source: str | bytes, name: str = "<input>", *, strict: bool = False, lenient: bool = False) -> ModuleOp:
    """Read a text in the display form, or a snippet without placeholders if it starts with `func`."""
    text = decode(source, name)
    if text.lstrip().startswith("func"):
        return parse_snippet(text, None, name, strict=strict)
    return parse_display(text, name, strict=strict, lenient=lenient)


def read_ptir_text(io: IO[bytes]) -> ModuleOp:
    """The tools' frontend for `.ptir`."""
    return parse_ptir_text(io.read(), str(getattr(io, "name", "<input>")))
