"""Emitted shapes, and the attributes of emitted constraints from which a message about them is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from mind_dialect.shape import AddOp, BroadcastOp, CstrBroadcastableOp, CstrEqOp, CstrRequireOp, MulOp

OP_ATTRIBUTE, CODE_ATTRIBUTE, WORDING_ATTRIBUTE = "mind.op", "mind.code", "mind.wording"
CODES: Mapping[type[Operation], str] = {
    CstrEqOp: "E3001",
    CstrBroadcastableOp: "E3001",
    BroadcastOp: "E3001",
    AddOp: "E3006",
    MulOp: "E3006",
}
"""The codes of what fails and states none: shapes that do not fit, sizes beyond 64 bits."""


@dataclass(eq=False, slots=True)
class Shape:
    """A shape that was emitted; what is None was not asked for yet."""

    value: SSAValue | None
    extents: list[SSAValue | None]

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.extents)


class Fault(NamedTuple):
    """An op of a program whose shapes cannot be, the code of the error, and why."""

    op: Operation
    code: str
    reason: str


def filled(op: CstrRequireOp, numbers: Sequence[object]) -> str:
    """The message of a constraint about the two numbers that are compared."""
    wording = op.attributes.get(WORDING_ATTRIBUTE)
    if not isinstance(wording, StringAttr) or len(numbers) != 2:
        return op.message
    return wording.data.replace("{lhs}", str(numbers[0])).replace("{rhs}", str(numbers[1]))
