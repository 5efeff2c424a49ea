"""Convolutions by a window of one place are matrix products, for which strided places of the image are gathered where it pays."""

from __future__ import annotations

import pytest

import mind_runtime
from convolution_forms import Form, check, check_sharing, module_of
from machines import RUNNABLE
from mind_dialect.ptir.types import BF16, F32, F64, SI32, PtirDType
from mind_lowering import code_cache as cache
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of one run is found by another."""
    monkeypatch.setenv(cache.VARIABLE, "")


GATHERED = [
    Form(1, (14, 14), 96, (1, 1), 160, strides=(2, 2)),
    Form(3, (13, 15), 72, (1, 1), 130, strides=(2, 2)),
    Form(2, (9, 40), 100, (1, 1), 200, strides=(3, 1)),
    Form(1, (9, 8, 10), 90, (1, 1, 1), 100, strides=(2, 1, 3)),
    Form(5, (29,), 65, (1,), 140, strides=(3,)),
]
APART = [
    Form(1, (56, 56), 64, (1, 1), 96, strides=(2, 2)),
    Form(1, (14, 14), 16, (1, 1), 160, strides=(2, 2)),
    Form(2, (14, 14), 96, (1, 1), 160),
    Form(1, (29,), 65, (1,), 140, strides=(3,)),
]
"""Few columns to a row of the image; weights that stay in cache; no stride; one row."""
MACHINES = pytest.mark.parametrize("isa", RUNNABLE)


def of_each(forms: list[Form]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("form", forms, ids=[str(form.image) for form in forms])


def steps(form: Form, dtype: PtirDType = F32) -> list[str]:
    found = mind_runtime.compile(module_of(form, dtype), target="native").explain()
    assert "0 ops on NumPy" in found[0]
    return found


@of_each(GATHERED)
def test_places_that_are_apart_are_rows_of_one_product(form: Form) -> None:
    found = steps(form)
    (product,) = [line for line in found if "tiles" in line and " of " not in line]
    assert any("copy over" in line for line in found)
    assert ": [" not in product


@of_each(APART)
def test_other_places_are_read_where_they_lie(form: Form) -> None:
    assert not any("copy over" in line for line in steps(form))


@MACHINES
@of_each([*GATHERED, *APART])
def test_values(form: Form, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On every machine that this one can be taken for, with checks of every place that is touched."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    check(form)


@pytest.mark.parametrize("dtype", [F64, BF16, SI32], ids=str)
def test_dtypes(dtype: PtirDType) -> None:
    for form in GATHERED[:2]:
        check(form, dtype)


@MACHINES
@of_each(GATHERED)
def test_results_do_not_depend_on_how_work_is_shared_out(form: Form, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_sharing(form, isa, monkeypatch) > 0
