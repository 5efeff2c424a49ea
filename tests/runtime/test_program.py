"""The callable that `compile` makes: what it checks, what it returns, what it keeps, and how it fails."""

from __future__ import annotations

import re
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions

import mind_runtime
from mind_dialect.errors import MindError
from mind_lowering import xp
from mind_lowering.lower_to_numpy import lower_module
from mind_runtime import compiled as compiled_module
from programs import parse

LAYER = """
func.func @layer(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %y = mind.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %z = mind.add %y, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %r = mind.relu %z : tensor<2x4xf32>
  func.return %r : tensor<2x4xf32>
}
"""


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def arguments() -> list[np.ndarray]:
    return [f32(2, 3), f32(3, 4), f32(4)]


def function(body: str, inputs: str, outputs: str, attributes: str = "") -> ModuleOp:
    return parse(f"func.func @f({inputs}) -> ({outputs}) {attributes} {{\n{body}\n}}")


def failure(run: Any, *values: Any, **options: Any) -> MindError:
    with pytest.raises(MindError) as e:
        run(*values, **options)
    return e.value


def test_one_result_is_an_array_and_agrees_with_numpy() -> None:
    x, w, b = arguments()
    result = mind_runtime.compile(parse(LAYER))(x, w, b)
    np.testing.assert_array_equal(result, np.maximum(x @ w + b, 0))


def test_several_results_are_a_tuple_and_rank_0_is_an_array() -> None:
    module = function(
        """%s = mind.sum %x axes = [] keepdims = false : tensor<3xi32> -> tensor<i32>
           func.return %s, %s, %x : tensor<i32>, tensor<i32>, tensor<3xi32>""",
        "%x: tensor<3xi32>",
        "tensor<i32>, tensor<i32>, tensor<3xi32>",
    )
    results = mind_runtime.compile(module)(np.array([1, 2, 2**31 - 1], np.int32))
    assert isinstance(results, tuple)
    assert [type(r) for r in results] == [np.ndarray] * 3
    assert [(int(r), r.dtype, r.shape) for r in results[:2]] == [(2 - 2**31, np.int32, ())] * 2


def test_scalars_and_subclasses_and_files_are_arguments(tmp_path: Any) -> None:
    module = function("%y = mind.neg %x : tensor<f32>\nfunc.return %y : tensor<f32>", "%x: tensor<f32>", "tensor<f32>")
    assert mind_runtime.compile(module)(np.float32(2)) == -2
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(2, 3))
    layer = mind_runtime.compile(parse(LAYER))
    assert type(layer(mapped, *arguments()[1:])) is np.ndarray
    subclass = type("Subclass", (np.ndarray,), {})
    assert type(layer(f32(2, 3).view(subclass), *arguments()[1:])) is np.ndarray


WRONG: list[tuple[Any, str]] = [
    ([[1.0, 2.0, 3.0]] * 2, "list"),
    (1.0, "float"),
    (None, "NoneType"),
    (np.zeros((2, 3)), r"float64\[2, 3\]"),
    (np.zeros((3, 2), np.float32), r"float32\[3, 2\]"),
    (np.zeros((2, 3, 1), np.float32), r"float32\[2, 3, 1\]"),
    (np.zeros((2, 3), ">f4"), r">f4\[2, 3\]"),
    (np.zeros((2, 3), object), r"object\[2, 3\]"),
    (np.ma.zeros((2, 3), np.float32), "MaskedArray"),
    (np.float32(1), r"float32\[\]"),
]


@pytest.mark.parametrize(("value", "named"), WRONG, ids=[named for _, named in WRONG])
def test_a_wrong_argument_is_refused_before_anything_runs(value: Any, named: str) -> None:
    program = mind_runtime.compile(parse(LAYER))
    e = failure(program, arguments()[0], value, arguments()[2])
    assert (e.code, e.context["expected"]) == ("E2001", "f32[3, 4]")
    expected = r"input w of @layer: expected a NumPy array of float32\[3, 4\], "
    assert re.fullmatch(rf"{expected}found {named}(: (dimension|it has) .*|; numpy.asarray.*)?", e.message)
    assert ("numpy.asarray(..., 'float32') makes one" in e.message) == (not named.endswith("]"))
    e = failure(program, value, *arguments()[1:])
    assert e.code == "E2001"
    assert e.message.startswith("input x of @layer: expected a NumPy array of float32[2, 3], found ")


