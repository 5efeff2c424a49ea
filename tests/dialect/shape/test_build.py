"""Building shape ops in Python: result types are inferred as upstream infers them, and what cannot be inferred is an error."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i32
from xdsl.utils.test_value import create_ssa_value

from mind_dialect.errors import MindError
from mind_dialect.shape import SHAPE_OPS, ShapeOp
from mind_dialect.shape.types import extents_type, index, shape, size, value_shape, witness
from programs import parse

TENSOR = TensorType(f32, [DYNAMIC_INDEX, 3])
E, E2, E3 = extents_type(None), extents_type(2), extents_type(3)

INFERRED = {
    "add": [((size, size), size), ((index, size), size), ((index, index), index)],
    "mul": [((size, index), size), ((index, index), index)],
    "div": [((size, index), size), ((index, index), index)],
    "max": [((size, size), size), ((shape, shape), shape), ((shape, size), size)],
    "min": [((size, size), size), ((shape, shape), shape)],
    "index_to_size": [((index,), size)],
    "size_to_index": [((size,), index)],
    "shape_of": [((TENSOR,), E2), ((value_shape,), shape)],
    "value_as_shape": [((TensorType(i32, [2]),), shape)],
    "with_shape": [((TENSOR, shape), value_shape)],
    "create_shape": [((TensorType(i32, [2]),), shape)],
    "from_extent_tensor": [((E,), shape)],
    "to_extent_tensor": [((shape,), E), ((E2,), E2)],
    "from_extents": [((size, index), shape), ((), shape)],
    "meet": [((shape, E), shape), ((E, E2), E2), ((size, index), size), ((index, index), index)],
    "join": [((shape, shape), shape)],
    "broadcast": [((shape, E), shape), ((E2, E3), E3), ((E2, E), E), ((), extents_type(0))],
    "any": [((shape, E), shape), ((E, E2), E2), ((), shape)],
    "concat": [((shape, E), shape), ((E2, E3), extents_type(5)), ((E2, E), E)],
    "get_extent": [((shape, index), size), ((E, index), index)],
    "rank": [((shape,), size), ((E,), index)],
    "num_elements": [((shape,), size), ((E,), index)],
    "dim": [((TENSOR, index), index), ((TENSOR, size), size)],
    "debug_print": [((size,), size), ((shape,), shape)],
    "cstr_broadcastable": [((shape, shape), witness)],
    "cstr_eq": [((shape, shape), witness)],
    "assuming_all": [((witness, witness), witness)],
}
BY_NAME = {op.name.removeprefix("shape."): op for op in SHAPE_OPS}
WITH_PROPERTIES_OR_REGIONS = {
    *("const_size", "const_shape", "const_witness", "constant", "constant_dim", "cstr_require"),
    *("assuming", "assuming_yield", "reduce", "yield", "func", "return", "function_library"),
}
NOT_ONE_RESULT = {"split_at", "value_of", "is_broadcastable", "shape_eq"}
"""Below."""


def build(name: str, *types, **more) -> ShapeOp:
    return BY_NAME[name](*(create_ssa_value(t) for t in types), **more)


@pytest.mark.quick
def test_every_op_is_built():
    assert INFERRED.keys() | WITH_PROPERTIES_OR_REGIONS | NOT_ONE_RESULT == BY_NAME.keys()


@pytest.mark.parametrize(("name", "types", "result"), [(n, t, r) for n, rows in INFERRED.items() for t, r in rows], ids=str)
def test_result_types_are_inferred(name: str, types, result):
    op = build(name, *types)
    assert list(op.result_types) == [result]
    op.verify()


def test_several_results_and_none_to_infer():
    assert list(build("split_at", shape, index).result_types) == [shape, shape]
    assert list(build("split_at", E, index).result_types) == [E, E]
    assert str(build("is_broadcastable", shape, shape).result_types[0]) == str(build("shape_eq", shape).result_types[0]) == "i1"
    for name, types in (("value_of", (value_shape,)), ("assuming", (witness,))):
        with pytest.raises(MindError, match="E2003"):
            build(name, *types)
    assert list(build("value_of", value_shape, result_types=[TENSOR]).result_types) == [TENSOR]


def test_properties_are_given_as_python_values():
    op = build("meet", size, size, error="sizes differ")
    assert op.string("error") == "sizes differ"
    assert build("meet", size, size).string("error") is None
    assert "error" not in build("meet", size, size, error=None).properties


def test_types_that_do_not_go_together_are_refused():
    with pytest.raises(MindError, match="E9001"):
        build("join", shape, size)


def test_a_library_tells_the_shape_function_of_an_op():
    text = """
    shape.function_library @lib {
      func @f(%x: !shape.value_shape) -> !shape.shape {
        %0 = shape_of %x : !shape.value_shape -> !shape.shape
        return %0 : !shape.shape
      }
    } mapping {test.exp = @f}
    """
    (library,) = parse(text).body.block.ops
    assert library.function_of("test.exp") is library.functions["f"]
    assert library.function_of("test.log") is None
