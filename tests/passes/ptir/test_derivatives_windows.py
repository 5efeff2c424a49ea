"""Adjoints of windows that start where an operand says: what is read is added in place, other sums stay sums."""

from __future__ import annotations

import numpy as np
import pytest

from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_passes.autodiff import GradientOptions, differentiate
from mind_runtime import compile
from programs import parse

HEAD = f'module attributes {{{VERSION_ATTRIBUTE} = "{SPEC_VERSION}"}} {{'
READ = """
func.func @f(%x: tensor<7xf64>, %i: tensor<1xsi32>, %j: tensor<1xsi32>) -> tensor<3xf64> {
  %a = ptir.dynamic_slice %x, %i sizes = [3] : (tensor<7xf64>, tensor<1xsi32>) -> tensor<3xf64>
  %b = ptir.dynamic_slice %x, %j sizes = [3] : (tensor<7xf64>, tensor<1xsi32>) -> tensor<3xf64>
  %c = ptir.mul %a, %b : tensor<3xf64>
  func.return %c : tensor<3xf64>
}}
"""
WRITTEN = """
func.func @f(%x: tensor<7xf64>, %u: tensor<3xf64>, %i: tensor<1xsi32>) -> tensor<7xf64> {
  %a = ptir.dynamic_update_slice %x, %u, %i sizes = [3] : (tensor<7xf64>, tensor<3xf64>, tensor<1xsi32>) -> tensor<7xf64>
  %b = ptir.mul %a, %x : tensor<7xf64>
  func.return %b : tensor<7xf64>
}}
"""


def _gradient(text: str, wrt: tuple[int, ...]):
    options = GradientOptions(wrt, seed="cotangent", keep_primal=False)
    return differentiate(parse(HEAD + text), "f", options).module


@pytest.mark.parametrize("starts", [(0, 0), (1, 3), (3, 1), (2, 2), (-4, 9), (9, 4)])
def test_two_windows_of_one_array_are_added_in_place(starts: tuple[int, int]) -> None:
    x, g = np.arange(1.0, 8), np.array([2.0, 3.0, 5.0])
    module = _gradient(READ, (0,))
    assert str(module).count("ptir.add") == 1, "the window alone is added"
    assert "ptir.add %" in str(module)
    assert "-> tensor<3xf64>" in next(line for line in str(module).splitlines() if "ptir.dynamic_slice %" in line)
    found = compile(module, "f_grad")(x, *(np.int32([s]) for s in starts), g)
    i, j = (min(max(s, 0), 4) for s in starts)
    expected = np.zeros(7)
    expected[i : i + 3] += g * x[j : j + 3]
    expected[j : j + 3] += g * x[i : i + 3]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("start", [-1, 0, 2, 4, 6])
@pytest.mark.parametrize("wrt", [(0,), (1,), (0, 1)])
def test_an_update_reads_the_adjoint_of_its_window_before_it_is_cleared(start: int, wrt: tuple[int, ...]) -> None:
    x, u, g = np.arange(1.0, 8), np.array([2.0, -3.0, 5.0]), np.arange(7.0) - 2
    i = min(max(start, 0), 4)
    found = compile(_gradient(WRITTEN, wrt), "f_grad")(x, u, np.int32([start]), g)
    updated = x.copy()
    updated[i : i + 3] = u
    of_x = g * updated + g * x * ((np.arange(7) < i) | (np.arange(7) >= i + 3))
    expected = {0: of_x, 1: (g * x)[i : i + 3]}
    for value, k in zip(found if isinstance(found, tuple) else (found,), wrt, strict=True):
        np.testing.assert_allclose(value, expected[k], rtol=1e-14)


def test_a_sum_with_a_window_of_another_array_stays_a_sum() -> None:
    text = str(_gradient(WRITTEN, (0,)))
    assert "ptir.add" in text
    assert [line for line in text.splitlines() if "ptir.add" in line and "tensor<7xf64>" in line]
