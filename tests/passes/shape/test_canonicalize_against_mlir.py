"""Canonical forms of `canonicalize-shape` and of a real mlir-opt, function by function."""

from __future__ import annotations

import subprocess

import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.shape import MODERN_OPS
from mind_passes.shape.canonicalize import canonicalize
from programs import context
from shape_corpus import bodies, corpus
from shape_forms import OPTIONS, described, parse


def ours(text: str) -> ModuleOp:
    module = parse(text)
    module.verify()
    canonicalize(context(), module)
    module.verify()
    return module


@pytest.fixture(scope="module")
def both(mlir_opt: str) -> list[tuple[str, str, str]]:
    """For each function its body, our canonical form and theirs."""
    result = subprocess.run([mlir_opt, *OPTIONS], input=corpus(), text=True, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
    theirs = parse(result.stdout)
    return list(zip(bodies(), described(ours(corpus())), described(theirs), strict=True))


def test_canonical_forms_are_equal(both: list[tuple[str, str, str]]) -> None:
    assert len(both) >= 200
    for body, mine, theirs in both:
        assert mine == theirs, f"{body}\nours:\n{mine}\nmlir-opt:\n{theirs}"


def test_every_modern_op_is_in_the_corpus_and_many_functions_stay_as_they_are(both: list[tuple[str, str, str]]) -> None:
    text = corpus()
    outside = {"shape.func", "shape.return", "shape.function_library"}
    assert [op.name for op in MODERN_OPS if f"{op.name}" not in text and op.name not in outside] == []
    unchanged = list(described(parse(text)))
    kept = sum(before == mine for before, (_, mine, _) in zip(unchanged, both, strict=True))
    assert 200 <= kept <= len(both) - 200
