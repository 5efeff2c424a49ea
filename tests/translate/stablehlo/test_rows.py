"""Rows of the tables against NumPy: one small program each, on every executor that is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from mind_passes.functional import vjp
from mind_runtime import compile
from stablehlo_programs import EXECUTORS, Array, ops, program, read, run, same, type_of

RNG = np.random.default_rng(7)
F = RNG.normal(size=(3, 4)).astype(np.float32)
G = RNG.normal(size=(3, 4)).astype(np.float32)
N = RNG.integers(-100, 100, (3, 4)).astype(np.int32)
J = np.array([[0, 1, -1, 7], [3, 0, -5, 2], [0, 0, 40, -3]], np.int32)
Z = (RNG.normal(size=5) + 1j * RNG.normal(size=5)).astype(np.complex64)
B = np.array([True, False, True, False])
C = np.array([True, True, False, False])


@dataclass(frozen=True)
class Row:
    """A program of one op, its inputs and what NumPy says."""

    name: str
    body: str
    inputs: tuple[Any, ...]
    expected: Any
    tolerance: float = 0.0

    def text(self) -> str:
        """The program; `{0}`, `{1}` in the body are the types of inputs, `{r}` those of results."""
        results = self.expected if isinstance(self.expected, tuple) else (self.expected,)
        types = [type_of(v) for v in self.inputs]
        arguments = ", ".join(f"%{name}: {t}" for name, t in zip("abcdef", types, strict=False))
        shown = ", ".join(type_of(v) for v in results)
        body = self.body.replace("{r}", shown if len(results) == 1 else f"({shown})")
        for i, t in enumerate(types):
            body = body.replace(f"{{{i}}}", t)
        return program(arguments, body, shown)


def unary(name: str, function: Callable[[Array], Any], x: Array, tolerance: float = 0.0) -> Row:
    body = f"%r = stablehlo.{name} %a : ({{0}}) -> {{r}}"
    return Row(f"{name} {x.dtype}", body, (x,), np.asarray(function(x)), tolerance)


def binary(name: str, function: Callable[[Array, Array], Any], x: Array, y: Array, tolerance: float = 0.0) -> Row:
    return Row(f"{name} {x.dtype}", f"%r = stablehlo.{name} %a, %b : ({{0}}, {{1}}) -> {{r}}", (x, y), function(x, y), tolerance)


def compared(direction: str, function: Callable[[Array, Array], Any], x: Array, y: Array, kind: str = "FLOAT") -> Row:
    body = f"%r = stablehlo.compare {direction}, %a, %b, {kind} : ({{0}}, {{1}}) -> {{r}}"
    return Row(f"compare {direction} {kind} {x.dtype}", body, (x, y), function(x, y))


def divided(x: Array, y: Array) -> Array:
    """StableHLO's integer division: toward zero, by zero all ones."""
    wide = np.where(y == 0, -1, np.trunc(x.astype(np.float64) / np.where(y == 0, 1, y)))
    return wide.astype(np.int64).astype(x.dtype)


def remaining(x: Array, y: Array) -> Array:
    """With the sign of the dividend; by zero the dividend."""
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, 1, y))).astype(x.dtype)


def powered(x: Array, y: Array) -> Array:
    """Integers to the power of integers, wrapping."""
    bits = x.dtype.itemsize * 8

    def one(a: int, b: int) -> int:
        if b >= 0:
            return pow(a, b, 1 << bits)
        return {1: 1, -1: 1 if b % 2 == 0 else -1, 0: -1}.get(a, 0)

    flat = [one(int(a), int(b)) for a, b in zip(x.ravel(), y.ravel(), strict=True)]
    return np.array([n - (1 << bits) if n >= 1 << (bits - 1) else n for n in flat]).astype(x.dtype).reshape(x.shape)


ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5], np.float32)
WIDE = np.array([300, -300, 65536, -1, 2**31 - 1, -(2**31), 0], np.int32)

