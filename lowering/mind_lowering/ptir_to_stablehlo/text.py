"""A program as text that XLA takes: one module with one function, `@main`, and the meshes that its shardings name."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.printer import Printer

from mind_dialect.program import stated_attributes
from mind_dialect.ptir.types import TensorSpec, read_type

from ..outline import own_module
from .builder import ExportOptions
from .convert import POLYMORPHIC, TARGET, converted, legality
from .dynamic import is_dynamic

MAIN = "main"
"""The name that XLA looks for."""


@dataclass(frozen=True)
class StablehloProgram:
    """The text of a module whose entry is the public function `@main`, and its signature."""

    text: str
    inputs: tuple[TensorSpec, ...]
    """Inputs of the program."""
    outputs: tuple[TensorSpec, ...]
    """Outputs of the program."""
    takes_seed: bool
    """True if one more input follows: the two words of the seed, ui32, the low one first."""
    sites: tuple[Operation, ...] | None
    """With checks, the ops that may be wrong, if any; one more result, an si32, says which was first, as in `Converted`."""


def stablehlo_program(func: FuncOp, options: ExportOptions, *, shardings: bool = True) -> StablehloProgram:
    """
    A function of Core IR or PTIR, with what it calls, as StableHLO; nothing is changed.

    `shardings` keeps those that inputs and results state, and the meshes that they name. Raises what the verifier raises, E8008
    with all that cannot be converted, E6003 for what was lowered already.
    """
    module, work = own_module(func, TARGET)
    report = legality([work], module, options)
    if not report.is_legal:
        raise report.error(TARGET)
    made = converted(work, options, MAIN)
    if not shardings:
        _drop_shardings(made.func)
    whole = ModuleOp([*(mesh.clone() for mesh in (meshes(func) if shardings else ())), made.func])
    whole.sym_name = StringAttr(func.sym_name.data)
    if is_dynamic(work):
        whole.attributes[POLYMORPHIC] = BoolAttr.from_bool(True)
    types = work.function_type
    inputs, outputs = (tuple(map(read_type, side.data)) for side in (types.inputs, types.outputs))
    return StablehloProgram(printed(whole), inputs, outputs, made.takes_seed, made.sites)


def _drop_shardings(func: FuncOp) -> None:
    """Take the shardings of inputs and results away."""
    for key in ("arg_attrs", "res_attrs"):
        if isinstance(given := func.properties.pop(key, None), ArrayAttr):
            entries = [dict(d.data) for d in cast("ArrayAttr[DictionaryAttr]", given).data]
            left = (DictionaryAttr({n: a for n, a in d.items() if not n.startswith("sdy.")}) for d in entries)
            if (kept := stated_attributes(left)) is not None:
                func.properties[key] = kept


def meshes(func: FuncOp) -> list[Operation]:
    """The meshes of devices that the modules around a function declare, the nearest of each name."""
    found: dict[str, Operation] = {}
    outer = func.parent_op()
    while outer is not None:
        for op in outer.regions[0].blocks[0].ops if isinstance(outer, ModuleOp) and outer.regions[0].blocks else ():
            name = op.properties.get("sym_name")
            if op.name == "sdy.mesh" and isinstance(name, StringAttr):
                found.setdefault(name.data, op)
        outer = outer.parent_op()
    return list(found.values())


def printed(module: ModuleOp) -> str:
    """The generic text of a module, the same in every process."""
    stream = io.StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return f"{stream.getvalue()}\n"
