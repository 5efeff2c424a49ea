"""
Values that are one number per row of a row kernel: read or computed as scalars, put into every lane where vectors need it.
"""

from __future__ import annotations

from collections.abc import Sequence

from mind_dialect.ptir import GatherOp, PtirLiteralAttr
from mind_dialect.ptir.types import Kind, PtirDType

from ..casts import constant
from ..elementwise import emit
from ..failures import Failure, Sites
from ..ir import Function, identifier
from ..kernel_text import fail_where
from ..lanes import Lanes, register
from ..nest import Axis
from ..places import Indexes, Places, Spot
from ..target_info import TargetInfo
from ..views import Buffer, Indices, View
from .plan import Counting, RowPlan, Value


class RowNumbers(Places):
    """The numbers of the row that loops have reached; `along` is the axis of the lanes, one of a row's."""

    def __init__(self, f: Function, host: TargetInfo, sites: Sites, plan: RowPlan, axes: Sequence[Axis], along: int, width: int):
        super().__init__(f, host, sites, axes)
        self.plan, self.along, self.width = plan, along, width
        self.at: Indexes = {}
        """The indices of the row."""
        self.thin: dict[Value, str] = {}
        """Numbers of the row, as scalars."""
        self.splats: dict[Value | Counting, str] = {}
        """The same in every lane; for a comparison with what counts places, in 32 bits."""
        self.inputs: dict[Value, Spot] = {}

    def begin(self, at: Indexes) -> None:
        """Begin a row: read the numbers that it is given."""
        self.at = at
        self.thin.clear()
        self.splats.clear()
        for value, spot in self.inputs.items():
            if value.is_thin and value.view is not None and isinstance(value.view.base, Buffer | Indices):
                one = Lanes(self.f, self.host, 1, hint=spot.hint)
                self.thin[value] = self.read(self.place(spot, at), "0", one)

    def numbers(self, stage: int) -> None:
        """Compute what is one number per row and needs no sums of this stage or later."""
        for value in self.plan.values:
            if value.is_total or value.stage > stage or value in self.thin or value.op is None:
                continue
            one = Lanes(self.f, self.host, 1, hint=identifier(value.hint or "v"))
            if isinstance(value.op, GatherOp):
                self.thin[value] = self.picked(one, value, value.op)
            elif value.is_thin:
                self.thin[value] = emit(one, value.op, [self.scalar(v) for v in value.operands], self.sites)

    def picked(self, one: Lanes, value: Value, op: GatherOp) -> str:
        """The element of the row at an index, which is checked."""
        number, row = value.operands
        index = one.convert(_widening(number.dtype), register(number.dtype), "i64", self.scalar(number))
        outside = one.compare("icmp uge", "i64", index, str(self.plan.length))
        fail_where(one, self.sites, outside, Failure.INDEX, op, [("i64", index, True)])
        return self.read(self.place(self.inputs[row], self.at), index, one)

    def scalar(self, value: Value) -> str:
        """A number of the row."""
        if value not in self.thin:
            assert value.view is not None
            self.thin[value] = constant(Lanes(self.f, self.host, 1), _literal(value.view))
        return self.thin[value]

    def splat(self, value: Value) -> str:
        """A number of the row in every lane."""
        if value.view is not None and not isinstance(value.view.base, Buffer | Indices):
            return constant(self.lanes(), _literal(value.view))
        if value not in self.splats:
            lanes = Lanes(self.f, self.host, self.width, hint=identifier(value.hint or "v"))
            self.splats[value] = lanes.splat(register(value.dtype), self.scalar(value))
        return self.splats[value]

    def bounded(self, counting: Counting) -> str:
        """An integer in every lane, in 32 bits: what is below or above all places stays so."""
        if counting not in self.splats:
            value, (low, high) = counting.number, (counting.low, counting.high)
            one = Lanes(self.f, self.host, 1, hint=identifier(value.hint or "v"))
            code = _widening(value.dtype)
            wide = one.convert(code, register(value.dtype), "i64", self.scalar(value))
            if code == "zext":
                wide = one.intrinsic("umin", "i64", wide, str(high + 1))
            wide = one.intrinsic("smax", "i64", one.intrinsic("smin", "i64", wide, str(high + 1)), str(low - 1))
            lanes = Lanes(self.f, self.host, self.width, hint=one.hint)
            self.splats[counting] = lanes.splat("i32", one.convert("trunc", "i64", "i32", wide))
        return self.splats[counting]


def _widening(dtype: PtirDType) -> str:
    """Return the instruction that widens integers of a dtype."""
    return "sext" if dtype.kind is Kind.SIGNED else "zext"


def _literal(view: View) -> PtirLiteralAttr:
    assert isinstance(view.base, PtirLiteralAttr)
    return view.base
