"""Products of bytes less zero points, drawn: equal to those of 32-bit integers, on numpy and native, whatever the numbers are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from mind_dialect import ptir
from mind_dialect.program import functions
from mind_lowering.narrow_products import narrow_products
from mind_runtime import compile
from mind_tools.frontends import parse

Array = np.ndarray[Any, Any]


@dataclass
class Operand:
    """The text that computes an operand, and the arrays of its arguments."""

    lines: list[str]
    arguments: dict[str, tuple[str, Array]]


def text_of(dtype: str, shape: tuple[int, ...]) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{dtype}>"


def operand(
    rng: np.random.Generator, name: str, shape: tuple[int, ...], contract: tuple[int, ...], kind: str, *, fixed: bool
) -> Operand:
    """Return bytes of a kind in 32 bits, less no zero point, or one number, or one for each place along other axes."""
    dtype = "ui8" if "u" in kind else "si8"
    low = 0 if dtype == "ui8" else -128
    array = rng.integers(low, low + 256, shape).astype(np.uint8 if dtype == "ui8" else np.int8)
    wide, given = text_of("si32", shape), text_of(dtype, shape)
    arguments: dict[str, tuple[str, Array]] = {}
    lines = [f"%{name}w = ptir.cast %{name} dtype = si32 : {given} -> {wide}"]
    if fixed:
        lines.insert(0, f"%{name} = ptir.constant {array.tolist()} : {given}")
    else:
        arguments[name] = (given, array)
    if "z" not in kind and "v" not in kind:
        return Operand(lines, arguments)
    own = tuple(1 if a in contract else n for a, n in enumerate(shape)) if "v" in kind else ()
    zero = rng.choice([-(2**31), 2**31 - 1, 0, 5, 128, 255], own) if "far" in kind else rng.integers(-3, 256, own)
    arguments[f"{name}z"] = (text_of("si32", own), np.asarray(zero, np.int32))
    sizes = ", ".join(map(str, shape))
    lines.append(f"%{name}s = ptir.broadcast_to %{name}z result_shape = [{sizes}] : {text_of('si32', own)} -> {wide}")
    lines.append(f"%{name}d = ptir.sub %{name}w, %{name}s : {wide}")
    return Operand(lines, arguments)


def program(
    lhs: Operand, rhs: Operand, shapes: list[tuple[int, ...]], roles: dict[str, tuple[int, ...]], out: tuple[int, ...]
) -> Any:
    ends = [f"%{n}{'d' if any(line.startswith(f'%{n}d') for line in o.lines) else 'w'}" for n, o in (("a", lhs), ("b", rhs))]
    stated = " ".join(f"{k} = [{', '.join(map(str, v))}]" for k, v in roles.items())
    types = f"({', '.join(text_of('si32', s) for s in shapes)}) -> {text_of('si32', out)}"
    given = ", ".join(f"%{n}: {t}" for n, (t, _) in {**lhs.arguments, **rhs.arguments}.items())
    body = "\n".join([*lhs.lines, *rhs.lines, f"%y = ptir.dot_general {ends[0]}, {ends[1]} {stated} : {types}"])
    return parse(
        'module attributes {ptir.spec_version = "ptir.v0.4"} {\n'
        f"func.func @f({given}) -> {text_of('si32', out)} {{\n{body}\nfunc.return %y : {text_of('si32', out)}\n}}\n}}"
    )


NAMES = ("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs")
FORMS: dict[str, tuple[list[tuple[int, ...]], list[tuple[int, ...]], tuple[int, ...]]] = {
    "matrices": ([(13, 36), (36, 17)], [(), (), (1,), (0,)], (13, 17)),
    "a row": ([(1, 64), (64, 70)], [(), (), (1,), (0,)], (1, 70)),
    "turned": ([(40, 9), (21, 40)], [(), (), (0,), (1,)], (9, 21)),
    "three axes": ([(2, 7, 32), (32, 19)], [(), (), (2,), (0,)], (2, 7, 19)),
    "batches": ([(5, 3, 16), (16, 3, 20)], [(1,), (1,), (2,), (0,)], (3, 5, 20)),
    "two contracted": ([(8, 6, 4), (4, 8, 33)], [(), (), (0, 2), (1, 0)], (6, 33)),
    "two own": ([(6, 24, 5), (3, 24, 7)], [(), (), (1,), (1,)], (6, 5, 3, 7)),
}
"""Shapes of operands, their axes by `NAMES`, and the shape of the result."""
KINDS = ["s", "u", "sz", "uz", "sv", "uv", "uz far", "sv far"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kinds", [(a, b) for i, a in enumerate(KINDS) for b in KINDS[i % 2 :: 2]], ids="-".join)
def test_products_are_equal(form: str, kinds: tuple[str, str]) -> None:
    shapes, axes, out = FORMS[form]
    roles = dict(zip(NAMES, axes, strict=True))
    rng = np.random.default_rng([*form.encode(), *"".join(kinds).encode()])
    fixed = bool(rng.integers(2))
    lhs = operand(rng, "a", shapes[0], roles["contract_lhs"], kinds[0], fixed=False)
    rhs = operand(rng, "b", shapes[1], roles["contract_rhs"], kinds[1], fixed=fixed)
    module = program(lhs, rhs, shapes, roles, out)
    arrays = [array for _, array in {**lhs.arguments, **rhs.arguments}.values()]
    expected = compile(module.clone())(*arrays)
    changed = module.clone()
    assert narrow_products(changed)
    (func,) = functions(changed)
    (product,) = [op for op in func.walk() if isinstance(op, ptir.DotGeneralOp)]
    assert "si8" in str(product.lhs.type)
    assert "si8" in str(product.rhs.type)
    np.testing.assert_array_equal(compile(changed)(*arrays), expected)
    np.testing.assert_array_equal(compile(module, target="native")(*arrays), expected)


def plain(rows: int, depth: int, dtype: str = "si8") -> Any:
    return parse(f"""
