"""
Analyze a program for editors: its diagnostics and the types of its values, from parsing and verification.

A text is read as by the tools. Whatever it holds, the outcome is an analysis: what a reader or a verifier raises is a diagnostic.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from mind_dialect.errors import MindError, MindErrors
from mind_dialect.locations import file_location
from mind_dialect.verify import failures

from ..diagnostics import Place, Source, as_coded, place_of
from ..frontends import parse, parse_mlir

MOST_TEXT = 1 << 23
"""Characters up to which a text is read."""
MOST_ERRORS = 100


@dataclass(frozen=True)
class Finding:
    """An error of a program: its code, what it says, its place in the text."""

    code: str
    message: str
    category: str
    place: Place


@dataclass(frozen=True)
class Analysis:
    """The result of an analysis; `ops` are its ops by line and column of their names, from 1."""

    findings: list[Finding] = field(default_factory=list[Finding])
    ops: dict[tuple[int, int], Operation] = field(default_factory=dict[tuple[int, int], Operation])

    def types(self, line: int, column: int) -> list[str]:
        """The types of the results of the op whose name stands at a place."""
        op = self.ops.get((line, column))
        return [] if op is None else [str(r.type) for r in op.results]


def analyse(text: str, name: str, form: str) -> Analysis:
    """Read and verify a text in one of the forms `mlir`, `core-ir`, `ptir-text` and `ptir-json`."""
    source = Source(name, text)
    if len(text) > MOST_TEXT:
        message = f"the text has {len(text)} characters, of which at most {MOST_TEXT} are read in an editor"
        return Analysis([Finding("E1001", message, "", Place(name, 1, 1))])
    try:
        module = parse_mlir(text, name) if form == "mlir" else parse(text, form, name)
    except Exception as e:
        return Analysis(_findings(e, source))
    return Analysis(_verified(module, source), _by_place(module, name))


def _verified(module: ModuleOp, source: Source) -> list[Finding]:
    found: list[Finding] = []
    try:
        for error in failures(module):
            found += _findings(error, source)
            if len(found) >= MOST_ERRORS:
                break
    except Exception as e:
        found += _findings(e, source)
    return found[:MOST_ERRORS]


def _findings(e: Exception, source: Source) -> list[Finding]:
    """An exception, or each of the errors that it lists, with its place."""
    errors: list[Exception] = [*e.errors] if isinstance(e, MindErrors) else [e]
    found: list[Finding] = []
    for error in errors:
        coded: MindError = as_coded(error, "read")
        place = place_of(error, source)
        found.append(Finding(coded.code, coded.message, coded.category, place or Place(source.name, 1, 1)))
    return found


def _by_place(module: ModuleOp, name: str) -> dict[tuple[int, int], Operation]:
    found: dict[tuple[int, int], Operation] = {}
    for op in module.walk():
        location = file_location(op.location)
        if location is not None and location.filename.data == name:
            found.setdefault((int(location.line.data), int(location.column.data)), op)
    return found
