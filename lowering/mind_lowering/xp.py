"""
The `xp` dialect: a function as straight-line calls over an array namespace.

    %2 = xp.call "xp.matmul"(%x, %w) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %3 = xp.call "k.relu"(%2) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    xp.free %2 : tensor<2x4xf32>
    xp.return %3 : tensor<2x4xf32>

`xp.` names a function of the array namespace (NumPy, CuPy), `k.` a kernel of `mind_lowering.kernels` over it. Only the names
in `FUNCTIONS` can be called, so text from elsewhere cannot reach anything else. Values keep their tensor types.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from keyword import iskeyword
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr, StringAttr, TensorType, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Dialect, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsTerminator, ReturnLike

from mind_dialect.core.attributes import BOOLEAN, INTEGERS
from mind_dialect.errors import MindError, error
from mind_dialect.literals import LiteralAttr
from mind_dialect.types import NUMERIC, DType


class Storage(Enum):
    """Where the result of a function lives."""

    OWN = "memory of its own"
    WHOLE = "the whole memory of its first operand, under another shape"
    PART = "some of the memory of its first operand, or each element several times"
    CONSTANT = "memory made once, before any call"


CONSTANT = "k.constant"
COPY = "k.copy"

FUNCTIONS: dict[str, Storage] = {
    CONSTANT: Storage.CONSTANT,
    COPY: Storage.OWN,
    "xp.add": Storage.OWN,
    "xp.subtract": Storage.OWN,
    "xp.multiply": Storage.OWN,
    "k.divide": Storage.OWN,
    "xp.add.reduce": Storage.OWN,
    "k.mean": Storage.OWN,
    "k.reshape": Storage.WHOLE,
    "k.transpose": Storage.PART,
    "k.index": Storage.OWN,
    "k.slice": Storage.PART,
    "k.gather": Storage.OWN,
    "xp.matmul": Storage.OWN,
    "k.conv2d": Storage.OWN,
    "k.relu": Storage.OWN,
    "xp.negative": Storage.OWN,
    "xp.exp": Storage.OWN,
    "xp.log": Storage.OWN,
    "k.relu_grad": Storage.OWN,
    "xp.reciprocal": Storage.OWN,
    "xp.broadcast_to": Storage.PART,
    "k.scatter_add": Storage.OWN,
    "k.slice_scatter": Storage.OWN,
    "k.index_scatter": Storage.OWN,
    "k.conv2d_backward_input": Storage.OWN,
    "k.conv2d_backward_filter": Storage.OWN,
}
"""Everything that can be called, and where its result lives. A transpose counts as a part: it is not in row-major order."""

Argument = tuple[int, ...] | bool | int | DType | LiteralAttr

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_DTYPES = {d.type: d for d in NUMERIC}


def argument(attribute: Attribute) -> Argument:
    """The Python value of a keyword argument; E4000 for an attribute of another kind."""
    if isinstance(attribute, DenseArrayBase):
        return INTEGERS.value(cast("DenseArrayBase[Any]", attribute))
    if isinstance(attribute, LiteralAttr):
        return attribute
    if isinstance(attribute, IntegerAttr):
        number = cast("IntegerAttr[Any]", attribute)
        return BOOLEAN.value(number) if number.type == i1 else number.value.data
    if (dtype := _DTYPES.get(attribute)) is not None:
        return dtype
    expected = "integers, a boolean, an element type or a literal"
    raise error("E4000", f"argument {attribute}, expected {expected}", given=str(attribute), expected=expected)


class XpOp(IRDLOperation, ABC):
    """An op whose failures are coded and name it."""

    @abstractmethod
    def check(self) -> None:
        """Raise a coded error unless the op is well-formed."""

    def verify_(self) -> None:
        try:
            self.check()
        except MindError as e:
            raise e if e.op is not None else e.at(self, self.name) from None


@irdl_op_definition
class CallOp(XpOp):
    """A call of a function of the array namespace or of a kernel: operands by position, `arguments` by keyword."""

    name = "xp.call"
    callee = prop_def()
    arguments = opt_prop_def()
    inputs = var_operand_def()
    outputs = var_result_def()

    assembly_format = "$callee `(` $inputs `)` (`with` $arguments^)? attr-dict `:` functional-type($inputs, $outputs)"

    def __init__(
        self,
        callee: str,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        arguments: Mapping[str, Attribute] | None = None,
    ):
        super().__init__(operands=[inputs], result_types=[result_types], properties=call_properties(callee, arguments))

    @property
    def function(self) -> str:
        """The name of what is called; E4000 for one that is not in `FUNCTIONS`."""
        given = getattr(self.callee, "data", None)
        if given not in FUNCTIONS:
            expected = sorted(FUNCTIONS)
            raise error("E4000", f"unknown function {given!r}, expected one of {expected}", given=str(given), expected=expected)
        return given

    def values(self) -> dict[str, Argument]:
        """The keyword arguments as Python values; E4000 for what no Python call can say."""
        if self.arguments is None:
            return {}
        if not isinstance(self.arguments, DictionaryAttr):
            given = str(self.arguments)
            raise error("E4000", f"arguments {given}, expected a dictionary", given=given, expected="a dictionary")
        found: dict[str, Argument] = {}
        for name, attribute in self.arguments.data.items():
            if not _NAME.fullmatch(name) or iskeyword(name):
                expected = "a lower-case identifier"
                raise error("E4000", f"argument name {name!r}, expected {expected}", given=name, expected=expected)
            found[name] = argument(attribute)
        return found

    def check(self) -> None:
        values = self.values()
        literal = list(values) == ["value"] and isinstance(values["value"], LiteralAttr)
        if (self.function == CONSTANT) != literal or (literal and self.inputs):
            given, expected = str(list(values)), "a constant with one argument, the literal `value`"
            raise error("E4000", f"{self.function} of {given}, expected {expected}", given=given, expected=expected)
        if literal:
            _literal(values["value"]).check()
        for value in (*self.operands, *self.results):
            _check_tensor(value)
        if len(self.results) != 1:
            n = len(self.results)
            raise error("E2007", f"{self.function} gives 1 result, found {n}", expected=1, actual=n)


def call_properties(callee: str, arguments: Mapping[str, Attribute] | None) -> dict[str, Attribute]:
    """The properties of a call."""
    properties: dict[str, Attribute] = {"callee": StringAttr(callee)}
    if arguments:
        properties["arguments"] = DictionaryAttr(arguments)
    return properties


def _literal(value: Any) -> LiteralAttr:
    return value


def _check_tensor(value: SSAValue) -> None:
    if not isinstance(value.type, TensorType):
        raise error("E2001", f"xp values are tensors, found {value.type}", expected="tensor", actual=str(value.type))


@irdl_op_definition
class FreeOp(XpOp):
    """The last use of values: their memory may be taken back."""

    name = "xp.free"
    inputs = var_operand_def()

    assembly_format = "$inputs attr-dict `:` type($inputs)"

    def __init__(self, inputs: Sequence[SSAValue]):
        super().__init__(operands=[inputs])

    def check(self) -> None:
        if not self.inputs:
            raise error("E2007", "xp.free expects at least 1 operand, found 0", expected=1, actual=0)


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
            raise error("E2001", f"returns {actual}, declared are {expected}", expected=expected, actual=actual)
        if not self.inputs:
            raise no_outputs()
        if self.parent is not None:
            check_frees(self.parent)


def no_outputs() -> MindError:
    """E2007: a function without outputs cannot be lowered."""
    return error("E2007", "a function to be run returns at least 1 value, found 0", expected=1, actual=0)


def check_frees(block: Block) -> None:
    """Raise E4001 for a value that is used after it was freed, or that cannot be freed: an input or a constant."""
    freed: set[SSAValue] = set()
    for op in block.ops:
        for i, value in enumerate(op.operands):
            if value in freed:
                raise error("E4001", "uses a value after xp.free", operand=i).at(op, op.name)
            if isinstance(op, FreeOp):
                if not can_free(value):
                    raise error("E4001", "frees an input or a constant", operand=i).at(op, op.name)
                freed.add(value)


def can_free(value: SSAValue) -> bool:
    """Whether the function owns `value`: inputs are the caller's, constants are kept for the next call."""
    owner = value.owner
    return isinstance(owner, Operation) and not is_constant(owner)


def is_constant(op: Operation) -> bool:
    """Whether `op` makes a constant."""
    return isinstance(op, CallOp) and getattr(op.callee, "data", None) == CONSTANT


Xp = Dialect("xp", [CallOp, FreeOp, ReturnOp], [])


def register(ctx: Context) -> None:
    """Make the dialect known to `ctx`; safe to call again."""
    if ctx.get_optional_dialect(Xp.name) is None:
        ctx.load_dialect(Xp)
