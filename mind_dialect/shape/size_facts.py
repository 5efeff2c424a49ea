"""
Facts that constraints state about named sizes, at one point of a walk in order of dominance.

A constraint that ran has not failed, so that its relation holds for the sizes of the call from there on. What a region teaches is
forgotten at its end. A shape that may be invalid teaches nothing that the constraint does not demand of valid ones.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.ir import Operation, SSAValue

from ..extents import Contradiction, Facts
from ..extents.dims import Dim, are_equal, are_related, extent_of, under
from ..extents.expr import TooLarge
from .constraints import CstrBroadcastableOp, CstrEqOp, CstrRequireOp
from .evaluate import Value, as_shape
from .lattice import UNKNOWN
from .meeting import MeetOp

MAX_LEARNT = 64
"""So many relations are learnt in a function; each costs time in proportion to what is known before."""
SIGNED = ("==", "!=", "<", "<=", ">", ">=")
"""The relations of the predicates of `arith.cmpi`, by number; the last four have unsigned ones behind them."""


class Claim(NamedTuple):
    """A relation between two sizes."""

    a: Dim
    relation: str
    b: Dim

    def holds(self) -> bool | None:
        """Return whether it holds under the facts of the context."""
        return are_related(self.a, self.relation, self.b)

    def follows_from(self, facts: Facts, others: Iterable[Claim]) -> bool:
        """Return whether facts and other claims prove it."""
        facts = facts.copy()
        try:
            for other in others:
                other.assume(facts, "")
        except (Contradiction, TooLarge):
            return False
        with under(lambda: facts):
            return self.holds() is True

    def assume(self, facts: Facts, source: str) -> None:
        """Assume it; `Contradiction` as of `Facts`."""
        a, b = extent_of(self.a), extent_of(self.b)
        match self.relation:
            case "==":
                facts.assume_eq(a, b, source)
            case "!=":
                facts.assume_ne(a, b, source)
            case ">=":
                facts.assume_ge(a, b, source)
            case ">":
                facts.assume_ge(a, b + 1, source)
            case "<=":
                facts.assume_ge(b, a, source)
            case _:
                facts.assume_ge(b, a + 1, source)


def relation_of(op: arith.CmpiOp, a: Value, b: Value) -> Claim | None:
    """Return what a comparison claims of two sizes; None of what is unknown, and for unsigned ones of what may be negative."""
    predicate = op.predicate.value.data
    if not isinstance(a, int | str) or not isinstance(b, int | str) or UNKNOWN in (a, b):
        return None
    if isinstance(a, bool) or isinstance(b, bool):
        return None
    if not isinstance(op.lhs.type, IndexType) and a != b and not (isinstance(a, int) and isinstance(b, int)):
        return None  # numbers of fewer bits wrap around
    if predicate < len(SIGNED):
        return Claim(a, SIGNED[predicate], b)
    signs = are_related(a, ">=", 0), are_related(b, ">=", 0)
    return Claim(a, SIGNED[predicate - 4], b) if signs == (True, True) and predicate - 4 < len(SIGNED) else None


class SizeFacts:
    """Facts about names; `facts` holds at the point that the walk is at."""

    def __init__(self, facts: Facts, of: Callable[[SSAValue], Value]):
        """`of` says what is known of a value."""
        self.facts = facts
        self._of = of
        self.proven: dict[tuple[Operation, SSAValue], frozenset[int]] = {}
        """Of operands of `cstr_eq` the numbers of extents that were known to be those of the first before it."""
        self._owned = False
        self._left = MAX_LEARNT

    def asked(self) -> under:
        """The context in which questions are answered under the facts."""
        return under(lambda: self.facts)

    @contextmanager
    def scope(self) -> Generator[None]:
        """Forget at the end what is learnt inside."""
        before = self.facts, self._owned
        self._owned = False
        try:
            yield
        finally:
            self.facts, self._owned = before

    def learn(self, op: Operation) -> str | None:
        """Take in what holds after `op`; the reason if it contradicts what is known."""
        for claim in list(self.claims(op)):
            if claim.holds() is not None or self._left == 0:
                continue
            self._left -= 1
            if not self._owned:
                self.facts, self._owned = self.facts.copy(), True
            try:
                claim.assume(self.facts, _source(op))
            except Contradiction as refused:
                return str(refused)
            except TooLarge:
                continue
        return None

    def claims(self, op: Operation) -> Iterator[Claim]:
        """Yield what an op demands of sizes."""
        match op:
            case CstrEqOp():
                yield from self._equal(op)
            case CstrBroadcastableOp():
                yield from self._broadcastable(op)
            case CstrRequireOp():
                yield from self._required(op.pred)
            case cf.AssertOp():
                yield from self._required(op.arg)
            case MeetOp() if isinstance(op.results[0].type, IndexType):
                a, b = map(self._of, op.operands)
                if isinstance(a, int | str) and isinstance(b, int | str) and UNKNOWN not in (a, b):
                    yield Claim(a, "==", b)
            case _:
                pass

    def _equal(self, op: CstrEqOp) -> Iterator[Claim]:
        first = as_shape(self._of(op.operands[0]))
        for value in op.operands[1:]:
            other = as_shape(self._of(value))
            if isinstance(first, tuple) and isinstance(other, tuple) and len(first) == len(other):
                equal = [are_equal(m, n) for m, n in zip(first, other, strict=True)]
                self.proven[op, value] = frozenset(i for i, e in enumerate(equal) if e)
                yield from (Claim(m, "==", n) for m, n in zip(first, other, strict=True) if UNKNOWN not in (m, n))

    def _broadcastable(self, op: CstrBroadcastableOp) -> Iterator[Claim]:
        """Extents that broadcast together and are not 1 are equal."""
        first, *others = [as_shape(self._of(v)) for v in op.operands]
        for other in others:
            if isinstance(first, tuple) and isinstance(other, tuple):
                for m, n in zip(reversed(first), reversed(other), strict=False):
                    if UNKNOWN not in (m, n) and are_related(m, "!=", 1) and are_related(n, "!=", 1):
                        yield Claim(m, "==", n)

    def _required(self, pred: SSAValue) -> Iterator[Claim]:
        """Return the claims of a truth: a comparison, or several joined by `and`."""
        open, seen = [pred], set[SSAValue]()
        while open:
            value = open.pop()
            if value in seen:
                continue
            seen.add(value)
            match value.owner:
                case arith.AndIOp() as both:
                    open += [both.rhs, both.lhs]
                case arith.CmpiOp() as op:
                    if (claim := relation_of(op, self._of(op.lhs), self._of(op.rhs))) is not None:
                        yield claim
                case _:
                    pass


def _source(op: Operation) -> str:
    """Return the name of a constraint in messages: the op that it is for."""
    given = op.attributes.get("mind.op")
    return given.data if isinstance(given, StringAttr) else op.name
