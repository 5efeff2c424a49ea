"""The command line of `mind-run`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mind_dialect.version import __version__

from . import frontends
from .command_line import code_errors
from .completion import Flag, add_completion

EXECUTORS = ("numpy", "native", "cupy", "xla", "onnx", "iree")
"""The targets that this tool can run on; which of them are there depends on what is installed."""
DESCRIPTION = "Compile a function of a program and run it."
EPILOG = """\
example, with the program of mind-opt --help:

  $ mind-run loss.mlir 'x=[[1, 2, 3], [4, 5, 6]]' w=w.npy
  out0: f32[] = 16.5
  $ mind-opt loss.mlir --autodiff | mind-run - --function loss_grad --all random:0
  $ mind-run loss.mlir --all random:0 w=w.npy --save results

Each input is given as name=value, where the value is one of
  FILE.npy            an array of exactly the declared dtype and shape
  FILE.npz            an archive of arrays, of which it is the one of the input's name; FILE.npz:NAME takes another
  FILE.safetensors    the same
  FILE.json           nested lists, or an object of them by name
  a literal           3.0, nan, -inf, [[1, 2], [3, 4]]
  fill:VALUE          one value everywhere
  random:SEED         normally distributed floats, integers from 0 to 9; the same on every machine
Inputs that are not named take the value of --all, so --all weights.npz finds each by its name. A .pt2 file holds its weights.

Functions on sizes and shapes (of the shape dialect) take and return values such as 3, [2, ?], [*] and true.
--memory, --explain, --profile and --trace show more about a run; the targets' settings are in docs/native.md, docs/cupy.md and
docs/xla.md.
"""
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "file": {
        "metavar": "FILE",
        "nargs": "?",
        "default": "-",
        "help": "the program, .mlir, .coreir, .ptir, .json, .onnx, .pt2 or .jaxexport; - or absent: stdin",
    },
    "inputs": {"metavar": "NAME=VALUE", "nargs": "*", "help": "an input of the function"},
    "--function": {"metavar": "NAME", "help": "function to run; needed if the program has several and no ptir.entry"},
    "--all": {"metavar": "VALUE", "help": "value of every input that is not named, such as random:0"},
    "--target": {
        "default": "numpy",
        "help": "target to run on: numpy (the default), native, cupy, xla, onnx or iree, as in 'cupy{tf32 graph=off}'",
    },
    "--mesh": {
        "metavar": "AXES",
        "help": "axes of a mesh of devices for the target xla, as in data=4,model=2, or module",
    },
    "--sharding": {
        "metavar": "NAME=AXES",
        "action": "append",
        "default": [],
        "help": "sharding of an input over the mesh: an axis, a+b or _ for each dimension, as in x=data,_",
    },
    "--threads": {
        "metavar": "N",
        "help": "number of threads of the target native; by default MIND_NUM_THREADS, else one per core",
    },
    "--specialize": {
        "metavar": "LIMITS",
        "help": "limits on compiling a dynamic program for its sizes, as in 'max_programs=8 background=off'; "
        "'eager' compiles each",
    },
    "--time-limit": {"metavar": "SECONDS", "help": "end a call that takes longer with E6007; no limit by default"},
    "--profile": {"action": "store_true", "help": "show the time, memory traffic and operations of each step"},
    "--trace": {"metavar": "FILE", "type": Path, "help": "write the profile as a trace for chrome://tracing"},
    "--explain": {"action": "store_true", "help": "show kernels, and ops that fall back to the host and why"},
    "--save": {
        "metavar": "DIR",
        "type": Path,
        "help": "write each result to DIR/NAME.npy, or all to FILE.npz, instead of printing them",
    },
    "--frontend": {
        "choices": ["mlir", *frontends.READERS, *frontends.BINARY_READERS, *frontends.ORIGINALS],
        "help": "format of FILE; by default that of its suffix",
    },
    "--memory": {"action": "store_true", "help": "show the peak memory, as planned and as measured on the host"},
    "--memory-plan": {
        "metavar": "FILE.svg",
        "type": Path,
        "help": "draw offsets of temporaries over time; --memory=FILE.svg does both",
    },
    "--lenient": {"action": "store_true", "help": "read PTIR without a stated version as the version of these tools"},
    "--traceback": {"action": "store_true", "help": "also show the Python traceback of an error"},
}
"""Arguments and options, with the keywords that `argparse` takes; those of `_SHORT` have a short form."""
_SHORT = {"--frontend": ("-f",)}


def parse_arguments(args: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line; E7001 and E7003 for what is wrong with it."""
    parser = argparse.ArgumentParser("mind-run", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    for name, described in ARGUMENTS.items():
        parser.add_argument(*_SHORT.get(name, ()), name, **described)
    add_completion(parser, lambda: [Flag(("--target",), "what to run on", EXECUTORS, takes=True)])
    parser.add_argument("-v", "--version", action="version", version=f"mind-run {__version__}")
    options = [option for action in parser._actions for option in action.option_strings]  # pyright: ignore[reportPrivateUsage]
    code_errors(parser, lambda: options)
    given = list(sys.argv[1:] if args is None else args)
    end = given.index("--") if "--" in given else len(given)
    for i, text in enumerate(given[:end]):
        if text.startswith("--memory="):
            given[i : i + 1] = ["--memory", f"--memory-plan={text.removeprefix('--memory=')}"]
    return parser.parse_intermixed_args(given)
