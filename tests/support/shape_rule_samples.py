"""
Random applications of every op of Core IR and PTIR to static shapes, right and wrong ones, for the table of shape rules.

A sample is the shapes of the operands and the properties. Extents are few and small, so that they often fit and often do not.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from hypothesis import strategies as st

from mind_dialect import core, ptir
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.attributes import scalar
from mind_dialect.ptir.types import F32

Draw = Callable[[st.SearchStrategy[Any]], Any]
Sample = tuple[list[tuple[int, ...]], dict[str, Any]]

EXTENT = st.sampled_from([1, 2, 2, 3, 4, 0])
SMALL = st.integers(-1, 3)


def shape(draw: Draw, low: int = 0, high: int = 3) -> tuple[int, ...]:
    return tuple(draw(st.lists(EXTENT, min_size=low, max_size=high)))


def like(draw: Draw, x: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that is `x`, or nearly."""
    found = list(x)
    match draw(st.integers(0, 5)):
        case 0 if found:
            found[draw(st.integers(0, len(found) - 1))] = draw(EXTENT)
        case 1:
            found = found[1:] if draw(st.booleans()) else [draw(EXTENT), *found]
        case _:
            pass
    return tuple(found)


def numbers(draw: Draw, length: int, low: int, high: int) -> list[int]:
    """As many numbers, or now and then one more or fewer."""
    length = max(0, length + draw(st.sampled_from([0] * 8 + [1, -1])))
    return draw(st.lists(st.integers(low, high), min_size=length, max_size=length))


def axis(draw: Draw, rank: int) -> int:
    return draw(st.integers(-rank - (draw(st.integers(0, 9)) == 0), max(0, rank - 1)))


def axes(draw: Draw, rank: int) -> list[int]:
    return draw(st.lists(st.integers(-rank, rank - 1), max_size=rank, unique_by=lambda a: a % rank)) if rank else []


def permutation(draw: Draw, rank: int) -> list[int]:
    found = draw(st.permutations(range(rank)))
    return found if draw(st.integers(0, 7)) else [*found[1:], 0]


def unary(draw: Draw) -> Sample:
    return [shape(draw)], {}


def alike(count: int) -> Callable[[Draw], Sample]:
    def sample(draw: Draw) -> Sample:
        x = shape(draw)
        return [x, *(like(draw, x) for _ in range(count - 1))], {}

    return sample


def broadcasting(draw: Draw) -> Sample:
    x = shape(draw)
    y = tuple(draw(st.sampled_from([1, n, n, 3])) for n in like(draw, x))
    return [x, y[draw(st.integers(0, len(y))) :]], {}


def with_(sample: Callable[[Draw], Sample], **more: Any) -> Callable[[Draw], Sample]:
    def extended(draw: Draw) -> Sample:
        shapes, properties = sample(draw)
        return shapes, {**properties, **{n: v(draw, *shapes) if callable(v) else v for n, v in more.items()}}

    return extended


def nothing(draw: Draw) -> Sample:
    return [], {}


def reshaping(draw: Draw) -> Sample:
    x = shape(draw)
    new = list(draw(st.permutations(x)))
    if len(new) > 1 and draw(st.booleans()):
        new[:2] = [new[0] * new[1]]
    if new and draw(st.booleans()):
        new[0] = -1
    if draw(st.integers(0, 3)) == 0:
        new.append(draw(st.integers(-2, 3)))
    return [x], {"new_shape": new}


def target(draw: Draw, x: tuple[int, ...]) -> tuple[int, ...]:
    stretched = [draw(EXTENT) if n == 1 else n for n in like(draw, x)]
    return tuple([*shape(draw, 0, 1), *stretched])


def starts_and_sizes(draw: Draw, x: tuple[int, ...]) -> dict[str, list[int]]:
    return {"starts": numbers(draw, len(x), 0, 1), "sizes": numbers(draw, len(x), 0, 2)}


def slicing(draw: Draw) -> Sample:
    x = shape(draw)
    return [x], starts_and_sizes(draw, x)


