"""`mind-run --memory`: the plan, the bound and the measured peak agree where they must."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from fake_gpu import FakeMachine
from mind_dialect.program import functions
from mind_runtime import compile
from mind_runtime.specialization import Specialization
from mind_tools.memory_report import device_line, measured
from mlir_execution import only_function
from numpy_launches import on_numpy
from programs import parse
from tool_runs import mind_run

STATIC = """module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<100x1000xf32>) -> tensor<100xf32> {
  %a = ptir.exp %x : tensor<100x1000xf32>
  %b = ptir.mul %a, %x : tensor<100x1000xf32>
  %c = ptir.add %b, %a : tensor<100x1000xf32>
  %s = ptir.reduce %c kind = sum axes = [1] keepdims = false : tensor<100x1000xf32> -> tensor<100xf32>
  func.return %s : tensor<100xf32>
}
}
"""
DYNAMIC = STATIC.replace("100x1000xf32", '?x1000xf32, "B,*"').replace("<100xf32>", '<?xf32, "B">')
CORE = """func.func @f(%x: tensor<100x1000xf32>) -> tensor<1000x100xf32> {
  %a = mind.exp %x : tensor<100x1000xf32>
  %t = mind.transpose %a permutation = [1, 0] : tensor<100x1000xf32> -> tensor<1000x100xf32>
  func.return %t : tensor<1000x100xf32>
}
"""
LINE = re.compile(r"memory: planned peak (\d+) bytes, measured peak (\d+) bytes")


@pytest.mark.parametrize("text", [STATIC, DYNAMIC], ids=["static", "dynamic"])
def test_two_matrices_are_planned_and_measured(text: str) -> None:
    """400,000 bytes each; the run writes the sum over the product, which dies there. Python's own objects are small."""
    module = parse(text)
    x = np.ones((100, 1000), "f4")
    results, line = measured(compile(module), only_function(module), [x])
    match = LINE.fullmatch(line)
    assert match is not None
    planned, peak = map(int, match.groups())
    assert planned == 800_000
    assert planned <= peak < planned + 100_000
    np.testing.assert_array_equal(results, compile(module)(x))


def test_the_memory_of_called_functions_counts() -> None:
    caller = STATIC.replace("@f", "@caller").partition("{\n")[2].partition("{\n")[0]
    call = "%s = func.call @f(%x) : (tensor<100x1000xf32>) -> tensor<100xf32>\nfunc.return %s : tensor<100xf32>"
    module = parse(STATIC.rstrip().removesuffix("}") + f"{caller}{{\n{call}\n}}\n}}")
    x, lines = np.ones((100, 1000), "f4"), list[str]()
    for func in functions(module):
        match = LINE.fullmatch(measured(compile(module, func.sym_name.data), func, [x])[1])
        assert match is not None
        lines.append(match[1])
    assert lines[0] == lines[1]
    assert int(lines[1]) >= 400_000


def test_the_plan_counts_what_the_target_copies() -> None:
    """A view that is returned is copied by this target."""
    module = parse(CORE)
    _, line = measured(compile(module), only_function(module), [np.ones((100, 1000), "f4")])
    match = LINE.fullmatch(line)
    assert match is not None
    planned, peak = map(int, match.groups())
    assert planned == 800_000
    assert planned <= peak < planned + 100_000


def test_on_a_gpu_what_is_planned_there_is_said_too() -> None:
    """The sum goes over the product, as on NumPy; arguments of the host are copied, and rows are reduced in one kernel."""
    module = parse(STATIC)
    x = np.ones((100, 1000), "f4")
    program = on_numpy(module.clone())
    host, device = measured(program, only_function(module), [x])[1].splitlines()
    assert re.fullmatch(LINE.pattern + " on the host", host)
    assert device == "memory on the device, as planned: 400400 bytes (results 400, copies of arguments 400000)"
    there = FakeMachine().fresh(x.shape, x.dtype)
    assert program.device_memory(there) == {"arena": 0, "results": 400, "constants": 0, "copies of arguments": 0, "counters": 0}


def test_a_device_without_a_plan_says_so() -> None:
    assert device_line(None) == "memory on the device: not planned, each call asks for what it needs"
    assert device_line({"arena": 0}) == "memory on the device, as planned: 0 bytes (nothing)"
    program = on_numpy(parse(DYNAMIC))
    x = np.ones((7, 1000), "f4")
    program.by_sizes.limits = Specialization(max_programs=0)
    assert program.device_memory(x) is None, "no program for these sizes, no plan"
    program.by_sizes.limits = Specialization()
    planned = program.device_memory(x)
    assert planned is not None
    assert (planned["copies of arguments"], planned["results"]) == (x.nbytes, 7 * 4)


def test_the_tool(tmp_path: Path) -> None:
    file = tmp_path / "f.mlir"
    file.write_text(STATIC)
    result = mind_run(str(file), "--all", "random:0", "--memory")
    assert LINE.fullmatch(result.out.splitlines()[-1])
    assert "memory" not in mind_run(str(file), "--all", "random:0").out
