"""
Completion of a tool's command line in bash, zsh and fish: `mind-opt --completion bash` prints the script.

The script holds what the tool's own tables say, options from its parser, passes and targets from the registry, and starts no
Python when a key is pressed.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class Flag:
    """
    The spellings of an option and what may follow it.

    `values` are the words to choose from, `is_file` asks for paths, `is_list` for values between commas; a flag that `takes` a
    value only behind `=` has `attached`, as passes with options do.
    """

    names: tuple[str, ...]
    about: str
    values: tuple[str, ...] = ()
    takes: bool = False
    is_file: bool = False
    is_list: bool = False
    attached: bool = False


def add_completion(parser: argparse.ArgumentParser, more: Callable[[], Iterable[Flag]] = lambda: ()) -> None:
    """Add `--completion SHELL`, which prints the script and exits; `more` gives flags that the parser does not know."""

    class Print(argparse.Action):
        def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
            given = list(more())
            own = {name for flag in given for name in flag.names}
            print(script(parser.prog, values, [*(flag for flag in flags(parser) if not own & {*flag.names}), *given]), end="")
            parser.exit()

    about = "print a completion script for bash, zsh or fish, and exit"
    parser.add_argument("--completion", metavar="SHELL", choices=SHELLS, action=Print, help=about)


def flags(parser: argparse.ArgumentParser) -> list[Flag]:
    """Return the options of a parser that its help shows."""
    found: list[Flag] = []
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if not action.option_strings or action.help == argparse.SUPPRESS:
            continue
        values = tuple(map(str, action.choices or ()))
        is_file = "FILE" in str(action.metavar) or action.dest.endswith(("file", "reproducer")) or action.metavar == "DIR"
        names = tuple(name for name in action.option_strings if name.startswith("--") or len(name) == 2)
        found.append(Flag(names, _line(action.help or ""), values, action.nargs != 0, is_file and not values))
    return found


def script(tool: str, shell: str, known: Sequence[Flag]) -> str:
    """Return the completion script of a tool."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](tool, known)


def _line(text: str) -> str:
    """Return the help of an option as a short line."""
    return re.sub(r"\s+", " ", text).replace("%%", "%")


def _quoted(text: str) -> str:
    """Return a word of a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


_BASH = """\
# Completion of {tool} for bash, printed by `{tool} --completion bash`.
_{name}() {{
  local line=${{COMP_LINE:0:COMP_POINT}} values= head= joined=
  local word=${{line##*[[:space:]]}}
  local before=${{line%"$word"}}
  before=${{before%"${{before##*[![:space:]]}}"}}
  local previous=${{before##*[[:space:]]}}
  COMPREPLY=()
  if [[ $word == --*=* ]]; then
    previous=${{word%%=*}} joined=yes word=${{word#*=}}
    [[ $COMP_WORDBREAKS == *=* ]] || head=$previous=
  fi
  case $previous in
{cases}
  esac
  if [[ -z $values && -z $joined && $word == -* ]]; then
    values={flags}
  fi
  [[ -n $values ]] || return 0
  COMPREPLY=($(compgen -P "$head" -W "$values" -- "$word"))
  if [[ ${{#COMPREPLY[@]}} == 1 && ${{COMPREPLY[0]}} == *= ]]; then compopt -o nospace 2> /dev/null; fi
  return 0
}}
complete -o default -F _{name} {tool}
"""


def _bash(tool: str, known: Sequence[Flag]) -> str:
    cases: list[str] = []
    for flag in known:
        if not flag.values:
            continue
        body = f"values={_quoted(' '.join(flag.values))}"
        if flag.attached:
            body = f"[[ -z $joined ]] || {body}"
        if flag.is_list:
            body += ' head+=${word%"${word##*,}"} word=${word##*,}'
        cases.append(f"    {'|'.join(flag.names)}) {body} ;;")
    files = [name for flag in known if flag.takes and not flag.values and not flag.attached for name in flag.names]
    if files:
        cases.append(f"    {'|'.join(files)}) return 0 ;;")
    names = _quoted(" ".join(name for flag in known for name in flag.names))
    return _BASH.format(tool=tool, name=tool.replace("-", "_"), cases="\n".join(cases), flags=names)


def _zsh(tool: str, known: Sequence[Flag]) -> str:
    lines = [_zsh_spec(flag, name) for flag in known for name in flag.names]
    head = f"#compdef {tool}\n# Completion of {tool} for zsh, printed by `{tool} --completion zsh`.\n"
    name = f"_{tool.replace('-', '_')}"
    body = " \\\n    ".join(["_arguments", *lines, "'*:file:_files'"])
    return (
        f'{head}{name}() {{\n  {body}\n}}\nif [ "$funcstack[1]" = "_{tool}" ]; then {name} "$@"; else compdef {name} {tool}; fi\n'
    )


def _zsh_spec(flag: Flag, name: str) -> str:
    """Return how `_arguments` writes one option."""
    about = re.sub(r"([\[\]:\\])", r"\\\1", flag.about)
    if not flag.takes:
        return _quoted(f"*{name}[{about}]")
    words = " ".join(re.sub(r"([():\s])", r"\\\1", value) for value in flag.values)
    action = f"_values -s , value {words}" if flag.is_list else f"compadd -S '' -- {words}" if flag.attached else f"({words})"
    action = action if words else "_files" if flag.is_file else " "
    sign = "=-" if flag.attached else "=" if name.startswith("--") else "+"
    message = f"{'::' if flag.attached else ':'}value:{action}"
    return _quoted(f"*{name}{sign}[{about}]{message}")


def _fish(tool: str, known: Sequence[Flag]) -> str:
    lines = [f"# Completion of {tool} for fish, printed by `{tool} --completion fish`."]
    for flag in known:
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
        parts = [f"complete -c {tool} {names}"]
        if flag.takes and not flag.attached:
            parts.append("-r" if flag.is_file else "-x")
        if flag.values:
            words = " ".join(flag.values)
            listed = f"(__fish_append , {words})" if flag.is_list else words
            parts.append(f"-a {_quoted(listed)}" + (" -f" if flag.attached else ""))
        lines.append(" ".join([*parts, f"-d {_quoted(flag.about)}"]))
    return "\n".join(lines) + "\n"
