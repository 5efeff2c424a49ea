"""From a program and a pipeline to the file that shows them."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..instrumentation import Instrumentation
from ..mind_opt import MindOptMain
from .page import page
from .plans import plans
from .recording import AS_READ, Recorder
from .timing import check_overlap, read_timing

FRAME_HEIGHT = 640
"""Of the frame in a notebook, in pixels."""


@dataclass(frozen=True)
class View:
    """A page that shows a program; `html` is the whole file, `steps` are the names of what it shows."""

    html: str
    steps: tuple[str, ...]
    ops: int

    def save(self, path: Path | str) -> None:
        """Write the file."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        """Return a frame with the page, which can reach neither the notebook nor its origin."""
        frame = f'width="100%" height="{FRAME_HEIGHT}" style="border:1px solid #767676" title="program, graph and memory plan"'
        return f'<iframe sandbox="allow-scripts" {frame} srcdoc="{html.escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"<View of {len(self.steps)} steps and {self.ops} ops, {len(self.html)} characters>"


class Recording(MindOptMain):
    """mind-opt, with its passes followed by a recorder instead of printed."""

    recorder: Recorder

    def instruments(self) -> Instrumentation:
        self.recorder = Recorder(self.args, self.available_passes)
        return self.recorder

    def _between_passes(self, previous: ModulePass | None, module: ModuleOp, following: ModulePass | None) -> None:
        super()._between_passes(previous, module, following)
        if previous is None:
            self.recorder.record(AS_READ, module)

    def view(
        self, title: str, executor: str | None, function: str | None, sizes: Mapping[str, int], profile: Path | str | None = None
    ) -> View:
        """Return the page of the passes that ran; errors are those of `plans`, `read_timing` and `check_overlap`."""
        timing = None
        if profile is not None:
            self.stage = "profile"
            timing = read_timing(profile)
            check_overlap(timing, self.recorder.steps, profile)
        self.stage = "memory plan"
        steps, planned = self.recorder.steps, self.recorder.planned
        found = [] if planned is None else plans(planned, executor, function, sizes)
        text = page(title, steps, "" if planned is None else planned.step, found, timing)
        return View(text, tuple(step.name for step in steps), steps[-1].ops.count)


def view(
    program: ModuleOp | Path | str,
    passes: str = "",
    *,
    frontend: str | None = None,
    executor: str | None = None,
    function: str | None = None,
    sizes: Mapping[str, int] | None = None,
    profile: Path | str | None = None,
    options: Sequence[str] = (),
) -> View:
    """
    Return a page that shows a module, or the program in a file, after each pass of a pipeline such as `autodiff,ptir-optimize`.

    The module stays as it is. `executor` says whose memory plan to show, `function` of which function, `sizes` for which extents
    of named dimensions. `profile` is a file of `mind-run --trace`, whose times the ops show. `options` are others of `mind-view`.
    Raises the errors of reading, of the verifier and of passes, E7003 for an unknown pass or function, E6002 for an unknown
    executor, E7002 and E7001 for a profile that is none or of another program.
    """
    from ..frontends import load

    title = str(program) if not isinstance(program, ModuleOp) else "program"
    module = program.clone() if isinstance(program, ModuleOp) else load(program, frontend)
    tool = Recording(args=[*options, *(["-p", passes] if passes else [])])
    tool.apply_passes(module)
    return tool.view(title, executor, function, sizes or {}, profile)
