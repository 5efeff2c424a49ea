"""Programs of `native{flush-subnormals}`: subnormal numbers count as 0 there, on every thread, and nowhere else."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir.scalars import BINARY, FLOATS, UNARY
from mind_lowering.native.program import print_module, stated
from native_checks import assert_close, computed_here
from ptir_forms import program, softmax

FLUSHING = "native{flush-subnormals}"
FLOAT_OPS = [name for name, row in (UNARY | BINARY).items() if set(FLOATS) <= {*row.dtypes}]
TINY = {"f32": np.finfo(np.float32).tiny, "f64": np.finfo(np.float64).tiny}
each_dtype = pytest.mark.parametrize("dtype", list(TINY))


def product(x: Any, w: Any) -> Any:
    return ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))


def flushed(x: Any, dtype: str) -> Any:
    """Zeros of the same signs for subnormal numbers."""
    return np.where(np.abs(x) < TINY[dtype], np.copysign(x.dtype.type(0), x), x)


def numbers(dtype: str) -> Any:
    """Subnormal numbers, the least normal ones and their neighbours, and some of all magnitudes and signs."""
    kind = np.dtype(dtype.replace("f", "float"))
    rng, least = np.random.default_rng(7), TINY[dtype]
    exponents = np.finfo(kind).minexp
    wide = rng.uniform(-1, 1, 200).astype(kind) * kind.type(2.0) ** rng.integers(exponents + 2, -exponents - 2, 200)
    below = least * rng.uniform(0, 1, 40).astype(kind)
    around = least * np.array([0.5, 1 - np.finfo(kind).eps, 1, 2, 4, 100], kind)
    x = np.concatenate([wide, below, around, -below, -around, np.array([0, -0.0, 1, -1, 0.5, 3, np.inf, -np.inf, np.nan], kind)])
    return rng.permutation(x.astype(kind))


@each_dtype
@pytest.mark.parametrize("name", FLOAT_OPS)
def test_each_op_has_its_result_or_that_of_zeros(name: str, dtype: str) -> None:
    """What an op does is f(x), or f of zeros in the place of subnormal numbers, but for the least normal number."""
    x = numbers(dtype)
    xs = [x] if name in UNARY else [x, np.random.default_rng(3).permutation(x)]
    module = program(" ".join(f"{dtype}[{x.size}]" for _ in xs), lambda *v: ptir.OPS_BY_OPCODE[name](*v))
    found = mind_runtime.compile(module, target=FLUSHING)(*xs)
    exact = mind_runtime.compile(module, target="numpy")
    with np.errstate(all="ignore"):
        candidates = [exact(*xs), exact(*(flushed(x, dtype) for x in xs))]
        if len(xs) == 2:
            candidates += [exact(flushed(xs[0], dtype), xs[1]), exact(xs[0], flushed(xs[1], dtype))]
        near = [np.abs(found - y) <= 8 * np.finfo(x.dtype).eps * np.abs(y) + TINY[dtype] for y in candidates]
        same = [(found == y) | np.isnan(found) & np.isnan(y) for y in candidates]
    wrong = ~np.any([*near, *same], axis=0)
    assert not wrong.any(), [(*(x[wrong][:4] for x in xs), found[wrong][:4], candidates[1][wrong][:4])]


def rows_of(dtype: str, least: float) -> tuple[Any, Any]:
    """Operands of a product, the left one of magnitude `least`."""
    rng = np.random.default_rng(5)
    kind = np.dtype(dtype.replace("f", "float"))
    return (rng.uniform(0.1, 0.9, (96, 200)) * least).astype(kind), rng.normal(size=(200, 130)).astype(kind)


@each_dtype
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_products_of_subnormal_numbers_are_zero(dtype: str, threads: int) -> None:
    a, b = rows_of(dtype, TINY[dtype])
    module = program(f"{dtype}[96,200] {dtype}[200,130]", product)
    found = mind_runtime.compile(module, target=FLUSHING, threads=threads)(a, b)
    assert not found.any()
    exact = mind_runtime.compile(module, target="native", threads=threads)(a, b)
    assert exact.any(), "other programs count them, whichever ran before on the same threads"
    assert_close(exact, a @ b, scale=float(TINY[dtype]), ulps=200)
    assert a[0, 0] * a.dtype.type(1) == a[0, 0] != 0, "so does the caller"


@pytest.mark.parametrize("threads", [1, 3])
def test_all_else_is_as_without_the_option(threads: int) -> None:
    x = np.random.default_rng(2).normal(size=(64, 300)).astype(np.float32)
    module = program("f32[64,300]", softmax)
    found, plain = (mind_runtime.compile(module, target=t, threads=threads)(x) for t in (FLUSHING, "native"))
    np.testing.assert_array_equal(found, plain)


def test_a_call_that_fails_leaves_the_mode_of_its_thread() -> None:
    body = lambda x, i: ptir.GatherOp(x, ptir.AddOp(i, i), axis=0)  # noqa: E731
    run = mind_runtime.compile(program("f32[4] si32[3]", body), target=FLUSHING)
    with pytest.raises(MindError):
        run(np.ones(4, np.float32), np.array([0, 1, 9], np.int32))
    half = np.float32(TINY["f32"]) * np.float32(0.5)
    assert half > 0


def test_calls_of_several_threads_have_modes_of_their_own() -> None:
    a, b = rows_of("f32", TINY["f32"])
    module = program("f32[96,200] f32[200,130]", product)
    runs = {t: mind_runtime.compile(module, target=t, threads=2) for t in (FLUSHING, "native")}
    found: dict[str, list[bool]] = {t: [] for t in runs}

    def calls(target: str) -> None:
        found[target] += [bool(runs[target](a, b).any()) for _ in range(20)]

    workers = [threading.Thread(target=calls, args=[t]) for t in runs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == {FLUSHING: [False] * 20, "native": [True] * 20}


def test_programs_for_sizes_and_bindings_have_the_option() -> None:
    a, b = rows_of("f32", TINY["f32"])
    module = program("f32[m,200] f32[200,130]", product)
    run = mind_runtime.compile(module, target=FLUSHING, specialize="eager")
    bound = mind_runtime.bind(module, {run.inputs[1].name: b}, target=FLUSHING, specialize="eager")
    assert not run(a, b).any()
    assert not bound(a).any()
    apart, _ = run.specialised_apart(((96, 200), (200, 130)))
    assert not apart(a, b).any(), "what a process of its own compiled"
    assert "flushing" in mind_runtime.compile(program("f32[4]", lambda x: ptir.ExpOp(x)), target=FLUSHING).source


@pytest.mark.skipif(not computed_here("f16"), reason="no arithmetic of f16 here")
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_narrow_numbers_that_f32_has_as_normal_ones_stay(dtype: str) -> None:
    """Of f16 all subnormal numbers are normal in f32, in which it is computed."""
    module = program(f"{dtype}[4]", lambda v: ptir.AddOp(v, v))
    exact = mind_runtime.compile(module)
    x = np.array([2.0**-24, 2.0**-15, -(2.0**-20), 1], np.float32).astype(exact.inputs[0].numpy_dtype)
    assert_close(mind_runtime.compile(module, target=FLUSHING)(x), exact(x), ulps=0)


@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline", "neon", "sve256"])
def test_the_text_says_so(isa: str) -> None:
    module = program("f32[4]", lambda x: ptir.ExpOp(x))
    plain, text = (print_module(module, stated(isa, flush_subnormals=on)) for on in (False, True))
    attribute = '"denormal-fp-math"="preserve-sign,preserve-sign"'
    assert attribute in text
    assert attribute not in plain
    setter = "aarch64.set.fpcr" if isa in ("neon", "sve256") else "x86.sse.ldmxcsr"
    assert text.count(f"call void @llvm.{setter}(") == 2, "in, and back"
    assert setter not in plain


@pytest.mark.parametrize("words", ["flush", "flush-subnormals=maybe", "threads=2", "flush-subnormals flush-subnormals=off"])
def test_other_options_are_rejected(words: str) -> None:
    with pytest.raises(MindError) as e:
        mind_runtime.compile(program("f32[4]", lambda x: ptir.ExpOp(x)), target=f"native{{{words}}}")
    assert e.value.code == "E7001"
    assert ("threads=" in str(e.value)) == words.startswith("threads")
