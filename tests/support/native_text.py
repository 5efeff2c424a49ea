"""What tests do with the text of native modules and with their machine code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from mind_lowering.native.target_info import TargetInfo
from mind_runtime.native import jit

_KERNEL = re.compile(r'define internal i64 (@(?:"[^"]+"|[\w.]+))\(ptr %args, i64 %begin, i64 %end\) #0 \{')

_BACKWARDS = """
define internal i64 {name}(ptr %args, i64 %begin, i64 %end) #0 {{
entry:
  br label %head
head:
  %i = phi i64 [ %end, %entry ], [ %u, %fine ]
  %more = icmp sgt i64 %i, %begin
  br i1 %more, label %body, label %done
body:
  %u = sub i64 %i, 1
  %status = call i64 {unit}(ptr %args, i64 %u, i64 %i)
  %bad = icmp ne i64 %status, 0
  br i1 %bad, label %failed, label %fine
failed:
  ret i64 %status
fine:
  br label %head
done:
  ret i64 0
}}
"""


def backwards(text: str) -> tuple[str, int]:
    """A module whose kernels do each unit of work in a call of its own, the last one first; how many kernels there are."""
    names = dict.fromkeys(_KERNEL.findall(text))
    wrappers: list[str] = []
    for name in names:
        unit = f'@"{name[1:].strip(chr(34))}.unit"'
        text = text.replace(
            f"define internal i64 {name}(ptr %args, i64 %begin", f"define internal i64 {unit}(ptr %args, i64 %begin"
        )
        wrappers.append(_BACKWARDS.format(name=name, unit=unit))
    return text + "".join(wrappers), len(names)


def load_backwards(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let kernels of modules that are loaded from now on work backwards; the numbers of those of each module, as they come."""
    original, loaded = jit.load, list[int]()

    def load(text: str, host: TargetInfo, names: Sequence[str]) -> Any:
        changed, count = backwards(text)
        loaded.append(count)
        return original(changed, host, names)

    monkeypatch.setattr(jit, "load", load)
    return loaded


def inner_loops(assembly: str, names: str) -> list[list[str]]:
    """The lines of the loops that multiply most, in functions whose names begin with one of `names`, a regular expression."""
    found = []
    for function in re.split(rf"(?m)^(?=\S*(?:{names})\.[\w.]+:)", assembly)[1:]:
        function = function.split("\n\n")[0]
        if "movq\t%rsp, %rbp" not in function:  # then that is a register as any other, not the address of the stack
            function = function.replace("%rbp", "%rb")
        lines = function.splitlines()
        places = {m[1]: i for i, line in enumerate(lines) if (m := re.match(r"(\.LBB\w+):", line))}
        for i, line in enumerate(lines):
            if (m := re.match(r"\s+j\w+\s+(\.LBB\w+)", line)) and places.get(m[1], i) < i:
                body = lines[places[m[1]] : i]
                if multiplications(body) >= 4:
                    found.append(body)
    return found


def multiplications(body: list[str]) -> int:
    """How many vectors some lines of assembly multiply."""
    return sum(bool(re.search("vfmadd|mulp|pmaddwd|vpdp", x)) for x in body)


def spills(body: list[str]) -> int:
    """How many vectors some lines of assembly keep on the stack."""
    return sum(bool(re.search(r"mov[au]p.*\(%rsp\)|mov[au]p.*\(%rbp\)", line)) for line in body)
