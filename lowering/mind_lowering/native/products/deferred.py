"""Values that are not computed, because only products read them, and widen them in registers; `defer` says which."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp

from ..views import View, viewed
from .blocked import BlockedWeights


@dataclass(frozen=True)
class Deferred:
    """A value that is not computed: `ops` on `source` and `inputs`, views in its own shape; only a cast without `ops`."""

    source: View
    root: SSAValue
    ops: tuple[PtirOp, ...] = ()
    inputs: tuple[tuple[SSAValue, View], ...] = ()
    weights: BlockedWeights | None = None
    """The weights in blocks that it is; `source` is then a view of them as if each lay in memory."""

    def through(self, op: PtirOp) -> Deferred | None:
        """The result of a view of it."""
        source = viewed(self.source, op)
        inputs = [(value, viewed(view, op)) for value, view in self.inputs]
        if source is None or any(view is None for _, view in inputs):
            return None
        return replace(self, source=source, inputs=tuple([(value, view) for value, view in inputs if view is not None]))
