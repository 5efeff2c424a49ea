"""
Passes as flags: `--a --b="x=1 y=z" -p c,d` becomes `-p 'a,b{x=1 y="z"},c,d'`, in the order of the command line.

Folding happens before argparse, which knows no order between different options. xDSL's braces want strings quoted and booleans
spelled out; here neither is needed, behind a flag or in braces.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from xdsl.passes import ModulePass

from mind_dialect.errors import MindError, error

PASS_ALIASES = {
    "autodiff": "mind-autodiff",
    "split-gradient": "mind-split-gradient",
    "jvp": "mind-jvp",
    "vectorize": "mind-vectorize",
    "lower-enzyme": "mind-lower-enzyme",
    "canonicalize-shape": "mind-canonicalize-shape",
    "shape-infer": "mind-shape-infer",
    "convert-mind-to-ptir": "mind-convert-to-ptir",
    "convert-stablehlo-to-ptir": "mind-convert-stablehlo-to-ptir",
    "ptir-canonicalize": "mind-ptir-canonicalize",
    "ptir-cse": "mind-ptir-cse",
    "ptir-dce": "mind-ptir-dce",
    "ptir-hoist": "mind-ptir-hoist",
    "ptir-sink-views": "mind-ptir-sink-views",
    "ptir-defuse": "mind-ptir-defuse",
    "ptir-fold": "mind-ptir-fold",
    "ptir-fuse": "mind-ptir-fuse",
    "ptir-convolve-patches": "mind-ptir-convolve-patches",
    "ptir-split-windows": "mind-ptir-split-windows",
    "ptir-narrow-products": "mind-ptir-narrow-products",
    "ptir-quantized-products": "mind-ptir-quantized-products",
    "ptir-select-scatters": "mind-ptir-select-scatters",
    "ptir-compact-scatters": "mind-ptir-compact-scatters",
    "ptir-gather-axes": "mind-ptir-gather-axes",
    "ptir-expand-quantized": "mind-ptir-expand-quantized",
    "ptir-expand-complex": "mind-ptir-expand-complex",
    "ptir-expand-digamma": "mind-ptir-expand-digamma",
    "ptir-expand-arg-extremes": "mind-ptir-expand-arg-extremes",
    "ptir-expand-narrow": "mind-ptir-expand-narrow",
    "ptir-expand-norms": "mind-ptir-expand-norms",
    "ptir-unroll-axes": "mind-ptir-unroll-axes",
    "ptir-tile-batch": "mind-ptir-tile-batch",
    "ptir-move-casts": "mind-ptir-move-casts",
    "ptir-absorb-views": "mind-ptir-absorb-views",
    "ptir-split-products": "mind-ptir-split-products",
    "ptir-split-reductions": "mind-ptir-split-reductions",
    "ptir-wrap-ops": "mind-ptir-wrap-ops",
    "ptir-fuse-convolutions": "mind-ptir-fuse-convolutions",
    "ptir-merge-components": "mind-ptir-merge-components",
    "ptir-merge-lookups": "mind-ptir-merge-lookups",
    "ptir-merge-rows": "mind-ptir-merge-rows",
    "ptir-form-rows": "mind-ptir-form-rows",
    "ptir-merge-producers": "mind-ptir-merge-producers",
    "ptir-rematerialize": "mind-ptir-rematerialize",
    "ptir-place-parts": "mind-ptir-place-parts",
    "ptir-product-epilogues": "mind-ptir-product-epilogues",
    "ptir-optimize": "mind-ptir-optimize",
    "ptir-recognize": "mind-ptir-recognize",
    "ptir-split-parameters": "mind-ptir-split-parameters",
    "ptir-sink-filters": "mind-ptir-sink-filters",
    "convert-ptir-to-stablehlo": "mind-convert-ptir-to-stablehlo",
    "convert-ptir-to-linalg": "mind-convert-ptir-to-linalg",
    "convert-ptir-to-launch": "mind-convert-ptir-to-launch",
    "launch-hoist-packing": "mind-launch-hoist-packing",
    "launch-loop-carried": "mind-launch-loop-carried",
    "launch-assign-memory": "mind-launch-assign-memory",
    "mask-padding": "mind-mask-padding",
    "plan-buffers": "mind-plan-buffers",
    "shape-modernize": "mind-shape-modernize",
    "shape-to-early": "mind-shape-to-early",
    "reify-shapes": "mind-reify-shapes",
    "lower-shape-to-arith": "mind-lower-shape-to-arith",
    "remove-shape-constraints": "mind-remove-shape-constraints",
    "convert-shape-constraints": "mind-convert-shape-constraints",
    "shape-to-shape-lowering": "mind-shape-to-shape-lowering",
    "outline-shape-computation": "mind-outline-shape-computation",
    "shape-fn-report": "mind-shape-fn-report",
    "resolve-shaped-type-result-dims": "mind-resolve-shaped-type-result-dims",
    "convert-shape-to-std": "mind-convert-shape-to-std",
    "lower-to-native": "mind-lower-to-native",
    "fuse-for-cupy": "mind-fuse-for-cupy",
    "lower-to-cupy": "mind-lower-to-cupy",
    "lower-to-numpy": "mind-lower-to-numpy",
}
"""Short names of our passes, in flags and in pipelines."""
TARGET_ALIASES = {
    "cupy": "mind-cupy",
    "native": "mind-native",
    "numpy": "mind-numpy",
    "core-ir": "mind-core-ir",
    "ptir-json": "mind-ptir-json",
    "ptir-text": "mind-ptir-text",
    "ptir-snippet": "mind-ptir-snippet",
    "onnx": "mind-onnx",
    "stablehlo": "mind-stablehlo",
    "shape-python": "mind-shape-python",
    "buffer-plan": "mind-buffer-plan",
}
"""Short names of our targets."""
AFTER = {"canonicalize": ("mind-canonicalize", "skip-mixed=true")}
"""
Flags that run a second pass: `--canonicalize` is xDSL's pass, then ours on every function that is Core IR throughout.