module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<{rows}x{depth}x{dtype}>, %w: tensor<{depth}x40xsi8>) -> tensor<{rows}x40xsi32> {{
    %a = ptir.cast %x dtype = si32 : tensor<{rows}x{depth}x{dtype}> -> tensor<{rows}x{depth}xsi32>
    %b = ptir.cast %w dtype = si32 : tensor<{depth}x40xsi8> -> tensor<{depth}x40xsi32>
    %y = ptir.dot_general %a, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
      : (tensor<{rows}x{depth}xsi32>, tensor<{depth}x40xsi32>) -> tensor<{rows}x40xsi32>
    func.return %y : tensor<{rows}x40xsi32>
  }}
}}""")


def test_other_products_stay() -> None:
    assert narrow_products(plain(40, 64))
    assert not narrow_products(plain(40, 63))
    assert not narrow_products(plain(1, 4))
    assert not narrow_products(plain(40, 64, "si16"))
    assert not narrow_products(plain(40, 64), lambda op: False)


@pytest.mark.parametrize("weights", [[-128, 127], [-128, 128], [-129, 0]])
def test_constants_of_32_bits_are_bytes_where_they_fit(weights: list[int]) -> None:
    """Weights that another pass has computed: those that are no bytes leave the product as it is."""
    numbers = np.resize(np.array(weights, np.int32), (64, 40))
    module = parse(f"""
module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<8x64xui8>) -> tensor<8x40xsi32> {{
    %a = ptir.cast %x dtype = si32 : tensor<8x64xui8> -> tensor<8x64xsi32>
    %b = ptir.constant {numbers.tolist()} : tensor<64x40xsi32>
    %y = ptir.dot_general %a, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
      : (tensor<8x64xsi32>, tensor<64x40xsi32>) -> tensor<8x40xsi32>
    func.return %y : tensor<8x40xsi32>
  }}
}}""")
    x = np.random.default_rng(1).integers(0, 256, (8, 64)).astype(np.uint8)
    changed = module.clone()
    assert narrow_products(changed) == (weights == [-128, 127])
    for made in (compile(changed), compile(module, target="native")):
        np.testing.assert_array_equal(made(x), x.astype(np.int32) @ numbers)


CONVOLUTIONS: dict[str, tuple[list[int], list[list[int]], list[int]]] = {
    "padded": ([1, 1], [[1, 1], [2, 0]], [1, 1]),
    "by steps": ([2, 3], [[0, 1], [1, 1]], [1, 1]),
    "with holes": ([1, 1], [[2, 2], [2, 1]], [2, 2]),
    "inside": ([1, 1], [[0, 0], [0, 0]], [1, 1]),
}
"""Strides, padding and dilations."""


def convolution(
    form: str,
    zero: int,
    dtype: str,
    window: int,
    channels: int = 16,
    *,
    filters_less: bool = False,
    groups: int = 1,
    points: str = "8x",
) -> Any:
    """Return a convolution of an image with channels second, as ONNX has them, less a zero point; filters may have one each."""
    strides, padding, dilations = CONVOLUTIONS[form]
    each = zip((9, 11), strides, padding, dilations, strict=True)
    places = [(n + sum(pads) - (window - 1) * d - 1) // s + 1 for n, s, pads, d in each]
    image, turned, filters = f"2x{channels}x9x11", f"2x9x11x{channels}", f"{window}x{window}x{channels // groups}x8"
    result = f"tensor<2x{places[0]}x{places[1]}x8xsi32>"
    sizes = f"[{window}, {window}, {channels // groups}, 8]"
    return parse(f"""
