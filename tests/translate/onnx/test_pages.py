"""docs/conformance-onnx.md lists what ONNX's own tests gave: nothing wrong, most passed. The judge tells right from wrong."""

from __future__ import annotations

import re
import sys
from copy import deepcopy
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "conformance-onnx.md").read_text(encoding="utf-8")
FIGURES = re.findall(r"^\| ONNX ([\w ,]+) \| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
LEAST = {"node tests": (588, 0.85), "light models": (9, 1), "light models, random weights": (9, 1)}
"""How many cases a suite has at least, and which share of them passes at least."""


def test_every_suite_ran_on_both_executors():
    assert [(suite, executor) for suite, executor, *_ in FIGURES] == [(s, e) for s in LEAST for e in ("numpy", "native")]


@pytest.mark.parametrize("figures", FIGURES, ids=lambda figures: "-".join(figures[:2]))
def test_nothing_is_wrong_and_most_passes(figures: tuple[str, ...]):
    suite, _, *counts = figures
    cases, passed, refused, wrong = map(int, counts)
    least, share = LEAST[suite]
    assert wrong == 0
    assert passed + refused == cases >= least
    assert passed >= share * cases


def test_every_refusal_has_a_reason():
    rows = re.findall(r"^\| (.+) \| (\d+) \|$", PAGE.partition("## Refused")[2], re.MULTILINE)
    refused = max(int(f[4]) for f in FIGURES)
    assert sum(int(count) for _, count in rows) >= refused
    assert all(re.match(r"[\w.]+: .+", reason) for reason, _ in rows)


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """benchmarks/suites_onnx.py as a module."""
    pytest.importorskip("onnx")
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "benchmarks")])
    return import_module("suites_onnx")


@pytest.mark.parametrize(
    ("actual", "expected", "close"),
    [
        (np.float32([1, np.nan]), np.float32([1.0005, np.nan]), True),
        (np.float32([1, np.nan]), np.float32([1.0005, 1]), False),
        (np.float32([1, 2]), np.float32([1, 2.01]), False),
        (np.float32([1e-3]), np.float32([1.01e-3]), False),
        (np.float32([np.inf]), np.float32([3e38]), False),
        (np.int32([1000]), np.int32([1001]), False),
        (np.float64([1]), np.float32([1]), False),
        (np.float32([[1]]), np.float32([1]), False),
        (np.array([1j], "c8"), np.array([-1j], "c8"), False),
    ],
)
def test_what_is_near(actual: object, expected: object, close: bool, suite: ModuleType):
    assert suite.near(actual, expected) is close


def test_a_node_test_is_judged(suite: ModuleType):
    (test,) = suite.node_tests(visible=False, only="test_relu")[:1]
    assert suite.run_node_test(test, ["numpy"]).outcomes["numpy"].status == "passed"
    ((inputs, outputs),) = test.data_sets
    other = replace(test, data_sets=[(inputs, [outputs[0] + 1])])
    assert suite.run_node_test(other, ["numpy"]).outcomes["numpy"].status == "wrong"
    test = deepcopy(test)
    test.model.graph.node[0].op_type = "Nonsense"
    outcome = suite.run_node_test(test, ["numpy"]).outcomes["numpy"]
    assert outcome.status == "refused"
    assert outcome.reasons
