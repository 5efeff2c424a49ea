"""Functions that frameworks write as custom calls, against JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_runtime import compile
from mind_tools.frontends import parse
from mind_translate.stablehlo import read_stablehlo
from mind_translate.stablehlo.calls import MHLO_FUNCTIONS

T = "tensor<4xf32>"
X = np.array([0.125, 0.5, -0.25, 0.75], np.float32)


def call(target: str, attributes: str = "", results: str = T) -> str:
    names = ", ".join(f"%0#{i}" for i in range(results.count("tensor"))) if "(" in results else "%0"
    count = f":{results.count('tensor')}" if "(" in results else ""
    stated = f"{{mhlo.attributes = {{{attributes}}}, mhlo.version = 1 : i64}}"
    return f"""func.func @main(%x: {T}) -> {results} {{
      %0{count} = stablehlo.custom_call @{target}(%x) {stated} : ({T}) -> {results}
      func.return {names} : {results.strip("()")} }}"""


@pytest.mark.parametrize("name", MHLO_FUNCTIONS)
def test_functions(name: str) -> None:
    jax = pytest.importorskip("jax")
    x = X + 1 if name == "acosh" else X
    expected = getattr(jax.lax, name)(x)
    np.testing.assert_allclose(compile(read_stablehlo(call(f"mhlo.{name}")))(x), expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("largest", ["true", "false"])
def test_greatest_and_least(largest: str) -> None:
    jax = pytest.importorskip("jax")
    text = call("mhlo.topk", f"k = 2 : i64, largest = {largest}", "(tensor<2xf32>, tensor<2xi32>)")
    x = np.array([1, 3, 3, -2], np.float32)
    values, places = compile(read_stablehlo(text))(x)
    sign = 1 if largest == "true" else -1
    expected = jax.lax.top_k(sign * x, 2)
    np.testing.assert_array_equal(values, sign * expected[0])
    np.testing.assert_array_equal(places, expected[1])


PAIR = "(tensor<2xf32>, tensor<2xi32>)"


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (call("mhlo.topk", "largest = true", PAIR), "E8002", "k and largest"),
        (call("mhlo.topk", "k = 2 : i64", "(tensor<2xf32>, tensor<2xui8>)"), "E8008", "indices of ui8"),
        (call("mhlo.erf", results=f"({T}, {T})"), "E2007", "operands, expected 1"),
        (call("mhlo.unheard_of"), "E8008", "a custom call of 'mhlo.unheard_of'"),
    ],
)
def test_what_does_not_fit(text: str, code: str, words: str) -> None:
    with pytest.raises(MindError, match=words) as caught:
        read_stablehlo(text)
    assert caught.value.code == code


def test_a_file_without_an_op_of_stablehlo_itself_is_recognized() -> None:
    text = f"func.func @main(%x: {T}) -> {T} {{ %0 = chlo.erf %x : {T} -> {T}\n func.return %0 : {T} }}"
    found: Any = compile(parse(text))(X)
    np.testing.assert_allclose(found, compile(read_stablehlo(call("mhlo.erf")))(X))
