"""Shared parts of the tools: errors of a command line, and no run that ends in a Python traceback."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import re
import sys
import traceback
from collections.abc import Callable
from typing import IO, NoReturn

from xdsl.ir import Attribute
from xdsl.utils.exceptions import ArgSpecParseError

from mind_dialect.errors import error

from .diagnostics import Source, as_coded, place_of, render
from .flags import TARGET_ALIASES, of_mlir_opt, unknown

INTERRUPTED = 130

_CHOICE = re.compile(r"argument \S*?-{1,2}(\w+): invalid choice: '([^']*)' \(choose from (.*)\)")


def code_errors(arg_parser: argparse.ArgumentParser, names: Callable[[], list[str]]) -> None:
    """
    Let a parser raise E7001, or E7003 for a name outside a list of choices; and fail where its help cannot be written.

    argparse gives no other way short of a subclass. Its own `_print_message` ignores that a disk is full.
    """

    def print_message(message: str, file: IO[str] | None = None) -> None:
        print(message, end="", file=file)

    for name, replacement in (("error", usage_error(arg_parser, names)), ("_print_message", print_message)):
        setattr(arg_parser, name, replacement)


def usage_error(arg_parser: argparse.ArgumentParser, names: Callable[[], list[str]]) -> Callable[[str], NoReturn]:
    """A replacement of `ArgumentParser.error` which raises E7001, or E7003 for a name outside a list of choices."""

    def fail(message: str) -> NoReturn:
        if (choice := _CHOICE.match(message)) is not None:
            raise unknown(choice[1], choice[2], _chosen(choice[1], re.findall(r"[\w-]+", choice[3])))
        given = message.removeprefix("unrecognized arguments: ").split(" ")[0].partition("=")[0]
        close = difflib.get_close_matches(given, names(), n=2) if message.startswith("unrecognized") else []
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        if (here := of_mlir_opt(given)) is not None and arg_parser.prog == "mind-opt":
            hint = f"; here it is {here}"
        elif message.startswith("unrecognized") and "=" in message and arg_parser.prog == "mind-run":
            hint = f"{hint}; put -- before the inputs if {given} is the name of one"
        raise error("E7001", f"{message}{hint}; see {arg_parser.prog} --help", option=given)

    return fail


def _chosen(what: str, names: list[str]) -> list[str]:
    """The names that may be chosen, as people write them: targets of ours by their short names."""
    short = {name: alias for alias, name in TARGET_ALIASES.items()} if what == "target" else {}
    return [short.get(name, name) for name in names]


def print_error(e: BaseException, source: Source | None, stage: str, show_traceback: bool = False) -> None:
    """Print `e` to stderr as a diagnostic."""
    print(render(as_coded(e, stage), place_of(e, source)), end="", file=sys.stderr)
    if show_traceback:
        traceback.print_exception(e)


def _flushed(body: Callable[[], int]) -> int:
    """Return the status of `body` once what it printed is written, also where it exits, as `--help` and `--version` do."""
    try:
        status = body()
    except SystemExit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return status


def guarded(name: str, body: Callable[[], int]) -> int:
    """Run `body`, which returns an exit status; whatever escapes it becomes a diagnostic and a status."""
    post_init = Attribute.__post_init__
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        return _flushed(body)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; Python must not try to flush it again at exit.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Exception, ArgSpecParseError) as e:
        print_error(e, None, name)
        return 1
    finally:
        Attribute.__post_init__ = post_init  # --disable-verify patches it for the whole process
