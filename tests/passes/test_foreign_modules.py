"""Passes in modules with declarations, functions of other dialects, inner modules and recursion leave alone what is not ours."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from mind_dialect.errors import MindError
from mind_dialect.verify import verify
from mind_passes.functional import hessian_vector_product
from mind_tools.frontends import parse
from mind_tools.universe import get_all_passes

VERSION = 'attributes {ptir.spec_version = "ptir.v0.4"}'
FOREIGN = """
  func.func @loop(%n: index, %x: tensor<?xf32>) -> (tensor<?xf32>, index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<?xf32>) {
      %y = "test.op"(%acc) : (tensor<?xf32>) -> tensor<?xf32>
      scf.yield %y : tensor<?xf32>
    }
    %d = tensor.dim %r, %c0 : tensor<?xf32>
    func.return %r, %d : tensor<?xf32>, index
  }
  func.func @endless(%i: index) -> index {
    %0 = func.call @endless(%i) : (index) -> index
    %1 = arith.addi %0, %i : index
    func.return %1 : index
  }
  func.func private @declared(tensor<3xf32>) -> tensor<3xf32>
"""
OURS = """
  func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = ptir.tanh %x : tensor<3xf32>
    %1 = ptir.mul %0, %x : tensor<3xf32>
    func.return %1 : tensor<3xf32>
  }
"""
SIDE_BY_SIDE = f"builtin.module {VERSION} {{{FOREIGN}{OURS}}}"
NESTED = f"""builtin.module {{
  builtin.module @one {VERSION} {{{OURS}}}
  builtin.module @two {VERSION} {{{OURS.replace("tanh", "exp")}
    func.func @g(%x: tensor<3xf32>) -> tensor<3xf32> {{
      %0 = func.call @f(%x) : (tensor<3xf32>) -> tensor<3xf32>
      func.return %0 : tensor<3xf32>
    }}
  }}
}}"""
DERIVING = {"mind-autodiff": ({"seed": "ones"}, "grad"), "mind-jvp": ({}, "jvp"), "mind-vectorize": ({"size": 2}, "vmap")}
LOWERING: dict[str, dict[str, object]] = {
    "mind-lower-to-native": {},
    "mind-lower-to-native launches": {"launches": True},
    "mind-fuse-for-cupy": {},
    "mind-lower-to-cupy": {},
    "mind-lower-to-cupy launches": {"launches": True},
    "mind-lower-to-numpy": {},
    "mind-convert-ptir-to-launch": {},
}


def applied(text: str, name: str, **options: object) -> ModuleOp:
    """The module after a pass, verified before and after."""
    module = parse(text)
    verify(module)
    get_all_passes()[name]()(**options).apply(Context(allow_unregistered=True), module)
    verify(module)
    return module


def shown(module: ModuleOp) -> dict[str, str]:
    return {op.sym_name.data: str(op) for op in module.body.block.ops if isinstance(op, FuncOp)}


@pytest.mark.parametrize("name", [*DERIVING, *LOWERING, "mind-lower-enzyme"])
def test_declarations_recursion_and_other_dialects_stay(name: str) -> None:
    if "native" in name:
        pytest.importorskip("llvmlite")
    before = shown(parse(SIDE_BY_SIDE))
    options = DERIVING[name][0] if name in DERIVING else LOWERING.get(name, {})
    after = shown(applied(SIDE_BY_SIDE, name.partition(" ")[0], **options))
    for kept in ("loop", "endless", "declared"):
        assert after[kept] == before[kept]
    if name in DERIVING:
        assert f"f_{DERIVING[name][1]}" in after
    elif name in LOWERING:
        assert after["f"] != before["f"]


@pytest.mark.parametrize("name", DERIVING)
def test_modules_in_a_module_have_functions_of_one_name(name: str) -> None:
    """Only the second module calls its @f."""
    options, suffix = DERIVING[name]
    one, two = applied(NESTED, name, **options).body.block.ops
    assert isinstance(one, ModuleOp)
    assert isinstance(two, ModuleOp)
    assert list(shown(one)) == ["f", f"f_{suffix}"]
    assert list(shown(two)) == ["f", "g", f"g_{suffix}"]
    again = parse(str(applied(NESTED, name, **options)))
    get_all_passes()[name]()(**options).apply(Context(), again)
    assert str(again) == str(applied(NESTED, name, **options)), "what is derived already is not derived again"


@pytest.mark.parametrize("name", DERIVING)
def test_a_name_that_another_kind_of_symbol_has_is_taken(name: str) -> None:
    options, suffix = DERIVING[name]
    text = SIDE_BY_SIDE.replace("@declared", f"@f_{suffix}").replace("func.func private", "shape.func private")
    with pytest.raises(MindError, match=f"E4002: @f_{suffix} exists already"):
        applied(text, name, **options)


def test_a_name_that_another_kind_of_symbol_has_is_no_hvp() -> None:
    text = SIDE_BY_SIDE.replace("@declared", "@f_hvp").replace("func.func private", "shape.func private")
    with pytest.raises(MindError, match="E4002: @f_hvp exists already"):
        hessian_vector_product(parse(text), "f")


MIXED = f"""builtin.module {VERSION} {{
  func.func @f(%x: tensor<3xf32>, %i: index) -> tensor<3xf32> {{
    %0 = ptir.tanh %x : tensor<3xf32>
    func.return %0 : tensor<3xf32>
  }}
}}"""


@pytest.mark.parametrize("name", ["mind-vectorize", "mind-lower-to-numpy", "mind-plan-buffers"])
def test_an_input_that_is_no_tensor_is_named(name: str) -> None:
    with pytest.raises(MindError, match=r"E2001: input 1 of @f: expected a tensor, found index"):
        applied(MIXED, name, **DERIVING.get(name, ({}, ""))[0])


@pytest.mark.parametrize("name", ["mind-convert-ptir-to-linalg", "mind-convert-ptir-to-stablehlo"])
def test_an_input_that_is_no_tensor_is_not_legal(name: str) -> None:
    with pytest.raises(MindError, match=r"E8008.*@f: parameter 1: type index is no tensor"):
        applied(MIXED, name)
