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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from mind_dialect.errors import MindError, brief, error
from mind_runtime import TensorSpec
from mind_runtime.weights import MAX_JSON, distinct, mapped_array, safetensors_entries

Array = np.ndarray[Any, Any]

_FILE = re.compile(r"(?P<path>.*\.(?P<kind>npy|npz|safetensors|json))(?::(?P<name>.+))?", re.DOTALL)
_UNREADABLE = (
    *(ValueError, EOFError, RecursionError, NotImplementedError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error),
    *(tokenize.TokenError, SyntaxError),  # NumPy tokenizes headers that Python 2 may have written, and parses descriptions
)
"""Exceptions that readers raise for the bytes of a file."""
_HEADERS: dict[tuple[int, int], Callable[[IO[bytes]], tuple[tuple[int, ...], bool, np.dtype[Any]]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def type_text(spec: TensorSpec) -> str:
    """A type as it is written in a program, dimension names in their places."""
    return f"tensor<{''.join(f'{n}x' for n in spec.shape)}{spec.dtype}>"


def names_a_file(text: str) -> bool:
    """Return whether a value on a command line is a file."""
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
    """Return whether a file of dtype `found` holds `wanted`; the format has dtypes beyond NumPy's own only as bytes of a size."""
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
    entries = safetensors_entries(path)
    held = entries[_chosen(path, name or spec.name, entries)]
    if held.dtype not in (str(spec.dtype), f"s{spec.dtype}") or not spec.fits(held.shape):
        _refuse(f"{path}:{held.name}", f"{brief(held.dtype)} of shape {brief(list(held.shape))}", spec.fits(held.shape), spec)
    return mapped_array(held, held.dtype)


def _json(path: Path, name: str | None, spec: TensorSpec) -> str:
    if path.stat().st_size > MAX_JSON:
        raise ValueError(f"it has more than {MAX_JSON} bytes")
    held: Any = json.loads(path.read_bytes(), object_pairs_hook=distinct)
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
