"""
Options of a target that are on or off, from the words in braces behind its name.

`-t 'cupy{tf32=on}'`, `mind-run --target 'cupy{tf32 graph=off}'` and `compile(module, target="cupy{fast-reduce}")` know the
same words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from mind_dialect.errors import brief, error

_TARGET = re.compile(r"([\w-]+)(?:\{([^{}]*)\})?")
ON_OR_OFF = {"on": True, "true": True, "off": False, "false": False}
"""Meanings of the words for an option that is on or off."""


@dataclass(frozen=True)
class Switches:
    """The options of a target, each a field that is on or off."""

    target: ClassVar[str]

    @classmethod
    def of(cls, words: Mapping[str, Any]) -> Self:
        """The options from words such as `{"fast-reduce": "on"}`; E7001 for others."""
        known = {f.name.replace("_", "-"): f.name for f in fields(cls)}
        found: dict[str, bool] = {}
        for word, value in words.items():
            if word not in known:
                message = f"option {word!r} of {cls.target} is unknown, expected one of {list(known)}"
                hint = "; threads are given separately, by threads= or --threads" if word == "threads" else ""
                raise error("E7001", message + hint, option=word)
            on = value if isinstance(value, bool) else ON_OR_OFF.get(str(value))
            if on is None:
                raise error("E7001", f"option {word} of {cls.target} is {value!r}, expected on or off", option=word)
            found[known[word]] = on
        return cls(**found)

    def __str__(self) -> str:
        """As they are written: `fast-reduce graph=off`; nothing for the default."""
        parts: list[str] = []
        for f in fields(self):
            value, word = getattr(self, f.name), f.name.replace("_", "-")
            if value != f.default:
                parts.append(word if value else f"{word}=off")
        return " ".join(parts)


def read_target(text: str) -> tuple[str, dict[str, str]]:
    """
    The name of a target and the words in braces behind it; E7001 for what is neither.

    >>> read_target("cupy{tf32 graph=off}")
    ('cupy', {'tf32': 'on', 'graph': 'off'})
    """
    found = _TARGET.fullmatch(text.strip()) if isinstance(text, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if found is None:
        raise error(
            "E7001",
            f"target {brief(text)}, expected a name, perhaps with options as in cupy{{tf32 graph=off}}",
            option=brief(text),
        )
    words: dict[str, str] = {}
    for part in (found[2] or "").replace(",", " ").split():
        word, _, value = part.partition("=")
        if word in words:
            raise error("E7001", f"option {word!r} of target {found[1]} is given twice", option=word)
        words[word] = value or "on"
    return found[1], words
