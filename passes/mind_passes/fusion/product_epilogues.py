"""
Biases, GELU and their gradients merge into the products next to them, for libraries that compute them as they write a product.

The results differ from those of the program in how they are rounded: a product that is narrower than f32 is not rounded before
its epilogue, a bias is rounded to the dtype of the operands before it is added, and a gradient of a bias after it was summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.ptir import (
    FUSIBLE,
    TARGETED,
    AddOp,
    BroadcastToOp,
    CastOp,
    ConcatOp,
    DotGeneralOp,
    FusionOp,
    PtirOp,
    ReduceOp,
)
from mind_dialect.ptir.types import PtirDType

from ..ptir.building import spec_of
from ..ptir.dead_ops import erase_dead
from ..ptir.patterns.product_epilogue import PATTERN, EpilogueBuilder, is_over_rows, is_product, uncast
from ..ptir.polynomials import Polynomials, times
from .edit import FusionEdit

PRODUCTS = (PATTERN, "attention", "attention_gradient")
"""The patterns whose first ops are products, so that nothing before them is computed in their kernels."""
MOST_USERS = 200
"""So many values computed from a product are looked at."""


def merge_epilogues(root: Operation) -> bool:
    """Merge epilogues into the products inside `root`, outside of fusions; return whether there were any."""
    products = [op for op in walk(root) if isinstance(op, DotGeneralOp) and not isinstance(op.parent_op(), FusionOp)]
    saved: list[SSAValue] = []
    changed = False
    for op in [op for op in products if is_product(op)]:
        changed |= _merge_bias(op, saved) or _merge_gelu_gradient(op, saved) or _merge_column_sums(op)
    if changed:
        erase_dead(root)
    return changed


def _merge_bias(op: DotGeneralOp, saved: list[SSAValue]) -> bool:
    """Merge the bias of a product, and GELU after it; `saved` gets the sum before GELU if others need it."""
    sum_ = _user_of_widened(op)
    if not isinstance(sum_, AddOp) or sum_.parent is not op.parent or spec_of(sum_.result).shape != spec_of(op.result).shape:
        return False
    other = sum_.rhs if uncast(sum_.lhs) is op.result else sum_.lhs
    bias = uncast(other.owner.x) if isinstance(other.owner, BroadcastToOp) else None
    if bias is None or spec_of(bias).shape != spec_of(op.result).shape[-1:] or not spec_of(bias).dtype.is_float:
        return False
    dtype, gelu = spec_of(op.lhs).dtype, _gelu_of(sum_)
    end = sum_.result if gelu is None else gelu
    rounded = _rounded(end, dtype)
    if rounded is None or (gelu is None and not _is_read_whole(rounded)):
        return False
    cast = None if spec_of(bias).dtype is dtype else CastOp(bias, dtype=dtype.name)
    aux = gelu is not None and _is_needed(sum_, end)
    build = EpilogueBuilder(op)
    results = build.bias(bias if cast is None else cast.result, gelu=gelu is not None, aux=aux)
    made = _insert(sum_, build, results, cast)
    rounded.replace_all_uses_with(made.results[0])
    if aux:
        _replace(sum_.result, made, 1)
        saved.append(made.results[1])
    return True


def _merge_gelu_gradient(op: DotGeneralOp, saved: Sequence[SSAValue]) -> bool:
    """Merge the multiplication by the derivative of GELU at a sum that `_merge_bias` saved, and the sums over the rows."""
    found, dtype = Polynomials(), spec_of(op.lhs).dtype
    candidates = [a for a in saved if spec_of(a) == spec_of(op.result) and _is_before(a.owner, op)]
    for value in [v for v in reversed(_computed_from(op)) if not isinstance(v.owner, CastOp)] if candidates else ():
        for aux in candidates:
            if not found.same(found.of(value), times(found.of(op.result), found.gelu_tanh_gradient(found.of(aux)))):
                continue
            users = [use.operation for use in value.uses]
            sums = [user for user in users if isinstance(user, ReduceOp) and is_over_rows(user) and not _keeps(user)]
            rounded = _rounded(value, dtype, other_than=sums[:1])
            if rounded is None:
                continue
            build = EpilogueBuilder(op)
            fusion = _insert(op, build, build.gelu_gradient(aux, sums=bool(sums)))
            rounded.replace_all_uses_with(fusion.results[0])
            if sums:
                _replace(sums[0].result, fusion, 1)
            return True
    return False


def _merge_column_sums(op: DotGeneralOp) -> bool:
    """Merge the sums over the rows of a concatenation that a product contracts: no other kernel has whole rows of it."""
    source = uncast(op.rhs)
    rank = len(spec_of(source).shape)
    if not isinstance(source.owner, ConcatOp) or sorted(op.values()["contract_rhs"]) != [*range(rank - 1)]:
        return False
    for sums in [use.operation for use in source.uses]:
        if not isinstance(sums, ReduceOp) or not is_over_rows(sums) or _keeps(sums):
            continue
        if all(_is_before(op, use.operation) for use in sums.result.uses):
            build = EpilogueBuilder(op)
            fusion = _insert(op, build, build.column_sums())
            _replace(sums.result, fusion, 1)
            op.result.replace_all_uses_with(fusion.results[0])
            return True
    return False


# What is around a product


def _user_of_widened(op: DotGeneralOp) -> Operation | None:
    """Return the only op that reads a product, or that reads its cast to a wider dtype."""
    value = op.result
    while (use := value.first_use) is not None and len([*value.uses]) == 1:
        if not isinstance(use.operation, CastOp) or uncast(use.operation.result) is not op.result:
            return use.operation
        value = use.operation.result
    return None


def _computed_from(op: Operation) -> list[SSAValue]:
    """Return values of the shape of a result that are computed from it element by element, in its block."""
    shape, found = spec_of(op.results[0]).shape, dict[Operation, None]()
    stack: list[Operation] = [op]
    while stack and len(found) < MOST_USERS:
        for use in stack.pop().results[0].uses:
            user = use.operation
            if user not in found and user.parent is op.parent and FUSIBLE.get(type(user)) == "elementwise":
                if spec_of(user.results[0]).shape == shape:
                    found[user] = None
                    stack.append(user)
    return [user.results[0] for user in found]


def _gelu_of(sum_: AddOp) -> SSAValue | None:
    """Return the approximation of GELU by tanh of a sum, if it is computed: by ops, or by a fusion that was recognized as it."""
    fusions = [use.operation for use in sum_.result.uses if isinstance(use.operation, FusionOp)]
    if len(fusions) == 1 and fusions[0].values()["pattern"] == "gelu_tanh" and fusions[0].parent is sum_.parent:
        return fusions[0].results[0]
    found = Polynomials()
    x = found.of(sum_.result)
    if any(len(m) != 1 or c != 1 for m, c in x.items()):
        return None
    wanted = found.gelu_tanh(x)
    return next((v for v in _computed_from(sum_) if not isinstance(v.owner, CastOp) and found.same(found.of(v), wanted)), None)


def _rounded(value: SSAValue, dtype: PtirDType, other_than: Sequence[Operation] = ()) -> SSAValue | None:
    """Return a value, or its only use other than by these ops, a cast, whichever is of a dtype; None for any other use."""
    if spec_of(value).dtype is dtype:
        return value
    users = [use.operation for use in value.uses if use.operation not in other_than]
    if len(users) == 1 and isinstance(users[0], CastOp) and spec_of(users[0].result).dtype is dtype:
        return users[0].result
    return None


def _is_needed(sum_: AddOp, end: SSAValue) -> bool:
    """Return whether anything but a value computed from a sum needs the sum, or what is computed on the way."""
    inside: set[Operation | Block] = {sum_, end.owner}
    stack = [end.owner] if isinstance(end.owner, Operation) else []
    while stack:
        for value in stack.pop().operands:
            if isinstance(value.owner, PtirOp) and value.owner not in inside and value.owner.parent is sum_.parent:
                inside.add(value.owner)
                stack.append(value.owner)
    reached = [v for v in (sum_.result, *_computed_from(sum_)) if v.owner in inside and v is not end]
    return any(use.operation not in inside for v in reached for use in v.uses)


def _is_read_whole(value: SSAValue) -> bool:
    """Return whether no op that reads a value, or a view of it, computes element by element, and so could add a bias itself."""
    stack, seen = [value], set[SSAValue]()
    while stack:
        for use in stack.pop().uses:
            user = use.operation
            part = FUSIBLE.get(type(user)) or TARGETED.get(type(user))
            if part in ("elementwise", "reduction") or (isinstance(user, FusionOp) and user.values()["pattern"] not in PRODUCTS):
                return False
            if part in ("view", "map") and user.results[0] not in seen:
                seen.add(user.results[0])
                stack.append(user.results[0])
    return True


def _keeps(op: ReduceOp) -> bool:
    return bool(op.values()["keepdims"])


def _is_before(first: Operation | Block, second: Operation) -> bool:
    """Return whether an op comes before another, or what holds that, in its block."""
    holder: Operation | None = second
    while holder is not None and isinstance(first, Operation) and holder.parent is not first.parent:
        holder = holder.parent_op()
    return isinstance(first, Operation) and holder is not None and first.is_before_in_block(holder)


def _insert(before: Operation, build: EpilogueBuilder, results: Sequence[SSAValue], cast: CastOp | None = None) -> FusionOp:
    """Insert the fusion of the ops of a builder, after the cast of its bias."""
    edit, block = FusionEdit(), before.parent
    edit.append(*build.ops)
    made = edit.fusion(results, location=build.product.location, pattern=PATTERN)
    for op in reversed(build.ops):
        op.drop_all_references()
    assert isinstance(block, Block)
    for op in (made,) if cast is None else (cast, made):
        op.location = build.product.location
        block.insert_op_before(op, before)
    return made


def _replace(value: SSAValue, fusion: FusionOp, number: int) -> None:
    """Replace a value by a result of a fusion, cast to the dtype of the value."""
    result, block = fusion.results[number], fusion.parent
    if spec_of(result).dtype is not spec_of(value).dtype:
        cast = CastOp(result, dtype=spec_of(value).dtype.name)
        cast.location = fusion.location
        assert isinstance(block, Block)
        block.insert_op_after(cast, fusion)
        result = cast.result
    value.replace_all_uses_with(result)


@dataclass(frozen=True)
class PtirProductEpiloguesPass(ModulePass):
    """
    Merge biases, GELU by tanh and their gradients into products.

    For libraries that compute them as they write a product. Results are rounded otherwise: not between a narrow product and
    its epilogue.
    """

    name = "mind-ptir-product-epilogues"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        merge_epilogues(op)
