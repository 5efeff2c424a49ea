"""
The image of a lowered program on disk: its code, its table, its constants.

It is found by the hash of the function (`digest.py`), so that a program which some process has compiled before is neither
verified nor optimised nor lowered again. Only programs that are one entry of native code have an image; what it does not hold
(the text, what the kernels are, the ops that can fail) is made again by who asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from mind_dialect.errors import MindError
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import DTYPES
from mind_lowering import code_cache as cache
from mind_lowering.native import Entry, Native, Packing, TableEntry, TargetInfo

from . import jit

SUFFIX = ".image"
LARGEST = 1 << 20
"""Programs with more bytes of constants have no image."""
_LENGTH = 8


@dataclass(frozen=True)
class Image:
    """A program without text, notes and sites, and its code."""

    native: Native
    library: jit.Library


def write(key: str, native: Native) -> None:
    """Keep the image of a program, if it has one."""
    entries = [step.name for step in native.steps if isinstance(step, Entry)]
    packing = native.packing
    if len(entries) != 1 or len(native.steps) != 1 or sum(len(c.data.data) for _, c in native.constants) > LARGEST:
        return
    head = {
        "name": native.name,
        "code": jit.code_name(native.text, native.host),
        "entry": entries[0],
        "table": native.table,
        "arena": native.arena,
        "cost": native.cost,
        "draws": native.draws,
        "inputs": list(native.inputs),
        "packing": None if packing is None else _written(packing),
        "outputs": [[memory.place, not memory.is_new] for memory in native.outputs],
        "constants": [[b.place, c.spec[0].name, list(c.spec[1]), len(c.data.data)] for b, c in native.constants],
    }
    text = json.dumps(head).encode()
    data = b"".join(c.data.data for _, c in native.constants)
    cache.write(key + SUFFIX, len(text).to_bytes(_LENGTH, "little") + text + data)


def read(key: str, host: TargetInfo, outputs: int, inputs: int) -> Image | None:
    """The image of a program of so many inputs and outputs, if there is a whole one whose code is there too."""
    data = cache.read(key + SUFFIX)
    if data is None:
        return None
    try:
        length = int.from_bytes(data[:_LENGTH], "little")
        head = json.loads(data[_LENGTH : _LENGTH + length])
        native = _native(head, data[_LENGTH + length :], host)
        entries = [str(head["entry"]), *([] if native.packing is None else [native.packing.entry])]
        library = jit.find(str(head["code"]), entries)
    except (ValueError, KeyError, TypeError, IndexError, MindError):
        return None
    if library is None or len(native.outputs) != outputs or len(native.inputs) != inputs:
        return None
    return Image(native, library)


def _native(head: Any, data: bytes, host: TargetInfo) -> Native:
    """The program that a file says; ValueError or the like for what is none."""
    table, arena = _number(head["table"]), _number(head["arena"])
    inputs = [_number(place, -1, table) for place in _list(head["inputs"])]
    outputs = [
        TableEntry(_number(place, 0, table), is_new=over is not True) for place, over in map(_list, _list(head["outputs"]))
    ]
    constants: list[tuple[TableEntry, PtirLiteralAttr]] = []
    for place, name, shape, length in map(_list, _list(head["constants"])):
        piece, data = data[: _number(length)], data[_number(length) :]
        dtype, extents = DTYPES[name], tuple(_number(n) for n in _list(shape))
        fill = len(piece) == dtype.size and prod(extents) > 1
        literal = PtirLiteralAttr.filled(dtype, extents, dtype.element.unpack(piece)[0]) if fill else None
        literal = literal or PtirLiteralAttr.from_bytes(dtype, extents, piece)
        constants.append((TableEntry(_number(place, 0, table)), literal))
    steps = [Entry(str(head["entry"]))]
    cost, draws = float(head["cost"]), head["draws"] is True
    packing = _packing(head["packing"], table, len(inputs))
    return Native(str(head["name"]), host, "", steps, inputs, outputs, constants, table, arena, (), (), cost, draws, packing)


def _written(packing: Packing) -> list[Any]:
    return [packing.entry, list(packing.inputs), [list(pair) for pair in packing.kept], list(packing.consumed)]


def _packing(found: Any, table: int, inputs: int) -> Packing | None:
    if found is None:
        return None
    entry, read, kept, consumed = _list(found)
    pairs = [(_number(place, 0, table), _number(size)) for place, size in map(_list, _list(kept))]
    numbers = [[_number(i, 0, inputs) for i in _list(found)] for found in (read, consumed)]
    return Packing(str(entry), numbers[0], pairs, numbers[1])


def _number(found: Any, least: int = 0, below: int = 1 << 62) -> int:
    if type(found) is not int or not least <= found < below:
        raise ValueError(found)
    return found


def _list(found: Any) -> Sequence[Any]:
    if not isinstance(found, list):
        raise TypeError(found)
    return cast("list[Any]", found)
