"""
`mind-lsp`: a language server for editors, over standard input and output.

It needs pygls: `pip install 'mind-dialect[lsp]'`. Without it the tool says so and ends with status 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from mind_dialect.errors import error
from mind_dialect.version import __version__

from .command_line import code_errors, guarded
from .completion import add_completion

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

    made: list[Any] = []

    def body() -> int:
        _parser().parse_args(args)
        made.append(server()())
        return 0

    status = guarded("mind-lsp", body)
    if status == 0:
        made[0].start_io()
    return status


def _parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser("mind-lsp", description="Language server for programs of Core IR, PTIR and shapes.")
    parser.add_argument("--version", action="version", version=f"mind-lsp {__version__}")
    parser.add_argument("--stdio", action="store_true", help="communicate over standard input and output (always on)")
    add_completion(parser)
    options = [option for action in parser._actions for option in action.option_strings]  # pyright: ignore[reportPrivateUsage]
    code_errors(parser, lambda: options)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
