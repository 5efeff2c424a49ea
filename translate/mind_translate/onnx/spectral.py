"""Rows of Fourier transforms: of one axis, of frames of a signal, and the bank of filters that weights their frequencies."""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import brief, error
from mind_dialect.ptir.types import DTYPES
from mind_dialect.shapes import inverse_permutation

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow
from .emitter import check_constants, static
from .extents import Array
from .model import array_dtype
from .node import Node, distinct_axes
from .structural import padded, taken

_MEL = 2595.0
"""Mels of a decade of `1 + hertz / 700`."""


def _complex(to: OnnxConverter, x: SSAValue) -> SSAValue:
    """Numbers whose real part, or real and imaginary parts, are along the last axis."""
    last = len(to.shape(x)) - 1
    parts = [to.reshape(to.part(x, last, i, i + 1), to.shape(x)[:-1]) for i in range(static(to.shape(x)[-1:])[0])]
    return to.emit(ptir.ComplexOp, parts[0], parts[1] if len(parts) > 1 else to.like(0, parts[0]))


def _parts(to: OnnxConverter, z: SSAValue) -> SSAValue:
    """The real and imaginary parts along a new last axis."""
    both = [to.reshape(to.emit(op, z), (*to.shape(z), 1)) for op in (ptir.RealOp, ptir.ImagOp)]
    return to.concat(both, len(to.shape(z)))


def _dft_axis(to: OnnxConverter, node: Node, rank: int) -> int:
    """The axis of the signal: an attribute with the default 1 before opset 20, an operand with the default -2 from there on."""
    given = node.integers(2)
    axis = given[0] if given else node.int("axis", 1 if to.scope.opsets[""] < 20 else -2)
    return distinct_axes([axis], rank)[0]


def _dft(to: OnnxConverter, node: Node) -> SSAValue:
    """Along one axis; the last axis holds real numbers, or real and imaginary parts."""
    x = node.x()
    shape = to.shape(x)
    rank = len(shape)
    axis, is_inverse, is_one_sided = _dft_axis(to, node, rank), bool(node.int("inverse")), bool(node.int("onesided"))
    if shape[-1] not in (1, 2) or axis == rank - 1:
        raise Refused(f"a transform of shape {list(shape)} along axis {axis}", "use the last axis for real and imaginary parts")
    (n,) = static(shape[axis : axis + 1], "DFT")
    given = node.integers(1)
    halves = is_one_sided and is_inverse
    length = given[0] if given else 2 * (n - 1) if halves else n
    if length < 1:
        raise error("E8002", f"dft_length is {length}, expected 1 or more", attribute="dft_length", value=length)
    high = [0] * rank
    high[axis] = (length // 2 + 1 if halves else length) - n
    x = padded(to, x, [0] * rank, high, None)
    order = [*(i for i in range(rank - 1) if i != axis), axis]
    kind = "irfft" if halves else "ifft" if is_inverse else "fft"
    z = to.emit(ptir.FftOp, to.transpose(_complex(to, x), order), kind=kind, lengths=(length,))
    z = to.transpose(z, inverse_permutation(order))
    if halves:
        return to.reshape(z, (*to.shape(z), 1))
    return _parts(to, to.part(z, axis, 0, length // 2 + 1) if is_one_sided else z)


def _stft(to: OnnxConverter, node: Node) -> SSAValue:
    """Frames of a signal, each times the window, transformed; results are by batch, frame and frequency."""
    x = node.x()
    x = to.reshape(x, (*to.shape(x), 1)) if len(to.shape(x)) == 2 else x
    if len(shape := to.shape(x)) != 3 or shape[2] not in (1, 2):
        message = f"signal has shape {brief(list(shape))}, expected a batch of signals, of real numbers or of two parts"
        raise error("E3002", message, expected=3, actual=len(shape))
    is_one_sided = bool(node.int("onesided", 1))
    if is_one_sided and shape[2] == 2:
        raise Refused("a one-sided transform of complex numbers", "set onesided to 0, or drop the imaginary parts")
    (n,) = static(shape[1:2], "STFT")
    window, step, given = node.optional(2), (node.integers(1) or [0])[0], node.integers(3)
    width = None if window is None else static(to.shape(window), "STFT")[0]
    length = given[0] if given else n if width is None else width
    if step < 1 or not 0 < length <= n or width not in (None, length):
        message = f"frames of {length} in steps of {step}, of {n} elements" + (f", by a window of {width}" if width else "")
        raise error("E8002", message, attribute="frame_length", value=length)
    count = (n - length) // step + 1
    check_constants(count * length, "frames of a signal")
    places = np.arange(count)[:, None] * step + np.arange(length)
    frames = to.reshape(taken(to, x, 1, places.reshape(-1)), (shape[0], count, length, shape[2]))
    if window is not None:
        frames = to.times(frames, to.along(window, 2, 4))
    z = to.emit(ptir.FftOp, _complex(to, frames), kind="fft", lengths=(length,))
    return _parts(to, to.part(z, 2, 0, length // 2 + 1) if is_one_sided else z)


def _mel_weight_matrix(to: OnnxConverter, node: Node) -> Array:
    """Triangles over the frequencies of a transform, whose corners are equally far from each other in mels."""
    given = [node.number(i) for i in range(5)]
    count, length, rate = (int(v) for v in given[:3])
    low, high = (_MEL * math.log10(1 + float(v) / 700) for v in given[3:])
    if min(count, length, rate) < 1 or not low <= high:
        message = f"{count} bins of {length} elements at {rate} Hz, between {given[3]} and {given[4]} Hz"
        raise error("E8002", message, attribute="num_mel_bins", value=count)
    rows = length // 2 + 1
    check_constants(rows * count, "a mel filter bank")
    hertz = 700 * (10 ** ((low + np.arange(count + 2) * (high - low) / (count + 2)) / _MEL) - 1)
    corners = np.floor((length + 1) * hertz / rate)
    if corners[-1] > rows:
        message = f"upper_edge_hertz is {given[4]}, expected at most half of sample_rate, {rate}"
        raise error("E8002", message, attribute="upper_edge_hertz", value=float(given[4]))
    row, (left, middle, right) = np.arange(rows)[:, None], (corners[i : i + count] for i in range(3))
    with np.errstate(divide="ignore", invalid="ignore"):
        rising = np.where(left == middle, 1.0, (row - left) / (middle - left))
        falling = (right - row) / (right - middle)
    found = np.where((row >= left) & (row <= middle), rising, 0.0)
    found = np.where((row >= middle) & (row < right), falling, found)
    return found.astype(array_dtype(node.dtype("output_datatype", DTYPES["f32"])))


SPECTRAL: dict[str, OnnxRow | Refused] = {"DFT": _dft, "MelWeightMatrix": _mel_weight_matrix, "STFT": _stft}
"""By operator."""
