"""Attributes at the limits of their types: both targets give one result or one error."""

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_passes.shape.mask_padding import mask_padding
from mind_runtime import compile
from mind_tools.frontends import parse
from ptir_evaluator import function_of

HEAD = 'builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {'
TARGETS = ("numpy", "native")


def _native(target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("start", [100, 2**62 - 3, 2**62 - 2, 2**62, 2**63 - 4])
def test_a_slice_beyond_every_size_is_refused(start: int, target: str) -> None:
    _native(target)
    text = f"""{HEAD}
      func.func @f(%x: tensor<?xf32, "B">) -> tensor<3xf32> {{
        %0 = ptir.slice %x starts = [{start}] sizes = [3] : tensor<?xf32, "B"> -> tensor<3xf32>
        func.return %0 : tensor<3xf32>
      }}
    }}"""
    with pytest.raises(MindError) as found:
        compile(parse(text), target=target)(np.ones(3, np.float32))
    assert found.value.code == "E4012"


WINDOWS = {
    "gather": """func.func @f(%x: tensor<?xf32, "N">, %i: tensor<0x1xsi64>) -> tensor<0xSIZExf32> {
      %0 = ptir.gather_windows %x, %i offset_dims = [1] collapsed_slice_dims = [] operand_batching_dims = []
        start_indices_batching_dims = [] start_index_map = [0] index_vector_dim = 1 slice_sizes = [SIZE] mode = clamp
        : (tensor<?xf32, "N">, tensor<0x1xsi64>) -> tensor<0xSIZExf32>
      func.return %0 : tensor<0xSIZExf32>
    }""",
    "scatter": """func.func @f(%x: tensor<?xf32, "N">, %i: tensor<0x1xsi64>, %y: tensor<0xSIZExf32>) -> tensor<?xf32, "N"> {
      %0 = ptir.scatter_windows %x, %i, %y kind = add update_window_dims = [1] inserted_window_dims = []
        input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1
        mode = drop unique = false : (tensor<?xf32, "N">, tensor<0x1xsi64>, tensor<0xSIZExf32>) -> tensor<?xf32, "N">
      func.return %0 : tensor<?xf32, "N">
    }""",
}


@pytest.mark.parametrize("size", [2**62, 2**63 - 1])
@pytest.mark.parametrize("op", WINDOWS)
def test_a_window_beyond_every_size_is_refused(op: str, size: int) -> None:
    with pytest.raises(MindError, match=f"{size}.*at dimension") as found:
        compile(parse(f"{HEAD}{WINDOWS[op].replace('SIZE', str(size))}}}"))
    assert found.value.code == "E4012"


@pytest.mark.parametrize("target", TARGETS)
def test_an_epsilon_beyond_the_dtype_is_infinity(target: str) -> None:
    _native(target)
    text = f"""{HEAD}
      func.func @f(%x: tensor<2x3xf32>, %g: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {{
        %0 = ptir.layer_norm %x, %g, %b epsilon = 1.0e300 feature_axis = 1
          : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
        func.return %0 : tensor<2x3xf32>
      }}
    }}"""
    x, bias = np.arange(6, dtype=np.float32).reshape(2, 3), np.float32([1, 2, 3])
    np.testing.assert_array_equal(compile(parse(text), target=target)(x, np.ones(3, np.float32), bias), [bias, bias])


@pytest.mark.parametrize(
    ("given", "extents", "made"),
    [
        ('?x0xf32, "B,*"', "0, 0", "0x0xf32"),
        ('?x0xf32, "B,*"', "2, B, 0", '2x?x0xf32, "*,B,*"'),
        ('0x?x0xf32, "*,B,*"', "B, 0", '?x0xf32, "B,*"'),
    ],
)
def test_a_reshape_without_elements_is_left_to_padding(given: str, extents: str, made: str) -> None:
    module = parse(f"""{HEAD}
      func.func @f(%x: tensor<{given}>) -> tensor<{made}> {{
        %0 = ptir.reshape %x new_shape = [{extents}] : tensor<{given}> -> tensor<{made}>
        func.return %0 : tensor<{made}>
      }}
    }}""")
    func = function_of(module)
    assert list(mask_padding(func)) == ["B"]
    assert any(op.name == "ptir.reshape" for op in func.walk())
