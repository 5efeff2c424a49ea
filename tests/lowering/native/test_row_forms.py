"""Which ops become one row kernel of the native target, and which do not."""

from __future__ import annotations

import re
from math import prod
from typing import Any

import pytest
from xdsl.dialects.builtin import StringAttr

from mind_dialect import ptir
from mind_dialect.program import functions
from mind_dialect.ptir import FusionOp
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_dialect.verify import verify
from mind_lowering.native import TARGETS
from mind_lowering.native.program import lower, prepared
from mind_passes.functional import value_and_grad, vjp
from models import gpt2
from models.training import AdamW, train_step
from ptir_evaluator import function_of
from ptir_forms import like, program, reduce, shape, softmax, spread

HOST = TARGETS["avx512"]


def kernels(module: Any, function: Any = None) -> list[str]:
    """What the kernels do, in order; a `+` marks those of rows."""
    work = prepared(function_of(module) if function is None else function, HOST)
    owner = work.parent_op()
    assert owner is not None
    owner.attributes[VERSION_ATTRIBUTE] = StringAttr(SPEC_VERSION)
    verify(owner)
    lines = list(lower(work, HOST).explain())[1:]
    return [("+" if ".rows" in line else "") + line.partition(": ")[2] for line in lines]


def log_sum_exp(x: Any) -> Any:
    top = ptir.StopGradientOp(reduce(x, "max"))
    return ptir.AddOp(ptir.LogOp(reduce(ptir.ExpOp(ptir.SubOp(x, spread(top, x))), "sum")), top)


def surprise(x: Any, labels: Any) -> list[Any]:
    """A cross entropy."""
    lost = ptir.SubOp(log_sum_exp(x), ptir.GatherOp(x, labels, axis=1))
    total = ptir.ReduceOp(lost, kind="sum", axes=(0, 1), keepdims=False)
    return [ptir.MulOp(total, like(total, 1 / 64))]


def test_softmax() -> None:
    assert kernels(program("f32[64,100]", softmax)) == ["+reduce sub exp reduce div over [64 rows, 100]"]


def quotients(body: Any, types: str = "f32[64,100]") -> list[str]:
    """The numerators of the quotients in vectors."""
    module = program(types, body)
    found = re.findall(r"fdiv <16 x float> (splat|%[a-z]*)", lower(prepared(function_of(module), HOST), HOST).text)
    return sorted(set(found))


def exponentials(x: Any, top: Any) -> Any:
    return ptir.ExpOp(ptir.SubOp(x, spread(top, x)))


def total(x: Any) -> Any:
    return spread(reduce(x, "sum"), x)


def test_shares_of_a_softmax_take_one_reciprocal_for_the_row() -> None:
    assert quotients(softmax) == ["splat"]
    assert quotients(softmax, "f16[64,100]") == ["splat"]
    assert quotients(lambda x: softmax(x, 0), "f32[100,64]") == ["splat"], "rows across the lanes"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (lambda x: ptir.DivOp(x, total(x)), "no exponentials"),
        (lambda x: ptir.DivOp(e := ptir.ExpOp(x), total(e)), "above 1"),
        (lambda x: ptir.DivOp(e := exponentials(x, reduce(x, "min")), total(e)), "of differences to the least"),
        (lambda x: ptir.DivOp(e := exponentials(x, reduce(x, "max")), total(ptir.MulOp(e, like(e, 0.5)))), "by another sum"),
        (lambda x: ptir.DivOp(e := exponentials(x, reduce(x, "max")), spread(reduce(e, "max"), e)), "by the greatest"),
        (lambda x: ptir.DivOp(x, total(exponentials(x, reduce(x, "max")))), "another numerator"),
    ],
)
def test_other_quotients_are_divisions(body: Any, why: str) -> None:
    assert any(numerator.startswith("%") for numerator in quotients(body)), why


def test_a_cross_entropy_and_its_gradient_pass_over_the_rows_in_one_kernel() -> None:
    module = value_and_grad(program("f32[64,100] si32[64,1]", surprise))
    gradient = next(op for op in module.ops if op.sym_name.data.endswith("grad"))
    found = kernels(module, gradient)
    over_rows = [line for line in found if "100]" in line]
    assert len(over_rows) == 1
    assert over_rows[0].startswith("+")
    assert {"exp", "gather", "select", "div"} <= set(over_rows[0].split())


