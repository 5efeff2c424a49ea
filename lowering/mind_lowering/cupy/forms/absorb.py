"""
What fusions take in that stands before them: views that they would have to copy, and masks that are made of nothing.

The array library has transposes, slices and reversals for nothing, but a kernel reads arrays in row-major order only, or by
strides. A causal mask is made of numbers alone, so it is cheaper made anew where it is used than read. Each fusion takes these
in as long as the whole is a kernel; what others use too stays for them.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.ptir import BroadcastToOp, ConvolutionOp, FusionOp, IotaOp, PtirOp, ReshapeOp, TransposeOp
from mind_passes.fusion.edit import FusionEdit
from mind_passes.ptir.building import substitute
from mind_passes.ptir.dce import erase_dead
from mind_passes.ptir.patterns.matching import is_fill

from ..kernels.maps import FREE
from ..kernels.scalars import EMITTERS
from ..products.attention import is_attention
from ..products.attention_gradient import is_gradient

MOST_VIEWS = 8
"""So many views one after the other at most."""
MOST_MADE = 12
"""So many ops at most are made anew."""
_VIEWS = (*FREE, ReshapeOp, BroadcastToOp)


def absorb_views(module: ModuleOp, is_kernel: Callable[[FusionOp], bool]) -> None:
    """Let the fusions of a module take in the views that they read."""
    changed = False
    for op in [op for op in walk(module) if isinstance(op, FusionOp)]:
        chains = {v: chain for v in op.operands if (chain := _chain(v, op) or _made_of_nothing(v, op))}
        for chosen in (chains, *({v: chain} for v, chain in list(chains.items())[:MOST_VIEWS] if len(chains) > 1)):
            if not chosen or (made := _with(op, chosen, is_kernel)) is None:
                continue
            substitute(op, made)
            changed = True
            break
    if changed:
        erase_dead(module)


def absorb_iterations(module: ModuleOp, is_kernel: Callable[[FusionOp], bool]) -> None:
    """Let attentions write their results where a transpose that alone uses them, and a reshape of it, would put them."""
    for op in [op for op in walk(module) if isinstance(op, FusionOp)]:
        if not (is_attention(op.body.block) or is_gradient(op.body.block)):
            continue
        current = op
        for i in range(len(op.results)):
            after = list(_used_alone(current.results[i], TransposeOp))
            after += _used_alone(after[-1].results[0], ReshapeOp) if after else []
            if after and after[-1].parent is current.parent:
                current = _turned(current, i, after, is_kernel)


def _turned(op: FusionOp, place: int, after: list[Operation], is_kernel: Callable[[FusionOp], bool]) -> FusionOp:
    """The fusion whose result `place` is what views make of it, if it is a kernel, in the place of the old."""
    edit = FusionEdit()
    edit.inline(op)
    edit.append(*after)
    new = edit.fusion([after[-1].results[0] if i == place else v for i, v in enumerate(op.results)], like=op)
    if not is_kernel(new):
        new.erase()
        return op
    block = op.parent
    assert isinstance(block, Block)
    block.insert_op_before(new, op)
    after[-1].results[0].replace_all_uses_with(new.results[place])
    for i, (old, result) in enumerate(zip(op.results, new.results, strict=True)):
        if i != place:
            old.replace_all_uses_with(result)
    for old in (*reversed(after), op):
        old.detach()
        old.erase()
    return new


def _used_alone(value: SSAValue, kind: type[Operation]) -> list[Operation]:
    """The only use of a value, if it is an op of that kind."""
    users = [use.operation for use in value.uses]
    return users if len(users) == 1 and isinstance(users[0], kind) else []


def _chain(value: SSAValue, user: Operation) -> list[Operation]:
    """The views that a value is, the last at the end, from one that the array library would not keep in row-major order."""
    found: list[Operation] = []
    needed = 0
    while len(found) < MOST_VIEWS and isinstance(op := value.owner, _VIEWS) and op.parent is user.parent:
        found.append(op)
        needed = len(found) if type(op) in FREE or (isinstance(op, BroadcastToOp) and needed) else needed
        value = op.operands[0]
    return found[:needed][::-1]


def _made_of_nothing(value: SSAValue, user: Operation) -> list[Operation]:
    """The ops that make a value of numbers and constants of one element, in order; none if there is more to it."""
    found: dict[Operation, None] = {}
    waiting = [value.owner]
    while waiting:
        op = waiting.pop()
        if not isinstance(op, PtirOp) or op.parent is not user.parent or len(found) == MOST_MADE:
            return []
        if type(op) not in EMITTERS and not (isinstance(op, IotaOp | BroadcastToOp | ReshapeOp) or is_fill(op)):
            return []
        found.pop(op, None)  # it stands before all that use it
        found[op] = None
        waiting += [v.owner for v in op.operands]
    return list(reversed(found)) if any(isinstance(op, IotaOp) for op in found) else []


def _keeps_neighbours(chain: list[Operation]) -> bool:
    """Whether views leave neighbours along the last axis where they are: tiles are read many times, and in rows."""
    iterations = [op for op in chain if isinstance(op, TransposeOp)]
    return all(op.values()["perm"][-1] in (-1, len(op.values()["perm"]) - 1) for op in iterations)


def _with(op: FusionOp, chains: dict[SSAValue, list[Operation]], is_kernel: Callable[[FusionOp], bool]) -> FusionOp | None:
    """A fusion with views taken in, if it is a kernel."""
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
