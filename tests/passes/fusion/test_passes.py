"""Each pass that changes fusions, alone, keeps every program valid and every bit: random programs, and the table of ops."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import mind_runtime
from cupy_agreement import arguments
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.ptir.types import DTYPES
from mind_dialect.verify import failures, verify
from mind_passes.fusion.fuse import fuse
from mind_tools.universe import PASSES
from ptir_programs import ACCEPTED, row_module
from ptir_random_programs import Maker
from row_programs import RowMaker

FORMS = {name: load for name, load in PASSES.items() if getattr(load(), "__module__", "").startswith("mind_passes.fusion.")}
ROUNDED = {
    "mind-ptir-form-rows": "it adds up each row first",
    "mind-ptir-unroll-axes": "it adds up the last axis by additions",
}
"""Passes that change how sums of floats are rounded, and how."""


def apply(name: str, module: ModuleOp) -> ModuleOp:
    """The module after the pass, on fused ops."""
    made: ModulePass = FORMS[name]()()
    changed = module.clone()
    fuse(changed)
    verify(changed)
    made.apply(Context(), changed)
    verify(changed)
    return changed


def is_valid(module: ModuleOp) -> bool:
    """Whether a row of the table is a program: some use a dimension name that no input has."""
    return next(failures(module), None) is None


def outcome(module: ModuleOp, values: list[Any]) -> Any:
    """The bytes of the results, or the code of the error."""
    try:
        found = mind_runtime.compile(module)(*values)
    except MindError as e:
        return e.code
    return [x.tobytes() for x in (found if isinstance(found, tuple) else (found,))]


def test_there_are_passes():
    assert len(FORMS) >= 15


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_keep_their_bits(name: str, seed: int):
    dtype = DTYPES["si32" if seed % 2 or name in ROUNDED else "f32"]
    for module in (RowMaker(seed, dtype).module(), Maker(seed, dtype).module(20)):
        values = arguments(mind_runtime.compile(module.clone()), seed)
        assert outcome(apply(name, module), values) == outcome(module.clone(), values)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FORMS)
def test_every_op_stays_valid(name: str):
    for module in filter(is_valid, map(row_module, ACCEPTED)):
        before = [func.function_type for func in functions(module)]
        assert [func.function_type for func in functions(apply(name, module))] == before
