"""Row kernels whose rows lie across the last axis: values beside NumPy's, special values, other machines, shared work, code."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES
from mind_lowering.native import TARGETS, calling, detect, nontemporal
from mind_lowering.native import host as host_module
from mind_lowering.native.ir import LlvmModule
from mind_lowering.native.program import lower, prepared
from mind_lowering.native.rows import step as row_steps
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_passes.functional import vjp
from mind_runtime.native import jit
from native_checks import assert_close, computed_here, several
from native_text import backwards, inner_loops, spills
from ptir_evaluator import function_of
from ptir_forms import like, program, reduce, shape, softmax, spread
from row_programs import ROW_DTYPES, RowMaker

EXTENTS = [
    ((2, 1), 0),
    ((7, 5), 0),
    ((16, 3), 0),
    ((33, 70), 0),
    ((129, 16), 0),
    ((300, 100), 0),
    ((2, 40, 130), 1),
    ((3, 5, 7, 9), 1),
]


def normal(*extents: int, dtype: str = "f32", seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(extents).astype(array_dtype(dtype))


def both(module: Any, *arrays: Any, kernels: int | None = 1, function: str | None = None, **bounds: Any) -> Any:
    """Native results, held against NumPy's; `kernels` is how many there must be, the first of rows."""
    native, reference = (mind_runtime.compile(module, function, target=t) for t in ("native", "numpy"))
    if kernels is not None:
        assert len(native.explain()) == 1 + kernels, native.explain()
        assert ".rows:" in native.explain()[1]
    found = several(native(*arrays))
    for a, b in zip(found, several(reference(*arrays)), strict=True):
        assert_close(a, b, **bounds)
    return found


def text(extents: tuple[int, ...], dtype: str = "f32") -> str:
    return f"{dtype}[{','.join(map(str, extents))}]"


def norm(x: Any, axis: int) -> Any:
    """What a layer norm does, along another axis."""
    n = shape(x)[axis]

    def mean(v: Any) -> Any:
        total = reduce(v, "sum", axis)
        return ptir.MulOp(total, like(total, 1 / n))

    centred = ptir.SubOp(x, spread(mean(x), x))
    variance = mean(ptir.MulOp(centred, centred))
    return ptir.MulOp(centred, spread(ptir.RsqrtOp(ptir.AddOp(variance, like(variance, 1e-5))), x))


@pytest.mark.parametrize(("extents", "axis"), EXTENTS, ids=str)
@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "f16"])
def test_softmax_is_one_kernel(extents: tuple[int, ...], axis: int, dtype: str) -> None:
    kernels = 1 if computed_here(dtype) and extents[-1] > 1 else None
    x = 4 * normal(*extents, dtype=dtype)
    both(program(text(extents, dtype), lambda v: [softmax(v, axis=axis)]), x, kernels=kernels, ulps=8 + extents[axis])


@pytest.mark.parametrize(("extents", "axis"), EXTENTS[1:], ids=str)
def test_norms_and_their_gradients(extents: tuple[int, ...], axis: int) -> None:
    """In f64 and in f32: both beside the program itself in f64, computed by NumPy."""
    found = []
    for dtype in ("f64", "f32"):
        module = vjp(program(text(extents, dtype), lambda v: [norm(v, axis)]))
        x, dy = normal(*extents), normal(*extents, seed=1)
        arrays = [a.astype(array_dtype(dtype)) for a in (x, dy)]
        found.append(both(module, *arrays, kernels=None, function="f_grad", ulps=64 + 4 * extents[axis], scale=4.0)[-1])
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=2e-5)


def test_the_gradient_of_a_norm_is_in_row_kernels() -> None:
    module = vjp(program("f32[8,40,130]", lambda v: [norm(v, 1)]))
    lines = mind_runtime.compile(module, "f_grad", target="native").explain()[1:]
    assert all(".rows:" in line for line in lines)
    assert len(lines) <= 2


