"""Calls of dynamic programs that go by the plan of the sizes called last: what they give, what they refuse, when they end."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_runtime.native import support
from mind_runtime.specialized import TIMED
from native_calls import calls_in_python, compiled, failure
from programs import parse

if support.why_not() is not None:
    pytest.skip(f"no native calls here: {support.why_not()}", allow_module_level=True)

W = np.array([1, 2, 3, 4], np.float32)


def module() -> Any:
    import mind_array as ma

    def step(w: Any, x: Any, cache: Any) -> Any:
        return x * w, cache + cache

    specs = [ma.spec((4,), ma.float32, name="w"), ma.spec(("T", 4), ma.float32, name="x")]
    return ma.trace(step, *specs, ma.spec(("C", 4), ma.float32, name="cache"), name="step")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The calls that go through Python, by how many arguments they have."""
    return calls_in_python(monkeypatch)


def rows(n: int, start: int = 0) -> Any:
    return np.arange(start, start + 4 * n, dtype=np.float32).reshape(n, 4).copy()


def unbound(**options: Any) -> Any:
    run = compiled(module(), donate=["cache"], specialize="eager", **options)
    return run, lambda x, cache: run(W, x, cache), run


def bound(**options: Any) -> Any:
    run = mind_runtime.bind(module(), {"w": W}, target="native", donate=["cache"], specialize="eager", **options)
    return run, run, run.program


KINDS = {"unbound": unbound, "bound": bound}


@pytest.fixture(params=KINDS)
def warm(request: pytest.FixtureRequest, slow: list[int]) -> Any:
    """A caller whose calls on 3 and 5 rows go by a plan, the call without weights, and the program."""
    caller, run, program = KINDS[request.param]()
    for _ in range(TIMED + 1):
        check(run, 3, 5)
    slow.clear()
    check(run, 3, 5)
    assert slow == []
    return caller, run, program


def check(run: Any, t: int, c: int) -> None:
    x, cache = rows(t), rows(c, 7)
    y, updated = run(x, cache)
    np.testing.assert_array_equal(y, rows(t) * W)
    np.testing.assert_array_equal(updated, 2 * rows(c, 7))


def test_the_sizes_called_last_are_called_natively(warm: Any, slow: list[int]) -> None:
    _, run, program = warm
    for _ in range(TIMED + 1):
        check(run, 2, 5)
    slow.clear()
    for _ in range(4):
        check(run, 2, 5)
    assert slow == []
    for t, c in ((3, 5), (2, 5), (0, 5), (3, 0), (1, 1), (3, 5)):
        check(run, t, c)
    calls = sum(a.calls for a in program.by_sizes._accounts.values())
    check(run, 3, 5)
    check(run, 3, 5)
    assert any(line.startswith("sizes") for line in program.explain())
    assert sum(a.calls for a in program.by_sizes._accounts.values()) == calls + 2


def refused(run: Any, x: Any, cache: Any, code: str = "E2001") -> None:
    """Hold that a call is refused, however often, and that the next right one is not."""
    for _ in range(2):
        assert failure(run, x, cache).code == code
    check(run, 3, 5)


def test_what_is_refused_stays_refused(warm: Any) -> None:
    _, run, _ = warm
    frozen = rows(5)
    frozen.flags.writeable = False
    room = np.zeros((9, 4), np.float32)
    refused(run, rows(3).astype(np.float64), rows(5))
    refused(run, rows(3).astype(">f4"), rows(5))
    refused(run, rows(3)[:, :3], rows(5))
    refused(run, rows(3).reshape(-1), rows(5))
    refused(run, rows(3)[None], rows(5))
    refused(run, rows(3).tolist(), rows(5))
    refused(run, rows(3), frozen)
    refused(run, rows(3), np.asfortranarray(rows(5)))
    refused(run, rows(3), rows(10)[::2])
    refused(run, room[4:7], room[:5])
    refused(run, room[:3][::-1], room[2:7])
    check(run, 3, 5)
    x, cache = room[:3], room[3:8]
    run(x, cache)
    both = rows(3)
    refused(run, both, both)


def test_a_donated_argument_in_the_memory_of_a_weight_is_refused(slow: list[int]) -> None:
    room = np.ones((6, 4), np.float32)
    run = mind_runtime.bind(module(), {"w": room[5]}, target="native", donate=["cache"], specialize="eager")
    for _ in range(TIMED + 2):
        run(rows(3), rows(5))
    refused_here = [(rows(3), room[1:6]), (rows(3), room[5:6])]
    for x, cache in refused_here:
        assert failure(run, x, cache).code == "E2001"
    run(rows(3), room[:5])
    general = mind_runtime.bind(module(), {"w": room[5]}, donate=["cache"])
    for x, cache in refused_here:
        assert failure(general, x, cache).code == "E2001"
    general(rows(3), room[:5])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_argument_changes_between_calls(warm: Any) -> None:
    """One object, with another shape, size, dtype, order or permission at each call: nothing is remembered of it."""
    _, run, _ = warm
    x, cache = rows(3), rows(5)
    run(x, cache)
    x.shape = (4, 3)
    refused(run, x, rows(5))
    x.shape = (3, 4)
    np.testing.assert_array_equal(run(x, rows(5))[0], rows(3) * W)
    x.resize((6, 4), refcheck=False)
    np.testing.assert_array_equal(run(x, rows(5))[0], x * W)
    x.resize((1, 4), refcheck=False)
    np.testing.assert_array_equal(run(x, rows(5))[0], x * W)
    x.resize((1, 5), refcheck=False)
    refused(run, x, rows(5))
    view = rows(3)
    run(view, rows(5))
    view.dtype = np.int32
    refused(run, view, rows(5))
    view.dtype = np.float32
    run(view, rows(5))
    cache = rows(5)
    run(rows(3), cache)
    cache.flags.writeable = False
    refused(run, rows(3), cache)
    cache.flags.writeable = True
    run(rows(3), cache)
    owner = rows(5)
    run(rows(3), owner[:])
    owner.flags.writeable = False
    refused(run, rows(3), owner[:])
    cache.strides = (4, 4)
    refused(run, rows(3), cache)


