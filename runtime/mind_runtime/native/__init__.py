"""
Programs as native code: `compile(module, target="native")`.

    jit.py     text -> machine code in memory, by LLVM's code generator; kept on disk
    call.py    arguments -> table of addresses -> entries and steps on NumPy -> results
    program.py the callable: a `Program` whose body is native

It takes Linux and llvmlite, an extra; without them, `compile` is E6002 before anything else happens. Code is generated anywhere.
"""

from __future__ import annotations

import sys
from importlib import import_module

from mind_dialect.errors import error


def require() -> None:
    """Raise E6002 unless this is Linux and llvmlite is there."""
    if not sys.platform.startswith("linux"):
        message = f"the target 'native' runs on Linux, this is {sys.platform}: use 'numpy' or 'xla'; -t native prints the code"
        raise error("E6002", message, requested="native", available=["numpy"])
    try:
        import_module("llvmlite.binding")
    except ImportError:
        message = "the target 'native' needs the package llvmlite, which is not installed: pip install 'mind-dialect[native]'"
        raise error("E6002", message, requested="native", available=["numpy"]) from None