def test_sums_of_everything_are_taken_of_rows_first() -> None:
    def body(x: Any) -> list[Any]:
        y = ptir.MulOp(softmax(x), x)
        return [ptir.ReduceOp(y, kind="sum", axes=(0, 1), keepdims=False)]

    first, second = kernels(program("f32[64,100]", body))
    assert first == "+reduce sub exp reduce div mul reduce over [64 rows, 100]"
    assert second == "reduce over [64, 1]"


def test_columns_are_summed_along_the_way() -> None:
    def body(x: Any) -> list[Any]:
        y = softmax(x)
        return [y, ptir.ReduceOp(y, kind="sum", axes=(0,), keepdims=False)]

    first, second = kernels(program("f32[640,1000]", body))
    assert first.endswith("div reduce over [640 rows, 1000]")
    assert second.startswith("reduce over [")


def test_what_stands_between_and_needs_the_first_is_moved_behind() -> None:
    def body(x: Any) -> list[Any]:
        top = reduce(x, "max")
        sorted_ = ptir.SortOp(top, axis=0, descending=False)
        return [sorted_, ptir.ExpOp(ptir.SubOp(x, spread(top, x)))]

    found = kernels(program("f32[64,100]", body))
    assert found[0] == "+reduce sub exp over [64 rows, 100]"
    assert any("sort" in line for line in found[1:])


def test_what_the_second_needs_of_what_the_first_gave_keeps_them_apart() -> None:
    def body(x: Any) -> list[Any]:
        top = ptir.SortOp(reduce(x, "max"), axis=0, descending=False)
        return [ptir.ExpOp(ptir.SubOp(x, spread(top, x)))]

    found = kernels(program("f32[64,100]", body))
    assert [("reduce" in line, "sort" in line, "exp" in line) for line in found].index((True, False, False)) == 0
    assert len(found) == 3


def scaled_by_deviation(x: Any, of_centred: Any) -> Any:
    """What a batch norm does, after some function of what is left without the mean."""
    axes, count = (0, 1, 2), 1 / prod(shape(x)[:-1])

    def mean(v: Any) -> Any:
        total = ptir.ReduceOp(v, kind="sum", axes=axes, keepdims=True)
        return ptir.MulOp(total, like(total, count))

    centred = of_centred(ptir.SubOp(x, spread(mean(x), x)))
    return [ptir.MulOp(centred, spread(ptir.RsqrtOp(mean(ptir.MulOp(centred, centred))), x))]


def test_what_is_large_and_cheap_is_rematerialized() -> None:
    types = f"f32[16,64,64,{HOST.l2_bytes >> 16}]"
    found = kernels(program(types, lambda x: scaled_by_deviation(x, lambda v: v)))
    assert sum(line.startswith("sub mul") for line in found) == 2


@pytest.mark.parametrize(
    ("columns", "of_centred", "why"),
    [
        (HOST.l2_bytes >> 18, lambda v: v, "a cache holds it"),
        (HOST.l2_bytes >> 16, ptir.ExpOp, "its function is dear"),
    ],
)
def test_what_is_small_or_dear_is_stored(columns: int, of_centred: Any, why: str) -> None:
    found = kernels(program(f"f32[16,64,64,{columns - 1}]", lambda x: scaled_by_deviation(x, of_centred)))
    assert sum(line.startswith("sub") for line in found) == 1, why


@pytest.mark.parametrize(
    ("types", "why"),
    [("f32[2,1000000]", "long rows"), ("f32[3,100000]", "few rows"), ("f32[5,1]", "one element"), ("f32[0,8]", "no rows")],
)
def test_what_is_left_to_groups(types: str, why: str) -> None:
    assert not any(line.startswith("+") for line in kernels(program(types, softmax))), why


@pytest.mark.parametrize(
    ("types", "axis", "work"),
    [
        ("f32[100,64]", 0, "[100, 64 rows]"),
        ("f32[8,32,28,28]", 1, "[8 rows, 32, 28 rows, 28 rows]"),
        ("f32[4096,1024]", 0, "[4096, 1024 rows]"),
    ],
)
def test_rows_across_the_last_axis(types: str, axis: int, work: str) -> None:
    assert kernels(program(types, lambda x: [softmax(x, axis=axis)])) == [f"+reduce sub exp reduce div over {work}"]


@pytest.mark.parametrize(
    ("types", "why"),
    [
        ("f32[40000,64]", "threads have nothing to share"),
        ("f32[20000,2048]", "rows that no cache holds"),
        ("f32[1,64]", "one element"),
        ("f32[8,0]", "no rows"),
    ],
)
def test_rows_across_the_last_axis_that_are_left_to_groups(types: str, why: str) -> None:
    assert not any(line.startswith("+") for line in kernels(program(types, lambda x: [softmax(x, axis=0)]))), why


