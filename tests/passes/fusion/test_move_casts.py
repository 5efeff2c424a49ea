"""Casts that change sides with views: what moves, what stays, and that no bit differs."""

from __future__ import annotations

from typing import Any

import pytest

import mind_runtime
import ptir_forms as forms
from cupy_agreement import arguments
from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.ptir import PtirOp
from mind_dialect.verify import verify
from mind_lowering.ptir_optimize import simplify
from mind_passes.fusion.move_casts import move_casts

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays")


def to(x: Any, dtype: str) -> Any:
    return ptir.CastOp(x, dtype=dtype)


def turned(x: Any) -> Any:
    return ptir.TransposeOp(ptir.ReshapeOp(x, new_shape=(3, 2, 2)), perm=(1, 0, 2))


def sliced(x: Any, start: int, size: int = 2) -> Any:
    return ptir.SliceOp(x, starts=(0, start), sizes=(3, size))


def halves(x: Any) -> list[Any]:
    x = ptir.NegOp(x)
    return [to(turned4(sliced(x, start)), "bf16") for start in (0, 2)]


def turned4(x: Any) -> Any:
    return ptir.TransposeOp(x, perm=(1, 0))


def part(x: Any) -> Any:
    """What a slice leaves out would be cast for nothing."""
    return to(sliced(ptir.NegOp(x), 1), "bf16")


def half_wide(x: Any) -> list[Any]:
    x = ptir.NegOp(x)
    return [to(sliced(x, 0), "bf16"), sliced(x, 2)]


CASES: dict[str, tuple[str, Any, list[str]]] = {
    "narrower": ("f32[3,4]", lambda x: to(turned(x), "bf16"), ["cast", "reshape", "transpose"]),
    "wider": ("bf16[3,4]", lambda x: turned(to(x, "f32")), ["reshape", "transpose", "cast"]),
    "there and back": ("bf16[3,4]", lambda x: to(turned(to(x, "f32")), "bf16"), ["reshape", "transpose"]),
    "repeated": ("f32[3,1]", lambda x: to(ptir.BroadcastToOp(x, result_shape=(3, 5)), "f16"), ["cast", "broadcast_to"]),
    "repeated wider": ("f16[3,1]", lambda x: ptir.BroadcastToOp(to(x, "f32"), result_shape=(3, 5)), ["cast", "broadcast_to"]),
    "slice, wider": ("bf16[3,4]", lambda x: sliced(to(x, "f32"), 1), ["slice", "cast"]),
    "halves": ("f32[3,4]", halves, ["neg", "cast", "slice", "transpose", "slice", "transpose"]),
    "part": ("f32[3,4]", part, ["neg", "slice", "cast"]),
    "half of it wide": ("f32[3,4]", half_wide, ["neg", "slice", "slice", "cast"]),
    "integers": ("f32[3,4]", lambda x: to(turned(x), "si8"), ["reshape", "transpose", "cast"]),
    "neither": ("bf16[3,4]", lambda x: to(turned(x), "f16"), ["reshape", "transpose", "cast"]),
}


@pytest.mark.parametrize("name", CASES)
def test_casts_are_where_the_least_is_moved(name: str) -> None:
    types, body, expected = CASES[name]
    module = forms.program(types, body)
    before = mind_runtime.compile(module.clone())
    simplify(module)
    moved = move_casts(module)
    verify(module)
    simplify(module)
    assert sorted(op.OPCODE for op in walk(module) if isinstance(op, PtirOp)) == sorted(expected)
    opcodes = [op.OPCODE for op in walk(module) if isinstance(op, PtirOp) and op.OPCODE != "neg"]
    if moved and "cast" in expected:
        assert (opcodes[0] == "cast") is (expected[expected[0] == "neg"] == "cast")
    assert moved is (name not in ("repeated wider", "part", "half of it wide", "integers", "neither"))
    assert not move_casts(module)
    values = arguments(before, 1)
    found, same = mind_runtime.compile(module)(*values), before(*values)
    for x, y in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, same)), strict=True):
        assert x.tobytes() == y.tobytes()
