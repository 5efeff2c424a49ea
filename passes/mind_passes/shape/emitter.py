"""
Shape ops put down one after the other, and what the lattice knows of each value at once: emitting is inferring.

    index   an extent, or a number made of extents
    Shape   a shape: a value of the dialect, its extents, or both; the one is made from the other when it is asked for

A constraint carries what a message about it needs: `mind.op` is the op it is for, `mind.code` the code of its error, and
`mind.wording` its message with `{lhs}` and `{rhs}` where the two numbers compared belong; `msg` has `?` there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, i1, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import Pure

from mind_dialect import extents
from mind_dialect import shape as sh
from mind_dialect.declared_dims import NO_FACTS
from mind_dialect.errors import error
from mind_dialect.extents import Facts
from mind_dialect.extents.dims import Dim, extent_of, is_expression, names_in
from mind_dialect.extents.operations import Algebra, fold
from mind_dialect.extents.recording import Computed, Recorder
from mind_dialect.shape.evaluate import EVALUATE, Value, as_shape, evaluate, top_of
from mind_dialect.shape.foreign import evaluate_foreign
from mind_dialect.shape.lattice import UNKNOWN, Extent, Invalid, Ranked, invalid
from mind_dialect.shape.size_facts import SizeFacts
from mind_dialect.shape.types import extents_type, index, shape, size, witness

from .emitted import CODE_ATTRIBUTE, CODES, OP_ATTRIBUTE, WORDING_ATTRIBUTE, Fault, Shape, filled

MAX_IMPLIED, MAX_NEAR = 64, 8
"""So many constraints are compared with one another, each with so many others that have a name of its."""
RELATIONS = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
"""Comparisons of two numbers, by the number of the predicate of `arith.cmpi`."""


class Emitter:
    """Emits at the end of `block`, or before `anchor`; `source` is the op whose rule it is, `label` what messages call it."""

    def __init__(self, block: Block, facts: Facts = NO_FACTS):
        self.block = block
        self.sizes = SizeFacts(facts, self.of)
        """Facts about sizes that hold after the ops emitted so far."""
        self.anchor: Operation | None = None
        self.source: Operation | None = None
        self.label = ""
        self.names: dict[str, SSAValue] = {}
        """The extents that names of dimensions and expressions of them stand for."""
        self.recorder = Recorder()
        """Sizes that the rule of an op leaves open."""
        self.faults: list[Fault] = []
        self.made: list[Operation] = []
        self._known: dict[SSAValue, Value] = {}
        self._tops: dict[Attribute, Value] = {}
        self._constants: dict[int, SSAValue] = {}
        self._symbols: dict[SSAValue, str] = {}
        self._facts = facts
        self._checks: list[Operation] = []

    # What is known

    def of(self, value: SSAValue) -> Value:
        """Return the element of the lattice for a value."""
        if value in self._known:
            return self._known[value]
        if value.type not in self._tops:
            self._tops[value.type] = top_of(value.type)
        return self._tops[value.type]

    def assume(self, value: SSAValue, known: Value) -> None:
        """State what is known of a value, before it is used."""
        self._known[value] = known

    def extent_known(self, value: SSAValue) -> Extent:
        """Return what is known of an extent; unknown if it cannot be."""
        found = self.of(value)
        return found if isinstance(found, int | str) else UNKNOWN

    def dims(self, x: Shape) -> Ranked:
        """Return what is known of each extent of a shape."""
        if x.value is not None:
            found = as_shape(self.of(x.value))
            if isinstance(found, tuple):
                return found
        return tuple(UNKNOWN if e is None else self.extent_known(e) for e in x.extents)

    # Emitting

    def emit(self, op: Operation) -> SSAValue:
        """Put down an op and evaluate it; its first result."""
        if self.source is not None:
            op.location = self.source.location
        if self.anchor is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.anchor)
        self.made.append(op)
        with self.sizes.asked():
            self._known.update(zip(op.results, self._evaluated(op), strict=True))
        return op.results[0]

    def _evaluated(self, op: Operation) -> tuple[Value, ...]:
        """Return what is known of the results of an op; one that cannot succeed is a fault."""
        values = tuple(map(self.of, op.operands))
        bad = invalid(*values)
        if bad is not None:
            return (bad,) * len(op.results)
        if type(op) not in EVALUATE:
            return evaluate_foreign(op, values)
        found = evaluate(op, values)
        if (bad := invalid(*found)) is not None:
            self._fault(op, bad.reason)
        return found

    def _demand(self, op: Operation) -> None:
        """Emit a constraint, unless what is known implies it; later questions may rely on it."""
        known = self.of(self.emit(op))
        if known is True:
            self.made.pop()
            op.detach()
            op.erase()
        elif not isinstance(known, Invalid):
            self._checks.append(op)
            with self.sizes.asked():
                if (reason := self.sizes.learn(op)) is not None:
                    self._fault(op, reason)

    def drop_implied(self) -> None:
        """
        Take away comparisons of sizes that the other constraints imply, whatever their order.

        Only where nothing between two constraints relies on the first.
        """
        claims = {op: list(self.sizes.claims(op)) for op in self._checks[:MAX_IMPLIED]}
        for op, claimed in list(claims.items()):
            if not isinstance(op, sh.CstrRequireOp) or len(claimed) != 1 or claimed[0].relation == "==":
                continue
            names = {*names_in(claimed[0].a), *names_in(claimed[0].b)}
            others = [c for other, found in claims.items() if other is not op for c in found]
            near = [c for c in others if names & {*names_in(c.a), *names_in(c.b)}][:MAX_NEAR]
            if near and claimed[0].follows_from(self._facts, near):
                del claims[op]
                self.made.remove(op)
                op.detach()
                op.erase()

    def _fault(self, op: Operation, reason: str) -> None:
        given = op.attributes.get(CODE_ATTRIBUTE)
        code = given.data if isinstance(given, StringAttr) else CODES.get(type(op), "E9020")
        if isinstance(op, sh.CstrRequireOp):
            reason = filled(op, [self.of(v) for v in cast(Operation, op.pred.owner).operands])
        self.faults.append(Fault(self.source or op, code, reason))

    def _op(self, kind: type[sh.ShapeOp], operands: Sequence[SSAValue], type: Attribute) -> SSAValue:
        return self.emit(kind.create(operands=operands, result_types=[type]))

    def number(self, n: int) -> SSAValue:
        """A constant."""
        if n not in self._constants:
            self._constants[n] = self.emit(_constant(n).clone())
        return self._constants[n]

    def index(self, value: SSAValue) -> SSAValue:
        """A size as an index."""
        return value if isinstance(value.type, IndexType) else self._op(sh.SizeToIndexOp, [value], index)

    def _arithmetic(self, kind: type[sh.ShapeOp], a: SSAValue, b: SSAValue) -> SSAValue:
        return self._op(kind, [a, b], index if a.type == index == b.type else size)

    def add(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """`a + b`; of a number below 0 an index, which may be negative too."""
        if not isinstance(b, int):
            return self._arithmetic(sh.AddOp, a, b)
        return a if b == 0 else self._arithmetic(sh.AddOp, self.index(a) if b < 0 else a, self.number(b))

    def mul(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """`a * b`."""
        return a if b == 1 else self._arithmetic(sh.MulOp, a, self.number(b) if isinstance(b, int) else b)

    def div(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """`a / b`, rounded down."""
        return a if b == 1 else self._arithmetic(sh.DivOp, a, self.number(b) if isinstance(b, int) else b)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a - b`, which may be negative."""
        return self.emit(arith.SubiOp(self.index(a), self.index(b)))

    def max(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The greater of two."""
        return self.emit(arith.MaxSIOp(self.index(a), self.index(b)))

    def min(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """The lesser of two."""
        return self.emit(arith.MinSIOp(self.index(a), self.number(b) if isinstance(b, int) else self.index(b)))

    # Shapes

    def shape_of(self, value: SSAValue, rank: int) -> Shape:
        """The shape of a tensor."""
        return Shape(self._op(sh.ShapeOfOp, [value], extents_type(rank)), [None] * rank)

    def shape(self, extents: Sequence[SSAValue | int]) -> Shape:
        """The shape of these extents."""
        return Shape(None, [self.number(e) if isinstance(e, int) else e for e in extents])

    def value(self, x: Shape) -> SSAValue:
        """A shape as one value."""
        if x.value is None:
            x.value = self._op(sh.FromExtentsOp, [cast(SSAValue, e) for e in x.extents], shape)
        return x.value

    def as_shape(self, x: Shape) -> SSAValue:
        """A shape as a value of type `!shape.shape`."""
        value = self.value(x)
        return value if value.type == shape else self._op(sh.FromExtentTensorOp, [value], shape)

    def extent(self, x: Shape, i: int) -> SSAValue:
        """Extent `i` of a shape, from 0 or from the end."""
        found = x.extents[i]
        if found is None:
            value = self.value(x)
            place = self.number(i % x.rank)
            found = x.extents[i] = self._op(sh.GetExtentOp, [value, place], size if value.type == shape else index)
        return found

    def extents(self, x: Shape) -> list[SSAValue]:
        """All extents of a shape."""
        return [self.extent(x, i) for i in range(x.rank)]

    def count(self, x: Shape) -> SSAValue:
        """The number of elements of a shape."""
        value = self.value(x)
        return self._op(sh.NumElementsOp, [value], size if value.type == shape else index)

    def product(self, extents: Sequence[SSAValue | int]) -> SSAValue:
        """The product of extents."""
        return self.count(self.shape(extents))

    def dim(self, dim: Extent) -> SSAValue:
        """A dimension that a property or type states; E8001 for a name that nothing has."""
        if isinstance(dim, int):
            return self.number(dim)
        for name in names_in(dim):
            if name in self.recorder.computed:
                self.names[name] = self._computed(self.recorder.computed.pop(name))
            elif name not in self.names:
                message = f"the dimension name {name} is used, which no input and no earlier value has"
                raise error("E8001", message, name=name, extents=())
        if dim not in self.names:
            self.names[dim] = self.expression(extent_of(dim), self.names)
        return self.names[dim]

    def _computed(self, size: Computed) -> SSAValue:
        """A size that no expression holds."""
        return _OPERATIONS[size.operation](self, self.dim(size.a), self.dim(size.b))

    def symbols(self, x: Shape) -> tuple[Dim, ...]:
        """The extents of a shape as dimensions that `dim` has a value for; one of which nothing is known gets a name."""
        found: list[Dim] = []
        for i, dim in enumerate(self.dims(x)):
            if isinstance(dim, str) and any(name not in self.names for name in names_in(dim)):
                if not is_expression(dim):
                    self.names[dim] = self.extent(x, i)
                else:
                    dim = UNKNOWN
            found.append(self._symbol(self.extent(x, i)) if dim == UNKNOWN else dim)
        return tuple(found)

    def _symbol(self, extent: SSAValue) -> str:
        if extent not in self._symbols:
            self._symbols[extent] = name = self.recorder.fresh()
            self.names[name] = extent
        return self._symbols[extent]

    def expression(self, e: extents.Extent, names: Mapping[str, SSAValue]) -> SSAValue:
        """An expression of names that have values."""
        return fold(e, Algebra(self.number, names.__getitem__, self.add, self.sub, self.mul, self.div, self.max))

    def _joined(self, kind: type[sh.AnyOp | sh.BroadcastOp], shapes: Sequence[Shape]) -> Shape:
        values = [self.value(x) for x in shapes]
        rank = max(x.rank for x in shapes)
        type = shape if any(v.type == shape for v in values) else extents_type(rank)
        return Shape(self._op(kind, values, type), [None] * rank)

    # Constraints

    def _attributes(self, code: str | None = None, wording: str | None = None) -> dict[str, Attribute]:
        stated = {OP_ATTRIBUTE: self.label, CODE_ATTRIBUTE: code, WORDING_ATTRIBUTE: wording}
        return {name: StringAttr(text) for name, text in stated.items() if text}

    def same(self, first: Shape, *others: Shape) -> Shape:
        """The one shape that all must have."""
        shapes = [first, *(x for x in others if x is not first)]
        if len(shapes) == 1:
            return first
        if len({x.rank for x in shapes}) > 1:
            ranks = [x.rank for x in shapes]
            raise error("E3002", f"shapes of ranks {ranks}, expected one", expected=ranks[0], actual=ranks[1])
        values = [self.value(x) for x in shapes]
        self._demand(sh.CstrEqOp.create(operands=values, result_types=[witness], attributes=self._attributes()))
        return self._joined(sh.AnyOp, shapes)

    def broadcast(self, *shapes: Shape) -> Shape:
        """The shape that all must broadcast to."""
        values = [self.value(x) for x in shapes]
        self._demand(sh.CstrBroadcastableOp.create(operands=values, result_types=[witness], attributes=self._attributes()))
        return self._joined(sh.BroadcastOp, shapes)

    def broadcast_to(self, x: Shape, target: Shape) -> Shape:
        """`target`, which broadcasting `x` together with it must not change."""
        found = self.broadcast(x, target)
        values = [self.value(found), self.value(target)]
        self._demand(sh.CstrEqOp.create(operands=values, result_types=[witness], attributes=self._attributes()))
        return target

    def require(self, a: SSAValue, relation: str, b: SSAValue | int, code: str, wording: str, always: bool = False) -> None:
        """
        Demand that two numbers are in a relation, unless what is known implies it.

        `wording` is the message, with `{lhs}` and `{rhs}` for the numbers. `always` is for what types say, and is known by that.
        """
        rhs = self.number(b) if isinstance(b, int) else b
        if a is rhs and relation in ("eq", "le", "ge"):
            return
        operands = [self.index(a), self.index(rhs)]
        predicate = {"predicate": _predicate(RELATIONS[relation])}
        holds = self.emit(arith.CmpiOp.create(operands=operands, result_types=[i1], properties=predicate))
        plain = wording.format(lhs=UNKNOWN, rhs=UNKNOWN)
        attributes = self._attributes(code, None if plain == wording else wording)
        properties = {"msg": StringAttr(plain)}
        made = sh.CstrRequireOp.create(operands=[holds], result_types=[witness], properties=properties, attributes=attributes)
        if always:
            self.emit(made)
        else:
            self._demand(made)

    def equal(self, a: SSAValue, b: SSAValue | int, code: str, wording: str) -> SSAValue:
        """Demand that two numbers are equal; the one of which more is known."""
        other = self.number(b) if isinstance(b, int) else b
        self.require(a, "eq", other, code, wording)
        return min(a, other, key=lambda v: _ignorance(self.of(v)))

    def erase_unused(self) -> None:
        """Take away what was emitted for nothing: no constraint and no other op needs it."""
        kept: list[Operation] = []
        for op in reversed(self.made):
            if op.has_trait(Pure) and not any(r.first_use for r in op.results):
                op.detach()
                op.erase()
            else:
                kept.append(op)
        self.made = kept[::-1]


_OPERATIONS: Mapping[str, Callable[[Emitter, SSAValue, SSAValue], SSAValue]] = {
    "+": Emitter.add,
    "-": Emitter.sub,
    "*": Emitter.mul,
    "//": Emitter.div,
    "max": Emitter.max,
    "min": Emitter.min,
}


def _ignorance(known: Value) -> int:
    return 0 if isinstance(known, int) else 2 if known == UNKNOWN or isinstance(known, Invalid) else 1


@cache
def _constant(n: int) -> Operation:
    return arith.ConstantOp(IntegerAttr(n, index))


@cache
def _predicate(n: int) -> Attribute:
    return IntegerAttr(n, i64)
