"""What a run shows on stderr while it goes on, what it leaves when it fails, and other habits of mlir-opt."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import mind_dialect
from mind_dialect.mlir_parser import MindParser
from mind_dialect.verify import verify
from mind_tools import roundtrip
from mind_tools.frontends import parse
from mind_tools.roundtrip import check_roundtrip
from mind_tools.universe import tool_dialects
from tool_runs import mind_opt

PROGRAM = """\
func.func @f(%x: tensor<2xf32>) -> tensor<f32> {
  %0 = mind.exp %x : tensor<2xf32>
  %1 = mind.exp %x : tensor<2xf32>
  %2 = mind.add %0, %1 : tensor<2xf32>
  %3 = mind.sum %2 axes = [] keepdims = false : tensor<2xf32> -> tensor<f32>
  func.return %3 : tensor<f32>
}
"""
PASSES = ("--dce", "--cse", "--autodiff")
SHOWN = {
    "--print-ir-after-all": ["After dce", "After cse", "After mind-autodiff"],
    "--print-ir-before-all": ["Before dce", "Before cse", "Before mind-autodiff"],
    "--print-ir-after-change": ["After cse", "After mind-autodiff"],
    "--print-ir-after=cse": ["After cse"],
    "--print-ir-after=autodiff,dce": ["After dce", "After mind-autodiff"],
    "--print-ir-before=mind-autodiff": ["Before mind-autodiff"],
    "--print-between-passes": ["After dce", "After cse"],
    "--print-ir-after-failure": [],
}
TITLE = re.compile(r"// -----// IR Dump (.*) //----- //\n")


@pytest.mark.parametrize("option", SHOWN)
@pytest.mark.parametrize("prefix", ["--", "--mlir-"])
def test_the_ir_around_passes_is_on_stderr(option: str, prefix: str) -> None:
    if option == "--print-between-passes" and prefix == "--mlir-":
        pytest.skip("xDSL's own option")
    plain = mind_opt(*PASSES, stdin=PROGRAM)
    result = mind_opt(*PASSES, option.replace("--", prefix, 1), stdin=PROGRAM)
    assert (result.status, result.out) == (0, plain.out)
    assert TITLE.findall(result.err) == SHOWN[option]
    for text in TITLE.split(result.err)[2::2]:
        assert parse(text)


def test_what_is_printed_is_the_ir_at_that_point() -> None:
    texts = TITLE.split(mind_opt(*PASSES, "--print-ir-after-all", stdin=PROGRAM).err)[2::2]
    assert [text.count("mind.exp") for text in texts] == [2, 1, 2]
    generic = mind_opt(*PASSES, "--print-ir-after=cse", "--print-op-generic", "--print-debuginfo", stdin=PROGRAM).err
    assert '"mind.exp"(%x)' in generic
    assert 'loc("stdin":2:8)' in generic


@pytest.mark.parametrize("flag", ["--lower-to-native=isa=avx2", "--fuse-for-cupy"])
def test_the_stages_of_a_pass_are_followed(flag: str) -> None:
    plain = mind_opt(flag, stdin=PROGRAM)
    result = mind_opt(flag, "--print-ir-after-all", "--time-passes", stdin=PROGRAM)
    assert (result.status, result.out) == (0, plain.out)
    titles, texts = TITLE.findall(result.err), TITLE.split(result.err)[2::2]
    assert titles[0] == "After mind-convert-to-ptir"
    assert titles[-2:] == ["After mind-forget-origins", f"After mind-{flag[2:].partition('=')[0]}"]
    assert [f"After {name}" for name in re.findall(r"Pass (\S+) took", result.err)] == titles
    for text in texts:
        verify(parse(text.partition("Pass mind-")[0]))


def test_a_failed_pass_and_the_verifier() -> None:
    text = (
        PROGRAM.replace("tensor<f32>", "tensor<2xf32>")
        .replace("mind.sum %2 axes = [] keepdims = false", "mind.neg %2")
        .replace("tensor<2xf32> -> tensor<2xf32>\n", "tensor<2xf32>\n")
    )
    result = mind_opt("--cse", "--autodiff", "--print-ir-after-failure", stdin=text)
    assert result.status == 1
    assert TITLE.findall(result.err) == ["After mind-autodiff Failed"]
    assert "error[E5004]" in result.err
    assert TITLE.findall(mind_opt("--autodiff", "--print-ir-after-failure", stdin="]").err) == []


def test_times_are_on_stderr() -> None:
    for option in ("--time-passes", "--mlir-timing"):
        result = mind_opt(*PASSES, option, stdin=PROGRAM)
        assert result.out == mind_opt(*PASSES, stdin=PROGRAM).out
        assert re.findall(r"^Pass (\S+) took [0-9.e-]+ seconds$", result.err, re.MULTILINE) == ["dce", "cse", "mind-autodiff"]


def test_spellings_of_mlir_opt() -> None:
    for theirs, ours in {
        "--mlir-print-op-generic": "--print-op-generic",
        "--mlir-print-debuginfo": "--print-debuginfo",
        "--verify-each=false": "--disable-verify",
    }.items():
        assert mind_opt("--cse", theirs, stdin=PROGRAM) == mind_opt("--cse", ours, stdin=PROGRAM)
    for default in ("--verify-each", "--verify-each=true", "--mlir-disable-threading"):
        assert mind_opt("--cse", default, stdin=PROGRAM) == mind_opt("--cse", stdin=PROGRAM)
    assert mind_opt("--verify-each=maybe", stdin=PROGRAM).status == 1


def test_the_known_dialects_are_listed() -> None:
    result = mind_opt("--show-dialects")
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith("Available Dialects: ")
    names = result.out.removeprefix("Available Dialects: ").strip().split(",")
    assert names == sorted(tool_dialects())
    assert {"mind", "ptir", "shape", "func", "builtin"} <= set(names)


@pytest.mark.parametrize(
    "text", [PROGRAM, "", '%0 = "test.op"() {a = dense<(0x7FC00000, 1.0)> : tensor<1xcomplex<f32>>} : () -> i1']
)
def test_a_round_trip_that_gives_the_same(text: str) -> None:
    result = mind_opt("--verify-roundtrip", "--cse", stdin=text)
    assert result == mind_opt("--cse", stdin=text)
    assert result.status == 0


def parsed(text: str) -> tuple[ModuleOp, Context]:
    ctx = Context()
    for name, dialect in tool_dialects().items():
        ctx.register_dialect(name, dialect)
    return MindParser(ctx, text).parse_module(), ctx


CHANGES = {
    "an attribute": ("b = 1", "b = 2", "the text of test.op reads as something else"),
    "an attribute less": (" {b = 1 : i64}", "", "the text of test.op reads as something else"),
    "a type": ("tensor<2xf32>", "tensor<3xf32>", "reads as something else"),
    "an op": ('"test.op"', '"test.pureop"', "the text of test.op reads as something else"),
    "an operand": ("func.return %x", "func.return %y", "reads as something else"),
    "the name of an input": ('"the x"', '"the y"', "reads as something else"),
    "an SSA name of an input": ("%y", "%z", "the text of @f has other names of inputs"),
    "no text": ("func.func", "func.fun", "the text of the module cannot be read: "),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_round_trip_that_changes_the_module(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new, said = CHANGES[name]
    module, ctx = parsed("""func.func @f(%x: tensor<2xf32> {mind.name = "the x"}, %y: tensor<2xf32>) -> tensor<2xf32> {
  "test.op"() {b = 1} : () -> ()
  func.return %x : tensor<2xf32>
}""")
    check_roundtrip(module, ctx)
    monkeypatch.setattr(roundtrip, "_text", lambda module, *, generic: str(module).replace(old, new))
    with pytest.raises(mind_dialect.MindError, match=f"E7006: .*{said}"):
        check_roundtrip(module, ctx)


@pytest.mark.parametrize("spelling", ["--crash-reproducer=F", "--crash-reproducer F", "--mlir-pass-pipeline-crash-reproducer=F"])
def test_a_failure_of_a_pass_is_reproduced(spelling: str, tmp_path: Path) -> None:
    path, source = tmp_path / "r.mlir", tmp_path / "s.coreir"
    source.write_text('%0 = Input {name="the x"} : tensor<f32[2]>\n%1 = Neg (%0)\noutputs: %1\n')
    option = spelling.replace("F", str(path)).split(" ")
    result = mind_opt(source, *option, "--cse", "-p", "autodiff{wrt=q}", "-f", "core-ir", "--split-input-file")
    assert result.status == 1
    assert result.err.endswith(f"mind-opt: {path} has what reproduces this\n")
    first, second, *_ = path.read_text().splitlines()
    command = shlex.split(first.removeprefix("// "))
    assert command == ["mind-opt", str(path), "-p", 'cse,autodiff{wrt="q"}']
    assert second.startswith("// E7003: wrt=q names no value")
    again = mind_opt(*command[1:])
    assert again.status == 1
    assert again.err.splitlines()[0] == result.err.splitlines()[0]


def test_a_text_that_cannot_be_read_is_kept_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "r.mlir"
    text = PROGRAM.encode() + b"// -----\n%0 = \xff\n// -----\n]"
    assert mind_opt("--split-input-file", f"--crash-reproducer={path}", stdin=text).status == 1
    assert path.read_bytes() == b"\n%0 = \xff\n"


def test_nothing_is_kept_of_a_run_that_succeeds(tmp_path: Path) -> None:
    path = tmp_path / "r.mlir"
    assert mind_opt(f"--crash-reproducer={path}", "--cse", stdin=PROGRAM).status == 0
    assert not path.exists()
    result = mind_opt(f"--crash-reproducer={tmp_path}/no/r.mlir", stdin="]")
    assert "error[E7002]" in result.err


def test_options_in_braces_need_no_quotes() -> None:
    quoted = mind_opt("-p", 'cse,mind-autodiff{wrt="x",0 keep-primal=false}', stdin=PROGRAM)
    assert quoted.status == 0
    for plain in ("cse,autodiff{wrt=x,0 keep-primal=false}", "builtin.module(cse,autodiff{wrt=x,0 keep-primal=false})"):
        assert mind_opt("-p", plain, stdin=PROGRAM) == quoted
    assert mind_opt("-p", "autodiff{keep-primal}", stdin=PROGRAM) == mind_opt("--autodiff=keep-primal", stdin=PROGRAM)
    assert "error[E7001]" in mind_opt("-p", "autodiff{wrt=,}", stdin=PROGRAM).err


ROOTS = ("", "passes", "lowering", "runtime", "translate", "tools")


def test_the_tools_run_from_a_checkout_that_is_not_installed(tmp_path: Path) -> None:
    root = Path(mind_dialect.__file__).parents[1]
    script = tmp_path / "run.py"
    script.write_text(
        "import sys, importlib.metadata as m\n"
        "real, points = m.distribution, m.entry_points\n"
        "def distribution(name):\n"
        "    if name == 'mind-dialect': raise m.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "m.distribution = distribution\n"
        "m.entry_points = lambda **k: [e for e in points(**k) if e.name != 'mind']\n"
        f"sys.path[:0] = {[str(root / name) for name in ROOTS]!r}\n"
        "from mind_tools.__main__ import main\n"
        "main(sys.argv[1:])\n"
    )
    for tool in ("opt", "mind-opt"):
        command = [sys.executable, script, tool, "--autodiff", "-t", "core-ir"]
        result = subprocess.run(command, input=PROGRAM, capture_output=True, text=True, timeout=120, check=False)
        assert (result.returncode, result.stderr) == (0, "")
        assert "# @f_grad" in result.stdout
    command = [sys.executable, script, "run", "-", "x=[0, 0]"]
    result = subprocess.run(command, input=PROGRAM, capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, result.stdout) == (0, "out0: f32[] = 4.\n")


@pytest.mark.parametrize(("args", "status"), [((), 1), (("nope",), 1), (("--help",), 0)])
def test_the_module_says_what_it_runs(args: tuple[str, ...], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    from mind_tools.__main__ import main

    with pytest.raises(SystemExit) as caught:
        main(args)
    assert caught.value.code == status
    out, err = capsys.readouterr()
    assert "usage: python -m mind_tools {opt,run,check,view,lsp}" in (out if status == 0 else err)


def test_one_version() -> None:
    import importlib.metadata

    assert mind_dialect.__version__ == importlib.metadata.version("mind-dialect")
    assert mind_opt("--version").out.startswith(f"mind-opt {mind_dialect.__version__} on xdsl ")
