"""GridSample, Col2Im, Det and diagonals of Einsum, against ONNX Runtime and the reference evaluator, and their derivatives."""

from __future__ import annotations

import itertools
import zlib
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_passes.functional import vjp
from mind_runtime import compile
from mind_translate.onnx import read_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
reference: Any = pytest.importorskip("onnx.reference")
h: Any = onnx.helper
Array = np.ndarray[Any, Any]


def normal(*shape: int) -> Array:
    return np.random.default_rng(zlib.crc32(repr(shape).encode())).normal(size=shape).astype(np.float32)


def model(op: str, inputs: list[Array], opset: int, known: int = 99, **attributes: Any) -> Any:
    """A model of one node; operands from number `known` on are initialisers."""
    names = [f"x{i}" for i in range(len(inputs))]
    values = [
        h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in zip(names, inputs, strict=True)
    ]
    stored = [onnx.numpy_helper.from_array(x, k) for k, x in zip(names[known:], inputs[known:], strict=True)]
    node = h.make_node(op, names, ["y"], name="n", **attributes)
    graph = h.make_graph([node], "g", values[:known], [onnx.ValueInfoProto(name="y")], stored)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10)


def by_runtime(made: Any, feeds: list[Array]) -> Array:
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {f"x{i}": x for i, x in enumerate(feeds)})[0]


def by_reference(made: Any, feeds: list[Array]) -> Array:
    return reference.ReferenceEvaluator(made).run(None, {f"x{i}": x for i, x in enumerate(feeds)})[0]


def agrees(oracle: Any, op: str, inputs: list[Array], opset: int = 20, known: int = 99, **attributes: Any) -> None:
    """Compare with an oracle on numpy and native: shape and dtype, floats within 1e-5 of the number and of 1."""
    made, feeds = model(op, inputs, opset, known, **attributes), inputs[:known]
    expected = oracle(made, feeds)
    for target in ("numpy", "native"):
        found = compile(read_onnx(made.SerializeToString()), target=target)(*feeds)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def grid(*shape: int) -> Array:
    """Coordinates inside and far outside, at centres and at both borders."""
    found = normal(*shape) * 1.5
    edges = np.array([-1, 1, 0, -1.2, 1.2, 3.7, -5.1, 0.5], np.float32)
    found.reshape(-1)[: len(edges)] = edges
    return found


FORMS = list(itertools.product(("linear", "nearest", "cubic"), ("zeros", "border", "reflection"), (0, 1)))


@pytest.mark.parametrize(("mode", "padding", "align"), FORMS)
def test_images_are_sampled_as_by_onnx_runtime(mode: str, padding: str, align: int) -> None:
    attributes = {"mode": mode, "padding_mode": padding, "align_corners": align}
    agrees(by_runtime, "GridSample", [normal(2, 3, 5, 4), grid(2, 3, 5, 2)], **attributes)


@pytest.mark.parametrize(("mode", "padding", "align"), FORMS)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_images_of_each_rank_are_sampled_as_by_the_reference(mode: str, padding: str, align: int, rank: int) -> None:
    """Beyond a border the reference drops the cubic filter, other than ONNX Runtime."""
    shape, places = (2, 2, *(4, 5, 3)[:rank]), grid(2, *(5, 2, 2)[:rank], rank)
    if (mode, padding) == ("cubic", "border"):
        places = np.clip(places, -0.7, 0.7)
    agrees(by_reference, "GridSample", [normal(*shape), places], mode=mode, padding_mode=padding, align_corners=align)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_the_modes_of_opset_16(mode: str) -> None:
    agrees(by_runtime, "GridSample", [normal(1, 2, 4, 4), grid(1, 3, 3, 2)], 16, mode=mode)


def test_one_element_and_whole_numbers_are_sampled() -> None:
    for padding in ("zeros", "border", "reflection"):
        agrees(by_reference, "GridSample", [normal(1, 1, 1, 3), grid(1, 2, 3, 2)], padding_mode=padding)
    agrees(by_reference, "GridSample", [np.arange(12).reshape(1, 1, 3, 4), grid(1, 2, 3, 2)], mode="nearest")


@pytest.mark.parametrize(("align", "size"), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (1, 4)])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_short_images_are_reflected_as_often_as_it_takes(mode: str, align: int, size: int) -> None:
    """Neighbours are reflected once where the image is long enough; of one aligned element the reference divides by 0."""
    attributes = {"mode": mode, "padding_mode": "reflection", "align_corners": align}
    agrees(by_reference, "GridSample", [normal(1, 2, size, 4), grid(1, 3, 5, 2)], **attributes)


