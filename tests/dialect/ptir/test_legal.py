"""The table of dtypes is closed over the dialect, and every pair in it and outside it is as it says."""

import copy
import pickle

import pytest

from closed_tables import expect_rows
from mind_dialect.errors import MindError
from mind_dialect.ptir import (
    BINARY_EXTENSIONS,
    BINARY_OPS,
    EXTENSION_OPS,
    OPS_BY_OPCODE,
    PTIR_OPS,
    UNARY_EXTENSIONS,
    UNARY_OPS,
    PtirOp,
)
from mind_dialect.ptir.attributes import Word
from mind_dialect.ptir.legal import LEGAL, accumulators, check_accumulator, default_accumulator, pairs, row_key
from mind_dialect.ptir.scalars import SCALARS
from mind_dialect.ptir.types import ALL, PtirDType, TensorSpec
from ptir_rows import ROWS, Row


def keys(op: type[PtirOp]) -> list[str]:
    kind = op.CODECS.get("kind")
    return [row_key(op.name, word) for word in (kind.words if isinstance(kind, Word) else (None,))]


@pytest.mark.quick
def test_every_op_and_kind_has_a_row_and_no_row_is_left_over():
    """Rows of unary and binary ops come from the table of scalars, whose test names what is missing there."""
    elementwise = (*UNARY_OPS, *BINARY_OPS, *UNARY_EXTENSIONS, *BINARY_EXTENSIONS)
    derived = {op for op in elementwise if op.OPCODE not in SCALARS}
    wanted = {key for op in (*PTIR_OPS, *EXTENSION_OPS) if op not in derived for key in keys(op)}
    expect_rows("LEGAL of mind_dialect/ptir/legal.py", LEGAL, wanted)


@pytest.mark.quick
def test_rows_name_operands_and_dtype_properties_only():
    for key, row in LEGAL.items():
        op = OPS_BY_OPCODE[key.split()[0]]
        assert set(row) <= {*op.OPERANDS, *op.CODECS}
        assert all(dtypes and len(set(dtypes)) == len(dtypes) for dtypes in row.values())


def template(key: str) -> Row | None:
    """An accepted row of the op, of this kind if there is one, to be tried with every dtype."""
    name, _, kind = key.partition(" ")
    for row in sorted(ROWS, key=lambda row: row.properties.get("kind") != kind):
        if not row.is_refused and row.op.OPCODE == name and row.op.OPERANDS and not row.op.VARIADIC:
            properties = dict(row.properties)
            for given in ("accum_dtype", "out_dtype", *row.op.SCALARS):
                properties.pop(given, None)
            if row.op.OPCODE == "cast":
                properties["dtype"] = "cf64"
            if kind:
                properties["kind"] = kind
            return Row(row.op, row.operands, row.expected, properties)
    return None


@pytest.mark.parametrize("key", [key for key in LEGAL if template(key) is not None])
def test_every_pair_is_taken_or_refused_as_the_table_says(key: str):
    row = template(key)
    assert row is not None
    op, first = row.op, next(iter(LEGAL[key]))
    together = op.SAME_DTYPE if first in op.SAME_DTYPE else (first,)
    legal = {dtype for k, dtype in pairs() if k == key}
    from ptir_rows import spec

    specs = op.roles([spec(t) for t in row.operands.split()])
    values = {n: None for n in op.CODECS} | op.read_properties(op.store_properties({**scalars(op, "f32"), **row.properties}))
    for dtype in ALL:
        changed = [TensorSpec(dtype, s.shape) if name in together else s for name, s in specs.items()]
        values.update({n: scalars(op, dtype.name)[n] for n in op.SCALARS})
        if op.OPCODE == "bitcast":  # which keeps the width
            values["dtype"] = dtype
        if dtype in legal:
            op.infer_all(changed, values, (), None)
        else:
            with pytest.raises(MindError) as raised:
                op.infer_all(changed, values, (), None)
            assert (raised.value.code, raised.value.category) == ("E2005", "DTypeNotSupported")


def scalars(op: type[PtirOp], dtype: str):
    from ptir_rows import literal

    return {name: literal(f"{dtype}[]", 0) if dtype != "i1" else literal("i1[]", False) for name in op.SCALARS}


def test_templates_cover_what_has_operands():
    without = {key.split()[0] for key in LEGAL if template(key) is None}
    variadic = {op.OPCODE for op in (*PTIR_OPS, *EXTENSION_OPS) if op.VARIADIC or not op.OPERANDS}
    assert without == variadic


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_accumulators(dtype: PtirDType):
    assert default_accumulator(dtype) in accumulators(dtype)
    for other in ALL:
        if other in accumulators(dtype):
            assert check_accumulator(dtype, other) is other
            assert other.bits >= dtype.bits
        else:
            with pytest.raises(MindError, match="E8003"):
                check_accumulator(dtype, other)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_a_copied_dtype_is_the_same(dtype: PtirDType):
    assert copy.deepcopy(dtype) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype
