"""
The protocol of the language server, by pygls: what an editor asks, answered from names, analysis and documentation.

A text is analysed in a thread after a short pause in typing; results for an older version are dropped.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from mind_dialect.version import __version__

from ..frontends import SUFFIXES
from .analysis import Analysis, Finding, analyse
from .documentation import op_documentation, opcode_documentation
from .names import NAME, Definition, Names, Token

PAUSE = 0.25
"""Seconds without a change after which a text is analysed."""
NUMBERED = "values of Core IR text are numbered in order; their names cannot be chosen"


@dataclass
class Document:
    """An open text with its analysis, of version `version`."""

    uri: str
    form: str
    version: int | None = None
    names: Names = field(default_factory=lambda: Names(""))
    analysed: int | None = None
    analysis: Analysis = field(default_factory=Analysis)


class AtPlace(Protocol):
    """A request about a position in a text."""

    text_document: lsp.TextDocumentIdentifier
    position: lsp.Position


class MindServer(LanguageServer):
    """A language server for `.mlir`, `.coreir` and the other forms that the tools read."""

    def __init__(self, pause: float = PAUSE):
        super().__init__("mind-lsp", __version__)  # pyright: ignore[reportUnknownMemberType], whose keywords have no types
        self.pause = pause
        self.documents: dict[str, Document] = {}
        self._newest: dict[str, int | None] = {}
        for feature, handler, *options in self._features():
            self.feature(feature, *options)(partial(handler))  # which takes attributes, as a method does not

    def _features(self) -> Iterator[tuple[str, Callable[..., Any], *tuple[Any, ...]]]:
        yield lsp.TEXT_DOCUMENT_DID_OPEN, self._changed
        yield lsp.TEXT_DOCUMENT_DID_CHANGE, self._changed
        yield lsp.TEXT_DOCUMENT_DID_CLOSE, self._closed
        yield lsp.TEXT_DOCUMENT_HOVER, self.hover
        yield lsp.TEXT_DOCUMENT_DEFINITION, self.definition
        yield lsp.TEXT_DOCUMENT_REFERENCES, self.references
        yield lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, self.highlight
        yield lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, self.symbols
        yield lsp.TEXT_DOCUMENT_INLAY_HINT, self.hints
        yield lsp.TEXT_DOCUMENT_COMPLETION, self.completion, lsp.CompletionOptions(trigger_characters=[".", "%", "@", "^"])
        yield lsp.TEXT_DOCUMENT_PREPARE_RENAME, self.prepare_rename
        yield lsp.TEXT_DOCUMENT_RENAME, self.rename, lsp.RenameOptions(prepare_provider=True)

    # Texts

    def document(self, uri: str) -> Document:
        """An open text, with the names of its newest version."""
        found = self.documents.setdefault(uri, Document(uri, form_of_uri(uri)))
        text = self.workspace.get_text_document(uri)
        if found.version != text.version or found.version is None:
            found.version, found.names = text.version, Names(text.source, found.form if found.form == "core-ir" else "mlir")
        return found

    async def _changed(self, params: lsp.DidOpenTextDocumentParams | lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        text = self.workspace.get_text_document(uri)
        version, source = text.version, text.source
        self._newest[uri] = version
        await asyncio.sleep(self.pause)
        if not self._is_newest(uri, version):
            return
        form = form_of_uri(uri)
        analysis = await asyncio.get_running_loop().run_in_executor(None, analyse, source, uri, form)
        if not self._is_newest(uri, version):
            return
        document = self.document(uri)
        document.analysis, document.analysed = analysis, version
        shown = [self._diagnostic(document, finding) for finding in analysis.findings]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, shown, version))

    def _closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        self.documents.pop(uri, None)
        self._newest.pop(uri, None)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def _is_newest(self, uri: str, version: int | None) -> bool:
        return uri in self._newest and self._newest[uri] == version

    def _diagnostic(self, document: Document, finding: Finding) -> lsp.Diagnostic:
        place = finding.place
        line, column = max(place.line, 1) - 1, max(place.column, 1) - 1
        start = document.names.offset(line, column)
        return lsp.Diagnostic(
            range=self._range(document, start, min(start + place.width, len(document.names.text))),
            message=finding.message,
            severity=lsp.DiagnosticSeverity.Error,
            code=finding.code,
            source="mind",
        )

    # Places

    def _position(self, document: Document, offset: int) -> lsp.Position:
        """An offset as a line, and a column in the units that the editor counts."""
        line, column = document.names.place(offset)
        before = document.names.text[offset - column : offset]
        return lsp.Position(line, self.workspace.position_codec.client_num_units(before))

    def _range(self, document: Document, start: int, end: int) -> lsp.Range:
        return lsp.Range(self._position(document, start), self._position(document, end))

    def _token_range(self, document: Document, token: Token) -> lsp.Range:
        return self._range(document, token.start, token.end)

    def _offset(self, document: Document, position: lsp.Position) -> int:
        names, codec = document.names, self.workspace.position_codec
        line = names.text[names.offset(position.line, 0) : names.offset(position.line + 1, 0)]
        found = codec.position_from_client_units([line], lsp.Position(0, position.character))
        return names.offset(position.line, found.character)

    def _at(self, params: AtPlace) -> tuple[Document, Token | None, Definition | None]:
        """The token at a place, and the definition that it is or uses."""
        document = self.document(params.text_document.uri)
        token = document.names.at(self._offset(document, params.position))
        return document, token, None if token is None else document.names.of.get(token.start)

    # Questions

    def hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        """The type of a value, or what an op is."""
        document, token, definition = self._at(params)
        if token is None:
            return None
        if definition is not None and token.text[0] == "%":
            shown = self._type(document, definition)
            text = f"```mlir\n{definition.name}{'' if shown is None else f' : {shown}'}\n```"
            line, _ = document.names.place(definition.token.start)
            text += f"\n\ndefined on line {line + 1}, used {len(definition.uses)} time{'s' * (len(definition.uses) != 1)}"
        else:
            known = opcode_documentation() if document.form == "core-ir" else op_documentation()
            name = token.text.strip('"')
            if name not in known:
                return None
            text = f"**{name}**\n\n{known[name]}".strip()
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), self._token_range(document, token))

    def _type(self, document: Document, definition: Definition) -> str | None:
        """The type of a value: that of the result of an op, or what the text states of an argument."""
        if definition.head is None:
            return stated_type(document.names.text, definition.token.end)
        types = self._types(document, definition)
        if definition.result < len(types):
            return types[definition.result]
        line = document.names.statement(definition.token).partition("\n")[0]
        return stated_type(line, line.rfind(" :") + 1) if document.form == "core-ir" and " :" in line else None

    def _types(self, document: Document, definition: Definition) -> Sequence[str]:
        if document.analysed != document.version or definition.head is None:
            return []
        of_line = document.form == "core-ir"  # whose ops are known by the begin of their lines
        line, column = document.names.place((definition.token if of_line else definition.head).start)
        return document.analysis.types(line + 1, column + 1)

    def definition(self, params: lsp.DefinitionParams) -> lsp.Location | None:
        """Return the location of a name's definition."""
        document, _, found = self._at(params)
        return None if found is None else lsp.Location(document.uri, self._token_range(document, found.token))

    def _tokens(self, found: Definition, *, with_definition: bool = True) -> list[Token]:
        return [*([found.token] if with_definition else []), *found.uses]

    def references(self, params: lsp.ReferenceParams) -> list[lsp.Location]:
        """Return the locations of a name's uses."""
        document, _, found = self._at(params)
        tokens = [] if found is None else self._tokens(found, with_definition=params.context.include_declaration)
        return [lsp.Location(document.uri, self._token_range(document, t)) for t in tokens]

    def highlight(self, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        """The same name elsewhere."""
        document, _, found = self._at(params)
        kinds = lsp.DocumentHighlightKind
        tokens = [] if found is None else self._tokens(found)
        of = [kinds.Write if found is not None and t is found.token else kinds.Read for t in tokens]
        return [lsp.DocumentHighlight(self._token_range(document, t), kind) for t, kind in zip(tokens, of, strict=True)]

    def symbols(self, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        """The functions of a text."""
        document = self.document(params.text_document.uri)
        made = [(f, self._token_range(document, f.token)) for f in document.names.functions]
        return [lsp.DocumentSymbol(f.name, lsp.SymbolKind.Function, where, where) for f, where in made]

    def hints(self, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        """The types of results that the text does not show."""
        document = self.document(params.text_document.uri)
        first, last = (self._offset(document, p) for p in (params.range.start, params.range.end))
        found: list[lsp.InlayHint] = []
        for definition in document.names.definitions:
            token = definition.token
            if token.text[0] != "%" or definition.head is None or not first <= token.start <= last:
                continue
            types = self._types(document, definition)
            if definition.result < len(types) and not is_shown(document.names.statement(token), types[definition.result]):
                end = self._position(document, token.end)
                label = f": {types[definition.result]}"
                found.append(lsp.InlayHint(end, label, kind=lsp.InlayHintKind.Type, padding_right=True))
        return found

    def completion(self, params: lsp.CompletionParams) -> lsp.CompletionList:
        """Names that can stand here, or ops."""
        document = self.document(params.text_document.uri)
        offset = self._offset(document, params.position)
        line = document.names.text[document.names.lines[document.names.place(offset)[0]] : offset]
        begun = line[len(line.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.-")) - 1 :] if line else ""
        kinds = lsp.CompletionItemKind
        if begun[:1] in {"%", "@", "^"}:
            names = {d.name for d in document.names.scope_at(offset).visible() if d.name[0] == begun[0]}
            names |= {d.name for d in document.names.root.names.values() if begun[0] == "@"}
            items = [lsp.CompletionItem(n, kind=kinds.Variable, insert_text=n[1:], filter_text=n) for n in sorted(names)]
        else:
            known = opcode_documentation() if document.form == "core-ir" else op_documentation()
            items = [_op_item(name, text, line) for name, text in known.items()]
        return lsp.CompletionList(is_incomplete=False, items=items)

    # Renaming

    def prepare_rename(self, params: lsp.PrepareRenameParams) -> lsp.Range | None:
        """Return the range of a name that can be renamed."""
        document, token, found = self._at(params)
        return None if token is None or found is None or document.form == "core-ir" else self._token_range(document, token)

    def rename(self, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        """The edits that give a name another spelling; refused where that is no name, or another one's."""
        document, _, found = self._at(params)
        if found is None:
            raise JsonRpcInvalidParams("no name is defined here")
        if document.form == "core-ir":
            raise JsonRpcInvalidParams(NUMBERED)
        first, given = found.name[0], params.new_name.strip()
        new = given if given[:1] == first else first + given
        if NAME.fullmatch(new) is None or (first == "@" and not (new[1].isalpha() or new[1] == "_")):
            raise JsonRpcInvalidParams(f"{params.new_name!r} is no name for {found.name}")
        scopes = [s for s in document.names.root.walk() if s.names.get(found.name) is found]
        if new != found.name and any(s.function.holds(new) for s in scopes):
            raise JsonRpcInvalidParams(f"{new} is defined already")
        edits = [lsp.TextEdit(self._token_range(document, t), new) for t in self._tokens(found)]
        return lsp.WorkspaceEdit(changes={document.uri: edits})


def _op_item(name: str, text: str, line: str) -> lsp.CompletionItem:
    """An op to choose; an editor keeps what stands before the last dot."""
    dialect, _, rest = name.partition(".")
    insert = rest if rest and line.endswith(f"{dialect}.") else name
    summary = text.partition("\n")[0]
    shown = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return lsp.CompletionItem(name, kind=lsp.CompletionItemKind.Function, detail=summary, documentation=shown, insert_text=insert)


def form_of_uri(uri: str) -> str:
    """The form of a text, by the suffix of its file."""
    return SUFFIXES.get(PurePosixPath(unquote(urlsplit(uri).path)).suffix.removeprefix("."), "mlir")


def stated_type(text: str, end: int) -> str | None:
    """
    The type that a text states after a name, such as an argument's.

    >>> stated_type("%x: tensor<2x?xf32, strided<[1, 2]>> {a = 1}, %y", 2)
    'tensor<2x?xf32, strided<[1, 2]>>'
    """
    rest = text[end : end + 1000].lstrip()
    if not rest.startswith(":"):
        return None
    rest, depth = rest[1:].lstrip(), 0
    for i, c in enumerate(rest):
        if depth == 0 and c in ",){} \n\t":
            return rest[:i] or None
        depth += (c in "<([") - (c in ">)]")
    return rest.strip() or None


def is_shown(statement: str, type: str) -> bool:
    """
    Return whether the text of a statement shows a type, whatever its spacing; Core IR text writes those of tensors in its own
    way.
    """
    if re.search(r"tensor<\w+\[", statement) is not None:
        return True
    return "".join(type.split()) in "".join(statement.split())
