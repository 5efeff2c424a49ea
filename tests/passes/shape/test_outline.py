"""Shape computation moved into functions: what moves, what stays, and what a real mlir-opt does with the same text."""

from __future__ import annotations

import re
import subprocess

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from mind_dialect.shape import FuncOp as ShapeFuncOp
from mind_passes.shape.outline import FUNCTIONS_ATTRIBUTE, outline
from shape_forms import parse

PROGRAM = """
func.func @main(%x: tensor<?x4xf32>, %y: tensor<2x4xf32>) -> (tensor<?x4xf32>, index) {
  %c0 = arith.constant 0 : index
  %c4 = shape.const_size 4
  %s = shape.shape_of %x : tensor<?x4xf32> -> tensor<2xindex>
  %abs = "test.op"(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %v = shape.with_shape %abs, %s : tensor<?x4xf32>, tensor<2xindex>
  %a = shape.value_of %v : tensor<?x4xf32>
  %cat = "test.op"(%a, %y) : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x4xf32>
  %d = shape.get_extent %s, %c0 : tensor<2xindex>, index -> !shape.size
  %e = shape.add %d, %c4 : !shape.size, !shape.size -> !shape.size
  %t = shape.from_extents %e, %c4 : !shape.size, !shape.size
  %w = shape.with_shape %cat, %t : tensor<?x4xf32>, !shape.shape
  %b = shape.value_of %w : tensor<?x4xf32>
  %r = shape.rank %s : tensor<2xindex> -> index
  func.return %b, %r : tensor<?x4xf32>, index
}
"""
SHARED = """
func.func @shared(%x: tensor<?xf32>, %i: index) -> (tensor<?xf32>, index) {
  %s = shape.from_extents %i : index
  %y = "test.op"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %v = shape.with_shape %y, %s : tensor<?xf32>, !shape.shape
  %z = shape.value_of %v : tensor<?xf32>
  %v2 = shape.with_shape %x, %s : tensor<?xf32>, !shape.shape
  %z2 = shape.value_of %v2 : tensor<?xf32>
  %o = "test.op"(%z2) : (tensor<?xf32>) -> index
  func.return %z, %o : tensor<?xf32>, index
}
"""


def outlined(text: str) -> ModuleOp:
    module = parse(text)
    outline(module)
    module.verify()
    return module


def test_functions_hold_what_serves_shapes_only():
    text = str(outlined(PROGRAM))
    assert "with_shape" not in text
    assert "value_of" not in text
    main, first, second = re.split(r"shape\.func private ", text)
    assert "shape.rank" in main
    assert "shape.shape_of" in main  # the rank needs it, so that it is an input of both functions
    assert "shape.add" not in main
    assert first.startswith("@shape_cal_0(%s: tensor<2xindex>) -> tensor<2xindex>")
    assert second.startswith("@shape_cal_1(%s: tensor<2xindex>) -> !shape.shape")
    ops = re.findall(r"(?:= |^ +)shape\.(\w+)", second, re.MULTILINE)
    assert ops == ["const_size", "get_extent", "add", "from_extents", "return"]


def test_the_attribute_says_what_belongs_to_what():
    """Numbers of values: arguments first, then results in the order of the text."""
    function = next(iter(outlined(PROGRAM).ops))
    assert str(function.attributes[FUNCTIONS_ATTRIBUTE]) == (
        "[[@shape_cal_0, array<i64: 3>, array<i64: 2>], [@shape_cal_1, array<i64: 4>, array<i64: 2>]]"
    )
    function = next(iter(outlined(SHARED).ops))
    assert str(function.attributes[FUNCTIONS_ATTRIBUTE]) == (
        "[[@shape_cal_0, array<i64: 2>, array<i64: 1>], [@shape_cal_0, array<i64: 0>, array<i64: 1>]]"
    )


def test_names_are_free_and_functions_without_shapes_stay():
    text = f"func.func @shape_cal_0(%i: index) -> index {{ func.return %i : index }}\n{SHARED}"
    module = outlined(text)
    names = [op.get_attr_or_prop("sym_name").data for op in module.ops]
    assert names == ["shape_cal_0", "shared", "shape_cal_0_0"]
    assert FUNCTIONS_ATTRIBUTE not in next(iter(module.ops)).attributes


def retyped(type: str, back: str) -> str:
    """`SHARED`, with the first value taken out as one of `type`."""
    taken_out = "%z = shape.value_of %v : tensor<?xf32>"
    return SHARED.replace(taken_out, f"%zz = shape.value_of %v : {type}\n  %z = {back}")


