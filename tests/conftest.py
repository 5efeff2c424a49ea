"""Says which oracles this run has, so that nobody takes a skipped comparison for a passed one."""

from __future__ import annotations

import gc
import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
from pathlib import Path

import pytest

if importlib.util.find_spec("hypothesis") is not None:
    from hypothesis import HealthCheck, settings

    # How long examples take, and how many are thrown away, depends on the machine and its load: neither fails a test. Runs are
    # repeatable; `--hypothesis-profile=search` looks for new examples. Both state `derandomize`, whose default differs in CI.
    OF_LOAD = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example, HealthCheck.filter_too_much)
    settings.register_profile("search", derandomize=False, deadline=None, suppress_health_check=OF_LOAD, print_blob=True)
    settings.register_profile("repeatable", settings.get_profile("search"), derandomize=True, database=None)
    settings.load_profile("repeatable")

collect_ignore = [
    *("runtime/xla/sharded.py", "support/array_api_jitted.py", "support/jax_models.py", "support/jax_programs.py"),
    *("support/doctest_blocks.py", "support/planted_failures.py", "support/torch_models.py", "support/torch_rows.py"),
]
"""Modules without doctests that need JAX, PyTorch, the site's generator or a path of their own, or change what they import."""
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
    tiers = parser.getgroup("tiers")
    tiers.addoption("--quick", action="store_true", help="run only the tests marked quick")
    tiers.addoption("--thin", type=int, default=1, metavar="N", help="run one case in N of tests marked exhaustive, by --turn")
    tiers.addoption("--rest", action="store_true", help="run only what --thin leaves out")
    machines = parser.getgroup("machines")
    machines.addoption("--sample", type=int, default=1, metavar="N", help="run one test in N, the same ones for the same turn")
    machines.addoption("--turn", type=int, default=0, metavar="K", help="which of the N samples, or of the N parts of --thin")
    machines.addoption("--isa", metavar="NAMES", help="run native tests as these machines (avx2,baseline), or as `every` one")


MARKS = {
    "quick": "a table that is closed, or a program on one target: what make quick runs",
    "exhaustive": "a table so long that make test runs one case in four; make test-rest and make test-all run the others",
}
WANTED = pytest.StashKey[tuple[frozenset[str], frozenset[Path]] | None]()
"""What `--only-from` names, and the files that it is in."""


def pytest_configure(config: pytest.Config) -> None:
    # No test runs code that an earlier run left on disk: what tests patch in our modules is no part of its name.
    os.environ["MIND_CACHE_DIR"] = ""
    for name, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
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
    """Nothing is imported that has no test to run."""
    if not collection_path.is_file():
        return None
    if (wanted := config.stash[WANTED]) is not None:
        return collection_path not in wanted[1] or None
    for option, mark in (("--quick", "quick"), ("--rest", "exhaustive")):
        if config.getoption(option):
            return f"pytest.mark.{mark}\n" not in collection_path.read_text(encoding="utf-8") or None
    return None


def _one_in(count: int, item: pytest.Item, draw: str, turn: int = 0) -> bool:
    """Whether a test is in a sample, which is the same in every run; draws of other names do not depend on each other."""
    number = hashlib.blake2s(f"{draw} {item.nodeid}".encode(), digest_size=4).digest()
    return int.from_bytes(number, "big") % count == turn % count


def _is_chosen(item: pytest.Item) -> bool:
    config, wanted = item.config, item.config.stash[WANTED]
    turn = config.getoption("--turn")
    left_out = item.get_closest_marker("exhaustive") is not None and not _one_in(config.getoption("--thin"), item, "thin", turn)
    if wanted is not None:
        chosen = not wanted[0].isdisjoint((item.nodeid, item.nodeid.partition("::")[0]))
    elif config.getoption("--rest"):
        chosen = left_out
    elif config.getoption("--quick"):
        chosen = item.get_closest_marker("quick") is not None
    else:
        chosen = not left_out
    return chosen and _one_in(config.getoption("--sample"), item, "sample", turn)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = [_is_chosen(item) for item in items]
    if all(chosen):
        return
    config.hook.pytest_deselected(items=[item for item, kept in zip(items, chosen, strict=True) if not kept])
    items[:] = [item for item, kept in zip(items, chosen, strict=True) if kept]


def pytest_collection_finish() -> None:
    """What is there now stays: no later look for garbage goes through twenty thousand tests."""
    gc.collect()
    gc.freeze()
