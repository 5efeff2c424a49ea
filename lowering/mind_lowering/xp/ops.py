"""The ops of the `xp` dialect that hold no regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
    var_result_def,
)

from mind_dialect.errors import error
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import is_dim, read_type

from ..coded_op import CodedOp
from .arguments import argument, keywords, stored
from .functions import CHECK, CONSTANT, FUNCTIONS, IN_PLACE, REPEATING


class XpOp(CodedOp):
    """An op of the `xp` dialect."""


@irdl_op_definition
class CallOp(XpOp):
    """
    A call of a function of the array namespace or of a kernel: operands by position, `arguments` by keyword.

    With `into` the result is put into the memory of the operand of that number, which nothing may use afterwards.
    """

    name = "xp.call"
    callee = prop_def()
    arguments = opt_prop_def()
    into = opt_prop_def()
    inputs = var_operand_def()
    outputs = var_result_def()

    assembly_format = (
        "$callee `(` $inputs `)` (`with` $arguments^)? (`into` $into^)? attr-dict `:` functional-type($inputs, $outputs)"
    )

    def __init__(
        self,
        callee: str,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        arguments: Mapping[str, Attribute] | None = None,
        into: int | None = None,
    ):
        super().__init__(operands=[inputs], result_types=[result_types], properties=call_properties(callee, arguments, into))

    @property
    def function(self) -> str:
        """The name of what is called; E4000 for one that is not in `FUNCTIONS`."""
        given = getattr(self.callee, "data", None)
        if given not in FUNCTIONS:
            expected = sorted(FUNCTIONS)
            raise error("E4000", f"unknown function {given!r}, expected one of {expected}", given=str(given), expected=expected)
        return given

    def values(self) -> dict[str, Any]:
        """The keyword arguments as Python values; E4000 for what no Python call can say."""
        return keywords(self.arguments)

    @property
    def target(self) -> SSAValue | None:
        """The operand whose memory gets the result; E8002 for a number of none, or where function and types do not allow it."""
        if self.into is None:
            return None
        i = argument(self.into)
        known = isinstance(i, int) and 0 <= i < len(self.inputs) and len(self.outputs) == 1
        if not known or self.inputs[i].type != self.outputs[0].type or self.function not in IN_PLACE:
            given, expected = str(self.into), "the number of an operand of the result's type, of an elementwise array function"
            raise error("E8002", f"{self.function} into {given}, expected {expected}", attribute="into", value=given)
        owner = self.inputs[i].owner
        if isinstance(owner, CallOp) and owner.function in (CONSTANT, *REPEATING):
            message = f"{self.function} into a result of {owner.function}, which is shared; expected memory to write to"
            raise error("E8002", message, attribute="into", value=str(self.into))
        return self.inputs[i]

    @property
    def written_over(self) -> SSAValue | None:
        """The operand whose memory the result has after it was written to: `target`, or what an update updates."""
        return self.inputs[0] if self.function.endswith("_into") else self.target

    def check(self) -> None:
        _ = self.target
        values = self.values()
        literal = list(values) == ["value"] and isinstance(values["value"], PtirLiteralAttr)
        if (self.function == CONSTANT) != literal or (literal and self.inputs):
            given, expected = str(list(values)), "a constant with one argument, the literal `value`"
            raise error("E4000", f"{self.function} of {given}, expected {expected}", given=given, expected=expected)
        if literal:
            cast(PtirLiteralAttr, values["value"]).check()
        for value in (*self.operands, *self.results):
            check_tensor(value)
        _check_names(values)
        expected = "no result" if self.function == CHECK else "at least 1 result"
        if bool(self.results) == (self.function == CHECK):
            n = len(self.results)
            raise error("E2007", f"{self.function} gives {expected}, found {n}", expected=expected, actual=n)


def _check_names(values: Mapping[str, Any]) -> None:
    """Names in lists stand for dimensions and become variables."""
    for value in values.values():
        for name in cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ():
            if isinstance(name, str) and not is_dim(name):
                expected = "a dimension"
                raise error("E4000", f"{name!r} in a list, expected {expected}", given=name, expected=expected)


def call_properties(callee: str, arguments: Mapping[str, Any] | None, into: int | None = None) -> dict[str, Attribute]:
    """The properties of a call."""
    properties: dict[str, Attribute] = {"callee": StringAttr(callee)}
    if arguments:
        properties["arguments"] = DictionaryAttr({name: stored(value) for name, value in arguments.items()})
    if into is not None:
        properties["into"] = IntegerAttr(into, i64)
    return properties


def check_tensor(value: SSAValue) -> None:
    """Raise E2001 unless a value is a tensor."""
    if not isinstance(value.type, TensorType):
        raise error("E2001", f"xp values are tensors, found {value.type}", expected="tensor", actual=str(value.type))


@irdl_op_definition
class ExpectOp(XpOp):
    """
    The dimensions of a value as the run finds them: sizes must be equal (E8001), and so must expressions of known names.

    A name seen for the first time gets its size here; `?` says nothing.
    """

    name = "xp.expect"
    dims = prop_def()
    input = operand_def()

    assembly_format = "$input $dims attr-dict `:` type($input)"

    def __init__(self, value: SSAValue, dims: Sequence[int | str]):
        super().__init__(operands=[value], properties={"dims": ArrayAttr([stored(d) for d in dims])})

    def values(self) -> tuple[int | str, ...]:
        """The expected dimensions."""
        found = argument(self.dims)
        rank = len(read_type(self.input.type).shape)
        dims = cast("tuple[Any, ...]", found) if isinstance(found, tuple) else ()
        if len(dims) != rank or not all(isinstance(d, int) or d == "?" or (isinstance(d, str) and is_dim(d)) for d in dims):
            expected = f"{rank} sizes, expressions of names or ?"
            raise error("E4000", f"dims {self.dims}, expected {expected}", given=str(self.dims), expected=expected)
        return dims

    def check(self) -> None:
        self.values()


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


def can_free(value: SSAValue) -> bool:
    """Return whether the function owns `value`: inputs are the caller's, constants are kept for the next call."""
    owner = value.owner
    if isinstance(owner, Operation):
        return not is_constant(owner)
    return not isinstance(owner.parent_op(), FuncOp)


def is_constant(op: Operation) -> bool:
    """Return whether `op` makes a constant."""
    return isinstance(op, CallOp) and getattr(op.callee, "data", None) == CONSTANT
