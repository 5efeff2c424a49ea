"""
Row of `kernels.py` for Fourier transforms.

Several axes are transformed one after the other: that of real numbers first, or that of real results last. Lines along other axes
than the last one are columns of matrices; where these are few, lines are copied to contiguous memory, and back. Lines too long
for the stack of a thread are matrices whose columns are transformed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np
from xdsl.dialects.builtin import BytesAttr

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.literal import static_spec
from mind_dialect.ptir.types import F32, F64, PtirDType, part_of, tensor_type

from ..launch.ref import row_major
from ..ptir_kernels.formats import array_dtype
from .fourier import SCRATCH, FourierTransform, width_of
from .fourier_batches import FULL, LONGEST, FourierBatch
from .fourier_columns import FourierColumns, columns_width, matrix_factors, matrix_of
from .fourier_halves import FourierHalves
from .fourier_tables import column_factors, factors_of, padded_length, split_roots
from .patterns import Builder, in_memory, row
from .target_info import TargetInfo
from .views import Use, View, whole


def _lines(op: ptir.FftOp) -> list[tuple[str, int, int]]:
    """Return the kind of each transform, its axis counted from the end, and how many complex numbers it takes at once."""
    kind, lengths = op.values()["kind"], op.values()["lengths"]
    is_real = kind in ("rfft", "irfft")
    last = (kind, -1, lengths[-1] // 2 if is_real and lengths[-1] % 2 == 0 else lengths[-1])
    inner = kind.replace("rfft", "fft") if is_real else kind
    others = [(inner, i - len(lengths), n) for i, n in enumerate(lengths[:-1])]
    return [*others, last] if kind == "irfft" else [last, *others]


def _fits(real: PtirDType, length: int) -> bool:
    """Return whether a line is transformed on the stack."""
    return 4 * padded_length(length) * real.size <= SCRATCH


def _why_not(op: ptir.FftOp, host: TargetInfo) -> str | None:
    """Return why a transform has no kernel."""
    dtype, _ = static_spec(op.x.type)
    real = part_of(dtype)
    if real not in (F32, F64):
        return f"kernels do not transform {dtype}"
    for kind, _, n in _lines(op):
        is_odd = kind == "irfft" and op.values()["lengths"][-1] == n
        if not _fits(real, n) and (is_odd or matrix_of(host, real, n) is None):
            return f"lines of {n} numbers are too long for the stack, and are no matrices of shorter ones"
    return None


@dataclass
class _Transforms:
    """Builds the transforms of an op, axis by axis."""

    build: Builder
    op: ptir.FftOp

    def run(self) -> None:
        """Append them."""
        build, op = self.build, self.op
        x, out = in_memory(build, op.x), build.target(op.result)
        between = out
        if op.values()["kind"] == "irfft" and len(op.values()["lengths"]) > 1:
            between = self._arena(x.shape, x.dtype, "transformed")
        for kind, axis, length in _lines(op) if out.count else ():
            target = out if axis == -1 else between
            if axis == -1:
                self._lines(kind, x, target, length)
            else:
                self._across(kind, x, target, axis)
            x = target

    def _arena(self, shape: Sequence[int], dtype: PtirDType, name: str) -> View:
        return whole(self.build.buffer(Use.ARENA, dtype, prod(shape), name), shape)

    def _across(self, kind: str, x: View, out: View, axis: int) -> None:
        """Append transforms along an axis other than the last; `out` is dense, and may be `x`."""
        build, length = self.build, out.shape[axis]
        shape = prod(out.shape[:axis]), length, prod(out.shape[axis + 1 :])
        if (width := columns_width(build.host, part_of(out.dtype), length, shape[-1])) is not None:
            matrices = [_dense(v, shape) for v in (x if x.is_dense else build.copied(self.op.x, x), out)]
            self._columns(kind, matrices[0], matrices[1], width)
            return
        source = _along(x, axis)
        lines = self._arena(source.shape, x.dtype, "lines")
        build.copy(self.op.result, source, lines)
        if _fits(part_of(out.dtype), length):
            self._lines(kind, lines, lines, length)
        else:
            found = self._arena(source.shape, x.dtype, "lines")
            self._lines(kind, lines, found, length)
            lines = found
        build.copy(self.op.result, lines, _along(out, axis))

    def _lines(self, kind: str, x: View, out: View, length: int) -> None:
        """Append transforms along the last axis; `out` may be `x` unless lines are too long for the stack."""
        build, real = self.build, part_of(out.dtype)
        if not _fits(real, length):
            {"rfft": self._long_real, "irfft": self._long_half}.get(kind, partial(self._long, kind))(x, out, length)
            return
        n = (out if kind == "irfft" else x).shape[-1]
        lanes = build.host.lanes(real.size)
        is_many = n <= LONGEST and length % FULL and x.count >= lanes * x.shape[-1]
        if is_many and x.is_dense:
            build.add(FourierBatch(self._name(kind), kind, x, self._constant(column_factors(n), real), out, lanes))
            return
        width = width_of(build.host, real, length)
        paired = (kind == "rfft" and x.shape[-1] == 2 * length) or (kind == "irfft" and out.shape[-1] == 2 * length)
        factors = self._constant(factors_of(length, width, paired=paired), real)
        build.add(FourierTransform(self._name(kind), kind, x, factors, out, length, width))

    def _long_real(self, x: View, out: View, length: int) -> None:
        """
        Append the transforms of long lines of real numbers, from those of pairs of neighbours as complex numbers.

        Lines of an odd number are transformed as complex numbers; the first half of the result is copied.
        """
        x = self._contiguous(x)
        if x.shape[-1] == length:
            between = self._arena(x.shape, out.dtype, "whole")
            self._long("fft", x, between, length)
            self.build.copy(self.op.result, replace(between, shape=out.shape), out)
            return
        if any(n % 2 for n in (x.offset, *x.strides[:-1])):
            x = self.build.copied(self.op.x, x)
        between = self._arena((*x.shape[:-1], length), out.dtype, "halves")
        self._long("fft", _as_complex(x, out.dtype), between, length)
        self._halves(between, out, inverse=False)

    def _long_half(self, x: View, out: View, length: int) -> None:
        """Append the inverse of `_long_real`."""
        between = self._arena((*x.shape[:-1], length), x.dtype, "halves")
        self._halves(self._contiguous(x), between, inverse=True)
        self._long("ifft", between, _as_complex(out, x.dtype), length)

    def _halves(self, x: View, out: View, *, inverse: bool) -> None:
        """Append the step between the transforms of long real lines and those of their pairs of neighbours."""
        real, length = part_of(x.dtype), min(x.shape[-1], out.shape[-1])
        width = self.build.host.lanes(real.size)
        factors = self._constant(split_roots(1, length + 1, 2 * length, width), real)
        self.build.add(FourierHalves(self._name("halves"), x, factors, out, width, inverse))

    def _contiguous(self, x: View) -> View:
        """Return a view of the operand whose lines are contiguous."""
        return x if x.strides[-1] == 1 else self.build.copied(self.op.x, x)

    def _long(self, kind: str, x: View, out: View, length: int) -> None:
        """Append the transforms of the columns of the matrices that lines are, and of those of the transposed matrices."""
        build, real = self.build, part_of(out.dtype)
        matrix = matrix_of(build.host, real, length)
        assert matrix is not None, "or there is no kernel"
        rows, columns = matrix
        x = self._contiguous(x)
        between = _split(out, columns, rows)
        for source, begins in ((_split(x, rows, columns), True), (between, False)):
            width = columns_width(build.host, real, *source.shape[-2:])
            assert width is not None, "as `matrix_of` chooses"
            self._columns(kind, source, between, width, begins=begins)

    def _columns(self, kind: str, x: View, out: View, width: int, *, begins: bool = False) -> None:
        """Append transforms of columns."""
        factors = self._constant(matrix_factors(x.shape[-2:], width, begins=begins), part_of(out.dtype))
        self.build.add(FourierColumns(self._name(kind), kind, x, factors, out, width, begins))

    def _name(self, kind: str) -> str:
        return self.op.result.name_hint or kind

    def _constant(self, factors: np.ndarray, real: PtirDType) -> View:
        """Return constant memory with factors, rounded to a dtype."""
        numbers = np.ascontiguousarray(factors, array_dtype(real.name))
        literal = PtirLiteralAttr(tensor_type(real, numbers.shape), BytesAttr(numbers.tobytes()))
        return whole(self.build.constant(literal, self.op.result), numbers.shape)


def _transformed(build: Builder, op: ptir.FftOp) -> None:
    _Transforms(build, op).run()


def _dense(view: View, shape: Sequence[int]) -> View:
    """Return a dense view under another shape."""
    return replace(view, shape=tuple(shape), strides=row_major(tuple(shape)))


def _as_complex(view: View, dtype: PtirDType) -> View:
    """Return a view of contiguous lines of real numbers as complex ones; its offset and other strides are even."""
    *strides, _ = view.strides
    shape = (*view.shape[:-1], view.shape[-1] // 2)
    return replace(view, dtype=dtype, shape=shape, strides=(*[n // 2 for n in strides], 1), offset=view.offset // 2)


def _split(view: View, rows: int, columns: int) -> View:
    """Return a view whose last axis, which is contiguous, is split into rows and columns."""
    return replace(view, shape=(*view.shape[:-1], rows, columns), strides=(*view.strides[:-1], columns, 1))


def _along(view: View, axis: int) -> View:
    """Return a view whose axis `axis` is the last one."""

    def moved(values: Sequence[int]) -> tuple[int, ...]:
        rest = list(values)
        last = rest.pop(axis)
        return (*rest, last)

    return replace(view, shape=moved(view.shape), strides=moved(view.strides))


FOURIER = (row("fourier", ptir.FftOp, _transformed, _why_not),)
"""Their row."""
