"""
Weights in files, by memory map: safetensors, in one file or in several with an index, and `.npz` archives.

    weights = load_weights("model.safetensors.index.json", module)
    run = mind_runtime.bind(module, weights)

Headers are read first, and every name, shape and dtype is checked before a tensor is: all that does not fit is in one error.
Nothing outside of the folder of the named file is read. What a compressed archive holds is read into memory.
"""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import brief, error
from mind_dialect.program import argument_attribute, input_names
from mind_lowering.ptir_kernels.formats import ARRAY_NAMES, array_dtype

from .compilation import find_function
from .signature import TensorSpec

Array = np.ndarray[Any, Any]
Rename = Callable[[str], str] | Mapping[str, str]

MAX_JSON = 1 << 28
"""Larger headers and indices are refused."""
SAFETENSORS = {
    **{f"F{n}": f"f{n}" for n in (16, 32, 64)},
    **{f"I{n}": f"si{n}" for n in (8, 16, 32, 64)},
    **{f"U{n}": f"ui{n}" for n in (8, 16, 32, 64)},
    **{"BF16": "bf16", "BOOL": "i1", "C64": "cf32", "F8_E4M3": "fp8_e4m3", "F8_E5M2": "fp8_e5m2"},
}
"""The contract's names of dtypes that safetensors files have."""
WIDENED = {"f64": ("f32", "f16", "bf16"), "f32": ("f16", "bf16")}
"""Further dtypes that a file may hold for a dtype: floats whose widening loses nothing."""
INDEX = ".index.json"
_CONTRACT = {array: name for name, array in ARRAY_NAMES.items()}
_UNREADABLE = (
    ValueError,
    EOFError,
    RecursionError,
    NotImplementedError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
    SyntaxError,
)


class Held(NamedTuple):
    """The place of a tensor: its file, its first byte (None in a compressed member of an archive), and its type."""

    path: Path
    name: str
    dtype: str
    """The contract's name, or for others the file's."""
    shape: tuple[int, ...]
    offset: int | None
    end: int = 0
    """The byte behind the last one."""


class Wanted(NamedTuple):
    """The type that a tensor must have: the contract's name of its dtype, and its dimensions, which may be names."""

    dtype: str
    shape: tuple[int | str, ...]


def load_weights(
    path: Path | str,
    module: ModuleOp,
    function: str | None = None,
    *,
    rename: Rename = lambda name: name,
    ignore: Callable[[str], bool] = lambda name: False,
) -> dict[str, Array]:
    """
    The arrays for the inputs of a function that are marked `ptir.parameter`, by their names.

    `path` is a `.safetensors` or `.npz` file, an index (`.index.json`) of several, or a folder that holds one of these. `rename`
    gives the name in the file for that of an input: a function, or regular expressions with what each is replaced by. `ignore`
    says which names in the file are of no use. Arrays are memory maps, not writeable, but for floats that are widened (bf16 and
    f16 for f32). Raises as `read_weights`, and E7003 and E7001 for the name of the function.
    """
    func = find_function(module, function)
    specs = [TensorSpec.of(name, a.type) for name, a in zip(input_names(func), func.body.block.args, strict=True)]
    wanted = {
        spec.name: Wanted({"i32": "si32", "i64": "si64"}.get(spec.dtype.name, spec.dtype.name), spec.shape)
        for i, spec in enumerate(specs)
        if argument_attribute(func, i, "ptir.parameter")
    }
    return read_weights(path, wanted, rename=rename, ignore=ignore)


def read_weights(
    path: Path | str,
    wanted: Mapping[str, Wanted],
    *,
    rename: Rename = lambda name: name,
    ignore: Callable[[str], bool] = lambda name: False,
) -> dict[str, Array]:
    """
    The arrays of `wanted`, in its order, as `load_weights` reads them.

    Raises one error that lists all that does not fit: E7003 if a tensor is missing or was not asked for, else E3003 if a shape
    is wrong, else E2001 for dtypes. E7002 for a file that cannot be read, or an index that names a file outside of its folder.
    """
    held = held_in(path)
    names = {name: _renamed(name, rename) for name in wanted}
    _check(path, held, wanted, names, ignore)
    try:
        return {name: mapped_array(held[names[name]], want.dtype) for name, want in wanted.items()}
    except OSError as e:
        raise error("E7002", f"{path}: {e.strerror or e}", path=str(path)) from None
    except _UNREADABLE as e:
        raise error("E7002", f"{path} cannot be read: {brief(e)}", path=str(path)) from None


