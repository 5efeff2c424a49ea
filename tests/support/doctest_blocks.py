"""Examples in docstrings as code blocks of the site: Markdown would read `>>>` as quotations in quotations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from griffe import Extension

PROMPT = ">>> "


def fenced(text: str) -> str:
    """Return a docstring whose doctests are blocks of code; one ends at the next empty line."""
    return "\n".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    for is_blank, group in groupby(text.split("\n"), lambda line: not line.strip()):
        lines = list(group)
        first = next((i for i, line in enumerate(lines) if line.lstrip().startswith(PROMPT)), None)
        if is_blank or first is None:
            yield from lines
            continue
        yield from lines[:first]
        yield from ["", "```pycon", *lines[first:], "```"]


class DoctestBlocks(Extension):
    """The extension of mkdocstrings that `mkdocs.yml` names."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
