"""
Views that a kernel would have to copy become index arithmetic in it: transposes, slices, reversals, and what lies between.

The array library has them for nothing, but a kernel reads arrays in row-major order only. Each fusion takes in the views that
its operands are, as long as the whole is a kernel; a view that others use too stays for them.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.ptir import BroadcastToOp, FusionOp, ReshapeOp, YieldOp
from mind_passes.ptir.dce import erase_dead

from .kernel import make_kernel
from .maps import FREE
from .unsupported import Unsupported

MOST_VIEWS = 8
"""So many views one after the other at most."""
_VIEWS = (*FREE, ReshapeOp, BroadcastToOp)


def absorb_views(module: ModuleOp) -> None:
    """Let the fusions of a module take in the views that they read."""
    changed = False
    for op in [op for op in walk(module) if isinstance(op, FusionOp)]:
        chains = {v: chain for v in op.operands if (chain := _chain(v, op))}
        for chosen in (chains, *({v: chain} for v, chain in list(chains.items())[:MOST_VIEWS] if len(chains) > 1)):
            if not chosen or (made := _with(op, chosen)) is None:
                continue
            block = op.parent
            assert isinstance(block, Block)
            block.insert_op_before(made, op)
            for old, new in zip(op.results, made.results, strict=True):
                new.name_hint = old.name_hint
                old.replace_all_uses_with(new)
            op.detach()
            op.erase()
            changed = True
            break
    if changed:
        erase_dead(module)


def _chain(value: SSAValue, user: Operation) -> list[Operation]:
    """The views that a value is, the last first, down to one that the array library would not keep in row-major order."""
    found: list[Operation] = []
    needed = 0
    while len(found) < MOST_VIEWS and isinstance(op := value.owner, _VIEWS) and op.parent is user.parent:
        found.append(op)
        needed = len(found) if type(op) in FREE or (isinstance(op, BroadcastToOp) and needed) else needed
        value = op.operands[0]
    return found[:needed]


def _with(op: FusionOp, chains: dict[SSAValue, list[Operation]]) -> FusionOp | None:
    """A fusion with views taken in, if it is a kernel."""
    body = Block()
    values: dict[SSAValue, SSAValue] = {}
    arguments: dict[SSAValue, SSAValue] = {}
    for argument, value in zip(op.body.block.args, op.operands, strict=True):
        chain = chains.get(value, [])
        source = chain[-1].operands[0] if chain else value
        if source not in arguments:
            arguments[source] = body.insert_arg(source.type, len(body.args))
            arguments[source].name_hint = source.name_hint
        values[argument] = arguments[source]
        for view in reversed(chain):
            made = view.clone({view.operands[0]: values[argument]})
            body.add_op(made)
            values[argument] = made.results[0]
    for inner in op.body.block.ops:
        if isinstance(inner, YieldOp):
            body.add_op(YieldOp.create(operands=[values[v] for v in inner.operands]))
        else:
            body.add_op(inner.clone(values))
    try:
        make_kernel(body)
    except Unsupported:
        return None
    return FusionOp.create(
        operands=list(arguments),
        result_types=list(op.result_types),
        properties=dict(op.properties),
        regions=[Region(body)],
        location=op.location,
    )
