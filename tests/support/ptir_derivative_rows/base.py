"""
One PTIR op as a program `@f`, and what its derivative rules must satisfy: central differences, adjointness, symmetry.

A family's file lists `Row`s; `checks.py` has what holds for each of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import Kind, PtirDType, TensorSpec
from ptir_programs import function, module_of
from ptir_rows import spec

Domain = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
"""Sample points, far enough from every kink for differences with steps of 1e-3."""
Build = Callable[..., Operation]
"""From the arguments to the last op of the body, all of whose results are returned."""


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.standard_normal(shape)


def positive(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(0.5, 2.0, shape)


def away_from_zero(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return positive(rng, shape) * rng.choice([-1.0, 1.0], shape)


def distinct(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers between -2 and 2 of which no two are near each other; other calls give other numbers, too."""
    count = int(np.prod(shape))
    steps = rng.permutation(count) + rng.uniform(0.2, 0.8, count)
    return (4 * steps / max(count, 1) - 2).reshape(shape)


def between(low: float, high: float) -> Domain:
    """Uniformly between two numbers."""
    return lambda rng, shape: rng.uniform(low, high, shape)


def numpy_dtype(dtype: PtirDType) -> np.dtype:
    """As the arrays of the tests have it."""
    kind = {"f": "float", "cf": "complex", "si": "int", "ui": "uint", "i": "bool"}[dtype.name.rstrip("0123456789")]
    return np.dtype(kind if kind == "bool" else f"{kind}{dtype.bits}")


def varies(dtype: PtirDType) -> bool:
    """Whether numbers of a dtype are differentiated."""
    return dtype.is_float or dtype.kind is Kind.COMPLEX


def expression(op: Operation) -> list[Operation]:
    """The ops that `op` is made of, operands first, and `op` itself."""
    found: dict[Operation, None] = {}

    def visit(op: Operation) -> None:
        for x in op.operands:
            if isinstance(x, OpResult) and x.op not in found:
                visit(x.op)
        found[op] = None

    visit(op)
    return list(found)


@dataclass(frozen=True, eq=False)
class Row:
    """
    An op on arguments of given types, `f64[2,3] si32[2]` as in `ptir_rows`; f64 is the dtype that the tests vary.

    `data` has the values of the arguments that are not sampled, by position: indices, masks, points worth a look.
    """

    op: type[PtirOp]
    arguments: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    domain: Domain | Sequence[Domain | None] = normal
    """Where floating-point arguments are sampled; one for all, or one each."""
    data: Mapping[int, Any] = field(default_factory=dict)
    extents: Mapping[str, int] = field(default_factory=dict)
    """Of named dimensions."""
    smooth: bool = True
    """Whether second derivatives are worth a test; a piecewise linear op has them, too: zero."""
    jax: Callable[..., Any] | None = None
    """The same function by JAX, as `lambda jax, x, y: ...`; its floating-point result, or a tuple of all."""
    build: Build | None = None
    """The body, where it is not the op on the arguments."""
    rtol: float = 1e-6
    """Of the comparison with differences."""
    note: str = ""
    """What tells the row from another on the same arguments."""

    def __str__(self) -> str:
        shown = " ".join(f"{k}={v}" for k, v in self.properties.items())
        name = f"{self.op.OPCODE} {self.note}".strip()
        return f"{name}({self.arguments}) {shown}".replace("\n", " ").strip()

    def specs(self, dtype: str = "f64") -> list[TensorSpec]:
        return [spec(t) for t in self.typed(dtype).split()]

    def typed(self, dtype: str) -> str:
        return self.arguments.replace("f64", dtype)

    def shape(self, i: int) -> tuple[int, ...]:
        """The shape of argument `i` in the tests."""
        return tuple(self.extents[d] if isinstance(d, str) else d for d in self.specs()[i].shape)

    @property
    def floats(self) -> list[int]:
        """The arguments to differentiate."""
        return [i for i, s in enumerate(self.specs()) if varies(s.dtype)]

    def module(self, dtype: str = "f64") -> ModuleOp:
        """`@f`, which applies the op to its arguments."""

        def body(*arguments: SSAValue) -> Sequence[Operation]:
            if self.build is None:
                return [self.op(*arguments, **self.properties)]
            return expression(self.build(*arguments))

        return module_of(function(self.typed(dtype), body, "f"))

    def values(self, dtype: str = "f64") -> list[np.ndarray]:
        """The arguments: the same numbers in every process and, but for rounding, in every dtype."""
        found: list[np.ndarray] = []
        for i, (name, _) in enumerate(self.specs(dtype)):
            wanted = numpy_dtype(name)
            if i in self.data:
                found.append(np.array(self.data[i], wanted).reshape(self.shape(i)))
                continue
            domain = self.domain if callable(self.domain) else self.domain[i]
            assert domain is not None, f"argument {i} of {self} has neither a domain nor data"
            assert varies(name), f"argument {i} of {self} is no float, give it in data"
            sampled = np.asarray(domain(self.rng(i), self.shape(i)))
            if name.kind is Kind.COMPLEX:
                sampled = sampled + 1j * self.rng(i, 1).uniform(0.2, 0.9, self.shape(i))
            found.append(np.asarray(sampled, wanted))
        return found

    def rng(self, *key: int) -> np.random.Generator:
        """Random numbers of this row's own."""
        return np.random.default_rng([zlib.crc32(str(self).encode()), *key])

    @cached_property
    def point(self) -> tuple[np.ndarray, ...]:
        """The arguments in f64."""
        return tuple(self.values())


def R(op: type[PtirOp], arguments: str, **given: Any) -> Row:
    """A row; what is not a field of `Row` is a property of the op."""
    known = {k: given.pop(k) for k in tuple(given) if k in Row.__dataclass_fields__ and k != "properties"}
    return Row(op, arguments, given, **known)
