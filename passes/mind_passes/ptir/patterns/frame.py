"""
Attentions in the one form that `attention.match` knows, whatever the order of their axes.

Front ends write the products of an attention over axes in any order: groups of queries with an axis of their own, extents of 1,
values times weights in place of weights times values, transposes between. `frame` finds such an attention by following axes back
from its last product, and writes it again with weights of `[batch..., rows, keys]` without extents of 1: another axis that
queries alone have is a batch along which keys and values are repeated. Each element is computed by the same operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, cast

from xdsl.ir import Attribute, Block, Operation, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import (
    BroadcastToOp,
    CastOp,
    ConstantOp,
    DotGeneralOp,
    ExpOp,
    FusionOp,
    PtirOp,
    ReduceOp,
    ReshapeOp,
    SubOp,
    TransposeOp,
)
from mind_dialect.ptir.types import tensor_type

from ..building import axes_of_reduction, constant, fill, in_place_of, insert_new, only_units, spec_of, uniform
from ..dead_ops import replace_values
from ..propagate_layouts import is_elementwise, rebuilt
from . import softmax
from .attention import STEPS, match, towards_scores
from .matching import MismatchError, OpT, is_float, made_by

Axes = tuple[int | None, ...]
"""For each axis of one value, the axis of another that is the same; None for an extent of 1, and where there is repetition."""
Shape = tuple[int, ...]
SIDES = {"lhs": "rhs", "rhs": "lhs"}


def frame(root: Operation) -> bool:
    """Give the attentions inside `root` that `match` does not find the form in which it does; whether there were any."""
    became: dict[SSAValue, SSAValue] = {}
    for op in tuple(walk(root)):
        if isinstance(op, DotGeneralOp) and not isinstance(op.parent_op(), FusionOp) and is_float(op.result):
            found = None if match(op) is not None else _framed(op)
            if found is not None:
                end, made = found
                insert_new(made, op, cast(Block, op.parent))
                became[end] = made.results[0]
    replace_values(root, became)
    return bool(became)


def _framed(op: DotGeneralOp) -> tuple[SSAValue, PtirOp] | None:
    for side in SIDES:
        attention = _Attention(op, side)
        try:
            return attention.framed()
        except MismatchError:
            for made in attention.made:
                made.drop_all_references()  # what it used has one use less again
    return None


def _require(condition: object) -> None:
    if not condition:
        raise MismatchError


def _shape(value: SSAValue) -> Shape:
    spec = spec_of(value)
    _require(spec.is_static)
    return cast(Shape, spec.shape)


@dataclass
class _Attention:
    """An attention that ends in `root`, whose operand `side` is its weights."""

    root: DotGeneralOp
    side: str
    shape: Shape = ()
    """That of the framed weights."""
    inside: set[Operation] = field(default_factory=set[Operation])
    """The ops found, which nothing else may use."""
    made: list[PtirOp] = field(default_factory=list[PtirOp])
    """The new ops."""

    def framed(self) -> tuple[SSAValue, PtirOp]:
        """Return what the attention gives, and the end of new ops; MismatchError if this is no attention."""
        root, values = self.root, self.root.values()
        _require(len(values["contract_lhs"]) == 1)
        weights = root.lhs if self.side == "lhs" else root.rhs
        extents, keys = _shape(weights), cast(int, values[f"contract_{self.side}"][0])
        batch: Sequence[int] = values[f"batch_{self.side}"]
        free: list[int] = [a for a in range(len(extents)) if a not in batch and a != keys and extents[a] != 1]
        _require(free and extents[keys] != 1)
        rows = max(free, key=lambda a: (extents[a], a))
        axes = (*(a for a in batch if extents[a] != 1), *(a for a in free if a != rows), rows, keys)
        self.shape = tuple(extents[a] for a in axes)
        made = self.weights(weights, axes)
        members = {root, *self.inside}
        _require(all(use.operation in members for op in self.inside for r in op.results for use in r.uses))
        others = dict(zip(batch, values[f"batch_{SIDES[self.side]}"], strict=True))
        product = self.weighted(made, [others.get(a) for a in axes[:-2]])
        _require(match(product) is not None)
        return self.turned(product, axes)

    def weighted(self, weights: SSAValue, batch: Sequence[int | None]) -> DotGeneralOp:
        """The product of framed weights and values."""
        other, rank = SIDES[self.side], len(self.shape)
        values = self.root.values()
        v, places, contract = self.operand(self.root, getattr(self.root, other), batch, values[f"contract_{other}"])
        shape = (*self.shape[:-1], *(n for a, n in enumerate(_shape(v)) if a not in places and a not in contract))
        axes = _axes((range(rank - 2), (rank - 1,)), (places, contract))
        kind = tensor_type(spec_of(self.root.result).dtype, shape)
        return self.new(self.root, DotGeneralOp, weights, v, type=kind, **{**values, **axes})

    def turned(self, found: DotGeneralOp, axes: Sequence[int]) -> tuple[SSAValue, PtirOp]:
        """Return the last view of the result of `root`, and the same view of the framed result, whose columns are last."""
        end, order = self.end(axes)
        result, shape, made = _shape(end), _shape(found.result), cast(PtirOp, found)
        perm = [a for a, n in zip(order, result, strict=True) if a is not None and n != 1]
        perm = [*(a for a in range(len(shape)) if a not in perm), *perm]  # extents of 1
        _require(sorted(perm) == list(range(len(shape))))
        dtype = spec_of(found.result).dtype
        if perm != sorted(perm):
            shape = tuple(shape[a] for a in perm)
            made = self.new(self.root, TransposeOp, found.result, type=tensor_type(dtype, shape), perm=perm)
        if shape != result:
            made = self.new(self.root, ReshapeOp, made.results[0], type=tensor_type(dtype, result), new_shape=result)
        return end, made

    def end(self, axes: Sequence[int]) -> tuple[SSAValue, Axes]:
        """The last view of the result of `root`, and for each of its axes the one of the framed result."""
        values = self.root.values()
        order: Axes = tuple(axes.index(a) if a in axes else None for a in values[f"batch_{self.side}"])
        for side, operand in (("lhs", self.root.lhs), ("rhs", self.root.rhs)):
            used = (*values[f"batch_{side}"], *values[f"contract_{side}"])
            free = [a for a in range(len(_shape(operand))) if a not in used]
            order += tuple((axes.index(a) if a in axes else None) if side == self.side else len(axes) - 1 for a in free)
        value: SSAValue = self.root.result
        while value.has_one_use() and isinstance(view := next(iter(value.uses)).operation, TransposeOp | ReshapeOp):
            if isinstance(view, TransposeOp):
                order = tuple(order[a] for a in cast(Sequence[int], view.values()["perm"]))
            elif only_units(view):
                kept = iter([a for a, n in zip(order, _shape(value), strict=True) if n != 1])
                order = tuple(next(kept) if n != 1 else None for n in _shape(view.result))
            else:
                break
            value = view.result
        return value, order

    # Weights

    def weights(self, value: SSAValue, axes: Axes) -> SSAValue:
        """The framed softmax of framed scores, perhaps cast."""
        x, axes = self.behind(value, axes)
        if (cast_op := made_by(x, CastOp)) is not None:
            return self.again(cast_op, [self.weights(cast_op.x, axes)])
        quotient = cast(PtirOp, x.owner)
        parts = softmax.divided(quotient)
        _require(parts)
        assert parts is not None
        numerator, denominator, reciprocal = parts
        e, at = self.behind(numerator, axes)
        total = self.reduction(denominator, axes, "sum", (e, at))
        exponential = self.known(e, ExpOp)
        d, at = self.behind(exponential.x, at)
        difference = self.known(d, SubOp)
        z, place = self.behind(difference.lhs, at)
        greatest = self.reduction(difference.rhs, at, "max", (z, place))
        scores = self.scores(z, place, STEPS)
        _require(scores)
        assert scores is not None
        shifted = self.again(difference, [scores, self.repeated(greatest, scores)])
        e = self.again(exponential, [shifted])
        divisor = self.repeated(total, e)
        for op in reciprocal:
            divisor = self.again(op, [divisor])
        return self.again(quotient, [e, divisor])

    def behind(self, value: SSAValue, axes: Axes, *, repeats: bool = False) -> tuple[SSAValue, Axes]:
        """Return the value behind views: transposes, extents of 1 added or dropped, and repetition if it `repeats`."""
        while isinstance(op := value.owner, TransposeOp | ReshapeOp | BroadcastToOp):
            before, after = _shape(op.operands[0]), _shape(value)
            if isinstance(op, TransposeOp):
                places: list[int | None] = list(cast(Sequence[int], op.values()["perm"]))
            elif isinstance(op, ReshapeOp) and only_units(op):
                kept = iter([a for a, n in enumerate(before) if n != 1])
                places = [next(kept) if n != 1 else None for n in after]
            elif isinstance(op, BroadcastToOp) and repeats:
                left = len(after) - len(before)
                places = [a - left if a >= left and before[a - left] == n != 1 else None for a, n in enumerate(after)]
            else:
                break
            axes = tuple(None if a is None else places[a] for a in axes)
            self.inside.add(op)
            value = op.operands[0]
        return value, axes

    def known(self, value: SSAValue, kind: type[OpT]) -> OpT:
        """The op of a kind that a value is the result of, as one of the attention's."""
        op = made_by(value, kind)
        _require(op is not None)
        assert op is not None
        self.inside.add(op)
        return op

    def reduction(self, value: SSAValue, axes: Axes, kind: str, of: tuple[SSAValue, Axes]) -> Sequence[PtirOp]:
        """The reduction along keys of what is found at `of` that `value` repeats along them, and its guard, if it has one."""
        x, axes = self.behind(value, axes, repeats=True)
        ops = softmax.reduction(x, kind)
        _require(ops is not None and axes[-1] is None)
        assert ops is not None
        self.inside.update(ops)
        op = ops[0]
        (reduced,), rank = axes_of_reduction(op), len(_shape(op.x))
        kept = range(rank) if op.values()["keepdims"] else [a for a in range(rank) if a != reduced]
        given: Axes = (*(None if a is None else kept[a] for a in axes[:-1]), reduced)
        found, at = self.behind(op.x, given)
        _require((found, at) == of)
        return ops

    def again(self, op: PtirOp, operands: Sequence[SSAValue]) -> SSAValue:
        """An elementwise op of framed values."""
        self.inside.add(op)
        return self.keep(rebuilt(op, operands, self.shape)).results[0]

    def repeated(self, ops: Sequence[PtirOp], x: SSAValue) -> SSAValue:
        """A reduction of framed values along keys, repeated along them."""
        op, shape = ops[0], self.shape[:-1]
        dtype, thin = spec_of(op.results[0]).dtype, (*shape, 1)
        values: dict[str, Any] = {**op.values(), "axes": (len(shape),), "keepdims": False}
        made = self.new(op, ReduceOp, x, type=tensor_type(dtype, shape), **values)
        became: dict[SSAValue, SSAValue] = {op.results[0]: made.result}
        for guard in ops[1:]:
            operands = [became.get(v) or self.filled(guard, v, shape) for v in guard.operands]
            became[guard.results[0]] = self.keep(rebuilt(guard, operands, shape)).results[0]
        view = self.new(op, ReshapeOp, became[ops[-1].results[0]], type=tensor_type(dtype, thin), new_shape=thin)
        return self.stretched(op, view.result, self.shape)

    def filled(self, op: PtirOp, value: SSAValue, shape: Shape) -> SSAValue:
        """Return the number that a value is everywhere, in another shape."""
        number = uniform(value)
        _require(number is not None)
        assert number is not None
        return self.keep(fill(op, spec_of(value).dtype, shape, number)).result

    # Scores

    def scores(self, value: SSAValue, axes: Axes, steps: int) -> SSAValue | None:
        """Framed scores, by way of elementwise ops; None if there is no product behind them."""
        x, axes = self.behind(value, axes)
        op = x.owner
        if isinstance(op, DotGeneralOp):
            return self.product(op, axes)
        if not isinstance(op, PtirOp) or steps == 0 or not is_elementwise(op):
            return None
        for leading in towards_scores(op):
            found = self.scores(leading, axes, steps - 1)
            if found is not None:
                return self.again(op, [found if v is leading else self.brought(op, v, axes) for v in op.operands])
        return None

    def brought(self, op: PtirOp, value: SSAValue, axes: Axes) -> SSAValue:
        """Something else that an elementwise op reads, with the axes of framed weights."""
        dtype, owner = spec_of(value).dtype, value.owner
        if isinstance(owner, ConstantOp) and owner.literal.is_fill:
            return self.keep(constant(owner, dtype, self.shape, owner.literal.data.data)).result
        outside = _Attention(self.root, self.side)  # others may use these views
        value, axes = outside.behind(value, axes, repeats=True)
        extents, used = _shape(value), [a for a in axes if a is not None]
        perm = [*(a for a in range(len(extents)) if a not in used), *used]
        _require(len(set(used)) == len(used) and all(extents[a] == 1 for a in perm[: len(perm) - len(used)]))
        if used != sorted(used):
            kind = tensor_type(dtype, tuple(extents[a] for a in perm))
            value = self.new(op, TransposeOp, value, type=kind, perm=perm).result
        thin = tuple(1 if a is None else extents[a] for a in axes)
        while thin and thin[0] == 1:
            thin = thin[1:]
        if _shape(value) != thin:
            value = self.new(op, ReshapeOp, value, type=tensor_type(dtype, thin), new_shape=thin).result
        return self.stretched(op, value, self.shape)

    def product(self, op: DotGeneralOp, axes: Axes) -> SSAValue:
        """The framed product of queries and keys."""
        self.inside.add(op)
        values, shape = op.values(), _shape(op.result)
        _require(len(values["contract_lhs"]) == 1 and all(n == 1 or a in axes for a, n in enumerate(shape)))
        places: dict[str, dict[int, int]] = {}
        first = len(values["batch_lhs"])
        for side, operand in (("lhs", op.lhs), ("rhs", op.rhs)):
            used = (*values[f"batch_{side}"], *values[f"contract_{side}"])
            free = [a for a in range(len(_shape(operand))) if a not in used]
            ends: Sequence[int] = values[f"batch_{side}"]
            places[side] = {**dict(enumerate(ends)), **dict(enumerate(free, first))}
            first += len(free)
        row, key = axes[-2], axes[-1]
        of_queries = "lhs" if row in places["lhs"] else "rhs"
        of_keys = SIDES[of_queries]
        batch = len(values["batch_lhs"])
        _require(row is not None and key is not None and min(row, key) >= batch and key in places[of_keys])
        _require(all(a is None or a < batch or a in places[of_queries] for a in axes[:-2]))
        operands: list[SSAValue] = []
        roles: list[tuple[Sequence[int], Sequence[int]]] = []
        for side in (of_queries, of_keys):
            given = [None if a is None else places[side].get(a) for a in axes[:-2]]
            x, at, contract = self.operand(op, getattr(op, side), given, values[f"contract_{side}"])
            operands.append(x)
            roles.append((at, contract))
        kind = tensor_type(spec_of(op.result).dtype, self.shape)
        return self.new(op, DotGeneralOp, *operands, type=kind, **{**values, **_axes(*roles)}).result

    # New ops

    def new(self, op: PtirOp, cls: type[OpT], *operands: SSAValue, type: Attribute, **values: Any) -> OpT:
        """A new op in the place of one, as `in_place_of`."""
        return self.keep(in_place_of(op, cls, *operands, type=type, **values))

    def keep(self, op: OpT) -> OpT:
        """Remember a new op."""
        self.made.append(op)
        return op

    def operand(
        self, op: PtirOp, value: SSAValue, batch: Sequence[int | None], contract: Sequence[int]
    ) -> tuple[SSAValue, Sequence[int], Sequence[int]]:
        """An operand with all batches, one more axis and the contracted one, and where they are; extents of 1 are dropped."""
        extents, dtype = _shape(value), spec_of(value).dtype
        kept = [a for a, n in enumerate(extents) if n != 1 or a in contract or a in batch]
        if len([a for a in kept if a not in batch]) == len(contract):  # its own axis is of extent 1
            kept = sorted([*kept, *[a for a in range(len(extents)) if a not in kept][:1]])
        _require(len([a for a in kept if a not in batch]) == len(contract) + 1)
        if len(kept) != len(extents):
            thin, owner = tuple(extents[a] for a in kept), value.owner
            if isinstance(owner, ReshapeOp) and only_units(owner) and spec_of(owner.x).shape == thin:
                value = owner.x
            else:
                value = self.new(op, ReshapeOp, value, type=tensor_type(dtype, thin), new_shape=thin).result
        missing = [i for i, a in enumerate(batch) if a is None or extents[a] != self.shape[i]]
        _require(all(batch[i] is None for i in missing))
        value = self.stretched(op, value, (*(self.shape[i] for i in missing), *_shape(value)))
        places = [missing.index(i) if a is None else len(missing) + kept.index(a) for i, a in enumerate(batch)]
        return value, places, [len(missing) + kept.index(a) for a in contract]

    def stretched(self, op: PtirOp, value: SSAValue, shape: Shape) -> SSAValue:
        """A value repeated to a shape."""
        if _shape(value) == shape:
            return value
        kind = tensor_type(spec_of(value).dtype, shape)
        return self.new(op, BroadcastToOp, value, type=kind, result_shape=shape).result


def _axes(lhs: tuple[Sequence[int], Sequence[int]], rhs: tuple[Sequence[int], Sequence[int]]) -> dict[str, Sequence[int]]:
    """Batch and contracted axes of the operands of a product as its properties."""
    sides = {"lhs": lhs, "rhs": rhs}
    return {f"{role}_{side}": tuple(sides[side][i]) for i, role in enumerate(("batch", "contract")) for side in sides}
