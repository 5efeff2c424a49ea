"""
The rewrites that xDSL's `canonicalize` applies to our ops: those of our own passes.

A dialect knows no pass. The package of the passes names a rewrite pattern for each dialect in the entry-point group
`mind_dialect.canonicalization`, as in `mind = "mind_passes.canonicalize:CanonicalizeCoreOp"`; it is imported when a driver first
asks for it. Without the package there is none, and xDSL's driver leaves our ops as they are.
"""

from __future__ import annotations

from functools import cache

from xdsl.pattern_rewriter import RewritePattern

GROUP = "mind_dialect.canonicalization"


@cache
def canonicalization_patterns(dialect: str) -> tuple[RewritePattern, ...]:
    """Return the patterns that installed packages provide for the ops of a dialect."""
    from importlib.metadata import entry_points  # slow to load

    return tuple(entry.load()() for entry in entry_points(group=GROUP, name=dialect))
