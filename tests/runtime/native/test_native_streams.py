"""Results that are stored past the caches: the same numbers, whether aligned or not, with tails, in place."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_lowering.native import TARGETS, nontemporal
from mind_lowering.native import host as host_module
from mind_lowering.native.program import lower, prepared
from mind_runtime.native import jit
from native_checks import several
from ptir_evaluator import function_of
from ptir_forms import program, reduce, softmax, spread

PROGRAMS: dict[str, Any] = {
    "elementwise": ("f32[1000]", lambda x: [ptir.ExpOp(x)]),
    "two results": ("f64[1000]", lambda x: [ptir.ExpOp(x), ptir.NegOp(x)]),
    "rows": ("f32[40,64] f32[64]", lambda x, b: [ptir.AddOp(x, spread(b, x))]),
    "odd rows": ("f32[40,61] f32[61]", lambda x, b: [ptir.AddOp(x, spread(b, x))]),
    "transposed": ("f32[64,48]", lambda x: [ptir.ExpOp(ptir.TransposeOp(x, perm=(1, 0)))]),
    "halves": ("f16[40,64]", lambda x: [ptir.ExpOp(x)]),
    "truths": ("f32[40,64]", lambda x: [ptir.CompareOp(x, ptir.NegOp(x), kind="less")]),
    "reduced": ("f32[40,64]", lambda x: [reduce(x, "sum"), ptir.NegOp(x)]),
    "complex": ("cf32[1000]", lambda x: [ptir.MulOp(x, x)]),
    "wide complex": ("cf64[40,64]", lambda x: [ptir.MulOp(x, x), ptir.AbsOp(x)]),
    "odd complex": ("cf32[40,61] cf32[61]", lambda x, b: [ptir.AddOp(x, spread(b, x))]),
    "softmax": ("f32[40,256]", softmax),
    "odd softmax": ("f32[40,257]", softmax),
    "short softmax": ("f32[40,64]", softmax),
    "softmax of halves": ("bf16[40,256]", softmax),
}


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever may go past the caches does."""
    mind_runtime.clear_cache()
    monkeypatch.setattr(nontemporal, "STREAMED", 0)


