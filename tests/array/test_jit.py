"""`jit`: signatures, static arguments, donation, named sizes, captured arrays, stages, files, threads."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.passes import ModulePass

import mind_array as ma
from mind_array.notebook import MOST_BYTES, html
from mind_dialect.errors import MindError
from mind_dialect.ptir import PtirOp
from mind_dialect.verify import verify

HERE = Path(__file__).name


class Point(NamedTuple):
    """A container of its own type."""

    x: Any
    y: Any


def traced_times(f: Any) -> tuple[Any, list[int]]:
    """A function that notes each time it is traced."""
    times = [0]

    def counted(*args: Any, **kwargs: Any) -> Any:
        times[0] += 1
        return f(*args, **kwargs)

    return counted, times


# Signatures


def test_a_function_is_traced_once_per_signature():
    f, times = traced_times(lambda x, y: x * y)
    g = ma.jit(f)
    for _ in range(3):
        np.testing.assert_array_equal(g(ma.ones(3), ma.ones(3) * 2).ndarray, np.full(3, 2.0))
    assert times == [1]
    g(ma.ones(4), ma.ones(4))
    g(ma.ones(4, dtype=ma.float32), ma.ones(4, dtype=ma.float32))
    g(ma.ones(4), 3.0)
    assert times == [4]
    g(ma.ones(3), ma.ones(3))
    g(np.ones(3), np.ones(3))
    assert times == [4], "NumPy arrays have the signature of ours"


CONTAINERS = {
    "a dict": ({"b": 1.0, "a": np.ones(2)}, lambda p: {"z": p["a"] + p["b"], "y": (p["b"],)}),
    "lists": ([np.ones(2), [np.zeros(2)], ()], lambda p: [p[0] + p[1][0]]),
    "a named tuple": (Point(np.ones(2), 2.0), lambda p: Point(p.y, p.x)),
    "None": ((None, np.ones(2)), lambda p: (None, p[1] * 2)),
    "keys that are no words": ({("a", 1): np.ones(2), ("b", 2): np.zeros(2)}, lambda p: {("a'\"\n", 1): p["a", 1]}),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_go_in_and_come_out(name: str):
    given, f = CONTAINERS[name]
    expected = f(given)
    g = ma.jit(f, target="native")
    for _ in range(3):  # the second call goes through generated code
        found = g(given)
        assert ma.tree.structure(found) == ma.tree.structure(expected)
        assert type(found) is type(expected)
        for a, b in zip(ma.tree.leaves(found), ma.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_another_container_is_another_signature():
    g = ma.jit(lambda p: ma.tree.leaves(p)[0] + 1)
    x = ma.zeros(2)
    for given in ((x,), [x], {"a": x}, {"b": x}, x, {"a": (x,)}, Point(x, None), [x]):
        np.testing.assert_array_equal(g(given).ndarray, np.ones(2))
    assert "7 signatures" in repr(g)


def test_static_arguments_are_part_of_the_signature():
    def f(x: Any, depth: int, *, activation: str) -> Any:
        for _ in range(depth):
            x = getattr(ma, activation)(x)
        return x

    counted, times = traced_times(f)
    counted.__wrapped__ = f  # the signature of the function
    g = ma.jit(counted, static=("depth", "activation"))
    x = np.linspace(0, 1, 3)
    for _ in range(2):
        np.testing.assert_allclose(g(x, 2, activation="sin").ndarray, np.sin(np.sin(x)))
        np.testing.assert_allclose(g(x, depth=1, activation="cos").ndarray, np.cos(x))
    assert times == [2]
    with pytest.raises(TypeError, match=r"E1105: static argument depth of counted is a list"):
        g(x, [1], activation="sin")
    with pytest.raises(MindError, match=r"E7003: jit: 'width' is not a parameter of f"):
        ma.jit(f, static="width")


def test_captured_arrays_are_inputs_so_that_changes_are_seen():
    w = ma.ones((100, 100))
    g = ma.jit(lambda x: x @ w)
    x = np.ones(100)
    for _ in range(2):
        assert float(g(x)[0]) == 100
    w *= 2.0
    assert float(g(x)[0]) == 200
    w[0, 0] = 0.0
    assert float(g(x)[0]) == 198
    assert "10000" not in str(g.lower(x)), "no literal of the weights"


def test_donated_arguments_are_used_up_and_their_memory_is_the_results():
    step = ma.jit(lambda params, x: (ma.sum(params["w"]), {"w": params["w"] + x}), donate="params", target="native")
    params = {"w": ma.zeros((200, 200))}
    places = set()
    for i in range(4):
        old = params
        value, params = step(params, 1.0)
        assert float(value) == 40000 * i
        places.add(params["w"].ndarray.ctypes.data)
        with pytest.raises(TypeError, match="E2001: this array was donated"):
            _ = old["w"] + 1
    assert len(places) == 1
    view = params["w"][0]
    step(params, 1.0)
    np.testing.assert_array_equal(view.ndarray, np.full(200, 4.0))


def test_one_array_donated_twice_is_copied_first():
    step = ma.jit(lambda params: [p + 1 for p in params], donate="params")
    x = ma.zeros(3)
    a, b = step([x, x])
    np.testing.assert_array_equal(np.stack([a.ndarray, b.ndarray]), np.ones((2, 3)))


def test_one_compilation_serves_every_size_of_a_named_dimension():
    def f(x: Any, w: Any) -> Any:
        assert x.shape[0] == "B"
        return ma.mean(ma.tanh(x @ w), axis=0), ma.ones((x.shape[0], 2)) * x[:, :2]

    counted, times = traced_times(f)
    counted.__wrapped__ = f
    w = np.random.default_rng(0).standard_normal((4, 3))
    for target in ("numpy", "native"):
        times[0] = 0
        g = ma.jit(counted, sizes={"x": ("B", 4)}, target=target)
        for n in (2, 5, 5, 7):
            x = np.random.default_rng(n).standard_normal((n, 4))
            mean, rest = g(x, w)
            np.testing.assert_allclose(mean.ndarray, np.tanh(x @ w).mean(0), rtol=1e-12)
            np.testing.assert_array_equal(rest.ndarray, x[:, :2])
        assert times == [1]
    with pytest.raises(MindError, match="E3003: x has extent 3 at axis 1, sizes= states 4"):
        g(np.ones((2, 3)), w)


DIMENSIONS = {
    "a fraction": lambda x: ma.zeros(x.shape[0] / 2),
    "a number": lambda x: ma.zeros(int(x.shape[0])),
    "a comparison": lambda x: x if x.shape[0] > 2 else -x,
    "a range": lambda x: [x for _ in range(x.shape[0])],
    "the length": lambda x: len(x),
    "an iteration": lambda x: [v for v in x],
}


@pytest.mark.parametrize("name", DIMENSIONS)
def test_a_dimension_without_a_size_is_no_number(name: str):
    with pytest.raises(MindError, match="E1109") as caught:
        ma.jit(DIMENSIONS[name], sizes={"x": ("B", 2)})(np.ones((3, 2)))
    assert "'B'" in str(caught.value) or "B" in str(caught.value)
    assert f"{HERE}:" in str(caught.value)


# Stages


def test_the_stages_of_a_function_can_be_read():
    g = ma.jit(lambda x: ma.sum(x * 2.0), target="native")
    lowered = g.lower(ma.spec((3,), "float32"))
    verify(lowered.ptir)
    assert "ptir.reduce" in str(lowered.ptir)
    assert isinstance(lowered.optimized, ModuleOp)
    assert "define" in lowered.source
    assert lowered.explain()
    assert lowered._repr_html_().startswith("<pre")
    assert float(lowered.compile()(np.ones(3, np.float32))) == 6


def test_every_op_has_the_line_and_column_of_the_user():
    def f(x: Any) -> Any:
        y = ma.exp(x)
        return ma.grad(lambda y: ma.sum(ma.sin(y) * x))(y)

    first = f.__code__.co_firstlineno
    module = ma.trace(f, ma.spec((3,)))
    lines = set()
    for op in module.walk():
        if isinstance(op, PtirOp):
            assert isinstance(op.location, FileLineColLoc), op
            assert op.location.filename.data == __file__
            assert op.location.column.data > 1
            lines.add(op.location.line.data - first)
    assert lines == {1, 2}


def test_passes_are_names_or_objects():
    class Note(ModulePass):
        name = "note"

        def apply(self, ctx: Any, op: ModuleOp) -> None:
            seen.append(op)

    seen: list[ModuleOp] = []
    f = ma.jit(lambda x: x + 0.0 * 1.0, passes=[Note()])
    f(np.ones(2))
    assert len(seen) == 1
    named = ma.jit(lambda x: x * 1.0, passes="mind-ptir-canonicalize,mind-ptir-cse")
    assert "mul" not in str(named.lower(np.ones(2)).optimized)
    with pytest.raises(MindError, match="E7003: passes='no-such-pass'"):
        ma.jit(lambda x: x, passes="no-such-pass")(np.ones(2))


def test_a_trace_is_a_module_for_other_tools():
    module = ma.trace(lambda x, w: {"y": x @ w}, ma.spec(("B", 4), "float32"), np.ones((4, 2), np.float32), name="predict")
    verify(module)
    assert "@predict" in str(module)
    assert 'tensor<?x4xf32, "B,*">' in str(module)
    constant = ma.asarray([1.0, 2.0])
    assert "literal" in str(ma.trace(lambda x: x + constant, ma.spec((2,)))) or "[1.0, 2.0]" in str(
        ma.trace(lambda x: x + constant, ma.spec((2,)))
    )
    with pytest.raises(MindError, match="E1110: spec: 'B C' is not a name of a dimension"):
        ma.spec(("B C",))


def test_saved_programs_take_the_same_containers(tmp_path: Path):
    f = ma.jit(lambda p, x: ({"y": p["w"] @ x}, [x, None]))
    p, x = {"w": ma.ones((2, 3))}, ma.arange(3.0)
    ma.save(tmp_path / "f.mlir", f.lower(p, x))
    for target in ("numpy", "native"):
        again = ma.load(tmp_path / "f.mlir", target=target)
        (found, rest), expected = again(p, x), f(p, x)
        np.testing.assert_array_equal(found["y"].ndarray, expected[0]["y"].ndarray)
        assert rest[1] is None
        with pytest.raises(MindError, match="E1104: arguments"):
            again(x, p)
        with pytest.raises(MindError, match="E2001"):
            again(p, ma.arange(4.0))
    w = ma.ones(3)
    with pytest.raises(MindError, match=r"E1110: save: .* captures 1 arrays"):
        ma.save(tmp_path / "g.mlir", ma.jit(lambda x: x * w).lower(x))


@pytest.mark.parametrize(
    "text", ["", "builtin.module {}", "func.func @f(", "{}", "\0", 'builtin.module attributes {mind_array.arguments = "["} {}']
)
def test_a_file_that_is_no_program_is_a_coded_error(tmp_path: Path, text: str):
    (tmp_path / "f.mlir").write_text(text, encoding="utf-8")
    with pytest.raises(MindError, match="E7002: load: "):
        ma.load(tmp_path / "f.mlir")
    with pytest.raises(MindError, match="E7002"):
        ma.load(tmp_path / "absent.mlir")


def test_html_of_modules_is_bounded_and_escaped():
    module = ma.trace(lambda x: ma.scan(lambda c, v: (c + v, c), 0.0, x)[1], ma.spec((3,)))
    shown = html(module)
    assert shown.count("<details") == shown.count("</details>") >= 3
    assert "tensor&lt;3xf64&gt;" in shown
    assert "<script" not in shown

    def long(x: Any) -> Any:
        for _ in range(5000):
            x = x + 1.5
        return x

    shown = html(ma.trace(long, ma.spec((3,))))
    assert len(shown) < MOST_BYTES + 2000
    assert "lines in all" in shown


# Threads, nesting, decoration


def test_threads_share_one_compilation():
    f, times = traced_times(lambda x: ma.sum(ma.sin(x)))
    g = ma.jit(f)
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.append(float(g(np.ones(5))))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert times == [1]
    assert len(set(found)) == 1


def test_a_jitted_function_inside_of_another_is_part_of_it():
    inner = ma.jit(lambda x: x * 3, target="native")
    module = ma.trace(lambda x: inner(x) + 1, ma.spec((2,)))
    assert "ptir.mul" in str(module)
    np.testing.assert_array_equal(ma.jit(ma.grad(lambda x: ma.sum(inner(x))))(np.ones(2)).ndarray, np.full(2, 3.0))


class Model:
    """A class whose method is compiled."""

    scale = 2.0

    @ma.jit
    def twice(self: Any, x: Any = None) -> Any:
        """A function without the instance."""
        return self * 2


def test_options_and_names_survive_the_decorator():
    assert Model.__dict__["twice"].__name__ == "twice"
    assert "without the instance" in Model.__dict__["twice"].__doc__
    np.testing.assert_array_equal(Model.twice(np.ones(2)).ndarray, np.full(2, 2.0))


def test_a_function_may_return_no_arrays():
    g = ma.jit(lambda x: {"a": None, "b": ()})
    for _ in range(2):
        assert g(np.ones(2)) == {"a": None, "b": ()}


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_arrays_that_a_function_makes_of_numbers_are_constants(target: str):
    outer = ma.asarray([1.0, 2.0])

    def f(x: ma.Array) -> ma.Array:
        table, one = ma.asarray([[3.0, 4.0], [5.0, outer[1]]]), ma.asarray(1.0)
        carried = ma.fori_loop(0, 2, lambda i, y: y @ table + one + ma.asarray([0.5, 0.25]), x)
        return carried * outer

    jitted, x = ma.jit(f, target=target), ma.asarray([1.0, -1.0])
    lowered = jitted.lower(x)
    assert str(lowered.ptir).count('mind.name = "captured_') == 1, "what it finds outside is an input"
    with pytest.raises(MindError, match=r"E1110: save: .* captures 1 arrays"):
        ma.save("unused", lowered)
    np.testing.assert_allclose(np.asarray(jitted(x)), np.asarray(f(x)))
    outer[0] = 7.0
    np.testing.assert_allclose(np.asarray(jitted(x)), np.asarray(f(x)), err_msg="an input is read in each call")
    slope = ma.jit(ma.grad(lambda x: ma.sum(f(x))), target=target)(x)
    np.testing.assert_allclose(np.asarray(slope), np.asarray(ma.grad(lambda x: ma.sum(f(x)))(x)))


def test_large_arrays_that_a_function_makes_are_inputs():
    def f(x: ma.Array, n: int) -> ma.Array:
        return x + ma.asarray([float(i) for i in range(n)])

    for n, captured in ((1024, False), (1025, True)):
        lowered = ma.jit(f, static=("n",)).lower(ma.zeros(n), n)
        assert ('mind.name = "captured_' in str(lowered.ptir)) == captured


def test_codes_that_a_function_decodes_by_numbers_are_decoded_in_registers():
    pytest.importorskip("llvmlite")

    def row(x: ma.Array, codes: ma.Array, scales: ma.Array) -> ma.Array:
        shifts, mask = ma.asarray([0, 4], dtype=ma.uint8), ma.asarray(15, dtype=ma.uint8)
        numbers = ma.astype(ma.bitwise_right_shift(codes[..., None], shifts) & mask, ma.float32) - 8.0
        return x @ ma.reshape(numbers * scales[:, :, None, None], (len(codes), -1)).T

    specs = ma.spec((1, 64), "f32"), ma.spec((8, 2, 16), "ui8"), ma.spec((8, 2), "f32")
    assert any("4-bit codes" in line for line in ma.jit(row, target="native").lower(*specs).explain())