def strided(draw: Draw, x: tuple[int, ...], ends: str, steps: str) -> dict[str, list[int]]:
    """Bounds that mostly fit; now and then they are arbitrary."""
    if draw(st.integers(0, 3)) == 0:
        low = draw(st.sampled_from([0, 0, -1]))
        return {
            "starts": numbers(draw, len(x), low, 2),
            ends: numbers(draw, len(x), 0, 3),
            steps: numbers(draw, len(x), low + 1, 3),
        }
    starts = [draw(st.integers(0, n)) for n in x]
    bounds = [draw(st.integers(start, n)) for start, n in zip(starts, x, strict=True)]
    return {"starts": starts, ends: bounds, steps: [draw(st.sampled_from([1, 2, 3])) for _ in x]}


def long_shape(draw: Draw) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.integers(0, 6), min_size=1, max_size=2)))


def concatenating(draw: Draw) -> Sample:
    x = shape(draw, 1)
    return [x, *(like(draw, x) for _ in range(draw(st.integers(0, 2))))], {"axis": axis(draw, len(x))}


def padding(draw: Draw) -> Sample:
    x = shape(draw)
    return [x], {"low": numbers(draw, len(x), 0, 2), "high": numbers(draw, len(x), 0, 2), "interior": numbers(draw, len(x), 0, 2)}


def taking(draw: Draw) -> Sample:
    return [shape(draw), shape(draw, 0, 2)], {}


def gathering(draw: Draw) -> Sample:
    x = shape(draw, 1)
    return [x, like(draw, x)], {"axis": axis(draw, len(x))}


def scatter_reducing(draw: Draw) -> Sample:
    (x, indices), properties = gathering(draw)
    return [x, indices, like(draw, indices)], {**properties, "kind": "add"}


def scatter_adding(draw: Draw) -> Sample:
    x, indices = shape(draw, 1), shape(draw, 0, 2)
    vector = draw(st.sampled_from([None, len(indices) - 1]))
    scattered = [n for i, n in enumerate(indices) if i != vector]
    inserted = draw(st.sampled_from([[0], [], [len(x) - 1]]))
    window = [n for i, n in enumerate(x) if i not in inserted]
    dims = [len(scattered) + i for i in range(len(window))]
    return [x, indices, like(draw, (*scattered, *window))], {
        "update_window_dims": dims,
        "inserted_window_dims": inserted,
        "scatter_dims_to_operand_dims": [0],
        "index_vector_dim": vector,
    }


def windows_read(draw: Draw) -> Sample:
    """Rows, some elements of each; with a batching dimension or without."""
    batch, rows, width = (draw(st.integers(0, 3)) for _ in range(3))
    paired = draw(st.booleans())
    size = draw(st.integers(0, 3))
    outer = like(draw, (batch, 2))
    x = (batch, rows, width) if paired else (rows, width)
    return [x, (*outer, 1)], {
        "offset_dims": [2],
        "collapsed_slice_dims": [1 if paired else 0],
        "operand_batching_dims": [0] if paired else [],
        "start_indices_batching_dims": [0] if paired else [],
        "start_index_map": [1 if paired else 0],
        "index_vector_dim": 2,
        "slice_sizes": [1, 1, size] if paired else [1, size],
        "mode": "clamp",
    }


def windows_written(draw: Draw) -> Sample:
    (x, indices), v = windows_read(draw)
    names = ("offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map")
    theirs = ("update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims")
    dims = {new: v[old] for old, new in zip(names, (*theirs, "scatter_dims_to_operand_dims"), strict=True)}
    updates = like(draw, (*indices[:-1], x[-1]))
    return [x, indices, updates], {**dims, "index_vector_dim": 2, "kind": "add", "mode": "drop", "unique": False}


def ragged(draw: Draw) -> Sample:
    rows, depth, columns, groups = (draw(EXTENT) for _ in range(4))
    kind = draw(st.sampled_from(["rows", "contract"]))
    other = (groups, depth, columns) if kind == "rows" else (rows, columns)
    return [like(draw, (rows, depth)), like(draw, other), like(draw, (groups,))], {"kind": kind}


def transformed(draw: Draw) -> Sample:
    """Along the last axes, of lengths that fit more often than not."""
    kind = draw(st.sampled_from(["fft", "ifft", "rfft", "irfft"]))
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    last = lengths[-1] // 2 + 1 if kind == "irfft" else lengths[-1]
    return [like(draw, (draw(st.integers(0, 3)), *lengths[:-1], last))], {"kind": kind, "lengths": lengths}


