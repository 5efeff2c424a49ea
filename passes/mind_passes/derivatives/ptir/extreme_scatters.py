"""
The derivatives of scatters that keep the greatest, or the least, of what meets at an element.

Those that tie share the adjoint equally, among them the element of `x` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.legal import default_accumulator

from ...ptir.construct import Value, cast, compare, div, mul, spec
from ..walks import Reverse, Whole
from .shared import zeros


@dataclass(frozen=True)
class ExtremeScatter:
    """The rules of an op with operands `x` and `updates`, given how it reads and writes."""

    read: Callable[[Any, Value], Value]
    """Reads a value of the shape of the result at the element of each update."""
    written: Callable[[Any, str, Value, Value], Value]
    """Combines updates into a value as the op does, by a kind."""

    def weights(self, op: Any) -> tuple[Value, Value, Value]:
        """Return 1 at the elements of x and at the updates that are the result's, else 0; and how many meet at each element."""
        accum = default_accumulator(spec(op.x).dtype)
        kept = cast(compare("equal", op.x, op.result), accum)
        taken = cast(compare("equal", op.updates, self.read(op, op.result)), accum)
        return kept, taken, self.written(op, "add", kept, taken)

    def adjoints(self, walk: Reverse, op: Any, gs: Sequence[SSAValue | None]) -> Sequence[Value | None]:
        (g,), dtype = gs, spec(op.x).dtype
        assert g is not None
        kept, taken, count = self.weights(op)
        share = div(cast(g, spec(count).dtype), count)
        x_adj = cast(mul(kept, share), dtype) if op.x in walk.varied else None
        updates_adj = cast(mul(taken, self.read(op, share)), dtype) if op.updates in walk.varied else None
        return x_adj, None, updates_adj

    def tangent(self, op: Any, x: SSAValue | None, updates: SSAValue | None) -> Value:
        kept, taken, count = self.weights(op)
        accum = spec(count).dtype
        weighted = [zeros(w) if t is None else mul(w, cast(t, accum)) for w, t in ((kept, x), (taken, updates))]
        return cast(div(self.written(op, "add", *weighted), count), spec(op.x).dtype)

    @property
    def reverse(self) -> Whole:
        """The rule of the reverse walk."""
        return Whole(self.adjoints, lambda flows, op: [0b101])
