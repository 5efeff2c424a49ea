"""The passes that upstream has too, held against a real mlir-opt: canonical forms of what both make of many small functions."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache

import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_passes.shape.canonicalize import canonicalize
from mind_passes.shape.constraints import convert_constraints, products_as_loops, remove_constraints
from programs import context
from shape_corpus import bodies, corpus
from shape_forms import OPTIONS, described, parse

PASSES: dict[str, Callable[[ModuleOp], None]] = {
    "remove-shape-constraints": remove_constraints,
    "convert-shape-constraints": convert_constraints,
    "shape-to-shape-lowering": products_as_loops,
}
"""Ours, by upstream's name."""


@cache
def canonical() -> ModuleOp:
    module = parse(corpus())
    canonicalize(context(), module)
    return module


@pytest.mark.parametrize("name", PASSES)
def test_canonical_forms_are_equal(mlir_opt: str, name: str) -> None:
    command = [mlir_opt, "--canonicalize", f"--{name}", *OPTIONS]
    result = subprocess.run(command, input=corpus(), text=True, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr[:4000]
    module = canonical().clone()  # theirs folds on the way, too
    before = list(described(module))
    PASSES[name](module)
    module.verify()
    changed = sum(old != new for old, new in zip(before, described(module), strict=True))
    assert changed >= 10
    canonicalize(context(), module)
    mine, theirs = list(described(module)), list(described(parse(result.stdout)))
    differ = [(b, m, t) for b, m, t in zip(bodies(), mine, theirs, strict=True) if m != t]
    shown = "\n\n".join(f"{b}\nours:\n{m}\nmlir-opt:\n{t}" for b, m, t in differ[:5])
    assert not differ, f"{len(differ)} of {len(mine)} differ\n{shown}"