def test_positions_in_large_images_have_64_bits() -> None:
    for rows, dtype in ((2**15 - 1, "i32"), (2**15, "i64")):
        image = np.broadcast_to(np.float32(0), (1, 1, rows, 2**16))
        text = str(read_onnx(model("GridSample", [image, grid(1, 2, 2, 2)], 20).SerializeToString()))
        (gather,) = {line.split(" : ")[1] for line in text.splitlines() if "ptir.gather" in line}
        assert f"4xs{dtype}" in gather


def test_a_coordinate_that_is_nan_reads_nothing() -> None:
    places = np.array([[[[np.nan, 0.0], [0.0, 0.0]]]], np.float32)
    made = model("GridSample", [np.ones((1, 1, 3, 3), np.float32), places], 20, mode="nearest")
    found = compile(read_onnx(made.SerializeToString()))(np.ones((1, 1, 3, 3), np.float32), places)
    np.testing.assert_array_equal(found, [[[[0.0, 1.0]]]])


COLUMNS: dict[str, tuple[tuple[int, ...], list[int], list[int], dict[str, Any]]] = {
    "plain": ((1, 5, 5), [5, 5], [1, 5], {}),
    "windows that overlap": ((2, 12, 12), [4, 5], [2, 2], {}),
    "strides": ((2, 12, 6), [4, 6], [2, 2], {"strides": [2, 2]}),
    "dilations": ((1, 4, 5), [6, 6], [2, 2], {"dilations": [1, 5]}),
    "pads": ((1, 5, 15), [5, 5], [1, 5], {"pads": [0, 1, 0, 1]}),
    "one dimension": ((2, 6, 3), [5], [3], {}),
    "three dimensions": ((1, 10, 16), [4, 4, 4], [1, 1, 5], {"pads": [0, 0, 1, 0, 0, 0]}),
}


@pytest.mark.parametrize("form", COLUMNS)
def test_columns_are_summed_into_images(form: str) -> None:
    shape, image, block, attributes = COLUMNS[form]
    agrees(by_reference, "Col2Im", [normal(*shape), np.array(image), np.array(block)], 18, 1, **attributes)


@pytest.mark.parametrize("equation", ["ii->i", "ii", "iij->ij", "iji->j", "iii->i", "bii,bij->bj", "...ii->...i", "ii,jj->ij"])
def test_a_repeated_letter_takes_the_diagonal(equation: str) -> None:
    sizes = {"i": 3, "j": 4, "b": 2}
    left = equation.partition("->")[0].replace("...", "b").split(",")
    agrees(by_runtime, "Einsum", [normal(*(sizes[c] for c in text)) for text in left], equation=equation)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("b...d,b...d->b...", [(2, 3, 4), (2, 1, 4)]),
        ("...,...", [(3, 1), (1, 4)]),
        ("...ij,...jk->...ik", [(1, 2, 3), (5, 3, 4)]),
        ("a,a,a->a", [(1,), (3,), (1,)]),
        ("ii,i->i", [(3, 3), (1,)]),
        ("i,i->", [(1,), (1,)]),
    ],
)
def test_letters_of_extent_1_broadcast(equation: str, shapes: list[tuple[int, ...]]) -> None:
    agrees(by_runtime, "Einsum", [normal(*shape) for shape in shapes], equation=equation)


