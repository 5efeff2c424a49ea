"""PTIR to ONNX as a table: every op has a rule or a reason, and all that has no form is in one error."""

from __future__ import annotations

import pytest

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.ptir import EXTENSION_OPS, PTIR_OPS, YieldOp
from mind_lowering.ptir_to_onnx import REFUSED, RULES, onnx_model
from ptir_forms import program


def test_every_op_has_a_rule_or_a_reason() -> None:
    assert {*PTIR_OPS, *EXTENSION_OPS} - {YieldOp} == {*RULES, *REFUSED} - {YieldOp}
    assert set(RULES).isdisjoint(REFUSED)
    assert all(REFUSED.values())
    assert not [op.name for op, reason in REFUSED.items() if "no rule is written" in reason]


def test_all_that_has_no_form_is_in_one_error() -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    module = program("f32[4]", lambda x: [ptir.LgammaOp(x), ptir.DigammaOp(x), ptir.CastOp(x, dtype="fp8_e4m3")])
    with pytest.raises(MindError, match=r"lgamma.*digamma.*f8E4M3FN") as caught:
        onnx_model(next(functions(module)))
    assert caught.value.code == "E8008"
