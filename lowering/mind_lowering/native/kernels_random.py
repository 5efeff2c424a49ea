"""Rows of `kernels.py` for random numbers."""

from __future__ import annotations

from mind_dialect import ptir

from .kernel_steps import Draw
from .patterns import Builder, row
from .reasons import not_produced


def _draw(build: Builder, op: ptir.RngUniformOp | ptir.RngNormalOp) -> None:
    """Append a draw."""
    target = build.target(op.result)
    if target.count:
        name = op.result.name_hint or op.OPCODE
        build.add(Draw(name, isinstance(op, ptir.RngNormalOp), target, build.draws, build.iterations()))
        build.drawn = True
    build.draws += 1


DRAWS = tuple(row("random", op, _draw, not_produced) for op in (ptir.RngUniformOp, ptir.RngNormalOp))
"""Their rows."""
