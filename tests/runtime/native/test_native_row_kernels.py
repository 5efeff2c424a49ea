"""Row kernels against the NumPy target: known functions, random programs, special values, how units are shared out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES, PtirDType
from mind_lowering.native import TARGETS, calling, detect, nontemporal
from mind_lowering.native import host as host_module
from mind_lowering.native.ir import LlvmModule
from mind_lowering.native.program import lower, prepared
from mind_lowering.native.rows import step as row_steps
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_runtime.native import jit
from native_checks import SUM_ULPS, assert_close, computed_here, several
from native_text import backwards, inner_loops, spills
from ptir_evaluator import function_of
from ptir_forms import like, program, reduce, shape, softmax, spread
from row_programs import ROW_DTYPES, RowMaker


def both(module: Any, *arrays: Any, kernels: int | None = None, function: str | None = None, **bounds: Any) -> Any:
    """Native results, held against NumPy's; `kernels` is how many kernels there must be."""
    native, reference = (mind_runtime.compile(module, function, target=t) for t in ("native", "numpy"))
    if kernels is not None:
        assert len(native.explain()) == 1 + kernels, native.explain()
        assert ".rows:" in native.explain()[1]
    found = several(native(*arrays))
    for a, b in zip(found, several(reference(*arrays)), strict=True):
        assert_close(a, b, **bounds)
    return found


def rows(*extents: int, dtype: str = "f32", seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(extents).astype(array_dtype(dtype))


def log_softmax(x: Any) -> Any:
    shifted = ptir.SubOp(x, spread(reduce(x, "max"), x))
    return ptir.SubOp(shifted, spread(ptir.LogOp(reduce(ptir.ExpOp(shifted), "sum")), x))


def rms_norm(x: Any, gamma: Any) -> Any:
    n = shape(x)[-1]
    mean = ptir.MulOp(reduce(ptir.MulOp(x, x), "sum"), like(reduce(x, "sum"), 1 / n))
    inverse = ptir.RsqrtOp(ptir.AddOp(mean, like(mean, 1e-5)))
    return ptir.MulOp(ptir.MulOp(x, spread(inverse, x)), spread(gamma, x))


EXTENTS = [(1, 2), (5, 7), (3, 16), (70, 33), (4, 128), (3, 129), (9, 513), (2, 3, 1000), (40, 1024)]


@pytest.mark.parametrize("extents", EXTENTS, ids=str)
@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "f16"])
def test_softmax_is_one_kernel(extents: tuple[int, ...], dtype: str) -> None:
    text, kernels = f"{dtype}[{','.join(map(str, extents))}]", 1 if computed_here(dtype) else None
    both(program(text, softmax), 4 * rows(*extents, dtype=dtype), kernels=kernels, ulps=8 + SUM_ULPS * extents[-1])
    both(program(text, log_softmax), 4 * rows(*extents, dtype=dtype), kernels=kernels, ulps=8 + SUM_ULPS * extents[-1], scale=1.0)


@pytest.mark.parametrize("extents", EXTENTS, ids=str)
def test_norms_are_one_kernel(extents: tuple[int, ...]) -> None:
    text, n = f"f32[{','.join(map(str, extents))}]", extents[-1]
    x, gamma, beta = rows(*extents), rows(n, seed=1), rows(n, seed=2)
    both(program(f"{text} f32[{n}]", rms_norm), x, gamma, kernels=1, ulps=8, scale=1.0)
    norm = program(f"{text} f32[{n}] f32[{n}]", lambda *v: [ptir.LayerNormOp(*v, epsilon=1e-5, feature_axis=-1)])
    both(norm, x, gamma, beta, kernels=1, ulps=16, scale=1.0)


def above_one(x: Any, y: Any, z: Any) -> Any:
    """Exponentials of differences to other numbers than the greatest of the same row."""
    tops = [reduce(y, "max"), reduce(x, "min"), reduce(ptir.MulOp(x, z), "max"), ptir.MulOp(reduce(x, "max"), reduce(z, "max"))]
    return [ptir.ExpOp(ptir.SubOp(x, spread(top, x))) for top in tops] + [ptir.ExpOp(ptir.SubOp(spread(reduce(x, "max"), x), x))]


@pytest.mark.parametrize(("dtype", "most"), [("f32", 80.0), ("f64", 700.0)])
def test_only_what_the_greatest_of_its_row_is_taken_off_is_known_not_to_be_above_zero(dtype: str, most: float) -> None:
    """Differences reach numbers whose exponentials need all instructions."""
    x = np.tile(np.linspace(0, most, 50), (3, 1))
    arrays = [v.astype(array_dtype(dtype)) for v in (x, np.zeros_like(x), np.full_like(x, 0.01))]
    found = both(program(f"{dtype}[3,50] {dtype}[3,50] {dtype}[3,50]", above_one), *arrays, ulps=8)
    assert all(v.max() > np.exp(0.9 * most) for v in found)


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, 1e-40]


