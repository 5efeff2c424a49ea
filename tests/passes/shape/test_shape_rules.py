"""The table of shape rules: every op has a row, and a row says what the op's own rule says, accept and reject."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Block, SSAValue

import ptir_rows
from mind_dialect import core, ptir
from mind_dialect.core import CoreOp
from mind_dialect.errors import MindError
from mind_dialect.extents.dims import is_expression
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import F32, read_type, tensor_type
from mind_dialect.shape import ConstantOp, ShapeOfOp
from mind_dialect.shape.evaluate import EVALUATE, as_shape, evaluate
from mind_dialect.shape.foreign import evaluate_foreign
from mind_dialect.shape.lattice import UNKNOWN, invalid
from mind_dialect.shape.types import size
from mind_passes.shape.emitter import Emitter
from mind_passes.shape.reify import STRUCTURAL
from mind_passes.shape.rules import EXEMPT, SHAPE_RULES, emit_shapes
from mind_passes.shape.rules.derived import derive
from ptir_rows import Row, specs, types
from shape_rule_samples import CORE, PTIR, Sample

EVERY = (*core.CORE_OPS, *core.EXTENSION_OPS, *ptir.PTIR_OPS, *ptir.EXTENSION_OPS)
WITHOUT_SAMPLES = {core.ConstantOp: "as PTIR's; its literal is a tensor of Core IR"}


@pytest.mark.quick
def test_every_op_of_both_dialects_has_a_row_or_a_reason() -> None:
    for op in EVERY:
        assert (op in SHAPE_RULES) != (op in EXEMPT), op.name
        assert op in EXEMPT or (SHAPE_RULES[op] is derive) == issubclass(op, PtirOp), op.name
    assert {*SHAPE_RULES, *EXEMPT} == set(EVERY)
    assert all(op in STRUCTURAL or op is ptir.YieldOp for op in EXEMPT)


@pytest.mark.quick
def test_every_row_has_samples() -> None:
    assert {*CORE, *PTIR, *WITHOUT_SAMPLES} == set(SHAPE_RULES)


def expected(op: type[CoreOp | PtirOp], sample: Sample) -> Any:
    """What the op's own rule says, of the shapes of its results; or the error."""
    shapes, properties = sample
    try:
        if issubclass(op, core.ScalarConstant):
            return [()]
        if op is ptir.ConstantOp:
            return [properties["value"].spec[1]]
        if issubclass(op, CoreOp):
            extra = {"negative": True} if op.COUNTS_FROM_END else {}
            return [op.RULE(*shapes, **properties, **extra)]
        taken = properties if op.RULE_TAKES is None else {n: properties[n] for n in op.RULE_TAKES}
        found = op.RULE(*shapes, **{n: v for n, v in taken.items() if v is not None})
        return [found] * len(op.RESULTS or ())
    except MindError as e:
        return e


def emitted(op: type[CoreOp | PtirOp], sample: Sample) -> Any:
    """What the evaluation of the emitted ops says."""
    shapes, properties = sample
    block = Block(arg_types=[tensor_type(F32, x) for x in shapes])
    e = Emitter(block)
    made = op.create(
        operands=block.args,
        properties=op.store_properties(properties),
        result_types=[tensor_type(F32, ())] * (1 if issubclass(op, CoreOp) else len(op.RESULTS or ())),
    )
    try:
        found = emit_shapes(e, made, [e.shape_of(v, len(x)) for v, x in zip(block.args, shapes, strict=True)])
        [e.value(x) for x in found]
    except MindError as error:
        return error
    return e.faults[0] if e.faults else [e.dims(x) for x in found]


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", [*CORE, *PTIR], ids=lambda op: op.name)
def test_rows_agree_with_the_static_rules(op: type[CoreOp | PtirOp]) -> None:
    seen: Counter[bool] = Counter()
    sample = {**CORE, **PTIR}[op]

    @settings(max_examples=50)
    @given(st.data())
    def check(data: Any) -> None:
        made = sample(data.draw)
        wanted, found = expected(op, made), emitted(op, made)
        seen[isinstance(wanted, MindError)] += 1
        if isinstance(wanted, MindError):
            assert hasattr(found, "code"), (made, wanted, found)  # which, where several rules are broken, is a matter of order
        else:
            assert found == wanted, (made, found)

    check()
    assert seen[False], "no sample was accepted"
    if op in REFUSING:
        assert seen[True], "no sample was refused"


def run(block: Block, shapes: list[tuple[int, ...]], results: list[SSAValue]) -> list[Any] | None:
    """The values that the emitted ops find for sizes; None where a constraint or an op fails."""
    values: dict[SSAValue, Any] = {}
    for op in block.ops:
        operands = tuple(values[v] for v in op.operands if v in values)
        if isinstance(op, ShapeOfOp):
            found = (shapes[block.args.index(op.operands[0])],)
        else:
            found = evaluate(op, operands) if type(op) in EVALUATE else evaluate_foreign(op, operands)
        if invalid(*found) is not None:
            return None
        values.update(zip(op.results, found, strict=True))
    return [as_shape(values[v]) for v in results]


