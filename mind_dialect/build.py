"""
Programs from Python expressions: the surface lowering of the Core IR chapter.

An expression is a value: an op class, operands, properties and the type that the op's own rules infer. Ill-typed expressions
raise the verifier's coded errors where they are written, before any op exists. `program` lowers them deterministically:
variables become inputs in the order of their first use, an expression object is emitted once however often it is used.

>>> x, w, b = variable("x", "f32", (2, 3)), variable("w", "f32", (3, 4)), variable("b", "f32", (4,))
>>> print(program("layer", relu(x @ w + b)))
builtin.module {
  func.func @layer(%0: tensor<2x3xf32> {mind.name = "x"}, %1: tensor<3x4xf32> {mind.name = "w"}, %2: tensor<4xf32> {mind.name = "b"}) -> tensor<2x4xf32> {
    %3 = mind.matmul %0, %1 : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %4 = mind.add %3, %2 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %5 = mind.relu %4 : tensor<2x4xf32>
    func.return %5 : tensor<2x4xf32>
  }
}
>>> x @ b
Traceback (most recent call last):
...
mind_dialect.errors.MindError: E3002: MatMul: rank 1, expected at least 2

A program has the lowest profile that has all it uses: division and negative axes make it core-v1.1. A variable may state a profile,
which then holds for everything made from it: under `variable(..., profile="core-v1")` a division is E6003.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from . import core
from .core.attributes import INTEGERS
from .errors import brief, error
from .expressions import Expression, Operand, apply, common_profile
from .indices import Axis, axes_of
from .literals import LiteralAttr, Number, flatten
from .profiles import PROFILE_ATTRIBUTE, Profile, parse_profile
from .program import NAME_ATTRIBUTE
from .shapes import Padding, positive
from .types import DType, dtype_named, tensor_type

_NO_PROPERTIES: Mapping[str, Attribute] = MappingProxyType({})


def variable(name: str, dtype: object, shape: Sequence[int], profile: str | None = None) -> Expression:
    """
    Return a free variable; `profile` holds for everything made from it, None leaves the profile to what is used.

    `dtype` is a name such as `"f32"`, or a dtype of NumPy that Core IR has: float32, float64, int32, int64.

    Raises E4004 for an empty name, E2005 for an unknown dtype, E3006 for an extent below 1, E7001 for an unknown profile.

    >>> variable("x", "f32", (2, 0))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3006: extent 0 at 1 in [2, 0], expected positive
    """
    if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
        issue = f"its name is {brief(repr(name))}, expected a non-empty string"
        raise error("E4004", f"variable: {issue}", index=None, issue=issue)
    checked = positive(INTEGERS.value(INTEGERS.attribute(shape)))
    held = Profile.CORE_V1 if profile is None else parse_profile(profile)
    return Expression(None, (), _NO_PROPERTIES, tensor_type(_dtype(dtype), checked), held, name, profile is not None)


_NUMPY_NAMES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64"}


def _dtype(given: object) -> DType:
    """The dtype of a name of Core IR, of a dtype or scalar type of NumPy, or of NumPy's name for one."""
    name = given if isinstance(given, str) else getattr(given, "name", getattr(given, "__name__", None))
    return dtype_named(_NUMPY_NAMES.get(name, name) if isinstance(name, str) else brief(given))


def literal(values: object, dtype: object) -> Expression:
    """
    A `ConstTensor` of a number, nested lists, or anything with `tolist`; E3010 if ragged, E4005 for its elements.

    >>> literal([[1, 2], [3, 4]], "f32"), literal(3.5, "f64")
    (<ConstTensor: f32[2, 2]>, <ConstTensor: f64[]>)
    """
    lists = getattr(values, "tolist", None)
    flat, shape = flatten(lists() if callable(lists) else values)
    return apply(core.ConstantOp, value=LiteralAttr.from_values(_dtype(dtype), shape, flat))


def full(shape: Sequence[int], value: Number, dtype: object) -> Expression:
    """A `ConstTensor` of one number everywhere, stored once (our extension `fill`)."""
    checked = positive(INTEGERS.value(INTEGERS.attribute(shape)))
    return apply(core.ConstantOp, value=LiteralAttr.filled(_dtype(dtype), checked, value))


def const_i64(value: int) -> Expression:
    """A rank-0 `i64`."""
    return apply(core.ConstI64Op, value=value)


