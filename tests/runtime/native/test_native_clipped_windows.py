"""Windows that reach beyond their operand on the native target: read inside of it alone, without a copy that has a border."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import BF16, F16, F32, F64, SI8, SI32, UI8, UI16, PtirDType
from mind_lowering import code_cache as cache
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.native.program import lower, prepared
from mind_lowering.native.reductions import end_of
from mind_lowering.native.slides import MOST_PHASES, Slide
from mind_lowering.native.target_info import TARGETS
from mind_lowering.native.window_parts import MOST_BORDERS
from mind_lowering.ptir_kernels.formats import array_dtype
from native_text import load_backwards
from ptir_evaluator import evaluate, function_of
from ptir_forms import program


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of one run is found by another."""
    monkeypatch.setenv(cache.VARIABLE, "")


@dataclass(frozen=True)
class Windows:
    """A reduction of windows, one number per axis."""

    kind: str
    shape: tuple[int, ...]
    window: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    strides: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    base: tuple[int, ...] = ()

    def module(self, dtype: PtirDType, *, bordered: bool = False) -> Any:
        """The reduction; if `bordered`, of an operand that has the padding as elements of its own."""
        ones, none = (1,) * len(self.shape), ((0, 0),) * len(self.shape)

        def body(x: Any) -> Any:
            if bordered:
                low, high = zip(*self.padding, strict=True)
                interior = [n - 1 for n in self.base or ones]
                number = PtirLiteralAttr.from_values(dtype, (), (self.identity(dtype),))
                x = ptir.PadOp(x, low=low, high=high, interior=interior, pad_value=number).result
            return ptir.ReduceWindowOp(
                x,
                kind=self.kind,
                window_dims=self.window,
                strides=self.strides or ones,
                padding=none if bordered else self.padding,
                base_dilation=ones if bordered else self.base or ones,
                window_dilation=self.dilation or ones,
            ).result

        return program(f"{dtype}[{','.join(map(str, self.shape))}]", body)

    def identity(self, dtype: PtirDType) -> float:
        number = 0 if self.kind == "sum" else end_of(dtype, least=self.kind == "max")
        return float(number) if dtype.kind == "float" else int(number)

    def array(self, dtype: PtirDType, seed: int) -> Any:
        """Random numbers; of floats some are zeros of both signs, infinities and, but for sums, NaN."""
        rng = np.random.default_rng(seed)
        if dtype.kind != "float":
            low = 0 if dtype.kind == "unsigned" else -100
            return rng.integers(low, 100, self.shape).astype(array_dtype(dtype.name))
        x = rng.standard_normal(self.shape)
        special = (0.0, -0.0, np.inf, -np.inf, np.nan)
        some = rng.integers(0, max(1, x.size), x.size // 6)
        x.ravel()[some] = rng.choice(special, some.size) if self.kind != "sum" else rng.choice(special[:2], some.size)
        return x.astype(array_dtype(dtype.name))


def lines_of(form: Windows, dtype: PtirDType = F32) -> list[str]:
    """The kernels of a reduction, with the rows that do not take it."""
    return mind_runtime.compile(form.module(dtype), target="native").explain(rejected=True)


def same(a: Any, b: Any) -> None:
    """The same numbers, NaN where the other has NaN."""
    np.testing.assert_array_equal(*(np.asarray(v).astype(np.float64) for v in (a, b)))


def check(form: Windows, dtype: PtirDType, seed: int = 0) -> None:
    """The numbers of an operand with a border, and extremes and integers those of the NumPy target."""
    x = form.array(dtype, seed)
    with np.errstate(all="ignore"):
        found = mind_runtime.compile(form.module(dtype), target="native")(x)
        same(found, mind_runtime.compile(form.module(dtype, bordered=True), target="native")(x))
        expected = mind_runtime.compile(form.module(dtype), target="numpy")(x)
    if form.kind != "sum" or dtype.kind != "float":
        same(found, expected)
    else:
        count = np.prod(form.window)
        sizes = Windows("sum", *list(vars(form).values())[1:])
        size = mind_runtime.compile(sizes.module(F64), target="numpy")(abs(x.astype(np.float64)))
        eps = np.finfo(np.float32).eps if dtype is not F64 else np.finfo(np.float64).eps
        narrow = {BF16: 2.0**-8, F16: 2.0**-11}.get(dtype, 0)
        assert np.all(abs(found.astype(np.float64) - expected.astype(np.float64)) <= (count * eps + 2 * narrow) * size)


def random_form(pick: random.Random) -> Windows:
    rank = pick.choice((1, 2, 3, 4))

    def some(*numbers: int) -> tuple[int, ...]:
        return tuple(pick.choice(numbers) for _ in range(rank))

    shape = some(1, 2, 3, 7, 12, 33) if rank < 4 else some(1, 2, 3, 7, 17)
    window, dilation, strides, base = some(1, 2, 3, 4), some(1, 1, 1, 2, 3), some(1, 1, 2, 3), (1,) * rank
    if pick.random() < 0.4:
        base, dilation, strides = some(1, 2, 3), (1,) * rank, (1,) * rank
    padding = []
    for n, k, d, b in zip(shape, window, dilation, base, strict=True):
        low, high = (pick.choice((0, 0, 1, 2, 5)) if k > 1 or pick.random() < 0.2 else 0 for _ in "ab")
        missing = max(0, (k - 1) * d - (n - 1) * b - low - high)
        padding.append((low, high + missing))
    return Windows(pick.choice(("max", "min", "sum")), shape, window, tuple(padding), strides, dilation, base)


@pytest.mark.parametrize("seed", range(160))
def test_random_forms(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(seed)
    monkeypatch.setenv(ISA_VARIABLE, pick.choice(RUNNABLE))
    monkeypatch.setenv(CHECKS_VARIABLE, "1" if seed % 2 else "")
    check(random_form(pick), pick.choice((F32, F32, F64, BF16, F16, SI8, UI8, UI16, SI32)), seed)


NHWC = Windows("max", (2, 11, 12, 16), (1, 3, 3, 1), ((0, 0), (1, 1), (1, 1), (0, 0)), (1, 2, 2, 1))
NCHW = Windows("max", (2, 5, 11, 40), (1, 1, 3, 3), ((0, 0), (0, 0), (1, 1), (1, 1)))
LINES = Windows(**{**vars(NCHW), "kind": "sum"})
FORMS = [
    NHWC,
    NCHW,
    Windows("min", (2, 5, 11, 12), (1, 1, 3, 3), ((0, 0), (0, 0), (1, 1), (1, 1)), (1, 1, 2, 2)),
    Windows("sum", (2, 11, 12, 3), (1, 3, 3, 1), ((0, 0), (1, 1), (1, 1), (0, 0))),
    Windows("sum", (2, 5, 11, 40), (1, 1, 3, 3), ((0, 0), (0, 0), (1, 1), (1, 1))),
    Windows("max", (2, 3, 4, 8), (1, 7, 9, 1), ((0, 0), (3, 3), (4, 4), (0, 0))),
    Windows("max", (2, 3, 4, 8), (1, 2, 2, 1), ((0, 0), (5, 4), (3, 6), (0, 0))),
    Windows("sum", (2, 3, 4, 8), (1, 2, 2, 1), ((0, 0), (5, 4), (3, 6), (0, 0))),
    Windows("max", (2, 13, 14, 24), (1, 3, 2, 1), ((0, 0), (2, 3), (1, 4), (0, 0)), (1, 1, 2, 1), (1, 2, 3, 1)),
    Windows("max", (40,), (3,), ((1, 1),)),
    Windows(
        "sum", (1, 1, 3), (2, 2, 4), ((0, 1), (2, 0), (5, 1)), base=(1, 3, 1)
    ),  # one tap between an axis with bounds and one without
    Windows("min", (40,), (2,), ((3, 2),)),
    Windows("max", (3, 6, 7, 5, 16), (1, 2, 3, 2, 1), ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0)), (1, 2, 1, 2, 1)),
    Windows("sum", (1, 1, 1, 16), (1, 3, 3, 1), ((0, 0), (1, 1), (1, 1), (0, 0))),
    Windows("sum", (2, 9, 8, 16), (1, 3, 3, 1), ((0, 0), (1, 2), (1, 2), (0, 0)), base=(1, 2, 2, 1)),
    Windows("sum", (2, 4, 9, 40), (1, 1, 3, 3), ((0, 0), (0, 0), (1, 2), (1, 2)), base=(1, 1, 2, 2)),
    Windows("max", (2, 5, 6, 16), (1, 2, 3, 1), ((0, 0), (4, 3), (1, 2), (0, 0)), base=(1, 3, 4, 1)),
    Windows("min", (2, 1, 2, 16), (1, 1, 2, 1), ((0, 0), (2, 1), (0, 3), (0, 0)), base=(1, 5, 3, 1)),
    Windows("max", (2, 8, 9, 16), (1, 3, 1, 1), ((0, 0), (1, 1), (1, 1), (0, 0))),
    Windows("max", (7, 40), (1, 1), ((2, 1), (1, 3)), (2, 3)),
]
"""
Pooling of both layouts, few channels, windows larger than the operand, windows of padding alone, dilations, other ranks, holes
with phases that meet nothing and phases without results, windows of one place.
"""


