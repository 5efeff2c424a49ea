"""The driver: one function of PTIR without calls as one of StableHLO; whole modules, in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.errors import error
from mind_dialect.program import functions, stated_attributes
from mind_dialect.ptir import PtirOp, RandomOp
from mind_dialect.ptir.types import SI32, UI32, TensorSpec, read_type
from mind_dialect.stablehlo.types import stablehlo_type
from mind_passes.callees import calls_in
from mind_passes.inline import inlined
from mind_passes.ptir.lu import EXPANSIONS, expansion

from ..conversion import ConversionDiagnostic, ConversionStage, LegalityReport, check_program_legality
from ..conversion.in_place import replace_functions, without_ours
from ..conversion.inline import inlined_region
from . import control, dynamic, reductions
from .builder import PRECISIONS, ExportOptions, StablehloBuilder, Values, static
from .checks import check
from .legal import ONE_RESULT, specification
from .linalg import LINALG

TARGET = "stablehlo"
SEED = TensorSpec(UI32, (2,))
"""The last input of a program that draws random numbers: the words of the seed, the low one first."""
POLYMORPHIC = "jax.uses_shape_polymorphism"
"""The attribute of a module by which JAX knows that sizes are to be refined."""
CHECK = TensorSpec(SI32, ())
"""The last result of a program with checks."""


@dataclass(frozen=True)
class StablehloFunction:
    """A function of StableHLO, and what its signature has in addition to the program's."""

    func: FuncOp
    takes_seed: bool
    """True if its last input is `SEED`."""
    sites: tuple[Operation, ...] | None
    """
    With checks, the ops of the program that may be wrong at run time; None without, and where there are none.

    The last result is then an si32: 0, or 1 more than the number of the first that was wrong.
    """


def checked_options(precision: str, checks: bool, *, dynamic: bool = False, bounds: bool = False) -> ExportOptions:
    """Options as a user gives them; E7001 for a precision that there is not."""
    if (name := precision.upper()) not in PRECISIONS:
        known = [p.lower() for p in PRECISIONS]
        raise error("E7001", f"precision {precision!r}, expected one of {known}", option="precision")
    return ExportOptions(name, checks, dynamic, bounds)


def legality(functions: Sequence[FuncOp], module: ModuleOp, options: ExportOptions) -> LegalityReport:
    """All that cannot be converted of these functions."""
    found = check_program_legality(module, specification(options.dynamic), only=functions).diagnostics
    undeclared = [
        ConversionDiagnostic(ConversionStage.LEGALIZE, func.sym_name.data, text, None, func)
        for func in functions
        for text in dynamic.undeclarable(func)
    ]
    return LegalityReport((*found, *undeclared))


