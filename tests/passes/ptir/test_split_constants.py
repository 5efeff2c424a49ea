"""Computation on constants alone apart from the rest: what is split, what stays, and that both functions are the old one."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.program import functions, input_names
from mind_dialect.ptir import PtirOp
from mind_dialect.verify import verify
from mind_passes.ptir.split_constants import split_constants
from programs import parse
from ptir_evaluator import evaluate, function_of, same_bits

WORDS = "%q = ptir.constant [[16, 250], [3, 129]] : tensor<2x2xui8>\n%s = ptir.constant [4, 4] : tensor<2xui8>\n"
DECODED = (
    WORDS + "%w = ptir.broadcast_to %s result_shape = [2, 2] : tensor<2xui8> -> tensor<2x2xui8>\n"
    "%h = ptir.shift_right_logical %q, %w : tensor<2x2xui8>\n%d = ptir.cast %h dtype = f32 : tensor<2x2xui8> -> tensor<2x2xf32>\n"
)
ADD = "%r = ptir.add %x, %d : tensor<2x2xf32>"
CASES: dict[str, tuple[str, list[str], list[str]]] = {
    "a decoded constant": (f"{DECODED}{ADD}", ["constant", "constant", "broadcast_to", "shift_right_logical", "cast"], ["add"]),
    "one that is used twice": (
        f"{DECODED}%r0 = ptir.mul %x, %d : tensor<2x2xf32>\n%r = ptir.add %r0, %d : tensor<2x2xf32>",
        ["constant", "constant", "broadcast_to", "shift_right_logical", "cast"],
        ["mul", "add"],
    ),
    "a constant on both sides": (
        "%c = ptir.constant [[1.0, 2.0], [3.0, 4.0]] : tensor<2x2xf32>\n%d = ptir.exp %c : tensor<2x2xf32>\n"
        "%r0 = ptir.mul %x, %c : tensor<2x2xf32>\n%r = ptir.add %r0, %d : tensor<2x2xf32>",
        ["constant", "exp"],
        ["constant", "mul", "add"],
    ),
}
STAYS: dict[str, str] = {
    "a constant": "%d = ptir.constant [[1.0, 2.0], [3.0, 4.0]] : tensor<2x2xf32>\n" + ADD,
    "a view": "%c = ptir.constant [1.0, 2.0] : tensor<2xf32>\n"
    "%d = ptir.broadcast_to %c result_shape = [2, 2] : tensor<2xf32> -> tensor<2x2xf32>\n" + ADD,
    "what can fail": "%c = ptir.constant [[1, 2], [3, 4]] : tensor<2x2xsi32>\n"
    "%z = ptir.constant [[1, 0], [1, 1]] : tensor<2x2xsi32>\n"
    "%e = ptir.div %c, %z : tensor<2x2xsi32>\n%d = ptir.cast %e dtype = f32 : tensor<2x2xsi32> -> tensor<2x2xf32>\n" + ADD,
    "what is random": "%d = ptir.rng_uniform shape = [2, 2] dtype = f32 : tensor<2x2xf32>\n" + ADD,
    "what reads an input": "%c = ptir.constant [[1.0, 2.0], [3.0, 4.0]] : tensor<2x2xf32>\n"
    "%d = ptir.mul %c, %x : tensor<2x2xf32>\n" + ADD,
}


def module_of(body: str) -> ModuleOp:
    module = parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {{
    {body}
    func.return %r : tensor<2x2xf32>
  }}
}}""")
    verify(module)
    return module


def names(func: object) -> list[str]:
    return [op.name.removeprefix("ptir.") for op in func.body.block.ops if isinstance(op, PtirOp)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("case", CASES)
def test_what_depends_on_constants_alone_is_split(case: str) -> None:
    body, constants, rest = CASES[case]
    func = function_of(module_of(body))
    before = str(func)
    split = split_constants(func, 1, 1 << 20)
    assert split is not None
    assert str(func) == before
    assert names(split.constants) == constants
    assert names(split.func) == rest
    assert input_names(split.func) == ["x", "constant0"]
    for made in (split.func, split.constants):
        verify(ModuleOp([made.clone()], {"ptir.spec_version": module_of(body).attributes["ptir.spec_version"]}))
    x = np.array([[1.5, -2.0], [0.25, 8.0]], np.float32)
    (expected,) = evaluate(func, [x])
    (found,) = evaluate(split.func, [x, *evaluate(split.constants, [])])
    assert same_bits(found, expected)
    assert {str(old) for new, old in split.origins.items() if isinstance(new, PtirOp)} <= {str(op) for op in func.body.block.ops}


@pytest.mark.parametrize("case", STAYS)
def test_what_stays(case: str) -> None:
    assert split_constants(function_of(module_of(STAYS[case])), 1, 1 << 20) is None


def test_limits_are_bytes() -> None:
    func = next(iter(functions(module_of(f"{DECODED}{ADD}"))))
    assert split_constants(func, 17, 1 << 20) is None
    assert split_constants(func, 1, 16) is not None
    found = split_constants(func, 1, 15)  # the codes fit, their numbers do not
    assert found is not None
    assert names(found.func) == ["cast", "add"]
