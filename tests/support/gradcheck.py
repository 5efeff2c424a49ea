"""One op as a program, and its gradient against central differences along random directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from mind_dialect.core import CoreOp
from mind_dialect.profiles import PROFILE_ATTRIBUTE, Profile
from mind_dialect.program import COTANGENT_ATTRIBUTE
from mind_dialect.types import DTYPES, tensor_type
from mind_passes.autodiff import GradientOptions, differentiate
from mind_runtime import compile

Domain = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.standard_normal(shape)


def away_from_zero(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(0.5, 2.0, shape) * rng.choice([-1.0, 1.0], shape)


def positive(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(0.5, 2.0, shape)


@dataclass(frozen=True)
class Row:
    """An op on operands of given shapes; a tuple of ints is an integer operand given as data."""

    op: type[CoreOp]
    shapes: Sequence[tuple[int, ...]]
    properties: dict[str, Any] = field(default_factory=dict)
    domain: Domain = normal
    indices: dict[int, Any] = field(default_factory=dict)
    """Integer operands, by position."""

    @property
    def id(self) -> str:
        text = ", ".join(f"{k}={v}" for k, v in self.properties.items())
        return f"{self.op.OPCODE}({' '.join(str(list(s)) for s in self.shapes)}{', ' + text if text else ''})"

    def module(self, dtype: str = "f64") -> ModuleOp:
        """`@f` that applies the op to its arguments, under core-v1.1."""
        types = [tensor_type(DTYPES["i64" if i in self.indices else dtype], s) for i, s in enumerate(self.shapes)]
        block = Block(arg_types=types)
        op = self.op(*block.args, profile=Profile.CORE_V1_1, **self.properties)
        block.add_ops([op, ReturnOp(op.result)])
        # Extents of 0 come from slices; an input may have them only as a cotangent.
        attributes = [DictionaryAttr({COTANGENT_ATTRIBUTE: UnitAttr()} if 0 in s else {}) for s in self.shapes]
        func = FuncOp("f", (types, [op.result.type]), Region(block), arg_attrs=ArrayAttr(attributes))
        func.attributes[PROFILE_ATTRIBUTE] = StringAttr(str(Profile.CORE_V1_1))
        return ModuleOp([func])

    def arguments(self, rng: np.random.Generator, dtype: str = "f64") -> list[np.ndarray]:
        return [
            np.array(self.indices[i], np.int64) if i in self.indices else self.domain(rng, s).astype(dtype.replace("f", "float"))
            for i, s in enumerate(self.shapes)
        ]


def as_tuple(results: Any) -> tuple[np.ndarray, ...]:
    return results if isinstance(results, tuple) else (results,)


def check_vjp(module: ModuleOp, function: str, output: int, arguments: Sequence[np.ndarray], rtol: float = 1e-6) -> ModuleOp:
    """
    Compare `<g, J dx>` of a central difference with `<J^T g, dx>` of the gradient function, for one random g and dx.

    Returns the gradient module, so that the check can be repeated on it.
    """
    rng = np.random.default_rng(7)
    options = GradientOptions(output=output, seed="cotangent", div_gradient=True)
    gradient = differentiate(module, function, options)
    primal, grad = compile(module, function), compile(gradient.module, gradient.function.sym_name.data)
    floats = [i for i, x in enumerate(arguments) if x.dtype == np.float64]
    dx = {i: rng.standard_normal(arguments[i].shape) for i in floats}
    y = as_tuple(primal(*arguments))[output]
    g = rng.standard_normal(y.shape)

    def along(eps: float) -> float:
        moved = [x + eps * dx[i] if i in dx else x for i, x in enumerate(arguments)]
        return float(np.sum(g * as_tuple(primal(*moved))[output]))

    eps = 1e-5
    numeric = (8 * (along(eps) - along(-eps)) - (along(2 * eps) - along(-2 * eps))) / (12 * eps)
    results = as_tuple(grad(*arguments, g))
    adjoints = results[len(results) - len(floats) :]
    assert [a.shape for a in adjoints] == [arguments[i].shape for i in floats]
    exact = float(sum(np.sum(a * dx[i]) for a, i in zip(adjoints, floats, strict=True)))
    scale = max(abs(exact), abs(numeric), 1e-2)
    assert abs(exact - numeric) <= rtol * scale, f"{exact} by the rule, {numeric} by differences\n{gradient.function}"
    return gradient.module
