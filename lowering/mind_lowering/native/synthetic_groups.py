"""Groups of ops that are in no program: what stands for an op that has no kernel of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Block, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import tensor_type

from .groups import Group
from .patterns import Builder
from .views import View

Add = Callable[[PtirOp], SSAValue]
"""Takes an op into a group; its result."""


def compute(
    build: Builder,
    name: str,
    sources: Sequence[View],
    body: Callable[..., Sequence[SSAValue]],
    targets: Sequence[View],
    *,
    keeps_lanes: bool = False,
) -> None:
    """
    Append one group that computes views from others of one shape.

    `body(add, *values)` adds elementwise ops and at last reductions, and gives a value for each target. `keeps_lanes` is that of
    the group.
    """
    shape = sources[0].shape
    block = Block(arg_types=[tensor_type(v.dtype, shape) for v in sources])
    group = Group(name, shape, dict(zip(block.args, sources, strict=True)), keeps_lanes=keeps_lanes)

    def add(op: PtirOp) -> SSAValue:
        block.add_op(op)
        if not isinstance(op, ptir.ReduceOp):
            group.ops.append(op)
        op.results[0].name_hint = name
        return op.results[0]

    for value, target in zip(body(add, *block.args), targets, strict=True):
        if isinstance(value.owner, ptir.ReduceOp):
            group.reductions.append((value.owner, target))
        else:
            group.outputs.append((value, target))
    build.keep.append(block)
    build.add(group)


def converted(build: Builder, name: str, source: View, target: View) -> None:
    """Append a conversion between dtypes, or a copy."""

    def body(add: Add, x: SSAValue) -> Sequence[SSAValue]:
        return [x if source.dtype is target.dtype else add(ptir.CastOp(x, dtype=target.dtype))]

    compute(build, name, [source], body, [target])
