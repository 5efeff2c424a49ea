"""mind-run: arguments in every spelling, results on the terminal and in files, mistakes with codes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mind_runtime
from mind_dialect.errors import MindError
from mind_dialect.types import F32, F64, I32, I64
from mind_runtime import TensorSpec
from mind_tools.inputs import MAX_BYTES, read_input
from tool_runs import mind_opt, mind_run

LOSS = """\
func.func @loss(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> tensor<f32> {
  %0 = mind.mul %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = mind.sum %0 axes = [] keepdims = false : tensor<2x3xf32> -> tensor<f32>
  func.return %1 : tensor<f32>
}
"""
NAMED = """\
func.func @f(%x: tensor<2xi64>, %y: tensor<f64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<f64>) {
  %doubled = mind.add %x, %x : tensor<2xi64>
  %0 = mind.neg %x : tensor<2xi64>
  %up.x = mind.exp %y : tensor<f64>
  func.return %doubled, %0, %up.x : tensor<2xi64>, tensor<2xi64>, tensor<f64>
}
"""
X, W = [[1, 2, 3], [4, 5, 6]], [0.5, 1.5, -1.0]


def test_results_are_printed_with_names_and_types() -> None:
    assert mind_run("-", "x=[1, -2]", "y=0", stdin=NAMED).out == (
        "doubled: i64[2] = [ 2, -4]\nout1: i64[2] = [-1,  2]\nup.x: f64[] = 1.\n"
    )


def test_literals_files_and_stdin_agree(tmp_path: Path) -> None:
    expected = f"out0: f32[] = {(np.array(X) * np.array(W)).sum():.0f}.\n"
    program = tmp_path / "loss.mlir"
    program.write_text(LOSS)
    np.save(tmp_path / "x.npy", np.array(X, "f4"))
    np.save(tmp_path / "w.npy", np.asfortranarray(np.array(W, ">f4")))
    assert mind_run(program, f"x={X}", f"w={W}").out == expected
    assert mind_run(program, f"x={tmp_path}/x.npy", f"w={tmp_path}/w.npy").out == expected
    assert mind_run("-", f"x={X}", f"w={tmp_path}/w.npy", stdin=LOSS).out == expected
    text = mind_opt("-t", "core-ir", stdin=LOSS).out
    (tmp_path / "loss.coreir").write_text(text)
    assert mind_run(tmp_path / "loss.coreir", f"x={X}", f"w={W}").out == expected
    assert mind_run("-f", "core-ir", "-", f"x={X}", f"w={W}", stdin=text).out == expected


def test_gradients_are_named_after_their_inputs_and_saved(tmp_path: Path) -> None:
    gradient = mind_opt("--autodiff", stdin=LOSS).out
    folder = tmp_path / "deep" / "results"
    result = mind_run("-", "--function", "loss_grad", f"x={X}", f"w={W}", "--save", folder, stdin=gradient)
    assert (result.status, result.out, result.err) == (0, "", "")
    saved = {path.name: np.load(path) for path in folder.iterdir()}
    assert saved.keys() == {"out0.npy", "grad_x.npy", "grad_w.npy"}
    np.testing.assert_array_equal(saved["grad_x.npy"], np.array([W, W], "f4"))
    np.testing.assert_array_equal(saved["grad_w.npy"], np.array([5, 7, 9], "f4"))
    assert all(array.dtype == np.float32 for array in saved.values())


def test_gradients_by_values_within_are_named_after_them() -> None:
    text = """func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %n = mind.neg %x : tensor<f64>
  %h = mind.add %x, %n : tensor<f64>
  %l = mind.exp %h : tensor<f64>
  func.return %l : tensor<f64>
}"""
    for wrt, names in (("h,x", ["grad_x", "grad_h"]), ("h", ["grad_h"]), ("2", ["grad_l"])):
        gradient = mind_opt("--autodiff=keep-primal=false wrt=" + wrt, stdin=text).out
        shown = mind_run("-", "--function", "f_grad", "x=2", stdin=gradient).out
        assert [line.partition(":")[0] for line in shown.splitlines()] == names
    alone = gradient.replace("mind.grad_of = @f", "mind.grad_of = @other")
    assert mind_run("-", "--function", "f_grad", "x=2", stdin=alone).out.startswith("grad_2:")


def test_random_inputs_repeat_and_differ_by_place() -> None:
    text = NAMED.replace("tensor<2xi64>", "tensor<2xf64>").replace("%y: tensor<f64>", "%y: tensor<2xf64>")
    text = text.replace("tensor<f64>", "tensor<2xf64>")
    first, again, other = (mind_run("-", "--all", f"random:{seed}", stdin=text).out for seed in (0, 0, 1))
    assert first == again
    assert first != other
    x, y = read_input("random:3", TensorSpec("x", F64, (4,)), 0), read_input("random:3", TensorSpec("x", F64, (4,)), 1)
    assert not np.array_equal(x, y)
    assert read_input("random:3", TensorSpec("x", F32, (1000,)), 0).std() == pytest.approx(1, abs=0.1)
    assert set(read_input("random:3", TensorSpec("x", I32, (1000,)), 0).tolist()) == set(range(10))


def test_a_named_input_wins_over_all() -> None:
    assert mind_run("-", "--all", "random:0", "x=[3, 4]", "y=nan", stdin=NAMED).out.splitlines() == [
        "doubled: i64[2] = [6, 8]",
        "out1: i64[2] = [-3, -4]",
        "up.x: f64[] = nan",
    ]


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=4)))
def test_every_float_literal_reads_back(array: np.ndarray) -> None:
    """Independent oracle: Python's own spelling of nested lists."""
    text = str(array.tolist())
    read = read_input(text, TensorSpec("x", F64, array.shape), 0)
    np.testing.assert_array_equal(read, array)
    np.testing.assert_array_equal(np.signbit(read[~np.isnan(read)]), np.signbit(array[~np.isnan(array)]))
    assert (read.dtype, read.shape) == (array.dtype, array.shape)


