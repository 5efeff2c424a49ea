"""Shared by the ops of this package's dialects: verification by coded errors, and checks of regions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import IRDLOperation

from mind_dialect.errors import MindError, error
from mind_dialect.op_class import OpClass


class CodedOp(IRDLOperation, ABC, metaclass=OpClass):
    """An op whose failures are coded and name it."""

    @abstractmethod
    def check(self) -> None:
        """Raise a coded error unless the op is well-formed."""

    def verify_(self) -> None:
        try:
            self.check()
        except MindError as e:
            raise e if e.op is not None else e.at(self, self.name) from None


def expect_types(region: str, what: str, actual: Sequence[Attribute], expected: Sequence[Attribute]) -> None:
    """Raise E8005 unless the types of a region's parameters or results are the expected ones."""
    if list(actual) != list(expected):
        given, wanted = ([str(t) for t in types] for types in (actual, expected))
        message = f"region {region} {what} {given}, expected {wanted}"
        raise error("E8005", message, region=region, expected=wanted, actual=given)


def ending(region: Region, name: str, kind: type[Operation]) -> Operation:
    """Return the last op of a region's one block; E8005 unless it is of that kind."""
    block = region.blocks[0] if len(region.blocks) == 1 else None
    last = None if block is None else block.last_op
    if not isinstance(last, kind):
        given = f"{len(region.blocks)} blocks" if block is None else last.name if last is not None else "nothing"
        message = f"region {name} has or ends in {given}, expected one block that ends in {kind.name}"
        raise error("E8005", message, region=name, expected=kind.name, actual=given)
    return last
