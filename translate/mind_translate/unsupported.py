"""
Parts of a program that PTIR cannot express, found by one walk and listed in one error: each op once, how often, where first.

Importers raise `Refused` for an op, go on with stand-ins for its results, and raise `error_of` what they collected at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from mind_dialect.errors import MindError, brief, error
from mind_dialect.locations import shown_location

MOST_SHOWN = 50
"""An error lists this many kinds of ops in full."""


@dataclass(unsafe_hash=True)  # not frozen: context managers assign the traceback of exceptions
class Refused(Exception):
    """An op that has no form in PTIR: the reason, and what its author can do."""

    reason: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.reason}; {self.advice}" if self.advice else self.reason


@dataclass
class Kind:
    """One op name with one reason, and where it stands."""

    name: str
    refused: Refused
    op: Operation | None
    place: str
    count: int = 1


@dataclass
class Unsupported:
    """All that one program holds without a form in PTIR."""

    kinds: dict[tuple[str, str], Kind] = field(default_factory=dict[tuple[str, str], Kind])

    def add(self, name: str, refused: Refused, op: Operation | None = None, place: str = "") -> None:
        """Count an op."""
        key = (name, refused.reason)
        if key in self.kinds:
            self.kinds[key].count += 1
        else:
            self.kinds[key] = Kind(name, refused, op, place or (shown_location(op.location) if op is not None else ""))

    def raise_if_any(self) -> None:
        """Raise the one error, if anything was counted."""
        if self.kinds:
            raise error_of(list(self.kinds.values()))


def error_of(kinds: Sequence[Kind]) -> MindError:
    """E8008 that lists every kind: name, count, first place, reason and advice."""
    lines = [_line(kind) for kind in kinds]
    some = lines[:MOST_SHOWN] + ([f"and {len(lines) - MOST_SHOWN} more kinds"] if len(lines) > MOST_SHOWN else [])
    total = sum(kind.count for kind in kinds)
    what = "1 op has" if total == 1 else f"{total} ops have"
    message = f"{what} no form in PTIR:" + "".join(f"\n  {line}" for line in some)
    return error("E8008", message, operation=kinds[0].op, target="ptir", diagnostics=lines)


def _line(kind: Kind) -> str:
    times = "" if kind.count == 1 else f", {kind.count} times"
    at = "" if not kind.place else f", at {kind.place}" if kind.count == 1 else f", first at {kind.place}"
    return f"{brief(kind.name)}{times}{at}: {kind.refused}"
