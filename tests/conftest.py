"""Says which oracles this run has, so that nobody takes a skipped comparison for a passed one."""

from __future__ import annotations

import gc
import importlib.metadata
import os
import shutil
from pathlib import Path

import pytest

ORACLES = {"jax": "jax", "torch": "torch", "scikit-learn": "scikit-learn", "cupy": "cupy-cuda13x"}
"""What a test may compare with or run on, and the distribution that brings it."""
MLIR_OPTS = ("mlir-opt", *(f"mlir-opt-{version}" for version in range(22, 18, -1)))


def find_mlir_opt() -> str | None:
    """The path of a real mlir-opt: `$MLIR_OPT`, else the first found under its Debian names."""
    return os.environ.get("MLIR_OPT") or next(filter(None, map(shutil.which, MLIR_OPTS)), None)


@pytest.fixture(scope="session")
def mlir_opt() -> str:
    """A real mlir-opt, or a visible skip."""
    if (path := find_mlir_opt()) is None:
        pytest.skip("no mlir-opt on the PATH (make test-all installs one where Debian has it)")
    return path


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "ABSENT"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    found = {name: _version(distribution) for name, distribution in ORACLES.items()} | {"mlir-opt": find_mlir_opt() or "ABSENT"}
    terminalreporter.write_line("oracles: " + ", ".join(f"{name} {version}" for name, version in found.items()))
    if "ABSENT" in found.values():
        terminalreporter.write_line("tests against absent oracles were skipped; make test-all installs what this machine can run")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("oracles")
    group.addoption("--skipped-to", metavar="FILE", help="write what was skipped to FILE, one test or module a line")
    group.addoption("--only-from", metavar="FILE", help="run only the tests and modules that FILE names")


WANTED = pytest.StashKey[tuple[frozenset[str], frozenset[Path]] | None]()
"""What `--only-from` names, and the files that it is in."""


def pytest_configure(config: pytest.Config) -> None:
    config.stash[WANTED] = None
    if (file := config.getoption("--only-from")) is not None:
        places = frozenset(Path(file).read_text(encoding="utf-8").splitlines())
        config.stash[WANTED] = places, frozenset(config.rootpath / place.partition("::")[0] for place in places)
    if (file := config.getoption("--skipped-to")) is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Skipped(Path(file)))


class Skipped:
    """Remembers what this run skips, so that another one, beside every oracle, can run just that."""

    def __init__(self, file: Path):
        self._file = file
        self._places: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self._places[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._places[report.nodeid] = None

    def pytest_sessionfinish(self) -> None:
        self._file.write_text("".join(f"{place}\n" for place in sorted(self._places)), encoding="utf-8")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Nothing is imported that `--only-from` names nothing of."""
    wanted = config.stash[WANTED]
    if wanted is None or not collection_path.is_file():
        return None
    return collection_path not in wanted[1] or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (wanted := config.stash[WANTED]) is None:
        return
    chosen = [item.nodeid in wanted[0] or item.nodeid.partition("::")[0] in wanted[0] for item in items]
    config.hook.pytest_deselected(items=[item for item, kept in zip(items, chosen, strict=True) if not kept])
    items[:] = [item for item, kept in zip(items, chosen, strict=True) if kept]


def pytest_collection_finish() -> None:
    """What is there now stays: no later look for garbage goes through twenty thousand tests."""
    gc.collect()
    gc.freeze()
