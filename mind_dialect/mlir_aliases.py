"""
Aliases and locations in every form that MLIR's parser reads.

xDSL wants an alias defined before it is used; MLIR itself prints those of locations at the end of a file. It lacks ranges
within a file, `"f.mlir":1:2 to 3:4`, of which the beginning is kept, and the metadata of `fused<"pass">[...]`.
"""

from __future__ import annotations

import difflib
import re
from typing import Literal, overload

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, FusedLoc, LocationAttr, NoneAttr
from xdsl.ir import Attribute, TypeAttribute
from xdsl.parser import Parser
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .errors import MindParseError, error

MAX_ALIAS_USES = 1 << 20
"""Aliases of aliases may expand to this many uses."""
MAX_ALIAS_DEPTH = 256
"""Aliases that a text uses before it defines them may name each other in chains of this length."""
_ALIAS = re.compile(r"[#!](?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*+)", re.ASCII)
_STRUCTURE = re.compile(
    r"""
    //[^\n]*+ | "(?:[^"\\\n]++|\\.)*+" |
    (?P<name>[\#!](?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*+))(?:\s|//[^\n]*+)*+= |
    [{}()\[\]]
    """,
    re.VERBOSE | re.ASCII,
)
"""Comments, strings, definitions of aliases, and brackets."""


class Aliases(dict[str, Attribute]):
    """Attribute aliases that count how often each is expanded, aliases within aliases included."""

    def __init__(self) -> None:
        super().__init__()
        self.uses = 0
        self.weights: dict[str, int] = {}

    def __getitem__(self, name: str) -> Attribute:
        self.uses += self.weights.get(name, 1)
        if self.uses > MAX_ALIAS_USES:
            raise error("E1007", f"aliases expand to more than {MAX_ALIAS_USES} uses")
        return super().__getitem__(name)


class AliasParser(Parser):
    """A parser of aliases in any order, and of all forms of locations."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, input, name)
        self._aliases = self.attribute_aliases = Aliases()
        self._definitions: dict[str, int] | None = None
        self._ahead: dict[str, int] = {}
        self._open: dict[str, None] = {}

    @overload
    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: Literal[False]) -> Attribute: ...

    @overload
    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: Literal[True]) -> TypeAttribute: ...

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: bool) -> Attribute:
        alias = f"{'!' if is_type else '#'}{attr_or_dialect_name}"
        if "." not in alias and self._current_token.kind is not MLIRTokenKind.LESS and alias not in self._aliases:
            start = self.lexer.input.content.rfind(alias, 0, self._current_token.span.start)
            self._define_ahead(alias, Span(start, start + len(alias), self.lexer.input))
        return super()._parse_extended_type_or_attribute(attr_or_dialect_name, is_type)

    def _define_ahead(self, alias: str, use: Span) -> None:
        """Read the definition of `alias` that follows somewhere in the text; E4000 if none does, E1007 for a cycle."""
        if self._definitions is None:
            self._definitions = self._find_definitions()
        if alias not in self._definitions:
            close = difflib.get_close_matches(alias, self._definitions, n=3)
            message = f"undefined alias {alias}, expected {' or '.join(close) or 'one that the text defines'}"
            raise MindParseError(use, error("E4000", message, given=alias, expected=close))
        if alias in self._open:
            names = list(self._open)
            way = " -> ".join([*names[names.index(alias) :][:10], alias])
            raise MindParseError(use, error("E1007", f"the alias {alias} is defined by itself: {way}"))
        here, uses = self._current_token.span.start, self._aliases.uses
        for name in self._needed(alias, self._definitions, use):
            if name not in self._aliases:
                self._resume_from(self._definitions[name])
                self._parse_alias_def()
                self._ahead[name] = self._definitions[name]
        self._resume_from(here)
        self._aliases.uses = uses  # they count where the alias is used

    def _needed(self, alias: str, definitions: dict[str, int], use: Span) -> list[str]:
        """
        Return the aliases to read for one, those that others name first; E1007 for a chain that is too long.

        So chains of aliases, such as the locations of regions in regions, are read without recursion. Names are looked for in the
        line of a definition; what follows on other lines is read where it is met.
        """
        text, found = self.lexer.input.content, list[str]()
        seen, stack, depth = {alias, *self._open}, [(alias, False)], 0
        while stack:
            name, is_read = stack.pop()
            if is_read:
                found.append(name)
                depth -= 1
                continue
            stack.append((name, True))
            if (depth := depth + 1) > MAX_ALIAS_DEPTH:
                raise MindParseError(use, error("E1007", "nested too deeply"))
            start = definitions[name] + len(name)
            named = dict.fromkeys(_ALIAS.findall(text, start, max(text.find("\n", start), start)))
            wanted = [n for n in named if n in definitions and n not in seen and n not in self._aliases]
            seen.update(wanted)
            stack += [(n, False) for n in wanted]
        return found

    def _find_definitions(self) -> dict[str, int]:
        """Find the first definition of each alias: its name and `=` outside of all brackets."""
        found, depth = dict[str, int](), 0
        for match in _STRUCTURE.finditer(self.lexer.input.content):
            if (name := match["name"]) is None:
                depth += (match[0] in "{[(") - (match[0] in ")]}")
            elif depth == 0:
                found.setdefault(name, match.start("name"))
        return found

    def _parse_alias_def(self) -> None:
        name, start = self._current_token.text, self._current_token.span.start
        if self._ahead.get(name) == start:  # a use above has read it
            del self._aliases[name], self._ahead[name]
        before = self._aliases.uses
        self._open[name] = None
        super()._parse_alias_def()
        del self._open[name]
        self._aliases.weights[name] = 1 + self._aliases.uses - before

    def _parse_location(self) -> LocationAttr:
        if self._current_token.text == "fused":
            self._consume_token()
            metadata: Attribute = NoneAttr()
            if self.parse_optional_punctuation("<") is not None:
                metadata = self.parse_attribute()
                self.parse_punctuation(">")
            return FusedLoc(tuple(self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)), metadata)
        location = super()._parse_location()
        if isinstance(location, FileLineColLoc) and self.parse_optional_keyword("to") is not None:
            self.parse_optional_integer(allow_boolean=False, allow_negative=False)
            self.parse_punctuation(":")
            self.parse_integer(allow_boolean=False, allow_negative=False)
        return location
