"""`python -m mind_tools opt ...`, `run`, `check`, `view` and `lsp`: the tools where their commands are not on the PATH."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .command_line import guarded

USAGE = """\
usage: python -m mind_tools {opt,run,check,view,lsp} ...

  opt   mind-opt: verify, optimise, differentiate and lower programs
  run   mind-run: compile a function of a program and run it
  check mind-check: run a program on every executor and compare
  view  mind-view: write an HTML file that shows a program after each pass, its graph and its memory plan
  lsp   mind-lsp: serve an editor over standard input and output
"""


def main(args: Sequence[str] | None = None) -> None:
    """Run the tool that the first argument names, and exit."""
    argv = list(sys.argv[1:] if args is None else args)
    name = argv[0].removeprefix("mind-") if argv else ""
    if name == "opt":
        from .mind_opt import main as tool
    elif name == "run":
        from .mind_run import main as tool
    elif name == "check":
        from .mind_check import main as tool
    elif name == "view":
        from .mind_view import main as tool
    elif name == "lsp":
        from .mind_lsp import main as tool
    else:
        wanted = name in ("-h", "--help")

        def usage() -> int:
            print(USAGE, end="", file=sys.stdout if wanted else sys.stderr)
            return 0 if wanted else 1

        sys.exit(guarded("mind_tools", usage))
    sys.exit(tool(argv[1:]))


if __name__ == "__main__":
    main()
