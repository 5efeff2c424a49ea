"""
StableHLO in: text of StableHLO, CHLO and Shardy, pretty or generic, as PTIR programs, without jaxlib.

    from mind_translate.stablehlo import read_stablehlo
    module = read_stablehlo(jax.jit(f).lower(x).as_text())
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from mind_dialect.enzyme import Enzyme
from mind_dialect.mlir_parser import MindParser
from mind_dialect.source_text import decode
from mind_dialect.stablehlo import DIALECTS, Torch

from .bytecode import bytecode_text, is_bytecode
from .module import ConvertStablehloToPtirPass, convert_module, holds_stablehlo

__all__ = [
    "ConvertStablehloToPtirPass",
    "bytecode_text",
    "convert_module",
    "holds_stablehlo",
    "is_bytecode",
    "parse_stablehlo",
    "read_stablehlo",
    "stablehlo_context",
]


def stablehlo_context() -> Context:
    """Return a context with what StableHLO programs hold; ops of other dialects are kept, to be listed as refused."""
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, Func, Enzyme, *DIALECTS.values(), Torch):
        context.load_dialect(dialect)
    return context


def parse_stablehlo(text: str | bytes, name: str = "<stablehlo>", *, line_offset: int = 0) -> ModuleOp:
    """
    The module of a text, or of bytecode, as it is written, not converted. `line_offset` is added to the lines of locations.

    Raises `MindParseError`, or as `bytecode_text`.
    """
    if isinstance(text, bytes):
        text = bytecode_text(text, name) if is_bytecode(text) else decode(text, name)
    return MindParser(stablehlo_context(), text, name, line_offset).parse_module()


def read_stablehlo(text: str | bytes, name: str = "<stablehlo>", *, line_offset: int = 0) -> ModuleOp:
    """
    The PTIR module of a StableHLO program in MLIR text, or, with the extra `jax`, in bytecode or a portable artifact.

    `line_offset` is the number of lines of the file `name` above the text.

    Raises `MindParseError` for what is no such text, E8008 with all that has no form in PTIR, and coded errors for ops that are
    wrong in themselves, each at its op.
    """
    module = parse_stablehlo(text, name, line_offset=line_offset)
    convert_module(module, everything=True)
    return module
