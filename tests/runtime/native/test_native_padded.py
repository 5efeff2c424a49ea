"""Programs for classes of sizes: padded to a bound, for every size of a class, with the results of the sizes."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_array as ma
import mind_runtime
from mind_runtime.background import WORKER
from mind_runtime.padded import upper_bound
from mind_runtime.specialized import TIMED, SizeState
from mind_tools import frontends
from native_calls import compiled, failure

MOST = 40
LATER = {"background": False, "compile_share": 0}
"""Limits with which nothing is compiled unless a test does."""


def module(**dims: Any) -> Any:
    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.T
        e = ma.exp(scores - ma.max(scores, axis=-1, keepdims=True))
        return (e / ma.sum(e, axis=-1, keepdims=True)) @ v, ma.sum(q, axis=0)

    specs = [ma.spec((d, 8), ma.float32, name=n) for n, d in {"q": "T", "k": "S", "v": "S", **dims}.items()]
    return ma.trace(attention, *specs, name="attention")


def expected(q: Any, k: Any, v: Any) -> tuple[Any, Any]:
    scores = q.astype(np.float64) @ k.T.astype(np.float64)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v, q.sum(0)


def inputs(t: int, s: int) -> list[Any]:
    rng = np.random.default_rng(t * 100 + s)
    return [rng.standard_normal((n, 8)).astype(np.float32) for n in (t, s, s)]


def compile_class(program: Any, arguments: list[Any]) -> Any:
    """Return the account of the class of some sizes, compiled now; None where they are in none."""
    account = program.by_sizes.of(program.open_shapes(arguments))
    found, _ = program.classes.account(account, program.by_sizes.limits)
    if found is not None and found.program is None:
        assert program.classes._masked.by_sizes.compiled(found.shapes) is not None
    return found


@pytest.mark.parametrize("weights", [[], ["v"]])
def test_every_size_of_every_class(weights: list[str]) -> None:
    whole = compiled(module(), specialize=LATER)
    served = 0
    for t in range(1, MOST + 1):
        s = MOST + 1 - t if not weights else 9
        arguments = inputs(t, s)
        if weights:
            v = inputs(9, 9)[2]
            arguments[2] = v
            if t == 1:
                whole = mind_runtime.bind(module(), {"v": v}, target="native", specialize=LATER)
        program = whole.program if weights else whole
        served += compile_class(program, arguments) is not None
        given = [a.copy() for a in arguments]
        found = whole(*(arguments[:2] if weights else arguments))
        for a, b in zip(found, expected(*given), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
            assert a.flags.c_contiguous
            assert a.flags.writeable
            assert a.base is None
        assert all(map(np.array_equal, arguments, given))
    assert served > MOST // 2
    assert len(program.classes._masked.by_sizes) < served


def test_sizes_of_no_elements_run_in_the_general_program() -> None:
    program = compiled(module(), specialize=LATER)
    y, total = program(np.zeros((0, 8), np.float32), *inputs(1, 5)[1:])
    assert y.shape == (0, 8)
    assert not total.any()


@pytest.mark.parametrize("sizes", [1, 2, 3, 5, 8, 9, 16, 17, 33, 64, 65, 100, 128, 129, 255, 256, 257, 1000, 1 << 40])
def test_bounds(sizes: int) -> None:
    found = upper_bound(sizes)
    assert sizes <= found < 2 * sizes
    assert found.bit_count() == 1
    assert upper_bound(found) == found
    assert all(upper_bound(n) <= found for n in (sizes - 1, max(0, sizes - 7)))


def test_what_is_refused_is_refused_by_classes_too() -> None:
    program = compiled(module(), specialize=LATER)
    arguments = inputs(17, 19)
    assert compile_class(program, arguments) is not None
    program(*arguments)
    assert failure(program, arguments[0], arguments[1], arguments[2][:-1]).code == "E8001"
    assert failure(program, arguments[0].astype(np.float64), *arguments[1:]).code == "E2001"
    assert failure(program, arguments[0][:, :7], *arguments[1:]).code == "E2001"


def test_a_bound_beyond_what_is_declared_is_not_used() -> None:
    text = module()
    from xdsl.dialects.builtin import ArrayAttr, StringAttr

    from mind_dialect.program import functions

    (func,) = functions(text)
    func.attributes["mind.dims"] = ArrayAttr([StringAttr("T <= 18")])
    program = compiled(text, specialize=LATER)
    assert compile_class(program, inputs(17, 9)) is None
    assert compile_class(program, inputs(15, 9)) is not None
    for t in (15, 17, 18):
        np.testing.assert_allclose(program(*inputs(t, 9))[0], expected(*inputs(t, 9))[0], rtol=1e-4, atol=1e-5)
    assert failure(program, *inputs(19, 9)).code == "E8010"


def test_a_program_that_cannot_be_masked_says_why() -> None:
    text = ma.trace(lambda x: ma.linalg.inv(x), ma.spec(("T", 2, 2), ma.float32, name="x"), name="f")
    program = compiled(text, specialize=LATER)
    x = np.arange(36, dtype=np.float32).reshape(9, 2, 2)
    np.testing.assert_allclose(program(x), np.linalg.inv(x), rtol=1e-4)
    assert any("no program for padded sizes: " in line and "custom_call" in line for line in program.explain())


CACHED = """module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%k: tensor<?xf32, "T">, %old: tensor<?xf32, "P">, %mask: tensor<?xf32, "P+T">)
      -> (tensor<?xf32, "P+T">, tensor<f32>, tensor<?xf32, "T-1">) {
    %every = ptir.concat %old, %k axis = 0 : (tensor<?xf32, "P">, tensor<?xf32, "T">) -> tensor<?xf32, "P+T">
    %masked = ptir.mul %every, %mask : tensor<?xf32, "P+T">
    %sum = ptir.reduce %masked kind = sum axes = [0] keepdims = false : tensor<?xf32, "P+T"> -> tensor<f32>
    %rest = ptir.slice %k starts = [1] sizes = ["T-1"] : tensor<?xf32, "T"> -> tensor<?xf32, "T-1">
    func.return %masked, %sum, %rest : tensor<?xf32, "P+T">, tensor<f32>, tensor<?xf32, "T-1">
  }
}"""


def test_sizes_that_are_expressions() -> None:
    """Of inputs and of results, and where one of them is 0."""
    program = compiled(frontends.parse(CACHED), specialize=LATER)
    rng = np.random.default_rng(0)
    served = 0
    for t, p in ((1, 3), (1, 5), (3, 1), (5, 3), (7, 9), (8, 16)):
        k, old, mask = (rng.standard_normal(n).astype(np.float32) for n in (t, p, p + t))
        served += compile_class(program, [k, old, mask]) is not None
        masked = np.concatenate([old, k]) * mask
        for ours, theirs in zip(program(k, old, mask), (masked, masked.sum(), k[1:]), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert served == 6
    assert len(program.classes._masked.by_sizes) == 5


def test_an_index_beyond_a_size_is_named_with_the_size() -> None:
    """The program of the class refuses it, though it is inside of the bound; the message is that of the size."""
    specs = [ma.spec(("T",), ma.float32, name="x"), ma.spec(("B",), ma.int32, name="i")]
    text = ma.trace(lambda x, i: ma.ptir.take(x, i), *specs, name="f")
    program = compiled(text, specialize=LATER)
    x, i = np.arange(9, dtype=np.float32), np.array([8, 3, 0], np.int32)
    assert compile_class(program, [x, i]) is not None
    assert program(x, i).tolist() == [8, 3, 0]
    i[1] = 9
    found = failure(program, x, i)
    assert found.code == "E6001"
    assert str(found) == str(failure(mind_runtime.compile(text, specialize="max_programs=0"), x, i))


def test_failures_are_those_of_the_sizes() -> None:
    """A tail has 0 as divisor and indices that are in no table; neither is an error."""
    specs = [ma.spec(("T",), ma.int32, name="x"), ma.spec(("T",), ma.int32, name="i"), ma.spec((5,), ma.int32, name="table")]
    text = ma.trace(lambda x, i, table: (x // x, ma.take(table, i + 4, axis=0)), *specs, name="f")
    program = compiled(text, specialize=LATER)
    x, i, table = np.arange(1, 10, dtype=np.int32), np.full(9, -2, np.int32), np.arange(5, dtype=np.int32)
    assert compile_class(program, [x, i, table]) is not None
    y, rows = program(x, i, table)
    assert y.tolist() == [1] * 9
    assert rows.tolist() == [2] * 9
    x[3] = 0
    assert failure(program, x, i, table).code == "E8004"
    x[3], i[8] = 1, 1
    assert failure(program, x, i, table).code == "E6001"


def test_a_class_is_compared_with_the_general_program_on_the_same_sizes() -> None:
    """It stays if it is faster than that on long arrays, though that takes less time on short ones."""
    program = compiled(module(), specialize=LATER)
    short, long = inputs(17, 17), inputs(31, 31)
    found = compile_class(program, long)
    for arguments, seconds in ((short, 0.001), (long, 1.0)):
        program.classes.ran(found, program.by_sizes.of(program.open_shapes(arguments)), seconds)
    ticks = iter(range(1 << 16))
    program.classes._masked.by_sizes.clock = lambda: next(ticks) / 4
    for _ in range(TIMED):
        program(*long)
    assert found.state is SizeState.COMPILED
    assert found.gain == pytest.approx(0.75)


def test_sizes_at_the_bound_use_the_program_of_their_class_but_ask_for_none() -> None:
    program = compiled(module(), specialize=LATER)
    at, below = inputs(32, 32), inputs(31, 31)
    assert compile_class(program, at) is None
    found = compile_class(program, below)
    before = found.calls
    np.testing.assert_allclose(program(*at)[0], expected(*at)[0], rtol=1e-4, atol=1e-5)
    assert found.calls == before + 1
    account = program.by_sizes.of(program.open_shapes(inputs(64, 64)))
    other, waits = program.classes.account(account, program.by_sizes.limits)
    assert other.program is None
    assert not waits


def test_many_sizes_are_served_by_few_programs(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the background, by another process: sizes wait for their class, and are not compiled for one by one."""
    monkeypatch.setenv("MIND_CACHE_DIR", str(tmp_path))
    program = compiled(module(), specialize={"compile_share": 1e6})
    every = [inputs(t, t) for t in range(17, 25)]
    for _ in range(1 << 16):
        for arguments in every:
            program(*arguments)
        finished = threading.Event()
        assert WORKER.submit(finished.set)
        assert finished.wait(300)
        masked = program.classes._masked
        if masked is not None and len(masked.by_sizes):
            break
    assert len(masked.by_sizes) == 1
    for arguments in every:
        np.testing.assert_allclose(program(*arguments)[0], expected(*arguments)[0], rtol=1e-4, atol=1e-5)
    assert any(line.startswith("padded to bounds: compiled for sizes: 1 program") for line in program.explain())
    assert all(a.state is not SizeState.REFUSED for a in masked.by_sizes._accounts.values())
