"""
`mind-run`: compile a function of a program, run it on arguments from the command line, print or save what it returns.

Whatever the input, it ends in exit status 0 or a diagnostic and 1 (130 when interrupted), never in a Python traceback.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, brief, error
from mind_dialect.program import functions, functions_called, input_names
from mind_dialect.ptir_program import stated_entry
from mind_dialect.verify import verify

from . import frontends
from .command_line import guarded, print_error
from .diagnostics import Source
from .flags import unknown
from .run_arguments import parse_arguments
from .run_results import result_names, save, shown
from .time_limit import seconds_of, time_limit

if TYPE_CHECKING:
    from mind_runtime import Program

    from .input_files import Array

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
        with time_limit(limit):
            results, memory = self.call(program, func, arguments)
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

    def call(self, program: Program, func: FuncOp, arguments: Sequence[Array]) -> tuple[Any, str | None]:
        """Return the results of one call, and what `--memory` reports of it."""
        if not self.args.memory:
            return program(*arguments), None
        from .memory_report import measured

        return measured(program, func, arguments)

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