@pytest.mark.parametrize("dtype", [F32, F64, F16, BF16, SI8, UI8, SI32], ids=str)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_forms(form: Windows, dtype: PtirDType, monkeypatch: pytest.MonkeyPatch) -> None:
    """With checks of every element that is read."""
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    check(form, dtype)


def test_the_evaluator_agrees() -> None:
    for form in FORMS:
        x = np.rint(np.random.default_rng(0).standard_normal(form.shape) * 9).astype(np.float32)  # sums are exact
        (expected,) = evaluate(function_of(form.module(F32)), [x])
        same(mind_runtime.compile(form.module(F32), target="native")(x), expected)


@pytest.mark.parametrize("form", [NHWC, Windows(**{**vars(NHWC), "kind": "sum"})], ids=str)
def test_one_kernel_without_temporaries(form: Windows) -> None:
    for isa in ("avx512", "avx2", "neon"):
        native = lower(prepared(function_of(form.module(F32)), TARGETS[isa]), TARGETS[isa])
        assert native.arena == 0
        assert len(native.notes) == 1


@pytest.mark.parametrize("kind", ["max", "min", "sum"])
@pytest.mark.parametrize("isa", RUNNABLE)
def test_bits_with_lanes_along_channels_are_those_with_a_border(kind: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signs of zeros included: elements are read in the same order. Lanes along windows meet zeros in another one."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    for form in (NHWC, FORMS[8], FORMS[13]):
        form = Windows(**{**vars(form), "kind": kind})
        for dtype in (F32, BF16):
            x = form.array(dtype, 5)
            with np.errstate(all="ignore"):
                found, expected = (
                    mind_runtime.compile(form.module(dtype, bordered=bordered), target="native")(x) for bordered in (False, True)
                )
            same(found, expected)
            assert np.array_equal(*(np.signbit(v.astype(np.float64)) & (v == v) for v in (found, expected)))


def test_holes_are_not_stored() -> None:
    """The gradient of an average pool has a kernel for each phase, and one for what meets no results."""
    form = Windows("sum", (2, 9, 8, 16), (1, 3, 3, 1), ((0, 0), (1, 2), (1, 2), (0, 0)), base=(1, 2, 2, 1))
    for isa in ("avx512", "avx2", "neon"):
        native = lower(prepared(function_of(form.module(F32)), TARGETS[isa]), TARGETS[isa])
        assert native.arena == 0
        assert sum("reduce" in str(note) for note in native.notes) == 4


def test_windows_along_the_lanes_are_split() -> None:
    """Those inside of the operand, and each of the two at its ends; nothing is copied."""
    for isa in ("avx512", "avx2", "neon"):
        native = lower(prepared(function_of(LINES.module(F32)), TARGETS[isa]), TARGETS[isa])
        assert native.arena == 0
        assert len(native.notes) == 3


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        (Windows("max", (2, 8, 9, 16), (1, 3, 3, 1), ((0, 0),) * 4), "no window reaches beyond the operand"),
        (
            Windows("max", (2, 8, 9, 16), (1, 3, 3, 1), ((0, 0), (0, 0), (0, 1), (0, 0)), (1, 1, 3, 1)),
            "no window reaches beyond the operand",
        ),
        (
            Windows("max", (2, 8, 9, 16), (1, 3, 3, 1), ((0, 0), (1, 1), (1, 1), (0, 0)), (1, 2, 1, 1), base=(1, 2, 1, 1)),
            "a stride or a window dilation in addition",
        ),
        (
            Windows("max", (2, 8, 9, 16), (1, 3, 3, 1), ((0, 0), (1, 1), (1, 1), (0, 0)), base=(1, 4, 5, 1)),
            f"20 phases of the base dilation, more than {MOST_PHASES}",
        ),
        (Windows("max", (4, 64), (1, 12), ((0, 0), (11, 0))), f"11 windows .* along the lanes, more than {MOST_BORDERS}"),
        (Windows("sum", (1, 4096), (1, 4096), ((0, 0), (1, 0)), (1, 9)), "lanes run along the places of a window"),
        (Windows("max", (1 << 21,), (1 << 21,), ((1, 0),), (9,)), "windows are reduced part by part"),
    ],
    ids=str,
)
def test_forms_with_a_border(form: Windows, reason: str) -> None:
    check(form, F32)
    assert any(re.search(f"windows; .*not clipped windows: {reason}", line) for line in lines_of(form))


