"""
ONNX models as they are stored: protobuf, opsets, tensors, data in other files.

The package `onnx` (the extra `onnx`) reads the protobuf. Data in other files is mapped into memory, and only from files inside
the model's folder: links and `..` that leave it are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mind_dialect.errors import MindError, brief, error
from mind_dialect.ptir.types import DTYPES, PtirDType

Array = np.ndarray[Any, Any]
MAX_BYTES = (1 << 31) - 1
"""Most bytes that protobuf can hold in one message."""
OLDEST_OPSET = 13
"""Operators of older opsets are brought to the form that they have in this one."""
DOMAINS = ("", "ai.onnx")
"""Names of the default domain."""
_SPECIAL = {"bool": "i1", "bfloat16": "bf16", "float8_e4m3fn": "fp8_e4m3", "float8_e5m2": "fp8_e5m2"}
_KINDS = {"int": "si", "uint": "ui", "float": "f", "complex": "cf"}
_BY_NUMBER = {
    **{1: "f32", 2: "ui8", 3: "si8", 4: "ui16", 5: "si16", 6: "si32", 7: "si64", 9: "i1", 10: "f16", 11: "f64", 12: "ui32"},
    **{13: "ui64", 14: "cf32", 15: "cf64", 16: "bf16", 17: "fp8_e4m3", 19: "fp8_e5m2", 21: "ui4", 22: "si4"},
}
"""PTIR's dtypes by the numbers of `TensorProto.DataType`."""
NUMBER_OF = {name: number for number, name in _BY_NUMBER.items()}


def package(what: str = "ONNX models") -> Any:
    """The module `onnx`; E7002 where it is not installed."""
    try:
        return import_module("onnx")
    except ImportError as e:
        message = f"{what} need the package onnx: {brief(e)}; install mind-dialect[onnx]"
        raise error("E7002", message, path="onnx") from None


def is_onnx(data: bytes) -> bool:
    """
    Return whether bytes begin as an ONNX model does, with its version of the format; no text begins so.

    >>> is_onnx(bytes([8, 10, 18, 0])), is_onnx(b"module {}")
    (True, False)
    """
    return len(data) > 1 and data[0] == 8 and 0 < data[1] < 128


def dtype_of_number(number: int) -> PtirDType | None:
    """The dtype of an element type of ONNX; None for one that PTIR lacks."""
    name = _BY_NUMBER.get(number)
    return None if name is None else DTYPES[name]


def dtype_of_array(dtype: np.dtype[Any]) -> PtirDType | None:
    """
    The dtype of an array; None for one that PTIR lacks.

    >>> str(dtype_of_array(np.dtype("uint8"))), dtype_of_array(np.dtype("U1"))
    ('ui8', None)
    """
    name = dtype.name
    if name in _SPECIAL:
        return DTYPES[_SPECIAL[name]]
    word = name.rstrip("0123456789")
    bits = name[len(word) :]
    if word not in _KINDS or not bits:
        return None
    return DTYPES.get(f"{_KINDS[word]}{int(bits) // 2 if word == 'complex' else bits}")


def array_dtype(dtype: PtirDType) -> np.dtype[Any]:
    """NumPy's dtype of ours; those that it lacks are of `ml_dtypes`, which `onnx` brings."""
    return np.dtype(package().helper.tensor_dtype_to_np_dtype(NUMBER_OF[dtype.name]))


def type_name(number: int) -> str:
    """Return the name that ONNX gives an element type."""
    names: Mapping[int, str] = {v: k for k, v in package().TensorProto.DataType.items()}
    return names.get(number, str(number))


def parse_model(data: bytes, name: str) -> Any:
    """The `ModelProto` of bytes. E7002 without the package or for more than 2 GiB, E1007 for what is no model."""
    onnx = package()
    if len(data) > MAX_BYTES:
        message = f"{name}: {len(data)} bytes, protobuf holds at most {MAX_BYTES}; save the tensors as external data"
        raise error("E7002", message, path=name)
    try:
        model = onnx.ModelProto.FromString(data)
    except import_module("google.protobuf.message").DecodeError as e:
        raise error("E1007", f"{name}: not an ONNX model, its protobuf cannot be read: {brief(e)}") from None
    if not model.HasField("graph") or not model.ir_version:
        raise error("E1007", f"{name}: not an ONNX model, it has no {'graph' if model.ir_version else 'ir_version'}")
    if (field := _no_text(model)) is not None:
        raise error("E1007", f"{name}: not an ONNX model, a {field} is not UTF-8")
    return model


def _no_text(model: Any) -> str | None:
    """The name of a field of text whose bytes are not UTF-8, which protobuf hands over as bytes; None where all are."""
    stack = [model]
    while stack:
        for field, value in stack.pop().ListFields():
            values = value if hasattr(value, "append") or hasattr(value, "add") else [value]
            if field.type == field.TYPE_STRING and any(isinstance(v, bytes) for v in values):
                return field.name
            if field.type == field.TYPE_MESSAGE:
                stack.extend(values)
    return None