module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<{image}x{dtype}>, %w: tensor<{filters}xsi8>, %wz: tensor<{points}si32>) -> {result} {{
    %u = ptir.cast %x dtype = si32 : tensor<{image}x{dtype}> -> tensor<{image}xsi32>
    %z = ptir.constant fill {zero} : tensor<{image}xsi32>
    %d = ptir.sub %u, %z : tensor<{image}xsi32>
    %a = ptir.transpose %d perm = [0, 2, 3, 1] : tensor<{image}xsi32> -> tensor<{turned}xsi32>
    %v = ptir.cast %w dtype = si32 : tensor<{filters}xsi8> -> tensor<{filters}xsi32>
    %y = ptir.broadcast_to %wz result_shape = {sizes} : tensor<{points}si32> -> tensor<{filters}xsi32>
    %b = ptir.sub %v, %y : tensor<{filters}xsi32>
    %r = ptir.convolution %a, {"%b" if filters_less else "%v"} strides = {strides} padding = {padding} base_dilation = [1, 1]
      window_dilation = {dilations} feature_group_count = {groups} : (tensor<{turned}xsi32>, tensor<{filters}xsi32>) -> {result}
    func.return %r : {result}
  }}
}}""")


@pytest.mark.parametrize("form", CONVOLUTIONS)
@pytest.mark.parametrize(("dtype", "zero"), [("ui8", 0), ("ui8", 131), ("ui8", 255), ("si8", 0), ("si8", -128), ("si8", 127)])
@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("filters_less", [False, True])
def test_convolutions_are_equal(form: str, dtype: str, zero: int, window: int, *, filters_less: bool) -> None:
    module = convolution(form, zero, dtype, window, filters_less=filters_less)
    rng = np.random.default_rng([window, zero + 128])
    x = rng.integers(0, 256, (2, 16, 9, 11)).astype(np.uint8)
    arrays = x if dtype == "ui8" else x.view(np.int8), rng.integers(-128, 128, (window, window, 16, 8)).astype(np.int8)
    zeros = rng.integers(-200, 200, 8).astype(np.int32)
    expected = compile(module.clone())(*arrays, zeros)
    changed = module.clone()
    assert narrow_products(changed)
    np.testing.assert_array_equal(compile(changed)(*arrays, zeros), expected)
    np.testing.assert_array_equal(compile(module, target="native")(*arrays, zeros), expected)


@pytest.mark.parametrize("form", CONVOLUTIONS)
@pytest.mark.parametrize("channels", [3, 5, 7])
@pytest.mark.parametrize("zero", [0, 131])
def test_channels_that_fill_no_words_are_padded(form: str, channels: int, zero: int) -> None:
    module = convolution(form, zero, "ui8", 3, channels)
    rng = np.random.default_rng(channels)
    x = rng.integers(0, 256, (2, channels, 9, 11)).astype(np.uint8)
    arrays = x, rng.integers(-128, 128, (3, 3, channels, 8)).astype(np.int8), np.zeros(8, np.int32)
    expected = compile(module.clone())(*arrays)
    changed = module.clone()
    assert narrow_products(changed)
    np.testing.assert_array_equal(compile(changed)(*arrays), expected)
    np.testing.assert_array_equal(compile(module, target="native")(*arrays), expected)


@pytest.mark.parametrize("points", ["", "1x", "1x8x", "1x1x1x1x"])
def test_filters_may_share_a_zero_point_that_is_data(points: str) -> None:
    module = convolution("padded", 131, "ui8", 3, filters_less=True, points=points)
    rng = np.random.default_rng(1)
    x, w = rng.integers(0, 256, (2, 16, 9, 11)).astype(np.uint8), rng.integers(-128, 128, (3, 3, 16, 8)).astype(np.int8)
    zeros = rng.integers(-200, 200, [int(n) for n in points.split("x") if n]).astype(np.int32)
    expected = compile(module.clone())(x, w, zeros)
    changed = module.clone()
    assert narrow_products(changed)
    np.testing.assert_array_equal(compile(changed)(x, w, zeros), expected)
    np.testing.assert_array_equal(compile(module, target="native")(x, w, zeros), expected)


def test_other_convolutions_stay() -> None:
    assert not narrow_products(convolution("padded", 3, "ui8", 3, groups=2))
    assert not narrow_products(convolution("padded", 3, "ui8", 3, channels=2))
    assert not narrow_products(convolution("padded", 3, "ui8", 3, channels=5, filters_less=True))
    assert not narrow_products(convolution("padded", 256, "ui8", 3))
    assert not narrow_products(convolution("padded", 3, "si16", 3))
