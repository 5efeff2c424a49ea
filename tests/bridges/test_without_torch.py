"""Without PyTorch every door to it is one coded error that says how to install it."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import mind_bridges.torch
from mind_bridges.torch_export import require
from mind_dialect.errors import MindError

DOORS: dict[str, Callable[[], Any]] = {
    "from_torch": lambda: mind_bridges.torch.from_torch(abs),
    "load": lambda: mind_bridges.torch.load("x.pt2"),
}


@pytest.mark.parametrize("door", DOORS)
def test_the_error_says_how_to_install_it(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MindError, match=r"pip install 'mind-dialect\[torch\]'") as caught:
        DOORS[door]()
    assert caught.value.code == "E6002"


def test_a_torch_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__version__="2.8.1+cpu"))
    with pytest.raises(MindError, match=r"PyTorch 2\.8\.1\+cpu is installed, 2\.9 or newer"):
        require()
