"""
Random numbers, which the library draws where there is no plan: a kernel that has the seed of the call in its memory.

The seed and the numbers of the iterations of loops are the state of a program, `ui64[1 + loops]`. Loops whose iterations draw
count them there, by kernels of `iterations.py`: nothing of it comes from the host.
"""

from __future__ import annotations

from math import prod

from mind_dialect.ptir.types import DTYPES, TensorSpec, read_type

from ...xp import CallOp
from ...xp.regions import LoopOp
from .kernel import MOST_BLOCKS, NAME, THREADS, CudaKernel, Launch
from .scalars import STORED
from .stages import KernelStage, Staged

FLOATS = tuple(DTYPES[name] for name in ("f16", "bf16", "f32", "f64"))


def draw_stages(op: CallOp) -> Staged | None:
    """The one kernel of a draw."""
    dtype, shape = read_type(op.results[0].type)
    count = prod(n for n in shape if isinstance(n, int))
    if dtype not in FLOATS or not all(isinstance(n, int) for n in shape):
        return None
    values = op.values()
    name = op.function.partition(".")[2]
    loops = len(loops_around(op)) if "iterations" in values else 0
    index = "int" if count <= 1 << 30 else "long long"
    head = f"const mind::ui64* __restrict__ state, {STORED[dtype]}* __restrict__ b0"
    normal = "true" if name == "rng_normal" else "false"
    draw = f"mind::draw<{STORED[dtype]}, {normal}, {loops}>(state, {values['ordinal'] & 0xFFFFFFFF}u, b0, ({index}){count});"
    text = f'extern "C" __global__ void __launch_bounds__({THREADS}) {NAME}({head})\n{{\n    {draw}\n}}\n'
    blocks = min(-(-count // (4 * THREADS)), MOST_BLOCKS)
    launch = Launch((TensorSpec(dtype, tuple(shape)),), blocks, THREADS)
    return Staged((KernelStage(CudaKernel(text, launch, (), (name,)), ("state",), ("result 0",)),))


def loops_around(op: CallOp) -> list[LoopOp]:
    """The loops that an op is in, the outermost first."""
    found: list[LoopOp] = []
    outer = op.parent_op()
    while outer is not None:
        if isinstance(outer, LoopOp):
            found.append(outer)
        outer = outer.parent_op()
    return found[::-1]
