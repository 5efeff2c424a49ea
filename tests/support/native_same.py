"""
Native kernels that give bit for bit what NumPy's give, on all dtypes and in several ways.

A test module takes the fixture `way` by importing it, and uses it in every test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import mind_runtime
from mind_dialect.errors import MindError
from mind_dialect.ptir.legal import pairs
from mind_dialect.ptir.types import PtirDType
from mind_lowering import code_cache as cache
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE, runnable
from mind_lowering.ptir_kernels.formats import format_of
from native_checks import computed_here, several
from native_text import load_backwards
from ptir_forms import program
from ptir_oracle import ids, samples

WAYS = ("", "baseline", "checked", "backwards")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """As it is, on the least machine, with checks of all places, and each unit of work by itself, the last one first."""
    monkeypatch.setenv(cache.VARIABLE, "")
    loaded: list[int] = []
    if request.param == "baseline" and "baseline" in runnable():
        monkeypatch.setenv(ISA_VARIABLE, "baseline")
    if request.param == "checked":
        monkeypatch.setenv(CHECKS_VARIABLE, "1")
    if request.param == "backwards":
        loaded = load_backwards(monkeypatch)
    mind_runtime.clear_cache()
    yield request.param
    mind_runtime.clear_cache()
    assert bool(loaded) == (request.param == "backwards")


def every(prefix: str) -> pytest.MarkDecorator:
    """The legal pairs of some ops with their kinds, and dtypes: all of them as they are, some dtypes in all ways."""
    found = [(key, dtype) for key, dtype in pairs() if key.startswith(prefix)]
    some = [(way, *pair) for way in WAYS for pair in found if not way or str(pair[1]) in ("f32", "bf16", "si64")]
    return pytest.mark.parametrize(("way", "name", "dtype"), some, ids=ids, indirect=["way"])


def text(dtype: PtirDType | str, shape: Sequence[int]) -> str:
    return f"{dtype}[{','.join(map(str, shape))}]"


def types(*arrays: Any) -> str:
    return " ".join(text(format_of(x.dtype).name, x.shape) for x in arrays)


def same(body: Callable[..., Any], *arrays: Any, native_only: bool = True) -> None:
    """Results or errors of both targets are the same; all is native where there is arithmetic of the dtypes."""
    module = program(types(*arrays), body)
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    if native_only and computed_here(*(format_of(x.dtype).name for x in arrays)):
        assert "0 ops on NumPy" in native.explain()[0]
    failed, expected = outcome(reference, arrays)
    error, results = outcome(native, arrays)
    assert error == failed
    for found, wanted in zip(results, expected, strict=True):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        nan = wanted != wanted
        np.testing.assert_array_equal(found != found, nan)
        kept = ~np.asarray(nan)
        assert np.ascontiguousarray(found)[kept].tobytes() == np.ascontiguousarray(wanted)[kept].tobytes()


def outcome(run: Any, arrays: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """What a program's error says, and its results."""
    try:
        return None, several(run(*arrays))
    except MindError as e:
        return (e.code, e.category, e.message), ()


def block(dtype: PtirDType, shape: tuple[int, ...], seed: int = 0, *, special: bool = False) -> Any:
    return np.resize(samples(dtype, int(np.prod(shape)) or 1, special=special, seed=seed), shape)
