"""What a tool prints about itself and cannot write is an error, also where argparse prints it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
COMMANDS = [
    *([tool, "--help"] for tool in ("opt", "run", "check", "view", "lsp")),
    *([tool, "--version"] for tool in ("opt", "run", "check", "lsp")),
    ["opt", "--autodiff", "--help"],
    ["opt", "--explain", "E4000"],
    ["opt", "--show-dialects"],
    ["--help"],
]


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_disk_is_reported(command: list[str], unbuffered: str) -> None:
    with FULL.open("w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "mind_tools", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert run.returncode not in (0, None), run.stderr
    assert "E7002" in run.stderr
    assert "No space left" in run.stderr
    assert "Traceback" not in run.stderr
