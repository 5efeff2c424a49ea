"""Branches, loops and functions that hold sequences, change types or read what is around them, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_runtime import compile
from mind_translate.onnx import read_onnx
from onnx_nodes import normal, runtime

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
h: Any = onnx.helper
Array = np.ndarray[Any, Any]
HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
X, LONG = normal(3, 4), normal(6, 4)
YES, NO, FOUR = np.array(True), np.array(False), np.array(4)


def model(text: str) -> bytes:
    return onnx.parser.parse_model(HEAD + text).SerializeToString()


def branches(then: str, other: str, result: str = "y") -> str:
    """An If on `c` with these bodies, whose results are `p` and `q`."""
    return f"""{result} = If (c) <
        then_branch = a () => (float[3,4] p) {{ {then} }}, else_branch = b () => (float[3,4] q) {{ {other} }}>"""


def loop(carried: str, kind: str, body: str, results: str = "y", trips: str = "m") -> str:
    """A Loop of this many iterations with a value `v` of this kind, whose next value is `w`."""
    rows = ", float[3,4] r" if "," in results else ""
    return f"""{results} = Loop ({trips}, k, {carried}) <body = f (int64 i, bool g, {kind} v) => (bool o, {kind} w{rows}) {{
        {body} }}>"""


KNOWN = "<int64 m = {3}, bool k = {1}, int64 zero = {0}, int64 one = {1}, int64 two = {2}>"
INSERT = "o = Identity (g) n = Cast <to = 1> (i) t = Mul (x, n) w = SequenceInsert (v, t)"
MODELS: dict[str, tuple[str, dict[str, Array]]] = {
    "sequences of branches": (
        f"""g (bool c, float[3,4] x) => (float[3,4] y) {KNOWN} {{
        {
            branches("p = SequenceConstruct (x, x)", "z = Neg (x) q = SequenceConstruct (z, x)", "s")
            .replace("float[3,4] p", "seq(float[3,4]) p")
            .replace("float[3,4] q", "seq(float[3,4]) q")
        }
        y = SequenceAt (s, zero) }}""",
        {"c": NO, "x": X},
    ),
    "a sequence from outside of branches": (
        f"""g (bool c, float[3,4] x) => (float[3,4] y) {KNOWN} {{ z = Exp (x) s = SequenceConstruct (x, z)
        {branches("t = SequenceAt (s, one) u = SequenceAt (s, zero) p = Sub (t, u)", "q = SequenceAt (s, one)")} }}""",
        {"c": YES, "x": X},
    ),
    "a sequence from outside of a loop": (
        f"""g (float[6,4] x) => (float[2,4] y) {KNOWN} {{ s = SplitToSequence <axis = 0> (x, two) z = SequenceAt (s, two)
        {loop("z", "float[2,4]", "o = Identity (g) t = SequenceAt (s, i) w = Add (v, t)")} }}""",
        {"x": LONG},
    ),
    "a sequence from outside of a loop of unknown length": (
        f"""g (int64 m, float[6,4] x) => (float[2,4] y) {KNOWN.replace("int64 m = {3}, ", "")} {{
        s = SplitToSequence <axis = 0> (x, two) z = SequenceAt (s, two)
        {loop("z", "float[2,4]", "o = Identity (g) t = SequenceAt (s, i) w = Add (v, t)")} }}""",
        {"m": np.array(2), "x": LONG},
    ),
    "a sequence that a loop fills": (
        f"""g (float[3,4] x) => (float[N,4] y) {KNOWN} {{ e = SequenceEmpty <dtype = 1> ()
        {loop("e", "seq(float[3,4])", INSERT, "s")}
        y = ConcatFromSequence <axis = 0> (s) }}""",
        {"x": X},
    ),
    "a value that grows": (
        f"""g (float[3,4] x) => (float[N,4] y) {KNOWN} {{
        {loop("x", "float[M,4]", "o = Identity (g) w = Concat <axis = 0> (v, x)")} }}""",
        {"x": X},
    ),
    "rows until the counter says so": (
        f"""g (float[3,4] x) => (float[3,4] y, float[N,3,4] s) {KNOWN.replace("{3}", "{9}")} {{
        {loop("x", "float[3,4]", "o = Less (i, two) w = Add (v, x) r = Identity (v)", "y, s")} }}""",
        {"x": X},
    ),
    "rows of a computed trip count, as in the body of Range": (
        f"""g (float[3,4] x) => (float[3,4] y, float[N,3,4] s) {KNOWN.replace("int64 m = {3}", "float e = {2.5}")} {{
        c = Ceil (e) z = Relu (c) m = Cast <to = 7> (z)
        {loop("x", "float[3,4]", "o = Identity (g) w = Add (v, x) r = Identity (v)", "y, s")} }}""",
        {"x": X},
    ),
    "rows of no iteration": (
        f"""g (float[3,4] x) => (float[3,4] y, float[N,3,4] s) {KNOWN.replace("bool k = {1}", "bool k = {0}")} {{
        {loop("x", "float[3,4]", "o = Identity (g) w = Add (v, x) r = Identity (v)", "y, s")} }}""",
        {"x": X},
    ),
    "a position that is data": (
        f"""g (int64 i, float[6,4] x) => (float[2,4] y) {KNOWN} {{
        s = SplitToSequence <axis = 0> (x, two) y = SequenceAt (s, i) }}""",
        {"i": np.array(-1), "x": LONG},
    ),
    "an optional value": (
        f"""g (float[3,4] x) => (float[3,4] y) {{ e = Optional (x) c = OptionalHasElement (e)
        {branches("p = OptionalGetElement (e)", "q = Neg (x)")} }}""",
        {"x": X},
    ),
    "an optional value that is absent": (
        f"""g (float[3,4] x) => (float[3,4] y) {{ e = Optional <type: type_proto = float[3,4]> () c = OptionalHasElement (e)
        {branches("p = OptionalGetElement (e)", "q = Neg (x)")} }}""",
        {"x": X},
    ),
    "a scan of a length with a name": (
        """g (float[4] a, float[N,4] x) => (float[4] y, float[N,4] s) {
        y, s = Scan <num_scan_inputs = 1, body = f (float[4] v, float[4] t) => (float[4] w, float[4] r) {
        w = Add (v, t) r = Mul (w, t) }> (a, x) }""",
        {"a": normal(4), "x": LONG},
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_values(name: str):
    text, given = MODELS[name]
    data = model(text)
    expected = runtime().InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, given)
    for target in ("numpy", "native"):
        found = compile(read_onnx(data), target=target)(*given.values())
        for x, y in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
            assert x.shape == y.shape
            np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-6)


def test_overloads_of_functions():
    ops = [h.make_opsetid("", 21)]
    functions = [
        h.make_function("own", "f", ["a"], ["b"], [h.make_node(op, ["a"], ["b"])], ops, overload=op) for op in ("Neg", "Exp")
    ]
    nodes = [h.make_node("f", *names, domain="own", overload=op) for op, *names in (("Neg", ["x"], ["t"]), ("Exp", ["t"], ["y"]))]
    values = [h.make_tensor_value_info(name, 1, (3, 4)) for name in "xy"]
    graph = h.make_graph(nodes, "g", values[:1], values[1:])
    made = h.make_model(graph, opset_imports=[*ops, h.make_opsetid("own", 1)], functions=functions, ir_version=10)
    np.testing.assert_allclose(compile(read_onnx(made.SerializeToString()))(X), np.exp(-X), rtol=1e-6)
    made.functions.append(functions[0])
    with pytest.raises(MindError, match="defined twice"):
        read_onnx(made.SerializeToString())


DATA = KNOWN.replace("int64 m = {3}, ", "")
REFUSED: dict[str, tuple[str, str]] = {
    "branches of different types": (
        f"""g (bool c, float[3,4] x) => (float y) {{ {branches("p = Identity (x)", "q = ReduceSum (x)")} }}""",
        r"branches that return tensors of f32\[3, 4\] and f32\[1, 1\]; give both the same type",
    ),
    "sequences of different lengths": (
        MODELS["sequences of branches"][0].replace("SequenceConstruct (z, x)", "SequenceConstruct (z)"),
        "sequences of different lengths; give both as many elements",
    ),
    "a sequence that a loop of unknown length fills": (
        MODELS["a sequence that a loop fills"][0].replace(KNOWN, DATA).replace("g (", "g (int64 m, ", 1),
        r"trip count and the condition of a Loop over sequences, .* must be known values; .* pass static=\{'m': \.\.\.\} if",
    ),
    "rows of a loop of unknown length": (
        MODELS["rows until the counter says so"][0].replace(KNOWN.replace("{3}", "{9}"), DATA).replace("g (", "g (int64 m, ", 1),
        "trip count and the condition of a Loop with scan outputs must be known values",
    ),
    "rows until data says so": (
        MODELS["rows until the counter says so"][0].replace("Less (i, two)", "Greater (u, h) u = ReduceMax <keepdims = 0> (v)")
        .replace("o = Greater (u, h) u = ReduceMax <keepdims = 0> (v)", "u = ReduceMax <keepdims = 0> (v) o = Greater (u, h)")
        .replace("int64 zero", "float h = {0}, int64 zero"),
        "whose condition depends on data; give it a condition that is true",
    ),
    "very many iterations that change a type": (
        MODELS["a value that grows"][0].replace("{3}", "{1025}"), "at most 1024 iterations are unrolled",
    ),
    "scans of different names": (
        MODELS["a scan of a length with a name"][0].replace("num_scan_inputs = 1", "num_scan_inputs = 2")
        .replace("float[N,4] x)", "float[N,4] x, float[M,4] u)").replace("float[4] t)", "float[4] t, float[4] e)")
        .replace("(a, x)", "(a, x, u)"),
        "a Scan over N and M elements, which may differ; pass dims=",
    ),
    "an operator without a rule in a body, and nothing else": (
        MODELS["a sequence from outside of a loop"][0].replace("w = Add (v, t)", "w = RandomNormalLike (v)"),
        "^E8008: 1 op has no form in PTIR:\n  RandomNormalLike",
    ),
    "an absent value that is read": (
        "g (float[3,4] x) => (float[3,4] y) { e = Optional <type: type_proto = float[3,4]> () y = OptionalGetElement (e) }",
        "an optional value that is absent; ask OptionalHasElement before it is read",
    ),
    "a sequence as a result": (
        f"g (float[6,4] x) => (seq(float) s) {KNOWN} {{ s = SplitToSequence <axis = 0> (x, two) }}",
        "return or read its elements",
    ),
    "a position in a sequence of several types": (
        f"""g (int64 i, float[6,4] x) => (float[N,4] y) {KNOWN} {{ s = SequenceConstruct (x, one) y = SequenceAt (s, i) }}""",
        "in a sequence of different types; give all elements one type",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_form(name: str):
    text, words = REFUSED[name]
    with pytest.raises(MindError, match=words) as caught:
        read_onnx(model(text))
    assert caught.value.code == "E8008"
