"""What is wrong with a JSON program, by example: code, path, place in the text; and nothing large is made on the way."""

from __future__ import annotations

import copy
import json
import tracemalloc
from collections.abc import Callable

import pytest

from mind_dialect.errors import MindParseError
from mind_translate.ptir_json import parse_ptir_json
from mind_translate.ptir_json.faults import first_fault, locate
from ptir_texts import BASE, NEG, line, literal, tensor

FUNCTION = ("functions", 0)
BODY = (*FUNCTION, "body")


class Delete:
    """In a row below: the field goes."""


def op(i: int) -> tuple:
    return (*BODY, i, "op")


REQUIRED = [key for key in BASE["functions"][0] if key != "hints"]
ROWS = [
    # fields
    *(((key,), Delete, "E4000", "", f"the field '{key}' is missing") for key in ("entry", "functions", "regions")),
    *(((*FUNCTION, key), Delete, "E4000", "@", f"the field '{key}' is missing") for key in REQUIRED),
    *(((*BODY, 0, key), Delete, "E4000", "$[0]", f"the field '{key}' is missing") for key in line(0, 0)),
    *((("regions", 1, key), Delete, "E4000", "regions[1]", f"the field '{key}' is missing") for key in BASE["regions"][0]),
    ((*op(1), "Reduce", "axes"), Delete, "E4000", "$[1].op.Reduce", "the field 'axes' is missing"),
    ((*BODY, 0, "output", "Tensor", "shape", "dims"), Delete, "E4000", "$[0].output.Tensor.shape", "is missing"),
    (("extra",), 1, "E4000", "", "unknown field 'extra'"),
    ((*op(1), "Reduce", "axis"), 1, "E4000", "$[1].op.Reduce", "unknown field 'axis'"),
    # kinds
    ((), [], "E4000", "", "expected an object"),
    (("entry",), 7, "E4000", "entry", "expected a string, found 7"),
    (("functions",), {}, "E4000", "functions", "expected a list, found an object of 0 fields"),
    (FUNCTION, None, "E4000", "@", "expected an object"),
    ((*FUNCTION, "name"), "", "E4000", "@.name", "an empty name"),
    ((*FUNCTION, "hints"), 1, "E4000", "@.hints", "expected a list"),
    ((*BODY, 0, "id"), 2.0, "E4000", "$[0].id", "the number of a value, found 2.0"),
    ((*BODY, 0, "id"), True, "E4000", "$[0].id", "found true"),
    ((*BODY, 0, "id"), -1, "E8002", "$[0].id", "0 to 2^32 - 1"),
    ((*BODY, 0, "id"), 2**32, "E8002", "$[0].id", "number 4294967296"),
    ((*BODY, 0, "op"), "Sel", "E4000", "$[0].op", "found 'Sel'"),
    ((*BODY, 0, "op"), "Reduce", "E4000", "$[0].op", "expected Reduce with a payload"),
    ((*BODY, 0, "op"), {"Select": {}}, "E4000", "$[0].op", "expected Select without a payload"),
    ((*BODY, 0, "op"), {}, "E4000", "$[0].op", "an operation"),
    ((*BODY, 0, "op"), {"Select": 1, "Take": 1}, "E4000", "$[0].op", "an object of 2 fields"),
    ((*op(0), "ElementwiseUnary"), "Sinh", "E4000", "$[0].op.ElementwiseUnary", "found 'Sinh'"),
    ((*BODY, 0, "op"), {"Extension": {"name": "neg"}}, "E4000", "$[0].op.Extension.name", "found 'neg'"),
    ((*BODY, 0, "op"), {"Extension": 3}, "E4000", "$[0].op.Extension", "expected an object"),
    ((*op(1), "Reduce", "kind"), "Mean", "E4000", "$[1].op.Reduce.kind", "'Prod', 'And', 'Or', 'Xor'], found 'Mean'"),
    ((*op(1), "Reduce", "axes"), 7, "E4000", "$[1].op.Reduce.axes", "expected a list, found 7"),
    ((*op(1), "Reduce", "axes", 0), "1", "E4000", "$[1].op.Reduce.axes[0]", "expected an integer, found '1'"),
    ((*op(1), "Reduce", "axes", 0), 2**63, "E8002", "$[1].op.Reduce.axes[0]", "2^63 - 1"),
    ((*op(1), "Reduce", "keepdims"), 0, "E4000", "$[1].op.Reduce.keepdims", "true or false, found 0"),
    ((*op(1), "Reduce", "out_dtype"), "f32", "E2005", "$[1].op.Reduce.out_dtype", "found 'f32'"),
    ((*op(2), "Pad", "low", 0), -1, "E8002", "$[2].op.Pad.low[0]", "found -1, expected 0 to 2^63 - 1"),
    ((*op(3), "Reshape", "new_shape", 0), "Inferred", "E4000", "$[3].op.Reshape.new_shape[0]", "Explicit or Infer"),
    ((*op(3), "Reshape", "new_shape", 0), {"Infer": 1}, "E4000", "$[3].op.Reshape.new_shape[0]", "Explicit or Infer"),
    # dimensions and types
    ((*BODY, 0, "output"), {"Tensor": 3}, "E4000", "$[0].output.Tensor", "expected an object"),
    ((*BODY, 0, "output"), {"List": []}, "E4000", "$[0].output", "Tensor or Tuple"),
    ((*BODY, 0, "output"), tensor(-2, 3), "E3006", "$[0].output.Tensor.shape.dims[0].Static", "size -2"),
    ((*BODY, 0, "output"), tensor(2**63), "E3006", "$[0].output.Tensor.shape.dims[0].Static", "size 9223372036854775808"),
    ((*BODY, 0, "output"), tensor(2**32, 2**31), "E3006", "$[0].output.Tensor", "more than 2^63 - 1 bytes"),
    ((*FUNCTION, "parameters", 0), tensor(2**40, "B", 2**40), "E3006", "@.parameters[0].Tensor", "more than 2^63"),
    ((*BODY, 0, "output"), tensor("2B"), "E8002", "$[0].output.Tensor.shape.dims[0].Dynamic", "'2B'"),
    ((*BODY, 0, "output"), tensor("\ud800"), "E1004", "$[0].output.Tensor.shape.dims[0].Dynamic", "surrogate"),
    ((*BODY, 0, "output", "Tensor", "dtype"), "F24", "E2005", "$[0].output.Tensor.dtype", "found 'F24'"),
    ((*BODY, 0, "output", "Tensor", "shape", "dims", 0), 2, "E4000", "$[0].output.Tensor.shape.dims[0]", "Static"),
    ((*BODY, 7, "output"), tensor(2, 3), "E2007", "$[7]", "top_k: expects 2 results, found 1"),
    # literals
    ((*op(4), "Constant", "bytes"), [0, 0, 0], "E4005", "$[4].op.Constant", "no whole number of elements"),
    ((*op(4), "Constant", "bytes"), [0] * 8, "E4005", "$[4].op.Constant", "2 elements"),
    ((*op(4), "Constant", "bytes"), [256, 0, 0, 0], "E4005", "$[4].op.Constant.bytes[0]", "a byte 256"),
    ((*op(4), "Constant", "bytes", 3), "x", "E4000", "$[4].op.Constant.bytes[3]", "expected a byte"),
    ((*op(4), "Constant", "bytes", 3), True, "E4000", "$[4].op.Constant.bytes[3]", "expected a byte"),
    ((*op(4), "Constant"), literal([], 2**31, 2**29), "E4005", "$[4].op.Constant", "0 elements"),
    ((*op(4), "Constant"), literal([0] * 4, "B"), "E3006", "$[4].op.Constant", "expected static"),
    ((*op(4), "Constant"), literal([2], 1, dtype="I1"), "E4005", "$[4].op.Constant", "a byte 2"),
    ((*BODY, 4, "output"), tensor(2), "E4015", "$[4]", "constant: declared result"),
    ((*op(2), "Pad", "pad_value"), {"Float": None}, "E4005", "$[2].op.Pad.pad_value.Float", "found null"),
    ((*op(2), "Pad", "pad_value"), {"Float": "inf"}, "E4005", "$[2].op.Pad.pad_value.Float", "found 'inf'"),
    ((*op(2), "Pad", "pad_value"), {"Float": 1e39}, "E4005", "$[2]", "pad: element 1e+39 of a f32 literal"),
    ((*op(2), "Pad", "pad_value"), {"Float": 10**400}, "E4005", "$[2].op.Pad.pad_value.Float", "expected a number"),
    ((*op(2), "Pad", "pad_value"), {"I1": True}, "E4005", "$[2]", "is not a number"),
    ((*op(2), "Pad", "pad_value"), {"Unsigned": -1}, "E4005", "$[2].op.Pad.pad_value.Unsigned", "found -1"),
    ((*op(2), "Pad", "pad_value"), {"Complex": {"re": 0.0}}, "E4000", "$[2].op.Pad.pad_value.Complex", "'im' is missing"),
    ((*op(2), "Pad", "pad_value"), 0.0, "E4000", "$[2].op.Pad.pad_value", "found 0.0"),
    # custom calls
    ((*op(5), "CustomCall", "target"), "conv", "E8002", "$[5]", "expected a namespace and a version"),
    ((*op(5), "CustomCall", "attrs", "n", "kind"), "U8", "E4000", "$[5].op.CustomCall.attrs.n.kind", "found 'U8'"),
    ((*op(5), "CustomCall", "attrs", "n", "value"), [1, "2"], "E4000", "$[5].op.CustomCall.attrs.n.value[1]", "found '2'"),
    ((*op(5), "CustomCall", "attrs", ""), {"kind": "I64", "value": 1}, "E8002", "$[5].op.CustomCall.attrs", "empty name"),
    # values
    ((*BODY, 0, "operands", 0), {"Value": 3}, "E4001", "$[0].operands[0]", "%3, before its definition"),
    ((*BODY, 0, "operands", 0), {"Value": 99}, "E4001", "$[0].operands[0]", "%99, which is not defined here"),
    ((*BODY, 0, "operands", 0), {"Valu": 0}, "E4000", "$[0].operands[0]", "one of Value"),
    ((*BODY, 0, "operands", 0), {"TupleElement": {"tuple": 0, "index": 0}}, "E2001", "$[0].operands[0]", "no tuple"),
    ((*BODY, 0, "operands", 0), {"TupleElement": {"tuple": 0}}, "E4000", "$[0].operands[0].TupleElement", "'index'"),
    ((*BODY, 0, "operands", 0), {"Literal": literal([0], 2, 3)}, "E4005", "$[0].operands[0].Literal", "no whole"),
    ((*BODY, 0, "operands"), [], "E2007", "$[0]", "neg: expects 1 operands, found 0"),
    ((*BODY, 1, "id"), 2, "E4002", "$[1].id", "%2 is defined again"),
    ((*FUNCTION, "parameter_ids"), [0, 0], "E4002", "@.parameter_ids[1]", "%0 is defined again"),
    ((*FUNCTION, "parameter_ids"), [0], "E2007", "@.parameter_ids", "1 ids for 2 parameters"),
    ((*FUNCTION, "result_ids"), [], "E2007", "@.result_ids", "0 ids for 1 results"),
    ((*FUNCTION, "result_ids"), [77], "E4003", "@.result_ids[0]", "%77"),
    ((*FUNCTION, "results"), [tensor(3, 2)], "E4015", "@.results[0]", "tensor<F32 x 3x2>"),
    (("entry",), "other", "E2002", "entry", "the entry 'other' is not a function"),
    # rules of ops
    ((*op(1), "Reduce", "axes"), [2], "E3004", "$[1]", "reduce: axis 2 is out of range"),
    ((*op(1), "Reduce", "accum_dtype"), "Si32", "E8003", "$[1]", "reduce: accum_dtype si32"),
    ((*BODY, 1, "output"), tensor(3), "E4015", "$[1]", "reduce: declared result"),
    # regions
    (("regions", 1, "id"), 0, "E4002", "regions[1].id", "region 0 is defined again"),
    (("regions", 1, "id"), 5, "E2002", "$[6].op", "region 1 is not defined"),
    (("regions", 0, "id"), -1, "E8002", "regions[0].id", "found -1"),
    (("regions", 0, "results"), [], "E8005", "$[6]", "cond: region false yields"),
    (("regions", 0, "results"), [tensor(2, 3)] * 2, "E8005", "regions[0].results", "2 results of 1 instructions"),
    (("regions", 0, "results", 0), tensor(2), "E4015", "regions[0].results[0]", "declared tensor<F32 x 2>"),
    (("regions", 0, "body", 0, "operands", 0), {"Value": 2}, "E4001", "regions[0].body[0].operands[0]", "which is not defined"),
    (("regions", 0, "body", 0, "id"), 0, "E4002", "regions[0].body[0].id", "%0 is defined again"),
    (("regions", 0, "parameters"), [], "E4001", "regions[0].body[0].operands[0]", "%0"),
    (
        ("regions", 0, "body", 0),
        line(1, {"Scan": {"body_region": 0, "carry_count": 0, "scan_output_count": 1}}, 0),
        "E8005",
        "regions[0].body[0].op",
        "region 0 calls itself: 0 -> 0",
    ),
]  # fmt: skip
"""What is replaced by what, the code, the path with $ for functions[0].body and @ for functions[0], words of the message."""


