"""
LLVM IR text to object code, on several threads where there is much of it.

LLVM itself is content with one module a thread, llvmlite lets one thread in at a time. So the module is split by functions, and
the one call that takes long goes past llvmlite's lock. How it is split depends on lengths, not on how many threads there are, so
that code is the same whoever makes it.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from mind_dialect.errors import error
from mind_dialect.lazy_dataclass import dataclass
from mind_lowering.native import TargetInfo

from .llvm import llvm

PART = 1 << 17
"""Characters of a part, at most, where there are fewer than `MOST` and functions are short."""
MOST = 8
"""So many parts at most."""
_FUNCTION = re.compile(r"^define .*?^}\n", re.MULTILINE | re.DOTALL)
_HEAD = re.compile(r"^define (internal )?(.*?) #([01]) \{$", re.MULTILINE)
"""The head of a function; of group 1 are those that are marked `optnone`."""
_PARAMETER = re.compile(r" %[^,)]+(?=[,)])")


@dataclass(frozen=True)
class Part:
    """Some functions of a module, as a module; not `optimised` if each is marked `optnone`."""

    text: str
    optimised: bool = True


def parts_of(text: str) -> list[Part]:
    """
    A module as several, which are to be linked together: each has all that is no function, and some of the functions.

    Functions marked `optnone` have a part of their own. A module that has anything between functions but comments, declarations
    and attributes is left whole.
    """
    count = min(1 + len(text) // PART, MOST)
    if count < 2:
        return [Part(text)]
    functions = _FUNCTION.findall(text)
    common = _FUNCTION.sub("", text)
    heads = [match for f in functions if (match := _HEAD.match(f)) is not None]
    if re.search(r"^@", common, re.MULTILINE) or len(heads) < len(functions):
        return [Part(text)]
    signatures = [_PARAMETER.sub("", match.group(2)) for match in heads]
    fast = [i for i, match in enumerate(heads) if match.group(3) == "1"]
    bins: list[list[int]] = [[] for _ in range(count - bool(fast))]
    sizes = [0] * len(bins)
    for i in sorted(range(len(functions)), key=lambda i: -len(functions[i])):
        if i not in fast:
            k = sizes.index(min(sizes))
            bins[k].append(i)
            sizes[k] += len(functions[i])

    def part(members: Sequence[int], optimised: bool) -> Part:
        own = set(members)
        others = [f"declare {s}" for i, s in enumerate(signatures) if i not in own]
        bodies = [functions[i].replace("define internal ", "define hidden ", 1) for i in sorted(members)]
        return Part("\n".join([common, *others, *bodies]), optimised)

    return [*(part(members, True) for members in bins), *([part(fast, False)] if fast else [])]


def objects(text: str, host: TargetInfo, threads: int) -> list[bytes]:
    """The object files of a module for a kind of machine, made by so many threads; E7004 for text that LLVM refuses."""
    parts = parts_of(text)
    machines = [machine(host, optimised=part.optimised) for part in parts]  # no other may use one meanwhile
    if len(parts) == 1 or threads == 1:
        return [_emitted(made, _parsed(part.text, made)) for part, made in zip(parts, machines, strict=True)]
    from concurrent.futures import ThreadPoolExecutor  # slow to load, and most modules are one part

    with ThreadPoolExecutor(min(threads, len(parts))) as pool:  # parts are compiled while others are parsed
        emitting = [pool.submit(_emitted, made, _parsed(part.text, made)) for part, made in zip(parts, machines, strict=True)]
        return [future.result() for future in emitting]


def object_code(text: str, host: TargetInfo, *, optimised: bool = True) -> bytes:
    """The module as one object file for a kind of machine; E7004 for text that LLVM refuses."""
    made = machine(host, optimised=optimised)
    return _emitted(made, _parsed(text, made))


def assembly(text: str, host: TargetInfo) -> str:
    """The module as assembly text, for tests and for reading."""
    made = machine(host)
    return str(made.emit_assembly(_parsed(text, made)))


def machine(host: TargetInfo, *, optimised: bool = True) -> Any:
    """LLVM's description of a kind of machine. No pass runs over the text but those of code generation."""
    here = _is_like_this(host)
    initialise(others=not here)
    cpu, features = names_of(host)
    triple = llvm().get_process_triple() if here else host.triple
    target = llvm().Target.from_triple(triple)
    return target.create_target_machine(cpu=cpu, features=features, opt=2 if optimised else 0, reloc="pic", codemodel="small")


