"""
Generated code that takes arguments apart and puts results together, for one container structure.

`caller` writes a function that checks the structure, calls the program on the arrays behind the leaves, and builds the result. It
is as fast as such code written by hand; a mismatch raises `Miss` before anything runs. Keys and types stand in the function's
globals, never in its text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .array import Array
from .dtypes import DEFAULTS
from .kinds import number_type
from .trace import ACTIVE


class Miss(Exception):
    """The arguments are not of the structure that the code was generated for."""


MISSES: tuple[type[Exception], ...] = (AttributeError, KeyError, TypeError, Miss)


class _Writer:
    """Text of a function, and the objects that it names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "Miss": Miss,
            "Array": Array,
            "new": object.__new__,
            "active": ACTIVE.get,
            "asarray": np.asarray,
        }
        self.leaves: list[str] = []
        self._count = 0

    def constant(self, value: Any) -> str:
        """A name for an object."""
        name = f"K{len(self.names)}"
        self.names[name] = value
        return name

    def fresh(self) -> str:
        """A new variable."""
        self._count += 1
        return f"v{self._count}"

    def check(self, condition: str) -> None:
        """Raise Miss unless a condition holds."""
        self.lines.append(f"if not ({condition}): raise Miss")

    # Arguments

    def take(self, variable: str, example: Any) -> bool:
        """Take apart the value of a variable as an example is built; whether that can be written."""
        kind: Any = number_type(example)
        if kind is tuple or kind is list:
            return self._sequence(variable, example, kind)
        if kind is dict:
            return self._dict(variable, example)
        if example is None:
            self.check(f"{variable} is None")
            return True
        if isinstance(example, Array):
            self.leaves.append(f"{variable}.ndarray")
        elif isinstance(example, np.ndarray):
            self.check(f"type({variable}) is {self.constant(kind)}")
            self.leaves.append(variable)
        elif kind in DEFAULTS:
            self.check(f"type({variable}) is {self.constant(kind)}")
            self.leaves.append(f"asarray({variable}, {self.constant(DEFAULTS[kind])})")
        else:
            return False
        return True

    def _sequence(self, variable: str, example: Sequence[Any], kind: type) -> bool:
        self.check(f"type({variable}) is {self.constant(kind)} and len({variable}) == {len(example)}")
        parts = [self.fresh() for _ in example]
        if parts:
            self.lines.append(f"{', '.join(parts)}, = {variable}")
        return all([self.take(p, x) for p, x in zip(parts, example, strict=True)])

    def _dict(self, variable: str, example: Mapping[Any, Any]) -> bool:
        self.check(f"type({variable}) is {self.constant(dict)} and len({variable}) == {len(example)}")
        fits = True
        for key in _sorted_keys(example):
            part = self.fresh()
            self.lines.append(f"{part} = {variable}[{self.constant(key)}]")
            fits &= self.take(part, example[key])
        return fits

    # Results

    def build(self, example: Any, results: Any) -> str | None:
        """An expression that builds a container from the variables of `results`; None if it cannot be written."""
        kind: Any = number_type(example)
        if kind is tuple or kind is list:
            parts = [self.build(x, results) for x in example]
            if any(p is None for p in parts):
                return None
            text = ", ".join(p for p in parts if p is not None)
            return f"[{text}]" if kind is list else f"({text},)" if parts else "()"
        if kind is dict:
            built: dict[Any, str | None] = {key: self.build(example[key], results) for key in _sorted_keys(example)}
            if any(p is None for p in built.values()):
                return None
            return "{" + ", ".join(f"{self.constant(key)}: {built[key]}" for key in example) + "}"
        if isinstance(example, tuple) and hasattr(kind, "_fields"):
            parts = [self.build(x, results) for x in example]  # pyright: ignore
            return None if any(p is None for p in parts) else f"{self.constant(kind)}({', '.join(p or '' for p in parts)})"
        if example is None:
            return "None"
        return next(results) if isinstance(example, Array) else None


def _sorted_keys(example: Mapping[Any, Any]) -> list[Any]:
    """The keys of a dict in the order in which its leaves stand."""
    from . import tree

    order = tree.flatten({k: i for i, k in enumerate(example)})[0]
    keys = list(example)
    return [keys[i] for i in order]


def caller(
    program: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: Mapping[str, Any],
    static: Mapping[int | str, Any],
    hidden: Sequence[Array],
    result: Any,
    outputs: int,
    donated: Sequence[int],
) -> Callable[..., Any] | None:
    """
    Return `call(args, kwargs)` for arguments built as these; None where the structure is one that code is not written for.

    `static` are the values of static arguments by position or keyword, which must be equal. `result` is a container of arrays.
    """
    writer = _Writer()
    if donated:
        return None
    fits = True
    writer.check(f"len(args) == {len(arguments)} and len(kwargs) == {len(keywords)} and active() is None")
    parts = [writer.fresh() for _ in arguments]
    if parts:
        writer.lines.append(f"{', '.join(parts)}, = args")
    named = [(name, writer.fresh()) for name in keywords]
    for name, part in named:
        writer.lines.append(f"{part} = kwargs[{writer.constant(name)}]")
    for where, variable, example in [
        *((i, p, x) for i, (p, x) in enumerate(zip(parts, arguments, strict=True))),
        *((n, p, keywords[n]) for n, p in named if n not in static),
    ]:
        if where not in static:
            fits &= writer.take(variable, example)
    for where, value in static.items():
        variable = parts[where] if isinstance(where, int) else dict(named)[where]
        writer.check(f"type({variable}) is {writer.constant(type(value))} and {variable} == {writer.constant(value)}")
    if not fits:
        return None
    given = [*writer.leaves, *(f"{writer.constant(x)}.ndarray" for x in hidden)]
    expression = writer.build(result, iter([f"r{i}" for i in range(outputs)]))
    if expression is None or not outputs:
        return None
    body = [f"found = {writer.constant(program)}({', '.join(given)})", *_results(outputs), f"return {expression}"]
    lines = ["def call(args, kwargs):", *(f"    {line}" for line in (*writer.lines, *body))]
    exec(compile("\n".join(lines), "<mind_array call>", "exec"), writer.names)
    return writer.names["call"]


def _results(count: int) -> list[str]:
    """Return the lines that make arrays `r0`, `r1` and so on of what a program found."""
    if count == 1:
        return ["r0 = new(Array)", "r0.ndarray = found"]
    names = ", ".join(f"a{i}" for i in range(count))
    return [f"{names} = found", *(line for i in range(count) for line in (f"r{i} = new(Array)", f"r{i}.ndarray = a{i}"))]
