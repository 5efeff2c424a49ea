"""
Symbolic extents: expressions of dimension names, facts about them, and sound answers to questions.

Pure: nothing here knows xDSL. docs/dynamic.md says what is decided.
"""

from .declarations import Declaration, declare, parse_declaration, relation_text, substituted_texts
from .expr import ZERO, Atom, Extent, TooLarge, extent, symbol
from .facts import Contradiction, Facts
from .operations import ceildiv, evaluate, floordiv, max_of, min_of, mod, substitute, without_quotient
from .text import ExtentSyntaxError, extent_text, parse_extent

__all__ = [
    "ZERO",
    "Atom",
    "Contradiction",
    "Declaration",
    "Extent",
    "ExtentSyntaxError",
    "Facts",
    "TooLarge",
    "ceildiv",
    "declare",
    "evaluate",
    "extent",
    "extent_text",
    "floordiv",
    "max_of",
    "min_of",
    "mod",
    "parse_declaration",
    "parse_extent",
    "relation_text",
    "substitute",
    "substituted_texts",
    "symbol",
    "without_quotient",
]
