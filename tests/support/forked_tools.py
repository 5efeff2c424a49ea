"""
Console scripts that start in some milliseconds: copies of a process that has imported what its script imports, and nothing else.

Importing xDSL takes a third of a second, which is nearly all that most of our tests of text take. For each script there is one
such process; it ends when the process does that asked for it.

    python forked_tools.py SCRIPT LISTENER
"""

from __future__ import annotations

import functools
import gc
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import Any

CLIENT = Path(__file__).with_name("forked_tool.py")
SECONDS = 120
"""Of processor time after which a script is ended: whoever called it may be gone."""
NAMES = ("mind-opt", "mind-run", "xdsl-opt", "filecheck")
"""The scripts that tests start most."""
_HELD: list[Any] = []


@functools.cache
def path() -> str:
    """A PATH with this interpreter's programs first; those that tests start most take milliseconds, where they can."""
    programs = Path(sys.executable).parent
    folders = [str(programs), os.environ.get("PATH", "")]
    if available():
        folders.insert(0, str(forked([programs / name for name in NAMES])))
    return os.pathsep.join(folders)


def available() -> bool:
    return hasattr(os, "fork") and hasattr(socket, "AF_UNIX") and sys.platform == "linux"


def forked(scripts: Sequence[Path]) -> Path:
    """A folder with programs of the names of the scripts, which do what these do."""
    folder = tempfile.TemporaryDirectory(prefix="mind")
    for script in scripts:
        place = Path(folder.name) / f"{script.name}.socket"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place))
            listener.listen(128)
            command = [sys.executable, __file__, str(script), str(listener.fileno())]
            _HELD.append(subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[listener.fileno()]))
        program = Path(folder.name) / script.name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{CLIENT}" "{place}" "$@"\n')
        program.chmod(0o755)
    _HELD.append(folder)
    return Path(folder.name)


def serve(script: str, listener: socket.socket) -> None:
    """Run a script for everyone who asks, until stdin ends."""
    sys.path[0] = str(Path(script).parent)
    code = compile(Path(script).read_text(encoding="utf-8"), script, "exec")
    exec(code, {"__name__": "imported"})
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        if 0 in ready:
            return
        asked, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            os._exit(answer(asked, code, script))
        asked.close()


def answer(asked: socket.socket, code: CodeType, script: str) -> int:
    """Run a script with the streams, arguments, folder and environment of who asked, and tell it the status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, streams, _, _ = socket.recv_fds(asked, 8, 3)
    with asked.makefile("rb") as rest:
        arguments, folder, environment = marshal.loads(rest.read(int.from_bytes(head, "little")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
    sys.stderr = open(2, "w", errors="backslashreplace", buffering=1, closefd=False)
    os.chdir(folder)
    os.environb.clear()
    os.environb.update(environment)
    limit()
    status = ran(code, [script, *arguments])
    asked.sendall(bytes([status & 255]))
    return status & 255


def limit() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def ran(code: CodeType, argv: list[str]) -> int:
    """The exit status of a script, as Python has it."""
    sys.argv, status = argv, 0
    try:
        exec(code, {"__name__": "__main__", "__file__": argv[0]})
    except SystemExit as e:
        if not isinstance(e.code, int | None):
            print(e.code, file=sys.stderr)
        status = e.code if isinstance(e.code, int) else int(e.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # nobody reads
        status = 120
    return status


if __name__ == "__main__":
    serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
