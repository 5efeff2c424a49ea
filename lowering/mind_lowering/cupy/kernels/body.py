"""The body of a fusion: its ops, inputs and results, and the reductions that separate its stages."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import ArgMaxOp, PtirOp, ReduceOp

from .failures import FailingOp, sites_of
from .maps import MAPS, check_map
from .places import spec
from .scalars import EMITTERS, register
from .unsupported import Unsupported

MOST_PARAMETERS = 256
"""So many arrays at most; CUDA allows 4096 bytes of parameters."""
MOST_OPS = 2000
MOST_ELEMENTS = 1 << 48
"""A failure is reported by a place of so many bits."""
Reduction: TypeAlias = ReduceOp | ArgMaxOp


def reduced_axes(op: Reduction) -> tuple[int, ...]:
    """The axes of a reduction, counted from the front, ascending."""
    rank, values = len(spec(op.x)[1]), op.values()
    return tuple(sorted({a % rank for a in (values["axes"] if isinstance(op, ReduceOp) else (values["axis"],))}))


class Body:
    """The ops of a fusion, and at which stage each value can be known: how many reductions come before it, one after another."""

    def __init__(self, block: Block, given: tuple[type[PtirOp], ...] = ()):
        """Ops of the classes `given` are known to who asks: their results have names before anything is computed."""
        self.given = given
        self.inputs = list(block.args)
        self.ops: list[PtirOp] = []
        self.results: list[SSAValue] = []
        self.reductions: list[Reduction] = []
        self.stage: dict[SSAValue, int] = dict.fromkeys(block.args, 0)
        self.sites: list[tuple[PtirOp, FailingOp]] = []
        """Ops that can fail, in the order of the ops, whatever is written first."""
        for op in block.ops:
            if isinstance(op, ptir.YieldOp):
                self.results = list(op.operands)
            else:
                self._take(op)

    def _take(self, op: Operation) -> None:
        if not isinstance(op, PtirOp) or not (type(op) in EMITTERS or type(op) in MAPS or isinstance(op, (*_VIEWS, *self.given))):
            raise Unsupported(f"{op.name} in a kernel")
        for value in (*op.operands, *op.results):
            register(spec(value)[0])
        if isinstance(op, ptir.ConstantOp) and len(op.literal.data.data) != op.literal.spec[0].size:
            raise Unsupported("a table of constants in a kernel")
        if type(op) in MAPS and type(op) not in self.given:
            check_map(op)
        self.sites += [(op, site) for site in sites_of(op)]
        reduces = isinstance(op, Reduction) and bool(reduced_axes(op))
        if reduces:
            assert isinstance(op, Reduction)
            self.reductions.append(op)
        self.stage[op.results[0]] = max((self.stage[v] for v in op.operands), default=0) + reduces
        self.ops.append(op)

    def check_size(self) -> None:
        """Raise Unsupported for more arrays, ops or elements than a kernel has."""
        if len(self.inputs) + len(self.results) > MOST_PARAMETERS or len(self.ops) > MOST_OPS:
            raise Unsupported(f"{len(self.ops)} ops of {len(self.inputs)} arrays in a kernel")
        if any(prod(spec(v)[1]) >= MOST_ELEMENTS for op in self.ops for v in op.results):
            raise Unsupported(f"{MOST_ELEMENTS} elements or more")


_VIEWS = (ptir.ReshapeOp, ptir.BroadcastToOp, ptir.ConstantOp, ptir.IotaOp, ReduceOp, ArgMaxOp)