def read_bytes(path: Path) -> bytes:
    """The bytes of a file; E7002 for what cannot be read or has more than 2 GiB."""
    try:
        if (size := path.stat().st_size) > MAX_BYTES:
            message = f"{path}: {size} bytes, protobuf holds at most {MAX_BYTES}; save the tensors as external data"
            raise error("E7002", message, path=str(path))
        return path.read_bytes()
    except (OSError, ValueError) as e:
        raise error("E7002", f"{path}: {getattr(e, 'strerror', None) or e}", path=str(path)) from None


def opsets(model: Any, name: str) -> dict[str, int]:
    """The version of each domain, `""` for the default one; E8006 for versions that are not read, E4002 for two of one domain."""
    onnx = package()
    found: dict[str, int] = {}
    for entry in model.opset_import:
        domain = "" if entry.domain in DOMAINS else entry.domain
        if found.setdefault(domain, entry.version) != entry.version:
            message = f"{name}: opsets {found[domain]} and {entry.version} of {_shown(domain)}, expected one"
            raise error("E4002", message, value=_shown(domain))
        newest = onnx.defs.onnx_opset_version() if not domain else None
        if newest is not None and not 1 <= entry.version <= newest:
            advice = "; install a newer onnx" if entry.version > newest else ""
            message = f"{name}: opset {entry.version} of ai.onnx, expected {OLDEST_OPSET} to {newest}{advice}"
            raise error("E8006", message, given=str(entry.version), expected=f"{OLDEST_OPSET} to {newest}")
    if not found:
        raise error("E8006", f"{name}: has no opset, expected {OLDEST_OPSET} or newer of ai.onnx", given=None, expected="opsets")
    return found


def _shown(domain: str) -> str:
    return brief(domain) or "ai.onnx"


# Tensors


class Tensors:
    """Reads tensors of one model; `folder` holds the files of external data, None for a model that came from memory."""

    def __init__(self, folder: Path | None):
        self.folder = folder
        self._maps: dict[Path, Array] = {}

    def array(self, tensor: Any) -> Array | None:
        """
        The array of a `TensorProto`; None for element types that PTIR lacks.

        Raises E4005 for data that does not fit the shape, E7002 for external data that cannot be read.
        """
        dtype = dtype_of_number(tensor.data_type)
        if dtype is None:
            return None
        shape = tuple(tensor.dims)
        if any(n < 0 for n in shape):
            raise _unfit(tensor, dtype, "has a negative extent")
        if tensor.data_location == package().TensorProto.EXTERNAL:
            return self._external(tensor, dtype, shape)
        try:
            found: Array = package().numpy_helper.to_array(tensor)
        except MindError:
            raise
        except Exception as e:  # whatever the package raises for data that does not fit
            raise _unfit(tensor, dtype, f"cannot be read: {brief(e)}") from None
        if found.shape != shape:
            raise _unfit(tensor, dtype, f"holds {found.size} elements")
        return found

    def _external(self, tensor: Any, dtype: PtirDType, shape: tuple[int, ...]) -> Array:
        stated = {entry.key: entry.value for entry in tensor.external_data}
        path = self._inside(tensor, stated.get("location", ""))
        if dtype.bits == 4:
            raise _unfit(tensor, dtype, "is packed external data; save it in the model itself")
        numbers = [stated.get("offset", "0"), stated.get("length", "0")]
        if any(not (n.isascii() and n.isdigit() and len(n) < 20) for n in numbers):
            raise _unfit(tensor, dtype, f"states offset {brief(numbers[0])} and length {brief(numbers[1])}")
        offset, length = map(int, numbers)
        wanted = array_dtype(dtype)
        size = math.prod(shape) * wanted.itemsize
        if length not in (0, size) and "length" in stated:
            raise _unfit(tensor, dtype, f"states {length} bytes, expected {size}")
        if size == 0:
            return np.zeros(shape, wanted)
        if path not in self._maps:
            self._maps[path] = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.zeros(0, np.uint8)
        data = self._maps[path][offset : offset + size]
        if data.size != size:
            raise _unfit(tensor, dtype, f"ends beyond its file, which has {self._maps[path].size} bytes")
        if dtype.bits == 1 and np.any(data > 1):
            raise _unfit(tensor, dtype, "holds a value that is not a boolean")
        return np.frombuffer(data, wanted.newbyteorder("<") if wanted.kind in "iufc" else wanted).reshape(shape)

    def _inside(self, tensor: Any, location: str) -> Path:
        """The file of external data; E7002 unless it lies in the model's folder."""
        shown = f"the data of tensor {brief(tensor.name)!r} lies in {brief(location)!r}"
        if self.folder is None:
            raise error("E7002", f"{shown}, expected a model from a file, whose folder is known", path=brief(location))
        try:
            folder = self.folder.resolve()
            path = (folder / location).resolve()
            if not location or not path.is_relative_to(folder):
                raise error("E7002", f"{shown}, outside of the model's folder; move it next to the model", path=brief(location))
            if not path.is_file():
                raise error("E7002", f"{shown}, which is not a file", path=brief(location))
        except (OSError, ValueError, RuntimeError) as e:
            raise error("E7002", f"{shown}: {brief(e)}", path=brief(location)) from None
        return path


def _unfit(tensor: Any, dtype: PtirDType, issue: str) -> MindError:
    message = f"tensor {brief(tensor.name)!r} of {dtype} and shape {brief(list(tensor.dims))} {issue}"
    return error("E4005", message, dtype=str(dtype), issue=issue)