def test_a_bias_with_the_factor_0_is_ignored() -> None:
    agrees(by_runtime, "Gemm", [normal(3, 4), normal(4, 5), np.full(5, np.nan, np.float32)], beta=0.0)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (2, 2, 1, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_determinants(shape: tuple[int, ...], dtype: Any) -> None:
    agrees(by_reference, "Det", [normal(*shape).astype(dtype)])


def test_a_singular_matrix_has_the_determinant_0() -> None:
    agrees(by_reference, "Det", [np.ones((2, 2), np.float32)])


DIFFERENTIATED: dict[str, tuple[str, list[Array], int, dict[str, Any]]] = {
    "linear": ("GridSample", [normal(1, 2, 4, 3), grid(1, 2, 3, 2) * 0.37 + 0.013], 99, {"padding_mode": "border"}),
    "cubic": ("GridSample", [normal(1, 2, 4, 3), grid(1, 2, 3, 2) * 0.37 + 0.013], 99, {"mode": "cubic"}),
    "columns": ("Col2Im", [normal(2, 12, 12), np.array([4, 5]), np.array([2, 2])], 1, {}),
    "a diagonal": ("Einsum", [normal(3, 3, 2)], 99, {"equation": "iij->j"}),
    "a determinant": ("Det", [normal(2, 3, 3)], 99, {}),
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_derivatives_are_those_of_central_differences(name: str) -> None:
    op, inputs, known, attributes = DIFFERENTIATED[name]
    inputs = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in inputs]
    module = read_onnx(model(op, inputs, 20, known, **attributes).SerializeToString())
    f, feeds = compile(module), inputs[:known]
    g, directions = normal(*f(*feeds).shape).astype(np.float64), [normal(*x.shape, 1)[..., 0].astype(np.float64) for x in feeds]
    found = compile(vjp(module), "main_grad")(*feeds, g)
    step = 1e-6
    up, down = (f(*(x + s * step * t for x, t in zip(feeds, directions, strict=True))) for s in (1, -1))
    slope = ((up - down) * g).sum() / (2 * step)
    ours = sum((a * t).sum() for a, t in zip(found[-len(feeds) :], directions, strict=True))
    np.testing.assert_allclose(ours, slope, rtol=1e-6)


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("size", [(1, 4, 3, 5), (2, 1, 4, 2), (1, 2, 3, 4, 2), (3, 1, 2, 2, 5)])
def test_grids_under_affine_maps(size: tuple[int, ...], align: int) -> None:
    n = len(size) - 2
    agrees(by_runtime, "AffineGrid", [normal(size[0], n, n + 1), np.array(size)], known=1, align_corners=align)


REFUSED: dict[str, tuple[str, list[Array], int, dict[str, Any], str]] = {
    "a grid of another rank": ("GridSample", [normal(1, 1, 4, 4), normal(1, 3, 2)], 99, {}, "E3002"),
    "a grid of too many coordinates": ("GridSample", [normal(1, 1, 4, 4), normal(1, 3, 3, 3)], 99, {}, "E3003"),
    "a grid for another batch": ("GridSample", [normal(2, 1, 4, 4), normal(1, 3, 3, 2)], 99, {}, "E3003"),
    "images without elements": ("GridSample", [normal(1, 1, 0, 4), normal(1, 3, 3, 2)], 99, {}, "E8002"),
    "an unknown mode": ("GridSample", [normal(1, 1, 4, 4), normal(1, 3, 3, 2)], 99, {"mode": "lanczos"}, "E8002"),
    "integers that are interpolated": ("GridSample", [np.ones((1, 1, 4, 4), int), normal(1, 3, 3, 2)], 99, {}, "E8008"),
    "a filter in four dimensions": (
        "GridSample",
        [normal(1, 1, *[2] * 4), normal(1, *[2] * 4, 4)],
        99,
        {"mode": "cubic"},
        "E8008",
    ),
    "columns of another count": ("Col2Im", [normal(1, 5, 6), np.array([5, 5]), np.array([1, 5])], 1, {}, "E3003"),
    "a stride of 0": ("Col2Im", [normal(1, 5, 5), np.array([5, 5]), np.array([1, 5])], 1, {"strides": [0, 1]}, "E8002"),
    "windows of another rank": ("Col2Im", [normal(1, 5, 5), np.array([5, 5]), np.array([5])], 1, {}, "E8002"),
    "an image size that is data": ("Col2Im", [normal(1, 5, 5), np.array([5, 5]), np.array([1, 5])], 99, {}, "E8008"),
    "maps of another rank": ("AffineGrid", [normal(1, 2, 3), np.array([1, 1, 2, 2, 2])], 1, {}, "E3003"),
    "maps of another batch": ("AffineGrid", [normal(2, 2, 3), np.array([1, 1, 2, 2])], 1, {}, "E3003"),
    "a diagonal of a rectangle": ("Einsum", [normal(3, 4)], 99, {"equation": "ii->i"}, "E3003"),
    "a result that repeats a letter": ("Einsum", [normal(3)], 99, {"equation": "i->ii"}, "E8002"),
    "a determinant of a rectangle": ("Det", [normal(3, 4)], 99, {}, "E3003"),
    "a determinant of a vector": ("Det", [normal(3)], 99, {}, "E3002"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_result_is_refused(name: str) -> None:
    op, inputs, known, attributes, code = REFUSED[name]
    with pytest.raises(MindError) as caught:
        read_onnx(model(op, inputs, 20, known, **attributes).SerializeToString())
    assert caught.value.code == code
