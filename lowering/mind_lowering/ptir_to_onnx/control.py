"""Ops with regions: a fusion is what its body is, a branch captures its arguments, loops carry theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.control import yielded
from mind_dialect.ptir.types import I1, SI64, PtirDType, TensorSpec, read_type
from mind_passes.ptir.ragged import expansion

from ..ptir_kernels.formats import array_dtype
from .builder import NUMERIC, STORED, OnnxBuilder, Rule


def _fusion(b: OnnxBuilder, op: Any, x: list[str]) -> list[str]:
    return b.inline(op.regions[0].block, x)


def _ragged_dot(b: OnnxBuilder, op: Any, x: list[str]) -> list[str]:
    """As the masked products that it means."""
    return b.inline(expansion(op).block, x)


def _specs(values: Any) -> list[TensorSpec]:
    return [read_type(v.type) for v in values]


def _cond(b: OnnxBuilder, op: Any, x: list[str]) -> list[str]:
    def branch(region: Any) -> Any:
        return b.subgraph([], _specs(op.results), lambda _: b.inline(region.block, x[1:]))

    yes, no = (branch(region) for region in op.regions)
    return b.several("If", len(op.results), x[0], then_branch=yes, else_branch=no)


def _while(b: OnnxBuilder, op: Any, x: list[str]) -> list[str]:
    """The condition is asked before the loop and after each iteration; what it yields is carried."""
    test, body = (region.block for region in op.regions)
    specs, truth = _specs(op.results), TensorSpec(I1, ())

    def iteration(values: list[str]) -> list[str]:
        return b.inline(test, b.inline(body, values[2:]))

    goes_on, *start = b.inline(test, x)
    graph = b.subgraph([TensorSpec(SI64, ()), truth, *specs], [truth, *specs], iteration)
    return b.several("Loop", len(specs), "", goes_on, *start, body=graph)


def _scan(b: OnnxBuilder, op: Any, x: list[str]) -> list[str]:
    block, count = op.regions[0].block, op.num_carries
    results = _specs(op.results)
    if not op.trip_count:
        empty = (np.zeros(list(map(int, s.shape)), array_dtype(s.dtype.name)) for s in results[count:])
        return [*x[:count], *map(b.constant, empty)]
    graph = b.subgraph(_specs(block.args), _specs(yielded(block)), lambda values: b.inline(block, values))
    return b.several("Scan", len(results), *x, body=graph, num_scan_inputs=len(x) - count)


RULES: Mapping[type[PtirOp], tuple[Rule, frozenset[PtirDType]]] = {
    ptir.FusionOp: (_fusion, STORED),
    ptir.RaggedDotOp: (_ragged_dot, NUMERIC),
    ptir.CondOp: (_cond, STORED),
    ptir.WhileOp: (_while, STORED),
    ptir.ScanOp: (_scan, STORED),
}
