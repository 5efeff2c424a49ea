"""Group norm: one kernel over the rows of groups on the native target, however it is written, and `ptir.layer_norm` in the IR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context

from mind_dialect import ptir
from mind_lowering.ptir_optimize import PtirOptimizePass
from mind_passes.ptir.recognize import recognize
from mind_runtime import compile

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("llvmlite", reason="llvmlite is not installed")
from torch import nn  # noqa: E402, after the skip

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from mind_bridges.torch_export import as_array  # noqa: E402, after the skip

GROUPS, CHANNELS = 4, 8


class Written(nn.Module):
    """Group norm by elementary ops, of groups as rows or over several axes."""

    def __init__(self, several: bool):
        super().__init__()
        self.several = several
        self.weight, self.bias = nn.Parameter(torch.randn(CHANNELS)), nn.Parameter(torch.randn(CHANNELS))

    def forward(self, x: Any) -> Any:
        """Normalise."""
        b, c, h, w = x.shape
        y = x.reshape(b, GROUPS, c // GROUPS, h, w) if self.several else x.reshape(b, GROUPS, -1)
        axes = tuple(range(2, y.ndim))
        mean = y.mean(axes, keepdim=True)
        variance = ((y - mean) ** 2).mean(axes, keepdim=True)
        y = ((y - mean) / torch.sqrt(variance + 1e-5)).reshape(b, c, h, w)
        return y * self.weight[None, :, None, None] + self.bias[None, :, None, None]


FORMS: dict[str, Callable[[], Any]] = {
    "GroupNorm": lambda: nn.GroupNorm(GROUPS, CHANNELS),
    "rows": lambda: Written(False),
    "several axes": lambda: Written(True),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_group_norm_of_torch_is_one_kernel_of_rows(name: str) -> None:
    torch.manual_seed(0)
    model, x = FORMS[name]().eval(), torch.randn(2, CHANNELS, 6, 5)
    module, weights = from_torch(model, x)
    program = compile(module, "main", "native")
    kernels = [line for line in program.explain() if line.startswith("native")]
    assert sum("reduce" in line for line in kernels) == 1
    assert len(kernels) == 2  # the rows, then scale and bias of channels
    reference = nn.functional.group_norm(x, GROUPS, model.weight, model.bias)
    np.testing.assert_allclose(program(*weights.values(), as_array(x)), as_array(reference), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["GroupNorm", "rows"])
def test_rows_of_groups_are_recognised_as_a_norm(name: str) -> None:
    module, _ = from_torch(FORMS[name]().eval(), torch.randn(2, CHANNELS, 6, 5))
    PtirOptimizePass().apply(Context(), module)
    recognize(module)
    (norm,) = [op for op in module.walk() if isinstance(op, ptir.LayerNormOp)]
    assert norm.operand_spec(0).shape == (2, GROUPS, CHANNELS // GROUPS * 30)


@pytest.mark.parametrize("opset", [18, 21])
def test_a_group_norm_of_onnx_is_one_kernel_of_rows(opset: int) -> None:
    onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")
    from mind_translate.onnx import read_onnx

    h = onnx.helper
    node = h.make_node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=GROUPS, epsilon=1e-5)
    size = CHANNELS if opset == 21 else GROUPS
    shapes = {"x": [2, CHANNELS, 6, 5], "s": [size], "b": [size]}
    values = [h.make_tensor_value_info(n, 1, s) for n, s in shapes.items()]
    graph = h.make_graph([node], "g", values, [h.make_tensor_value_info("y", 1, shapes["x"])])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10).SerializeToString()
    program = compile(read_onnx(model), target="native")
    assert sum("reduce" in line for line in program.explain() if line.startswith("native")) == 1
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype(np.float32) for s in shapes.values()]
    of_channels = [np.repeat(a, CHANNELS // size) for a in arrays[1:]]
    reference = nn.functional.group_norm(torch.from_numpy(arrays[0]), GROUPS, *map(torch.from_numpy, of_channels))
    np.testing.assert_allclose(program(*arrays), as_array(reference), rtol=1e-5, atol=1e-5)
