"""Random programs on shapes: interpreted, evaluated by the lattice, lowered and interpreted, lowered and run by a real MLIR."""

from __future__ import annotations

import random
import re
import subprocess
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter

import mind_runtime
from mind_dialect.errors import MindError
from mind_dialect.shape.dataflow import Dataflow
from mind_dialect.shape.evaluate import EVALUATE, Shaped
from mind_dialect.shape.lattice import Invalid
from mind_lowering.shape_arith.functions import RESULTS_ATTRIBUTE, decoded
from mind_lowering.shape_to_arith import lower
from mlir_execution import PIPELINE, Runner, text_of
from programs import parse
from shape_programs import I1, Program, program

PROGRAMS = st.builds(
    lambda seed, effects, ops: program(random.Random(seed), effects=effects, ops=ops),
    st.integers(0, 2**32),
    st.booleans(),
    st.integers(4, 16),
)


def read(text: str) -> ModuleOp:
    module = parse(text)
    module.verify()
    return module


def call(module: ModuleOp, arguments: list[Any]) -> tuple[Any, ...]:
    interpreter = Interpreter(module)
    mind_runtime.register_implementations(interpreter)
    return interpreter.call_op("f", tuple(arguments))


def plain(value: Any, type: str) -> Any:
    """A result that can be compared: None for what is invalid, tuples for lists."""
    if isinstance(value, Invalid) or value is None:
        return None
    if type == I1:
        return bool(value)
    return tuple(value.tolist()) if isinstance(value, np.ndarray) else value


def interpreted(p: Program) -> list[Any] | str:
    """The results, or the code of the error."""
    try:
        return [plain(v, t) for v, t in zip(call(read(p.text), p.arguments), p.results, strict=True)]
    except MindError as e:
        return e.code


def lowered(p: Program) -> ModuleOp | None:
    """The lowered program; None if it always fails, which is refused."""
    module = read(p.text)
    try:
        lower(module)
    except MindError as e:
        if e.code != "E9014" or "it is invalid" not in e.message:
            raise
        return None
    module.verify()
    assert not any(op.name.startswith("shape.") for op in module.walk())
    return module


def layout(module: ModuleOp, p: Program) -> list[str]:
    stated = next(iter(module.ops)).attributes.get(RESULTS_ATTRIBUTE)
    return ["value"] * len(p.results) if stated is None else [part.data for part in stated.data]


@given(PROGRAMS)
@settings(max_examples=60)
def test_the_lowered_program_gives_what_the_interpreted_one_gives(p: Program):
    module = lowered(p)
    wanted = interpreted(p)
    if module is None:
        assert wanted == "E9020" or None in wanted, p.text
        return
    try:
        results = decoded(layout(module, p), call(module, p.arguments))
        found = [plain(v, t) for v, t in zip(results, p.results, strict=True)]
    except MindError as e:
        found = e.code
    assert found == wanted, f"{p.text}\n{p.arguments}\n{module}"


def evaluated(p: Program) -> tuple[list[Any], bool]:
    """What the lattice has for the results, the arguments being known, and whether it finds a fault."""
    func = next(iter(read(p.text).ops))
    assert isinstance(func, FuncOp)
    flow = Dataflow()
    for argument, given_value in zip(func.body.block.args, p.arguments, strict=True):
        if isinstance(given_value, np.ndarray):
            integers = given_value.dtype.kind == "i"
            known = (given_value.shape, tuple(given_value.tolist())) if integers else (given_value.shape,)
            flow.assume(argument, Shaped(*known))
        else:
            flow.assume(argument, given_value)
    flow.run(func.body)
    last = func.body.block.last_op
    values = [flow.of(v) for v in last.operands]
    contents = [v.contents if isinstance(v, Shaped) else v for v in values]
    return [plain(v, t) for v, t in zip(contents, p.results, strict=True)], bool(flow.faults)


@given(PROGRAMS)
@settings(max_examples=60)
def test_the_lattice_knows_what_the_interpreter_finds(p: Program):
    wanted = interpreted(p)
    found, faults = evaluated(p)
    if isinstance(wanted, str):
        assert wanted == "E9020"
        assert faults, p.text
        return
    for mine, theirs, type in zip(wanted, found, p.results, strict=True):
        if type == I1 and theirs is None:  # of invalid shapes the lattice says nothing, at run time their truth is a value
            continue
        assert mine == theirs, f"{p.text}\n{p.arguments}"


