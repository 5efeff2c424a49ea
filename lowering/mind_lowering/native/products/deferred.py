"""Values that are not computed, because only products read them, and widen them in registers; `defer` says which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import PtirDType, read_type

from ..casts import cast
from ..ir import Function
from ..views import View, viewed
from .epilogue import Chain
from .weights import Decode, Prologue


@dataclass(frozen=True)
class Deferred:
    """A value that is not computed: `ops` on `source` and `inputs`, views in its own shape; only a cast without `ops`."""

    source: View
    root: SSAValue
    ops: tuple[PtirOp, ...] = ()
    inputs: tuple[tuple[SSAValue, View], ...] = ()

    def through(self, op: PtirOp) -> Deferred | None:
        """The result of a view of it."""
        source = viewed(self.source, op)
        inputs = [(value, viewed(view, op)) for value, view in self.inputs]
        if source is None or any(view is None for _, view in inputs):
            return None
        return replace(self, source=source, inputs=tuple([(value, view) for value, view in inputs if view is not None]))

    def prologue(self, total: PtirDType, inputs: Sequence[View]) -> Prologue:
        """Return the prologue that decodes elements of the source; `inputs` have the product's axes."""
        result = self.ops[-1].results[0]
        given = dict(zip((value for value, _ in self.inputs), inputs, strict=True))
        chain = Chain(self.root, self.source.dtype, self.ops, given, ())
        dtype = read_type(result.type).dtype

        def begin(f: Function, arguments: Sequence[str]) -> Decode:
            values = chain.values(f, arguments)
            return lambda lanes, at, along, x: cast(lanes, values(lanes, at, along, x)[result], dtype, total)

        return Prologue(begin, chain.reads, (chain.key(), total), " ".join(op.OPCODE for op in self.ops))