def test_a_wrong_count_is_refused() -> None:
    e = failure(mind_runtime.compile(parse(LAYER)), *arguments()[:2])
    assert (e.code, e.context) == ("E2007", {"expected": 3, "actual": 2})
    assert "(x: f32[2, 3], w: f32[3, 4], b: f32[4])" in e.message


def test_unknown_functions_and_targets() -> None:
    module = parse(LAYER + LAYER.replace("@layer", "@other"))
    e = failure(mind_runtime.compile, module, "laier")
    assert (e.code, e.context["known"]) == ("E7003", ["layer", "other"])
    e = failure(mind_runtime.compile, module)
    assert (e.code, e.context["known"]) == ("E7001", ["layer", "other"])
    e = failure(mind_runtime.compile, module, "layer", target="cuda")
    available = ["numpy", "native", "cupy", "xla", "onnx", "iree"]
    assert (e.code, e.context) == ("E6002", {"requested": "cuda", "available": available})
    assert failure(mind_runtime.compile, ModuleOp([])).code == "E7003"
    assert mind_runtime.compile(module, "@other").name == "other"


INVALID = [
    ("E3001", "%y = mind.add %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>\nfunc.return %y : tensor<2x3xf32>"),
    ("E4000", '%y = "test.op"() : () -> tensor<2x3xf32>\nfunc.return %y : tensor<2x3xf32>'),
]


@pytest.mark.parametrize(("code", "body"), INVALID)
def test_what_does_not_verify_or_is_not_core_ir_is_refused(code: str, body: str) -> None:
    module = function(body, "%x: tensor<2x3xf32>, %w: tensor<3x4xf32>", "tensor<2x3xf32>")
    assert failure(mind_runtime.compile, module).code == code


def test_declarations_and_functions_without_outputs_are_refused() -> None:
    assert failure(mind_runtime.compile, parse("func.func private @f(tensor<2xf32>) -> tensor<2xf32>")).code == "E4000"
    assert failure(mind_runtime.compile, parse("func.func @f(%x: tensor<2xf32>) {\nfunc.return\n}")).code == "E2007"
    assert failure(mind_runtime.compile, parse("func.func @f(%x: index) -> index {\nfunc.return %x : index\n}")).code == "E2001"


def test_the_module_stays_as_it_is_and_may_already_be_lowered() -> None:
    module = parse(LAYER)
    before = str(module)
    expected = mind_runtime.compile(module)(*arguments())
    assert str(module) == before
    lower_module(module)
    assert "xp.call" in str(module)
    np.testing.assert_array_equal(mind_runtime.compile(module)(*arguments()), expected)


# Run-time errors name the op and the place.


OUT_OF_BOUNDS = [
    ("%y = mind.index %x indices = [2, 5] : tensor<3x4xf32> -> tensor<f32>", "f32", [2, 5], [3, 4]),
    ("%y = mind.index %x indices = [-1, 0] : tensor<3x4xf32> -> tensor<f32>", "f32", [-1, 0], [3, 4]),
    (
        """%s = mind.const_f32 1.0 : tensor<f32>
           %y = mind.index_scatter %s shape = [3, 4] indices = [3, 0] : tensor<f32> -> tensor<3x4xf32>""",
        "3x4xf32",
        [3, 0],
        [3, 4],
    ),
]


@pytest.mark.parametrize(("body", "type", "indices", "shape"), OUT_OF_BOUNDS)
def test_index_out_of_bounds(body: str, type: str, indices: list[int], shape: list[int]) -> None:
    module = function(f"{body}\nfunc.return %y : tensor<{type}>", "%x: tensor<3x4xf32>", f"tensor<{type}>")
    program = mind_runtime.compile(module)
    e = failure(program, f32(3, 4))
    assert (e.code, e.context["indices"], e.context["shape"]) == ("E6001", indices, shape)
    assert e.op is not None
    assert e.op.results[0].name_hint == "y"
    assert e.context["op"] == e.op.place()
    interpreter = Interpreter(module)
    mind_runtime.register_implementations(interpreter)
    assert failure(interpreter.call_op, "f", (f32(3, 4),)).code == "E6001"


