"""Modules and programs as HTML for notebooks: highlighted text, a foldable part for each function and region, no scripts."""

from __future__ import annotations

import html as _html
import re
import sys
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from mind_runtime import Program

MOST_LINES, MOST_BYTES = 500, 200_000
"""Most lines and bytes that are shown of a long module."""
_TOKENS = re.compile(
    r"(?P<string>\"(?:[^\"\\]|\\.)*\")|(?P<value>%[\w]+)|(?P<symbol>@[\w]+)|(?P<op>\b(?:ptir|mind|func|builtin)\.[\w.]+)"
    r"|(?P<type>\btensor<[^>]*(?:<[^>]*>)?[^>]*>)|(?P<number>(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)"
)
_COLOURS = {
    "string": "#a31515",
    "value": "#1f4e79",
    "symbol": "#7a3e00",
    "op": "#0b5394;font-weight:600",
    "type": "#3b6e22",
    "number": "#7d3c98",
}


def _span(match: re.Match[str]) -> str:
    kind = match.lastgroup or "op"
    return f'<span style="color:{_COLOURS[kind]}">{_html.escape(match[0])}</span>'


def _highlighted(line: str) -> str:
    parts: list[str] = []
    end = 0
    for match in _TOKENS.finditer(line):
        parts += [_html.escape(line[end : match.start()]), _span(match)]
        end = match.end()
    return "".join([*parts, _html.escape(line[end:])])


def html(module: Operation) -> str:
    """Return the module, or another op, as HTML of at most `MOST_BYTES`; of a longer one the first lines."""
    lines = str(module).splitlines()
    shown = lines[:MOST_LINES]
    body: list[str] = []
    depth = 0
    for i, line in enumerate(shown):
        opens = line.rstrip().endswith("{") and i + 1 < len(shown)
        closes = line.strip().startswith("}")
        if closes and depth:
            body.append("</details>")
            depth -= 1
        if opens:
            body.append(f"<details open><summary>{_highlighted(line)}</summary>")
            depth += 1
        else:
            body.append(f"{_highlighted(line)}\n")
        if sum(map(len, body[-2:])) > MOST_BYTES:
            break
    text = "".join(body)
    size = len(text)
    if len(lines) > len(shown) or size > MOST_BYTES:
        text = text[: text.rfind("\n", 0, MOST_BYTES - 1000) + 1] if size > MOST_BYTES else text
        text += f"... {len(lines)} lines in all; ma.save writes them to a file"
    text += "</details>" * (text.count("<details") - text.count("</details>"))
    return f'<pre style="line-height:1.3">{text}</pre>'


def program_html(program: Program) -> str:
    """Return a compiled program as HTML: its signature, the function that was compiled, and what runs where."""
    lines = "\n".join(program.explain())
    return (
        f"<code>{_html.escape(repr(program))}</code><details><summary>function</summary>{html(program.function)}</details>"
        f"<details><summary>what runs</summary><pre>{_html.escape(lines)}</pre></details>"
    )


def show_in_notebooks() -> None:
    """Let a running notebook show every module and compiled program this way."""
    ipython: Any = sys.modules["IPython"]
    if (shell := ipython.get_ipython()) is not None:
        formatter = shell.display_formatter.formatters["text/html"]
        formatter.for_type(ModuleOp, html)
        formatter.for_type(Program, program_html)
