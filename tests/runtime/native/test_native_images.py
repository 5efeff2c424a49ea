"""What is kept on disk of a compiled program: found by what the function is, and by nothing else; whole, or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.ptir.types import DTYPES
from mind_lowering import code_cache as cache
from mind_lowering.native import program as lowering
from mind_runtime.native import digest as digests
from mind_runtime.native import image
from mind_runtime.native.digest import digest
from native_checks import assert_close, several
from programs import parse
from ptir_evaluator import function_of
from ptir_forms import like, program, softmax
from ptir_random_programs import Maker


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of one test is found by another."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    mind_runtime.clear_cache()
    return tmp_path / "native"


def images(folder: Path) -> list[Path]:
    return [file for file in folder.iterdir() if file.suffix == image.SUFFIX]


def compiled(module: Any, **options: Any) -> Any:
    return mind_runtime.compile(module, target="native", **options)


def again(module: Any, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Any:
    """The program from disk: nothing is verified or lowered."""
    mind_runtime.clear_cache()
    with monkeypatch.context() as patch:
        patch.setattr(lowering, "prepared", lambda *given: pytest.fail("prepared again"))
        return compiled(module, **options)


ROWS = np.random.default_rng(0).standard_normal((2, 37)).astype(np.float32)


def chain(n: int = 37, low: float = 0.5) -> Any:
    return program(f"f32[{n}] f32[{n}]", lambda a, b: [ptir.MaximumOp(ptir.SubOp(ptir.MulOp(a, b), a), like(a, low))])


# What is found


def test_a_program_that_was_compiled_before_is_not_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiled(chain())
    run = again(chain(), monkeypatch)
    assert run is not first
    a, b = ROWS
    np.testing.assert_array_equal(run(a, b), first(a, b))
    np.testing.assert_array_equal(run._slowly(a[::-1], b), first(a[::-1], b))
    assert run.memory_need(a, b) == first.memory_need(a, b)
    assert run.explain() == first.explain()
    assert run.source == first.source
    assert "@k." in run.source


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_are_the_same_from_disk(seed: int, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    module = Maker(700 + seed, DTYPES[("f32", "si64", "ui8", "bf16")[seed % 4]]).module(14)
    first = compiled(module)
    arrays = [np.asarray(np.random.default_rng(seed).integers(0, 4, s.shape)).astype(s.numpy_dtype) for s in first.inputs]
    expected = first(*arrays)
    mind_runtime.clear_cache()
    run = again(module, monkeypatch) if images(own_cache) else compiled(module)
    for found, right in zip(several(run(*arrays)), several(expected), strict=True):
        assert found.tobytes() == right.tobytes()


def test_constants_are_part_of_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    values = ROWS[0].tolist()
    table = lambda x: ptir.ConstantOp(ptir.PtirLiteralAttr.from_values(DTYPES["f32"], (37,), values))  # noqa: E731
    module = program("f32[37]", lambda x: [ptir.AddOp(x, table(x)), table(x), like(x, 2.0)])
    compiled(module)
    found = again(module, monkeypatch)(ROWS[1])
    for result, expected in zip(found, (ROWS[1] + ROWS[0], ROWS[0], np.full(37, 2, np.float32)), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_draws_are_those_of_the_seed_from_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = lambda: ptir.RngUniformOp(shape=(37,), dtype="f32")  # noqa: E731
    module = program("f32[37]", lambda x: [ptir.AddOp(x, draw()), ptir.AddOp(x, draw())])
    first, run = compiled(module), again(module, monkeypatch)
    for seed in (0, 7):
        found, expected = run(ROWS[0], seed=seed), first(ROWS[0], seed=seed)
        assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]
        assert found[0].tobytes() != found[1].tobytes()


def test_large_constants_have_no_image(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "LARGEST", 100)
    values = ROWS[0].tolist()
    table = lambda: ptir.ConstantOp(ptir.PtirLiteralAttr.from_values(DTYPES["f32"], (37,), values))  # noqa: E731
    run = compiled(program("f32[37]", lambda x: [ptir.AddOp(x, table())]))
    np.testing.assert_array_equal(run(ROWS[1]), ROWS[1] + ROWS[0])
    assert images(own_cache) == []


def test_large_constants_of_the_function_are_named_by_the_image(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).standard_normal((2, 2000)).astype(np.float32)

    def added(table: Any) -> Any:
        literal = ptir.PtirLiteralAttr.from_bytes(DTYPES["f32"], (2000,), table.tobytes())
        return program("f32[2000]", lambda x: [ptir.AddOp(x, ptir.ConstantOp(literal))])

    monkeypatch.setattr(image, "LARGEST", 100)
    x = np.arange(2000, dtype=np.float32)
    np.testing.assert_array_equal(compiled(added(values[0]))(x), x + values[0])
    (file,) = images(own_cache)
    assert file.stat().st_size < values[0].nbytes
    np.testing.assert_array_equal(again(added(values[0]), monkeypatch)(x), x + values[0])
    np.testing.assert_array_equal(compiled(added(values[1]))(x), x + values[1])
    assert len(images(own_cache)) == 2


def test_an_image_without_its_constants_is_none(own_cache: Path) -> None:
    table = ptir.PtirLiteralAttr.from_bytes(DTYPES["f32"], (2000,), np.arange(2000, dtype=np.float32).tobytes())
    module = program("f32[2000]", lambda x: [ptir.AddOp(x, ptir.ConstantOp(table))])
    compiled(module)
    (file,) = images(own_cache)
    assert image.read(file.stem, lowering.detect(), 1, 1, lambda: image.literals_of(function_of(module))) is not None
    assert image.read(file.stem, lowering.detect(), 1, 1, dict[str, bytes]) is None


def test_donated_inputs_are_donated_from_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    module = program("f32[64,16] f32[1,16] si32[2]", lambda c, u, s: [ptir.DynamicUpdateSliceOp(c, u, s, sizes=(1, 16))])
    name = mind_runtime.compile(module).inputs[0].name
    compiled(module, donate=[name])
    with pytest.raises(pytest.fail.Exception):
        again(module, monkeypatch)
    run = again(module, monkeypatch, donate=[name])
    state = np.zeros((64, 16), np.float32)
    assert run(state, np.ones((1, 16), np.float32), np.array([3, 0], np.int32)) is state
    assert state.sum() == 16


def test_failures_name_their_op_from_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    module = program("si32[70] si32[70]", lambda a, b: [ptir.DivOp(a, b)])
    a, b = np.arange(70, dtype=np.int32), np.ones(70, np.int32)
    b[67] = 0
    found: list[MindError] = []
    for run in (compiled(module), again(module, monkeypatch), mind_runtime.compile(module)):
        for call in (run, lambda *x, run=run: run(*x, seed=1)):
            with pytest.raises(MindError) as e:
                call(a, b)
            found.append(e.value)
    assert {(e.code, e.message, str(e.context), str(e.op.location)) for e in found} == {
        (found[0].code, found[0].message, str(found[0].context), str(found[0].op.location))
    }


def test_core_programs_from_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """func.func @f(%a: tensor<3xi32>, %b: tensor<3xi32>) -> tensor<3xi32> attributes {mind.profile = "core-v1.1"} {
      %0 = mind.div %a, %b : tensor<3xi32>
      func.return %0 : tensor<3xi32>
    }"""
    compiled(parse(text))
    run, zeros = again(parse(text), monkeypatch), np.zeros(3, np.int32)
    with pytest.raises(MindError) as e:
        run(zeros, zeros)
    assert e.value.code == "E6006"
    assert_close(run(zeros, zeros + 1), zeros)


def test_bound_programs_from_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [s.name for s in mind_runtime.compile(chain()).inputs]
    a, b = ROWS
    expected = mind_runtime.bind(chain(), {names[1]: b}, target="native")(a)
    mind_runtime.clear_cache()
    monkeypatch.setattr(lowering, "prepared", lambda *given: pytest.fail("prepared again"))
    np.testing.assert_array_equal(mind_runtime.bind(chain(), {names[1]: b}, target="native")(a), expected)


def test_another_machine_finds_nothing(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(chain())
    monkeypatch.setenv("MIND_NATIVE_CHECKS", "1")
    mind_runtime.clear_cache()
    compiled(chain())
    assert len(images(own_cache)) == 2


def test_another_state_of_our_code_finds_nothing(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(chain())
    monkeypatch.setattr(digests, "fingerprint", lambda: "changed")
    mind_runtime.clear_cache()
    compiled(chain())
    assert len(images(own_cache)) == 2


# Files that are wrong


@pytest.mark.parametrize("damage", ["cut off", "changed", "empty", "no json", "no code", "another's", "a folder"])
def test_a_damaged_image_is_no_find(own_cache: Path, damage: str) -> None:
    a, b = ROWS
    expected = compiled(chain())(a, b)
    (file,) = images(own_cache)
    data = bytearray(file.read_bytes())
    match damage:
        case "cut off":
            file.write_bytes(data[: len(data) // 2])
        case "changed":
            data[60] ^= 1
            file.write_bytes(data)
        case "empty":
            file.write_bytes(b"")
        case "no json":
            cache.write(file.name, b"\x05\0\0\0\0\0\0\0{nope")
        case "another's":
            compiled(chain(9))
            (other,) = set(images(own_cache)) - {file}
            file.write_bytes(other.read_bytes())
        case "no code":
            for other in own_cache.iterdir():
                if not other.suffix:
                    other.unlink()
        case _:
            file.unlink()
            file.mkdir()
    mind_runtime.clear_cache()
    np.testing.assert_array_equal(compiled(chain())(a, b), expected)


WRONG: dict[str, Any] = {
    "name": None,
    "code": "nothing",
    "entry": "nothing",
    "table": -1,
    "arena": "1",
    "inputs": [2],
    "outputs": [[99, False]],
    "constants": [[9, "f33", [1], 4]],
    "cost": "long",
    "packing": "nothing",
}


@pytest.mark.parametrize("field", WRONG)
@pytest.mark.parametrize("missing", [False, True])
def test_fields_are_looked_at_before_they_are_used(own_cache: Path, field: str, missing: bool) -> None:
    a, b = ROWS
    expected = compiled(chain())(a, b)
    (file,) = images(own_cache)
    data = cache.read(file.name)
    assert data is not None
    head = json.loads(data[8:])
    if missing:
        del head[field]
    else:
        head[field] = WRONG[field]
    text = json.dumps(head).encode()
    cache.write(file.name, len(text).to_bytes(8, "little") + text)
    mind_runtime.clear_cache()
    np.testing.assert_array_equal(compiled(chain())(a, b), expected)


# The hash of a function


def test_hashes_are_the_same_in_every_process() -> None:
    script = (
        "from ptir_forms import program, softmax; from ptir_evaluator import function_of;"
        "from mind_runtime.native.digest import digest;"
        "print(digest(function_of(program('f32[5,7] f32[5,7]', lambda x, y: [softmax(x), softmax(y)])), (1, 2)))"
    )
    paths = [str(Path(__file__).parents[2] / "support"), *sys.path]
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    here = digest(function_of(program("f32[5,7] f32[5,7]", lambda x, y: [softmax(x), softmax(y)])), (1, 2))
    assert found == {f"{here}\n"}


def constant(value: float, dtype: str = "f32") -> Any:
    return lambda x: [ptir.AddOp(x, ptir.ConstantOp(ptir.PtirLiteralAttr.from_values(DTYPES[dtype], (3,), [value] * 3)))]


def test_whatever_is_different_has_another_hash() -> None:
    modules = [
        program("f32[3]", lambda x: [x]),
        program("f32[4]", lambda x: [x]),
        program("f64[3]", lambda x: [x]),
        program("si32[3]", lambda x: [x]),
        program("ui32[3]", lambda x: [x]),
        program("f32[3] f32[3]", lambda x, y: [x]),
        program("f32[3] f32[3]", lambda x, y: [y]),
        program("f32[3] f32[3]", lambda x, y: [ptir.AddOp(x, y)]),
        program("f32[3] f32[3]", lambda x, y: [ptir.AddOp(y, x)]),
        program("f32[3] f32[3]", lambda x, y: [ptir.SubOp(x, y)]),
        program("f32[3]", lambda x: [x, x]),
        *(program("f32[3]", constant(v)) for v in (0.0, -0.0, 1.0, float("nan"), float("inf"))),
        program("f32[3]", lambda x: [ptir.PadOp(x, low=(1,), high=(0,), interior=(0,), pad_value=0.0)]),
        program("f32[3]", lambda x: [ptir.PadOp(x, low=(1,), high=(0,), interior=(0,), pad_value=-0.0)]),
        program("f32[3]", lambda x: [ptir.PadOp(x, low=(0,), high=(1,), interior=(0,), pad_value=0.0)]),
        program("f32[3]", lambda x: [ptir.ReduceOp(x, kind="sum", axes=(0,), keepdims=True)]),
        program("f32[3]", lambda x: [ptir.ReduceOp(x, kind="sum", axes=(0,), keepdims=False)]),
        program("f32[3]", lambda x: [ptir.ReduceOp(x, kind="max", axes=(0,), keepdims=False)]),
    ]
    found = [digest(function_of(m)) for m in modules]
    assert None not in found
    assert len(set(found)) == len(modules)
    assert len({digest(function_of(modules[0]), x) for x in (1, "1", (1,), None)}) == 4


def test_names_count_because_code_shows_them() -> None:
    form = """func.func @{0}(%a: tensor<3xf32> {{mind.name = "{1}"}}) -> tensor<3xf32> {{
      %{2} = mind.add %a, %a : tensor<3xf32>
      func.return %{2} : tensor<3xf32>
    }}"""
    texts = [form.format(*names) for names in ("fab", "gab", "fcb", "fac")]
    assert len({digest(next(iter(functions(parse(t))))) for t in texts}) == len(texts)


def test_functions_that_call_others_have_no_hash() -> None:
    text = """func.func @g(%a: tensor<3xf32>) -> tensor<3xf32> {
      func.return %a : tensor<3xf32>
    }
    func.func @f(%a: tensor<3xf32>) -> tensor<3xf32> {
      %b = func.call @g(%a) : (tensor<3xf32>) -> tensor<3xf32>
      func.return %b : tensor<3xf32>
    }"""
    assert [digest(f) is None for f in functions(parse(text))] == [False, True]
