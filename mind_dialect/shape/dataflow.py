"""
Forward dataflow over the lattice: one walk evaluates the ops of a function in order and collects faults.

A fault is an op that is invalid though no operand is: what only follows from it is not reported again. It counts where the op
runs whenever the function does: in the first block, in `assuming`, and in `reduce` over a shape of known rank, whose region is
rehearsed extent by extent. What is known in the end of values inside a region that runs many times holds for each.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..declared_dims import NO_FACTS
from ..extents import Facts
from .constraints import AssumingOp
from .evaluate import EVALUATE, Shaped, Value, as_shape, evaluate, settle, top_of
from .foreign import evaluate_foreign
from .functions import FuncOp
from .lattice import Invalid, Ranked, Shape, invalid
from .reduction import ReduceOp
from .relations import Relations
from .size_facts import SizeFacts
from .types import ShapeType

MAX_STEPS = 1 << 17
"""All `reduce` together run this many ops; beyond, their results are unknown."""


_NOTHING = Shaped(Invalid("nothing is stated"))


class Fault(NamedTuple):
    """An op that cannot succeed, and why."""

    op: Operation
    reason: str


class Dataflow:
    """
    The lattice values of a function's SSA values.

    `bindings` are sizes of named dimensions, `facts` hold of the others, `functions` give the shapes of results of other ops by
    their names.
    """

    def __init__(
        self,
        bindings: Mapping[str, int] | None = None,
        facts: Facts = NO_FACTS,
        functions: Mapping[str, FuncOp] | None = None,
    ):
        self._bindings = bindings or {}
        self._functions = functions or {}
        self._by_function: dict[tuple[FuncOp, tuple[Value, ...]], tuple[Value, ...] | None] = {}
        self._sizes = SizeFacts(facts, self.of)
        self._known: dict[SSAValue, Value] = {}
        self._tops: dict[Attribute, Value] = {}
        self._steps = MAX_STEPS
        self._certain = True
        self._rehearsing = False
        self._faults: dict[Operation, str] = {}
        self._relations = Relations()

    @property
    def faults(self) -> list[Fault]:
        """The faults met so far, each op once."""
        return [Fault(op, reason) for op, reason in self._faults.items()]

    def of(self, value: SSAValue) -> Value:
        """Return the lattice value of an SSA value."""
        found = self._known.get(value, _NOTHING)
        return self._top(value.type) if found is _NOTHING else found

    def assume(self, value: SSAValue, known: Value) -> None:
        """State what is known of a value."""
        self._known[value] = known

    def proven(self, op: Operation, value: SSAValue) -> frozenset[int]:
        """Return the numbers of extents of an operand of `cstr_eq` that are those of the first, by what is before the op."""
        return self._sizes.proven.get((op, value), frozenset())

    def run(self, region: Region) -> None:
        """Evaluate the body of a function, of whose arguments the types tell unless something was stated."""
        with self._relations.scope(), self._sizes.scope(), self._sizes.asked():
            for block in region.blocks:
                if block is region.first_block:  # it dominates the others, so that what it teaches holds there
                    self._ops(block)
                else:
                    with self._uncertain():
                        self._block(block)

    def _top(self, type: Attribute) -> Value:
        if type not in self._tops:
            found = top_of(type)
            if self._bindings and isinstance(found, Shaped) and isinstance(found.shape, tuple):
                found = Shaped(tuple(self._bindings.get(n, n) if isinstance(n, str) else n for n in found.shape))
            self._tops[type] = found
        return self._tops[type]

    @contextmanager
    def _uncertain(self, uncertain: bool = True) -> Generator[None]:
        """Discard faults of code that may never run."""
        before = self._certain
        self._certain = before and not uncertain
        try:
            yield
        finally:
            self._certain = before

    def _block(self, block: Block) -> tuple[Value, ...]:
        """Evaluate a block, whose constraints teach nothing beyond it; what is known of the operands of its last op."""
        with self._relations.scope(), self._sizes.scope():
            return self._ops(block)

    def _ops(self, block: Block) -> tuple[Value, ...]:
        """Evaluate the ops of a block; what is known of the operands of the last."""
        for op in block.ops:
            results = self._op(op)
            self._known.update(zip(op.results, results, strict=True))
        last = block.last_op
        return () if last is None else tuple(map(self.of, last.operands))

    def _op(self, op: Operation) -> tuple[Value, ...]:
        values = tuple(map(self.of, op.operands))
        bad = invalid(*values)
        if type(op) in EVALUATE:
            return (bad,) * len(op.results) if bad is not None else self._related(op, self._judged(op, evaluate(op, values)))
        if isinstance(op, AssumingOp):
            with self._uncertain(bad is not None):
                passed = self._block(op.body.block)
            return passed if bad is None else (bad,) * len(op.results)
        if isinstance(op, ReduceOp):
            return self._reduce(op, as_shape(values[0]), values[1:])
        if op.regions:
            with self._uncertain():
                for region in op.regions:
                    self.run(region)
        if bad is not None:
            return tuple(map(self._top, op.result_types))
        self._learn(op)
        if (function := self._functions.get(name_of(op))) is not None:
            return self._described(op, function, values)
        return evaluate_foreign(op, values)

    def _described(self, op: Operation, function: FuncOp, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """The results of an op whose shapes a function of a library gives; a function for other operands says nothing."""
        key = function, values
        if key not in self._by_function:
            self._by_function[key] = self._shapes_of(function, values)
        found = self._by_function[key]
        if found is None or len(found) != len(op.results):
            return tuple(map(self._top, op.result_types))
        results = tuple(settle(Shaped(as_shape(s)), v.type) for s, v in zip(found, op.results, strict=True))
        bad = invalid(*found, *results)
        if bad is not None and self._certain:
            self._faults.setdefault(op, bad.reason)
        return results

    def _shapes_of(self, function: FuncOp, values: tuple[Value, ...]) -> tuple[Value, ...] | None:
        """Return the results of a shape function for operands; None if it takes others, or has several blocks."""
        block = function.body.first_block
        if block is None or block is not function.body.last_block or len(block.args) != len(values) or block.last_op is None:
            return None
        inner = Dataflow(self._bindings, self._sizes.facts)
        for argument, value in zip(block.args, values, strict=True):
            if not isinstance(value, Shaped):
                return None
            inner.assume(argument, as_shape(value.shape) if isinstance(argument.type, ShapeType) else value)
        inner.run(function.body)
        if inner.faults:
            return (Invalid(inner.faults[0].reason),) * len(block.last_op.operands)
        return tuple(map(inner.of, block.last_op.operands))

    def _learn(self, op: Operation) -> None:
        """Take in what an op demands of sizes; one that cannot be met is a fault."""
        if (reason := self._sizes.learn(op)) is not None and self._certain:
            self._faults.setdefault(op, reason)

    def _judged(self, op: Operation, results: tuple[Value, ...]) -> tuple[Value, ...]:
        if self._certain and (bad := invalid(*results)) is not None:
            self._faults.setdefault(op, bad.reason)
        return results

    def _related(self, op: Operation, results: tuple[Value, ...]) -> tuple[Value, ...]:
        """The results of an op by the constraints before it, from which it is learnt itself."""
        if invalid(*results) is not None:
            return results
        if results == (None,) and self._relations.implies(op):
            results = (True,)
        self._relations.learn(op)
        if results != (True,):
            self._learn(op)
        return results

    def _reduce(self, op: ReduceOp, shape: Shape, carried: tuple[Value, ...]) -> tuple[Value, ...]:
        block = op.body.block
        found = self._rehearse(block, shape, carried) if isinstance(shape, tuple) else None
        if not self._rehearsing:  # what is known of the values inside is to hold for each step
            for argument in block.args:
                self._known.pop(argument, None)
            with self._uncertain():
                self._block(block)
        if isinstance(shape, Invalid):
            return (shape,) * len(op.results)
        return tuple(map(self._top, op.result_types)) if found is None else tuple(found)

    def _rehearse(self, block: Block, shape: Ranked, carried: Sequence[Value]) -> Sequence[Value] | None:
        """Return the values that the region of `reduce` yields in its last step; None if there are too many steps."""
        outer, self._rehearsing = self._rehearsing, True
        length = sum(1 for _ in block.ops)
        try:
            for i, extent in enumerate(shape):
                self._steps -= length
                if self._steps < 0:
                    return None
                self._known.update(zip(block.args, (i, extent, *carried), strict=True))
                carried = self._block(block)
        finally:
            self._rehearsing = outer
        return carried


def name_of(op: Operation) -> str:
    """Return the name of an op, of an unregistered one too."""
    stored = op.attributes.get("op_name__")
    return stored.data if isinstance(stored, StringAttr) else op.name
