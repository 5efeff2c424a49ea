"""Text of `mind-opt --help`: an example, our passes with a line each, the names of all others; for a named pass, everything."""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, cast

from xdsl.passes import ModulePass, get_pass_option_infos
from xdsl.utils.target import Target

from .completion import Flag
from .flags import AFTER, PASS_ALIASES, TARGET_ALIASES, PassFactories
from .universe import PASSES, TARGETS, multiverse

EXAMPLE = """\
example, a program that computes the sum of x * w:

  $ cat loss.mlir
  func.func @loss(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> tensor<f32> {
    %0 = mind.mul %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %1 = mind.sum %0 axes = [] keepdims = false : tensor<2x3xf32> -> tensor<f32>
    func.return %1 : tensor<f32>
  }
  $ mind-opt loss.mlir --canonicalize --autodiff="function=loss wrt=w"
  $ mind-opt loss.mlir --autodiff --lower-to-numpy -t numpy
  $ mind-opt loss.mlir -p 'autodiff{function=loss},canonicalize'

Every pass is a flag. Passes run in the order of the command line, -p and --pass-pipeline included. A flag's options are
"name=value name=value,value"; a name alone sets a boolean. In -p, options are in braces.
For the description and the options of a pass or target: mind-opt --autodiff --help, mind-opt -t cupy --help.
"""


def epilog(passes: PassFactories) -> str:
    """The text below the options."""
    ours = [name for name in passes if name in PASSES]
    others = ", ".join(f"--{name}" for name in sorted(passes) if name not in PASSES)
    parts = [EXAMPLE, *_section("our passes:", (_entry(name, passes) for name in ours))]
    parts += [
        f"  --{flag}: xDSL's pass, then --{after} on every function of Core IR ops only" for flag, (after, _) in AFTER.items()
    ]
    parts += ["", *_section("our targets (-t):", (_target(name) for name in TARGETS))]
    parts += _section("passes of xDSL and of other plug-ins; --PASS --help describes one:", [_wrapped(others)])
    return "\n".join(parts)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 120, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def _section(title: str, lines: Iterable[str]) -> list[str]:
    return [title, *lines, ""]


def _entry(name: str, passes: PassFactories) -> str:
    try:
        pass_class = passes[name]()
    except Exception as e:  # another project's pass may need what is not installed; help must work all the same
        return f"  --{name}  (unavailable: {e})"
    alias = next((f" (--{short})" for short, long in PASS_ALIASES.items() if long == name), "")
    line = f"  --{name}{alias}: {summary(pass_class)}"
    return f"{line}\n      options: {', '.join(shown)}" if (shown := _options(pass_class)) else line


def _target(name: str) -> str:
    alias = next((f" (-t {short})" for short, long in TARGET_ALIASES.items() if long == name), "")
    target = multiverse().all_targets[name]()
    line = f"  {name}{alias}: {summary(target)}"
    return f"{line}\n      options: {', '.join(shown)}" if (shown := _options(target)) else line


def _options(described: type[ModulePass | Target]) -> list[str]:
    """The options of a pass or target, `name=default`, or `name` where nothing is the default."""
    infos = get_pass_option_infos(cast("type[ModulePass]", described))
    defaults = [(o.name.replace("_", "-"), o.default_value) for o in infos if o.name != "name"]
    return [name if value in (None, "none", "()") or len(value) > 20 else f"{name}={value}" for name, value in defaults]


def completions(passes: PassFactories, targets: Iterable[str]) -> list[Flag]:
    """Return the flags of mind-opt that its parser does not know: passes with the names of their options, pipelines, targets."""
    short = {name: alias for alias, name in PASS_ALIASES.items()}
    named = {name: ((f"--{short[name]}",) if name in short else ()) + (f"--{name}",) for name in passes}
    found = [_pass_flag(names, passes[name]) for name, names in sorted(named.items())]
    words = tuple(dict.fromkeys((*PASS_ALIASES, *sorted(passes))))
    shown = tuple(dict.fromkeys((*TARGET_ALIASES, *sorted(targets))))
    return [
        Flag(("-p", "--passes", "--pass-pipeline"), "run these passes", words, takes=True, is_list=True),
        Flag(("-t", "--target"), "what to print", shown, takes=True),
        *found,
    ]


def _pass_flag(names: tuple[str, ...], load: Callable[[], type[ModulePass]]) -> Flag:
    try:
        described = load()
        infos = get_pass_option_infos(described)
    except Exception:  # of another project, as above
        return Flag(names, "a pass that is not available")
    options = tuple(f"{info.name.replace('_', '-')}=" for info in infos if info.name != "name")
    return Flag(names, summary(described), options, takes=bool(options), attached=bool(options))


def details(described: type[ModulePass | Target], title: str) -> str:
    """All that a pass or target says of itself, and its options with their defaults."""
    doc: Any = described.__dict__.get("__doc__")
    text = "(no description)" if doc is None or _generated(described, doc) else inspect.cleandoc(doc)
    options = "\n".join(f"  {shown}" for shown in _options(described)) or "  none"
    return f"{title}\n\n{text}\n\noptions, with their defaults:\n{options}\n"


def summary(described: type[ModulePass | Target]) -> str:
    """The first line of a class's own docstring."""
    doc: Any = described.__dict__.get("__doc__") or ""
    lines = [] if _generated(described, doc) else [line.strip() for line in doc.splitlines() if line.strip()]
    return lines[0] if lines else "(no description)"


def _generated(described: type[ModulePass | Target], doc: str) -> bool:
    """Return whether a docstring is the one that `dataclass` makes."""
    return dataclasses.is_dataclass(described) and doc.startswith(f"{described.__name__}(")