ELEMENTWISE = [
    binary("add", np.add, F, G),
    binary("add", np.add, N, J),
    binary("add", np.logical_or, B, C),
    binary("multiply", np.logical_and, B, C),
    binary("subtract", np.logical_xor, B, C),
    binary("maximum", np.logical_or, B, C),
    binary("minimum", np.logical_and, B, C),
    binary("xor", np.logical_xor, B, C),
    binary("divide", divided, N, J),
    binary("divide", np.divide, F, G, 1e-6),
    binary("remainder", remaining, N, J),
    binary("remainder", np.fmod, F, G, 1e-6),
    binary("power", powered, N, np.abs(J)),
    binary("power", powered, J, np.array([[-3, -2, -1, 0], [1, -1, 31, 33], [-2, 0, 5, -1]], np.int32)),
    binary("power", lambda x, y: x**y, np.abs(F), G, 1e-5),
    binary("shift_left", lambda x, y: np.left_shift(x, y), N, np.abs(J) % 32),
    unary("abs", np.abs, F),
    unary("abs", np.abs, N),
    unary("abs", lambda x: x, np.arange(4, dtype=np.uint8)),
    unary("abs", np.abs, Z, 1e-6),
    unary("sign", np.sign, N),
    unary("sign", lambda x: np.minimum(x, 1), np.arange(4, dtype=np.uint8)),
    unary("sign", lambda x: x / np.abs(x), Z, 1e-6),
    unary("is_finite", np.isfinite, ODD),
    unary("real", np.real, Z),
    unary("imag", np.imag, Z),
    unary("logistic", lambda x: 1 / (1 + np.exp(-x)), Z, 1e-5),
    unary("exponential_minus_one", np.expm1, F * np.float32(1e-4), 1e-10),
    unary("exponential_minus_one", np.expm1, Z * np.complex64(1e-4), 1e-9),
    unary("log_plus_one", lambda z: np.log1p(z.astype(np.complex128)).astype(np.complex64), Z * np.complex64(1e-4), 1e-9),
    unary("tan", np.tan, F, 1e-5),
    unary("tan", np.tan, Z, 1e-5),
    unary("tan", np.tan, np.array([1 + 100j, 0.5 - 95j, -2 + 45j, 3e4 + 0.5j, 1e-20j], np.complex64), 1e-5),
    unary("convert", lambda x: x.astype(np.int8), WIDE),
    unary("convert", lambda x: x.astype(np.uint8), WIDE),
    unary("convert", lambda x: x.astype(np.uint32), WIDE),
    unary("convert", lambda x: x.astype(np.uint64), WIDE),
    unary("convert", lambda x: x != 0, ODD),
    unary("convert", lambda x: np.array([0, 2**31 - 1, -(2**31), 0, 0, 1, -2], np.int32), ODD),
    unary("convert", np.real, Z),
    unary("convert", lambda x: x.astype(np.complex64), F),
    unary("bitcast_convert", lambda x: x.view(np.int32), F),
    unary("bitcast_convert", lambda x: x.view(np.float16).reshape(3, 4, 2), F),
    unary("bitcast_convert", lambda x: x.view(np.float32).reshape(3), N.astype(np.uint8)),
    Row("complex", "%r = stablehlo.complex %a, %b : {r}", (F, G), (F + 1j * G).astype(np.complex64)),
    Row(
        "clamp scalars",
        "%r = stablehlo.clamp %a, %b, %c : ({0}, {1}, {2}) -> {r}",
        (np.float32(-1), F, np.float32(0.5)),
        F.clip(-1, 0.5),
    ),
    Row("select scalar", "%r = stablehlo.select %a, %b, %c : {0}, {1}", (np.bool_(False), F, G), G),
    Row("select", "%r = stablehlo.select %a, %b, %c : {0}, {1}", (F > 0, F, G), np.where(F > 0, F, G)),
    compared("LT", np.less, F, G),
    compared("NE", np.not_equal, ODD, ODD),
    compared("EQ", np.equal, Z, Z[::-1].copy()),
    compared(
        "LT",
        lambda x, y: np.array([True, True, False, True, False, True, True]),
        np.array([-0.0, -np.inf, np.nan, np.inf, 2.0, 1.0, -np.nan], np.float32),
        np.array([0.0, -1.0, np.nan, np.nan, 1.0, 2.0, -np.inf], np.float32),
        "TOTALORDER",
    ),
]

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 1e30, -1e30, 1.0, -1.0, 0.49999997, 2.5, -2.5], np.float32)
WORDS = np.array([0, 1, -1, 2**31 - 1, -(2**31), 0x12345678, 255], np.int32)
PLANE = np.array([complex(x, y) for x in (-2.5, -0.3, 0.4, 1.5) for y in (-1.5, -0.2, 0.3, 3.0)], np.complex64)


