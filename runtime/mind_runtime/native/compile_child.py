"""
A child process that compiles for sizes, so that compiling takes no time of this process from calls.

It is spawned, not forked, as threads run here. It writes the image of what it compiled to the cache on disk and says under which
name; the parent maps that. A request and an answer are a line of JSON each.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mind_dialect.lazy_dataclass import dataclass
from mind_lowering import code_cache as cache

from ..background import WORKER
from ..specialized import Shapes
from .settings import THREADS_VARIABLE
from .source import Source

if TYPE_CHECKING:
    from subprocess import Popen

TIMEOUT = 600.0
"""Seconds after which a child that does not answer is ended."""
MODULES = 8
"""So many programs a child keeps as IR."""
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.readline()); import mind_runtime.native.compile_server as s; s.serve()"
)


@dataclass(frozen=True)
class Order:
    """A function to compile for shapes; `source` is its module, written when a child does not know it yet."""

    name: str
    source: Callable[[], Source]
    shapes: Shapes
    donated: tuple[int, ...]
    fixed: tuple[int, ...]
    threads: int
    limit: int
    options: str


@dataclass(frozen=True)
class Answer:
    """The name of the image, the shapes of the results, and the seconds that the child computed."""

    key: str
    outputs: Shapes
    seconds: float


class Child:
    """A process that serves orders, started with the first one."""

    def __init__(self) -> None:
        self._process: Popen[str] | None = None
        self._known: set[str] = set()
        self._folder = ""

    def compile(self, order: Order) -> Answer | None:
        """Return what the child says it compiled; None where there is none, or no cache that both can use, or it failed."""
        folder = cache.folder()
        if folder is None or not writable(str(folder)) or not sys.executable:
            return None
        if self._folder != str(folder):
            self.end()
        for _ in range(2):  # a child that was ended meanwhile is replaced once
            if (answer := self._asked(order, str(folder))) is not None:
                return _answer(answer)
        return None

    def _asked(self, order: Order, folder: str) -> Any:
        if self._process is None or self._process.poll() is not None:
            self._start(folder)
        assert self._process is not None
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        if len(self._known) >= MODULES and order.name not in self._known:
            self._known.clear()
        source = None if order.name in self._known else order.source()
        constants = None if source is None or not source.constants else source.written(folder)
        request = {
            "name": order.name,
            "text": None if source is None else source.text,
            "constants": None if source is None else [(number, len(data)) for number, data in source.constants],
            "file": constants,
            "shapes": order.shapes,
            "donated": order.donated,
            "fixed": order.fixed,
            "threads": order.threads,
            "limit": order.limit,
            "options": order.options,
        }
        timer = threading.Timer(TIMEOUT, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            requests.write(json.dumps(request) + "\n")
            requests.flush()
            line = answers.readline()
            answer = json.loads(line) if line else None
        except (OSError, ValueError):
            answer = None
        finally:
            timer.cancel()
            if constants is not None:
                with contextlib.suppress(OSError):
                    os.unlink(constants)
        if answer is None:
            self.end()
        else:
            self._known.add(order.name)
        return answer

    def _start(self, folder: str) -> None:
        from subprocess import DEVNULL, PIPE, Popen  # slow to load, and most processes have no child

        self._known.clear()
        self._folder = folder
        parent = os.path.dirname(folder)  # the variable names the folder of all targets
        self._process = Popen(
            [sys.executable, "-c", _START],
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            text=True,
            encoding="utf-8",
            env={**os.environ, cache.VARIABLE: parent, THREADS_VARIABLE: "1"},
        )
        atexit.register(self.end)
        WORKER.at_end.append(self.end)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(sys.path) + "\n")

    def end(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        self._known.clear()
        if process is not None:
            atexit.unregister(self.end)
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):  # of what was never sent
                        pipe.close()


CHILD = Child()
"""The one of this process; the worker alone asks it."""


def writable(folder: str) -> bool:
    """Return whether files can be written to a folder, which is made if it is not there."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _answer(found: Any) -> Answer | None:
    """Return the answer that a line says; None for a refusal, and for what is none."""
    try:
        shapes = tuple(tuple(int(n) for n in shape) for shape in found["outputs"])
        return Answer(str(found["key"]), shapes, float(found["seconds"]))
    except (KeyError, TypeError, ValueError):
        return None