def _renamed(name: str, rename: Rename) -> str:
    if callable(rename):
        return rename(name)
    for pattern, replacement in rename.items():
        name = re.sub(pattern, replacement, name)
    return name


def _check(
    path: Path | str,
    held: Mapping[str, Held],
    wanted: Mapping[str, Wanted],
    names: Mapping[str, str],
    ignore: Callable[[str], bool],
) -> None:
    asked = set(names.values())
    absent = [names[name] for name in wanted if names[name] not in held]
    unasked = [name for name in sorted(held) if name not in asked and not ignore(name)]
    unfit = [*absent, *unasked]
    missing = [f"no tensor {brief(repr(name))}" for name in absent]
    extra = [f"{brief(repr(name))}, which no input has" for name in unasked]
    shapes: list[str] = []
    dtypes: list[str] = []
    for name, want in wanted.items():
        if (found := held.get(names[name])) is None:
            continue
        if len(found.shape) != len(want.shape) or any(
            isinstance(n, int) and m != n for m, n in zip(found.shape, want.shape, strict=True)
        ):
            shapes.append(f"{brief(found.name)} has shape {brief(list(found.shape))}, expected {list(want.shape)}")
        if found.dtype not in (want.dtype, *WIDENED.get(want.dtype, ())):
            expected = " or ".join((want.dtype, *WIDENED.get(want.dtype, ())))
            dtypes.append(f"{brief(found.name)} is {brief(found.dtype)}, expected {expected}")
    lines = [*missing, *extra, *shapes, *dtypes]
    if not lines:
        return
    message = f"{brief(path)} does not fit in {len(lines)} places:" + "".join(f"\n  {line}" for line in lines[:100])
    if unfit:
        raise error("E7003", message, name=unfit[0], known=sorted(held), diagnostics=lines)
    if shapes:
        raise error("E3003", message, dimension=shapes[0], extents=[], diagnostics=lines)
    raise error("E2001", message, expected=sorted(SAFETENSORS.values()), actual=dtypes[0], diagnostics=lines)


def held_in(path: Path | str) -> dict[str, Held]:
    """Find the tensors of a file, an index or a folder, from headers alone. E7002 for what cannot be read."""
    path = Path(path)
    try:
        if path.is_dir():
            path = _of_folder(path)
        if path.name.endswith(INDEX):
            return _indexed(path)
        if path.suffix == ".npz":
            return _archived(path)
        return _safetensors(path)
    except OSError as e:
        raise error("E7002", f"{brief(path)}: {e.strerror or e}", path=str(path)) from None
    except _UNREADABLE as e:
        raise error("E7002", f"{brief(path)} is no readable file of weights: {brief(e)}", path=str(path)) from None


def _of_folder(folder: Path) -> Path:
    for pattern in (f"*.safetensors{INDEX}", "*.safetensors", "*.npz"):
        found = sorted(folder.glob(pattern))
        if len(found) == 1:
            return found[0]
        if found:
            raise ValueError(f"several files of weights: {[file.name for file in found]}; name one")
    raise ValueError("it holds no .safetensors or .npz file")


def _indexed(path: Path) -> dict[str, Held]:
    """The tensors of several files, by the index that says which is where."""
    if path.stat().st_size > MAX_JSON:
        raise ValueError(f"it has more than {MAX_JSON} bytes")
    index: Any = json.loads(path.read_bytes(), object_pairs_hook=distinct)
    places = cast("dict[str, Any]", index).get("weight_map") if isinstance(index, dict) else None
    if not isinstance(places, dict):
        raise ValueError("it has no weight_map")
    folder, files = path.parent.resolve(), dict[str, dict[str, Held]]()
    found: dict[str, Held] = {}
    for name, file in cast("dict[str, Any]", places).items():
        if not isinstance(file, str) or not file or file in (".", "..") or re.search(r"[/\\\0:]", file):
            raise ValueError(f"{brief(name)} lies in {brief(file)!r}, expected the plain name of a file of its folder")
        if (folder / file).resolve().parent != folder:
            raise ValueError(f"{brief(file)} is a link out of its folder; copy the file")
        if file not in files:
            files[file] = _safetensors(folder / file)
        if name not in files[file]:
            raise ValueError(f"{brief(file)} has no tensor {brief(name)!r}")
        found[name] = files[file][name]
    return found


