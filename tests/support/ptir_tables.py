"""
The tables of docs/ptir.md that the code knows better than a writer: ops with their dtypes, extensions, loops.

`python tests/support/ptir_tables.py` writes them into the page, between `<!-- name -->` and `<!-- end -->`; a test finds a stale
page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from mind_dialect.ptir import EXTENSION_OPS, PTIR_OPS, PtirOp, legal
from mind_dialect.ptir.types import ALL, F32, F64, PtirDType
from mind_passes.batching import BATCHING

PAGE = Path(__file__).parents[2] / "docs" / "ptir.md"

DTYPE_SETS: dict[str, tuple[PtirDType, ...]] = {
    "any": ALL,
    "numbers": legal.NUMBERS,
    "real": legal.REAL,
    "ordered": legal.ORDERED,
    "integers": legal.INTEGERS,
    "bits": (*legal.BOOL, *legal.INTEGERS),
    "floats": legal.FLOATS,
    "floats and complex": (*legal.FLOATS, *legal.COMPLEX),
    "wide floats": legal.WIDE_FLOATS,
    "f32 and f64": (F32, F64),
    "complex": legal.COMPLEX,
    "quantized": legal.QUANTIZED,
    "index": legal.INDEX,
    "i1": legal.BOOL,
}
"""Names for what rows of the table of legal dtypes hold."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in lines)


def name_of(dtypes: tuple[PtirDType, ...]) -> str:
    """What the page calls a set of dtypes; KeyError for one without a name."""
    return {frozenset(v): k for k, v in DTYPE_SETS.items()}[frozenset(dtypes)]


def dtype_sets() -> str:
    """The names and what they stand for."""
    rows = [[name, " ".join(map(str, dtypes))] for name, dtypes in DTYPE_SETS.items()]
    return table(["name", "dtypes"], rows)


def legal_cell(op: type[PtirOp]) -> str:
    """The dtypes that an op works in, by kind where kinds differ, then those of its other operands and dtype properties."""
    rows = {key.partition(" ")[2]: row for key, row in legal.LEGAL.items() if key.partition(" ")[0] == op.OPCODE}
    by_set: dict[str, list[str]] = {}
    for kind, row in rows.items():
        by_set.setdefault(name_of(next(iter(row.values()))), []).append(kind)
    works_in = ", ".join(f"{name} ({', '.join(kinds)})" if len(by_set) > 1 else name for name, kinds in by_set.items())
    if not rows:
        return ""  # the test of the table names the op
    (others,) = {tuple((role, name_of(v)) for role, v in list(row.items())[1:]) for row in rows.values()}
    return "; ".join([works_in, *(f"`{role}` {name}" for role, name in others)])


def form(op: type[PtirOp]) -> str:
    """Operands, properties (the optional ones in brackets) and regions, each in its order."""
    operands = [f"{name}..." if op.VARIADIC and name == op.OPERANDS[-1] else name for name in op.OPERANDS]
    properties = [f"[{name}]" if name in op.OPTIONAL else name for name in op.CODECS]
    regions = [f"{{{name}}}" for name in op.REGION_NAMES]
    return "; ".join(", ".join(part) for part in (operands, properties, regions) if part)


def meaning(op: type[PtirOp]) -> str:
    """The first line of the op's documentation."""
    return (op.__doc__ or "").strip().partition("\n")[0]


def ops(of: Sequence[type[PtirOp]]) -> str:
    """One row per op."""
    rows = [[f"`{op.name}`", form(op), legal_cell(op), meaning(op)] for op in of]
    return table(["op", "operands, properties, regions", "dtypes", "meaning"], rows)


def reasons() -> str:
    """Why each extension exists."""
    return table(["op", "why the contract's ops do not suffice"], [[f"`{op.name}`", op.EXTENSION or ""] for op in EXTENSION_OPS])


def loops() -> str:
    """The ops whose batching rule may come to a loop over the examples."""
    rows = [(op, BATCHING[op].loops) for op in (*PTIR_OPS, *EXTENSION_OPS) if op in BATCHING]
    return table(["op", "runs once per example where"], [[f"`{op.name}`", loops] for op, loops in rows if loops])


TABLES: dict[str, Callable[[], str]] = {
    "dtype sets": dtype_sets,
    "ops": lambda: ops(PTIR_OPS),
    "extensions": lambda: ops(EXTENSION_OPS),
    "reasons": reasons,
    "loops": loops,
}


def filled(page: str) -> str:
    """The page with every table as the code has it now; ValueError if the page has no place for one."""
    for name, make in TABLES.items():
        place = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- end -->)", re.DOTALL)
        if place.search(page) is None:
            raise ValueError(f"docs/ptir.md has no place for the table {name!r}")
        content = f"\n{make()}\n\n"
        page = place.sub(lambda _, content=content: content, page, count=1)  # an empty place would match twice
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
