"""
Weights in blocks of 4 and 8 bits, decoded in registers: against the dequantised product in f64.

Scales are powers of two and activations small integers, so that every product and every sum is exact, in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import UI8
from mind_lowering.native.host import ISA_VARIABLE
from mind_lowering.ptir_kernels.formats import array_dtype
from native_same import way
from ptir_forms import like, program

__all__ = ["way"]
rng = np.random.default_rng(21)
DECODED = "decoded in registers"
ZEROS = {"each": "f32", "bytes": "ui8", "signed bytes": "si8"}
"""The dtypes of zero points of each block."""


def shifts(values: tuple[int, int] = (0, 4)) -> Any:
    return ptir.ConstantOp(value=PtirLiteralAttr.from_values(UI8, (2,), values)).result


def nibbles(codes: Any, shape: tuple[int, ...], steps: tuple[int, int] = (0, 4), mask: int = 15) -> Any:
    """The numbers of 4 bits in bytes of `shape`, along a new axis."""
    each = ptir.BroadcastToOp(ptir.ReshapeOp(codes, new_shape=[*shape, 1]), result_shape=[*shape, 2])
    shifted = ptir.ShiftRightLogicalOp(each, ptir.BroadcastToOp(shifts(steps), result_shape=[*shape, 2])).result
    return ptir.AndOp(shifted, like(shifted, mask)).result


def of_blocks(x: Any, n: int, blocks: int, shape: tuple[int, ...]) -> Any:
    """Numbers by row and block, `[n, blocks]`, at every weight."""
    return ptir.BroadcastToOp(ptir.ReshapeOp(x, new_shape=[n, blocks, *[1] * (len(shape) - 2)]), result_shape=shape).result


def contracted(x: Any, w: Any, rank: int) -> Any:
    axes = tuple(range(1, rank))
    return ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=axes, contract_rhs=axes).result


@dataclass(frozen=True)
class Case:
    """A product of `m` rows and `n` rows of weights of `depth`, in blocks, with zero points `none`, `one` or in `ZEROS`."""

    m: int
    n: int
    depth: int
    block: int
    bits: int = 4
    zeros: str = "each"
    signed: bool = False

    @property
    def blocks(self) -> int:
        return self.depth // self.block

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the bytes."""
        return self.n, self.blocks, self.block * self.bits // 8

    def arrays(self) -> list[Any]:
        """Activations, bytes, scales, and zero points that are not one number."""
        x = rng.integers(-8, 9, (self.m, self.depth)).astype(np.float32)
        codes = rng.integers(-128 if self.signed else 0, 128 if self.signed else 256, self.shape)
        scales = (2.0 ** rng.integers(-3, 4, (self.n, self.blocks))).astype(np.float32)
        zeros = rng.integers(0, 16, (self.n, self.blocks)).astype(np.float32)
        made = [x, codes.astype(np.int8 if self.signed else np.uint8), scales]
        kept = {
            "each": [zeros],
            "bytes": [(zeros + 240 * (self.bits == 8)).astype(np.uint8)],
            "signed bytes": [(zeros * 8 - 128).astype(np.int8)],
        }
        return [*made, *kept.get(self.zeros, [])]

    def types(self) -> str:
        bytes_ = f"{'si8' if self.signed else 'ui8'}[{','.join(map(str, self.shape))}]"
        found = f"f32[{self.m},{self.depth}] {bytes_} f32[{self.n},{self.blocks}]"
        return f"{found} {ZEROS[self.zeros]}[{self.n},{self.blocks}]" if self.zeros in ZEROS else found

    def weights(self, codes: Any, scales: Any, *zeros: Any) -> Any:
        numbers = ptir.CastOp(nibbles(codes, self.shape) if self.bits == 4 else codes, dtype="f32").result
        shape = (*self.shape, 2) if self.bits == 4 else self.shape
        if self.zeros != "none":
            zero = of_blocks(zeros[0], self.n, self.blocks, shape) if zeros else like(numbers, 8.0)
            zero = ptir.CastOp(zero, dtype="f32").result if self.zeros.endswith("bytes") else zero
            numbers = ptir.SubOp(numbers, zero).result
        return ptir.MulOp(numbers, of_blocks(scales, self.n, self.blocks, shape)).result

    def product(self, x: Any, *operands: Any) -> Any:
        return self.joined(x, self.weights(*operands))

    def joined(self, x: Any, w: Any) -> Any:
        """The product of activations and weights."""
        shape = (self.m, *self.shape[1:], 2) if self.bits == 4 else (self.m, *self.shape[1:])
        return contracted(ptir.ReshapeOp(x, new_shape=shape), w, len(shape))

    def matrix(self, codes: Any, scales: Any, *zeros: Any) -> Any:
        """The weights in f64."""
        numbers = np.stack([codes & 15, codes >> 4], -1) if self.bits == 4 else codes
        zero = zeros[0][..., None] if zeros else 8.0 if self.zeros == "one" else 0.0
        w = (numbers.reshape(self.n, self.blocks, self.block).astype(np.float64) - zero) * scales.astype(np.float64)[..., None]
        return w.reshape(self.n, self.depth)

    def check(self, body: Callable[..., Any] | None = None, *, decoded: bool = True, threads: int = 2) -> Any:
        program_ = mind_runtime.compile(program(self.types(), body or self.product), target="native", threads=threads)
        arrays = self.arrays()
        assert any(DECODED in line for line in program_.explain()) == decoded, program_.explain()
        np.testing.assert_array_equal(program_(*arrays), arrays[0].astype(np.float64) @ self.matrix(*arrays[1:]).T)
        return program_


