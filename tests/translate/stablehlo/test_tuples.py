"""Tuples are replaced by their elements wherever they stand, and what does not fit is refused at its op."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_runtime import compile
from mind_translate.stablehlo import read_stablehlo

T = "tensor<4xf32>"
PAIR, COUNTED = f"tuple<{T}, {T}>", f"tuple<tensor<i32>, {T}>"
X = np.array([0.5, -1, 2, 3], np.float32)


def program(body: str, arguments: str = f"%x: {T}", results: str = T, more: str = "") -> str:
    return f"func.func public @main({arguments}) -> {results} {{\n{body} }}\n{more}"


MADE = f"%d = stablehlo.add %x, %x : {T}\n %p = stablehlo.tuple %d, %x : {PAIR}\n"


def element(of: str, index: int, type: str = PAIR, result: str = T) -> str:
    return f"stablehlo.get_tuple_element {of}[{index}] : ({type}) -> {result}\n"


LOOP = f"""%c = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.tuple %c, %x : {COUNTED}
  %w = "stablehlo.while"(%1) ({{
  ^bb0(%a: {COUNTED}):
    %i = {element("%a", 0, COUNTED, "tensor<i32>")}
    %n = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }}, {{
  ^bb0(%a: {COUNTED}):
    %i = {element("%a", 0, COUNTED, "tensor<i32>")}
    %v = {element("%a", 1, COUNTED)}
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %u = stablehlo.add %v, %v : {T}
    %t = stablehlo.tuple %j, %u : {COUNTED}
    stablehlo.return %t : {COUNTED}
  }}) : ({COUNTED}) -> {COUNTED}
  %2 = {element("%w", 1, COUNTED)}
  func.return %2 : {T}"""
BRANCHES = f"""%p = stablehlo.tuple %x, %x : {PAIR}
  %r = "stablehlo.if"(%c) ({{ stablehlo.return %p : {PAIR} }}, {{
    %n = stablehlo.negate %x : {T}
    %q = stablehlo.tuple %x, %n : {PAIR}
    stablehlo.return %q : {PAIR}
  }}) : (tensor<i1>) -> {PAIR}
  %2 = {element("%r", 1)}
  func.return %2 : {T}"""
CALLED = f"""func.func private @f(%q: {PAIR}, %k: {T}) -> {PAIR} {{
  %a = {element("%q", 1)} %b = stablehlo.multiply %a, %k : {T}
  %r = stablehlo.tuple %b, %k : {PAIR} func.return %r : {PAIR} }}"""
NESTED = f"tuple<{T}, {PAIR}>"
PROGRAMS: dict[str, tuple[str, list[Any], list[Any]]] = {
    "an element": (program(f"{MADE} %e = {element('%p', 0)} func.return %e : {T}"), [X], [X + X]),
    "a result": (program(f"{MADE} func.return %p : {PAIR}", results=PAIR), [X], [X + X, X]),
    "an argument between others": (
        program(
            f"%a = {element('%p', 1)} %b = stablehlo.subtract %a, %y : {T} %c = stablehlo.add %b, %x : {T} func.return %c : {T}",
            f'%x: {T} {{mind.name = "x"}}, %p: {PAIR}, %y: {T} {{mind.name = "y"}}',
        ),
        [X, 2 * X, 3 * X, 5 * X], [3 * X - 5 * X + X],
    ),
    "a tuple in a tuple": (
        program(f"%a = {element('%p', 1, NESTED, PAIR)} %b = {element('%a', 1)} func.return %b : {T}", f"%p: {NESTED}"),
        [X, 2 * X, 3 * X], [3 * X],
    ),
    "a barrier": (
        program(f"{MADE} %b = stablehlo.optimization_barrier %p : {PAIR}\n %e = {element('%b', 0)} func.return %e : {T}"),
        [X], [X + X],
    ),
    "a loop": (program(LOOP), [X], [8 * X]),
    "branches": (program(BRANCHES, f"%c: tensor<i1>, %x: {T}"), [np.array(False), X], [-X]),
    "a call": (
        program(f"{MADE} %r = call @f(%p, %d) : ({PAIR}, {T}) -> {PAIR}\n return %r : {PAIR}", results=PAIR, more=CALLED),
        [X], [X * 2 * X, 2 * X],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    text, given, expected = PROGRAMS[name]
    found = compile(read_stablehlo(text), "main")(*given)
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)


def test_names_of_other_arguments_are_kept() -> None:
    specs = compile(read_stablehlo(PROGRAMS["an argument between others"][0]), "main").inputs
    assert [spec.name for spec in specs][::3] == ["x", "y"]


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        (f"{MADE} %e = {element('%p', 2)} func.return %e : {T}", "E8002", "index is 2, expected 0 to 1"),
        (
            f'{MADE} %e = "stablehlo.get_tuple_element"(%p) : ({PAIR}) -> {T}\n func.return %x : {T}',
            "E8002",
            "element: index is missing",
        ),
        (f"%e = {element('%x', 0, T)} func.return %e : {T}", "E4016", "expected one tuple as operand"),
        (f"{MADE} %e = {element('%p', 0, PAIR, 'tensor<2xf32>')} func.return %x : {T}", "E4015", "element 0 is tensor<4xf32>"),
        (f'%p = "stablehlo.tuple"(%x) : ({T}) -> {T}\n func.return %p : {T}', "E4016", "expected one tuple as a result"),
        (f'%p = "stablehlo.tuple"(%x) : ({T}) -> {PAIR}\n func.return %x : {T}', "E4015", "states tensor"),
        (f"%p = stablehlo.custom_call @f(%x) : ({T}) -> {PAIR}\n func.return %x : {T}", "E8008", "a custom call of 'f'"),
    ],
)
def test_what_does_not_fit(body: str, code: str, words: str) -> None:
    with pytest.raises(MindError, match=words) as caught:
        read_stablehlo(program(body))
    assert caught.value.code == code