The options of such a flag go to the second pass. `-p canonicalize` means what it means to xdsl-opt.
"""
OF_MLIR_OPT = {
    "list-passes": "--help",
    "help-list": "--help",
    "help-hidden": "--help",
    "load-pass-plugin": "an entry point of the group xdsl.universe",
    "load-dialect-plugin": "an entry point of the group xdsl.universe",
    "run-reproducer": "the command line at the head of the file",
}
"""Counterparts here of options of mlir-opt, whose names are without `--mlir-`."""
SPELLINGS = {
    **{
        f"--mlir-{name}": f"--{name}"
        for name in (
            "print-ir-before",
            "print-ir-before-all",
            "print-ir-after",
            "print-ir-after-all",
            "print-ir-after-change",
            "print-ir-after-failure",
            "print-op-generic",
            "print-debuginfo",
            "elide-elementsattrs-if-larger",
        )
    },
    "--mlir-timing": "--time-passes",
    "--mlir-pass-pipeline-crash-reproducer": "--crash-reproducer",
    "--verify-each=false": "--disable-verify",
    "--verify-each=0": "--disable-verify",
}
"""Options of mlir-opt that are read as ours."""
DEFAULTS = frozenset({"--verify-each", "--verify-each=true", "--verify-each=1", "--mlir-disable-threading"})
"""Options of mlir-opt that ask for what happens anyway."""
MANY = 20
"""As many names, or fewer, are shown in full where none is near to the one that was given."""

PassFactories = Mapping[str, Callable[[], type[ModulePass]]]
TargetFactories = Mapping[str, Callable[[], Any]]

_PIPELINE_OPTIONS = ("-p", "--passes", "--pass-pipeline")
_WITH_VALUE = (
    *("-o", "--output-file", "-f", "--frontend", "--print-ir-before", "--print-ir-after", "--crash-reproducer"),
    *("--elide-elementsattrs-if-larger", "--function", "--executor", "--size", "--profile"),
)
_OPTION = re.compile(r'\s*([A-Za-z0-9_-]+)(?:=((?:"(?:[^"\\]|\\.)*"|[^\s"])*))?(?=\s|$)')
_ELEMENT = re.compile(r'"(?:[^"\\]|\\.)*"|[^,"]+')
_PLAIN = re.compile(r"[-+]?[0-9]+(\.[0-9]*([eE][-+]?[0-9]+)?)?|true|false")
_NO_TARGETS: TargetFactories = {}
_WITH_OPTIONS = re.compile(r'([A-Za-z0-9_-]+)\{((?:"(?:[^"\\]|\\.)*"|[^{}"])*)\}')
_NESTED = re.compile(r"\s*(?:builtin\.module|any)\((.*)\)\s*", re.DOTALL)


@dataclass
class _Folded:
    """A parsed command line: one pipeline, and the arguments that are left for argparse."""

    pipeline: list[str]
    rest: list[str]

    def arguments(self) -> list[str]:
        return [*(("-p", ",".join(self.pipeline)) if self.pipeline else ()), *self.rest]


def fold(argv: Sequence[str], passes: PassFactories, targets: TargetFactories = _NO_TARGETS) -> list[str]:
    """`argv` with every pass flag and pipeline folded into one `-p`; E7001 for options that cannot be read."""
    folded = _Folded([], [])
    arguments = iter(argv)
    for argument in map(_spelled, arguments):
        if argument in DEFAULTS:
            continue
        if argument == "--":
            folded.rest += [argument, *arguments]
            break
        flag, equals, value = argument.partition("=")
        if flag in _PIPELINE_OPTIONS:
            folded.pipeline += _pipeline(value if equals else _value_of(flag, arguments), passes)
        elif argument.startswith("-p") and not argument.startswith("--"):
            folded.pipeline += _pipeline(argument[2:], passes)
        elif flag.startswith("--") and (name := PASS_ALIASES.get(flag[2:], flag[2:])) in passes:
            folded.pipeline += _flag(name, value, passes)
        elif flag in ("-t", "--target") or (argument.startswith("-t") and not argument.startswith("--")):
            target = value if equals and flag == "--target" else argument[2:] if flag != "--target" else ""
            folded.rest += ["-t", _target(target or _value_of(flag, arguments), targets)]
        elif argument in _WITH_VALUE:
            folded.rest += [argument, _value_of(argument, arguments)]
        else:
            folded.rest.append(argument)
    return folded.arguments()


def _spelled(argument: str) -> str:
    """An option of mlir-opt as it is called here; all else as it is."""
    flag, equals, value = argument.partition("=")
    return SPELLINGS.get(argument) or SPELLINGS.get(flag, flag) + equals + value


def _value_of(flag: str, arguments: Iterable[str]) -> str:
    for value in arguments:
        return value
    raise error("E7001", f"{flag} needs a value", option=flag)


def _pipeline(text: str, passes: PassFactories) -> list[str]:
    if (nested := _NESTED.fullmatch(text)) is not None:
        text = nested[1]

    def quoted(match: re.Match[str]) -> str:
        name = PASS_ALIASES.get(match[1], match[1])
        return f"{match[1]}{{{quote_options(match[2], f'-p {match[1]}', passes.get(name))}}}"

    return [_WITH_OPTIONS.sub(quoted, text)] if text.strip() else []


def _target(text: str, targets: TargetFactories) -> str:
    name, brace, options = text.partition("{")
    name = TARGET_ALIASES.get(name, name)
    if not options.endswith("}") or name not in targets:
        return name + brace + options
    return _element(name, quote_options(options[:-1], f"-t {name}", targets[name]))


def _flag(name: str, value: str, passes: PassFactories) -> list[str]:
    """The pipeline elements of one pass flag."""
    options = value.strip()
    if options.startswith("{") and options.endswith("}"):
        options = options[1:-1]
    if name not in AFTER or AFTER[name][0] not in passes:
        return [_element(name, quote_options(options, f"--{name}", passes[name]))]
    second, fixed = AFTER[name]
    return [name, _element(second, f"{fixed} {quote_options(options, f'--{second}', passes[second])}".strip())]


def _element(name: str, options: str) -> str:
    return f"{name}{{{options}}}" if options else name


def quote_options(text: str, flag: str, load: Callable[[], Any] | None = None) -> str:
    """
    The options of a flag as xDSL's pipelines want them: strings quoted, a bare boolean of what `load` gives spelt out.

    >>> quote_options("function=@loss wrt=0,x profile=core-v1.1", "--p")
    'function="loss" wrt=0,"x" profile="core-v1.1"'
    """
    options: list[str] = []
    position = 0
    while text[position:].strip():
        if (match := _OPTION.match(text, position)) is None:
            message = f'{flag}: cannot read options at {text[position:].strip()!r}, expected "name=value name=value,value"'
            raise error("E7001", message, option=flag)
        position = match.end()
        key, value = match[1], match[2]
        if value is not None:
            options.append(f"{key}={_quote_values(value, key, flag)}")
        else:
            options.append(f"{key}=true" if _is_boolean(key, load) else key)
    return " ".join(options)


def _quote_values(value: str, key: str, flag: str) -> str:
    elements = _ELEMENT.findall(value)
    if ",".join(elements) != value or not elements:
        raise error("E7001", f"{flag}: cannot read {key}={value}, expected values between commas", option=key)
    return ",".join(_quote(element) for element in elements)


def _quote(element: str) -> str:
    if element.startswith('"') or _PLAIN.fullmatch(element):
        return element
    escaped = element.removeprefix("@").replace("\\", "\\\\")
    return f'"{escaped}"'


def _is_boolean(key: str, load: Callable[[], Any] | None) -> bool:
    if load is None:
        return False
    kind = get_type_hints(load()).get(key.replace("-", "_"))
    return kind is bool or bool in get_args(kind)


def of_mlir_opt(option: str) -> str | None:
    """Return our name for a common option of mlir-opt; None for others."""
    return OF_MLIR_OPT.get(option.lstrip("-").removeprefix("mlir-"))


def unknown_option(owner: str, given: str, known: Iterable[str]) -> MindError:
    """E7001 for an option that a pass or target does not have, with those that it has."""
    names = list(known)
    close = difflib.get_close_matches(given, names, n=1)
    hint = f", did you mean {close[0]}?" if close else ""
    return error("E7001", f"{owner} has no option {given!r}{hint}; its options are: {', '.join(names) or 'none'}", option=given)


def unknown(what: str, name: str, known: Iterable[str]) -> MindError:
    """E7003 with the names that are nearest to `name`, or all if they are few."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3)
    others = f"expected one of {', '.join(names)}" if 0 < len(names) <= MANY else "see --help" if names else "there is none"
    hint = f"did you mean {' or '.join(close)}?" if close else others
    return error("E7003", f"unknown {what} {name!r}; {hint}", name=name, known=close or names[:MANY])
