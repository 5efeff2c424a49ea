"""The end of a function of the `launch` dialect, whose verifier checks the function."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def, var_operand_def
from xdsl.traits import HasParent, IsTerminator, ReturnLike

from mind_dialect.errors import error
from mind_dialect.ptir.types import read_type

from ..coded_op import expect_types
from .base import LaunchOp
from .check_memory import check_memory
from .liveness import home, is_whole, whole
from .memory_ops import AllocOp, Space
from .ref import read_ref


@irdl_op_definition
class ReturnOp(LaunchOp):
    """
    The end of a function: each result is a whole output, memory of a host call, or a donated input; none twice.

    The result of a loop is one where the loop's carries only change places: after so many iterations it is what was given.

    Verifies the function too: its inputs and results are those of its signature.
    """

    name = "launch.return"
    inputs = var_operand_def()
    traits = traits_def(HasParent(FuncOp), IsTerminator(), ReturnLike())
    assembly_format = "($inputs^ `:` type($inputs))? attr-dict"

    def __init__(self, inputs: Sequence[SSAValue]):
        super().__init__(operands=[inputs])

    def effects(self) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        return self.inputs, ()

    def check_op(self) -> None:
        func = self.parent_op()
        for i, value in enumerate(self.inputs):
            owner = returned(value)
            if owner is None or (owner.kind not in (Space.OUTPUT, Space.HOST) and owner.donated is None):
                expected = "an allocation in output or host, or a donated input"
                raise error(
                    "E2001", f"result {i} is {value.type}, expected {expected}", expected=expected, actual=str(value.type)
                )
        if len({returned(value) for value in self.inputs}) != len(self.inputs):
            raise error("E8002", "returns one value twice", attribute="inputs", value=str(len(self.inputs)))
        if isinstance(func, FuncOp):
            _check_signature(func, [read_ref(v.type).tensor for v in self.inputs])
            check_memory(func)


def returned(value: SSAValue) -> AllocOp | None:
    """Return the allocation that a result is the whole of, in row-major order."""
    return whole(home(value)) if is_whole(value) else None


def _check_signature(func: FuncOp, results: Sequence[Attribute]) -> None:
    """Raise a coded error unless inputs and results of a function are those of its signature, and each number is there once."""
    expect_types("body", "returns", results, func.function_type.outputs.data)
    declared = func.function_type.inputs.data
    found: set[tuple[Space, int | None]] = set()
    for op in func.walk():
        if not isinstance(op, AllocOp) or op.number is None:
            continue
        if (key := (op.kind, op.number)) in found:
            raise error("E4002", f"allocates {key[0]} {key[1]} twice", value=f"{key[0]} {key[1]}").at(op, op.name)
        found.add(key)
        if op.kind is Space.INPUT:
            if op.number >= len(declared):
                message = f"input {op.number} of a function with {len(declared)} inputs"
                raise error("E4004", message, index=op.number, issue="no such input").at(op, op.name)
            if (type := read_type(declared[op.number])) != (op.ref.dtype, op.ref.shape):
                expected = str(declared[op.number])
                raise error(
                    "E2001", f"input {op.number} is {op.ref.tensor}, declared is {expected}", expected=expected, actual=str(type)
                ).at(op, op.name)
    for argument in func.body.block.args:
        if argument.uses:
            message = f"argument {argument.index} has uses, expected launch.alloc input {argument.index} in its place"
            raise error("E4004", message, index=argument.index, issue="has uses").at(func, func.name)
