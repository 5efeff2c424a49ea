"""What surrounds native kernels: arguments of every layout, errors, donation, the cache on disk, threads, other machines."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES
from mind_lowering import code_cache as cache
from mind_lowering.native import TARGETS, Entry, detect, target_of
from mind_lowering.native import host as host_module
from mind_lowering.native import planner as planner_module
from mind_lowering.native.program import lower, prepared
from mind_runtime.native import jit
from native_checks import assert_close, several
from ptir_evaluator import function_of
from ptir_forms import like, program, reduce, softmax, spread
from ptir_random_programs import Maker


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of one test is found by another."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    mind_runtime.clear_cache()
    return tmp_path / "native"


def programs(folder: Path) -> list[Path]:
    """The files of a cache that hold programs."""
    return [file for file in folder.iterdir() if not file.suffix]


def chain(n: int = 37) -> Any:
    return program(f"f32[{n}] f32[{n}]", lambda a, b: [ptir.MaximumOp(ptir.SubOp(ptir.MulOp(a, b), a), like(a, 0.5))])


def compiled(module: Any, **options: Any) -> Any:
    return mind_runtime.compile(module, target="native", **options)


def failure(run: Any, *arguments: Any) -> MindError:
    with pytest.raises(MindError) as e:
        run(*arguments)
    return e.value


ROWS = np.random.default_rng(0).standard_normal((2, 37)).astype(np.float32)


# Arguments and results


@pytest.mark.parametrize("layout", ["strided", "reversed", "unaligned", "read-only", "one array twice"])
def test_layouts_of_arguments(layout: str) -> None:
    a, b = ROWS
    given = {
        "strided": np.repeat(a, 3)[::3],
        "reversed": a[::-1].copy()[::-1],
        "unaligned": np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(np.float32),
        "read-only": np.frombuffer(a.tobytes(), np.float32),
        "one array twice": b,
    }[layout]
    module = chain()
    assert_close(compiled(module)(given, b), mind_runtime.compile(module)(given, b), ulps=0)


def test_wrong_arguments_are_refused_as_by_numpy() -> None:
    run, reference = compiled(chain()), mind_runtime.compile(chain())
    a, b = ROWS
    for arguments in [(a,), (a, b, b), (a.astype(np.float64), b), (a[:-1], b), ([1.0] * 37, b), (a.reshape(1, 37), b)]:
        found, expected = failure(run, *arguments), failure(reference, *arguments)
        assert (found.code, found.message) == (expected.code, expected.message)


def test_results_are_new_each_time_and_arguments_stay() -> None:
    module = program("f32[37] f32[37]", lambda a, b: [a, ptir.AddOp(a, b), ptir.ReshapeOp(b, new_shape=(37, 1)), a, like(a, 2.0)])
    run = compiled(module)
    a, b = ROWS.copy()
    first, second = run(a, b), run(a, b)
    arrays = [a, b, *first, *second]
    assert not any(np.shares_memory(x, y) for i, x in enumerate(arrays) for y in arrays[:i])
    np.testing.assert_array_equal(ROWS, [a, b])
    np.testing.assert_array_equal(first[1], a + b)
    np.testing.assert_array_equal(first[0], a)
    np.testing.assert_array_equal(first[4], np.full(37, 2, np.float32))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (0, 3), (3, 0), (1, 1, 1)])
def test_shapes_of_few_elements(shape: tuple[int, ...]) -> None:
    text = f"f32[{','.join(map(str, shape))}]"
    module = program(
        text, lambda x: [ptir.AddOp(x, x), ptir.ReduceOp(x, kind="sum", axes=tuple(range(len(shape))), keepdims=False)]
    )
    x = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    for found, expected in zip(compiled(module)(x), mind_runtime.compile(module)(x), strict=True):
        assert_close(found, expected, ulps=0)


# Views


VIEWS: dict[str, Any] = {
    "transpose": lambda x: ptir.TransposeOp(x, perm=(2, 0, 1)),
    "reverse": lambda x: ptir.ReverseOp(x, axes=(0, 2)),
    "slice": lambda x: ptir.SliceOp(x, starts=(1, 0, 2), sizes=(2, 3, 4)),
    "strided slice": lambda x: ptir.StridedSliceOp(x, starts=(0, 1, 1), limits=(3, 3, 7), strides=(2, 1, 3)),
    "reshape": lambda x: ptir.ReshapeOp(x, new_shape=(7, 12)),
    "reshape of a transpose": lambda x: ptir.ReshapeOp(ptir.TransposeOp(x, perm=(2, 1, 0)), new_shape=(7, 12)),
    "broadcast": lambda x: ptir.BroadcastToOp(ptir.SliceOp(x, starts=(0, 0, 0), sizes=(4, 1, 7)), result_shape=(2, 4, 3, 7)),
    "reshape of a broadcast": lambda x: ptir.ReshapeOp(ptir.BroadcastToOp(x, result_shape=(2, 4, 3, 7)), new_shape=(8, 21)),
    "concat": lambda x: ptir.ConcatOp(x, ptir.ReverseOp(x, axes=(1,)), x, axis=1),
    "tile": lambda x: ptir.TileOp(x, repeats=(2, 1, 3)),
    "pad": lambda x: ptir.PadOp(x, low=(1, 0, 2), high=(0, 2, 1), interior=(0, 2, 1), pad_value=-3),
    "iota": lambda x: ptir.AddOp(x, ptir.CastOp(ptir.IotaOp(shape=(4, 3, 7), dtype="si64", axis=2), dtype="si16")),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    module = program("si16[4,3,7]", lambda x: [VIEWS[name](x), ptir.NegOp(VIEWS[name](x)), reduce(VIEWS[name](x), "sum", 0)])
    x = np.arange(84, dtype=np.int16).reshape(4, 3, 7)
    run = compiled(module)
    for found, expected in zip(run(x), mind_runtime.compile(module)(x), strict=True):
        assert_close(found, expected)
    assert not any(line.startswith("numpy") for line in run.explain())


# Failures


@pytest.mark.parametrize("dtype", ["si8", "ui16", "si64", "ui64"])
@pytest.mark.parametrize("op", [ptir.DivOp, ptir.RemainderOp])
def test_division_by_zero(op: Any, dtype: str) -> None:
    module = program(f"{dtype}[70] {dtype}[70]", lambda a, b: [op(a, b)])
    run, reference = compiled(module), mind_runtime.compile(module)
    a, b = (np.arange(1, 71).astype(run.inputs[0].numpy_dtype) for _ in range(2))
    a[67] = np.iinfo(a.dtype).max
    assert_close(run(a, b), reference(a, b))
    b[67] = b[69] = 0
    found, expected = failure(run, a, b), failure(reference, a, b)
    assert (found.code, found.message, found.context) == (expected.code, expected.message, expected.context)
    b[67] = b[69] = 1
    assert_close(run(a, b), reference(a, b))


def test_the_least_integer_divided_by_minus_one() -> None:
    module = program("si32[3] si32[3]", lambda a, b: [ptir.DivOp(a, b), ptir.RemainderOp(a, b)])
    a, b = np.full(3, -(1 << 31), np.int32), np.array([-1, 1, 2], np.int32)
    for found, expected in zip(compiled(module)(a, b), mind_runtime.compile(module)(a, b), strict=True):
        assert_close(found, expected)


@pytest.mark.parametrize("index", [-1, 5, -(1 << 31), 0, 4])
@pytest.mark.parametrize("kind", ["take", "take scalars", "gather", "gather along lanes"])
def test_indices_out_of_bounds(kind: str, index: int) -> None:
    shape = (5, 40) if kind in ("take", "gather") else (5,) if kind == "take scalars" else (3, 5)
    text = ",".join(map(str, shape))
    if kind.startswith("take"):
        module = program(f"f32[{text}] si32[2,9]", lambda x, i: [ptir.TakeOp(x, i)])
        indices = np.zeros((2, 9), np.int32)
    else:
        axis = 0 if kind == "gather" else 1
        extents = (9, 40) if axis == 0 else (3, 19)
        module = program(f"f32[{text}] si32[{extents[0]},{extents[1]}]", lambda x, i: [ptir.GatherOp(x, i, axis=axis)])
        indices = np.zeros(extents, np.int32)
    indices[1, 7] = index
    x = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    run, reference = compiled(module), mind_runtime.compile(module)
    assert not any(line.startswith("numpy") for line in run.explain())
    if 0 <= index < 5:
        assert_close(run(x, indices), reference(x, indices), ulps=0)
        return
    found, expected = failure(run, x, indices), failure(reference, x, indices)
    assert (found.code, found.category, found.message) == (expected.code, expected.category, expected.message)


@pytest.mark.parametrize("start", [(0, 0), (3, 2), (-5, 100), (2, -1)])
def test_dynamic_slices_are_clamped(start: tuple[int, int]) -> None:
    module = program(
        "f32[6,7] si32[2] f32[2,3]",
        lambda x, s, u: [ptir.DynamicSliceOp(x, s, sizes=(2, 3)), ptir.DynamicUpdateSliceOp(x, u, s, sizes=(2, 3))],
    )
    arrays = (np.arange(42, dtype=np.float32).reshape(6, 7), np.array(start, np.int32), np.full((2, 3), -1, np.float32))
    for found, expected in zip(compiled(module)(*arrays), mind_runtime.compile(module)(*arrays), strict=True):
        assert_close(found, expected, ulps=0)


def test_failures_of_steps_on_numpy_are_theirs() -> None:
    module = program(
        "f32[4] si32[2] f32[2]",
        lambda x, i, u: [ptir.ScatterReduceOp(ptir.NegOp(x), i, u, axis=0, kind="add")],
    )
    arrays = (np.zeros(4, np.float32), np.array([0, 9], np.int32), np.ones(2, np.float32))
    found, expected = failure(compiled(module), *arrays), failure(mind_runtime.compile(module), *arrays)
    assert (found.code, found.category, found.context["indices"]) == (
        expected.code,
        expected.category,
        expected.context["indices"],
    )


def test_core_programs_fail_as_core_programs() -> None:
    from programs import parse

    text = """func.func @f(%a: tensor<3xi32>, %b: tensor<3xi32>) -> tensor<3xi32> attributes {mind.profile = "core-v1.1"} {
      %0 = mind.div %a, %b : tensor<3xi32>
      func.return %0 : tensor<3xi32>
    }"""
    run, zeros = compiled(parse(text)), np.zeros(3, np.int32)
    assert failure(run, zeros, zeros).code == "E6006"


# Donation, memory, draws


def test_a_donated_cache_is_updated_in_place() -> None:
    module = program("f32[64,16] f32[1,16] si32[2]", lambda c, u, s: [ptir.DynamicUpdateSliceOp(c, u, s, sizes=(1, 16))])
    name = mind_runtime.compile(module).inputs[0].name
    cache_, row = np.zeros((64, 16), np.float32), np.ones((1, 16), np.float32)
    kept = compiled(module)(cache_, row, np.array([3, 0], np.int32))
    assert not cache_.any()
    found = compiled(module, donate=[name])(cache_, row, np.array([3, 0], np.int32))
    assert found is cache_
    np.testing.assert_array_equal(found, kept)
    assert found[3].all()
    assert found.sum() == 16


def test_the_arena_is_used_again() -> None:
    def body(x: Any) -> Any:
        for _ in range(12):
            x = softmax(x)
        return [x]

    native = lower(prepared(function_of(program("f32[64,100]", body)), detect()), detect())
    assert native.arena <= 4 * 64 * 100 * 4


def test_draws_are_those_of_numpy() -> None:
    def body(x: Any) -> Any:
        u = ptir.RngUniformOp(shape=(3, 5), dtype="f32")
        n = ptir.RngNormalOp(shape=(3, 5), dtype="f32")
        return [ptir.AddOp(ptir.MulOp(u, x), n), ptir.RngUniformOp(shape=(3, 5), dtype="f32")]

    module = program("f32[3,5]", body)
    x = np.ones((3, 5), np.float32)
    run, reference = compiled(module), mind_runtime.compile(module)
    for seed in (0, 7):
        for found, expected in zip(run(x, seed=seed), reference(x, seed=seed), strict=True):
            assert_close(found, expected, ulps=1)
    assert not np.array_equal(run(x, seed=0)[1], run(x, seed=1)[1])


@pytest.mark.parametrize("dtype", ["cf64", "f32"])
def test_batches_that_the_array_library_multiplies_in_another_order(dtype: str) -> None:
    """Results are in row-major order, and so is what native kernels read of a step on NumPy."""

    def body(a: Any, b: Any) -> list[Any]:
        stack = ptir.BroadcastToOp(a, result_shape=(5, 3, 4))
        made = ptir.DotGeneralOp(b, stack, batch_lhs=(1, 0), batch_rhs=(0, 1), contract_lhs=(), contract_rhs=())
        return [made, ptir.ConcatOp(made, made, axis=0)]

    x = np.arange(15).reshape(3, 5).astype(np.complex128 if dtype == "cf64" else np.float32)
    y = x[:, :4]
    module = program(f"{dtype}[3,4] {dtype}[3,5]", body)
    expected = np.einsum("bi,bn->nbi", y, x)
    for target in ("native", "numpy"):
        made, twice = mind_runtime.compile(module, target=target)(np.ascontiguousarray(y), x)
        assert made.flags.c_contiguous
        np.testing.assert_array_equal(made, expected)
        np.testing.assert_array_equal(twice, np.concatenate([expected, expected]))


@pytest.mark.parametrize("isa", ["", "baseline"])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_narrow_floats_are_copied_bit_by_bit(dtype: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on a machine that computes nothing in them; a NaN keeps its bits."""
    monkeypatch.setenv(host_module.ISA_VARIABLE, isa)
    mind_runtime.clear_cache()
    around = {"low": (1, 0), "high": (0, 2), "interior": (2, 1), "pad_value": 2.0}
    bodies: dict[str, Any] = {
        f"{dtype}[3,19]": lambda x: [ptir.TransposeOp(x, perm=(1, 0)), ptir.PadOp(x, **around)],
        f"{dtype}[1,1]": lambda x: [ptir.BroadcastToOp(x, result_shape=(3, 19))],
    }
    for types, body in bodies.items():
        run, reference = compiled(program(types, body)), mind_runtime.compile(program(types, body))
        (spec,) = run.inputs
        x = np.arange(0x7C80 if dtype == "f16" else 0x7F80, 0x10000, dtype=np.uint16)[1 : 1 + int(np.prod(spec.shape))]
        x = x.reshape(spec.shape).view(spec.numpy_dtype)
        assert "0 ops on NumPy" in run.explain()[0]
        for found, expected in zip(several(run(x)), several(reference(x)), strict=True):
            np.testing.assert_array_equal(found.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize("shape", [(1 << 31, 1 << 31), (1 << 62,), (3, 1 << 60)])
def test_what_no_memory_holds_is_refused(shape: tuple[int, ...]) -> None:
    module = program(f"f32[{','.join(map(str, shape))}]", lambda a: [ptir.AddOp(a, a)])
    assert failure(lambda: compiled(module)).code == "E6004"


def test_memory_that_is_not_there_is_refused_before_the_run() -> None:
    assert failure(lambda: compiled(chain(1 << 20), memory_limit=1000)).code == "E6004"


# The cache on disk


def test_code_is_kept_and_found(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(chain())
    (file,) = programs(own_cache)
    mind_runtime.clear_cache()
    monkeypatch.setattr(jit, "objects", lambda text, host, threads: pytest.fail("compiled again"))
    a, b = ROWS
    assert_close(compiled(chain())(a, b), mind_runtime.compile(chain())(a, b), ulps=0)
    assert [file] == programs(own_cache)


@pytest.mark.parametrize("damage", ["cut off", "changed", "empty", "a folder", "not machine code"])
def test_a_damaged_file_is_no_find(own_cache: Path, damage: str) -> None:
    a, b = ROWS
    expected = compiled(chain())(a, b)
    (file,) = programs(own_cache)
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    match damage:
        case "cut off":
            file.write_bytes(data[: len(data) // 2])
        case "changed":
            file.write_bytes(data)
        case "empty":
            file.write_bytes(b"")
        case "not machine code":
            cache.write(file.name, b"no object file at all")
        case _:
            file.unlink()
            file.mkdir()
    mind_runtime.clear_cache()
    np.testing.assert_array_equal(compiled(chain())(a, b), expected)


@pytest.mark.parametrize("place", ["", "/dev/null/x", "/proc/none"])
def test_a_folder_that_cannot_be_written_to_does_no_harm(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, place)
    a, b = ROWS
    assert_close(compiled(chain())(a, b), mind_runtime.compile(chain())(a, b), ulps=0)


def test_a_full_disk_does_no_harm(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(os, "replace", full)
    a, b = ROWS
    assert_close(compiled(chain())(a, b), mind_runtime.compile(chain())(a, b), ulps=0)
    assert programs(own_cache) == []


def test_the_folder_stays_below_its_bound(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LARGEST", 12_000)
    monkeypatch.setattr(cache, "SWEEP", 1)
    for n in range(1, 9):
        cache.write(f"file{n}", bytes(5000))
    assert sum(f.stat().st_size for f in own_cache.iterdir()) <= 12_000


def test_few_writes_look_at_the_whole_folder(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Path] = []
    monkeypatch.setattr(cache, "_trim", looked.append)
    for n in range(320):
        cache.write(cache.key(str(n)), b"code")
    assert 1 <= len(looked) <= 30


def test_processes_share_a_folder(own_cache: Path) -> None:
    script = (
        "import numpy as np, mind_runtime; from ptir_forms import program; from mind_dialect import ptir;"
        "m = program('f32[9]', lambda x: [ptir.MulOp(ptir.AddOp(x, x), x)]);"
        "print(mind_runtime.compile(m, target='native')(np.full(9, 3, np.float32)).sum())"
    )
    support = str(Path(__file__).parents[2] / "support")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([support, *sys.path])}
    runs = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment) for _ in range(3)]
    assert [p.communicate()[0].strip() for p in runs] == [b"162.0"] * 3
    assert len(programs(own_cache)) == 1


# Threads, processes, machines


def test_calls_from_threads_are_independent() -> None:
    module = program("f32[200,31]", lambda x: [softmax(softmax(x)), reduce(x, "max", 0)])
    run = compiled(module)
    inputs = [np.random.default_rng(i).standard_normal((200, 31)).astype(np.float32) for i in range(8)]
    expected = [run(x) for x in inputs]
    wrong: list[int] = []

    def work(i: int) -> None:
        for _ in range(30):
            if any(not np.array_equal(a, b) for a, b in zip(run(inputs[i]), expected[i], strict=True)):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_without_llvmlite_nothing_begins(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    found = failure(lambda: compiled(None))  # type: ignore[arg-type]
    assert found.code == "E6002"
    assert "mind-dialect[native]" in found.message
    assert not own_cache.exists()


@pytest.mark.parametrize("isa", RUNNABLE[1:])
@pytest.mark.parametrize("seed", range(12))
def test_lesser_machines_of_the_kind(isa: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.ISA_VARIABLE, isa)
    dtype = ("f32", "f64", "si16", "ui64", "f16", "bf16")[seed % 6]
    module = Maker(100 + seed, DTYPES[dtype]).module(14)
    run, reference = compiled(module), mind_runtime.compile(module)
    assert f"on {isa}:" in run.explain()[0]
    arrays = [np.asarray(np.random.default_rng(seed).integers(0, 4, s.shape)).astype(s.numpy_dtype) for s in run.inputs]
    exact = dtype in ("si16", "ui64")
    for found, expected in zip(several(run(*arrays)), several(reference(*arrays)), strict=True):
        assert_close(found, expected, **({} if exact else {"ulps": 64, "scale": 1.0}))


def test_other_machines_are_assembled() -> None:
    module = program("f32[37,50] f32[50]", lambda x, b: [softmax(ptir.AddOp(x, spread(b, x))), ptir.TransposeOp(x, perm=(1, 0))])
    native = lower(prepared(function_of(module), TARGETS["neon"]), TARGETS["neon"])
    code = jit.object_code(native.text, TARGETS["neon"])
    assert code[:4] == b"\x7fELF"
    assert code[18:20] == b"\xb7\x00"  # the number of the architecture AArch64


def test_the_isa_is_one_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.ISA_VARIABLE, "avx1024")
    assert failure(detect).code == "E7001"
    assert failure(lambda: target_of("")).code == "E7001"


@pytest.mark.parametrize("seed", range(30))
def test_kernels_that_check_their_places_find_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.CHECKS_VARIABLE, "1")
    module = Maker(200 + seed, DTYPES[("f32", "si64", "ui8")[seed % 3]]).module(20)
    run, reference = compiled(module), mind_runtime.compile(module)
    arrays = [np.asarray(np.random.default_rng(seed).integers(0, 4, s.shape)).astype(s.numpy_dtype) for s in run.inputs]
    for found, expected in zip(several(run(*arrays)), several(reference(*arrays)), strict=True):
        assert_close(found, expected, **({} if seed % 3 else {"ulps": 64, "scale": 1.0}))


@pytest.mark.parametrize("wrong", ["count", "offset", "stride", "lookup"])
def test_kernels_that_check_their_places_find_what_is_wrong(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.CHECKS_VARIABLE, "1")
    true_view = planner_module.Planner.view

    def view(self: Any, value: Any) -> Any:
        found = true_view(self, value)
        match wrong:
            case "count" | "lookup":
                found.base.count = min(found.base.count, 4 if wrong == "lookup" else 34)
            case "offset":
                found = replace(found, offset=found.offset + 1)
            case "stride":
                found = replace(found, strides=tuple(s + (s == 7) for s in found.strides))
        return found

    monkeypatch.setattr(planner_module.Planner, "view", view)
    indices = np.full(19, 4, np.int32)
    x = np.zeros((5, 7) if wrong != "lookup" else (5, 1), np.float32)
    if wrong == "lookup":
        run = compiled(program("f32[5,1] si32[19]", lambda x, i: [ptir.TakeOp(x, i)]))
        assert failure(run, x, indices).code == "E7004"
    else:
        assert failure(compiled(program("f32[5,7]", lambda x: [reduce(x, "sum", 1)])), x).code == "E7004"


def test_entries_end_at_steps_on_numpy() -> None:
    # sums that are rounded after every step are NumPy's
    def body(x: Any, ids: Any) -> Any:
        options = {"num_segments": 5, "accum_dtype": "f16", "indices_are_sorted": False, "unique": False}
        return ptir.NegOp(ptir.SegmentReduceOp(ptir.AddOp(x, x).result, ids, kind="sum", **options).result).result

    module = program("f16[5,9] si32[5]", body)
    native = lower(prepared(function_of(module), target_of("avx2")), target_of("avx2"))
    assert [isinstance(step, Entry) for step in native.steps] == [True, False, True]
    assert [memory.is_new for memory in native.outputs] == [True]
    x, ids = np.random.default_rng(1).standard_normal((5, 9)).astype(np.float16), np.array([0, 4, 2, 2, 4], np.int32)
    assert_close(compiled(module)(x, ids), mind_runtime.compile(module)(x, ids), ulps=0)


def test_code_of_programs_that_are_gone_is_freed() -> None:
    """What an engine keeps of each library that it linked goes with the engine, as soon as its libraries are gone."""
    import gc
    import weakref

    gone: list[Any] = []
    for n in range(1, jit.LIBRARIES + 20):
        native = lower(prepared(function_of(program(f"f32[{n}]", lambda x: [ptir.AddOp(x, x)])), detect()), detect())
        library = jit.load(native.text, native.host, [s.name for s in native.steps if isinstance(s, Entry)])
        gone.append(weakref.ref(jit._engines._engine))
        del library
    gc.collect()
    assert gone[0]() is None
    assert gone[-1]() is not None


# Named dimensions, bound weights, tools


NAMED: dict[str, Any] = {
    "elementwise": lambda x, b: [ptir.AddOp(ptir.MulOp(x, x), spread(b, x))],
    "sums": lambda x, b: [reduce(ptir.MulOp(x, x), "sum", axis) for axis in (0, 1)] + [ptir.NegOp(b)],
    "sums of sums": lambda x, b: [softmax(ptir.MulOp(x, spread(b, x))), reduce(reduce(softmax(x), "max"), "sum", 0)],
}


@pytest.mark.parametrize("body", NAMED.values(), ids=NAMED)
def test_named_dimensions_are_compiled_for_their_sizes(body: Any) -> None:
    module = program("f32[B,5] f32[5]", body)
    run, reference = compiled(module), mind_runtime.compile(module)
    for size in (3, 3, 3, 1, 0, 70, 70):
        x, b = np.full((size, 5), 3, np.float32), np.arange(5, dtype=np.float32)
        for found, expected in zip(several(run(x, b)), several(reference(x, b)), strict=True):
            assert_close(found, expected, ulps=4)
    assert "has a dimension without a size" in run.explain()[0]
    assert failure(run, np.zeros((3, 4), np.float32), np.zeros(5, np.float32)).code == "E2001"


def test_bound_weights() -> None:
    module = chain()
    a, b = ROWS
    first, second = (s.name for s in mind_runtime.compile(module).inputs)
    step = mind_runtime.bind(module, {second: b}, target="native")
    assert_close(step(a), mind_runtime.compile(module)(a, b), ulps=0)
    assert [s.name for s in step.inputs] == [first]


def test_what_runs_where_is_told(tmp_path: Path) -> None:
    from tool_runs import mind_run

    file = tmp_path / "f.mlir"
    file.write_text(str(program("f32[3] si4[3]", lambda x, k: [ptir.NegOp(x), ptir.SortOp(k, axis=0, descending=False)])))
    found = mind_run(str(file), "--all", "random:0", "--target", "native", "--explain")
    assert found.status == 0, found.err
    assert found.out.splitlines()[2].startswith("@f on ")
    assert found.out.splitlines()[3:] == [
        "native  @k.neg: neg over [3]",
        "numpy   sort of si4[3]: kernels do not support si4",
    ]
    plain = mind_run(str(file), "--all", "random:0", "--explain")
    assert plain.out.splitlines()[2] == "@f on numpy: 2 calls of NumPy"
