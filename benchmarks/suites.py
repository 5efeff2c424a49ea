"""
Published test data on our executors: what passes, what is refused with which reason, what is wrong.

    python benchmarks/suites.py PATH [--executors numpy,native] [--visible] [--only TEXT] [--write FILE]

PATH holds `stablehlo/testdata`, `stablehlo/testdata/dynamic` and `stablehlo/tests/interpret` of github.com/openxla/stablehlo at
the commit below. A file is visible if `int(sha256(name), 16) % 10 < 3`; rows are written for visible files only, the others judge
them. The status is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, ModuleOp, StringAttr, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import traits_def
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from mind_dialect.errors import MindError, MindParseError
from mind_dialect.mlir_parser import MindParser
from mind_dialect.stablehlo import OP_TYPES
from mind_runtime import Program, compile
from mind_translate.stablehlo import convert_module, stablehlo_context
from mind_translate.stablehlo.foreign import name_of
from mind_translate.stablehlo.module import DIMENSION_ATTRIBUTE

NUMPY = {
    **{
        name: np.dtype(name.replace("si", "int").replace("ui", "uint")) for name in ("si8", "ui8", "si16", "ui16", "si32", "ui32")
    },
    **{"si64": np.dtype("int64"), "ui64": np.dtype("uint64"), "i1": np.dtype("bool"), "bf16": np.dtype(ml_dtypes.bfloat16)},
    **{"f16": np.dtype("f2"), "f32": np.dtype("f4"), "f64": np.dtype("f8"), "cf32": np.dtype("c8"), "cf64": np.dtype("c16")},
}
COMMIT = "3c9301c1"
"""Of github.com/openxla/stablehlo."""
TOLERANCES = {
    **dict.fromkeys(("float16", "bfloat16"), 2e-2),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2"), 0.25),
    **dict.fromkeys(("float32", "float64", "complex64"), 1e-4),
    "complex128": 1e-8,
}
"""How far a float may be from what is expected, relative to 1 and to its size; one table for all cases."""
Array = np.ndarray[Any, Any]


# The checks of the test data


NUMBERS = ("tolerance", "max_ulp_difference", "min_ulp_difference")


class CheckOp(Operation):
    """`check.expect_eq %x, %y : t` and its kin, or the generic form."""

    traits = traits_def()

    @classmethod
    def parse(cls, parser: Parser) -> CheckOp:
        """Read values, a constant, a tolerance, attributes and the type, whichever are there."""
        values = [parser.parse_unresolved_operand()]
        properties: dict[str, Attribute] = {}
        while parser.parse_optional_punctuation(",") is not None:
            if (value := parser.parse_optional_unresolved_operand()) is not None:
                values.append(value)
            elif (word := next(filter(parser.parse_optional_keyword, NUMBERS), None)) is not None:
                parser.parse_punctuation("=")
                properties[word] = FloatAttr(float(parser.parse_number()), f64)
            else:
                properties["value"] = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict()
        stored: Any = properties.get("value")
        types: list[Attribute] = [stored.type] if stored is not None else []
        if stored is None or parser.parse_optional_punctuation(":") is not None:
            if stored is None:
                parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
        attributes |= parser.parse_optional_attr_dict()
        operands = parser.resolve_operands(values, types * len(values) if len(types) == 1 else types, parser.pos)
        return cls.create(operands=operands, properties=properties, attributes=attributes)


_CHECKS = ("expect_eq", "expect_eq_const", "expect_almost_eq", "expect_almost_eq_const", "expect_close", "expect_serialized_eq")
PRINT = Dialect("interpreter", [type("interpreter_print", (CheckOp,), {"name": "interpreter.print"})])
CHECK = Dialect("check", [type(f"check_{n}", (CheckOp,), {"name": f"check.{n}"}) for n in _CHECKS])


class Expectation(NamedTuple):
    """Two results of a function to compare, or one and a constant."""

    kind: str
    actual: int
    expected: int | DenseIntOrFPElementsAttr
    tolerance: float | None


def take_checks(module: ModuleOp) -> dict[str, list[Expectation]]:
    """Make results of what the functions check, and forget the checks."""
    found: dict[str, list[Expectation]] = {}
    for f in module.walk():
        if isinstance(f, FuncOp) and f.body.blocks:
            last = f.body.block.last_op
            for op in [op for op in f.body.block.ops if name_of(op) == "interpreter.print"]:
                op.detach()
                op.drop_all_references()
            checks = [op for op in f.body.block.ops if check_kind(op) is not None]
            if checks and isinstance(last, ReturnOp):
                found[f.sym_name.data] = list(_taken(f, last, checks))
    return found


def check_kind(op: Operation) -> str | None:
    """`expect_eq` and so on, of an op or custom call that checks."""
    name = name_of(op)
    target = op.properties.get("call_target_name", op.attributes.get("call_target_name"))
    if name == "stablehlo.custom_call" and isinstance(target, StringAttr):
        name = target.data
    return name.removeprefix("check.") if name.startswith("check.") else None


def _taken(f: FuncOp, last: ReturnOp, checks: Sequence[Operation]) -> Iterator[Expectation]:
    values: list[SSAValue] = []
    for op in checks:
        attributes = {**op.attributes, **op.properties}
        stated = attributes.get("tolerance")
        tolerance = stated.value.data if isinstance(stated, FloatAttr) else None
        kind = check_kind(op) or ""
        constant = attributes.get("value")
        first = len(values)
        values += op.operands
        expected = constant if isinstance(constant, DenseIntOrFPElementsAttr) else first + 1
        yield Expectation(kind.removesuffix("_const"), first, expected, tolerance)
        op.detach()
        op.drop_all_references()
    last.detach()
    last.drop_all_references()
    f.body.block.add_op(ReturnOp(*values))
    f.update_function_type()
    if f.res_attrs is not None:
        del f.properties["res_attrs"]


def agrees(actual: Array, expected: Array, check: Expectation) -> bool:
    """Whether two arrays are equal, or close where the check or the kind of numbers allows it. NaN equals NaN."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    exact = check.kind == "expect_eq" or actual.dtype.kind in "biu" or actual.dtype.name in ("int4", "uint4")
    wide = np.complex128 if actual.dtype.kind == "c" else np.float64
    if exact:
        with np.errstate(all="ignore"):
            return bool(np.all((actual == expected) | ((actual != actual) & (expected != expected))))
    x, y = actual.astype(wide), expected.astype(wide)
    tolerance = check.tolerance if check.tolerance is not None else TOLERANCES[actual.dtype.name]
    with np.errstate(all="ignore"):
        near = np.abs(x - y) <= tolerance * np.maximum(1, np.abs(y))
        same = (x == y) | (np.isnan(x) & np.isnan(y))
    return bool(np.all(near | same))


