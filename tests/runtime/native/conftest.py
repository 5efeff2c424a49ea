"""Each test of native code runs on a stated machine, and on nothing that another test compiled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("llvmlite")

from machines import RUNNABLE, with_stated_caches
from mind_lowering.native import host as host_module
from mind_runtime.native.executable import clear

NAMES_ITS_MACHINE = {"host", "isa", "way"}
"""Arguments of tests that go through machines by themselves."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With `--isa`, tests run as each machine that the option names."""
    wanted = metafunc.config.getoption("--isa")
    if wanted is not None and not NAMES_ITS_MACHINE & {*metafunc.fixturenames}:
        metafunc.parametrize("machine", RUNNABLE if wanted == "every" else wanted.split(","), indirect=True)


@pytest.fixture(autouse=True)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine with stated caches, taken for the instruction set that `--isa` asks for."""
    stated = with_stated_caches()
    monkeypatch.setattr(host_module, "this_machine", lambda: stated)
    if (isa := getattr(request, "param", None)) is not None:
        monkeypatch.setenv(host_module.ISA_VARIABLE, isa)
    clear()
    yield
    clear()
