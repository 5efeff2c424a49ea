"""How many threads there are by default: the cores of this process, and the limits of the container it is in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from mind_runtime.native import settings
from mind_runtime.native.cores import cores

V2, V1 = "0::/\n", "5:memory:/\n3:cpu,cpuacct:/\n0::/\n"
V2_MAX, V1_QUOTA = "sys/fs/cgroup/cpu.max", "sys/fs/cgroup/cpu,cpuacct"


@pytest.fixture(autouse=True)
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that may run on eight cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


def of_files(root: Path, groups: str | None, files: Mapping[str, str | bytes]) -> int:
    """How many cores there are where these files are."""
    every = files if groups is None else {"proc/self/cgroup": groups, **files}
    for name, content in every.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return cores(root)


def v1(quota: str, period: str = "100000", folder: str = V1_QUOTA) -> dict[str, str]:
    return {f"{folder}/cpu.cfs_quota_us": f"{quota}\n", f"{folder}/cpu.cfs_period_us": f"{period}\n"}


LIMITS: dict[str, tuple[str | None, Mapping[str, str | bytes], int]] = {
    "no files": (None, {}, 8),
    "no limit": (V2, {V2_MAX: "max 100000\n"}, 8),
    "two cores": (V2, {V2_MAX: "200000 100000\n"}, 2),
    "a share of one": (V2, {V2_MAX: "20000 100000\n"}, 1),
    "two and a half": (V2, {V2_MAX: "250000 100000\n"}, 3),
    "another period": (V2, {V2_MAX: "150000 50000\n"}, 3),
    "more than there are": (V2, {V2_MAX: "6400000 100000\n"}, 8),
    "a group": ("0::/a/b\n", {"sys/fs/cgroup/a/b/cpu.max": "300000 100000"}, 3),
    "a group around it": (
        "0::/a/b\n",
        {"sys/fs/cgroup/a/cpu.max": "200000 100000", "sys/fs/cgroup/a/b/cpu.max": "max 100000"},
        2,
    ),
    "the least of them": (
        "0::/a/b\n",
        {"sys/fs/cgroup/a/cpu.max": "500000 100000", "sys/fs/cgroup/a/b/cpu.max": "400000 100000"},
        4,
    ),
    "a path that is the machine's": ("0::/docker/0123\n", {V2_MAX: "200000 100000"}, 2),
    "a path out of what is seen": ("0::/../other\n", {V2_MAX: "200000 100000", "sys/fs/other/cpu.max": "100000 100000"}, 2),
    "another group": ("0::/a\n", {"sys/fs/cgroup/b/cpu.max": "100000 100000"}, 8),
    "beside the first version": (V1, {"sys/fs/cgroup/unified/cpu.max": "200000 100000"}, 2),
    "first version": (V1, v1("200000"), 2),
    "first version, no limit": (V1, v1("-1"), 8),
    "first version, one and a half": ("2:cpu:/\n", v1("150000", folder="sys/fs/cgroup/cpu"), 2),
    "first version, linked": (V1, v1("300000", folder="sys/fs/cgroup/cpu"), 3),
    "first version, a group": ("3:cpu,cpuacct:/docker/0123\n", v1("100000", folder=f"{V1_QUOTA}/docker/0123"), 1),
    "first version, of the machine": ("3:cpu,cpuacct:/docker/0123\n", v1("100000"), 1),
    "first version, other controllers": ("3:cpuset,cpuacct:/\n", v1("100000"), 8),
    "first version, no period": (V1, {f"{V1_QUOTA}/cpu.cfs_quota_us": "100000\n"}, 8),
    "both": (V1, {**v1("400000"), "sys/fs/cgroup/unified/cpu.max": "300000 100000"}, 3),
}
ODD: dict[str, str | bytes] = {
    "nothing": "",
    "blank": "\n",
    "one word": "200000us",
    "words": "two many",
    "no period": "200000 0",
    "nothing of a period": "0 100000",
    "negative": "-200000 100000",
    "a float": "2e5 1e5",
    "other digits": "٢٠٠٠٠٠ 100000",
    "no text": b"\xff\xfe\x00 \x80",
    "huge": "9" * 5000 + " 100000",
    "long": "1" * (1 << 20),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_container_limits_the_cores(name: str, tmp_path: Path) -> None:
    groups, files, expected = LIMITS[name]
    assert of_files(tmp_path, groups, files) == expected


@pytest.mark.parametrize("name", ODD)
def test_odd_files_are_no_limit(name: str, tmp_path: Path) -> None:
    assert of_files(tmp_path, V2, {V2_MAX: ODD[name]}) == 8
    assert (
        of_files(tmp_path / "v1", V1, {f"{V1_QUOTA}/cpu.cfs_quota_us": ODD[name], f"{V1_QUOTA}/cpu.cfs_period_us": "100000"}) == 8
    )
    assert of_files(tmp_path / "both", V2, {V2_MAX: "300000 100000 " + "more" * 9}) == 3


@pytest.mark.parametrize(
    "groups", ["", "0", "0:", "0::", "::::", ":\n0::/a\x00b\n", "0::" + "/a" * 300, b"\xff:\xfe:\n".decode("latin-1")]
)
def test_odd_groups_are_no_limit(groups: str, tmp_path: Path) -> None:
    assert of_files(tmp_path, groups, {}) == 8


def test_what_is_no_file_is_no_limit(tmp_path: Path) -> None:
    (tmp_path / V2_MAX).mkdir(parents=True)
    assert of_files(tmp_path, V2, {}) == 8


def test_the_cores_that_a_process_may_run_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {V2_MAX: "300000 100000"}
    for allowed, expected in ((1, 1), (2, 2), (5, 3)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=allowed: set(range(n)), raising=False)
        assert of_files(tmp_path, V2, files) == expected


def test_they_are_the_threads_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(settings.THREADS_VARIABLE, raising=False)
    monkeypatch.setattr(settings, "cores", lambda: 5)
    assert settings.threads_of() == 5
    monkeypatch.setattr(settings, "cores", lambda: 5000)
    assert settings.threads_of() == 256
