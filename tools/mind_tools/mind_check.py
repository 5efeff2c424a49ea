"""
`mind-check`: run a program on every executor that is installed, on the same inputs, and say which of them agree.

The status is 0 where all that run agree, 1 where two differ or nothing runs, and 130 when interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import brief, error
from mind_dialect.program import functions, input_names
from mind_dialect.verify import verify
from mind_dialect.version import __version__

from . import frontends
from .command_line import code_errors, guarded, print_error
from .completion import add_completion
from .diagnostics import Source
from .originals import NAME, Original, original_onnx

if TYPE_CHECKING:
    from mind_runtime.agreement import Agreement, Outcome

DESCRIPTION = "Run a program with every executor on the same inputs, and compare the results."
EPILOG = """\
example:

  $ mind-check loss.mlir --executors numpy,native --grad

Inputs are random: normally distributed floats, and integers within the bounds of what they index. Named dimensions have the sizes
of --size, else 4. Results agree if they differ by at most a tolerance of their dtype (docs/tools.md has the table), NaNs and
infinities in the same places. Where two executors differ, the first op is printed whose operands agree and whose results do not.
"""


def parse_arguments(args: Sequence[str] | None) -> argparse.Namespace:
    """The command line; E7001 for what is wrong with it."""
    parser = argparse.ArgumentParser("mind-check", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("file", metavar="FILE", help="the program, in any form that mind-run reads")
    parser.add_argument("--function", metavar="NAME", help="function to check; needed if the program has several")
    parser.add_argument(
        "--executors",
        metavar="NAMES",
        help="executors, as in numpy,native; by default all that are installed",
    )
    parser.add_argument("--inputs", metavar="FILE.npz", help="arrays by the names of inputs, in place of random ones")
    parser.add_argument("--seed", metavar="N", default="0", help="seed of random inputs and of random ops; 0 by default")
    parser.add_argument("--size", metavar="NAME=N", action="append", default=[], help="the size of a named dimension")
    parser.add_argument("--special", action="store_true", help="include NaN, infinities and zeros of both signs in random floats")
    parser.add_argument(
        "--grad",
        action="store_true",
        help="compare the gradient with central differences in f64, that of a .pt2 with PyTorch's, of a .jaxexport with JAX's",
    )
    parser.add_argument(
        "-f",
        "--frontend",
        choices=["mlir", *frontends.READERS, *frontends.BINARY_READERS, *frontends.ORIGINALS],
        help="format of FILE; by default that of its suffix",
    )
    parser.add_argument("--lenient", action="store_true", help="read PTIR without a stated version as the version of these tools")
    parser.add_argument("--traceback", action="store_true", help="also show the Python traceback of an error")
    add_completion(parser)
    parser.add_argument("-v", "--version", action="version", version=f"mind-check {__version__}")
    options = [option for action in parser._actions for option in action.option_strings]  # pyright: ignore[reportPrivateUsage]
    code_errors(parser, lambda: options)
    return parser.parse_args(args)


@dataclass
class Check:
    """One run of the tool; `source` is the text once it is read, for diagnostics."""

    args: argparse.Namespace
    source: Source | None = None
    arguments: list[Any] = field(default_factory=list[Any])
    seed: int = 0
    original: Original | None = None
    """The model that the program was read from, if another system runs it."""

    def __call__(self) -> bool:
        """Print what was found; whether all agree."""
        module = self.read()
        from mind_runtime.compilation import find_function
        from mind_runtime.executors import executor_names, register_executor

        self.seed = self.number(self.args.seed, "--seed")
        name = find_function(module, self.args.function).sym_name.data
        self.arguments = self.inputs(module, name)
        if self.original is not None:
            register_executor(NAME, self.original.executor())
        try:
            named = self.args.executors.split(",") if self.args.executors is not None else executor_names()
            agrees = self.compare(module, name, named)
        finally:
            if self.original is not None:
                register_executor(NAME, None)
        return (self.gradients(module, name) and agrees) if self.args.grad else agrees

    def read(self) -> ModuleOp:
        """The program, verified, Core IR as PTIR."""
        from mind_lowering.core_to_ptir import convert_module

        path: str = self.args.file
        if (reader := frontends.original_reader(path, self.args.frontend)) is not None:
            module, self.original = reader(path)
            verify(module)
            return module
        frontend = (self.args.frontend or "mlir") if path == "-" else frontends.form_of(path, self.args.frontend)
        try:
            data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        except OSError as e:
            raise error("E7002", f"{path}: {e.strerror or e}", path=path) from None
        name = "stdin" if path == "-" else path
        if (frontend := frontends.form_of_bytes(data, frontend)) in frontends.BINARY_READERS:
            self.source = Source(name, "")
            module = frontends.read_binary(frontend, data, name)
            (whole,) = functions(module)
            self.original = original_onnx(data, name, whole)
        else:
            self.source = Source(name, frontends.text_of(data, name))
            module = frontends.parse(self.source.text, frontend, name, lenient=self.args.lenient)
        verify(module)
        convert_module(module)
        return module

    def inputs(self, module: ModuleOp, function: str) -> list[Any]:
        """The arguments: drawn, or by name from a file."""
        from mind_passes.dim_names import names_used
        from mind_runtime.agreement import draw_arguments
        from mind_runtime.compilation import find_function
        from mind_runtime.signature import TensorSpec

        sizes = dict(self.size(text) for text in self.args.size)
        known = sorted(set(names_used(find_function(module, function))))
        if unknown_names := sorted(sizes.keys() - set(known)):
            message = f"--size {brief(unknown_names[0])}: @{function} has no such dimension, expected one of {brief(known)}"
            raise error("E7003", message, name=unknown_names[0], known=known)
        if self.args.inputs is None:
            drawn = draw_arguments(module, function, self.seed, sizes, special=self.args.special)
            if self.original is None:
                return drawn
            names = input_names(find_function(module, function))
            return [self.original.weights.get(name, a) for name, a in zip(names, drawn, strict=True)]
        from .inputs import read_input

        func = find_function(module, function)
        specs = [TensorSpec.of(n, t) for n, t in zip(input_names(func), func.function_type.inputs.data, strict=True)]
        return [read_input(self.args.inputs, spec, i) for i, spec in enumerate(specs)]

    def size(self, text: str) -> tuple[str, int]:
        """A name and a size; E7001 for another text."""
        name, _, number = text.partition("=")
        if not name:
            raise error("E7001", f"--size {brief(text)!r}: expected a name and a size, as in B=8", option="--size")
        return name, self.number(number, "--size")

    def number(self, text: str, option: str) -> int:
        """An integer from 0; E7001 for another text."""
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise error("E7001", f"{option} {brief(text)!r}: expected an integer from 0", option=option)
        return int(text)

    def compare(self, module: ModuleOp, function: str, executors: Sequence[str]) -> bool:
        """Run and print the matrix; whether all agree. E6002 unless something runs."""
        from mind_runtime.agreement import run_everywhere

        found = run_everywhere(module, function, self.arguments, executors, self.seed)
        if self.original is not None and NAME in executors:
            print(f"{NAME}: the model itself, by {self.original.system}")
        print("\n".join(matrix(found)))
        if not any(outcome.counts for outcome in found.outcomes):
            known = list(executors)
            raise error("E6002", f"none of the executors {known} runs @{function}", requested=function, available=known)
        for left, right in found.disagreements():
            print("\n".join(self.disagreement(module, function, found, left, right)))
        return not found.disagreements()

    def disagreement(self, module: ModuleOp, function: str, found: Agreement, left: Outcome, right: Outcome) -> list[str]:
        """Return the difference of two executors, and the op from which it comes."""
        from mind_runtime.agreement import first_difference

        place, difference = found.difference(left, right)
        lines = [f"{left.executor} and {right.executor} disagree: result {place}: {difference}"]
        pair, comparable = (left.executor, right.executor), None
        if self.original is not None and NAME in pair:
            if (comparable := self.original.comparable) is None:
                return [*lines, "  the original runs as a whole only; two other executors may show the op"]
        op = first_difference(module, function, self.arguments, pair, self.seed, comparable or (lambda op: True))
        if op is None:
            return [*lines, "  every op by itself agrees; the difference needs the whole function"]
        return [*lines, f"  the first op that differs: {str(op).splitlines()[0].strip()}", f"  at {op.location}"]

    def gradients(self, module: ModuleOp, function: str) -> bool:
        """Print the check of gradients; whether they agree."""
        from mind_runtime.agreement import check_gradients, compare_adjoints

        checks = check_gradients(module, function, self.arguments, self.seed)
        for k, check in enumerate(checks):
            said = "agrees" if check.agrees else "DISAGREES"
            numbers = (
                f"{check.by_vjp:.9g} by the VJP, {check.by_differences:.9g} by differences (sure to {check.uncertainty:.1g})"
            )
            print(f"gradient, direction {k}: {said}: {numbers}")
        agrees = all(check.agrees for check in checks)
        if self.original is None:
            return agrees
        if self.original.adjoints is None:
            print(f"gradient: not compared with {self.original.system}: {self.original.no_adjoints}")
            return agrees
        reference, results = self.original.adjoints, self.original.differentiable
        for name, difference in compare_adjoints(module, function, self.arguments, reference, self.seed, results):
            said = "agrees" if difference.agrees else "DISAGREES"
            print(f"gradient by {name}: {said} with {self.original.system}: {difference}")
            agrees = agrees and difference.agrees
        return agrees


def matrix(found: Agreement) -> list[str]:
    """The lines of a matrix: for each pair the largest difference, in units of the tolerance; then those that did not run."""
    rows = [outcome for outcome in found.outcomes if outcome.counts]
    width = max(12, *(len(outcome.executor) + 2 for outcome in found.outcomes))
    lines = ["".ljust(width) + "".join(outcome.executor.ljust(width) for outcome in rows).rstrip()] if rows else []
    for i, left in enumerate(rows):
        cells = [_cell(found, left, right) if j > i else "-" if i == j else "" for j, right in enumerate(rows)]
        lines.append((left.executor.ljust(width) + "".join(cell.ljust(width) for cell in cells)).rstrip())
    lines += [f"{o.executor}: {o.status}: {o.error.code} {o.error.message}" for o in found.outcomes if o.error is not None]
    return lines


def _cell(found: Agreement, left: Outcome, right: Outcome) -> str:
    difference = found.difference(left, right)[1]
    return f"{difference.ratio:.2g}" if difference.agrees else f"{difference.ratio:.2g} !"


def main(args: Sequence[str] | None = None) -> None:
    """Run the tool and exit."""

    def body() -> int:
        check = Check(parse_arguments(args))
        try:
            return 0 if check() else 1
        except (BrokenPipeError, KeyboardInterrupt):
            raise
        except Exception as e:
            print_error(e, check.source, "mind-check", check.args.traceback)
            return 1

    sys.exit(guarded("mind-check", body))


if __name__ == "__main__":
    main()
