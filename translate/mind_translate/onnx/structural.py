"""
Rows that move elements: reshape, slice, pad, split. What they read as sizes must be known at import.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import brief, error
from mind_dialect.ptir.types import I1, SI64
from mind_dialect.ptir_shapes import UNKNOWN, Dim

from ..places import at_places
from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow, Values
from .emitter import HOW_SIZED, check_constants, common_shape, dims_of, static
from .extents import Extent
from .node import Node, distinct_axes


def zero(to: OnnxConverter, x: SSAValue) -> Any:
    """The zero of the dtype of `x`."""
    return False if to.is_truth(x) else 0


def known_dims(to: OnnxConverter, sizes: Sequence[Any]) -> tuple[Dim, ...]:
    """Sizes as dimensions. Raises `Refused` for one that is neither a number nor the name of a dimension."""
    dims = dims_of(sizes)
    if UNKNOWN in dims:
        raise Refused(f"the size {sizes[dims.index(UNKNOWN)]}", HOW_SIZED)
    if any(isinstance(n, int) and n < 0 for n in dims):
        raise error("E3006", f"a negative extent in {brief(dims)}", shape=tuple(dims), index=None, value=min(map(str, dims)))
    return tuple(dims)


def _reshape(to: OnnxConverter, node: Node) -> SSAValue:
    """0 keeps an extent, -1 is what is left; one size that is no name is left too."""
    x, sizes = node.x(), node.sizes(1) or []
    shape = to.shape(x)
    keep = not node.int("allowzero")
    target: list[Any] = []
    for i, n in enumerate(sizes):
        if not isinstance(n, Extent) and n == 0 and keep:
            if i >= len(shape):
                raise error("E3002", f"extent {i} is 0, and the operand has rank {len(shape)}", expected=i + 1, actual=len(shape))
            target.append(shape[i])
        else:
            target.append(n if isinstance(n, Extent) else int(n))
    dims = [_dim(n) for n in target]
    return to.reshape(x, _settled(shape, dims))


def _dim(n: Any) -> Dim:
    return n if isinstance(n, str) else dims_of([n])[0]


def _settled(shape: Sequence[Dim], dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """Extents of a reshape with at most one -1, which is computed where it is a number or a name. Raises `Refused`, E3007."""
    rest = [-1 if n == UNKNOWN else n for n in dims]
    if rest.count(-1) > 1:
        raise Refused(f"a reshape to [{', '.join(map(str, dims))}], of which two sizes are not known", HOW_SIZED)
    if -1 not in rest:
        return tuple(rest)
    left, right = list(shape), [n for n in rest if n != -1]
    for name in [n for n in right if isinstance(n, str)]:
        if name not in left:
            return tuple(rest)
        left.remove(name)
        right.remove(name)
    count, names = math.prod(n for n in left if isinstance(n, int)), [n for n in left if isinstance(n, str)]
    others = math.prod(n for n in right if isinstance(n, int))
    found: Dim = -1
    if not names:
        if not others or count % others:
            message = f"cannot reshape [{', '.join(map(str, shape))}] to [{', '.join(map(str, dims))}]"
            raise error("E3007", message, shapes=(tuple(shape), tuple(dims)), counts=(count, others))
        found = count // others
    elif len(names) == 1 and count == others:
        found = names[0]
    return tuple(found if n == -1 else n for n in rest)


def _flatten(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    shape, axis = to.shape(x), node.int("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise error("E3004", f"axis {axis} is out of range for rank {len(shape)}", axis=axis, rank=len(shape))
    axis = axis + len(shape) if axis < 0 else axis
    parts = [shape[:axis], shape[axis:]]
    dims: list[Dim] = []
    for part in parts:
        names = [n for n in part if n != 1]
        is_static = all(isinstance(n, int) for n in part)
        dims.append(math.prod(n for n in part if isinstance(n, int)) if is_static else names[0] if len(names) == 1 else -1)
    if dims.count(-1) > 1:
        raise Refused("a matrix of two sizes that are not known", HOW_SIZED)
    return to.reshape(x, tuple(dims))


def _transpose(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    rank = len(to.shape(x))
    return to.transpose(x, distinct_axes(node.ints("perm") or list(range(rank))[::-1], rank))


def _expand(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    return to.broadcast(x, common_shape(to.shape(x), known_dims(to, node.sizes(1) or [])))


def _squeeze(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    shape, axes = to.shape(x), node.axes(1, x)
    if axes is None:
        if any(isinstance(n, str) for n in shape):
            raise Refused("Squeeze without axes of a tensor with dimensions without a size", "give it axes")
        axes = [i for i, n in enumerate(shape) if n == 1]
    for a in axes:
        if isinstance(n := shape[a], int) and n != 1:
            raise error("E3009", f"extent {n} at axis {a}, expected 1", axis=a, extent=n, shape=shape)
    return to.reshape(x, tuple(n for i, n in enumerate(shape) if i not in axes))


def _unsqueeze(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    given = (node.ints("axes") if "axes" in node.attributes else node.integers(1)) or []
    axes = distinct_axes(given, len(to.shape(x)) + len(given))
    rest = iter(to.shape(x))
    return to.reshape(x, tuple(1 if i in axes else next(rest) for i in range(len(to.shape(x)) + len(axes))))


def _concat(to: OnnxConverter, node: Node) -> SSAValue:
    xs = node.xs()
    return to.concat(xs, node.axis("axis", 0, xs[0]))


def _pad(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    rank = len(to.shape(x))
    axes = distinct_axes(node.integers(3) or [], rank) if node.has(3) else list(range(rank))
    pads = node.integers(1) or []
    if len(pads) != 2 * len(axes):
        raise error("E8002", f"{len(pads)} pads, expected {2 * len(axes)}", attribute="pads", value=pads)
    mode = node.word("mode", "constant", ("constant", "reflect", "edge", "wrap"))
    low, high = [0] * rank, [0] * rank
    for i, axis in enumerate(axes):
        low[axis], high[axis] = pads[i], pads[i + len(axes)]
        n = to.shape(x)[axis]
        if isinstance(n, int) and n + low[axis] + high[axis] < 0:
            message = f"pads {low[axis]} and {high[axis]} of an extent of {n}, expected a result of 0 or more"
            raise error("E3006", message, shape=list(to.shape(x)), index=axis, value=n + low[axis] + high[axis])
    if mode == "constant":
        return padded(to, x, low, high, node.optional(2))
    x, low, high = _cut(to, x, low, high)
    for axis in axes:
        x = _mirrored(to, x, axis, low[axis], high[axis], mode)
    return x


def padded(to: OnnxConverter, x: SSAValue, low: Sequence[int], high: Sequence[int], value: SSAValue | None) -> SSAValue:
    """Elements of `value`, or zeros, before and after; negative counts cut elements off."""
    x, low, high = _cut(to, x, low, high)
    number = zero(to, x) if value is None else to.known_scalar(value)
    if number is not None:
        return to.pad(x, number, low, high)
    assert value is not None
    whole = to.pad(x, zero(to, x), low, high)
    inside = to.pad(to.fill(True, I1, to.shape(x)), False, low, high)
    return to.select(inside, whole, to.broadcast(to.reshape(value, ()), to.shape(whole)))


def _cut(to: OnnxConverter, x: SSAValue, low: Sequence[int], high: Sequence[int]) -> tuple[SSAValue, list[int], list[int]]:
    """Cut off as many elements as negative counts say, and return the other counts: what pads see is left of the operand."""
    for axis, (a, b) in enumerate(zip(low, high, strict=True)):
        if a < 0 or b < 0:
            (n,) = static((to.shape(x)[axis],), "a negative pad")
            x = to.part(x, axis, max(0, -a), max(0, -a, n + min(0, b)))
    return x, [max(0, n) for n in low], [max(0, n) for n in high]


def _mirrored(to: OnnxConverter, x: SSAValue, axis: int, low: int, high: int, mode: str) -> SSAValue:
    """Pads with elements of the operand: those at the places that the mode gives to places outside."""
    if low == high == 0:
        return x
    (n,) = static((to.shape(x)[axis],), f"a pad of mode {mode}")
    if n == 0 or (mode == "reflect" and n == 1):
        raise error("E8002", f"mode {mode} of an extent of {n}", attribute="mode", value=mode)
    check_constants(low + n + high, f"a pad of mode {mode}")
    places = np.arange(-low, n + high)
    if mode == "edge":
        places = np.clip(places, 0, n - 1)
    elif mode == "wrap":
        places = places % n
    else:
        places = np.abs((places + n - 1) % (2 * n - 2) - (n - 1)) if n > 1 else places
    return taken(to, x, axis, places)


def taken(to: OnnxConverter, x: SSAValue, axis: int, places: Any) -> SSAValue:
    """The rows of `x` along an axis at known places."""
    return at_places(to, x, axis, [int(place) for place in places])


def _tile(to: OnnxConverter, node: Node) -> SSAValue:
    return to.emit(ptir.TileOp, node.x(), repeats=known_dims(to, node.sizes(1) or []))


def _parts(to: OnnxConverter, node: Node, x: SSAValue, axis: int) -> list[int]:
    (n,) = static((to.shape(x)[axis],), "Split")
    given = node.ints("split") if "split" in node.attributes else node.integers(1)
    count = node.int("num_outputs", node.results) if given is None else len(given)
    if count != node.results:
        message = f"{brief(count)} parts for {node.results} results"
        raise error("E8002", message, attribute="split" if given else "num_outputs", value=count)
    if given is None:
        chunk = -(-n // count)
        given = [max(0, min(chunk, n - i * chunk)) for i in range(count)]
    if sum(given) != n or any(k < 0 for k in given):
        raise error("E3003", f"parts of {brief(given)} along an extent of {n}", dimension=axis, extents=(sum(given), n))
    return given


def _split(to: OnnxConverter, node: Node) -> Values:
    x = node.x()
    axis = node.axis("axis", 0, x)
    found: list[SSAValue] = []
    start = 0
    for n in _parts(to, node, x, axis):
        found.append(to.part(x, axis, start, start + n))
        start += n
    return found


def _constant_of_shape(to: OnnxConverter, node: Node) -> SSAValue:
    fill = node.tensor("value")
    number = to.array_constant(np.zeros((), np.float32) if fill is None else fill.reshape(()))
    return to.broadcast(number, known_dims(to, node.sizes(0) or []))


def _eye_like(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    dtype = node.dtype("dtype", to.dtype(x))
    rows, columns = (to.emit(ptir.IotaOp, shape=to.shape(x), dtype=SI64, axis=i) for i in (0, 1))
    return to.cast(to.compare("equal", columns, to.plus(rows, node.int("k"))), dtype)


def trilu(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    rank, k = len(to.shape(x)), (node.integers(1) or [0])[0]
    rows, columns = (to.emit(ptir.IotaOp, shape=to.shape(x)[-2:], dtype=SI64, axis=i) for i in (0, 1))
    kind = "greater_equal" if node.int("upper", 1) else "less_equal"
    if rank < 2:
        raise error("E3002", f"rank {rank}, expected 2 or more", expected="2 or more", actual=rank)
    keep = to.compare(kind, columns, to.plus(rows, to.like(max(-(1 << 62), min(1 << 62, k)), rows)))
    return to.select(to.broadcast(keep, to.shape(x)), x, to.like(zero(to, x), x))


def _depth_to_space(to: OnnxConverter, node: Node) -> SSAValue:
    x, b = node.ranked(0, 4), node.int("blocksize")
    n, c, h, w = static(to.shape(x), "DepthToSpace")
    if b < 1 or c % (b * b):
        raise error("E8002", f"blocksize {b} of {c} channels", attribute="blocksize", value=b)
    if node.word("mode", "DCR", ("DCR", "CRD")) == "DCR":
        x = to.transpose(to.reshape(x, (n, b, b, c // (b * b), h, w)), [0, 3, 4, 1, 5, 2])
    else:
        x = to.transpose(to.reshape(x, (n, c // (b * b), b, b, h, w)), [0, 1, 4, 2, 5, 3])
    return to.reshape(x, (n, c // (b * b), h * b, w * b))


def _space_to_depth(to: OnnxConverter, node: Node) -> SSAValue:
    x, b = node.ranked(0, 4), node.int("blocksize")
    n, c, h, w = static(to.shape(x), "SpaceToDepth")
    if b < 1 or h % b or w % b:
        raise error("E8002", f"blocksize {b} of {h} by {w}", attribute="blocksize", value=b)
    order = [0, 3, 5, 1, 2, 4] if node.word("mode", "DCR", ("DCR", "CRD")) == "DCR" else [0, 1, 3, 5, 2, 4]
    return to.reshape(to.transpose(to.reshape(x, (n, c, h // b, b, w // b, b)), order), (n, c * b * b, h // b, w // b))


def _shape(to: OnnxConverter, node: Node) -> Any:
    """Of what the fold does not know: a dimension without name or size."""
    raise Refused("the shape of a tensor with a dimension without a size", HOW_SIZED)


def _center_crop_pad(to: OnnxConverter, node: Node) -> SSAValue:
    """Pad or cut around the middle, the odd element at the end."""
    x = node.x()
    rank = len(to.shape(x))
    axes = distinct_axes(node.ints("axes") or list(range(rank)), rank)
    low, high = [0] * rank, [0] * rank
    sizes = node.integers(1) or []
    if len(sizes) != len(axes):
        raise error("E3002", f"{len(sizes)} sizes for {len(axes)} axes", expected=len(axes), actual=len(sizes))
    for axis, wanted in zip(axes, sizes, strict=True):
        (n,) = static((to.shape(x)[axis],), "CenterCropPad")
        low[axis] = (wanted - n) // 2 if wanted >= n else -((n - wanted) // 2)
        high[axis] = wanted - n - low[axis]
    return padded(to, x, low, high, None)


def _reverse_sequence(to: OnnxConverter, node: Node) -> SSAValue:
    """Each sequence of a batch backwards, up to its length."""
    x, lengths = node.x(), node.x(1)
    batch, time = node.int("batch_axis", 1), node.int("time_axis", 0)
    if {batch, time} != {0, 1}:
        raise error("E8002", f"batch_axis {batch} and time_axis {time}, expected 0 and 1", attribute="batch_axis", value=batch)
    shape = to.shape(x)
    places = to.emit(ptir.IotaOp, shape=shape, dtype=SI64, axis=time)
    ends = to.broadcast(to.along(to.cast(lengths, SI64), batch, len(shape)), shape)
    back = to.minus(to.minus(ends, 1), places)
    index = to.select(to.compare("less", places, ends), back, places)
    return to.emit(ptir.GatherOp, x, index, axis=time)


STRUCTURAL: dict[str, OnnxRow | Refused] = {
    "CenterCropPad": _center_crop_pad,
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "EyeLike": _eye_like,
    "Flatten": _flatten,
    "Pad": _pad,
    "Reshape": _reshape,
    "ReverseSequence": _reverse_sequence,
    "Shape": _shape,
    "Size": _shape,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": trilu,
    "Unsqueeze": _unsqueeze,
}