def test_memory_of_a_freed_array_with_another_type(warm: Any) -> None:
    _, run, _ = warm
    seen: set[int] = set()
    for shape, dtype in [((3, 4), np.float32), ((3, 4), np.int32), ((4, 3), np.float32), ((3, 2), np.float64)] * 3:
        x = np.ones(shape, dtype)
        seen.add(x.__array_interface__["data"][0])
        if (shape, dtype) == ((3, 4), np.float32):
            np.testing.assert_array_equal(run(x, rows(5))[0], x * W)
        else:
            assert failure(run, x, rows(5)).code == "E2001"
        del x
    assert len(seen) < 12  # the memory did come again


def test_sizes_that_break_a_declaration_are_refused(slow: list[int]) -> None:
    text = """module attributes {ptir.spec_version = "ptir.v0.4"} {
      func.func @f(%x: tensor<?xf32, "T">, %y: tensor<?xf32, "T">) -> tensor<?xf32, "T"> attributes {mind.dims = ["T <= 64"]} {
        %s = ptir.add %x, %y : tensor<?xf32, "T">
        func.return %s : tensor<?xf32, "T">
      }
    }"""
    run = compiled(parse(text), specialize="eager")
    ones = np.ones(70, np.float32)
    for _ in range(TIMED + 2):
        run(ones[:9], ones[:9])
    slow.clear()
    run(ones[:9], ones[:9])
    assert slow == []
    assert failure(run, ones[:65], ones[:65]).code == "E8010"
    assert failure(run, ones[:9], ones[:8]).code == "E8001"
    assert run(ones[:64], ones[:64]).sum() == 128


def test_failures_name_the_op(slow: list[int]) -> None:
    text = """module attributes {ptir.spec_version = "ptir.v0.4"} {
      func.func @f(%x: tensor<?xsi32, "T">) -> tensor<?xsi32, "T"> {
        %y = ptir.div %x, %x : tensor<?xsi32, "T">
        func.return %y : tensor<?xsi32, "T">
      }
    }"""
    run = compiled(parse(text), specialize="eager")
    for _ in range(TIMED + 2):
        run(np.ones(4, np.int32))
    slow.clear()
    e = failure(run, np.array([1, 0, 1, 1], np.int32))
    assert (e.code, slow) == ("E8004", [])
    assert "div %y" in str(e)


def test_out_and_seed(warm: Any, slow: list[int]) -> None:
    caller, _, program = warm
    weights = [W] if caller is program else []
    out = np.empty((3, 4), np.float32), np.empty((5, 4), np.float32)
    found = caller(*weights, rows(3), rows(5), out=out)
    assert found[0] is out[0]
    np.testing.assert_array_equal(out[0], rows(3) * W)
    caller(*weights, rows(3), rows(5), seed=3)
    assert failure(caller, *weights, rows(3), rows(5), out=out[::-1]).code == "E2001"


def test_an_evicted_program_takes_no_more_calls(warm: Any, slow: list[int]) -> None:
    caller, run, program = warm
    (account,) = [a for a in program.by_sizes._accounts.values() if a.program is not None]
    gone = weakref.ref(account.program)
    with program.by_sizes._lock:
        program.by_sizes._drop(account, account.state.EVICTED)
    slow.clear()
    check(run, 3, 5)
    assert len(slow) >= 1
    gc.collect()
    assert gone() is None or gone() is account.program
    assert caller._plan_at == 0


def test_two_bindings_of_one_program_have_their_own_weights() -> None:
    program = compiled(module(), specialize="eager")
    first = program.type_of_bound(mind_runtime.Bound)(program, {"w": W})
    for _ in range(TIMED + 2):
        np.testing.assert_array_equal(first(rows(3), rows(5))[0], rows(3) * W)
    second = program.type_of_bound(mind_runtime.Bound)(program, {"w": 3 * W})
    for _ in range(TIMED + 2):
        np.testing.assert_array_equal(second(rows(3), rows(5))[0], rows(3) * 3 * W)
        np.testing.assert_array_equal(first(rows(3), rows(5))[0], rows(3) * W)
        np.testing.assert_array_equal(program(5 * W, rows(3), rows(5))[0], rows(3) * 5 * W)


def test_threads_with_sizes_of_their_own(warm: Any) -> None:
    _, run, _ = warm
    wrong: list[BaseException] = []

    def work(t: int) -> None:
        try:
            for _ in range(200):
                check(run, t, 5 + t)
        except BaseException as e:
            wrong.append(e)

    threads = [threading.Thread(target=work, args=(t,)) for t in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_no_reference_is_lost_or_kept(warm: Any) -> None:
    _, run, program = warm
    (account,) = [a for a in program.by_sizes._accounts.values() if a.program is not None]
    x = rows(3)
    before = sys.getrefcount(x), sys.getrefcount(account.program), sys.getrefcount(x.dtype)
    for _ in range(500):
        run(x, rows(5))
    after = sys.getrefcount(x), sys.getrefcount(account.program), sys.getrefcount(x.dtype)
    assert all(abs(a - b) < 10 for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_programs_go_when_nobody_has_them(kind: str) -> None:
    caller, run, program = KINDS[kind]()
    for _ in range(TIMED + 2):
        run(rows(3), rows(5))
    gone = weakref.ref(caller), weakref.ref(program)
    del caller, run, program
    gc.collect()
    assert [g() for g in gone] == [None, None]