def test_places_whose_windows_are_inside() -> None:
    """Every place, one by one."""
    pick = random.Random(0)
    for _ in range(3000):
        limits = ((1, 12), (1, 12), (1, 5), (1, 4), (1, 3), (-5, 6))
        slide = Slide(*(pick.randint(*pair) for pair in limits))
        starts = [place * slide.stride - slide.low for place in range(slide.places)]
        reach = (slide.window - 1) * slide.dilation
        assert list(slide.whole) == [p for p, start in enumerate(starts) if 0 <= start and start + reach < slide.extent]


def test_an_operand_that_is_not_in_memory() -> None:
    def body(x: Any) -> Any:
        one = ptir.ConstantOp(PtirLiteralAttr.from_values(F32, (), (2.5,))).result
        spread = ptir.BroadcastToOp(one, result_shape=[9, 16]).result
        values = {"strides": (1, 1), "base_dilation": (1, 1), "window_dilation": (1, 1), "padding": ((1, 1), (0, 0))}
        return ptir.AddOp(ptir.ReduceWindowOp(spread, kind="sum", window_dims=(3, 1), **values).result, x).result

    found = mind_runtime.compile(program("f32[9,16]", body), target="native")(np.zeros((9, 16), np.float32))
    np.testing.assert_array_equal(found[:, 3], [5.0, *[7.5] * 7, 5.0])