@pytest.mark.parametrize("dtype", ["i32", "i64"])
@pytest.mark.parametrize("index", [3, -1, -3, 2**31 - 1, -(2**31)])
def test_gather_and_scatter_never_wrap_an_index(dtype: str, index: int) -> None:
    numpy_dtype = {"i32": np.int32, "i64": np.int64}[dtype]
    gather = function(
        f"""%y = mind.gather %x, %i : (tensor<3x2xf32>, tensor<2x1x{dtype}>) -> tensor<2x1x2xf32>
            func.return %y : tensor<2x1x2xf32>""",
        f"%x: tensor<3x2xf32>, %i: tensor<2x1x{dtype}>",
        "tensor<2x1x2xf32>",
    )
    scatter = function(
        f"""%y = mind.scatter_add %i, %u shape = [3, 2] : (tensor<2x1x{dtype}>, tensor<2x1x2xf32>) -> tensor<3x2xf32>
            func.return %y : tensor<3x2xf32>""",
        f"%u: tensor<2x1x2xf32>, %i: tensor<2x1x{dtype}>",
        "tensor<3x2xf32>",
    )
    indices = np.array([[0], [index]], numpy_dtype)
    for module, x, op in ((gather, f32(3, 2), "Gather %y"), (scatter, f32(2, 1, 2), "ScatterAdd %y")):
        e = failure(mind_runtime.compile(module), x, indices)
        assert (e.code, e.context["indices"], e.context["shape"]) == ("E6001", [index], [3, 2])
        assert e.message.startswith(f"{op}: index [{index}] is out of bounds for shape [3, 2]")


def test_an_integer_divided_by_zero() -> None:
    module = function(
        "%y = mind.div %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>\nfunc.return %y : tensor<2x3xi32>",
        "%a: tensor<2x1xi32>, %b: tensor<3xi32>",
        "tensor<2x3xi32>",
        'attributes {mind.profile = "core-v1.1"}',
    )
    program = mind_runtime.compile(module)
    e = failure(program, np.array([[7], [8]], np.int32), np.array([1, 0, 2], np.int32))
    assert (e.code, e.context["operands"]) == ("E6006", [7, 0])
    assert e.message.startswith("Div %y: division of the integer 7 by 0")


def test_an_index_out_of_bounds_in_lowered_code_names_its_call() -> None:
    module = function(OUT_OF_BOUNDS[0][0] + "\nfunc.return %y : tensor<f32>", "%x: tensor<3x4xf32>", "tensor<f32>")
    lower_module(module)
    e = failure(mind_runtime.compile(module), f32(3, 4))
    assert e.op is not None
    assert (e.code, e.op.name) == ("E6001", "xp.call")
    assert e.op.properties["callee"] == StringAttr("k.take")


# Memory


HUGE = {
    "a fill": (
        "%c = mind.constant fill 1.0 : tensor<10000000000xf32>\n%y = mind.add %c, %x "
        ": (tensor<10000000000xf32>, tensor<1xf32>) -> tensor<10000000000xf32>\nfunc.return %y : tensor<10000000000xf32>",
        "tensor<10000000000xf32>",
    ),
    "a broadcast that is only summed": (
        "%c = mind.broadcast_to %x shape = [1000000, 1000000000, 1] : tensor<1xf32> -> tensor<1000000x1000000000x1xf32>\n"
        "%y = mind.sum %c axes = [] keepdims = false : tensor<1000000x1000000000x1xf32> -> tensor<f32>\n"
        "func.return %y : tensor<f32>",
        "tensor<f32>",
    ),
    "windows of a convolution": (
        "%c = mind.constant fill 1.0 : tensor<1x4096x4096x1xf32>\n%w = mind.constant fill 1.0 : tensor<2048x2048x1x1xf32>\n"
        "%y = mind.conv2d %c, %w strides = [1, 1] padding = Valid "
        ": (tensor<1x4096x4096x1xf32>, tensor<2048x2048x1x1xf32>) -> tensor<1x2049x2049x1xf32>\n"
        "func.return %y : tensor<1x2049x2049x1xf32>",
        "tensor<1x2049x2049x1xf32>",
    ),
    "padding": (
        "%c = mind.constant fill 1.0 : tensor<1x1x1x1xf32>\n"
        "%y = mind.conv2d %c, %c strides = [1000000000, 1000000000] padding = [[1000000000, 0], [1000000000, 0]] "
        ": (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x2x1xf32>\nfunc.return %y : tensor<1x2x2x1xf32>",
        "tensor<1x2x2x1xf32>",
    ),
    "an empty tensor whose extents overflow": (
        "%e = mind.slice %x starts = [0] ends = [0] steps = [1] : tensor<1xf32> -> tensor<0xf32>\n"
        "%y = mind.slice_scatter %e shape = [0] starts = [0] steps = [1] : tensor<0xf32> -> tensor<0xf32>\n"
        "%z = mind.broadcast_to %y shape = [4611686018427387904, 4611686018427387904, 0] "
        ": tensor<0xf32> -> tensor<4611686018427387904x4611686018427387904x0xf32>\n"
        "func.return %z : tensor<4611686018427387904x4611686018427387904x0xf32>",
        "tensor<4611686018427387904x4611686018427387904x0xf32>",
    ),
}


