"""
A plain evaluator of PTIR functions for tests: each op by its kernel, regions as Python loops. No lowering, no optimiser.

Random draws are keyed by their place among the random ops of the function, and by the iterations of the loops around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from mind_dialect.dominance import walk
from mind_dialect.program import functions
from mind_dialect.ptir import CondOp, FusionOp, RandomOp, ScanOp, WhileOp
from mind_dialect.ptir.types import read_type
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_lowering.ptir_kernels.table import Call, kernel_call
from ptir_oracle import perform, samples


def function_of(module: ModuleOp, name: str | None = None) -> FuncOp:
    """The function of that name, or the first."""
    return next(f for f in functions(module) if name is None or f.sym_name.data == name)


def evaluate(func: FuncOp, arrays: Sequence[Any], *, seed: int = 0) -> list[Any]:
    """What `func` returns; raises the coded errors of the kernels."""
    sizes = {
        name: size
        for argument, array in zip(func.body.block.args, arrays, strict=True)
        for name, size in zip(read_type(argument.type).shape, array.shape, strict=True)
    }
    ordinals = {op: i for i, op in enumerate(op for op in walk(func) if isinstance(op, RandomOp))}
    return evaluate_block(func.body.block, arrays, Run({"seed": seed}, ordinals, sizes))


@dataclass(frozen=True)
class Run:
    """
    What one call needs everywhere: the seed, the keys of random ops, the sizes of named dimensions, the iterations of loops.
    """

    seed: dict[str, int]
    ordinals: dict[Operation, int]
    sizes: dict[Any, int]
    iterations: tuple[int, ...] = ()

    def perform(self, op: Operation, *operands: Any, **more: Any) -> Any:
        call = kernel_call(op)
        bound = {n: tuple(map(self._size, v)) if isinstance(v, tuple) else v for n, v in call.arguments.items()}
        return perform(Call(call.callee, bound), *operands, **more)

    def _size(self, item: Any) -> Any:
        return self.sizes[item] if isinstance(item, str) else item


def evaluate_block(block: Block, arrays: Sequence[Any], context: Run) -> list[Any]:
    """What a block hands to its last op, given its arguments."""
    values: dict[Any, Any] = dict(zip(block.args, arrays, strict=True))
    for op in block.ops:
        operands = [values[v] for v in op.operands]
        if op is block.last_op:
            return operands
        found = _op(op, operands, context)
        values.update(zip(op.results, found, strict=True))
    raise AssertionError("a block without an end")


def _op(op: Operation, operands: list[Any], context: Run) -> Sequence[Any]:
    def run(i: int, arguments: Sequence[Any], *iteration: int) -> list[Any]:
        return evaluate_block(
            op.regions[i].block, arguments, replace(context, iterations=context.iterations + iteration) if iteration else context
        )

    match op:
        case FusionOp():
            return run(0, operands)
        case CondOp():
            return run(0 if operands[0] else 1, operands[1:])
        case WhileOp():
            iteration = 0
            truth, *carried = run(0, operands, iteration)
            while truth:
                carried = run(1, carried, iteration)
                iteration += 1
                truth, *carried = run(0, carried, iteration)
            return carried
        case ScanOp():
            count = op.values()["carry_count"]
            carried, scanned, stacks = operands[:count], operands[count:], [[] for _ in op.results[count:]]
            for step in range(scanned[0].shape[0]):
                found = run(0, [*carried, *(x[step] for x in scanned)], step)
                carried = found[:count]
                for stack, x in zip(stacks, found[count:], strict=True):
                    stack.append(x)
            specs = [read_type(r.type) for r in op.results[count:]]
            empty = [np.zeros(spec.shape, array_dtype(spec.dtype.name)) for spec in specs if not scanned[0].shape[0]]
            return [*carried, *(empty or (np.stack(stack) for stack in stacks))]
        case RandomOp():
            return [context.perform(op, ordinal=context.ordinals[op], iterations=context.iterations, **context.seed)]
        case _:
            found = context.perform(op, *operands)
            return found if isinstance(found, tuple) else [found]


_SPECIAL = (0.0, -0.0, 1.0, -1.5, float("inf"), float("-inf"), float("nan"))
_COMPLEX = [complex(a, b) for a in _SPECIAL for b in _SPECIAL]


def special_inputs(func: FuncOp, seed: int = 0, size: int = 3) -> list[np.ndarray]:
    """
    Arguments full of special numbers, indices between 0 and 1; every name of a dimension is `size`.

    Half of the complex numbers are ordinary: products of special ones are exact, and would not show a change of rounding.
    """
    arrays = []
    for i, argument in enumerate(func.body.block.args):
        dtype, dims = read_type(argument.type)
        shape = tuple(size if isinstance(d, str) else d for d in dims)
        count = int(np.prod(shape))
        pool = (
            _complex_numbers(seed + i).astype(array_dtype(dtype.name))
            if dtype.kind == "complex"
            else samples(dtype, 40, seed=seed)
        )
        order = np.random.default_rng([seed, i]).permutation(max(count, len(pool))) % len(pool)
        arrays.append(pool[order[:count]].reshape(shape))
    return arrays


def _complex_numbers(seed: int) -> np.ndarray:
    """As many ordinary ones as special ones."""
    parts = np.random.default_rng(seed).standard_normal((2, len(_COMPLEX)))
    return np.concatenate([np.array(_COMPLEX), parts[0] + 1j * parts[1]])


def same_bits(a: Any, b: Any) -> bool:
    """Equal dtype, shape and elements: of floats the zero's sign too, one NaN for another."""
    a, b = np.asarray(a), np.asarray(b)
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    if a.dtype.kind in "biu":
        return bool(np.array_equal(a, b))
    if a.dtype.name in ("int4", "uint4"):
        return bool(np.array_equal(a.astype(np.int8), b.astype(np.int8)))
    parts = [(a.real, b.real), (a.imag, b.imag)] if a.dtype.kind == "c" else [(a, b)]
    return all(_same_floats(x, y) for x, y in parts)


def _same_floats(x: np.ndarray, y: np.ndarray) -> bool:
    x, y = (v.astype(np.float64) if v.dtype.itemsize < 8 else v for v in (x, y))
    nan = np.isnan(x)
    same = (x == y) & (np.signbit(x) == np.signbit(y))
    return bool(np.array_equal(nan, np.isnan(y)) and np.all(same | nan))
