"""Constants and bound weights are packed once for all calls; whoever else calls gives the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import F32
from mind_lowering import code_cache as cache
from mind_lowering.custom_calls import register_custom_call, unregister_custom_call
from mind_lowering.native import plan
from mind_lowering.native import program as lowering
from mind_lowering.native.host import CHECKS_VARIABLE
from mind_runtime.native import image
from native_checks import assert_close, several
from native_control_programs import across, add, convolved, scan
from programs import parse
from ptir_forms import program

rng = np.random.default_rng(5)
SIZE = 40 * 48 * 4
"""Bytes of 40 rows of 40 weights at most, packed, on every machine."""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of one test is found by another."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    mind_runtime.clear_cache()
    return tmp_path / "native"


@pytest.fixture(params=["", "1"], ids=["as they are", "checked"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels as they are, and with checks of all places."""
    monkeypatch.setenv(CHECKS_VARIABLE, request.param)


def normal(*shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


W, V, X = normal(40, 40), normal(40, 40), normal(7, 40)


def constant(array: Any) -> Any:
    return ptir.ConstantOp(PtirLiteralAttr.from_values(F32, array.shape, array.reshape(-1).tolist())).result


def of_constants() -> Any:
    return program("f32[7,40]", lambda x: [across(ptir.TanhOp(across(x, constant(W))), constant(V))])


def of_weights() -> Any:
    return program("f32[7,40] f32[40,40] f32[40,40]", lambda x, w, v: [across(ptir.TanhOp(across(x, w)), v)])


def once(run: Any) -> int:
    """How many lines say that something is packed once."""
    return sum(line.startswith("once    @k.") for line in run.explain())


def bound(module: Any, target: str = "native", **weights: Any) -> Any:
    return mind_runtime.bind(module, weights, target=target)


def expected(x: Any = X, w: Any = W, v: Any = V) -> Any:
    return mind_runtime.compile(of_weights())(x, w, v)


def check(found: Any, want: Any) -> None:
    for a, b in zip(several(found), several(want), strict=True):
        assert_close(a, b, ulps=64, scale=1.0)


@pytest.mark.usefixtures("ways")
def test_constants_are_packed_when_a_program_is_made() -> None:
    run = mind_runtime.compile(of_constants(), target="native")
    assert once(run) == 2
    assert "@run.f.once" in run.source
    for _ in range(3):
        check(run(X), expected())
        check(run._slowly(X[::-1]), expected(X[::-1]))
    assert run.memory_need(X) >= 2 * 40 * 40 * 4


@pytest.mark.usefixtures("ways")
def test_bound_weights_are_packed_when_they_are_bound() -> None:
    run = bound(of_weights(), arg1=W, arg2=V)
    assert once(run.program) == 2
    other = bound(of_weights(), arg1=V, arg2=np.asfortranarray(W))
    for _ in range(3):
        check(run(X), expected())
        check(other(X), expected(X, V, W))
        check(run(X[::-1]), expected(X[::-1]))
        check(run.program(X, V, V), expected(X, V, V))
    out = np.empty_like(X)
    assert run(X, out=out) is out
    check(out, expected())
    mine = W.copy()
    check(bound(of_weights(), arg1=mine, arg2=V)(X), expected())


def test_what_of_the_weights_is_bound_is_packed() -> None:
    run = bound(of_weights(), arg2=V)
    assert once(run.program) == 1
    check(run(X, W), expected())
    check(run(X, V), expected(w=V))
    assert once(bound(of_weights(), arg0=X).program) == 0


def test_who_does_not_bind_packs_in_each_call() -> None:
    assert once(bound(of_weights(), arg1=W, arg2=V).program) == 2
    run = mind_runtime.compile(of_weights(), target="native")
    assert once(run) == 0
    check(run(X, W, V), expected())


def scaled(count: int = 40) -> Any:
    """`x * (w + v) + tanh(w + v)`, where two vectors depend on weights alone, and `(x + w) * v`, where none does."""

    def function(x: Any, w: Any, v: Any) -> Any:
        def row(a: Any) -> Any:
            return ptir.BroadcastToOp(a, result_shape=(7, count)).result

        total = ptir.AddOp(w, v).result
        first = ptir.AddOp(ptir.MulOp(x, row(total)), row(ptir.TanhOp(total).result))
        return [first.result, ptir.MulOp(ptir.AddOp(x, row(w)), row(v)).result]

    return program(f"f32[7,{count}] f32[{count}] f32[{count}]", function)


@pytest.mark.usefixtures("ways")
def test_what_little_depends_on_bound_weights_alone_is_computed_once() -> None:
    for w, v in ((W[0], V[0]), (W[1], V[1])):
        run = bound(scaled(), arg1=w, arg2=v)
        assert once(run.program) == 2
        for _ in range(2):
            for found, wanted in zip(run(X), mind_runtime.compile(scaled(), target="native")(X, w, v), strict=True):
                np.testing.assert_array_equal(found, wanted)
        np.testing.assert_allclose(run(X)[0], X * (w + v) + np.tanh(w + v), rtol=1e-5, atol=1e-6)


def test_what_is_large_or_returned_or_changes_is_computed_in_calls() -> None:
    assert once(bound(scaled(1 << 14), arg1=normal(1 << 14), arg2=normal(1 << 14)).program) == 2
    assert once(bound(scaled(1 << 22), arg1=normal(1 << 22), arg2=normal(1 << 22)).program) == 0
    assert once(bound(scaled(), arg1=W[0]).program) == 0
    assert once(mind_runtime.compile(scaled(), target="native")) == 0
    run = bound(program("f32[7,40] f32[40]", lambda x, w: [ptir.NegOp(x).result, ptir.TanhOp(w).result]), arg1=W[0])
    assert once(run.program) == 0
    np.testing.assert_allclose(run(X)[1], np.tanh(W[0]), rtol=1e-6)


@pytest.mark.usefixtures("ways")
def test_convolutions() -> None:
    weights, x = normal(20, 20, 3, 3), normal(1, 9, 9, 20)
    module = program("f32[1,9,9,20] f32[20,20,3,3]", lambda x, w: [convolved(x, ptir.TransposeOp(w, perm=(2, 3, 1, 0)))])
    run = bound(module, arg1=weights)
    assert once(run.program) == 1
    check(run(x), mind_runtime.compile(module)(x, weights))


@pytest.mark.usefixtures("ways")
def test_convolutions_of_few_tiles() -> None:
    """Where few tiles read weights, they are packed if they are bound, and read where they lie if not."""
    weights, x = normal(3, 3, 20, 300), normal(1, 4, 4, 20)
    module = program("f32[1,4,4,20] f32[3,3,20,300]", lambda x, w: [convolved(x, w)])
    run, other = bound(module, arg1=weights), mind_runtime.compile(module)
    assert once(run.program) > 0
    assert once(other) == 0
    assert "packed" not in "".join(other.explain())
    check(run(x), other(x, weights))
    check(run(x), mind_runtime.compile(module, target="numpy")(x, weights))


@pytest.mark.usefixtures("ways")
def test_in_loops() -> None:
    """Nothing of them is packed before the loop, and one packing serves all uses."""
    module = program(
        "f32[7,40] f32[40,40] f32[5,7,40]",
        lambda h, w, s: scan(lambda h, w, r: [ptir.TanhOp(add(across(h, w), across(add(h, r), w))), w], h, w, s, carries=2)[:1],
    )
    steps = normal(5, 7, 40)
    run = bound(module, arg1=W)
    assert once(run.program) == 1
    assert not any(line.startswith("native") and "panels" in line for line in run.program.explain())
    check(run(X, steps), mind_runtime.compile(module)(X, W, steps))


def test_a_loop_that_is_given_up_packs_nothing() -> None:
    """Its constants are gone with it."""

    def iteration(h: Any, r: Any) -> Any:
        y = across(add(h, r), constant(W))
        return ptir.CustomCallOp(y, target="native.packing.v1", attrs={}, result_types=[y.type]).results

    module = program("f32[7,40] f32[5,7,40]", lambda h, s: [across(scan(iteration, h, s)[0], constant(V))])
    steps = normal(5, 7, 40)
    register_custom_call("native.packing.v1", lambda xp, x: x * xp.float32(2))
    try:
        run = mind_runtime.compile(module, target="native")
        assert "1 op on NumPy" in run.explain()[0]
        assert once(run) == 1
        check(run(X, steps), mind_runtime.compile(module)(X, steps))
    finally:
        unregister_custom_call("native.packing.v1")


def test_where_calls_go_through_python_bound_weights_are_packed_once_too() -> None:
    noise = lambda x: add(x, ptir.RngUniformOp(shape=(7, 40), dtype="f32").result)  # noqa: E731
    twice = lambda x: ptir.CustomCallOp(x, target="native.packing.v1", attrs={}, result_types=[x.type]).results[0]  # noqa: E731
    register_custom_call("native.packing.v1", lambda xp, x: x * xp.float32(2))
    try:
        for before, steps in ((noise, 0), (twice, 1)):
            module = program("f32[7,40] f32[40,40]", lambda x, w, before=before: [across(before(x), w)])
            run, reference = bound(module, arg1=W), bound(module, "numpy", arg1=W)
            assert once(run.program) == 1
            assert f"{steps} op" in run.program.explain()[0]
            for x in (X, -X):
                check(run(x, seed=3), reference(x, seed=3))
    finally:
        unregister_custom_call("native.packing.v1")


def test_memory_that_is_not_there_is_not_packed_in() -> None:
    need = mind_runtime.compile(of_weights(), target="native").memory_need(X, W, V)
    packed = bound(of_weights(), arg1=W, arg2=V).program.memory_need(X, W, V)
    assert need < packed <= need + 2 * SIZE
    for limit, count in ((packed, 2), (packed - 1, 0)):
        run = mind_runtime.bind(of_weights(), {"arg1": W, "arg2": V}, target="native", memory_limit=limit)
        assert once(run.program) == count
        check(run(X), expected())
    with pytest.raises(MindError) as e:
        mind_runtime.bind(of_weights(), {"arg1": W}, target="native", memory_limit=100)
    assert e.value.code == "E6004"


def test_what_is_packed_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "BUDGET", 40 * 40 * 4 + 1)
    run = bound(of_weights(), arg1=W, arg2=V)
    assert once(run.program) == 1
    check(run(X), expected())


