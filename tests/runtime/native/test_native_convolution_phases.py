"""Convolutions with a base dilation on the native target: images with holes, as gradients of strided convolutions have them."""

from __future__ import annotations

import random
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_array as ma
import mind_runtime
from convolution_forms import Form, arrays, check, check_sharing, defined, module_of, run
from machines import RUNNABLE
from mind_array import Array
from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import BF16, F16, F32, F64, SI8, SI32, UI8, PtirDType
from mind_lowering import code_cache as cache
from mind_lowering.native.convolutions.phases import phases_of
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.native.program import lower, planned, prepared
from mind_lowering.native.slides import MOST_PHASES
from mind_lowering.native.target_info import TARGETS
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_passes.functional import vjp
from ptir_evaluator import evaluate, function_of
from ptir_forms import program


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of one run is found by another."""
    monkeypatch.setenv(cache.VARIABLE, "")


def random_form(pick: random.Random) -> Form:
    """A convolution with holes, at times with nothing else, at times with phases that meet no taps or have no results."""
    rank = pick.choice((1, 2, 2, 2, 3))

    def some(*numbers: int) -> tuple[int, ...]:
        return tuple(pick.choice(numbers) for _ in range(rank))

    groups = pick.choice((1, 1, 1, 2, 5))
    bases = some(1, 2, 2, 3) if rank < 3 else some(1, 2)
    bases = bases if prod(bases) > 1 else (2, *bases[1:])
    padding = tuple((pick.randrange(4), pick.randrange(4)) for _ in range(rank))
    window = some(1, 2, 3, 4, 5) if rank < 3 else some(1, 2, 3)
    batch, each, out = pick.choice((1, 2, 9)), pick.choice((1, 3, 8)), groups * pick.choice((1, 2, 17, 40))
    return Form(batch, some(1, 2, 3, 8, 13), groups * each, window, out, padding=padding, base_dilation=bases, groups=groups)


def is_long(form: Form) -> bool:
    """Whether there are too many taps for what they give; the kernel of such a window is another."""
    shape = defined(form, *(np.zeros(s, np.int8) for s in form.shapes)).shape
    return prod(form.window) >= max(64, 4 * prod(shape[1:-1]))


def rows_of(module: Any) -> list[str]:
    """The lines that say which rows of the table of kernels take a program's convolutions."""
    lines = mind_runtime.compile(module, target="native").explain(rejected=True)
    return [line for line in lines if "convolution" in line and ("not " in line or "; " in line)]