def test_a_value_of_another_type_is_cast_and_one_that_cannot_be_stays():
    cast = str(outlined(retyped("tensor<3xf32>", "tensor.cast %zz : tensor<3xf32> to tensor<?xf32>")))
    assert "tensor.cast %y : tensor<?xf32> to tensor<3xf32>" in cast
    kept = str(outlined(retyped("tensor<3x3xf32>", '"test.op"(%zz) : (tensor<3x3xf32>) -> tensor<?xf32>')))
    assert "shape.value_of" in kept


def signatures(text: str) -> list[str]:
    """Functions in order of their names: signatures, and the ops they hold."""
    parts = re.split(r"(?=shape\.func private|func\.func @)", text)
    found = []
    for part in parts[1:]:
        name = re.search(r"@(\w+)\(([^)]*)\)(?: -> ([^{]*?))?(?: attributes.*)? \{", part)
        types = [argument.split(": ")[1] for argument in name[2].split(", ")]
        written = re.findall(r'(?:= |^ +)"?([a-z_.]+)"?[ (]', part, re.MULTILINE)
        ops = [op.removeprefix("shape.").removeprefix("func.") for op in written]
        found.append(f"{name[1]} {types} {name[3].strip()} {sorted(ops)}")
    return sorted(found)


PAIRS = """
func.func @unranked(%a: tensor<*xf32>) -> tensor<*xf32> {
  %0 = shape.shape_of %a : tensor<*xf32> -> !shape.shape
  %1 = shape.with_shape %a, %0 : tensor<*xf32>, !shape.shape
  %2 = shape.value_of %1 : tensor<*xf32>
  return %2 : tensor<*xf32>
}
func.func @chain(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = shape.shape_of %b : tensor<?xf32> -> tensor<?xindex>
  %1 = shape.with_shape %a, %0 : tensor<?xf32>, tensor<?xindex>
  %3 = shape.shape_of %a : tensor<?xf32> -> tensor<?xindex>
  %4 = shape.with_shape %1, %3 : !shape.value_shape, tensor<?xindex>
  %2 = shape.value_of %4 : tensor<?xf32>
  return %2 : tensor<?xf32>
}
func.func @used(%a: !shape.value_shape, %b: tensor<?xf32>) -> (tensor<?xf32>, !shape.value_shape) {
  %0 = shape.shape_of %b : tensor<?xf32> -> tensor<?xindex>
  %1 = shape.with_shape %a, %0 : !shape.value_shape, tensor<?xindex>
  %2 = shape.value_of %1 : tensor<?xf32>
  return %2, %1 : tensor<?xf32>, !shape.value_shape
}
func.func @both(%a: !shape.value_shape, %b: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = shape.shape_of %b : tensor<?xf32> -> tensor<?xindex>
  %1 = shape.with_shape %a, %0 : !shape.value_shape, tensor<?xindex>
  %2 = shape.value_of %1 : tensor<?xf32>
  %3 = shape.with_shape %b, %0 : tensor<?xf32>, tensor<?xindex>
  %4 = shape.value_of %3 : tensor<?xf32>
  return %2, %4 : tensor<?xf32>, tensor<?xf32>
}
"""
"""What is no ranked tensor has its shape already, or is not known to have one: nothing is outlined for it."""


def test_shapes_of_ranked_tensors_alone_are_outlined():
    module = outlined(PAIRS)
    shapes = [op for op in module.ops if isinstance(op, ShapeFuncOp)]
    listed = {f.sym_name.data: str(f.attributes.get("mind.shape_functions")) for f in module.ops if isinstance(f, FuncOp)}
    assert [f.sym_name.data for f in shapes] == ["shape_cal_0", "shape_cal_0_0"]
    assert listed == {
        "unranked": "None",
        "chain": "[[@shape_cal_0, array<i64: 0>, array<i64: 1>]]",
        "used": "None",
        "both": "[[@shape_cal_0_0, array<i64: 1>, array<i64: 1>]]",
    }


def test_a_real_mlir_opt_outlines_the_same(mlir_opt: str):
    for text in (PROGRAM, SHARED, PAIRS):
        options = ("--outline-shape-computation", "--allow-unregistered-dialect")
        result = subprocess.run([mlir_opt, *options], input=text, text=True, capture_output=True, check=False)
        assert result.returncode == 0, result.stderr[:4000]
        assert signatures(str(outlined(text))) == signatures(result.stdout)
