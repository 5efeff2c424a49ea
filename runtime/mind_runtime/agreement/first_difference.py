"""
The first op on which two executors differ, found by cutting a function short.

A cut of a function at an op returns that op's results alone, with all before them left as it is, so that an executor fuses and
plans them much as in the whole. Bisection over the ops of the function takes a number of runs that grows with the logarithm of
their number; where the op that it finds has an operand that differs too, the search goes on in what that operand needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from mind_passes.ptir.dead_ops import erase_dead

from ..compilation import find_function
from .outcomes import run_everywhere


def first_difference(
    module: ModuleOp,
    function: str | None,
    arguments: Sequence[Any],
    executors: tuple[str, str],
    seed: int = 0,
    comparable: Callable[[Operation], bool] = lambda op: True,
) -> Operation | None:
    """
    Return the first op of a function on whose results two executors differ, though they agree on its operands.

    None if no cut of the function differs: then the difference needs the whole, as one of a fusion over what follows. The
    function must be one of which `run_everywhere` says that the executors disagree. `comparable` says which ops both executors
    have results of; only those are looked at.
    """
    func = find_function(module, function)
    ops = [op for op in func.body.block.ops if op.results and not isinstance(op, ReturnOp) and comparable(op)]
    known: dict[Operation, bool] = {}

    def differs(op: Operation) -> bool:
        if op not in known:
            cut = cut_at(module, func, op)
            known[op] = bool(run_everywhere(cut, func.sym_name.data, arguments, executors, seed).disagreements())
        return known[op]

    while ops and (found := _bisect(ops, differs)) is not None:
        before = [op for op in _definitions(found.operands) if comparable(op) and differs(op)]
        if not before:
            return found
        ops = [op for op in _needed(before[0]) if comparable(op)]
    return None


def _bisect(ops: Sequence[Operation], differs: Callable[[Operation], bool]) -> Operation | None:
    """Return an op that differs where the one before it does not; the last, or none, must differ."""
    if not differs(ops[-1]):
        return next((op for op in reversed(ops) if differs(op)), None) if len(ops) <= 64 else None
    low, high = -1, len(ops) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if differs(ops[middle]) else (middle, high)
    return ops[high]


def _definitions(values: Sequence[SSAValue]) -> list[Operation]:
    return list(dict.fromkeys(value.owner for value in values if isinstance(value.owner, Operation)))


def _needed(op: Operation) -> list[Operation]:
    """Return an op and all of its block that it uses, in program order."""
    block, found, stack = op.parent, {op}, [op]
    while stack:
        user = stack.pop()
        used = [operand for inner in user.walk() for operand in inner.operands]
        fresh = [d for d in _definitions(used) if d.parent is block and d not in found]
        found.update(fresh)
        stack += fresh
    assert block is not None
    return [op for op in block.ops if op in found]


def cut_at(module: ModuleOp, func: FuncOp, op: Operation) -> ModuleOp:
    """Return a copy of a module in which a function ends after `op`, one of its ops, and returns its results."""
    position = next(i for i, other in enumerate(func.body.block.ops) if other is op)
    copy = module.clone()
    made = find_function(copy, func.sym_name.data)
    block = made.body.block
    ops = list(block.ops)
    for later in reversed(ops[position + 1 :]):
        block.erase_op(later)
    block.add_op(ReturnOp(*ops[position].results))
    made.function_type = FunctionType.from_lists(made.function_type.inputs.data, [r.type for r in ops[position].results])
    if made.res_attrs is not None:
        del made.properties["res_attrs"]
    for name in [name for name in made.attributes if name.startswith("mind.") and name.endswith(("_of", "_wrt"))]:
        del made.attributes[name]
    erase_dead(made)
    return copy