def safetensors_entries(path: Path) -> dict[str, Held]:
    """
    The tensors of a safetensors file: a length of 8 bytes, a header in JSON of so many bytes, and the data, row-major.

    Raises ValueError for what is no such file, and OSError.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        size = os.fstat(file.fileno()).st_size - 8 - length
        if size < 0 or length > MAX_JSON:
            raise ValueError("it is shorter than its header says")
        header: Any = json.loads(file.read(length), object_pairs_hook=distinct)
    if not isinstance(header, dict):
        raise ValueError("its header is no object")
    found: dict[str, Held] = {}
    for name, entry in cast("dict[str, Any]", header).items():
        if name != "__metadata__":
            dtype, shape, begin, end = _entry(entry, name)
            found[name] = Held(path, name, SAFETENSORS.get(dtype, dtype), shape, 8 + length + begin, 8 + length + end)
    return found


def _safetensors(path: Path) -> dict[str, Held]:
    """The tensors of a safetensors file; ValueError unless their dtypes are known, and their data is all that it holds."""
    found = safetensors_entries(path)
    at = None
    for held in sorted(found.values(), key=lambda held: (held.offset, held.end)):
        if held.dtype not in SAFETENSORS.values():
            raise ValueError(f"{brief(held.name)!r} has the unknown dtype {brief(held.dtype)}")
        if not _lies_in(held, path.stat().st_size) or at not in (None, held.offset):
            raise ValueError(f"the data of {brief(held.name)!r} does not lie in it")
        at = held.end
    if at not in (None, path.stat().st_size):
        raise ValueError("it is longer than its header says")
    return found


def _lies_in(held: Held, size: int) -> bool:
    """Return whether the data of a tensor of a known dtype has its length, and lies in a file of so many bytes."""
    begin = held.offset or 0
    return 0 <= begin <= held.end <= size and held.end - begin == math.prod(held.shape) * _width(held.dtype)


def _width(dtype: str) -> int:
    """The bytes of an element, known without ml_dtypes."""
    return {"bf16": 2, "i1": 1, "cf32": 8}.get(dtype) or int(re.sub(r"^\D+|_.*$", "", dtype)) // 8


def distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
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
    """Return whether something is a list of integers from 0 on."""
    return isinstance(values, list) and all(type(n) is int and n >= 0 for n in cast("list[object]", values))


def _archived(path: Path) -> dict[str, Held]:
    """The arrays of an `.npz` archive."""
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        return {held.name: held for info in archive.infolist() for held in _member(path, archive, info, file)}


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: Any) -> Iterator[Held]:
    if not info.filename.endswith(".npy"):
        return
    name = info.filename.removesuffix(".npy")
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
        if read is None:
            raise ValueError(f"format version {version} is not read")
        shape, column_major, dtype = read(member)
        start = member.tell()
    if info.file_size - start != math.prod(shape) * dtype.itemsize or dtype.hasobject:
        raise ValueError(f"{brief(name)} is no array of numbers")
    offset: int | None = None
    if info.compress_type == zipfile.ZIP_STORED and not column_major and dtype.isnative:
        file.seek(info.header_offset)
        local = file.read(30)
        offset = info.header_offset + 30 + int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little") + start
    end = (offset or 0) + math.prod(shape) * dtype.itemsize
    yield Held(path, name, _CONTRACT.get(dtype.name, dtype.name), shape, offset, end)


def mapped_array(held: Held, wanted: str) -> Array:
    """
    The tensor of a file in a dtype, mapped; read where it is compressed, not aligned, or to be widened.

    Raises ValueError for truths that are none, and OSError.
    """
    dtype = array_dtype(held.dtype)
    if held.offset is None:
        with np.load(held.path, allow_pickle=False) as archive:
            found = np.ascontiguousarray(archive[held.name], dtype)
    elif not _lies_in(held, held.path.stat().st_size):
        raise ValueError(f"the data of {brief(held.name)!r} does not lie in it")
    elif not math.prod(held.shape):
        found = np.empty(held.shape, dtype)
    else:
        count = math.prod(held.shape) * dtype.itemsize
        mapped = np.memmap(held.path, np.uint8, "r", held.offset, (count,)).view(np.ndarray)
        if held.dtype == "i1" and np.any(mapped > 1):
            raise ValueError(f"{brief(held.name)!r} holds a value that is not a boolean")
        found = np.require(mapped.view(dtype.newbyteorder("<")), dtype, "A")
    found = found.reshape(held.shape)
    return found if held.dtype == wanted else found.astype(array_dtype(wanted))
