"""The margin loss of several labels, of which torch has a decomposition with another result."""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import SI64

from .converter import AtenConverter, Call, Results, Table, wide

MEAN = 1
"""The code of the mean in `torch.nn._reduction`; 0 is none, 2 the sum."""


def _multilabel_margin(to: AtenConverter, call: Call, x: SSAValue, labels: SSAValue, reduction: int) -> Results:
    """
    The sum of `max(0, 1 - x[i] + x[j]) / n` over labels i and all j that are none; labels end before the first -1.

    The second result marks the labels.
    """
    shape = to.shape(x) or (1,)
    x, labels = to.cast(to.reshape(x, shape), wide(call.dtype)), to.reshape(labels, shape)
    rank, n = len(shape), to.sizes(x)[-1]
    whole = (*shape, n)
    ended = to.cast(to.compare("less", labels, 0), SI64)
    ended = to.emit(ptir.CumulativeSumOp, ended, axis=rank - 1, exclusive=False, reverse=False)
    counts = to.compare("equal", ended, 0)
    number = to.emit(ptir.IotaOp, shape=whole, dtype=SI64, axis=rank)
    named = to.compare("equal", number, to.place(to.cast(labels, SI64), range(rank), whole))
    named = to.emit(ptir.AndOp, named, to.place(counts, range(rank), whole))
    is_label = to.compare("greater", to.reduce("sum", to.cast(named, SI64), rank - 1), 0)
    own = to.emit(ptir.GatherOp, x, to.select(counts, to.cast(labels, SI64), to.like(0, ended)), axis=rank - 1)
    others = to.place(x, [*range(rank - 1), rank], whole)
    loss = to.emit(ptir.AddOp, to.math(ptir.SubOp, to.like(1.0, others), to.place(own, range(rank), whole)), others)
    matters = to.emit(ptir.AndOp, to.place(counts, range(rank), whole), to.compare("greater", loss, 0.0))
    is_other = to.emit(ptir.NotOp, to.place(is_label, [*range(rank - 1), rank], whole))
    loss = to.select(to.emit(ptir.AndOp, matters, is_other), loss, to.like(0.0, loss))
    found = to.math(ptir.DivOp, to.reduce("sum", loss, [rank - 1, rank]), float(n))
    if reduction and rank > 1:
        found = to.mean(found, [0]) if reduction == MEAN else to.reduce("sum", found, 0)
    marks = call.results[1]
    assert marks is not None
    return to.cast(to.shaped(found, call.shape), call.dtype), to.shaped(to.cast(is_label, marks.dtype), marks.shape)


MARGINS: Table = {"multilabel_margin_loss_forward.default": _multilabel_margin}