@pytest.mark.parametrize("extents", [(4, 9, 9, 8), (16, 20, 20, 64), (300, 700, 3), (100_000, 1)], ids=str)
def test_sums_that_share_a_pass(extents: tuple[int, ...]) -> None:
    """The statistics of a batch norm, and their gradients, on one thread and on more."""
    axes = tuple(range(len(extents) - 1))

    def body(x: Any, y: Any) -> list[Any]:
        kinds = [(ptir.MulOp(x, y), "sum"), (ptir.SubOp(x, y), "sum"), (x, "max"), (y, "min")]
        return [ptir.ReduceOp(v, kind=kind, axes=axes, keepdims=False) for v, kind in kinds]

    module, arrays = program(f"{text(extents)} {text(extents)}", body), (normal(*extents), normal(*extents, seed=1))
    count = int(np.prod(extents[:-1]))
    found = both(module, *arrays, kernels=None, ulps=count, scale=1.0)
    for threads in (1, 3, 8):
        run = mind_runtime.compile(module, target="native", threads=threads)
        assert [x.tobytes() for x in several(run(*arrays))] == [x.tobytes() for x in found]


def test_what_is_rematerialized_has_the_same_bits() -> None:
    """Of a norm over all axes but the last, larger than caches: stored, or computed again by the kernel that scales it."""
    extents = (16, 64, 64, max(64, detect().l2_bytes >> 16))

    def body(x: Any, keeps: bool) -> list[Any]:
        def mean(v: Any) -> Any:
            total = ptir.ReduceOp(v, kind="sum", axes=(0, 1, 2), keepdims=True)
            return ptir.MulOp(total, like(total, extents[-1] / np.prod(extents)))

        centred = ptir.SubOp(x, spread(mean(x), x))
        found = ptir.MulOp(centred, spread(ptir.RsqrtOp(mean(ptir.MulOp(centred, centred))), x))
        return [found, centred] if keeps else [found]

    programs = [program(text(extents), partial(body, keeps=keeps)) for keeps in (False, True)]
    first, second = (both(p, normal(*extents), kernels=None, ulps=64, scale=1.0)[0] for p in programs)
    assert first.tobytes() == second.tobytes()


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, 1e-40]


@pytest.mark.parametrize("length", [9, 40, 300])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_values(length: int) -> None:
    """One special value per row at every place, and rows of nothing else."""
    x = normal(length, len(SPECIAL) * (length + 1))
    for i, value in enumerate(SPECIAL):
        for place in range(length):
            x[place, i * length + place] = value
        x[:, len(SPECIAL) * length + i] = value
    both(program(text(x.shape), lambda v: [softmax(v, axis=0)]), x, ulps=8 + length)
    ends = program(text(x.shape), lambda v: [ptir.SubOp(v, spread(reduce(v, k, 0), v)) for k in ("max", "min")])
    both(ends, x, ulps=1)


def check_random(seed: int, dtype: Any) -> Any:
    bounds = {"ulps": 16 if dtype.bits < 32 else 1000, "scale": 1.0} if dtype.kind == "float" else {}
    return both(RowMaker(seed, dtype, across=True).module(), *arrays_of(seed, dtype), kernels=None, **bounds)


def arrays_of(seed: int, dtype: Any) -> list[Any]:
    """Small integers, the last ones indices."""
    rng = np.random.default_rng(seed)
    maker = RowMaker(seed, dtype, across=True)
    specs = [mind_runtime.TensorSpec.of("", a.type) for a in function_of(maker.module()).body.block.args]
    arrays = [np.asarray(rng.integers(0, 5, s.shape)).astype(s.numpy_dtype) for s in specs[:-1]]
    return [*arrays, rng.integers(0, maker.shape[maker.run], specs[-1].shape).astype(np.int32)]


@pytest.mark.parametrize("seed", range(14))
def test_random_programs(seed: int) -> None:
    check_random(seed, ROW_DTYPES[seed % len(ROW_DTYPES)])


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(100, 130))
@pytest.mark.parametrize("dtype", ROW_DTYPES, ids=str)
def test_more_random_programs(seed: int, dtype: Any) -> None:
    check_random(seed, dtype)