def windowed(draw: Draw) -> Sample:
    x = shape(draw)
    sizes = draw(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=len(x), max_size=len(x)))
    return [like(draw, x), like(draw, tuple(sizes)), (len(x) if draw(st.integers(0, 5)) else 1,)], {"sizes": sizes}


def window(draw: Draw, rank: int) -> dict[str, Any]:
    return {
        "strides": numbers(draw, rank, 1, 3),
        "padding": [(draw(st.integers(0, 2)), draw(st.integers(0, 1))) for _ in range(rank)],
    }


def windows(draw: Draw) -> Sample:
    x = shape(draw)
    more = {"base_dilation": numbers(draw, len(x), 1, 3), "window_dilation": numbers(draw, len(x), 1, 2)}
    return [x], {"kind": "max", "window_dims": numbers(draw, len(x), 1, 3), **window(draw, len(x)), **more}


def windows_of_indices(draw: Draw) -> Sample:
    operands, values = windows(draw)
    return operands, {"output_dtype": "si32", **{n: v for n, v in values.items() if n != "base_dilation"}}


def patches(draw: Draw) -> Sample:
    x = shape(draw, 1, 4)
    rank = max(0, len(x) - 2)
    return [x], {"window": numbers(draw, rank, 1, 3), "dilation": numbers(draw, rank, 1, 2), **window(draw, rank)}


def convolving(draw: Draw) -> Sample:
    rank = draw(st.integers(0, 2))
    groups, per_group = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    x = (draw(EXTENT), *shape(draw, rank, rank), groups * per_group)
    filter = (*shape(draw, rank, rank), per_group, draw(st.integers(1, 4)))
    more = {"base_dilation": numbers(draw, rank, 1, 2), "window_dilation": numbers(draw, rank, 1, 2)}
    return [like(draw, x), filter], {**window(draw, rank), **more, "feature_group_count": groups}


def contracting(draw: Draw) -> Sample:
    batch, k = shape(draw, 0, 2), shape(draw, 0, 2)
    a, b = (*batch, *shape(draw, 0, 1), *k), (*batch, *k, *shape(draw, 0, 1))
    places_b = list(range(len(batch), len(batch) + len(k)))
    places_a = list(range(len(a) - len(k), len(a)))
    dims = list(range(len(batch)))
    pairs = {"batch_lhs": dims, "batch_rhs": dims, "contract_lhs": places_a, "contract_rhs": places_b}
    return [like(draw, a), like(draw, b)], pairs


def matmul(draw: Draw) -> Sample:
    (left, right), _ = broadcasting(draw)
    n, k, m = (draw(EXTENT) for _ in range(3))
    return [like(draw, (*left, n, k)), like(draw, (*right, k, m))], {}


def dot(draw: Draw) -> Sample:
    n, k, m = (draw(EXTENT) for _ in range(3))
    a, b = draw(st.sampled_from([((n, k), (k,)), ((k,), (k,)), ((k,), (k, m)), ((n, k), (k, m))]))
    return [like(draw, a), like(draw, b)], {}


def norm(draw: Draw) -> Sample:
    x = shape(draw, 1)
    a = axis(draw, len(x))
    n = x[a] if -len(x) <= a < len(x) else 1
    return [x, like(draw, (n,)), like(draw, (n,))], {"feature_axis": a, "epsilon": 1e-5}


def quantizing(count: int, **more: Any) -> Callable[[Draw], Sample]:
    def sample(draw: Draw) -> Sample:
        x = shape(draw, 1)
        a = draw(st.sampled_from([None, *range(-len(x), len(x))]))
        p = () if a is None else (x[a],)
        parameters = [like(draw, p) for _ in range(count)] if draw(st.booleans()) else []
        return [x, *parameters], {"axis": a, **more}

    return sample


def segments(draw: Draw) -> Sample:
    x = shape(draw)
    ids = like(draw, x[:1])
    more = {"kind": "sum", "indices_are_sorted": False, "unique": False}
    return [x, ids], {"num_segments": draw(st.integers(-1, 3)), **more}


