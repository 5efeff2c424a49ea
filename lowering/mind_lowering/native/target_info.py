"""
The target of native code: an instruction set, the width of its vectors, the caches.

The text of a program depends on a `TargetInfo` and on nothing else of the machine: lowering takes one as an argument. It holds no
number of threads, because results may not depend on that: the runtime shares the work. `host.py` describes this machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from mind_dialect.errors import error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import BF16, F16, F32, F64, Kind, PtirDType

LINE = 64
"""Bytes of a line of the caches, on machines that we know."""
WAYS = 8
"""Lines of a first-level cache that share a place, on machines that we know."""

SHARED = 32 << 20, 56 << 20
"""
Bytes that one program has of the third-level cache, at least and at most.

The first are those of the cores that share one on Zen 4; larger ones serve other programs too: of 480 MiB on an Intel machine,
stores that go past the caches were measured to be faster from 48 (elementwise) and 80 MiB (rows) on.
"""


@dataclass(frozen=True)
class TargetInfo:
    """A kind of machine. `cpu` and `triple` are LLVM's names; an empty `cpu` is the machine that LLVM runs on."""

    isa: str
    triple: str
    cpu: str
    vector_bytes: int
    registers: int
    """The number of vector registers."""
    half: bool
    """True if an instruction converts between f16 and f32."""
    fma: bool
    l1_bytes: int = 32 << 10
    l2_bytes: int = 1 << 20
    shared_bytes: int = SHARED[0]
    dots: tuple[str, ...] = ()
    """Its dot products of narrow numbers, the best first: rows of `products/words.py`."""
    sve: bool = False
    """True if vectors are those of SVE on a machine whose vectors have exactly `vector_bytes` bytes."""
    flushes: bool = False
    """True if subnormal numbers count as 0."""
    checked: bool = False
    """True if kernels check each address before they read or write it: for tests."""

    def lanes(self, size: int) -> int:
        """
        Return how many elements of `size` bytes one vector holds.

        >>> TARGETS["avx2"].lanes(4), TARGETS["baseline"].lanes(8)
        (8, 2)
        """
        return max(1, self.vector_bytes // size)

    @property
    def has_avx512(self) -> bool:
        """Return whether there are the permutations and the exponents of AVX-512."""
        return self.isa in ("avx512", "avx512vnni", "avx512amx")

    @property
    def has_float_extremes(self) -> bool:
        """Return whether one instruction is `a < b ? a : b` of floats, NaN and zeros included."""
        return self.triple.startswith("x86_64")

    @property
    def saturates(self) -> bool:
        """Return whether an instruction converts vectors of floats to integers and saturates."""
        return self.triple.startswith("aarch64")

    @property
    def attributes(self) -> str:
        """
        Return what each function says of the vectors, and of subnormal numbers, to LLVM.

        SVE registers hold `vscale` times 16 bytes. Where the range of `vscale` is one number, LLVM keeps vectors of fixed
        width in them: https://llvm.org/docs/LangRef.html#function-attributes.
        """
        scale = self.vector_bytes // 16
        vectors = f"vscale_range({scale},{scale}) " if self.sve else ""
        return vectors + ('"denormal-fp-math"="preserve-sign,preserve-sign" ' if self.flushes else "")


_LINUX = "unknown-linux-gnu"
_VNNI, _PAIRS = ("vpdpbusd", "vpmaddwd"), ("vpmaddwd",)
_AMX = ("amx.int8", "amx.bf16", *_VNNI)
TARGETS: Mapping[str, TargetInfo] = {
    "avx512amx": TargetInfo("avx512amx", f"x86_64-{_LINUX}", "sapphirerapids", 64, 32, True, True, dots=_AMX),
    "avx512vnni": TargetInfo("avx512vnni", f"x86_64-{_LINUX}", "cascadelake", 64, 32, True, True, dots=_VNNI),
    "avx512": TargetInfo("avx512", f"x86_64-{_LINUX}", "x86-64-v4", 64, 32, True, True, dots=_PAIRS),
    "avx2vnni": TargetInfo("avx2vnni", f"x86_64-{_LINUX}", "alderlake", 32, 16, True, True, dots=_VNNI),
    "avx2": TargetInfo("avx2", f"x86_64-{_LINUX}", "x86-64-v3", 32, 16, True, True, dots=_PAIRS),
    "baseline": TargetInfo("baseline", f"x86_64-{_LINUX}", "x86-64", 16, 16, False, False, dots=_PAIRS),
    "sve256": TargetInfo("sve256", f"aarch64-{_LINUX}", "neoverse-v1", 32, 32, True, True, dots=("sve.dot",), sve=True),
    "neondot": TargetInfo("neondot", f"aarch64-{_LINUX}", "cortex-a76", 16, 32, True, True, dots=("neon.dot",)),
    "neon": TargetInfo("neon", f"aarch64-{_LINUX}", "generic", 16, 32, True, True),
}
"""The kinds of machines by the name of their instruction set, the best of a family first."""


def target_of(isa: str, option: str = "isa") -> TargetInfo:
    """Return the target of an instruction set; E7001, which names the `option` that has it, for another."""
    if (found := TARGETS.get(isa)) is None:
        raise error("E7001", f"{option}={isa!r}, expected one of {sorted(TARGETS)}", option=option)
    return found


def computes(dtype: PtirDType, host: TargetInfo) -> bool:
    """Return whether there is arithmetic of a dtype here; f16 takes a machine that converts it."""
    if dtype.kind is Kind.FLOAT:
        return dtype in (BF16, F32, F64) or (dtype is F16 and host.half)
    return dtype.kind is not Kind.COMPLEX and dtype.bits != 4
