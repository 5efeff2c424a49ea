"""Whatever an op is made of, `check` raises coded errors only, and what it accepts survives text."""

import random

import pytest
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    UnrankedTensorType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.test import TestOp as Unknown
from xdsl.ir import Attribute, Block, Region

from mind_dialect.errors import CATALOGUE, MindError
from mind_dialect.ptir import EXTENSION_OPS, PTIR_OPS, ConstantOp, PtirLiteralAttr, PtirOp, YieldOp
from mind_dialect.ptir.types import ALL, tensor_type
from ptir_rows import ROWS, types

BIG = 2**62
STRANGE: list[Attribute] = [
    *(IntegerAttr(n, i64) for n in (-1, 0, 1, 2, BIG, -BIG)),
    IntegerAttr(1, i32),
    IntegerAttr(1, i1),
    FloatAttr(float("nan"), f64),
    FloatAttr(1.0, f32),
    *(DenseArrayBase.from_list(i64, v) for v in ([], [0], [1], [-1], [0, 1], [1, 0], [BIG, BIG], [-BIG, 3, 7], [1] * 9)),
    DenseArrayBase.from_list(i32, [1]),
    *(ArrayAttr[Attribute](v) for v in ([], [StringAttr("B")], [StringAttr("2 B"), IntegerAttr(1, i64)], [NoneAttr()])),
    *(StringAttr(v) for v in ("", "max", "sum", "a.b.v1", "B\0", "x" * 5000)),
    DictionaryAttr({}),
    DictionaryAttr({"a": UnitAttr(), "b": ArrayAttr([IntegerAttr(1, i64), StringAttr("x")])}),
    *(d.type for d in ALL),
    NoneAttr(),
    PtirLiteralAttr.from_values(ALL[-4], (), [1.0]),
    PtirLiteralAttr(TensorType(f32, [3]), BytesAttr(b"abc")),
    PtirLiteralAttr(TensorType(f32, [DYNAMIC_INDEX]), BytesAttr(b"abcd")),
    PtirLiteralAttr(TensorType(i32, [BIG, BIG]), BytesAttr(b"")),
    PtirLiteralAttr(TensorType(f32, [BIG, BIG]), BytesAttr(b"")),
]
STRANGE_TYPES: list[Attribute] = [
    f32,
    TensorType(i32, [2]),
    TensorType(f32, [-7]),
    TensorType(f32, [2**70]),
    TensorType(f32, [DYNAMIC_INDEX], StringAttr("")),
    TensorType(f32, [DYNAMIC_INDEX], StringAttr("A,B")),
    TensorType(f32, [2], StringAttr("B")),
    TensorType(f32, [2], NoneAttr()),
    UnrankedTensorType(f32),
    *(tensor_type(d, shape) for d in ALL for shape in ((), (2, 3), ("B", "?"), (0,), (BIG, BIG, BIG), (1,) * 40)),
]
EVERY = [*PTIR_OPS, *EXTENSION_OPS]


def some_region(chance: random.Random) -> Region:
    if chance.random() < 0.2:
        return Region()
    block = Block(arg_types=chance.choices(STRANGE_TYPES, k=chance.randrange(3)))
    if chance.random() < 0.8:
        block.add_op(YieldOp.create(operands=block.args[: chance.randrange(3)]))
    return Region([block] if chance.random() < 0.9 else [block, Block()])


def some_op(op: type[PtirOp], chance: random.Random) -> PtirOp:
    """An op that is right but for one or two parts, or wrong all over."""
    rows = [row for row in ROWS if row.op is op and not row.is_refused]
    if rows and chance.random() < 0.8:
        row = chance.choice(rows)
        operands, results, properties = types(row.operands), types(row.expected), row.attributes()
    else:
        operands = chance.choices(STRANGE_TYPES, k=chance.randrange(4))
        results = chance.choices(STRANGE_TYPES, k=chance.randrange(3))
        properties = {name: chance.choice(STRANGE) for name in op.CODECS}
    for _ in range(chance.randrange(3)):
        part = chance.randrange(4)
        if part == 0 and operands:
            operands[chance.randrange(len(operands))] = chance.choice(STRANGE_TYPES)
        elif part == 1 and results:
            results[chance.randrange(len(results))] = chance.choice(STRANGE_TYPES)
        elif properties:
            properties[chance.choice(list(properties))] = chance.choice(STRANGE)
    regions = [some_region(chance) for _ in range(chance.randrange(3))]
    values = Unknown(result_types=operands).results
    attributes = {"x": UnitAttr()} if chance.random() < 0.05 else {}
    return op.create(operands=values, result_types=results, properties=properties, attributes=attributes, regions=regions)


def failure(op: PtirOp) -> MindError | None:
    try:
        op.check()
    except MindError as e:
        return e
    return None


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", EVERY, ids=lambda op: op.OPCODE)
def test_check_raises_coded_errors_only(op: type[PtirOp]):
    chance = random.Random(op.OPCODE)
    accepted, codes = 0, set[str]()
    for _ in range(400):
        built = some_op(op, chance)
        str(built)
        found = failure(built)
        accepted += found is None
        if found is not None:
            codes.add(found.code)
            assert len(str(found)) < 3000, str(found)[:200]
            assert all(key in found.context for key in CATALOGUE[found.code].context)
    assert accepted < 400
    assert len(codes) > 2


@pytest.mark.parametrize("op", [op for op in EVERY if op is not ConstantOp and not op.REGION_NAMES], ids=lambda op: op.OPCODE)
def test_the_constructor_raises_coded_errors_only(op: type[PtirOp]):
    chance = random.Random(op.OPCODE)
    values = [
        None,
        "x",
        3,
        -1,
        2.5,
        True,
        (1, 2),
        (),
        [[1, 2], [3, 4]],
        [10**5000],
        10**5000,
        object(),
        {1: 2},
        {"a": {}},
        b"a",
        "f32",
    ]
    for _ in range(100):
        operands = Unknown(result_types=chance.choices(STRANGE_TYPES, k=chance.randrange(4))).results
        properties = {name: chance.choice(values) for name in op.CODECS}
        try:
            op(*operands, **properties)
        except MindError:
            pass
