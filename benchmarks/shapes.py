"""
What shapes cost on the host: the guard of a dynamic program per call, its shape function per op, a call in general and compiled.

    python benchmarks/shapes.py [--ops 10000]

The guard is that of `examples/dynamic_attention.py`; to stay below 5 µs. Inference over 10,000 dynamic ops is to stay below 2 s,
and so is growth with the number of ops: half as many must not take much more than half as long.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

import mind_runtime
from mind_dialect.ptir import AddOp, ConcatOp, DotGeneralOp, ExpOp, ReduceOp
from mind_dialect.ptir.types import F32, tensor_type
from mind_lowering.shape_python import shape_source
from mind_passes.shape.reify import reify
from mind_runtime.shapes import Guard

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))


def seconds(action: Callable[[], object], rounds: int = 5, calls: int = 1) -> float:
    """The median over rounds of the processor time of one call."""
    times: list[float] = []
    for _ in range(rounds):
        start = process_time()
        for _ in range(calls):
            action()
        times.append((process_time() - start) / calls)
    return median(times)


def dynamic_program(count: int) -> FuncOp:
    """A function of `count` ops on matrices of B rows and T columns: products, sums, concatenations, elementwise ops."""
    matrix = tensor_type(F32, ("B", "T"))
    block = Block(arg_types=[matrix, matrix])
    x, w = block.args
    while count > 0:
        square = DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(1,))
        wide = DotGeneralOp(square, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
        both = ConcatOp(wide, w, axis=1)
        total = ReduceOp(both, kind="sum", axes=(1,), keepdims=True)
        e = ExpOp(wide)
        y = AddOp(e, x)
        block.add_ops([square, wide, both, total, e, y])
        x, count = y.result, count - 6
    block.add_op(ReturnOp(x))
    return FuncOp("f", FunctionType.from_lists([matrix, matrix], [matrix]), Region(block))


def main() -> None:
    import dynamic_attention

    parser = argparse.ArgumentParser(description="cost of shapes on the host")
    parser.add_argument("--ops", type=int, default=10_000, help="of the program whose shapes are inferred")
    options = parser.parse_args()

    module = dynamic_attention.attention()
    guard = Guard(next(op for op in module.walk() if isinstance(op, FuncOp)))
    shapes = [(8, 16, 64)] * 3 + [(16, 16)]
    print(f"guard of attention: {seconds(lambda: guard(*shapes), calls=20_000) * 1e6:.2f} µs per call")

    gc.freeze()
    for count in (options.ops // 2, options.ops):
        func = dynamic_program(count)
        took = seconds(lambda func=func: reify(func), rounds=3)
        made = reify(func)
        written = seconds(lambda made=made: shape_source(made.function), rounds=3)
        print(f"shapes of {count} dynamic ops: inferred in {took:.2f} s, written as Python in {written:.2f} s")

    arguments = dynamic_attention.inputs(1, 16)
    general, bound = (
        seconds(lambda program=program: program(*arguments), calls=300)
        for program in (mind_runtime.compile(module, specialize=limits) for limits in ("max_programs=0", "eager"))
    )
    print(f"attention of B = 1, T = 16: {general * 1e6:.0f} µs in general, {bound * 1e6:.0f} µs compiled for the sizes")


if __name__ == "__main__":
    main()
