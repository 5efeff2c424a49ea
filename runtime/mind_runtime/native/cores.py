"""
The cores that this process may use: those that it may run on, and no more than what its container may take of them.

A container's limit is a share of time in the files of control groups, of the second version (`cpu.max`) or of the first
(`cpu.cfs_quota_us`): its own and those of the groups around it, the least of which counts. Two and a half cores are three, each
of which waits now and then. A file that is not there, or says nothing that is a share, is no limit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

MOST_BYTES = 1 << 16
"""Of a file that is read."""
_GROUPS = "sys/fs/cgroup"


def cores(root: Path = Path("/")) -> int:
    """Return the number of cores for this process, at least one; `root` is where the files of the system are."""
    return max(1, min([_allowed(), *shares(root)]))


def _allowed() -> int:
    """Return the number of cores that it may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def shares(root: Path) -> Iterator[int]:
    """The limits of the control groups that this process is in, in cores, rounded up."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            for mount in (root / _GROUPS, root / _GROUPS / "unified"):
                for folder in _around(mount, path):
                    yield from _share(*f"{_text(folder / 'cpu.max')} x x".split()[:2])
        elif "cpu" in controllers.split(","):
            for mount in (root / _GROUPS / controllers, root / _GROUPS / "cpu"):
                for folder in _around(mount, path):
                    yield from _share(_text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us"))


def _around(mount: Path, path: str) -> Iterator[Path]:
    """
    The folders of a group and of those around it.

    In a container the path may be that of the machine, of which the container sees its own end alone: the mount itself.
    """
    group = PurePosixPath(path.lstrip("/"))
    if ".." not in group.parts:
        yield from (mount / inner for inner in (group, *group.parents) if inner.parts)
    yield mount


def _share(quota: str, period: str) -> Iterator[int]:
    """The cores that so many microseconds out of so many are, rounded up; nothing for what are no such numbers."""
    given = [text.strip() for text in (quota, period)]
    if all(text.isascii() and text.isdigit() and len(text) < 19 and int(text) for text in given):
        yield -(-int(given[0]) // int(given[1]))


def _text(path: Path) -> str:
    """Return the text of a file; nothing of one that cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):  # ValueError: a path with a zero in it
        return ""
