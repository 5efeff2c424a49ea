"""Ops that treat each example of a batch by itself: a part of the result is the result of the parts, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import isabstract
from math import prod

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

import mind_runtime
from mind_dialect.program import functions
from mind_dialect.ptir import ConstantOp, IotaOp, PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import F32, read_type, tensor_type
from mind_passes.ptir.batch_axis import CUT, TOGETHER, Cut, cut_of, for_part, part_shape
from ptir_batching_rows import ROWS, R, Row
from ptir_oracle import samples
from ptir_programs import module_of
from ptir_rows import conv

WINDOWS = {"strides": (1, 2), "padding": ((0, 0), (1, 1)), "window_dilation": (1, 1)}
MORE = (
    R("reshape", "{d}[4,6]", new_shape=(8, 3)),
    R("transpose", "{d}[4,2,3]", perm=(0, 2, 1)),
    R("broadcast_to", "{d}[4,1]", result_shape=(4, 3)),
    R("slice", "{d}[4,6]", starts=(0, 2), sizes=(4, 3)),
    R("strided_slice", "{d}[4,6]", starts=(0, 1), limits=(4, 6), strides=(1, 2)),
    R("concat", "{d}[4,3] {d}[4,2]", axis=-1),
    R("pad", "{d}[4,6]", low=(0, 1), high=(0, 2), interior=(0, 1), pad_value=2),
    R("tile", "{d}[4,6]", repeats=(1, 2)),
    R("reverse", "{d}[4,6]", axes=(1,)),
    R("sort", "{d}[4,6]", axis=1, descending=False),
    R("arg_max", "{d}[4,6]", axis=1, keepdims=False, output_dtype="si32"),
    R("arg_min", "{d}[4,6]", axis=-1, keepdims=True, output_dtype="si32"),
    R("cumulative max", "{d}[4,6]", axis=1, exclusive=False, reverse=False),
    R("dot_general", "{d}[4,6,2] {d}[4,2,3]", batch_lhs=(0,), batch_rhs=(0,), contract_lhs=(2,), contract_rhs=(1,)),
    R("reduce_window max", "{d}[4,6]", window_dims=(1, 3), base_dilation=(1, 1), **WINDOWS),
    R("convolution", "{d}[4,4,4,2] {d}[2,2,2,3]", **conv),
)
MIXED = (
    R("reshape", "{d}[4,6]", new_shape=(3, 8)),
    R("transpose", "{d}[4,6]", perm=(1, 0)),
    R("broadcast_to", "{d}[1,6]", "whole", result_shape=(4, 6)),
    R("slice", "{d}[5,6]", starts=(1, 0), sizes=(4, 6)),
    R("strided_slice", "{d}[8,6]", starts=(0, 0), limits=(8, 6), strides=(2, 1)),
    R("concat", "{d}[2,6] {d}[2,6]", axis=0),
    R("pad", "{d}[4,6]", low=(2, 0), high=(2, 0), interior=(0, 0), pad_value=2),
    R("tile", "{d}[4,6]", repeats=(2, 1)),
    R("reverse", "{d}[4,6]", axes=(-2,)),
    R("sort", "{d}[4,6]", axis=-2, descending=False),
    R("arg_max", "{d}[4,6]", axis=0, keepdims=False, output_dtype="si32"),
    R("cumulative_sum", "{d}[4,6]", axis=0, exclusive=False, reverse=False),
    R("reduce sum", "{d}[6,4]", axes=(0,), keepdims=False),
    R("dot_general", "{d}[4,4] {d}[4,4]", batch_lhs=(), batch_rhs=(), contract_lhs=(0,), contract_rhs=(0,)),
    R("dot_general", "{d}[2,4,3] {d}[2,4,3]", batch_lhs=(1,), batch_rhs=(1,), contract_lhs=(2,), contract_rhs=(2,)),
    R("layer_norm", "{d}[4,2] {d}[4] {d}[4]", epsilon=1e-3, feature_axis=0),
    R("reduce_window max", "{d}[4]", window_dims=(3,), strides=(1,), padding=((1, 1),), base_dilation=(1,), window_dilation=(1,)),
    R("window_arg max", "{d}[4,6]", window_dims=(1, 3), output_dtype="si32", **WINDOWS),
    R("gather", "{d}[4,6] si32[4,3]", axis=1),
)
"""Ops that treat no example of four by itself, though extents would allow it."""


def classes(cls: type[PtirOp] = PtirOp) -> Iterator[type[PtirOp]]:
    """Every op of PTIR."""
    for child in cls.__subclasses__():
        if not isabstract(child) and getattr(child, "OPCODE", None):
            yield child
        yield from classes(child)


def op_of(row: Row) -> PtirOp:
    """The op of a row, in its module."""
    ops = [op for func in functions(row.module(row.legal()[0])) for op in func.walk() if isinstance(op, PtirOp)]
    (found,) = [op for op in ops if op.OPCODE == row.key.split()[0]]
    return found


def cases() -> Iterator[tuple[str, PtirOp, int, Cut]]:
    """Rows whose ops are cut: a name, the op, the number of examples, and which operands are cut."""
    for i, row in enumerate((*ROWS, *MORE)):
        op = op_of(row)
        shape = read_type(op.results[0].type).shape
        examples = 4 if shape and shape[0] == 8 else shape[0] if shape else 0
        if isinstance(examples, int) and examples > 1 and (cut := cut_of(op, examples)) is not None:
            yield f"{row}-{i}", op, examples, cut


def sources() -> Iterator[tuple[str, PtirOp, int, Cut]]:
    """Ops without operands."""
    yield "fill", ConstantOp(value=PtirLiteralAttr.filled(F32, (4, 6), 1.5)), 4, ()
    yield "iota", IotaOp(shape=(4, 6), dtype="si32", axis=1), 4, ()


CASES = {name: case for name, *case in (*cases(), *sources())}


def run(op: PtirOp, values: list[np.ndarray]) -> np.ndarray:
    """The result of a function of one op."""
    block = Block(arg_types=[v.type for v in op.operands])
    made = op.clone(dict(zip(op.operands, block.args, strict=True)))
    block.add_ops([made, ReturnOp(*made.results)])
    func = FuncOp("main", ([a.type for a in block.args], [v.type for v in made.results]), Region(block))
    return np.asarray(mind_runtime.compile(module_of(func))(*values))


def check(op: PtirOp, examples: int, cut: Cut) -> None:
    """Compare the parts of the result with the results of the parts, for each number of parts."""
    specs = [read_type(v.type) for v in op.operands]
    values: list[np.ndarray] = []
    for i, (dtype, shape) in enumerate(specs):
        sizes = [n for n in shape if isinstance(n, int)]
        values.append(samples(dtype, prod(sizes), special=False, seed=i)[: prod(sizes)].reshape(sizes))
    whole = run(op, values)
    for parts in [k for k in range(1, examples + 1) if examples % k == 0]:
        types = [
            tensor_type(read_type(v.type).dtype, part_shape(v, parts)) if is_cut else v.type
            for v, is_cut in zip(op.operands, cut, strict=True)
        ]
        made = for_part(op, Block(arg_types=types).args, parts)
        made.verify()
        sliced = [np.split(v, parts) if is_cut else [v] * parts for v, is_cut in zip(values, cut, strict=True)]
        found = [run(made, [np.array(s[k], order="C") for s in sliced]) for k in range(parts)]
        assert np.concatenate(found).tobytes() == whole.tobytes(), (parts, op)


def test_every_op_has_a_rule_or_a_reason():
    assert not [c.__name__ for c in dict.fromkeys(classes()) if (c in CUT) == (c in TOGETHER)]


def test_every_rule_applies_to_some_case():
    met = {type(op) for op, *_ in CASES.values()}
    assert not [c.__name__ for c in CUT if c not in met]


@pytest.mark.parametrize("name", CASES)
def test_parts_of_a_result(name: str):
    op, examples, cut = CASES[name]
    assert cut_of(op, examples) == cut
    check(op, examples, cut)


@pytest.mark.parametrize("row", MIXED, ids=str)
def test_ops_that_mix_examples_are_not_cut(row: Row):
    assert cut_of(op_of(row), 4) in (None, (False,))


def test_constants_of_several_numbers_and_counts_along_the_batch_are_not_cut():
    assert cut_of(ConstantOp(value=PtirLiteralAttr.from_values(F32, (4,), [1, 2, 3, 4])), 4) is None
    assert cut_of(IotaOp(shape=(4, 6), dtype="si32", axis=0), 4) is None
