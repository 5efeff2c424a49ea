"""
Rows of interpolation: along each axis by a matrix of known weights, as scales and sizes are known at import.

The definitions of coordinates and filters are those of the operator Resize in its documentation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.extents.dims import are_equal, exact_quotient, mul_dims
from mind_dialect.ptir_shapes import Dim, Dims

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow
from .emitter import check_constants, dims_of, static
from .extents import dim_of
from .model import array_dtype
from .node import Node, distinct_axes
from .structural import taken

Array = np.ndarray[Any, Any]
COORDINATES = (
    *("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"),
    "tf_half_pixel_for_nn",  # of opsets 11 and 12
)
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def _coordinates(mode: str, n: int, m: int, scale: float, roi: tuple[float, float], dtype: type[np.floating[Any]]) -> Array:
    """
    Return the coordinate of each of `m` results among `n` elements; `scale` is as given, which need not be `m / n`.

    Quotients by the scale are rounded to `dtype`. Coordinates that are rounded to an element need f32, the dtype of scales:
    1 / f32(1 / 3) is 3 in f32, and less than 3 in f64, which rounds down to another element. ONNX Runtime computes in f32
    too, but the quotient of `half_pixel_symmetric` in f64. A region is in f32 throughout, as it decides which places are outside.
    """
    i = np.arange(m, dtype=np.float64)
    corner, centre = (i / scale).astype(dtype), ((i + 0.5) / scale).astype(dtype)
    match mode:
        case "half_pixel":
            return centre - 0.5
        case "tf_half_pixel_for_nn":
            return centre
        case "half_pixel_symmetric":
            adjustment = dtype(m) / dtype(scale * n)
            return (float(dtype(n / 2) * (1 - adjustment)) + (i + 0.5) / scale - 0.5).astype(dtype)
        case "pytorch_half_pixel":
            return centre - 0.5 if m > 1 else np.zeros(m)
        case "align_corners":
            length = float(dtype(n * scale))
            return i * (n - 1) / (length - 1) if length != 1 else np.zeros(m)
        case "tf_crop_and_resize":
            start, end, length = np.float32(roi[0]), np.float32(roi[1]), np.float32(n - 1)
            if m == 1:
                return np.full(m, np.float32(0.5) * (start + end) * length)
            return start * length + i.astype(np.float32) * (end - start) * length / np.float32(m - 1)
        case _:
            return corner


def _nearest(x: Array, mode: str, n: int) -> Array:
    match mode:
        case "round_prefer_floor":
            found = np.ceil(x - 0.5)
        case "round_prefer_ceil":
            found = np.floor(x + 0.5)
        case "floor":
            found = np.floor(x)
        case _:
            found = np.ceil(x)
    return np.clip(found, 0, n - 1).astype(np.int64)


def _filter(kind: str, distance: Array, a: float) -> Array:
    """The weight of an element at a distance: a triangle, or Keys' cubic with parameter `a`."""
    d = np.abs(distance)
    if kind == "linear":
        return np.clip(1 - d, 0, None)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _weights(kind: str, x: Array, n: int, a: float, exclude: bool, stretch: float) -> Array:
    """The matrix of weights, results by elements; what lies outside counts to the border, or not at all."""
    reach = (1 if kind == "linear" else 2) * stretch
    first = np.floor(x - reach).astype(np.int64) + 1
    count = math.ceil(2 * reach) + 1
    places = first[:, None] + np.arange(-1, count)[None, :]
    found = _filter(kind, (places - x[:, None]) / stretch, a)
    if exclude:
        found = np.where((places < 0) | (places >= n), 0, found)
    if exclude or stretch > 1:
        found = found / found.sum(1, keepdims=True)
    matrix = np.zeros((len(x), n))
    np.add.at(matrix, (np.arange(len(x))[:, None], np.clip(places, 0, n - 1)), found)
    return matrix


