"""
The machine that this process runs on, as a `TargetInfo`: its instruction set and its caches.

Only what begins a compilation asks: the runtime, and the tools where no `isa` is stated. `MIND_NATIVE_ISA` takes the machine for
a lesser one (`avx2`, `baseline`), `MIND_NATIVE_CHECKS` asks for kernels that check their addresses.
"""

from __future__ import annotations

import ctypes
import os
import platform
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from mind_dialect.errors import error

from .target_info import TARGETS, TargetInfo, target_of

ISA_VARIABLE = "MIND_NATIVE_ISA"
CHECKS_VARIABLE = "MIND_NATIVE_CHECKS"
_PR_SVE_GET_VL = 51
"""Of `prctl`: the length of vectors in the low 16 bits, flags above (linux/prctl.h)."""


_NEEDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("avx512", frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx2", "fma", "f16c"})),
    ("avx2", frozenset({"avx2", "fma", "f16c", "bmi1", "bmi2"})),
)


def detect() -> TargetInfo:
    """This machine, or what `MIND_NATIVE_ISA` takes it for; E7001 if that is none, or is more than the machine can do."""
    wanted = os.environ.get(ISA_VARIABLE)
    found = replace(this_machine(), checked=bool(os.environ.get(CHECKS_VARIABLE)))
    if not wanted or wanted == found.isa:
        return found
    other, order = target_of(wanted, ISA_VARIABLE), list(TARGETS)
    if other.triple.partition("-")[0] != found.triple.partition("-")[0] or order.index(wanted) < order.index(found.isa):
        raise error("E7001", f"{ISA_VARIABLE}={wanted!r}, which this machine ({found.isa}) cannot run", option=ISA_VARIABLE)
    return replace(other, l1_bytes=found.l1_bytes, l2_bytes=found.l2_bytes, checked=found.checked)


@lru_cache(maxsize=1)
def this_machine() -> TargetInfo:
    """This machine as its operating system describes it; what is not known to be there is taken to be absent."""
    if platform.machine().lower() in ("aarch64", "arm64"):
        isa = "sve256" if _sve_bytes() == TARGETS["sve256"].vector_bytes else "neon"
    else:
        flags = _flags()
        isa = next((name for name, needs in _NEEDS if needs <= flags), "baseline")
    found = TARGETS[isa]
    return replace(found, cpu="", l1_bytes=_cache_bytes(1, found.l1_bytes), l2_bytes=_cache_bytes(2, found.l2_bytes))


def _sve_bytes() -> int:
    """Return the bytes in a vector of SVE in this process; 0 where the machine has none or the system is not Linux."""
    try:
        answer = int(ctypes.CDLL(None).prctl(_PR_SVE_GET_VL, 0, 0, 0, 0))
    except (AttributeError, OSError):
        return 0
    return answer & 0xFFFF if answer > 0 else 0


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