def placed(x: Any, offset: int) -> Any:
    """Room for an array that begins so many bytes behind a line of memory."""
    room = np.empty(x.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    return room[start : start + x.nbytes].view(x.dtype).reshape(x.shape)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("checks", ["", "1"])
def test_results_are_those_of_plain_stores(name: str, checks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.CHECKS_VARIABLE, checks)
    module = program(*PROGRAMS[name])
    run = mind_runtime.compile(module, target="native")
    arrays = [np.random.default_rng(i).standard_normal(s.shape).astype(s.numpy_dtype) for i, s in enumerate(run.inputs)]
    found = [several(run(*arrays))]
    for offset in (0, 16):
        out = tuple(placed(x, offset) for x in found[0])
        run(*arrays, out=out if len(out) > 1 else out[0])
        found.append(out)
    monkeypatch.setattr(nontemporal, "STREAMED", 1 << 60)
    mind_runtime.clear_cache()
    plain = mind_runtime.compile(module, target="native")
    assert "nontemporal" not in plain.source
    for results in found:
        assert [x.tobytes() for x in results] == [x.tobytes() for x in several(plain(*arrays))]


NARROW = {"avx512": set[str](), "avx2": {"truths"}, "baseline": {"truths", "halves", "softmax of halves"}}
"""Programs whose vectors of results, on a machine, are shorter than the 16 bytes of its least such store."""


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("isa", NARROW)
def test_which_results_may_be_stored_past_the_caches(name: str, isa: str) -> None:
    native = lower(prepared(function_of(program(*PROGRAMS[name])), TARGETS[isa]), TARGETS[isa])
    aligned = name not in ("odd rows", "odd complex", "odd softmax")
    assert ("nontemporal" in native.text) == (aligned and name not in NARROW[isa])


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("isa", TARGETS)
def test_every_machine_has_such_stores(isa: str) -> None:
    native = lower(prepared(function_of(program(*PROGRAMS["elementwise"])), TARGETS[isa]), TARGETS[isa])
    store = "vmovntp" if isa.startswith("avx") else {"baseline": "movntp", "sve256": "stnt1w"}.get(isa, "stnp")
    assert store in jit.assembly(native.text, TARGETS[isa])


@pytest.mark.parametrize(
    ("mebibytes", "rows", "is_past"), [(32, 40, False), (32, 4095, False), (32, 4096, True), (48, 4096, False), (48, 6144, True)]
)
@pytest.mark.parametrize("forms", [softmax, lambda x: [ptir.ExpOp(x)]], ids=["rows", "elementwise"])
def test_results_stay_in_the_cache_that_holds_them(mebibytes: int, rows: int, is_past: bool, forms: Any) -> None:
    host = replace(TARGETS["avx2"], shared_bytes=mebibytes << 20)
    native = lower(prepared(function_of(program(f"f32[{rows},1024]", forms)), host), host)
    assert ("nontemporal" in native.text) == is_past


@pytest.mark.parametrize(("rows", "is_past"), [(2047, False), (2048, True)])
def test_strided_results_go_past_half_of_the_cache(rows: int, is_past: bool) -> None:
    host = replace(TARGETS["avx2"], shared_bytes=32 << 20)
    for forms in (lambda x: [softmax(x, 0)], lambda x: [ptir.TransposeOp(x, perm=(1, 0))]):
        native = lower(prepared(function_of(program(f"f32[1024,{rows}]", forms)), host), host)
        assert ("nontemporal" in native.text) == is_past


ASKED: dict[str, tuple[str, Any, int]] = {
    "far": ("f32[1000000]", lambda x: [ptir.ExpOp(x)], 4),
    "near": ("f32[10000]", lambda x: [ptir.ExpOp(x)], 0),
    "two": ("f32[1000000] f32[1000000]", lambda x, y: [ptir.AddOp(x, y)], 8),
    "narrow": ("bf16[2000000]", lambda x: [ptir.ExpOp(x)], 2),
    "the same row": ("f32[700,2048] f32[2048]", lambda x, y: [ptir.AddOp(x, spread(y, x))], 4),
    "short rows": ("f32[4000,300] f32[300]", lambda x, y: [ptir.AddOp(x, spread(y, x))], 0),
    "a sum": ("f32[1000000]", lambda x: [reduce(x, "sum")], 4),
}
"""Programs, and how many lines one iteration of AVX-512 asks for that are read 1 KiB later."""


@pytest.mark.parametrize("name", ASKED)
def test_lines_from_afar_are_asked_for_before_they_are_read(name: str) -> None:
    types, forms, count = ASKED[name]
    native = lower(prepared(function_of(program(types, forms)), TARGETS["avx512"]), TARGETS["avx512"])
    assert len(re.findall(r"prefetch.*, i32 0, i32 3, i32 1\)", native.text)) == count


CLAIMED: dict[str, tuple[str, Any, int]] = {
    "softmax": ("f32[40,1024]", softmax, 2),
    "wide softmax": ("f64[40,1024]", softmax, 2),
    "resident": ("f32[40,64]", softmax, 0),
    "short": ("bf16[40,200]", softmax, 0),
    "one pass": ("f32[40,1024]", lambda x: [ptir.ExpOp(x)], 0),
    "past the caches where aligned": ("f32[8192,1024]", softmax, 2),
}
"""Programs, and how many lines of results an iteration of two vectors of AVX-512 asks for before they are written."""


@pytest.mark.parametrize("name", CLAIMED)
def test_lines_of_results_are_fetched_before_they_are_written(name: str) -> None:
    types, forms, count = CLAIMED[name]
    native = lower(prepared(function_of(program(types, forms)), TARGETS["avx512"]), TARGETS["avx512"])
    assert len(re.findall(r"prefetch.*, i32 1, i32 3, i32 1\)", native.text)) == count


@pytest.mark.parametrize(("shape", "count"), [((4096, 1024), 2), ((64, 64, 1024), 4), ((64, 8), 0)])
def test_lines_of_strided_results_are_fetched_a_few_places_ahead(shape: tuple[int, ...], count: int) -> None:
    """All lines of one place of a strip, where places are lines apart."""
    axis = len(shape) - 2
    types = f"f32[{','.join(map(str, shape))}]"
    native = lower(prepared(function_of(program(types, lambda x: [softmax(x, axis)])), TARGETS["avx512"]), TARGETS["avx512"])
    asked = re.findall(r"prefetch.*, i32 1, i32 3, i32 1\)", native.text)
    assert len(asked) == count
