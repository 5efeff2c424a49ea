"""
One emitter per elementwise op: the instructions for some lanes of its result, given the lanes of its operands.

The table is closed by a test against `FUSIBLE`. Integers wrap, casts saturate, NaN wins: what the contract says, and no more is
promised to LLVM than that, so nothing is undefined. Functions of real numbers are in `vmath`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.scalars import SCALARS
from mind_dialect.ptir.types import Kind, PtirDType
from mind_passes.ptir.building import uniform

from . import vmath
from .casts import bitcast, cast, truncated
from .failures import Failure, Sites
from .integer_division import quotient, remainder
from .kernel_text import fail_where
from .lanes import Lanes, register
from .reductions import extreme, is_constant
from .vmath.quotients import pays, shared
from .vmath.reals import Reals


@dataclass(frozen=True)
class EmissionSite:
    """Place where an op is emitted: the lanes, the op, and where to note that it can fail."""

    lanes: Lanes
    op: PtirOp
    sites: Sites

    @property
    def dtype(self) -> PtirDType:
        """The dtype of the first operand."""
        return self.op.operand_spec(0).dtype

    @property
    def type(self) -> str:
        """Its register type."""
        return register(self.dtype)

    @property
    def is_float(self) -> bool:
        """Return whether it is a float."""
        return self.dtype.kind is Kind.FLOAT

    @property
    def is_signed(self) -> bool:
        """Return whether it is a signed integer."""
        return self.dtype.kind is Kind.SIGNED


Operands = Sequence[str]
Emitter = Callable[[EmissionSite, Operands], str]


def emit(lanes: Lanes, op: PtirOp, operands: Operands, sites: Sites) -> str:
    """The lanes of the result of an op of `EMITTERS`, as its dtype holds them."""
    found = EMITTERS[type(op)](EmissionSite(lanes, op, sites), operands)
    return found if type(op) in EXACT else lanes.rounded(op.result_spec().dtype, found)


def _binary(integers: str, floats: str) -> Emitter:
    """One instruction."""

    def emitter(s: EmissionSite, v: Operands) -> str:
        if not s.is_float:
            return s.lanes.binary(integers, s.type, v[0], v[1])
        return s.lanes.binary(f"{floats} contract" if s.lanes.contract else floats, s.type, v[0], v[1])

    return emitter


def _intrinsic(name: str) -> Emitter:
    return lambda s, v: s.lanes.intrinsic(name, s.type, v[0])


def _math(opcode: str) -> Emitter:
    return lambda s, v: vmath.call(s.lanes, opcode, s.type, v)


def _neg(s: EmissionSite, v: Operands) -> str:
    if s.is_float:
        return s.lanes.op(f"fneg {s.lanes.of(s.type)} {v[0]}")
    return s.lanes.binary("sub", s.type, s.lanes.number(s.type, 0), v[0])


def _abs(s: EmissionSite, v: Operands) -> str:
    if s.is_float:
        return s.lanes.intrinsic("fabs", s.type, v[0])
    return s.lanes.integer_intrinsic("abs", s.type, v[0], False) if s.is_signed else v[0]


def _reciprocal(s: EmissionSite, v: Operands) -> str:
    return s.lanes.binary("fdiv", s.type, s.lanes.number(s.type, 1), v[0])


def _rsqrt(s: EmissionSite, v: Operands) -> str:
    return _reciprocal(s, [s.lanes.intrinsic("sqrt", s.type, v[0])])


def _sign(s: EmissionSite, v: Operands) -> str:
    lanes, zero, one = s.lanes, s.lanes.number(s.type, 0), s.lanes.number(s.type, 1)
    if s.is_float:
        itself = lanes.settled(s.type, lanes.intrinsic("fabs", s.type, v[0]))
        magnitude = lanes.select(lanes.compare("fcmp one", s.type, v[0], zero), s.type, one, itself)
        return lanes.intrinsic("copysign", s.type, magnitude, v[0])
    positive = lanes.select(lanes.compare("icmp ne", s.type, v[0], zero), s.type, one, zero)
    if not s.is_signed:
        return positive
    return lanes.select(lanes.compare("icmp slt", s.type, v[0], zero), s.type, lanes.number(s.type, -1), positive)


def _not(s: EmissionSite, v: Operands) -> str:
    return s.lanes.binary("xor", s.type, v[0], s.lanes.number(s.type, -1 if s.type != "i1" else 1))


def _extreme(kind: str) -> Emitter:
    def emitter(s: EmissionSite, v: Operands) -> str:
        a, b = v
        if s.is_float and is_constant(b) and not is_constant(a):
            a, b = b, a
        if s.is_float and is_constant(a) and "0x7FF8" in a:
            return a
        return extreme(s.lanes, kind, s.dtype, a, b)

    return emitter


def _clamp(s: EmissionSite, v: Operands) -> str:
    x, low, high = v
    return _extreme("min")(s, [_extreme("max")(s, [x, low]), high])


def _checked_divisor(s: EmissionSite, v: Operands) -> tuple[str, str]:
    """The divisor without zeros and, of signed numbers, without -1, and where it was -1; a constant that is no zero stays one."""
    lanes, one = s.lanes, s.lanes.number(s.type, 1)
    if number := uniform(s.op.operands[1]):
        is_opposite = s.is_signed and number == -1
        return one if is_opposite else v[1], lanes.number("i1", is_opposite)
    is_zero = lanes.compare("icmp eq", s.type, v[1], lanes.number(s.type, 0))
    if s.op.can_fail():
        fail_where(lanes, s.sites, is_zero, Failure.DIVISION, s.op, [(s.type, v[0], s.is_signed)])
    safe, is_minus_one = lanes.select(is_zero, s.type, one, v[1]), ""
    if s.is_signed:
        is_minus_one = lanes.compare("icmp eq", s.type, v[1], lanes.number(s.type, -1))
        safe = lanes.select(is_minus_one, s.type, one, safe)
    return safe, is_minus_one


def _div(s: EmissionSite, v: Operands) -> str:
    if s.is_float:
        number = uniform(s.op.operands[1])
        if isinstance(number, float) and pays(s.lanes, number):
            return shared(Reals(s.lanes, s.type), *v, is_known=True)
        return s.lanes.binary("fdiv", s.type, v[0], v[1])
    safe, is_minus_one = _checked_divisor(s, v)
    found = quotient(s.lanes, s.dtype, v[0], safe)
    return s.lanes.select(is_minus_one, s.type, _neg(s, v), found) if s.is_signed else found


def _remainder(s: EmissionSite, v: Operands) -> str:
    """By -1, which was made 1, nothing is left either way."""
    if s.is_float:
        return vmath.call(s.lanes, "fmod", s.type, v)
    return remainder(s.lanes, s.dtype, v[0], _checked_divisor(s, v)[0])


def _shift(code: str) -> Emitter:
    """Amounts that are negative or too large shift everything out; as unsigned numbers both are too large."""

    def emitter(s: EmissionSite, v: Operands) -> str:
        lanes, bits = s.lanes, s.dtype.bits
        fits = lanes.compare("icmp ult", s.type, v[1], lanes.number(s.type, bits))
        amount = lanes.select(fits, s.type, v[1], lanes.number(s.type, bits - 1))
        found = lanes.binary(code, s.type, v[0], amount)
        return found if code == "ashr" else lanes.select(fits, s.type, found, lanes.number(s.type, 0))

    return emitter


_FLOAT_TESTS = {"less": "olt", "less_equal": "ole", "equal": "oeq", "greater_equal": "oge", "greater": "ogt", "not_equal": "une"}
_INTEGER_TESTS = {"less": "lt", "less_equal": "le", "equal": "eq", "greater_equal": "ge", "greater": "gt", "not_equal": "ne"}


def _compare(s: EmissionSite, v: Operands) -> str:
    kind = s.op.values()["kind"]
    if s.is_float:
        return s.lanes.compare(f"fcmp {_FLOAT_TESTS[kind]}", s.type, v[0], v[1])
    return s.lanes.compare(integer_test(kind, s.is_signed), s.type, v[0], v[1])


def integer_test(kind: str, is_signed: bool) -> str:
    """The comparison of integers for a kind of `compare`."""
    sign = "" if kind in ("equal", "not_equal") else "s" if is_signed else "u"
    return f"icmp {sign}{_INTEGER_TESTS[kind]}"


def _select(s: EmissionSite, v: Operands) -> str:
    return s.lanes.select(v[0], register(s.op.operand_spec(1).dtype), v[1], v[2])


def _cast(s: EmissionSite, v: Operands) -> str:
    return cast(s.lanes, v[0], s.dtype, s.op.result_spec().dtype)


def _bitcast(s: EmissionSite, v: Operands) -> str:
    return bitcast(s.lanes, v[0], s.dtype, s.op.result_spec().dtype)


def _truncate(s: EmissionSite, v: Operands) -> str:
    return truncated(s.lanes, v[0], s.dtype, s.op.result_spec().dtype)


def _popcount(s: EmissionSite, v: Operands) -> str:
    return s.lanes.intrinsic("ctpop", s.type, v[0])


def _leading_zeros(s: EmissionSite, v: Operands) -> str:
    return s.lanes.integer_intrinsic("ctlz", s.type, v[0], False)


EMITTERS: dict[type[PtirOp], Emitter] = {
    **{ptir.OPS_BY_OPCODE[name]: _math(name) for name in SCALARS if name in vmath.MATH or name in vmath.BY_LIBRARY},
    ptir.NegOp: _neg,
    ptir.AbsOp: _abs,
    ptir.RsqrtOp: _rsqrt,
    ptir.ReciprocalOp: _reciprocal,
    ptir.AddOp: _binary("add", "fadd"),
    ptir.SubOp: _binary("sub", "fsub"),
    ptir.MulOp: _binary("mul", "fmul"),
    ptir.DivOp: _div,
    ptir.MaximumOp: _extreme("max"),
    ptir.MinimumOp: _extreme("min"),
    ptir.CompareOp: _compare,
    ptir.SelectOp: _select,
    ptir.CastOp: _cast,
    ptir.BitcastOp: _bitcast,
    ptir.TruncateOp: _truncate,
    ptir.StopGradientOp: lambda s, v: v[0],
    ptir.ClampOp: _clamp,
    ptir.SqrtOp: _intrinsic("sqrt"),
    ptir.FloorOp: _intrinsic("floor"),
    ptir.CeilOp: _intrinsic("ceil"),
    ptir.RoundOp: _intrinsic("roundeven"),
    ptir.RoundAwayOp: _intrinsic("round"),
    ptir.PopcountOp: _popcount,
    ptir.CountLeadingZerosOp: _leading_zeros,
    ptir.SignOp: _sign,
    ptir.NotOp: _not,
    ptir.RemainderOp: _remainder,
    ptir.AndOp: _binary("and", ""),
    ptir.OrOp: _binary("or", ""),
    ptir.XorOp: _binary("xor", ""),
    ptir.ShiftLeftOp: _shift("shl"),
    ptir.ShiftRightArithmeticOp: _shift("ashr"),
    ptir.ShiftRightLogicalOp: _shift("lshr"),
}
"""The emitter of every elementwise op."""

EXACT: frozenset[type[PtirOp]] = frozenset(
    {
        ptir.NegOp,
        ptir.AbsOp,
        ptir.MaximumOp,
        ptir.MinimumOp,
        ptir.CompareOp,
        ptir.SelectOp,
        ptir.CastOp,
        ptir.BitcastOp,
        ptir.TruncateOp,
        ptir.StopGradientOp,
        ptir.ClampOp,
    }
)
"""Ops whose results need no rounding to their dtype."""
