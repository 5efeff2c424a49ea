"""Every op on every dtype it takes, by `compile` and in xDSL's interpreter, against plain loops; special values included."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.interpreter import Interpreter
from xdsl.ir import Block, Region

import mind_runtime
from core_oracle import ORACLES, Expected, Tensor
from mind_dialect import core
from mind_dialect.core import CORE_OPS, EXTENSION_OPS, CoreOp
from mind_dialect.literals import LiteralAttr
from mind_dialect.profiles import PROFILE_ATTRIBUTE, Profile
from mind_dialect.program import COTANGENT_ATTRIBUTE
from mind_dialect.types import DTYPES, F32, F64, I32, I64, tensor_type
from mind_lowering.core_rules import RULES as KERNELS

DTYPE_NAMES = {"i32": "int32", "i64": "int64", "f32": "float32", "f64": "float64"}

NUMBERS, FLOATS, INTEGERS = ("i32", "i64", "f32", "f64"), ("f32", "f64"), ("i32", "i64")
SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, 1e38, -1e38, 0.1, 88.8, -104.0, 710.0]


@dataclass(frozen=True)
class Case:
    """An op, its operands and properties. A shape is filled with numbers of the dtype under test; an array is taken as it is."""

    op: type[CoreOp]
    operands: Sequence[tuple[int, ...] | np.ndarray]
    properties: dict[str, Any] = field(default_factory=dict)
    dtypes: Sequence[str] = NUMBERS

    def __str__(self) -> str:
        shapes = " ".join(str(list(getattr(o, "shape", o))) for o in self.operands)
        text = ", ".join(f"{k}={getattr(v, 'type', v)}" for k, v in self.properties.items())
        return f"{self.op.OPCODE}({shapes}{'; ' if text else ''}{text})"


def conv(x: tuple[int, ...], w: tuple[int, ...], strides: tuple[int, int], padding: Any) -> list[Case]:
    """A convolution and its two gradients."""
    properties = {"strides": strides, "padding": padding}
    g = module_of(core.Conv2dOp, [tensor_type(F32, x), tensor_type(F32, w)], properties)[1].result_shape
    return [
        Case(core.Conv2dOp, [x, w], properties),
        Case(core.Conv2dBackwardInputOp, [g, w], {"shape": x, **properties}),
        Case(core.Conv2dBackwardFilterOp, [x, g], {"shape": w, **properties}),
    ]


def module_of(op: type[CoreOp], types: Sequence[Any], properties: dict[str, Any]) -> tuple[ModuleOp, CoreOp]:
    """`@f` that applies the op to its arguments, under core-v1.1."""
    block = Block(arg_types=types)
    if op in (core.ConstantOp, core.ConstI64Op, core.ConstF32Op, core.ConstF64Op):
        made = op(**properties)
    else:
        made = op(*block.args, profile=Profile.CORE_V1_1, **properties)
    block.add_ops([made, ReturnOp(made.result)])
    may_be_empty = ArrayAttr([DictionaryAttr({COTANGENT_ATTRIBUTE: UnitAttr()})] * len(types))
    func = FuncOp("f", (types, [made.result.type]), Region(block), arg_attrs=may_be_empty)
    func.attributes[PROFILE_ATTRIBUTE] = StringAttr(str(Profile.CORE_V1_1))
    return ModuleOp([func]), made


def ints(*values: Any, dtype: str = "int32") -> np.ndarray:
    return np.array(values, dtype=dtype)


def special(dtype: str) -> np.ndarray:
    if dtype in INTEGERS:
        info = np.iinfo(DTYPE_NAMES[dtype])
        return np.array([0, 1, -1, 2, -7, info.max, info.min, info.max - 1], DTYPE_NAMES[dtype])
    with np.errstate(all="ignore"):
        return np.array(SPECIAL, DTYPE_NAMES[dtype])


def literal(dtype: Any, shape: tuple[int, ...], values: Sequence[Any]) -> dict[str, Any]:
    return {"value": LiteralAttr.from_values(dtype, shape, values)}


def both(op: type[CoreOp], *shapes: tuple[int, ...], dtypes: Sequence[str] = NUMBERS) -> list[Case]:
    """An elementwise op on ordinary shapes, and on all (pairs of) special values."""
    cases = [Case(op, [s] * len(op.OPERANDS), {}, dtypes) for s in shapes]
    for dtype in dtypes:
        values = special(dtype)
        grids = np.meshgrid(*[values] * len(op.OPERANDS), indexing="ij")
        cases.append(Case(op, [g.copy() for g in grids], {}, (dtype,)))
    return cases


CASES: list[Case] = [
    *(Case(core.ConstI64Op, [], {"value": v}, ("i64",)) for v in (0, -(2**63), 2**63 - 1)),
    *(Case(core.ConstF32Op, [], {"value": v}, ("f32",)) for v in (0.1, -0.0, math.nan, -math.inf)),
    *(Case(core.ConstF64Op, [], {"value": v}, ("f64",)) for v in (0.1, -0.0, math.nan, 1e300)),
    Case(core.ConstantOp, [], literal(F32, (2, 3), [1, math.nan, -0.0, math.inf, 0.1, 1e-45]), ("f32",)),
    Case(core.ConstantOp, [], literal(I32, (), [-5]), ("i32",)),
    Case(core.ConstantOp, [], literal(F64, (11, 10), [i / 7 for i in range(110)]), ("f64",)),
    Case(core.ConstantOp, [], {"value": LiteralAttr.filled(I64, (4, 5), -(2**63))}, ("i64",)),
    *both(core.AddOp, (2, 3), (), (0, 3), (1,)),
    *both(core.SubOp, (2, 3), (), (0, 3)),
    *both(core.MulOp, (2, 3), (), (0, 3)),
    *(
        Case(op, shapes)
        for op in (core.AddOp, core.SubOp, core.MulOp)
        for shapes in ([(2, 1), (3,)], [(), (2, 2)], [(2, 1, 3), (4, 1)], [(0, 1), (1, 3)], [(1,), (0,)])
    ),
    *both(core.DivOp, (2, 3), (), (0, 3), dtypes=FLOATS),
    *(
        Case(core.DivOp, [special(d).reshape(-1, 1), np.array([1, -1, 2, -3, 7, special(d)[6]], DTYPE_NAMES[d])], {}, (d,))
        for d in INTEGERS
    ),
    Case(core.DivOp, [ints(-7), ints(2)], {}, ("i32",)),
    Case(core.DivOp, [np.array(-(2**31), "int32"), np.array(-1, "int32")], {}, ("i32",)),
    Case(core.DivOp, [np.zeros((0, 1), "int32"), ints(0, 1)], {}, ("i32",)),
    *(
        Case(core.SumOp, [shape], {"axes": axes, "keepdims": keep})
        for shape, axes in (
            ((2, 3, 4), (1,)), ((2, 3, 4), (0, 2)), ((2, 3, 4), ()), ((2, 3, 4), (-1,)), ((), ()), ((1,), (0,)), ((0, 3), (0,)),
            ((3, 0), (0,)), ((0,), ()), ((2, 1, 3), (1,)),
        )
        for keep in (False, True)
    ),
    *(
        Case(core.MeanOp, [shape], {"axes": axes, "keepdims": keep})
        for shape, axes in (((2, 3, 4), (1, 2)), ((2, 3, 4), ()), ((2, 3), (-2,)), ((), ()), ((1,), (0,)), ((3, 0), (0,)))
        for keep in (False, True)
    ),
    *(Case(core.MeanOp, [special(d)], {"axes": (), "keepdims": False}, (d,)) for d in NUMBERS),
    *(Case(core.SumOp, [special(d)], {"axes": (), "keepdims": False}, (d,)) for d in NUMBERS),
    Case(core.MeanOp, [ints(-5, -2)], {"axes": (), "keepdims": False}, ("i32",)),
    *(Case(core.ReshapeOp, [(2, 6)], {"new_shape": s}) for s in ((3, 4), (12,), (2, 3, 2), (-1, 4))),
    Case(core.ReshapeOp, [(1, 1)], {"new_shape": ()}),
    Case(core.ReshapeOp, [()], {"new_shape": (1, 1)}),
    *(Case(core.TransposeOp, [(2, 3, 4)], {"permutation": p}) for p in ((2, 0, 1), (0, 1, 2), (1, 2, 0))),
    Case(core.TransposeOp, [()], {"permutation": ()}),
    Case(core.TransposeOp, [(0, 3)], {"permutation": (1, 0)}),
    *(Case(core.ExpandDimsOp, [(3, 4)], {"axes": a}) for a in ((0, 2), (), (2,), (-1,))),
    Case(core.ExpandDimsOp, [()], {"axes": (0,)}),
    *(Case(core.SqueezeOp, [(1, 3, 1)], {"axes": a}) for a in ((0, 2), (), (0,), (-1,))),
    Case(core.SqueezeOp, [(1,)], {"axes": (0,)}),
    Case(core.IndexOp, [(3, 4)], {"indices": (2, 1)}),
    Case(core.IndexOp, [()], {"indices": ()}),
    Case(core.SliceOp, [(5, 6)], {"starts": (0, 1), "ends": (5, 6), "steps": (2, 4)}),
    Case(core.SliceOp, [(5, 6)], {"starts": (0, 4), "ends": (5, 2), "steps": (1, 1)}),
    Case(core.SliceOp, [(5,)], {"starts": (9,), "ends": (5,), "steps": (1,)}),
    Case(core.SliceOp, [(5,)], {"starts": (-3,), "ends": (4,), "steps": (2**62,)}),
    Case(core.SliceOp, [()], {"starts": (), "ends": (), "steps": ()}),
    *(
        Case(core.GatherOp, [shape, np.array(indices, dtype)])
        for dtype in ("int32", "int64")
        for shape, indices in (
            ((4, 2), [[3, 0, 3]]), ((4,), 2), ((4, 2), 1), ((4, 2), np.zeros((0, 3))), ((1, 0), [0, 0]), ((4, 2, 2), [1]),
        )
    ),
    Case(core.GatherOp, [np.zeros((0, 2), "float32"), np.zeros((0,), "int32")], {}, ("f32",)),
    *(Case(core.DotOp, list(s)) for s in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((0,), (0,)))),
    *(Case(core.DotOp, list(s)) for s in (((2, 0), (0,)), ((0, 3), (3,)), ((0,), (0, 2)), ((2, 0), (0, 2)))),
    *(
        Case(core.MatMulOp, list(s))
        for s in (((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 1)), ((2, 1, 1, 3), (3, 3, 2)), ((2, 0), (0, 3)),
                  ((0, 3), (3, 2)), ((2, 3), (3, 0)), ((0, 2, 3), (1, 3, 2)))
    ),
    *conv((2, 5, 4, 3), (3, 2, 3, 2), (1, 1), "Valid"),
    *conv((1, 5, 5, 1), (2, 2, 1, 2), (2, 1), "Same"),
    *conv((1, 4, 5, 2), (3, 4, 2, 1), (2, 3), "Same"),
    *conv((1, 3, 3, 1), (2, 2, 1, 1), (1, 2), ((1, 2), (0, 3))),
    *conv((1, 2, 2, 1), (1, 1, 1, 1), (2**62, 2**62), "Valid"),
    *conv((0, 3, 3, 1), (2, 2, 1, 1), (1, 1), "Same"),
    *conv((1, 3, 3, 0), (2, 2, 0, 2), (1, 1), "Valid"),
    *conv((1, 3, 3, 2), (2, 2, 2, 0), (1, 1), "Valid"),
    *both(core.ReluOp, (2, 3), (), (0, 3), dtypes=FLOATS),
    *both(core.NegOp, (2, 3), (), (0, 3)),
    *both(core.ExpOp, (2, 3), (), (0, 3), dtypes=FLOATS),
    *both(core.LogOp, (2, 3), (), (0, 3), dtypes=FLOATS),
    *both(core.ReluGradOp, (2, 3), (), (0, 3), dtypes=FLOATS),
    *both(core.ReciprocalOp, (2, 3), (), (0, 3), dtypes=FLOATS),
    *(
        Case(core.BroadcastToOp, [a], {"shape": b})
        for a, b in (((3, 1), (2, 3, 4)), ((), (2, 2)), ((1,), (0,)), ((2,), (2,)), ((), ()))
    ),
    *(
        Case(core.ScatterAddOp, [np.array(indices, dtype), updates], {"shape": shape})
        for dtype in ("int32", "int64")
        for indices, updates, shape in (
            ([2, 0, 2], (3, 2), (4, 2)), ([[1, 1], [0, 1]], (2, 2), (3,)), (1, (2,), (3, 2)), (np.zeros((0,)), (0, 2), (3, 2)),
            ([0], (1, 0), (2, 0)), (np.zeros((0,)), (0,), (0,)),
        )
    ),
    Case(  # only one order of these additions gives 1
        core.ScatterAddOp, [ints([1, 1], [1, 0]), np.array([[1e8, -1e8], [1, 7]], "float32")], {"shape": (2,)}, ("f32",),
    ),
    Case(core.SliceScatterOp, [(2, 3)], {"shape": (5, 6), "starts": (1, 0), "steps": (2, 1)}),
    Case(core.SliceScatterOp, [(0, 3)], {"shape": (5, 6), "starts": (9, 0), "steps": (2, 2)}),
    Case(core.SliceScatterOp, [()], {"shape": (), "starts": (), "steps": ()}),
    Case(core.SliceScatterOp, [(1,)], {"shape": (5,), "starts": (4,), "steps": (2**62,)}),
    Case(core.IndexScatterOp, [()], {"shape": (3, 4), "indices": (2, 1)}),
    Case(core.IndexScatterOp, [()], {"shape": (), "indices": ()}),
]  # fmt: skip

ROWS = [(case, dtype) for case in CASES for dtype in case.dtypes]


def operands(case: Case, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    arrays = []
    for operand in case.operands:
        if isinstance(operand, np.ndarray):
            arrays.append(operand)
        elif dtype in INTEGERS:
            arrays.append(
                np.asarray(rng.integers(-(2**31), 2**31, operand) * (1 if dtype == "i32" else 3**20), DTYPE_NAMES[dtype])
            )
        else:
            arrays.append(np.asarray(rng.standard_normal(operand)).astype(DTYPE_NAMES[dtype]))
    return [np.asarray(a) for a in arrays]


def as_tensor(a: np.ndarray) -> Tensor:
    name = {v: k for k, v in DTYPE_NAMES.items()}[a.dtype.name]
    return Tensor(name, a.shape, a.ravel().tolist())


def bits(value: Any, dtype: str) -> Any:
    """A float so that NaNs are equal and zeros differ by sign."""
    return ("nan",) if value != value else (value, math.copysign(1.0, value)) if dtype[0] == "f" else value


def check(actual: np.ndarray, expected: list[Expected], dtype: str) -> None:
    assert actual.size == len(expected)
    for got, want in zip(actual.ravel().tolist(), expected, strict=True):
        if want.tolerance and math.isfinite(want.value):
            assert abs(got - want.value) <= want.tolerance, (got, want)
        elif want.tolerance:
            assert bits(got, dtype) == bits(want.value, dtype), (got, want)
        elif math.isfinite(want.value) or dtype[0] == "i":
            assert bits(got, dtype) == bits(want.value, dtype), (got, want)
        else:
            assert repr(float(got)) == repr(float(want.value)), (got, want)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("case", "dtype"), ROWS, ids=[f"{case}-{dtype}" for case, dtype in ROWS])
def test_agrees_with_plain_loops(case: Case, dtype: str) -> None:
    arrays = operands(case, dtype)
    names = {v: k for k, v in DTYPE_NAMES.items()}
    module, op = module_of(case.op, [tensor_type(DTYPES[names[a.dtype.name]], a.shape) for a in arrays], case.properties)
    before = [a.copy() for a in arrays]
    program = mind_runtime.compile(module)
    result = program(*arrays)
    expected = ORACLES[case.op](op.result_shape, *map(as_tensor, arrays), **case.properties)

    assert type(result) is np.ndarray
    assert (result.shape, result.dtype.name) == (op.result_shape, DTYPE_NAMES[str(op.dtype)])
    check(result, expected, str(op.dtype))

    interpreter = Interpreter(module)
    mind_runtime.register_implementations(interpreter)
    (step_by_step,) = interpreter.call_op("f", tuple(arrays))
    assert (step_by_step.shape, step_by_step.dtype, step_by_step.tobytes()) == (result.shape, result.dtype, result.tobytes())

    for array, original in zip(arrays, before, strict=True):
        assert array.tobytes() == original.tobytes(), "an argument was written to"
        assert not np.shares_memory(array, result)
    first = result.copy()
    assert result.flags.c_contiguous
    assert result.flags.writeable
    result[...] = 42
    assert program(*arrays).tobytes() == first.tobytes(), "writing to a result reached the next call"


MAY_ROUND_BY_LAYOUT = (
    *(core.SumOp, core.MeanOp, core.MatMulOp, core.DotOp, core.ExpOp, core.LogOp),
    *(core.Conv2dOp, core.Conv2dBackwardInputOp, core.Conv2dBackwardFilterOp),
)
"""NumPy takes other loops for other strides; the documented bounds hold, the last bits may differ."""


def test_strided_and_read_only_arguments_give_the_same() -> None:
    for case, dtype in ROWS:
        arrays = operands(case, dtype)
        names = {v: k for k, v in DTYPE_NAMES.items()}
        module, _ = module_of(case.op, [tensor_type(DTYPES[names[a.dtype.name]], a.shape) for a in arrays], case.properties)
        program = mind_runtime.compile(module)
        odd = [np.repeat(np.array(a, order="F")[..., None], 2, axis=-1)[..., 0] for a in arrays]
        for a in odd:
            a.flags.writeable = False
        if dtype in INTEGERS or case.op not in MAY_ROUND_BY_LAYOUT:
            assert program(*odd).tobytes() == program(*arrays).tobytes(), (str(case), dtype)
        else:
            expected = program(*arrays)
            np.testing.assert_allclose(program(*odd), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.quick
def test_every_op_has_a_kernel_an_oracle_and_cases_for_each_of_its_dtypes() -> None:
    ops = (*CORE_OPS, *EXTENSION_OPS)
    assert [op.OPCODE for op in ops if op not in KERNELS] == []
    assert [op.OPCODE for op in ops if op not in ORACLES] == []
    assert list(KERNELS) == list(ops), "the table follows the order of mind_dialect.core"
    tested = {(case.op, dtype) for case, dtype in ROWS}
    constants = {core.ConstI64Op: ("i64",), core.ConstF32Op: ("f32",), core.ConstF64Op: ("f64",)}
    wanted = [(op, d) for op in ops for d in constants.get(op, [str(d) for d in op.DTYPES])]
    assert [f"{op.OPCODE} {d}" for op, d in wanted if (op, d) not in tested] == []