@pytest.mark.parametrize("isa", RUNNABLE)
def test_results_do_not_depend_on_how_work_is_shared_out(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each unit of every kernel by itself, the last one first."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    arrays = [form.array(F32, 1) for form in FORMS]
    whole = [mind_runtime.compile(form.module(F32), target="native")(x).tobytes() for form, x in zip(FORMS, arrays, strict=True)]
    split = load_backwards(monkeypatch)
    mind_runtime.clear_cache()
    for form, x, expected in zip(FORMS, arrays, whole, strict=True):
        assert mind_runtime.compile(form.module(F32), target="native")(x).tobytes() == expected
    assert sum(split) > len(FORMS)
    mind_runtime.clear_cache()


def test_a_donated_operand_is_read_before_it_is_overwritten() -> None:
    form = Windows("max", (2, 9, 9, 16), (1, 3, 3, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))
    x = form.array(F32, 3)
    module = form.module(F32)
    expected = mind_runtime.compile(module, target="numpy")(x)
    assert expected.shape == x.shape
    name = mind_runtime.compile(module).inputs[0].name
    same(mind_runtime.compile(module, target="native", donate=[name])(x.copy()), expected)
    room = x.copy()
    same(mind_runtime.compile(module, target="native")(room, out=room), expected)


def test_views_of_an_operand() -> None:
    """A transposed and reversed slice is read where it lies."""

    def body(x: Any) -> Any:
        turned = ptir.ReverseOp(ptir.TransposeOp(x, perm=(0, 2, 3, 1)).result, axes=(1,)).result
        cut = ptir.SliceOp(turned, starts=(0, 1, 0, 0), sizes=(2, 6, 9, 16)).result
        values = {"strides": (1, 2, 1, 1), "base_dilation": (1,) * 4, "window_dilation": (1,) * 4}
        padding = ((0, 0), (1, 1), (2, 1), (0, 0))
        return ptir.ReduceWindowOp(cut, kind="max", window_dims=(1, 3, 3, 1), padding=padding, **values).result

    x = np.random.default_rng(2).standard_normal((2, 16, 8, 9)).astype(np.float32)
    module = program("f32[2,16,8,9]", body)
    native = mind_runtime.compile(module, target="native")
    same(native(x), mind_runtime.compile(module, target="numpy")(x))
    assert not any("copy" in line for line in native.explain())


def test_code_for_other_machines() -> None:
    for host in TARGETS.values():
        for form in FORMS:
            native = lower(prepared(function_of(form.module(F32)), host), host)
            assert not any(note.reason for note in native.notes)


def test_in_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """A carry is read by all kernels of an iteration before the next one takes its memory."""
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    values = {"strides": (1,) * 4, "base_dilation": (1,) * 4, "window_dilation": (1,) * 4}
    for shape, window, padding in ((NHWC.shape, NHWC.window, NHWC.padding), (NCHW.shape, NCHW.window, NCHW.padding)):

        def body(x: Any, s: Any, window: Any = window, padding: Any = padding) -> list[Any]:
            found = ptir.ReduceWindowOp(x, kind="max", window_dims=window, padding=padding, **values).result
            return [ptir.AddOp(found, s).result]

        def whole(x: Any, s: Any, body: Any = body) -> Any:
            return ptir.ScanOp(x, s, carry_count=1, scan_output_count=0, body=body).results[0]

        sizes = ",".join(map(str, shape))
        module = program(f"f32[{sizes}] f32[5,{sizes}]", whole)
        rng = np.random.default_rng(0)
        x, s = (rng.standard_normal(n).astype(np.float32) for n in (shape, (5, *shape)))
        native = mind_runtime.compile(module, target="native")
        same(native(x, s), mind_runtime.compile(module, target="numpy")(x, s))
        assert "0 ops on NumPy" in native.explain()[0]
