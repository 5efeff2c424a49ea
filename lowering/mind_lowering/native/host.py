"""
What the machine that native code is made for can do: width of its vectors, caches, a few features.

The text of a program depends on a `Host` and on nothing else of the machine. `detect` describes this one; `MIND_NATIVE_ISA`
takes it for a lesser one (`avx2`, `baseline`), `MIND_NATIVE_CHECKS` asks for kernels that check their places; `host_of` describes
any machine, for tests and for printing.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from mind_dialect.errors import error

ISA_VARIABLE = "MIND_NATIVE_ISA"
CHECKS_VARIABLE = "MIND_NATIVE_CHECKS"


@dataclass(frozen=True)
class Host:
    """A kind of machine. `cpu` and `triple` are LLVM's names; an empty `cpu` is the very machine that compiles."""

    isa: str
    triple: str
    cpu: str
    vector_bytes: int
    registers: int
    """How many vector registers there are."""
    half: bool
    """Whether it converts between f16 and f32 by an instruction."""
    fma: bool
    l1_bytes: int = 32 << 10
    l2_bytes: int = 1 << 20
    checked: bool = False
    """Whether kernels check each place before they read or write it: for tests."""

    def lanes(self, size: int) -> int:
        """How many elements of `size` bytes one vector holds."""
        return max(1, self.vector_bytes // size)


_LINUX = "unknown-linux-gnu"
HOSTS: Mapping[str, Host] = {
    "avx512": Host("avx512", f"x86_64-{_LINUX}", "x86-64-v4", 64, 32, True, True),
    "avx2": Host("avx2", f"x86_64-{_LINUX}", "x86-64-v3", 32, 16, True, True),
    "baseline": Host("baseline", f"x86_64-{_LINUX}", "x86-64", 16, 16, False, False),
    "neon": Host("neon", f"aarch64-{_LINUX}", "generic", 16, 32, True, True),
}
"""Machines by what `MIND_NATIVE_ISA` calls them."""

_NEEDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("avx512", frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx2", "fma", "f16c"})),
    ("avx2", frozenset({"avx2", "fma", "f16c", "bmi1", "bmi2"})),
)


def host_of(isa: str) -> Host:
    """The machine of a name; E7001 for another."""
    if (found := HOSTS.get(isa)) is None:
        raise error("E7001", f"{ISA_VARIABLE}={isa!r}, expected one of {sorted(HOSTS)}", option=ISA_VARIABLE)
    return found


def detect() -> Host:
    """This machine, or what `MIND_NATIVE_ISA` takes it for; E7001 if that is none, or is more than the machine can do."""
    wanted = os.environ.get(ISA_VARIABLE)
    found = replace(this_machine(), checked=bool(os.environ.get(CHECKS_VARIABLE)))
    if not wanted or wanted == found.isa:
        return found
    other, order = host_of(wanted), list(HOSTS)
    if other.triple.partition("-")[0] != found.triple.partition("-")[0] or order.index(wanted) < order.index(found.isa):
        raise error("E7001", f"{ISA_VARIABLE}={wanted!r}, which this machine ({found.isa}) cannot run", option=ISA_VARIABLE)
    return replace(other, l1_bytes=found.l1_bytes, l2_bytes=found.l2_bytes, checked=found.checked)


@lru_cache(maxsize=1)
def this_machine() -> Host:
    """This machine as its operating system describes it; what is not known to be there is taken to be absent."""
    if platform.machine().lower() in ("aarch64", "arm64"):
        isa = "neon"
    else:
        flags = _flags()
        isa = next((name for name, needs in _NEEDS if needs <= flags), "baseline")
    found = HOSTS[isa]
    return replace(found, cpu="", l1_bytes=_cache_bytes(1, found.l1_bytes), l2_bytes=_cache_bytes(2, found.l2_bytes))


def _flags() -> frozenset[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())


def _cache_bytes(level: int, default: int) -> int:
    """The size of the data cache of a level of the first core."""
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            if (folder / "level").read_text().strip() == str(level) and (folder / "type").read_text().strip() != "Instruction":
                text = (folder / "size").read_text().strip()
                return int(text.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(text[-1:], 0)
        except (OSError, ValueError):
            continue
    return default
