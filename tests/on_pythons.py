"""
The quick tests on each supported Python that is found, with the oldest and the newest versions of the required dependencies.

`make test-matrix` runs this. Environments are in `.matrix` and are kept. An interpreter is `python3.N` on the PATH, or one of
pyenv; those that are not found are named, and fail nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOLDER = ROOT / ".matrix"


def pythons() -> list[str]:
    """The versions of Python that the project says it supports."""
    return re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)


def found(version: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """The path of an interpreter, if there is one."""
    if (path := shutil.which(f"python{version}", path=environment.get("PATH"))) is not None and "shims" not in path:
        return path
    root = Path(environment.get("PYENV_ROOT", Path.home() / ".pyenv"))
    builds = sorted(
        (root / "versions").glob(f"{version}.*/bin/python"), key=lambda p: [int(n) for n in re.findall(r"\d+", str(p))]
    )
    return str(builds[-1]) if builds else None


def oldest() -> list[str]:
    """The required dependencies, each at the lowest version that is allowed."""
    return [re.sub(r"^([\w-]+)[><~=]+([\d.]+).*", r"\1==\2", requirement) for requirement in PROJECT["dependencies"]]


def combinations(versions: list[str]) -> list[tuple[str, str]]:
    """Each Python with the newest dependencies, and the first also with the oldest: other Pythons may lack wheels of those."""
    return [(version, "newest") for version in versions] + [(version, "oldest") for version in versions[:1]]


def run(python: str, version: str, ends: str) -> int:
    """Make an environment and run the quick tests in it."""
    place = FOLDER / f"{version}-{ends}"
    inner = place / "bin" / "python"
    if not (place / "stamp").exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([python, "-m", "venv", place], check=True)
        pip = [inner, "-m", "pip", "install", "-qq", "--no-compile", "--disable-pip-version-check"]
        subprocess.run([*pip, "--upgrade", "pip>=25.1"], check=True)
        chosen = oldest() if ends == "oldest" else ()
        subprocess.run([*pip, "--editable", ROOT, "--group", f"{ROOT / 'pyproject.toml'}:test", *chosen], check=True)
        (place / "stamp").touch()
    listed = "import sys, numpy, xdsl; print(sys.version.split()[0], 'numpy', numpy.__version__, 'xdsl', xdsl.__version__)"
    print(f"== {version}, {ends} dependencies:", flush=True)
    subprocess.run([inner, "-c", listed], check=True)
    return subprocess.run([inner, "-m", "pytest", "-q", "--quick", "-p", "no:cacheprovider"], cwd=ROOT, check=False).returncode


def main(chosen: list[str]) -> int:
    """Run them all, or the chosen versions; the number of those that failed."""
    versions = [v for v in pythons() if not chosen or v in chosen]
    here = {version: path for version in versions if (path := found(version)) is not None}
    for version in versions:
        if version not in here:
            print(f"== {version}: not found, neither on the PATH nor by pyenv; not tested")
    failed = [f"{v} with the {ends}" for v, ends in combinations(list(here)) if run(here[v], v, ends)]
    print(f"== failed: {', '.join(failed)}" if failed else f"== passed on {', '.join(here)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