def const_f32(value: Number) -> Expression:
    """A rank-0 `f32`."""
    return apply(core.ConstF32Op, value=value)


def const_f64(value: Number) -> Expression:
    """A rank-0 `f64`."""
    return apply(core.ConstF64Op, value=value)


def add(lhs: Operand, rhs: Operand) -> Expression:
    """`lhs + rhs`, broadcast."""
    return apply(core.AddOp, lhs, rhs)


def sub(lhs: Operand, rhs: Operand) -> Expression:
    """`lhs - rhs`, broadcast."""
    return apply(core.SubOp, lhs, rhs)


def mul(lhs: Operand, rhs: Operand) -> Expression:
    """`lhs * rhs`, broadcast."""
    return apply(core.MulOp, lhs, rhs)


def div(lhs: Operand, rhs: Operand) -> Expression:
    """`lhs / rhs`, broadcast; of profile core-v1.1, E6003 where a variable states core-v1."""
    return apply(core.DivOp, lhs, rhs)


def sum(input: Expression, axes: Sequence[int] = (), keepdims: bool = False, *, axis: Axis = None) -> Expression:
    """
    The sum over `axes`, over all if there are none; `axis` is NumPy's way to say them, from the end if negative.

    >>> sum(variable("x", "f32", (2, 3)), axes=[1]), sum(variable("x", "f32", (2, 3)), axis=-1)
    (<Sum: f32[2]>, <Sum: f32[2]>)
    """
    return apply(core.SumOp, input, axes=axes if axis is None else axes_of(len(input.shape), axis), keepdims=keepdims)


def mean(input: Expression, axes: Sequence[int] = (), keepdims: bool = False, *, axis: Axis = None) -> Expression:
    """The mean over `axes`, over all if there are none; `axis` as for `sum`."""
    return apply(core.MeanOp, input, axes=axes if axis is None else axes_of(len(input.shape), axis), keepdims=keepdims)


def reshape(input: Expression, new_shape: Sequence[int]) -> Expression:
    """The same elements under `new_shape`, where one extent may be -1."""
    return apply(core.ReshapeOp, input, new_shape=new_shape)


def transpose(input: Expression, permutation: Sequence[int]) -> Expression:
    """Axis `i` of the result is axis `permutation[i]` of the input."""
    return apply(core.TransposeOp, input, permutation=permutation)


def expand_dims(input: Expression, axes: Sequence[int]) -> Expression:
    """Axes of extent 1 at `axes` of the result."""
    return apply(core.ExpandDimsOp, input, axes=axes)


def squeeze(input: Expression, axes: Sequence[int]) -> Expression:
    """Without `axes`, each of extent 1."""
    return apply(core.SqueezeOp, input, axes=axes)


def index(input: Expression, indices: Sequence[int]) -> Expression:
    """The element at `indices`, as rank 0."""
    return apply(core.IndexOp, input, indices=indices)


def slice(input: Expression, starts: Sequence[int], ends: Sequence[int], steps: Sequence[int] | None = None) -> Expression:
    """Elements from `starts` up to `ends`, `steps` (1 unless given) apart, per dimension."""
    ones = [1] * len(INTEGERS.value(INTEGERS.attribute(starts)))
    return apply(core.SliceOp, input, starts=starts, ends=ends, steps=ones if steps is None else steps)


def gather(input: Expression, indices: Expression) -> Expression:
    """Rows of `input` along its first axis, picked by an integer tensor."""
    return apply(core.GatherOp, input, indices)


def dot(lhs: Operand, rhs: Operand) -> Expression:
    """The product of vectors and matrices of rank 1 or 2."""
    return apply(core.DotOp, lhs, rhs)


def matmul(lhs: Operand, rhs: Operand) -> Expression:
    """The product of matrices; leading dimensions broadcast."""
    return apply(core.MatMulOp, lhs, rhs)


def conv2d(input: Expression, filter: Expression, strides: Sequence[int] = (1, 1), padding: Padding = "Valid") -> Expression:
    """Cross-correlation of an NHWC input with an HWCF filter."""
    return apply(core.Conv2dOp, input, filter, strides=strides, padding=padding)


def relu(input: Operand) -> Expression:
    """`x if x > 0 else 0`."""
    return apply(core.ReluOp, input)


def neg(input: Operand) -> Expression:
    """`-x`."""
    return apply(core.NegOp, input)


def exp(input: Operand) -> Expression:
    """`e ** x`."""
    return apply(core.ExpOp, input)


