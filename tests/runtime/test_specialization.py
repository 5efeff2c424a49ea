"""For which sizes a program is compiled: the policy with a clock and a compiler of the test's own, and real programs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic_attention
import mind_runtime
from mind_dialect.errors import MindError
from mind_runtime import Specialization
from mind_runtime.background import WORKER, Worker
from mind_runtime.specialization import class_of
from mind_runtime.specialized import REMEMBERED, TIMED, Built, Shapes, SizeState, Specialized
from programs import parse


class Fake:
    """A compiler whose programs are names, in a time in which nothing but runs and compiling takes time."""

    seconds, gain = 1.0, 0.5

    def __init__(self, **limits: Any):
        self.now = 0.0
        self.compiled: list[int] = []
        self.waiting: list[tuple[Shapes, Callable[[Built[str] | None], None]]] = []
        self.takes, self.bytes, self.refuses, self.is_busy = 1.0, 100, False, False
        self.programs = Specialized(self, self.check, Specialization.of(limits), lambda: self.now)

    def check(self, *shapes: tuple[int, ...]) -> Mapping[str, int]:
        if shapes[0][0] < 0:
            raise ValueError(shapes)
        return {"T": shapes[0][0]}

    def build(self, shapes: Shapes) -> Built[str] | None:
        self.now += self.takes
        self.compiled.append(shapes[0][0])
        return None if self.refuses else Built(f"T={shapes[0][0]}", self.bytes, self.takes)

    def start(self, shapes: Shapes, done: Callable[[Built[str] | None], None]) -> bool:
        if self.is_busy:
            return False
        self.waiting.append((shapes, done))
        return True

    def finish(self) -> None:
        """End what compiles in the background."""
        for shapes, done in self.waiting:
            done(self.build(shapes))
        self.waiting = []

    def call(self, n: int, general: float = 0.1, own: float = 0.05) -> str:
        """Run as a program does."""
        account = self.programs.of(((n,),))
        if (program := account.program) is None:
            self.now += general
            self.programs.ran(account, general)
            return "general"
        self.now += own
        self.programs.used(account)
        if account.timed < TIMED:
            self.programs.timed(account, own)
        return program

    def state(self, n: int) -> SizeState:
        return self.programs.of(((n,),)).state


# The policy


def test_sizes_are_compiled_for_when_they_lost_what_compiling_takes() -> None:
    """Half of 0.1 s is lost in each call, and a second to compile: after 20 calls."""
    fake = Fake(background=False)
    assert [fake.call(8) for _ in range(20)] == ["general"] * 20
    assert fake.compiled == [8]
    assert fake.call(8) == "T=8"


def test_short_runs_that_come_often_add_up() -> None:
    fake = Fake(background=False)
    for _ in range(50_000):
        if fake.call(8, general=1e-4, own=5e-5) != "general":
            break
    assert fake.compiled == [8]


def test_sizes_that_come_once_are_never_compiled_for() -> None:
    fake = Fake(background=False)
    for n in range(3000):
        assert fake.call(n, general=1.5) == "general"
    assert fake.compiled == []
    assert len(fake.programs.report()) < 2 + 2 * 12


def test_a_rotation_compiles_a_bounded_number_and_settles() -> None:
    fake = Fake(background=False, max_programs=16, compile_share=1)
    rounds: list[int] = []
    for _ in range(100):
        for n in range(2, 202):
            fake.call(n)
        rounds.append(len(fake.compiled))
        assert len(fake.programs) <= 16
    assert rounds[-1] == rounds[50] == 16


def test_memory_is_bounded() -> None:
    fake = Fake(background=False, max_bytes=1000, compile_share=1)
    for _ in range(100):
        for n in range(2, 52):
            fake.call(n)
            assert fake.programs.bytes <= 1000
    assert len(fake.programs) == 10


def test_a_program_beyond_the_limit_of_bytes_is_not_kept() -> None:
    fake = Fake(background=False, max_bytes=99)
    for n in (8, 9, 1000):
        for _ in range(200):
            assert fake.call(n) == "general"
    assert (fake.compiled, fake.state(8), fake.state(9)) == ([8], SizeState.REFUSED, SizeState.GENERAL)


def test_hot_sizes_displace_those_that_are_not_used_any_more() -> None:
    fake = Fake(background=False, max_programs=2)
    for n in (8, 9):
        for _ in range(30):
            fake.call(n)
    for _ in range(1000):
        fake.call(10)
        if fake.state(10) is SizeState.COMPILED:
            break
    assert fake.state(10) is SizeState.COMPILED
    assert {fake.state(8), fake.state(9)} == {SizeState.COMPILED, SizeState.EVICTED}


def test_an_evicted_size_has_to_lose_twice_the_time() -> None:
    fake = Fake(background=False, max_programs=1)
    while fake.state(8) is not SizeState.COMPILED:
        fake.call(8)
    while fake.state(9) is not SizeState.COMPILED:
        fake.call(9)
    assert fake.state(8) is SizeState.EVICTED
    account = fake.programs.of(((8,),))
    account.now = 1 << 20  # used so much that room is no question
    calls = 0
    while fake.state(8) is not SizeState.COMPILED:
        fake.call(8)
        calls += 1
    assert calls in (40, 41)


def test_compiling_takes_no_more_than_its_share_of_the_time() -> None:
    fake = Fake(background=False, compile_share=0.1)
    for _ in range(400):
        for n in range(2, 12):
            fake.call(n, general=1.0)
            assert len(fake.compiled) * fake.takes <= 0.1 * fake.now
    assert len(fake.compiled) == 10


def test_no_call_waits_for_what_compiles_in_the_background() -> None:
    fake = Fake()
    for _ in range(100):
        assert fake.call(8) == "general"
        assert fake.call(9) == "general"
    assert ([shapes for shapes, _ in fake.waiting], fake.compiled) == ([((8,),)], [])
    assert fake.state(8) is SizeState.PENDING
    fake.finish()
    assert fake.call(8) == "T=8"
    assert fake.call(9) == "general"
    assert [shapes for shapes, _ in fake.waiting] == [((9,),)]


def test_a_call_compiles_where_nothing_can_in_the_background() -> None:
    fake = Fake()
    fake.is_busy = True
    for _ in range(21):
        fake.call(8)
    assert fake.compiled == [8]


def test_a_program_that_is_no_faster_is_dropped_and_not_compiled_again() -> None:
    fake = Fake(background=False)
    for _ in range(500):
        fake.call(8, own=0.2)
    assert (fake.compiled, fake.state(8), len(fake.programs)) == ([8], SizeState.SLOWER, 0)
    for _ in range(500):
        fake.call(7)  # of the same class
    assert fake.compiled == [8]


def test_what_cannot_be_compiled_is_tried_once() -> None:
    fake = Fake(background=False)
    fake.refuses = True
    for _ in range(500):
        assert fake.call(8) == "general"
    assert (fake.compiled, fake.state(8)) == ([8], SizeState.REFUSED)


def test_what_compiling_takes_is_learnt_from_other_sizes() -> None:
    fake = Fake(background=False, compile_share=1)
    fake.takes = 4.0
    while fake.state(5) is not SizeState.COMPILED:
        fake.call(5)
    calls = 0
    while fake.state(6) is not SizeState.COMPILED:
        fake.call(6)
        calls += 1
    assert calls in (80, 81)


def test_an_eager_program_compiles_in_the_first_call() -> None:
    fake = Fake(eager=True, max_programs=2)
    assert [fake.call(n) for n in (3, 4, 5, 3, 5)] == ["T=3", "T=4", "general", "T=3", "general"]
    assert len(fake.programs) == 2


def test_no_programs_at_all() -> None:
    for limits in ({"max_programs": 0}, {"max_programs": 0, "eager": True}, {"compile_share": 0}):
        fake = Fake(background=False, **limits)
        assert {fake.call(8, general=5.0) for _ in range(100)} == {"general"}
        assert fake.compiled == []


def test_an_interrupted_compilation_may_be_begun_again() -> None:
    fake = Fake(background=False)
    build, stops = fake.build, iter([KeyboardInterrupt()])

    def interrupted(shapes: Shapes) -> Built[str] | None:
        for stop in stops:
            raise stop
        return build(shapes)

    fake.build = interrupted  # type: ignore[method-assign]
    for _ in range(19):
        fake.call(8)
    with pytest.raises(KeyboardInterrupt):
        fake.call(8)
    fake.call(8)
    assert fake.call(8) == "T=8"


def test_shapes_that_do_not_fit_have_no_account() -> None:
    fake = Fake()
    for _ in range(3):
        with pytest.raises(ValueError, match="-1"):
            fake.call(-1)
    assert fake.programs.report()[1:] == []


def test_accounts_are_bounded() -> None:
    fake = Fake(background=False)
    for _ in range(25):
        fake.call(2)
    for n in range(3, 3 * REMEMBERED):
        fake.call(n)
    assert len(fake.programs._accounts) == REMEMBERED
    assert fake.call(2) == "T=2"


def test_the_report_says_class_calls_times_and_state() -> None:
    fake = Fake(background=False, max_programs=5)
    for _ in range(25):
        fake.call(5)
    fake.call(8)
    fake.call(16)
    assert fake.programs.report() == [
        "compiled for sizes: 1 programs of at most 5, 100 of 1,073,741,824 bytes; 1.000 s of compiling, at most 50% of the time",
        "sizes   T in 5..8: 26 calls, 1.050 s lost, 1.000 s of compiling; 1 compiled, 1 general",
        "sizes   T in 9..16, T % 16 == 0: 1 calls, 0.050 s lost, 0.000 s of compiling; 1 general",
    ]


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ({}, ""),
        ({"B": 0, "T": 1}, "B == 0, T == 1"),
        ({"T": 2}, "T in 2..2"),
        ({"T": 3}, "T in 3..4"),
        ({"T": 128}, "T in 65..128, T % 16 == 0"),
        ({"T": 129}, "T in 129..256"),
        ({"T": 1 << 40}, f"T in {(1 << 39) + 1}..{1 << 40}, T % 16 == 0"),
    ],
)
def test_classes(sizes: dict[str, int], text: str) -> None:
    assert class_of(sizes) == text


# Limits


@pytest.mark.parametrize("given", ["max_programs=3 background=off", {"max_programs": 3, "background": False}])
def test_limits_are_text_or_a_mapping(given: object) -> None:
    assert Specialization.of(given) == Specialization(max_programs=3, background=False)
    assert Specialization.of(Specialization.of(given)) == Specialization.of(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "specialize is '5', expected limits"),
        ("programs=5", "'programs' is unknown, expected one of"),
        ({"max_programs": -1}, "max_programs is '-1', expected an integer from 0"),
        ({"max_programs": True}, "max_programs is 'True', expected an integer"),
        ({"max_bytes": 1.5}, "max_bytes is '1.5', expected an integer"),
        ("max_bytes=much", "max_bytes is \"'much'\", expected an integer"),
        ("compile_share=nan", "compile_share is \"'nan'\", expected a number"),
        ({"background": 1}, "background is '1', expected on or off"),
        ("eager=maybe", "eager is \"'maybe'\", expected on or off"),
    ],
)
def test_limits_that_are_none(given: Any, message: str) -> None:
    with pytest.raises(MindError) as caught:
        mind_runtime.compile(dynamic_attention.attention(), specialize=given)
    assert caught.value.code == "E7001"
    assert message.replace("'", "").replace('"', "") in caught.value.message.replace("'", "").replace('"', "")


# Real programs


@pytest.fixture
def worker() -> Iterator[Worker]:
    """The worker; what it does for a test has ended when the test has."""
    yield WORKER
    finished = threading.Event()
    WORKER.submit(finished.set)
    assert finished.wait(300)


def wait_for_programs(program: mind_runtime.Program, arguments: list[Any]) -> None:
    """Call until another program than the general one runs these sizes; the limit is against a hang only."""
    account = program.by_sizes.of(program.open_shapes(arguments))
    for _ in range(1 << 20):
        program(*arguments)
        if account.state is SizeState.PENDING:
            finished = threading.Event()
            assert WORKER.submit(finished.set)
            assert finished.wait(300)
        if account.state not in (SizeState.GENERAL, SizeState.PENDING):
            return
    raise AssertionError(program.explain())


@pytest.mark.parametrize("cache", ["kept", "none", "not writable"])
def test_native_code_serves_after_some_calls(cache: str, tmp_path: Path, monkeypatch: Any, worker: Worker) -> None:
    """With a cache another process compiles; without, the worker of this one does."""
    pytest.importorskip("llvmlite")
    (tmp_path / "file").write_text("")
    folder = {"kept": str(tmp_path), "none": "", "not writable": str(tmp_path / "file" / "cache")}[cache]
    monkeypatch.setenv("MIND_CACHE_DIR", folder)
    program = mind_runtime.compile(dynamic_attention.attention(), target="native")
    arguments = list(dynamic_attention.inputs(2, 16))
    first = program(*arguments)
    wait_for_programs(program, arguments)
    (found,) = [a.program for a in program.by_sizes._accounts.values()]
    assert found is not None
    assert [spec.shape for spec in found.inputs] == [a.shape for a in arguments]
    assert [spec.name for spec in found.inputs] == [spec.name for spec in program.inputs]
    second = program(*arguments)
    np.testing.assert_allclose(second, first, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(second, dynamic_attention.expected(*arguments), rtol=1e-4, atol=1e-5)
    assert "define" in found.source
    assert any("native" in line for line in found.explain())
    assert any("1 compiled" in line for line in program.explain())
    images = list(tmp_path.glob("native/*.image"))
    assert bool(images) == (cache == "kept")


DIVISION = """module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<?xsi32, "B">) -> tensor<?xsi32, "B"> {
    %y = ptir.div %x, %x : tensor<?xsi32, "B">
    func.return %y : tensor<?xsi32, "B">
  }
}"""


def test_errors_of_code_that_another_process_compiled_name_the_op(tmp_path: Path, monkeypatch: Any, worker: Worker) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("MIND_CACHE_DIR", str(tmp_path))
    program = mind_runtime.compile(parse(DIVISION), target="native")
    made, _ = program.specialised_apart(((3,),))
    assert made is not None
    assert list(tmp_path.glob("native/*.image"))
    assert made(np.array([1, 2, 3], np.int32)).tolist() == [1, 1, 1]
    with pytest.raises(MindError) as caught:
        made(np.array([1, 0, 3], np.int32))
    assert caught.value.code == "E8004"
    assert "div %y" in str(caught.value)


TABLE = """module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<?x1024xf32, "B,*">) -> tensor<?x1024xf32, "B,*"> {
    %c = ptir.constant "TABLE" : tensor<1024xui8>
    %f = ptir.cast %c dtype = f32 : tensor<1024xui8> -> tensor<1024xf32>
    %w = ptir.tile %f repeats = [8] : tensor<1024xf32> -> tensor<8192xf32>
    %s = ptir.slice %w starts = [1024] sizes = [1024] : tensor<8192xf32> -> tensor<1024xf32>
    %b = ptir.broadcast_to %s result_shape = [B, 1024] : tensor<1024xf32> -> tensor<?x1024xf32, "B,*">
    %y = ptir.mul %x, %b : tensor<?x1024xf32, "B,*">
    func.return %y : tensor<?x1024xf32, "B,*">
  }
}"""


def test_large_constants_reach_another_process_and_its_image(tmp_path: Path, monkeypatch: Any, worker: Worker) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("MIND_CACHE_DIR", str(tmp_path))
    table = np.random.default_rng(0).integers(0, 256, 1024, np.uint8)
    program = mind_runtime.compile(parse(TABLE.replace("TABLE", f"0x{table.tobytes().hex()}")), target="native")
    for batch in (3, 5):
        made, elsewhere = program.specialised_apart(((batch, 1024),))
        assert made is not None
        assert elsewhere > 0
        x = np.full((batch, 1024), 2, np.float32)
        np.testing.assert_array_equal(made(x), x * table.astype(np.float32))
    assert len(list(tmp_path.glob("native/*.image"))) == 2
    assert not list(tmp_path.glob("native/constants*"))


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_the_general_program_computes_on_constants_once(target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    table = np.random.default_rng(0).integers(0, 256, 1024, np.uint8)
    module = parse(TABLE.replace("TABLE", f"0x{table.tobytes().hex()}"))
    program = mind_runtime.compile(module, target=target, specialize="max_programs=0")
    before = program.held_bytes
    for batch in (3, 0, 5):
        x = np.full((batch, 1024), 2, np.float32)
        np.testing.assert_array_equal(program(x), x * table.astype(np.float32))
    assert program.held_bytes - before == 8192 * 4
    assert program.source.count("def ") == 2
    assert program._body.computed is not None
    (kept,) = program._body.constants()
    assert kept is program._body.constants()[0]


def test_a_program_with_static_sizes_computes_on_constants_in_calls() -> None:
    module = parse(TABLE.replace("TABLE", "0x" + "07" * 1024).replace('?x1024xf32, "B,*"', "3x1024xf32").replace("[B,", "[3,"))
    program = mind_runtime.compile(module)
    assert program._body.computed is None
    np.testing.assert_array_equal(program(np.ones((3, 1024), np.float32)), np.full((3, 1024), 7, np.float32))


def test_what_another_process_does_not_know_is_compiled_here(tmp_path: Path, monkeypatch: Any, worker: Worker) -> None:
    """A child that cannot answer, here as it does not start, costs an attempt only."""
    pytest.importorskip("llvmlite")
    from mind_runtime.native import compile_child

    monkeypatch.setenv("MIND_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compile_child, "_START", "raise SystemExit(3)")
    compile_child.CHILD.end()
    program = mind_runtime.compile(parse(DIVISION), target="native")
    made, elsewhere = program.specialised_apart(((3,),))
    assert made is not None
    assert elsewhere == 0
    assert made(np.array([4, 2, 3], np.int32)).tolist() == [1, 1, 1]
    compile_child.CHILD.end()


def test_weights_are_packed_for_each_size_that_is_compiled(tmp_path: Path, monkeypatch: Any, worker: Worker) -> None:
    """By this process and by another: a bound program of some sizes is entered with the weights that its general one has."""
    pytest.importorskip("llvmlite")
    text = """module attributes {ptir.spec_version = "ptir.v0.4"} {
      func.func @f(%x: tensor<?x300xf32, "T,*">, %w: tensor<300x200xf32>) -> tensor<?x200xf32, "T,*"> {
        %y = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
          : (tensor<?x300xf32, "T,*">, tensor<300x200xf32>) -> tensor<?x200xf32, "T,*">
        func.return %y : tensor<?x200xf32, "T,*">
      }
    }"""
    monkeypatch.setenv("MIND_CACHE_DIR", str(tmp_path))
    rng = np.random.default_rng(0)
    w, x = (rng.standard_normal(shape).astype(np.float32) for shape in ((300, 200), (40, 300)))
    bound = mind_runtime.bind(parse(text), {"w": w}, target="native")
    shapes = (x.shape, w.shape)
    apart, _ = bound.program.specialised_apart(shapes)
    here = bound.program.specialised(shapes)
    for made in (apart, here):
        assert made is not None
        assert made.held_bytes >= w.nbytes
        np.testing.assert_allclose(made.enter_bound([x, w], 0), x @ w, rtol=1e-4, atol=1e-4)
    assert bound.program.by_sizes.compiled((x.shape,)) is not None
    np.testing.assert_allclose(bound(x), x @ w, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(bound(x[:7]), x[:7] @ w, rtol=1e-4, atol=1e-4)


def test_the_general_program_alone() -> None:
    program = mind_runtime.compile(dynamic_attention.attention(), specialize="max_programs=0")
    arguments = dynamic_attention.inputs(1, 16)
    for _ in range(50):
        program(*arguments)
    assert "0 programs of at most 0" in program.explain()[1]


def test_a_worker_ends_when_idle_and_starts_again() -> None:
    worker = Worker(idle=0.01)
    ended = threading.Event()
    for _ in range(2):
        ran = threading.Event()
        ended.clear()
        worker.at_end.append(ended.set)
        assert worker.submit(ran.set)
        assert ran.wait(60)
        assert ended.wait(60)
