"""Programs of thousands of ops: kernels and entries of bounded size, text that grows in proportion, and the same bits."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir import FusionOp
from mind_lowering.native import TARGETS, vmath
from mind_lowering.native import program as lowering
from mind_lowering.native.codegen import MOST_CALLS
from mind_passes.fusion.grouping import MOST_OPS
from mind_runtime.collector import collector_paused
from ptir_evaluator import function_of
from ptir_forms import program

HOST = TARGETS["avx2"]


def chain(count: int, *kinds: Any) -> Callable[..., list[Any]]:
    """So many ops one after the other; those of two operands take the second argument too."""

    def body(x: Any, y: Any) -> list[Any]:
        for i in range(count):
            kind = kinds[i % len(kinds)]
            x = (kind(x) if len(kind.OPERANDS) == 1 else kind(x, y)).result
        return [x]

    return body


def joined(count: int) -> Any:
    return program("f32[3] f32[3]", lambda a, b: [ptir.ConcatOp(*[(a, b)[i % 2] for i in range(count)], axis=0).result])


def lowered(module: Any) -> Any:
    return lowering.lower(lowering.prepared(function_of(module), HOST), HOST)


def compiled(module: Any) -> Any:
    mind_runtime.clear_cache()
    return mind_runtime.compile(module, target="native")


def test_groups_are_of_bounded_size() -> None:
    module = program("f32[7] f32[7]", chain(3 * MOST_OPS, ptir.AddOp, ptir.NegOp, ptir.MulOp))
    fused = lowering.prepared(function_of(module), HOST)
    sizes = [len(op.body.block.ops) - 1 for op in fused.walk() if isinstance(op, FusionOp)]
    assert max(sizes) <= MOST_OPS
    assert len(sizes) <= 4
    x, y = np.linspace(-1, 1, 7, dtype=np.float32), np.full(7, 1.5, np.float32)
    np.testing.assert_array_equal(compiled(module)(x, y), mind_runtime.compile(module)(x, y))


@pytest.mark.parametrize("kind", [ptir.TanhOp, ptir.ExpOp, ptir.ErfOp, ptir.LogisticOp, ptir.SinOp])
def test_functions_are_called_where_a_kernel_has_many(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIND_CACHE_DIR", "")
    module = program("f32[37] f32[37]", chain(120, kind, ptir.MulOp))
    x, y = np.linspace(-3, 3, 37, dtype=np.float32), np.linspace(0.1, 1.1, 37, dtype=np.float32)
    name = f"@mind.{kind.OPCODE}.v8f32"
    assert name in lowered(module).text
    found = compiled(module)(x, y)
    monkeypatch.setattr(vmath, "INLINED", 1 << 20)
    assert name not in lowered(module).text
    assert compiled(module)(x, y).tobytes() == found.tobytes()
    mind_runtime.clear_cache()


def test_short_kernels_call_no_function() -> None:
    assert "@mind.tanh" not in lowered(program("f32[5000] f32[5000]", chain(4, ptir.TanhOp, ptir.MulOp))).text


def test_many_kernels_are_run_by_functions_of_bounded_size() -> None:
    few, many = (lowered(joined(count)) for count in (MOST_CALLS, 4 * MOST_CALLS))
    assert ".part" not in few.text
    assert many.text.count("define internal i64 @run.f.part") == 4
    assert len(many.text) < 5 * len(few.text)
    a, b = np.arange(3, dtype=np.float32), -np.arange(3, dtype=np.float32)
    count = 2 * MOST_CALLS + 1
    assert compiled(joined(count))(a, b).tobytes() == np.concatenate([(a, b)[i % 2] for i in range(count)]).tobytes()


def test_a_failure_in_a_late_part_names_its_op() -> None:
    count = MOST_CALLS + 40

    def body(x: Any, y: Any) -> list[Any]:
        """Parts of a sum, of which each needs a kernel of its own, and a division at the end."""
        whole = ptir.ConcatOp(*[x] * count, axis=0).result
        return [ptir.DivOp(whole, ptir.TileOp(y, repeats=(count,)).result).result]

    run = compiled(program("si32[2] si32[2]", body))
    x = np.array([6, 8], np.int32)
    assert run(x, np.array([2, 4], np.int32)).tolist() == [3, 2] * count
    with pytest.raises(MindError, match="div") as caught:
        run(x, np.array([2, 0], np.int32))
    expected = mind_runtime.compile(program("si32[2] si32[2]", body))
    with pytest.raises(MindError) as reference:
        expected(x, np.array([2, 0], np.int32))
    assert caught.value.code == reference.value.code


def test_the_collector_is_paused_for_one_block_only() -> None:

    def broken() -> None:
        with collector_paused():
            assert not gc.isenabled()
            raise KeyError

    assert gc.isenabled()
    with pytest.raises(KeyError):
        broken()
    assert gc.isenabled()
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
