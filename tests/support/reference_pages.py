"""
The reference pages of the site, generated from definitions: every op, every pass, every error code.

`make docs` writes them; none of them is committed. A section on an op comes from its class, the example of a pass from a
FileCheck test that runs it, and the example of an error from one that it refuses.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import redirect_stderr
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.irdl import OpDef, OptionalDef, VariadicDef
from xdsl.parser import Parser
from xdsl.passes import PassPipeline, get_pass_option_infos

from error_examples import EXAMPLES
from error_tables import raised
from mind_dialect.error_cures import CURES
from mind_dialect.errors import CATALOGUE
from mind_tools.flags import PASS_ALIASES
from mind_tools.universe import PASSES, get_all_passes, tool_dialects
from ptir_tables import table

ROOT = Path(__file__).parents[2]
FILECHECK = ROOT / "tests" / "filecheck"
DIALECTS = {
    "mind": ("Core IR of the MIND language", "../specifications.md"),
    "ptir": ("the tensor backend contract", "../ptir.md"),
    "shape": ("sizes and shapes as values", "../shape.md"),
    "launch": ("kernels and memory of one run", "../launch.md"),
}
"""The dialects with a page of their own, what each is, and the page that explains it."""
STAGES = {
    "mind-ptir-defuse": ("mind-ptir-fuse", "mind-ptir-defuse"),
    "mind-ptir-split-products": ("mind-ptir-fuse", "mind-ptir-split-products"),
    "mind-ptir-split-reductions": ("mind-ptir-fuse", "mind-ptir-split-reductions"),
    "mind-ptir-merge-components": ("mind-ptir-fuse", "mind-ptir-merge-components"),
    "mind-ptir-merge-lookups": ("mind-ptir-fuse", "mind-ptir-merge-lookups"),
    "mind-ptir-merge-rows": ("mind-ptir-fuse", "mind-ptir-merge-rows"),
    "mind-ptir-merge-producers": ("mind-ptir-fuse,mind-ptir-absorb-views", "mind-ptir-merge-producers"),
    "mind-ptir-split-parameters": ("", 'mind-ptir-split-parameters{function="linear" parameters="w","b"}'),
    "mind-ptir-sink-filters": ("mind-ptir-split-parameters", "mind-ptir-sink-filters"),
    "mind-ptir-compact-scatters": ("", "mind-ptir-compact-scatters{least-bytes=0}"),
    "mind-launch-assign-memory": ("mind-ptir-fuse,mind-convert-ptir-to-launch", "mind-launch-assign-memory"),
}
"""Of passes that work on the result of others, or need options: what runs before the example, and the pass as it is written."""
LONGEST = 40
"""Lines of an example: longer ones teach less than the FileCheck test they come from."""


def ops_page(dialect: str) -> str:
    """The page of a dialect: a section for each op, in the order of its definition."""
    subject, guide = DIALECTS[dialect]
    ops = list(tool_dialects()[dialect]().operations)
    head = f"# Ops of `{dialect}`\n\n{len(ops)} ops: {subject}. [The guide]({guide}) explains how they work together.\n"
    return "\n".join([head, *map(op_section, ops)])


def op_section(op: type[Operation]) -> str:
    """The heading, summary and signature of one op."""
    definition: OpDef = op.get_irdl_definition()  # pyright: ignore[reportAttributeAccessIssue]
    rows = [
        [f"`{name}`", role, _arity(entry)]
        for role, entries in (
            ("operand", definition.operands),
            ("property", definition.properties.items()),
            ("attribute", definition.attributes.items()),
            ("region", definition.regions),
            ("result", definition.results),
        )
        for name, entry in entries
    ]
    signature = table(["name", "role", "number"], rows) if rows else "It has neither operands nor properties nor results."
    return f"## `{op.name}`\n\n{described(op)}\n\n{signature}\n"


def _arity(entry: object) -> str:
    if isinstance(entry, OptionalDef) or type(entry).__name__.startswith("Opt"):
        return "at most one"
    return "any number" if isinstance(entry, VariadicDef) else "one"


def described(definition: type) -> str:
    """The docstring of a class itself; AssertionError for one without."""
    text = definition.__dict__.get("__doc__")
    assert text, f"{definition.__name__} has no docstring"
    assert not text.startswith(f"{definition.__name__}("), f"{definition.__name__} has no docstring"
    return inspect.cleandoc(text)


def passes_page() -> str:
    """The page of the passes: docstring, options and an example of each."""
    head = "# Passes\n\nA pass runs by its name in `-p` of `mind-opt` and of `xdsl-opt`, and as a flag of `mind-opt`.\n"
    return "\n".join([head, *map(pass_section, PASSES)])


def pass_section(name: str) -> str:
    """The heading, description, options and example of one pass."""
    loaded = PASSES[name]()
    alias = next((f" (also `--{short}`)" for short, long in PASS_ALIASES.items() if long == name), "")
    options = [
        [f"`{o.name.replace('_', '-')}`", f"`{o.expected_type}`", f"`{o.default_value}`"] for o in get_pass_option_infos(loaded)
    ]
    listed = table(["option", "type", "default"], options) if options else "It has no options."
    parts = [f"## `{name}`", f"Flag: `--{name}`{alias}.", described(loaded), listed]
    before, after = pass_example(name)
    return "\n\n".join([*parts, "Before:", f"```mlir\n{before}\n```", "After:", f"```mlir\n{after}\n```"]) + "\n"


@cache
def _sources() -> list[tuple[str, str]]:
    """The RUN lines and the text of every FileCheck test."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(FILECHECK.rglob("*.mlir"))]
    return [("\n".join(re.findall(r"^// RUN: .*", text, re.MULTILINE)), text) for text in texts]


