"""Ops no parser would make: any operands, results, regions, properties. Coded errors or none, and printing never fails."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    UnrankedTensorType,
    VectorType,
    bf16,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from mind_dialect.core import CORE_OPS, EXTENSION_OPS, CoreOp, SumOp
from mind_dialect.errors import CATALOGUE, MindError
from mind_dialect.literals import LiteralAttr
from mind_dialect.profiles import Profile
from mind_dialect.types import F32, tensor_type
from mind_dialect.verify import failures

OPS = (*CORE_OPS, *EXTENSION_OPS)
extents = st.sampled_from([0, 1, 2, 3, -1, -(1 << 63), 1 << 62, 1 << 63, 1 << 70])
elements = st.sampled_from([i32, i64, f32, f64, i1, bf16])
tensors = st.builds(TensorType, elements, st.lists(extents, max_size=5))
plain = st.builds(TensorType, st.sampled_from([f32, i32]), st.lists(st.integers(1, 3), max_size=4))
types = st.one_of(
    plain,
    plain,
    tensors,
    st.builds(TensorType, st.just(f32), st.just([2]), st.just(StringAttr("encoding"))),
    st.builds(UnrankedTensorType, elements),
    st.builds(MemRefType, elements, st.lists(st.integers(1, 3), max_size=3)),
    st.builds(VectorType, elements, st.just([2])),
    st.sampled_from([f32, i64, NoneAttr(), FunctionType.from_lists([i1], [i1])]),
)
integers = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-2, 5)
attributes: st.SearchStrategy[Attribute] = st.one_of(
    st.lists(integers, max_size=5).map(lambda v: DenseArrayBase.from_list(i64, v)),
    st.lists(st.integers(-2, 3), max_size=4).map(lambda v: DenseArrayBase.from_list(i32, v)),
    st.lists(st.floats(width=32), max_size=3).map(lambda v: DenseArrayBase.from_list(f32, v)),
    st.builds(StringAttr, st.sampled_from(["Valid", "Same", "", 'a"b\n\\', "ü\0"]) | st.text(max_size=5)),
    st.booleans().map(IntegerAttr.from_bool),
    integers.map(lambda v: IntegerAttr(v, i64)),
    st.integers(0, 99).map(lambda v: IntegerAttr.from_index_int_value(v)),
    st.floats().map(lambda v: FloatAttr(v, f64)),
    st.floats(width=32).map(lambda v: FloatAttr(v, f32)),
    st.builds(LiteralAttr, tensors | plain, st.binary(max_size=24).map(BytesAttr)),
    st.sampled_from(
        [
            UnitAttr(),
            NoneAttr(),
            ArrayAttr([]),
            DictionaryAttr({}),
            IntAttr(3),
            DenseIntOrFPElementsAttr.from_list(TensorType(f32, [2]), [1]),
        ]
    ),
    types,
)
likely: dict[str, st.SearchStrategy[Attribute]] = {
    "Integers": st.lists(st.integers(-1, 3), max_size=4).map(lambda v: DenseArrayBase.from_list(i64, v)),
    "BooleanCodec": st.booleans().map(IntegerAttr.from_bool),
    "PaddingCodec": st.sampled_from(["Valid", "Same", "Full"]).map(StringAttr)
    | st.lists(st.integers(-1, 2), min_size=4, max_size=4).map(lambda v: DenseArrayBase.from_list(i64, v)),
    "Scalar": st.floats(width=32).map(lambda v: FloatAttr(v, f32)) | integers.map(lambda v: IntegerAttr(v, i64)),
    "Literal": st.builds(LiteralAttr, plain, st.binary(min_size=4, max_size=4).map(BytesAttr)),
}
"""What the property could well be, by the name of its codec."""
names = st.sampled_from(["axes", "keepdims", "value", "shape", "strides", "padding", "mind.profile", "x", "my.note", 'q"'])


@st.composite
def ops(draw: st.DrawFn) -> CoreOp:
    """An op of any class, more or less well-formed."""
    cls = draw(st.sampled_from(OPS))
    wanted = len(cls.OPERANDS)
    count = wanted if draw(st.integers(0, 3)) else draw(st.integers(0, 4))
    some = types if not draw(st.integers(0, 3)) else plain
    operands = [test.TestOp(result_types=[draw(some)]).results[0] for _ in range(count)]
    kinds = {name: attributes if not draw(st.integers(0, 9)) else likely[type(c).__name__] for name, c in cls.CODECS.items()}
    properties = {name: draw(kind) for name, kind in kinds.items() if draw(st.integers(0, 19))}
    if not draw(st.integers(0, 19)):
        properties[draw(names)] = draw(attributes)
    results = [draw(types) for _ in range(1 if draw(st.integers(0, 9)) else draw(st.integers(0, 3)))]
    regions = [Region(Block())] if not draw(st.integers(0, 19)) else []
    notes = draw(st.dictionaries(names, attributes, max_size=1)) if not draw(st.integers(0, 9)) else {}
    return cls.create(operands=operands, properties=properties, result_types=results, regions=regions, attributes=notes)


def refusal(op: CoreOp, profile: Profile) -> MindError | None:
    """The error of an op, if any; another exception is a failure of the test."""
    try:
        op.check(profile)
    except MindError as e:
        return e
    return None


@settings(max_examples=500)
@given(ops(), st.sampled_from(Profile))
def test_checks_raise_coded_errors_or_nothing(op: CoreOp, profile: Profile):
    str(op)
    repr(op)
    if (e := refusal(op, profile)) is not None:
        assert e.code in CATALOGUE
        assert e.op is op
        assert {*CATALOGUE[e.code].context, "op"} <= e.context.keys()
        assert e.message.startswith(op.OPCODE)
        str(e), repr(e.context)


@settings(max_examples=150)
@given(st.lists(ops(), min_size=1, max_size=4), st.booleans())
def test_modules_of_them_give_coded_errors_only(made: list[CoreOp], terminated: bool):
    sources = [value.owner for op in made for value in op.operands]
    block = Block([*(s for s in sources if isinstance(s, test.TestOp)), *made, *([ReturnOp()] if terminated else [])])
    module = ModuleOp([FuncOp("f", FunctionType.from_lists([], []), Region(block))])
    for strict in (False, True):
        found = list(failures(module, strict=strict))
        assert terminated or found, "the terminator is missing"
        for e in found:
            assert isinstance(e, MindError)
            str(e), repr(e.context)
    str(module)


VALUES: list[Any] = [
    None,
    1,
    -1,
    1.5,
    True,
    "x",
    [],
    [1],
    [[1, 2], [3, 4]],
    [None],
    ["a"],
    (0,),
    {},
    1 << 70,
    object(),
    float("nan"),
    b"x",
]


@pytest.mark.parametrize("cls", OPS, ids=lambda cls: cls.OPCODE)
def test_constructors_given_any_property(cls: type[CoreOp]):
    operands = [test.TestOp(result_types=[tensor_type(F32, (2, 2))]).results[0] for _ in cls.OPERANDS]
    for name in cls.CODECS:
        for value in VALUES:
            rest = {other: [0, 0] for other in cls.CODECS if other != name}
            with contextlib.suppress(MindError):
                CoreOp.__init__(cls.__new__(cls), *operands, **{**rest, name: value})
    with pytest.raises(MindError, match=r"E2007|E4000|E4005|E4013"):
        CoreOp.__init__(cls.__new__(cls), *operands, *operands, *operands)


def test_a_misspelt_property_in_python():
    x = test.TestOp(result_types=[tensor_type(F32, (2, 2))]).results[0]
    with pytest.raises(MindError, match=r"E4000: Sum: given attributes \['axis', 'keepdims'\], expected \['axes', 'keepdims'\]"):
        SumOp(x, axis=[0], keepdims=True)


CONSTRUCTED = [(op, profile) for op in OPS for profile in Profile]


@pytest.mark.parametrize(("cls", "profile"), CONSTRUCTED, ids=lambda v: getattr(v, "OPCODE", v))
def test_bare_ops(cls: type[CoreOp], profile: Profile):
    """No operands, no properties, no results."""
    op = cls.create()
    assert op.name in str(op)
    with pytest.raises(MindError) as caught:
        op.check(profile)
    assert caught.value.code == ("E6003" if (cls.OPCODE, profile) == ("Div", Profile.CORE_V1) else "E2007")


def test_the_generator_reaches_most_codes():
    """The properties above would hold for a generator of nonsense only."""
    seen: set[str] = set()

    @settings(max_examples=1500)
    @given(ops())
    def collect(op: CoreOp):
        try:
            op.check(Profile.CORE_V1_1)
            seen.add("valid")
        except MindError as e:
            seen.add(e.code)

    collect()
    assert seen >= {"valid", "E2001", "E2004", "E2005", "E2007", "E3001", "E3002", "E3006", "E4000", "E4005", "E4015"}, seen
