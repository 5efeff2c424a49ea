"""Running our tools in this process: arguments and stdin in, exit status and both streams out."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

from mind_tools import mind_check as mind_check_module
from mind_tools import mind_opt as mind_opt_module
from mind_tools import mind_run as mind_run_module
from mind_tools import mind_view as mind_view_module


@dataclass(frozen=True)
class Result:
    """What a run left."""

    status: int
    out: str
    err: str


def _run(main: Callable[..., None], args: tuple[str, ...], stdin: str | bytes) -> Result:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = io.StringIO(), io.StringIO()
    given: Any = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace")
    with mock.patch.object(sys, "stdin", given), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(a) for a in args])
            status = 0
        except SystemExit as e:
            status = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
    return Result(status, out.getvalue(), err.getvalue())


def mind_opt(*args: Any, stdin: str | bytes = "") -> Result:
    """One run of mind-opt."""
    return _run(mind_opt_module.main, args, stdin)


def mind_run(*args: Any, stdin: str | bytes = "") -> Result:
    """One run of mind-run."""
    return _run(mind_run_module.main, args, stdin)


def mind_check(*args: Any, stdin: str | bytes = "") -> Result:
    """One run of mind-check."""
    return _run(mind_check_module.main, args, stdin)


def mind_view(*args: Any, stdin: str | bytes = "") -> Result:
    """One run of mind-view."""
    return _run(mind_view_module.main, args, stdin)
