"""
The one way to build and to change a fusion: copies of ops and of other fusions, one after the other, in a new body.

Nothing in the program changes until the new fusion takes the place of an old one (`building.substitute`). Values are named as the
program names them: what is appended reads the copies of what was appended before it, and arguments for all else. Merging fusions,
taking in producers, changing results and dropping them are a few lines each in these terms.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from mind_dialect.ptir import FusionOp, YieldOp


class FusionEdit:
    """A fusion that is being built; `inner` maps values of the program and of inlined fusions to those of the new body."""

    def __init__(self) -> None:
        self.body = Block()
        self.operands: list[SSAValue] = []
        self.inner: dict[SSAValue, SSAValue] = {}

    def argument(self, value: SSAValue, hint: str | None = None) -> SSAValue:
        """Add an operand, and return the argument of the body for it."""
        self.operands.append(value)
        found = self.inner[value] = self.body.insert_arg(value.type, len(self.body.args))
        found.name_hint = hint or value.name_hint
        return found

    def read(self, value: SSAValue, hint: str | None = None) -> SSAValue:
        """Return what `value` is in the body: what was appended, or the one argument for it."""
        found = self.inner.get(value)
        return self.argument(value, hint) if found is None else found

    def append(self, *ops: Operation) -> None:
        """Append copies of ops, each after those that it reads."""
        for op in ops:
            for value in op.operands:
                self.read(value)
            self.copy(op)

    def inline(self, fusion: FusionOp) -> None:
        """Append copies of the ops of a fusion. Its results, and the values of its body, are then known by their own names."""
        body = fusion.body.block
        for argument, value in zip(body.args, fusion.operands, strict=True):
            self.inner[argument] = self.read(value, argument.name_hint)
        for op in body.ops:
            if isinstance(op, YieldOp):
                self.inner.update(zip(fusion.results, (self.inner[v] for v in op.operands), strict=True))
            else:
                self.copy(op)

    def copy(self, op: Operation) -> None:
        """Append a copy of an op, all of whose operands have been read; one without regions takes half the time."""
        self.body.add_op(op.clone(self.inner) if op.regions else op.clone_without_regions(self.inner))

    def prune(self, results: Sequence[SSAValue]) -> None:
        """Erase ops and operands that no result needs."""
        needed = {self.inner[v] for v in results}
        for op in reversed(list(self.body.ops)):
            if not any(r.first_use or r in needed for r in op.results):
                self.body.erase_op(op)
        for i, argument in reversed(list(enumerate(self.body.args))):
            if not (argument.first_use or argument in needed):
                self.body.erase_arg(argument)
                del self.operands[i]

    def fusion(
        self,
        results: Sequence[SSAValue],
        *,
        like: FusionOp | None = None,
        location: LocationAttr | None = None,
        pattern: str | None = None,
    ) -> FusionOp:
        """
        Return the fusion that gives `results`, in no block; `like` says whose pattern and location it has.

        Erase it if it is not used, because it uses its operands.
        """
        self.body.add_op(YieldOp.create(operands=[self.inner[v] for v in results]))
        return FusionOp.create(
            operands=self.operands,
            properties=FusionOp.store_properties({"pattern": pattern}) if like is None else dict(like.properties),
            result_types=[v.type for v in results],
            regions=[Region(self.body)],
            location=location if like is None else like.location,
        )