def conv2d_parts(draw: Draw) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]:
    channels = draw(st.integers(1, 2))
    x = (draw(st.integers(1, 2)), *(draw(st.integers(0, 5)) for _ in range(2)), channels)
    filter = (*(draw(st.integers(0, 3)) for _ in range(2)), channels, draw(st.integers(1, 2)))
    pads = tuple((draw(st.integers(0, 1)), draw(st.integers(0, 2))) for _ in range(2))
    return x, filter, {"strides": numbers(draw, 2, 1, 3), "padding": draw(st.sampled_from(["Same", "Valid", pads]))}


def conv2d(draw: Draw) -> Sample:
    x, filter, properties = conv2d_parts(draw)
    return [like(draw, x), filter], properties


def conv2d_gradient(of_input: bool) -> Callable[[Draw], Sample]:
    def sample(draw: Draw) -> Sample:
        from mind_dialect.errors import MindError
        from mind_dialect.shapes import conv2d as rule

        x, filter, properties = conv2d_parts(draw)
        try:
            g = rule(x, filter, **properties)
        except MindError:
            g = x
        g = like(draw, g)
        return ([g, filter], {**properties, "shape": x}) if of_input else ([x, g], {**properties, "shape": filter})

    return sample


def core_scatter(draw: Draw) -> Sample:
    indices, result = shape(draw, 0, 2), shape(draw, 1)
    return [indices, like(draw, (*indices, *result[1:]))], {"shape": result}


def slice_scatter(draw: Draw) -> Sample:
    updates = shape(draw)
    result = tuple(n + draw(st.integers(0, 4)) for n in updates)
    steps = {"starts": numbers(draw, len(updates), 0, 2), "steps": numbers(draw, len(updates), 1, 2)}
    return [updates], {"shape": like(draw, result), **steps}


def indexed(draw: Draw) -> Sample:
    x = shape(draw)
    return [x], {"indices": numbers(draw, len(x), 0, 1)}


def index_scatter(draw: Draw) -> Sample:
    x = shape(draw)
    return [like(draw, ())], {"shape": x, "indices": numbers(draw, len(x), 0, 1)}


def stated(draw: Draw) -> Sample:
    return [], {"shape": shape(draw), "dtype": "f32"}


reducing = {"axes": lambda draw, x: axes(draw, len(x)), "keepdims": lambda draw, x: draw(st.booleans())}
along = {"axis": lambda draw, x: axis(draw, len(x))}


def _literal(draw: Draw) -> PtirLiteralAttr:
    x = shape(draw)
    return PtirLiteralAttr.from_values(F32, x, [0.0] * prod(x))


CORE: dict[type[core.CoreOp], Callable[[Draw], Sample]] = {
    core.ConstI64Op: with_(nothing, value=1),
    core.ConstF32Op: with_(nothing, value=1.0),
    core.ConstF64Op: with_(nothing, value=1.0),
    **dict.fromkeys((core.AddOp, core.SubOp, core.MulOp, core.DivOp), broadcasting),
    core.SumOp: with_(unary, **reducing),
    core.MeanOp: with_(unary, **reducing),
    core.ReshapeOp: reshaping,
    core.TransposeOp: with_(unary, permutation=lambda draw, x: permutation(draw, len(x))),
    core.ExpandDimsOp: with_(unary, axes=lambda draw, x: axes(draw, len(x) + 1)),
    core.SqueezeOp: with_(unary, axes=lambda draw, x: [i for i, n in enumerate(x) if n == 1 or draw(st.integers(0, 6)) == 0]),
    core.IndexOp: indexed,
    core.SliceOp: lambda draw: (lambda x: ([x], strided(draw, x, "ends", "steps")))(long_shape(draw)),
    core.GatherOp: taking,
    core.DotOp: dot,
    core.MatMulOp: matmul,
    core.Conv2dOp: conv2d,
    **dict.fromkeys((core.ReluOp, core.NegOp, core.ExpOp, core.LogOp, core.ReciprocalOp), unary),
    core.ReluGradOp: alike(2),
    core.BroadcastToOp: with_(unary, shape=target),
    core.ScatterAddOp: core_scatter,
    core.SliceScatterOp: slice_scatter,
    core.IndexScatterOp: index_scatter,
    core.Conv2dBackwardInputOp: conv2d_gradient(True),
    core.Conv2dBackwardFilterOp: conv2d_gradient(False),
}

