"""The `xp` dialect as a whole, and the end of its functions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def, var_operand_def
from xdsl.traits import HasParent, IsTerminator, ReturnLike

from mind_dialect.errors import MindError, error

from .frees import check_frees
from .ops import CallOp, ExpectOp, FreeOp, XpOp
from .regions import ConditionOp, ForOp, IfOp, WhileOp, YieldOp


@irdl_op_definition
class ReturnOp(XpOp):
    """The end of a function; its verifier checks that nothing is used after it was freed."""

    name = "xp.return"
    inputs = var_operand_def()
    traits = traits_def(HasParent(FuncOp), IsTerminator(), ReturnLike())

    assembly_format = "$inputs attr-dict `:` type($inputs)"

    def __init__(self, inputs: Sequence[SSAValue]):
        super().__init__(operands=[inputs])

    def check(self) -> None:
        func = self.parent_op()
        if isinstance(func, FuncOp) and func.function_type.outputs.data != self.inputs.types:
            expected, actual = ([str(t) for t in types] for types in (func.function_type.outputs.data, self.inputs.types))
            raise error("E2001", f"returns {actual}, declares {expected}", expected=expected, actual=actual)
        if not self.inputs:
            raise no_outputs()
        if self.parent is not None:
            check_frees(self.parent)


def no_outputs() -> MindError:
    """E2007: a function without outputs cannot be lowered."""
    return error("E2007", "a function to be run returns at least 1 value, found 0", expected=1, actual=0)


Xp = Dialect("xp", [CallOp, ExpectOp, FreeOp, ReturnOp, IfOp, WhileOp, ForOp, ConditionOp, YieldOp], [])


def register(ctx: Context) -> None:
    """Make the dialect known to `ctx`; safe to call again."""
    if ctx.get_optional_dialect(Xp.name) is None:
        ctx.load_dialect(Xp)
