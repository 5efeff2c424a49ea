"""
Find definitions and uses of names in the text of a program.

A text under an edit is seldom a program, so nothing here fails: tokens, braces and a few rules say which names belong together.
Names are looked up as in MLIR: in the region, then in those around it, up to a function. Core IR text numbers its values again
after each `# @name`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

_SUFFIX = r"(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)"
_MLIR = re.compile(
    rf'(?P<comment>//[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.)*"?)|(?P<name>[%@^]{_SUFFIX})|(?P<word>[a-zA-Z_][a-zA-Z0-9_$.]*)'
    r"|(?P<result>#[0-9]+)|(?P<mark>[(){}=:,])"
)
_CORE_IR = re.compile(
    r"#\s*(?P<function>@[A-Za-z_][\w$.]*)|(?P<comment>#[^\n]*)|(?P<name>%[0-9]+)|(?P<word>[A-Za-z_]\w*)|(?P<mark>[=])"
)
NAME = re.compile(rf"[%@^]?{_SUFFIX}")
FUNCTION = "func.func"
SYMBOLS = (FUNCTION, "builtin.module", "module", "shape.function_library", "ptir.program")
"""Ops whose `@name` is theirs."""
VISIBILITY = ("private", "public", "nested")


@dataclass(frozen=True)
class Token:
    """A piece of the text, from `start` to `end`."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset after it."""
        return self.start + len(self.text)


@dataclass(eq=False)
class Definition:
    """A name, where it is defined, and where it is used; `head` is the op whose result it is, `result` which one."""

    token: Token
    uses: list[Token] = field(default_factory=list[Token])
    head: Token | None = None
    result: int = 0

    @property
    def name(self) -> str:
        """With its first character, which says what it names."""
        return self.token.text


@dataclass(eq=False)
class Scope:
    """A region, with the names that are defined in it; names of an isolated one are its own."""

    parent: Scope | None
    isolated: bool = False
    names: dict[str, Definition] = field(default_factory=dict[str, Definition])
    inner: list[Scope] = field(default_factory=list["Scope"])

    def find(self, name: str) -> Definition | None:
        """The definition that is meant here."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = None if scope.isolated else scope.parent
        return None

    def visible(self) -> Iterator[Definition]:
        """All that names can mean here."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.names.values()
            scope = None if scope.isolated else scope.parent

    def holds(self, name: str) -> bool:
        """Return whether a name is defined here or in a region inside."""
        return any(name in scope.names for scope in self.walk())

    def walk(self) -> Iterator[Scope]:
        """This region and those inside."""
        yield self
        for scope in self.inner:
            yield from scope.walk()

    @property
    def function(self) -> Scope:
        """The outermost scope in which the same names can be seen."""
        scope = self
        while not scope.isolated and scope.parent is not None:
            scope = scope.parent
        return scope


