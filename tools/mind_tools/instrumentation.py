"""Instrument a pipeline: print the IR around passes and their times on stderr, under the names of mlir-opt."""

from __future__ import annotations

import argparse
import io
import shlex
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import IO, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from mind_dialect import register
from mind_passes.staged import Stage, StagedPass

from .elision import elided
from .flags import PASS_ALIASES, unknown

_Printer = TypeVar("_Printer", bound=Printer)
_FLAGS = {
    "--print-ir-before-all": "Print the IR before each pass, to stderr",
    "--print-ir-after-all": "Print the IR after each pass, to stderr",
    "--print-ir-after-change": "Print the IR after each pass that changed it, to stderr",
    "--print-ir-after-failure": "Print the IR as a failed pass left it, to stderr",
}
_LISTS = {
    "--print-ir-before": "Print the IR before these passes, to stderr",
    "--print-ir-after": "Print the IR after these passes, to stderr",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that `Instrumentation` reads."""
    for option, text in _FLAGS.items():
        parser.add_argument(option, action="store_true", help=text)
    for option, text in _LISTS.items():
        parser.add_argument(option, metavar="PASSES", default="", help=text)
    text = "Elide the elements of constants with more than N of them in printed MLIR text"
    parser.add_argument("--elide-elementsattrs-if-larger", metavar="N", type=_count, help=text)
    parser.add_argument("--crash-reproducer", metavar="FILE", help="Write input and command line of a failing run to FILE")


def _count(text: str) -> int:
    """Return a number of elements, as argparse wants it."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of elements, found {text!r}")
    return int(text)


class Instrumentation:
    """Follows the passes over one module after another; all that it writes goes to stderr."""

    def __init__(self, args: argparse.Namespace, passes: Collection[str]):
        self._args = args
        self._before = _names(args.print_ir_before, passes)
        self._after = _names(args.print_ir_after, passes)
        self._open: list[tuple[float, str | None]] = []

    def before(self, current: ModulePass | Stage, module: ModuleOp) -> None:
        """Follow the beginning of a pass, or of a stage of one."""
        if self._args.print_ir_before_all or current.name in self._before:
            self._dump(f"Before {current.name}", module)
        text = self.text(module) if self._args.print_ir_after_change else None
        self._open.append((time.perf_counter(), text))

    def after(self, current: ModulePass | Stage, module: ModuleOp, *, is_last: bool) -> None:
        """Follow the end of a pass, or of a stage of one."""
        start, text = self._open.pop()
        if self._args.time_passes:
            print(f"Pass {current.name} took {time.perf_counter() - start} seconds", file=sys.stderr)
        wanted = self._args.print_ir_after_all or current.name in self._after
        wanted |= self._args.print_between_passes and not is_last
        if wanted or (self._args.print_ir_after_change and self.text(module) != text):
            self._dump(f"After {current.name}", module)

    def followed(self, current: ModulePass) -> ModulePass:
        """Return a pass that does what `current` does, and is followed stage by stage if it has stages."""
        return FollowedPass(current, self) if isinstance(current, StagedPass) else current

    def failed(self, stage: str, module: ModuleOp | None) -> None:
        """Follow a pass that raised an error."""
        if module is not None and self._args.print_ir_after_failure and stage.startswith("pass "):
            self._dump(f"After {stage.removeprefix('pass ')} Failed", module)

    def shown(self, module: ModuleOp) -> ModuleOp:
        """Return `module` as it is to be printed: with long constants elided if that is asked for."""
        most = self._args.elide_elementsattrs_if_larger
        return module if most is None else elided(module, most)

    def text(self, module: ModuleOp, *, generic: bool = False) -> str:
        """Return the text of `module` under the options for printing."""
        stream = io.StringIO()
        self.printer(Printer, stream, generic=generic).print_op(module)
        return f"{stream.getvalue()}\n"

    def printer(self, kind: type[_Printer], stream: IO[str], *, generic: bool = False) -> _Printer:
        """Return a printer of some kind under the options for printing."""
        generic |= self._args.print_op_generic
        return kind(stream, print_generic_format=generic, print_debuginfo=self._args.print_debuginfo)

    def _dump(self, title: str, module: ModuleOp) -> None:
        print(f"// -----// IR Dump {title} //----- //\n{self.text(self.shown(module))}", file=sys.stderr)


class FollowedPass(ModulePass):
    """A pass of stages that are followed."""

    def __init__(self, staged: StagedPass, instruments: Instrumentation):
        self.name = staged.name  # pyright: ignore[reportAttributeAccessIssue]
        self._staged, self._instruments = staged, instruments

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for stage in self._staged.stages():
            self._instruments.before(stage, op)
            stage.run(op)
            self._instruments.after(stage, op, is_last=False)


def _names(text: str, known: Collection[str]) -> frozenset[str]:
    """Return the passes of a list of names or short names; E7003 for one that is unknown."""
    names = [PASS_ALIASES.get(name, name) for name in text.split(",") if name]
    for name in names:
        if name not in known:
            raise unknown("pass", name, [*known, *PASS_ALIASES])
    return frozenset(names)


_NOT_REPEATED = ("--split-input-file",)
_NOT_REPEATED_PAIRS = ("--crash-reproducer", "-f", "--frontend", "-o", "--output-file")


def write_reproducer(path: str, text: str, command: Sequence[str], file: str | None, message: str) -> None:
    """Write the MLIR `text` that a run failed on, and above it the command line that repeats the failure on what is written."""
    repeated, arguments = ["mind-opt", path], iter(command)
    for argument in arguments:
        if argument in _NOT_REPEATED_PAIRS:
            next(arguments, None)
        elif argument.partition("=")[0] not in _NOT_REPEATED_PAIRS and argument not in (file, *_NOT_REPEATED):
            repeated.append(argument)
    head = [f"// {line}" for line in (shlex.join(repeated), *message.splitlines())]
    Path(path).write_text("\n".join([*head, "", text]), encoding="utf-8", errors="backslashreplace")
    print(f"mind-opt: {path} has what reproduces this", file=sys.stderr)
