"""
Products of narrow integers in words: equal to NumPy's in the accumulator's arithmetic, whatever the operands.

Sums have 32 bits and wrap; no instruction that is used saturates.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from lone_products import HOSTS_HERE, Compiled, compiled
from machines import RUNNABLE
from mind_dialect.ptir.types import F32, SI8, SI16, SI32, SI64, UI8, UI16, UI32, PtirDType
from mind_lowering.native.products.words import DOTS, Words, words_of
from mind_lowering.native.target_info import TARGETS, TargetInfo
from mind_lowering.native.views import Buffer, Use, whole
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_runtime.native import jit
from native_text import inner_loops, spills

MACHINES = pytest.mark.parametrize("host", HOSTS_HERE, ids=RUNNABLE)
Pair = tuple[PtirDType, PtirDType]
PAIRS: list[Pair] = [(SI8, SI8), (UI8, UI8), (UI8, SI8), (SI8, UI8), (SI16, SI16), (SI8, SI16)]
DOTS_HERE = {host.isa: {pair for name in host.dots for pair in DOTS[name].layouts} for host in HOSTS_HERE}
EVERY_PAIR = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]} {pair[1]}")
rng = np.random.default_rng(11)


def filled(dtype: PtirDType, shape: tuple[int, ...], flip: bool, kind: str = "any") -> Any:
    """A matrix of all values of a dtype, or of its extremes; a transpose of what lies in memory if `flip`."""
    like = array_dtype(dtype.name)
    least, most = np.iinfo(like).min, np.iinfo(like).max
    shape = shape[::-1] if flip else shape
    if kind == "extremes":
        found = rng.choice(np.array([least, most], like), shape)
    elif kind in ("least", "most"):
        found = np.full(shape, least if kind == "least" else most, like)
    else:
        found = rng.integers(least, most, shape, like, endpoint=True)
    return found.T if flip else found


def product_of(host: TargetInfo, a: Any, b: Any, pair: Pair, total: PtirDType = SI32) -> tuple[Compiled, Any]:
    out = np.full((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), 77, array_dtype(total.name))
    return compiled(host, a, b, out, (*pair, total, total)), out


def check(host: TargetInfo, a: Any, b: Any, pair: Pair, total: PtirDType = SI32, pieces: int = 1) -> Words | None:
    """Hold a product against NumPy's in 64 bits, taken modulo 2^32; the words that it is computed in."""
    made, out = product_of(host, a, b, pair, total)
    made.caller(a, b, out, pieces)()
    np.testing.assert_array_equal(out, np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(out.dtype))
    return made.product.cut.words


@pytest.mark.exhaustive
@MACHINES
@EVERY_PAIR
def test_every_pair_of_dtypes(host: TargetInfo, pair: Pair) -> None:
    for flips, (m, k, n) in enumerate(((13, 24, 37), (200, 520, 33), (5, 1000, 70), (200, 24, 70))):
        a, b = filled(pair[0], (m, k), bool(flips & 1)), filled(pair[1], (k, n), bool(flips & 2))
        words = check(host, a, b, pair, pieces=1 + flips)
        assert words is not None or pair not in DOTS_HERE[host.isa]


@pytest.mark.exhaustive
@MACHINES
@EVERY_PAIR
def test_extremes(host: TargetInfo, pair: Pair) -> None:
    """Pairs and quads of the largest products, which instructions that saturate would get wrong."""
    for left in ("least", "most", "extremes"):
        for right in ("least", "most", "extremes"):
            a, b = filled(pair[0], (9, 64), False, left), filled(pair[1], (64, 20), right == "extremes", right)
            check(host, a, b, pair)


