"""
ONNX in: models of opset 7 and newer as PTIR programs. The extra `onnx` reads the protobuf.

    from mind_translate.onnx import from_onnx, read_onnx
    module = read_onnx("model.onnx")              # initialisers are constants
    module, weights = from_onnx("model.onnx")     # initialisers are inputs, bound by name
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import brief, error

from .graph import Options, convert_model
from .model import is_onnx, package, parse_model, read_bytes

__all__ = ["from_onnx", "is_onnx", "read_onnx"]
Array = np.ndarray[Any, Any]


def read_onnx(
    source: Path | str | bytes,
    name: str | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    static: Mapping[str, Array] | None = None,
) -> ModuleOp:
    """
    Return the PTIR module of a model, from a file or from its bytes; initialisers are constants.

    `name` is what messages call bytes; external data lies in the folder of a file of that name. `dims` gives sizes to dimensions
    with names, `static` gives values to inputs that the program's shapes depend on.

    Raises E7002 without the package `onnx` and for files that cannot be used, E2001 for a source of another type, E1007 for what
    is no model, E8006 for opsets that are not read, E8008 with all that has no form in PTIR, and coded errors for nodes that are
    wrong in themselves.
    """
    return _converted(source, name, Options(dict(dims or {}), dict(static or {})))[0]


def from_onnx(
    source: Path | str | bytes,
    name: str | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    static: Mapping[str, Array] | None = None,
) -> tuple[ModuleOp, dict[str, Array]]:
    """
    Return the PTIR module of a model whose initialisers are inputs, and their values by name, in the order of the inputs.

    Initialisers of one element, and those whose values shapes depend on, stay constants. Parameters and errors as `read_onnx`.
    """
    return _converted(source, name, Options(dict(dims or {}), dict(static or {}), parameters=True))


def _converted(source: Path | str | bytes, name: str | None, options: Options) -> tuple[ModuleOp, dict[str, Array]]:
    package()
    if isinstance(source, bytes):
        shown = name or "<onnx>"
        folder = Path(name).parent if name is not None and Path(name).is_file() else None
        return convert_model(parse_model(source, shown), shown, folder, options)
    try:
        path = Path(source)
    except TypeError:
        message = f"expected a path or the bytes of a model (SerializeToString), found {brief(type(source).__name__)}"
        raise error("E2001", message, expected="a path or bytes", actual=type(source).__name__) from None
    return convert_model(parse_model(read_bytes(path), str(path)), str(path), path.parent, options)
