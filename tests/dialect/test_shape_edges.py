"""Edges of shape rules: nothing, one, all but one, and the largest extent that there is."""

from __future__ import annotations

from itertools import count, product

import pytest

from mind_dialect import ptir_shapes, shapes
from mind_dialect.errors import MindError
from mind_dialect.ptir_shapes import UNKNOWN
from mind_dialect.shapes.contraction import conv2d_pads
from mind_tools.frontends import parse

LARGEST = 2**63 - 1


@pytest.mark.parametrize(("extent", "window", "stride"), list(product(range(1, 8), range(1, 5), range(1, 5))))
def test_the_least_padding_that_keeps_the_extent_over_the_stride(extent: int, window: int, stride: int):
    """Found by search; of a stride beyond the window, which skips elements, it is none, not a negative one."""
    wanted = -(-extent // stride)
    total = next(t for t in count() if (extent + t - window) // stride + 1 >= wanted)
    low, high = total // 2, total - total // 2
    one = {"strides": (stride, 1), "padding": "Same"}
    assert conv2d_pads((1, extent, 1, 1), (window, 1, 1, 1), **one) == ((low, high), (0, 0))
    other = {"strides": (1, stride), "padding": "Same"}
    assert conv2d_pads((1, 1, extent, 1), (1, window, 1, 1), **other) == ((0, 0), (low, high))


@pytest.mark.parametrize("extent", [LARGEST, LARGEST + 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_an_extent_is_below_two_to_the_63(extent: int, axis: int):
    shape = [1, 1, 1]
    shape[axis] = extent
    if extent == LARGEST:
        assert shapes.positive(shape) == tuple(shape)
        return
    with pytest.raises(MindError) as e:
        shapes.positive(shape)
    assert e.value.code in ("E3006", "E4000")


@pytest.mark.parametrize(("k", "fits"), [(0, True), (1, True), (4, True), (5, True), (6, False), (-1, False)])
def test_top_k_takes_none_to_all(k: int, fits: bool):
    if fits:
        assert ptir_shapes.top_k((2, 5), k=k, axis=1) == (2, k)
        assert ptir_shapes.top_k((5, 2), k=k, axis=-2) == (k, 2)
        return
    with pytest.raises(MindError) as e:
        ptir_shapes.top_k((2, 5), k=k, axis=1)
    assert (e.value.code, e.value.context["value"]) == ("E8002", k)


@pytest.mark.parametrize("window", [(1, 1), (2, 1), (2, 2)])
@pytest.mark.parametrize("channels", ["C", UNKNOWN, 3, 1])
def test_a_patch_has_as_many_channels_as_its_cells_have(window: tuple[int, int], channels: int | str):
    found = ptir_shapes.extract_patches(
        (1, 4, 4, channels), window=window, strides=(1, 1), dilation=(1, 1), padding=((0, 0), (0, 0))
    )
    cells = window[0] * window[1]
    of_name = "C" if cells == 1 else f"{cells}*C"
    last = channels * cells if isinstance(channels, int) else of_name if channels == "C" else UNKNOWN
    assert found == (1, 5 - window[0], 5 - window[1], last)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_a_convolution_has_batch_and_channels_at_least(rank: int):
    """Without spatial dimensions it is a product of matrices."""
    x = (7, *(3,) * (rank - 2), 2)[:rank]
    filter = ((1,) * (rank - 2) + (2, 5))[:rank]
    ones = (1,) * max(0, rank - 2)
    options = {"strides": ones, "padding": ((0, 0),) * len(ones), "base_dilation": ones, "window_dilation": ones}
    if rank >= 2:
        assert ptir_shapes.convolution(x, filter, feature_group_count=1, **options) == (7, *x[1:-1], 5)
        return
    with pytest.raises(MindError) as e:
        ptir_shapes.convolution(x, filter, feature_group_count=1, **options)
    assert e.value.code == "E3002"


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_window_of_a_scatter_is_no_larger_than_what_it_goes_into(axis: int, size: int):
    x, updates = (3, 3), [4, 1, 1]
    updates[1 + axis] = size
    options = {"update_window_dims": (1, 2), "inserted_window_dims": (), "scatter_dims_to_operand_dims": (axis,)}
    if size <= 3:
        assert ptir_shapes.scatter_add(x, (4, 1), tuple(updates), index_vector_dim=1, **options) == x
        return
    with pytest.raises(MindError) as e:
        ptir_shapes.scatter_add(x, (4, 1), tuple(updates), index_vector_dim=1, **options)
    assert e.value.code == "E4012"
    assert e.value.context | {"dimension": 1 + axis, "bounds": (0, size), "extent": 3} == e.value.context


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("%y = arith.addf %x, %x : tensor<2xf32>\nfunc.return %y : tensor<2xf32>", "arith.addf"),
        ("%c = arith.constant true\ncf.cond_br %c, ^a, ^a\n^a:\nfunc.return %x : tensor<2xf32>", "func.func with 2 blocks"),
        ('%y = mind.neg %x : tensor<2xf32>\n"test.termop"() : () -> ()', "test.termop"),
        ("%y = mind.neg %x : tensor<2xf32>", "a function without func.return"),
    ],
)
def test_a_function_that_is_no_flat_block_of_core_ir_is_refused(body: str, given: str):
    from mind_dialect.program import core_block, functions, outputs

    module = parse(f"func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {{\n{body}\n}}")
    (func,) = functions(module)
    for ask in (core_block, outputs):
        with pytest.raises(MindError) as e:
            ask(func)
        assert (e.value.code, e.value.context["given"]) == ("E4000", given)


def test_outputs_are_what_a_function_returns():
    from mind_dialect.program import functions, outputs

    module = parse("func.func @f(%x: tensor<2xf32>, %y: tensor<2xf32>) { func.return %y, %x : tensor<2xf32>, tensor<2xf32> }")
    (func,) = functions(module)
    assert outputs(func) == tuple(reversed(func.body.block.args))


@pytest.mark.parametrize("factor", [1, 2, 3, 2**63])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_inferred_extent_is_below_two_to_the_63(place: int, factor: int):
    """What -1 stands for is no larger than what a type can say."""
    most = (1 << 63) - 1
    new_shape = [1, 1, 1]
    new_shape[place] = -1
    if factor == 1:
        assert ptir_shapes.reshape((most, factor), new_shape=new_shape)[place] == most
        return
    with pytest.raises(MindError) as e:
        ptir_shapes.reshape((most, factor), new_shape=new_shape)
    assert (e.value.code, e.value.context["index"]) == ("E3006", place)
