"""mind-run --time-limit: a call without end ends with a code, a short one is as without a limit, and nothing stays set."""

from __future__ import annotations

import signal
import threading

import pytest

from mind_dialect.errors import MindError
from mind_tools.time_limit import time_limit
from tool_runs import mind_run

ENDLESS = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = ptir.while %x : (tensor<2xf32>) -> tensor<2xf32> cond {
    ^bb0(%p: tensor<2xf32>):
      %t = ptir.constant true : tensor<i1>
      ptir.yield %t, %p : tensor<i1>, tensor<2xf32>
    } body {
    ^bb0(%p: tensor<2xf32>):
      %q = ptir.tanh %p : tensor<2xf32>
      ptir.yield %q : tensor<2xf32>
    }
    func.return %0 : tensor<2xf32>
  }
}
"""
SHORT = """
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = mind.neg %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_a_loop_without_end_ends(target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    before = signal.getsignal(signal.SIGALRM)
    result = mind_run("-", "x=[1, 2]", "--target", target, "--time-limit", "0.2", stdin=ENDLESS)
    assert result.status == 1
    assert result.out == ""
    assert result.err.startswith("error[E6007]: ")
    assert "the call took longer than 0.2 s, which is its limit" in result.err
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_a_call_within_the_limit_is_as_without() -> None:
    assert mind_run("-", "x=[1, -2]", "--time-limit", "3600", stdin=SHORT) == mind_run("-", "x=[1, -2]", stdin=SHORT)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf", "1e9", "soon", ""])
def test_what_is_no_time_is_refused(given: str) -> None:
    result = mind_run("-", "x=[1, 2]", f"--time-limit={given}", stdin=SHORT)
    assert result.status == 1
    assert f"error[E7001]: --time-limit {given!r}, expected a positive number of seconds" in result.err


def test_another_thread_has_no_limit() -> None:
    found: list[str] = []

    def limited() -> None:
        try:
            with time_limit(1.0):
                found.append("no error")
        except MindError as e:
            found.append(e.code)

    thread = threading.Thread(target=limited)
    thread.start()
    thread.join()
    assert found == ["E7001"]
