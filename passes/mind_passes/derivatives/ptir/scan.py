"""
The derivatives of `ptir.scan`.

Reverse: a scan over the steps from the last to the first. It carries the adjoints of the carried values; what a step needs of the
forward run is saved once per step as further stacked outputs of the forward scan, unless it is a scanned input, the same in each
step, or cheap to compute again (see `residuals`). Adjoints of invariant carries that sum products over the steps are computed
behind it, as products over all steps (see `summed`). `ptir.checkpoint` on the scan saves the carried values only, `every-N` and
`sqrt` save them only every so many steps (see `checkpoint`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue

from mind_dialect.ptir import ReverseOp, ScanOp, invariant_carries
from mind_dialect.ptir.types import read_type, tensor_type

from ...loop_options import CHECKPOINT
from ...ptir import construct
from ...ptir.building import substitute
from ...ptir.weight import bytes_of
from ...residuals import PLAIN, VIEWS, Cut, cut
from ..dependence import bits, loop_flows
from ..rules import Value, can_vary
from ..walks import Flows, Forward, Reverse, Whole, WholeForward
from .bodies import BodyGradient, body_gradient, finish, or_zeros, types_of, with_arguments
from .checkpoint import checkpointed
from .summed import IterationSum, is_worth, iteration_sum


def flows(of: Flows, op: ScanOp) -> list[int]:
    return loop_flows(of.of_block(op.body_region.block), op.num_carries)


def useful_results(body: Sequence[int], seeded: Sequence[int], carries: int) -> list[int]:
    """
    The results of a body whose adjoints matter: `seeded`, and the carried values that they depend on, after any number of
    iterations.

    >>> useful_results([0b001, 0b010, 0b111], [2], 2)
    [0, 1, 2]
    """
    found = set(seeded)
    stack = list(seeded)
    while stack:
        for b in bits(body[stack.pop()]):
            if b < carries and b not in found:
                found.add(b)
                stack.append(b)
    return sorted(found)


def adjoints(sweep: Reverse, op: ScanOp, gs: Sequence[SSAValue | None]) -> Sequence[Value | None]:
    mark = op.attributes.get(CHECKPOINT)
    if isinstance(mark, StringAttr) and checkpointed(sweep, op, mark.data):
        return [None] * len(op.operands)  # the scans that took its place have passed everything on
    return _BackwardScan(sweep, op, gs).run(everything=isinstance(mark, UnitAttr))


class _BackwardScan:
    """One construction of the backward scan."""

    def __init__(self, sweep: Reverse, op: ScanOp, gs: Sequence[SSAValue | None]):
        self.sweep, self.op, self.gs = sweep, op, gs
        self.operands = list(op.operands)
        self.carries = op.num_carries
        body = op.body_region.block
        self.invariant = invariant_carries(op)
        varied = sweep.varied
        self.active = [x in varied or (i < self.carries and op.results[i] in varied) for i, x in enumerate(self.operands)]
        seeded = [j for j, g in enumerate(gs) if g is not None]
        useful = useful_results(sweep.flows.of_block(body), seeded, self.carries)
        self.seeded = [j for j in useful if j >= self.carries or self.active[j]]
        """The results of the body that have adjoints: carried values first."""
        self.moving = [j for j in self.seeded if j < self.carries]
        self.body: BodyGradient = body_gradient(sweep, body, self.active, self.seeded)
        self.scanned = [i for i in range(self.carries, len(self.operands)) if self.body.adjoints[i] is not None]
        self.sums: dict[int, IterationSum] = {}
        """By carry, the adjoints that are computed behind the backward scan, which does not carry them."""

    def run(self, *, everything: bool) -> list[Value | None]:
        """Replace the forward scan by one that saves the residuals, and append the backward scan."""
        self._find_sums(frugal=everything)
        block, body = self.body.block, self.body
        results = [body.adjoint(i) for i in [*self.moving, *self.scanned]]
        if not results and not self.sums:
            return [None] * len(self.operands)
        summed = list(dict.fromkeys(x for found in self.sums.values() for x in found.operands))
        constant = {block.args[i] for i in self.invariant}
        free = constant | set(block.args[self.carries : len(self.operands)])
        wanted = [*results, *summed]
        found = cut(block, body.end, wanted, body.gs, at_hand=free, invariant=constant, everything=everything)
        stacks = self._forward(found)
        whole = {x: stacks[x] if x in stacks else self._scanned(x) for x in found.residuals if x not in constant}
        seeds = zip(body.gs, self.seeded, strict=True)
        whole |= {x: g for x, j in seeds if j >= self.carries and (g := self.gs[j]) is not None}
        results += [x for x in summed if x not in whole and x not in results[len(self.moving) :]]
        x_adjs: list[Value | None] = [None] * len(self.operands)
        if results:
            made, moved = self._backward(_without_idle(found, results), results, stacks)
            for i, x_adj in zip(self.moving, made.results, strict=False):
                x_adjs[i] = x_adj
            flipped = [self._reversed(x_adj) for x_adj in made.results[moved:]]
            for i, x_adj in zip(self.scanned, flipped, strict=False):
                x_adjs[i] = x_adj
            whole |= dict(zip(results[len(self.moving) :], flipped, strict=True))
        for j, found_sum in self.sums.items():
            x_adjs[j] = found_sum.over_iterations(self.sweep.block, whole, self.gs[j])
        return x_adjs

    def _find_sums(self, *, frugal: bool) -> None:
        """Take adjoints of invariant carries out of the body that `summed` computes; `frugal`, those that take no memory."""
        block, body = self.body.block, self.body
        arguments = block.args[: len(self.operands)]
        constant = {arguments[i] for i in self.invariant}
        at_hand: set[SSAValue] = {x for x in arguments if x not in constant}
        at_hand |= {x for i in self.scanned if (x := body.adjoints[i]) is not None}
        at_hand |= {g for g, j in zip(body.gs, self.seeded, strict=True) if j >= self.carries}
        for op in () if frugal else block.ops:
            if op is body.end:
                break
            at_hand.update(() if isinstance(op, (*VIEWS, *PLAIN)) else op.results)
        slices = (*arguments[self.carries :], *body.end.operands[self.carries :])
        largest = 0 if frugal else max(map(bytes_of, slices), default=0)
        for g, j in zip(tuple(body.gs), tuple(self.seeded), strict=True):
            total = body.adjoints[j] if j in self.invariant else None
            found = None if total is None else iteration_sum(total, g)
            if found is not None and constant.isdisjoint(found.operands) and is_worth(found, at_hand, largest):
                found.take_out()
                self.sums[j] = found
                self.seeded.remove(j)
                self.moving.remove(j)
                body.gs.remove(g)
                block.erase_arg(g)

    def _is_free(self, x: SSAValue) -> bool:
        """Return whether a residual needs no saving: an invariant, or a slice of a scanned input."""
        return isinstance(x, BlockArgument) and (x.index in self.invariant or x.index >= self.carries)

    def _forward(self, found: Cut) -> dict[SSAValue, SSAValue]:
        """The stacks of the residuals that have to be saved, which the forward scan hands out from now on."""
        saved = [x for x in found.residuals if not self._is_free(x)]
        op, block = self.op, self.body.block
        end = block.last_op
        assert end is not None
        stacked = list(end.operands[self.carries :])
        known = set(stacked)
        added = [x for x in saved if x not in known]
        stacked += added
        place = {x: self.carries + i for i, x in enumerate(stacked)}
        if not added:
            return {x: op.results[place[x]] for x in saved}
        finish(block, [*end.operands[: self.carries], *stacked])
        made = ScanOp.create(
            operands=self.operands,
            properties=ScanOp.store_properties({"carry_count": self.carries, "scan_output_count": len(stacked)}),
            regions=[Region(block)],
            result_types=[*op.result_types, *(self._stacked_type(x) for x in added)],
            attributes=op.attributes,
        )
        substitute(op, made)
        return {x: made.results[place[x]] for x in saved}

    def _backward(self, found: Cut, results: Sequence[SSAValue], stacks: dict[SSAValue, SSAValue]) -> tuple[ScanOp, int]:
        """The backward scan, and how many values it carries."""
        gs = [or_zeros(self.sweep, self.gs[j], self.operands[j]) for j in self.moving]
        invariant = [x for x in found.arguments if x.index in self.invariant]
        sliced = [x for x in found.residuals if not (isinstance(x, BlockArgument) and x.index in self.invariant)]
        stacked = [stacks[x] if x in stacks else self._scanned(x) for x in sliced]
        stacked += [g for j in self.seeded if j >= self.carries and (g := self.gs[j]) is not None]
        inputs = [self._reversed(x) for x in stacked]
        if not inputs:
            inputs = [self.operands[self.carries]]  # for its length
        carried = [*gs, *(self.operands[x.index] for x in invariant)]
        block = self._backward_body(found, results, invariant, sliced, [*carried, *inputs])
        made = ScanOp.create(
            operands=[*carried, *inputs],
            properties=ScanOp.store_properties(
                {"carry_count": len(carried), "scan_output_count": len(results) - len(self.moving)}
            ),
            regions=[Region(block)],
            result_types=[*types_of(carried), *(self._stacked_type(x) for x in results[len(self.moving) :])],
            attributes={name: a for name, a in self.op.attributes.items() if name != CHECKPOINT},
        )
        made.location = self.op.location
        self.sweep.block.add_op(made)
        return made, len(carried)

    def _backward_body(
        self,
        found: Cut,
        results: Sequence[SSAValue],
        invariant: Sequence[SSAValue],
        sliced: Sequence[SSAValue],
        operands: Sequence[SSAValue],
    ) -> Block:
        moving, seeded = len(self.moving), len(self.seeded)
        fixed = moving + len(invariant)
        place = {x: moving + i for i, x in enumerate([*invariant, *sliced])}
        order = [place[x] for x in found.residuals]
        order += list(range(moving))
        order += [fixed + len(sliced) + k for k in range(seeded - moving)]
        types = [x.type for x in operands[:fixed]]
        for x in operands[fixed:]:
            dtype, shape = read_type(x.type)
            types.append(tensor_type(dtype, shape[1:]))
        block, ends = with_arguments(found.backward, types, order, [found.became.get(x, x) for x in results])
        return finish(block, [*ends[:moving], *block.args[moving:fixed], *ends[moving:]])

    def _scanned(self, x: SSAValue) -> SSAValue:
        assert isinstance(x, BlockArgument)
        return self.operands[x.index]

    def _reversed(self, x: SSAValue) -> SSAValue:
        return self.sweep.append(construct.make(ReverseOp, x, axes=(0,)), self.op)

    def _length(self) -> int | str:
        return read_type(self.operands[self.carries].type).shape[0]

    def _stacked_type(self, x: SSAValue) -> Attribute:
        dtype, shape = read_type(x.type)
        return tensor_type(dtype, (self._length(), *shape))


def _without_idle(found: Cut, results: Sequence[SSAValue]) -> Cut:
    """Return a cut without the residuals that nothing in its backward part uses."""
    idle = {x for x in found.residuals if found.became[x].first_use is None and x not in results}
    for x in idle:
        argument = found.became[x]
        assert isinstance(argument, BlockArgument)
        found.backward.erase_arg(argument)
    return replace(found, residuals=[x for x in found.residuals if x not in idle])


def tangents(walk: Forward, op: ScanOp, ts: Sequence[SSAValue | None]) -> list[Value | None]:
    """One scan for the results and their tangents."""
    carries, count = op.num_carries, len(op.operands)
    varied = sum(1 << i for i, t in enumerate(ts) if t is not None)
    out = [j for j, mask in enumerate(walk.flows.through(op)) if mask & varied and can_vary(op.results[j].type)]
    moving = [j for j in out if j < carries]
    scanned = [i for i in range(carries, count) if ts[i] is not None]
    carried_ts = [or_zeros(walk, ts[j], op.operands[j]) for j in moving]
    scanned_ts = [t for i in scanned if (t := ts[i]) is not None]
    operands = [*op.operands[:carries], *carried_ts, *op.operands[carries:], *scanned_ts]
    body = op.body_region.block
    types = list(body.arg_types)
    block = Block(arg_types=[*types[:carries], *(types[j] for j in moving), *types[carries:], *(types[i] for i in scanned)])
    at = [*range(carries), *range(carries + len(moving), count + len(moving))]
    inner = walk.nested(block)
    inner.enter(body, [block.args[i] for i in at])
    places = [*range(carries, carries + len(moving)), *range(count + len(moving), len(operands))]
    inner.tangents.update((block.args[at[i]], block.args[k]) for i, k in zip([*moving, *scanned], places, strict=True))
    end = inner.run(list(body.ops))
    results = [inner.copies[y] for y in end.operands]
    found = [inner.tangent(results[j]) for j in out]
    finish(block, [*results[:carries], *found[: len(moving)], *results[carries:], *found[len(moving) :]])
    kinds = op.result_types
    made = ScanOp.create(
        operands=operands,
        properties=ScanOp.store_properties(
            {"carry_count": carries + len(moving), "scan_output_count": len(kinds) - carries + len(out) - len(moving)}
        ),
        regions=[Region(block)],
        result_types=[*kinds[:carries], *(kinds[j] for j in moving), *kinds[carries:], *(kinds[j] for j in out[len(moving) :])],
        attributes=op.attributes,
    )
    made.location = op.location
    walk.block.add_op(made)
    after = carries + len(moving)
    walk.replace(op, [*made.results[:carries], *made.results[after : after + len(kinds) - carries]])
    tangents_of = [*made.results[carries:after], *made.results[after + len(kinds) - carries :]]
    by_result: list[Value | None] = [None] * len(kinds)
    for j, t in zip(out, tangents_of, strict=True):
        by_result[j] = t
    return by_result


SCAN = Whole(adjoints, flows)
SCAN_FORWARD = WholeForward(tangents)
