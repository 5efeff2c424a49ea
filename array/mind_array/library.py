"""
The functions that the ops of a trace name: functions with derivative rules of their own, and the rules.

A trace and those inside of it share one `Library`. Transformations return modules with functions of their own; `include` adds
these, equal ones once, and others under new names where the library has their names already.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect.dominance import walk
from mind_dialect.errors import error
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_passes.derivatives.custom import references, rename_references
from mind_passes.selection import DERIVED

_SUFFIXES = ("", "_grad", "_jvp", "_vmap", "_hvp", "_grad_jvp")
"""Suffixes that transformations append to the name of a function."""


class Library:
    """Functions by name. A name is bound once and its function does not change afterwards, so that text identifies a function."""

    def __init__(self, functions: Mapping[str, FuncOp] | None = None) -> None:
        self.functions: dict[str, FuncOp] = dict(functions or {})
        self._texts: dict[str, str] = {}
        """The text of functions of the library, once it was asked for."""
        self._included: dict[str, Mapping[str, str]] = {}
        """By the text of functions that were included together, their names here."""
        self._counts: dict[str, int] = {}

    def include(self, added: Sequence[FuncOp], wanted: Mapping[str, str] | None = None) -> Mapping[str, str]:
        """
        Add functions; return the names that they have in the library.

        The functions may name each other, and otherwise functions of the library. `wanted` lists the names that they should have,
        where those that they have are provisional.
        """
        texts = {f.sym_name.data: str(f) for f in added}
        key = "\n".join(texts.values())
        if (known := self._included.get(key)) is not None:
            return known
        names = {name: name for name in self._present(added, texts)}
        new = {f.sym_name.data: f.clone() for f in added if f.sym_name.data not in names}
        for old, func in new.items():
            name = names[old] = _unused((wanted or {}).get(old, old), self.functions, self._counts)
            self.functions[name] = func
            for attribute in DERIVED:  # what it was derived from is not in the library
                func.attributes.pop(attribute, None)
            func.sym_name, func.sym_visibility = StringAttr(name), StringAttr("private")
        for func in new.values():
            rename_references(func, names)
        self._included[key] = names
        return names

    def _present(self, added: Sequence[FuncOp], texts: Mapping[str, str]) -> list[str]:
        """The functions that the library has under the same names with the same text, as all functions that they name."""
        users: dict[str, list[str]] = {}
        for func in added:
            for name in _named_in(func):
                users.setdefault(name, []).append(func.sym_name.data)
        pending = [name for name, text in texts.items() if name not in self.functions or self._text(name) != text]
        other = set(pending)
        while pending:
            for user in users.get(pending.pop(), ()):
                if user not in other:
                    other.add(user)
                    pending.append(user)
        return [name for name in texts if name not in other]

    def _text(self, name: str) -> str:
        if name not in self._texts:
            self._texts[name] = str(self.functions[name])
        return self._texts[name]

    def module(self, func: FuncOp) -> ModuleOp:
        """Return a module of `func` and copies of the functions that it leads to; none has a name derived from its name."""
        reserved = {f"{func.sym_name.data}{suffix}" for suffix in _SUFFIXES}
        copies = [f.clone() for f in reached(func, self.functions)]
        taken = {f.sym_name.data for f in copies}
        counts: dict[str, int] = {}
        names = {name: _unused(name, reserved | taken, counts) for name in sorted(taken & reserved)}
        for copy in copies:
            copy.sym_name = StringAttr(names.get(copy.sym_name.data, copy.sym_name.data))
        for renamed in (func, *copies) if names else ():
            rename_references(renamed, names)
        return ModuleOp([func, *copies], {VERSION_ATTRIBUTE: StringAttr(SPEC_VERSION)})


def reached(root: Operation, table: Mapping[str, FuncOp]) -> list[FuncOp]:
    """
    Return the functions of a symbol table that an op, or an op in it, names, and those that these name, each once.

    A name that is not in the table is E4016: in another table it may be bound to another function.
    """
    found: dict[str, FuncOp] = {}
    pending = [root]
    while pending:
        user = pending.pop()
        for name in _named_in(user):
            if name not in table:
                issue = f"@{name} is not a function of the module"
                raise error("E4016", issue, operation=user, issue=issue)
            if name not in found:
                found[name] = table[name]
                pending.append(table[name])
    return list(found.values())


def _named_in(root: Operation) -> dict[str, None]:
    return dict.fromkeys(name.string_value() for op in walk(root) for name in references(op).values())


def _unused(name: str, taken: Container[str], counts: dict[str, int]) -> str:
    """Return `name`, or `name` with the next number if it is taken; `counts` holds the last number by name."""
    found = name
    while found in taken:
        counts[name] = counts.get(name, 0) + 1
        found = f"{name}_{counts[name]}"
    return found