def _sizes(node: Node, shape: Dims, axes: Sequence[int]) -> tuple[list[int], list[float]]:
    """The result's extents and the scales, along those of the axes that have sizes."""
    stated = node.sizes(3) if node.has(3) else None
    places = [i for i, a in enumerate(axes) if isinstance(shape[a], int)]
    own = [n for n in (shape[a] for a in axes) if isinstance(n, int)]
    if stated is None or not len(stated):
        scales = node.array(2)
        if scales is None or scales.size != len(axes):
            raise error("E2007", "has neither scales nor sizes for its axes", expected=len(axes), actual=0)
        return _scaled(scales.reshape(-1)[places], own, range(len(own)))
    if len(stated) != len(axes):
        raise error("E3002", f"{len(stated)} sizes for {len(axes)} axes", expected=len(axes), actual=len(stated))
    sizes = static(tuple(dims_of([stated[i] for i in places])), "Resize")
    policy = node.word("keep_aspect_ratio_policy", "stretch", ("stretch", "not_larger", "not_smaller"))
    wanted = [float(np.float32(s) / np.float32(n)) for s, n in zip(sizes, own, strict=True)]  # f32, the dtype of scales
    if policy != "stretch":
        static(shape, "Resize that keeps the aspect ratio")
        scale = min(wanted) if policy == "not_larger" else max(wanted)
        return [math.floor(float(np.float32(scale * n)) + 0.5) for n in own], [scale] * len(own)
    return list(sizes), wanted


def _repeated(to: OnnxConverter, node: Node, axes: Sequence[int], transform: str) -> SSAValue:
    """The operand with each element along dimensions with names as often as it is the nearest one: by whole factors."""
    x = node.x()
    stated = node.sizes(3) if node.has(3) else None
    scales = node.array(2) if node.has(2) else None
    for i, axis in enumerate(axes):
        n = to.shape(x)[axis]
        if isinstance(n, int):
            continue
        factor: Dim = 0
        if stated is not None and len(stated) == len(axes):
            wanted = dim_of(stated[i])
            factor = exact_quotient(wanted, n)
            factor = factor if are_equal(mul_dims(n, factor), wanted) else 0
        elif scales is not None and scales.size == len(axes):
            scale = float(scales.reshape(-1)[i])
            factor = int(scale) if scale == int(scale) else 0
        if not isinstance(factor, int) or factor < 1 or (factor > 1 and not _repeats(node, transform, factor)):
            static((n,), "Resize but to the nearest elements by a whole factor")
        if isinstance(factor, int) and factor > 1:
            x = _each(to, x, axis, factor)
    return x


def _repeats(node: Node, transform: str, factor: int) -> bool:
    """Return whether the nearest elements are all elements, each `factor` times."""
    if node.word("mode", "nearest") != "nearest" or transform in ("align_corners", "tf_crop_and_resize"):
        return False
    places = _coordinates(transform, 5, 5 * factor, float(factor), (0.0, 1.0), np.float32)
    found = _nearest(places.astype(np.float64), node.word("nearest_mode", "round_prefer_floor", NEAREST), 5)
    return found.tolist() == [i for i in range(5) for _ in range(factor)]


def _each(to: OnnxConverter, x: SSAValue, axis: int, count: int) -> SSAValue:
    """Each element along an axis `count` times."""
    before, n, after = to.shape(x)[:axis], to.shape(x)[axis], to.shape(x)[axis + 1 :]
    wide = to.broadcast(to.reshape(x, (*before, n, 1, *after)), (*before, n, count, *after))
    return to.reshape(wide, (*before, mul_dims(n, count), *after))


def _scaled(scales: Array | None, shape: Sequence[int], axes: Sequence[int]) -> tuple[list[int], list[float]]:
    """The result's extents by scales, and these, along the axes."""
    if scales is None or scales.size != len(axes):
        raise error("E2007", "has neither scales nor sizes for its axes", expected=len(axes), actual=0)
    given = scales.reshape(-1).astype(np.float32)
    extents = [math.floor(np.float32(shape[a]) * s) for a, s in zip(axes, given, strict=True)]  # in f32, as ONNX infers them
    return extents, [float(s) for s in given]


def _check_unscaled(scales: Array | None, shape: Dims, axes: Sequence[int]) -> None:
    """Raise what `static` raises unless scales leave the extents alone that are no numbers."""
    if all(isinstance(shape[a], int) for a in axes):
        return
    if scales is None or scales.size != len(axes):
        static(shape, "Resize")
    kept = [(a, float(s)) for a, s in zip(axes, scales.reshape(-1), strict=True)]  # pyright: ignore[reportOptionalMemberAccess]
    if any(s != 1 for a, s in kept if not isinstance(shape[a], int)):
        static(shape, "Resize")


