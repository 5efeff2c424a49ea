"""
`mind-opt`: xdsl-opt with passes as flags, our parser and verifier, and errors that show the place.

Whatever the input, it ends in exit status 0 or a diagnostic and 1 (130 when interrupted), never in a Python traceback.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, Any, ClassVar, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.universe import Universe
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline, parse_spec
from xdsl.utils.exceptions import DiagnosticException, ParseError, ShrinkException
from xdsl.xdsl_opt_main import xDSLOptMain

from mind_dialect.errors import MindError, MindErrors, error
from mind_dialect.mlir_parser import MindParser
from mind_dialect.ptir_program import state_version
from mind_dialect.verify import failures, verify
from mind_dialect.version import __version__

from .chunks import Chunk, split
from .command_line import code_errors, guarded
from .completion import Flag, add_completion
from .diagnostics import Place, Source, as_coded, explanation, place_of, render
from .expectations import differences
from .flags import PASS_ALIASES, fold, unknown
from .frontends import BINARY_READERS, READERS, SUFFIXES, form_of_bytes, read, read_binary, text_of
from .instrumentation import Instrumentation, add_arguments, write_reproducer
from .pass_help import completions, details, epilog
from .roundtrip import check_roundtrip
from .specifications import instance_of
from .universe import multiverse, tool_dialects

MAX_ERRORS = 1000
"""`--verify-all` stops after this many errors."""


class Failures(DiagnosticException):
    """All errors that `--verify-all` found."""

    def __init__(self, errors: Sequence[MindError]):
        super().__init__(f"{len(errors)} errors")
        self.errors = errors


class MindOptMain(xDSLOptMain):
    """The tool; `args` is the command line without the program's name."""

    version_format: ClassVar[str] = f"mind-opt {__version__} on xdsl {{xdsl_version}}"

    def __init__(
        self,
        description: str = "Verify, optimise, differentiate and lower programs of Core IR, PTIR and shapes.",
        args: Sequence[str] | None = None,
    ):
        self.source: Source | None = None
        self.failed = False
        self.stage = "command line"
        self._chunk = Chunk(b"")
        self._outputs: list[str] = []
        self._model: bytes | None = None
        self._found: list[tuple[MindError, Place | None]] = []
        self._module: ModuleOp | None = None
        self._reproducer: str | None = None
        self._binary: Any = None
        argv = sys.argv[1:] if args is None else args
        self._wants_help = bool({"-h", "--help"}.intersection(argv))
        known = multiverse()
        folded = self._command = fold(argv, known.all_passes, known.all_targets)
        if self._wants_help:
            explain(folded, known)
        super().__init__(description, folded)

    # The command line

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        for option, text in _OPTIONS.items():
            arg_parser.add_argument(option, action="store_true", help=text)
        add_arguments(arg_parser)
        arg_parser.add_argument("--explain", action=_Explain, metavar="CODE", help="Explain an error by its code, and exit")
        arg_parser.add_argument("--show-dialects", action=_ShowDialects, nargs=0, help="List the known dialects, and exit")
        add_completion(arg_parser, self.completions)
        arg_parser.prog = "mind-opt"
        arg_parser.usage = "mind-opt [FILE] [--PASS[=OPTIONS] ...] [-t TARGET] [options]"
        arg_parser.allow_abbrev = False
        arg_parser.formatter_class = argparse.RawDescriptionHelpFormatter
        arg_parser.epilog = epilog(self.available_passes) if self._wants_help else None
        actions = arg_parser._actions  # pyright: ignore[reportPrivateUsage]
        options = [option for action in actions for option in action.option_strings]
        flags = (f"--{name}" for name in (*PASS_ALIASES, *self.available_passes))
        code_errors(arg_parser, lambda: [*options, *flags])
        for action in actions:
            action.help = _SHORTER.get(action.dest, action.help)

    def completions(self) -> list[Flag]:
        """Return the flags that a shell completes in addition to those of the parser."""
        return completions(self.available_passes, list(self.available_targets))

    def register_all_dialects(self) -> None:
        for name, dialect in tool_dialects().items():
            self.ctx.register_dialect(name, dialect)

    def register_all_passes(self) -> None:
        for name, load in multiverse().all_passes.items():
            self.register_pass(name, load)

    def register_all_targets(self) -> None:
        self.available_targets = {**multiverse().all_targets, **self.available_targets}

    def register_all_frontends(self) -> None:
        super().register_all_frontends()

        def parse_mlir(io: IO[bytes]) -> ModuleOp:
            data = io.read()
            if (form := form_of_bytes(data, "mlir")) in BINARY_READERS:
                return read_binary(form, data, self.get_input_name())
            text = self._read(data)
            parser = MindParser(self.ctx, text, self.get_input_name(), self._chunk.line_offset)
            module = parser.parse_module(not self.args.no_implicit_module)
            if self.args.lenient:
                state_version(module)
            return module

        def reader(frontend: str) -> Callable[[IO[bytes]], ModuleOp]:
            if frontend in BINARY_READERS:
                return lambda io: read_binary(frontend, io.read(), self.get_input_name())
            return lambda io: read(
                frontend,
                self._read(io.read()),
                self.get_input_name(),
                lenient=self.args.lenient,
                line_offset=self._chunk.line_offset,
            )

        by_suffix = {suffix: reader(frontend) for suffix, frontend in SUFFIXES.items()}
        self.available_frontends = {
            "mlir": parse_mlir,
            **by_suffix,
            **{frontend: reader(frontend) for frontend in (*READERS, *BINARY_READERS)},
        }

    def _read(self, data: bytes) -> str:
        text = text_of(data, self.get_input_name(), self._chunk.byte_offset)
        self.source = Source(self.get_input_name(), text, self._chunk.line_offset)
        return text

    def setup_pipeline(self) -> None:
        self.stage = "pass pipeline"
        passes = tuple(self._make_pass(spec) for spec in parse_pipeline(self.args.passes))
        self._instruments = self.instruments()
        self.pipeline = PassPipeline(tuple(map(self._instruments.followed, passes)), self._between_passes)
        self.stage = "target"
        spec = parse_spec(self.args.target)
        make = self.available_targets[spec.name]
        if not inspect.signature(make).parameters:  # else it is a function that prints, of xDSL's older kind
            target = instance_of("target", cast(Any, make)(), spec)
            self._binary = target if hasattr(target, "emit_bytes") else None

    def instruments(self) -> Instrumentation:
        """Return what follows the passes."""
        return Instrumentation(self.args, self.available_passes)

    def _make_pass(self, spec: ArgSpec) -> ModulePass:
        spec = ArgSpec(PASS_ALIASES.get(spec.name, spec.name), spec.parameters)
        if spec.name not in self.available_passes:
            raise unknown("pass", spec.name, [*self.available_passes, *PASS_ALIASES])
        try:
            pass_class = self.available_passes[spec.name]()
        except ImportError as e:
            raise error("E7004", f"pass {spec.name} cannot be loaded: {e}", stage=spec.name, issue=str(e)) from e
        return instance_of("pass", pass_class, spec)

    # The run

    def _between_passes(self, previous: ModulePass | None, module: ModuleOp, following: ModulePass | None) -> None:
        if previous is not None:
            self._instruments.after(previous, module, is_last=following is None)
        if not self.args.disable_verify:
            self.stage = "verifier"
            self._verify(module)
            if previous is None and self.args.verify_roundtrip:
                self.stage = "round trip"
                check_roundtrip(module, self.ctx)
        self.stage = f"target {self.args.target}" if following is None else f"pass {following.name}"
        if following is not None:
            self._instruments.before(following, module)

    def _verify(self, module: ModuleOp) -> None:
        if not self.args.verify_all:
            verify(module, strict=self.args.strict)
        elif found := list(islice(failures(module, strict=self.args.strict), MAX_ERRORS)):
            raise Failures(found)

    def run(self) -> None:
        """Process every chunk of the input in order; errors are printed as they come and remembered in `failed`."""
        self.stage = self.get_input_name()
        form = self._form()
        with self.get_input_stream()[0] as file:
            data = file.read()
        for i, chunk in enumerate(split(data) if self.args.split_input_file else [Chunk(data)]):
            self._chunk, self.source, self.stage = chunk, None, "parser"
            if i:
                self._emit("// -----\n")
            self._run_chunk(form)
        if self.args.shrink:
            print("Failure, can't shrink")
            self.failed = True
        if self.args.output_file is not None and not self.failed:
            data = "".join(self._outputs).encode() if self._model is None else self._model
            Path(self.args.output_file).write_bytes(data)

    def output_resulting_program(self, prog: ModuleOp) -> str:
        """Return the text of the target."""
        return super().output_resulting_program(self._instruments.shown(prog) if self.args.target == "mlir" else prog)

    def _write_bytes(self, module: ModuleOp) -> None:
        """Write what a target makes of a module that is no text; E7001 where it cannot go."""
        if self.args.split_input_file:
            raise error("E7001", f"-t {self.args.target} writes one model, expected no --split-input-file", option="-t")
        if self.args.output_file is None:
            self._binary.emit(self.ctx, module, sys.stdout)
        else:
            self._model = self._binary.emit_bytes(module)

    def get_input_name(self) -> str:
        """Return what messages call the input; `-` is stdin, as in other tools."""
        return "stdin" if self.args.input_file in (None, "-") else self.args.input_file

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        """Return the input and the suffix of its file."""
        if self.get_input_name() == "stdin":
            return BytesIO(sys.stdin.buffer.read()), "mlir"
        try:
            return super().get_input_stream()
        except ValueError as e:  # a null byte in the name
            name = ascii(self.get_input_name())[1:-1]
            raise error("E7002", f"{name}: {e}", path=name) from None

    def _form(self) -> str:
        """Return the form of the input, by option or suffix; E7002 for an unknown suffix."""
        name = self.get_input_name()
        form = self.args.frontend or ("mlir" if name == "stdin" else Path(name).suffix.removeprefix("."))
        if form not in self.available_frontends:
            known = ", ".join(f".{s}" for s in ("mlir", *SUFFIXES))
            raise error("E7002", f"{name}: unknown suffix, expected one of {known}, or the option -f", path=name)
        return form

    def _run_chunk(self, form: str) -> None:
        self._found, self._module = [], None
        try:
            self._module = self.parse_chunk(BytesIO(self._chunk.data), form, self._chunk.line_offset)
            if self._module is not None:
                self._keep_start()
                self.apply_passes(self._module)
                if self._binary is None:
                    text = self.output_resulting_program(self._module)
                    self._emit(text if text.endswith("\n") else text + "\n")
                else:
                    self._write_bytes(self._module)
        except (ShrinkException, BrokenPipeError):
            raise
        except ParseError as e:
            e.span = dataclasses.replace(e.span, line_offset=self._chunk.line_offset)
            self.report(e, wanted=self.args.parsing_diagnostics or self.args.print_diagnostics)
        except Exception as e:
            self._instruments.failed(self.stage, self._module)
            self.report(e, wanted=self.args.print_diagnostics and isinstance(e, DiagnosticException))
        if self.args.verify_diagnostics:
            self._compare_diagnostics()

    def _keep_start(self) -> None:
        """Keep the text of the module as it is before all passes, if a failure of them is to be reproduced."""
        if self.args.crash_reproducer is not None and self._module is not None:
            self._reproducer = self._instruments.text(self._module, generic=True)

    def _compare_diagnostics(self) -> None:
        """Report what differs between the diagnostics of the chunk and its comments."""
        text = self._chunk.data.decode(errors="replace")
        for err, place, *notes in differences(self._found, text, self.get_input_name(), self._chunk.line_offset):
            print(render(err, place, tuple(notes)), end="", file=sys.stderr)
            self.failed = True

    def _emit(self, text: str) -> None:
        """Results go to stdout as they come, to a file only when all went well: it may be the input."""
        if self.args.output_file is not None:
            self._outputs.append(text)
        else:
            sys.stdout.write(text)
            sys.stdout.flush()

    def report(self, e: BaseException, *, wanted: bool) -> None:
        """Print `e` as a diagnostic, to stdout if the user asked for it; keep it instead where comments say what is expected."""
        errors = e.errors if isinstance(e, Failures | MindErrors) else (e,)
        found = [(as_coded(inner, self.stage), place_of(inner, self.source)) for inner in errors]
        if self.args.verify_diagnostics:
            self._found.extend(found)
            return
        for err, place in found:
            print(render(err, place), end="", file=sys.stdout if wanted else sys.stderr)
        if not wanted:
            self.failed = True
            self._reproduce(found[0][0])
            if self.args.traceback:
                traceback.print_exception(e)

    def _reproduce(self, err: MindError) -> None:
        """Write what the first failure needs into the file that is named for it: the text that cannot be read, or a module."""
        if (path := self.args.crash_reproducer) is None:
            return
        self.args.crash_reproducer = None  # the first failure is kept
        if self._module is None:
            Path(path).write_bytes(self._chunk.data)
        else:
            write_reproducer(path, self._reproducer or "", self._command, self.args.input_file, str(err))