def _is_like_this(host: TargetInfo) -> bool:
    return host.triple.partition("-")[0] == str(llvm().get_process_triple()).partition("-")[0]


def names_of(host: TargetInfo) -> tuple[str, str]:
    """The processor and the features to make code for: of this very machine all it has, else what the kind has."""
    return (host.cpu, "") if host.cpu else _this_machine()


@lru_cache(maxsize=1)
def _this_machine() -> tuple[str, str]:
    return tuned(str(llvm().get_host_cpu_name()), str(llvm().get_host_cpu_features().flatten()))


def tuned(cpu: str, features: str) -> tuple[str, str]:
    """
    Return the names of a processor and its features, with what LLVM does not know of its speed.

    AMD's processors gather by microcode, which takes up to four times as long as a load of each lane.

    >>> tuned("znver4", "+avx512f"), tuned("sapphirerapids", "+avx512f")
    (('znver4', '+avx512f,+prefer-no-gather'), ('sapphirerapids', '+avx512f'))
    """
    return cpu, f"{features},+prefer-no-gather" if cpu.startswith("znver") else features


@lru_cache(maxsize=2)
def initialise(*, others: bool = False) -> None:
    """Make LLVM know this kind of machine, or all."""
    if others:
        llvm().initialize_all_targets()
        llvm().initialize_all_asmprinters()
    else:
        llvm().initialize_native_target()
        llvm().initialize_native_asmprinter()


def _parsed(text: str, machine: Any) -> Any:
    """A module in memory that goes with it; E7004 for what is none."""
    try:
        module = llvm().parse_assembly(text, llvm().create_context())
        module.verify()
    except RuntimeError as e:
        raise error("E7004", f"LLVM refuses a module of ours: {e}", stage="native", issue=str(e)) from None
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def _emitted(machine: Any, module: Any) -> bytes:
    """The object file of a module; other threads may emit others meanwhile."""
    emit = _unlocked()
    if emit is None:
        return bytes(machine.emit_object(module))
    message = ctypes.c_char_p()
    buffer = emit(machine, module, 1, ctypes.byref(message))
    if not buffer:
        issue = (message.value or b"").decode(errors="replace")
        raise error("E7004", f"LLVM cannot make code of a module of ours: {issue}", stage="native", issue=issue)
    lib = llvm().ffi.lib
    try:
        return ctypes.string_at(lib.LLVMPY_GetBufferStart(buffer), lib.LLVMPY_GetBufferSize(buffer))
    finally:
        lib.LLVMPY_DisposeMemoryBuffer(buffer)


@lru_cache(maxsize=1)
def _unlocked() -> Any:
    """LLVM's function that makes an object file, without llvmlite's lock; None where llvmlite is not built as it is known."""
    try:
        known = llvm().ffi.lib.LLVMPY_TargetMachineEmitToMemory
        found = ctypes.CDLL(llvm().ffi.lib._name).LLVMPY_TargetMachineEmitToMemory
        found.argtypes, found.restype = known.argtypes, known.restype
    except (AttributeError, OSError):
        return None
    return found


def packed(objects: Sequence[bytes]) -> bytes:
    """Several object files as one."""
    head = [len(objects), *map(len, objects)]
    return b"".join([*(n.to_bytes(8, "little") for n in head), *objects])


def unpacked(data: bytes) -> list[bytes]:
    """The object files of `packed`; ValueError for anything else."""
    count = int.from_bytes(data[:8], "little")
    if not 0 < count <= MOST:
        raise ValueError(count)
    sizes = [int.from_bytes(data[8 * (1 + i) : 8 * (2 + i)], "little") for i in range(count)]
    start = 8 * (1 + count)
    if start + sum(sizes) != len(data):
        raise ValueError(sizes)
    found: list[bytes] = []
    for size in sizes:
        found.append(data[start : start + size])
        start += size
    return found
