"""
`mind-lsp`: a language server for editors, over standard input and output.

It needs pygls: `pip install 'mind-dialect[lsp]'`. Without it the tool says so and ends with status 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from mind_dialect.errors import MindError, error
from mind_dialect.version import __version__

from .command_line import usage_error
from .completion import add_completion
from .diagnostics import render

OLDEST = "2.0"


def server() -> type:
    """The class of the server; E6002 without pygls, or with an older one."""
    try:
        from .language.server import MindServer
    except ImportError as e:
        issue = f"the language server needs pygls {OLDEST} or newer (pip install 'mind-dialect[lsp]'): {e}"
        raise error("E6002", issue, requested="pygls", available=[]) from None
    return MindServer


def main(args: Sequence[str] | None = None) -> int:
    """Serve one editor until it ends the connection; the exit status."""
    parser = argparse.ArgumentParser("mind-lsp", description="Language server for programs of Core IR, PTIR and shapes.")
    parser.add_argument("--version", action="version", version=f"mind-lsp {__version__}")
    parser.add_argument("--stdio", action="store_true", help="communicate over standard input and output (always on)")
    add_completion(parser)
    options = [option for action in parser._actions for option in action.option_strings]  # pyright: ignore[reportPrivateUsage]
    setattr(parser, "error", usage_error(parser, lambda: options))  # noqa: B010, argparse gives no other way
    try:
        parser.parse_args(args)
        made = server()()
    except MindError as e:
        sys.stderr.write(render(e, None))
        return 1
    made.start_io()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
