"""
Sizes that a program computes from dimensions of its arguments, and the names that dimensions have because of them.

Each dynamic dimension of an argument has a name. Integers are followed through the ops that compute shapes as expressions of
names, so the operand of `dynamic_broadcast_in_dim` says which sizes its result has. A scalar argument that is used as a size, as
in what JAX exports, has a name too, until it turns out to be that of a dimension: where two names are one, `Restart` asks for the
function to be converted again.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.extents import Extent, TooLarge, extent, floordiv, max_of, min_of, relation_text
from mind_dialect.extents.dims import are_related, dim_of, extent_of, is_expression
from mind_dialect.ptir.types import is_dim_name, read_type
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims

from ..landing import INTEGER_KINDS
from ..unsupported import Refused
from .size_functions import QUOTIENTS

MOST_RESTARTS = 100
MOST_STEPS = 64
"""Most ops back that a size is followed."""


class Restart(Exception):
    """Two names are one: convert the function again."""


_VARIABLE = re.compile(r"Expected value >= \d+ for dimension variable '(\w+)'")
_RELATIONS = {
    "equal": "==",
    "not_equal": "!=",
    "greater_equal": ">=",
    "greater": ">",
    "less_equal": "<=",
    "less": "<",
}


class Sizes:
    """Known sizes in one function; `quotients` are the functions that are `QUOTIENTS`, by name."""

    def __init__(self, quotients: Mapping[str, str] | None = None) -> None:
        self._quotients = quotients or {}
        self.facts: dict[str, None] = {}
        """Demands of the function on sizes, as declarations say it."""
        self.dimensions: set[str] = set()
        """The names that dimensions of arguments have by their places."""
        self.same: dict[str, str] = {}
        self.scalars: set[str] = set()
        self.used: dict[str, Operation | None] = {}
        """Names of scalar arguments that stand in shapes, and the op that was converted first with them."""
        self.op: Operation | None = None
        self.values: dict[SSAValue, list[Extent]] = {}
        self._data: set[SSAValue] = set()
        """Values that one question met and that are no sizes: it follows each once."""

    # Names

    def name(self, given: str) -> str:
        """The name that stands for all that are one with `given`."""
        while given in self.same:
            given = self.same[given]
        return given

    def new_scalar(self, value: SSAValue, name: str) -> None:
        """A scalar argument that may be a size."""
        self.scalars.add(name)
        self.values[value] = [extent_of(self.name(name))]

    # Integers

    def of(self, value: SSAValue, steps: int = MOST_STEPS) -> list[Extent] | None:
        """The elements of a small tensor of integers; None for data."""
        if steps == MOST_STEPS:
            self._data.clear()
        if value not in self.values:
            found = self._of(value, steps) if steps and value not in self._data else None
            if found is None:
                self._data.add(value)
                return None
            self.values[value] = found
        return self.values[value]

    def _of(self, value: SSAValue, steps: int) -> list[Extent] | None:
        op: Any = value.owner
        if isinstance(op, CallOp):
            return self._called(op, value, steps)
        if not isinstance(op, Operation) or not isinstance(op, ptir.PtirOp):
            return None
        count = _count(read_type(value.type).shape)
        if count is None:
            return None
        if isinstance(op, ptir.ConstantOp):
            numbers = op.literal.values()
            return [extent(int(n)) for n in (numbers * count if len(numbers) == 1 else numbers) if isinstance(n, int)]
        parts = [self.of(v, steps - 1) for v in op.operands]
        known = [part for part in parts if part is not None]
        if len(known) != len(parts) or not known:
            return None
        match op:
            case ptir.ReshapeOp() | ptir.CastOp() | ptir.TruncateOp():
                return known[0]
            case ptir.BroadcastToOp() if len(known[0]) == 1:
                return known[0] * count
            case ptir.ConcatOp() if op.values()["axis"] == 0:
                return [p for part in known for p in part]
            case ptir.SliceOp() if len(op.values()["starts"]) == 1:
                start = op.values()["starts"][0]
                return known[0][start : start + count]
            case _ if (of := _ARITHMETIC.get(type(op))) is not None:
                return _elementwise(of, *known)
            case _:
                return None

    def _called(self, op: CallOp, value: SSAValue, steps: int) -> list[Extent] | None:
        """A quotient or remainder of sizes by a number."""
        name = self._quotients.get(op.callee.root_reference.data)
        if name is None or len(op.results) != len(QUOTIENTS[name]) or len(op.operands) < 2:
            return None
        p, q = (self.of(v, steps - 1) for v in op.operands[-2:])
        if p is None or q is None or len(p) != 1 or len(q) != 1 or not q[0].is_constant or q[0].constant <= 0:
            return None
        try:
            return [QUOTIENTS[name][op.results.index(value)](p[0], q[0])]
        except TooLarge:
            return None

    def captured(self, outer: SSAValue, inner: SSAValue) -> None:
        """Take what is known of a value for the argument of a region that stands for it."""
        spec = read_type(outer.type)
        if spec.dtype.kind in INTEGER_KINDS and len(spec.shape) < 2 and (known := self.of(outer)) is not None:
            self.values[inner] = known

    # Facts

    def bounded(self, dim: Dim, bound: int) -> None:
        """A dimension that is at most `bound`."""
        if isinstance(dim, str) and dim != UNKNOWN:
            self.facts[f"{dim} <= {bound}"] = None

    def asserted(self, pred: SSAValue, message: str) -> None:
        """
        A comparison that must be true: a fact if it is one of sizes; JAX's message may say what its user calls a dimension.

        Raises `Restart` for a dimension that has another name so far.
        """
        op = pred.owner
        if not isinstance(op, ptir.CompareOp):
            return
        left, right = (self.of(v) for v in op.operands)
        if left is None or right is None or len(left) != 1 or len(right) != 1:
            return
        self._call(left[0], message)
        relation = _RELATIONS[op.values()["kind"]]
        if are_related(dim_of(left[0]), relation, dim_of(right[0])) is not True:
            self.facts[relation_text(left[0], relation, right[0])] = None

    def _call(self, size: Extent, message: str) -> None:
        """Call a dimension what a message calls it. Raises `Restart` if that is new."""
        found = _VARIABLE.search(message)
        old = dim_of(size)
        if found is None or old not in self.dimensions or old == found[1] or not is_dim_name(found[1]):
            return
        if found[1] not in self.dimensions and found[1] not in self.same.values():
            self.same[str(old)] = found[1]
            raise Restart

    def shape(self, value: SSAValue, what: str = "a shape that depends on data") -> Dims:
        """A shape operand as dimensions. Raises `Refused` for data."""
        found = self.of(value)
        if found is None:
            raise Refused(what, "only sizes that are computed from dimensions of arguments are converted")
        for e in found:
            for name in sorted(e.names & self.scalars):
                self.used.setdefault(name, self.op)
        return tuple(map(dim_of, found))

    def numbers(self, value: SSAValue) -> tuple[int, ...]:
        """The elements of an operand that must be numbers. Raises `Refused` for others."""
        found = self.shape(value)
        numbers = [n for n in found if isinstance(n, int)]
        if len(numbers) != len(found):
            raise Refused("bounds that depend on data", "only sizes known from the types of arguments are converted")
        return tuple(numbers)

    # Shapes that must agree

    def same_shapes(self, shapes: Sequence[Sequence[Dim]]) -> None:
        """Operands of one shape: take their names for each other. Raises `Restart`."""
        for other in shapes[1:]:
            for a, b in zip(shapes[0], other, strict=False):
                self._same(a, b)

    def placed(self, dims: Sequence[Dim], target: Sequence[Dim]) -> None:
        """Dimensions that are broadcast to those of a target: each is 1, or the same. Raises `Restart`."""
        for a, b in zip(dims, target, strict=True):
            self._same(a, b)

    def _same(self, a: Dim, b: Dim) -> None:
        """Two dimensions that are one size, where both have names. Raises `Restart`."""
        if a == b or not all(isinstance(n, str) and n != UNKNOWN and not is_expression(n) for n in (a, b)):
            return
        one, other = map(str, (a, b) if b in self.scalars else (b, a))  # a dimension stands for a scalar
        self.same[other] = one
        raise Restart

    def reshaped(self, dims: Dims, target: Dims) -> None:
        """Shapes of as many elements: two products that differ in one name have one name. Raises `Restart`."""
        if UNKNOWN in dims:
            return
        names, others = (Counter(n for n in shape if isinstance(n, str)) for shape in (dims, target))
        before, after = list((names - others).elements()), list((others - names).elements())
        sizes, wanted = (math.prod(n for n in shape if isinstance(n, int)) for shape in (dims, target))
        if len(before) == len(after) == 1 and sizes == wanted:
            self._same(before[0], after[0])


def _elementwise(of: Callable[[Extent, Extent], Extent | None], *operands: list[Extent]) -> list[Extent] | None:
    """Sizes computed from sizes; None where one of them is none."""
    try:
        found = [of(p, q) for p, q in zip(*operands, strict=True)]
    except TooLarge:
        return None
    known = [e for e in found if e is not None]
    return known if len(known) == len(found) else None


def _quotient(p: Extent, q: Extent) -> Extent | None:
    """The quotient rounded towards 0, where that is rounding down, of a number that is not 0."""
    return floordiv(p, q) if p.is_nonnegative and q.is_constant and q.constant > 0 else None


def _remainder(p: Extent, q: Extent) -> Extent | None:
    return None if (quotient := _quotient(p, q)) is None else p - quotient * q


_ARITHMETIC: dict[type[Operation], Callable[[Extent, Extent], Extent | None]] = {
    ptir.AddOp: Extent.__add__,
    ptir.SubOp: Extent.__sub__,
    ptir.MulOp: Extent.__mul__,
    ptir.DivOp: _quotient,
    ptir.RemainderOp: _remainder,
    ptir.MaximumOp: max_of,
    ptir.MinimumOp: min_of,
}
"""Arithmetic of ops on integers, on sizes."""


def _count(shape: Dims) -> int | None:
    """The number of elements of a small tensor of rank 0 to 2; the pairs of a padding have rank 2."""
    sizes = [n for n in shape if isinstance(n, int)]
    count = math.prod(sizes)
    return count if len(sizes) == len(shape) and len(shape) <= 2 and count <= 64 else None
