"""
Arrays in files: `.npy`, one array; `.npz` and `.safetensors`, arrays by name; `.json`, lists of numbers, alone or by name.

What a file says of an array is checked before the array is read; what it holds is never cast. An archive is asked for the array
of the input's name, or for another as `weights.npz:name`.
"""

from __future__ import annotations

import json
import math
import os
import re
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any, TypeGuard, cast

import numpy as np

from mind_dialect.errors import MindError, brief, error
from mind_runtime import TensorSpec

Array = np.ndarray[Any, Any]

MAX_JSON = 1 << 28
"""Larger JSON files are refused, and so are larger headers of safetensors files."""
SAFETENSORS = {
    **{f"F{n}": f"f{n}" for n in (16, 32, 64)},
    **{f"I{n}": f"si{n}" for n in (8, 16, 32, 64)},
    **{f"U{n}": f"ui{n}" for n in (8, 16, 32, 64)},
    **{"BF16": "bf16", "BOOL": "i1", "C64": "cf32", "F8_E4M3": "fp8_e4m3", "F8_E5M2": "fp8_e5m2"},
}
"""The contract's names of dtypes that safetensors files have."""
_FILE = re.compile(r"(?P<path>.*\.(?P<kind>npy|npz|safetensors|json))(?::(?P<name>.+))?", re.DOTALL)
_UNREADABLE = (
    *(ValueError, EOFError, RecursionError, NotImplementedError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error),
    *(tokenize.TokenError, SyntaxError),  # NumPy tokenizes headers that Python 2 may have written, and parses descriptions
)
"""What readers raise for the bytes of a file."""
_HEADERS: dict[tuple[int, int], Callable[[IO[bytes]], tuple[tuple[int, ...], bool, np.dtype[Any]]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def type_text(spec: TensorSpec) -> str:
    """A type as it is written in a program, dimension names in their places."""
    return f"tensor<{''.join(f'{n}x' for n in spec.shape)}{spec.dtype}>"


def names_a_file(text: str) -> bool:
    """Whether a value on a command line is a file."""
    return _FILE.fullmatch(text) is not None


def read_file(text: str, spec: TensorSpec) -> Array | str:
    """
    The array for `spec` in the file that `text` names; of a JSON file the literal, as text.

    E7002 for a file that cannot be used, E7003 for a name that it does not have, E2001 for another dtype or shape.
    """
    match = cast("re.Match[str]", _FILE.fullmatch(text))
    path, name = Path(match["path"]), match["name"]
    try:
        return _READERS[match["kind"]](path, name, spec)
    except MindError:
        raise
    except OSError as e:
        raise error("E7002", f"{path}: {e.strerror or e}", path=str(path)) from None
    except _UNREADABLE as e:
        raise error("E7002", f"{path} is no readable .{match['kind']} file: {e}", path=str(path)) from None


def _npy(path: Path, name: str | None, spec: TensorSpec) -> Array:
    if name is not None:
        raise error("E7002", f"{path} holds one array, which has no name, found {brief(name)!r}", path=str(path))
    with path.open("rb") as file:
        return _array(file, os.fstat(file.fileno()).st_size, str(path), spec)


def _npz(path: Path, name: str | None, spec: TensorSpec) -> Array:
    with zipfile.ZipFile(path) as archive:
        entries = {entry.removesuffix(".npy"): entry for entry in archive.namelist()}
        chosen = _chosen(path, name or spec.name, entries)
        info = archive.getinfo(entries[chosen])
        with archive.open(info) as file:
            return _array(file, info.file_size, f"{path}:{chosen}", spec)


def _array(file: IO[bytes], size: int, shown: str, spec: TensorSpec) -> Array:
    """An array in NumPy's format of `size` bytes, header included."""
    wanted = spec.numpy_dtype
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"format version {version} is not read")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that Python 2 may have written the header, which does not matter here
        shape, _, found = _HEADERS[version](file)
    if not _holds(found, wanted) or not spec.fits(shape):
        _refuse(shown, f"{found.name} of shape {list(shape)}", spec.fits(shape), spec)
    if size - file.tell() < math.prod(shape) * wanted.itemsize:
        raise ValueError("it is shorter than its header says")
    file.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        array = np.lib.format.read_array(file, allow_pickle=False)
    native = array.view(wanted) if found.kind == "V" else array
    return np.ascontiguousarray(native, dtype=wanted).reshape(shape)


def _holds(found: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether a file of dtype `found` holds `wanted`; the format knows dtypes beyond NumPy's own only as bytes of a size."""
    if found.newbyteorder("=") == wanted.newbyteorder("="):
        return True
    return found.kind == "V" and found.fields is None and wanted.kind not in "biufc" and found.itemsize == wanted.itemsize


def _refuse(shown: str, actual: str, only_dtype: bool, spec: TensorSpec) -> None:
    wanted = spec.numpy_dtype.name
    hint = f"; save it as {wanted}" if only_dtype else ""
    message = f"{shown} holds {actual}, expected {wanted} of shape {list(spec.shape)}{hint}"
    raise error("E2001", message, expected=type_text(spec), actual=actual)


def _chosen(path: Path, name: str, names: Iterable[str]) -> str:
    known = list(names)
    if name not in known:
        message = f"{path} holds no array {brief(name)!r}, it holds {brief(', '.join(known) or 'none')}; take one as {path}:NAME"
        raise error("E7003", message, name=name, known=known)
    return name


def _safetensors(path: Path, name: str | None, spec: TensorSpec) -> Array:
    """The format is a length of 8 bytes, a header in JSON of so many bytes, and the data, row-major and little-endian."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        size = os.fstat(file.fileno()).st_size - 8 - length
        if size < 0 or length > MAX_JSON:
            raise ValueError("it is shorter than its header says")
        header: Any = json.loads(file.read(length), object_pairs_hook=_distinct)
        if not isinstance(header, dict):
            raise ValueError("its header is no object")
        entries = {key: value for key, value in cast("dict[str, Any]", header).items() if key != "__metadata__"}
        chosen = _chosen(path, name or spec.name, entries)
        dtype, shape, begin, end = _entry(entries[chosen], chosen)
        if SAFETENSORS.get(dtype) not in (str(spec.dtype), f"s{spec.dtype}") or not spec.fits(shape):
            _refuse(f"{path}:{chosen}", f"{brief(dtype)} of shape {brief(list(shape))}", spec.fits(shape), spec)
        if end - begin != math.prod(shape) * spec.numpy_dtype.itemsize or not 0 <= begin <= end <= size:
            raise ValueError(f"the data of {brief(chosen)!r} does not lie in it")
        file.seek(begin, os.SEEK_CUR)
        data = np.frombuffer(file.read(end - begin), np.uint8)
        if dtype == "BOOL" and np.any(data > 1):
            raise ValueError(f"{brief(chosen)!r} holds what is no truth value")
        return data.view(spec.numpy_dtype.newbyteorder("<")).astype(spec.numpy_dtype).reshape(shape)


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; ValueError for a key that it has twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        raise ValueError(f"it has the key {brief(next(key for key in names if names.count(key) > 1))!r} twice")
    return found


def _entry(entry: Any, name: str) -> tuple[str, tuple[int, ...], int, int]:
    """The dtype, the shape, and the first and the last offset that a header states; ValueError for what states none."""
    held = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    dtype, shape, offsets = (held.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        raise ValueError(f"the header of {brief(name)!r} is malformed")
    begin, end = offsets
    return dtype, tuple(shape), begin, end


def _are_sizes(values: Any) -> TypeGuard[list[int]]:
    """Whether something is a list of integers from 0 on."""
    return isinstance(values, list) and all(type(n) is int and n >= 0 for n in cast("list[object]", values))


def _json(path: Path, name: str | None, spec: TensorSpec) -> str:
    if path.stat().st_size > MAX_JSON:
        raise ValueError(f"it has more than {MAX_JSON} bytes")
    held: Any = json.loads(path.read_bytes(), object_pairs_hook=_distinct)
    if name is not None or isinstance(held, dict):
        entries = cast("dict[str, Any]", held) if isinstance(held, dict) else {}
        held = entries[_chosen(path, name or spec.name, entries)]
    return json.dumps(held)


_READERS: dict[str, Callable[[Path, str | None, TensorSpec], Array | str]] = {
    "npy": _npy,
    "npz": _npz,
    "safetensors": _safetensors,
    "json": _json,
}