def _upsample(to: OnnxConverter, node: Node) -> SSAValue:
    """
    Resize as opsets before 11 have it: positions of elements are their corners.

    As in ONNX Runtime, the nearest element is the one before, and the one after where the scale is below 1.
    """
    if node.schema.deprecated:
        raise Refused("an op that opset 10 and newer lack", "replace it by Resize")
    x, scales, mode = node.x(), node.array(1), node.word("mode", "nearest", ("nearest", "linear"))
    shape = to.shape(x)
    axes = list(range(len(shape)))
    _check_unscaled(scales, shape, axes)
    sizes = [n if isinstance(n, int) else 0 for n in shape]
    for axis, m, scale in zip(axes, *_scaled(scales, sizes, axes), strict=True):
        n = sizes[axis]
        if scale == 1:
            continue
        _check_axis(mode, n, m, scale)
        places = _coordinates("asymmetric", n, m, scale, (0.0, 1.0), np.float32 if mode == "nearest" else np.float64)
        if mode == "nearest":
            x = taken(to, x, axis, _nearest(places.astype(np.float64), "ceil" if scale < 1 else "floor", n))
        else:
            x = _along(to, x, axis, _weights(mode, places, n, 0.0, False, 1.0))
    return x


def _check_axis(mode: str, n: int, m: int, scale: float) -> None:
    """Raise E8002 for a scale that is not positive and for no elements. Raises `Refused` for very many constants."""
    if n == 0 or scale <= 0:
        raise error("E8002", f"a scale of {scale} of an extent of {n}", attribute="scales", value=scale)
    check_constants(m if mode == "nearest" else m * n, "an image axis")


def _resize(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    shape = to.shape(x)
    axes = distinct_axes(node.ints("axes") or list(range(len(shape))), len(shape))
    if any(shape[a] == 0 for a in axes):
        raise error("E8002", f"an extent of 0 in {list(shape)}", attribute="scales", value=0)
    extents, scales = _sizes(node, shape, axes)
    mode = node.word("mode", "nearest", ("nearest", "linear", "cubic"))
    transform = node.word("coordinate_transformation_mode", "half_pixel", COORDINATES)
    roi = node.array(1)
    x = _repeated(to, node, axes, transform)
    outside: SSAValue | None = None
    dtype = to.dtype(x)
    sized = [(i, axis, n) for i, axis in enumerate(axes) if isinstance(n := shape[axis], int)]
    for (i, axis, n), m, scale in zip(sized, extents, scales, strict=True):
        if m == n and scale == 1 and transform != "tf_crop_and_resize":
            continue
        window = (0.0, 1.0)
        if transform == "tf_crop_and_resize" and roi is not None:
            window = (float(roi.reshape(-1)[i]), float(roi.reshape(-1)[i + len(axes)]))
        _check_axis(mode, n, m, scale)
        places = _coordinates(transform, n, m, scale, window, np.float32 if mode == "nearest" else np.float64)
        if mode == "nearest":
            x = taken(
                to, x, axis, _nearest(places.astype(np.float64), node.word("nearest_mode", "round_prefer_floor", NEAREST), n)
            )
        else:
            stretch = 1 / scale if node.int("antialias") and scale < 1 else 1.0
            a, exclude = node.float("cubic_coeff_a", -0.75), bool(node.int("exclude_outside"))
            x = _along(to, x, axis, _weights(mode, places, n, a, exclude, stretch))
        if transform == "tf_crop_and_resize":
            beyond = (places < 0) | (places > n - 1)
            flags = to.along(to.array_constant(beyond), axis, len(shape))
            outside = flags if outside is None else to.two(ptir.OrOp, outside, flags)
    if outside is not None:
        x = to.chosen(outside, to.fill(node.float("extrapolation_value", 0.0), dtype), x)
    return x


def _along(to: OnnxConverter, x: SSAValue, axis: int, matrix: Array) -> SSAValue:
    """The product of a matrix with the vectors along an axis; integers are rounded as they are interpolated in floats."""
    dtype, rank = to.dtype(x), len(to.shape(x))
    if not dtype.is_float:
        raise Refused("an interpolation of integers", "cast the operand to a float")
    weights = to.array_constant(matrix.astype(array_dtype(dtype)))
    found = to.emit(ptir.DotGeneralOp, x, weights, batch_lhs=(), batch_rhs=(), contract_lhs=(axis,), contract_rhs=(1,))
    order = [*range(axis), rank - 1, *range(axis, rank - 1)]
    return to.transpose(found, order)


RESIZE: dict[str, OnnxRow | Refused] = {"Resize": _resize, "Upsample": _upsample}