@MACHINES
@pytest.mark.parametrize("total", [SI32, UI32], ids=str)
def test_sums_wrap(host: TargetInfo, total: PtirDType) -> None:
    for pair in ((UI8, UI8), (SI8, SI8)):
        a, b = filled(pair[0], (6, 140_000), False, "least"), filled(pair[1], (140_000, 18), False, "least")
        a[:3], b[:, :9] = np.iinfo(a.dtype).max, np.iinfo(b.dtype).max
        assert int(np.abs(a[0].astype(np.int64) @ b[:, 0].astype(np.int64))) > 1 << 31
        check(host, a, b, pair, total)


@pytest.mark.exhaustive
@MACHINES
@pytest.mark.parametrize("rows", range(1, 14))
def test_shapes_around_the_edges_of_tiles(host: TargetInfo, rows: int) -> None:
    for columns in (1, 2, 15, 16, 17, 33):
        depth = (rows + columns) % 5 * 4 + 4
        a, b = filled(SI8, (rows, depth), bool(rows % 2)), filled(SI8, (depth, columns), bool(columns % 2))
        check(host, a, b, (SI8, SI8))


@MACHINES
def test_batches_and_strides(host: TargetInfo) -> None:
    a, b = filled(SI8, (6 * 13, 72), False).reshape(3, 2, 13, 72), filled(SI8, (6 * 72, 37), False).reshape(3, 2, 72, 37)
    for left, right in [
        (a, b),
        (a[..., ::-1], b[:, :, ::-1]),
        (a[:, :, ::2, ::3], b[:, :, :24, ::2]),
        (a[:, :, :, ::3], b[:, :, ::3]),
        (np.broadcast_to(a[:1], a.shape), np.broadcast_to(b[:, :1], b.shape)),
    ]:
        assert (check(host, left, right, (SI8, SI8), pieces=3) is not None) == bool(host.dots)


@MACHINES
def test_operands_that_serve_many_products(host: TargetInfo) -> None:
    """Packed as a whole, in blocks of the contracted axis and without."""
    for m, k, n in ((13, 2048, 70), (40, 260, 130), (260, 4096, 40)):
        a, b = filled(SI8, (m, k), False), filled(SI8, (k, n), True)
        out = np.full((m, n), 77, np.int32)
        made = compiled(host, a, b, out, (SI8, SI8, SI32, SI32), still=(True, True))
        made.caller(a, b, out)()
        np.testing.assert_array_equal(out, a.astype(np.int32) @ b.astype(np.int32))
        assert made.product.cut.whole_rhs


# What products are computed in words, and by which instruction


def found(isa: str, left: PtirDType, right: PtirDType, total: PtirDType, depth: int) -> str | None:
    """The instruction of a product of some dtypes and depth."""
    lhs, rhs = (whole(Buffer(Use.INPUT, i, d, 0, ""), s) for i, (d, s) in enumerate(((left, (9, depth)), (right, (depth, 9)))))
    words = words_of(TARGETS[isa], lhs, rhs, total)
    return None if words is None else f"{words.instruction}{'+128' if words.offset else ''}"


def test_the_instruction_is_chosen_by_machine_and_dtypes() -> None:
    for isa in ("avx512vnni", "avx2vnni"):
        assert found(isa, SI8, SI8, SI32, 8) == "vpdpbusd+128"
        assert found(isa, UI8, SI8, SI32, 8) == found(isa, SI8, UI8, SI32, 8) == "vpdpbusd"
        assert found(isa, UI8, UI8, SI32, 8) == found(isa, SI8, SI16, UI32, 8) == "vpmaddwd"
        assert found(isa, SI8, SI8, SI32, 6) == "vpmaddwd", "six factors are no quads"
    for left in (SI8, UI8):
        assert found("avx512amx", left, SI8, SI32, 64) == found("avx512amx", left, UI8, UI32, 67) == "amx.int8"
    assert found("avx512amx", SI8, SI8, SI32, 60) == "vpdpbusd+128", "too few words for tiles"
    for isa in ("avx512", "avx2", "baseline"):
        assert found(isa, SI8, SI8, SI32, 8) == found(isa, UI8, SI8, SI32, 8) == "vpmaddwd"
    for isa, name in (("neondot", "neon.dot"), ("sve256", "sve.dot")):
        assert found(isa, SI8, SI8, SI32, 8) == found(isa, UI8, UI8, SI32, 8) == name
        assert found(isa, SI8, UI8, SI32, 8) is None, "only with i8mm"
    assert found("neon", SI8, SI8, SI32, 8) is None


