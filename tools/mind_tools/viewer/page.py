"""
The HTML file of a viewer: a page, a style sheet, our scripts and the layout library, and the programs as data.

Nothing that comes from a program is ever part of a script. It is JSON in an element of its own, without `<`, `>` and `&` and with
every character beyond ASCII escaped, and our scripts show it as text; the title and the memory plans are escaped HTML. The page's
content security policy allows the scripts whose hashes it names and no other, and no request.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from string import Template
from typing import Any

from mind_lowering.memory_plan import MemoryPlan

from .alignment import REPLACED, SAME
from .graph import kernels_by_origin
from .recording import AS_READ, Step
from .timing import Timing, timing_data

SCRIPTS = ("program.js", "boxes.js", "profile.js", "graph.js", "viewer.js")
"""Our scripts, in the order in which they run, after the layout library's."""
_ESCAPED = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
MOST_BLOCKS = 2000
"""A plan of more blocks is listed by its largest ones."""


@dataclass(frozen=True)
class Plan:
    """The memory of one function: its plan, or why it has none; `notes` are lines on what runs where."""

    function: str
    plan: MemoryPlan | None
    reason: str = ""
    notes: Sequence[str] = ()


@dataclass
class _Strings:
    """Texts, each once."""

    texts: dict[str, int] = field(default_factory=dict[str, int])

    def __call__(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))


def static(name: str) -> str:
    """Return a file of the page."""
    return files("mind_tools.viewer").joinpath("static", name).read_text(encoding="utf-8")


def page(title: str, steps: Sequence[Step], planned: str, plans: Sequence[Plan], timing: Timing | None = None) -> str:
    """Return the file; `planned` is the step that the plans are of, `timing` a profile to show over the program."""
    scripts = {"elk_api": static("elk-api.js"), "viewer": "\n".join(map(static, SCRIPTS))}
    style = static("viewer.css")
    return Template(static("page.html")).substitute(
        title=html.escape(title),
        scripts=" ".join(map(_hash, scripts.values())),
        styles=_hash(style),
        style=style,
        memory="\n".join(_memory(plan) for plan in plans) or "<p>No program of tensors, so there is no memory to plan.</p>",
        planned=html.escape(planned if planned in ("", AS_READ) else f"after {planned}"),
        data=_json(_data(title, steps, timing)),
        elk_worker=static("elk-worker.min.js"),
        **scripts,
    )


def _hash(text: str) -> str:
    """Return the source expression of a content security policy that allows a text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(data: Any) -> str:
    r"""
    Return data as JSON that can stand in any element.

    >>> _json(["</script>", "\u2028", "&lt;"])
    '["\\u003c/script\\u003e","\\u2028","\\u0026lt;"]'
    """
    return json.dumps(data, separators=(",", ":"), ensure_ascii=True).translate(_ESCAPED)


def _data(title: str, steps: Sequence[Step], timing: Timing | None) -> Mapping[str, Any]:
    strings = _Strings()
    tables = [step.ops for step in steps]
    last, kernels = kernels_by_origin(tables)
    shown = [_step(step, steps[i - 1] if i else None, strings) for i, step in enumerate(steps)]
    became = [[strings(function), strings(place), strings(kernel)] for (function, place), kernel in kernels.items()]
    profile = timing_data(timing, strings)
    kernels_data = {"step": last, "became": became}
    return {"title": title, "steps": shown, "kernels": kernels_data, "profile": profile, "strings": list(strings.texts)}


def _step(step: Step, before: Step | None, strings: _Strings) -> Mapping[str, Any]:
    """Return a step: of its lines those that the step before does not have, and its ops by columns unless they are the same."""
    if before is not None and before.lines == step.lines and before.ops == step.ops:
        return {"name": step.name}
    ops = step.ops
    runs = [list(run) for run in step.runs] or [[REPLACED, 0, len(step.lines)]]
    fresh: list[str] = []
    position = 0
    for kind, _, count in runs:
        fresh += step.lines[position : position + count] if kind != SAME else ()
        position += count
    return {
        "name": step.name,
        "runs": runs,
        "lines": fresh,
        "op": [strings(name) for name in ops.name],
        "parent": ops.parent,
        "line": ops.line,
        "uses": [[n for use in uses for n in use] for uses in ops.uses],
        "values": [" ".join(values) for values in ops.values],
        "types": [[strings(kind) for kind in kinds] for kinds in ops.types],
        "location": [strings(place) for place in ops.location],
        "origins": {row: [strings(place) for place in places] for row, places in ops.origins.items()},
        "kernel": [strings(kernel) for kernel in ops.kernel],
        "function": ops.function,
        "symbol": {row: symbol for row, symbol in enumerate(ops.symbol) if symbol},
        "gradient": ops.gradient,
        "primal": ops.primal,
    }


def _memory(plan: Plan) -> str:
    """Return the section of a function: the picture of its plan, and a table with the same facts."""
    heading = f"<h3>{html.escape(plan.function)}</h3>"
    notes = f"<pre>{html.escape(chr(10).join(plan.notes))}</pre>" if plan.notes else ""
    if plan.plan is None:
        return f"<section>{heading}<p>No plan: {html.escape(plan.reason)}</p>{notes}</section>"
    if not plan.plan.blocks:
        return (
            f"<section>{heading}<p>{html.escape(plan.plan.what)}: nothing but inputs, constants and results.</p>{notes}</section>"
        )
    blocks = sorted(plan.plan.blocks, key=lambda block: (-block.bytes, block.offset))[:MOST_BLOCKS]
    rows = "".join(
        f"<tr><td>{html.escape(b.name)}</td><td>{b.bytes:,}</td><td>{b.offset:,}</td><td>{b.first} to {b.last}</td></tr>"
        for b in blocks
    )
    size = f"{len(plan.plan.blocks):,} temporaries" + (
        f", the {len(blocks):,} largest" if len(blocks) < len(plan.plan.blocks) else ""
    )
    head = "<tr><th scope=col>value</th><th scope=col>bytes</th><th scope=col>offset</th><th scope=col>steps</th></tr>"
    table = f"<details><summary>{size}, as a table</summary><table><thead>{head}</thead><tbody>{rows}</tbody></table></details>"
    return f"<section>{heading}<figure>{plan.plan.svg()}</figure>{table}{notes}</section>"
