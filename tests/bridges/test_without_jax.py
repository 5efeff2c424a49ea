"""Without JAX every door to it is one coded error that says how to install it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mind_bridges.jax
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_runtime import compile
from ptir_forms import program


@pytest.fixture
def without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)


def neg() -> Any:
    return program("f32[2]", lambda x: [ptir.NegOp(x)])


DOORS: dict[str, Callable[[], Any]] = {
    "compile": lambda: compile(neg(), target="xla"),
    "from_jax": lambda: mind_bridges.jax.from_jax(abs, 1.0),
    "to_jax": lambda: mind_bridges.jax.to_jax(neg()),
    "export": lambda: mind_bridges.jax.export(neg(), Path("x.bin")),
    "load": lambda: mind_bridges.jax.load("x.bin"),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.usefixtures("without_jax")
def test_the_error_says_how_to_install_it(door: str) -> None:
    with pytest.raises(MindError, match=r"pip install 'mind-dialect\[jax\]'") as caught:
        DOORS[door]()
    assert caught.value.code == "E6002"


def test_a_jax_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    from mind_runtime.xla import session

    old = types.SimpleNamespace(__version__="0.4.30", __version_info__=(0, 4, 30))
    monkeypatch.setattr(session.importlib, "import_module", lambda name: old)
    with pytest.raises(MindError, match=r"JAX 0\.4\.30 is installed, 0\.10 or newer"):
        session.require()