@pytest.mark.parametrize("isa", TARGETS)
def test_other_products_are_not_in_words(isa: str) -> None:
    assert found(isa, SI8, SI8, SI32, 7) is None, "an odd depth"
    for total in (SI64, F32, SI16, SI8):
        assert found(isa, SI8, SI8, total, 8) is None, total
    for dtype in (SI32, UI16, F32):
        assert found(isa, dtype, dtype, SI32, 8) is None, dtype
        assert found(isa, SI8, dtype, SI32, 8) is None, dtype


def test_a_machine_without_such_instructions_multiplies_in_32_bits() -> None:
    host = replace(HOSTS_HERE[-1], dots=())
    for flips in (0, 3):
        a, b = filled(SI8, (13, 24), bool(flips)), filled(SI8, (24, 37), bool(flips))
        assert check(host, a, b, (SI8, SI8)) is None


@MACHINES
def test_odd_depths(host: TargetInfo) -> None:
    for depth in (1, 3, 6, 7, 130):
        a, b = filled(SI8, (13, depth), False), filled(SI8, (depth, 37), False)
        words = check(host, a, b, (SI8, SI8))
        assert words is None or words.in_tiles or depth % words.factors == 0


# Machine code


def assembly(host: TargetInfo, pair: Pair, rows: int = 64) -> str:
    a, b = filled(pair[0], (rows, 512), False), filled(pair[1], (512, 64), False)
    return jit.assembly(product_of(host, a, b, pair)[0].text, host)


INSTRUCTIONS = {
    "avx512amx": (r"tdpbssd\s.*%tmm", r"tdpbuud\s.*%tmm"),
    "avx512vnni": (r"vpdpbusd\s.*%zmm", r"vpdpwssd\s.*%zmm"),
    "avx512": (r"vpmaddwd\s.*%zmm",) * 2,
    "avx2vnni": (r"vpdpbusd\s.*%ymm", r"vpdpwssd\s.*%ymm"),
    "avx2": (r"vpmaddwd\s.*%ymm",) * 2,
    "baseline": (r"pmaddwd\s.*%xmm",) * 2,
    "neondot": (r"sdot\s+v\d+\.4s", r"udot\s+v\d+\.4s"),
    "neon": (r"mla\s+v\d+\.4s",) * 2,
    "sve256": (r"sdot\s+z\d+\.s", r"udot\s+z\d+\.s"),
}
"""Of signed and of unsigned bytes."""


def test_instructions_are_known_of_each_machine() -> None:
    assert set(INSTRUCTIONS) == set(TARGETS)
    assert {name for host in TARGETS.values() for name in host.dots} == set(DOTS)


@pytest.mark.parametrize("isa", TARGETS)
def test_code_has_the_instruction_of_the_machine(isa: str) -> None:
    for dtype, pattern in zip((SI8, UI8), INSTRUCTIONS[isa], strict=True):
        text = assembly(TARGETS[isa], (dtype, dtype))
        assert len(re.findall(pattern, text)) >= 4, dtype
        assert not re.search(r"vpdpbusds|vpdpwssds|pmaddubsw", text), "no instruction saturates"


@pytest.mark.parametrize("isa", ["avx512vnni", "avx512", "avx2vnni", "avx2"])
@pytest.mark.parametrize("dtype", [SI8, UI8], ids=str)
def test_no_sum_is_kept_in_memory(isa: str, dtype: PtirDType) -> None:
    for rows in (5, 7, 8, 12, 64):
        text = assembly(TARGETS[isa], (dtype, dtype), rows)
        loops = inner_loops(text, "tile")
        assert loops
        assert not any(map(spills, loops)), rows
