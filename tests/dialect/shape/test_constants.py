"""Constants of the shape dialect: what they store, what they stand for, their text; and what no constant can hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, StringAttr, UnitAttr, f32, i32

from mind_dialect.errors import MindError
from mind_dialect.shape import ConstantDimOp, ConstantOp, ConstShapeOp, ConstSizeOp, ConstWitnessOp, attribute_of, lattice_of
from mind_dialect.shape.constants import MAX_SIZE
from mind_dialect.shape.lattice import MAX_RANK, UNRANKED, Invalid
from mind_dialect.shape.types import extents_type, index, shape, size
from programs import parse

EXTENTS = st.integers(0, MAX_SIZE)
EXTENT = st.one_of(EXTENTS, st.just("?"))
REASON = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"])).map(Invalid)
SIZES = st.one_of(EXTENT, REASON, st.just(Invalid("invalid")))
SHAPES = st.one_of(st.lists(EXTENT, max_size=5).map(tuple), st.just(UNRANKED), REASON)


def same(a: object, b: object) -> bool:
    """Equal, reasons included."""
    return a == b and getattr(a, "reason", None) == getattr(b, "reason", None)


def read(op) -> ConstantOp:
    """What the op's own text reads as."""
    (found,) = parse(str(op)).body.block.ops
    return found


@given(SIZES)
def test_a_size_is_stored_and_written(value):
    op = ConstantOp.of(value, size)
    op.verify()
    assert same(op.lattice(), value)
    assert same(read(op).lattice(), value)


@given(SHAPES)
def test_a_shape_is_stored_and_written(value):
    op = ConstantOp.of(value, shape)
    op.verify()
    assert same(op.lattice(), value)
    assert same(read(op).lattice(), value)


def test_what_is_stored_is_what_the_specification_says():
    assert attribute_of(3, of_shape=False) == IntegerAttr(3, index)
    assert attribute_of("?", of_shape=False) == StringAttr("?")
    assert attribute_of((3, "?"), of_shape=True) == ArrayAttr([IntegerAttr(3, index), StringAttr("?")])
    assert attribute_of(UNRANKED, of_shape=True) == ArrayAttr([StringAttr("*")])
    assert attribute_of(Invalid("invalid"), of_shape=True) == ArrayAttr([StringAttr("invalid")])
    assert attribute_of(Invalid("why"), of_shape=True) == ArrayAttr([StringAttr("invalid"), StringAttr("why")])
    assert attribute_of((), of_shape=True) == ArrayAttr([])


def test_a_name_becomes_unknown():
    assert ConstantOp.of((3, "B"), shape).lattice() == (3, "?")
    assert ConstantOp.of("B", size).lattice() == "?"


@given(st.lists(st.integers(-(1 << 63), MAX_SIZE), max_size=5))
def test_a_modern_shape_is_stored_and_written(extents):
    for type in (None, shape):
        op = ConstShapeOp.of(extents, type)
        op.verify()
        assert op.result.type == (type or extents_type(len(extents)))
        assert list(op.extents) == list(read(op).extents) == extents
        assert op.lattice() == tuple("?" if extent < 0 else extent for extent in extents)


@given(EXTENTS)
def test_a_modern_size_is_stored_and_written(value):
    op = ConstSizeOp(value=value)
    op.verify()
    assert op.lattice() == read(op).lattice() == value


@pytest.mark.parametrize("passes", [True, False])
def test_a_witness_is_stored_and_written(passes: bool):
    op = ConstWitnessOp(passing=passes)
    op.verify()
    assert op.passes == read(op).passes == passes


NO_SIZES = [
    IntegerAttr(-1, index),
    IntegerAttr(MAX_SIZE + 1, index),
    IntegerAttr(-3, i32),
    FloatAttr(1.0, f32),
    StringAttr("*"),
    StringAttr("B"),
    UnitAttr(),
    ArrayAttr([]),
    ArrayAttr([StringAttr("?")]),
    ArrayAttr([StringAttr("invalid"), StringAttr("a"), StringAttr("b")]),
]
NO_SHAPES = [
    *NO_SIZES[:7],
    StringAttr("?"),
    IntegerAttr(3, index),
    ArrayAttr([IntegerAttr(-1, index)]),
    ArrayAttr([IntegerAttr(MAX_SIZE + 1, index)]),
    ArrayAttr([StringAttr("*"), StringAttr("*")]),
    ArrayAttr([StringAttr("invalid"), IntegerAttr(1, index)][::-1]),
    ArrayAttr([ArrayAttr([])]),
]


@pytest.mark.parametrize(("value", "type"), [*((v, size) for v in NO_SIZES), *((v, shape) for v in NO_SHAPES)], ids=str)
def test_what_no_constant_holds(value, type):
    with pytest.raises(MindError, match="E9008"):
        lattice_of(value, type)
    op = ConstantOp(value=value, result_types=[type])
    with pytest.raises(MindError, match="E9008"):
        op.check()
    assert "shape.constant" in str(op)  # ill-formed ops can be shown


def test_ranks_are_bounded():
    assert ConstShapeOp.of([1] * MAX_RANK).lattice() == (1,) * MAX_RANK
    for make in (lambda n: ConstShapeOp.of([1] * n), lambda n: ConstantOp.of((1,) * n, shape).check()):
        make(MAX_RANK)
        with pytest.raises(MindError, match="E9004"):
            make(MAX_RANK + 1)


def test_extents_are_bounded():
    with pytest.raises(MindError, match="E9008"):
        ConstShapeOp.of([1 << 63])
    with pytest.raises(MindError, match="E9008"):
        ConstantDimOp(value=IntegerAttr(-1, i32)).check()
