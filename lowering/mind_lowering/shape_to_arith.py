"""
`lower-shape-to-arith`: ranked shapes as straight-line arithmetic on indices, one value per extent.

No loops, no lists: `shape.broadcast` of two shapes of rank 3 is three selections and, for each, whether the extents agree. A rank
that is not known, a constant that is not known in full, and what prints have no such form; one error, E9014, names each op of the
module that has none, and why, and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, tensor
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, Func, FuncOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.errors import error
from mind_dialect.shape import FuncOp as ShapeFuncOp
from mind_dialect.shape import FunctionLibraryOp, ShapeOp
from mind_passes.inline import inlined

from .shape_arith.functions import Rebuilt, Refusal, is_of_shapes

SHOWN = 16
"""So many refused ops one message names."""


def lower(module: ModuleOp) -> None:
    """
    Lower every function of a verified module that has to do with shapes, in place.

    E9014 for ops without a lowering, E9022 for a `reduce` that comes to too much; E4000 and E6003 as by `inline_calls` for calls
    that pass shapes.
    """
    refusals, made, callees = list[Refusal](), list[tuple[Operation, FuncOp | None]](), _Callees()
    for op in _outermost(module):
        if isinstance(op, FunctionLibraryOp):
            continue  # it describes ops of others
        if isinstance(op, FuncOp | ShapeFuncOp):
            if _is_only_called(op):
                made.append((op, None))
            elif (rebuilt := _rebuild(op, callees, refusals)) is not None:
                made.append((op, rebuilt))
        elif isinstance(op, ShapeOp):
            refusals.append(Refusal(op, "it is not in a function"))
    if refusals:
        raise _refused(refusals)
    for old, new in made:
        block = cast(Block, old.parent)
        if new is not None:
            block.insert_op_before(new, old)
        old.detach()
        old.erase(safe_erase=False)


def _outermost(module: ModuleOp) -> list[Operation]:
    """The functions, libraries and stray shape ops of a module and of modules inside it."""
    found: list[Operation] = []
    stack = [module]
    while stack:
        for block in stack.pop().body.blocks:
            for op in block.ops:
                if isinstance(op, ModuleOp):
                    stack.append(op)
                else:
                    found.append(op)
    return found


def _passes_shapes(op: FuncOp | ShapeFuncOp) -> bool:
    """Return whether a function takes or gives shapes."""
    type = op.function_type if isinstance(op, FuncOp) else op.type
    return any(is_of_shapes(t) for t in (*type.inputs.data, *type.outputs.data))


class _Callees:
    """The names of functions that take or give shapes."""

    def __init__(self) -> None:
        self._names: dict[Operation, set[str]] = {}

    def called_in(self, op: Operation) -> bool:
        """Return whether one of those is called in a function."""
        calls = [inner for inner in walk(op) if isinstance(inner, CallOp)]
        table = op.parent_op()
        if not calls or table is None:
            return False
        if table not in self._names:
            functions = [f for r in table.regions for b in r.blocks for f in b.ops if isinstance(f, FuncOp)]
            self._names[table] = {f.sym_name.data for f in functions if _passes_shapes(f)}
        return any(call.callee.root_reference.data in self._names[table] for call in calls)


def _is_only_called(op: FuncOp | ShapeFuncOp) -> bool:
    """Return whether a function stands for its calls only: it is private and takes or gives shapes."""
    return isinstance(op, FuncOp) and op.sym_visibility == StringAttr("private") and _passes_shapes(op)


def _needs_lowering(op: FuncOp | ShapeFuncOp) -> bool:
    return isinstance(op, ShapeFuncOp) or _passes_shapes(op) or any(isinstance(inner, ShapeOp) for inner in walk(op))


def _rebuild(op: FuncOp | ShapeFuncOp, callees: _Callees, refusals: list[Refusal]) -> FuncOp | None:
    """The new function; None if something was refused, or if there is nothing to do."""
    calls = isinstance(op, FuncOp) and callees.called_in(op)
    if not calls and not _needs_lowering(op):
        return None
    if op.body.first_block is None:
        refusals.append(Refusal(op, f"@{op.sym_name.data} is declared only, and takes or gives shapes"))
        return None
    if calls:
        assert isinstance(op, FuncOp)
        op = inlined(op).func
    rebuilt = Rebuilt(op)
    if rebuilt.refusals:
        refusals += rebuilt.refusals
        return None
    return rebuilt.made()


def _refused(refusals: Sequence[Refusal]) -> Exception:
    lines = [str(r) for r in refusals]
    more = f"; and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
    count = "1 op has" if len(lines) == 1 else f"{len(lines)} ops have"
    message = f"{count} no lowering to arith: {'; '.join(lines[:SHOWN])}{more}"
    ops = [r.op.name for r in refusals]
    return error("E9014", message, operation=refusals[0].op, issue=refusals[0].issue, ops=ops)


@dataclass(frozen=True)
class LowerShapeToArithPass(ModulePass):
    """Lower ranked shapes to straight-line arithmetic on indices; one error lists everything else."""

    name = "mind-lower-shape-to-arith"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for dialect in (arith.Arith, cf.Cf, tensor.Tensor, Func):
            if ctx.get_optional_dialect(dialect.name) is None:
                ctx.load_dialect(dialect)
        lower(op)