@pytest.mark.parametrize("name", HUGE)
def test_what_cannot_be_allocated_is_refused_before_it_is_tried(name: str) -> None:
    body, type = HUGE[name]
    tracemalloc.start()
    try:
        e = failure(mind_runtime.compile, function(body, "%x: tensor<1xf32>", type), memory_limit=1 << 34)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()
    assert (e.code, e.context["backend"]) == ("E6004", "numpy")


def test_the_limit_is_what_is_live_at_once() -> None:
    """A chain of 20 results of 4,000 bytes each has two of them live, and the last is returned."""
    lines = [f"%{i + 1} = mind.neg %{i} : tensor<1000xf32>" for i in range(1, 20)]
    body = "\n".join(["%1 = mind.neg %x : tensor<1000xf32>", *lines, "func.return %20 : tensor<1000xf32>"])
    module = function(body, "%x: tensor<1000xf32>", "tensor<1000xf32>")
    mind_runtime.compile(module, memory_limit=8000)
    e = failure(mind_runtime.compile, module, memory_limit=7999)
    assert (e.code, e.context["shape"], e.context["dtype"]) == ("E6004", (1000,), "f32")


@pytest.mark.parametrize(("op", "arrays"), [("relu", 2), ("neg", 1)])
def test_intermediates_are_freed_at_their_last_use(op: str, arrays: int) -> None:
    """Or written to again, where an array function can do that."""
    n, size = 50, 1 << 20
    lines = [f"%{i + 1} = mind.{op} %{i} : tensor<{size // 4}xf32>" for i in range(1, n)]
    body = "\n".join([f"%1 = mind.{op} %x : tensor<{size // 4}xf32>", *lines, f"func.return %{n} : tensor<{size // 4}xf32>"])
    program = mind_runtime.compile(function(body, f"%x: tensor<{size // 4}xf32>", f"tensor<{size // 4}xf32>"))
    x = np.zeros(size // 4, np.float32)
    tracemalloc.start()
    try:
        program(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert arrays * size <= peak < (arrays + 0.5) * size


def test_out_of_memory_while_running_is_coded(monkeypatch: pytest.MonkeyPatch) -> None:
    program = mind_runtime.compile(parse(LAYER))

    def fail(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(np, "matmul", fail)
    e = failure(program, *arguments())
    assert (e.code, e.context["shape"], e.context["op"]) == ("E6004", (2, 4), "MatMul %y")


def test_more_dimensions_than_numpy_has_are_refused() -> None:
    type = f"tensor<{'1x' * 65}f32>"
    body = f"%y = mind.reshape %x new_shape = {[1] * 65} : tensor<1xf32> -> {type}\nfunc.return %y : {type}"
    module = function(body, "%x: tensor<1xf32>", type)
    assert failure(mind_runtime.compile, module).code == "E6003"
    interpreter = Interpreter(module)
    mind_runtime.register_implementations(interpreter)
    assert failure(interpreter.call_op, "f", (np.zeros(1, np.float32),)).code == "E6003"


# Aliasing


VIEWS = """
func.func @f(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<6xf32>, tensor<3x2xf32>, tensor<2x2xf32>, tensor<3x2xf32>,
    tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<2x3xf32>, tensor<6xf32>, tensor<2xf32>, tensor<1x2x3xf32>, tensor<2x3xf32>) {
  %c = mind.constant [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] : tensor<2x3xf32>
  %xr = mind.reshape %x new_shape = [6] : tensor<2x3xf32> -> tensor<6xf32>
  %xt = mind.transpose %x permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %xs = mind.slice %x starts = [0, 0] ends = [2, 3] steps = [1, 2] : tensor<2x3xf32> -> tensor<2x2xf32>
  %y = mind.neg %x : tensor<2x3xf32>
  %yt = mind.transpose %y permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %yb = mind.broadcast_to %y shape = [4, 2, 3] : tensor<2x3xf32> -> tensor<4x2x3xf32>
  %yr = mind.reshape %y new_shape = [6] : tensor<2x3xf32> -> tensor<6xf32>
  %ys = mind.slice %yr starts = [1] ends = [3] steps = [1] : tensor<6xf32> -> tensor<2xf32>
  %ye = mind.expand_dims %y axes = [0] : tensor<2x3xf32> -> tensor<1x2x3xf32>
  func.return %c, %xr, %xt, %xs, %yt, %y, %yb, %y, %yr, %ys, %ye, %x : tensor<2x3xf32>, tensor<6xf32>, tensor<3x2xf32>,
    tensor<2x2xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<2x3xf32>, tensor<6xf32>, tensor<2xf32>,
    tensor<1x2x3xf32>, tensor<2x3xf32>
}
"""


def test_outputs_share_no_memory_with_anything() -> None:
    program = mind_runtime.compile(parse(VIEWS))
    x = f32(2, 3)
    original = x.copy()
    first = program(x)
    kept = [a.copy() for a in first]
    for i, a in enumerate(first):
        assert a.flags.c_contiguous
        assert a.flags.writeable
        assert not np.shares_memory(a, x)
        assert [j for j, b in enumerate(first) if j != i and np.shares_memory(a, b)] == []
    for a in first:
        a[...] = 99
    np.testing.assert_array_equal(x, original)
    for a, b in zip(program(x), kept, strict=True):
        np.testing.assert_array_equal(a, b)


def test_constants_are_made_once_and_are_read_only() -> None:
    program = mind_runtime.compile(parse(VIEWS))
    constants = [v for v in program._run.__globals__.values() if isinstance(v, np.ndarray)]
    assert [c.flags.writeable for c in constants] == [False]


# The cache


def test_equal_functions_share_one_body_and_others_do_not() -> None:
    mind_runtime.clear_cache()
    first = mind_runtime.compile(parse(LAYER))
    renamed = LAYER.replace("%y", "%other").replace("%z", "%more")
    assert mind_runtime.compile(parse(renamed))._body is first._body
    for old, new in (("@layer", "@b"), ("relu", "neg"), ("%x", "%q"), ("2x", "5x"), ("f32", "f64"), ("%y, %b", "%b, %y")):
        text = LAYER.replace(old, new)
        if old == "%y, %b":
            text = text.replace("(tensor<2x4xf32>, tensor<4xf32>)", "(tensor<4xf32>, tensor<2x4xf32>)")
        assert mind_runtime.compile(parse(text))._body is not first._body, new


def test_constants_and_properties_tell_functions_apart() -> None:
    def compiled(value: str, axes: str) -> Any:
        body = f"""
            %c = mind.constant [{value}] : tensor<1xf32>
            %y = mind.add %x, %c : (tensor<2x2xf32>, tensor<1xf32>) -> tensor<2x2xf32>
            %s = mind.sum %y axes = {axes} keepdims = false : tensor<2x2xf32> -> tensor<2xf32>
            func.return %s : tensor<2xf32>"""
        return mind_runtime.compile(function(body, "%x: tensor<2x2xf32>", "tensor<2xf32>"))

    x = np.array([[1, 2], [3, 4]], np.float32)
    answers = [compiled(v, a)(x).tolist() for v in ("0.0", "1.0") for a in ("[0]", "[1]")]
    assert answers == [[4, 6], [3, 7], [6, 8], [5, 9]]
    assert compiled("0.0", "[0]")._body is not compiled("-0.0", "[0]")._body
    assert compiled("nan", "[0]")._body is compiled("nan", "[0]")._body


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    mind_runtime.clear_cache()
    monkeypatch.setattr(compiled_module, "CACHE_SIZE", 3)
    for i in range(5):
        mind_runtime.compile(parse(LAYER.replace("@layer", f"@f{i}")))
    assert len(compiled_module._cache) == 3
    monkeypatch.setattr(compiled_module, "CACHED_LITERAL_BYTES", 10)
    mind_runtime.clear_cache()
    mind_runtime.compile(parse(VIEWS))
    assert len(compiled_module._cache) == 0


def test_threads_may_share_a_program() -> None:
    program = mind_runtime.compile(parse(LAYER))
    expected = program(*arguments())
    wrong: list[int] = []

    def work() -> None:
        for i in range(50):
            if not np.array_equal(program(*arguments()), expected):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


# xDSL's interpreter


def test_the_interpreter_agrees_and_takes_func_calls() -> None:
    module = parse(
        LAYER
        + """
func.func @twice(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %y = func.call @layer(%x, %w, %b) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %z = mind.add %y, %y : tensor<2x4xf32>
  func.return %z : tensor<2x4xf32>
}"""
    )
    expected = mind_runtime.compile(module, "layer")(*arguments())
    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    mind_runtime.register_implementations(interpreter)
    np.testing.assert_array_equal(interpreter.call_op("layer", tuple(arguments()))[0], expected)
    np.testing.assert_array_equal(interpreter.call_op("twice", tuple(arguments()))[0], expected + expected)
    assert failure(interpreter.call_op, "layer", ([1.0], *arguments()[1:])).code == "E2001"


def test_the_interpreter_runs_lowered_functions_too() -> None:
    module = parse(VIEWS)
    expected = mind_runtime.compile(module)(f32(2, 3))
    lower_module(module)
    assert any(isinstance(op, xp.FreeOp) for op in module.walk())
    interpreter = Interpreter(module)
    mind_runtime.register_implementations(interpreter)
    for a, b in zip(interpreter.call_op("f", (f32(2, 3),)), expected, strict=True):
        np.testing.assert_array_equal(a, b)


# Names


HOSTILE = [
    'x"); import os; os.system("echo hi',
    "a\nimport os",
    "'''",
    '"""',
    "\\",
    "#",
    "xp",
    "k",
    "del",
    "__builtins__",
    "__import__",
    "v3",
    "layer_c4",
    "ünïcode",
    "𝔣",
    "1",
    " ",
    "\r\x00\x0c\u2028",
    "f" * 5000,
    "match",
    "None",
    "\ud800",
]


@pytest.mark.parametrize("own_name", [True, False])
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_names_never_reach_the_source(name: str, own_name: bool) -> None:
    module = parse(
        """func.func @layer(%x: tensor<2xf32> {mind.name = "A"}, %y: tensor<2xf32> {mind.name = "B"}) -> tensor<2xf32> {
             %z = mind.sub %x, %y : tensor<2xf32>
             %n = mind.neg %z : tensor<2xf32>
             %c = mind.constant [10.0, 20.0] : tensor<2xf32>
             %s = mind.add %n, %c : tensor<2xf32>
             %t = mind.add %s, %x : tensor<2xf32>
             func.return %t : tensor<2xf32> }"""
    )
    (func,) = module.ops
    if own_name:
        func.properties["sym_name"] = StringAttr(name)
    func.properties["arg_attrs"] = ArrayAttr(
        [DictionaryAttr({"mind.name": StringAttr(name)}), DictionaryAttr({"mind.name": StringAttr(name + "_")})]
    )
    program = mind_runtime.compile(module)
    code = compile(program.source, "test", "exec")
    (body,) = [c for c in code.co_consts if hasattr(c, "co_names")]
    assert body.co_names == ("xp", "subtract", "negative", "add", next(n for n in body.co_names if "_c" in n))
    assert (body.co_argcount, body.co_consts) == (2, (None,))
    result = program(np.array([1, 2], np.float32), np.array([5, 7], np.float32))
    np.testing.assert_array_equal(result, [15, 27])
    assert program.inputs[0].name == name
    assert "\n" not in failure(program).message
