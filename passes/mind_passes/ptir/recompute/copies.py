"""Copies of what a gradient needs of its attention, in which weights are made again of scores and of numbers of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.shapes import inverse_permutation

from ..building import fill, spec_of
from ..patterns.matching import MismatchError
from .region import Region
from .softmax import is_constant, is_delta


@dataclass
class Rows:
    """Numbers of each row that a gradient needs: what the attention gives, and multiples of delta, made outside of fusions."""

    region: Region
    attend: ptir.FusionOp
    """The attention, its result, the greatest score of each row, and 1 over the sum of exponentials."""
    new: list[Operation] = field(default_factory=list[Operation])
    """Ops that were made and are in no block yet."""
    delta: SSAValue | None = None
    multiples: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])

    def of(self, times: float, like: SSAValue) -> SSAValue:
        """Some times delta, in the shape of a value of each row."""
        key = (times, spec_of(like))
        if key not in self.multiples:
            found, perm = self._delta()
            if times == -1.0:
                found = self._made(ptir.NegOp(found))
            elif times != 1.0:
                dtype, shape = spec_of(found)
                factor = fill(self.region.products[0], dtype, sizes(shape), times)
                found = self._made(ptir.MulOp(found, self._made(factor)))
            if perm != tuple(range(len(perm))):
                found = self._made(ptir.TransposeOp(found, perm=perm))
            if spec_of(found).shape != spec_of(like).shape:
                found = self._made(ptir.ReshapeOp(found, new_shape=spec_of(like).shape))
            self.multiples[key] = found
        return self.multiples[key]

    def _delta(self) -> tuple[SSAValue, tuple[int, ...]]:
        """
        The sum over the width of the result's adjoint times the result, in the dtype of the softmax.

        It has the axes of the adjoint; they are given in the order of `[..., rows, 1]`.
        """
        adjoint, rank = self.region.adjoint, self.region.forward.rank
        assert adjoint is not None, "delta is a sum of what it gives"
        values, batch = adjoint.values(), tuple(adjoint.values()["batch_lhs"])
        (width,) = values["contract_lhs"]
        (row,) = set(range(rank)) - {*batch, width}
        layout, out = (*batch, row, width), self.attend.results[0]
        if self.delta is None:
            if layout != tuple(range(rank)):
                out = self._made(ptir.TransposeOp(out, perm=inverse_permutation(layout)))
            wide = spec_of(self.region.forward.exponential.result).dtype
            given = [v if spec_of(v).dtype is wide else self._made(ptir.CastOp(v, dtype=wide.name)) for v in (adjoint.lhs, out)]
            self.delta = self._made(ptir.ReduceOp(self._made(ptir.MulOp(*given)), kind="sum", axes=(width,), keepdims=True))
        return self.delta, layout

    def _made(self, op: ptir.PtirOp) -> SSAValue:
        op.location = self.region.products[0].location
        self.new.append(op)
        return op.results[0]


@dataclass
class Copies:
    """The ops that some values need, with weights recomputed."""

    rows: Rows
    became: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    ops: list[Operation] = field(default_factory=list[Operation])

    def of(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The copies of some values."""
        region = self.rows.region
        needed = set(values)
        kept: list[ptir.PtirOp] = []
        for op in reversed([*region.first(), *region.ops]):
            if op.results[0] in needed:
                kept.append(op)
                needed.update(self._needs(op))
        for op in reversed(kept):
            self.became[op.results[0]] = self._copied(op)
        return [self.became[v] for v in values]

    def _needs(self, op: ptir.PtirOp) -> Sequence[SSAValue]:
        """Return the values that the copy of an op is made of."""
        value = op.results[0]
        if op is self.rows.region.forward.greatest or self._is_known(value):
            return ()
        return self._left(op) or op.operands

    def _left(self, op: ptir.PtirOp) -> list[SSAValue]:
        """The operand that is the result, as the other is a zero that is added, or a one."""
        if isinstance(op, ptir.AddOp | ptir.MulOp | ptir.DivOp):
            neutral = 0.0 if isinstance(op, ptir.AddOp) else 1.0
            for x, y in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
                found = self.rows.region.meanings.get(x)
                if found is not None and is_constant(found) == neutral and not (isinstance(op, ptir.DivOp) and x is op.lhs):
                    return [y]
        return []

    def _is_known(self, value: SSAValue) -> bool:
        found = self.rows.region.meanings[value]
        return is_constant(found) is not None or (is_delta(found) is not None and self._is_row(value))

    def _is_row(self, value: SSAValue) -> bool:
        """Return whether a value has one element for each row."""
        shape, rows = spec_of(value).shape, self.rows.region.forward.shape[:-1]
        return shape in (rows, (*rows, 1))

    def _copied(self, op: ptir.PtirOp) -> SSAValue:
        forward, value = self.rows.region.forward, op.results[0]
        if op is forward.greatest:
            return self.rows.attend.results[1]
        found = self.rows.region.meanings[value]
        if (number := is_constant(found)) is not None:
            dtype, shape = spec_of(value)
            return self._made(fill(op, dtype, sizes(shape), number))
        if (times := is_delta(found)) is not None and self._is_row(value):
            if spec_of(value).dtype is not spec_of(forward.exponential.result).dtype:
                raise MismatchError("sums of rows in another dtype")
            return self.rows.of(times, value)
        if left := self._left(op):
            return self.became.get(left[0], left[0])
        if isinstance(op, ptir.ReduceOp):
            raise MismatchError("a sum over scores that is not known beforehand")
        made = self._made(op.clone(self.became))
        return self._shared(made) if op is forward.exponential else made

    def _shared(self, exponential: SSAValue) -> SSAValue:
        """An exponential as its share of the row's sum."""
        share, shape = self.rows.attend.results[2], spec_of(exponential).shape
        thin = (*shape[:-1], 1)
        if spec_of(share).shape != thin:
            share = self._made(ptir.ReshapeOp(share, new_shape=thin))
        return self._made(ptir.MulOp(exponential, self._made(ptir.BroadcastToOp(share, result_shape=shape))))

    def _made(self, op: Operation) -> SSAValue:
        self.ops.append(op)
        return op.results[0]

    def matrix(self, value: SSAValue) -> SSAValue:
        """An operand of a product, which is a view or a cast of one that another product has."""
        known = {v for op in self.rows.region.first() for v in op.operands}
        chain: list[Operation] = []
        source = value
        while (
            source not in known and len(chain) < 4 and isinstance(source.owner, ptir.CastOp | ptir.TransposeOp | ptir.ReshapeOp)
        ):
            chain.append(source.owner)
            source = source.owner.operands[0]
        if source not in known:
            return value
        for op in reversed(chain):
            if op.results[0] not in self.became:
                self.became[op.results[0]] = self._made(op.clone(self.became))
        return self.became.get(value, value)


def sizes(shape: Sequence[object]) -> tuple[int, ...]:
    """The sizes of a shape that has them."""
    return tuple(n for n in shape if isinstance(n, int))
