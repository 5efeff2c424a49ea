"""
The options of the target `cupy`, in one place.

`-t 'cupy{tf32=on}'`, `mind-run --target 'cupy{tf32 graph=off}'` and `compile(module, target="cupy{fast-reduce}")` know the
same words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from mind_dialect.errors import error

_TARGET = re.compile(r"([\w-]+)(?:\{([^{}]*)\})?")
_WORDS = {"on": True, "true": True, "off": False, "false": False}


@dataclass(frozen=True)
class CupyOptions:
    """Each is on or off. None of them changes what a program means, but for how floats are rounded."""

    fast_reduce: bool = False
    """Sums of floats may be added up in any order, and so differ in the last digits from run to run."""
    tf32: bool = False
    """Products of f32 may round their operands to 10 bits, for tensor cores."""
    epilogues: bool = False
    """Biases, GELU by tanh and their gradients may be computed by cuBLASLt with the products next to them, in f32."""
    warp_groups: bool = False
    """Attention of f16 and bf16 may be computed by four warps together (`wgmma`) on GPUs of compute capability 9.0."""
    graph: bool = True
    """True if sections that can be captured become CUDA graphs."""

    @staticmethod
    def of(words: Mapping[str, Any]) -> CupyOptions:
        """The options from words such as `{"fast-reduce": "on"}`; E7001 for others."""
        known = {f.name.replace("_", "-"): f.name for f in fields(CupyOptions)}
        found: dict[str, bool] = {}
        for word, value in words.items():
            if word not in known:
                raise error("E7001", f"option {word!r} of cupy is unknown, expected one of {list(known)}", option=word)
            on = value if isinstance(value, bool) else _WORDS.get(str(value))
            if on is None:
                raise error("E7001", f"option {word} of cupy is {value!r}, expected on or off", option=word)
            found[known[word]] = on
        return CupyOptions(**found)

    def __str__(self) -> str:
        """As they are written: `fast-reduce graph=off`; nothing for the default."""
        parts: list[str] = []
        for f in fields(self):
            value, word = getattr(self, f.name), f.name.replace("_", "-")
            if value != f.default:
                parts.append(word if value else f"{word}=off")
        return " ".join(parts)


DEFAULT = CupyOptions()


def read_target(text: str) -> tuple[str, dict[str, str]]:
    """
    The name of a target and the words in braces behind it; E7001 for what is neither.

    >>> read_target("cupy{tf32 graph=off}")
    ('cupy', {'tf32': 'on', 'graph': 'off'})
    """
    found = _TARGET.fullmatch(text.strip())
    if found is None:
        raise error("E7001", f"target {text!r}, expected a name, perhaps with options as in cupy{{tf32 graph=off}}", option=text)
    words: dict[str, str] = {}
    for part in (found[2] or "").replace(",", " ").split():
        word, _, value = part.partition("=")
        if word in words:
            raise error("E7001", f"option {word!r} of target {found[1]} is given twice", option=word)
        words[word] = value or "on"
    return found[1], words
