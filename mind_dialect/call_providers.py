"""
Packages that define custom calls, imported when a program first needs one of theirs.

An installed package names a module in the entry-point group `mind_dialect.custom_calls`, under the first parts of its targets, as
in `my_project = "my_project.calls"`. The module registers kernels, derivatives and batching when it is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from .errors import error

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
GROUP = "mind_dialect.custom_calls"


@lru_cache(maxsize=1)
def _providers() -> dict[str, EntryPoint]:
    """The modules of installed packages, by the beginnings of their targets."""
    from importlib.metadata import entry_points  # slow to load

    return {entry.name: entry for entry in entry_points(group=GROUP)}


@lru_cache(maxsize=64)
def _imported(name: str) -> None:
    try:
        _providers()[name].load()
    except Exception as e:  # whatever another package does when it is imported
        message = f"the custom calls {name}.* of an installed package cannot be loaded: {type(e).__name__}: {e}"
        raise error("E8007", message, target=name, known=sorted(_providers())) from e


def provided(table: Mapping[str, T], target: str) -> T | None:
    """
    Return the row of a target in a table that packages add to; None if there is none.

    Without a row, the module of the installed package that provides the target is imported, if there is one; E8007 if that fails.
    """
    return table.get(target) or (table.get(target) if _provide(target) else None)


def _provide(target: str) -> bool:
    parts = target.split(".")
    for end in range(len(parts) - 1, 0, -1):
        if (name := ".".join(parts[:end])) in _providers():
            _imported(name)
            return True
    return False
