"""Executors of other packages: registered or installed, what they take, and how they fail; ours stay as they are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mind_runtime
from mind_dialect.errors import MindError, error
from mind_runtime import bind, compile
from mind_runtime.executors import Executor, Request, executor_names, numpy_program, register_executor
from mind_runtime.program import Program
from programs import parse
from tool_runs import mind_run

TEXT = """
func.func @f(%x: tensor<2xf64>, %y: tensor<2xf64>) -> tensor<2xf64> {
  %0 = mind.add %x, %y : tensor<2xf64>
  func.return %0 : tensor<2xf64>
}
"""
X, Y = np.array([1.0, 2.0]), np.array([10.0, 20.0])
OURS = ["numpy", "native", "cupy", "xla", "onnx", "iree"]


class Twice(Program):
    """A program that runs elsewhere: here, one that doubles what the target `numpy` returns."""

    def execute(self, arguments: Any, seed: int = 0) -> Any:
        return 2 * super().execute(arguments, seed)


@pytest.fixture
def requests() -> Iterator[list[Request]]:
    """What the executor `twice` was asked for."""
    found: list[Request] = []

    def made(request: Request) -> Program:
        found.append(request)
        return numpy_program(request, Twice)

    def options(words: Mapping[str, Any]) -> dict[str, Any]:
        if words.keys() - {"loud"}:
            raise error("E7001", f"options {list(words)} of twice, expected loud", option=next(iter(words)))
        return dict(words)

    register_executor("twice", Executor(made, options=options, arguments=frozenset({"threads"})))
    yield found
    register_executor("twice", None)


def coded(code: str, call: Any) -> str:
    with pytest.raises(MindError) as caught:
        call()
    assert caught.value.code == code
    return caught.value.message


def test_a_registered_executor_is_a_target(requests: list[Request]) -> None:
    assert executor_names() == [*OURS, "twice"]
    program = compile(parse(TEXT), target="twice{loud}", threads=3, donate=["y"], memory_limit=1 << 20)
    np.testing.assert_array_equal(program(X, Y.copy()), 2 * (X + Y))
    (request,) = requests
    assert (request.donated, request.fixed, request.memory_limit) == ((1,), (), 1 << 20)
    assert request.host_limit == 1 << 20
    assert (dict(request.options), dict(request.arguments)) == ({"loud": "on"}, {"threads": 3})
    assert program.function is request.func


def test_bound_inputs_are_named(requests: list[Request]) -> None:
    program = bind(parse(TEXT), {"y": Y}, target="twice")
    np.testing.assert_array_equal(program(X), 2 * (X + Y))
    assert requests[-1].fixed == (1,)
    assert requests[-1].memory_limit is None
    assert requests[-1].host_limit > 1 << 20


def test_the_tool_knows_it(requests: list[Request]) -> None:
    result = mind_run("-", "x=[1, 2]", "y=[10, 20]", "--target", "twice", stdin=TEXT)
    assert (result.status, result.out) == (0, "out0: f64[2] = [22., 44.]\n")
    assert len(requests) == 1


def test_what_it_does_not_take_is_refused_before_it_compiles(requests: list[Request]) -> None:
    module = parse(TEXT)
    assert "'xla'" in coded("E7001", lambda: compile(module, target="twice", mesh="data=2"))
    assert "expected loud" in coded("E7001", lambda: compile(module, target="twice{quiet}"))
    assert coded("E7001", lambda: compile(module, threads=2)).endswith("it is an option of 'native' and 'twice'")
    assert "takes no options" in coded("E7001", lambda: compile(module, target="numpy{loud}"))
    assert requests == []


def test_what_it_needs_is_asked_for_first() -> None:
    def require() -> None:
        raise error("E6002", "no device", requested="away", available=OURS)

    register_executor("away", Executor(numpy_program, require))
    try:
        assert coded("E6002", lambda: compile(parse(TEXT), "unknown", target="away")) == "no device"
    finally:
        register_executor("away", None)


@pytest.mark.parametrize("name", OURS)
def test_ours_cannot_be_replaced(name: str) -> None:
    assert "cannot be replaced" in coded("E7001", lambda: register_executor(name, Executor(numpy_program)))
    assert "cannot be replaced" in coded("E7001", lambda: register_executor(name, None))


def test_an_unknown_one_lists_all(requests: list[Request]) -> None:
    assert coded("E6002", lambda: compile(parse(TEXT), target="thrice")) == (
        f"target 'thrice' is not available, expected one of {[*OURS, 'twice']}"
    )


PACKAGE = """
from mind_runtime.executors import Executor, numpy_program
from mind_runtime.program import Program

class Negated(Program):
    def execute(self, arguments, seed=0):
        return -super().execute(arguments, seed)

NEGATED = Executor(lambda request: numpy_program(request, Negated))
NUMBER = 5
"""
ENTRIES = """[mind_dialect.executors]
negated = theirs:NEGATED
number = theirs:NUMBER
absent = theirs:ABSENT
"""
USE = """
import numpy as np
from mind_dialect.errors import MindError
from mind_runtime import compile
from mind_runtime.executors import executor_names
from mind_tools.frontends import parse

module = parse({text!r})
print(executor_names()[6:])
print(compile(module, target="negated")(np.array([1.0, 2.0]), np.array([10.0, 20.0])))
for name in ("number", "absent"):
    try:
        compile(module, target=name)
    except MindError as e:
        print(e.code, e.message)
"""


def test_an_installed_package_needs_no_import(tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(PACKAGE, encoding="utf-8")
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRIES, encoding="utf-8")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + USE.format(text=TEXT)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines() == [
        "['absent', 'negated', 'number']",
        "[-11. -22.]",
        "E6002 the executor 'number' of an installed package is 5, expected a mind_runtime.executors.Executor",
        "E6002 the executor 'absent' of an installed package cannot be loaded: "
        "AttributeError: module 'theirs' has no attribute 'ABSENT'",
    ]
    assert mind_runtime.compile(parse(TEXT))(X, Y).tolist() == [11.0, 22.0]
