"""What figures were taken on, and with: every page of results names it in the same words."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mind_lowering.native.host import this_machine

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def processor() -> str:
    """Return the name of the processor as the operating system has it, with family and model where names are coarse."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    first = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in reversed(lines))}
    name = first.get("model name", platform.machine())
    return f"{name} family {first['cpu family']} model {first['model']}" if {"cpu family", "model"} <= first.keys() else name


def caches() -> str:
    """Return the caches of the first core, instructions' left out: `L1d 32K, L2 1024K, L3 32768K`."""
    found: list[str] = []
    for folder in sorted(_CACHES.glob("index*")):
        try:
            level, kind, size = ((folder / name).read_text(encoding="ascii").strip() for name in ("level", "type", "size"))
        except (OSError, ValueError):
            continue
        if kind != "Instruction":
            found.append(f"L{level}{'d' if kind == 'Data' else ''} {size}")
    return ", ".join(found) or "caches unknown"


def versions(packages: Sequence[str]) -> str:
    """Return the versions of what took part, absent packages included."""

    def one(name: str) -> str:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            return f"{name} absent"

    return ", ".join([f"CPython {platform.python_version()}", *map(one, packages)])


def described(packages: Sequence[str] = ()) -> str:
    """Return one sentence: versions, processor, instruction set, caches, cores, system, load of the last minute."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    host = f"{processor()} ({this_machine().isa}; {caches()}), {cores} cores, {platform.machine()}, {sys.platform}, load {load}"
    return f"{versions(packages)}; {host}"
