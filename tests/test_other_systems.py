"""macOS and Windows, as far as this machine can be taken for them: imports and tools work, native code says that it does not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "support" / "as_other_system.py"
OPTIONAL = {
    *("llvmlite", "jax", "jaxlib", "onnx", "onnxruntime", "iree", "torch", "cupy", "cupy_backends", "pygls", "lsprotocol"),
    *("ml_dtypes", "optree", "safetensors", "flatbuffers", "rich", "cuda"),
}
"""Packages of the extras; a module of ours that needs one is imported where it is used."""


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_tools_and_targets_of_another_system(system: str, tmp_path: Path) -> None:
    command = [sys.executable, SCRIPT, system, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    absent = re.findall(r"^  [\w.]+: ([\w.]+)$", done.stdout, re.MULTILINE)
    assert {name.partition(".")[0] for name in absent} <= OPTIONAL, done.stdout
    limit = int(system == "win32")
    expected = {"opt": 0, "run": 0, "check": 0, "view": 0, "text": 0, "native": 1, "limit": limit}
    assert f"statuses: {expected}" in done.stdout, done.stdout + done.stderr
    assert "func.func @loss_grad" in done.stdout
    assert "out0: f32[] = 21" in done.stdout
    assert 'target triple = "aarch64-unknown-linux-gnu"' in done.stdout
    assert f"error[E6002]: the target 'native' runs on Linux, this is {system}: use 'numpy' or 'xla'" in done.stderr
    assert ("--time-limit needs SIGALRM" in done.stderr) == (system == "win32")
    assert "Traceback" not in done.stderr
