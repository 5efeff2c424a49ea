"""The built wheel, in an environment that has never seen the checkout: what it installs, and that the README's pipeline runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("build", reason="building the wheel needs the dependency group `test`")
pytest.importorskip("hatchling", reason="building the wheel needs the dependency group `test`")

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "filecheck" / "examples" / "readme.mlir"
PACKAGES = {
    "mind_dialect",
    "mind_passes",
    "mind_lowering",
    "mind_runtime",
    "mind_translate",
    "mind_bridges",
    "mind_array",
    "mind_tools",
}
EXTENDING = ROOT / "docs" / "extending.md"
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "my-project"
version = "1.0"
dependencies = ["mind-dialect"]

"""
SUM = """
func.func @f(%x: tensor<2xf64>, %y: tensor<2xf64>) -> tensor<2xf64> {
  %0 = mind.add %x, %y : tensor<2xf64>
  func.return %0 : tensor<2xf64>
}
"""
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
    assert any(name.startswith(f"{info}/licenses/") and name.endswith("elkjs-LICENSE.md") for name in names)


def test_the_wheel_holds_every_file_of_our_packages_and_no_other(wheel: Path) -> None:
    """Also what is no Python: CUDA, LLVM IR, the mark of typed packages."""
    folders = {
        package: next(path for path in (ROOT / package, *ROOT.glob(f"*/{package}")) if path.is_dir()) for package in PACKAGES
    }
    here = {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for package, folder in folders.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {Path(name).suffix for name in here} >= {".py", ".cuh", ".ll", ".typed"}
    assert {name for name in zipfile.ZipFile(wheel).namelist() if name.split("/")[0] in PACKAGES} == here


def test_the_page_on_pypi_has_no_links_that_lead_nowhere_there(wheel: Path) -> None:
    """Links to files of the checkout are text; those to other sites stay, and so does the text around both."""
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    headers, _, shown = archive.read(name).decode("utf-8").partition("\n\n")
    assert "Author: The mind-dialect maintainers" in headers
    assert "Description-Content-Type: text/markdown" in headers
    targets = re.findall(r"\]\(([^)]*)\)", re.sub(r"^```.*?^```$", "", shown, flags=re.DOTALL | re.MULTILINE))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert targets == re.findall(r"\]\((https://[^)]*)\)", readme)
    assert re.sub(r"^```.*?^```$", "", shown, flags=re.DOTALL | re.MULTILINE).startswith("# mind-dialect\n")
    blocks = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
    assert blocks.findall(shown) == blocks.findall(readme)


def test_extras_are_for_users_alone(wheel: Path) -> None:
    """What tests and checks need is in dependency groups, which are not published."""
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    published = set(re.findall(r"^Provides-Extra: (\S+)$", archive.read(name).decode("utf-8"), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert published == set(project["project"]["optional-dependencies"])
    assert published.isdisjoint(project["dependency-groups"])


@pytest.mark.exhaustive
def test_the_source_distribution_holds_tests_docs_and_what_builds_them(tmp_path: Path) -> None:
    _run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", tmp_path, ROOT, cwd=tmp_path)
    (built,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"tests", "docs", "examples", "benchmarks"} <= {name.partition("/")[0] for name in names}
    wanted = "README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md CITATION.cff LICENSE Makefile mkdocs.yml pyproject.toml .ci/run"
    assert set(wanted.split()) <= names
    pages = {path.relative_to(ROOT).as_posix() for folder in ("docs", "tests/support") for path in (ROOT / folder).glob("*.*")}
    assert {page for page in pages if (ROOT / page).is_file()} <= names
    assert not {name for name in names if "__pycache__" in name or name.startswith(".venv")}


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


def test_the_viewer_has_its_files_there(fresh: Path, tmp_path: Path) -> None:
    result = _bash(f"mind-view {FILE} --autodiff -o page.html", fresh, tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Eclipse Public License" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_every_package_imports_there(fresh: Path, tmp_path: Path) -> None:
    line = f'python -W error -c "import {", ".join(sorted(PACKAGES))}; print(mind_dialect.__file__)"'
    result = _bash(line, fresh, tmp_path)
    assert result.returncode == 0, result.stderr
    assert str(fresh.parent) in result.stdout


def test_the_executor_of_the_page_on_extending_is_a_target_there(fresh: Path, tmp_path: Path) -> None:
    """Built as a package of its own, from the page's code and entry point alone."""
    page = EXTENDING.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n((?:(?!```).)*?class Interpreted.*?\nINTERPRETED = [^\n]*\n)", page, re.DOTALL)
    (entry,) = re.findall(r'^\[project\.entry-points\."mind_dialect\.executors"\].*?(?=^```)', page, re.DOTALL | re.MULTILINE)
    package = tmp_path / "my_project"
    package.mkdir()
    (package / "__init__.py").write_text(code, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(PROJECT + entry, encoding="utf-8")
    (tmp_path / "f.mlir").write_text(SUM, encoding="utf-8")
    line = "mind-run f.mlir --target interpreted x=[1,2] y=[10,20]"
    before = _bash(line, fresh, tmp_path)
    assert before.returncode != 0
    assert "E6002" in before.stderr
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "dist", tmp_path, cwd=tmp_path)
    (built,) = (tmp_path / "dist").glob("*.whl")
    _run(fresh / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", built, cwd=tmp_path)
    result = _bash(line, fresh, tmp_path)
    assert (result.returncode, result.stdout) == (0, "out0: f64[2] = [11., 22.]\n"), result.stderr
