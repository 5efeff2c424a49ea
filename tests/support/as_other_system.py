"""
Run the tools as far as this machine can be taken for another system: `python as_other_system.py win32 FOLDER`.

What the other system lacks is taken away: modules, functions of `os`, signals, files of Linux. The standard library is imported
before, as it chooses its own parts by `sys.platform`.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import ctypes
import importlib
import multiprocessing
import os
import pathlib
import pkgutil
import runpy
import signal
import subprocess
import sys
import tempfile
import urllib.request

import numpy as np

with contextlib.suppress(ImportError):
    import llvmlite.binding  # noqa: F401, it looks for its library by the name that it has on this system

LACKS = {
    "win32": ("fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "posix", "syslog", "readline"),
    "darwin": ("spwd",),
}
FUNCTIONS = ("sched_getaffinity", "sched_setaffinity", "memfd_create", "eventfd", "posix_fadvise", "copy_file_range")
OF_POSIX = ("fork", "getuid", "geteuid", "setsid", "killpg", "getpgid", "mkfifo")
SIGNALS = ("SIGALRM", "setitimer", "ITIMER_REAL", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGHUP", "pthread_kill", "sigwait")
PROGRAM = """\
func.func @loss(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> tensor<f32> {
  %0 = mind.mul %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = mind.sum %0 axes = [] keepdims = false : tensor<2x3xf32> -> tensor<f32>
  func.return %1 : tensor<f32>
}
"""
USED = (asyncio, builtins, ctypes, multiprocessing, pathlib, subprocess, tempfile, urllib.request, np)


def take_away(system: str) -> None:
    """Make this process lack what the system lacks."""
    for name in LACKS[system]:
        sys.modules[name] = None  # pyright: ignore[reportArgumentType]
    for name in (*FUNCTIONS, *(OF_POSIX if system == "win32" else ())):
        if hasattr(os, name):
            delattr(os, name)
    for name in SIGNALS if system == "win32" else ():
        delattr(signal, name)
    opened = pathlib.Path.read_text

    def read_text(self: pathlib.Path, *args: object, **options: object) -> str:
        if str(self).startswith(("/proc", "/sys")):
            raise FileNotFoundError(2, "No such file or directory", str(self))
        return opened(self, *args, **options)  # pyright: ignore[reportArgumentType]

    pathlib.Path.read_text = read_text
    sys.platform = system


def packages() -> list[str]:
    """Every module of ours that needs nothing but the required dependencies, of the packages without bridges."""
    found: list[str] = []
    for name in ("mind_dialect", "mind_passes", "mind_lowering", "mind_runtime", "mind_translate", "mind_tools"):
        package = importlib.import_module(name)
        found += [module.name for module in pkgutil.walk_packages(package.__path__, f"{name}.")]
    return found


def tool(name: str, *args: str) -> int:
    """The status of one run of a tool."""
    sys.argv = [name, *args]
    try:
        runpy.run_module(f"mind_tools.{name}", run_name="__main__", alter_sys=False)
    except SystemExit as e:
        return int(e.code or 0)
    return 0


def main(system: str, folder: str) -> None:
    """Import everything, and run a program by each tool; what goes on is printed."""
    take_away(system)
    absent: list[str] = []
    for name in packages():
        try:
            if not name.endswith("__main__"):
                importlib.import_module(name)
        except ImportError as e:
            absent.append(f"{name}: {e.name}")
    print("not imported:", *sorted(absent), sep="\n  ")
    file = pathlib.Path(folder) / "loss.mlir"
    file.write_text(PROGRAM, encoding="utf-8")
    statuses = {
        "opt": tool("mind_opt", str(file), "--canonicalize", "--autodiff"),
        "run": tool("mind_run", str(file), "x=[[1,2,3],[4,5,6]]", "w=[1,1,1]"),
        "check": tool("mind_check", str(file), "--executors", "numpy", "--grad"),
        "view": tool("mind_view", str(file), "--autodiff", "-o", str(file.with_suffix(".html"))),
        "text": tool("mind_opt", str(file), "--lower-to-native=isa=neon", "-t", "native{isa=neon}"),
        "native": tool("mind_run", str(file), "--all", "fill:1", "--target", "native"),
        "limit": tool("mind_run", str(file), "--all", "fill:1", "--time-limit", "5"),
    }
    print("statuses:", statuses)


if __name__ == "__main__":
    main(*sys.argv[1:])
