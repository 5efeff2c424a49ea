"""
From a file or text to a module, in every form that is read: MLIR, StableHLO, ONNX, Core IR, PTIR's JSON and display forms.

Readers are loaded on use.

    from mind_tools.frontends import load, parse
    module = load("loss.mlir")
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import brief, error
from mind_dialect.mlir_parser import MindParser
from mind_dialect.ptir_program import state_version
from mind_dialect.source_text import decode

from .universe import tool_dialects

if TYPE_CHECKING:
    from .originals import Original

READERS: dict[str, tuple[str, str]] = {
    "core-ir": ("mind_translate.core_ir", "parse_core_ir"),
    "ptir-json": ("mind_translate.ptir_json", "parse_ptir_json"),
    "ptir-text": ("mind_translate.ptir_text", "parse_ptir_text"),
    "stablehlo": ("mind_translate.stablehlo", "read_stablehlo"),
}
"""The module and name of the function that reads a text, given the text and the name of its file; MLIR text is read here."""
IS_MLIR = frozenset({"stablehlo"})
"""The forms that are MLIR text, whose ops have locations."""
BINARY_READERS: dict[str, tuple[str, str]] = {"onnx": ("mind_translate.onnx", "read_onnx")}
"""The module and name of the function that reads bytes, given them and the name of their file."""
ORIGINALS: dict[str, tuple[str, str]] = {
    "pt2": ("mind_tools.originals", "original_torch"),
    "jaxexport": ("mind_tools.originals", "original_jax"),
}
"""
The module and name of the function that reads a file of another system, given its path, so that this system runs it.

The files are those of `torch.export.save` and `jax.export`; the names of the forms are their suffixes.
"""
STATE_A_VERSION = frozenset({"ptir-json", "ptir-text"})
"""The forms that state a version of the contract, which `lenient` lets be missing."""
SUFFIXES: dict[str, str] = {"coreir": "core-ir", "json": "ptir-json", "mlirbc": "stablehlo", "onnx": "onnx", "ptir": "ptir-text"}
"""The forms of files by suffix, other than `.mlir`."""


BYTECODE = b"ML\xefR"
"""The first bytes of MLIR bytecode, StableHLO's portable artifacts included."""


def text_of(data: bytes, name: str, byte_offset: int = 0) -> str:
    """The text of a file's bytes; bytecode as the text of the module that it holds. E1001 for what is not UTF-8."""
    if data.startswith(BYTECODE):
        from mind_translate.stablehlo.bytecode import bytecode_text

        return bytecode_text(data, name)
    return decode(data, name, byte_offset)


def read(frontend: str, text: str, name: str, *, lenient: bool = False, line_offset: int = 0) -> ModuleOp:
    """The module of a text in one of the forms of `READERS`; `line_offset` lines stand above it in the file."""
    module, function = READERS[frontend]
    parse = getattr(importlib.import_module(module), function)
    if frontend in IS_MLIR:
        return parse(text, name, line_offset=line_offset)
    return parse(text, name, lenient=lenient) if frontend in STATE_A_VERSION else parse(text, name)


def read_binary(frontend: str, data: bytes, name: str) -> ModuleOp:
    """The module of bytes in one of the forms of `BINARY_READERS`; external data lies next to the file `name`."""
    module, function = BINARY_READERS[frontend]
    return getattr(importlib.import_module(module), function)(data, name)


def original_reader(path: str, frontend: str | None) -> Callable[[str], tuple[ModuleOp, Original]] | None:
    """Return the function that reads a file in one of the forms of `ORIGINALS`, None for a file in another form."""
    if (place := ORIGINALS.get(frontend or Path(path).suffix.removeprefix("."))) is None:
        return None
    return getattr(importlib.import_module(place[0]), place[1])


def form_of_bytes(data: bytes, form: str) -> str:
    """The form of a file, where its first bytes say more than `form`: no text begins as an ONNX model does."""
    return "onnx" if form == "mlir" and len(data) > 1 and data[0] == 8 and 0 < data[1] < 128 else form


def parse(text: str, frontend: str = "mlir", name: str = "<text>", *, lenient: bool = False) -> ModuleOp:
    """
    The module of a text: MLIR with ops of xDSL's dialects, of ours and of other plug-ins, or a form named by `frontend`.

    Functions of StableHLO in MLIR become PTIR, as by the pass `mind-convert-stablehlo-to-ptir`. The module is not verified;
    `compile` does that, and `mind_dialect.verify.verify`. `lenient` reads PTIR that states no version as ours, `name` is what
    errors call the text. Raises `MindParseError`, which shows the place; E7003 for an unknown `frontend`.
    """
    if frontend in READERS:
        return read(frontend, text, name, lenient=lenient)
    if frontend != "mlir":
        known = ["mlir", *READERS]
        raise error("E7003", f"unknown frontend {brief(frontend)!r}, expected one of {known}", name=frontend, known=known)
    module = parse_mlir(text, name)
    if "stablehlo" in tool_dialects() and any(f"{name}." in text for name in ("stablehlo", "chlo", "sdy")):
        from mind_translate.stablehlo import convert_module, holds_stablehlo

        if holds_stablehlo(module):
            convert_module(module)
    if lenient:
        state_version(module)
    return module


def parse_mlir(text: str, name: str = "<text>") -> ModuleOp:
    """The module of an MLIR text with ops of xDSL's dialects, of ours and of other plug-ins, as it stands; `MindParseError`."""
    ctx = Context()
    for dialect, factory in tool_dialects().items():
        ctx.register_dialect(dialect, factory)
    return MindParser(ctx, text, name).parse_module()


def form_of(path: Path | str, frontend: str | None = None) -> str:
    """The form of a file: `frontend`, else what its suffix says; E7002 for an unknown suffix."""
    known = {".mlir": "mlir", **{f".{suffix}": form for suffix, form in SUFFIXES.items()}}
    if (form := frontend or known.get(Path(path).suffix)) is None:
        message = f"{path}: unknown suffix, expected one of {', '.join(known)}, or the option -f (frontend)"
        raise error("E7002", message, path=str(path))
    return form


def load(path: Path | str, frontend: str | None = None, *, lenient: bool = False) -> ModuleOp:
    """The module of a file, as `parse` reads it, by its suffix or as `frontend` says; E7002 for a file that cannot be read."""
    form = form_of(path, frontend)
    try:
        data = Path(path).read_bytes()
    except OSError as e:
        raise error("E7002", f"{path}: {e.strerror or e}", path=str(path)) from None
    if (form := form_of_bytes(data, form)) in BINARY_READERS:
        return read_binary(form, data, str(path))
    return parse(text_of(data, str(path)), form, str(path), lenient=lenient)
