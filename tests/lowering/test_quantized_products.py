"""Products of dequantized bytes: equal to sums in f64 but for a few roundings, on numpy and native, and what stays in f32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from mind_dialect import ptir
from mind_dialect.ptir.types import DTYPES
from mind_lowering.quantized_products import quantized_products
from mind_runtime import compile
from ptir_forms import program

Array = np.ndarray[Any, Any]


def numbers(seed: int, dtype: str, shape: Sequence[int]) -> Array:
    rng = np.random.default_rng(seed)
    if dtype == "f32":
        return (rng.random(shape) * 0.02 + 0.001).astype(np.float32)
    low = 0 if dtype == "ui8" else -128
    return rng.integers(low, low + 256, shape).astype(np.uint8 if dtype == "ui8" else np.int8)


def dequantized(x: Array, scale: Array, zero: Array, axis: int | None) -> Array:
    shape = tuple(-1 if a == axis else 1 for a in range(x.ndim)) if axis is not None else ()
    return (x.astype(np.float64) - zero.astype(np.float64).reshape(shape)) * scale.astype(np.float64).reshape(shape)


Operand = tuple[str, tuple[int, ...], int | None]
"""A dtype of bytes, a shape, and the axis of scales and zero points, if there is one."""


def layer(
    left: Operand, right: Operand, product: Callable[[Any, Any], Any], *, fixed: bool
) -> tuple[Any, list[Array], list[Array]]:
    """A program that multiplies dequantized operands, their arrays, and its arguments; `fixed` zero points are constants."""
    types: list[str] = []
    arrays: list[Array] = []
    for dtype, shape, axis in (left, right):
        own = () if axis is None else (shape[axis],)
        for kind, extents in ((dtype, shape), ("f32", own), (dtype, own)):
            types.append(f"{kind}[{','.join(map(str, extents))}]")
            arrays.append(numbers(len(arrays), kind, extents))
    held = (2, 5) if fixed else ()
    arrays = [np.zeros_like(x) if fixed and i == 5 else x for i, x in enumerate(arrays)]

    def body(*given: Any) -> Any:
        values = iter(given)
        v = [literal(arrays[i]) if i in held else next(values) for i in range(6)]
        ends = [
            ptir.DequantizeOp(*v[k : k + 3], **({} if at is None else {"axis": at})) for k, at in ((0, left[2]), (3, right[2]))
        ]
        return product(*ends)

    free = [i for i in range(6) if i not in held]
    return program(" ".join(types[i] for i in free), body), arrays, [arrays[i] for i in free]


def literal(x: Array) -> Any:
    dtype = DTYPES[{"uint8": "ui8", "int8": "si8"}[x.dtype.name]]
    return ptir.ConstantOp(ptir.PtirLiteralAttr.from_bytes(dtype, x.shape, x.tobytes()))


def dot(lhs: int, rhs: int, batch: tuple[int, ...] = ()) -> Callable[[Any, Any], Any]:
    return lambda a, b: ptir.DotGeneralOp(a, b, batch_lhs=batch, batch_rhs=batch, contract_lhs=(lhs,), contract_rhs=(rhs,))


def convolved(strides: int = 1, padding: int = 1, groups: int = 1) -> Callable[[Any, Any], Any]:
    ones = (1, 1)
    return lambda x, w: ptir.ConvolutionOp(
        ptir.TransposeOp(x, perm=(0, 2, 3, 1)), ptir.TransposeOp(w, perm=(2, 3, 1, 0)), strides=(strides,) * 2,
        padding=((padding, padding),) * 2, base_dilation=ones, window_dilation=ones, feature_group_count=groups,
    )  # fmt: skip


def patches(x: Array, w: Array, strides: int, padding: int) -> Array:
    """A convolution of images and filters with channels first, in f64; channels are last in the result."""
    x = np.pad(x, [(0, 0), (0, 0), (padding,) * 2, (padding,) * 2])
    found = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::strides, ::strides]
    return np.einsum("nchwij,ocij->nhwo", found, w)


CASES: dict[str, tuple[Any, Any, Any, Callable[[Array, Array], Array]]] = {
    "bytes": (("si8", (13, 64), None), ("si8", (64, 24), None), dot(1, 0), lambda a, b: a @ b),
    "unsigned": (("ui8", (13, 64), None), ("ui8", (64, 24), None), dot(1, 0), lambda a, b: a @ b),
    "scales of columns": (("ui8", (13, 64), None), ("si8", (64, 24), 1), dot(1, 0), lambda a, b: a @ b),
    "scales of rows": (("si8", (13, 64), 0), ("si8", (64, 24), None), dot(1, 0), lambda a, b: a @ b),
    "scales of both": (("si8", (13, 64), 0), ("ui8", (24, 64), 0), dot(1, 1), lambda a, b: a @ b.T),
    "batches": (("si8", (3, 13, 64), 1), ("si8", (3, 64, 24), 0), dot(2, 1, (0,)), lambda a, b: a @ b),
    "turned": (
        ("si8", (64, 13), 1), ("si8", (24, 64), 0),
        lambda a, b: dot(1, 0)(ptir.TransposeOp(a, perm=(1, 0)), ptir.TransposeOp(b, perm=(1, 0))), lambda a, b: a.T @ b.T,
    ),
    "a convolution": (
        ("ui8", (2, 8, 9, 7), None), ("si8", (12, 8, 3, 3), 0), convolved(), lambda x, w: patches(x, w, 1, 1),
    ),
    "strides": (("si8", (1, 16, 17, 17), None), ("si8", (8, 16, 1, 1), 0), convolved(2, 0), lambda x, w: patches(x, w, 2, 0)),
    "an image of three channels": (
        ("ui8", (1, 3, 32, 32), None), ("si8", (16, 3, 3, 3), None), convolved(2, 1), lambda x, w: patches(x, w, 2, 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", CASES)
def test_sums_are_those_of_numbers(name: str, target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    left, right, product, reference = CASES[name]
    module, arrays, arguments = layer(left, right, product, fixed=len(left[1]) == 4)
    expected = reference(dequantized(*arrays[:3], left[2]), dequantized(*arrays[3:], right[2]))
    found = compile(module, target=target)(*arguments)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * float(abs(expected).max()))


@pytest.mark.parametrize("name", CASES)
def test_the_rewrite_alone(name: str) -> None:
    left, right, product, reference = CASES[name]
    module, arrays, arguments = layer(left, right, product, fixed=len(left[1]) == 4)
    assert quantized_products(module)
    dtypes = [str(v.type) for op in module.walk() if isinstance(op, ptir.DotGeneralOp) for v in op.operands]
    assert len(dtypes) == 2
    assert all("si8" in dtype for dtype in dtypes)
    expected = reference(dequantized(*arrays[:3], left[2]), dequantized(*arrays[3:], right[2]))
    np.testing.assert_allclose(compile(module)(*arguments), expected, rtol=4e-7)  # three roundings, however long the sums are


STAYS: dict[str, tuple[Any, Any, Any]] = {
    "scales along the depth": (("si8", (13, 64), 1), ("si8", (64, 24), None), dot(1, 0)),
    "scales of weights along the depth": (("si8", (13, 64), None), ("si8", (64, 24), 0), dot(1, 0)),
    "16 bits": (("si16", (13, 64), None), ("si8", (64, 24), None), dot(1, 0)),
    "a depth that fills no words": (("si8", (13, 63), None), ("si8", (63, 24), None), dot(1, 0)),
    "little work": (("si8", (2, 8), None), ("si8", (8, 2), None), dot(1, 0)),
    "groups": (("si8", (1, 8, 9, 9), None), ("si8", (8, 1, 3, 3), 0), convolved(groups=8)),
    "scales of the image's channels": (("si8", (1, 8, 9, 9), 1), ("si8", (8, 8, 3, 3), 0), convolved()),
    "scales of a filter's channels": (("si8", (1, 8, 9, 9), None), ("si8", (8, 8, 3, 3), 1), convolved()),
    "sums that 32 bits do not hold": (("si8", (1, 1 << 16), None), ("si8", (1 << 16, 8), None), dot(1, 0)),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_stays(name: str) -> None:
    left, right, product = STAYS[name]
    types = [
        f"{d}[{','.join(map(str, s))}] f32[{'' if a is None else s[a]}] {d}[{'' if a is None else s[a]}]"
        for d, s, a in (left, right)
    ]
    properties = [{} if a is None else {"axis": a} for _, _, a in (left, right)]
    module = program(
        " ".join(types),
        lambda *v: product(ptir.DequantizeOp(*v[:3], **properties[0]), ptir.DequantizeOp(*v[3:], **properties[1])),
    )
    before = str(module)
    assert not quantized_products(module)
    assert str(module) == before
    assert all(use.operation.parent is not None for op in module.walk() for v in op.results for use in v.uses)


def test_a_product_with_floats_stays() -> None:
    module = program("si8[13,64] f32[] si8[] f32[64,24]", lambda x, s, z, w: dot(1, 0)(ptir.DequantizeOp(x, s, z), w))
    assert not quantized_products(module)


def test_an_image_whose_zero_point_is_data_stays() -> None:
    left, right, product, _ = CASES["a convolution"]
    assert not quantized_products(layer(left, right, product, fixed=False)[0])


def test_the_machine_may_refuse() -> None:
    left, right, product, _ = CASES["bytes"]
    assert not quantized_products(layer(left, right, product, fixed=False)[0], lambda op: False)
