"""
`mind-run`: compile a function of a program, run it on arguments from the command line, print or save what it returns.

Whatever the input, it ends in exit status 0 or a diagnostic and 1 (130 when interrupted), never in a Python traceback.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp

from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, brief, error
from mind_dialect.program import functions, functions_called, input_names, value_ids
from mind_dialect.ptir_program import stated_entry
from mind_dialect.verify import verify
from mind_dialect.version import __version__

from . import frontends
from .command_line import guarded, print_error, usage_error
from .completion import Flag, add_completion
from .diagnostics import Source
from .flags import unknown
from .time_limit import seconds_of, time_limit

if TYPE_CHECKING:
    from mind_runtime import Program, TensorSpec

    from .input_files import Array

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


def parse_arguments(args: Sequence[str] | None) -> argparse.Namespace:
    """The command line; E7001 and E7003 for what is wrong with it."""
    parser = argparse.ArgumentParser("mind-run", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="-",
        help="the program, .mlir, .coreir, .ptir, .json, .onnx, .pt2 or .jaxexport; - or absent: stdin",
    )
    parser.add_argument("inputs", metavar="NAME=VALUE", nargs="*", help="an input of the function")
    parser.add_argument("--function", metavar="NAME", help="function to run; needed if the program has several and no ptir.entry")
    parser.add_argument("--all", metavar="VALUE", help="value of every input that is not named, such as random:0")
    parser.add_argument(
        "--target",
        default="numpy",
        help="target to run on: numpy (the default), native, cupy, xla, onnx or iree, as in 'cupy{tf32 graph=off}'",
    )
    parser.add_argument(
        "--mesh", metavar="AXES", help="axes of a mesh of devices for the target xla, as in data=4,model=2, or module"
    )
    parser.add_argument(
        "--sharding",
        metavar="NAME=AXES",
        action="append",
        default=[],
        help="sharding of an input over the mesh: an axis, a+b or _ for each dimension, as in x=data,_",
    )
    parser.add_argument(
        "--threads", metavar="N", help="number of threads of the target native; by default MIND_NUM_THREADS, else one per core"
    )
    parser.add_argument(
        "--specialize",
        metavar="LIMITS",
        help="limits on compiling a dynamic program for its sizes, as in 'max_programs=8 background=off'; 'eager' compiles each",
    )
    parser.add_argument("--time-limit", metavar="SECONDS", help="end a call that takes longer with E6007; no limit by default")
    parser.add_argument("--profile", action="store_true", help="show the time, memory traffic and operations of each step")
    parser.add_argument("--trace", metavar="FILE", type=Path, help="write the profile as a trace for chrome://tracing")
    parser.add_argument("--explain", action="store_true", help="show kernels, and ops that fall back to the host and why")
    parser.add_argument(
        "--save", metavar="DIR", type=Path, help="write each result to DIR/NAME.npy, or all to FILE.npz, instead of printing them"
    )
    parser.add_argument(
        "-f",
        "--frontend",
        choices=["mlir", *frontends.READERS, *frontends.BINARY_READERS, *frontends.ORIGINALS],
        help="format of FILE; by default that of its suffix",
    )
    parser.add_argument("--memory", action="store_true", help="show the peak memory, as planned and as measured on the host")
    parser.add_argument(
        "--memory-plan",
        metavar="FILE.svg",
        type=Path,
        help="draw offsets of temporaries over time; --memory=FILE.svg does both",
    )
    parser.add_argument("--lenient", action="store_true", help="read PTIR without a stated version as the version of these tools")
    parser.add_argument("--traceback", action="store_true", help="also show the Python traceback of an error")
    add_completion(parser, lambda: [Flag(("--target",), "what to run on", EXECUTORS, takes=True)])
    parser.add_argument("-v", "--version", action="version", version=f"mind-run {__version__}")
    options = [option for action in parser._actions for option in action.option_strings]  # pyright: ignore[reportPrivateUsage]
    fail = usage_error(parser, lambda: options)
    setattr(parser, "error", fail)  # noqa: B010, argparse gives no other way short of a subclass
    given = list(sys.argv[1:] if args is None else args)
    end = given.index("--") if "--" in given else len(given)
    for i, text in enumerate(given[:end]):
        if text.startswith("--memory="):
            given[i : i + 1] = ["--memory", f"--memory-plan={text.removeprefix('--memory=')}"]
    return parser.parse_intermixed_args(given)


_OF_TENSORS = (
    *("--save", "--memory", "--memory-plan", "--explain", "--profile", "--trace", "--threads", "--time-limit", "--mesh"),
    *("--sharding", "--specialize"),
)
"""Options that functions on shapes do not take."""


@dataclass
class Run:
    """One run of the tool; `source` is the text once it is read, for diagnostics."""

    args: argparse.Namespace
    source: Source | None = None
    weights: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The arrays of inputs that the program's file holds itself."""

    def __call__(self) -> None:
        limit = seconds_of(self.args.time_limit) if self.args.time_limit is not None else None
        module = self.read()
        verify(module)
        if self.run_on_shapes(module):
            return
        func = self.pick(module)
        from mind_runtime import compile  # after the cheap checks: it imports NumPy

        options: dict[str, Any] = {"mesh": self.args.mesh, "shardings": self.shardings(func), "specialize": self.args.specialize}
        program = compile(module, func.sym_name.data, self.args.target, threads=threads_of(self.args.threads), **options)
        is_profiled = self.args.profile or self.args.trace is not None
        if is_profiled:
            from mind_runtime.profile import check_steps

            check_steps(program)
        arguments = self.arguments(program)
        memory: str | None = None
        results: Any
        with time_limit(limit):
            if self.args.memory:
                from .memory_report import measured

                results, memory = measured(program, func, arguments)
            else:
                results = program(*arguments)
        if self.args.memory_plan is not None:
            from .memory_report import memory_plan

            self.args.memory_plan.write_text(memory_plan(program, func, arguments).svg(), encoding="utf-8")
        arrays: Sequence[Array] = results if len(program.outputs) != 1 else [results]
        named = dict(zip(result_names(func), arrays, strict=True))
        if self.args.save is not None:
            save(self.args.save, named)
        else:
            print("\n".join(shown(name, spec, named[name]) for name, spec in zip(named, program.outputs, strict=True)))
        if memory is not None:
            print(memory)
        if self.args.explain:
            print("\n".join(program.explain()))
        if is_profiled:
            self.profile(program, arguments)

    def shardings(self, func: FuncOp) -> dict[str, str] | None:
        """
        Return the shardings of `--sharding` by names of inputs; E7001 for one that names no input, or one twice, or without a
        mesh.
        """
        given: dict[str, str] = {}
        for text in self.args.sharding:
            name = max((n for n in input_names(func) if text.startswith(f"{n}=")), key=len, default=None)
            if name is None:
                raise unknown("input", text.partition("=")[0], input_names(func))
            if name in given:
                raise error("E7001", f"the sharding of input {name!r} is given twice", option="--sharding")
            given[name] = text[len(name) + 1 :]
        return given or None

    def profile(self, program: Program, arguments: Sequence[Array]) -> None:
        """Measure calls, show where their time goes, and write it."""
        from mind_runtime.profile import profile

        found = profile(program, arguments)
        if self.args.profile:
            print(found.table())
        if self.args.trace is not None:
            self.args.trace.write_text(json.dumps(found.trace(), indent=1), encoding="ascii")

    def read(self) -> ModuleOp:
        """The program, from a file or stdin."""
        path = self.args.file
        if (reader := frontends.original_reader(path, self.args.frontend)) is not None:
            self.source = Source(path, "")
            module, original = reader(path)
            self.weights = original.weights
            return module
        frontend = (self.args.frontend or "mlir") if path == "-" else frontends.form_of(path, self.args.frontend)
        name = "stdin" if path == "-" else path
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        if (frontend := frontends.form_of_bytes(data, frontend)) in frontends.BINARY_READERS:
            self.source = Source(name, "")
            return frontends.read_binary(frontend, data, name)
        text = frontends.text_of(data, name)
        self.source = Source(name, text)
        return frontends.parse(text, frontend, name, lenient=self.args.lenient)

    def run_on_shapes(self, module: ModuleOp) -> bool:
        """Run a function on shapes, in the interpreter; False if the function to run is another. E7001 for what it cannot do."""
        if not any(op.name.startswith("shape.") for op in walk(module)):
            return False
        from . import run_shapes

        if (function := run_shapes.pick(module, self.args.function)) is None:
            return False
        for option in _OF_TENSORS:
            if getattr(self.args, option.removeprefix("--").replace("-", "_")):
                raise error("E7001", f"{option} is for programs on tensors, not for functions on shapes", option=option)
        print("\n".join(run_shapes.run(module, function, self.args.inputs, self.args.all)))
        return True

    def pick(self, module: ModuleOp) -> FuncOp:
        """The function to run: the one that `--function` names, else the entry that the program states, else the only one."""
        found = {f.sym_name.data: f for f in functions(module)}
        wanted: str | None = self.args.function
        if wanted is None:
            wanted = stated_entry(module, found)
        if wanted is not None:
            if not (called := functions_called(module, wanted)):
                raise unknown("function", wanted, self.names_of_functions(module))
            return called[0]
        if len(found) != 1:
            names = ", ".join(f"@{name}" for name in found) or "none"
            message = (
                f"the program has {len(found)} functions ({brief(names)}) and states no ptir.entry; say which with --function"
            )
            raise error("E7001", message, option="--function")
        return next(iter(found.values()))

    def names_of_functions(self, module: ModuleOp) -> list[str]:
        """The functions that can be run, those of libraries of shape functions by `library.name`."""
        names = [f.sym_name.data for f in functions(module)]
        if any(op.name.startswith("shape.") for op in walk(module)):
            from .run_shapes import functions_by_name

            names += [name for name in functions_by_name(module) if name not in names]
        return names

    def arguments(self, program: Program) -> list[Array]:
        """One array per input, each from the command line; E7001, E7003 and E2007 for names that do not match the inputs."""
        from .inputs import read_input

        values: dict[str, str] = {}
        names = [spec.name for spec in program.inputs]
        for given in self.args.inputs:
            name = max((n for n in names if given.startswith(f"{n}=")), key=len, default=None)
            if name is None:
                raise self.no_input(given, program)
            if name in values:
                raise error("E7001", f"input {name!r} is given twice", option=name)
            values[name] = given[len(name) + 1 :]
        missing = [name for name in names if name not in values and name not in self.weights]
        if missing and self.args.all is None:
            message = f"@{program.name} takes {signature(program)}; missing: {', '.join(missing)} (give each, or --all random:0)"
            raise error("E2007", message, expected=len(names), actual=len(values))
        arrays: list[Array] = []
        for place, spec in enumerate(program.inputs):
            if spec.name in self.weights and spec.name not in values:
                arrays.append(self.weights[spec.name])
                continue
            text = values[spec.name] if spec.name in values else str(self.args.all)
            try:
                arrays.append(read_input(text, spec, place))
            except MindError as e:
                raise MindError(e.code, f"input {spec.name!r}: {e.message}", {"input": spec.name, **e.context}) from None
        return arrays

    def no_input(self, given: str, program: Program) -> Exception:
        """Return the error for an argument that names no input."""
        if "=" not in given:
            from .input_files import names_a_file

            hint = f"; --all {brief(given)} takes each from there, by name" if names_a_file(given) else ""
            message = f"cannot read {brief(given)!r}, expected name=value{hint}; inputs: {signature(program)}"
            return error("E7001", message, option=given)
        return unknown("input", given.partition("=")[0], [spec.name for spec in program.inputs])


