"""
The shape engine of the chapter "Shapes and dtypes": operator names and shapes in, a shape or a coded error out.

One row per operator over the rules of `mind_dialect.shapes`; no dtypes, no IR. An operator goes by its opcode (`MatMul`), by the
name of its op (`mind.matmul`), or by the chapter's own name (`tensor.matmul`, of rank 2 only, and `tensor.sum_all`).

>>> infer("tensor.add", [(2, 1), (3,)]), infer("tensor.sum_all", [(2, 3)]), infer("Sum", [(2, 3)], axes=[1], keepdims=True)
((2, 3), (), (2, 1))
>>> infer("tensor.matmul", [(5, 2, 3), (3, 4)])
Traceback (most recent call last):
...
mind_dialect.errors.MindError: E3002: tensor.matmul: rank 3, expected 2
>>> rule_category("tensor.matmul"), str(rule_category("mind.matmul"))
(<RuleCategory.MATMUL_2D: '2-D matmul'>, 'batched matmul')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from . import core, shapes
from .core import CORE_OPS, EXTENSION_OPS, CoreOp
from .core.attributes import INTEGERS, Codec
from .core.base import Rule
from .errors import MindError, brief, error
from .profiles import Profile, parse_profile
from .types import Shape


class RuleCategory(StrEnum):
    """The kind of rule that gives an operator's shape; the first four are the chapter's."""

    ELEMENTWISE_UNARY = "elementwise unary"
    ELEMENTWISE_BINARY = "elementwise binary"
    FULL_REDUCTION = "full reduction"
    MATMUL_2D = "2-D matmul"
    AXIS_REDUCTION = "axis reduction"
    BATCHED_MATMUL = "batched matmul"
    SAME_SHAPE = "same shape"
    """Two operands of one shape, no broadcasting."""
    DOT = "dot"
    CONVOLUTION = "convolution"
    DECLARED = "declared"
    """The shape is an attribute: inputs and tensor constants."""
    SCALAR = "scalar"
    """Rank 0, whatever comes in."""
    STRUCTURAL = "structural"
    """The same elements elsewhere, or repeated."""
    INDEXING = "indexing"
    SCATTER = "scatter"
    """The transpose of an indexing rule."""


C = RuleCategory

_CATEGORIES: Mapping[type[CoreOp], RuleCategory] = {
    core.ConstI64Op: C.SCALAR,
    core.ConstF32Op: C.SCALAR,
    core.ConstF64Op: C.SCALAR,
    core.ConstantOp: C.DECLARED,
    core.AddOp: C.ELEMENTWISE_BINARY,
    core.SubOp: C.ELEMENTWISE_BINARY,
    core.MulOp: C.ELEMENTWISE_BINARY,
    core.DivOp: C.ELEMENTWISE_BINARY,
    core.SumOp: C.AXIS_REDUCTION,
    core.MeanOp: C.AXIS_REDUCTION,
    core.ReshapeOp: C.STRUCTURAL,
    core.TransposeOp: C.STRUCTURAL,
    core.ExpandDimsOp: C.STRUCTURAL,
    core.SqueezeOp: C.STRUCTURAL,
    core.IndexOp: C.INDEXING,
    core.SliceOp: C.INDEXING,
    core.GatherOp: C.INDEXING,
    core.DotOp: C.DOT,
    core.MatMulOp: C.BATCHED_MATMUL,
    core.Conv2dOp: C.CONVOLUTION,
    core.ReluOp: C.ELEMENTWISE_UNARY,
    core.NegOp: C.ELEMENTWISE_UNARY,
    core.ExpOp: C.ELEMENTWISE_UNARY,
    core.LogOp: C.ELEMENTWISE_UNARY,
    core.ReluGradOp: C.SAME_SHAPE,
    core.ReciprocalOp: C.ELEMENTWISE_UNARY,
    core.BroadcastToOp: C.STRUCTURAL,
    core.ScatterAddOp: C.SCATTER,
    core.SliceScatterOp: C.SCATTER,
    core.IndexScatterOp: C.SCATTER,
    core.Conv2dBackwardInputOp: C.CONVOLUTION,
    core.Conv2dBackwardFilterOp: C.CONVOLUTION,
}


@dataclass(frozen=True)
class Operator:
    """A row: the category, the rule, how many shapes it takes, its attributes by kind, whether core-v1.1 widens it."""

    category: RuleCategory
    rule: Rule
    arity: int
    codecs: Mapping[str, Codec] = field(default_factory=dict[str, Codec])
    counts_from_end: bool = False


def _matmul_2d(a: Shape, b: Shape) -> Shape:
    for s in (a, b):
        if len(s) != 2:
            raise shapes.rank_error("2", len(s))
    return shapes.matmul(a, b)


def _sum_all(shape: Shape) -> Shape:
    return shapes.reduce(shape, axes=(), keepdims=False)


def _declared(*, shape: Sequence[int]) -> Shape:
    return shapes.positive(shape)


def _scalar() -> Shape:
    return ()


def _operator(cls: type[CoreOp]) -> Operator:
    """The row of an op: what its class says, except for constants, whose attributes are no matter of shape."""
    category = _CATEGORIES[cls]
    if category is C.SCALAR:
        return Operator(category, _scalar, 0)
    if category is C.DECLARED:
        return Operator(category, _declared, 0, {"shape": INTEGERS})
    return Operator(category, cls.RULE, len(cls.OPERANDS), cls.CODECS, cls.COUNTS_FROM_END)


_OPS = {cls: _operator(cls) for cls in (*CORE_OPS, *EXTENSION_OPS)}

OPERATORS: Mapping[str, Operator] = {
    "Input": Operator(C.DECLARED, _declared, 0, {"shape": INTEGERS}),
    **{cls.OPCODE: row for cls, row in _OPS.items()},
    **{cls.name: row for cls, row in _OPS.items()},
    **{f"tensor.{cls.OPCODE.lower()}": _OPS[cls] for cls in (core.AddOp, core.SubOp, core.MulOp, core.DivOp)},
    **{f"tensor.{cls.OPCODE.lower()}": _OPS[cls] for cls in (core.ReluOp, core.NegOp, core.ExpOp, core.LogOp)},
    "tensor.sum_all": Operator(C.FULL_REDUCTION, _sum_all, 1),
    "tensor.matmul": Operator(C.MATMUL_2D, _matmul_2d, 2),
}
"""Every operator by each of its names."""


def operator(opname: str) -> Operator:
    """The row of an operator; E7003 if no operator has that name."""
    row = OPERATORS.get(opname) if isinstance(opname, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if row is None:
        known = list(OPERATORS)
        raise error("E7003", f"unknown operator {brief(repr(opname))}, expected one of {known}", name=opname, known=known)
    return row


def rule_category(opname: str) -> RuleCategory:
    """The category of an operator's rule; E7003 if no operator has that name."""
    return operator(opname).category