@pytest.mark.parametrize("seed", range(60))
def test_random_forms(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(seed)
    monkeypatch.setenv(ISA_VARIABLE, pick.choice(RUNNABLE))
    monkeypatch.setenv(CHECKS_VARIABLE, "1" if seed % 2 else "")
    form, dtype = random_form(pick), pick.choice((F32, F32, F64, BF16, F16, SI32, SI8, UI8))
    check(form, dtype)
    native = mind_runtime.compile(module_of(form, dtype), target="native")
    assert is_long(form) or not any("padded" in line for line in native.explain())


@pytest.mark.parametrize("seed", range(40))
def test_taps_that_are_not_finite(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are multiplied by 0 where they lie over holes or padding: small integers, so that finite sums are exact."""
    pick = random.Random(seed)
    monkeypatch.setenv(ISA_VARIABLE, pick.choice(RUNNABLE))
    monkeypatch.setenv(CHECKS_VARIABLE, "1" if seed % 2 else "")
    form, dtype = random_form(pick), pick.choice((F32, F64, BF16, F16))
    rng = np.random.default_rng(seed)
    x, w = (rng.integers(-3, 4, shape).astype(np.float64) for shape in form.shapes)
    w.ravel()[rng.integers(0, w.size, 2)] = rng.choice((np.inf, -np.inf, np.nan), 2)
    with np.errstate(all="ignore"):
        expected = defined(form, x, w)
    x, w = (v.astype(array_dtype(dtype.name)) for v in (x, w))
    module = module_of(form, dtype)
    native = mind_runtime.compile(module, target="native")
    np.testing.assert_array_equal(native(x, w).astype(np.float64), expected)
    bound = mind_runtime.bind(module, {native.inputs[1].name: w}, target="native")
    np.testing.assert_array_equal(bound(x).astype(np.float64), expected)
    np.testing.assert_array_equal(mind_runtime.compile(module, target="numpy")(x, w).astype(np.float64), expected)


STRIDED = [
    Form(2, (9, 10), 6, (3, 3), 8, padding=((1, 1), (1, 2)), base_dilation=(2, 2)),
    Form(1, (7, 8), 33, (3, 3), 33, padding=((1, 1), (1, 2)), base_dilation=(2, 2), groups=33),
    Form(2, (7, 8), 12, (4, 2), 18, padding=((2, 1), (1, 0)), base_dilation=(2, 3), groups=3),
    Form(2, (8, 9), 16, (1, 1), 24, base_dilation=(2, 2)),
    Form(3, (17,), 4, (5,), 6, padding=((2, 1),), base_dilation=(3,)),
    Form(1, (4, 5, 3), 3, (2, 3, 2), 4, padding=((0, 1), (1, 1), (1, 0)), base_dilation=(2, 1, 2)),
]
"""Three of dense, grouped and depthwise filters, one of single taps, and one of each other rank."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", STRIDED, ids=str)
@pytest.mark.parametrize("isa", RUNNABLE)
def test_results_do_not_depend_on_how_work_is_shared_out(form: Form, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_sharing(form, isa, monkeypatch) > 1


def residual_module(form: Form, shape: tuple[int, ...], dtype: PtirDType = F32) -> Any:
    """`max(convolution + bias, 0) + residual`, the flat residual being an argument of its own."""

    def body(x: Any, w: Any, bias: Any, residual: Any) -> Any:
        found = ptir.ConvolutionOp(x, w, **form.values()).result
        zero = ptir.ConstantOp(PtirLiteralAttr.from_values(dtype, (), (0.0,))).result
        biased = ptir.AddOp(found, ptir.BroadcastToOp(bias, result_shape=list(shape)).result).result
        active = ptir.MaximumOp(biased, ptir.BroadcastToOp(zero, result_shape=list(shape)).result).result
        return ptir.AddOp(active, residual).result

    types = [*form.shapes, shape[-1:], shape]
    return program(" ".join(f"{dtype}[{','.join(map(str, s))}]" for s in types), body)


@pytest.mark.parametrize("donated", [False, True])
@pytest.mark.parametrize("form", STRIDED, ids=str)
def test_what_follows_is_done_in_registers(form: Form, donated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for results that meet no taps; a donated residual is read before it may be overwritten, any other one stays."""
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    x, w = (np.rint(v) for v in arrays(form, F32))
    found = defined(form, x, w)
    module = residual_module(form, found.shape)
    rng = np.random.default_rng(1)
    bias, residual = (np.rint(rng.standard_normal(s) * 5).astype(np.float32) for s in (found.shape[-1:], found.shape))
    names = [s.name for s in mind_runtime.compile(module).inputs]
    native = mind_runtime.compile(module, target="native", donate=names[3:] if donated else ())
    lines = [line for line in native.explain() if "convolution [" in line]
    assert lines
    assert all("then add maximum add" in line for line in lines)
    expected, before = np.maximum(found + bias, 0) + residual, residual.copy()
    np.testing.assert_array_equal(native(x, w, bias, residual), expected)
    assert donated or residual.tobytes() == before.tobytes()


def test_a_donated_image_is_read_by_all_phases() -> None:
    """Its memory has the size of the result, whose first phases must not be written over it."""
    form = Form(1, (3, 3), 5, (3, 3), 5, base_dilation=(2, 2))
    x, w = (np.rint(v * 3) for v in arrays(form, F32))
    expected = defined(form, x, w)
    assert expected.shape == x.shape
    module = module_of(form, F32)
    native = mind_runtime.compile(module, target="native", donate=[mind_runtime.compile(module).inputs[0].name])
    np.testing.assert_array_equal(native(x.copy(), w), expected)
    room = x.copy()
    np.testing.assert_array_equal(mind_runtime.compile(module, target="native")(room, w, out=room), expected)


def test_both_operands_in_one_array() -> None:
    form = Form(3, (3, 3), 3, (3, 3), 3, base_dilation=(2, 2), padding=((1, 1), (1, 1)))
    x = np.rint(arrays(form, F32)[0] * 3)
    np.testing.assert_array_equal(run(form, F32, x, x), defined(form, x, x))


def test_the_evaluator_agrees() -> None:
    for form in STRIDED:
        x, w = (np.rint(v) for v in arrays(form, F32))  # whole numbers, whose sums are exact
        (expected,) = evaluate(function_of(module_of(form, F32)), [x, w])
        np.testing.assert_array_equal(run(form, F32, x, w), expected)


# Limits


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        (Form(1, (9, 9), 4, (3, 3), 4), "no base dilation"),
        (Form(1, (9, 9), 4, (3, 3), 4, base_dilation=(5, 4)), f"20 phases, more than {MOST_PHASES}"),
        (Form(1, (9, 9), 4, (3, 3), 4, base_dilation=(2, 2), strides=(1, 2)), "a stride or a window dilation in addition"),
        (Form(1, (9, 9), 4, (3, 3), 4, base_dilation=(2, 2), window_dilation=(3, 1)), "a stride or a window dilation"),
        (Form(1, (7, 7), 4, (10, 10), 4, base_dilation=(2, 2)), "the sums of a long window are finished block by block"),
        (Form(12, (7, 7), 1, (10, 10), 4, base_dilation=(2, 2)), "the sums of a long window are finished block by block"),
        (Form(12, (7, 7), 4, (10, 10), 40, base_dilation=(2, 2)), "the sums of a long window are finished block by block"),
    ],
    ids=str,
)
def test_forms_that_are_not_computed_by_phases(form: Form, reason: str) -> None:
    check(form)
    assert any(f"not convolution by phases: {reason}" in line for line in rows_of(module_of(form, F32)))
    shape = defined(form, *(np.zeros(s, np.float32) for s in form.shapes)).shape
    lines = rows_of(residual_module(form, shape))
    fused = "the sums of a long window" if "long" in reason else reason
    assert any(f"not convolution by phases with epilogue: {fused}" in line for line in lines)


def test_the_greatest_number_of_phases() -> None:
    form = Form(1, (5,), 3, (3,), 4, padding=((1, 2),), base_dilation=(MOST_PHASES,))
    check(form)
    assert not any("not convolution by phases" in line for line in rows_of(module_of(form, F32)))
    check(replace(form, base_dilation=(MOST_PHASES + 1,)))
    assert any("not convolution by phases" in line for line in rows_of(module_of(replace(form, base_dilation=(17,)), F32)))


def test_results_fewer_than_phases() -> None:
    form = Form(2, (1, 2), 3, (3, 2), 4, padding=((1, 1), (0, 0)), base_dilation=(4, 3))
    (op,) = [op for op in function_of(module_of(form, F32)).walk() if isinstance(op, ptir.ConvolutionOp)]
    assert [phase.start for phase in phases_of(op)] == [(0, r) for r in range(3)]
    check(form)


@pytest.mark.parametrize("isa", ["avx512", "avx2", "neon"])
def test_no_holes_are_stored(isa: str) -> None:
    """Temporaries are what skipped taps add to a column, and weights in the order of tiles."""
    for form in STRIDED:
        plan = planned(prepared(function_of(module_of(form, F32)), TARGETS[isa]), TARGETS[isa])
        weights = 4 * prod(form.shapes[1])
        sums = 4 * form.out * (prod(form.window) + prod(form.base_dilation))
        assert plan.arena <= 2 * weights + sums + 1024


def test_weights_are_packed_once() -> None:
    """What skipped taps add depends on weights alone, so calls of a bound program find it."""
    form = STRIDED[0]
    module = module_of(form, F32)
    x, w = arrays(form, F32)
    name = mind_runtime.compile(module).inputs[1].name
    bound = mind_runtime.bind(module, {name: w}, target="native")
    assert sum(line.startswith("once") for line in bound.program.explain()) == 2
    assert bound(x).tobytes() == run(form, F32, x, w).tobytes()


def test_code_for_other_machines() -> None:
    for host in TARGETS.values():
        for form in STRIDED:
            native = lower(prepared(function_of(module_of(form, F32)), host), host)
            assert not any(note.reason for note in native.notes)


# Gradients


def torch_gradients(form: Form, strides: tuple[int, ...], x: Any, w: Any, g: Any) -> tuple[Any, Any]:
    """Those of PyTorch, in f64; images and filters have their channels last."""
    torch = pytest.importorskip("torch")
    rank = len(form.image)
    image, weights, cotangent = (torch.tensor(v.astype(np.float64)) for v in (x, w, g))
    image.requires_grad_()
    weights.requires_grad_()
    first = image.permute(0, rank + 1, *range(1, rank + 1))
    filters = weights.permute(rank + 1, rank, *range(rank))
    edges = [n for pair in reversed(form.padding) for n in pair]
    call = getattr(torch.nn.functional, f"conv{rank}d")
    y = call(torch.nn.functional.pad(first, edges), filters, stride=strides, groups=form.groups)
    y.permute(0, *range(2, rank + 2), 1).backward(cotangent)
    return image.grad.numpy(), weights.grad.numpy()


@pytest.mark.parametrize("dtype", [F32, F64, F16, BF16], ids=str)
@pytest.mark.parametrize(
    ("form", "strides"),
    [
        (Form(2, (9, 10), 6, (3, 3), 8, padding=((1, 1), (1, 2))), (2, 2)),
        (Form(2, (9, 10), 6, (3, 3), 6, padding=((1, 1), (1, 2)), groups=6), (2, 2)),
        (Form(2, (12, 7), 6, (3, 2), 9, padding=((1, 0), (0, 1)), groups=3), (3, 2)),
        (Form(2, (8, 9), 6, (1, 1), 6, padding=((0, 0), (0, 0)), groups=6), (2, 3)),
        (Form(3, (17,), 4, (5,), 8, padding=((2, 1),), groups=2), (3,)),
        (Form(1, (5, 6, 7), 4, (2, 3, 2), 4, padding=((0, 1), (1, 1), (1, 0)), groups=4), (2, 2, 2)),
    ],
    ids=str,
)
def test_gradients_of_strided_convolutions_are_those_of_torch(form: Form, strides: tuple[int, ...], dtype: PtirDType) -> None:
    kind = array_dtype(dtype.name)
    specs = [ma.spec(shape, dtype.name, name=name) for name, shape in zip("xw", form.shapes, strict=True)]

    def convolved(x: Array, w: Array) -> Array:
        return ma.nn.conv(x, w, stride=strides, padding=form.padding, groups=form.groups)

    module = vjp(ma.trace(convolved, *specs), wrt=["x", "w"])
    x, w = arrays(form, dtype)
    native = mind_runtime.compile(module, "convolved_grad", target="native")
    shape = tuple(native.inputs[-1].shape)
    g = np.random.default_rng(1).standard_normal(shape).astype(kind)
    _, *found = native(x, w, g)
    expected = torch_gradients(form, strides, x, w, g)
    sizes = torch_gradients(form, strides, *(abs(v.astype(np.float64)) for v in (x, w, g)))
    eps = {F64: 2.0**-52, F32: 2.0**-23, F16: 2.0**-9, BF16: 2.0**-6}[dtype]
    for mine, theirs, size in zip(found, expected, sizes, strict=True):
        terms = prod(g.shape[:-1]) if mine.shape == w.shape else prod(w.shape) // form.channels
        rounded = max(1, terms) * (eps if dtype in (F32, F64) else 2.0**-23) + eps
        assert np.all(abs(mine.astype(np.float64) - theirs) <= rounded * size)


# Loops


@pytest.mark.parametrize("carried", [False, True], ids=["weights stay", "weights change"])
def test_in_loops(carried: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What skipped taps add is computed before a loop that leaves weights as they are, else in each iteration."""
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    form = Form(1, (3, 3), 8, (3, 3), 8, base_dilation=(2, 2))

    def body(x: Any, w: Any, s: Any) -> list[Any]:
        found = ptir.ConvolutionOp(x, w, **form.values()).result
        again = ptir.AddOp(found, s).result
        return [again, ptir.NegOp(w).result if carried else w]

    def whole(x: Any, w: Any, s: Any) -> Any:
        return ptir.ScanOp(x, w, s, carry_count=2, scan_output_count=0, body=body).results[0]

    module = program("f32[1,3,3,8] f32[3,3,8,8] f32[4,1,3,3,8]", whole)
    rng = np.random.default_rng(0)
    x, w, s = (rng.integers(-2, 3, shape).astype(np.float32) for shape in (*form.shapes, (4, 1, 3, 3, 8)))
    native = mind_runtime.compile(module, target="native")
    expected = x
    for k in range(4):
        expected = defined(form, expected, -w if carried and k % 2 else w) + s[k]
    np.testing.assert_array_equal(native(x, w, s), expected)
    w[1, 1, 0, 0] = np.nan
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(native(x, w, s), mind_runtime.compile(module, target="numpy")(x, w, s))
    assert "0 ops on NumPy" in native.explain()[0]
