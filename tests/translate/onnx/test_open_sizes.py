"""Slices, ranges, windows and others along dimensions with names, beside ONNX's reference evaluator."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from mind_dialect.declared_dims import declarations_of
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_runtime import compile
from mind_translate.onnx import read_onnx

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")

Nodes = Sequence[tuple[str, Sequence[str], Sequence[str], Mapping[str, Any]]]
NUMBERS = {**{f"n{i}": i for i in range(4)}, **{f"m{i}": -i for i in range(1, 4)}, "far": (1 << 63) - 1, "back": -(1 << 63)}
TABLE = np.arange(24, dtype=np.float32).reshape(8, 3)


def model(nodes: Nodes, shapes: Sequence[Sequence[Any]] = (("B", "T"),)) -> Any:
    """A model of floats `x`, `x1` and on; `size` is the last dimension of `x`, and constants have the names of `NUMBERS`."""
    helper, proto = onnx.helper, onnx.TensorProto
    constants = [helper.make_tensor(name, proto.INT64, [1], [n]) for name, n in NUMBERS.items()]
    constants += [helper.make_tensor(f"s{n}", proto.INT64, [], [n]) for n in (0, 1)]
    constants += [helper.make_tensor("down", proto.INT64, [], [-1]), onnx.numpy_helper.from_array(TABLE, "table")]
    constants.append(onnx.numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(1, 2, 3), "kernel"))
    constants.append(onnx.numpy_helper.from_array(np.array([[1], [-2], [0]]), "places"))
    size = [
        helper.make_node("Shape", ["x"], ["size"], start=-1),
        helper.make_node("Squeeze", ["size"], ["length"]),
        helper.make_node("Neg", ["length"], ["minus"]),
    ]
    names = ["x", *(f"x{i}" for i in range(1, len(shapes)))]
    graph = helper.make_graph(
        [*size, *(helper.make_node(kind, xs, ys, **attributes) for kind, xs, ys, attributes in nodes)],
        "main",
        [helper.make_tensor_value_info(n, proto.FLOAT, shape) for n, shape in zip(names, shapes, strict=True)],
        [helper.make_empty_tensor_value_info("y")],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def sliced(start: str, end: str, axis: str = "n1", step: str = "n1", x: str = "x") -> Nodes:
    return [("Slice", [x, start, end, axis, step], ["y"], {})]


PLUS: tuple[str, list[str], list[str], dict[str, Any]] = ("Add", ["x", "part"], ["y"], {})
MODELS: dict[str, tuple[Nodes, str, list[str]]] = {
    "the first": (sliced("n0", "n1"), "B,*", ["T >= 1"]),
    "the last": (sliced("m1", "far"), "B,*", ["T >= 1"]),
    "all but the first": (sliced("n1", "far"), "B,T-1", ["T >= 1"]),
    "all but the last": (sliced("n0", "m1"), "B,T-1", ["T >= 1"]),
    "at most three": (sliced("n0", "n3"), "B,min(3,T)", []),
    "at most the last three": (sliced("m3", "far"), "B,min(3,T)", []),
    "what is left of three": (sliced("n3", "far"), "B,max(3,T)-3", []),
    "from the second to the last but one": (sliced("n2", "m2"), "", []),
    "every second": (sliced("n0", "far", step="n2"), "B,T ceildiv 2", []),
    "every second from the second": (sliced("n1", "far", step="n2"), "B,T floordiv 2", ["T >= 1"]),
    "backwards": (sliced("m1", "back", step="m1"), "B,T", []),
    "rows of a table": (sliced("n0", "size", "n0", x="table"), "T,*", ["T <= 8"]),
    "rows of a table, added": ([
        ("Slice", ["table", "n0", "size", "n0"], ["rows"], {}),
        ("Slice", ["rows", "n0", "n1", "n1"], ["column"], {}),
        ("Transpose", ["column"], ["part"], {}),
        PLUS,
    ], "B,T", ["T <= 8"]),
    "the first beside all": ([
        ("Slice", ["x", "n0", "n1", "n1"], ["first"], {}),
        ("Concat", ["first", "x"], ["more"], {"axis": 1}),
        ("Slice", ["more", "n1", "far", "n1"], ["part"], {}),
        PLUS,
    ], "B,T", ["T >= 1"]),
    "a range": ([("Range", ["s1", "length", "s1"], ["y"], {})], "", []),
    "a range down": ([("Range", ["length", "minus", "down"], ["y"], {})], "2*T", []),
    "a remainder": ([("Mod", ["size", "n3"], ["rest"], {}), ("ConstantOfShape", ["rest"], ["y"], {})], "", []),
    "the greater size": ([("Max", ["size", "n3"], ["more"], {}), ("ConstantOfShape", ["more"], ["y"], {})], "max(3,T)", []),
    "the lesser size": ([("Min", ["size", "n3"], ["less"], {}), ("ConstantOfShape", ["less"], ["y"], {})], "min(3,T)", []),
    "repeated": ([("Concat", ["n2", "size"], ["times"], {"axis": 0}), ("Tile", ["x", "times"], ["y"], {})], "2*B,T*T", []),
    "rows by number": ([
        ("Unsqueeze", ["x", "n0"], ["one"], {}),
        ("Concat", ["one", "one", "one"], ["three"], {"axis": 0}),
        ("GatherND", ["three", "places"], ["y"], {}),
    ], "*,B,T", []),
}  # fmt: skip
WINDOWS: dict[str, Nodes] = {
    "a convolution": [("Conv", ["x", "kernel"], ["y"], {"pads": [2, 1]})],
    "a convolution by steps": [("Conv", ["x", "kernel"], ["y"], {"strides": [2], "pads": [1, 1]})],
    "a convolution of the same size": [("Conv", ["x", "kernel"], ["y"], {"auto_pad": "SAME_UPPER"})],
    "a maximum": [("MaxPool", ["x"], ["y"], {"kernel_shape": [3], "pads": [1, 1], "strides": [2]})],
    "a mean": [("AveragePool", ["x"], ["y"], {"kernel_shape": [3], "pads": [1, 1], "count_include_pad": 0})],
    "a mean with pads": [("AveragePool", ["x"], ["y"], {"kernel_shape": [3], "pads": [1, 1], "count_include_pad": 1})],
}


def check(made: Any, shapes: Sequence[tuple[int, ...]]) -> Any:
    """Compare the results on each shape; the function."""
    module = read_onnx(made.SerializeToString())
    (func,) = functions(module)
    evaluator = reference.ReferenceEvaluator(made)
    for target, shape in itertools.product(("numpy", "native"), shapes):
        x = np.random.default_rng(1).standard_normal(shape, dtype=np.float32)
        (expected,) = evaluator.run(None, {"x": x})
        found = compile(module, target=target)(x)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
    return func


@pytest.mark.parametrize("name", MODELS)
def test_results_for_all_sizes(name: str) -> None:
    nodes, dims, declared = MODELS[name]
    func = check(model(nodes), [(2, n) for n in range(1, 7)])
    assert f'"{dims}"' in str(func.function_type.outputs.data[0]) or not dims
    assert [d.text for d in declarations_of(func)] == declared


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_for_all_sizes(name: str) -> None:
    check(model(WINDOWS[name], [("B", 2, "T")]), [(2, 2, n) for n in range(3, 8)])


@pytest.mark.parametrize(("name", "size"), [("the first", 0), ("rows of a table", 9)])
def test_sizes_that_are_taken_not_to_occur_are_refused(name: str, size: int) -> None:
    program = compile(read_onnx(model(MODELS[name][0]).SerializeToString()))
    with pytest.raises(MindError) as caught:
        program(np.zeros((2, size), np.float32))
    assert caught.value.code == "E8010"


REFUSED: dict[str, tuple[Nodes, str]] = {
    "a part backwards": (sliced("m1", "n0", step="m1"), "a slice backwards of a part"),
    "a range by steps of two": (
        [("Add", ["s1", "s1"], ["step"], {}), ("Range", ["s1", "length", "step"], ["y"], {})],
        "a range of sizes with names by steps of 2",
    ),
    "pads that depend on a size": (
        [
            ("Unsqueeze", ["x", "n1"], ["wide"], {}),
            ("MaxPool", ["wide"], ["y"], {"kernel_shape": [3], "auto_pad": "SAME_UPPER", "strides": [2]}),
        ],
        "windows that auto_pad counts along a dimension without a size",
    ),
    "sizes that differ": ([("Slice", ["x", "n1", "far", "n1"], ["part"], {}), PLUS], "that fit only for some sizes"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_sizes_in_another_way_is_refused(name: str) -> None:
    nodes, words = REFUSED[name]
    with pytest.raises(MindError, match=words) as caught:
        read_onnx(model(nodes).SerializeToString())
    assert caught.value.code == "E8008"
    assert "pass dims= with the sizes of dimensions" in str(caught.value)


def test_a_bound_that_is_always_outside_is_the_end() -> None:
    nodes: Nodes = [("Add", ["size", "n3"], ["more"], {}), ("Slice", ["kernel", "n0", "more", "n2"], ["y"], {})]
    func = check(model(nodes), [(2, n) for n in range(3)])
    assert [d.text for d in declarations_of(func)] == []


def test_what_is_known_of_sizes_decides_what_a_bound_counts_from() -> None:
    """A table of 3 rows up to T; T-4 then counts from the end."""
    nodes: Nodes = [
        ("Slice", ["kernel", "n0", "size", "n2"], ["part"], {}),
        ("Add", ["m3", "m1"], ["m4"], {}),
        ("Add", ["size", "m4"], ["end"], {}),
        ("Slice", ["x", "n0", "end", "n1"], ["y"], {}),
    ]
    func = check(model(nodes), [(2, n) for n in range(4)])
    assert [d.text for d in declarations_of(func)] == ["T <= 3"]


def test_a_quotient_of_known_scalars_is_folded() -> None:
    nodes: Nodes = [
        ("Div", ["down", "s1"], ["q"], {}),
        ("Unsqueeze", ["q", "n0"], ["axis"], {}),
        ("Squeeze", ["x", "axis"], ["y"], {}),
    ]
    check(model(nodes, [("B", 1)]), [(3, 1)])


@pytest.mark.parametrize("less", ["s0", "s1"])
def test_a_loop_as_long_as_a_dimension_stacks_its_rows(less: str) -> None:
    """`for i in range(x.shape[1] - less)`: the sum of the columns so far."""
    helper, proto = onnx.helper, onnx.TensorProto
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Gather", ["x", "i"], ["column"], axis=1),
            helper.make_node("Add", ["total", "column"], ["next"]),
            helper.make_node("Identity", ["go"], ["still"]),
            helper.make_node("Identity", ["next"], ["row"]),
        ],
        "body",
        [info("i", proto.INT64, []), info("go", proto.BOOL, []), info("total", proto.FLOAT, ["B"])],
        [info("still", proto.BOOL, []), info("next", proto.FLOAT, ["B"]), info("row", proto.FLOAT, ["B"])],
    )
    nodes: Nodes = [
        ("Sub", ["length", less], ["trips"], {}),
        ("Cast", ["s1"], ["true"], {"to": proto.BOOL}),
        ("ReduceSum", ["x", "n1"], ["zero"], {"keepdims": 0}),
        ("Loop", ["trips", "true", "zero"], ["last", "rows"], {"body": body}),
        ("Add", ["rows", "last"], ["y"], {}),
    ]
    func = check(model(nodes), [(2, n) for n in (2, 3, 5)])  # the evaluator stacks no rows of zero iterations
    assert f'"{"T" if less == "s0" else "max(1,T)-1"},B"' in str(func.function_type.outputs.data[0])
    assert "ptir.scan" in str(func)


def test_names_that_must_be_equal_become_one() -> None:
    """A mask of `N` columns is added to the products with `P+T` keys: it has `P+T` columns, and another size is an error."""
    nodes: Nodes = [("Concat", ["x1", "x"], ["keys"], {"axis": 1}), ("Mul", ["keys", "x2"], ["y"], {})]
    made = model(nodes, [("B", "T"), ("B", "P"), ("C", "N")])
    arrays = [np.random.default_rng(i).standard_normal(s, dtype=np.float32) for i, s in enumerate([(2, 3), (2, 4), (2, 7)])]
    (expected,) = reference.ReferenceEvaluator(made).run(None, dict(zip(("x", "x1", "x2"), arrays, strict=True)))
    for target in ("numpy", "native"):
        program = compile(read_onnx(made.SerializeToString()), target=target)
        assert [str(spec) for spec in program.inputs] == ["f32[B, T]", "f32[B, P]", "f32[B, P+T]"]
        np.testing.assert_array_equal(program(*arrays), expected)
        with pytest.raises(MindError) as caught:
            program(*arrays[:2], arrays[2][:, :1])
        assert caught.value.code == "E8001"


def test_rows_of_a_product_are_as_many_as_columns() -> None:
    made = model([("MatMul", ["x", "x1"], ["y"], {})], [("B", "T"), ("N", 2)])
    program = compile(read_onnx(made.SerializeToString()))
    assert [str(spec) for spec in program.inputs] == ["f32[B, T]", "f32[T, 2]"]
    np.testing.assert_array_equal(program(np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)), np.full((2, 2), 3))


def test_a_name_keeps_the_size_that_is_given() -> None:
    made = model([("Add", ["x", "x1"], ["y"], {})], [("B", "T"), ("B", "N")])
    program = compile(read_onnx(made.SerializeToString(), dims={"N": 1}))
    assert program(np.ones((2, 3), np.float32), np.ones((2, 1), np.float32)).shape == (2, 3)


def test_layers_of_convolutions_have_sizes() -> None:
    """Each layer has fewer places by steps, as encoders of sound have; the last size is a quotient of the first."""
    nodes: list[tuple[str, list[str], list[str], dict[str, Any]]] = []
    for i in range(7):
        name = "x" if i == 0 else f"h{i}"
        nodes.append(("Conv", [name, "kernel2"], [f"c{i}"], {"strides": [2]}))
        nodes.append(("Div", [f"c{i}", "two"], [f"h{i + 1}" if i < 6 else "y"], {}))
    made = model(nodes, [("B", 1, "T")])
    made.graph.initializer.extend(
        [
            onnx.numpy_helper.from_array(np.array([[[1, 2]]], np.float32), "kernel2"),
            onnx.numpy_helper.from_array(np.float32(2), "two"),
        ]
    )
    func = check(made, [(2, 1, n) for n in (128, 255, 256, 400)])
    assert [d.text for d in declarations_of(func)] == ["T >= 128"]
    assert '"B,*,T floordiv 128"' in str(func.function_type.outputs.data[0])
    with pytest.raises(MindError, match="T >= 128") as caught:
        compile(read_onnx(made.SerializeToString()))(np.zeros((2, 1, 127), np.float32))
    assert caught.value.code == "E8010"


@pytest.mark.parametrize("attributes", [{}, {"strides": [3], "pads": [1, 2]}, {"strides": [2], "pads": [3, 3]}, {"pads": [4, 0]}])
def test_a_transposed_convolution_along_a_name(attributes: dict[str, Any]) -> None:
    made = model([("ConvTranspose", ["x", "turned"], ["y"], attributes)], [("B", 2, "T")])
    w = np.random.default_rng(3).standard_normal((2, 3, 4), dtype=np.float32)
    made.graph.initializer.append(onnx.numpy_helper.from_array(w, "turned"))
    check(made, [(1, 2, n) for n in (4, 5, 9)])


def test_a_transposed_convolution_that_pads_to_a_size_is_refused() -> None:
    made = model([("ConvTranspose", ["x", "kernel"], ["y"], {"auto_pad": "SAME_UPPER", "strides": [2]})], [("B", 1, "T")])
    with pytest.raises(MindError, match="a ConvTranspose that pads to a size along a dimension without a size") as caught:
        read_onnx(made.SerializeToString())
    assert caught.value.code == "E8008"


RESIZED: dict[str, tuple[str, dict[str, Any]]] = {
    "scales, as PyTorch": ("scales", {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
    "sizes, as PyTorch": ("sizes", {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
    "scales by centres": ("scales", {}),
    "sizes by centres": ("sizes", {"nearest_mode": "round_prefer_ceil"}),
}


def resized(by: str, attributes: dict[str, Any], scale: float = 3.0) -> Any:
    """Return a model that resizes `x` of `[B, 2, T]` along `T`, by scales or by a size that is computed."""
    nodes: list[tuple[str, list[str], list[str], dict[str, Any]]] = [
        ("Shape", ["x"], ["front"], {"end": 2}),
        ("Mul", ["size", "n3"], ["more"], {}),
        ("Concat", ["front", "more"], ["sizes"], {"axis": 0}),
        ("Resize", ["x", "", "scales" if by == "scales" else "", "" if by == "scales" else "sizes"], ["y"], attributes),
    ]
    made = model(nodes, [("B", 2, "T")])
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 1, scale], np.float32), "scales"))
    return made


@pytest.mark.parametrize("name", RESIZED)
def test_nearest_elements_by_whole_factors(name: str) -> None:
    func = check(resized(*RESIZED[name]), [(2, 2, n) for n in (1, 2, 5)])
    assert '"B,*,3*T"' in str(func.function_type.outputs.data[0])


@pytest.mark.parametrize(
    ("attributes", "scale"),
    [
        ({"mode": "linear"}, 3.0),
        ({}, 2.5),
        ({"coordinate_transformation_mode": "align_corners"}, 3.0),
        ({"coordinate_transformation_mode": "asymmetric"}, 3.0),
    ],
)
def test_other_resizes_along_names_are_refused(attributes: dict[str, Any], scale: float) -> None:
    with pytest.raises(
        MindError, match="Resize but to the nearest elements by a whole factor along a dimension without"
    ) as caught:
        read_onnx(resized("scales", attributes, scale).SerializeToString())
    assert caught.value.code == "E8008"
