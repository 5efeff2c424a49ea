"""What the tools read besides MLIR text: by the name that -f takes, by suffix, loaded on use."""

from __future__ import annotations

import importlib

from xdsl.dialects.builtin import ModuleOp

READERS: dict[str, tuple[str, str]] = {
    "core-ir": ("mind_translate.core_ir", "parse_core_ir"),
    "ptir-json": ("mind_translate.ptir_json", "parse_ptir_json"),
    "ptir-text": ("mind_translate.ptir_text", "parse_ptir_text"),
}
"""Where the function is that reads a text, given the text and the name of its file."""
STATE_A_VERSION = frozenset({"ptir-json", "ptir-text"})
"""The forms that state a version of the contract, which `lenient` lets be missing."""
SUFFIXES: dict[str, str] = {"coreir": "core-ir", "json": "ptir-json", "ptir": "ptir-text"}


def read(frontend: str, text: str, name: str, *, lenient: bool = False) -> ModuleOp:
    """The module of a text in one of the forms of `READERS`."""
    module, function = READERS[frontend]
    parse = getattr(importlib.import_module(module), function)
    return parse(text, name, lenient=lenient) if frontend in STATE_A_VERSION else parse(text, name)
