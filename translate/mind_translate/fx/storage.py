"""Rows about the storage of tensors: elements by their places in memory, and their bits as another dtype."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import DTYPES, I1, Kind, PtirDType

from ..unsupported import Refused
from .converter import AtenConverter, Call, Table
from .structural import MOST_STRIDED


def _strided_places(call: Call, size: Sequence[int], stride: Sequence[int], offset: int | None) -> list[int]:
    """The places of the elements of a view in memory, which is row-major: exact for a contiguous operand."""
    if not call.is_contiguous:
        raise Refused("as_strided of a tensor that is not contiguous", "call .contiguous() first, or use slices and reshapes")
    if math.prod(n for n in size) > MOST_STRIDED:
        raise Refused("as_strided with very many elements", "use slices and reshapes")
    places = [offset or 0]
    for n, step in zip(size, stride, strict=True):
        places = [p + i * step for p in places for i in range(n)]
    return places


def _flat(to: AtenConverter, x: SSAValue) -> SSAValue:
    return to.reshape(x, (math.prod(to.sizes(x)),))


def _as_strided(
    to: AtenConverter, call: Call, x: SSAValue, size: Sequence[int], stride: Sequence[int], offset: int | None = None
) -> SSAValue:
    return to.emit(ptir.TakeOp, _flat(to, x), to.integers(_strided_places(call, size, stride, offset), size))


def _as_strided_scatter(
    to: AtenConverter,
    call: Call,
    x: SSAValue,
    source: SSAValue,
    size: Sequence[int],
    stride: Sequence[int],
    offset: int | None = None,
) -> SSAValue:
    """`x` with the elements of a view replaced."""
    places = _strided_places(call, size, stride, offset)
    if len(set(places)) < len(places):
        raise Refused("as_strided_scatter to a view that overlaps itself", "write each element once")
    source = _flat(to, to.cast(source, call.dtype))
    found = to.emit(ptir.ScatterReduceOp, _flat(to, x), to.integers(places), source, kind="replace", axis=0)
    return to.reshape(found, call.shape)


def _view_as(to: AtenConverter, call: Call, x: SSAValue, dtype: PtirDType | object) -> SSAValue:
    """The bits as numbers of another dtype, of which wider ones take several elements of the last dimension."""
    source, wanted, shape = to.dtype(x), call.dtype, to.shape(x)
    if source is wanted:
        return x
    if Kind.COMPLEX in (source.kind, wanted.kind) or wanted is I1:
        raise Refused(f"the bits of {source} as {wanted}", "use view_as_real or view_as_complex, or a comparison")
    if source is I1:
        source, x = DTYPES["ui8"], to.cast(x, DTYPES["ui8"])
    if wanted.bits > source.bits:
        x = to.reshape(x, (*shape[:-1], call.shape[-1], wanted.bits // source.bits))
    return to.reshape(to.bits(x, wanted), call.shape)


STORAGE: Table = {
    **dict.fromkeys(("as_strided.default", "as_strided_copy.default"), _as_strided),
    **dict.fromkeys(("view.dtype", "view_copy.dtype"), _view_as),
    "as_strided_scatter.default": _as_strided_scatter,
}