@pytest.mark.parametrize("damage", [None, 3, ["run.f.once", [1], [[99, 64]]], ["nothing", [1, 2], []]])
def test_programs_from_disk(damage: Any, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packing is a part of their image; one that says something else is none."""
    first = bound(of_weights(), arg1=W, arg2=V)
    made = mind_runtime.compile(of_constants(), target="native")
    for file in own_cache.iterdir() if damage is not None else ():
        if file.suffix == image.SUFFIX:
            data = cache.read(file.name)
            assert data is not None
            length = int.from_bytes(data[:8], "little")
            text = json.dumps(json.loads(data[8 : 8 + length]) | {"packing": damage}).encode()
            cache.write(file.name, len(text).to_bytes(8, "little") + text + data[8 + length :])
    mind_runtime.clear_cache()
    if damage is None:
        monkeypatch.setattr(lowering, "prepared", lambda func: pytest.fail("prepared again"))
    again, remade = bound(of_weights(), arg1=W, arg2=V), mind_runtime.compile(of_constants(), target="native")
    assert again.program is not first.program
    for run in (again, remade):
        check(run(X), expected())
    assert np.array_equal(again(X), first(X))
    monkeypatch.undo()
    assert remade.explain() == made.explain()


def test_threads() -> None:
    found = [mind_runtime.bind(of_weights(), {"arg1": W, "arg2": V}, target="native", threads=n)(X) for n in (1, 3)]
    assert found[0].tobytes() == found[1].tobytes()


def test_dynamic_sizes() -> None:
    """Bound programs of unknown sizes are compiled for those of a call; their weights are packed in it."""
    text = """
      module attributes {ptir.spec_version = "ptir.v0.4"} {
        func.func @f(%x: tensor<?x40xf32>, %w: tensor<40x40xf32>) -> tensor<?x40xf32> {
          %y = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [1]
              : (tensor<?x40xf32>, tensor<40x40xf32>) -> tensor<?x40xf32>
          func.return %y : tensor<?x40xf32>
        }
      }
    """
    module = parse(text)
    run, reference = bound(module, w=W), mind_runtime.compile(module)
    for rows in (7, 7, 7, 9):
        x = normal(rows, 40)
        check(run(x), reference(x, W))
