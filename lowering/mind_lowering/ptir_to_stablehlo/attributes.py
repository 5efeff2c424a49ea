"""Attributes of StableHLO."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, DenseIntElementsAttr, IntegerAttr, TensorType, i1, i64
from xdsl.ir import Attribute

from mind_dialect.stablehlo import ATTRIBUTE_TYPES


def integers(values: Sequence[int]) -> DenseArrayBase:
    """`array<i64: ...>`."""
    return DenseArrayBase.from_list(i64, list(values))


def integer(value: int) -> IntegerAttr:
    """An i64."""
    return IntegerAttr(value, i64)


def flag(value: bool) -> IntegerAttr:
    """`true` or `false`."""
    return IntegerAttr(int(value), i1)


def attribute(name: str, text: str) -> Attribute:
    """An attribute of StableHLO by the text between its brackets."""
    return ATTRIBUTE_TYPES[f"stablehlo.{name}"](text)


def pairs(values: Sequence[tuple[int, int]]) -> Attribute:
    """Padding: `dense<[[1, 1]]> : tensor<1x2xi64>`."""
    flat = [n for pair in values for n in pair]
    return DenseIntElementsAttr.from_list(TensorType(i64, [len(values), 2]), flat)


def numbers(**lists: Sequence[int] | int) -> str:
    """
    The text of dimension numbers; empty lists are left out.

    >>> numbers(offset_dims=[1, 2], collapsed_slice_dims=[], index_vector_dim=1)
    'offset_dims = [1, 2], index_vector_dim = 1'
    """
    return ", ".join(
        f"{name} = {v}" if isinstance(v, int) else f"{name} = {list(v)}"
        for name, v in lists.items()
        if isinstance(v, int) or len(v)
    )
