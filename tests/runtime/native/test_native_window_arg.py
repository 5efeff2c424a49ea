"""The first extremes of windows on the native target: indices, and values that `take` reads at them, in one kernel."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import BF16, F16, F32, F64, SI8, SI32, SI64, UI8, UI16, UI64, PtirDType
from mind_lowering import code_cache as cache
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.native.program import lower, prepared
from mind_lowering.native.target_info import TARGETS
from mind_lowering.ptir_kernels.formats import array_dtype
from native_text import load_backwards
from ptir_evaluator import function_of
from ptir_forms import program


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of one run is found by another."""
    monkeypatch.setenv(cache.VARIABLE, "")


@dataclass(frozen=True)
class Search:
    """A search for the extremes of windows, one number per axis, in a transposed view of the argument if there is a `perm`."""

    kind: str
    shape: tuple[int, ...]
    window: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    perm: tuple[int, ...] = ()

    @property
    def places(self) -> list[range]:
        """Return the first element of each window along each axis."""
        each = zip(self.shape, self.window, self.padding, self.strides, self.dilation, strict=True)
        return [range(-low, n + high - (k - 1) * d, s) for n, k, (low, high), s, d in each]

    @property
    def has_empty(self) -> bool:
        return bool(self.oracle(np.zeros(self.shape)).size) and self.oracle(np.zeros(self.shape)).min() < 0

    def module(self, dtype: PtirDType, results: str = "index", out: PtirDType = SI64) -> Any:
        """The indices, the values at them, or both."""
        perm = self.perm or tuple(range(len(self.shape)))
        shape = [self.shape[perm.index(i)] for i in range(len(perm))]

        def body(x: Any) -> Any:
            x = ptir.TransposeOp(x, perm=perm).result if self.perm else x
            index = self.op(x, out)
            flat = ptir.ReshapeOp(x, new_shape=(math.prod(self.shape),)).result
            value = ptir.TakeOp(flat, index).result
            return {"index": [index], "value": [value], "both": [value, index]}[results]

        return program(f"{dtype}[{','.join(map(str, shape))}]", body)

    def op(self, x: Any, out: PtirDType = SI64) -> Any:
        return ptir.WindowArgOp(
            x,
            kind=self.kind,
            window_dims=self.window,
            strides=self.strides,
            padding=self.padding,
            window_dilation=self.dilation,
            output_dtype=out,
        ).result

    def argument(self, x: Any) -> Any:
        """The argument whose view is `x`."""
        return np.ascontiguousarray(x.transpose(np.argsort(self.perm))) if self.perm else x

    def array(self, dtype: PtirDType, seed: int) -> Any:
        """Random numbers with many equal ones; of floats zeros of both signs, infinities, and NaN."""
        rng = np.random.default_rng(seed)
        if dtype.kind != "float":
            low = 0 if dtype.kind == "unsigned" else -100
            return rng.integers(low, 100, self.shape).astype(array_dtype(dtype.name))
        x = np.rint(rng.standard_normal(self.shape) * 3)
        some = rng.integers(0, max(1, x.size), x.size // 3)
        x.ravel()[some] = rng.choice((0.0, -0.0, np.inf, -np.inf, -np.inf, np.nan), some.size)
        return x.astype(array_dtype(dtype.name))

    def oracle(self, x: Any) -> Any:
        """The indices, element by element, as the op is defined."""
        sign = 1 if self.kind == "max" else -1
        numbers = x.astype(np.float64) if x.dtype.kind not in "iu" else x.astype(object)
        found = np.full([len(r) for r in self.places], -1, np.int64)
        for place in np.ndindex(found.shape):
            starts = [r[i] for r, i in zip(self.places, place, strict=True)]
            best = None
            for tap in itertools.product(*map(range, self.window)):
                at = tuple(s + t * d for s, t, d in zip(starts, tap, self.dilation, strict=True))
                if all(0 <= i < n for i, n in zip(at, self.shape, strict=True)):
                    v = numbers[at]
                    if best is None or (best == best and (v != v or v * sign > best * sign)):
                        best, found[place] = v, np.ravel_multi_index(at, self.shape)
        return found


def check(form: Search, dtype: PtirDType, results: str, seed: int = 0, out: PtirDType = SI64) -> None:
    """Indices of the oracle and of the NumPy target, and the bits of the elements there."""
    x, module = form.array(dtype, seed), form.module(dtype, results, out)
    found = mind_runtime.compile(module, target="native")(form.argument(x))
    found = list(found) if results == "both" else [found]
    index = form.oracle(x)
    if results != "value":
        assert found[-1].dtype == array_dtype(out.name)
        np.testing.assert_array_equal(found[-1], index)
    if results != "index":
        assert found[0].tobytes() == x.ravel()[index].tobytes()
    expected = mind_runtime.compile(module, target="numpy")(form.argument(x))
    for a, b in zip(found, expected if results == "both" else [expected], strict=True):
        assert a.tobytes() == b.tobytes()


def random_form(pick: random.Random) -> Search:
    rank = pick.choice((1, 2, 3, 4))

    def some(*numbers: int) -> tuple[int, ...]:
        return tuple(pick.choice(numbers) for _ in range(rank))

    shape = some(1, 2, 3, 7, 12, 33) if rank < 3 else some(1, 2, 3, 7, 9)
    window, dilation, strides = some(1, 2, 3, 4), some(1, 1, 1, 2, 3), some(1, 1, 2, 3)
    padding = []
    for n, k, d in zip(shape, window, dilation, strict=True):
        low, high = (pick.choice((0, 0, 1, 2, 5)) if k > 1 or pick.random() < 0.2 else 0 for _ in "ab")
        padding.append((low, high + max(0, (k - 1) * d - (n - 1) - low - high)))
    perm = tuple(pick.sample(range(rank), rank)) if pick.random() < 0.5 else ()
    return Search(pick.choice(("max", "min")), shape, window, tuple(padding), strides, dilation, perm)


@pytest.mark.parametrize("seed", range(200))
def test_random_forms(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(seed)
    monkeypatch.setenv(ISA_VARIABLE, pick.choice(RUNNABLE))
    monkeypatch.setenv(CHECKS_VARIABLE, "1" if seed % 2 else "")
    form = random_form(pick)
    results = "index" if form.has_empty else pick.choice(("index", "value", "both"))
    check(
        form, pick.choice((F32, F32, F64, BF16, F16, SI8, UI8, UI16, SI32, SI64, UI64)), results, seed, pick.choice((SI32, SI64))
    )


NHWC = Search("max", (2, 11, 12, 16), (1, 3, 3, 1), ((0, 0), (1, 1), (1, 1), (0, 0)), (1, 2, 2, 1), (1,) * 4)
NCHW = Search("max", (2, 5, 11, 40), (1, 1, 3, 3), ((0, 0), (0, 0), (1, 1), (1, 1)), (1,) * 4, (1,) * 4)
INSIDE = Search("min", (2, 8, 10, 24), (1, 2, 2, 1), ((0, 0),) * 4, (1, 2, 2, 1), (1,) * 4)
EMPTY = Search("max", (2, 3, 4, 8), (1, 2, 2, 1), ((0, 0), (5, 4), (3, 6), (0, 0)), (1,) * 4, (1,) * 4)
FORMS = [
    NHWC,
    NCHW,
    INSIDE,
    replace(NCHW, strides=(1, 1, 2, 2), perm=(0, 3, 1, 2)),
    Search("max", (2, 13, 14, 24), (1, 3, 2, 1), ((0, 0), (2, 3), (1, 4), (0, 0)), (1, 1, 2, 1), (1, 2, 3, 1)),
    Search("min", (2, 3, 4, 8), (1, 7, 9, 1), ((0, 0), (3, 3), (4, 4), (0, 0)), (1,) * 4, (1,) * 4),
    Search("max", (40,), (3,), ((1, 1),), (1,), (1,)),
    Search("max", (1, 1, 1), (1, 3, 3), ((0, 0), (1, 1), (1, 1)), (1,) * 3, (1,) * 3),
    Search("min", (3, 6, 7, 5, 16), (1, 2, 3, 2, 1), ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0)), (1, 2, 1, 2, 1), (1,) * 5),
]
"""Pooling of both layouts, of a view, with dilation, of windows larger than the operand, of one element, of other ranks."""
EMPTIES = [
    EMPTY,
    Search("min", (40,), (2,), ((3, 2),), (1,), (1,)),
    Search("max", (7, 40), (1, 1), ((2, 1), (1, 3)), (2, 3), (1, 1)),
    Search("max", (1, 40), (1, 4), ((0, 0), (9, 9)), (1, 3), (1, 1)),
    Search("max", (0, 3), (2, 2), ((1, 1), (0, 0)), (1, 1), (1, 1)),
]


