"""mind-opt: diagnostics with place and code, exit status, what it keeps of xdsl-opt, help that teaches."""

from __future__ import annotations

import dataclasses
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.ir import Attribute
from xdsl.universe import Universe

from mind_dialect.error_cures import CURES
from mind_tools.flags import PASS_ALIASES, TARGET_ALIASES
from mind_tools.mind_opt import MAX_ERRORS
from mind_tools.pass_help import summary
from mind_tools.universe import PASSES, TARGETS
from programs import parse
from tool_runs import mind_opt

GOOD = """\
func.func @loss(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> tensor<f32> {
  %0 = mind.mul %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = mind.sum %0 axes = [] keepdims = false : tensor<2x3xf32> -> tensor<f32>
  func.return %1 : tensor<f32>
}
"""
BAD_SHAPE = GOOD.replace("tensor<3xf32>", "tensor<4xf32>").replace("axes = []", "axes = [5]")
DIV = GOOD.replace("mind.mul", "mind.div")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A file with a program that verifies."""
    path = tmp_path / "good.mlir"
    path.write_text(GOOD)
    return path


def test_stdin_to_stdout(good: Path) -> None:
    from_file, from_stdin = mind_opt(good), mind_opt(stdin=GOOD)
    assert from_file == from_stdin
    assert (from_file.status, from_file.err) == (0, "")
    assert parse(from_file.out).is_structurally_equivalent(parse(GOOD))


def test_a_diagnostic_shows_code_place_line_and_caret(tmp_path: Path) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(BAD_SHAPE)
    result = mind_opt(path)
    assert (result.status, result.out) == (1, "")
    assert result.err == (
        "error[E3001]: Mul %0: cannot broadcast [2, 3] with [4]: 3 and 4 at dimension 1, expected equal or 1\n"
        f" --> {path}:2:8\n"
        "  |\n"
        "2 |   %0 = mind.mul %x, %w : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>\n"
        "  |        ^^^^^^^^\n"
        "  = note: ShapeError; mind-opt --explain E3001, error-codes.md#e3001\n"
    )


@pytest.mark.parametrize("op", ["shape.assuming %w -> () {", '"shape.assuming"(%w) ({'])
def test_an_operand_is_not_what_the_regions_of_its_op_define(op: str) -> None:
    end = "}" if "->" in op else "}) : (!shape.witness) -> ()"
    result = mind_opt(stdin=f"{op}\n  func.func @f(%w: !shape.witness) {{\n    func.return\n  }}\n{end}\n")
    assert result.status == 1
    assert result.err.startswith("error[E4001]: %w is used")
    assert " --> stdin:1:" in result.err


def test_a_parse_error_points_at_the_culprit() -> None:
    result = mind_opt(stdin=GOOD.replace("%0 axes", "%7 axes"))
    assert result.status == 1
    assert result.err == (
        "error[E4001]: %7 is used but not defined\n"
        " --> stdin:3:17\n"
        "  |\n"
        "3 |   %1 = mind.sum %7 axes = [] keepdims = false : tensor<2x3xf32> -> tensor<f32>\n"
        "  |                 ^^\n"
        "  = note: VerificationError; mind-opt --explain E4001, error-codes.md#e4001\n"
    )


def test_a_long_line_is_cut_around_the_caret() -> None:
    text = '"test.op"() {' + ", ".join(f"a{i} = 1" for i in range(1000)) + ", b = ?, c = 2} : () -> ()"
    result = mind_opt(stdin=text)
    _, place, _, line, caret, _ = result.err.splitlines()
    assert place == f" --> stdin:1:{text.index('?') + 1}"
    assert len(line) < 200
    assert line.startswith("1 | ...")
    assert line[caret.index("^")] == "?"


def test_control_characters_of_the_input_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in mind_opt(stdin='"\x1b[31m"() : () -> ()').err
    assert "\x1b" not in mind_opt("-p", "\x1b[31m").err


def test_errors_of_every_chunk_count_lines_of_the_file() -> None:
    result = mind_opt("--split-input-file", stdin="// -----\n".join([GOOD, BAD_SHAPE, GOOD, GOOD.replace("%0 axes", "%7 axes")]))
    assert result.status == 1
    assert re.findall(r"--> stdin:(\d+:\d+)", result.err) == ["8:8", "21:17"]
    assert result.out.count("func.func @loss") == 2
    assert result.out.count("// -----\n") == 3


def test_not_utf8_in_a_chunk_gives_the_offset_in_the_file() -> None:
    result = mind_opt("--split-input-file", stdin=GOOD.encode() + b"// -----\n\xff")
    assert f"invalid UTF-8 at offset {len(GOOD) + 9}: [0xFF]" in result.err


def test_diagnostics_on_stdout_for_filecheck() -> None:
    text = "// -----\n".join([BAD_SHAPE, GOOD.replace("%0 axes", "%7 axes"), GOOD])
    result = mind_opt("--print-diagnostics", "--split-input-file", stdin=text)
    assert (result.status, result.err) == (0, "")
    assert re.findall(r"error\[(\w+)\]", result.out) == ["E3001", "E4001"]
    assert mind_opt("--parsing-diagnostics", "--split-input-file", stdin=text).status == 1
    assert mind_opt("--parsing-diagnostics", stdin=BAD_SHAPE).status == 1
    assert mind_opt("--print-diagnostics", stdin=BAD_SHAPE).out.startswith("error[E3001]")
    assert mind_opt("--parsing-diagnostics", stdin=GOOD.replace("%0 axes", "%7 axes")).out.startswith("error[E4001]")


def test_verify_all_reports_every_error() -> None:
    result = mind_opt("--verify-all", stdin=BAD_SHAPE)
    assert re.findall(r"error\[(\w+)\].*\n --> stdin:(\d+)", result.err) == [("E3001", "2"), ("E3004", "3")]
    assert result.status == 1
    assert mind_opt("--verify-all", "--print-diagnostics", stdin=BAD_SHAPE).out == result.err
    assert mind_opt("--verify-all", stdin=GOOD).status == 0


def test_verify_all_is_bounded() -> None:
    lines = "".join(f"  %{i} = mind.neg %x : tensor<2xf32> -> tensor<3xf32>\n" for i in range(MAX_ERRORS + 10))
    result = mind_opt("--verify-all", stdin=f"func.func @f(%x: tensor<2xf32>) {{\n{lines}  func.return\n}}")
    assert result.err.count("error[") == MAX_ERRORS


def test_strict_refuses_extensions() -> None:
    fill = "%0 = mind.constant fill 1.0 : tensor<2xf32>"
    assert mind_opt(stdin=fill).status == 0
    assert "error[E4000]" in mind_opt("--strict", stdin=fill).err
    assert "error[E4000]" in mind_opt("--strict", "--autodiff", stdin=GOOD).err


def test_verification_runs_between_passes_unless_disabled() -> None:
    """`div` is outside core-v1, which the verifier says before the pass can run."""
    before = Attribute.__post_init__
    assert "error[E6003]" in mind_opt("--cse", stdin=DIV).err
    result = mind_opt("--cse", "--disable-verify", stdin=DIV)
    assert (result.status, result.err) == (0, "")
    assert "mind.div" in result.out
    assert Attribute.__post_init__ is before


def test_ops_of_other_dialects_get_a_code() -> None:
    result = mind_opt(stdin='%0 = "arith.constant"() <{value = 1 : i32}> : () -> i64')
    assert re.match(r"error\[E4016\]: arith.constant:? does not verify", result.err)
    assert "--> stdin:1:6" in result.err


def test_the_printed_ir_does_not_show_places_unless_asked() -> None:
    assert "loc(" not in mind_opt(stdin=GOOD).out
    assert "loc(" not in mind_opt("--print-op-generic", stdin=GOOD).out
    shown = mind_opt("--print-debuginfo", stdin=GOOD).out
    assert 'loc("stdin":2:8)' in shown
    assert mind_opt("--print-debuginfo", stdin=shown).out == shown


def test_output_goes_to_a_file_only_if_all_went_well(good: Path) -> None:
    assert mind_opt(good, "-o", good, "--cse").status == 0
    assert parse(good.read_text()).is_structurally_equivalent(parse(GOOD))
    good.write_text(BAD_SHAPE)
    assert mind_opt(good, "-o", good).status == 1
    assert good.read_text() == BAD_SHAPE


USAGE = {
    "unknown pass": (["-p", "mind-autodif"], "E7003", "did you mean mind-autodiff"),
    "unknown target": (["-t", "numpi"], "E7003", "unknown target 'numpi'"),
    "a target of which nothing is near": (["-t", "cpu"], "E7003", "expected one of arm-asm, buffer-plan, core-ir, csl, cupy"),
    "unknown flag": (["--canonicalise"], "E7001", "did you mean --canonicalize"),
    "unknown short flag": (["--autodif"], "E7001", "did you mean --autodiff or --mind-autodiff?"),
    "unknown option of the tool": (["--print-between-pases"], "E7001", "did you mean --print-between-passes"),
    "option of mlir-opt": (["--load-pass-plugin=a.so"], "E7001", "here it is an entry point of the group xdsl.universe"),
    "option of mlir-opt without a value": (["--run-reproducer"], "E7001", "here it is the command line at the head of the file"),
    "pass to print after": (["--print-ir-after=cse,autodif"], "E7003", "unknown pass 'autodif'; did you mean autodiff"),
    "pass to print before": (["--mlir-print-ir-before=nope"], "E7003", "unknown pass 'nope'"),
    "unknown frontend": (["-f", "caffe"], "E7003", "unknown frontend 'caffe'"),
    "malformed pipeline": (["-p", "cse{a"], "E7001", "cannot read 'cse{a' at column 6"),
    "malformed pipeline 2": (["-p", "cse;dce"], "E7001", "cannot read"),
    "nested pipeline": (["--pass-pipeline=builtin.module(func.func(cse))"], "E7001", "there is no nesting here"),
    "malformed target": (["-t", "mlir{"], "E7001", "cannot read"),
    "unknown option of a pass": (["--autodiff=wrong=1"], "E7001", "its options are: function, wrt"),
    "misspelt option of a pass": (["--autodiff=keep-primals"], "E7001", "no option 'keep-primals', did you mean keep-primal?"),
    "unknown option of a target": (["-t", "numpy{x=1}"], "E7001", "target mind-numpy has no option 'x'; its options are: none"),
    "misspelt option of a target": (["-t", "cupy{tf23}"], "E7001", "did you mean tf32?"),
    "wrong kind of option of a target": (
        ["-t", "ptir-json{strict=1}"],
        "E7001",
        "target mind-ptir-json: strict=1, expected bool",
    ),
    "wrong kind of option": (["--autodiff=output=x wrt=w"], "E7001", "pass mind-autodiff: output=x, expected int\n"),
    "wrong word": (["--shape-modernize=unknown=no"], "E7001", "unknown=no, expected one of 'error', 'keep', 'dynamic'"),
    "two wrong values": (["--autodiff=output=x seed=1"], "E7001", "pass mind-autodiff: "),
    "wrong kind of option in -p": (["-p", "mind-autodiff{wrt}"], None, ""),
    "options of a pass without any": (["--cse=a=1"], "E7001", "its options are: none"),
    "two files": (["a.mlir", "b.mlir"], "E7001", "b.mlir"),
    "no value": (["-t"], "E7001", "needs a value"),
    "no value 2": (["-o"], "E7001", "needs a value"),
    "empty pass name": (["-p", ","], "E7001", "cannot read"),
    "missing file": (["no-such-file.mlir"], "E7002", "no-such-file.mlir: No such file or directory"),
    "folder": (["/"], "E7002", ""),
    "folder with suffix": (["{tmp}/d.mlir"], "E7002", "Is a directory"),
    "unreadable": (["{tmp}/secret.mlir"], "E7002", "Permission denied"),
    "unknown suffix": (["{tmp}/a.txt"], "E7002", "expected one of .mlir, .coreir"),
    "null byte": (["a\0b.mlir"], "E7002", ""),
    "unwritable output": (["{tmp}/a.mlir", "-o", "{tmp}/none/out.mlir"], "E7002", "No such file or directory"),
    "output is a folder": (["{tmp}/a.mlir", "-o", "{tmp}"], "E7002", "Is a directory"),
    "name too long": (["a" * 5000 + ".mlir"], "E7002", "File name too long"),
}


@pytest.mark.parametrize("name", USAGE)
def test_mistakes_of_usage_are_coded(name: str, tmp_path: Path) -> None:
    (tmp_path / "d.mlir").mkdir()
    (tmp_path / "a.txt").write_text(GOOD)
    (tmp_path / "a.mlir").write_text(GOOD)
    secret = tmp_path / "secret.mlir"
    secret.write_text(GOOD)
    secret.chmod(0)
    args, code, message = USAGE[name]
    if name == "unreadable" and secret.stat().st_mode & stat.S_IRUSR == 0:
        try:
            secret.read_text()
        except PermissionError:
            pass
        else:
            pytest.skip("this user may read every file")
    result = mind_opt(*(a.replace("{tmp}", str(tmp_path)) for a in args), stdin=GOOD)
    if code is None:
        assert result.status in (0, 1)
        return
    assert result.status == 1
    assert result.err.startswith(f"error[{code}]: ")
    assert message in result.err
    assert "Traceback" not in result.err


def test_an_exception_of_a_pass_is_a_diagnostic_naming_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("xdsl.transforms.common_subexpression_elimination.CommonSubexpressionElimination.apply", explode)
    result = mind_opt("--cse", stdin=GOOD)
    assert result.status == 1
    assert result.err.startswith("error[E7004]: pass cse: ZeroDivisionError: oops\n")
    assert "Traceback" in mind_opt("--cse", "--traceback", stdin=GOOD).err


@pytest.mark.parametrize(("raised", "status", "shown"), [(KeyboardInterrupt, 130, "interrupted"), (MemoryError, 1, "E6004")])
def test_interruption_and_exhaustion(
    raised: type[BaseException], status: int, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: object) -> None:
        raise raised

    monkeypatch.setattr("xdsl.transforms.common_subexpression_elimination.CommonSubexpressionElimination.apply", explode)
    result = mind_opt("--cse", stdin=GOOD)
    assert result.status == status
    assert shown in result.err


def test_shrink_keeps_its_exit_status() -> None:
    result = mind_opt("--shrink", stdin=GOOD)
    assert (result.status, result.out.splitlines()[-1]) == (1, "Failure, can't shrink")


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "big.mlir"
    path.write_text("".join(GOOD.replace("@loss", f"@loss{i}") for i in range(1000)))
    line = f"{sys.executable} -m mind_tools.mind_opt {path} | head -1"
    result = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout == "builtin.module {\n"
    assert result.stderr == ""


def test_as_programs(good: Path) -> None:
    for program in ("mind-opt", "mind-run"):
        result = subprocess.run(
            [Path(sys.executable).with_name(program), "--version"], capture_output=True, text=True, check=False
        )
        assert result.stdout.startswith(f"{program} "), result.stderr
    command = [Path(sys.executable).with_name("mind-opt"), good, "--autodiff"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert "@loss_grad" in result.stdout


def test_help_lists_every_pass_with_one_line_and_an_example_that_works() -> None:
    out = mind_opt("--help").out
    listed = re.findall(r"^  --([\w-]+).*: \S", out, re.MULTILINE)
    assert {*PASSES, "canonicalize"} <= set(listed)
    named = set(re.findall(r"--([\w-]+)(?:,|$)", out.partition("passes of xDSL and of other plug-ins;")[2], re.MULTILINE))
    assert named == Universe.get_multiverse().all_passes.keys() - PASSES.keys()
    assert len(out.splitlines()) < 260
    assert "no description" not in "\n".join(line for line in out.splitlines() if "--mind-" in line)
    assert all(f"  {name} " in out for name in TARGETS)
    assert all(f" (--{short}): " in out for short in PASS_ALIASES)
    assert all(f" (-t {short}): " in out for short in TARGET_ALIASES)
    assert max(len(line) for line in out.splitlines() if "--mind-" in line) < 160
    program = "".join(line[2:] + "\n" for line in out.partition("$ cat loss.mlir\n")[2].partition("  $")[0].splitlines())
    commands = re.findall(r"\$ mind-opt loss.mlir (.*)", out)
    assert len(commands) == 3
    for command in commands:
        result = mind_opt(*shlex.split(command), stdin=program)
        assert (result.status, result.err) == (0, ""), command


def test_our_passes_and_targets_describe_themselves_and_each_option() -> None:
    for described in (f() for f in (*PASSES.values(), *TARGETS.values())):
        assert summary(described) != "(no description)"
        assert len(summary(described)) < 130
        for option in (f.name.replace("_", "-") for f in dataclasses.fields(described)):
            assert re.search(rf"`{option}[=`]", described.__doc__ or ""), f"{described.name} does not say what {option} is"


def test_help_of_one_pass_or_target_says_everything() -> None:
    shown = mind_opt("--autodiff", "--help")
    assert (shown.status, shown.err) == (0, "")
    assert shown.out.startswith("--mind-autodiff\n\nAdd the reverse-mode gradient")
    assert "`wrt=x,1` names inputs" in shown.out
    assert shown.out.endswith("  div-gradient=false\n  checkpoint\n  max-iterations\n")
    assert mind_opt("--help", "-t", "cupy", "-p", "cse,canonicalize").out.count("options, with their defaults:") == 3
    assert mind_opt("--help", "-t", "nonsense").out.startswith("usage: mind-opt")


def test_a_bare_boolean_in_the_braces_of_a_target() -> None:
    text = "%0 = ptir.iota shape = [2] dtype = f32 axis = 0 : tensor<2xf32>\n%1 = ptir.sqrt %0 : tensor<2xf32>"
    program = f"func.func @f() -> tensor<2xf32> {{\n{text}\nfunc.return %1 : tensor<2xf32>\n}}"
    assert mind_opt("--lenient", "-t", "ptir-json", stdin=program).status == 0
    assert "error[E4000]" in mind_opt("--lenient", "-t", "ptir-json{strict}", stdin=program).err


def test_an_error_is_explained_by_its_code() -> None:
    found = mind_opt("--explain", "e3001")
    assert (found.status, found.err) == (0, "")
    assert found.out.splitlines()[0] == "E3001: shapes do not broadcast (ShapeError)"
    assert CURES["E3001"] in found.out
    assert "error-codes.md#e3001" in found.out
    unknown = mind_opt("--explain", "E3999")
    assert unknown.status == 1
    assert "error[E7003]: unknown error code 'E3999'; did you mean E" in unknown.err
