"""
The image of a lowered program on disk: its code, its table, its constants.

Large constants of the function, such as the weights of a model, stay with the function: the image names their bytes by a hash.

It is found by the hash of the function (`digest.py`), so that a program which some process has compiled before is neither
verified nor optimised nor lowered again. Only programs that are one entry of native code have an image; what it does not hold
(the text, what the kernels are, the ops that can fail) is made again by who asks for it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, cast

from xdsl.ir import Operation

from mind_dialect.dominance import walk
from mind_dialect.errors import MindError
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import ConstantOp, PtirLiteralAttr
from mind_dialect.ptir.types import DTYPES
from mind_lowering import code_cache as cache
from mind_lowering.native import Entry, Native, Packing, TableEntry, TargetInfo

from . import jit

SUFFIX = ".image"
LARGEST = 1 << 20
"""Programs with more bytes of constants, in addition to those of the function, have no image."""
LARGE = 1 << 12
"""Constants of a function of at least so many bytes are named by their hash."""
Literals = Callable[[], Mapping[str, bytes]]
"""The large constants of a function by the hashes of their bytes."""
_LENGTH = 8


@dataclass(frozen=True)
class Image:
    """A program without text, notes and sites, and its code."""

    native: Native
    library: jit.Library


def literals_of(func: Operation) -> dict[str, bytes]:
    """Return the large constants of a function by the hashes of their bytes."""
    found = (op.literal.data.data for op in walk(func) if isinstance(op, ConstantOp))
    return {_hash(data): data for data in found if len(data) >= LARGE}


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write(key: str, native: Native, literals: Literals) -> None:
    """Keep the image of a program of a function with these constants, if it has one."""
    entries = [step.name for step in native.steps if isinstance(step, Entry)]
    packing = native.packing
    if len(entries) != 1 or len(native.steps) != 1:
        return
    large = any(len(c.data.data) >= LARGE for _, c in native.constants)
    named = {data: name for name, data in literals().items()} if large else {}
    within = [(b, c) for b, c in native.constants if c.data.data not in named]
    if sum(len(c.data.data) for _, c in within) > LARGEST:
        return
    sizes: list[int | str] = [named.get(c.data.data, len(c.data.data)) for _, c in native.constants]
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
        "constants": [
            [b.place, c.spec[0].name, list(c.spec[1]), size] for (b, c), size in zip(native.constants, sizes, strict=True)
        ],
    }
    text = json.dumps(head).encode()
    data = b"".join(c.data.data for _, c in within)
    cache.write(key + SUFFIX, len(text).to_bytes(_LENGTH, "little") + text + data)


def read(key: str, host: TargetInfo, outputs: int, inputs: int, literals: Literals) -> Image | None:
    """The image of a program of so many inputs and outputs, if there is a whole one whose code and constants are there too."""
    data = cache.read(key + SUFFIX)
    if data is None:
        return None
    try:
        length = int.from_bytes(data[:_LENGTH], "little")
        head = json.loads(data[_LENGTH : _LENGTH + length])
        native = _native(head, data[_LENGTH + length :], host, literals)
        entries = [str(head["entry"]), *([] if native.packing is None else [native.packing.entry])]
        library = jit.find(str(head["code"]), entries)
    except (ValueError, KeyError, TypeError, IndexError, MindError):
        return None
    if library is None or len(native.outputs) != outputs or len(native.inputs) != inputs:
        return None
    return Image(native, library)


def _native(head: Any, data: bytes, host: TargetInfo, literals: Literals) -> Native:
    """The program that a file says; ValueError or the like for what is none."""
    table, arena = _number(head["table"]), _number(head["arena"])
    inputs = [_number(place, -1, table) for place in _list(head["inputs"])]
    outputs = [
        TableEntry(_number(place, 0, table), is_new=over is not True) for place, over in map(_list, _list(head["outputs"]))
    ]
    constants: list[tuple[TableEntry, PtirLiteralAttr]] = []
    written = [_list(found) for found in _list(head["constants"])]
    named: Mapping[str, bytes] = literals() if any(isinstance(found[-1], str) for found in written) else {}
    for place, name, shape, length in written:
        if isinstance(length, str):
            piece = named[length]
        else:
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