@pytest.mark.parametrize("length", [9, 40, 300])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_values_in_rows(length: int) -> None:
    """One special value per row at every lane, rows of nothing else, rows that a mask left nothing of."""
    x = rows(len(SPECIAL) * length + len(SPECIAL), length)
    for i, value in enumerate(SPECIAL):
        for place in range(length):
            x[i * length + place, place] = value
        x[len(SPECIAL) * length + i] = value
    text = f"f32[{x.shape[0]},{length}]"
    both(program(text, softmax), x, kernels=1, ulps=8)
    both(program(text, log_softmax), x, kernels=1, ulps=8, scale=8.0)
    both(program(text, lambda v: [ptir.SubOp(v, spread(reduce(v, k), v)) for k in ("max", "min")]), x, kernels=1, ulps=1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dtype", ROW_DTYPES, ids=str)
def test_random_rows(seed: int, dtype: PtirDType) -> None:
    check_random(seed, dtype)


@pytest.mark.parametrize("seed", range(100, 116))
def test_rows_are_the_same_however_they_are_shared_out(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row a unit, a unit a claim: one thread, three of them, eight, and one that begins with the last unit."""
    for module, name in ((calling, "SHARED"), (row_steps, "UNIT"), (row_steps, "SUMMED_UNIT")):
        monkeypatch.setattr(module, name, 0)
    for name in ("SHORTEST", "LONGEST"):
        monkeypatch.setattr(calling, name, 1)
    mind_runtime.clear_cache()
    dtype = ROW_DTYPES[seed % 3]
    program, arrays = RowMaker(seed, dtype).module(), arrays_of(seed, dtype)
    expected = None
    for threads in (1, 3, 8):
        run = mind_runtime.compile(program, target="native", threads=threads)
        found = [x.tobytes() for x in several(run(*arrays))]
        assert expected in (None, found)
        expected = found
    true_text = LlvmModule.text
    monkeypatch.setattr(LlvmModule, "text", lambda self: backwards(true_text(self))[0])
    mind_runtime.clear_cache()
    run = mind_runtime.compile(program, target="native", threads=1)
    assert ".unit" in run.source
    assert [x.tobytes() for x in several(run(*arrays))] == expected
    mind_runtime.clear_cache()


@pytest.mark.parametrize("isa", RUNNABLE[1:])
@pytest.mark.parametrize("seed", range(40, 48))
def test_random_rows_on_other_machines(seed: int, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.ISA_VARIABLE, isa)
    check_random(seed, ROW_DTYPES[seed % 2])


@pytest.mark.parametrize("seed", range(60, 74))
def test_random_rows_that_check_their_places(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.CHECKS_VARIABLE, "1")
    check_random(seed, ROW_DTYPES[seed % len(ROW_DTYPES)])


@pytest.mark.parametrize("seed", range(80, 90))
def test_random_rows_that_are_stored_past_the_caches(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nontemporal, "STREAMED", 0)
    mind_runtime.clear_cache()
    check_random(seed, ROW_DTYPES[seed % 4])


def check_random(seed: int, dtype: PtirDType) -> Any:
    # a thousand units of f32, where a sum of 1400 products is rounded in another order, and sixteen of coarser ones
    bounds = {"ulps": 16 if dtype.bits < 32 else 1000, "scale": 1.0} if dtype.kind == "float" else {}
    return both(RowMaker(seed, dtype).module(), *arrays_of(seed, dtype), **bounds)


def arrays_of(seed: int, dtype: PtirDType) -> list[Any]:
    """Small integers, the last ones indices of a row."""
    rng = np.random.default_rng(seed)
    arguments = function_of(RowMaker(seed, dtype).module()).body.block.args
    specs = [mind_runtime.TensorSpec.of("", a.type) for a in arguments]
    arrays = [np.asarray(rng.integers(0, 5, s.shape)).astype(s.numpy_dtype) for s in specs[:-1]]
    return [*arrays, rng.integers(0, specs[0].shape[-1], specs[-1].shape).astype(np.int32)]


def test_most_random_rows_are_row_kernels() -> None:
    """Or the tests above would test something else: a few programs happen to go on after no sum."""
    made = [lower(prepared(function_of(RowMaker(seed, DTYPES["f32"]).module()), detect()), detect()) for seed in range(20)]
    assert sum(any(".rows:" in line for line in native.explain()) for native in made) >= 12


@pytest.mark.parametrize("dtype", ["si32", "si64", "ui8", "si16"])
@pytest.mark.parametrize("backwards_", [False, True])
def test_places_are_compared_with_any_integer(dtype: str, backwards_: bool) -> None:
    """Before the row, at each place, behind it, and as far away as integers go."""
    info = np.iinfo(array_dtype(dtype))
    values = sorted({v for v in (*range(-3, 44), info.min, info.max, 2**31, 2**31 - 1, -(2**31)) if info.min <= v <= info.max})
    labels = np.array(values, array_dtype(dtype)).reshape(-1, 1)
    n = len(values)

    def body(x: Any, index: Any) -> list[Any]:
        y = ptir.SubOp(x, spread(reduce(x, "max"), x))
        place = ptir.IotaOp(shape=(n, 40), dtype=dtype, axis=1)
        sides = (place, spread(index, x))
        tests = [ptir.CompareOp(*(sides[::-1] if backwards_ else sides), kind=kind) for kind in ptir.CompareOp.KINDS]
        return [ptir.SelectOp(test, y, x) for test in tests]

    both(program(f"f32[{n},40] {dtype}[{n},1]", body), rows(n, 40), labels, kernels=1, ulps=0)


def test_numbers_of_rows_that_are_read_along_columns() -> None:
    """A square without its last axis, broadcast, lies along the columns: one kernel cannot have it."""

    def body(x: Any) -> list[Any]:
        top = ptir.ReduceOp(x, kind="max", axes=(1,), keepdims=False)
        return [ptir.SubOp(x, spread(top, x)), ptir.MulOp(x, spread(ptir.ReshapeOp(top, new_shape=(40, 1)), x))]

    both(program("f32[40,40]", body), rows(40, 40), ulps=0)


def test_a_picked_element_is_checked() -> None:
    def body(x: Any, labels: Any) -> Any:
        shifted = ptir.SubOp(x, spread(reduce(x, "max"), x))
        return [ptir.AddOp(ptir.LogOp(reduce(ptir.ExpOp(shifted), "sum")), ptir.GatherOp(x, labels, axis=1))]

    module, x = program("f32[6,40] si32[6,1]", body), rows(6, 40)
    labels = np.array([[0], [39], [7], [8], [15], [16]], np.int32)
    both(module, x, labels, kernels=1, ulps=8, scale=4.0)
    for wrong in (40, -1):
        labels[3] = wrong
        failures = []
        for target in ("native", "numpy"):
            with pytest.raises(MindError) as e:
                mind_runtime.compile(module, target=target)(x, labels)
            failures.append((e.value.code, e.value.message.partition(":")[2]))
        assert failures[0] == failures[1]
        assert failures[0][0] == "E6001"


# Code


def assembly_of(module: Any, isa: str) -> str:
    native = lower(prepared(function_of(module), TARGETS[isa]), TARGETS[isa])
    return jit.assembly(native.text, TARGETS[isa])


def norm_gradient(x: Any, gamma: Any, beta: Any, dy: Any) -> list[Any]:
    """A layer norm and its derivatives, written out."""
    n = shape(x)[-1]

    def mean(v: Any) -> Any:
        total = reduce(v, "sum")
        return ptir.MulOp(total, like(total, 1 / n))

    centred = ptir.SubOp(x, spread(mean(x), x))
    variance = mean(ptir.MulOp(centred, centred))
    inverse = ptir.RsqrtOp(ptir.AddOp(variance, like(variance, 1e-5)))
    unit = ptir.MulOp(centred, spread(inverse, x))
    g = ptir.MulOp(dy, spread(gamma, x))
    inner = ptir.SubOp(ptir.SubOp(g, spread(mean(g), x)), ptir.MulOp(unit, spread(mean(ptir.MulOp(g, unit)), x)))
    y = ptir.AddOp(ptir.MulOp(unit, spread(gamma, x)), spread(beta, x))
    sums = [ptir.ReduceOp(v, kind="sum", axes=(0,), keepdims=False) for v in (ptir.MulOp(dy, unit), dy)]
    return [y, ptir.MulOp(inner, spread(inverse, x)), *sums]


SHAPES = {
    "softmax": ("f32[512,1024]", softmax),
    "short rows": ("f32[4096,64]", softmax),
    "log-softmax": ("f32[64,5000]", log_softmax),
    "layer norm and gradient": ("f32[512,768] f32[768] f32[768] f32[512,768]", norm_gradient),
}


def test_a_layer_norm_and_its_gradient_are_one_kernel_and_two_folds() -> None:
    types, body = SHAPES["layer norm and gradient"]
    found = both(
        program(types, body),
        rows(512, 768),
        *(rows(768, seed=i) for i in (1, 2)),
        rows(512, 768, seed=3),
        kernels=3,
        ulps=500,
        scale=1.0,
    )
    assert [x.shape for x in found] == [(512, 768), (512, 768), (768,), (768,)]


@pytest.mark.parametrize("isa", ["avx512", "avx2"])
@pytest.mark.parametrize("name", SHAPES)
def test_loops_keep_vectors_in_registers(name: str, isa: str) -> None:
    loops = inner_loops(assembly_of(program(*SHAPES[name]), isa), "k")
    assert len(loops) >= 1
    assert not any(map(spills, loops))