def in_wide(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A function computed in more digits and rounded once."""

    def rounded(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return function(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)).astype(x.dtype)

    return rounded


def away(x: Array) -> Array:
    """Halves away from zero."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(x), x, np.sign(x) * np.where(np.abs(x) % 1 >= 0.5, np.ceil(np.abs(x)), np.floor(np.abs(x))))


def chlo(name: str, function: Callable[[Array], Array], x: Array, tolerance: float) -> Row:
    body = f"%r = chlo.{name} %a : {{0}} -> {{r}}"
    return Row(f"chlo.{name} {x.dtype}", body, (x,), np.asarray(in_wide(function)(x)), tolerance)


FUNCTIONS = {
    "sinh": (np.sinh, np.array([-50, -10.3, -1, -1e-6, -0.0, 0, 1e-6, 0.5, 20.5, 88, 89, np.inf, np.nan], np.float32)),
    "cosh": (np.cosh, np.array([-50, -1, 0, 0.5, 88, 89, np.inf, np.nan], np.float32)),
    "asinh": (np.arcsinh, np.array([-1e30, -1e6, -2, -1e-7, -0.0, 0, 0.5, 1e5, np.inf, -np.inf, np.nan], np.float32)),
    "acosh": (np.arccosh, np.array([0.5, 1, 1.0000001, 2, 1e6, 1e30, np.inf, np.nan], np.float32)),
    "atanh": (np.arctanh, np.array([-1, -0.9, -1e-7, 0, 0.5, 1, 2, np.nan], np.float32)),
    "asin": (np.arcsin, np.array([-1, -0.9, -1e-7, 0, 0.5, 1, 2, np.nan], np.float32)),
    "acos": (np.arccos, np.array([-1, -0.9, -1e-7, 0, 0.5, 1, 2, np.nan], np.float32)),
    "atan": (np.arctan, np.array([-np.inf, -1e30, -2, -1e-7, 0, 0.5, np.inf, np.nan], np.float32)),
}
CHLO = [
    *(chlo(name, function, x, 3e-6) for name, (function, x) in FUNCTIONS.items()),
    *(chlo(name, function, PLANE, 3e-6) for name, (function, _) in FUNCTIONS.items()),
    chlo("sinh", np.sinh, np.linspace(-3, 3, 7).astype(np.float64), 1e-14),
    chlo("square", np.square, F, 1e-6),
    Row("chlo.conj", "%r = chlo.conj %a : {0} -> {r}", (Z,), Z.conj()),
    Row("chlo.is_inf", "%r = chlo.is_inf %a : {0} -> {r}", (SPECIAL,), np.isinf(SPECIAL)),
    Row("chlo.is_pos_inf", "%r = chlo.is_pos_inf %a : {0} -> {r}", (SPECIAL,), SPECIAL == np.inf),
    Row("chlo.is_neg_inf", "%r = chlo.is_neg_inf %a : {0} -> {r}", (SPECIAL,), SPECIAL == -np.inf),
    Row(
        "chlo.next_after",
        "%r = chlo.next_after %a, %b : {0}, {1} -> {r}",
        (np.repeat(SPECIAL, SPECIAL.size), np.tile(SPECIAL, SPECIAL.size)),
        np.nextafter(np.repeat(SPECIAL, SPECIAL.size), np.tile(SPECIAL, SPECIAL.size)),
    ),
    Row("chlo.broadcast_add", "%r = chlo.broadcast_add %a, %b : ({0}, {1}) -> {r}", (F, G[0]), F + G[0]),
    Row(
        "chlo.broadcast_subtract by dimensions",
        "%r = chlo.broadcast_subtract %a, %b {broadcast_dimensions = array<i64: 0>} : ({0}, {1}) -> {r}",
        (F, G[:, 0].copy()),
        F - G[:, :1],
    ),
    Row(
        "chlo.broadcast_compare",
        "%r = chlo.broadcast_compare %a, %b {comparison_direction = #chlo<comparison_direction GT>} : ({0}, {1}) -> {r}",
        (F, np.float32(0.1)),
        F > np.float32(0.1),
    ),
    Row(
        "chlo.constant_like",
        '%r = "chlo.constant_like"(%a) {value = 2.5 : f32} : ({0}) -> {r}',
        (F,),
        np.full_like(F, 2.5),
    ),
    Row(
        "chlo.mulhi",
        "%r = chlo.mulhi %a, %b : {0}, {1} -> {r}",
        (WORDS, WORDS[::-1].copy()),
        (WORDS.astype(np.int64) * WORDS[::-1] >> 32).astype(np.int32),
    ),
    Row(
        "chlo.top_k",
        "%r:2 = chlo.top_k(%a, k = 2) : {0} -> {r}",
        (F,),
        (-np.sort(-F, 1)[:, :2], np.argsort(-F, 1, kind="stable")[:, :2].astype(np.int32)),
    ),
    Row(
        "chlo.top_k in the total order of floats",
        "%r:2 = chlo.top_k(%a, k = 9) : {0} -> {r}",
        (np.array([0.0, -np.inf, 3.0, -np.nan, np.inf, -0.0, 0.0, np.nan, -2.0], np.float32),),
        (
            np.array([np.nan, np.inf, 3.0, 0.0, 0.0, -0.0, -2.0, -np.inf, -np.nan], np.float32),
            np.array([7, 4, 2, 0, 6, 5, 8, 1, 3], np.int32),
        ),
    ),
    Row(
        "chlo.ragged_dot",
        """%r = "chlo.ragged_dot"(%a, %b, %c) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [],
      rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1],
      lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : ({0}, {1}, {2}) -> {r}""",
        (F, np.stack([G.T, 2 * G.T]), np.array([1, 2], np.int32)),
        np.concatenate([F[:1] @ G.T, F[1:] @ (2 * G.T)]),
        1e-5,
    ),
]
ELEMENTWISE += [
    unary("popcnt", lambda x: np.array([bin(int(n) & 0xFFFFFFFF).count("1") for n in x], np.int32), WORDS),
    unary("popcnt", lambda x: np.array([bin(int(n)).count("1") for n in x], np.uint8), np.arange(256, dtype=np.uint8)),
    unary("count_leading_zeros", lambda x: np.array([32 - (int(n) & 0xFFFFFFFF).bit_length() for n in x], np.int32), WORDS),
    unary("round_nearest_afz", away, SPECIAL),
    unary("cbrt", np.cbrt, SPECIAL, 2e-7),
    unary("cbrt", np.cbrt, np.array([27.0, -1e-300, 1e300]), 1e-14),
    binary("atan2", np.arctan2, np.repeat(SPECIAL, 14), np.tile(SPECIAL, 14), 3e-7),
    unary(
        "bitcast_convert", lambda x: np.packbits(x, bitorder="little").reshape(()), np.array([1, 0, 1, 1, 0, 0, 0, 1], np.bool_)
    ),
    unary("bitcast_convert", lambda x: np.unpackbits(x[:, None], axis=1, bitorder="little") != 0, np.array([5, 200], np.uint8)),
    unary("bitcast_convert", lambda x: x.view(np.float32).reshape(5, 2), Z),
    unary("bitcast_convert", lambda x: x.view(np.complex64).reshape(3, 2), F.reshape(3, 2, 2)),
]
STRUCTURAL = [
    Row("iota", "%r = stablehlo.iota dim = 1 : {r}", (), np.tile(np.arange(4, dtype=np.int32), (3, 1))),
    Row("iota complex", "%r = stablehlo.iota dim = 0 : {r}", (), np.arange(3).astype(np.complex64)),
    Row("iota i1", "%r = stablehlo.iota dim = 0 : {r}", (), np.arange(2) != 0),
    Row("reshape", "%r = stablehlo.reshape %a : ({0}) -> {r}", (F,), F.reshape(2, 6)),
    Row("transpose", "%r = stablehlo.transpose %a, dims = [1, 0] : ({0}) -> {r}", (F,), F.T.copy()),
    Row(
        "broadcast_in_dim",
        "%r = stablehlo.broadcast_in_dim %a, dims = [0, 2] : ({0}) -> {r}",
        (F,),
        np.repeat(F[:, None, :], 5, 1),
    ),
    Row(
        "broadcast_in_dim permuted",
        "%r = stablehlo.broadcast_in_dim %a, dims = [2, 0] : ({0}) -> {r}",
        (F,),
        np.repeat(F.T[:, None, :], 2, 1),
    ),
    Row(
        "broadcast_in_dim of 1",
        "%r = stablehlo.broadcast_in_dim %a, dims = [1] : ({0}) -> {r}",
        (F[0, :1],),
        np.full((2, 3), F[0, 0]),
    ),
    Row("broadcast", "%r = stablehlo.broadcast %a, sizes = [2] : ({0}) -> {r}", (F,), np.stack([F, F])),
    Row("slice", "%r = stablehlo.slice %a [0:3:2, 1:3] : ({0}) -> {r}", (F,), F[0:3:2, 1:3].copy()),
    Row("concatenate", "%r = stablehlo.concatenate %a, %b, dim = 1 : ({0}, {1}) -> {r}", (F, G), np.concatenate([F, G], 1)),
    Row("reverse", "%r = stablehlo.reverse %a, dims = [0, 1] : {0}", (F,), F[::-1, ::-1].copy()),
    Row("reverse nothing", "%r = stablehlo.reverse %a, dims = [] : {0}", (F,), F),
    Row(
        "pad by data, negative edges",
        "%r = stablehlo.pad %a, %b, low = [1, -1], high = [0, 1], interior = [0, 1] : ({0}, {1}) -> {r}",
        (F[:2, :2], np.float32(9)),
        np.array([[9, 9, 9], [9, F[0, 1], 9], [9, F[1, 1], 9]], np.float32),
    ),
    Row(
        "dynamic_slice clamps",
        "%r = stablehlo.dynamic_slice %a, %b, %c, sizes = [2, 2] : ({0}, {1}, {2}) -> {r}",
        (F, np.int32(9), np.int32(-3)),
        F[1:3, 0:2].copy(),
    ),
    Row(
        "dynamic_slice of other dtypes",
        "%r = stablehlo.dynamic_slice %a, %b, %c, sizes = [2, 2] : ({0}, {1}, {2}) -> {r}",
        (F, np.uint32(2**32 - 1), np.int64(1)),
        F[1:3, 1:3].copy(),
    ),
    Row(
        "dynamic_update_slice",
        "%r = stablehlo.dynamic_update_slice %a, %b, %c, %d : ({0}, {1}, {2}, {3}) -> {r}",
        (F, np.zeros((2, 1), np.float32), np.int32(1), np.int32(1)),
        np.where((np.arange(3)[:, None] >= 1) & (np.arange(4) == 1), np.float32(0), F),
    ),
    Row(
        "dot_general",
        "%r = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : ({0}, {1}) -> {r}",
        (F, G),
        np.einsum("ij,ij->i", F, G),
        1e-6,
    ),
    Row(
        "dot_general widened",
        "%r = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : ({0}, {1}) -> {r}",
        (np.full(300, 100, np.int8), np.full(300, 100, np.int8)),
        np.int32(3_000_000),
    ),
    Row("dot", "%r = stablehlo.dot %a, %b : ({0}, {1}) -> {r}", (F, G.T.copy()), F @ G.T, 1e-6),
    Row(
        "einsum",
        '%r = stablehlo.einsum %a, %b, config = "ab,cb->ca" : ({0}, {1}) -> {r}',
        (F, G),
        np.einsum("ab,cb->ca", F, G),
        1e-6,
    ),
    Row(
        "real_dynamic_slice",
        """
    %s = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
    %l = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
    %t = stablehlo.constant dense<[2, 1]> : tensor<2xi64>
    %r = stablehlo.real_dynamic_slice %a, %s, %l, %t : ({0}, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> {r}""",
        (F,),
        F[0:3:2, 1:4].copy(),
    ),
    Row("get_dimension_size", "%r = stablehlo.get_dimension_size %a, dim = 1 : ({0}) -> {r}", (F,), np.int32(4)),
    Row("constant hex", '%r = stablehlo.constant dense<"0x0000803F000000C0"> : {r}', (), np.array([1, -2], np.float32)),
    Row(
        "constant packed i1",
        '%r = stablehlo.constant dense<"0x0502"> : {r}',
        (),
        np.array([1, 0, 1, 0, 0, 0, 0, 0, 0, 1], np.bool_),
    ),
    Row("constant splat i1", '%r = stablehlo.constant dense<"0xFF"> : {r}', (), np.ones(10, np.bool_)),
    Row("constant i4", "%r = stablehlo.constant dense<[-8, 7]> : {r}", (), np.array([-8, 7], ml_dtypes.int4)),
]

ADD = "^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = stablehlo.add %x, %y : tensor<f32> stablehlo.return %s : tensor<f32>"
MAX = ADD.replace("add", "maximum")
MUL = ADD.replace("add", "multiply")


def reduced(kind: str, init: float, axes: str) -> str:
    return f"""%i = stablehlo.constant dense<{init}> : tensor<f32>
    %r = stablehlo.reduce(%a init: %i) applies stablehlo.{kind} across dimensions = {axes} : ({{0}}, tensor<f32>) -> {{r}}"""


def windowed(body: str, init: str, attributes: str) -> str:
    return f"""%i = stablehlo.constant dense<{init}> : tensor<f32>
    %r = "stablehlo.reduce_window"(%a, %i) ({{ {body} }}) {{{attributes}}} : ({{0}}, tensor<f32>) -> {{r}}"""


LINE = np.arange(1, 8, dtype=np.float32)
REDUCTIONS = [
    Row("reduce add", reduced("add", 0.0, "[1]"), (F,), F.sum(1), 1e-6),
    Row("reduce add from 2", reduced("add", 2.0, "[1]"), (F,), F.sum(1) + 2, 1e-6),
    Row("reduce max from 1", reduced("maximum", 1.0, "[0, 1]"), (F,), np.maximum(F.max(), np.float32(1))),
    Row("reduce multiply", reduced("multiply", 1.0, "[0]"), (F,), F.prod(0), 1e-6),
    Row("reduce multiply from 2", reduced("multiply", 2.0, "[0, 1]"), (F,), np.float32(2) * F.prod(), 1e-6),
    Row(
        "reduce xor from 5",
        reduced("xor", 0.0, "[1]").replace("f32", "i32").replace("0.0", "5"),
        (N,),
        np.bitwise_xor.reduce(N, 1) ^ np.int32(5),
    ),
    Row("reduce and", reduced("and", 0.0, "[0]").replace("f32", "i32").replace("0.0", "-1"), (N,), np.bitwise_and.reduce(N, 0)),
    Row("reduce or of i1", reduced("or", 0.0, "[0]").replace("f32", "i1").replace("0.0", "false"), (B,), np.bool_(True)),
    Row("reduce xor of i1", reduced("xor", 0.0, "[0]").replace("f32", "i1").replace("0.0", "true"), (B,), np.bool_(True)),
    Row("reduce nothing", reduced("add", 0.0, "[]"), (F,), F),
    Row("reduce an empty axis", reduced("multiply", 3.0, "[0]"), (F[:0],), np.full(4, 3, np.float32)),
    Row(
        "window max",
        windowed(MAX, "0xFF800000", "window_dimensions = array<i64: 3>, window_strides = array<i64: 2>"),
        (LINE,),
        LINE[2::2],
    ),
    Row(
        "window add padded with its initial value",
        windowed(ADD, "1.0", "window_dimensions = array<i64: 3>, padding = dense<[[1, 1]]> : tensor<1x2xi64>"),
        (LINE,),
        np.convolve(np.pad(LINE, 1, constant_values=1), np.ones(3), "valid").astype(np.float32) + 1,
    ),
    Row(
        "window multiply",
        windowed(MUL, "1.0", "window_dimensions = array<i64: 2>, window_dilations = array<i64: 3>"),
        (LINE,),
        LINE[:4] * LINE[3:],
    ),
    Row(
        "running sum",
        windowed(ADD, "0.0", "window_dimensions = array<i64: 7>, padding = dense<[[6, 0]]> : tensor<1x2xi64>"),
        (LINE,),
        np.cumsum(LINE),
    ),
    Row(
        "running product from the end",
        windowed(MUL, "1.0", "window_dimensions = array<i64: 7>, padding = dense<[[0, 6]]> : tensor<1x2xi64>"),
        (LINE,),
        np.cumprod(LINE[::-1])[::-1].copy(),
    ),
    Row(
        "running maximum from 3",
        windowed(MAX, "3.0", "window_dimensions = array<i64: 7>, padding = dense<[[6, 0]]> : tensor<1x2xi64>"),
        (LINE,),
        np.maximum(np.maximum.accumulate(LINE), np.float32(3)),
    ),
    Row(
        "running sum from 1",
        windowed(ADD, "1.0", "window_dimensions = array<i64: 7>, padding = dense<[[6, 0]]> : tensor<1x2xi64>"),
        (LINE,),
        np.cumsum(LINE) + np.arange(7, 0, -1, dtype=np.float32),
    ),
    Row(
        "select_and_scatter",
        f"""%i = stablehlo.constant dense<0.0> : tensor<f32>
    %r = "stablehlo.select_and_scatter"(%a, %b, %i) ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return %s : tensor<i1>
    }}, {{ {ADD} }}) {{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>,
      padding = dense<[[1, 1]]> : tensor<1x2xi64>}} : ({{0}}, {{1}}, tensor<f32>) -> {{r}}""",
        (np.array([5, 5, -1, 2, 9, 1, 0], np.float32), np.array([1, 2, 4, 8], np.float32)),
        np.array([1, 2, 0, 0, 4, 8, 0], np.float32),
    ),
]

ROWS_OF = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
WINDOWS = "offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1"
BATCHED = """offset_dims = [], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0],
      start_index_map = [1], index_vector_dim = 2"""
BATCHED_BEHIND = """offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1],
      start_index_map = [0], index_vector_dim = 2"""
BATCHED_ACROSS = BATCHED_BEHIND.replace("start_indices_batching_dims = [1]", "start_indices_batching_dims = [0]")
STARTS = np.array([[0, 0], [2, 9], [-4, 1]], np.int32)


def gathered(numbers: str, sizes: str) -> str:
    return f"""%r = "stablehlo.gather"(%a, %b) {{dimension_numbers = #stablehlo.gather<{numbers}>,
      slice_sizes = array<i64: {sizes}>}} : ({{0}}, {{1}}) -> {{r}}"""


def scattered(body: str, numbers: str, type: str = "f32") -> str:
    return f"""%r = "stablehlo.scatter"(%a, %b, %c) ({{ {body.replace("f32", type)} }}) {{scatter_dimension_numbers =
      #stablehlo.scatter<{numbers}>}} : ({{0}}, {{1}}, {{2}}) -> {{r}}"""


ONE_ROW = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
CELLS = "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1"
PATCH = "update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]"
PLACES = np.array([[2], [0], [7], [2]], np.int32)
UPDATES = np.arange(16, dtype=np.float32).reshape(4, 4)


H = RNG.normal(size=(2, 4, 6)).astype(np.float32)
Q = np.fft.rfft2(H).astype(np.complex64)
FOURIER = [
    Row(f"fft {kind}", f"%r = stablehlo.fft %a, type = {kind}, length = {lengths} : ({{0}}) -> {{r}}", (x,), expected, 1e-5)
    for kind, lengths, x, expected in (
        ("FFT", [4, 4], Q, np.fft.fft2(Q).astype(np.complex64)),
        ("IFFT", [4], Q, np.fft.ifft(Q).astype(np.complex64)),
        ("RFFT", [4, 6], H, Q),
        ("IRFFT", [4, 6], Q, H),
    )
]


def by_loop(x: Array, places: Array, updates: Array, combine: Callable[[Any, Any], Any]) -> Array:
    """A scatter, one element at a time; what leaves the operand is dropped."""
    found = x.copy()
    for place, update in zip(places, updates, strict=True):
        index = tuple(int(n) for n in place)
        if all(0 <= n < size for n, size in zip(index, x.shape, strict=False)):
            found[index] = combine(found[index], update)
    return found


SECOND = "^bb0(%x: tensor<f32>, %y: tensor<f32>): stablehlo.return %y : tensor<f32>"
ODD_BODY = """^bb0(%x: tensor<f32>, %y: tensor<f32>): %h = stablehlo.constant dense<0.5> : tensor<f32>
      %s = stablehlo.multiply %x, %h : tensor<f32> %t = stablehlo.add %s, %y : tensor<f32> stablehlo.return %t : tensor<f32>"""
INDEXING = [
    Row("gather rows clamps", gathered(ROWS_OF, "1, 4"), (F, PLACES), F[[2, 0, 2, 2]]),
    Row(
        "gather windows clamps",
        gathered(WINDOWS, "2, 2"),
        (F, STARTS),
        np.stack([F[i : i + 2, j : j + 2] for i, j in ((0, 0), (1, 2), (0, 1))]),
    ),
    Row(
        "gather batched",
        gathered(BATCHED, "1, 1"),
        (F, J[:, :2, None] % 5),
        np.take_along_axis(F, np.clip(J[:, :2] % 5, 0, 3), 1),
    ),
    Row(
        "gather batched behind",
        gathered(BATCHED_BEHIND, "1, 1"),
        (F, J[:2]),
        np.take_along_axis(F, np.clip(J[:2], 0, 2), 0),
    ),
    Row(
        "gather batched across",
        gathered(BATCHED_ACROSS, "1, 1"),
        (F, J[:2].T),
        np.take_along_axis(F, np.clip(J[:2], 0, 2), 0).T,
    ),
    Row("scatter add rows", scattered(ADD, ONE_ROW), (F, PLACES, UPDATES), by_loop(F, PLACES, UPDATES, np.add), 1e-6),
    Row("scatter last wins", scattered(SECOND, ONE_ROW), (F, PLACES, UPDATES), by_loop(F, PLACES, UPDATES, lambda x, y: y)),
    Row("scatter multiply cells", scattered(MUL, CELLS), (F, STARTS, LINE[:3]), by_loop(F, STARTS, LINE[:3], np.multiply), 1e-6),
    Row(
        "scatter odd body",
        scattered(ODD_BODY, ONE_ROW),
        (F, PLACES, UPDATES),
        by_loop(F, PLACES, UPDATES, lambda x, y: x / 2 + y),
        1e-6,
    ),
    Row(
        "scatter drops single elements",
        scattered(ADD, PATCH),
        (np.zeros((3, 4), np.float32), np.array([2, 3], np.int32), np.ones((2, 2), np.float32)),
        np.array([[0] * 4, [0] * 4, [0, 0, 0, 1]], np.float32),
    ),
    Row("scatter empty updates", scattered(ADD, ONE_ROW), (F, PLACES[:0], UPDATES[:0]), F),
]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("row", [*ELEMENTWISE, *CHLO, *STRUCTURAL, *REDUCTIONS, *INDEXING, *FOURIER], ids=lambda row: row.name)
def test_row(row: Row, executor: str) -> None:
    found = run(row.text(), *row.inputs, executor=executor)
    same(found, row.expected, row.tolerance)


@pytest.mark.parametrize(
    ("numbers", "indices", "op"),
    [(BATCHED, J[:, :2, None], "gather"), (BATCHED_BEHIND, J[:2], "gather"), (BATCHED_ACROSS, J[:2].T, "take")],
    ids=["last", "first", "across"],
)
def test_gathers_along_one_dimension_keep_it(numbers: str, indices: np.ndarray, op: str) -> None:
    """Where other dimensions change their places, elements are taken from the flattened operand."""
    found = {
        o.name
        for o in read(Row("", gathered(numbers, "1, 1"), (F, indices), np.zeros(indices.shape[:2], np.float32)).text()).walk()
    }
    assert {"ptir.gather", "ptir.take"} & found == {f"ptir.{op}"}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_reduce_precision_rounds_as_a_cast_where_there_is_one(executor: str) -> None:
    bits = np.random.default_rng(1).integers(0, 1 << 32, 4000, dtype=np.uint64).astype(np.uint32)
    x = bits.view(np.float32)
    text = program(
        "%a: tensor<4000xf32>", "%r = stablehlo.reduce_precision %a, format = FORMAT : tensor<4000xf32>", "tensor<4000xf32>"
    )
    with np.errstate(all="ignore"):
        half = x.astype(np.float16).astype(np.float32)
        brain = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    same(
        run(text.replace("FORMAT", "e5m10"), x, executor=executor),
        np.where(np.abs(half) < 2.0**-14, np.copysign(np.float32(0), x), half),
    )
    same(run(text.replace("FORMAT", "e8m7"), x, executor=executor), brain)
    found = run(text.replace("FORMAT", "e8m3"), x, executor=executor)
    finite = np.isfinite(found) & (np.abs(x) >= 2.0**-126)
    assert not np.any(found[finite].view(np.uint32) & ((1 << 20) - 1)), "3 bits of mantissa"
    assert np.all(np.abs(found[finite] / x[finite] - 1) <= 2.0**-4)


def test_the_derivative_of_reduce_precision_is_that_of_the_identity() -> None:
    text = program("%a: tensor<4xf32>", "%r = stablehlo.reduce_precision %a, format = e8m3 : tensor<4xf32>", "tensor<4xf32>")
    g = np.asarray([1.5, -2.0, 3.0, 0.25], np.float32)
    x = np.asarray([-0.0, 1.1, -3.3e8, 7.0], np.float32)
    found, adjoint = compile(vjp(read(text)), "main_grad")(x, g)
    same(found, run(text, x))
    assert np.signbit(found[0])
    same(adjoint, g)


@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 2)], ids=["plain", "feature groups", "batch groups"])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_convolution_in_any_layout(groups: tuple[int, int], executor: str) -> None:
    features, batches = groups
    rng = np.random.default_rng(2)
    x = rng.normal(size=(4, 6, 4)).astype(np.float32)  # features, spatial, batch
    w = rng.normal(size=(6, 4 // features, 3)).astype(np.float32)  # out, in, spatial
    low, high, stride, base, window = 1, -1, 2, 2, 1
    body = f"""%r = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, b]x[o, i, 0]->[0, b, f], window = {{stride = [{stride}],
      pad = [[{low}, {high}]], lhs_dilate = [{base}], rhs_dilate = [{window}], reverse = [true]}}
      {{feature_group_count = {features} : i64, batch_group_count = {batches} : i64}} : ({type_of(x)}, {type_of(w)}) -> """
    wide = np.zeros((4, 6 * base - 1, 4), np.float32)
    wide[:, ::base] = x
    wide = np.pad(wide, ((0, 0), (low, 0), (0, 0)))[:, :high]
    count = (wide.shape[1] - 3) // stride + 1
    out = np.zeros((count, 4 // batches, 6), np.float32)
    for o in range(6):
        group, batch = o // (6 // features), o // (6 // batches)
        for n in range(4 // batches):
            for t in range(count):
                part = wide[
                    group * w.shape[1] : (group + 1) * w.shape[1], t * stride : t * stride + 3, batch * (4 // batches) + n
                ]
                out[t, n, o] = (part * w[o, :, ::-1]).sum()
    text = program(f"%a: {type_of(x)}, %b: {type_of(w)}", body + type_of(out), type_of(out))
    same(run(text, x, w, executor=executor), out, 1e-5)


@pytest.mark.parametrize(
    ("name", "x", "slopes"),
    [
        ("asin", [-1.0, 0.0, 0.6, 1.0], [np.inf, 1.0, 1.25, np.inf]),
        ("acos", [-1.0, 0.0, 0.6, 1.0], [-np.inf, -1.0, -1.25, -np.inf]),
        ("acosh", [1.0, 1.25, 1e200], [np.inf, 4 / 3, 1e-200]),
        ("asinh", [0.0, -0.0, 0.75, 1e9, -1e200], [1.0, 1.0, 0.8, 1e-9, 1e-200]),
        ("sinh", [0.0, -20.0, 20.0, 20.5], np.cosh([0.0, 20.0, 20.0, 20.5])),
        ("cosh", [1e-30, -1e-5, -20.0, 20.0, 20.5], np.sinh([1e-30, -1e-5, -20.0, 20.0, 20.5])),
    ],
)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_slopes_at_ends_of_domains_and_where_pieces_meet(name: str, x: list[float], slopes: list[float], executor: str) -> None:
    text = chlo(name, np.array, np.array(x), 0).text()
    _, found = compile(vjp(read(text)), "main_grad", executor)(np.array(x), np.ones(len(x)))
    same(found, np.array(slopes), 1e-12)


def test_a_mixed_scatter_runs_its_body_once_per_update() -> None:
    made = read(next(row for row in INDEXING if row.name == "scatter odd body").text())
    assert ops(made)["scan"] == 1
    assert "scatter_reduce" not in ops(made)


def test_rows_are_taken_and_not_gathered_by_flat_indices() -> None:
    made = ops(read(next(row for row in INDEXING if row.name == "gather rows clamps").text()))
    assert made["take"] == 1
    assert made["iota"] == 0


def test_private_functions_that_only_call_others_stay() -> None:
    """Two levels below the entry, where neither holds an op."""
    others = """
    func.func private @middle(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = call @wrapper(%x) : (tensor<2xf32>) -> tensor<2xf32>
      %1 = stablehlo.negate %0 : tensor<2xf32>
      return %1 : tensor<2xf32>
    }
    func.func private @wrapper(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = call @leaf(%x) : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    func.func private @leaf(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.abs %x : tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    """
    body = "%r = call @middle(%a) : (tensor<2xf32>) -> tensor<2xf32>"
    same(run(program("%a: tensor<2xf32>", body, "tensor<2xf32>", others), np.float32([1, -2])), np.float32([-1, -2]))
