"""Random PTIR programs of views, updates in place, branches and loops: who shares memory with whom must not be confused."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.op import value_of
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.control import region_of
from mind_dialect.ptir.types import F32, I1, SI32, PtirDType, read_type, tensor_type
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE

VECTOR, MATRIX = tensor_type(F32, (4,)), tensor_type(F32, (2, 2))


def number(dtype: PtirDType, shape: Sequence[int], *values) -> SSAValue:
    return ptir.ConstantOp(PtirLiteralAttr.from_values(dtype, tuple(shape), values)).results[0]


def pick(draw, pool) -> SSAValue:
    """A value of the pool, mostly a new one: older values should have died."""
    return value_of(draw(st.sampled_from(pool[-2:] if draw(st.integers(0, 3)) else pool)))


def of_type(draw, pool, type) -> SSAValue:
    """A value of the pool as a vector or matrix; what is of another shape is reshaped, which is a view."""
    value = pick(draw, pool)
    return value if value.type == type else ptir.ReshapeOp(value, new_shape=read_type(type).shape).results[0]


def _elementwise(draw, pool, _depth):
    x = pick(draw, pool)
    if draw(st.booleans()):
        return ptir.NegOp(x).results
    return ptir.AddOp(x, of_type(draw, pool, x.type)).results


def _view(draw, pool, _depth):
    kind = draw(st.sampled_from(["transpose", "reshape", "reverse", "broadcast", "slice"]))
    if kind == "reshape":
        return [of_type(draw, pool, draw(st.sampled_from([VECTOR, MATRIX])))]
    if kind == "reverse":
        return ptir.ReverseOp(of_type(draw, pool, VECTOR), axes=(0,)).results
    matrix = of_type(draw, pool, MATRIX)
    if kind == "transpose":
        return ptir.TransposeOp(matrix, perm=(1, 0)).results
    row = ptir.SliceOp(matrix, starts=(draw(st.integers(0, 1)), 0), sizes=(1, 2))
    if kind == "broadcast":
        return ptir.BroadcastToOp(row, result_shape=(2, 2)).results
    return ptir.ConcatOp(row, row, axis=0).results


def _update(draw, pool, _depth):
    x = of_type(draw, pool, VECTOR)
    window = ptir.SliceOp(of_type(draw, pool, VECTOR), starts=(draw(st.integers(0, 2)),), sizes=(2,))
    start = number(SI32, (1,), draw(st.integers(-1, 3)))
    return ptir.DynamicUpdateSliceOp(x, window, start, sizes=(2,)).results


def _scatter(draw, pool, _depth):
    """An update at two indices, which may be one and the same."""
    indices = [draw(st.integers(0, 3)) for _ in range(2)]
    updates = ptir.SliceOp(of_type(draw, pool, VECTOR), starts=(1,), sizes=(2,))
    kind = draw(st.sampled_from(["scatter_add", "add", "max", "replace"]))
    if kind != "scatter_add":
        x, matrix = of_type(draw, pool, MATRIX), ptir.ReshapeOp(updates, new_shape=(1, 2))
        return ptir.ScatterReduceOp(x, number(SI32, (1, 2), *(i // 2 for i in indices)), matrix, kind=kind, axis=0).results
    dims = {"update_window_dims": (), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
    return ptir.ScatterAddOp(of_type(draw, pool, VECTOR), number(SI32, (2,), *indices), updates, **dims).results


def _arguments(draw, pool):
    return [pick(draw, pool) for _ in range(draw(st.integers(1, 3)))]


def _yielded(draw, pool, types):
    return [of_type(draw, pool, t) for t in types]


def _cond(draw, pool, depth):
    args = _arguments(draw, pool)
    types = [draw(st.sampled_from([VECTOR, MATRIX])) for _ in range(draw(st.integers(1, 3)))]

    def branch(*inner):
        return _yielded(draw, _grown(draw, list(inner), depth - 1), types)

    pred = number(I1, (), draw(st.booleans()))
    return ptir.CondOp(pred, *args, true=branch, false=branch).results


def _while(draw, pool, depth):
    args = _arguments(draw, pool)
    types = [a.type for a in args]
    iterations = number(SI32, (), draw(st.integers(0, 3)))
    passes = draw(st.booleans())

    def cond(count, *inner):
        go_on = ptir.CompareOp(count, number(SI32, (), 0), kind="greater")
        passed = inner if passes else _yielded(draw, _grown(draw, list(inner), 0), types)
        return [go_on, count, *passed]

    def body(count, *inner):
        left = ptir.SubOp(count, number(SI32, (), 1))
        return [left, *_yielded(draw, _grown(draw, list(inner), depth - 1), types)]

    return ptir.WhileOp(iterations, *args, cond=cond, body=body).results[1:]


def _scan(draw, pool, depth):
    args = _arguments(draw, pool)
    types = [a.type for a in args]
    scanned = ptir.ConcatOp(*[ptir.ReshapeOp(of_type(draw, pool, VECTOR), new_shape=(1, 4)) for _ in range(2)], axis=0)
    scanned = ptir.SliceOp(scanned, starts=(0, 0), sizes=(draw(st.integers(0, 2)), 4))

    def body(*inner):
        grown = _grown(draw, list(inner), depth - 1)
        return [*_yielded(draw, grown, types), of_type(draw, grown, VECTOR)]

    made = ptir.ScanOp(*args, scanned, carry_count=len(args), scan_output_count=1, body=body)
    stacked = ptir.ReduceOp(made.results[-1], kind="sum", axes=(0,), keepdims=False)
    return [*made.results[:-1], *stacked.results]


def _grown(draw, pool, depth):
    """The pool and what some steps made of it."""
    steps = [_elementwise, _view, _update, _scatter]
    if depth > 0:
        steps += [_cond, _while, _while, _scan]
    for step in draw(st.lists(st.sampled_from(steps), min_size=1, max_size=4)):
        pool = [*pool, *step(draw, pool, depth)]
    return pool


@st.composite
def control_programs(draw) -> str:
    """A module as text: a function of two inputs, vector and matrix, and up to four outputs."""

    def body(*inputs):
        pool = _grown(draw, list(inputs), 2)
        return [pick(draw, pool) for _ in range(draw(st.integers(1, 4)))]

    region = region_of(body, [VECTOR, MATRIX])
    ending = region.block.last_op
    returned = tuple(ending.operands)
    region.block.erase_op(ending)
    region.block.add_op(ReturnOp(*returned))
    func = FuncOp("f", ([VECTOR, MATRIX], [v.type for v in returned]), region)
    module = ModuleOp([func])
    module.attributes[VERSION_ATTRIBUTE] = StringAttr(SPEC_VERSION)
    return str(module)