def pass_example(name: str) -> tuple[str, str]:
    """The shortest program of the FileCheck tests of a pass that it changes, before and after; ValueError if there is none."""
    found: list[tuple[str, str]] = []
    short = [name.removeprefix("mind-"), *(short for short, long in PASS_ALIASES.items() if long == name)]
    flag = re.compile(rf"(?:--|-p '?(?:mind-)?)(?:{'|'.join(map(re.escape, [name, *short]))})(?=[\s=,'{{]|$)")
    for runs, text in _sources():
        if "invalid" not in runs.lower() and flag.search(runs):
            found += filter(None, (transformed(program, name) for program in programs(text)))
    return min(found, key=lambda pair: (pair[0].count("\n") + pair[1].count("\n"), pair))


def programs(text: str) -> Iterator[str]:
    """The functions of a test without its comments, alone and with the next one, and each part of the test whole."""
    for part in re.split(r"^// -----$", text, flags=re.MULTILINE):
        plain = re.sub(r"\n{2,}", "\n", re.sub(r"^ *//.*$", "", part, flags=re.MULTILINE)).strip()
        yield plain
        if "builtin.module attributes" not in plain:
            yield from re.findall(r"^func\.func .*?^}$", plain, re.DOTALL | re.MULTILINE)
            continue
        head = plain.partition("\n")[0]
        functions = [found[0] for found in re.finditer(r"^( *)func\.func .*?^\1}$", plain, re.DOTALL | re.MULTILINE)]
        for pair in (*((f,) for f in functions), *pairwise(functions)):
            yield "\n".join([head, *pair, "}"])


def transformed(program: str, name: str) -> tuple[str, str] | None:
    """A program and what the pass makes of it; None if it is refused, unchanged or long."""
    module = parsed(program) if program.count("\n") <= LONGEST else None
    if module is None:
        return None
    first, written = STAGES.get(name, ("", name))
    try:
        with redirect_stderr(StringIO()):
            before = ran(first, module)
            after = ran(written, module)
    except Exception:  # a test may show a refusal: another one serves as the example
        return None
    return (before, after) if before != after and after.count("\n") <= 2 * LONGEST else None


def ran(pipeline: str, module: ModuleOp) -> str:
    """Run the passes on a module in place; returns its text, verified."""
    PassPipeline.parse_spec(get_all_passes(), pipeline).apply(context(), module)
    module.verify()
    return str(module)


def parsed(program: str) -> ModuleOp | None:
    """The module of a text, verified; None if it is none."""
    try:
        module = Parser(context(), program).parse_module()
        module.verify()
    except Exception:  # as above
        return None
    return module


def context() -> Context:
    """A context with the dialects of the tools."""
    ctx = Context()
    for dialect, load in tool_dialects().items():
        ctx.register_dialect(dialect, load)
    return ctx


@cache
def refusals() -> dict[str, tuple[str, str]]:
    """For each code with a one-line check in the FileCheck tests: its shortest program, and the message it gives."""
    found: dict[str, tuple[str, str]] = {}
    for _, text in _sources():
        for part in re.split(r"^// -----$", text, flags=re.MULTILINE):
            checks = re.findall(r"^ *// CHECK: error\[(E\d{4})\]: (.+)$", part, re.MULTILINE)
            if len(checks) != 1 or "{{" in checks[0][1]:
                continue
            ((code, message),) = checks
            program = re.sub(r"\n{2,}", "\n", re.sub(r"^ *//.*$", "", part, flags=re.MULTILINE)).strip()
            if code not in found or (len(program), program) < (len(found[code][0]), found[code][0]):
                found[code] = program, message
    return found


def errors_page() -> str:
    """The page of the error codes: what each means, its cure, and an example of each that anything raises."""
    head = "[Errors](../errors.md) explains how errors are reported and which context each carries."
    shown = "A message is shown as far as the test of its example states it. `mind-opt --explain E3001` prints an entry.\n"
    return "\n".join(["# Error codes\n", head, shown, *map(error_section, CATALOGUE)])


def error_section(code: str) -> str:
    """The heading, meaning, example and cure of one code."""
    entry = CATALOGUE[code]
    unused = "" if code in raised() else " Nothing here raises it."
    parts = [f"## {code}", f"{entry.category}: {entry.name}.{unused}", f"**Cure.** {CURES[code]}"]
    if code in refusals():
        program, message = refusals()[code]
        parts.append(f"```mlir\n{program}\n```\n\n```text\nerror[{code}]: {message}\n```")
    elif code in EXAMPLES:
        parts.append(EXAMPLES[code].markdown(code))
    return "\n\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """Every generated page by its path within `docs/`."""
    made = {f"reference/{dialect}.md": ops_page(dialect) for dialect in DIALECTS}
    return {**made, "reference/passes.md": passes_page(), "reference/error-codes.md": errors_page()}
