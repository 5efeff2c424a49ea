"""
A hash of a function that is the same in every process: equal hashes, equal code.

Everything counts that compiling looks at: ops, operands, types, properties, attributes of functions and of their module, names.
What has no text of its own here (an attribute of an unknown kind, a call of another function) has no hash, and is compiled again.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from importlib import import_module
from typing import Any, cast

import numpy as np
import xdsl
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Data, Operation, ParametrizedAttribute, SSAValue

from mind_lowering import code_cache

_PACKAGES = ("mind_dialect", "mind_passes", "mind_lowering", "mind_runtime")
"""Packages whose code determines the compiled form of a function."""


class _Unknown(Exception):
    """There is no text for something."""


def digest(func: FuncOp, *more: object) -> str | None:
    """The hash of a function and of some numbers and texts; None if it has none."""
    try:
        text = _Texts().function(func)
        ours = "" if code_cache.folder() is None else fingerprint()  # what stays in this process has its code
    except (_Unknown, OSError):
        return None
    found = hashlib.sha256(repr((ours, more)).encode())
    found.update(text)
    return found.hexdigest()


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """Of our own code: sizes and times of its files, so that a change of it makes what is kept on disk unknown."""
    found: list[object] = [np.__version__, xdsl.__file__, os.stat(str(xdsl.__file__)).st_mtime_ns]  # its version is slow to find
    for package in _PACKAGES:
        root = os.path.dirname(str(import_module(package).__file__))
        found += sorted((path[len(root) :], size, time) for path, size, time in _files(root))
    return hashlib.sha256(repr(found).encode()).hexdigest()


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    """The sources in a folder and in those below: where, how long, of when."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == "__pycache__":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            elif entry.name.endswith((".py", ".pyc", ".ll")):
                stat = entry.stat()
                yield entry.path, stat.st_size, stat.st_mtime_ns


class _Texts:
    """Attributes and values by the numbers of where they came first; `parts` is what is hashed."""

    def __init__(self) -> None:
        self.parts: list[object] = []
        self.values: dict[SSAValue, int] = {}
        self.attributes: dict[int, int] = {}
        self.kept: list[Attribute] = []

    def function(self, func: FuncOp) -> bytes:
        module = func.parent_op()
        if module is not None:
            self.parts.append((module.name, self.named(module.properties), self.named(module.attributes)))
        self.op(func)
        return repr(self.parts).encode()

    def op(self, op: Operation) -> None:
        if isinstance(op, CallOp) or op.successors:
            raise _Unknown
        operands = [self.values[value] for value in op.operands]
        results = [(self.attribute(r.type), r.name_hint) for r in op.results]
        self.parts.append((op.name, operands, results, self.named(op.properties), self.named(op.attributes), len(op.regions)))
        for region in op.regions:
            self.parts.append(len(region.blocks))
            for block in region.blocks:
                self.block(block)
        self.number(op.results)

    def block(self, block: Block) -> None:
        self.parts.append([(self.attribute(a.type), a.name_hint) for a in block.args])
        self.number(block.args)
        for op in block.ops:
            self.op(op)
        self.parts.append("end")

    def number(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            self.values[value] = len(self.values)

    def named(self, attributes: dict[str, Attribute]) -> list[tuple[str, int]]:
        return [(name, self.attribute(attributes[name])) for name in sorted(attributes)] if attributes else []

    def attribute(self, attribute: Attribute) -> int:
        """The number of an attribute, whose text is among the parts."""
        if (number := self.attributes.get(id(attribute))) is None:
            self.parts.append(_text(attribute))
            self.attributes[id(attribute)] = number = len(self.kept)
            self.kept.append(attribute)
        return number


@lru_cache
def _kind(kind: type[Attribute]) -> tuple[str, bool]:
    """The name of a kind of attributes, and whether they have parameters; asking for a base class is slow."""
    if not issubclass(kind, ParametrizedAttribute | Data):
        raise _Unknown
    return f"{kind.__module__}.{kind.__qualname__}", issubclass(kind, ParametrizedAttribute)


def _text(attribute: Attribute) -> object:
    """An attribute as plain tuples, whose `repr` says all of it."""
    name, has_parameters = _kind(type(attribute))
    inside: Any = attribute
    return (name, [_text(p) for p in inside.parameters]) if has_parameters else (name, _plain(inside.data))


_AS_IT_IS = frozenset({int, str, bool, type(None)})


def _plain(data: Any) -> object:
    kind = cast("type[object]", type(data))
    if kind in _AS_IT_IS:
        return data
    if kind is float:
        return ("float", struct.pack("<d", data))
    if kind is bytes:
        return ("bytes", len(data), hashlib.sha256(data).digest())
    if kind is tuple or kind is list:
        return [kind is tuple, *map(_plain, data)]
    if isinstance(data, Attribute):
        return _text(data)
    if isinstance(data, Enum):
        return (kind.__qualname__, data.name)
    if isinstance(data, Mapping):
        items = cast("Mapping[object, object]", data).items()
        return ["mapping", *sorted((type(k).__name__, str(k), repr(_plain(v))) for k, v in items)]
    raise _Unknown