# One case


@dataclass
class Outcome:
    """What became of a case: passed, refused or wrong, on one executor."""

    status: str
    reasons: tuple[str, ...] = ()


@dataclass
class Case:
    """A program of a file, and its outcome by executor."""

    name: str
    ops: frozenset[str]
    outcomes: dict[str, Outcome] = field(default_factory=dict[str, Outcome])


def context() -> Context:
    """What the test data holds."""
    found = stablehlo_context()
    found.load_dialect(CHECK)
    found.load_dialect(PRINT)
    return found


def run_case(name: str, text: str, executors: Sequence[str], *, dynamic: bool = False) -> Case:
    """Read, convert, compile and run a program; a `dynamic` one that checks nothing on drawn arguments."""
    ops = frozenset(re.findall(r"\b(?:stablehlo|chlo)\.\w+", re.sub(r"[#!]stablehlo\S*", "", text))) & OP_TYPES.keys()
    case = Case(name, ops)
    try:
        module = MindParser(context(), text, name).parse_module()
        checks = take_checks(module)
        convert_module(module, everything=True)
        if not checks and dynamic:
            case.outcomes = judge_dynamic(module, executors)
            return case
    except (MindError, ParseError) as e:
        case.outcomes = dict.fromkeys(executors, Outcome("refused", reason_of(e)))
        return case
    for executor in executors:
        case.outcomes[executor] = judge(module, checks, executor)
    return case


def judge(module: ModuleOp, checks: Mapping[str, Sequence[Expectation]], executor: str) -> Outcome:
    """Compile and run every function with checks; the first that fails decides."""
    try:
        for name, expectations in checks.items():
            made = compile(module.clone(), name, executor)()
            results = [made] if len(made_specs(module, name)) == 1 else list(made)
            for check in expectations:
                expected = (
                    results[check.expected]
                    if isinstance(check.expected, int)
                    else constant(check.expected, results[check.actual])
                )
                if not agrees(results[check.actual], expected, check):
                    return Outcome("wrong", (f"@{name}: {shown(results[check.actual])}, expected {shown(expected)}",))
    except MindError as e:
        return Outcome("refused", reason_of(e))
    return Outcome("passed")