def with_ptir(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module that hold ops of PTIR, or that call such functions."""
    every = list(functions(module))
    found = {func.sym_name.data for func in every if any(isinstance(op, PtirOp) for op in walk(func))}
    callers: dict[str, list[str]] = {}
    for func in every:
        for call in calls_in(func):
            callers.setdefault(call.callee.root_reference.data, []).append(func.sym_name.data)
    stack = list(found)
    while stack:
        new = [name for name in callers.get(stack.pop(), ()) if name not in found]
        found.update(new)
        stack += new
    return [func for func in every if func.sym_name.data in found]


def convert_module(module: ModuleOp, options: ExportOptions) -> None:
    """
    Convert every function of a verified module that holds PTIR, in place, with the functions that it calls in their places.

    The others stay as they are. Raises E8008, with everything that cannot be converted, before anything is changed.
    """
    found = with_ptir(module)
    work = [inlined(func).func for func in found]
    report = legality(work, module, options)
    if not report.is_legal:
        raise report.error(TARGET)
    if any(map(dynamic.is_dynamic, work)):
        module.attributes[POLYMORPHIC] = BoolAttr.from_bool(True)
    replace_functions(module, ((func, converted(whole, options).func) for func, whole in zip(found, work, strict=True)))


def converted(func: FuncOp, options: ExportOptions, name: str | None = None) -> StablehloFunction:
    """
    A legal function without calls as one of StableHLO, which stands in no module; the original stays as it is.

    Its inputs and results are those of the program, then as `StablehloFunction` says. Attributes of other dialects stay.
    """
    b = StablehloBuilder(func, options)
    draws = [op for op in walk(func) if isinstance(op, RandomOp)]
    b.draws = {op: i for i, op in enumerate(draws)}
    types = [_type(t) for t in func.body.block.arg_types]
    block = Block(arg_types=[*types, *([stablehlo_type(SEED.dtype, static(SEED))] if draws else [])])
    for before, after in zip(func.body.block.args, block.args, strict=False):
        after.name_hint, after.location = before.name_hint, before.location
    if draws:
        b.seed = block.args[-1]
        b.seed.name_hint = "seed"
    if options.checks:
        b.fault = b.scalar(0, SI32)
    if is_dynamic := dynamic.is_dynamic(func):
        dynamic.bind(b, func, block.args)
    results = inline(b, func.body, block.args[: len(types)])
    reports = [b.fault] if b.fault is not None and b.sites else []
    if options.checks and not reports:
        b.ops.pop(0).erase()
    ending = ReturnOp(*results, *reports)
    ending.location = func.location
    block.add_ops([*b.ops, ending])
    properties = _properties(func, block.arg_types, ending.operand_types)
    if name is not None:
        properties["sym_name"], properties["sym_visibility"] = StringAttr(name), StringAttr("public")
    made = FuncOp.create(properties=properties, attributes=without_ours(func.attributes), regions=[Region(block)])
    made.location = func.location
    if is_dynamic:
        dynamic.finish(made, func, options.bounds)
    return StablehloFunction(made, bool(draws), tuple(b.sites) or None)


def _properties(func: FuncOp, inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> dict[str, Attribute]:
    """Return the properties of a function with these inputs and results, which begin with its own."""
    properties = dict(func.properties)
    properties["function_type"] = FunctionType.from_lists(inputs, outputs)
    for key, count in {"arg_attrs": len(inputs), "res_attrs": len(outputs)}.items():
        if isinstance(given := properties.pop(key, None), ArrayAttr):
            if (kept := _attributes(cast("ArrayAttr[DictionaryAttr]", given), count)) is not None:
                properties[key] = kept
    return properties


def _attributes(given: ArrayAttr[DictionaryAttr], count: int) -> ArrayAttr[DictionaryAttr] | None:
    """Return the attributes of inputs or results that other tools understand, none for those that were added."""
    kept = [DictionaryAttr(without_ours(dict(d.data))) for d in given.data]
    return stated_attributes([*kept, *[DictionaryAttr({})] * (count - len(kept))])


def _type(type: Attribute) -> Attribute:
    spec = read_type(type)
    return stablehlo_type(spec.dtype, static(spec))


def inline(b: StablehloBuilder, region: Region, arguments: Sequence[SSAValue]) -> Values:
    """Emit the ops of a region of one block, and return what stands for the operands of its terminator."""

    def convert(op: Operation, operands: list[SSAValue]) -> Sequence[SSAValue]:
        origin, b.origin = b.origin, op
        check(b, op, operands)
        found = _convert(b, op, operands)
        b.origin = origin
        return found

    return inlined_region(region, arguments, convert)


def _convert(b: StablehloBuilder, op: Operation, operands: Values) -> Values:
    kind: Any = type(op)
    if (rule := ONE_RESULT.get(kind)) is not None:
        return [rule(b, op, operands)]
    if (several := reductions.SEVERAL.get(kind)) is not None:
        return several(b, op, operands)
    if isinstance(op, ptir.CustomCallOp):
        if op.values()["target"] in EXPANSIONS:
            return inline(b, expansion(op), operands)
        return [LINALG[op.values()["target"]](b, op, operands)]
    return control.RULES[kind](b, op, operands, inline)
