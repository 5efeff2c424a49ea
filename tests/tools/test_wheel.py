"""The built wheel, in an environment that has never seen the checkout: what it installs, and that the README's pipeline runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("build", reason="building the wheel needs the extra `test`")
pytest.importorskip("hatchling", reason="building the wheel needs the extra `test`")

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "filecheck" / "examples" / "readme.mlir"
PACKAGES = {"mind_dialect", "mind_passes", "mind_lowering", "mind_runtime", "mind_translate", "mind_tools"}
PIPELINE = "mind-opt --canonicalize --autodiff {0} | filecheck {0}"


def _run(*command: str | Path, cwd: Path, **more: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")} | more
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    out = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment that holds the wheel, what it requires, and filecheck; returns its folder of programs."""
    home = tmp_path_factory.mktemp("fresh")
    _run(sys.executable, "-m", "venv", home / "env", cwd=home)
    python = home / "env" / "bin" / "python"
    _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, "filecheck==1.0.6", cwd=home)
    return python.parent


def _bash(line: str, programs: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin", "HOME": str(cwd)}
    command = ["bash", "-o", "pipefail", "-c", line]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_the_wheel_installs_only_our_packages(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names}
    (info,) = {name for name in top if name.endswith(".dist-info")}
    assert top == PACKAGES | {info}
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    assert f"{info}/licenses/LICENSE" in names
    assert "mind_runtime/native/call.ll" in names


def test_the_pipeline_of_the_readme_runs_there(fresh: Path, tmp_path: Path) -> None:
    (tmp_path / "loss.mlir").write_text(FILE.read_text(encoding="utf-8"), encoding="utf-8")
    result = _bash(PIPELINE.format("loss.mlir"), fresh, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_pipeline_notices_a_wrong_gradient(fresh: Path, tmp_path: Path) -> None:
    text, count = re.subn(r"(CHECK-NEXT:.*)mind\.exp", r"\1mind.log", FILE.read_text(encoding="utf-8"))
    assert count > 0
    (tmp_path / "loss.mlir").write_text(text, encoding="utf-8")
    assert _bash(PIPELINE.format("loss.mlir"), fresh, tmp_path).returncode != 0


def test_stock_xdsl_opt_finds_the_passes_there(fresh: Path, tmp_path: Path) -> None:
    result = _bash(f"xdsl-opt -p mind-canonicalize,mind-autodiff {FILE} | filecheck {FILE}", fresh, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_package_imports_there(fresh: Path, tmp_path: Path) -> None:
    line = f'python -W error -c "import {", ".join(sorted(PACKAGES))}; print(mind_dialect.__file__)"'
    result = _bash(line, fresh, tmp_path)
    assert result.returncode == 0, result.stderr
    assert str(fresh.parent) in result.stdout
