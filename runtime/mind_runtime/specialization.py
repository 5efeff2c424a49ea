"""
Limits on compiling a dynamic program for sizes that it is called with, and the classes of sizes that are told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from mind_dialect.errors import brief, error
from mind_lowering.target_options import ON_OR_OFF

VECTOR = 16
"""Sizes divisible by this are a class of their own: the lanes of f32 in the widest vector, the same on every machine."""


@dataclass(frozen=True)
class Specialization:
    """
    Limits on compiling a dynamic program for sizes that it is called with; `compile(..., specialize=)` takes them.

    With `max_programs=0` the general program alone runs. With `eager` sizes are compiled for within their first call, as long as
    there is room, so that results do not depend on when a program becomes ready.
    """

    max_programs: int = 64
    """The number of programs that are kept."""
    max_bytes: int = 1 << 30
    """The bytes that they may take: code, constants, packed weights and memory for temporaries."""
    compile_share: float = 0.5
    """The share of the time since the first call that may go into compiling."""
    background: bool = True
    """True to compile while calls go on, as far as the target can; else within a call."""
    eager: bool = False
    """True to compile within the first call with a size, up to the limits of programs and bytes, and to evict nothing."""

    @staticmethod
    def of(given: object) -> Specialization:
        """
        Return limits from themselves, a mapping, text such as `max_programs=8 background=off`, or None; E7001 for others.

        >>> Specialization.of("max_programs=8 background=off")
        Specialization(max_programs=8, max_bytes=1073741824, compile_share=0.5, background=False, eager=False)
        """
        if given is None:
            return Specialization()
        if isinstance(given, Specialization):
            return given
        words: dict[str, Any] = {}
        if isinstance(given, str):
            for part in given.replace(",", " ").split():
                word, _, value = part.partition("=")
                words[word] = value or "on"
        elif isinstance(given, Mapping):
            words = {str(word): value for word, value in cast("Mapping[object, object]", given).items()}
        else:
            message = f"specialize is {brief(repr(given))}, expected limits such as {{'max_programs': 8}} or text"
            raise error("E7001", message, option="specialize")
        kinds: dict[str, type] = {f.name: type(cast("object", f.default)) for f in fields(Specialization)}
        for word in words:
            if word not in kinds:
                message = f"specialize: {brief(repr(word))} is unknown, expected one of {list(kinds)}"
                raise error("E7001", message, option="specialize")
        return Specialization(**{word: _value(word, kinds[word], value) for word, value in words.items()})


def _value(word: str, kind: type, given: object) -> Any:
    """Return the value of a limit; E7001 for one that is not of its kind or out of range."""
    expected = {bool: "on or off", int: "an integer from 0 to 2^62", float: "a number of at least 0"}[kind]
    found: object = given
    if kind is bool:
        found = ON_OR_OFF.get(given, None) if isinstance(given, str) else given
        is_right = isinstance(found, bool)
    else:
        try:
            found = kind(given) if isinstance(given, str) else given
        except ValueError:
            found = None
        if kind is float and isinstance(found, int) and not isinstance(found, bool):
            found = float(min(found, 1 << 62))
        is_right = type(found) is kind and 0 <= cast("float", found) <= 1 << 62
    if not is_right:
        raise error("E7001", f"specialize: {word} is {brief(repr(given))}, expected {expected}", option="specialize")
    return found


def class_of(sizes: Mapping[str, int]) -> str:
    """
    Return the class of sizes, in the notation of declarations.

    >>> class_of({"B": 1, "T": 96, "P": 100})
    'B == 1, T in 65..128, T % 16 == 0, P in 65..128'
    """
    parts: list[str] = []
    for name, n in sizes.items():
        if n < 2:
            parts.append(f"{name} == {n}")
            continue
        bound = 1 << (n - 1).bit_length()
        parts.append(f"{name} in {bound // 2 + 1}..{bound}")
        if n % VECTOR == 0:
            parts.append(f"{name} % {VECTOR} == 0")
    return ", ".join(parts)