def changed(path: tuple, value: object) -> object:
    """The base program with one part replaced or removed."""
    if not path:
        return value
    program = copy.deepcopy(BASE)
    part = program
    for key in path[:-1]:
        part = part[key]
    if value is Delete:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return program


def test_the_base_is_right():
    parse_ptir_json(json.dumps(BASE), strict=True)


@pytest.mark.parametrize(("path", "value", "code", "where", "message"), ROWS, ids=[f"{i}-{r[2]}" for i, r in enumerate(ROWS)])
def test_errors(path, value, code, where, message):
    where = where.replace("$", "functions[0].body").replace("@", "functions[0]")
    text = json.dumps(changed(path, value), indent=1)
    with pytest.raises(MindParseError) as raised:
        parse_ptir_json(text, "p.json")
    err = raised.value.error
    assert (err.code, err.context["path"]) == (code, where)
    assert message in err.message
    assert err.message.startswith(where)
    assert str(raised.value).startswith("p.json:")
    keys = [int(k) if k.isdigit() else k for k in where.replace("[", ".").replace("]", "").split(".") if k]
    place = json.loads(text)
    for key in keys:
        place = place[key]
    start, _ = locate(text, keys)
    assert raised.value.span.start == start
    assert json.JSONDecoder().raw_decode(text, start)[0] == place, "the place is that of the value at the path"


