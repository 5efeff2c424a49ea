"""
Align the lines of a program with those before a pass, and mark the ones that differ.

An op that a pass leaves in place keeps its lines; other lines are matched by their location in the source and their text without
the names of values, then by their location alone. A line that differs in indentation and in the names of values only, each the
new name of the same value, is renumbered and not changed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

from xdsl.ir import Operation

from mind_dialect.locations import shown_location

SAME, RENUMBERED, CHANGED, REPLACED = range(4)
"""The kind of a run of lines: as many lines before and after, or lines before replaced by lines after."""
MOST_COMPARED = 250_000
"""Pairs of lines between two anchors; more are not compared, and shown as replaced."""
_NAME = re.compile(r'("(?:[^"\\]|\\.)*+")|%([\w$.-]+)')
_DEFINED = re.compile(r"\s*(?:(?:%[\w$.:-]+(?:, )?)+ = |\^|(?:\"func\.func\"|func\.func)\b)")


@dataclass(frozen=True)
class Line:
    """A line of a program: its text, the op that it belongs to, and which line of that op it is."""

    text: str
    op: Operation
    number: int


class LineRun(NamedTuple):
    """A run of lines of one kind: how many before the pass, and how many after."""

    kind: int
    before: int
    after: int


def aligned(before: Sequence[Line], after: Sequence[Line]) -> list[LineRun]:
    """Return runs of lines, in order, that cover both programs."""
    kept = {line.op for line in before} & {line.op for line in after}
    runs: list[LineRun] = []
    for kind, group in groupby(_kinds(before, after, kept), key=lambda run: run.kind):
        members = list(group)
        runs.append(LineRun(kind, sum(run.before for run in members), sum(run.after for run in members)))
    return runs


def _kinds(before: Sequence[Line], after: Sequence[Line], kept: set[Operation]) -> Iterator[LineRun]:
    """Yield a run for each matched line, and for each block that has no match."""
    names: dict[str, str] = {}
    i = k = 0
    for j, n in _matches(before, after, kept):
        for old in before[i:j]:
            for name in _defined_names(old.text):
                names.pop(name, None)
        if j > i or n > k:
            yield LineRun(REPLACED, j - i, n - k)
        if j < len(before):
            yield LineRun(_compared(before[j].text, after[n].text, names), 1, 1)
        i, k = j + 1, n + 1


def _matches(before: Sequence[Line], after: Sequence[Line], kept: set[Operation]) -> list[tuple[int, int]]:
    """
    Return pairs of lines in order, and last the ends.

    Equal keys come first, by a patience diff as of Bram Cohen: of the keys that both have once the longest increasing sequence,
    then what difflib finds between two of them, unless that is long. What is left is matched by location alone: of the ops that
    one op became, the last has its value.
    """
    old_keys, new_keys = [_key(line, kept) for line in before], [_key(line, kept) for line in after]
    found = _between(
        _anchors(old_keys, new_keys), len(before), len(after), lambda i, j, k, n: _similar(old_keys[i:j], new_keys[k:n])
    )
    return _between(
        found[:-1],
        len(before),
        len(after),
        lambda i, j, k, n: _anchors(_locations(before[i:j], kept), _locations(after[k:n], kept)),
    )


def _between(
    found: Sequence[tuple[int, int]], end: int, new_end: int, matches: Callable[[int, int, int, int], Sequence[tuple[int, int]]]
) -> list[tuple[int, int]]:
    """Return pairs with those added that `matches` gives for each gap, relative to it, and last the ends."""
    every: list[tuple[int, int]] = []
    i = k = 0
    for j, n in [*found, (end, new_end)]:
        if j > i and n > k:
            every += [(i + a, k + b) for a, b in matches(i, j, k, n)]
        every.append((j, n))
        i, k = j + 1, n + 1
    return every


def _similar(before: Sequence[object], after: Sequence[object]) -> list[tuple[int, int]]:
    """Return the pairs that difflib finds, none where that takes long."""
    if len(before) * len(after) > MOST_COMPARED:
        return []
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return [(a + i, b + i) for a, b, size in blocks for i in range(size)]


def _locations(lines: Sequence[Line], kept: set[Operation]) -> list[object]:
    """Return for each line what matches it: the location of the last op there is, nothing for other lines."""
    last = {shown_location(line.op.location): i for i, line in enumerate(lines) if not line.number and line.op not in kept}
    last.pop("", None)
    keys: list[object] = [object() for _ in lines]
    for place, i in last.items():
        keys[i] = place
    return keys


def _anchors(before: Sequence[object], after: Sequence[object]) -> list[tuple[int, int]]:
    """Return a longest sequence of pairs in order, of keys that are once in both."""
    counts = Counter(before), Counter(after)
    places = {key: n for n, key in enumerate(after) if counts[1][key] == 1}
    ends: list[int] = []
    chains: list[tuple[int, int, int]] = []
    last: list[int] = []
    for j, key in enumerate(before):
        if key in places and counts[0][key] == 1:
            n = places[key]
            length = bisect_left(ends, n)
            ends[length : length + 1] = [n]
            last[length : length + 1] = [len(chains)]
            chains.append((j, n, last[length - 1] if length else -1))
    found: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        j, n, at = chains[at]
        found.append((j, n))
    return found[::-1]


def _key(line: Line, kept: set[Operation]) -> object:
    """Return what is equal for lines that are the same one, or may be."""
    return (line.op, line.number) if line.op in kept else (shown_location(line.op.location), _nameless(line.text))


def _nameless(text: str) -> str:
    return _NAME.sub(lambda match: match[1] or "%", text.strip())


def _names(text: str) -> list[str]:
    return [name for quoted, name in _NAME.findall(text) if not quoted]


def _defined_names(text: str) -> list[str]:
    """Return the names of the values that a line defines, arguments of blocks and functions included."""
    match = _DEFINED.match(text)
    if match is None:
        return []
    return _names(match[0]) if match[0].endswith("= ") else _names(text)


def _compared(old: str, new: str, names: dict[str, str]) -> int:
    """
    Return the kind of a line that is matched by another; `names` maps the names before to those after, and is kept up.

    Equal text is a change too where a name in it is that of another value now.
    """
    defined, now = _defined_names(old), _defined_names(new)
    is_renamed = _nameless(old) == _nameless(new) and len(defined) == len(now)
    uses = _names(old)[len(defined) :], _names(new)[len(now) :]
    is_renamed = is_renamed and all(names.get(a, a) == b for a, b in zip(*uses, strict=True))
    for name in defined:
        names.pop(name, None)
    names.update(zip(defined, now, strict=False))
    if not is_renamed:
        return CHANGED
    return SAME if old == new else RENUMBERED