PTIR: dict[type[ptir.PtirOp], Callable[[Draw], Sample]] = {
    ptir.ConstantOp: lambda draw: ([], {"value": _literal(draw)}),
    **dict.fromkeys((*ptir.UNARY_OPS, *ptir.UNARY_EXTENSIONS, ptir.StopGradientOp), unary),
    **dict.fromkeys((*ptir.BINARY_OPS, *ptir.BINARY_EXTENSIONS), alike(2)),
    ptir.CompareOp: with_(alike(2), kind="less"),
    ptir.SelectOp: alike(3),
    ptir.ClampOp: alike(3),
    ptir.CastOp: with_(unary, dtype="f32"),
    **dict.fromkeys((ptir.RealOp, ptir.ImagOp, ptir.ConjOp), unary),
    ptir.ComplexOp: alike(2),
    **dict.fromkeys((*ptir.FUNCTIONS, ptir.DigammaOp), unary),
    ptir.Atan2Op: alike(2),
    ptir.ArgMinOp: with_(unary, keepdims=True, output_dtype="si32", **along),
    ptir.BitcastOp: with_(unary, dtype="si32"),
    ptir.TruncateOp: with_(unary, dtype="si32"),
    ptir.ReduceOp: with_(unary, kind="sum", **reducing),
    ptir.ArgMaxOp: with_(unary, keepdims=True, output_dtype="si32", **along),
    ptir.DotGeneralOp: contracting,
    ptir.ReshapeOp: reshaping,
    ptir.TransposeOp: with_(unary, perm=lambda draw, x: permutation(draw, len(x))),
    ptir.BroadcastToOp: with_(unary, result_shape=target),
    ptir.SliceOp: slicing,
    ptir.StridedSliceOp: lambda draw: (lambda x: ([x], strided(draw, x, "limits", "strides")))(long_shape(draw)),
    ptir.ConcatOp: concatenating,
    ptir.PadOp: with_(padding, pad_value=scalar(F32, 0.0)),
    ptir.TileOp: with_(unary, repeats=lambda draw, x: numbers(draw, len(x), 0, 2)),
    ptir.IotaOp: with_(stated, axis=lambda draw: draw(st.integers(-2, 2))),
    ptir.TakeOp: taking,
    ptir.GatherOp: gathering,
    ptir.ScatterAddOp: scatter_adding,
    ptir.ScatterReduceOp: scatter_reducing,
    ptir.GatherWindowsOp: windows_read,
    ptir.ScatterWindowsOp: windows_written,
    ptir.FftOp: transformed,
    ptir.RaggedDotOp: ragged,
    ptir.DynamicSliceOp: lambda draw: (lambda s: ([s[0][0], s[0][2]], s[1]))(windowed(draw)),
    ptir.DynamicUpdateSliceOp: windowed,
    ptir.LayerNormOp: norm,
    ptir.ReduceWindowOp: windows,
    ptir.WindowArgOp: windows_of_indices,
    ptir.ExtractPatchesOp: with_(patches, pad_value=scalar(F32, 0.0)),
    ptir.ConvolutionOp: convolving,
    ptir.RngUniformOp: stated,
    ptir.RngNormalOp: stated,
    ptir.TopKOp: with_(unary, k=lambda draw, x: draw(SMALL), largest=True, indices_dtype="si32", **along),
    ptir.SegmentReduceOp: segments,
    ptir.QuantizeOp: quantizing(2, output_dtype="si8"),
    ptir.DequantizeOp: quantizing(2, output_dtype="f32"),
    ptir.RequantizeOp: quantizing(4, output_dtype="si8"),
    ptir.CumulativeOp: with_(unary, kind="max", exclusive=False, reverse=False, **along),
    ptir.CumulativeSumOp: with_(unary, exclusive=False, reverse=False, **along),
    ptir.SortOp: with_(unary, descending=False, **along),
    ptir.DimensionSizeOp: with_(unary, **along),
    ptir.ReverseOp: with_(unary, axes=lambda draw, x: axes(draw, len(x))),
}
