"""
Values of a shape function as Python: names, assignments, checks, and what shapes broadcast to.

What the lattice knows of a value is written in its place, and a constraint that it proves not at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from mind_dialect.declared_dims import function_facts
from mind_dialect.extents.dims import names_in
from mind_dialect.shape import FuncOp
from mind_dialect.shape.combine import is_broadcastable
from mind_dialect.shape.dataflow import Dataflow
from mind_dialect.shape.evaluate import as_shape
from mind_dialect.shape.lattice import UNKNOWN, Truth
from mind_dialect.shape.types import ShapeType, SizeType, is_extents

from . import shape_functions
from .python_names import PythonNames
from .xp.arguments import python_text

Parts = tuple[str | None, ...]
"""The extents of a shape of known rank, each as Python; None for one that is unknown."""
Text = Parts | str | None
_ATOM = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+")
MOST_HOMES = 4
"""Messages say of so many names whose dimensions they are."""
NAMES = {f.__name__: f for f in shape_functions.FUNCTIONS}


class ShapeTexts:
    """The text of a shape function so far, and what its values are called there."""

    def __init__(self, func: FuncOp, name: str):
        self.flow = Dataflow(facts=function_facts(func))
        self.lines: list[str] = []
        self._locals = PythonNames()
        for used in (*NAMES, "len", "max", "min", "enumerate", name):
            self._locals.identifier(used)
        self._indent = 1
        self._count = 0
        self._dims: dict[str, str] = {}
        self._homes: dict[str, str] = {}
        self._later: dict[SSAValue, Callable[[], Any]] = {}
        self._known: list[dict[Any, Any]] = [{}]

    def homes(self, *values: SSAValue) -> str:
        """Say which dimensions of inputs the names are that sizes or shapes are known by, as an argument of what fails."""
        known = [self.flow.of(v) for v in values]
        shapes = [n if isinstance(n, int | str) else as_shape(n) for n in known]
        dims = [d for s in shapes for d in (s if isinstance(s, tuple) else (s,)) if isinstance(d, str)]
        names = sorted({name for d in dims for name in names_in(d)} & self._homes.keys())
        shown = ", ".join(f"{name} is {self._homes[name]}" for name in names)
        return f", names={shown!a}" if 0 < len(names) <= MOST_HOMES else ""

    def line(self, text: str) -> None:
        """Append a line."""
        self.lines.append("    " * self._indent + text)

    def assign(self, text: str, hint: str = "v") -> str:
        """Append an assignment to a new name, or give the name that holds the same already."""
        for known in self._known:
            if text in known:
                return known[text]
        if hint == "v":
            self._count += 1
            name = f"v{self._count}"  # no other name looks like this: see `PythonNames`
        else:
            name = self._locals.identifier(hint)
        self.line(f"{name} = {text}")
        self._known[-1][text] = name
        return name

    def computed(self, form: str, *operands: str | None) -> str | None:
        """The name of what `form` gives for operands; unknown if one of them is."""
        if None in operands:
            return None
        text = form.format(*operands)
        return text if _ATOM.fullmatch(text) else self.assign(text)

    def later(self, value: SSAValue, make: Callable[[], Any]) -> None:
        """Say how a value is written when it is asked for."""
        self._later[value] = make

    def now(self, value: SSAValue, text: Text) -> None:
        """Say what a value is."""
        self._set(value, text)

    def _set(self, value: SSAValue, text: Text) -> None:
        self._known[-1][value] = text

    def value(self, value: SSAValue) -> Any:
        """A value as Python: of sizes a text, of shapes parts or a text."""
        type = value.type
        if isinstance(type, SizeType | IndexType):
            return self.size(value)
        return self.shape(value) if isinstance(type, ShapeType) or is_extents(type) else self._found(value)

    def _found(self, value: SSAValue) -> Any:
        for known in reversed(self._known):
            if value in known:
                return known[value]
        found = self._later[value]()
        self._known[-1][value] = found
        return found

    def _atom(self, known: object) -> str | None:
        """Return what is known of a size, as Python."""
        if isinstance(known, int):
            return str(known) if known >= 0 else f"({known})"
        if not isinstance(known, str) or not all(name in self._dims for name in names_in(known)):
            return None
        return (
            self._dims.get(known) or self.computed("{}", python_text(known, self._dims.__getitem__)) if known != UNKNOWN else None
        )

    def size(self, value: SSAValue) -> str | None:
        """A size; None if it is unknown."""
        return self._atom(self.flow.of(value)) or self._found(value)

    def shape(self, value: SSAValue) -> Parts | str:
        """A shape: its extents, or if its rank is unknown the name of a tuple."""
        known = as_shape(self.flow.of(value))
        if not isinstance(known, tuple):
            return self._found(value)
        atoms = [self._atom(n) for n in known]
        if None not in atoms:
            return tuple(atoms)
        found = self._found(value)
        if isinstance(found, str):
            return tuple(a or f"{found}[{i}]" for i, a in enumerate(atoms))
        return tuple(a or n for a, n in zip(atoms, found, strict=True))

    def tuple(self, value: SSAValue) -> str:
        """A shape as one expression."""
        return tuple_text(self.shape(value))

    def call_shapes(self, function: str, operands: Sequence[SSAValue], extra: str, last: bool = False) -> Text:
        """Return what a function of shapes gives, as parts if its rank is known."""
        shapes = [self.tuple(v) for v in operands]
        text = self.assign(f"{function}({', '.join([*shapes, extra] if last else [extra, *shapes])})")
        rank = next((len(s) for v in operands if isinstance(s := as_shape(self.flow.of(v)), tuple)), None)
        return text if rank is None else tuple(f"{text}[{i}]" for i in range(rank))

    def is_certain(self, operands: Sequence[SSAValue]) -> Truth:
        """Return whether shapes are known to broadcast together."""
        return is_broadcastable(*(as_shape(self.flow.of(v)) for v in operands))

    def broadcast(self, operands: Sequence[SSAValue], of: str) -> Text:
        """The shape that shapes broadcast to; checked once, and only where it is not certain."""
        shapes = [self.shape(v) for v in operands]
        ranked = [s for s in shapes if isinstance(s, tuple)]
        if len(ranked) < len(shapes):
            return self._broadcast_call(shapes, of)
        rank = max(map(len, ranked), default=0)
        columns: list[dict[str | None, None]] = [{} for _ in range(rank)]
        for s in ranked:
            for column, n in zip(columns[rank - len(s) :], s, strict=True):
                column.update({n: None} if n != "1" else {})
        if self.is_certain(operands) is True or all(len(column) < 2 for column in columns):
            return tuple(next((n for n in column), "1") for column in columns)
        if all(len(column) < 3 and None not in column for column in columns) and len(shapes) == 2:
            return self._broadcast_pair([list(column) for column in columns], shapes, of, self.homes(*operands))
        name = self._broadcast_call(shapes, of)
        return tuple(next(iter(column), "1") if len(column) < 2 else f"{name}[{i}]" for i, column in enumerate(columns))

    def _broadcast_pair(
        self, columns: Sequence[Sequence[str | None]], shapes: Sequence[Parts | str], of: str, names: str
    ) -> Parts:
        """Two shapes: by dimension the extents other than 1, at most two, each of which may still be 1."""
        wrong: dict[str, None] = {}
        found: list[str | None] = []
        for column in columns:
            if len(column) < 2:
                found.append(next(iter(column), "1"))
                continue
            a, b = sorted(map(str, column), key=lambda n: not n.isdecimal())
            wrong[" and ".join([f"{b} != {a}", *(f"{n} != 1" for n in (a, b) if not n.isdecimal())])] = None
            found.append(a if a.isdecimal() else f"({b} if {a} == 1 else {a})")
        fails = " or ".join(wrong)
        self.check(f"not ({fails})", fails, f"differ({', '.join([ascii(of), *map(tuple_text, shapes)])}{names})")
        return tuple(n if n is None or n[0] != "(" else self.assign(n[1:-1]) for n in found)

    def _broadcast_call(self, shapes: Sequence[Parts | str], of: str) -> str:
        key = ("broadcast", tuple(shapes))
        for known in self._known:
            if key in known:
                return known[key]
        name = self._known[-1][key] = self.assign(f"broadcast({', '.join([ascii(of), *map(tuple_text, shapes)])})")
        return name

    def check(self, holds: str, fails: str, raised: str) -> None:
        """Append a check, unless the same was made before."""
        if any(("holds", holds) in known for known in self._known):
            return
        self.line(f"if {fails.format(holds)}:")
        self.line(f"    raise {raised}")
        self._known[-1]["holds", holds] = True


def tuple_text(shape: Parts | str) -> str:
    """Return a shape as one expression."""
    if isinstance(shape, str):
        return shape
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
