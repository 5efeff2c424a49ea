"""Places of errors in a JSON text. Looked for only when there is one, without recursion, in one pass."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence

from mind_dialect.errors import MindError, brief, error

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
MAX_DIGITS = 4300
"""Most digits that Python reads of an integer."""

Place = tuple[int, int]


def locate(text: str, path: Sequence[str | int]) -> Place:
    """
    Start and end of the value at `path` in a well-formed text, or of the innermost value on the way that exists.

    >>> text = '{"a": [1, {"b": null}]}'
    >>> [text[slice(*locate(text, p))] for p in (["a", 0], ["a", 1, "b"], ["a", 1, "c", 2])]
    ['1', 'null', '{']
    """
    tokens = _TOKEN.finditer(text)
    match = next(tokens)
    for key in path:
        inside = match
        found = _member(tokens, key) if match[0] == ("[" if isinstance(key, int) else "{") else None
        if found is None:
            return inside.span()
        match = found
    return match.span()


def _member(tokens: Iterator[re.Match[str]], key: str | int) -> re.Match[str] | None:
    """The first token of a member of the object or list that has just been entered; None if there is no such member."""
    depth, index, name = 0, 0, ""
    for match in tokens:
        token = match[0]
        if not depth:
            if token in "]}":
                return None
            if token == ",":
                index += 1
                continue
            if token == ":":
                continue
            if isinstance(key, int):
                if index == key:
                    return match
            elif name:
                if json.loads(name) == key:
                    return match
                name = ""
            else:
                name = token
                continue
        depth += (token in "[{") - (token in "]}")
    return None


def first_fault(text: str) -> tuple[Place, MindError] | None:
    """The first key that an object repeats, or number that JSON or Python does not have, of a text well-formed so far."""
    objects: list[set[str] | None] = []
    previous = ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "{[":
            objects.append(set() if token == "{" else None)
        elif token in "}]":
            if objects:
                objects.pop()
        elif token[0] == '"':
            keys = objects[-1] if objects else None
            if keys is not None and previous in "{,":
                name: str = json.loads(token)
                if name in keys:
                    message = f"the key {name[:60]!a} is given twice in one object"
                    return match.span(), error("E4000", message, given=name[:60], expected="each key once")
                keys.add(name)
        elif (err := _number_fault(token)) is not None:
            return match.span(), err
        previous = token
    return None


def _number_fault(token: str) -> MindError | None:
    if token in ("NaN", "Infinity", "-Infinity"):
        issue = f'{token} is not a JSON number; write "{token}" in quotes'
        return error("E4005", issue, dtype="f64", issue=issue)
    if token.lstrip("-").isdecimal():
        if len(token.lstrip("-")) <= MAX_DIGITS:
            return None
        message = f"a number of {len(token)} digits, expected at most {MAX_DIGITS}"
        return error("E1005", message, text=brief(token))
    try:
        beyond = math.isinf(float(token))
    except ValueError:
        return None
    if not beyond:
        return None
    issue = f'{brief(token)} is beyond the range of f64; write "Infinity" for infinity'
    return error("E4005", issue, dtype="f64", issue=issue)