CASES = [
    Case(1, 7, 128, 32),
    Case(1, 4, 64, 16, zeros="one"),
    Case(5, 7, 96, 32, zeros="bytes"),
    Case(1, 33, 512, 128, zeros="none"),
    Case(3, 9, 96, 32, zeros="one"),
    Case(4, 130, 256, 64),
    Case(2, 5, 64, 64),
    Case(1, 6, 1024, 1024, zeros="none"),
    Case(1, 7, 96, 32, bits=8, zeros="one"),
    Case(3, 66, 256, 16, bits=8),
    Case(2, 5, 64, 16, bits=8, zeros="bytes"),
    Case(2, 5, 64, 32, bits=8, signed=True),
    Case(2, 5, 64, 32, bits=8, zeros="signed bytes", signed=True),
    Case(9, 9, 96, 32, zeros="signed bytes"),
    Case(64, 6, 64, 32),
    Case(7, 6, 128, 64, bits=8),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("way")
def test_products_with_decoded_weights(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", CASES[:4], ids=str)
@pytest.mark.parametrize("isa", RUNNABLE)
def test_on_every_machine(case: Case, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ISA_VARIABLE, isa)
    text = case.check().source
    assert ("permvar" in text) == (isa.startswith("avx512") and case.block % 32 == 0)


def test_numbers_are_those_of_the_dequantized_product() -> None:
    """Any floats, within the bound of a sum; every number of threads gives the same bits."""
    case = Case(2, 300, 512, 32)
    _, codes, *_ = case.arrays()
    x, scales, zeros = (rng.standard_normal(s).astype(np.float32) for s in ((2, 512), (300, 16), (300, 16)))
    found = [
        mind_runtime.compile(program(case.types(), case.product), target="native", threads=t)(x, codes, scales, zeros)
        for t in (1, 2, 3, 8)
    ]
    w = case.matrix(codes, scales, zeros)
    bound = 512 * np.finfo(np.float32).eps * (np.abs(x).astype(np.float64) @ np.abs(w).T)
    assert np.all(np.abs(found[0] - x.astype(np.float64) @ w.T) <= bound)
    assert len({y.tobytes() for y in found}) == 1


def test_special_values() -> None:
    """Scales that are not finite reach their own row alone; what they give is what the product in f32 gives."""
    case = Case(1, 9, 64, 32)
    arrays = case.arrays()
    arrays[2][3, 1], arrays[2][5, 0], arrays[0][0, 7] = np.inf, np.nan, -0.0
    native, reference = (mind_runtime.compile(program(case.types(), case.product), target=t) for t in ("native", "numpy"))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(native(*arrays), reference(*arrays))


@pytest.mark.usefixtures("way")
def test_what_follows_runs_in_registers() -> None:
    case = Case(2, 37, 128, 32)
    bias = rng.integers(-9, 9, 37).astype(np.float32)

    def body(x: Any, codes: Any, scales: Any, zeros: Any, bias: Any) -> Any:
        y = case.product(x, codes, scales, zeros)
        return ptir.MaximumOp(ptir.AddOp(y, ptir.BroadcastToOp(bias, result_shape=(2, 37))), like(y, 0.0))

    run = mind_runtime.compile(program(f"{case.types()} f32[37]", body), target="native")
    arrays = case.arrays()
    assert any(f"{DECODED}, then add maximum" in line for line in run.explain()), run.explain()
    expected = np.maximum(arrays[0].astype(np.float64) @ case.matrix(*arrays[1:]).T + bias, 0)
    np.testing.assert_array_equal(run(*arrays, bias), expected)


@pytest.mark.parametrize("first", ["activations", "weights"])
@pytest.mark.parametrize("dtype", ["si8", "bf16"])
def test_activations_that_are_cast(dtype: str, first: str) -> None:
    """They are cast in memory, and weights are decoded in registers, whichever comes first."""
    case = Case(3, 9, 96, 32, zeros="one")

    def body(x: Any, *operands: Any) -> Any:
        w = case.weights(*operands) if first == "weights" else None
        wide = ptir.CastOp(x, dtype="f32").result
        return case.joined(wide, case.weights(*operands) if w is None else w)

    types = case.types().replace("f32", dtype, 1)
    x, *weights = case.arrays()
    run = mind_runtime.compile(program(types, body), target="native")
    assert any(DECODED in line for line in run.explain())
    np.testing.assert_array_equal(run(x.astype(array_dtype(dtype)), *weights), x.astype(np.float64) @ case.matrix(*weights).T)


def test_two_operands_that_are_dequantized() -> None:
    """Scales along the depth are those of no weights in blocks, and stay where they are."""
    x, w = (rng.integers(-8, 9, (n, 64)).astype(np.int8) for n in (5, 48))
    scales = [(2.0 ** rng.integers(-3, 4, n)).astype(np.float32) for n in (64, 48)]

    def body(x: Any, s: Any, w: Any, t: Any) -> Any:
        ends = [
            ptir.MulOp(ptir.CastOp(v, dtype="f32"), ptir.BroadcastToOp(ptir.ReshapeOp(u, new_shape=ones), result_shape=shape))
            for v, u, ones, shape in ((x, s, (1, 64), (5, 64)), (w, t, (48, 1), (48, 64)))
        ]
        return contracted(*ends, 2)

    found = mind_runtime.compile(program("si8[5,64] f32[64] si8[48,64] f32[48]", body), target="native")(
        x, scales[0], w, scales[1]
    )
    np.testing.assert_array_equal(found, (x * scales[0].astype(np.float64)) @ (w * scales[1].astype(np.float64)[:, None]).T)


def test_weights_of_another_shape() -> None:
    """Reshaped to a matrix, and turned, on their way; the activations lie in columns."""
    case = Case(3, 10, 128, 32)

    def as_matrix(x: Any, *operands: Any) -> Any:
        w = ptir.ReshapeOp(case.weights(*operands), new_shape=(10, 128)).result
        return ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(1,))

    def turned(x: Any, *operands: Any) -> Any:
        w = ptir.TransposeOp(ptir.ReshapeOp(case.weights(*operands), new_shape=(10, 128)), perm=(1, 0)).result
        return ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))

    case.check(as_matrix)
    case.check(turned)
    columns = case.types().replace("f32[3,128]", "f32[128,3]")
    run = mind_runtime.compile(program(columns, lambda x, *o: as_matrix(ptir.TransposeOp(x, perm=(1, 0)), *o)), target="native")
    arrays = case.arrays()
    assert any(DECODED in line for line in run.explain())
    found = run(np.ascontiguousarray(arrays[0].T), *arrays[1:])
    np.testing.assert_array_equal(found, arrays[0].astype(np.float64) @ case.matrix(*arrays[1:]).T)


