"""
One layout for elementwise ops that are computed one from another, where that takes transposes away.

A *region* is a set of elementwise ops of one shape, each linked to another by a value or by a transpose that both read. With `p`
a permutation of its axes and `x' = transpose(x, p^-1)` for each of its values, `f(x, y) = transpose(f(x', y'), p)`. In the new
layout,

- a transpose by `p` before the region is not needed, nor one by `p^-1` after it, and another one after it is merged with `p`;
- a reduction after the region is one over other axes, where that keeps their order;
- a constant of one number, and a vector repeated along the other axes, are made for the new shape;
- each other value that enters or leaves takes one transpose more, but for one that is a transpose of no other use.

A region takes the layout that most transposes around it agree on, if fewer are left in all, and if one after it goes away or none
is new. So the transposes around convolutions of images whose channels come first go away, also through branches that meet again,
as those of a residual network. Each application makes transposes fewer, so that the pass ends. All shapes are static. Linear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, cast

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FUSIBLE, BroadcastToOp, ConstantOp, PtirOp, ReduceOp, ReshapeOp, TransposeOp
from mind_dialect.ptir.types import tensor_type
from mind_dialect.shapes.structural import inverse_permutation

from .building import axes_of_reduction, constant, in_place_of, insert_new, is_exact, is_plain, of_one_shape, spec_of, substitute
from .failing import is_marked

Shape = tuple[int, ...]
Users = dict[SSAValue, list[Operation]]


def propagate_layouts(root: Operation) -> bool:
    """Choose the layout of each region inside `root`; whether any changed."""
    changed = False
    for block in tuple(_blocks(root)):
        for region in _regions(block):
            changed |= _change(region)
    return changed


def _blocks(root: Operation) -> Iterator[Block]:
    """Yield the blocks that hold a transpose."""
    yield from dict.fromkeys(cast(Block, op.parent) for op in walk(root) if isinstance(op, TransposeOp))


@dataclass
class _Region:
    """Elementwise ops of one shape in the order of their block."""

    block: Block
    ops: list[PtirOp] = field(default_factory=list[PtirOp])

    @property
    def shape(self) -> Shape:
        return cast(Shape, spec_of(self.ops[0].results[0]).shape)

    def inputs(self) -> list[SSAValue]:
        """Return what the ops read that is not of them, as other regions have left it."""
        own = {op.results[0] for op in self.ops}
        return [v for v in dict.fromkeys(v for op in self.ops for v in op.operands) if v not in own]


def is_elementwise(op: Operation) -> bool:
    """Return whether an op computes each element of its only result from those at the same place, all of one static shape."""
    known = isinstance(op, PtirOp) and FUSIBLE.get(type(op)) == "elementwise" and len(op.results) == 1 and of_one_shape(op)
    return known and is_plain(op) and not is_marked(op) and spec_of(op.results[0]).is_static


def _regions(block: Block) -> list[_Region]:
    """The regions of a block, in the order of their first ops."""
    parents: dict[SSAValue, SSAValue] = {}

    def root(value: SSAValue) -> SSAValue:
        while (above := parents[value]) is not value:
            parents[value] = above = parents[above]
            value = above
        return value

    members = [op for op in block.ops if is_elementwise(op)]
    for op in members:
        (result,) = op.results
        parents[result] = result
        for value in op.operands:
            if value in parents or (isinstance(value.owner, TransposeOp) and value.owner.parent is block):
                parents[root(parents.setdefault(value, value))] = result
                parents[result] = result
    found: dict[SSAValue, _Region] = {}
    for op in members:
        region = found.setdefault(root(op.results[0]), _Region(block))
        region.ops.append(cast(PtirOp, op))
    return list(found.values())


def perm_of(view: Operation) -> Shape | None:
    """The permutation of a transpose of a static shape; None for another op."""
    if not isinstance(view, TransposeOp) or not spec_of(view.x).is_static:
        return None
    return tuple(cast(Sequence[int], view.values()["perm"]))


def axes_before(op: Operation, perm: Sequence[int]) -> Shape | None:
    """
    Return the axes that a reduction of a value which is transposed by `perm` reduces of that value as it is before.

    None where the axes that remain would change their order, or those of a sum of floats, whose additions are in that order.
    """
    if not isinstance(op, ReduceOp) or not is_plain(op) or is_marked(op):
        return None
    values, axes = op.values(), axes_of_reduction(op)
    reduced, rest = [perm[a] for a in axes], [p for a, p in enumerate(perm) if a not in axes]
    if values["keepdims"] or rest != sorted(rest) or not (is_exact(op) or reduced == sorted(reduced)):
        return None
    return tuple(sorted(reduced))


def _view(value: SSAValue) -> Shape | None:
    return perm_of(value.owner) if isinstance(value.owner, Operation) else None


def _change(region: _Region) -> bool:
    """Give a region the layout that its transposes agree on most, if that makes them fewer; whether it did."""
    own, inputs = {op: None for op in region.ops}, dict.fromkeys(region.inputs())
    users: Users = {op.results[0]: [u.operation for u in op.results[0].uses if u.operation not in own] for op in region.ops}
    # A transpose of a value inside that an op inside reads, as of x + x^T, is needed in each layout: it is neither.
    befores = {v: perm for v in inputs if (perm := _view(v)) is not None and cast(TransposeOp, v.owner).x.owner not in own}
    views = [(user, perm) for found in users.values() for user in found if (perm := perm_of(user)) is not None]
    afters = [perm for user, perm in views if user.results[0] not in inputs]
    votes = Counter([*befores.values(), *map(inverse_permutation, afters)])
    if not afters:
        return False
    perm = max(votes, key=votes.__getitem__)
    cancelled = sum(inverse_permutation(after) == perm for after in afters)
    dying = {value for value in befores if all(u.operation in own for u in value.uses)}
    removed = sum(befores[value] == perm for value in dying)
    added = sum(befores.get(v) != perm and v not in dying and not can_repeat(v, TransposeOp) for v in inputs)
    added += sum(any(perm_of(user) is None and axes_before(user, perm) is None for user in found) for found in users.values())
    if cancelled + removed <= added or (added and not cancelled):
        return False
    _rebuild(region, inputs, befores, perm, users)
    return True


def _rebuild(region: _Region, inputs: Iterable[SSAValue], befores: Mapping[SSAValue, Shape], perm: Shape, users: Users) -> None:
    """Replace a region by the same ops before a transpose by `perm`; `befores` are the transposes of values from outside."""
    block, became, undo = region.block, dict[SSAValue, SSAValue](), inverse_permutation(perm)
    shape = tuple(region.shape[axis] for axis in undo)
    read = [tuple(op.operands) for op in region.ops]  # which serving a result may replace
    first = {value: op for op in reversed(region.ops) for value in op.operands}
    for value in inputs:
        if befores.get(value) == perm:
            became[value] = cast(TransposeOp, value.owner).x
            continue
        if can_repeat(value, TransposeOp):
            made = repeat(value, shape, perm)
        else:
            made = in_place_of(region.ops[0], TransposeOp, value, type=tensor_type(spec_of(value).dtype, shape), perm=undo)
        insert_new(made, first[value], block)
        became[value] = made.results[0]
    for op, operands in zip(region.ops, read, strict=True):
        (result,) = op.results
        made = rebuilt(op, [became[v] for v in operands], shape)
        block.insert_op_before(made, op)
        became[result] = made.results[0]
        _serve(op, became[result], perm, users[result])
    views = [v.owner for v in inputs]
    for op in [*reversed(region.ops), *views]:
        if isinstance(op, Operation) and op.parent is block and not any(r.first_use for r in op.results):
            block.erase_op(op)


def rebuilt(op: PtirOp, operands: Sequence[SSAValue], shape: Shape) -> PtirOp:
    """An elementwise op for operands of another shape."""
    (result,) = op.results
    made = type(op).create(
        operands=operands,
        properties=op.properties,
        attributes=op.attributes,
        result_types=[tensor_type(spec_of(result).dtype, shape)],
        location=op.location,
    )
    made.results[0].name_hint = result.name_hint
    return made


def _serve(op: PtirOp, value: SSAValue, perm: Shape, users: Sequence[Operation]) -> None:
    """Let the users of a result that are not of its region use `value`, which is the result before a transpose by `perm`."""
    others: list[Operation] = []
    for user in users:
        after = perm_of(user)
        if (axes := axes_before(user, perm)) is not None:
            reduction = cast(ReduceOp, user)
            values: dict[str, Any] = {**reduction.values(), "axes": axes}
            substitute(user, in_place_of(reduction, ReduceOp, value, **values))
        elif after is None:
            others.append(user)
        elif (composed := tuple(perm[axis] for axis in after)) == tuple(range(len(perm))):
            user.results[0].replace_all_uses_with(value)
            cast(Block, user.parent).erase_op(user)
        else:
            substitute(user, in_place_of(cast(PtirOp, user), TransposeOp, value, perm=composed))
    if others:
        made = in_place_of(op, TransposeOp, value, perm=perm)
        cast(Block, op.parent).insert_op_before(made, op)
        for user in dict.fromkeys(others):
            user.operands = [made.result if v is op.results[0] else v for v in user.operands]


# Values that are one element or one vector


def can_repeat(value: SSAValue, kind: type[TransposeOp | ReshapeOp]) -> bool:
    """Return whether a constant or broadcast can be made for the shape of what a view of a kind is of, for nothing."""
    owner = value.owner
    if isinstance(owner, ConstantOp):
        return owner.literal.is_fill
    if not isinstance(owner, BroadcastToOp):
        return False
    spec = spec_of(owner.x)
    wide = [n for n in spec.shape if n != 1]
    return spec.is_static and (not wide or (kind is TransposeOp and len(wide) == 1))


def repeat(value: SSAValue, source: Shape, perm: Shape | None) -> Operation:
    """A constant or broadcast for the shape of what is transposed by `perm`, or reshaped where that is None; made of new ops."""
    owner = value.owner
    dtype, shape = spec_of(value)
    if isinstance(owner, ConstantOp):
        return constant(owner, dtype, source, owner.literal.data.data)
    assert isinstance(owner, BroadcastToOp)
    x = cast(Shape, spec_of(owner.x).shape)
    extents = [1] * len(source)
    if perm is not None:
        for axis, n in enumerate(x, len(shape) - len(x)):
            extents[perm[axis]] = n
    view = in_place_of(owner, ReshapeOp, owner.x, type=tensor_type(dtype, tuple(extents)), new_shape=tuple(extents))
    return in_place_of(owner, BroadcastToOp, view.result, type=tensor_type(dtype, source), result_shape=source)