class _ShowDialects(argparse.Action):
    """`--show-dialects`."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"Available Dialects: {','.join(sorted(tool_dialects()))}")
        parser.exit()


class _Explain(argparse.Action):
    """`--explain CODE`."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        print(explanation(values), end="")
        parser.exit()


def explain(folded: Sequence[str], known: Universe) -> None:
    """Print everything about passes or a target that are named next to `--help`, and exit."""
    given = dict(pairwise(folded))
    loads = [(f"--{spec.name}", known.all_passes.get(spec.name)) for spec in parse_pipeline(given.get("-p", ""))]
    target = given.get("-t", "").partition("{")[0]
    loads += [(f"-t {target}", known.all_targets.get(target))] if target else []
    if loads and all(load is not None for _, load in loads):
        print("\n".join(details(cast(Any, load)(), title) for title, load in loads), end="")
        raise SystemExit(0)


_OPTIONS = {
    "--strict": "Refuse the extension ops that gradients use, and fills",
    "--lenient": "Read PTIR without a stated version as the version of these tools",
    "--verify-all": f"Report all errors of the verifier (up to {MAX_ERRORS}), instead of the first",
    "--traceback": "Also show the Python traceback of an error",
    "--print-diagnostics": "Print diagnostics to stdout and end with 0, for FileCheck",
    "--verify-roundtrip": "Check that the module is the same after printing and parsing, in both text forms",
}
_SHORTER = {
    "input_file": "The program, .mlir, .coreir, .ptir, .json or .onnx; stdin if absent",
    "frontend": "Format of the input; by default that of its suffix",
    "passes": "A pipeline, a,b{x=1 y=2}; also --pass-pipeline, with or without builtin.module(...)",
    "target": "Output format, mlir by default; see below",
    "output_file": "Output file, written only if nothing failed",
    "disable_verify": "Do not verify between passes",
    "verify_diagnostics": "Check expected-error comments against the diagnostics, and fail where they differ",
    "parsing_diagnostics": "Like --print-diagnostics, for parse errors only",
    "print_between_passes": "Like --print-ir-after-all, but not after the last pass",
    "time_passes": "Print how long each pass takes, to stderr",
}


def main(args: Sequence[str] | None = None) -> None:
    """Run the tool and exit."""

    def body() -> int:
        tool: MindOptMain | None = None
        try:
            tool = MindOptMain(args=args)
            tool.run()
        except ShrinkException:
            print("Success, can shrink")
            return 0
        return 1 if tool.failed else 0

    sys.exit(guarded("mind-opt", body))


if __name__ == "__main__":
    main()
