"""
Legality of a program for a target: every diagnostic, each with its place, not only the first.

A `LegalitySpec` says which ops, dtypes and dimensions are legal; it may also look at single ops. Regions are part of the
function they stand in. Works for PTIR and for Core IR, whose i32 is another dtype than PTIR's si32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation

from mind_dialect.errors import MindError, brief, error
from mind_dialect.program import functions
from mind_dialect.ptir import PtirOp, YieldOp
from mind_dialect.ptir.types import read_type
from mind_dialect.types import DType

from .walk import Event, OpPlace, WalkStep, steps

STRUCTURE: frozenset[type[Operation]] = frozenset({FuncOp, ReturnOp, YieldOp})
"""Ops that every program is made of; always allowed."""
SHOWN = 20
"""So many diagnostics are written out in an error; its context holds all."""


class ConversionStage(StrEnum):
    """The part of a conversion that a diagnostic comes from."""

    OPTIMIZE = "optimize"
    LEGALIZE = "legalize"
    BUFFERIZE = "bufferize"
    CONVERT = "convert"
    CODEGEN = "codegen"


@dataclass(frozen=True)
class ConversionDiagnostic:
    """One thing that is wrong: in which function and op, and what; `place` is None where the function's signature is meant."""

    stage: ConversionStage
    function: str
    message: str
    place: OpPlace | None = field(default=None, compare=False)
    op: Operation | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        """As `@main, op 3.body.0 (ptir.sort): operation ptir.sort is not allowed`."""
        where = "" if self.place is None or self.op is None else f", op {self.place} ({self.op.name})"
        return f"@{brief(self.function)}{where}: {self.message}"


Refusal = Callable[[Operation], str | None]


@dataclass(frozen=True)
class LegalitySpec:
    """
    The programs that a target takes.

    `allowed_ops` and `allowed_dtypes` are None where all are. `refuses` says of an allowed op why this one is not legal, or None.
    """

    allowed_ops: frozenset[type[Operation]] | None = None
    allow_dynamic_dims: bool = True
    allowed_dtypes: frozenset[Attribute] | None = None
    refuses: Refusal | None = None

    def allow_ops(self, ops: Iterable[type[Operation]]) -> LegalitySpec:
        """The same, with these ops allowed too, and no others than those allowed by such calls."""
        return replace(self, allowed_ops=(self.allowed_ops or frozenset()) | frozenset(ops))

    def allow_dtypes(self, dtypes: Iterable[DType]) -> LegalitySpec:
        """The same, with these dtypes allowed too, and no others than those allowed by such calls."""
        return replace(self, allowed_dtypes=(self.allowed_dtypes or frozenset()) | {d.type for d in dtypes})

    def with_dynamic_dims(self, allowed: bool) -> LegalitySpec:
        """The same, with dimensions that have no size allowed or not."""
        return replace(self, allow_dynamic_dims=allowed)

    def issues_of_type(self, type: Attribute) -> Iterator[str]:
        """Yield what is wrong with the type of a value."""
        if not isinstance(type, TensorType):
            return
        tensor = cast(TensorType, type)
        if not self.allow_dynamic_dims and DYNAMIC_INDEX in tensor.get_shape():
            yield f"dynamic dimensions are not allowed: {brief(tensor)}"
        if self.allowed_dtypes is not None and tensor.element_type not in self.allowed_dtypes:
            yield f"dtype {brief(tensor.element_type)} is not allowed"


@dataclass(frozen=True)
class LegalityReport:
    """Every diagnostic of a program, in text order."""

    diagnostics: tuple[ConversionDiagnostic, ...]

    @property
    def is_legal(self) -> bool:
        """Return whether there is none."""
        return not self.diagnostics

    def error(self, target: str) -> MindError:
        """E8008: the program is not legal for `target`. The message names every diagnostic, the first twenty in full."""
        texts = [str(d) for d in self.diagnostics]
        more = len(texts) - SHOWN
        listed = " ".join(f"({i}) {text}" for i, text in enumerate(texts[:SHOWN], 1))
        rest = "" if more <= 0 else f" and {more} more, of: {_by_name(self.diagnostics[SHOWN:])}"
        count = "1 thing" if len(texts) == 1 else f"{len(texts)} things"
        message = f"{target} cannot express {count} of this program: {listed}{rest}"
        return error("E8008", message, operation=self.diagnostics[0].op, target=target, diagnostics=tuple(texts))


def _by_name(diagnostics: Iterable[ConversionDiagnostic]) -> str:
    counts: dict[str, int] = {}
    for each in diagnostics:
        name = "signatures" if each.op is None else each.op.name
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{name} ({n})" for name, n in sorted(counts.items()))


def check_program_legality(
    module: ModuleOp,
    spec: LegalitySpec,
    *,
    stage: ConversionStage = ConversionStage.LEGALIZE,
    only: Iterable[FuncOp] | None = None,
) -> LegalityReport:
    """Everything in the functions of a module, or in those of `only`, that `spec` does not take."""
    found: list[ConversionDiagnostic] = []
    for func in functions(module) if only is None else only:
        found += check_function_legality(func, spec, stage=stage)
    return LegalityReport(tuple(found))


def check_function_legality(
    func: FuncOp, spec: LegalitySpec, *, stage: ConversionStage = ConversionStage.LEGALIZE
) -> list[ConversionDiagnostic]:
    """The diagnostics of one function: parameters, results, then each op: its kind, its results, what the spec says of it."""
    name = func.sym_name.data
    signature = [("parameter", func.function_type.inputs.data), ("result", func.function_type.outputs.data)]
    found = [
        ConversionDiagnostic(stage, name, f"{role} {i}: {issue}", None, func)
        for role, types in signature
        for i, type in enumerate(types)
        for issue in _issues_of_signature(type, spec)
    ]
    for step in steps(func):
        found += [ConversionDiagnostic(stage, name, issue, step.place, step.op) for issue in _issues(step, spec)]
    return found


def _issues_of_signature(type: Attribute, spec: LegalitySpec) -> Iterator[str]:
    yield from spec.issues_of_type(type)
    if not isinstance(type, TensorType):
        yield f"type {brief(type)} is no tensor"


def _issues(step: WalkStep, spec: LegalitySpec) -> Iterator[str]:
    op = step.op
    if step.event is Event.REGION and step.region is not None:
        for i, taken in enumerate(t for block in step.region.blocks for t in block.arg_types):
            yield from (f"region {step.name} parameter {i}: {issue}" for issue in spec.issues_of_type(taken))
    if step.event is not Event.OP:
        return
    if spec.allowed_ops is not None and type(op) not in spec.allowed_ops and type(op) not in STRUCTURE:
        yield f"operation {op.name} is not allowed"
    elif spec.refuses is not None and (issue := spec.refuses(op)) is not None:
        yield issue
    if not spec.allow_dynamic_dims and isinstance(op, PtirOp) and all(read_type(type).is_static for type in op.result_types):
        for name, dims in op.stated_dims().items():  # of results that are dynamic the types say it
            yield f"dynamic dimensions are not allowed: {name} {brief(list(dims))}"
    for i, made in enumerate(op.result_types):
        which = f"result {i}: " if len(op.results) > 1 else ""
        yield from (f"{which}{issue}" for issue in spec.issues_of_type(made))
