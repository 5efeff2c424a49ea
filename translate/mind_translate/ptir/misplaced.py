"""Errors of a part of something, and paths that lead to the part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mind_dialect.errors import MindError, error


class Misplaced(Exception):
    """A coded error of a part of something; `path` leads to the part, innermost last."""

    def __init__(self, error: MindError):
        super().__init__(str(error))
        self.error = error
        self.path: list[str | int] = []

    def under(self, *keys: str | int) -> Misplaced:
        """The same error, of a part of the part that `keys` lead to."""
        self.path[:0] = keys
        return self


def misplaced(code: str, message: str, **context: Any) -> Misplaced:
    """A coded error whose place the callers know."""
    return Misplaced(error(code, message, **context))


def shown_path(path: Sequence[str | int]) -> str:
    """
    A path into a JSON text.

    >>> shown_path(["functions", 0, "body", 3, "op", "Reduce", "axes"]), shown_path(["attrs", "a b"])
    ('functions[0].body[3].op.Reduce.axes', "attrs['a b']")
    """
    shown = ""
    for key in path:
        if isinstance(key, int):
            shown += f"[{key}]"
        elif key.isidentifier() and key.isascii():
            shown += f".{key}" if shown else key
        else:
            shown += f"[{key[:40]!r}]"
    return shown
