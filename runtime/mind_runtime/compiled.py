"""
The Python that runs a lowered function, which equal functions share: the last of them are kept for the next one.

It is what the target `mind-numpy` prints, compiled in a namespace that holds the array functions and its constants alone.
"""

from __future__ import annotations

import builtins
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from types import CodeType
from typing import Any, cast

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import input_names
from mind_lowering.kernels import NUMPY
from mind_lowering.memory_need import Need, allocation_error, check_rank
from mind_lowering.xp.peak import peak
from mind_lowering.xp.python import PythonSource, python_source

CACHE_SIZE = 128
"""So many compiled functions are kept for the next `compile` of an equal one."""
CACHED_LITERAL_BYTES = 1 << 24
"""A function with more bytes of constants than this is not kept."""


@dataclass(frozen=True)
class Body:
    """The part of a program that equal functions share."""

    run: Callable[..., Any]
    code: CodeType
    source: PythonSource
    block: Block
    need: Need
    constant_bytes: int
    computed: ComputedConstants | None = None
    """The arrays that `run` takes after the arguments of a call, if it takes some."""

    def constants(self) -> tuple[Any, ...]:
        """Return the arrays that `run` takes after the arguments of a call."""
        return () if self.computed is None else self.computed.arrays()


class ComputedConstants:
    """Arrays that depend on constants alone, computed when they are asked for first."""

    def __init__(self, body: Body):
        self.body = body
        self._arrays: tuple[Any, ...] = ()
        self._lock = threading.Lock()

    def arrays(self) -> tuple[Any, ...]:
        """Return the arrays, which nothing may write to."""
        if not self._arrays:
            with self._lock:
                if not self._arrays:
                    found = self.body.run()
                    self._arrays = cast("tuple[Any, ...]", found) if isinstance(found, tuple) else (found,)
        return self._arrays

    @property
    def bytes(self) -> int:
        """The bytes of the arrays that are there."""
        return sum(int(a.nbytes) for a in self._arrays)


_cache: OrderedDict[Hashable, Body] = OrderedDict()
_lock = threading.Lock()


def clear() -> None:
    """Forget them all; programs in use go on working."""
    with _lock:
        _cache.clear()


def body_of(work: FuncOp) -> Body:
    """The body of a lowered function; E6004 for a rank that arrays cannot have."""
    key = _structure(work)
    with _lock:
        if (body := _cache.get(key)) is not None:
            _cache.move_to_end(key)
            return body
    body = _make_body(work)
    if body.constant_bytes <= CACHED_LITERAL_BYTES:
        with _lock:
            _cache[key] = body
            while len(_cache) > CACHE_SIZE:
                _cache.popitem(last=False)
    return body


def _structure(func: FuncOp) -> Hashable:
    """A lowered function up to equality: names, types, calls and which values they take. Attributes compare by value."""
    parts: list[Hashable] = [func.sym_name, tuple(input_names(func)), func.function_type]
    _add_structure(func.body.block, {}, parts)
    return tuple(parts)


def _add_structure(block: Block, numbers: dict[SSAValue, int], parts: list[Hashable]) -> None:
    parts.append(tuple(block.arg_types))
    for argument in block.args:
        numbers[argument] = len(numbers)
    for op in block.ops:
        operands = tuple([numbers[v] for v in op.operands])
        types = tuple([r.type for r in op.results])
        parts.append((op.name, operands, types, frozenset(op.properties.items())))
        for region in op.regions:
            _add_structure(region.block, numbers, parts)
        for result in op.results:
            numbers[result] = len(numbers)


def _make_body(func: FuncOp) -> Body:
    source = python_source(func)
    block = func.body.block
    for argument in block.args:
        check_rank(argument.type)
    need = peak(block)
    scope: dict[str, Any] = {"__builtins__": {}, "xp": np, "k": NUMPY}
    for name, literal in source.constants:
        try:
            scope[name] = NUMPY.constant(value=literal)
        except ValueError:  # NumPy counts the bytes of a view too
            raise allocation_error(literal.type, "it has more bytes than can be addressed") from None
    exec(builtins.compile(source.text, f"<mind-numpy {source.name}>", "exec", dont_inherit=True), scope)
    run = scope[source.name]
    constant_bytes = sum(len(literal.data.data) for _, literal in source.constants)
    return Body(run, run.__code__, source, block, need, constant_bytes)