@given(st.text(alphabet="[], 01.-e+naif_x", max_size=30))
def test_any_literal_is_read_or_refused_with_a_code(text: str) -> None:
    try:
        read = read_input(text, TensorSpec("x", F32, (2,)), 0)
    except MindError as e:
        assert e.code in ("E1005", "E1007", "E3010", "E4005")  # noqa: PT017
    else:
        assert (read.dtype, read.shape) == (np.float32, (2,))


LITERALS = {
    "": "E1007",
    "[": "E1007",
    "]": "E1007",
    "[1": "E1007",
    "[1]]": "E1007",
    "[1,]": "E1007",
    "[,1]": "E1007",
    "[1 2]": "E1007",
    "1 2": "E1007",
    "[1][2]": "E1007",
    "1,2": "E1007",
    "[[1],2]": "E3010",
    "[1,[2]]": "E3010",
    "[[1],[2,3]]": "E3010",
    "[[],[1]]": "E3010",
    "[]": "E3010",
    "[[[1]]]": "E3010",
    "1": "E3010",
    "[1, 2, 3]": "E3010",
    "[1, a]": "E1005",
    "[1, 1_0]": "E1005",
    "[1, ²]": "E1005",
    "[1, 0x10]": "E1005",
    f"[1, {'9' * 5000}]": "E1005",
    "[1, 1e39]": "E4005",
    "[1, 1e400]": "E4005",
    "[" * 10_000 + "1" + "]" * 10_000: "E3010",
}


@pytest.mark.parametrize("text", LITERALS, ids=lambda text: text[:20])
def test_literals_that_do_not_fit(text: str) -> None:
    with pytest.raises(MindError) as caught:
        read_input(text, TensorSpec("x", F32, (2,)), 0)
    assert caught.value.code == LITERALS[text]
    assert len(caught.value.message) < 1000


def test_integers_are_exact_and_never_cast() -> None:
    assert read_input("9223372036854775807", TensorSpec("x", I64, ()), 0) == 2**63 - 1
    for text in ("9223372036854775808", "1.0", "nan"):
        with pytest.raises(MindError, match="E4005"):
            read_input(text, TensorSpec("x", I64, ()), 0)


