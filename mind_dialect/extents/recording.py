"""
Record what a shape rule demands and computes while it runs on symbolic sizes.

A rule decides what it can. Inside of a `Recorder`, a demand that the known sizes leave open is kept instead of accepted, and a
size that no expression can hold gets a name of its own, so that a caller can check the one and compute the other when sizes are
known.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import NamedTuple, Self

Dim = int | str
INTERNAL = "δ"
"""First letter of the names that a recorder gives: no type can say them, and expressions can hold them."""


class Requirement(NamedTuple):
    """
    A demand that is open: of dimensions in a relation, or of shapes: that they are the `same`, or that the first `broadcasts`.

    `wording` is the message of the refusal, with `{lhs}` and `{rhs}` for the two dimensions.
    """

    a: Dim | tuple[Dim, ...]
    relation: str
    b: Dim | tuple[Dim, ...]
    code: str
    wording: str


class Computed(NamedTuple):
    """A size that is `a operation b`, of `+`, `-`, `*`, `//`, `max` and `min`."""

    operation: str
    a: Dim
    b: Dim


class Recorder:
    """
    A context in which rules record; names are unique for one recorder.

    >>> from mind_dialect import ptir_shapes
    >>> with Recorder() as recorder:
    ...     shape = ptir_shapes.concat(("A", "B"), ("C", "D"), axis=0)
    >>> shape, [need[:3] for need in recorder.requirements]
    (('A+C', 'B'), [('B', '==', 'D')])
    """

    def __init__(self) -> None:
        self.requirements: list[Requirement] = []
        self.computed: dict[str, Computed] = {}
        """The sizes that no expression holds, by the names that they got, in the order in which they can be computed."""
        self._count = 0
        self._tokens: list[Token[Recorder | None]] = []

    def __enter__(self) -> Self:
        self.requirements = []
        self._tokens.append(_RECORDER.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _RECORDER.reset(self._tokens.pop())

    def fresh(self) -> str:
        """Return a name that stands for a size of which nothing is known."""
        self._count += 1
        return f"{INTERNAL}{self._count}"

    def define(self, operation: str, a: Dim, b: Dim) -> str:
        """Return a name for a size that is computed from others."""
        name = self.fresh()
        self.computed[name] = Computed(operation, a, b)
        return name


_RECORDER: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


def recorder() -> Recorder | None:
    """Return the recorder of the innermost context, if there is one."""
    return _RECORDER.get()


def is_internal(dim: Dim) -> bool:
    """Return whether a dimension has a name that a recorder gave."""
    return isinstance(dim, str) and INTERNAL in dim
