"""docs/stablehlo.md lists what is refused, docs/conformance-suites.md what the published test data gave: nothing wrong."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import stablehlo_tables
from mind_translate.stablehlo.table import ROWS
from mind_translate.unsupported import Refused

ROOT = Path(__file__).parents[3]
SUITES = (ROOT / "docs" / "conformance-suites.md").read_text(encoding="utf-8")
ELSEWHERE = (
    *("element type ", "a value of type ", "a dimension whose size is not known", "an op of the dialect interpreter"),
    *("a size that argument ", "a size that no dimension "),
)
"""How reasons begin that are no op's own."""


@pytest.fixture(scope="module")
def suites() -> ModuleType:
    """benchmarks/suites.py as a module."""
    spec = importlib.util.spec_from_file_location("suites", ROOT / "benchmarks" / "suites.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["suites"] = module
    spec.loader.exec_module(module)
    return module


def test_the_table_of_refused_ops_is_fresh() -> None:
    page = stablehlo_tables.PAGE.read_text(encoding="utf-8")
    assert stablehlo_tables.written(page) == page, "run: python tests/support/stablehlo_tables.py"
    for name, row in ROWS.items():
        assert (f" {name} " in page.replace("|", " ")) >= isinstance(row, Refused)


def test_nothing_is_wrong_and_most_passes() -> None:
    found = re.findall(r"^\| (StableHLO [\w/ ]+) \| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", SUITES, re.MULTILINE)
    assert {(suite, executor) for suite, executor, *_ in found} >= {("StableHLO testdata", e) for e in ("numpy", "native")}
    for suite, executor, *counts in found:
        cases, passed, refused, wrong = map(int, counts)
        assert wrong == 0, f"{suite} on {executor}"
        assert passed + refused == cases
        assert suite != "StableHLO testdata" or passed >= 0.98 * cases


def test_no_harness_of_jax_is_wrong_and_most_pass() -> None:
    found = re.findall(r"^\| JAX harnesses, (\w+) \| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", SUITES, re.MULTILINE)
    assert {(kind, executor) for kind, executor, *_ in found} == {(k, e) for k in ("values", "VJPs") for e in ("numpy", "native")}
    for kind, executor, *counts in found:
        cases, passed, refused, wrong = map(int, counts)
        assert wrong == 0, f"{kind} on {executor}"
        assert passed + refused == cases
    where_known = re.findall(r"(\d+) of (\d+) (?:values|VJPs)", SUITES)
    assert len(where_known) == 2
    assert all(int(passed) >= 0.95 * int(cases) for passed, cases in where_known)


def test_every_reason_on_the_page_is_one_of_the_code() -> None:
    sections = re.findall(r"### Refused\n\n.*?\n\n", SUITES, re.DOTALL)
    lines = [line for section in sections for line in re.findall(r"^\| (\S+): (.*) \| \d+ \|$", section, re.MULTILINE)]
    assert lines
    source = "\n".join(file.read_text() for file in (ROOT / "translate/mind_translate/stablehlo").glob("*.py"))
    for name, reason in lines:
        row = ROWS.get(name)
        if isinstance(row, Refused):
            assert reason == row.reason, f"{name} is refused because of {row.reason!r}; run make suites"
        else:
            assert reason.startswith(ELSEWHERE) or reason in source, f"{name}: {reason!r} is not said any more; run make suites"


def test_a_file_is_visible_by_the_hash_of_its_name(suites: ModuleType) -> None:
    for name in ("abs.mlir", "add.mlir", "x"):
        assert suites.is_visible(name) == (int(hashlib.sha256(name.encode()).hexdigest(), 16) % 10 < 3)


CASE = """
func.func @main() -> tensor<2xf32> {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = stablehlo.OP %0, %0 : tensor<2xf32>
  %2 = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_close(%1, %2) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  return %1 : tensor<2xf32>
}
"""
CONST = """
func.func @f() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  check.expect_eq_const %0, dense<[1, WANTED]> : tensor<2xi64>
  check.expect_almost_eq_const %0, dense<[1, 2]> : tensor<2xi64> {tolerance = 0.1 : f64}
  func.return
}
"""


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (CASE.replace("OP", "add"), "passed"),
        (CASE.replace("OP", "subtract"), "wrong"),
        (CASE.replace("stablehlo.OP", "stablehlo.foo"), "refused"),
        (CASE.replace("stablehlo.OP %0, %0 :", "stablehlo.custom_call @k(%0) : (tensor<2xf32>) ->"), "refused"),
        (CONST.replace("WANTED", "2"), "passed"),
        (CONST.replace("WANTED", "3"), "wrong"),
    ],
)
def test_the_runner_tells_right_from_wrong(text: str, status: str, suites: ModuleType) -> None:
    case = suites.run_case("case.mlir", text, ["numpy"])
    assert case.outcomes["numpy"].status == status, case.outcomes
    page = suites.page({"S": [case]}, ["numpy"], True)
    counts = [int(status == s) for s in ("passed", "refused", "wrong")]
    assert f"| S | numpy | 1 | {' | '.join(map(str, counts))} |" in page


@pytest.mark.parametrize(
    ("actual", "expected", "kind", "close"),
    [
        (np.float32([1, np.nan]), np.float32([1.00005, np.nan]), "expect_close", True),
        (np.float32([1, np.nan]), np.float32([1.00005, np.nan]), "expect_eq", False),
        (np.float32([1, 2]), np.float32([1.001, 2]), "expect_close", False),
        (np.float32([np.inf]), np.float32([3e38]), "expect_close", False),
        (np.float32([np.nan]), np.float32([0]), "expect_close", False),
        (np.int32([1]), np.int32([2]), "expect_close", False),
        (np.int32([1]), np.int64([1]), "expect_close", False),
        (np.float32([1, 1]), np.float32([1]), "expect_close", False),
    ],
)
def test_what_is_close(actual: object, expected: object, kind: str, close: bool, suites: ModuleType) -> None:
    assert suites.agrees(actual, expected, suites.Expectation(kind, 0, 1, None)) is close