def test_what_would_not_fit_is_refused_before_allocation() -> None:
    for text in ("random:0", "1", "x.npy"):
        with pytest.raises(MindError, match="E6004"):
            read_input(text, TensorSpec("x", F32, (MAX_BYTES,)), 0)


def test_npy_files_that_do_not_fit(tmp_path: Path) -> None:
    good = np.zeros((2, 3), "f4")
    np.save(tmp_path / "good.npy", good)
    whole = (tmp_path / "good.npy").read_bytes()
    np.save(tmp_path / "f64.npy", good.astype("f8"))
    np.save(tmp_path / "shape.npy", good.T)
    np.save(tmp_path / "pickle.npy", np.array([{}, {}]), allow_pickle=True)
    (tmp_path / "short.npy").write_bytes(whole[:-1])
    (tmp_path / "cut.npy").write_bytes(whole[:40])
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "text.npy").write_text("not an array at all")
    (tmp_path / "future.npy").write_bytes(whole[:6] + b"\x09" + whole[7:])
    (tmp_path / "folder.npy").mkdir()
    codes = dict.fromkeys(("short", "cut", "empty", "text", "future", "folder", "none"), "E7002")
    codes |= dict.fromkeys(("f64", "shape", "pickle"), "E2001")
    for name, code in codes.items():
        with pytest.raises(MindError) as caught:
            read_input(str(tmp_path / f"{name}.npy"), TensorSpec("x", F32, (2, 3)), 0)
        assert caught.value.code == code, name
    np.testing.assert_array_equal(read_input(str(tmp_path / "good.npy"), TensorSpec("x", F32, (2, 3)), 0), good)


