"""
Convolutions of the native target against their definition, written out with NumPy, in a wider precision.

A sum of K products may be off by K * eps * (sum of the magnitudes).
"""

from __future__ import annotations

import random
import re
from itertools import product
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from convolution_forms import Form, arrays, check, check_on, check_result, check_sharing, defined, module_of, run
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.program import input_names
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import BF16, F16, F32, F64, SI8, SI32, UI8, UI16, PtirDType
from mind_lowering import code_cache as cache
from mind_lowering.native import Entry
from mind_lowering.native.convolutions import tile
from mind_lowering.native.convolutions.convolution import ENOUGH, choose
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.native.program import lower, prepared
from mind_lowering.native.slides import Slide
from mind_lowering.native.target_info import TARGETS
from mind_passes.ptir.split_parameters import split_parameters
from mind_runtime.native import jit
from native_text import inner_loops, multiplications, spills
from ptir_evaluator import function_of
from ptir_forms import program


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of one run is found by another."""
    monkeypatch.setenv(cache.VARIABLE, "")


MACHINES = pytest.mark.parametrize("isa", RUNNABLE)


FORMS = [
    Form(1, (9, 9), 5, (3, 3), 7, padding=((1, 1), (1, 1))),
    Form(2, (14, 15), 8, (3, 3), 40, padding=((1, 1), (1, 1))),
    Form(1, (30, 31), 3, (7, 7), 64, strides=(2, 2), padding=((3, 3), (3, 3))),
    Form(2, (7, 7), 16, (3, 3), 48, strides=(2, 2), padding=((1, 1), (1, 1))),
    Form(2, (8, 9), 16, (1, 1), 24),
    Form(2, (8, 9), 16, (1, 1), 24, strides=(2, 3)),
    Form(1, (6, 6), 4, (1, 1), 5, padding=((1, 0), (2, 1))),
    Form(1, (20, 20), 6, (3, 3), 9, window_dilation=(2, 3), padding=((2, 2), (3, 3))),
    Form(1, (5, 6), 4, (3, 2), 8, base_dilation=(2, 3), padding=((1, 1), (0, 1))),
    Form(2, (10, 10), 12, (3, 3), 18, groups=3, padding=((1, 1), (1, 1))),
    Form(2, (10, 11), 40, (3, 3), 40, groups=40, padding=((1, 1), (1, 1))),
    Form(1, (12, 12), 33, (5, 5), 33, groups=33, strides=(2, 2), padding=((2, 2), (2, 2))),
    Form(1, (10, 10), 6, (3, 3), 12, groups=6),
    Form(3, (17,), 4, (4,), 6, padding=((2, 1),)),
    Form(1, (5, 6, 7), 3, (2, 3, 2), 4, padding=((0, 1), (1, 1), (1, 0))),
    Form(3, (), 4, (), 5),
    Form(16, (3, 3), 5, (3, 3), 17, padding=((1, 1), (1, 1))),
    Form(8, (40, 3), 2, (38, 3), 6, padding=((1, 1), (1, 1))),
    Form(1, (4, 4), 3, (4, 4), 5),
    Form(1, (3, 3), 3, (3, 3), 5, padding=((9, 9), (9, 9))),
    Form(1, (3, 3), 3, (4, 4), 5),
    Form(0, (3, 3), 3, (2, 2), 5),
    Form(1, (3, 3), 0, (2, 2), 5),
    Form(1, (0, 3), 2, (2, 2), 5, padding=((1, 1), (0, 0))),
]
ALL_FORMS = pytest.mark.parametrize("form", FORMS, ids=lambda f: f"{f.image} {f.window} {f.channels} {f.out} {f.groups}")


@pytest.mark.exhaustive
@ALL_FORMS
@MACHINES
def test_forms(form: Form, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On every machine that this one can be taken for, with checks of every place that is touched."""
    check_on(isa, form, monkeypatch)


@pytest.mark.parametrize("dtype", [F64, F16, BF16, SI8, UI8, UI16, SI32], ids=str)
def test_dtypes(dtype: PtirDType) -> None:
    for form in (FORMS[1], FORMS[3], FORMS[4], FORMS[8], FORMS[9], FORMS[10]):
        check(form, dtype)


