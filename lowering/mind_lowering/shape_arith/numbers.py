"""
Numbers and truths that are known or computed, and ops of `arith` put down for them only where something is left to compute.

Equal ops are put down once. What is known not to be negative is remembered, as no check of it is needed; both within the block
in which it is known and the regions inside it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from xdsl.dialects import arith, cf, memref, tensor
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, MemRefType, StringAttr, TensorType, i1, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mind_dialect.errors import brief
from mind_dialect.shape.types import extents_type, index

Number = int | SSAValue
Truth = bool | SSAValue
LARGEST = (1 << 63) - 1
LEAST = -LARGEST - 1
PREDICATES = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5}
_NAMING = {relation: (("predicate", IntegerAttr(n, i64)),) for relation, n in PREDICATES.items()}
_COMPARE = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    "slt": int.__lt__,
    "sle": int.__le__,
    "sgt": int.__gt__,
    "sge": int.__ge__,
}
_REFLEXIVE = ("eq", "sle", "sge")


class Check(NamedTuple):
    """The validity of a value, and why it may not be valid."""

    holds: Truth
    reasons: tuple[str, ...] = ()


VALID = Check(True)


@dataclass(frozen=True)
class _Scope:
    """The facts known in a block and the regions inside it."""

    made: dict[Any, SSAValue]
    natural: set[SSAValue]
    proven: set[SSAValue]


class Numbers:
    """Puts ops down at the end of `block`; constants at the start of the first block of the function."""

    def __init__(self, block: Block):
        self.block = block
        self.source: Operation | None = None
        self._scopes: list[_Scope] = [_Scope({}, set(), set())]
        self._constants: dict[Any, SSAValue] = {}
        self._numbers: dict[int, SSAValue] = {}
        self._last_constant: Operation | None = None
        self._entry: Block = block

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Put ops down in another block, which sees what was known so far."""
        before, scopes = self.block, self._scopes
        self.block, self._scopes = block, [*scopes, _Scope({}, set(), set())]
        try:
            yield
        finally:
            self.block, self._scopes = before, scopes

    # Ops

    def put(self, op: Operation) -> Operation:
        """Put down an op."""
        if self.source is not None:
            op.location = self.source.location
        self.block.add_op(op)
        return op

    def once(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        type: Attribute,
        *,
        naming: tuple[tuple[str, Attribute], ...] = (),
    ) -> SSAValue:
        """The result of a pure op with the given operands and properties, put down unless it is there."""
        key = (kind, tuple(operands), type, naming)
        for scope in reversed(self._scopes):
            if (found := scope.made.get(key)) is not None:
                return found
        op = self.put(kind.create(operands=operands, result_types=[type], properties=dict(naming)))
        return self._scopes[-1].made.setdefault(key, op.results[0])

    def constant(self, value: Attribute, type: Attribute) -> SSAValue:
        """A constant."""
        if (value, type) not in self._constants:
            op = arith.ConstantOp.create(properties={"value": value}, result_types=[type])
            if self._last_constant is not None:
                self._entry.insert_op_after(op, self._last_constant)
            elif self._entry.first_op is not None:
                self._entry.insert_op_before(op, self._entry.first_op)
            else:
                self._entry.add_op(op)
            self._last_constant = op
            self._constants[value, type] = op.results[0]
        return self._constants[value, type]

    def number(self, n: Number) -> SSAValue:
        """A number as a value of type index."""
        if isinstance(n, SSAValue):
            return n
        if n not in self._numbers:
            self._numbers[n] = self.constant(IntegerAttr(n, index), index)
        return self._numbers[n]

    def truth(self, t: Truth) -> SSAValue:
        """A truth as a value of type i1."""
        return t if isinstance(t, SSAValue) else self.constant(IntegerAttr.from_bool(t), i1)

    def extents(self, numbers: Sequence[Number]) -> SSAValue:
        """An extent tensor of static length."""
        type = extents_type(len(numbers))
        if all(isinstance(n, int) for n in numbers):
            return self.constant(DenseIntOrFPElementsAttr.from_list(type, cast("list[int]", list(numbers))), type)
        return self.once(tensor.FromElementsOp, [self.number(n) for n in numbers], type)

    def dim(self, value: SSAValue, i: int) -> SSAValue:
        """The size of a dimension of a tensor or memref."""
        kind = memref.DimOp if isinstance(value.type, MemRefType) else tensor.DimOp
        return self.know_natural(self.once(kind, [value, self.number(i)], index))

    def element(self, value: SSAValue, i: int) -> SSAValue:
        """Element `i` of a list of integers, as an index."""
        type: Attribute = cast("TensorType[Any]", value.type).element_type
        found = self.once(tensor.ExtractOp, [value, self.number(i)], type)
        return found if type == index else self.once(arith.IndexCastOp, [found], index)

    def demand(self, check: Check, attributes: dict[str, Attribute] | None = None) -> None:
        """Assert that something holds, which is known from there on."""
        holds = self.known(check.holds)
        if holds is True:
            return
        message = StringAttr(" or ".join(check.reasons[:3]) or "invalid")
        self.put(cf.AssertOp.create(operands=[self.truth(holds)], properties={"msg": message}, attributes=attributes or {}))
        proven = [holds]
        while proven:
            if isinstance(value := proven.pop(), SSAValue):
                self._scopes[-1].proven.add(value)
                proven += value.owner.operands if isinstance(value.owner, arith.AndIOp) else ()

    # What is known

    def know_natural(self, value: SSAValue) -> SSAValue:
        """Remember that a value is not negative from here on."""
        self._scopes[-1].natural.add(value)
        return value

    def is_natural(self, n: Number) -> bool:
        """Return whether a number is known not to be negative."""
        return n >= 0 if isinstance(n, int) else any(n in scope.natural for scope in self._scopes)

    # Truths

    def known(self, a: Truth) -> Truth:
        """`a`, True if it was asserted."""
        return True if isinstance(a, SSAValue) and any(a in scope.proven for scope in self._scopes) else a

    def both(self, a: Truth, b: Truth) -> Truth:
        """`a and b`."""
        a, b = self.known(a), self.known(b)
        if a is False or b is False:
            return False
        return b if a is True or a is b else a if b is True else self.once(arith.AndIOp, [self.truth(a), self.truth(b)], i1)

    def either(self, a: Truth, b: Truth) -> Truth:
        """`a or b`."""
        a, b = self.known(a), self.known(b)
        if a is True or b is True:
            return True
        return b if a is False or a is b else a if b is False else self.once(arith.OrIOp, [self.truth(a), self.truth(b)], i1)

    def no(self, a: Truth) -> Truth:
        """`not a`."""
        a = self.known(a)
        return not a if isinstance(a, bool) else self.once(arith.XOrIOp, [a, self.truth(True)], i1)

    def all_of(self, checks: Sequence[Check]) -> Check:
        """Return whether all hold; the reasons are those of all that may not."""
        holds: Truth = True
        for check in checks:
            holds = self.both(holds, check.holds)
        reasons = dict.fromkeys(r for check in checks if self.known(check.holds) is not True for r in check.reasons)
        return Check(holds, () if holds is True else tuple(reasons))

    def compare(self, relation: str, a: Number, b: Number) -> Truth:
        """Return whether two numbers are in a relation."""
        if isinstance(a, int) and isinstance(b, int):
            return bool(_COMPARE[relation](a, b))
        if a is b:
            return relation in _REFLEXIVE
        return self.once(arith.CmpiOp, [self.number(a), self.number(b)], i1, naming=_NAMING[relation])

    def natural(self, n: Number, what: str = "size") -> Check:
        """Return whether a number is not negative."""
        if self.is_natural(n):
            return VALID
        shown = f" {n}" if isinstance(n, int) else ""
        return Check(self.compare("sge", n, 0), (f"negative {what}{shown}",))

    # Numbers

    def _binary(self, kind: type[Operation], a: Number, b: Number) -> SSAValue:
        return self.once(kind, [self.number(a), self.number(b)], index)

    def select(self, condition: Truth, a: Number, b: Number) -> Number:
        """`a` if the condition holds, else `b`."""
        condition = self.known(condition)
        if isinstance(condition, bool):
            return a if condition else b
        if a is b or (isinstance(a, int) and a == b):
            return a
        made = self.once(arith.SelectOp, [condition, self.number(a), self.number(b)], index)
        return self.know_natural(made) if self.is_natural(a) and self.is_natural(b) else made

    def larger(self, a: Number, b: Number) -> Number:
        """The larger of two numbers."""
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        if a is b or (b == 0 and self.is_natural(a)):
            return a
        if a == 0 and self.is_natural(b):
            return b
        made = self._binary(arith.MaxSIOp, a, b)
        return self.know_natural(made) if self.is_natural(a) or self.is_natural(b) else made

    def smaller(self, a: Number, b: Number) -> Number:
        """The smaller of two numbers."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        if a is b:
            return a
        made = self._binary(arith.MinSIOp, a, b)
        return self.know_natural(made) if self.is_natural(a) and self.is_natural(b) else made

    def sum(self, a: Number, b: Number, *, natural: bool) -> tuple[Number, Check]:
        """The sum, and whether it fits 64 bits; `natural` says that neither is negative where they are valid."""
        if isinstance(a, int) and isinstance(b, int):
            return _fitting(a + b, f"{a} + {b}")
        if a == 0 or b == 0:
            return (b if a == 0 else a), VALID
        made = self._binary(arith.AddiOp, a, b)
        if natural:
            return made, Check(self.compare("sge", made, 0), ("size overflow",))
        iterations = (self._binary(arith.XOrIOp, x, made) for x in (a, b))
        return made, Check(self.compare("sge", self._binary(arith.AndIOp, *iterations), 0), ("size overflow",))

    def product(self, a: Number, b: Number, *, natural: bool) -> tuple[Number, Check]:
        """The product, and whether it fits 64 bits; `natural` as in `sum`."""
        if isinstance(a, int) and isinstance(b, int):
            return _fitting(a * b, f"{a} * {b}")
        if a == 1 or b == 1:
            return (b if a == 1 else a), VALID
        if a == 0 or b == 0:
            return 0, VALID
        made = self._binary(arith.MuliOp, a, b)
        if isinstance(a, int):
            a, b = b, a
        fits = self._product_fits(a, b) if natural else self._signed_product_fits(a, b, made)
        return made, Check(fits, ("size overflow",))

    def _product_fits(self, a: Number, b: Number) -> Truth:
        """Of numbers that are not negative: `a <= LARGEST / b`, for which a zero is as good as a one."""
        if isinstance(b, int):
            return self.compare("sle", a, LARGEST // b)
        return self.compare("sle", a, self._binary(arith.FloorDivSIOp, LARGEST, self.larger(b, 1)))

    def _signed_product_fits(self, a: Number, b: Number, product: Number) -> Truth:
        """Dividing the product gives the factor again; no division is by 0, nor by -1, which can overflow."""
        zero, minus_one = self.compare("eq", b, 0), self.compare("eq", b, -1)
        divisor = self.select(self.either(zero, minus_one), 1, b)
        again = self.compare("eq", self._binary(arith.DivSIOp, product, divisor), a)
        negated = self.both(minus_one, self.compare("ne", a, LEAST))
        return self.either(zero, self.either(negated, self.both(again, self.no(minus_one))))

    def quotient(self, a: Number, b: Number, *, natural: bool) -> tuple[Number, Check]:
        """The quotient, rounded down, and whether there is one."""
        zero = self.compare("eq", b, 0)
        checks = [Check(self.no(zero), ("integer division or modulo by zero",))]
        if isinstance(a, int) and isinstance(b, int) and b:
            return _fitting(a // b, f"{a} / {b}")
        if b == 1:
            return a, VALID
        if not natural and not self.is_natural(a) and not self.is_natural(b):
            overflows = self.both(self.compare("eq", b, -1), self.compare("eq", a, LEAST))
            checks.append(Check(self.no(overflows), ("size overflow",)))
            zero = self.either(zero, overflows)
        divisor = self.select(zero, 1, b)
        return self._binary(arith.FloorDivSIOp, a, divisor) if divisor != 1 else a, self.all_of(checks)

    def product_of(self, extents: Sequence[Number]) -> tuple[Number, Check]:
        """The product of extents, and whether it fits 64 bits; 0 if one is 0, however large the others."""
        if any(isinstance(n, int) and n == 0 for n in extents):
            return 0, VALID
        others = [n for n in extents if n != 1]
        if len(others) < 2:
            return (others[0] if others else 1), VALID
        empty: Truth = False
        product, checks = cast(Number, 1), list[Check]()
        for extent in others:
            empty = self.either(empty, self.compare("eq", extent, 0))
            product, check = self.product(product, self.larger(extent, 1), natural=True)
            checks.append(check)
        fits = self.all_of(checks)
        return self.select(empty, 0, product), Check(self.either(fits.holds, empty), fits.reasons)


def _fitting(n: int, expression: str) -> tuple[int, Check]:
    """A known result, if it fits 64 bits."""
    if -LARGEST <= n <= LARGEST:
        return n, VALID
    return 0, Check(False, (f"size overflow: {brief(expression)} does not fit 64 bits",))
