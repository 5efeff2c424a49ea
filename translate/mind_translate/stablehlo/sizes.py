"""
Sizes that a program computes from dimensions of its arguments, and the names that dimensions have because of them.

Each dynamic dimension of an argument has a name. Integers are followed through the ops that compute shapes as polynomials of
names, so the operand of `dynamic_broadcast_in_dim` says which names its result has. A scalar argument that is used as a size, as
in what JAX exports, has a name too, until it turns out to be that of a dimension: where two names are one, `Restart` asks for the
function to be converted again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims

from ..unsupported import Refused

Monomial = tuple[str, ...]
Poly = dict[Monomial, int]
"""A sum of products of names, each with a factor; {(): 3} is the number 3."""
MOST_RESTARTS = 100
MOST_STEPS = 64
"""How many ops back a size is followed."""


class Restart(Exception):
    """Two names are one: convert the function again."""


def constant(n: int) -> Poly:
    """
    The polynomial of a number.

    >>> constant(3), constant(0)
    ({(): 3}, {})
    """
    return {(): n} if n else {}


def plus(p: Poly, q: Poly, factor: int = 1) -> Poly:
    """
    `p + factor * q`.

    >>> plus({("B",): 1}, {("B",): 1, (): 2}, -1)
    {(): -2}
    """
    found = Counter(p)
    for monomial, n in q.items():
        found[monomial] += factor * n
    return {monomial: n for monomial, n in sorted(found.items()) if n}


def times(p: Poly, q: Poly) -> Poly:
    """
    `p * q`.

    >>> times({("B",): 1, (): 1}, {("B",): 2})
    {('B',): 2, ('B', 'B'): 2}
    """
    found: Counter[Monomial] = Counter()
    for a, m in p.items():
        for b, n in q.items():
            found[tuple(sorted((*a, *b)))] += m * n
    return {monomial: n for monomial, n in sorted(found.items()) if n}


def number(p: Poly) -> int | None:
    """The number that a polynomial is, if it is one."""
    return p.get((), 0) if set(p) <= {()} else None


def symbol(p: Poly) -> str | None:
    """The name that a polynomial is, if it is one."""
    return next(iter(p))[0] if len(p) == 1 and next(iter(p.values())) == 1 and len(next(iter(p))) == 1 else None


def shown(p: Poly) -> str:
    """
    A polynomial as text.

    >>> shown({("B",): 1, (): 2}), shown({("B", "N"): 4})
    ('B + 2', '4 * B * N')
    """
    terms = [" * ".join([*([str(n)] if n != 1 or not m else []), *m]) for m, n in sorted(p.items(), reverse=True)]
    return " + ".join(terms) or "0"


class Sizes:
    """What is known of sizes in one function."""

    def __init__(self) -> None:
        self.same: dict[str, str] = {}
        self.scalars: set[str] = set()
        self.used: dict[str, Operation | None] = {}
        """Names of scalar arguments that stand in shapes, and the op that was converted first with them."""
        self.op: Operation | None = None
        self.values: dict[SSAValue, list[Poly]] = {}

    # Names

    def name(self, given: str) -> str:
        """The name that stands for all that are one with `given`."""
        while given in self.same:
            given = self.same[given]
        return given

    def unify(self, p: Poly, q: Poly) -> None:
        """Take two sizes for one. Raises `Restart` if that is news, `Refused` for sizes that differ."""
        if p == q:
            return
        a, b = symbol(p), symbol(q)
        if a is None or b is None:
            raise Refused(f"sizes {shown(p)} and {shown(q)} that should be equal")
        a, b = (a, b) if b in self.scalars else (b, a)  # a dimension stands for a scalar
        self.same[b] = a
        raise Restart

    def new_scalar(self, value: SSAValue, name: str) -> None:
        """A scalar argument that may be a size."""
        self.scalars.add(name)
        self.values[value] = [{(self.name(name),): 1}]

    def of_dim(self, dim: Dim) -> Poly | None:
        """The polynomial of a dimension; None for an unknown one."""
        return None if dim == UNKNOWN else {(dim,): 1} if isinstance(dim, str) else constant(dim)

    # Integers

    def of(self, value: SSAValue, steps: int = MOST_STEPS) -> list[Poly] | None:
        """The elements of a small tensor of integers; None for data."""
        if value not in self.values:
            found = self._of(value, steps) if steps else None
            if found is None:
                return None
            self.values[value] = found
        return self.values[value]

    def _of(self, value: SSAValue, steps: int) -> list[Poly] | None:
        op: Any = value.owner
        if not isinstance(op, Operation) or not isinstance(op, ptir.PtirOp):
            return None
        count = _count(read_type(value.type).shape)
        if count is None:
            return None
        if isinstance(op, ptir.ConstantOp):
            numbers = op.literal.values()
            return [constant(int(n)) for n in (numbers * count if len(numbers) == 1 else numbers) if isinstance(n, int)]
        parts = [self.of(v, steps - 1) for v in op.operands]
        known = [part for part in parts if part is not None]
        if len(known) != len(parts) or not known:
            return None
        match op:
            case ptir.ReshapeOp() | ptir.CastOp() | ptir.TruncateOp():
                return known[0]
            case ptir.BroadcastToOp() if len(known[0]) == 1:
                return known[0] * count
            case ptir.ConcatOp():
                return [p for part in known for p in part]
            case ptir.SliceOp() if len(op.values()["starts"]) == 1:
                start = op.values()["starts"][0]
                return known[0][start : start + count]
            case ptir.AddOp() | ptir.SubOp():
                sign = 1 if isinstance(op, ptir.AddOp) else -1
                return [plus(p, q, sign) for p, q in zip(*known, strict=True)]
            case ptir.MulOp():
                return [times(p, q) for p, q in zip(*known, strict=True)]
            case ptir.MaximumOp() | ptir.MinimumOp():
                return self._extremes(known, isinstance(op, ptir.MaximumOp))
            case _:
                return None

    def _extremes(self, known: Sequence[list[Poly]], greater: bool) -> list[Poly] | None:
        """A size and a number that is at most 0: the size is the greater, as sizes are not negative."""
        found: list[Poly] = []
        for p, q in zip(*known, strict=True):
            m, n = number(p), number(q)
            if m is not None and n is not None:
                found.append(constant(max(m, n) if greater else min(m, n)))
            elif greater and ((m is not None and m <= 0 and symbol(q)) or (n is not None and n <= 0 and symbol(p))):
                found.append(p if m is None else q)
            else:
                return None
        return found

    def dims(self, value: SSAValue, what: str = "a shape that is data") -> list[Dim | Poly]:
        """A shape operand as dimensions: numbers, names, and polynomials of them. Raises `Refused` for data."""
        found = self.of(value)
        if found is None:
            raise Refused(what, "only sizes that follow from dimensions of arguments are converted")
        dims: list[Dim | Poly] = []
        for p in found:
            n, name = number(p), symbol(p)
            if name in self.scalars:
                self.used.setdefault(name, self.op)
            dims.append(n if n is not None else name if name is not None else p)
        return dims

    def shape(self, value: SSAValue) -> Dims:
        """A shape operand whose dimensions all are numbers or names. Raises `Refused` for others."""
        found: list[Dim] = []
        for dim in self.dims(value):
            if isinstance(dim, dict):
                raise Refused(f"a size that no dimension of an argument has, {shown(dim)}")
            found.append(dim)
        return tuple(found)

    def numbers(self, value: SSAValue) -> tuple[int, ...]:
        """The elements of an operand that must be numbers. Raises `Refused` for others."""
        found = self.dims(value)
        numbers = [n for n in found if isinstance(n, int)]
        if len(numbers) != len(found):
            raise Refused("bounds that are data", "only sizes known from the types of arguments are converted")
        return tuple(numbers)

    # Shapes that must agree

    def same_shapes(self, shapes: Sequence[Sequence[Dim]]) -> None:
        """Operands of one shape: take their names for each other. Raises `Restart`."""
        for other in shapes[1:]:
            for a, b in zip(shapes[0], other, strict=False):
                if isinstance(a, str) and isinstance(b, str) and a != b and UNKNOWN not in (a, b):
                    self.unify({(a,): 1}, {(b,): 1})

    def placed(self, dims: Sequence[Dim], target: Sequence[Dim | Poly]) -> None:
        """Dimensions that are broadcast to those of a target: each is 1, or the same. Raises `Restart`."""
        for dim, wanted in zip(dims, target, strict=True):
            p = self.of_dim(dim)
            q = wanted if isinstance(wanted, dict) else self.of_dim(wanted)
            if dim != 1 and p is not None and q is not None and p != q and symbol(p) is not None and symbol(q) is not None:
                self.unify(p, q)

    def reshaped(self, dims: Dims, target: Sequence[Dim | Poly]) -> Dims:
        """The target of a reshape; one size that has no name is inferred. Raises `Restart`, `Refused`."""
        before = self._product(list(dims))
        after = self._product(list(target))
        if before is not None and after is not None and before != after:
            self._cancelled(before, after)
        holes = [i for i, dim in enumerate(target) if isinstance(dim, dict)]
        if len(holes) > 1:
            raise Refused("a reshape to several sizes that no dimension of an argument has")
        return tuple(-1 if isinstance(dim, dict) else dim for dim in target)

    def _product(self, dims: Sequence[Dim | Poly]) -> Poly | None:
        found = constant(1)
        for dim in dims:
            p = dim if isinstance(dim, dict) else self.of_dim(dim)
            if p is None:
                return None
            found = times(found, p)
        return found

    def _cancelled(self, before: Poly, after: Poly) -> None:
        """Two products that are equal and differ in one name have one name."""
        if len(before) != 1 or len(after) != 1:
            return
        ((left, m),), ((right, n),) = before.items(), after.items()
        common = Counter(left) & Counter(right)
        a, b = list((Counter(left) - common).elements()), list((Counter(right) - common).elements())
        if m == n and len(a) == len(b) == 1:
            self.unify({(a[0],): 1}, {(b[0],): 1})


def _count(shape: Dims) -> int | None:
    """The number of elements of a small tensor of rank 0 or 1."""
    sizes = [n for n in shape if isinstance(n, int)]
    count = math.prod(sizes)
    return count if len(sizes) == len(shape) and len(shape) <= 1 and count <= 64 else None