@pytest.mark.parametrize("seed", range(40))
def test_random_forms(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(seed)
    monkeypatch.setenv(ISA_VARIABLE, pick.choice(RUNNABLE))
    monkeypatch.setenv(CHECKS_VARIABLE, "1" if seed % 2 else "")
    rank = pick.choice((1, 2, 2, 2, 3))

    def some(*numbers: int) -> tuple[int, ...]:
        return tuple(pick.choice(numbers) for _ in range(rank))

    groups = pick.choice((1, 1, 1, 2, 5))
    each = pick.choice((1, 3, 8))
    padding = tuple((pick.randrange(4), pick.randrange(4)) for _ in range(rank))
    form = Form(
        pick.choice((1, 2, 9)),
        some(1, 3, 8, 21),
        groups * each,
        some(1, 2, 3, 5),
        groups * pick.choice((1, 2, 17, 40)),
        some(1, 1, 2, 3),
        padding,
        some(1, 1, 1, 2),
        some(1, 1, 2),
        groups,
    )
    check(form)


@pytest.mark.exhaustive
@MACHINES
@pytest.mark.parametrize("form", FORMS[1:12], ids=str)
def test_results_do_not_depend_on_how_work_is_shared_out(form: Form, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_sharing(form, isa, monkeypatch) > 0


def test_no_sum_is_kept_in_memory() -> None:
    """Tiles of usual convolutions stay in registers but for a sum now and then where the image ends."""
    for isa in ("avx512", "avx2"):
        for form in (
            Form(1, (56, 56), 64, (3, 3), 64, padding=((1, 1), (1, 1))),
            Form(1, (7, 7), 64, (3, 3), 96, padding=((1, 1), (1, 1))),
            Form(1, (112, 112), 3, (7, 7), 64, strides=(2, 2), padding=((3, 3), (3, 3))),
            Form(1, (56, 56), 32, (3, 3), 32, groups=32, padding=((1, 1), (1, 1))),
            Form(1, (56, 56), 144, (3, 3), 144, groups=144, strides=(2, 2), padding=((1, 1), (1, 1))),
            Form(1, (28, 28), 192, (7, 7), 192, groups=192, padding=((3, 3), (3, 3))),
            Form(1, (64, 64), 64, (9, 9), 64, groups=64, padding=((4, 4), (4, 4))),
            Form(1, (28, 28), 128, (3, 3), 128, padding=((1, 1), (1, 1))),
            Form(1, (56, 56), 128, (3, 3), 256, strides=(2, 2), padding=((1, 1), (1, 1))),
            Form(1, (14, 14), 256, (3, 3), 256, padding=((1, 1), (1, 1))),
            Form(1, (7, 7), 512, (3, 3), 512, padding=((1, 1), (1, 1))),
        ):
            text = lower(prepared(function_of(module_of(form, F32)), TARGETS[isa]), TARGETS[isa]).text
            code = jit.assembly(text, TARGETS[isa])
            loops = [*inner_loops(code, "window"), *inner_loops(code, "sums")]
            assert sum(map(multiplications, loops)) >= 20
            assert all(spills(body) * 20 <= multiplications(body) for body in loops), (isa, form)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("checked", ["", "1"])
def test_sums_in_a_function_of_their_own(form: Form, checked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers to the bit."""
    monkeypatch.setenv(CHECKS_VARIABLE, checked)
    x, w = arrays(form, F32)
    expected = mind_runtime.compile(module_of(form, F32), target="native")(x, w)
    monkeypatch.setattr(tile, "LONG_SUM", 1)
    np.testing.assert_array_equal(mind_runtime.compile(module_of(form, F32), target="native")(x, w), expected)


@pytest.mark.parametrize(("channels", "shared"), [(128, True), (16, False)])
def test_tiles_that_differ_by_their_epilogues_share_long_sums(channels: int, shared: bool) -> None:
    """Three equal convolutions, each with ops of its own after it."""
    form = Form(1, (14, 14), channels, (3, 3), channels, padding=((1, 1), (1, 1)))

    def body(x: Any, w: Any) -> Any:
        first = ptir.AbsOp(ptir.ConvolutionOp(x, w, **form.values()).result).result
        second = ptir.NegOp(ptir.ConvolutionOp(first, w, **form.values()).result).result
        return ptir.ConvolutionOp(second, w, **form.values()).result

    module = program(" ".join(f"f32[{','.join(map(str, s))}]" for s in form.shapes), body)
    text = lower(prepared(function_of(module), TARGETS["avx512"]), TARGETS["avx512"]).text
    tiles, sums = (len(re.findall(rf"^define internal i64 @{name}", text, re.MULTILINE)) for name in ("window", "sums"))
    assert sums == (tiles // 3 if shared else 0)
    x, w = arrays(form, F32)
    found, expected = (mind_runtime.compile(module, target=target)(x, w / 16) for target in ("native", "numpy"))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3 * float(np.abs(expected).max()))


@pytest.mark.parametrize(("channels", "order"), [(3, ["place", "tile", "panel"]), (256, ["panel", "place", "tile"])])
def test_panels_are_innermost_where_all_weights_stay_in_cache(channels: int, order: list[str]) -> None:
    form = Form(1, (18, 18), channels, (3, 3), 256)
    text = lower(prepared(function_of(module_of(form, F32)), TARGETS["avx2"]), TARGETS["avx2"]).text
    assert list(dict.fromkeys(re.findall(r"%(place|tile|panel)[.\d]* = phi", text))) == order


@pytest.mark.parametrize(
    ("extent", "channels", "columns", "stride"), [(28, 32, 64, 2), (14, 64, 128, 2), (7, 128, 128, 1), (4, 256, 256, 1)]
)
def test_short_convolutions_have_units_for_some_threads(extent: int, channels: int, columns: int, stride: int) -> None:
    form = Form(1, (extent, extent), channels, (3, 3), columns, strides=(stride, stride), padding=((1, 1), (1, 1)))
    for isa in ("avx512", "avx2"):
        text = lower(prepared(function_of(module_of(form, F32)), TARGETS[isa]), TARGETS[isa]).text
        units = re.findall(r"call i64 %share\S*\(ptr \S+, ptr \S+, i64 (\d+),", text)
        assert int(units[-1]) >= ENOUGH // 2, (isa, units)


def test_code_for_other_machines() -> None:
    for host in TARGETS.values():
        for form in FORMS[:16]:
            native = lower(prepared(function_of(module_of(form, F32)), host), host)
            assert jit.object_code(native.text, host)
            assert all(isinstance(step, Entry) for step in native.steps)


def test_a_cut_fits_the_registers() -> None:
    for host in TARGETS.values():
        for n, columns in product((1, 3, 7, 14, 56, 100), (1, 3, 16, 40, 64, 512)):
            cut = choose(host, (2, n, n, columns), columns, F32, [Slide(n, n, 3, 1, 1, 1)] * 2)
            assert cut.rows * cut.vectors + cut.vectors + 1 < host.registers


def test_rows_of_a_tile_by_channel_are_neighbours_in_memory() -> None:
    """Not places of different images, however many images there are, and whether a window is short or long."""
    for host in TARGETS.values():
        for n, channels, k, stride in product((7, 14, 56), (16, 128, 1024), (3, 7), (1, 2)):
            out, slides = n // stride, [Slide(n, n // stride, k, stride, 1, k // 2)] * 2
            cut = choose(host, (8, out, out, channels), channels, F32, slides, by_channel=True)
            assert (cut.along, cut.rows * cut.vectors + 2 < host.registers) == (2, True)
            cut = choose(host, (1, k, k, channels), channels, F32, [Slide(n, k, n, 1, 1, k // 2)] * 2, by_channel=True)
            assert (cut.along, cut.rows * cut.vectors + 2 < host.registers) == (2, True)


@pytest.mark.exhaustive
@MACHINES
@pytest.mark.parametrize("dtype", [F32, BF16, F64], ids=str)
@pytest.mark.parametrize("form", [FORMS[1], FORMS[2], FORMS[3], FORMS[7], FORMS[10], FORMS[11], FORMS[16]], ids=str)
def test_weights_whose_columns_are_rows(form: Form, dtype: PtirDType, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As builders keep them: a row of memory for each column, in the order of the window's places or of the channels."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    monkeypatch.setenv(CHECKS_VARIABLE, "1" if dtype is F32 else "")
    x, w = arrays(form, dtype)
    rank = len(form.image)
    for kept in ((rank + 1, *range(rank + 1)), (rank + 1, rank, *range(rank))):
        rows = np.ascontiguousarray(w.transpose(kept))

        def body(x: Any, w: Any, kept: Any = kept) -> Any:
            back = [kept.index(a) for a in range(rank + 2)]
            return ptir.ConvolutionOp(x, ptir.TransposeOp(w, perm=back).result, **form.values()).result

        types = " ".join(f"{dtype}[{','.join(map(str, v.shape))}]" for v in (x, rows))
        found = mind_runtime.compile(program(types, body), target="native")
        assert any("panels of" in line for line in found.explain())
        assert found(x, rows).tobytes() == run(form, dtype, x, w).tobytes()


@pytest.mark.parametrize("dtype", [F32, BF16], ids=str)
@pytest.mark.parametrize("form", [*FORMS[1:12], FORMS[16]], ids=str)
def test_bound_weights_are_packed_from_their_own_layout(form: Form, dtype: PtirDType, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only transposes filters is no program of its own: the binding packs them from the layout that they are given in."""
    monkeypatch.setenv(CHECKS_VARIABLE, "1" if dtype is F32 else "")
    x, w = arrays(form, dtype)
    rank = len(form.image)
    rows = np.ascontiguousarray(w.transpose(rank + 1, rank, *range(rank)))

    def body(x: Any, w: Any) -> Any:
        return ptir.ConvolutionOp(x, ptir.TransposeOp(w, perm=[*range(2, rank + 2), 1, 0]).result, **form.values()).result

    module = program(" ".join(f"{dtype}[{','.join(map(str, v.shape))}]" for v in (x, rows)), body)
    name = input_names(function_of(module))[1]
    plain = mind_runtime.compile(module, target="native")(x, rows)
    assert split_parameters(function_of(module), [name]) is not None
    found = mind_runtime.bind(module, {name: rows}, function_of(module, "f").sym_name.data, "native")
    assert found.program.inputs[-1].name == name
    assert found(x).tobytes() == plain.tobytes()
    check_result(form, dtype, x, w, plain)


@pytest.mark.parametrize("base_dilation", [(), (2, 2)], ids=["plain", "phases"])
@pytest.mark.parametrize(("channels", "copied"), [(3, False), (8, False), (9, True), (32, True)])
def test_planes_of_many_channels_are_copied_first(channels: int, copied: bool, base_dilation: tuple[int, ...]) -> None:
    """As PyTorch and ONNX have images; the numbers are those of images whose channels lie side by side."""
    form = Form(2, (16, 16), channels, (3, 3), 16, padding=((1, 1), (1, 1)), base_dilation=base_dilation)
    x, w = arrays(form, F32)
    planes = np.ascontiguousarray(x.transpose(0, 3, 1, 2))

    def body(x: Any, w: Any) -> Any:
        return ptir.ConvolutionOp(ptir.TransposeOp(x, perm=[0, 2, 3, 1]).result, w, **form.values()).result

    types = " ".join(f"f32[{','.join(map(str, v.shape))}]" for v in (planes, w))
    found = mind_runtime.compile(program(types, body), target="native")
    assert any(f"copy over [2, 16, 16, {channels}]" in line for line in found.explain()) == copied
    assert found(planes, w).tobytes() == run(form, F32, x, w).tobytes()


# What precedes and what follows


def patches(form: Form, x: Any, w: Any) -> Any:
    """A convolution as builders write it: patches times weights, two axes."""
    values = form.values()
    zero = PtirLiteralAttr.from_values(F32, (), (0.0,))
    found = ptir.ExtractPatchesOp(
        x,
        window=form.window,
        strides=values["strides"],
        dilation=values["window_dilation"],
        padding=values["padding"],
        pad_value=zero,
    ).result
    lines = ptir.ReshapeOp(found, new_shape=[-1, int(np.prod(form.window)) * form.channels]).result
    flat = ptir.ReshapeOp(w, new_shape=[int(np.prod(form.window)) * form.channels, form.out]).result
    names = ("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs")
    return ptir.DotGeneralOp(lines, flat, **dict(zip(names, ([], [], [1], [0]), strict=True))).result


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("form", [FORMS[1], FORMS[2], FORMS[4], FORMS[5], FORMS[16]], ids=str)
@pytest.mark.parametrize("checked", ["", "1"])
def test_bias_activation_and_residual_are_done_in_registers(
    form: Form, isa: str, checked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One kernel but for what reads weights alone, from patches, with what follows; small integers, so that all is exact."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    monkeypatch.setenv(CHECKS_VARIABLE, checked)
    x, w = (np.rint(v).astype(np.float32) for v in arrays(form, F32))
    expected = defined(form, x.astype(np.float64), w.astype(np.float64)).reshape(-1, form.out)
    shape = expected.shape

    def body(x: Any, w: Any, bias: Any, residual: Any) -> Any:
        found = patches(form, x, w)
        found = ptir.AddOp(found, ptir.BroadcastToOp(bias, result_shape=list(shape)).result).result
        zero = ptir.BroadcastToOp(ptir.ConstantOp(PtirLiteralAttr.from_values(F32, (), (0.0,))).result, result_shape=list(shape))
        return ptir.MaximumOp(ptir.AddOp(found, residual).result, zero.result).result

    types = [*form.shapes, (form.out,), shape]
    module = program(" ".join(f"f32[{','.join(map(str, s))}]" for s in types), body)
    found = mind_runtime.compile(module, target="native")
    rng = np.random.default_rng(1)
    bias, residual = (np.rint(rng.standard_normal(s) * 5).astype(np.float32) for s in (form.out, shape))
    residual[-1, -1] = np.nan
    lines = [line for line in found.explain()[1:] if "copy" not in line and "sub sum" not in line]
    assert len(lines) == 1
    assert "then add add maximum" in lines[0]
    np.testing.assert_array_equal(found(x, w, bias, residual), np.maximum(expected + bias + residual, 0).astype(np.float32))