@pytest.mark.parametrize(
    ("text", "code", "message", "marked"),
    [
        ("", "E1007", "invalid JSON: expecting value", ""),
        ('{"a": }', "E1007", "invalid JSON: expecting value", "}"),
        ('{"a": 1} x', "E1007", "invalid JSON: extra data", "x"),
        ('{"a": "\n"}', "E1007", "invalid JSON: invalid control character", "\n"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "E4000", "the key 'c' is given twice", '"c"'),
        ('{"a": 1, "\\u0061": 2}', "E4000", "the key 'a' is given twice", '"\\u0061"'),
        ('{"a": [1, NaN]}', "E4005", 'write "NaN" in quotes', "NaN"),
        ('{"a": -Infinity}', "E4005", 'write "-Infinity" in quotes', "-Infinity"),
        ('{"a": 1e999}', "E4005", "beyond the range of f64", "1e999"),
        ('{"a": ' + "9" * 5000 + "}", "E1005", "a number of 5000 digits", "9" * 200),
        ("[" * 100_000, "E1007", "nested too deeply", "["),
        ('{"a":' * 50_000, "E1007", "nested too deeply", "{"),
        ('"\ud800"', "E1004", "surrogate", "\ufffd"),
        ("{}\ufeff", "E1007", "invalid JSON", "\ufeff"),
    ],
    ids=str,
)
def test_what_is_no_json(text: str, code: str, message: str, marked: str):
    with pytest.raises(MindParseError) as raised:
        parse_ptir_json(text)
    assert raised.value.error.code == code
    assert message in raised.value.error.message
    span = raised.value.span
    assert span.input.content[span.start : span.end] == marked
    str(raised.value).encode()