@pytest.mark.parametrize("dtype", [F32, F64, F16, BF16, SI8, UI8, SI32, SI64, UI64], ids=str)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_forms(form: Search, dtype: PtirDType, monkeypatch: pytest.MonkeyPatch) -> None:
    """With checks of every element that is read."""
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    check(form, dtype, "both", out=SI32)


@pytest.mark.parametrize("form", EMPTIES, ids=str)
def test_windows_of_padding_alone(form: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have the index -1, which a `take` refuses as it does on NumPy."""
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    assert form.has_empty
    check(form, F32, "index")
    check(form, SI8, "index")
    x, module = form.array(F32, 0), form.module(F32, "value")
    said: list[str] = []
    for target in ("native", "numpy"):
        with pytest.raises(MindError) as caught:
            mind_runtime.compile(module, target=target)(x)
        said.append(str(caught.value))
    assert said[0] == said[1]
    if x.size:
        lines = mind_runtime.compile(module, target="native").explain(rejected=True)
        assert any("not winner of windows: a window holds padding alone" in line for line in lines)


def test_no_windows() -> None:
    form = Search("max", (0, 3, 4), (1, 2, 2), ((0, 0),) * 3, (1,) * 3, (1,) * 3)
    check(form, F32, "both")


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("isa", RUNNABLE)
def test_first_of_equals(kind: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros of both signs are equal, infinities are elements like others, and the first NaN comes before all."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    form = Search(kind, (6, 4), (1, 4), ((0, 0), (0, 0)), (1, 1), (1, 1))
    least, nan = (-np.inf if kind == "max" else np.inf), np.nan
    other = np.frombuffer(np.uint32(0xFFC12345).tobytes(), np.float32)[0]
    rows = [
        [0.0, -0.0, 0.0, -0.0],
        [-0.0, 0.0, -0.0, 0.0],
        [least] * 4,
        [nan, other, 1, 2],
        [1, other, nan, 2],
        [-least, nan, 0, 0],
    ]
    x = np.array(rows, np.float32)
    value, index = mind_runtime.compile(form.module(F32, "both"), target="native")(x)
    np.testing.assert_array_equal(index[:, 0] % 4, [0, 0, 0, 0, 1, 1])
    assert value.tobytes() == x.ravel()[index].tobytes()


def kernels(module: Any, isa: str) -> tuple[int, list[str]]:
    """The bytes of temporaries, and the lines of all kernels."""
    native = lower(prepared(function_of(module), TARGETS[isa]), TARGETS[isa])
    assert not any(note.reason for note in native.notes)
    return native.arena, [str(note) for note in native.notes]


@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline", "neon"])
def test_what_a_kernel_writes(isa: str) -> None:
    """The value alone where nothing else reads the index: then no index is computed. Nothing is copied."""
    for results, what in (("value", "value of"), ("both", "value and index of"), ("index", "index of")):
        arena, lines = kernels(NHWC.module(F32, results), isa)
        assert arena == 0
        assert len(lines) == 1
        assert f"{what} the first max of windows 1x3x3x1" in lines[0]
    arena, lines = kernels(NCHW.module(F32, "both"), isa)
    assert (arena, len(lines)) == (0, 3)


def other_index(x: Any) -> Any:
    """Another operand of the same size."""
    index = INSIDE.op(ptir.NegOp(x).result)
    return ptir.TakeOp(ptir.ReshapeOp(x, new_shape=(math.prod(INSIDE.shape),)).result, index)


@pytest.mark.parametrize(
    ("body", "dtype", "reason"),
    [
        (other_index, "f32", "its operand is not that of the windows, flattened"),
        (lambda x: ptir.TakeOp(ptir.ReshapeOp(x, new_shape=(3840,)).result, INSIDE.op(x)), "f16", "16-bit floats are widened"),
        (lambda x: ptir.TakeOp(ptir.ReshapeOp(x, new_shape=(3840, 1)).result, INSIDE.op(x)), "f32", "its operand is not that"),
        (
            lambda x: ptir.TakeOp(ptir.ReshapeOp(x, new_shape=(3840,)).result, ptir.ReverseOp(INSIDE.op(x), axes=(1,)).result),
            "f32",
            "its indices are not those of extremes of windows",
        ),
    ],
)
def test_a_take_of_its_own(body: Any, dtype: str, reason: str) -> None:
    module = program(f"{dtype}[2,8,10,24]", body)
    native = mind_runtime.compile(module, target="native")
    assert any(f"lookup; not winner of windows: {reason}" in line for line in native.explain(rejected=True))
    x = INSIDE.array(F16 if dtype == "f16" else F32, 1)
    assert native(x).tobytes() == mind_runtime.compile(module, target="numpy")(x).tobytes()


def test_several_takes() -> None:
    """Of two results of one `take` each has memory of its own."""

    def body(x: Any) -> Any:
        index = NCHW.op(x)
        first = ptir.TakeOp(ptir.ReshapeOp(x, new_shape=(4400,)).result, index).result
        second = ptir.TakeOp(ptir.ReshapeOp(x, new_shape=(4400,)).result, index).result
        return [first, ptir.NegOp(second).result, second]

    x = NCHW.array(F32, 4)
    module = program("f32[2,5,11,40]", body)
    found, expected = (mind_runtime.compile(module, target=target)(x) for target in ("native", "numpy"))
    for a, b in zip(found, expected, strict=True):
        assert a.tobytes() == b.tobytes()
    assert not np.shares_memory(found[0], found[2])


@pytest.mark.parametrize("isa", RUNNABLE)
def test_results_do_not_depend_on_how_work_is_shared_out(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each unit of every kernel by itself, the last one first."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    split = load_backwards(monkeypatch)
    mind_runtime.clear_cache()
    for form in FORMS:
        check(form, F32, "both", 1)
    assert sum(split) > len(FORMS)
    mind_runtime.clear_cache()


def test_a_donated_operand_is_read_before_it_is_overwritten() -> None:
    form = NCHW
    x, module = form.array(F32, 3), form.module(F32, "value")
    expected = mind_runtime.compile(module, target="numpy")(x)
    assert expected.shape == x.shape
    name = mind_runtime.compile(module).inputs[0].name
    assert mind_runtime.compile(module, target="native", donate=[name])(x.copy()).tobytes() == expected.tobytes()
    room = x.copy()
    assert mind_runtime.compile(module, target="native")(room, out=room).tobytes() == expected.tobytes()


def test_an_operand_that_is_not_in_memory() -> None:
    def body(x: Any) -> Any:
        one = ptir.ConstantOp(PtirLiteralAttr.from_values(F32, (), (2.5,))).result
        index = INSIDE.op(ptir.BroadcastToOp(one, result_shape=INSIDE.shape).result)
        return ptir.AddOp(index, x).result

    found = mind_runtime.compile(program("si64[2,4,5,24]", body), target="native")(np.zeros((2, 4, 5, 24), np.int64))
    np.testing.assert_array_equal(found, INSIDE.oracle(np.full(INSIDE.shape, 2.5)))


def test_in_a_branch() -> None:
    """A region finds both ops, or looks up what the block around it searched."""

    def both(x: Any, *_: Any) -> list[Any]:
        index = INSIDE.op(x)
        return [ptir.TakeOp(ptir.ReshapeOp(x, new_shape=(3840,)).result, index).result]

    def body(x: Any, p: Any) -> Any:
        index = INSIDE.op(x)

        def looked_up(x: Any, index: Any) -> list[Any]:
            return [ptir.NegOp(ptir.TakeOp(ptir.ReshapeOp(x, new_shape=(3840,)).result, index).result).result]

        return [*ptir.CondOp(p, x, index, true=looked_up, false=both).results, index]

    module = program("f32[2,8,10,24] i1[]", body)
    x = INSIDE.array(F32, 5)
    for p in (True, False):
        found, expected = (mind_runtime.compile(module, target=target)(x, np.array(p)) for target in ("native", "numpy"))
        for a, b in zip(found, expected, strict=True):
            assert a.tobytes() == b.tobytes()
    assert not any(line.startswith("numpy") for line in mind_runtime.compile(module, target="native").explain())


def test_a_dynamic_batch() -> None:
    def body(x: Any) -> Any:
        return [
            ptir.WindowArgOp(
                x,
                kind="max",
                window_dims=(1, 3),
                strides=(1, 2),
                padding=((0, 0), (1, 1)),
                window_dilation=(1, 1),
                output_dtype=SI64,
            )
        ]

    module = program("f32[B,9]", body)
    native = mind_runtime.compile(module, target="native")
    for batch in (3, 0, 5):
        x = replace(INSIDE, shape=(batch, 9)).array(F32, batch)
        np.testing.assert_array_equal(native(x), mind_runtime.compile(module, target="numpy")(x))


def test_code_for_other_machines() -> None:
    for host in TARGETS.values():
        for form in (*FORMS, *EMPTIES):
            for results in ("value", "both", "index"):
                native = lower(prepared(function_of(form.module(F32, results)), host), host)
                assert not any(note.reason for note in native.notes)
