"""
The text of `__init__.pyi`: what type checkers see of the namespace, whose functions come from the table.

`python -m mind_array.stubs` writes the file; a test compares it.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from .table import BY_NUMPY, TABLE, Row

PAGE = Path(__file__).parent / "__init__.pyi"
_HEAD = """# Made by `python -m mind_array.stubs`.
from builtins import bool as _bool
from typing import Any

from mind_array import ptir as ptir
from mind_array import random as random
from mind_array import tree as tree
"""
_KNOWN = {"Array", "Any", "None", "bool", "int", "float", "str", "tuple", "list", "DType", "FloatLimits", "IntegerLimits"}


def _annotation(given: Any) -> str:
    text = given if isinstance(given, str) else getattr(given, "__name__", str(given))
    words = set(re.findall(r"[A-Za-z_]\w*", text))
    return re.sub(r"\bbool\b", "_bool", text) if words <= _KNOWN else "Any"


_STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def _signature(row: Row) -> str:
    """The definition of a function with its types."""
    signature = inspect.signature(row.function)
    parts: list[str] = []
    kinds = [p.kind for p in signature.parameters.values()]
    for i, p in enumerate(signature.parameters.values()):
        if p.kind is p.KEYWORD_ONLY and p.VAR_POSITIONAL not in kinds and (not i or kinds[i - 1] is not p.KEYWORD_ONLY):
            parts.append("*")
        default = "" if p.default is p.empty else " = ..."
        kind = "Any" if p.annotation is p.empty else _annotation(p.annotation)
        parts.append(f"{_STARS.get(p.kind, '')}{p.name}: {kind}{default}")
        last = i + 1 == len(kinds) or kinds[i + 1] is not p.POSITIONAL_ONLY
        if p.kind is p.POSITIONAL_ONLY and last:
            parts.append("/")
    result = signature.return_annotation
    return f"def {row.name}({', '.join(parts)}) -> {'Any' if result is signature.empty else _annotation(result)}: ..."


def text() -> str:
    """Return the stub file."""
    ma: Any = importlib.import_module("mind_array")
    lines = [_HEAD]
    lines += ["from .array import Array as Array", "from .dim import Dim as Dim", "from .dtypes import DType as DType"]
    lines += [
        "from .rows.dtype_functions import FloatLimits as FloatLimits",
        "from .rows.dtype_functions import IntegerLimits as IntegerLimits",
    ]
    aliases = {n: r for n, r in BY_NUMPY.items() if "." not in n and getattr(ma, n) is r.function and n != r.qualified}
    named: set[str] = {n for n in ma.__all__ if n not in {r.name for r in TABLE.values() if not r.module} | {*aliases}}
    for name in sorted(named):
        found = getattr(ma, name)
        module = getattr(found, "__module__", "")
        if callable(found) and module.startswith("mind_array.") and name not in ("Array", "Dim"):
            lines.append(f"from .{module.removeprefix('mind_array.')} import {found.__name__} as {name}")
    lines += ["", "__array_api_version__: str"]
    dtypes = sorted(n for n in named if type(getattr(ma, n)).__name__.endswith("DType"))
    lines += [f"{n}: DType" for n in [*dtypes, "bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"]]
    lines += [f"{n}: float" for n in ("e", "inf", "nan", "pi")] + ["newaxis: None", ""]
    lines += [_signature(r) for r in sorted(TABLE.values(), key=lambda r: r.name) if not r.module]
    for module in ("linalg", "fft", "nn"):
        lines += ["", f"class {module}:"]
        for row in sorted((r for r in TABLE.values() if r.module == module), key=lambda r: r.name):
            lines += ["    @staticmethod", f"    {_signature(row)}"]
    lines += ["", *(f"{n} = {aliases[n].qualified}" for n in sorted(aliases))]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
