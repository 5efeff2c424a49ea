"""Identifiers of generated Python."""

from __future__ import annotations

import re
from keyword import iskeyword, issoftkeyword

_RESERVED = re.compile(r"xp|k|seed|Kernels|[vi][0-9]+|d_.*|.*_[ck][0-9]+")
_LONGEST = 60


class PythonNames:
    """Plain, distinct Python identifiers for whatever a program calls its things."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def identifier(self, text: str) -> str:
        """
        An identifier like `text` which nothing else of this scope has, neither keyword nor a name the code uses itself.

        >>> names = PythonNames()
        >>> names.identifier("w.1"), names.identifier("w 1"), names.identifier("class"), names.identifier("v3")
        ('w_1', 'w_1_1', 'class_', 'v3_')
        """
        base = re.sub(r"[^0-9A-Za-z_]", "_", text)[:_LONGEST]
        if not base or not base[0].isalpha():
            base = "n" + base
        if iskeyword(base) or issoftkeyword(base) or _RESERVED.fullmatch(base):
            base += "_"
        name = base
        while name in self._taken:
            self._taken[base] += 1
            name = f"{base}_{self._taken[base]}"
        self._taken[name] = 0
        return name