def threads_of(text: str | None) -> Any:
    """A number of threads as it is given; what is none stays text, for `compile` to refuse."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else text


def signature(program: Program) -> str:
    """The inputs of a program with their types."""
    from .input_files import type_text

    return ", ".join(f"{spec.name}: {type_text(spec)}" for spec in program.inputs) or "no inputs"


def result_names(func: FuncOp) -> list[str]:
    """
    A name for each result, all different: that of the value in the text, `grad_x` for a gradient, else `out0` and so on.

    Names hold letters, digits, `_`, `.` and `-` only, so that they can be file names.
    """
    last = func.body.block.last_op
    values = tuple(last.operands) if last is not None else ()
    gradients = func.attributes.get("mind.grad_wrt")
    wrt = list[Any](gradients.get_values()) if isinstance(gradients, DenseArrayBase) else []
    inputs = input_names(func)
    first = len(values) - len(wrt)
    names: list[str] = []
    for i, value in enumerate(values):
        hint = value.name_hint
        if i >= first:
            hint = f"grad_{_differentiated(func, inputs, wrt[i - first])}"
        name = re.sub(r"[^\w.-]", "_", hint, flags=re.ASCII).lstrip(".-") if hint else ""
        candidates = chain([name[:80]] if name else [], [f"out{i}"], (f"out{i}.{j}" for j in count(1)))
        names.append(next(candidate for candidate in candidates if candidate not in names))
    return names


def _differentiated(gradient: FuncOp, inputs: Sequence[str], place: int) -> str:
    """The name of the value with ValueId `place` in the function whose gradient this is; the number of one without a name."""
    if place < len(inputs):
        return inputs[place]
    primal = gradient.attributes.get("mind.grad_of")
    module = gradient.parent_op()
    if isinstance(primal, SymbolRefAttr) and isinstance(module, ModuleOp):
        for func in functions_called(module, primal.string_value()):
            ids = value_ids(func.body.block) if len(func.body.blocks) == 1 else {}
            return next((x.name_hint for x, i in ids.items() if i == place), None) or str(place)
    return str(place)


def shown(name: str, spec: TensorSpec, array: Array) -> str:
    """A result as text."""
    import numpy as np

    text = np.array2string(array, separator=", ", threshold=1000, max_line_width=110)
    return f"{name}: {spec} =" + ("\n" if "\n" in text else " ") + text


def save(path: Path, results: Mapping[str, Array]) -> None:
    """Write results into the folder `path`, a file each, or into one archive; the folder is made if need be."""
    import numpy as np

    (folder := path.parent if path.suffix == ".npz" else path).mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npz":
        with zipfile.ZipFile(
            path, "w"
        ) as archive:  # what np.savez would do, but that it takes a result called `file` for its own
            for name, array in results.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(cast(Any, file), array, allow_pickle=False)
        return
    for name, array in results.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def main(args: Sequence[str] | None = None) -> None:
    """Run the tool and exit."""

    def body() -> int:
        run = Run(parse_arguments(args))
        try:
            run()
        except BrokenPipeError:
            raise
        except Exception as e:
            print_error(e, run.source, "mind-run", run.args.traceback)
            return 1
        return 0

    sys.exit(guarded("mind-run", body))


if __name__ == "__main__":
    main()
