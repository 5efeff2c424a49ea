"""Bad input of every kind the project names, through both tools: a coded error at a place, in bounded time and memory."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tool_runs import Result, mind_opt, mind_run

F = "func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
END = "\n  func.return %x : tensor<2x3xf32>\n}\n"


def body(line: str) -> str:
    return F + "  " + line + END


# name: (MLIR text or Core IR text, code)
MLIR = {
    "malformed text": (body("%0 = mind.add %x %x : tensor<2x3xf32>"), "E1007"),
    "missing bracket": (F, "E1007"),
    "wrong type": (body("%0 = mind.exp %i : i32"), "E4001"),
    "wrong dtype": ("func.func @f(%x: tensor<2xi32>) {\n  %0 = mind.exp %x : tensor<2xi32>\n  func.return\n}", "E2005"),
    "not a tensor": ("func.func @f(%x: i32) {\n  %0 = mind.neg %x : i32\n  func.return\n}", "E2001"),
    "wrong shape": (body("%0 = mind.sum %x axes = [2] keepdims = false : tensor<2x3xf32> -> tensor<2x3xf32>"), "E3004"),
    "wrong result": (body("%0 = mind.neg %x : tensor<2x3xf32> -> tensor<3x2xf32>"), "E4015"),
    "dynamic extent": ("func.func @f(%x: tensor<?xf32>) {\n  %0 = mind.neg %x : tensor<?xf32>\n  func.return\n}", "E3006"),
    "duplicate id": (body("%x = mind.neg %x : tensor<2x3xf32>"), "E4002"),
    "undefined id": (body("%0 = mind.neg %y : tensor<2x3xf32>"), "E4001"),
    "use before definition": (
        body("%0 = mind.neg %1 : tensor<2x3xf32>\n  %1 = mind.neg %x : tensor<2x3xf32>"),
        "E4001",
    ),
    "unknown opcode": (body("%0 = mind.tanh %x : tensor<2x3xf32>"), "E4000"),
    "unknown attribute": (body("%0 = mind.neg %x {axis = 1} : tensor<2x3xf32>"), "E4000"),
    "unknown property": (body('%0 = "mind.neg"(%x) <{axis = 1}> : (tensor<2x3xf32>) -> tensor<2x3xf32>'), "E4000"),
    "unknown profile": ('module attributes {mind.profile = "core-v9"} {\n' + F + END + "}", "E4000"),
    "huge splat": (body("%0 = arith.constant dense<1.0> : tensor<9999999999xf32>"), "E4005"),
    "huge splat in hex": (body('%0 = arith.constant dense<"0x0000"> : tensor<9999999999xf16>'), "E4005"),
    "huge literal": (body("%0 = mind.constant [1.0] : tensor<9999999999xf32>"), "E3010"),
    "huge literal in hex": (body('%0 = mind.constant "0x00000000" : tensor<9999999999xf32>'), "E4005"),
    "5,000 digits": (body(f"%0 = mind.const_i64 {'9' * 5000} : tensor<i64>"), "E1005"),
    "5,000 digits in a shape": (body(f"%0 = mind.neg %x : tensor<{'9' * 5000}xf32>"), "E1005"),
    "5,000 digits in axes": (body(f"%0 = mind.sum %x axes = [{'9' * 5000}] keepdims = true : tensor<2x3xf32>"), "E1005"),
    "500 digits in axes": (body(f"%0 = mind.sum %x axes = [{'9' * 500}] keepdims = true : tensor<2x3xf32>"), "E4000"),
    "500 digits in a shape": (body(f"%0 = mind.neg %x : tensor<2x3xf32> -> tensor<{'9' * 500}xf32>"), "E3006"),
    "1e400": (body("%0 = mind.const_f64 1.0e400 : tensor<f64>"), "E4005"),
    "1e39 in f32": (body("%0 = mind.const_f32 1.0e39 : tensor<f32>"), "E4005"),
    "3.5 in i32": (body("%0 = mind.constant [3.5] : tensor<1xi32>"), "E4005"),
    "2^40 in i32": (body(f"%0 = mind.constant [{2**40}] : tensor<1xi32>"), "E4005"),
    "deep brackets": (body(f"%0 = mind.constant {'[' * 10_000} : tensor<1xi32>"), "E1007"),
    "deep attribute": (f'"test.op"() {{a = {"[" * 10_000}}} : () -> ()', "E1007"),
    "deep regions": ('"test.op"() ({\n' * 10_000 + "}) : () -> ()\n" * 10_000, "E1007"),
    "not UTF-8": (F.encode() + b"  \xc3\x28", "E1001"),
    "UTF-16": (F.encode("utf-16"), "E1001"),
    "null bytes": (b"\0" * 100, "E1002"),
    "unterminated string": ('"test.op', "E1003"),
    "bad escape": ('"test\\q.op"() : () -> ()', "E1004"),
    "two names": (
        'func.func @f(%x: tensor<f32> {mind.name = "a"}, %y: tensor<f32> {mind.name = "a"}) {\n  %0 = mind.neg %x : tensor<f32>\n'
        "  func.return\n}",
        "E4004",
    ),
}
CORE_IR = {
    "malformed text": ("%0 = Input {name=x : tensor<f32[2]>", None),
    "unknown opcode": ("%0 = Tanh : tensor<f32[2]>", "E4000"),
    "undefined id": ("%0 = Neg (%7) : tensor<f32[2]>", "E4001"),
    "duplicate id": ("%0 = Input {name=x} : tensor<f32[2]>\n%0 = Input {name=y} : tensor<f32[2]>", "E4002"),
    "undefined output": ("%0 = Input {name=x} : tensor<f32[2]>\noutputs: %3", "E4003"),
    "wrong shape": ("%0 = Input {name=x} : tensor<f32[2]>\n%1 = Sum (%0) {axes=[1], keepdims=false} : tensor<f32[2]>", "E3004"),
    "5,000 digits": (f"%0 = ConstI64 {{value={'9' * 5000}}} : tensor<i64[]>", "E1005"),
    "deep brackets": (f"%0 = ConstTensor {{value={'[' * 10_000}", None),
    "huge literal": ("%0 = ConstTensor {dtype=f32, shape=[9999999999], value=[1.0]} : tensor<f32[9999999999]>", None),
    "not UTF-8": (b"%0 = Input {name=\xff} : tensor<f32[2]>", "E1001"),
    "unterminated string": ('%0 = Input {name="x', None),
}


def check(result: Result, code: str | None) -> None:
    assert result.status == 1, result
    assert "Traceback" not in result.err
    found = re.match(r"error\[(E\d+)\]: \S", result.err)
    assert found is not None, result.err
    assert found[1] not in ("E7004", "E7001")
    assert code in (None, found[1]), result.err
    assert re.search(r"\n +--> stdin:\d+:\d+\n", result.err), result.err
    assert "^" in result.err
    assert len(result.err) < 10_000


@pytest.mark.parametrize("tool", [mind_opt, mind_run])
@pytest.mark.parametrize("name", MLIR)
def test_mlir(name: str, tool) -> None:
    text, code = MLIR[name]
    check(tool(stdin=text), code)


@pytest.mark.parametrize("tool", [mind_opt, mind_run])
@pytest.mark.parametrize("name", CORE_IR)
def test_core_ir(name: str, tool) -> None:
    text, code = CORE_IR[name]
    check(tool("-f", "core-ir", stdin=text), code)


MEMORY = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from mind_tools.mind_opt import main
main([])
"""


