"""
Sizes that cannot be: one coded error each, on every executor, before any kernel runs.

The first op of each program reads out of range, so that E6001 would tell that a kernel ran before sizes were checked.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from fake_device import compile_on_fake
from host_runs import RUNS
from mind_dialect.errors import MindError, MindErrors
from mind_dialect.verify import verify
from mind_runtime import compile
from mind_tools.frontends import parse

Run = Callable[..., Any]
EXECUTORS: dict[str, Callable[[ModuleOp], Run]] = {
    **RUNS,
    "cupy": compile_on_fake,
    **({"xla": lambda module: compile(module, target="xla")} if find_spec("jax") is not None else {}),
    **({"onnx": lambda module: compile(module, target="onnx")} if find_spec("onnxruntime") is not None else {}),
}


OP_BY_OP = {"interpreter"}
"""What runs ops one by one, each checked before it runs."""


class Case(NamedTuple):
    """
    An op on `%x` of N elements and `%y` of T, the type of its result, the sizes of N and of T, what is declared.

    `given` is what the message says was given.
    """

    op: str
    result: str
    code: str
    n: int
    t: int
    given: str
    declared: str = ""
    y: str = "T"


N4 = "N*N*N*N"
CASES = {
    "overflow": Case(
        'broadcast_to %one result_shape = ["N*N*N*N"] : tensor<f32> ->', "N*N*N*N", "E3006", 2**16, 1, f"extent of {2**64}"
    ),
    "overflow of a product": Case(
        f'tile %x repeats = ["{N4}*N"] : tensor<?xf32, "N"> ->', f"{N4}*N*N", "E3006", 2**13, 1, f"{2**78}"
    ),
    "more bytes than there are": Case(
        f'iota shape = ["{N4}"] dtype = f32 axis = 0 :', N4, "E6004", 46_340, 1, "bytes are needed"
    ),
    "negative": Case('broadcast_to %one result_shape = ["N-T"] : tensor<f32> ->', "N-T", "E3006", 2, 3, "extent -1"),
    "negative bound": Case('slice %x starts = ["N-2"] sizes = [2] : tensor<?xf32, "N"> ->', "2", "E4012", 1, 1, "-1"),
    "name bound twice": Case('tanh %y : tensor<?xf32, "N">', "", "E8001", 2, 3, "size 3", y="N"),
    "sizes that differ": Case('add %x, %y : (tensor<?xf32, "N">, tensor<?xf32, "T">) ->', "N", "E3001", 2, 3, "2"),
    "bound broken": Case('tanh %x : tensor<?xf32, "N">', "", "E8010", 9, 1, "size 9", declared='"N in 1..8"'),
    "divisor broken": Case('tanh %x : tensor<?xf32, "N">', "", "E8010", 9, 1, "size 9", declared='"N % 8 == 0"'),
    "relation broken": Case('tanh %x : tensor<?xf32, "N">', "", "E8010", 3, 2, "size 3", declared='"N <= T"'),
    "no elements": Case('tanh %x : tensor<?xf32, "N">', "", "E8010", 0, 1, "size 0", declared='"N >= 1"'),
}


def text_of(case: Case, reads: bool = True) -> str:
    """The program of a case; without `reads`, one whose first op succeeds."""
    declared = f" attributes {{mind.dims = [{case.declared}]}}" if case.declared else ""
    result = case.result or "N"
    shown = f"tensor<{result}xf32>" if result.isdigit() else f'tensor<?xf32, "{result}">'
    return f"""builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
      func.func @f(%x: tensor<?xf32, "N">, %y: tensor<?xf32, "{case.y}">) -> (tensor<1xf32>, {shown}){declared} {{
        %far = ptir.constant [{99999999 if reads else 0}] : tensor<1xsi64>
        %read = ptir.take %x, %far : (tensor<?xf32, "N">, tensor<1xsi64>) -> tensor<1xf32>
        %one = ptir.constant 1.0 : tensor<f32>
        %0 = ptir.{case.op} {shown if case.result else ""}
        func.return %read, %0 : tensor<1xf32>, {shown}
      }}
    }}"""


def failure(run: Callable[..., Any], *given: Any) -> MindError:
    with pytest.raises(MindError) as e:
        run(*given)
    return e.value


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", CASES)
def test_sizes_are_refused_before_any_kernel(name: str, executor: str) -> None:
    case = CASES[name]
    run = EXECUTORS[executor](parse(text_of(case, executor not in OP_BY_OP)))
    found = failure(run, np.zeros(case.n, np.float32), np.zeros(case.t, np.float32))
    assert found.code == case.code, found
    assert executor in OP_BY_OP or case.given in found.message, found


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_programs_above_run_their_first_op(executor: str) -> None:
    run = EXECUTORS[executor](parse(text_of(CASES["bound broken"])))
    expected = "E6008" if executor == "onnx" else "E6001"  # ONNX Runtime fails in words of its own
    assert failure(run, np.zeros(4, np.float32), np.zeros(1, np.float32)).code == expected


def verified(module: ModuleOp, executor: str) -> Run:
    verify(module)
    return EXECUTORS[executor](module)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_contradictory_declarations_are_refused_with_both_sources(executor: str) -> None:
    module = parse(text_of(CASES["bound broken"]._replace(declared='"N in 1..8", "N > 8"')))
    with pytest.raises((MindError, MindErrors)) as e:
        verified(module, executor)
    message = str(e.value)
    assert "E8009" in message
    assert "N in 1..8" in message
    assert "N > 8" in message


EMPTY = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<?x3xf32, "N,*">) -> tensor<?x3xf32, "3*N,*"> {
    %0 = ptir.tile %x repeats = [3, 1] : tensor<?x3xf32, "N,*"> -> tensor<?x3xf32, "3*N,*">
    %1 = ptir.tanh %0 : tensor<?x3xf32, "3*N,*">
    func.return %1 : tensor<?x3xf32, "3*N,*">
  }
}"""


@pytest.mark.parametrize("executor", EXECUTORS)
def test_extents_of_zero_are_sizes(executor: str) -> None:
    assert EXECUTORS[executor](parse(EMPTY))(np.zeros((0, 3), np.float32)).shape == (0, 3)
