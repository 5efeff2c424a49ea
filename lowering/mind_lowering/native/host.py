"""
The machine that this process runs on, as a `TargetInfo`: its instruction set and its caches.

Only what begins a compilation asks: the runtime, and the tools where no `isa` is stated. `MIND_NATIVE_ISA` takes the machine for
a lesser one (`avx2`, `baseline`), `MIND_NATIVE_CHECKS` asks for kernels that check their addresses.
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from mind_dialect.errors import error

from .target_info import SHARED, TARGETS, TargetInfo, target_of

ISA_VARIABLE = "MIND_NATIVE_ISA"
CHECKS_VARIABLE = "MIND_NATIVE_CHECKS"
_PR_SVE_GET_VL = 51
"""Of `prctl`: the length of vectors in the low 16 bits, flags above (linux/prctl.h)."""

_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA = 158, 0x1023, 18
"""The number of a system call, an operation of it, and the state that it asks for (asm/prctl.h)."""


_AVX2 = frozenset({"avx2", "fma", "f16c", "bmi1", "bmi2"})
_AVX512 = _AVX2 | {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}
_AMX = frozenset({"avx512_vnni", "avx512_bf16", "avx512vbmi", "amx_tile", "amx_int8", "amx_bf16"})
_NEEDS: Mapping[str, frozenset[str]] = {
    "avx512amx": _AVX512 | _AMX,
    "avx512vnni": _AVX512 | {"avx512_vnni"},
    "avx512": _AVX512,
    "avx2vnni": _AVX2 | {"avx_vnni"},
    "avx2": _AVX2,
    "baseline": frozenset[str](),
}
"""The flags of `/proc/cpuinfo` that each kind of x86-64 needs, in the order of `TARGETS`."""


def detect() -> TargetInfo:
    """This machine, or what `MIND_NATIVE_ISA` takes it for; E7001 if that is none, or is more than the machine can do."""
    wanted = os.environ.get(ISA_VARIABLE)
    found = replace(this_machine(), checked=bool(os.environ.get(CHECKS_VARIABLE)))
    if not wanted or wanted == found.isa:
        return found
    other = target_of(wanted, ISA_VARIABLE)
    if wanted not in runnable():
        raise error("E7001", f"{ISA_VARIABLE}={wanted!r}, which this machine ({found.isa}) cannot run", option=ISA_VARIABLE)
    return replace(
        other, l1_bytes=found.l1_bytes, l2_bytes=found.l2_bytes, shared_bytes=found.shared_bytes, checked=found.checked
    )


def runnable() -> Sequence[str]:
    """Return the kinds of machines whose code this machine runs, the best first."""
    if _is_aarch64():
        sve, dot = _sve_bytes() == TARGETS["sve256"].vector_bytes, "asimddp" in _flags()
        return [isa for isa, is_here in (("sve256", sve), ("neondot", dot), ("neon", True)) if is_here]
    flags = _flags()
    return [isa for isa, needs in _NEEDS.items() if needs <= flags and ("amx_tile" not in needs or _has_tile_data())]


@lru_cache(maxsize=1)
def this_machine() -> TargetInfo:
    """This machine as its operating system describes it; what is not known to be there is taken to be absent."""
    found = TARGETS[runnable()[0]]
    first, second, third = (_cache_bytes(k, n) for k, n in ((1, found.l1_bytes), (2, found.l2_bytes), (3, found.shared_bytes)))
    least, most = SHARED
    return replace(found, cpu="", l1_bytes=first, l2_bytes=second, shared_bytes=max(least, min(third, most)))


def _is_aarch64() -> bool:
    return platform.machine().lower() in ("aarch64", "arm64")


def _sve_bytes() -> int:
    """Return the bytes in a vector of SVE in this process; 0 where the machine has none or the system is not Linux."""
    try:
        answer = int(ctypes.CDLL(None).prctl(_PR_SVE_GET_VL, 0, 0, 0, 0))
    except (AttributeError, OSError):
        return 0
    return answer & 0xFFFF if answer > 0 else 0


@lru_cache(maxsize=1)
def _has_tile_data() -> bool:
    """
    Ask Linux for the tile registers of AMX; return whether this process may use them.

    A process gets their state only on request, once for all of its threads (Documentation/arch/x86/xstate.rst).
    """
    if "amx_tile" not in _flags():
        return False
    try:
        arguments = map(ctypes.c_long, (_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA))
        return int(ctypes.CDLL(None).syscall(*arguments)) == 0
    except (AttributeError, OSError):
        return False


def _flags() -> frozenset[str]:
    """Return what the first core can do, by the names of the system: `flags` of x86-64, `Features` of AArch64."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return frozenset()
    found = next((line.partition(":")[2] for line in lines if line.startswith(("flags", "Features"))), "")
    return frozenset(found.split())


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