class Names:
    """The names of a text; `form` is `mlir` or `core-ir`."""

    def __init__(self, text: str, form: str = "mlir"):
        self.text = text
        self.form = form
        pattern = _MLIR if form == "mlir" else _CORE_IR
        self.tokens = [_token(match) for match in pattern.finditer(text)]
        self.tokens = [t for t in self.tokens if t.kind not in {"comment", "string"} or _is_op(t)]
        self.lines = [0, *(m.end() for m in re.finditer(r"\n", text))]
        self.root = Scope(None, isolated=True)
        self.definitions: list[Definition] = []
        self.functions: list[Definition] = []
        self._starts = [t.start for t in self.tokens]
        self._scopes: list[Scope] = []
        self._uses: list[tuple[Scope, Token]] = []
        (_Mlir if form == "mlir" else _CoreIr)(self).read()
        self._defined = sorted(d.token.start for d in self.definitions)
        self.of: dict[int, Definition] = {d.token.start: d for d in self.definitions}
        """By offset of a token: the definition that it is, or uses."""
        for scope, token in self._uses:
            if (found := scope.find(token.text)) is not None:
                found.uses.append(token)
                self.of[token.start] = found

    def define(self, scope: Scope, token: Token, head: Token | None = None, result: int = 0) -> Definition:
        """Note a definition; the first of a name in a region is meant by its uses."""
        made = Definition(token, head=head, result=result)
        self.definitions.append(made)
        scope.names.setdefault(token.text, made)
        return made

    def use(self, scope: Scope, token: Token) -> None:
        """Note a use."""
        self._uses.append((scope, token))

    def at(self, offset: int) -> Token | None:
        """The token that holds an offset, or ends there."""
        i = bisect_right(self._starts, offset) - 1
        for token in self.tokens[max(i - 1, 0) : i + 1][::-1]:
            if token.start <= offset <= token.end and token.kind != "mark":
                return token
        return None

    def scope_at(self, offset: int) -> Scope:
        """The region around an offset."""
        i = bisect_right(self._starts, offset) - 1
        return self._scopes[i] if i >= 0 else self.root

    def statement(self, token: Token) -> str:
        """The text from a definition to the next."""
        i = bisect_right(self._defined, token.start)
        return self.text[token.start : self._defined[i] if i < len(self._defined) else len(self.text)]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, from 0."""
        line = bisect_right(self.lines, offset) - 1
        return line, offset - self.lines[line]

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and a column, from 0; of what is past the end, the end."""
        return min(self.lines[line] + column, len(self.text)) if line < len(self.lines) else len(self.text)

    def note_scope(self, scope: Scope) -> None:
        """Note in which region the next token is."""
        self._scopes.append(scope)


def _token(match: re.Match[str]) -> Token:
    kind = match.lastgroup or ""
    return Token(kind, match[kind], match.start(kind))


def _is_op(token: Token) -> bool:
    """Return whether a string is the name of an op in generic form."""
    return token.kind == "string" and re.fullmatch(r'"[a-z_]\w*\.[\w.$]+"', token.text) is not None