def emitted_for_any_sizes(op: type[PtirOp], sample: Sample) -> Any:
    """What ops that were emitted for names in the place of the sample's sizes find for these; equal sizes have one name."""
    shapes, properties = sample
    dims = [tuple(f"N{n}" for n in x) for x in shapes]
    if op is ptir.ConvolutionOp and len(shapes[1]) >= 2:
        dims[1] = (*shapes[1][:-2], *dims[1][-2:])  # its window must be static
    block = Block(arg_types=[tensor_type(F32, x) for x in dims])
    e = Emitter(block)
    operands = [e.shape_of(v, len(x)) for v, x in zip(block.args, dims, strict=True)]
    types = [tensor_type(F32, ())] * len(op.RESULTS or ())
    made = op.create(operands=block.args, properties=op.store_properties(properties), result_types=types)
    try:
        found = [e.value(x) for x in emit_shapes(e, made, operands)]
    except MindError as error:
        return error
    return None if e.faults else run(block, shapes, found)


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", PTIR, ids=lambda op: op.name)
def test_derived_rows_accept_and_find_what_the_rules_do_for_sizes(op: type[PtirOp]) -> None:
    """The rule ran on symbolic sizes; what it left open is asked, and what it found is computed, for the sizes of the sample."""
    seen: Counter[bool] = Counter()

    @settings(max_examples=50)
    @given(st.data())
    def check(data: Any) -> None:
        sample = PTIR[op](data.draw)
        wanted, found = expected(op, sample), emitted_for_any_sizes(op, sample)
        refused = isinstance(wanted, MindError)
        seen[refused] += 1
        assert (found is None or isinstance(found, MindError)) if refused else found == wanted, (sample, wanted, found)

    check()
    assert seen[False], "no sample was accepted"
    if op in REFUSING:
        assert seen[True], "no sample was refused"


REFUSING = {
    *(core.AddOp, core.MeanOp, core.ReshapeOp, core.SqueezeOp, core.SliceOp, core.MatMulOp, core.DotOp, core.Conv2dOp),
    *(core.ReluGradOp, core.BroadcastToOp, core.ScatterAddOp, core.SliceScatterOp, core.Conv2dBackwardInputOp),
    *(
        core.Conv2dBackwardFilterOp,
        ptir.AddOp,
        ptir.CompareOp,
        ptir.SelectOp,
        ptir.ClampOp,
        ptir.ArgMaxOp,
        ptir.ArgMinOp,
        ptir.DotGeneralOp,
    ),
    *(ptir.ReshapeOp, ptir.BroadcastToOp, ptir.SliceOp, ptir.StridedSliceOp, ptir.ConcatOp, ptir.GatherOp, ptir.ScatterAddOp),
    *(ptir.ScatterReduceOp, ptir.DynamicSliceOp, ptir.DynamicUpdateSliceOp, ptir.LayerNormOp, ptir.ConvolutionOp, ptir.TopKOp),
    *(ptir.SegmentReduceOp, ptir.QuantizeOp),
}

ROWS = [row for rows in vars(ptir_rows).values() if isinstance(rows, list) for row in rows if isinstance(row, Row)]
OF_DTYPES = ("E2", "E40", "E8003", "E4005", "E4015")


def _is_stored(row: Row) -> bool:
    """Whether the row is a matter of shapes: its properties can be stored, and a wrong epsilon is another matter."""
    try:
        row.op.read_properties(row.attributes())
    except MindError:
        return False
    return row.op is not ptir.LayerNormOp or not row.expected.startswith("E8002")


OF_SHAPES = [r for r in ROWS if r.op in SHAPE_RULES and not r.expected.startswith(OF_DTYPES) and _is_stored(r)]


def _has_names(row: Row) -> bool:
    return any(isinstance(d, str) for v in row.properties.values() if isinstance(v, tuple) for d in v)


@pytest.mark.parametrize("row", OF_SHAPES, ids=str)
def test_rows_agree_with_the_verifier_on_its_table(row: Row) -> None:
    """Names and unknown dimensions too."""
    block = Block(arg_types=types(row.operands))
    e = Emitter(block)
    operands = []
    for argument in block.args:
        dims = read_type(argument.type).shape
        operands.append(e.shape_of(argument, len(dims)))
        for i, dim in enumerate(dims):
            if isinstance(dim, str) and dim != UNKNOWN:
                e.names.setdefault(dim, e.extent(operands[-1], i))
    for dim in (d for v in row.properties.values() if isinstance(v, tuple) for d in v if isinstance(d, str)):
        if dim not in e.names:
            e.names[dim] = e.emit(ConstantOp.of(UNKNOWN, size))
    op = row.op.create(
        operands=block.args,
        properties=row.attributes(),
        result_types=[tensor_type(F32, ())] * len(row.op.RESULTS or ()),
    )
    if row.is_refused:
        try:
            emit_shapes(e, op, operands)
            code = e.faults[0].code
        except MindError as error:
            code = error.code
        assert code == row.expected.partition("/")[0]
        return
    found = [e.dims(x) for x in emit_shapes(e, op, operands)]
    assert not e.faults
    for dims, wanted in zip(found, specs(row.expected), strict=True):
        assert len(dims) == len(wanted.shape)
        assert all(n in (m, UNKNOWN) or is_expression(n) for n, m in zip(dims, wanted.shape, strict=True)), (dims, wanted)
        if row.declared is None and not _has_names(row):
            assert dims == wanted.shape
