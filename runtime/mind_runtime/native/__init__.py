"""
Programs as native code: `compile(module, target="native")`.

    jit.py     text -> machine code in memory, by LLVM's code generator; kept on disk
    call.py    arguments -> table of addresses -> entries and steps on NumPy -> results
    program.py the callable: a `Program` whose body is native
    startup.py the native code of the runtime, generated while the first program is lowered
    llvm.py    llvmlite, whose library is opened while modules load

It takes Linux and llvmlite, an extra; without them, `compile` is E6002 before anything else happens. Code is generated anywhere.
"""

from __future__ import annotations

import sys

from mind_dialect.errors import error

from . import llvm


def require() -> None:
    """Raise E6002 unless this is Linux and llvmlite is there."""
    if not sys.platform.startswith("linux"):
        message = f"the target 'native' runs on Linux, this is {sys.platform}: use 'numpy' or 'xla'; -t native prints the code"
        raise error("E6002", message, requested="native", available=["numpy"])
    llvm.require()