def test_every_op_is_met():
    met = set().union(*(program(random.Random(seed), prints=True).ops for seed in range(300)))
    assert {op.name for op in EVALUATE} - met == set()
    assert {"shape.reduce", "shape.assuming"} <= met


# A real MLIR


def _argument(i: int, j: int, value: Any, type: str) -> tuple[list[str], str]:
    name = f"%a{i}_{j}"
    if not isinstance(value, np.ndarray):
        return [f"{name} = arith.constant {value} : index"], name
    if value.dtype.kind == "i":
        made = f"arith.constant dense<{value.tolist()}>" if value.size else "arith.constant dense<>"
        return [f"{name} = {made} : {type}"], name
    static = f"tensor<{''.join(f'{n}x' for n in value.shape)}f32>"
    return [f"{name}s = tensor.empty() : {static}", f"{name} = tensor.cast {name}s : {static} to {type}"], name


def driver(cases: list[tuple[Program, ModuleOp]]) -> str:
    """One module that calls every lowered program and prints its results, a line each."""
    functions, body = list[str](), list[str]()
    for i, (p, module) in enumerate(cases):
        func = next(iter(module.ops))
        func.sym_name = type(func.sym_name)(f"f{i}")
        functions.append(text_of(module).split("({", 1)[1].rsplit("})", 1)[0])
        operands = list[str]()
        types = [str(t) for t in func.function_type.inputs.data]
        for j, (value, kind) in enumerate(zip(p.arguments, types, strict=True)):
            lines, name = _argument(i, j, value, kind)
            body += lines
            operands.append(name)
        results = [str(t) for t in func.function_type.outputs.data]
        names = f"%r{i}:{len(results)} = " if results else ""
        body.append(f"{names}func.call @f{i}({', '.join(operands)}) : ({', '.join(types)}) -> ({', '.join(results)})")
        for k, kind in enumerate(results):
            cast = "arith.extui" if kind == "i1" else "arith.index_cast"
            body += [f"%p{i}_{k} = {cast} %r{i}#{k} : {kind} to i64", f"vector.print %p{i}_{k} : i64"]
        body.append(f"%m{i} = arith.constant {-7777} : i64")
        body.append(f"vector.print %m{i} : i64")
    main = "\n  ".join(body)
    return "\n".join([*functions, f"func.func @run_all() {{\n  {main}\n  return\n}}"])


def test_a_real_mlir_computes_the_same(mlir_opt: str):
    runner = Runner.beside(mlir_opt)
    if runner is None:
        pytest.skip("no mlir-runner beside mlir-opt")
    cases, wanted = list[tuple[Program, ModuleOp]](), list[list[Any]]()
    for seed in range(80):
        p = program(random.Random(seed), effects=False)
        module = lowered(p)
        if module is not None:
            results = interpreted(p)
            assert not isinstance(results, str)
            cases.append((p, module))
            wanted.append(results)
    assert len(cases) >= 60
    layouts = [layout(module, p) for p, module in cases]
    pipeline = ("--convert-vector-to-llvm", *PIPELINE, "--reconcile-unrealized-casts")
    text = driver(cases)
    done = subprocess.run([mlir_opt, *pipeline], input=text, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    libraries = ",".join(map(str, runner.libraries))
    command = [runner.runner, "-e", "run_all", "--entry-point-result=void", f"--shared-libs={libraries}"]
    ran = subprocess.run(command, input=done.stdout, text=True, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr[:4000]
    numbers = [int(n) for n in re.findall(r"^-?\d+$", ran.stdout, re.MULTILINE)]
    found = list[list[Any]]()
    for shown, (p, _) in zip(layouts, cases, strict=True):
        end = numbers.index(-7777)
        values = decoded(shown, numbers[:end])
        found.append([plain(v, t) for v, t in zip(values, p.results, strict=True)])
        numbers = numbers[end + 1 :]
    for mine, theirs, (p, _) in zip(wanted, found, cases, strict=True):
        assert mine == theirs, p.text