def judge_dynamic(module: ModuleOp, executors: Sequence[str]) -> dict[str, Outcome]:
    """Run `@main` on drawn arguments for sizes of the dimensions; nothing is checked but that all executors agree."""
    f = next(f for f in module.walk() if isinstance(f, FuncOp) and f.sym_name.data == "main")
    outcomes: dict[str, Outcome] = {}
    first: list[Array] | None = None
    for executor in executors:
        try:
            program = compile(module.clone(), "main", executor)
            made = on_drawn(program, f)
        except MindError as e:
            outcomes[executor] = Outcome("refused", reason_of(e))
            continue
        results = [made] if len(program.outputs) == 1 else list(made)
        first = first or results
        near = all(agrees(x, y, Expectation("expect_close", 0, 0, None)) for x, y in zip(results, first, strict=True))
        outcomes[executor] = (
            Outcome("passed") if near else Outcome("wrong", (f"{shown(results[0])}, expected {shown(first[0])}",))
        )
    return outcomes


def on_drawn(program: Program, f: FuncOp) -> Any:
    """Run a program whose dimensions have sizes that all differ, the first least or, if it needs that, the first greatest."""
    try:
        return program(*drawn(program, f))
    except MindError:
        return program(*drawn(program, f, descending=True))


def drawn(program: Program, f: FuncOp, *, descending: bool = False) -> list[Array]:
    """Arguments of the types of a program, the same in every process; its named dimensions are 3, 4 and so on."""
    names = dict.fromkeys(dim for spec in program.inputs for dim in spec.shape if isinstance(dim, str))
    rng = np.random.default_rng(0)
    sizes = {name: 3 + (len(names) - 1 - i if descending else i) for i, name in enumerate(names)}
    found: list[Array] = []
    for i, spec in enumerate(program.inputs):
        dtype = NUMPY[str(spec.dtype)]
        dimension = (f.arg_attrs.data[i].data if f.arg_attrs is not None else {}).get(DIMENSION_ATTRIBUTE)
        shape = [sizes[n] if isinstance(n, str) else n for n in spec.shape]
        numbers = rng.normal(size=shape) if dtype.kind not in "biu" else rng.integers(0, 4, shape)
        found.append(np.asarray(sizes[dimension.data] if isinstance(dimension, StringAttr) else numbers).astype(dtype))
    return found


def made_specs(module: ModuleOp, name: str) -> Sequence[Attribute]:
    """The result types of a function."""
    return next(f.function_type.outputs.data for f in module.walk() if isinstance(f, FuncOp) and f.sym_name.data == name)


def constant(value: DenseIntOrFPElementsAttr, like: Array) -> Array:
    """An expected constant, as an array of the dtype of the result."""
    shape, data = value.get_shape(), value.data.data
    if like.dtype.name in ("int4", "uint4"):
        values = np.frombuffer(data, np.int8).astype(np.int64)
        values = ((values & 15) ^ 8) - 8 if like.dtype.name == "int4" else values & 15
        return values.astype(like.dtype).reshape(shape)
    return np.frombuffer(data, like.dtype).reshape(shape)


def shown(array: Array) -> str:
    """The start of an array."""
    return np.array2string(array, threshold=6).replace("\n", " ")[:160]


def reason_of(e: Exception) -> tuple[str, ...]:
    """Why a case is refused, without places, so that equal reasons are equal: `op: reason` for each."""
    found = e.error if isinstance(e, MindParseError) else e
    if isinstance(found, MindError) and found.code == "E8008":
        lines = [str(line).partition("; ")[0] for line in found.context["diagnostics"]]
        return tuple(re.sub(r"(?:, \d+ times)?, (?:first )?at \S+?:\d+:\d+", "", line) for line in lines)
    text = str(found).strip().splitlines()[0]
    return (re.sub(r"%\S+", "%", text)[:200],)


# Suites