def test_sums_over_rows_across_the_last_axis_are_left_to_groups() -> None:
    """Their lanes are rows, which a kernel would have to fold at each place."""

    def body(x: Any) -> list[Any]:
        y = softmax(x, axis=0)
        return [y, ptir.ReduceOp(y, kind="sum", axes=(1,), keepdims=False)]

    found = kernels(program("f32[100,64]", body))
    assert found[0] == "+reduce sub exp reduce over [100, 64 rows]"
    assert not any(line.startswith("+") for line in found[1:])


def batch_norm(x: Any) -> Any:
    axes = tuple(range(len(shape(x)) - 1))

    def mean(v: Any) -> Any:
        total = ptir.ReduceOp(v, kind="sum", axes=axes, keepdims=True)
        return ptir.MulOp(total, like(total, shape(total)[-1] / prod(shape(v))))

    centred = ptir.SubOp(x, spread(mean(x), x))
    variance = mean(ptir.MulOp(centred, centred))
    return [ptir.MulOp(centred, spread(ptir.RsqrtOp(ptir.AddOp(variance, like(variance, 1e-5))), x))]


def test_a_batch_norm_with_its_gradient_passes_over_the_images_four_times() -> None:
    """Mean; variance and both sums of the cotangent; the sum of what goes on to the mean; the results."""
    (gradient,) = (op for op in vjp(program("f32[16,28,28,64]", batch_norm)).ops if op.sym_name.data.endswith("grad"))
    passes = [line for line in kernels(None, gradient) if "16," in line]
    assert len(passes) == 4
    assert sum(line.count("reduce") for line in passes) >= 4


@pytest.mark.parametrize(
    ("axes", "count"),
    [(((0, 1), (0, 1)), 1), (((0, 1), (0,)), 2), (((0,), (1,)), 2)],
    ids=["the same axes", "one axis more", "other axes"],
)
def test_sums_over_the_same_axes_share_a_pass(axes: tuple[tuple[int, ...], ...], count: int) -> None:
    def body(x: Any, y: Any) -> list[Any]:
        values = (ptir.MulOp(x, y), ptir.ExpOp(x))
        return [ptir.ReduceOp(v, kind="sum", axes=a, keepdims=False) for v, a in zip(values, axes, strict=True)]

    found = kernels(program("f32[8,900,64] f32[8,900,64]", body))
    assert not any(line.startswith("+") for line in found)
    assert sum("mul" in line or "exp" in line for line in found) == count


def test_sums_of_operands_that_differ_do_not_share_a_pass() -> None:
    """A pass over two arrays that share nothing saves nothing."""

    def body(x: Any, y: Any) -> list[Any]:
        return [ptir.ReduceOp(ptir.ExpOp(v), kind="sum", axes=(0,), keepdims=False) for v in (x, y)]

    found = kernels(program("f32[9000,64] f32[9000,64]", body))
    assert sum("exp" in line for line in found) == 2


def test_reductions_behind_a_product_are_the_rows() -> None:
    def body(a: Any, b: Any) -> list[Any]:
        return [softmax(ptir.DotGeneralOp(a, b, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,)))]

    assert kernels(program("f32[64,32] f32[32,100]", body))[-1] == "+reduce sub exp reduce div over [64 rows, 100]"


def test_a_layer_norm_is_what_it_means() -> None:
    module = program("f32[64,100] f32[100] f32[100]", lambda *v: [ptir.LayerNormOp(*v, epsilon=1e-5, feature_axis=-1)])
    assert kernels(module) == ["+reduce div sub mul reduce div add sqrt div mul add over [64 rows, 100]"]


def test_what_is_alone_is_no_fusion() -> None:
    work = prepared(function_of(program("f32[64,100]", lambda x: [reduce(x, "max")])), HOST)
    assert not any(isinstance(op, FusionOp) for op in work.walk())


def test_what_a_merged_kernel_gives_is_made_before_it_is_read() -> None:
    """Four layers of a GPT in training: sums over rows and their readers change places as fusions grow."""
    config = gpt2.Config(vocabulary=32, context=16, width=64, layers=4, heads=4, kv_heads=4, gelu="tanh")
    (func,) = functions(train_step(gpt2.loss_program(config, batch=2, length=16), AdamW()))
    work = prepared(func, TARGETS["avx512"])
    made = set(work.body.block.args)
    for op in work.body.block.ops:
        assert made.issuperset(op.operands), op.name
        made.update(op.results)
