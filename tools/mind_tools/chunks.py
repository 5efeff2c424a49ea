"""Split a text for `--split-input-file`: at `// -----`, as mlir-opt does, but not within a string."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARK = re.compile(rb'"(?:[^"\\\n]|\\.)*+"|(// -----)')


@dataclass(frozen=True)
class Chunk:
    """A part of an input: its bytes, and how many lines and bytes of the input come before it."""

    data: bytes
    line_offset: int = 0
    byte_offset: int = 0


def split(data: bytes) -> list[Chunk]:
    r"""
    Divide `data` at every mark; what follows a mark on its line belongs to the next chunk.

    >>> [(chunk.data, chunk.line_offset) for chunk in split(b'a\n// -----\nb = "// -----"\n')]
    [(b'a\n', 0), (b'\nb = "// -----"\n', 1)]
    """
    chunks: list[Chunk] = []
    start = lines = 0
    for mark in _MARK.finditer(data):
        if mark[1] is not None:
            chunks.append(Chunk(data[start : mark.start()], lines, start))
            lines += chunks[-1].data.count(b"\n")
            start = mark.end()
    return [*chunks, Chunk(data[start:], lines, start)]
