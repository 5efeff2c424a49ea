"""The passes that fuse for a target do to a module of several functions what lowering does to each by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.verify import verify
from mind_lowering.cupy import prepare
from mind_lowering.native import TARGETS, program
from mind_lowering.native.program import LowerToNativePass
from mind_passes.ptir.failing import forget_origins
from mind_passes.staged import StagedPass
from programs import parse

SEVERAL = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @calling(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %y = func.call @softmax(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %z = ptir.exp %y : tensor<4x8xf32>
    func.return %z : tensor<4x8xf32>
  }
  func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %e = ptir.exp %x : tensor<4x8xf32>
    %s = ptir.reduce %e kind = sum axes = [1] keepdims = true : tensor<4x8xf32> -> tensor<4x1xf32>
    %t = ptir.broadcast_to %s result_shape = [4, 8] : tensor<4x1xf32> -> tensor<4x8xf32>
    %q = ptir.div %e, %t : tensor<4x8xf32>
    func.return %q : tensor<4x8xf32>
  }
  func.func @dynamic(%x: tensor<?x8xf32, "B,*">) -> tensor<?xf32, "B"> {
    %e = ptir.exp %x : tensor<?x8xf32, "B,*">
    %s = ptir.reduce %e kind = sum axes = [1] keepdims = false : tensor<?x8xf32, "B,*"> -> tensor<?xf32, "B">
    func.return %s : tensor<?xf32, "B">
  }
  func.func @failing(%x: tensor<4xsi32>, %y: tensor<4xsi32>) -> tensor<4xsi32> {
    %unused = ptir.div %x, %y : tensor<4xsi32>
    %n = ptir.neg %x : tensor<4xsi32>
    %d = ptir.div %n, %y : tensor<4xsi32>
    func.return %d : tensor<4xsi32>
  }
}
"""
TARGETED: dict[str, tuple[StagedPass, Callable[[FuncOp], FuncOp]]] = {
    "native": (LowerToNativePass(isa="avx2"), lambda func: program.prepared(func, TARGETS["avx2"])),
    "cupy": (prepare.FuseForCupyPass(), prepare.prepared),
}


def texts(funcs: Any) -> dict[str, str]:
    """The functions by name, without the numbers that errors go by."""
    found: dict[str, str] = {}
    for func in funcs:
        forget_origins(func)
        found[func.sym_name.data] = str(func)
    return found


@pytest.mark.parametrize("target", TARGETED)
def test_functions_are_fused_as_each_by_itself(target: str):
    fuse, prepared = TARGETED[target]
    module = parse(SEVERAL)
    alone = texts([prepared(func) for func in functions(module)])
    fuse.apply(Context(), module)
    verify(module)
    assert texts(functions(module)) == alone
    assert alone["failing"].count("ptir.div") == 2, "an op that can fail runs even if nothing needs its result"
    assert "func.call" not in alone["calling"]


@pytest.mark.parametrize("target", TARGETED)
def test_a_function_that_cannot_be_lowered_leaves_the_module_as_it_is(target: str):
    fuse, _ = TARGETED[target]
    module = parse(SEVERAL.replace("func.return %d : tensor<4xsi32>", "func.return").replace(") -> tensor<4xsi32> {", ") {"))
    before = str(module)
    with pytest.raises(MindError):
        fuse.apply(Context(), module)
    assert str(module) == before