def log(input: Operand) -> Expression:
    """The natural logarithm."""
    return apply(core.LogOp, input)


def program(name: str, *outputs: Expression, inputs: Sequence[Expression] | None = None) -> ModuleOp:
    """A module of the one function that `function` makes of the same arguments."""
    return ModuleOp([function(name, *outputs, inputs=inputs)])


def function(name: str, *outputs: Expression, inputs: Sequence[Expression] | None = None) -> FuncOp:
    """
    The function that computes `outputs`, in as many ops as there are expression objects behind them.

    Operands are emitted before their users, left before right. Inputs stand in the order of first use, or as `inputs` lists them,
    unused ones included. Variables of one name and type are one input. Raises E4004 for one name with two types or listed
    twice, E2002 for a variable that `inputs` lacks, E2001 for an output that is no expression, E6003 for one that uses what a
    variable's stated profile lacks.
    """
    if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
        given = brief(repr(name))
        raise error("E4000", f"a function has the name {given}, expected a non-empty string", given=given, expected="a name")
    order = _emission_order(outputs)
    variables = _variables([e for e in order if e.op is None], inputs)
    profile, _ = common_profile([*outputs, *variables.values()])
    block = Block(arg_types=[v.type for v in variables.values()])
    arguments = dict(zip(variables, block.args, strict=True))
    values: dict[Expression, SSAValue] = {}
    for e in order:
        if e.op is None:
            values[e] = arguments[e.name]
        else:
            op = e.op.create(operands=[values[v] for v in e.operands], properties=e.properties, result_types=[e.type])
            block.add_op(op)
            values[e] = op.results[0]
    returned = [values[e] for e in outputs]
    block.add_op(ReturnOp(*returned))
    names = [DictionaryAttr({NAME_ATTRIBUTE: StringAttr(n)}) for n in variables]
    types = ([v.type for v in variables.values()], [v.type for v in returned])
    func = FuncOp(name, types, Region(block), arg_attrs=ArrayAttr(names) if names else None)
    if profile is not Profile.CORE_V1:
        func.attributes[PROFILE_ATTRIBUTE] = StringAttr(profile)
    return func


def _emission_order(outputs: Sequence[Expression]) -> list[Expression]:
    """Every expression behind `outputs` once, operands first and left to right, without recursion."""
    for i, e in enumerate(outputs):
        if not isinstance(e, Expression):  # pyright: ignore[reportUnnecessaryIsInstance]
            actual = type(e).__name__
            raise error("E2001", f"output {i} is a {actual}, expected an expression", expected="expression", actual=actual)
    done: dict[Expression, None] = {}
    stack: list[tuple[Expression, bool]] = [(e, False) for e in reversed(outputs)]
    while stack:
        e, ready = stack.pop()
        if e in done:
            continue
        if ready or not e.operands:
            done[e] = None
        else:
            stack.append((e, True))
            stack.extend((v, False) for v in reversed(e.operands))
    return list(done)


def _variables(used: Sequence[Expression], inputs: Sequence[Expression] | None) -> dict[str, Expression]:
    """The inputs by name, in order."""
    found: dict[str, Expression] = {}
    for i, e in enumerate(() if inputs is None else inputs):
        if not isinstance(e, Expression) or e.op is not None:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise error("E2001", f"input {i} is {brief(e)}, expected a variable", expected="variable", actual=brief(e))
        if e.name in found:
            issue = f"name {e.name!r} is given twice"
            raise error("E4004", f"input {i}: {issue}", index=i, issue=issue)
        found[e.name] = e
    for e in used:
        if inputs is not None and e.name not in found:
            raise error("E2002", f"variable {e.name!r} is not among the inputs {list(found)}", name=e.name)
        if (known := found.setdefault(e.name, e)).type != e.type:
            issue = f"variable {e.name!r} has two types, {known.type} and {e.type}"
            raise error("E4004", issue, index=list(found).index(e.name), issue=issue)
    return found


__all__ = [
    "Expression",
    "Operand",
    "add",
    "const_f32",
    "const_f64",
    "const_i64",
    "conv2d",
    "div",
    "dot",
    "exp",
    "expand_dims",
    "full",
    "function",
    "gather",
    "index",
    "literal",
    "log",
    "matmul",
    "mean",
    "mul",
    "neg",
    "program",
    "relu",
    "reshape",
    "slice",
    "squeeze",
    "sub",
    "sum",
    "transpose",
    "variable",
]
