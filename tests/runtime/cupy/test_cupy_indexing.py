"""
Kernels whose index arithmetic is an op: transposes, slices, padding, rows by index, windows that start where data says.

The results are those of the NumPy target bit for bit, and so are the errors of indices out of bounds.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from cuda_emulation import ARCHITECTURES, compiled, compiler
from cupy_agreement import agree, arguments, in_one_batch
from fake_device import Batch
from mind_dialect import ptir
from mind_dialect.ptir import TARGETED, PtirLiteralAttr
from mind_dialect.ptir.types import DTYPES
from mind_lowering.cupy.kernels.maps import MAPS
from mind_runtime.on_cupy import CupyProgram
from ptir_forms import like, patches, program, reduce, shape, softmax, spread

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")


def sliced(x: Any, *window: tuple[int, int]) -> Any:
    return ptir.SliceOp(x, starts=[a for a, _ in window], sizes=[n for _, n in window])


def rotary(x: Any, cos: Any, sin: Any) -> Any:
    (rows, columns), half = shape(x), shape(x)[1] // 2
    left, right = (sliced(x, (0, rows), (start, half)) for start in (0, half))
    turned = ptir.ConcatOp(ptir.NegOp(right), left, axis=1)
    assert columns == 2 * half
    return ptir.AddOp(ptir.MulOp(x, cos), ptir.MulOp(turned, sin))


def padded(x: Any, *rows: tuple[int, int, int], value: float = 0) -> Any:
    low, high, interior = zip(*rows, strict=True)
    return ptir.PadOp(x, low=low, high=high, interior=interior, pad_value=value)


def cached(cache: Any, new: Any, start: Any) -> Any:
    return ptir.DynamicUpdateSliceOp(cache, ptir.ExpOp(new), start, sizes=shape(new))


def embedded(table: Any, words: Any, gamma: Any, beta: Any) -> Any:
    return ptir.LayerNormOp(ptir.TakeOp(table, words), gamma, beta, epsilon=1e-5, feature_axis=-1)


def marked(i: Any, x: Any) -> Any:
    """The gradient of a cross entropy: a softmax less 1 at the class."""
    p = softmax(x)
    one: Any = ptir.BroadcastToOp(ptir.ConstantOp(PtirLiteralAttr.from_values(DTYPES["f32"], (), (1.0,))), result_shape=(6, 1))
    return ptir.SubOp(p, ptir.ScatterReduceOp(like(x, 0.0), i, one, kind="add", axis=1))


def updated(kind: str) -> Any:
    return lambda x, i, u: ptir.NegOp(ptir.ScatterReduceOp(ptir.TanhOp(x), i, u, kind=kind, axis=0))


def together(x: Any) -> Any:
    return ptir.NegOp(ptir.ReshapeOp(ptir.TransposeOp(x, perm=(0, 2, 1, 3)), new_shape=(12, 12)))


def row_times(x: Any) -> Any:
    turned = ptir.TransposeOp(x, perm=(1, 0))
    return ptir.MulOp(turned, spread(sliced(turned, (2, 1), (0, 4)), turned))


CASES: list[tuple[str, str, Any]] = [
    ("transpose", "f32[5,7]", lambda x: ptir.ExpOp(ptir.TransposeOp(x, perm=(1, 0)))),
    ("heads", "f32[2,6,3,4]", lambda x: ptir.NegOp(ptir.TransposeOp(x, perm=(0, 2, 1, 3)))),
    (
        "heads back",
        "f32[2,3,6,4]",
        lambda x: ptir.NegOp(ptir.ReshapeOp(ptir.TransposeOp(x, perm=(0, 2, 1, 3)), new_shape=(12, 12))),
    ),
    ("transpose and sum", "f32[5,70]", lambda x: reduce(ptir.ExpOp(ptir.TransposeOp(x, perm=(1, 0))), "sum")),
    ("slice", "f32[9,10]", lambda x: ptir.ExpOp(sliced(x, (2, 5), (3, 7)))),
    ("slice of rows", "bf16[9,16]", lambda x: ptir.ExpOp(sliced(x, (2, 5), (0, 16)))),
    ("strides", "si32[9,10]", lambda x: ptir.NegOp(ptir.StridedSliceOp(x, starts=(1, 0), limits=(9, 10), strides=(3, 2)))),
    ("reverse", "f32[4,5,6]", lambda x: ptir.NegOp(ptir.ReverseOp(x, axes=(0, 2)))),
    ("tile", "f32[2,3]", lambda x: ptir.NegOp(ptir.TileOp(x, repeats=(3, 2)))),
    ("pad", "f32[4,5]", lambda x: ptir.NegOp(padded(x, (1, 2, 0), (0, 3, 2), value=1.5))),
    ("pad rows", "f16[4,5]", lambda x: padded(x, (1, 0, 0), (0, 0, 0))),
    ("concat", "f32[3,4] f32[3,1] f32[3,5]", lambda *xs: ptir.ExpOp(ptir.ConcatOp(*xs, axis=1))),
    ("concat of nothing", "f32[3,4] f32[0,4] f32[2,4]", lambda *xs: ptir.ConcatOp(*xs, axis=0)),
    ("rotary", "f32[6,8] f32[6,8] f32[6,8]", rotary),
    ("patches", "f32[2,7,6,3]", lambda x: ptir.NegOp(patches(x, 1.5))),
    ("patches without padding", "bf16[2,7,6,4]", lambda x: patches(x, padding=((0, 0), (0, 0)))),
    ("take", "f32[9,4] si32[5]", lambda x, i: ptir.ExpOp(ptir.TakeOp(x, i))),
    ("take of vectors", "f32[9] si64[2,3]", lambda x, i: ptir.TakeOp(x, i)),
    ("take of a row", "f32[9,3,2] si32[]", lambda x, i: ptir.TakeOp(x, i)),
    ("take and divide", "si32[9,4] si32[5] si32[5,4]", lambda x, i, y: ptir.DivOp(ptir.TakeOp(x, i), y)),
    ("take by what is taken", "f32[9,4] si32[8] si32[5]", lambda x, i, j: ptir.TakeOp(x, ptir.TakeOp(i, j))),
    ("embedding", "f32[9,40] si32[2,3] f32[40] f32[40]", embedded),
    ("gather", "f32[9,4] si32[9,4]", lambda x, i: ptir.NegOp(ptir.GatherOp(x, i, axis=0))),
    ("gather columns", "si8[5,8] si64[5,3]", lambda x, i: ptir.GatherOp(x, i, axis=-1)),
    ("picked", "f32[9,8] si32[9,1]", lambda x, i: reduce(ptir.GatherOp(ptir.ExpOp(x), i, axis=1), "sum", 0)),
    ("class", "si32[6,1] f32[6,9]", marked),
    *((f"class {kind}", "bf16[6,9] si32[1,9] bf16[1,9]", updated(kind)) for kind in ("add", "max", "min", "replace")),
    ("window", "f32[20,9] si32[2]", lambda x, i: ptir.DynamicSliceOp(x, i, sizes=(4, 5))),
    ("window of rows", "bf16[20,8] si64[2]", lambda x, i: ptir.ExpOp(ptir.DynamicSliceOp(x, i, sizes=(4, 8)))),
    ("cache", "f32[2,20,3] f32[2,1,3] si32[3]", cached),
    ("cache kept", "f32[2,20,3] f32[2,1,3] si32[3]", lambda c, n, s: [cached(c, n, s), ptir.NegOp(c)]),
    ("view of a view", "f32[6,8]", lambda x: ptir.ExpOp(sliced(ptir.TransposeOp(x, perm=(1, 0)), (1, 3), (2, 4)))),
    (
        "spread columns",
        "f32[4,6]",
        lambda x: ptir.MulOp(y := ptir.TransposeOp(x, perm=(1, 0)), spread(sliced(y, (2, 1), (0, 4)), y)),
    ),
]


@lru_cache(maxsize=1)
def batch() -> tuple[Batch, list[tuple[str, CupyProgram, Any]]]:
    return in_one_batch([(name, program(types, body)) for name, types, body in CASES])


def test_results_are_those_of_numpy() -> None:
    compiler()
    for i, (name, made, module) in enumerate(batch()[1]):
        agree(name, made, module, arguments(made, i))


def test_no_case_leaves_its_kernels() -> None:
    for name, made, _ in batch()[1]:
        calls = set(re.findall(r"(?:xp|k)\.\w+", made.source)) - {"k.copy", "k.launch"}
        assert not calls, f"{name}: {calls}"


ONE = (
    "heads",
    "transpose and sum",
    "view of a view",
    "spread columns",
    "rotary",
    "embedding",
    "take and divide",
    "picked",
    "class",
)


@pytest.mark.parametrize("name", ONE)
def test_views_are_part_of_the_kernel(name: str) -> None:
    ((made, _),) = [(made, module) for n, made, module in batch()[1] if n == name]
    assert made.cuda.count("__global__") == 1


@pytest.mark.parametrize("index", [-1, 9, 1 << 31, -(1 << 63)])
@pytest.mark.parametrize("name", ["take of vectors", "gather columns", "class add"])
def test_an_index_out_of_bounds_is_that_of_numpy(name: str, index: int) -> None:
    compiler()
    ((made, module),) = [(made, module) for n, made, module in batch()[1] if n == name]
    values = arguments(made, 0)
    if values[1].dtype.itemsize == 4:
        index = (index + (1 << 31)) % (1 << 32) - (1 << 31)
    values[1].reshape(-1)[3:] = index
    agree(name, made, module, values)


@pytest.mark.parametrize("start", [-(1 << 31), -1, 17, (1 << 31) - 1])
@pytest.mark.parametrize("name", ["window", "cache"])
def test_windows_are_clamped(name: str, start: int) -> None:
    compiler()
    ((made, module),) = [(made, module) for n, made, module in batch()[1] if n == name]
    values = arguments(made, 0)
    values[-1][:] = start
    agree(name, made, module, values)


def test_of_an_index_and_a_division_the_first_op_fails() -> None:
    compiler()
    ((made, module),) = [(made, module) for n, made, module in batch()[1] if n == "take and divide"]
    values = arguments(made, 0)
    values[2][:] = 1
    for index, divisor in ((3, 0), (9, 1), (9, 0)):
        values[1][4], values[2][0, 0] = index, divisor
        agree("take and divide", made, module, values)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_compiles_every_kernel(architecture: str) -> None:
    compiled(batch()[0].text(), architecture)


@pytest.mark.quick
def test_there_is_a_map_for_every_op_that_is_one() -> None:
    assert set(MAPS) == {op for op, part in TARGETED.items() if part == "map"} | {ptir.ScatterReduceOp}


class Chain:
    """Random maps one after the other, with elementwise ops and reductions between them."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def __call__(self, x: Any, i: Any) -> Any:
        for _ in range(self.rng.integers(2, 7)):
            step = getattr(self, f"_{self.rng.choice(KINDS)}")
            x = step(x, i).results[0]
        return ptir.NegOp(x)

    def _transpose(self, x: Any, i: Any) -> Any:
        return ptir.TransposeOp(x, perm=tuple(int(a) for a in self.rng.permutation(len(shape(x)))))

    def _slice(self, x: Any, i: Any) -> Any:
        starts = [int(self.rng.integers(0, n)) for n in shape(x)]
        return sliced(x, *((a, int(self.rng.integers(1, n - a + 1))) for a, n in zip(starts, shape(x), strict=True)))

    def _strides(self, x: Any, i: Any) -> Any:
        starts = [int(self.rng.integers(0, n)) for n in shape(x)]
        return ptir.StridedSliceOp(x, starts=starts, limits=shape(x), strides=[int(self.rng.integers(1, 4)) for _ in starts])

    def _reverse(self, x: Any, i: Any) -> Any:
        return ptir.ReverseOp(x, axes=(int(self.rng.integers(0, len(shape(x)))),))

    def _pad(self, x: Any, i: Any) -> Any:
        return padded(x, *(tuple(int(n) for n in self.rng.integers(0, 3, 3)) for _ in shape(x)), value=1.5)

    def _tile(self, x: Any, i: Any) -> Any:
        return ptir.TileOp(x, repeats=[int(n) for n in self.rng.integers(1, 3, len(shape(x)))])

    def _concat(self, x: Any, i: Any) -> Any:
        return ptir.ConcatOp(x, ptir.NegOp(x), x, axis=int(self.rng.integers(0, len(shape(x)))))

    def _reshape(self, x: Any, i: Any) -> Any:
        extents = list(shape(x))
        at = int(self.rng.integers(0, len(extents)))
        if len(extents) < 4 and extents[at] % 2 == 0:
            return ptir.ReshapeOp(x, new_shape=[*extents[:at], 2, extents[at] // 2, *extents[at + 1 :]])
        joined = [*extents[:-2], int(np.prod(extents[-2:]))]
        return ptir.ReshapeOp(x, new_shape=joined if len(extents) > 1 else extents)

    def _take(self, x: Any, i: Any) -> Any:
        return ptir.TakeOp(x, ptir.MinimumOp(i, like(i, shape(x)[0] - 1))) if len(shape(x)) < 4 else ptir.NegOp(x)

    def _exponential(self, x: Any, i: Any) -> Any:
        return ptir.TanhOp(x)

    def _spread(self, x: Any, i: Any) -> Any:
        return ptir.AddOp(x, spread(reduce(x, "max", -1), x))


KINDS = tuple(name[1:] for name in vars(Chain) if name[1:2].isalpha())


def test_random_chains_of_maps_give_the_same() -> None:
    compiler()
    made = Batch()
    found: list[tuple[str, CupyProgram, Any]] = []
    for seed in range(60):
        module = program("f32[4,6,3] si32[3]", Chain(seed))
        found.append((f"chain {seed}", made.add(module.clone()), module))
    for i, (name, one, module) in enumerate(found):
        agree(name, one, module, arguments(one, i))
    kernels, calls = (sum(one.source.count(text) for _, one, _ in found) for text in ("k.launch", "xp."))
    assert kernels > 60 > 4 * calls