@pytest.mark.parametrize("name", ["huge splat", "huge splat in hex", "huge literal", "huge literal in hex", "deep attribute"])
def test_memory_stays_bounded(name: str) -> None:
    text, code = MLIR[name]
    result = subprocess.run([sys.executable, "-c", MEMORY], input=text, capture_output=True, text=True, timeout=60, check=False)
    check(Result(result.returncode, result.stdout, result.stderr), code)


def test_large_but_sane_literals_are_read() -> None:
    text = body("%0 = mind.constant fill 1.0 : tensor<10000x10000xf32>\n  %1 = arith.constant dense<0.0> : tensor<1000x1000xf32>")
    assert mind_opt(stdin=text).status == 0


HOSTILE = [
    'x"y',
    "x'y",
    "x\ny",
    "__import__('os').system('x')",
    "x):\n  pass\ndef f(",
    "\\",
    "class",
    "",
    " ",
    "é",
    "x y",
    "1x",
    "#",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_never_reach_generated_python_unescaped(name: str, tmp_path: Path) -> None:
    """The text that the target prints still parses, and defines functions only."""
    import ast

    quoted = "".join(f"\\{b:02X}" if not chr(b).isalnum() or b > 127 else chr(b) for b in name.encode())
    text = f'func.func @"{quoted}"(%x: tensor<f32> {{mind.name = "{quoted}"}}) -> tensor<f32> {{\n'
    text += "  %0 = mind.neg %x : tensor<f32>\n  func.return %0 : tensor<f32>\n}"
    result = mind_opt("-t", "numpy", stdin=text)
    if not name or not name.isascii():
        assert result.status in (0, 1), result.err
        assert "E7004" not in result.err
    else:
        assert (result.status, result.err) == (0, "")
    if result.status == 0:
        kinds = {type(node).__name__ for node in ast.parse(result.out).body}
        assert kinds <= {"Import", "ImportFrom", "Assign", "FunctionDef", "Expr"}
        assert "os" not in {a.name for n in ast.walk(ast.parse(result.out)) if isinstance(n, ast.Import) for a in n.names}
    ran = mind_run("-", f"{name}=2.0", stdin=text)
    assert ran.status == 0 or "E7004" not in ran.err
    if name and name.isascii():
        assert (ran.status, ran.out) == (0, "out0: f32[] = -2.\n")
        saved = mind_run("-", f"{name}=2.0", "--save", tmp_path, stdin=text)
        assert saved.status == 0
        assert [p.name for p in tmp_path.iterdir()] == ["out0.npy"]
