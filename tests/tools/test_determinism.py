"""Fresh processes print the same gradient module whatever PYTHONHASHSEED is; benchmarks/determinism.py runs a hundred of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "examples" / "mlp.coreir"


def gradient_text(seed: int) -> bytes:
    """What a fresh process prints as the gradient of the demo's loss."""
    command = [sys.executable, "-m", "mind_tools.mind_opt", "--canonicalize", "--autodiff=function=loss", PROGRAM]
    environment = os.environ | {"PYTHONHASHSEED": str(seed)}
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout


def test_the_gradient_is_the_same_under_any_hash_seed() -> None:
    texts = {gradient_text(seed) for seed in (0, 1, 2, 12345, 4294967295)}
    assert len(texts) == 1
    assert b"@loss_grad" in texts.pop()
