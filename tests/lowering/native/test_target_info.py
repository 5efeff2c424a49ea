"""Native lowering depends on the target that it is given, and on nothing else of the machine."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from machines import THIS
from mind_lowering.native import TARGETS, host
from mind_lowering.native.program import LowerToNativePass, NativeTarget, lower, prepared
from ptir_evaluator import function_of
from ptir_forms import attention, layer_norm, program, softmax


def chain(x: Any, g: Any, b: Any, k: Any, v: Any) -> list[Any]:
    """A layer norm, an attention over it, a softmax: what asks most of a target."""
    normed = layer_norm(x, g, b)
    return [attention(normed, k, v), softmax(normed)]


def module() -> ModuleOp:
    return program("f32[2,4,32,16] f32[16] f32[16] f32[2,4,40,16] f32[2,4,40,16]", chain)


def texts(isa: str | None) -> str:
    """The fused program and the LLVM IR, by the pass and the target of the tools."""
    fused, printed = module(), StringIO()
    LowerToNativePass(isa=isa).apply(Context(), fused)
    NativeTarget(isa=isa).emit(Context(), module(), printed)
    return f"{fused}\n{printed.getvalue()}"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a lowering asks of the machine."""
    found: list[str] = []
    monkeypatch.setattr(host, "this_machine", lambda: found.append("asked") or THIS)
    monkeypatch.setenv(host.ISA_VARIABLE, "")
    monkeypatch.setenv(host.CHECKS_VARIABLE, "")
    return found


@pytest.mark.parametrize("isa", TARGETS)
def test_a_stated_target_is_all_that_lowering_asks_for(isa: str, asked: list[str], monkeypatch: pytest.MonkeyPatch):
    target = TARGETS[isa]
    found = lower(prepared(function_of(module()), target), target)
    assert found.host is target
    assert found.text in texts(isa)
    monkeypatch.setenv(host.ISA_VARIABLE, "none such")
    monkeypatch.setenv(host.CHECKS_VARIABLE, "1")
    assert found.text in texts(isa)
    assert not asked


def test_without_one_it_is_this_machine(asked: list[str]):
    printed = texts(None)
    assert asked
    found = lower(prepared(function_of(module()), host.detect()), host.detect())
    assert found.text in printed
    assert f"on {THIS.isa}: " in printed


def test_targets_differ():
    assert len({lower(prepared(function_of(module()), target), target).text for target in TARGETS.values()}) == len(TARGETS)
