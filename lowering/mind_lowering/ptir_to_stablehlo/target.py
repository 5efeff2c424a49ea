"""The pass, the printing target and the conversion target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.utils.target import Target

from mind_dialect import register
from mind_dialect.errors import error
from mind_dialect.program import functions, functions_called
from mind_dialect.ptir_program import stated_entry
from mind_dialect.stablehlo import DIALECTS

from ..conversion import ConversionOptions, ConversionTarget, ConvertedIR
from ..conversion.registry import entrypoints, rename_functions
from .builder import ExportOptions
from .convert import TARGET, checked_options, convert_module, legality, with_ptir
from .text import printed, stablehlo_program


@dataclass(frozen=True)
class ConvertPtirToStablehloPass(ModulePass):
    """
    Convert PTIR to StableHLO and CHLO, with calls inlined; one error lists all that has no form.

    Integers become signless, and our attributes are dropped. `precision` (highest, high or default) is that of products of f32.
    `checks=true` adds a result that says which op an input made wrong, to functions where one may be. Random numbers take the
    seed as one more input. `bounds=true` writes upper bounds that are declared into types of arguments.
    """

    name = "mind-convert-ptir-to-stablehlo"

    precision: str = "highest"
    checks: bool = False
    bounds: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = checked_options(self.precision, self.checks, dynamic=True, bounds=self.bounds)
        register(ctx)
        for name, dialect in DIALECTS.items():
            if ctx.get_optional_dialect(name) is None:
                ctx.load_dialect(dialect)
        convert_module(op, options)


@dataclass(frozen=True)
class StablehloPrintTarget(Target):
    """
    Print one function as generic StableHLO text with the entry `@main`, for XLA, IREE and other systems.

    `function=name` chooses it where the program has several and states no entry. `precision=high` and `checks=true` are as in
    the pass, and `bounds=true`.
    """

    name = "mind-stablehlo"

    function: str | None = None
    precision: str = "highest"
    checks: bool = False
    bounds: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        options = checked_options(self.precision, self.checks, dynamic=True, bounds=self.bounds)
        output.write(stablehlo_program(entry_function(module, self.function), options).text)


def entry_function(module: ModuleOp, name: str | None) -> FuncOp:
    """The function called `name`, else the entry that the module states, else the only one. E7003 and E7001."""
    known = [f.sym_name.data for f in functions(module)]
    name = stated_entry(module, known) if name is None else name
    found = list(functions(module)) if name is None else functions_called(module, name)
    if not found:
        message = "the module holds no function" if name is None else f"no function {name!r}, expected one of {known}"
        raise error("E7003", message, name=name, known=known)
    if len(found) > 1:
        raise error("E7001", f"several functions; set function= to one of {known}", option="function", known=known)
    return found[0]


OPTIONS = ExportOptions(dynamic=True)


class StablehloTarget(ConversionTarget):
    """Generic text of StableHLO and CHLO, one function for each of the program's."""

    name = TARGET
    file_extension = "mlir"
    version = 1

    def check(self, module: ModuleOp, options: ConversionOptions) -> None:
        if not (report := legality(with_ptir(module), module, OPTIONS)).is_legal:
            raise report.error(TARGET)
        entrypoints(module, options)

    def convert(self, module: ModuleOp, options: ConversionOptions) -> ConvertedIR:
        points = entrypoints(module, options)
        work = module.clone()
        convert_module(work, OPTIONS)
        rename_functions(work, points)
        return ConvertedIR(printed(work), points)
