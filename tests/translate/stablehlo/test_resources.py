"""Constants whose bytes are at the end of the text, as torch-mlir writes weights."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from mind_dialect.errors import MindParseError
from mind_translate.stablehlo import parse_stablehlo
from stablehlo_programs import Array, run, same, type_of

ARRAYS = [
    np.array([[1.5, -0.0], [np.inf, 3e-40]], np.float32),
    np.array([1, -2, 3], np.int64),
    np.array([True, False, True, True, False, True, True, True, False, True]),
    np.array([0.5, -1.25], ml_dtypes.bfloat16),
    np.array(7, np.int8),
    np.zeros((0, 2), np.float64),
]


def text(array: Array, digits: str, name: str = "torch_tensor_2_torch.float32") -> str:
    type = type_of(array)
    return f"""
func.func @main() -> {type} {{
  %0 = stablehlo.constant dense_resource<{name}> : {type}
  return %0 : {type}
}}
{{-#
  dialect_resources: {{
    builtin: {{
      other: "0x0400000001020304",
      {name}: "{digits}"
    }}
  }}
#-}}
"""


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: array.dtype.name)
def test_the_bytes_are_those_of_the_elements(array: Array) -> None:
    same(run(text(array, f"0x40000000{array.tobytes().hex().upper()}")), array)


def test_the_bits_of_truths() -> None:
    truths = ARRAYS[2]
    same(run(text(truths, f"0x04000000{np.packbits(truths, bitorder='little').tobytes().hex()}")), truths)


def test_what_mlir_writes() -> None:
    jax = pytest.importorskip("jax")
    ir = pytest.importorskip("jaxlib.mlir.ir")
    x = ARRAYS[0]
    with jax.jit(lambda x: x).lower(0.0).compiler_ir("stablehlo").context, ir.Location.unknown():
        type = ir.RankedTensorType.get(x.shape, ir.F32Type.get())
        module = ir.Module.parse(text(x, "0x04000000").replace("dense_resource<torch_tensor_2_torch.float32>", "dense<0.0>"))
        constant = module.body.operations[0].regions[0].blocks[0].operations[0]
        constant.attributes["value"] = ir.DenseResourceElementsAttr.get_from_buffer(memoryview(x), "weight", type, alignment=16)
        written = [str(module), module.operation.get_asm(print_generic_op_form=True)]
    for each in written:
        assert "dense_resource<weight" in each
        same(run(each), x)


@pytest.mark.parametrize(
    ("digits", "message"),
    [("0x04", "has no alignment"), ("0x0400000000", "hex data of 1 bytes"), ("0x040000000", "two digits for each byte")],
)
def test_wrong_bytes(digits: str, message: str) -> None:
    with pytest.raises(MindParseError, match=message) as found:
        parse_stablehlo(text(ARRAYS[0], digits), "f.mlir")
    assert found.value.error.code == "E1007"
    assert "f.mlir:3:" in str(found.value)


def test_a_name_without_bytes_is_refused() -> None:
    with pytest.raises(Exception, match="a constant in the resources of the text"):
        run(text(ARRAYS[0], "0x04").replace("dense_resource<torch", "dense_resource<absent"))
