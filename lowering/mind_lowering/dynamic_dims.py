"""
Dimensions that only the run knows: what has to be checked there, and which names get their sizes where.

A rule of `ptir_shapes` lets pass what only may be wrong. Where operands are dynamic and the rule leaves a demand open, it is
asked again with the sizes of the run: array libraries would broadcast or clip instead.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect import ptir
from mind_dialect.declared_dims import facts_around, names_given
from mind_dialect.extents.dims import names_in, under
from mind_dialect.extents.recording import Recorder
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.attributes import DIM
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims

from .xp.arguments import SizeArgument


def needs_check(op: PtirOp, declared: bool = False) -> bool:
    """
    Return whether the sizes that a run finds may break the op's rule.

    What the function declares counts only where the caller says that it is checked: code that is printed runs without a guard.
    """
    shapes = [read_type(v.type).shape for v in op.operands]
    if not op.stated_dims() and not any(isinstance(d, str) for shape in shapes for d in shape):
        return False
    if isinstance(op, ptir.CustomCallOp):  # it has no rule
        return False
    with under(lambda: facts_around(op, declared)), Recorder() as recorder:
        op.RULE(*shapes, **_rule_properties(op))
    return bool(recorder.requirements)


def _rule_properties(op: PtirOp) -> dict[str, Any]:
    """The properties that the op's rule takes."""
    values = op.values()
    return values if op.RULE_TAKES is None else {name: values[name] for name in op.RULE_TAKES}


def rule_arguments(op: PtirOp) -> dict[str, Any]:
    """Return the properties that the op's rule takes, as arguments of a call in the lowered program."""
    single = {name for name, codec in op.CODECS.items() if codec is DIM}
    given = {name: SizeArgument(v) if name in single and isinstance(v, str) else v for name, v in _rule_properties(op).items()}
    return {name: v for name, v in given.items() if v is not None}


def claims(op: PtirOp) -> list[tuple[int, Dims]]:
    """For each result whose type says more than the rule: its number and dimensions."""
    declared = [read_type(v.type) for v in op.results]
    if all(spec.is_static for spec in declared) and all(read_type(v.type).is_static for v in op.operands):
        return []
    inferred = op.infer_all([read_type(v.type) for v in op.operands], op.values(), op.regions, declared)
    return [(i, d.shape) for i, (d, n) in enumerate(zip(declared, inferred, strict=True)) if d.shape != n.shape]


def dims_of(op: PtirOp) -> list[Dim]:
    """Return the dimensions of an op's operands and results, and those that it states."""
    shapes = [read_type(v.type).shape for v in (*op.operands, *op.results)]
    return [d for dims in (*shapes, *op.stated_dims().values()) for d in dims]


def sizes_of(op: PtirOp) -> list[Dim]:
    """Return the dimensions that an op states, and those of its results."""
    stated = [d for dims in op.stated_dims().values() for d in dims]
    return [*stated, *(d for v in op.results for d in read_type(v.type).shape)]


def are_given(op: PtirOp, dims: list[Dim]) -> bool:
    """Return whether arguments of the function around an op give sizes to all names in dimensions."""
    if UNKNOWN in dims:
        return False
    names = {name for d in dims if isinstance(d, str) for name in names_in(d)}
    return not names or names <= _names_around(op)


def _names_around(op: Operation) -> set[str]:
    """The names that arguments of the function around an op give sizes."""
    outer = op.parent_op()
    while outer is not None and not isinstance(outer, FuncOp):
        outer = outer.parent_op()
    return set() if outer is None else names_given(outer.function_type.inputs)