def test_bytes_that_are_no_utf8():
    with pytest.raises(MindParseError, match="E1001"):
        parse_ptir_json(b'{"a": "\xff"}')


def refused(make: Callable[[], str]) -> tuple[str, str]:
    """The code and message for a text, which may take no more than a few times its own size."""
    text = make()
    tracemalloc.start()
    try:
        with pytest.raises(MindParseError) as raised:
            parse_ptir_json(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30 * len(text) + 30_000_000
    assert len(raised.value.error.message) < 2000
    assert len(str(raised.value)) < 3000
    return raised.value.error.code, raised.value.error.message


def with_regions(regions: list, used: int, **changes) -> str:
    program = copy.deepcopy(BASE)
    program["regions"] = regions
    program["functions"][0]["body"] = [line(2, {"Cond": {"true_region": used, "false_region": used}}, 1, 0)]
    return json.dumps({**program, **changes})


def region(number: int, *inner: int) -> dict:
    """A region that negates, then runs each pair of others."""
    pred = line(1, {"Constant": literal([1], dtype="I1")}, output=tensor(dtype="I1"))
    body = [pred, *(line(2 + i, {"Cond": {"true_region": n, "false_region": n}}, 1, 0) for i, n in enumerate(inner))]
    return {"id": number, "parameters": [tensor(2, 3)], "body": [*body, line(99, NEG, 0)], "results": [tensor(2, 3)]}


def test_regions_that_double_at_every_step():
    code, message = refused(lambda: with_regions([region(0), *(region(n, n - 1) for n in range(1, 60))], 59))
    assert code == "E1007"
    assert "instructions" in message


def test_regions_that_nest_deeply():
    """A chain of regions, each run by the next; the size is linear, the depth is not to be recursed into."""
    pad = [line(50 + i, NEG, 0) for i in range(2)]
    scan = {"Extension": {"name": "fusion", "body_region": 0}}
    chain = []
    for n in range(300):
        op = {"Extension": {**scan["Extension"], "body_region": n - 1}} if n else NEG
        chain.append({"id": n, "parameters": [tensor(2, 3)], "body": [*pad, line(9, op, 0)], "results": [tensor(2, 3)]})
    assert refused(lambda: with_regions(chain, 299))[0] == "E1007"


def test_a_long_cycle():
    ring = [region(n, (n + 1) % 200) for n in range(200)]
    code, message = refused(lambda: with_regions(ring, 0))
    assert code == "E8005"
    assert "calls itself: 0 -> 1 -> 2 " in message


def test_tuples_that_nest_deeply():
    deep = tensor(2)
    for _ in range(40):
        deep = {"Tuple": [deep]}
    program = copy.deepcopy(BASE)
    program["functions"][0]["parameters"][0] = deep
    assert refused(lambda: json.dumps(program))[0] == "E1007"


def test_too_much_text(monkeypatch: pytest.MonkeyPatch):
    from mind_translate.ptir_json import reader

    monkeypatch.setattr(reader, "MAX_CONTAINERS", 1000)
    assert refused(lambda: "[" + "[]," * 1000 + "1]")[0] == "E1007"
    monkeypatch.setattr(reader, "MAX_TEXT", 100)
    assert refused(lambda: '"' + "x" * 100 + '"')[0] == "E1007"


def test_places():
    assert first_fault('{"a": [1, 2.5, "NaN"], "b": {"a": -1e5}}') is None
    text = '{"a": [1, {"b": null}], "c": {}}'
    assert text[slice(*locate(text, ["c"]))] == "{"
    assert locate(text, ["a", 5]) == (6, 7), "the list itself, which has no such item"
    assert locate(text, ["a", "x"]) == (6, 7)
