"""
The derivatives of `ptir.while`.

Reverse: the forward loop counts its iterations and writes what each one needs into buffers with a place per iteration; a loop
that counts down reads them. The buffers need a bound on the number of iterations: the one that follows from a counter and a
limit that are constants, else `ptir.max_iterations` (the option `max-iterations`); a loop that iterates more often than that is
E6001 at run time. Without either the loop is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from mind_dialect.op import value_of
from mind_dialect.ptir import ConcatOp, DynamicSliceOp, DynamicUpdateSliceOp, IotaOp, TakeOp, WhileOp, invariant_carries
from mind_dialect.ptir.types import SI64, read_type, tensor_type

from ...emit import append, copy
from ...loop_options import CHECKPOINT, MAX_ITERATIONS, max_iterations
from ...ptir import construct
from ...ptir.building import substitute
from ...residuals import Cut, cut
from ..dependence import bits, loop_flows, union
from ..rules import Value, can_vary, no_rule
from ..walks import Flows, Forward, Reverse, Whole, WholeForward
from .bodies import body_gradient, copied, finish, or_zeros, take_place, types_of, with_arguments
from .scan import useful_results
from .trip_count import trip_count


def flows(of: Flows, op: WhileOp) -> list[int]:
    """An iteration is `cond`, whose values may differ from the carried ones, then `body`; the end is `cond` once more."""
    reach = _iterations_flow(of, op)
    return [union(reach[b] for b in bits(mask)) for mask in of.of_block(op.cond_region.block)[1:]]


def _iterations_flow(of: Flows, op: WhileOp) -> list[int]:
    """For each carried value, the operands it depends on at the beginning of any iteration."""
    before, body = of.of_block(op.cond_region.block)[1:], of.of_block(op.body_region.block)
    return loop_flows([union(before[b] for b in bits(mask)) for mask in body], len(body))


def adjoints(sweep: Reverse, op: WhileOp, gs: Sequence[SSAValue | None]) -> Sequence[Value | None]:
    end = op.cond_region.block.last_op
    assert end is not None
    if list(end.operands[1:]) != list(op.cond_region.block.args):
        _plain_condition(sweep, op)
        return [None] * len(op.operands)
    if trip_count(op) == 0:
        return gs  # the results are the operands
    return _BackwardWhile(sweep, op, gs).run()


def _plain_condition(sweep: Reverse, op: WhileOp) -> None:
    """Differentiate a loop in whose place `cond` changes nothing: what it computes moves into `body`, and behind the loop."""
    asked, end = copied(op.cond_region.block)
    finish(asked, [end.operands[0], *asked.args])
    iteration = Block(arg_types=op.cond_region.block.arg_types)
    values = _inlined(iteration, op.cond_region.block, iteration.args)[1:]
    finish(iteration, _inlined(iteration, op.body_region.block, values))
    loop = WhileOp.create(
        operands=op.operands, regions=[Region(asked), Region(iteration)], result_types=op.result_types, attributes=op.attributes
    )
    after = Block()
    results = _inlined(after, op.cond_region.block, loop.results)[1:]
    made: list[Operation] = [loop]
    for inner in tuple(after.ops):
        inner.detach()
        made.append(inner)
    take_place(sweep, op, made, results)


def _inlined(block: Block, body: Block, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """Append the ops of `body` on these arguments to `block`; gives what `body` yields."""
    copies: dict[SSAValue, SSAValue] = dict(zip(body.args, arguments, strict=True))
    for op in body.ops:
        if op.next_op is None:
            return [copies[x] for x in op.operands]
        block.add_op(copy(op, copies))
    return []


class _BackwardWhile:
    """One construction of the counting loop and of the one that runs back."""

    def __init__(self, sweep: Reverse, op: WhileOp, gs: Sequence[SSAValue | None]):
        self.sweep, self.op, self.gs = sweep, op, gs
        self.operands = list(op.operands)
        body = op.body_region.block
        end = body.last_op
        assert end is not None
        self.invariant = invariant_carries(op)
        active = [x in sweep.varied for x in op.results]
        useful = useful_results(sweep.flows.of_block(body), [j for j, g in enumerate(gs) if g is not None], len(active))
        self.moving = [j for j in useful if active[j]]
        self.counted = trip_count(op)
        self.body = body_gradient(sweep, body, active, self.moving)

    def bound(self) -> int:
        """Return the most iterations of a loop; E5001 if that is not known."""
        if self.counted is not None:
            return self.counted
        if (stated := max_iterations(self.op)) is not None:
            return stated
        reason = "it may iterate any number of times; max-iterations, or ptir.max_iterations on the op, states a bound"
        raise no_rule(self.op, reason)

    def run(self) -> list[Value | None]:
        bound = self.bound()
        block = self.body.block
        results = [self.body.adjoint(i) for i in self.moving]
        constant: set[SSAValue] = {block.args[i] for i in self.invariant}
        again = CHECKPOINT in self.op.attributes
        found = cut(block, self.body.end, results, self.body.gs, at_hand=constant, invariant=constant, everything=again)
        saved = [x for x in found.residuals if not (isinstance(x, BlockArgument) and x.index in self.invariant)]
        for x in saved:
            construct.static(x)
        iterations, buffers = self._forward(saved, bound)
        made = self._backward(found, saved, results, iterations, buffers, bound)
        x_adjs: list[Value | None] = [None] * len(self.operands)
        for i, x_adj in zip(self.moving, made.results[1:], strict=False):
            x_adjs[i] = x_adj
        return x_adjs

    def _forward(self, saved: Sequence[SSAValue], bound: int) -> tuple[SSAValue, list[SSAValue]]:
        """Let the forward loop count its iterations and fill buffers; gives the count and the buffers."""
        op, block, count = self.op, self.body.block, len(self.operands)
        parent = op.parent
        assert isinstance(parent, Block)
        initial: list[Value] = [construct.scalar(0, SI64)]
        initial += [construct.filled(0, read_type(x.type).dtype, (bound, *construct.static(x))) for x in saved]
        checked = self.counted is None and bool(saved)
        if checked:
            initial.append(construct.make(IotaOp, type=tensor_type(SI64, (bound,)), shape=(bound,), dtype=SI64, axis=0))
        inputs: list[SSAValue] = []
        for x in map(value_of, initial):
            assert isinstance(x.owner, Operation)
            x.owner.location = op.location
            parent.insert_op_before(x.owner, op)
            inputs.append(x)
        more = [block.insert_arg(x.type, len(block.args)) for x in inputs]
        counter, buffers = more[0], more[1 : 1 + len(saved)]
        end = block.last_op
        assert end is not None
        plain = list(end.operands)
        block.erase_op(end)
        place: Value = construct.reshape(counter, (1,))
        if checked:
            place = construct.make(TakeOp, more[-1], place, type=tensor_type(SI64, (1,)))
        at = append(block, place)
        filled = [append(block, _written(b, x, at)) for b, x in zip(buffers, saved, strict=True)]
        one = append(block, construct.add(counter, construct.scalar(1, SI64)))
        finish(block, [*plain, one, *filled, *more[1 + len(saved) :]])
        asked, end = copied(op.cond_region.block)
        passed = [asked.insert_arg(x.type, len(asked.args)) for x in inputs]
        finish(asked, [*end.operands, *passed])
        made = WhileOp.create(
            operands=[*self.operands, *inputs],
            regions=[Region(asked), Region(block)],
            result_types=[*op.result_types, *types_of(inputs)],
            attributes={**op.attributes, MAX_ITERATIONS: IntegerAttr(bound, i64)},
        )
        substitute(op, made)
        return made.results[count], list(made.results[count + 1 : count + 1 + len(saved)])

    def _backward(
        self,
        found: Cut,
        saved: Sequence[SSAValue],
        results: Sequence[SSAValue],
        iterations: SSAValue,
        buffers: Sequence[SSAValue],
        bound: int,
    ) -> WhileOp:
        gs = [or_zeros(self.sweep, self.gs[j], self.operands[j]) for j in self.moving]
        invariant = [x for x in found.arguments if x.index in self.invariant]
        operands = [iterations, *gs, *(self.operands[x.index] for x in invariant), *buffers]
        types = types_of(operands)
        iteration = self._iteration(found, saved, results, invariant, types)
        asked = Block(arg_types=types)
        going = append(asked, construct.compare("greater", asked.args[0], construct.scalar(0, SI64)))
        made = WhileOp.create(
            operands=operands,
            regions=[Region(finish(asked, [going, *asked.args])), Region(iteration)],
            result_types=types,
            attributes={MAX_ITERATIONS: IntegerAttr(bound, i64)},
        )
        made.location = self.op.location
        self.sweep.block.add_op(made)
        return made

    def _iteration(
        self,
        found: Cut,
        saved: Sequence[SSAValue],
        results: Sequence[SSAValue],
        invariant: Sequence[SSAValue],
        types: Sequence[Attribute],
    ) -> Block:
        """One iteration backwards: what the iteration with the number below the counter needs is read, then the adjoints."""
        moving, fixed = len(self.moving), 1 + len(self.moving) + len(invariant)
        head = Block(arg_types=types)
        before = append(head, construct.sub(head.args[0], construct.scalar(1, SI64)))
        at = append(head, construct.reshape(before, (1,)))
        given_as: dict[SSAValue, SSAValue] = {x: head.args[1 + moving + k] for k, x in enumerate(invariant)}
        given_as |= {x: append(head, _read(head.args[fixed + k], x, at)) for k, x in enumerate(saved)}
        given = [given_as[x] for x in found.residuals]
        arguments = [*given, *head.args[1 : 1 + moving]]
        block, ends = with_arguments(
            found.backward, types_of(arguments), range(len(arguments)), [found.became.get(x, x) for x in results]
        )
        became: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
        for x, y in became.items():
            x.replace_all_uses_with(y)
        for op in tuple(block.ops):
            op.detach()
            head.add_op(op)
        return finish(head, [before, *(became.get(x, x) for x in ends), *head.args[1 + moving :]])


def _written(buffer: SSAValue, x: SSAValue, at: SSAValue) -> Operation:
    """`buffer` with `x` at the place `at`."""
    shape = (1, *construct.static(x))
    return construct.make(DynamicUpdateSliceOp, buffer, construct.reshape(x, shape), _start(at, len(shape)), sizes=shape)


def _read(buffer: SSAValue, x: SSAValue, at: SSAValue) -> Value:
    """Read `buffer` at the place `at`, as the type of `x`."""
    dtype, shape = read_type(x.type)[0], (1, *construct.static(x))
    found = construct.make(DynamicSliceOp, buffer, _start(at, len(shape)), type=tensor_type(dtype, shape), sizes=shape)
    return construct.reshape(found, shape[1:])


def _start(at: SSAValue, rank: int) -> Value:
    """The start of a window: `at`, then zeros."""
    if rank == 1:
        return at
    zeros = construct.filled(0, SI64, (rank - 1,))
    return construct.make(ConcatOp, at, zeros, type=tensor_type(SI64, (rank,)), axis=0)


def tangents(walk: Forward, op: WhileOp, ts: Sequence[SSAValue | None]) -> list[Value | None]:
    """One loop for the results and their tangents."""
    count = len(op.operands)
    varied = sum(1 << i for i, t in enumerate(ts) if t is not None)
    inside = _iterations_flow(walk.flows, op)
    moving = [j for j, mask in enumerate(inside) if mask & varied and can_vary(op.operands[j].type)]
    given = [or_zeros(walk, ts[j], op.operands[j]) for j in moving]
    regions: list[Region] = []
    for region, leading in zip(op.regions, (1, 0), strict=True):
        block = Block(arg_types=[*region.block.arg_types, *types_of(given)])
        inner = walk.nested(block)
        inner.enter(region.block, block.args)
        inner.tangents.update(zip((block.args[j] for j in moving), block.args[count:], strict=True))
        end = inner.run(list(region.block.ops))
        results = [inner.copies[y] for y in end.operands]
        regions.append(Region(finish(block, [*results, *(inner.tangent(results[leading + j]) for j in moving)])))
    made = WhileOp.create(
        operands=[*op.operands, *given],
        regions=regions,
        result_types=[*op.result_types, *types_of(given)],
        attributes=op.attributes,
    )
    made.location = op.location
    walk.block.add_op(made)
    walk.replace(op, made.results[:count])
    found: list[Value | None] = [None] * count
    for j, t in zip(moving, made.results[count:], strict=True):
        found[j] = t
    return found


WHILE = Whole(adjoints, flows)
WHILE_FORWARD = WholeForward(tangents)
