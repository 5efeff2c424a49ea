"""
Transposes and reshapes sunk through elementwise ops, into what cancels or absorbs them.

For an elementwise `f` of values that are all seen through one view `v` (a permutation, or a reshape from one shape), constants of
one number, and vectors repeated along the other axes: `f(v(x), v(y)) = v(f(x, y))`. It is used where it takes a view away:

- transposes before and after elementwise ops: see `propagate_layouts.py`;
- `reshape(f(reshape(x))) = reshape(f(x))`, nothing if the shape is that of `x`;
- `reduce(f(transpose(x, p)), axes) = reduce(f(x), p[axes])`, where the remaining axes keep their order; of a reshape where all
  axes are reduced. Not for sums of floats if that would change the order of additions;
- `dot(f(transpose(x, p)), b) = dot(f(x), b)` with the axes renamed, where the free axes keep their order;
- `win(f(transpose(x, p))) = transpose(win(f(x)), p)`, where `win(y) = take(reshape(y), window_arg(y))` is the first extreme of
  each window: windows with several places along axes that keep their order, so that of equals the same one is first, each with
  an element that is not padding. The index is of `y`, so nothing else may use it.

All values between other views are used by nothing else, and one view at least has no use left: each application takes a view away
and adds none, or moves it behind a `take`, so that the pass ends. All shapes are static.
Each op is between views for one op after it at most: linear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import (
    BroadcastToOp,
    ConstantOp,
    DotGeneralOp,
    PtirOp,
    ReduceOp,
    ReshapeOp,
    TakeOp,
    TransposeOp,
    WindowArgOp,
)
from mind_dialect.ptir.types import tensor_type

from .building import axes_of_reduction, in_place_of, insert_new, is_exact, is_plain, spec_of, substitute
from .failing import is_marked
from .propagate_layouts import axes_before, can_repeat, is_elementwise, propagate_layouts, rebuilt, repeat
from .rewrites.contraction import renamed

MOST_USES = 8
"""A value of more uses is not looked at, which bounds the time per use."""

Shape = tuple[int, ...]
Target = ReshapeOp | ReduceOp | DotGeneralOp


def sink_views(root: Operation) -> bool:
    """Sink views inside `root` where that takes one away; whether any was."""
    changed = propagate_layouts(root)
    for op in tuple(walk(root)):
        if isinstance(op, TakeOp):
            changed |= _absorb_into_windows(op)
        elif isinstance(op, ReshapeOp | ReduceOp | DotGeneralOp) and is_plain(op) and not is_marked(op):
            changed |= any([_absorb(op, i) for i in range(len(op.operands))]) if isinstance(op, DotGeneralOp) else _absorb(op, 0)
    return changed


@dataclass
class _Between:
    """The elementwise ops between views and a target, last ones first, and the views; `key` is what they have in common."""

    kind: type[TransposeOp | ReshapeOp]
    ops: list[PtirOp] = field(default_factory=list[PtirOp])
    views: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    repeated: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """Constants of one number and broadcasts, which can be made for another shape."""
    key: Shape = ()
    source: Shape = ()
    """The shape of what is viewed."""
    dies: bool = False
    """True if a view has no use left."""


def _uses(value: SSAValue) -> int:
    """Count the uses of a value, up to one more than is looked at."""
    count = 0
    for _ in value.uses:
        count += 1
        if count > MOST_USES:
            break
    return count


def _between(target: PtirOp, used: Sequence[SSAValue], kind: type[TransposeOp | ReshapeOp]) -> _Between | None:
    """Return the ops between views of a kind and a value, once for each use, if it is elementwise and has no other user."""
    found, counts = _Between(kind), dict[SSAValue, int]()
    pending, stack = 0, list(used)
    while stack:
        value = stack.pop()
        owner = value.owner
        if not isinstance(owner, PtirOp) or owner.parent is not target.parent:
            return None
        first = value not in counts
        counts[value] = counts.get(value, 0) + 1
        if isinstance(owner, kind):
            if first and not _joins(found, owner):
                return None
        elif isinstance(owner, ConstantOp | BroadcastToOp):
            found.repeated[value] = None
        else:
            if first and not is_elementwise(owner):
                return None
            pending += first
            if counts[value] > MOST_USES:
                return None
            if counts[value] == _uses(value):
                pending -= 1
                found.ops.append(owner)
                stack += owner.operands
    if pending or not found.views or not (found.ops or isinstance(target, ReduceOp | TakeOp)):
        return None
    if not all(can_repeat(v, kind) for v in found.repeated):
        return None
    found.dies = any(counts[v] == _uses(v) <= MOST_USES for v in found.views)
    return found


def _joins(found: _Between, view: TransposeOp | ReshapeOp) -> bool:
    """Add a view; False if it is another one than those before it."""
    spec = spec_of(view.x)
    if not spec.is_static or not spec_of(view.result).is_static:
        return False
    source = cast(Shape, spec.shape)
    key = tuple(cast(Sequence[int], view.values()["perm"])) if isinstance(view, TransposeOp) else source
    if found.views and (key, source) != (found.key, found.source):
        return False
    found.key, found.source = key, source
    found.views[view.result] = None
    return True


def _absorb(op: Target, operand: int) -> bool:
    """Sink the views before an operand of `op` into it; whether there were any."""
    kind = ReshapeOp if isinstance(op, ReshapeOp) or _reduces_all(op) else TransposeOp
    found = _between(op, [op.operands[operand]], kind)
    if found is None and isinstance(op, ReduceOp) and kind is ReshapeOp:
        found = _between(op, [op.operands[operand]], TransposeOp)
    if found is None:
        return False
    made = _without(op, operand, found)
    if made is None:
        return False
    made.operands = [_rebuilt(found, op.operands[operand]) if i == operand else v for i, v in enumerate(made.operands)]
    if isinstance(made, ReshapeOp) and made.x.type == op.results[0].type:
        value = made.x
        value.name_hint = value.name_hint or op.results[0].name_hint
        made.erase()
        op.results[0].replace_all_uses_with(value)
        block = op.parent
        assert isinstance(block, Block)
        block.erase_op(op)
    else:
        substitute(op, made)
    _erase(found)
    return True


def _absorb_into_windows(op: TakeOp) -> bool:
    """Sink the transposes before the first extremes of windows behind them; whether there were any."""
    search, flat = op.operands[1].owner, op.operands[0].owner
    if not isinstance(search, WindowArgOp) or not isinstance(flat, ReshapeOp) or search.x is not flat.x:
        return False
    block = op.parent
    if not search.parent is flat.parent is block or len(spec_of(flat.result).shape) != 1 or not _has_winners(search):
        return False
    if not isinstance(block, Block) or any(_uses(v.result) != 1 for v in (search, flat)):
        return False
    found = _between(op, [search.x, search.x], TransposeOp)
    if found is None or not found.dies:
        return False
    perm, values = found.key, search.values()
    inner = [axis for axis, n in zip(perm, values["window_dims"], strict=True) if n > 1]
    if inner != sorted(inner):
        return False
    axes = ("window_dims", "strides", "padding", "window_dilation")
    moved = {name: tuple(values[name][perm.index(a)] for a in range(len(perm))) for name in axes}
    shape = tuple(cast(Shape, spec_of(search.result).shape)[perm.index(a)] for a in range(len(perm)))
    x, dtype = _rebuilt(found, search.x), spec_of(op.result).dtype
    index_type = tensor_type(spec_of(search.result).dtype, shape)
    index = in_place_of(search, WindowArgOp, x, type=index_type, **_with(values, moved))
    view = in_place_of(flat, ReshapeOp, x, new_shape=flat.values()["new_shape"])
    value = in_place_of(op, TakeOp, view.result, index.result, type=tensor_type(dtype, shape))
    made = in_place_of(op, TransposeOp, value.result, perm=perm)
    insert_new(value, op, block)
    substitute(op, made)
    for old in (search, flat):
        block.erase_op(old)
    _erase(found)
    return True


def _has_winners(op: WindowArgOp) -> bool:
    """Return whether each window surely holds an element that is not padding, so that its index is one."""
    shape, values = spec_of(op.x).shape, op.values()
    each = zip(shape, values["window_dims"], values["padding"], values["window_dilation"], strict=True)
    return all(n != 0 and max(low, high) < k and 1 in (k, d) for n, k, (low, high), d in each)


def _reduces_all(op: Target) -> bool:
    return isinstance(op, ReduceOp) and len(axes_of_reduction(op)) == len(spec_of(op.x).shape) and not op.values()["keepdims"]


def _without(op: Target, operand: int, found: _Between) -> PtirOp | None:
    """The op for the values as they are before the views, still on its old operands; None where it must stay."""
    x, values = op.operands[operand], op.values()
    if isinstance(op, ReshapeOp):
        same = spec_of(op.result).shape == found.source
        return in_place_of(op, ReshapeOp, x, new_shape=values["new_shape"]) if found.dies or same else None
    if not found.dies:
        return None
    if isinstance(op, ReduceOp):
        return _reduction(op, found)
    changed = renamed(values, ("lhs", "rhs")[operand], found.key)
    return None if changed is None else in_place_of(op, DotGeneralOp, *op.operands, **_with(values, changed))


def _reduction(op: ReduceOp, found: _Between) -> ReduceOp | None:
    """The reduction over the axes as they are before the views."""
    values, axes = op.values(), axes_before(op, found.key) if found.kind is TransposeOp else tuple(range(len(found.source)))
    if found.kind is ReshapeOp and not is_exact(op):
        return None
    return None if axes is None else in_place_of(op, ReduceOp, op.x, **_with(values, {"axes": axes}))


def _with(values: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    return {**values, **changed}


def _rebuilt(found: _Between, last: SSAValue) -> SSAValue:
    """`last` before the views: each op between again, in front of the old one."""
    became = dict[SSAValue, SSAValue]()
    for view in found.views:
        owner = view.owner
        assert isinstance(owner, TransposeOp | ReshapeOp)
        became[view] = owner.x
    for value in found.repeated:  # in front of all users, whose order in the block is not that of `found.ops`
        made, old = repeat(value, found.source, found.key if found.kind is TransposeOp else None), value.owner
        assert isinstance(old, Operation)
        block = old.parent
        assert isinstance(block, Block)
        insert_new(made, old, block)
        became[value] = made.results[0]
    for op in reversed(found.ops):
        block = op.parent
        assert isinstance(block, Block)
        made = rebuilt(op, [became[v] for v in op.operands], found.source)
        insert_new(made, op, block)
        became[op.results[0]] = made.results[0]
    return became[last]


def _erase(found: _Between) -> None:
    """Erase what is between, and what it was the only use of."""
    for owner in [*found.ops, *(v.owner for v in (*found.views, *found.repeated))]:
        if isinstance(owner, Operation) and isinstance(owner.parent, Block) and not owner.results[0].first_use:
            owner.parent.erase_op(owner)


@dataclass(frozen=True)
class PtirSinkViewsPass(ModulePass):
    """Sink transposes and reshapes through elementwise ops, where another view, a reduction or a product absorbs them."""

    name = "mind-ptir-sink-views"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        sink_views(op)
