"""Two processes with four devices each train as one with eight does, say when one is gone, and go on from a checkpoint."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("orbax.checkpoint", reason="orbax is not installed")
pytest.importorskip("rich", reason="rich is not installed")

ROOT = Path(__file__).parents[2]
SMALL = ["--layers", "1", "--width", "16", "--context", "8", "--batch", "8", "--steps", "4", "--timeout", "20"]


def run(*args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    command = [sys.executable, ROOT / "examples" / "many_hosts.py", *SMALL, *args]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=400, check=False)


def losses(text: str) -> dict[int, float]:
    return {int(step): float(loss) for step, loss in re.findall(r"step (\d+) loss (\S+)", text)}


@pytest.fixture(scope="module")
def one_process() -> dict[int, float]:
    done = run("--spawn", "1", "--devices", "8")
    assert done.returncode == 0, done.stderr
    found = losses(done.stdout)
    assert list(found) == [1, 2, 3, 4]
    return found


def test_a_run_goes_on_after_a_process_died(one_process: dict[int, float], tmp_path: Path) -> None:
    two = ["--spawn", "2", "--devices", "4", "--checkpoints", str(tmp_path / "run"), "--every", "2"]
    broken = run(*two, "--leave-at", "4")
    assert broken.returncode == 1
    assert "@train_step on xla: cpu, mesh data=8" in broken.stdout
    assert losses(broken.stdout) == pytest.approx({n: one_process[n] for n in (1, 2, 3)}, rel=1e-5)
    assert "process 1 ended with status 3" in broken.stderr
    assert "process 0 ended with status 1" in broken.stderr
    assert re.search(r"error\[(E6007\]: step 4 did not end within 20.0 s; another process may be gone|E6008\]: )", broken.stderr)
    resumed = run(*two, "--shard-weights")
    assert resumed.returncode == 0, resumed.stderr
    assert "goes on after step 2" in resumed.stdout
    assert losses(resumed.stdout) == pytest.approx({n: one_process[n] for n in (3, 4)}, rel=1e-5)


BAD = {
    "error[E7001]: --steps 0 is out of range": ["--steps", "0"],
    "error[E7001]: JAX cannot connect": [],
    "error[E6007]: the start did not end within 3.0 s": [
        *("--coordinator", "127.0.0.1:1", "--processes", "2", "--process", "1", "--start", "3")
    ],
    "error[E6002]: the target 'xla' runs on JAX; mesh data=3 has 3 devices, JAX has 2": [
        "--spawn",
        "1",
        "--devices",
        "2",
        "--mesh",
        "data=3",
    ],
    "error[E3003]: sharding of input 'tokens': dimension 0 of extent 8 does not divide by data=3": [
        *("--spawn", "1", "--devices", "3")
    ],
}


@pytest.mark.parametrize("message", BAD)
def test_errors(message: str) -> None:
    done = run(*BAD[message])
    assert done.returncode == 1
    assert message in done.stderr
