"""Types of values as the public implementation has them: tensors, and tuples, which may be nested."""

from __future__ import annotations

from dataclasses import dataclass

from mind_dialect.ptir.types import TensorSpec


@dataclass(frozen=True)
class TupleType:
    """The type of an instruction that has not exactly one result, or of a tuple that is a parameter."""

    elements: tuple[ValueType, ...]


ValueType = TensorSpec | TupleType


def leaves(type: ValueType) -> list[TensorSpec]:
    """The tensors of a type, those of nested tuples in order."""
    if isinstance(type, TensorSpec):
        return [type]
    found: list[TensorSpec] = []
    stack: list[ValueType] = [type]
    while stack:
        top = stack.pop()
        if isinstance(top, TensorSpec):
            found.append(top)
        else:
            stack.extend(reversed(top.elements))
    return found
