"""The program after each pass, as the viewer shows it: its lines, and for each line the op that printed it."""

from __future__ import annotations

import argparse
import io
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from mind_passes.staged import Stage

from ..instrumentation import FollowedPass, Instrumentation
from .alignment import Line, LineRun, aligned
from .graph import Ops, table


@dataclass(eq=False, repr=False)
class _LinePrinter(Printer):
    """A printer that notes which line belongs to which op, and the name of every value."""

    owners: dict[int, Operation] = field(default_factory=dict[int, Operation], init=False)
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str], init=False)
    first: dict[Operation, int] = field(default_factory=dict[Operation, int], init=False)

    def print_op(self, op: Operation) -> None:
        self.first[op] = start = self._current_line
        super().print_op(op)
        for line in range(start, self._current_line + 1):
            self.owners.setdefault(line, op)

    def print_ssa_value(self, value: SSAValue) -> str:
        self.names[value] = name = super().print_ssa_value(value)
        return name


@dataclass(frozen=True)
class Step:
    """The program at one point of a pipeline, and how its lines differ from those of the step before."""

    name: str
    lines: tuple[str, ...]
    runs: tuple[LineRun, ...]
    ops: Ops


AS_READ = "as it is read"
"""The name of the first step."""


@dataclass(frozen=True)
class Planned:
    """A step with its program, and the names that its text gives to results."""

    step: str
    module: ModuleOp
    names: Mapping[SSAValue, str]


class Recorder(Instrumentation):
    """
    Keeps the program as it is read and after each pass, for `mind-view`.

    A pass of stages is kept stage by stage, as `mind-opt --print-ir-after-all` prints it; its last stage is its result.
    """

    def __init__(self, args: argparse.Namespace, passes: Collection[str]):
        super().__init__(args, passes)
        self.steps: list[Step] = []
        self.planned: Planned | None = None
        """The last step whose memory can be planned: a program of tensors, above launches."""
        self._before: list[Line] = []
        self._owner: str | None = None

    def before(self, current: ModulePass | Stage, module: ModuleOp) -> None:
        super().before(current, module)
        if isinstance(current, FollowedPass):
            self._owner = current.name

    def after(self, current: ModulePass | Stage, module: ModuleOp, *, is_last: bool) -> None:
        super().after(current, module, is_last=is_last)
        if isinstance(current, FollowedPass):
            self._owner = None
        else:
            self.record(current.name if self._owner is None else f"{self._owner}: {current.name}", module)

    def record(self, name: str, module: ModuleOp) -> None:
        """Keep the program under a name."""
        stream = io.StringIO()
        shown = self.shown(module)
        printer = self.printer(_LinePrinter, stream)
        printer.print_op(shown)
        texts = stream.getvalue().split("\n")
        same = {op: op for op in shown.walk()} if shown is module else dict(zip(shown.walk(), module.walk(), strict=True))
        counts: dict[Operation, int] = {}
        lines: list[Line] = []
        for number, text in enumerate(texts):
            op = same[printer.owners[number]]
            counts[op] = counts.get(op, -1) + 1
            lines.append(Line(text, op, counts[op]))
        runs = aligned(self._before, lines) if self.steps else ()
        self.steps.append(Step(name, tuple(texts), tuple(runs), table(shown, printer.first, printer.names)))
        self._before = lines
        if all(op.name.partition(".")[0] in ("builtin", "func", "mind", "ptir") for op in module.walk()):
            copy = module.clone()
            pairs = zip(copy.walk(), shown.walk(), strict=True)
            names: dict[SSAValue, str] = {
                a: printer.names[b]
                for new, op in pairs
                for a, b in zip(new.results, op.results, strict=True)
                if b in printer.names
            }
            self.planned = Planned(name, copy, names)
