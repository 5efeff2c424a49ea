"""Every kind of property refuses what it cannot store, with a code, whatever Python value is given."""

import pytest
from xdsl.utils.lexer import Input, Span

from mind_dialect.core.attributes import BOOLEAN, INTEGERS, LITERAL, PADDING, Codec, Scalar
from mind_dialect.errors import LONGEST_LINE, MindError, MindParseError, error
from mind_dialect.types import F32, I64

VALUES = [
    None,
    "x",
    3,
    2.5,
    True,
    (1, 2),
    [[1, 2], [3, 4]],
    ((1, 2), 3),
    [10**5000],
    10**5000,
    [True],
    [1.0],
    object(),
    {1: 2},
    b"a",
]
GOOD = {
    INTEGERS: ((1, 2),),
    BOOLEAN: (True,),
    PADDING: ("x", [[1, 2], [3, 4]]),
    LITERAL: (),
}


@pytest.mark.parametrize("codec", GOOD, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_only_good_values_are_stored(codec: Codec, value: object):
    if any(type(value) is type(good) and value == good for good in GOOD[codec]):
        codec.value(codec.attribute(value))
    elif isinstance(value, dict | bytes) and codec is INTEGERS:
        codec.attribute(value)  # iterables of integers are lists of integers
    else:
        with pytest.raises(MindError) as e:
            codec.attribute(value)
        assert e.value.code in ("E4000", "E4005", "E4013")
        assert len(str(e.value)) < 1000


@pytest.mark.parametrize("codec", [Scalar(I64), Scalar(F32)], ids=["i64", "f32"])
@pytest.mark.parametrize("value", [None, "x", True, [1], 10**5000, 1e300], ids=range(6))
def test_scalars_refuse_with_e4005(codec: Codec, value: object):
    with pytest.raises(MindError) as e:
        codec.attribute(value)
    assert e.value.code == "E4005"


def test_a_parse_error_shows_an_excerpt_of_a_long_line():
    text = "first\n" + "a" * 5000 + "HERE" + "b" * 5000
    place = text.index("HERE")
    shown = str(MindParseError(Span(place, place + 4, Input(text, "f")), error("E1007", "no")))
    lines = shown.splitlines()
    assert lines[0] == "f:2:5001"
    assert len(lines[1]) == LONGEST_LINE
    assert lines[1][lines[2].index("^") :][:4] == "HERE"
    assert lines[2].count("^") == 4
    assert lines[3].strip() == "E1007: no"


def test_a_parse_error_on_a_short_line_is_as_xdsls():
    span = Span(3, 5, Input("ab cd ef", "f"))
    assert str(MindParseError(span, error("E1007", "no"))) == span.print_with_context("E1007: no")
