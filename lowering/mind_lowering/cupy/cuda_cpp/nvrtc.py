"""
CUDA C++ to machine code by NVRTC, kept on disk by content: text, machine, options and compiler.

CuPy's own modules are compiled with subnormal numbers flushed to zero, whatever is asked for, which the NumPy target does not do.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

from mind_dialect.errors import error

from ... import code_cache
from .text import NVRTC_OPTIONS

_FORMAT = "1"
"""Of what is kept on disk; a change makes older files unknown."""
_CUBIN = b"\x7fELF"


def library() -> Any:
    """CuPy's bindings of NVRTC."""
    return import_module("cupy.cuda").nvrtc  # an attribute: the module has another name


def architecture(capability: str, nvrtc: Any = None) -> str:
    """Return what to compile for a GPU, given as `90`: its own code or, for one that NVRTC does not know yet, the newest."""
    known = [int(n) for n in (library() if nvrtc is None else nvrtc).getSupportedArchs()]
    newest = max(known, default=int(capability))
    return f"sm_{capability}" if int(capability) <= newest else f"compute_{newest}"


def with_features(source: str, architecture: str) -> str:
    """
    Return the architecture for a module, with the features of `sm_90` alone if it multiplies by groups of warps.

    >>> with_features("mind::attend_warp_group<...>", "sm_90"), with_features("mind::attend_narrow<...>", "sm_90")
    ('sm_90a', 'sm_90')
    """
    return "sm_90a" if architecture == "sm_90" and "mind::attend_warp_group" in source else architecture


def machine_code(source: str, architecture: str, nvrtc: Any = None) -> bytes:
    """
    The kernels of a module for an architecture such as `sm_90`, from the cache on disk or compiled now.

    E7004 for text that NVRTC refuses: a fault of the compiler, never of a program.
    """
    nvrtc = library() if nvrtc is None else nvrtc
    architecture = with_features(source, architecture)
    options = (f"-arch={architecture}", *NVRTC_OPTIONS)
    name = code_cache.key(_FORMAT, source, "\0".join(options), str(nvrtc.getVersion()))
    code = code_cache.read(name, "cupy")
    if code is None or code.startswith(_CUBIN) != architecture.startswith("sm_"):
        code = _compiled(source, options, nvrtc)
        code_cache.write(name, code, "cupy")
    return code


def machine_codes(sources: Sequence[str], architecture: str, nvrtc: Any = None) -> list[bytes]:
    """As `machine_code`, of several modules side by side: NVRTC compiles them in threads."""
    if len(sources) < 2:
        return [machine_code(source, architecture, nvrtc) for source in sources]
    nvrtc = library() if nvrtc is None else nvrtc
    with ThreadPoolExecutor(min(len(sources), os.cpu_count() or 1), "mind-nvrtc") as pool:
        made = [pool.submit(machine_code, source, architecture, nvrtc) for source in sources]
        return [future.result() for future in made]


def _compiled(source: str, options: tuple[str, ...], nvrtc: Any) -> bytes:
    program = nvrtc.createProgram(source, "mind.cu", (), ())
    try:
        nvrtc.compileProgram(program, options)
        return bytes(nvrtc.getCUBIN(program)) if "-arch=sm_" in options[0] else bytes(nvrtc.getPTX(program)) + b"\0"
    except nvrtc.NVRTCError as e:
        log = str(nvrtc.getProgramLog(program)).strip("\0\n ")
        raise error("E7004", f"NVRTC refuses a kernel of ours: {e}: {log}", stage="cupy", issue=log) from None
    finally:
        nvrtc.destroyProgram(program)