@pytest.mark.parametrize("isa", RUNNABLE[1:])
@pytest.mark.parametrize("seed", range(20, 26))
def test_random_programs_on_other_machines(seed: int, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.ISA_VARIABLE, isa)
    check_random(seed, ROW_DTYPES[seed % 2])


@pytest.mark.parametrize("seed", range(30, 40))
def test_random_programs_that_check_their_places(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.CHECKS_VARIABLE, "1")
    check_random(seed, ROW_DTYPES[seed % len(ROW_DTYPES)])


@pytest.mark.parametrize("seed", range(40, 46))
def test_random_programs_that_are_stored_past_the_caches(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nontemporal, "STREAMED", 0)
    mind_runtime.clear_cache()
    check_random(seed, ROW_DTYPES[seed % 4])


@pytest.mark.parametrize("name", ["SCRATCH", "VECTORS", "STRIPS"])
@pytest.mark.parametrize("seed", range(50, 54))
def test_random_programs_that_keep_nothing_or_have_one_vector_or_several_groups(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_steps, name, int(name != "SCRATCH"))
    mind_runtime.clear_cache()
    check_random(seed, ROW_DTYPES[seed % 4])
    mind_runtime.clear_cache()


def picked_loss(x: Any, labels: Any, weights: Any) -> list[Any]:
    """Losses and shares of rows along axis 0, with numbers that each row is given and results that are one number per row."""
    shifted = ptir.SubOp(x, spread(reduce(x, "max", 0), x))
    total = reduce(ptir.ExpOp(shifted), "sum", 0)
    loss = ptir.SubOp(ptir.LogOp(total), ptir.GatherOp(x, labels, axis=0))
    return [ptir.MulOp(loss, weights), ptir.MulOp(ptir.ExpOp(shifted), spread(ptir.DivOp(weights, total), x))]


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16"])
@pytest.mark.parametrize("extents", [(40, 310), (120, 310), (5, 200)], ids=str)
def test_groups_of_rows_have_the_same_bits_as_one_at_a_time(
    extents: tuple[int, ...], dtype: str, isa: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(host_module.ISA_VARIABLE, isa)
    monkeypatch.setattr(row_steps, "STRIPS", 1)
    length, count = extents
    types = f"{text(extents, dtype)} si32[1,{count}] {dtype}[1,{count}]"
    labels = (np.arange(count, dtype=np.int32) % length).reshape(1, count)
    arrays = [normal(*extents, dtype=dtype), labels, normal(1, count, dtype=dtype)]
    chosen, found = set(), []
    original = row_steps.Layout.most_groups
    monkeypatch.setattr(row_steps.Layout, "most_groups", lambda *a: chosen.add(n := original(*a)) or n)
    for wide in (0, 256, 1024):
        monkeypatch.setattr(row_steps, "WIDE", wide)
        mind_runtime.clear_cache()
        module = program(types, picked_loss)
        found.append([x.tobytes() for x in both(module, *arrays, kernels=None, ulps=64 + length, scale=4.0)])
        norms = vjp(program(text(extents, dtype), lambda v: [norm(v, 0)]))
        found[-1] += [
            x.tobytes() for x in both(norms, arrays[0], arrays[0], function="f_grad", kernels=None, ulps=4096, scale=8.0)
        ]
    mind_runtime.clear_cache()
    assert found[0] == found[1] == found[2]
    assert max(chosen) > 2 if computed_here(dtype) else not chosen


@pytest.fixture
def copying(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Keep inputs wherever several passes read them; the fixture is whether layouts do."""
    for name, value in {"NEAR": 0, "LINES": 0, "UNITS": 1}.items():
        monkeypatch.setattr(row_steps, name, value)
    found: list[bool] = []
    original = row_steps.Layout.__dict__["of"].__func__

    def of(*arguments: Any) -> Any:
        layout = original(*arguments)
        found.append(layout.copies)
        return layout

    monkeypatch.setattr(row_steps.Layout, "of", staticmethod(of))
    mind_runtime.clear_cache()
    return found


@pytest.mark.parametrize("seed", range(70, 82))
@pytest.mark.usefixtures("copying")
def test_random_programs_that_keep_their_inputs(seed: int) -> None:
    check_random(seed, ROW_DTYPES[seed % len(ROW_DTYPES)])
    mind_runtime.clear_cache()


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16"])
@pytest.mark.parametrize("extents", [(40, 150), (300, 150), (5, 64), (7, 18)], ids=str)
def test_kept_inputs_change_no_bit(
    extents: tuple[int, ...], dtype: str, isa: str, copying: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(host_module.ISA_VARIABLE, isa)
    length, count = extents
    types = f"{text(extents, dtype)} si32[1,{count}] {dtype}[1,{count}]"
    labels = (np.arange(count, dtype=np.int32) % length).reshape(1, count)
    arrays = [normal(*extents, dtype=dtype), labels, normal(1, count, dtype=dtype)]
    found: list[list[bytes]] = []
    for near in (0, 1 << 40):
        copying.clear()
        monkeypatch.setattr(row_steps, "NEAR", near)
        mind_runtime.clear_cache()
        module = program(types, picked_loss)
        found.append([x.tobytes() for x in both(module, *arrays, kernels=None, ulps=64 + length, scale=4.0)])
        norms = vjp(program(text(extents, dtype), lambda v: [norm(v, 0)]))
        results = both(norms, arrays[0], arrays[0], function="f_grad", kernels=None, ulps=4096, scale=8.0)
        found[-1] += [x.tobytes() for x in results]
        assert any(copying) is (near == 0 and computed_here(dtype))
    mind_runtime.clear_cache()
    assert found[0] == found[1]


def test_tall_rows_keep_their_inputs_and_taller_ones_are_no_row_kernel() -> None:
    host = detect()

    def kernels(*extents: int) -> str:
        return "\n".join(lower(prepared(function_of(softmax(text(extents, "f32"))), host), host).explain())

    def softmax(types: str) -> Any:
        return program(types, lambda x: [ptir.DivOp(e := shifted_exp(x), spread(reduce(e, "sum", 0), e))])

    def shifted_exp(x: Any) -> Any:
        return ptir.ExpOp(ptir.SubOp(x, spread(reduce(x, "max", 0), x))).result

    assert "rows" in kernels(2000, 1024)
    assert ".rows:" not in kernels(100_000, 1024)


def rooms_of(body: Any) -> list[int]:
    """Return how many kept values each array of a row kernel of a body holds, its inputs being kept."""
    function = prepared(function_of(program("f32[2000,1024]", body)), detect())
    (fusion,) = [op for op in function.walk() if isinstance(op, ptir.FusionOp)]
    plan = row_steps.plan_of(fusion.body.block, detect())
    assert plan.read_again
    return sorted(map(len, plan.rooms({**plan.kept, **plan.read_again})))


def test_kept_values_follow_one_another_in_an_array() -> None:
    def share(x: Any) -> Any:
        e = ptir.ExpOp(ptir.SubOp(x, spread(reduce(x, "max", 0), x))).result
        return ptir.DivOp(e, spread(reduce(e, "sum", 0), e)).result

    assert rooms_of(lambda x: [share(x)]) == [2], "exponentials, where the elements were"
    assert rooms_of(lambda x: [ptir.MulOp(share(x), x)]) == [1, 1], "elements are read after the exponentials are kept"


def test_most_random_programs_are_row_kernels() -> None:
    f32 = DTYPES["f32"]
    made = [lower(prepared(function_of(RowMaker(s, f32, across=True).module()), detect()), detect()) for s in range(20)]
    assert sum(any(".rows:" in line for line in native.explain()) for native in made) >= 9


@pytest.mark.parametrize("seed", range(60, 66))
def test_rows_are_the_same_however_they_are_shared_out(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A strip a unit, a unit a claim: one thread, three of them, eight, and one that begins with the last unit."""
    for module, name in ((calling, "SHARED"), (row_steps, "UNIT")):
        monkeypatch.setattr(module, name, 0)
    for name in ("SHORTEST", "LONGEST"):
        monkeypatch.setattr(calling, name, 1)
    mind_runtime.clear_cache()
    dtype = ROW_DTYPES[seed % 3]
    module, arrays = RowMaker(seed, dtype, across=True).module(), arrays_of(seed, dtype)
    expected = None
    for threads in (1, 3, 8):
        run = mind_runtime.compile(module, target="native", threads=threads)
        found = [x.tobytes() for x in several(run(*arrays))]
        assert expected in (None, found)
        expected = found
    true_text = LlvmModule.text
    monkeypatch.setattr(LlvmModule, "text", lambda self: backwards(true_text(self))[0])
    mind_runtime.clear_cache()
    run = mind_runtime.compile(module, target="native", threads=1)
    assert [x.tobytes() for x in several(run(*arrays))] == expected
    mind_runtime.clear_cache()


def test_results_do_not_depend_on_the_width_of_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lane adds up its own row, so one row has the same sum as the same row among others."""
    x = normal(300, 77)
    module = program("f32[300,77]", lambda v: [ptir.SubOp(v, spread(reduce(v, "sum", 0), v))])
    found = both(module, x, ulps=300, scale=20.0)[0]
    alone = program("f32[300,19]", lambda v: [ptir.SubOp(v, spread(reduce(v, "sum", 0), v))])
    part = both(alone, x[:, 40:59].copy(), ulps=300, scale=20.0)[0]
    assert part.tobytes() == found[:, 40:59].copy().tobytes()


def test_long_rows_are_added_up_in_blocks() -> None:
    """The error of a sum of many equal terms of 24 bits is far below that of one running sum."""
    x = np.full((4095, 512), 1 + 2.0**-22, np.float32)
    module = program("f32[4095,512]", lambda v: [ptir.DivOp(v, spread(reduce(v, "sum", 0), v))])
    (found,) = both(module, x, ulps=4)
    assert np.abs(found.astype(np.float64) * 4095 - 1).max() < 1e-6


def test_a_result_may_be_put_over_its_operand() -> None:
    x = normal(40, 200)
    module = program("f32[40,200]", lambda v: [softmax(v, axis=0)])
    expected = mind_runtime.compile(module, target="native")(x.copy())
    given = x.copy()
    found = mind_runtime.compile(module, target="native", donate=["arg0"])(given)
    assert found.tobytes() == expected.tobytes()


def test_a_picked_element_is_checked() -> None:
    def body(x: Any, labels: Any) -> Any:
        shifted = ptir.SubOp(x, spread(reduce(x, "max", 0), x))
        return [ptir.AddOp(ptir.LogOp(reduce(ptir.ExpOp(shifted), "sum", 0)), ptir.GatherOp(x, labels, axis=0))]

    module, x = program("f32[40,21] si32[1,21]", body), normal(40, 21)
    labels = np.arange(21, dtype=np.int32).reshape(1, 21) + 19
    both(module, x, labels, ulps=8, scale=4.0)
    for wrong in (40, -1):
        labels[0, 18] = wrong
        failures = []
        for target in ("native", "numpy"):
            with pytest.raises(MindError) as e:
                mind_runtime.compile(module, target=target)(x, labels)
            failures.append((e.value.code, e.value.message.partition(":")[2]))
        assert failures[0] == failures[1]
        assert failures[0][0] == "E6001"


@pytest.mark.parametrize("isa", ["avx512", "avx2", "neon"])
@pytest.mark.parametrize("types", ["f32[64,64,1024]", "f32[8,3000,64]"])
def test_loops_keep_vectors_in_registers(types: str, isa: str) -> None:
    host = TARGETS[isa]
    native = lower(prepared(function_of(program(types, lambda v: [softmax(v, axis=1)])), host), host)
    width = host.lanes(4)
    assert f"load <{width} x float>" in native.text
    assert "masked.gather" not in native.text
    if isa in RUNNABLE and (isa, types) != ("avx2", "f32[8,3000,64]"):  # 16 registers do not hold a repeated exponential
        loops = inner_loops(jit.assembly(native.text, host), "k")
        assert loops
        assert not any(map(spills, loops))
