"""The kinds of inputs, by name."""

from __future__ import annotations

import importlib
import os

from .judge import Kind

MODULES = ("texts", "ops", "files", "calls", "programs", "arrays")
PLANTED = "MIND_FUZZ_PLANTED"
"""Names a module with more kinds: the tests of the farm plant defects with it."""


def all_kinds() -> dict[str, Kind]:
    """The kinds in the order of the report."""
    modules = [importlib.import_module(f".{name}", __package__) for name in MODULES]
    if planted := os.environ.get(PLANTED):
        modules.append(importlib.import_module(planted))
    found = [kind for module in modules for kind in module.kinds()]
    return {kind.name: kind for kind in found}
