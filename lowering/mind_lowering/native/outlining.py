"""Ops that NumPy runs: each as a function of its own, what notes call it, and how many random numbers it draws."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import I1, read_type


class NoKernel(Exception):
    """An op in a region has no native kernel; the text says which, and why."""


def random_ops(op: PtirOp) -> int:
    """Return the number of random draws that an op is, those that never run too."""
    return sum(isinstance(inner, ptir.RandomOp) for inner in op.walk())


def outlined(op: PtirOp) -> FuncOp:
    """Return a function of one op, in no module; for an op without results, a branch that only may fail, it returns `false`."""
    block = Block(arg_types=op.operand_types)
    for argument, value in zip(block.args, op.operands, strict=True):
        argument.name_hint = value.name_hint
    made = op.clone()
    for i, argument in enumerate(block.args):
        made.operands[i] = argument
    block.add_op(made)
    results = made.results
    if not results:
        block.add_op(none := ptir.ConstantOp(PtirLiteralAttr.from_values(I1, (), [False])))
        results = none.results
    block.add_op(ReturnOp(*results))
    func = FuncOp("op", ([a.type for a in block.args], [r.type for r in results]), Region(block))
    func.location = op.location
    return func


def alone(op: PtirOp) -> PtirOp:
    """Return a copy of an op in a function of its own, so that whoever holds it does not hold the function that `op` is in."""
    found = outlined(op).body.block.first_op
    assert isinstance(found, PtirOp), "an op of PTIR"
    return found


def shown(op: PtirOp) -> str:
    """An op in a note."""
    hint = next((r.name_hint for r in op.results if r.name_hint), None)
    types = ", ".join(str(read_type(v.type)) for v in op.operands)
    return f"{op.OPCODE}{'' if hint is None else f' %{hint}'} of {types or 'nothing'}"