MISTAKES = {
    "no inputs": ([], "E2007", "missing: x, w"),
    "one input missing": (["x=[[1,2,3],[4,5,6]]"], "E2007", "missing: w"),
    "unknown input": (["y=1"], "E7003", "unknown input 'y'"),
    "close input": (["xx=1"], "E7003", "did you mean x"),
    "given twice": (["x=1", "x=2"], "E7001", "given twice"),
    "no name": (["1.0"], "E7001", "expected name=value; inputs: x: tensor<2x3xf32>"),
    "file without a name": (["in.npz"], "E7001", "--all in.npz takes each from there, by name"),
    "wrong shape": (["--all", "1.0"], "E3010", "input 'x': the literal has shape [], declared is [2, 3]"),
    "bad seed": (["--all", "random:-1"], "E7001", "the seed must be"),
    "no seed": (["--all", "random:"], "E7001", "the seed must be"),
    "missing file": (["--all", "none.npy"], "E7002", "none.npy: No such file"),
    "unknown function": (["--function", "los"], "E7003", "did you mean loss"),
    "unknown target": (["--target", "cuda", "--all", "random:0"], "E6002", "'cuda'"),
    "threads elsewhere": (["--threads", "2", "--all", "random:0"], "E7001", "threads 2 for the target 'numpy'"),
    "threads as an option": (["--target", "native{threads=2}", "--all", "fill:1"], "E7001", "by threads= or --threads"),
    "unknown option": (["--savee", "x"], "E7001", "did you mean --save"),
    "unknown frontend": (["-f", "caffe"], "E7003", "unknown frontend"),
    "unwritable folder": (["--all", "random:0", "--save", "/dev/null/x"], "E7002", "Not a directory"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_coded(name: str) -> None:
    args, code, message = MISTAKES[name]
    result = mind_run("-", *args, stdin=LOSS)
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith(f"error[{code}]: ")
    assert message in result.err


@pytest.mark.parametrize("number", ["0", "-1", "257", "two", "1.5", "", "٣", "9" * 99])
def test_a_number_of_threads_that_is_none(number: str) -> None:
    pytest.importorskip("llvmlite")
    result = mind_run("-", f"--threads={number}", "--target=native", "--all=random:0", stdin=LOSS)
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("error[E7001]: threads ")
    assert "expected an integer from 1 to 256" in result.err


def test_threads_are_those_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("MIND_NUM_THREADS", "2")
    compile, found = mind_runtime.compile, list[int]()

    def compiled(*args: Any, **options: Any) -> Any:
        program = compile(*args, **options)
        found.append(program.threads)
        return program

    monkeypatch.setattr(mind_runtime, "compile", compiled)
    for options in ([], ["--threads", "3"], ["--threads=1"]):
        assert mind_run("-", "--target", "native", "--all", "random:0", *options, stdin=LOSS).status == 0
    assert found == [2, 3, 1]


def test_which_program_and_which_function(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LOSS)
    assert "E7002" in mind_run(tmp_path / "a.txt").err
    assert "E7002" in mind_run(tmp_path / "none.mlir").err
    assert "E7002" in mind_run(tmp_path).err
    two = LOSS + LOSS.replace("@loss", "@second")
    assert "error[E7001]: the program has 2 functions (@loss, @second)" in mind_run(stdin=two).err
    assert mind_run("-", "--function", "@second", "--all", "random:0", stdin=two).status == 0
    assert "error[E7001]: the program has 0 functions" in mind_run(stdin='"test.op"() : () -> ()').err


PROGRAM = """module attributes {{ptir.spec_version = "ptir.v0.4"{entry}}} {{
  func.func @first(%x: tensor<f32>) -> tensor<f32> {{
    %r = ptir.neg %x : tensor<f32>
    func.return %r : tensor<f32>
  }}
  func.func @second(%x: tensor<f32>) -> tensor<f32> {{
    %a = func.call @first(%x) : (tensor<f32>) -> tensor<f32>
    %r = ptir.exp %a : tensor<f32>
    func.return %r : tensor<f32>
  }}
}}
"""


def test_the_entry_that_a_program_states_is_run() -> None:
    stated = PROGRAM.format(entry=", ptir.entry = @second")
    assert "= 1." in mind_run("-", "x=0", stdin=stated).out
    assert "= -2." in mind_run("-", "--function", "first", "x=2", stdin=stated).out
    unknown = mind_run("-", "x=0", stdin=PROGRAM.format(entry=", ptir.entry = @third"))
    assert (
        unknown.status,
        unknown.err.startswith("error[E2002]: ptir.entry is @third, expected one of ['first', 'second']"),
    ) == (1, True)
    assert "states no ptir.entry; say which with --function" in mind_run("-", "x=0", stdin=PROGRAM.format(entry="")).err


@pytest.mark.parametrize("entry", ["first", "main", "other"])
def test_the_entry_of_the_json_form_is_run(entry: str, tmp_path: Path) -> None:
    """Whatever it is called and wherever it stands; also after a way through text."""
    texts = [
        f"func.func @{name}(%x: tensor<f32>) -> tensor<f32> {{\n%r = ptir.{op} %x : tensor<f32>\nfunc.return %r : tensor<f32>\n}}"
        for name, op in (("first", "neg"), ("main", "exp"), ("other", "sign"))
    ]
    module = f'module attributes {{ptir.spec_version = "ptir.v0.4", ptir.entry = @{entry}}} {{' + "\n".join(texts) + "}"
    path = tmp_path / "program.json"
    path.write_text(mind_opt("-t", "ptir-json", stdin=module).out)
    expected = {"first": "= 1.5", "main": "= 0.22313015", "other": "= -1."}[entry]
    assert expected in mind_run(path, "arg0=-1.5").out
    assert expected in mind_run("-", "arg0=-1.5", stdin=mind_opt(path).out).out


def test_an_input_name_may_hold_what_separates_name_and_value() -> None:
    text = 'func.func @f(%0: tensor<f32> {mind.name = "a"}, %1: tensor<f32> {mind.name = "a=b"}) -> tensor<f32> {\n'
    text += "  %2 = mind.sub %0, %1 : tensor<f32>\n  func.return %2 : tensor<f32>\n}"
    for inputs in (("a=5", "a=b=3"), ("a=b=3", "a=5")):
        assert mind_run("-", *inputs, stdin=text).out == "out0: f32[] = 2.\n"


def test_run_time_errors_keep_their_place() -> None:
    text = "func.func @f(%x: tensor<3xf32>, %i: tensor<i64>) -> tensor<f32> {\n"
    text += "  %0 = mind.gather %x, %i : (tensor<3xf32>, tensor<i64>) -> tensor<f32>\n  func.return %0 : tensor<f32>\n}"
    result = mind_run("-", "x=[1, 2, 3]", "i=3", stdin=text)
    assert result.err.startswith("error[E6001]: ")
    assert "--> stdin:2:8" in result.err
    assert mind_run("-", "x=[1, 2, 3]", "i=2", stdin=text).out == "out0: f32[] = 3.\n"


def test_a_function_of_other_ops_is_refused_with_a_code() -> None:
    text = "func.func @f(%x: i32) -> i32 {\n  %0 = arith.addi %x, %x : i32\n  func.return %0 : i32\n}"
    result = mind_run("-", "x=1", stdin=text)
    assert result.status == 1
    assert re.match(r"error\[E[24]\d{3}\]", result.err), result.err


def test_the_examples_of_help_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loss.mlir").write_text(LOSS)
    np.save("w.npy", np.array([1, 1, 0.5], "f4"))
    out = mind_run("--help").out
    commands = re.findall(r"\$ mind-run (.*)", out)
    assert len(commands) == 2
    first, second = (mind_run(*shlex.split(command)) for command in commands)
    assert (first.out, first.status) == ("out0: f32[] = 16.5\n", 0)
    assert (second.out, second.status) == ("", 0)
    assert (tmp_path / "results" / "out0.npy").exists()
    assert first.out.strip() in out


DTYPES = """
func.func @f(%a: tensor<2xbf16>, %b: tensor<2xsi4>, %c: tensor<2xcomplex<f32>>, %d: tensor<2xi1>, %e: tensor<?xui8, "N">)
    -> (tensor<2xbf16>, tensor<2xsi4>, tensor<2xcomplex<f32>>, tensor<2xi1>, tensor<?xui8, "N">) {
  %v = ptir.add %a, %a : tensor<2xbf16>
  %w = ptir.add %b, %b : tensor<2xsi4>
  %x = ptir.mul %c, %c : tensor<2xcomplex<f32>>
  %y = ptir.not %d : tensor<2xi1>
  %z = ptir.add %e, %e : tensor<?xui8, "N">
  func.return %v, %w, %x, %y, %z : tensor<2xbf16>, tensor<2xsi4>, tensor<2xcomplex<f32>>, tensor<2xi1>, tensor<?xui8, "N">
}
"""
GIVEN = ("a=[1.5, nan]", "b=[7, -8]", "c=[1j, 2]", "d=[true, false]", "e=[200, 1, 2]")


def test_ptir_inputs_of_every_kind() -> None:
    result = mind_run("--lenient", "-", *GIVEN, stdin=DTYPES)
    assert (result.status, result.err) == (0, "")
    lines = result.out.splitlines()
    assert [line.split(": ", 1)[1].split(" = ")[1] for line in lines] == [
        "[3, nan]",
        "[-2, 0]",
        "[-1.+0.j,  4.+0.j]",
        "[False,  True]",
        "[144,   2,   4]",
    ]


def test_ptir_results_saved_are_read_again(tmp_path) -> None:
    assert mind_run("--lenient", "-", *GIVEN, "--save", str(tmp_path), stdin=DTYPES).status == 0
    files = [f"{name}={tmp_path / result}.npy" for name, result in zip("abcde", "vwxyz", strict=True)]
    result = mind_run("--lenient", "-", *files, stdin=DTYPES)
    assert (result.status, result.err) == (0, "")
    assert "[6, nan]" in result.out


@pytest.mark.parametrize(
    ("given", "code"),
    [("b=[8, 0]", "E4005"), ("d=[2, 0]", "E4005"), ("a=[1, 2, 3]", "E3010"), ("e=[[1]]", "E3010"), ("e=random:1", "E7001")],
)
def test_ptir_inputs_that_do_not_fit(given: str, code: str) -> None:
    rest = [g for g in GIVEN if g[0] != given[0]]
    result = mind_run("--lenient", "-", *rest, given, stdin=DTYPES)
    assert result.status == 1
    assert f"error[{code}]: input '{given[0]}'" in result.err
