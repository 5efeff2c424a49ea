"""
A small builder of LLVM IR text: modules, functions, loops, lanes.

Text is emitted already vectorised and with constant sizes, so that code generation is all that is left to do: no pass pipeline
runs over it. A loop of one iteration is no loop. Values are called after what they are in the program, with a number.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache
from typing import Protocol

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_LONGEST = 40


@lru_cache(maxsize=1 << 12)
def identifier(text: str) -> str:
    """
    `text` as part of the name of an LLVM value: other characters replaced, cut to a bounded length, not empty.

    >>> identifier("w.1"), identifier("2 x"), identifier("")
    ('w.1', '_2_x', 'v')
    """
    found = re.sub(r"[^A-Za-z0-9_.]", "_", text)[:_LONGEST]
    return f"_{found}" if found[:1].isdigit() else found or "v"


def symbol(text: str) -> str:
    r"""
    `text` as the name of a global: as it is where it is plain, else quoted with what is special in hexadecimal.

    >>> print(symbol("main"), symbol('a"b'))
    @main @"a\22b"
    """
    if _PLAIN.fullmatch(text):
        return f"@{text}"
    escaped = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text.encode())
    return f'@"{escaped}"'


def comment(text: str) -> str:
    """`text` on one line, whatever it holds."""
    return "; " + ascii(text)[1:-1]


def vector(type: str, width: int) -> str:
    """A vector type; of width 1 the element itself."""
    return type if width == 1 else f"<{width} x {type}>"


def suffix(type: str, width: int) -> str:
    """
    Return the suffix by which intrinsics name a type.

    >>> suffix("float", 16), suffix("i32", 1), suffix("ptr", 4)
    ('v16f32', 'i32', 'v4p0')
    """
    short = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}.get(type, type)
    return short if width == 1 else f"v{width}{short}"


def float_text(value: float, type: str) -> str:
    """
    A float constant, by its bits.

    >>> float_text(1.0, "float"), float_text(-0.0, "double")
    ('0x3FF0000000000000', '0x8000000000000000')
    """
    if value != value:
        return "0x7FF8000000000000"
    if type == "float" and abs(value) != float("inf"):
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class LoopBody(Protocol):
    """Body of a loop: given its index and the carries, emit an iteration and return the next carries."""

    def __call__(self, index: str, /, *values: str) -> Sequence[str] | None: ...


class LlvmModule:
    """The text of a module under construction."""

    def __init__(self, triple: str, title: str = "", attributes: str = ""):
        self.triple = triple
        self.title = title
        self.attributes = f'nounwind {attributes}"frame-pointer"="none" "prefer-vector-width"="512"'
        self.declared: dict[str, str] = {}
        self.globals: list[str] = []
        """Lines of their own, before the functions."""
        self.functions: dict[str, Function] = {}
        self.shared: dict[Hashable, str] = {}
        """Names of functions that several kernels call, by what their texts depend on."""
        self._taken: dict[str, int] = {}
        self._merged: dict[tuple[str, str], str] = {}

    def declare(self, name: str, result: str, parameters: Sequence[str]) -> None:
        """Declare an intrinsic or a function of the C library."""
        self.declared.setdefault(name, f"declare {result} @{name}({', '.join(parameters)})")

    def table(self, name: str, type: str, entries: Sequence[int | float]) -> str:
        """Have numbers of a type in memory, once; return the address of the first."""
        texts = (float_text(x, type) if isinstance(x, float) else str(x) for x in entries)
        content = f"[{len(entries)} x {type}] [{', '.join(f'{type} {x}' for x in texts)}]"
        self.declared.setdefault(name, f"@{name} = private unnamed_addr constant {content}, align 64")
        return f"@{name}"

    def unique(self, name: str) -> str:
        """`name`, with a number if there is one of that name."""
        n = self._taken.get(name)
        self._taken[name] = 0 if n is None else n + 1
        return name if n is None else self.unique(f"{name}.{n + 1}")

    def function(self, name: str, result: str, parameters: Sequence[tuple[str, str]], *, internal: bool = True) -> Function:
        """A new function; parameters are types and names."""
        made = self.functions[name] = Function(self, name, result, parameters, internal)
        return made

    def merge(self, made: Function) -> str:
        """Return the name of the function that a complete one equals but for its name; if there is one, remove this one."""
        known = self._merged.setdefault((made.signature, "\n".join(made.lines)), made.name)
        if known != made.name:
            del self.functions[made.name]
        return known

    def text(self) -> str:
        """The whole module."""
        head = [comment(self.title), f'target triple = "{self.triple}"', ""]
        bodies = [f.text() for f in self.functions.values()]
        groups = [f"attributes #0 = {{ {self.attributes} }}"]
        if any(f.runs_once for f in self.functions.values()):
            groups.append(f"attributes #1 = {{ noinline optnone {self.attributes} }}")
        tail = ["", *groups, "!0 = !{i32 1}", ""]
        return "\n".join([*head, *self.globals, *bodies, *self.declared.values(), *tail])


class Function:
    """One function: a list of lines, and names that are not taken."""

    def __init__(self, module: LlvmModule, name: str, result: str, parameters: Sequence[tuple[str, str]], internal: bool):
        self.module = module
        self.name = name
        self.result = result
        self.lines: list[str] = []
        self.notes: list[str] = []
        """Comments above the function."""
        self.inlined = 0
        """The functions of real numbers whose bodies are in it."""
        self.polls = False
        """True if it looks for signals."""
        self.runs_once = False
        """True if it does so little in each call that its code is better generated fast: with the attribute `optnone`."""
        self.block = "entry"
        self.signature = f"({', '.join(f'{type} %{p}' for type, p in parameters)})"
        """Its parameters, as they are written in its head."""
        self._head = f"define {'internal ' if internal else ''}{result} {symbol(name)}{self.signature}"
        self._count = 0

    def text(self) -> str:
        """The function, ended."""
        head = f"{self._head} #{int(self.runs_once)} {{"
        return "\n".join([*map(comment, self.notes), head, "entry:", *self.lines, "}", ""])

    # Lines

    def name_of(self, hint: str) -> str:
        """A new name."""
        self._count += 1
        return f"%{hint}.{self._count}"

    def op(self, text: str, hint: str = "t") -> str:
        """Append an instruction that has a value; its name."""
        name = self.name_of(hint)
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a value."""
        self.lines.append(f"  {text}")

    def start(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def label(self, hint: str) -> str:
        """A new label."""
        return self.name_of(hint)[1:]

    def call(self, name: str, result: str, *arguments: tuple[str, str], hint: str = "t", immediate: Sequence[int] = ()) -> str:
        """Call an intrinsic or a function of the C library, which is declared; `immediate` says which are `immarg`."""
        if name not in self.module.declared:
            self.module.declare(name, result, [f"{t} immarg" if i in immediate else t for i, (t, _) in enumerate(arguments)])
        text = f"call {result} @{name}({', '.join(f'{t} {v}' for t, v in arguments)})"
        if result == "void":
            self.do(text)
            return ""
        return self.op(text, hint)

    # Integers of 64 bits and addresses; numbers that are known are reckoned here.

    def add(self, a: str, b: str) -> str:
        """`a + b`."""
        if _number(a) and _number(b):
            return str(int(a) + int(b))
        if "0" in (a, b):
            return b if a == "0" else a
        return self.op(f"add nsw i64 {a}, {b}", "i")

    def mul(self, a: str, b: int) -> str:
        """`a * b`."""
        if _number(a):
            return str(int(a) * b)
        return "0" if b == 0 else a if b == 1 else self.op(f"mul nsw i64 {a}, {b}", "i")

    def least(self, a: str, b: str) -> str:
        """The less of two."""
        if _number(a) and _number(b):
            return str(min(int(a), int(b)))
        less = self.op(f"icmp slt i64 {a}, {b}", "less")
        return self.op(f"select i1 {less}, i64 {a}, i64 {b}", "i")

    def greatest(self, a: str, b: str) -> str:
        """The greater of two."""
        if _number(a) and _number(b):
            return str(max(int(a), int(b)))
        more = self.op(f"icmp sgt i64 {a}, {b}", "more")
        return self.op(f"select i1 {more}, i64 {a}, i64 {b}", "i")

    def address(self, type: str, base: str, index: str, hint: str = "p") -> str:
        """The address of an element."""
        return base if index == "0" else self.op(f"getelementptr {type}, ptr {base}, i64 {index}", hint)

    # Control

    def each(self, low: str, high: str, step: int = 1, hint: str = "i") -> Iterator[str]:
        """
        Put `for (i = low; i < high; i += step)` around what a `for` statement over this emits, without a `break` or `return`.

        No iteration or one iteration are known where the bounds are numbers.
        """
        return self._iterations(low, high, step, (), [], hint)

    def loop(
        self, low: str, high: str, step: int, body: LoopBody, carried: Sequence[tuple[str, str]] = (), hint: str = "i"
    ) -> list[str]:
        """
        Put a loop as `each` does around what `body` emits: `body(i, *values)` gives the values for the next iteration.

        `carried` are types and initial values. Return the values after the last iteration.
        """
        values = [v for _, v in carried]
        for i in self._iterations(low, high, step, carried, values, hint):
            values[:] = body(i, *values) or ()
        return values

    def _iterations(
        self, low: str, high: str, step: int, carried: Sequence[tuple[str, str]], values: list[str], hint: str
    ) -> Iterator[str]:
        """Yield the induction variable once, if at all; `values` are the carries before, in and after the loop."""
        if _number(low) and _number(high) and int(low) + step >= int(high):
            if int(low) < int(high):
                yield low
            return
        before, head, inside, after = self.block, self.label("loop"), self.label("body"), self.label("done")
        self.do(f"br label %{head}")
        self.start(head)
        i, names = self.name_of(hint), [self.name_of("c") for _ in carried]
        at = len(self.lines)
        go_on = self.op(f"icmp slt i64 {i}, {high}", "more")
        self.do(f"br i1 {go_on}, label %{inside}, label %{after}")
        self.start(inside)
        values[:] = names
        yield i
        following = self.op(f"add nsw i64 {i}, {step}", hint)
        self.do(f"br label %{head}")
        phis = [f"  {i} = phi i64 [ {low}, %{before} ], [ {following}, %{self.block} ]"]
        for (type, init), name, new in zip(carried, names, values, strict=True):
            phis.append(f"  {name} = phi {type} [ {init}, %{before} ], [ {new}, %{self.block} ]")
        self.lines[at:at] = phis
        self.start(after)
        values[:] = names

    def repeat(
        self, carried: Sequence[tuple[str, str]], test: Callable[..., str], body: Callable[..., Sequence[str]]
    ) -> list[str]:
        """
        `while (test(*values)) values = body(*values)`; the values for which the test fails.

        `carried` are types and initial values.
        """
        before, head, inside, after = self.block, self.label("while"), self.label("body"), self.label("done")
        self.do(f"br label %{head}")
        self.start(head)
        names, at = [self.name_of("c") for _ in carried], len(self.lines)
        self.do(f"br i1 {test(*names)}, label %{inside}, label %{after}")
        self.start(inside)
        found = body(*names)
        self.do(f"br label %{head}")
        self.lines[at:at] = [
            f"  {name} = phi {type} [ {init}, %{before} ], [ {new}, %{self.block} ]"
            for (type, init), name, new in zip(carried, names, found, strict=True)
        ]
        self.start(after)
        return names

    def choose(self, condition: str, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """Run `then` if `condition` holds, else `otherwise`."""
        inside, other, after = self.label("then"), self.label("else"), self.label("after")
        self.do(f"br i1 {condition}, label %{inside}, label %{other}")
        for label, part in ((inside, then), (other, otherwise)):
            self.start(label)
            part()
            self.do(f"br label %{after}")
        self.start(after)

    def when(self, condition: str, then: Callable[[], None]) -> None:
        """Run `then` if `condition` holds."""
        inside, after = self.label("then"), self.label("after")
        self.do(f"br i1 {condition}, label %{inside}, label %{after}")
        self.start(inside)
        then()
        self.do(f"br label %{after}")
        self.start(after)

    def changed(self, condition: str, values: Sequence[tuple[str, str]], then: Callable[[], Sequence[str]]) -> list[str]:
        """Return the results of `then` if `condition` holds, else `values`, which are types and values."""
        before, inside, after = self.block, self.label("then"), self.label("after")
        self.do(f"br i1 {condition}, label %{inside}, label %{after}")
        self.start(inside)
        found = then()
        last = self.block
        self.do(f"br label %{after}")
        self.start(after)
        return [
            self.op(f"phi {type} [ {value}, %{before} ], [ {new}, %{last} ]", "c")
            for (type, value), new in zip(values, found, strict=True)
        ]

    def leave(self, condition: str, status: Callable[[], str]) -> None:
        """Return what `status` gives if `condition` holds."""
        inside, after = self.label("failed"), self.label("fine")
        self.do(f"br i1 {condition}, label %{inside}, label %{after}")
        self.start(inside)
        self.do(f"ret {self.result} {status()}")
        self.start(after)

    def ret(self, value: str | None = None) -> None:
        """Return."""
        self.do("ret void" if value is None else f"ret {self.result} {value}")


def _number(text: str) -> bool:
    return text.lstrip("-").isdigit()