class _Mlir:
    """One walk over the tokens of MLIR's text."""

    def __init__(self, names: Names):
        self.names, self.tokens = names, names.tokens
        self.scope = names.root
        self.braces: list[tuple[Scope, int] | None] = []
        """For each open brace, the scope around its region and the parentheses open there; None where it holds attributes."""
        self.depth = 0
        self.pending: list[tuple[Token, Token | None]] = []
        """Names that the next region defines: arguments before its brace."""
        self.labels: set[int] = set()
        """The parentheses that hold arguments of blocks, by their number."""
        self.opened: list[int] = []
        self.isolates = False

    def read(self) -> None:
        for i, token in enumerate(self.tokens):
            if token.kind == "mark":
                self.mark(i, token.text)
            elif token.kind == "word":
                self.isolates = self.isolates or token.text == FUNCTION
            elif token.kind == "string":
                self.isolates = self.isolates or token.text == f'"{FUNCTION}"'
            self.names.note_scope(self.scope)
            if token.kind == "name":
                self.name(i, token)

    def mark(self, i: int, text: str) -> None:
        if text == "(":
            self.depth += 1
            self.opened.append(i)
        elif text == ")":
            self.depth = max(0, self.depth - 1)
            if self.opened:
                self.opened.pop()
        elif text == "{":
            self.open(i)
        elif text == "}" and self.braces and (outer := self.braces.pop()) is not None:
            self.scope, self.depth = outer

    def open(self, i: int) -> None:
        """A brace: of attributes in parentheses or after their keyword, else of a region."""
        if (self.depth and not self.is_generic_region(i)) or self.text(i - 1) == "attributes":
            self.braces.append(None)
            return
        self.braces.append((self.scope, self.depth))
        self.depth = 0
        inner = Scope(self.scope, self.isolates)
        self.scope.inner.append(inner)
        self.scope, self.isolates = inner, False
        for token, head in self.pending:
            self.names.define(inner, token, head)
        self.pending.clear()

    def is_generic_region(self, i: int) -> bool:
        """Return whether a brace in parentheses opens a region of an op in generic form: `({`."""
        return self.text(i - 1) == "(" or (self.text(i - 1) == "," and self.text(i - 2) == "}")

    def name(self, i: int, token: Token) -> None:
        kind = token.text[0]
        if kind == "%":
            self.value(i, token)
        elif kind == "^" and self.is_label(i):
            self.names.define(self.scope, token)
        elif kind == "@" and self.owner(i) in SYMBOLS:
            made = self.names.define(self.names.root, token)
            self.names.functions += [made] if self.owner(i) == FUNCTION else []
        else:
            self.names.use(self.names.root if kind == "@" else self.scope, token)

    def value(self, i: int, token: Token) -> None:
        after = self.after(i)
        if not self.depth and (head := self.results(i)) is not None:
            place, result = head
            if i and self.same_line(self.tokens[i - 1], token) and self.tokens[i - 1].kind == "word":
                self.pending.append((token, None))  # scf.for %i = ...
            else:
                self.names.define(self.scope, token, self.head(place), result)
        elif self.depth and self.text(after) == "=":
            self.pending.append((token, None))  # iter_args(%a = ...)
        elif self.depth and self.text(after) == ":" and self.opened and self.is_argument(token):
            if self.is_label(self.opened[-1] - 1):
                self.names.define(self.scope, token)
            else:
                self.pending.append((token, None))
        else:
            self.names.use(self.scope, token)

    def is_argument(self, token: Token) -> bool:
        """Return whether a name with a type in parentheses is new: arguments are, operands are not."""
        return self.isolates or self.scope.find(token.text) is None or self.is_label(self.opened[-1] - 1)

    def is_label(self, i: int) -> bool:
        """Return whether a block begins here: `^name:` or `^name(...):`."""
        if i < 0 or self.tokens[i].kind != "name" or self.tokens[i].text[0] != "^":
            return False
        if self.text(i + 1) != "(":
            return self.text(i + 1) == ":"
        depth = 0
        for j in range(i + 1, len(self.tokens)):
            depth += {"(": 1, ")": -1}.get(self.text(j), 0)
            if not depth:
                return self.text(j + 1) == ":"
        return False

    def results(self, i: int) -> tuple[int, int] | None:
        """Return the position of `=` and the number of the result, if the names before it are those of results."""
        j, before = i, 0
        while self.kind(j) == "name" and self.text(j)[0] == "%":
            j = self.after(j)
            if self.text(j) != ",":
                break
            j += 1
        if self.text(j) != "=":
            return None
        k = i
        while self.text(k - 1) == "," and self.kind(k - 2) == "name" and k - 2 >= 0:
            before, k = before + 1, k - 2
        return j, before

    def after(self, i: int) -> int:
        """The number of the token after a name, `:2` of several results and `#1` of one of them apart."""
        j = i + 1
        if self.kind(j) == "result":
            j += 1
        elif self.text(j) == ":" and self.text(j + 1) == "=" and re.match(r":\s*\d", self.names.text[self.tokens[j].start :]):
            j += 1
        return j

    def head(self, equal: int) -> Token | None:
        """The name of the op after an `=`."""
        found = self.tokens[equal + 1] if equal + 1 < len(self.tokens) else None
        return found if found is not None and found.kind in {"word", "string"} else None

    def owner(self, i: int) -> str:
        """The op that a symbol follows."""
        j = i - 1
        while self.text(j) in VISIBILITY:
            j -= 1
        return self.text(j)

    def same_line(self, a: Token, b: Token) -> bool:
        return "\n" not in self.names.text[a.end : b.start]

    def text(self, i: int) -> str:
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def kind(self, i: int) -> str:
        return self.tokens[i].kind if 0 <= i < len(self.tokens) else ""


class _CoreIr:
    """One walk over the tokens of Core IR text."""

    def __init__(self, names: Names):
        self.names = names

    def read(self) -> None:
        names, scope = self.names, Scope(self.names.root, isolated=True)
        names.root.inner.append(scope)
        for i, token in enumerate(names.tokens):
            if token.kind == "function":
                scope = Scope(names.root, isolated=True)
                names.root.inner.append(scope)
                names.functions.append(names.define(names.root, token))
            names.note_scope(scope)
            if token.kind == "name":
                after = names.tokens[i + 1 : i + 3]
                if after and after[0].text == "=":
                    names.define(scope, token, after[1] if len(after) > 1 and after[1].kind == "word" else None)
                else:
                    names.use(scope, token)
