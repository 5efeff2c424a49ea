"""
`mind-view`: write an HTML file that shows a program after each pass, its graph of ops and its memory plan.

Whatever the input, it ends in exit status 0 or a diagnostic and 1 (130 when interrupted), never in a Python traceback.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import brief, error
from mind_dialect.version import __version__

from .command_line import guarded
from .completion import Flag
from .viewer.view import Recording, View

DESCRIPTION = "Write an HTML file that shows a program after each pass, its graph of ops and its memory plan."
EPILOG = """\
example, with the program of mind-opt --help:

  $ mind-view loss.mlir --autodiff --lower-to-native -o loss.html
  loss.html: 17 steps, 16 ops at the end

The file needs no server and no network. Passes are those of mind-opt, as flags or in -p; mind-opt --help lists them.
--lower-to-native or --fuse-for-cupy, then --convert-ptir-to-launch, shows which op becomes which kernel.
docs/viewer.md describes the page and its keys.
"""
ELIDED = 64
"""Longer constants are shown without their numbers, unless an option says otherwise."""
_SHOWN = frozenset(
    {
        *("help", "completion", "input_file", "output_file", "passes", "frontend", "version"),
        *("allow_unregistered_dialect", "disable_verify"),
        *("print_op_generic", "elide_elementsattrs_if_larger", "strict", "lenient", "traceback"),
        *("function", "executor", "size", "profile"),
    }
)
"""The options of mind-opt that this tool has, and its own."""


class MindViewMain(Recording):
    """The tool; `args` is the command line without the program's name."""

    version_format: ClassVar[str] = f"mind-view {__version__} on xdsl {{xdsl_version}}"

    def __init__(self, args: Sequence[str] | None = None):
        self._refused: dict[str, tuple[str, object]] = {}
        self._view: View | None = None
        super().__init__(DESCRIPTION, args)
        for dest, (option, default) in self._refused.items():
            if getattr(self.args, dest) != default:
                raise error("E7001", f"mind-view has no option {option}; see mind-view --help", option=option)
        self.sizes = dict(map(_size, self.args.size))
        self._path = self._output()
        self.args.output_file = None if self._path == "-" else self._path

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.prog = "mind-view"
        arg_parser.usage = "mind-view [FILE] [--PASS[=OPTIONS] ...] [-p PIPELINE] [-o FILE.html] [options]"
        arg_parser.epilog = EPILOG
        arg_parser.add_argument(
            "--executor", metavar="NAME", help="Target whose memory plan to show, native or cupy; by default NumPy"
        )
        arg_parser.add_argument("--function", metavar="NAME", help="Show the memory plan of this function only")
        arg_parser.add_argument("--size", metavar="NAME=N", action="append", default=[], help="The size of a named dimension")
        about = "Show the times of a run on its ops: what mind-run --trace FILE wrote for the same program"
        arg_parser.add_argument("--profile", metavar="FILE", help=about)
        arg_parser.set_defaults(elide_elementsattrs_if_larger=ELIDED)
        for action in arg_parser._actions:  # pyright: ignore[reportPrivateUsage]
            if action.dest not in _SHOWN:
                action.help = argparse.SUPPRESS
                if action.default is not argparse.SUPPRESS:
                    self._refused[action.dest] = action.option_strings[0], action.default
            elif action.dest == "output_file":
                action.help = "Output file, - for stdout; by default FILE with the suffix .html, in the current folder"

    def completions(self) -> list[Flag]:
        """Return the passes; this tool has no targets."""
        return [flag for flag in super().completions() if "-t" not in flag.names]

    def _output(self) -> str:
        """Return where to write; E7001 where that is not said and would be the input, or has no name."""
        if self.args.output_file is not None:
            return self.args.output_file
        name = self.get_input_name()
        path = Path(Path(name).name).with_suffix(".html") if name != "stdin" else None
        if path is None or path.resolve() == Path(name).resolve():
            raise error("E7001", f"{name}: say with -o where to write", option="-o")
        return str(path)

    def output_resulting_program(self, prog: ModuleOp) -> str:
        """Return the page."""
        self._view = self.view(self.get_input_name(), self.args.executor, self.args.function, self.sizes, self.args.profile)
        return self._view.html

    def run(self) -> None:
        """Write the page, and say what it shows."""
        super().run()
        if self._view is not None and self._path != "-" and not self.failed:
            steps, ops = len(self._view.steps), self._view.ops
            print(f"{self._path}: {steps} step{'s' * (steps != 1)}, {ops} op{'s' * (ops != 1)} at the end")


def _size(text: str) -> tuple[str, int]:
    """Return a name and a size; E7001 for another text."""
    name, _, number = text.partition("=")
    if not name or not (number.isascii() and number.isdigit() and len(number) < 10):
        raise error("E7001", f"--size {brief(text)!r}: expected a name and an integer from 0, as in B=8", option="--size")
    return name, int(number)


def main(args: Sequence[str] | None = None) -> None:
    """Run the tool and exit."""

    def body() -> int:
        tool = MindViewMain(args)
        tool.run()
        return 1 if tool.failed else 0

    sys.exit(guarded("mind-view", body))


if __name__ == "__main__":
    main()
