"""Check that a module is the same after printing and parsing, in both forms of MLIR text (`--verify-roundtrip`)."""

from __future__ import annotations

import io

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.printer import Printer

from mind_dialect.dominance import walk
from mind_dialect.errors import MindParseError, error
from mind_dialect.mlir_parser import MindParser
from mind_dialect.program import functions, input_names
from mind_dialect.stablehlo.literal import DenseAttr


def check_roundtrip(module: ModuleOp, ctx: Context) -> None:
    """Raise E7006 if the pretty or the generic text of `module` cannot be read, or reads as another module."""
    expected = _as_read(module)
    for generic in (False, True):
        form = "generic form" if generic else "text"
        printed = _text(module, generic=generic)
        try:
            again = MindParser(ctx, printed, "<printed>").parse_module()
        except MindParseError as e:
            raise error("E7006", f"the {form} of the module cannot be read: {e}".rstrip(), issue=e.error.code) from None
        if not again.is_structurally_equivalent(expected):
            op = next((a for a, b in zip(walk(expected), walk(again), strict=False) if not _alike(a, b)), module)
            raise error("E7006", f"the {form} of {op.name} reads as something else", operation=op, issue="another module")
        for before, after in zip(functions(module), functions(again), strict=True):
            if before.body.blocks and input_names(before) != input_names(after):
                message = f"the {form} of @{before.sym_name.data} has other names of inputs"
                raise error("E7006", message, operation=before, issue="other names")


def _as_read(module: ModuleOp) -> ModuleOp:
    """Return the module with the constants of the StableHLO exporter as a parser holds them."""
    if not any(isinstance(op.properties.get("value"), DenseAttr) for op in walk(module)):
        return module
    expected = module.clone()
    for op in walk(expected):
        if isinstance(value := op.properties.get("value"), DenseAttr):
            op.properties["value"] = value.as_read()
    return expected


def _text(module: ModuleOp, *, generic: bool) -> str:
    stream = io.StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def _alike(a: Operation, b: Operation) -> bool:
    """Return whether two ops are the same except for their operands and the contents of their regions."""
    parts = ((op.name, op.attributes, op.properties, op.result_types, len(op.operands), len(op.regions)) for op in (a, b))
    return next(parts) == next(parts)