def cases_of(folder: Path, pattern: str, *, visible: bool, only: str) -> Iterator[tuple[str, str]]:
    """The programs of a folder by name: one for each `// -----` part of a file."""
    for file in sorted(folder.glob(pattern)):
        if (visible and not is_visible(file.name)) or only not in file.name:
            continue
        parts = re.split(r"^// -----.*$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for i, part in enumerate(parts):
            if len(parts) == 1 or part.strip():
                yield (file.name if len(parts) == 1 else f"{file.name}#{i}"), part


def is_visible(name: str) -> bool:
    """
    Whether rows may be written by looking at a file.

    >>> is_visible("add_bfloat16_2_bfloat16_2.mlir")
    False
    """
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 10 < 3


SUITES = {
    "StableHLO testdata": ("stablehlo/testdata", "*.mlir"),
    "StableHLO testdata/dynamic": ("stablehlo/testdata/dynamic", "*.mlir"),
    "StableHLO tests/interpret": ("stablehlo/tests/interpret", "*.mlir"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites and write the page."""
    parser = argparse.ArgumentParser(description="published test data on our executors")
    parser.add_argument("path", type=Path)
    parser.add_argument("--executors", default="numpy,native")
    parser.add_argument("--visible", action="store_true", help="run visible files only")
    parser.add_argument("--only", default="", help="files whose names hold this text")
    parser.add_argument("--suite", default="", help="suites whose names hold this text")
    parser.add_argument("--write", type=Path, help="the page to write")
    options = parser.parse_args(arguments)
    executors = options.executors.split(",")
    found: dict[str, list[Case]] = {}
    for suite, (folder, pattern) in SUITES.items():
        if options.suite not in suite:
            continue
        start = time.perf_counter()
        cases = [
            run_case(name, text, executors, dynamic=suite.endswith("dynamic"))
            for name, text in cases_of(options.path / folder, pattern, visible=options.visible, only=options.only)
        ]
        found[suite] = cases
        print(f"{suite}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    text = page(found, executors, options.visible)
    if options.write is not None:
        write_part(options.write, text, first=True)
    else:
        print(text)
    wrong = [
        (c.name, e, o.reasons[0]) for cases in found.values() for c in cases for e, o in c.outcomes.items() if o.status == "wrong"
    ]
    for name, executor, reason in wrong:
        print(f"wrong on {executor}: {name}: {reason}", file=sys.stderr)
    return int(bool(wrong))


def page(found: Mapping[str, Sequence[Case]], executors: Sequence[str], visible: bool) -> str:
    """The results as Markdown."""
    which = "its visible files" if visible else "all its files that are there"
    lines = [HEAD.format(commit=COMMIT, which=which), *table(["suite", "executor", "cases", "passed", "refused", "wrong"])]
    for suite, cases in found.items():
        for executor in executors:
            counts = Counter(c.outcomes[executor].status for c in cases)
            cells = [suite, executor, len(cases), counts["passed"], counts["refused"], counts["wrong"]]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    for suite, cases in found.items():
        lines += ["", f"## {suite}", "", "### Refused", "", *table(["op and reason", "cases"])]
        reasons = Counter(reason for c in cases for reason in dict.fromkeys(c.outcomes[executors[0]].reasons))
        lines += [
            f"| {shown_reason(reason)} | {n} |" for reason, n in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
        ]
        lines += ["", "### By op", "", *table(["op", "cases", *(f"passed ({e})" for e in executors)])]
        for op in sorted({op for c in cases for op in c.ops}):
            with_op = [c for c in cases if op in c.ops]
            passed = [sum(c.outcomes[e].status == "passed" for c in with_op) for e in executors]
            lines.append(f"| {op} | {len(with_op)} | {' | '.join(map(str, passed))} |")
    return "\n".join(lines) + "\n"


HEAD = (
    """\
# Conformance suites

`make suites SUITES=PATH` writes this page: published test data, run on our executors. StableHLO's is that of
[openxla/stablehlo](https://github.com/openxla/stablehlo) at commit {commit}; this run took {which}. A file is visible if
`int(sha256(name), 16) % 10 < 3`, with the name of the file. Rows of the converter were written by looking at visible files only,
so that the others judge them.

A case is a program: a file, or a part of one between `// -----` lines. It is *passed* if it runs and all that it checks holds:
exactly, or for floats within {{f16}} (f16, bf16), {{f32}} (f32, f64, complex<f32>) and {{c128}} (complex<f64>), relative to 1 and
to the number. It is *refused* if the converter or the executor says, with a reason, that it has no form, and *wrong* otherwise.
Programs for several devices and float formats that PTIR lacks are refused. Operators count a case once. Files of testdata/dynamic
check nothing: they pass if they run on drawn arguments, with sizes of 3 and more that all differ, and all executors agree.
""".replace("{{f16}}", str(TOLERANCES["float16"]))
    .replace("{{f32}}", str(TOLERANCES["float32"]))
    .replace("{{c128}}", str(TOLERANCES["complex128"]))
)


PART_OF_JAX = "<!-- harnesses of JAX -->"
"""Begins the second part of the page, which `suites_jax.py` writes."""


def write_part(file: Path, text: str, *, first: bool) -> None:
    """Write one part of the page; the other one stays as it is."""
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    before, mark, after = old.partition(PART_OF_JAX)
    parts = (text, mark + after) if first else (before, f"{PART_OF_JAX}\n\n{text}")
    file.write_text("\n\n".join(part.strip("\n") for part in parts if part) + "\n", encoding="utf-8")


def table(header: Sequence[str]) -> list[str]:
    """The head of a table."""
    return [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}"]


def shown_reason(reason: str) -> str:
    """A reason inside a table."""
    return reason.replace("|", "\\|")


if __name__ == "__main__":
    raise SystemExit(main())