def infer(opname: str, shapes: Sequence[Sequence[int]], *, profile: str = "core-v1", **attributes: Any) -> Shape:
    """
    The result shape of an operator on operands of `shapes`; attributes go by the specification's names.

    Raises the coded errors of the rule, with the failing dimension and extents in their context; E7003 for an unknown name,
    E2007 for a wrong number of shapes, E4000 for unknown or missing attributes and for shapes that are no lists of numbers, E3006
    for a negative extent.

    >>> try:
    ...     infer("tensor.div", [(3, 4), (3, 5)])
    ... except MindError as e:
    ...     print(e.code, e.category, e.context["dimension"], e.context["extents"])
    E3001 ShapeError 1 (4, 5)
    """
    row = operator(opname)
    try:
        if not isinstance(shapes, list | tuple):
            raise error(
                "E4000", f"takes a list of shapes, found {brief(shapes)}", given=brief(shapes), expected="a list of shapes"
            )
        if len(shapes) != row.arity:
            raise error("E2007", f"takes {row.arity} shapes, found {len(shapes)}", expected=row.arity, actual=len(shapes))
        if attributes.keys() != row.codecs.keys():
            given, expected = sorted(attributes), sorted(row.codecs)
            raise error("E4000", f"has attributes {given}, expected {expected}", given=given, expected=expected)
        operands = [_shape(s) for s in shapes]
        values = {k: codec.value(codec.attribute(attributes[k])) for k, codec in row.codecs.items()}
        extra = {"negative": parse_profile(profile) is not Profile.CORE_V1} if row.counts_from_end else {}
        return row.rule(*operands, **values, **extra)
    except MindError as e:
        raise MindError(e.code, f"{opname}: {e.message}", {"op": opname, **e.context}) from None


def _shape(shape: Sequence[int]) -> Shape:
    return shapes.non_negative(INTEGERS.value(INTEGERS.attribute(shape)))
