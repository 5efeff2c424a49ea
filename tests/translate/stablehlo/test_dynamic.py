"""Dimensions whose size is not known become named ones: values for several sizes against NumPy, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_runtime import compile
from stablehlo_programs import EXECUTORS, ops, program, read, run, same

RNG = np.random.default_rng(3)
BODY = """({
    ^bb0(%l: tensor<f32>, %r0: tensor<f32>):
      %s = stablehlo.KIND %l, %r0 : tensor<f32>
      stablehlo.return %s : tensor<f32>
    })"""
ROWS_AT = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"


def scatter(kind: str) -> str:
    return f"""%r = "stablehlo.scatter"(%x, %i, %u) {BODY.replace("KIND", kind)}
      {{scatter_dimension_numbers = #stablehlo.scatter<{ROWS_AT}>}} :
      (tensor<?x3xf32>, tensor<?x1xi32>, tensor<?x3xf32>) -> tensor<?x3xf32>"""


def scattered(combine: np.ufunc) -> Callable[..., Any]:
    def expected(x: Any, i: Any, u: Any) -> Any:
        found = x.copy()
        for place, row in zip(i[:, 0], u, strict=True):
            if 0 <= place < len(x):
                found[place] = combine(found[place], row)
        return found

    return expected


def at(*places: int) -> np.ndarray:
    return np.array(places, np.int32)[:, None]


def f32(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


SCATTERED = ("%x: tensor<?x3xf32>, %i: tensor<?x1xi32>, %u: tensor<?x3xf32>", "tensor<?x3xf32>")
CASES: dict[str, tuple[str, str, str, list[tuple[Any, ...]], Callable[..., Any]]] = {
    "sizes that no dimension of an argument has": (
        "%x: tensor<?xf32>",
        """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %two = stablehlo.constant dense<2> : tensor<i32>
        %half = stablehlo.divide %n, %two : tensor<i32>
        %odd = stablehlo.remainder %n, %two : tensor<i32>
        %up = stablehlo.add %half, %odd : tensor<i32>
        %more = stablehlo.maximum %up, %two : tensor<i32>
        %s = stablehlo.reshape %more : (tensor<i32>) -> tensor<1xi32>
        %r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>""",
        "tensor<?xf32>",
        [(f32(n),) for n in (0, 1, 4, 7)],
        lambda x: np.arange(max(-(-len(x) // 2), 2), dtype=np.float32),
    ),
    "broadcast to a size of another argument": (
        "%x: tensor<?x3xf32>, %b: tensor<3xf32>",
        """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
        %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
        %c = stablehlo.constant dense<3> : tensor<1xi32>
        %s = stablehlo.concatenate %n1, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %w = stablehlo.dynamic_broadcast_in_dim %b, %s, dims = [1] : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
        %r = stablehlo.add %x, %w : tensor<?x3xf32>""",
        "tensor<?x3xf32>",
        [(f32(2, 3), f32(3)), (f32(5, 3), f32(3)), (f32(0, 3), f32(3))],
        lambda x, b: x + b,
    ),
    "gather": (
        "%x: tensor<?x3xf32>, %i: tensor<?x1xi32>",
        """%r = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1],
          collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>} :
          (tensor<?x3xf32>, tensor<?x1xi32>) -> tensor<?x2xf32>""",
        "tensor<?x2xf32>",
        [(f32(4, 3), at(3, -1, 9)), (f32(2, 3), at(1, 0, 1, 0, 1))],
        lambda x, i: x[np.clip(i[:, 0], 0, len(x) - 1), :2],
    ),
    "scatter add": (SCATTERED[0], scatter("add"), SCATTERED[1], [(f32(4, 3), at(1, 1, -1, 4, 3), f32(5, 3))], scattered(np.add)),
    "scatter mul": (
        SCATTERED[0],
        scatter("multiply"),
        SCATTERED[1],
        [(f32(4, 3), at(1, 1, -1, 4, 3), f32(5, 3)), (f32(2, 3), at(0), f32(1, 3))],
        scattered(np.multiply),
    ),
    "windows along the dimensions that are known": (
        "%x: tensor<?x4xf32>",
        f"""%c = stablehlo.constant dense<1.0> : tensor<f32>
        %r = "stablehlo.reduce_window"(%x, %c) {BODY.replace("KIND", "multiply")} {{window_dimensions = array<i64: 1, 2>}} :
          (tensor<?x4xf32>, tensor<f32>) -> tensor<?x3xf32>""",
        "tensor<?x3xf32>",
        [(f32(3, 4),), (f32(1, 4),)],
        lambda x: x[:, :-1] * x[:, 1:],
    ),
}


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", CASES)
def test_values_for_several_sizes(name: str, executor: str) -> None:
    arguments, body, result, inputs, expected = CASES[name]
    run = compile(read(program(arguments, body, result)), "main", executor)
    for given in inputs:
        same(run(*given), expected(*given), 1e-6)


def test_products_of_static_sizes_are_one_op() -> None:
    counts = ops(read(program(SCATTERED[0].replace("?", "4"), scatter("multiply").replace("?", "4"), "tensor<4x3xf32>")))
    assert (counts["scatter_windows"], counts["scan"]) == (1, 0)


def test_a_size_that_is_data_is_refused() -> None:
    body = """%s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
        %r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>"""
    with pytest.raises(MindError, match="a size that argument 0 holds and that is not the size of a dimension") as caught:
        read(program("%n: tensor<i32>", body, "tensor<?xf32>"))
    assert caught.value.code == "E8008"


def test_windows_over_a_dimension_of_unknown_size_are_refused() -> None:
    body = CASES["windows along the dimensions that are known"][1].replace("array<i64: 1, 2>", "array<i64: 2, 1>")
    with pytest.raises(MindError, match="windows over a dimension whose size is not known") as caught:
        read(program("%x: tensor<?x4xf32>", body.replace("?x3", "?x4"), "tensor<?x4xf32>"))
    assert caught.value.code == "E8008"


@pytest.mark.parametrize("executor", EXECUTORS)
def test_sizes_that_are_data_are_those_of_a_static_result(executor: str) -> None:
    body = """
    %a = stablehlo.dynamic_reshape %x, %n : (tensor<6xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    %b = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [1] : (tensor<6xf32>, tensor<2xi32>) -> tensor<4x6xf32>
    %k = stablehlo.slice %n [0:1] : (tensor<2xi32>) -> tensor<1xi32>
    %c = stablehlo.dynamic_iota %k, dim = 0 : (tensor<1xi32>) -> tensor<2xi32>
    %r:3 = stablehlo.optimization_barrier %a, %b, %c : tensor<2x3xf32>, tensor<4x6xf32>, tensor<2xi32>"""
    text = program("%x: tensor<6xf32>, %n: tensor<2xi32>", body, "tensor<2x3xf32>, tensor<4x6xf32>, tensor<2xi32>")
    x = np.arange(6, dtype=np.float32)
    found = run(text, x, np.array([2, 3], np.int32), executor=executor)
    for given, wanted in zip(found, (x.reshape(2, 3), np.tile(x, (4, 1)), np.arange(2, dtype=np.int32)), strict=True):
        same(given, wanted)


def test_sizes_that_are_data_give_no_dynamic_result() -> None:
    body = "%r = stablehlo.dynamic_reshape %x, %n : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x3xf32>"
    with pytest.raises(MindError, match="a shape that depends on data"):
        read(program("%x: tensor<6xf32>, %n: tensor<2xi32>", body, "tensor<?x3xf32>"))
