"""Says which oracles this run has, so that nobody takes a skipped comparison for a passed one."""

from __future__ import annotations

import importlib.metadata
import os
import shutil

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
