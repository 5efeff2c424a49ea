"""Every op of the ptir dialect by rows: its result types, its refusals with their codes, its text in both forms."""

from io import StringIO

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.test import Test
from xdsl.dialects.test import TestOp as Unknown
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from closed_tables import expect_rows
from mind_dialect.errors import MindError
from mind_dialect.ptir import EXTENSION_OPS, PTIR_OPS, FusionOp, Ptir, YieldOp
from mind_dialect.ptir.control import RegionOp
from mind_dialect.verify import verify
from ptir_rows import ROWS, Row, types

ACCEPTED = [row for row in ROWS if not row.is_refused]
REFUSED = [row for row in ROWS if row.is_refused]


def context() -> Context:
    """What stock xdsl-opt would have: no parser of ours."""
    ctx = Context()
    for dialect in (Builtin, Test, Ptir):
        ctx.load_dialect(dialect)
    return ctx


def build(row: Row) -> Operation:
    operands = Unknown(result_types=types(row.operands)).results
    declared = None if row.declared is None else types(row.declared)
    if row.op.OPCODE == "constant":
        return row.op(**row.properties)
    return row.op(*operands, result_types=declared, **row.properties)


def is_storable(row: Row) -> bool:
    """Whether attributes can say what is wrong, and the verifier has to find it."""
    try:
        row.attributes()
    except MindError:
        return False
    return row.expected != "E2003"


def unchecked(row: Row) -> Operation:
    """The op without its constructor's checks."""
    operands = Unknown(result_types=types(row.operands)).results
    results = types(row.declared if row.declared is not None else " ".join(["f32[1]"] * len(row.op.RESULTS)))
    return row.op.create(operands=operands, properties=row.attributes(), result_types=results)


def module_of(*ops: Operation) -> ModuleOp:
    """The ops after the test ops that define their operands."""
    defined: dict[Operation, None] = {v.owner: None for op in ops for v in op.operands if isinstance(v.owner, Operation)}
    module = ModuleOp([*defined, *ops])
    return module


@pytest.mark.parametrize("row", ACCEPTED, ids=str)
def test_accepted(row: Row):
    op = build(row)
    assert [str(v.type) for v in op.results] == [str(t) for t in types(row.expected)]
    op.verify()


@pytest.mark.parametrize("row", REFUSED, ids=str)
def test_refused_by_the_constructor(row: Row):
    with pytest.raises(MindError) as raised:
        build(row)
    code, _, category = row.expected.partition("/")
    assert raised.value.code == code
    assert category in ("", raised.value.category)
    assert raised.value.message.startswith(f"{row.op.OPCODE}: ") or code == "E4005"


@pytest.mark.parametrize("row", [row for row in REFUSED if is_storable(row)], ids=str)
def test_refused_by_the_verifier(row: Row):
    op = unchecked(row)
    with pytest.raises(MindError) as raised:
        op.check()
    assert raised.value.code == row.expected.partition("/")[0]


@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize("row", ACCEPTED, ids=str)
def test_text_survives_the_stock_parser(row: Row, generic: bool):
    module = module_of(build(row))
    text = printed(module, generic)
    again = Parser(context(), text).parse_module()
    again.verify()
    assert printed(again, generic) == text
    assert again.is_structurally_equivalent(module)


def printed(module: ModuleOp, generic: bool) -> str:
    out = StringIO()
    Printer(stream=out, print_generic_format=generic).print_op(module)
    return out.getvalue()


@pytest.mark.quick
def test_rows_cover_the_dialect():
    region_ops = {op for op in PTIR_OPS if issubclass(op, RegionOp)} | {YieldOp, FusionOp}
    every = {*PTIR_OPS, *EXTENSION_OPS} - region_ops
    expect_rows("ROWS of tests/support/ptir_rows.py", {row.op for row in ACCEPTED}, every)
    elementwise_refusals = {op for op in every if op.OPCODE in ("neg", "exp")}
    unary = {op for op in every if op.OPERANDS == ("x",) and not op.CODECS}
    assert every - {row.op for row in REFUSED} <= unary - elementwise_refusals


@pytest.mark.quick
def test_every_op_of_the_dialect_says_what_it_is():
    for op in (*PTIR_OPS, *EXTENSION_OPS):
        assert op.name == f"ptir.{op.OPCODE}"
        assert op.__doc__
        assert (op.EXTENSION is not None) == (op in EXTENSION_OPS)


def test_an_error_names_op_place_and_values():
    row = next(r for r in REFUSED if r.op.OPCODE == "slice")
    operands = Unknown(result_types=types(row.operands))
    bad = row.op.create(
        operands=operands.results,
        properties={n: row.op.CODECS[n].attribute(v) for n, v in row.properties.items()},
        result_types=types("f32[3]"),
    )
    module = ModuleOp([operands, bad])
    with pytest.raises(MindError, match=r"E4012: slice %1: slice 2 \+ 3 at dimension 0 of extent 4") as raised:
        verify(module, lenient=True)
    assert raised.value.context["op"] == "slice %1"
    assert raised.value.context["bounds"] == (2, 5)
    assert raised.value.op is bad
