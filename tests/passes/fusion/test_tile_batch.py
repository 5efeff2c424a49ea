"""Networks whose batch runs part by part: the same numbers as all at once, on NumPy and as native code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

import mind_lowering.native.program as native
import mind_runtime
from mind_dialect import ptir
from mind_dialect.op import value_of
from mind_dialect.program import functions
from mind_dialect.ptir import ScanOp
from mind_dialect.ptir.types import read_type
from mind_dialect.verify import verify
from mind_lowering.native.target_info import target_of
from mind_passes.functional import vjp
from mind_passes.fusion.tile_batch import Limits, tile_batch
from mind_passes.ptir import construct as c
from ptir_forms import program

TINY = Limits(large=256, part=256, step=0)
"""Under which everything of more than 256 bytes is worth it."""


def product(x: SSAValue, w: SSAValue) -> SSAValue:
    """The product of two matrices."""
    return ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,)).result


class Network:
    """A random network of images, with skips, branches and what needs the whole batch."""

    def __init__(self, seed: int, examples: int):
        self.rng = np.random.default_rng(seed)
        self.examples = examples
        self.ops = [str(self.rng.choice(KINDS[: 6 if i < 6 else 7])) for i in range(12)]

    def module(self) -> ModuleOp:
        """The function of the images and of its weights."""
        shapes = [(self.examples, 6, 6, 4), *((1, 1, 4, 4) if i % 2 else (3, 3, 4, 4) for i in range(6)), (4,), (4, 3)]
        return program(" ".join(f"f32[{','.join(map(str, s))}]" for s in shapes), self.body)

    def body(self, x: SSAValue, *weights: SSAValue) -> Sequence[SSAValue]:
        values, bias = [x, self.convolved(x, weights[0])], weights[6]
        for kind in self.ops:
            x = values[-1]
            if kind == "convolution":
                y = self.convolved(x, weights[int(self.rng.integers(6))])
            elif kind == "bias":
                y = c.add(x, c.broadcast(bias, c.dims(x)))
            elif kind == "skip":
                y = c.add(x, values[int(self.rng.integers(1, len(values)))])
            elif kind == "pool":
                y = self.pooled(x)
            elif kind == "tanh":
                y = c.make(ptir.TanhOp, x)
            else:  # over the whole batch, and back
                y = c.sub(x, c.broadcast(c.reduce_sum(x, (0,), keepdims=True), c.dims(x)))
            values.append(value_of(y))
        rows = value_of(c.reshape(values[-1], (self.examples * 36, 4)))
        return [product(rows, weights[7]), values[int(self.rng.integers(1, len(values)))]]

    def convolved(self, x: SSAValue, w: SSAValue) -> SSAValue:
        size = int(read_type(w.type).shape[0])
        padding = ((size // 2, size // 2),) * 2
        return ptir.ConvolutionOp(
            x, w, strides=(1, 1), padding=padding, base_dilation=(1, 1), window_dilation=(1, 1), feature_group_count=1
        ).result

    def pooled(self, x: SSAValue) -> SSAValue:
        one = (1, 1, 1, 1)
        padding = ((0, 0), (1, 1), (1, 1), (0, 0))
        return ptir.ReduceWindowOp(
            x, kind="max", window_dims=(1, 3, 3, 1), strides=one, padding=padding, base_dilation=one, window_dilation=one
        ).result


KINDS = ["convolution", "convolution", "bias", "skip", "pool", "tanh", "whole"]


def scans(module: ModuleOp) -> list[ScanOp]:
    return [op for func in functions(module) for op in func.walk() if isinstance(op, ScanOp)]


def values_of(module: ModuleOp, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    (func,) = functions(module)
    return [rng.standard_normal(read_type(a.type).shape).astype(np.float32) / 2 for a in func.body.block.args]


@pytest.mark.parametrize("examples", [4, 6, 7])
@pytest.mark.parametrize("seed", range(6))
def test_random_networks_on_numpy(seed: int, examples: int):
    module = Network(seed, examples).module()
    tiled = module.clone()
    assert tile_batch(tiled, limits=TINY)
    verify(tiled)
    assert len(scans(tiled)) == 1
    values = values_of(module, seed)
    for a, b in zip(mind_runtime.compile(module)(*values), mind_runtime.compile(tiled)(*values), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-5 * np.abs(a).max())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_random_networks_as_native_code(seed: int, threads: int, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("llvmlite")
    module = Network(seed, 6).module()
    values = values_of(module, seed)
    expected = mind_runtime.compile(module)(*values)
    monkeypatch.setattr(native, "tile_batch", lambda module, has_kernel: tile_batch(module, has_kernel, TINY))
    compiled = mind_runtime.compile(module, target="native", threads=threads)
    for a, b in zip(expected, compiled(*values), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5 * np.abs(a).max())


def layers(rows: int, width: int, dtype: str = "f32") -> ModuleOp:
    """Three products of so many rows."""
    sizes = [(32, width), (width, width), (width, 8)]

    def body(x: SSAValue, *weights: SSAValue) -> list[SSAValue]:
        for w in weights:
            x = c.make(ptir.TanhOp, product(x, w)).result
        return [x]

    return program(" ".join(f"{dtype}[{m},{n}]" for m, n in ((rows, 32), *sizes)), body)


@pytest.mark.parametrize(
    ("rows", "width", "dtype", "parts"),
    [
        (1 << 15, 128, "f32", 4),
        (1 << 15, 128, "f64", 8),
        (1 << 12, 128, "f32", 0),  # 2 MB between two layers
        (1 << 10, 4096, "f32", 0),  # more weights than values
        (1 << 15, 128, "fp8_e5m2", 0),  # no kernels
        (32771, 128, "f32", 0),  # a prime number
    ],
)
def test_which_layers_run_part_by_part_natively(rows: int, width: int, dtype: str, parts: int):
    pytest.importorskip("llvmlite")
    (func,) = functions(layers(rows, width, dtype))
    work = native.prepared(func, target_of("avx2"))
    assert [op.trip_count for op in work.walk() if isinstance(op, ScanOp)] == [parts] * (parts > 0)


def test_values_that_gradients_of_weights_read_are_stored_anyway():
    module = layers(1 << 15, 128)
    assert tile_batch(module.clone())
    (gradient,) = [func for func in functions(vjp(module)) if func.sym_name.data == "f_grad"]
    assert not tile_batch(ModuleOp([gradient.clone()]))
