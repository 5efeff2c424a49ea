"""mind-vectorize on whole functions: axes, control flow, errors, randomness, other people's ops, nested and random programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def

from mind_dialect import ptir
from mind_dialect.ptir.types import DTYPES, read_type, tensor_type
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_dialect.verify import verify
from mind_lowering.custom_calls import register_custom_call, unregister_custom_call
from mind_passes import batching
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.batching.rules import again
from mind_passes.vectorize import VMAP_OF, VectorizeOptions, vectorize
from programs import parse
from ptir_batching import HEAD, check, compiled, failure, looped, loops, numbers
from ptir_evaluator import evaluate, function_of, same_bits
from ptir_forms import program
from ptir_random_programs import Maker

F32 = np.float32


# Axes


AFFINE = "f32[2,3] f32[3]"


def affine(x: Any, b: Any) -> Any:
    y = ptir.AddOp(x, ptir.BroadcastToOp(b, result_shape=(2, 3)))
    return [y, ptir.TransposeOp(y, perm=(1, 0))]


@pytest.mark.exhaustive
@pytest.mark.parametrize("x_axis", [None, 0, 1, 2, -1, -3])
@pytest.mark.parametrize("b_axis", [None, 0, 1, -2])
@pytest.mark.parametrize("out_axes", [None, (0, -1), (2, 1), (-3, 0)])
@pytest.mark.parametrize("size", [None, 4])
def test_axes_are_where_they_are_asked_for(x_axis, b_axis, out_axes, size):
    module = program(AFFINE, affine)
    if x_axis is None and b_axis is None and size is None:
        return
    made = vectorize(module, options=VectorizeOptions((x_axis, b_axis), out_axes, size))
    x = numbers(2, 3) if x_axis is None else np.moveaxis(numbers(4, 2, 3), 0, x_axis)
    b = numbers(3) if b_axis is None else np.moveaxis(numbers(4, 3), 0, b_axis)
    expected = looped(lambda *v: evaluate(made.primal, v), (x, b), (x_axis, b_axis), 4)
    found = compiled(made.module, "f_vmap")(x, b)
    for i, axis in enumerate(out_axes or (0, 0)):
        assert same_bits(found[i], np.stack([e[i] for e in expected], axis))


def test_what_does_not_depend_on_the_batch_is_computed_once_and_may_stay_without_an_axis():
    module = program("f32[3] f32[3]", lambda x, y: [ptir.ExpOp(y), ptir.AddOp(x, ptir.TanhOp(y))])
    made = vectorize(module, options=VectorizeOptions((0, None), ("none", 0), 2))
    assert [read_type(t).shape for t in made.function.function_type.outputs] == [(3,), (2, 3)]
    assert [read_type(op.results[0].type).shape for op in made.function.body.block.ops if len(op.operands) == 1] == [
        (3,),
        (3,),
        (2, 3),
    ]
    spread = vectorize(module, options=VectorizeOptions((0, None), (-1, 0), 2)).function
    assert [read_type(t).shape for t in spread.function_type.outputs] == [(3, 2), (2, 3)]


def test_the_function_is_marked_and_keeps_names():
    text = """module attributes {ptir.spec_version = "ptir.v0.4"} {
      func.func @f(%x: tensor<2xf32> {mind.name = "pixels"}) -> tensor<2xf32> {
        %y = ptir.neg %x : tensor<2xf32>
        func.return %y : tensor<2xf32>
      }
    }"""
    made = vectorize(parse(text))
    assert made.function.sym_name.data == "f_vmap"
    assert made.function.attributes[VMAP_OF] == SymbolRefAttr("f")
    assert 'mind.name = "pixels"' in str(made.module).partition("@f_vmap")[2]
    assert str(made.function.body.block.args[0].type) == 'tensor<?x2xf32, "N,*">'


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"in_axes": (0,)}, "E7001"),
        ({"in_axes": (3, 0)}, "E7001"),
        ({"in_axes": (-4, 0)}, "E7001"),
        ({"in_axes": (0, "some")}, "E7001"),
        ({"in_axes": (0, True)}, "E7001"),
        ({"in_axes": (None, None)}, "E7001"),
        ({"in_axes": (None, None), "size": "N"}, "E7001"),
        ({"out_axes": (0,)}, "E7001"),
        ({"out_axes": (None, 0)}, "E7001"),
        ({"out_axes": (0, 3)}, "E7001"),
        ({"size": -1}, "E7001"),
        ({"size": True}, "E7001"),
        ({"size": 1 << 63}, "E7001"),
        ({"size": "2B"}, "E7001"),
        ({"randomness": "none"}, "E7001"),
    ],
)
def test_options_that_fit_nothing(options: dict[str, Any], code: str):
    assert failure(vectorize, program(AFFINE, affine), options=VectorizeOptions(**options)).code == code


def test_names_that_fit_nothing():
    module = program(AFFINE, affine)
    assert failure(vectorize, module, "g").code == "E7003"
    both = vectorize(module).module
    assert failure(vectorize, both, "f").code == "E4002"
    assert failure(vectorize, parse("func.func @f() { func.return }")).code == "E7003"


# Errors of a run


@pytest.mark.parametrize("flags", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("bad", [-1, 5, 7])
@pytest.mark.parametrize(
    ("types", "body"),
    [
        ("f32[5,2] si32[3]", ptir.TakeOp),
        ("f32[5,2] si32[3,2]", lambda x, i: ptir.GatherOp(x, i, axis=0)),
        (
            "f32[5,2] si32[3]",
            lambda x, i: ptir.ScatterAddOp(
                x,
                i,
                ptir.ConstantOp(ptir.PtirLiteralAttr.filled(DTYPES["f32"], (3, 2), 1.0)),
                update_window_dims=(1,),
                inserted_window_dims=(0,),
                scatter_dims_to_operand_dims=(0,),
            ),
        ),
        (
            "f32[5,2] si32[5]",
            lambda x, i: ptir.SegmentReduceOp(x, i, kind="sum", num_segments=5, indices_are_sorted=False, unique=False),
        ),
    ],
)
def test_an_index_out_of_range_for_one_example_is_an_error(types: str, body: Any, flags: tuple[Any, ...], bad: int):
    made = vectorize(program(types, body), options=VectorizeOptions(flags))
    shapes = [read_type(a.type).shape for a in made.primal.body.block.args]
    x = numbers(*shapes[0]) if flags[0] is None else numbers(4, *shapes[0])
    i = np.zeros(shapes[1] if flags[1] is None else (4, *shapes[1]), np.int32)
    run = compiled(made.module, "f_vmap")
    run(x, i)
    i[(-1,) * i.ndim] = bad
    assert failure(run, x, i).code == "E6001"


def test_windows_are_clamped_as_each_example_clamps_them():
    module = program("f32[5,4] f32[2,3] si32[2]", lambda x, u, s: [
        ptir.DynamicSliceOp(x, s, sizes=(2, 3)), ptir.DynamicUpdateSliceOp(x, u, s, sizes=(2, 3)),
    ])  # fmt: skip
    starts = np.array([[-9, 9], [2**31 - 1, -(2**31)], [3, 1], [4, 0]], np.int32)
    for axes in ((0, 0, 0), (None, None, 0), (0, None, 0)):
        arrays = [numbers(5, 4) if axes[0] is None else numbers(4, 5, 4), numbers(2, 3) if axes[1] is None else numbers(4, 2, 3)]
        for size in (4, "N"):
            check(module, [*arrays, starts], axes, 4, exact=True, size=size)


# Dimensions


def test_names_of_dimensions_stay_and_the_batch_gets_one_that_is_free():
    module = program("f32[N,3] f32[3]", lambda x, b: ptir.AddOp(x, ptir.BroadcastToOp(b, result_shape=("N", 3))))
    made = vectorize(module)
    assert str(made.function.body.block.args[0].type) == 'tensor<?x?x3xf32, "N1,N,*">'
    x, b = numbers(4, 2, 3), numbers(4, 3)
    np.testing.assert_array_equal(compiled(made.module, "f_vmap")(x, b)[0], x + b[:, None])


def test_slices_of_named_dimensions_of_a_dynamic_batch_are_checked_by_the_run():
    module = program("f32[B,4]", lambda x: ptir.SliceOp(x, starts=(1, 0), sizes=(2, 4)))
    made = vectorize(module)
    assert loops(made.function) == []
    run = compiled(made.module, "f_vmap")
    x = numbers(3, 3, 4)
    np.testing.assert_array_equal(run(x)[0], x[:, 1:3])
    assert failure(run, numbers(3, 2, 4)).code == "E4012"


def test_a_dimension_without_a_name_is_an_error_where_it_must_be_stated():
    module = program("f32[?] f32[?]", ptir.AddOp)
    assert failure(vectorize, module, options=VectorizeOptions((0, None))).code == "E5006"
    verify(vectorize(module).module)


# Other people's ops


def test_a_custom_call_runs_once_per_example_unless_a_rule_is_registered():
    module = program("f32[2] f32[2]", lambda x, y: ptir.CustomCallOp(
        x, y, target="tests.first.v1", attrs={}, result_types=[x.type]
    ))  # fmt: skip
    register_custom_call("tests.first.v1", lambda xp, x, y: x * x[0] + y)
    try:
        x, y = numbers(3, 2), numbers(2)
        expected = x * x[:, :1] + y
        made = vectorize(module, options=VectorizeOptions((0, None)))
        assert loops(made.function) == ["ptir.custom_call"]
        np.testing.assert_array_equal(compiled(made.module, "f_vmap")(x, y)[0], expected)
        batching.register("tests.first.v1", lambda op, xs, batched, size: again(op, xs, size))
        assert loops(vectorize(module, options=VectorizeOptions((0, None))).function) == []
    finally:
        unregister_custom_call("tests.first.v1")
        batching.unregister("tests.first.v1")


@irdl_op_definition
class SquareOp(IRDLOperation):
    name = "tests.square"
    x = operand_def()
    y = result_def()


def test_an_op_of_another_dialect_is_batched_by_a_registered_rule():
    module = program("f32[2]", ptir.NegOp)
    (neg, _) = function_of(module).body.block.ops
    square = SquareOp.create(operands=[neg.operands[0]], result_types=[neg.operands[0].type])
    neg.parent.insert_op_before(square, neg)
    neg.operands = square.results
    found = failure(vectorize, module)
    assert (found.code, found.context["op"]) == ("E5001", "tests.square")
    batching.register(SquareOp, lambda op, xs, batched, size: SquareOp.create(operands=xs, result_types=[xs[0].type]))
    try:
        made = vectorize(module).function
        assert [str(op.results[0].type) for op in made.body.block.ops if op.results] == ['tensor<?x2xf32, "N,*">'] * 2
    finally:
        batching.unregister(SquareOp)


def test_core_ir_is_converted_first():
    text = """module { func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y = mind.exp %x : tensor<2xf32>
      func.return %y : tensor<2xf32>
    } }"""
    found = failure(vectorize, parse(text), "f")
    assert found.code == "E5001"
    assert "mind-convert-to-ptir" in found.message


def test_calls_and_fused_groups_are_put_in_place():
    text = (
        HEAD
        + """  func.func @g(%a: tensor<2xf32>) -> tensor<2xf32> {
    %b = ptir.fusion %a : tensor<2xf32> body {
    ^bb0(%c: tensor<2xf32>):
      %d = ptir.neg %c : tensor<2xf32>
      %e = ptir.abs %d : tensor<2xf32>
      ptir.yield %e : tensor<2xf32>
    }
    func.return %b : tensor<2xf32>
  }
  func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = func.call @g(%x) : (tensor<2xf32>) -> tensor<2xf32>
    func.return %y : tensor<2xf32>
  }
}"""
    )
    made = vectorize(parse(text), options=VectorizeOptions(size=3))
    assert [op.name for op in made.function.body.block.ops] == ["ptir.neg", "ptir.abs", "func.return"]
    assert "func.call" in str(made.primal)


# Nested


def test_nested_batches():
    module = program("f32[3] f32[3]", lambda x, y: ptir.ReduceOp(ptir.MulOp(x, y), kind="sum", axes=(0,), keepdims=False))
    inner = vectorize(module, options=VectorizeOptions((None, 0))).module
    outer = vectorize(inner, "f_vmap", VectorizeOptions((0, None))).module
    x, y = numbers(4, 3), numbers(5, 3)
    (found,) = compiled(outer, "f_vmap_vmap")(x, y)
    np.testing.assert_allclose(found, x @ y.T, rtol=1e-5)
    assert failure(vectorize, outer).code == "E4002"


# Random programs


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("dtype", ["f64", "si32"])
def test_random_programs(seed: int, dtype: str):
    module = Maker(seed, DTYPES[dtype]).module(12)
    func = function_of(module)
    pattern = [bool((seed + 1) >> i & 1) for i in range(4)]
    pattern = pattern if any(pattern) else [True] * 4
    arrays = []
    for i, (argument, flag) in enumerate(zip(func.body.block.args, pattern, strict=True)):
        shape = (*([3] if flag else []), *read_type(argument.type).shape)
        drawn = np.random.default_rng([seed, i]).normal(size=shape) * 4
        arrays.append(drawn.astype(bool if i == 3 else np.float64 if dtype == "f64" else np.int32))
    axes = [0 if flag else None for flag in pattern]
    made = check(module, arrays, axes, 3, exact=False)
    twice = vectorize(made.parent_op(), "f_vmap", VectorizeOptions(size=2)).function
    doubled = [np.stack([x, x]) for x in arrays]
    for one, two in zip(evaluate(made, arrays), evaluate(twice, doubled), strict=True):
        np.testing.assert_allclose(two, np.stack([one, one]), rtol=1e-9, atol=1e-9 * float(np.nanmax(np.abs(one), initial=1)))


# Derivatives


def network(x: Any, w: Any, t: Any) -> Any:
    """A recurrent loss: a scan over w, a branch, a product."""
    h = ptir.ScanOp(
        x, w, carry_count=1, scan_output_count=0, body=lambda h, row: [ptir.TanhOp(ptir.AddOp(h, ptir.MulOp(h, row)))]
    )
    e = ptir.SubOp(h.results[0], t)
    large = ptir.CompareOp(ptir.SliceOp(x, starts=(0,), sizes=(1,)), ptir.SliceOp(t, starts=(0,), sizes=(1,)), kind="greater")
    p = ptir.ReshapeOp(large, new_shape=())
    y = ptir.CondOp(p, e, true=lambda e: [ptir.MulOp(e, e)], false=lambda e: [ptir.ExpOp(e)])
    return ptir.ReduceOp(y.results[0], kind="sum", axes=(0,), keepdims=False)


@pytest.mark.parametrize("size", [5, None])
def test_gradients_per_example(size: int | None):
    gradient = differentiate(program("f64[3] f64[4,3] f64[3]", network), options=GradientOptions(wrt=(0, 1)))
    made = vectorize(gradient.module, "f_grad", VectorizeOptions((0, None, 0), size=size))
    assert loops(made.function) == []
    arrays = [numbers(5, 3, dtype="float64"), numbers(4, 3, dtype="float64"), numbers(5, 3, seed=1, dtype="float64")]
    expected = looped(compiled(made.module, "f_grad"), arrays, (0, None, 0), 5)
    for i, found in enumerate(compiled(made.module, "f_grad_vmap")(*arrays)):
        np.testing.assert_allclose(found, np.stack([e[i] for e in expected]), rtol=1e-12)


def test_the_gradient_of_a_batch_is_the_batch_of_gradients():
    module = program("f64[3] f64[4,3] f64[3]", network)
    per_example = vectorize(differentiate(module, options=GradientOptions(wrt=(1,), keep_primal=False)).module, "f_grad",
                            VectorizeOptions((0, None, 0), size=5))  # fmt: skip
    batch = vectorize(module, options=VectorizeOptions((0, None, 0), size=5)).module
    summed = differentiate(batch, "f_vmap", GradientOptions(wrt=(1,), keep_primal=False, seed="ones")).module
    arrays = [numbers(5, 3, dtype="float64"), numbers(4, 3, dtype="float64"), numbers(5, 3, seed=1, dtype="float64")]
    (each,) = compiled(per_example.module, "f_grad_vmap")(*arrays)
    (total,) = compiled(summed, "f_vmap_grad")(*arrays)
    np.testing.assert_allclose(total, each.sum(0), rtol=1e-12)


def test_regions_nested_too_deeply():
    def nested(depth: int) -> Any:
        return lambda a, p: [ptir.CondOp(p, a, p, true=nested(depth - 1), false=lambda a, p: [a]) if depth else ptir.NegOp(a)]

    block = ptir.control.region_of(nested(81), [tensor_type(DTYPES["f32"], ()), tensor_type(DTYPES["i1"], ())]).detach_block(0)
    block.erase_op(block.last_op)
    block.add_op(ReturnOp(block.last_op.results[0]))
    func = FuncOp("f", ([a.type for a in block.args], [block.args[0].type]), Region(block))
    module = ModuleOp([func], {VERSION_ATTRIBUTE: StringAttr(SPEC_VERSION)})
    assert failure(vectorize, module).code == "E6003"