# What is not decoded in registers, and right all the same


@pytest.mark.parametrize("isa", RUNNABLE)
def test_many_rows_share_weights_that_are_decoded_once(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of weights that are looked up, more rows are few."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    Case(64, 7, 128, 32).check()
    Case(65, 7, 128, 32, zeros="bytes").check(decoded=isa.startswith("avx512"))
    Case(128, 130, 128, 32).check(decoded=isa.startswith("avx512"))
    Case(129, 7, 128, 32).check(decoded=False)
    Case(65, 7, 128, 16).check(decoded=False)
    Case(70, 7, 128, 32, bits=8).check(decoded=False)


@pytest.mark.parametrize("bits", [4, 8])
def test_blocks_that_hold_no_vector(bits: int) -> None:
    Case(1, 7, 60, 60 if bits == 4 else 6, bits=bits).check(decoded=False)


CASE = Case(1, 7, 128, 32, zeros="none")


@pytest.mark.parametrize(("steps", "mask"), [((4, 0), 15), ((0, 3), 15), ((0, 4), 7)])
def test_other_bits_of_bytes(steps: tuple[int, int], mask: int) -> None:
    def body(x: Any, codes: Any, scales: Any) -> Any:
        numbers = ptir.CastOp(nibbles(codes, CASE.shape, steps, mask), dtype="f32").result
        w = ptir.MulOp(numbers, of_blocks(scales, 7, 4, (7, 4, 16, 2)))
        return contracted(ptir.ReshapeOp(x, new_shape=(1, 4, 16, 2)), w, 4)

    run = mind_runtime.compile(program(CASE.types(), body), target="native")
    x, codes, scales = CASE.arrays()
    numbers = np.stack([codes >> s & mask for s in steps], -1).reshape(7, 4, 32)
    w = (numbers * scales.astype(np.float64)[..., None]).reshape(7, 128)
    assert not any(DECODED in line for line in run.explain())
    np.testing.assert_array_equal(run(x, codes, scales), x.astype(np.float64) @ w.T)


def test_weights_that_something_else_reads() -> None:
    def body(x: Any, *operands: Any) -> Any:
        w = CASE.weights(*operands)
        return [
            contracted(ptir.ReshapeOp(x, new_shape=(1, 4, 16, 2)), w, 4),
            ptir.ReduceOp(w, axes=(0, 1, 2, 3), kind="max", keepdims=False),
        ]

    run = mind_runtime.compile(program(CASE.types(), body), target="native")
    arrays = CASE.arrays()
    found, most = run(*arrays)
    w = CASE.matrix(*arrays[1:])
    assert not any(DECODED in line for line in run.explain())
    np.testing.assert_array_equal(found, arrays[0].astype(np.float64) @ w.T)
    assert most == w.max()


def test_scales_that_change_within_a_block() -> None:
    def body(x: Any, codes: Any, scales: Any) -> Any:
        numbers = ptir.CastOp(nibbles(codes, CASE.shape), dtype="f32").result
        each = ptir.BroadcastToOp(ptir.ReshapeOp(scales, new_shape=(7, 1, 16, 1)), result_shape=(7, 4, 16, 2))
        return contracted(ptir.ReshapeOp(x, new_shape=(1, 4, 16, 2)), ptir.MulOp(numbers, each), 4)

    x, codes, _ = CASE.arrays()
    scales = (2.0 ** rng.integers(-3, 4, (7, 16))).astype(np.float32)
    run = mind_runtime.compile(program("f32[1,128] ui8[7,4,16] f32[7,16]", body), target="native")
    numbers = np.stack([codes & 15, codes >> 4], -1) * scales[:, None, :, None].astype(np.float64)
    assert not any(DECODED in line for line in run.explain())
    np.testing.assert_array_equal(run(x, codes, scales), x.astype(np.float64) @ numbers.reshape(7, 128).T)


def test_axes_in_another_order() -> None:
    """Axes of the activations may lie in any order; those of weights follow their bytes."""

    def body(x: Any, *operands: Any, order: tuple[int, ...] = (1, 2, 3)) -> Any:
        spread = ptir.TransposeOp(ptir.ReshapeOp(x, new_shape=(1, 4, 16, 2)), perm=(3, 2, 0, 1))
        place = {1: 3, 2: 1, 3: 0}
        axes = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": [place[a] for a in order], "contract_rhs": order}
        return ptir.DotGeneralOp(spread, CASE.weights(*operands), **axes)

    CASE.check(body)
    CASE.check(lambda *operands: body(*operands, order=(2, 1, 3)))


def test_weights_on_the_left() -> None:
    def left(x: Any, *operands: Any) -> Any:
        return contracted(CASE.weights(*operands), ptir.ReshapeOp(x, new_shape=(1, 4, 16, 2)), 4)

    run = mind_runtime.compile(program(CASE.types(), left), target="native")
    arrays = CASE.arrays()
    assert not any(DECODED in line for line in run.explain())
    np.testing.assert_array_equal(run(*arrays).T, arrays[0].astype(np.float64) @ CASE.matrix(*arrays[1:]).T)


def test_why_weights_are_computed_is_said() -> None:
    """Of each fusion that a product reads."""
    other = Case(1, 7, 60, 60)
    run = mind_runtime.compile(program(other.types(), other.product), target="native")
    assert any("blocks of 60 hold no vectors" in line for line in run.explain(rejected=True)), run.explain(rejected=True)
