"""
A module as another process reads it: its text, and its large constants in a file.

In text a constant takes two characters a byte, which take longer to print and to parse than the rest of a program.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence

from xdsl.dialects.builtin import BytesAttr, ModuleOp
from xdsl.ir import Operation

from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import ConstantOp
from mind_dialect.ptir.literal import PtirLiteralAttr

LARGE = 1 << 10
"""Constants of fewer bytes are in the text."""


@dataclass(frozen=True)
class Source:
    """The text of a module, and the bytes of the constants that are fills there, by their number among the constants."""

    text: str
    constants: Sequence[tuple[int, bytes]]

    @staticmethod
    def of(module: ModuleOp) -> Source:
        """Return the source of a module of PTIR, whose large constants are fills afterwards."""
        found: list[tuple[int, bytes]] = []
        for number, op in enumerate(_constants(module)):
            literal = op.literal
            if len(data := literal.data.data) >= LARGE:
                found.append((number, data))
                op.properties["value"] = PtirLiteralAttr(literal.type, BytesAttr(data[: literal.spec[0].size]))
        return Source(str(module), found)

    def written(self, folder: str) -> str:
        """Write the bytes to a new file in a folder, and return its path."""
        handle, path = tempfile.mkstemp(prefix="constants", dir=folder)
        with os.fdopen(handle, "wb") as file:
            for _, data in self.constants:
                file.write(data)
        return path


def restore(module: Operation, constants: Sequence[tuple[int, int]], path: str) -> None:
    """Put the bytes of a file into a module that was parsed from the text; `constants` are numbers and counts of bytes."""
    sizes = dict(constants)
    with open(path, "rb") as file:
        for number, op in enumerate(_constants(module)):
            if number in sizes:
                op.properties["value"] = PtirLiteralAttr(op.literal.type, BytesAttr(file.read(sizes[number])))


def _constants(module: Operation) -> Sequence[ConstantOp]:
    return [op for op in walk(module) if isinstance(op, ConstantOp)]
