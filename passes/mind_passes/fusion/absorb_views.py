"""
Fusions absorb the views that they read, and masks that are computed from nothing.

An array library has transposes, slices and reversals as strided views, but a kernel would have to copy them first. A causal mask
is computed from indices alone, so computing it in the kernel is cheaper than reading it. A fusion absorbs these as long as the
result is a kernel; values that others use as well stay for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.ptir import FUSIBLE, BroadcastToOp, ConvolutionOp, FusionOp, IotaOp, PtirOp, ReshapeOp, TransposeOp

from ..ptir.building import substitute
from ..ptir.dead_ops import erase_dead
from ..ptir.patterns.matching import is_fill
from .edit import FusionEdit
from .kernels import IsKernel, always

MOST_VIEWS = 8
"""At most so many views, one after the other, are absorbed."""
MOST_COPIED = 12
"""At most so many ops are copied to compute a value from nothing."""
STRIDED: frozenset[type[Operation]] = frozenset({ptir.TransposeOp, ptir.SliceOp, ptir.StridedSliceOp, ptir.ReverseOp})
"""Ops that an array library has as strided views: they cost nothing unless a kernel would have to copy them."""
_VIEWS = (*STRIDED, ReshapeOp, BroadcastToOp)


def absorb_views(module: Operation, is_kernel: IsKernel = always) -> None:
    """Let the fusions inside `module` absorb the views that they read."""
    changed = False
    for op in [op for op in walk(module) if isinstance(op, FusionOp)]:
        chains = {v: chain for v in op.operands if (chain := _chain(v, op) or _nullary(v, op))}
        for chosen in (chains, *({v: chain} for v, chain in list(chains.items())[:MOST_VIEWS] if len(chains) > 1)):
            if not chosen or (made := _with(op, chosen, is_kernel)) is None:
                continue
            substitute(op, made)
            changed = True
            break
    if changed:
        erase_dead(module)


def absorb_result_views(module: Operation, is_kernel: IsKernel = always, is_candidate: IsKernel = always) -> None:
    """Let candidates write a result in the layout of a transpose that alone reads it, and of a reshape of that."""
    for op in [op for op in walk(module) if isinstance(op, FusionOp)]:
        current = op
        for i in range(len(op.results)) if is_candidate(op) else ():
            after = _only_user(current.results[i], TransposeOp)
            after += _only_user(after[-1].results[0], ReshapeOp) if after else []
            if after and after[-1].parent is current.parent:
                current = _absorbed(current, i, after, is_kernel)


def _absorbed(op: FusionOp, index: int, after: list[Operation], is_kernel: IsKernel) -> FusionOp:
    """Replace a fusion by one that applies views to the result `index`, if that is a kernel; return what there is then."""
    edit = FusionEdit()
    edit.inline(op)
    edit.append(*after)
    new = edit.fusion([after[-1].results[0] if i == index else v for i, v in enumerate(op.results)], like=op)
    if not is_kernel(new):
        new.erase()
        return op
    after[-1].results[0].replace_all_uses_with(op.results[index])
    for view in reversed(after):
        view.detach()
        view.erase()
    substitute(op, new)
    return new


def _only_user(value: SSAValue, kind: type[Operation]) -> list[Operation]:
    """Return the only user of a value, if it is an op of that kind."""
    users = [use.operation for use in value.uses]
    return users if len(users) == 1 and isinstance(users[0], kind) else []


def _chain(value: SSAValue, user: Operation) -> list[Operation]:
    """Return the views that compute a value, in order, from the first that is not row-major; none if all are."""
    found: list[Operation] = []
    needed = 0
    while len(found) < MOST_VIEWS and isinstance(op := value.owner, _VIEWS) and op.parent is user.parent:
        found.append(op)
        needed = len(found) if type(op) in STRIDED or (isinstance(op, BroadcastToOp) and needed) else needed
        value = op.operands[0]
    return found[:needed][::-1]


def _nullary(value: SSAValue, user: Operation) -> list[Operation]:
    """Return the ops, in order, that compute a value from indices and constants of one element; none if it reads more."""
    found: dict[Operation, None] = {}
    waiting = [value.owner]
    while waiting:
        op = waiting.pop()
        if not isinstance(op, PtirOp) or op.parent is not user.parent or len(found) == MOST_COPIED:
            return []
        if FUSIBLE.get(type(op)) != "elementwise" and not (isinstance(op, IotaOp | BroadcastToOp | ReshapeOp) or is_fill(op)):
            return []
        found.pop(op, None)  # it comes before all its users
        found[op] = None
        waiting += [v.owner for v in op.operands]
    return list(reversed(found)) if any(isinstance(op, IotaOp) for op in found) else []


def _keeps_neighbours(chain: list[Operation]) -> bool:
    """Return whether views keep the last axis last: tiles are read many times, in rows."""
    transposes = [op for op in chain if isinstance(op, TransposeOp)]
    return all(op.values()["perm"][-1] in (-1, len(op.values()["perm"]) - 1) for op in transposes)


def _with(op: FusionOp, chains: dict[SSAValue, list[Operation]], is_kernel: IsKernel) -> FusionOp | None:
    """Return a fusion that has absorbed the ops that compute some operands, if it is a kernel."""
    if any(isinstance(o, ConvolutionOp) for o in op.body.block.ops):
        chains = {value: chain for value, chain in chains.items() if _keeps_neighbours(chain)}
    if not chains:
        return None
    edit = FusionEdit()
    for value in op.operands:
        chain = chains.get(value, ())
        edit.append(*chain)
        edit.read(value)
    edit.inline(op)
    made = edit.fusion(op.results, like=op)
    if is_kernel(made):
        return made
    made.erase()
    return None


@dataclass(frozen=True)
class PtirAbsorbViewsPass(ModulePass):
    """
    Let fusions absorb transposes, slices and reversals that they read, and masks that are computed from indices.

    With `results=true` also transposes, and reshapes of them, that alone read a result.
    """

    name = "mind-ptir-absorb-views"

    results: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        absorb_views(op)
        if self.results:
            absorb_result_views(op)
