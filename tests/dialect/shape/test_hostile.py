"""Nothing that a user writes in the shape dialect ends in a traceback: random ops by hand, mutated text, sizes without bound."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    f32,
    i1,
    i32,
)
from xdsl.ir import Block, Region
from xdsl.utils.test_value import create_ssa_value

from counting import calls
from mind_dialect.errors import CATALOGUE, MindError
from mind_dialect.shape import SHAPE_OPS, ShapeOp
from mind_dialect.shape.types import ElementType, extents_type, index, shape, size, value_shape, witness
from tool_runs import mind_opt

TYPES = [
    *(shape, size, value_shape, witness, index, i1, i32, f32, ElementType()),
    *(extents_type(None), extents_type(2), extents_type(2000), TensorType(f32, [2, 3])),
]
ATTRIBUTES = [
    *(UnitAttr(), StringAttr(""), StringAttr("f"), StringAttr("?"), IntegerAttr(-1, index), IntegerAttr(1 << 70, index)),
    *(IntegerAttr.from_bool(True), IntegerAttr(3, i32), ArrayAttr([]), ArrayAttr([StringAttr("invalid")]), DictionaryAttr({})),
    *(
        SymbolRefAttr("f"),
        SymbolRefAttr("f", ["g"]),
        DictionaryAttr({"a.b": SymbolRefAttr("f")}),
        FunctionType.from_lists([], []),
    ),
    DenseIntOrFPElementsAttr.from_list(TensorType(index, [2]), [1, 2]),
    DenseIntOrFPElementsAttr.from_list(TensorType(i32, [2]), [1, 2]),
]
DEEP = f"tensor<{'1x' * 1001}f32>"
LIBRARY = "shape.function_library @lib { shape.func private @f() } mapping {a.b = @f}"
FILES = sorted((Path(__file__).parents[2] / "filecheck" / "dialects" / "shape").glob("*.mlir"))


def random_op(draw: st.DrawFn, op: type[ShapeOp], depth: int = 0) -> ShapeOp:
    """An op of any operands, results, properties and regions."""
    types = st.lists(st.sampled_from(TYPES), max_size=3)
    operands = [create_ssa_value(t) for t in draw(types)]
    names = st.sampled_from([*op.get_irdl_definition().properties, "other"])
    regions = []
    for _ in range(draw(st.integers(0, 2 if depth < 2 else 0))):
        region = Region()
        for _ in range(draw(st.integers(0, 2))):
            block = Block(arg_types=draw(types))
            for inner in draw(st.lists(st.sampled_from(SHAPE_OPS), max_size=2)):
                block.add_op(random_op(draw, inner, depth + 1))
            region.add_block(block)
        regions.append(region)
    return op.create(
        operands=operands,
        result_types=draw(types),
        properties=draw(st.dictionaries(names, st.sampled_from(ATTRIBUTES), max_size=4)),
        regions=regions,
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", SHAPE_OPS, ids=lambda op: op.name)
@settings(max_examples=25)
@given(data=st.data())
def test_random_ops_are_accepted_or_refused_by_a_complete_coded_error(op: type[ShapeOp], data: st.DataObject):
    made = random_op(data.draw, op)
    try:
        made.check()
    except MindError as e:
        assert {*CATALOGUE[e.code].context, "op"} <= e.context.keys()  # noqa: PT017
        assert e.message.startswith(op.name)  # noqa: PT017
    else:
        str(made)  # what is well-formed by itself has a text


def mutated(text: str, source: random.Random) -> str:
    """`text` with a few tokens gone, doubled, exchanged or replaced."""
    tokens = text.split(" ")
    for _ in range(source.randint(1, 3)):
        i, j = (source.randrange(len(tokens)) for _ in range(2))
        match source.randrange(5):
            case 0:
                tokens[i] = ""
            case 1:
                tokens[i] += f" {tokens[i]}"
            case 2:
                tokens[i], tokens[j] = tokens[j], tokens[i]
            case 3:
                tokens[i] = source.choice(
                    ["[", "]", "?", "*", "-1", ":", "->", "!shape.type", "index", "invalid", '"x"', "{", "}"]
                )
            case _:
                tokens[i] = tokens[j]
    return " ".join(tokens)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_mutated_text_is_read_or_refused(path: Path):
    source = random.Random(path.stem)
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("//")]
    text = "\n".join(lines)
    functions = text.split("\nfunc.func ")
    for _ in range(12):
        program = mutated(source.choice(functions), source)
        result = mind_opt(stdin=program if program.startswith("func") else f"func.func {program}")
        assert result.status in (0, 1)
        assert (result.status == 0) == (not result.err), result.err
        assert "Traceback" not in result.err
        assert not result.err or "error[E" in result.err, program
        assert "cannot be read: " not in result.err, result.err


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (f"%a = shape.const_shape [{', '.join(['1'] * 1001)}] : !shape.shape", "E9004"),
        (f"%a = shape.constant [{', '.join(['?'] * 1001)}] : !shape.shape", "E9004"),
        (f'%x = "test.op"() : () -> {DEEP}\n%a = shape.shape_of %x : {DEEP} -> !shape.shape', "E9004"),
        (
            '%x = "test.op"() : () -> !shape.size\n%a = "shape.from_extents"('
            + ", ".join(["%x"] * 1001)
            + ") : ("
            + ", ".join(["!shape.size"] * 1001)
            + ") -> !shape.shape",
            "E9004",
        ),
        ("%a = shape.const_size -1", "E9008"),
        (f"%a = shape.const_size {10**30}", "E9008"),
        (f"%a = shape.const_shape [{10**30}] : !shape.shape", "E9008"),
        ("%a = shape.const_size " + "9" * 5000, "E1005"),
        ("shape.assuming %w {" * 3000, "E"),
        ("%a = shape.constant [" * 3000, "E"),
        ("%a = shape.constant [3, [4]] : !shape.shape", "E1007"),
        ("%a = shape.constant 3", "E1007"),
        ("%a = shape.const_witness maybe", "E1007"),
        ("%a = shape.unknown", "E4000"),
        ('%a = "test.op"() : () -> !shape.unknown', "E4000"),
        ('%a = "test.op"() : () -> !shape.shape<3>', "E1007"),
        (f"module attributes {{shape.lib = [@lib, @lib]}} {{ {LIBRARY} }}", "E9011"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else None,
)
def test_extremes_are_refused(program: str, code: str):
    result = mind_opt(stdin=program)
    assert result.status == 1
    assert f"error[{code}" in result.err
    assert "Traceback" not in result.err
    assert "cannot be read" not in result.err
    assert len(result.err) < 20_000


def test_reading_and_verifying_is_linear():
    def work(n: int) -> int:
        ops = "\n".join(f"  %a{i + 1} = shape.add %a{i}, %a0 : !shape.size, !shape.size -> !shape.size" for i in range(n))
        text = f"func.func @f(%a0: !shape.size) {{\n{ops}\n  func.return\n}}"
        return calls(lambda: mind_opt(stdin=text))

    work(10)  # imports
    assert work(400) < 4.5 * work(100)
