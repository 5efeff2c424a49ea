"""Convolutions to few channels on the native target: lanes run from place to place, whatever lies side by side in memory."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from convolution_forms import Form, check, check_on, defined, module_of
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.ptir.types import BF16, F16, F32, F64, SI8, SI32, UI8, PtirDType
from mind_lowering.native.convolutions.by_places import why_not_by_places
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.native.target_info import TARGETS
from ptir_forms import program

FORMS = [
    Form(1, (100,), 1, (7,), 1),
    Form(2, (90,), 1, (20,), 1, padding=((19, 0),)),
    Form(1, (21, 40), 1, (5, 5), 1, padding=((2, 2), (2, 2))),
    Form(2, (21, 41), 3, (3, 3), 1, padding=((1, 1), (1, 0))),
    Form(1, (9, 70), 3, (3, 4), 3, padding=((1, 1), (2, 1)), groups=3),
    Form(2, (9, 37), 4, (3, 2), 2, groups=2),
    Form(1, (9, 130), 1, (3, 3), 1, strides=(2, 2), padding=((1, 1), (1, 1))),
    Form(1, (9, 150), 2, (3, 3), 1, strides=(3, 2), window_dilation=(2, 5), padding=((0, 3), (4, 0))),
    Form(1, (4, 5, 40), 2, (2, 3, 2), 1, padding=((1, 0), (1, 1), (0, 1))),
    Form(1, (30, 30), 40, (3, 3), 1, padding=((1, 1), (1, 1))),
    Form(1, (8, 100), 64, (3, 5), 2),
    Form(1, (300,), 64, (31,), 2),
]
ALL_FORMS = pytest.mark.parametrize("form", FORMS, ids=lambda f: f"{f.image} {f.window} {f.channels} {f.out} {f.groups}")
MACHINES = pytest.mark.parametrize("isa", RUNNABLE)


def kernels(module: Any) -> str:
    return " ".join(mind_runtime.compile(module, target="native").explain())


@ALL_FORMS
@MACHINES
def test_forms(form: Form, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the definition, with checks of every place that is touched."""
    check_on(isa, form, monkeypatch)


@pytest.mark.parametrize("dtype", [F64, F16, BF16, SI8, UI8, SI32], ids=str)
def test_dtypes(dtype: PtirDType) -> None:
    for form in (FORMS[0], FORMS[2], FORMS[4], FORMS[7]):
        check(form, dtype)


@pytest.mark.parametrize("seed", range(20))
def test_random_forms(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(seed)
    monkeypatch.setenv(ISA_VARIABLE, pick.choice(RUNNABLE))
    monkeypatch.setenv(CHECKS_VARIABLE, "1" if seed % 2 else "")
    rank = pick.choice((1, 2, 2, 3))
    outer = tuple(pick.choice((1, 4, 9)) for _ in range(rank - 1))
    window = tuple(pick.choice((1, 2, 3)) for _ in outer)
    groups = pick.choice((1, 1, 2, 3))
    form = Form(
        pick.choice((1, 3)),
        (*outer, pick.choice((40, 77, 300))),
        groups * pick.choice((1, 2, 5)),
        (*window, pick.choice((2, 3, 9))),
        groups,
        tuple(pick.choice((1, 1, 2)) for _ in range(rank)),
        tuple((pick.randrange(4), pick.randrange(4)) for _ in range(rank)),
        window_dilation=tuple(pick.choice((1, 1, 2)) for _ in range(rank)),
        groups=groups,
    )
    check(form)


@pytest.mark.parametrize("isa", ["avx512", "avx2", "neon"])
def test_which_convolutions(isa: str) -> None:
    """Those of a few channels of many places; one of the least machine."""

    def reason(form: Form, dtype: PtirDType = F32) -> str | None:
        (op,) = (o for o in module_of(form, dtype).walk() if isinstance(o, ptir.ConvolutionOp))
        return why_not_by_places(op, TARGETS[isa])

    most = {"avx512": 4, "avx2": 2, "neon": 1}[isa]
    assert reason(Form(1, (9, 130), 3, (3, 3), most)) is None
    assert "many channels" in str(reason(Form(1, (9, 130), 3, (3, 3), most + 1)))
    assert "many channels" in str(reason(Form(1, (9, 130), most + 1, (3, 3), most + 1, groups=most + 1)))
    assert (reason(Form(1, (9, 35), 3, (3, 4), 2)) is None) == (isa != "neon")
    assert "few places" in str(reason(Form(1, (90, 5), 1, (3, 3), 1)))
    assert "few places" in str(reason(Form(3, (), 4, (), 1)))
    assert "far apart" in str(reason(Form(1, (9, 130), 1, (3, 3), 1, strides=(1, 3))))
    assert reason(Form(1, (9, 130), 1, (3, 3), 1, strides=(3, 2))) is None
    assert "many channels" in str(reason(Form(1, (9, 200), 3, (3, 3), most, strides=(1, 2)))) or most == 1
    assert "single places" in str(reason(Form(1, (9, 130), 3, (1, 1), 1)))
    assert "holes" in str(reason(Form(1, (9, 130), 3, (3, 3), 1, base_dilation=(1, 2))))


@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_weights_that_are_not_finite_meet_the_padding(number: float) -> None:
    """0 times them is NaN at the border, too."""
    form = Form(1, (6, 40), 1, (3, 3), 1, padding=((1, 1), (1, 1)))
    x, w = np.ones(form.shapes[0], np.float32), np.ones(form.shapes[1], np.float32)
    w[0, 0] = number
    with np.errstate(invalid="ignore"):
        expected = defined(form, x, w)
    found = mind_runtime.compile(module_of(form, F32), target="native")(x, w)
    np.testing.assert_array_equal(found, expected)


def test_planes_are_read_where_they_lie() -> None:
    """An image whose channels are planes is not copied, unless it has padding; what follows is a kernel of its own."""

    def body(x: Any, w: Any, *, padding: Any = ((0, 0), (0, 0))) -> Any:
        image = ptir.TransposeOp(x, perm=(0, 2, 3, 1))
        made = ptir.ConvolutionOp(
            image, w, strides=(1, 1), padding=padding, base_dilation=(1, 1), window_dilation=(1, 1), feature_group_count=1
        )
        return ptir.AbsOp(made)

    plain = kernels(program("f32[1,2,9,90] f32[3,3,2,1]", body))
    assert "copy" not in plain
    assert "mul reduce" in plain
    assert "copy" in kernels(program("f32[1,2,9,90] f32[3,3,2,1]", lambda x, w: body(x, w, padding=((1, 1), (1, 1)))))
