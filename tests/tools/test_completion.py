"""Completion of command lines, asked of the shells themselves."""

from __future__ import annotations

import contextlib
import io
import os
import select
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path

import pytest

from mind_tools.completion import SHELLS
from mind_tools.flags import PASS_ALIASES, TARGET_ALIASES
from mind_tools.mind_lsp import main as lsp
from tool_runs import Result, mind_check, mind_opt, mind_run, mind_view


def mind_lsp(*args: str) -> Result:
    """One run of the language server, which ends before it serves."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        lsp(args)
    return Result(0, out.getvalue(), "")


TOOLS = {"mind-opt": mind_opt, "mind-run": mind_run, "mind-check": mind_check, "mind-view": mind_view, "mind-lsp": mind_lsp}
SECONDS = 60


@cache
def script(tool: str, shell: str) -> str:
    """The script that a tool prints."""
    result = TOOLS[tool]("--completion", shell)
    assert (result.status, result.err) == (0, "")
    return result.out


def needs(shell: str) -> str:
    """The path of a shell; skips without it."""
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    return path


def in_bash(line: str, folder: Path) -> list[str]:
    """The words that bash offers at the end of a line."""
    tool = line.partition(" ")[0]
    (folder / "script").write_text(script(tool, "bash"))
    function = f"_{tool.replace('-', '_')}"
    asked = 'source ./script; COMP_LINE=$1 COMP_POINT=${#1}; $2; for word in "${COMPREPLY[@]}"; do echo "$word"; done'
    command = [needs("bash"), "--norc", "-c", asked, "-", line, function]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.split()


def in_fish(line: str, folder: Path) -> list[str]:
    """The words that fish offers at the end of a line."""
    tool = line.partition(" ")[0]
    (folder / "script").write_text(script(tool, "fish"))
    command = [needs("fish"), "--no-config", "-c", "source ./script; complete -C $argv[1]", line]
    home = os.environ | {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    result = subprocess.run(command, cwd=folder, env=home, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert result.returncode == 0, result.stderr
    return [word.partition("\t")[0] for word in result.stdout.splitlines()]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_script_is_read_by_its_shell(tool: str, shell: str, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(script(tool, shell))
    result = subprocess.run(
        [needs(shell), "-n", "script"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mind-opt --autod", ["--autodiff"]),
        ("mind-opt loss.mlir --print-ir-after-c", ["--print-ir-after-change"]),
        ("mind-opt loss.mlir --autodiff=fun", ["function="]),
        ("mind-opt -t ptir-j", ["ptir-json"]),
        ("mind-opt --target=ptir-j", ["ptir-json"]),
        ("mind-opt -p autodiff,ptir-cs", ["autodiff,ptir-cse"]),
        ("mind-opt -f ptir-t", ["ptir-text"]),
        ("mind-opt loss.mlir -o out", []),
        ("mind-opt los", []),
        ("mind-run loss.mlir --target nat", ["native"]),
        ("mind-run loss.mlir --mem", ["--memory", "--memory-plan"]),
        ("mind-check --ex", ["--executors"]),
        ("mind-check --completion ", ["bash", "zsh", "fish"]),
        ("mind-view loss.mlir --exe", ["--executor"]),
        ("mind-view loss.mlir --targ", []),
        ("mind-lsp --st", ["--stdio"]),
    ],
)
def test_bash_offers(line: str, expected: list[str], tmp_path: Path) -> None:
    assert in_bash(line, tmp_path) == expected


def test_bash_offers_every_pass_and_target(tmp_path: Path) -> None:
    assert {f"--{name}" for name in PASS_ALIASES} <= set(in_bash("mind-opt --", tmp_path))
    assert set(TARGET_ALIASES) <= set(in_bash("mind-opt -t ", tmp_path))
    assert set(PASS_ALIASES) <= set(in_bash("mind-view x.mlir -p ", tmp_path))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mind-opt --autod", ["--autodiff", "--autodiff="]),
        ("mind-opt --autodiff=fun", ["--autodiff=function="]),
        ("mind-opt -t ptir-j", ["ptir-json"]),
        ("mind-opt -p autodiff,ptir-cs", ["autodiff,ptir-cse"]),
        ("mind-run loss.mlir --target nat", ["native"]),
        ("mind-check loss.mlir --ex", ["--executors"]),
    ],
)
def test_fish_offers(line: str, expected: list[str], tmp_path: Path) -> None:
    assert in_fish(line, tmp_path) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mind-opt --autod", "mind-opt --autodiff"),
        ("mind-opt --autodiff=fun", "mind-opt --autodiff=function="),
        ("mind-opt -t ptir-j", "mind-opt -t ptir-json"),
        ("mind-opt -p autodiff,ptir-cs", "mind-opt -p autodiff,ptir-cse"),
        ("mind-run x.mlir --target=nat", "mind-run x.mlir --target=native"),
    ],
)
def test_zsh_completes(line: str, expected: str, tmp_path: Path) -> None:
    """Type a line and a tab at a terminal, and read what is on it."""
    pty = pytest.importorskip("pty", reason="terminals need a POSIX system")
    shell, tool = needs("zsh"), line.partition(" ")[0]
    (tmp_path / "script").write_text(script(tool, "zsh"))
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execve(
            shell, [shell, "-f", "-i"], {"TERM": "dumb", "PATH": os.environ["PATH"], "HOME": str(tmp_path), "COLUMNS": "500"}
        )
    try:
        os.write(terminal, b"stty cols 500; autoload -U compinit; compinit -u -D; source ./script; PS1='rea''dy> '\n")
        read_until(terminal, "ready> ")
        os.write(terminal, line.encode() + b"\t")
        read_until(terminal, expected)
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def read_until(terminal: int, text: str) -> None:
    """Read what a terminal shows until a text is there."""
    shown, end = "", time.monotonic() + SECONDS
    while text not in shown:
        ready, _, _ = select.select([terminal], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"{text!r} never came: {shown!r}"
        shown += os.read(terminal, 4096).decode(errors="replace")


def test_another_shell_is_refused() -> None:
    result = mind_opt("--completion", "tcsh")
    assert result.status == 1
    assert "error[E7003]: unknown completion 'tcsh'; expected one of bash, fish, zsh" in result.err
