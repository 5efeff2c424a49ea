"""Large modules are compiled in parts, on several threads: the parts are the module, and code does not depend on who made it."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_lowering import code_cache as cache
from mind_lowering.native import TARGETS, detect
from mind_lowering.native.program import lower, prepared
from mind_runtime.native import codegen, jit, support
from native_checks import SUM_ULPS, assert_close, several
from ptir_evaluator import function_of
from ptir_forms import program, softmax

HOST = TARGETS["avx2"]
"""What modules are made for that nothing here runs."""


@pytest.fixture(autouse=True)
def small_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    monkeypatch.setattr(codegen, "PART", 4000)
    mind_runtime.clear_cache()


def several_kernels() -> Any:
    def body(x: Any, y: Any) -> Any:
        product = ptir.DotGeneralOp(x, y, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
        return [
            softmax(product),
            ptir.TanhOp(x),
            ptir.ErfOp(y),
            ptir.DivOp(ptir.CastOp(x, dtype="si32"), ptir.CastOp(y, dtype="si32")),
        ]

    return program("f32[33,33] f32[33,33]", body)


def text_of(module: Any) -> str:
    return lower(prepared(function_of(module), HOST), HOST).text


def test_code_registers_no_frames_to_unwind() -> None:
    """A section of frames would be registered with a runtime of exceptions, of which a process may hold several."""
    texts = [text_of(several_kernels())]
    if support.why_not() is None:
        texts.append(support.text())
    for text in texts:
        assert b".eh_frame" not in codegen.object_code(text, HOST)


@pytest.mark.parametrize(("cpu", "gathers"), [("znver4", False), ("sapphirerapids", True)])
def test_gathers_are_single_loads_where_they_are_slow(cpu: str, gathers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    host = TARGETS["avx512"]

    def body(x: Any) -> Any:
        return [ptir.NegOp(ptir.StridedSliceOp(x, starts=(0, 0), limits=(64, 300), strides=(1, 9)))]

    text = lower(prepared(function_of(program("f32[64,300]", body)), host), host).text
    assert "masked.gather" in text
    monkeypatch.setattr(codegen, "names_of", lambda host: codegen.tuned(cpu, ""))
    assert ("gather" in codegen.assembly(text, host)) is gathers


def test_parts_are_the_module() -> None:
    text = text_of(several_kernels())
    parts = codegen.parts_of(text)
    assert 2 <= len(parts) <= codegen.MOST
    bodies = [line for part in parts for line in part.text.splitlines() if line.startswith("define")]
    assert sorted(b.replace("hidden ", "internal ") for b in bodies) == sorted(
        s for s in text.splitlines() if s.startswith("define")
    )
    assert codegen.parts_of(text[:3000]) == [codegen.Part(text[:3000])]


def test_what_is_not_understood_is_left_whole() -> None:
    text = text_of(several_kernels())
    for other in (text.replace(" #0 {", " #0 align 32 {", 1), f"@table = global i8 0\n{text}"):
        assert codegen.parts_of(other) == [codegen.Part(other)]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_code_is_the_same_whoever_makes_it(threads: int) -> None:
    text = text_of(several_kernels())
    found = codegen.objects(text, HOST, threads)
    assert found == codegen.objects(text, HOST, 3)
    assert len(found) > 1
    assert codegen.unpacked(codegen.packed(found)) == found


def test_programs_of_several_parts() -> None:
    # small integers: products are exact, or one unit of a product of a thousand would be 1e-4 of what softmax makes of it
    rng = np.random.default_rng(0)
    x, y = (rng.integers(1, 9, (33, 33)).astype(np.float32) for _ in range(2))
    expected = mind_runtime.compile(several_kernels())(x, y)
    for _ in range(2):  # compiled, then from disk
        run = mind_runtime.compile(several_kernels(), target="native")
        for found, right in zip(several(run(x, y)), several(expected), strict=True):
            assert_close(found, right, ulps=4 + SUM_ULPS * 33)
        with pytest.raises(MindError) as e:
            run(x, np.zeros_like(y))
        assert e.value.code == "E8004"
        mind_runtime.clear_cache()


def test_without_llvmlites_inside_one_thread_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = text_of(several_kernels())
    expected = codegen.objects(text, HOST, 2)
    codegen._unlocked.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(ctypes, "CDLL", lambda name: object())
        assert codegen.objects(text, HOST, 2) == expected
        assert codegen._unlocked() is None
    codegen._unlocked.cache_clear()


@pytest.mark.parametrize("data", [b"", b"\0" * 8, b"\1" + b"\0" * 7, codegen.packed([b"x"])[:-1], codegen.packed([b"x"]) + b"y"])
def test_packs_that_are_none(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        codegen.unpacked(data)


def test_text_that_llvm_refuses() -> None:
    for text in ("define", "define i64 @f() { ret i64 %x }", "define i64 @f() { ret i32 0 }"):
        with pytest.raises(MindError) as e:
            jit.load(text, HOST, ["f"])
        assert e.value.code == "E7004"


def test_programs_hold_no_text_and_give_it() -> None:
    compiled: Any = mind_runtime.compile(several_kernels(), target="native")
    here = detect()
    expected = lower(prepared(function_of(several_kernels()), here), here)
    runner = compiled._executable.runner
    assert not runner.native.text
    assert runner.whole().text == compiled.source == expected.text
    assert compiled.explain() == list(expected.explain())


def function_objects() -> int:
    gc.collect()
    return sum(isinstance(x, FuncOp) and len(x.body.blocks) > 0 and x.sym_name.data != "op" for x in gc.get_objects())


def test_programs_hold_no_function_that_was_lowered() -> None:
    """Neither the fused copy, of which errors name ops, nor the launches: the function of the caller is the only one."""
    here, before = detect(), function_objects()
    compiled: Any = mind_runtime.compile(several_kernels(), target="native")
    assert function_objects() == before + 1
    native = lower(prepared(compiled.function, here), here)
    assert [str(op) for op in compiled._executable.runner.launches().walk()] == [str(op) for op in native.launches.walk()]
    x = np.zeros((33, 33), np.float32)
    with pytest.raises(MindError, match=r"E8004.*ptir\.div|ptir\.div|division") as e:
        compiled(x, x)
    assert e.value.code == "E8004"
    assert e.value.op in list(compiled.function.walk())
