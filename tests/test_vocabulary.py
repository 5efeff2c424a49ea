"""Private words that the project has replaced by the field's terms, and that may not come back."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
REPLACED = {
    r"\bone's own\b": "your own",
    r"\b(?:is|are|was) told\b(?! apart)": "is described, documented or reported",
    r"\bwishes\b": "needs, requests",
    r"(?<!told )\bfor good\b": "permanently",
    r"\btaken apart\b": "split",
    r"\bfor nobody\b": "unused",
    r"\bof the turn\b|\bnumber of turns\b": "iteration, trip count",
    r"\bstored past\b|\bstores? twice\b": "non-temporal store",
    r"\btold below\b": "as follows",
}
"""Patterns of the words, and what to write in their place."""
REPLACED_IN_CODE = {
    r"\bnobody\b": "unused, unknown, no other",
    r"\bat hand\b": "available, current",
    r"\banew\b": "again",
    r"\bbesides?\b": "in addition to, alongside, other than",
}
"""The same, of the code in `CONVERTED`."""
NOUN_PHRASES = {"What", "Where", "How", "Whether", "Which", "Why", "Those", "When"}
"""Question words, with which no docstring begins: a function's is an imperative; a class's, or that of a value, a noun."""
CONVERTED = ("mind_dialect", "passes", "lowering", "runtime", "tools")
"""Packages that use the terms of `REPLACED_IN_CODE`."""
GENERATED = ("lowering/mind_lowering/native/pool/pool.py",)
"""Files whose private words are labels of generated code."""
PACKAGES = ("mind_dialect", "passes", "lowering", "runtime", "translate", "array", "bridges", "tools")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])
SOURCES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))


def found(text: str, replaced: Mapping[str, str] = REPLACED) -> list[str]:
    """The private words of a text, each with what to write; a line break counts as a space."""
    plain = re.sub(r"\s+#?\s*", " ", text)
    return [f"{match[0]!r}: write {term}" for word, term in replaced.items() for match in re.finditer(word, plain, re.IGNORECASE)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_uses_the_terms_of_the_field(page: Path) -> None:
    assert found(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_messages_and_docstrings_use_the_terms_of_the_field(package: str) -> None:
    texts = {file: file.read_text(encoding="utf-8") for file in SOURCES if file.is_relative_to(ROOT / package)}
    assert {str(file.relative_to(ROOT)): words for file, text in texts.items() if (words := found(text))} == {}


def sources(package: str) -> list[Path]:
    return [f for f in SOURCES if f.is_relative_to(ROOT / package)]


@pytest.mark.parametrize("package", CONVERTED)
def test_code_uses_the_terms_of_the_field(package: str) -> None:
    texts = {f: f.read_text(encoding="utf-8") for f in sources(package) if str(f.relative_to(ROOT)) not in GENERATED}
    words = {str(file.relative_to(ROOT)): found(text, REPLACED_IN_CODE) for file, text in texts.items()}
    assert {file: each for file, each in words.items() if each} == {}


def docstrings(file: Path) -> Iterator[str]:
    """Yield the docstrings of a module, its classes and functions, and those after assignments."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Expr(ast.Constant(str(text))):
                yield inspect.cleandoc(text)
            case _:
                pass


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_begin_with_an_imperative_or_a_noun(package: str) -> None:
    """Not with a question word: `Return the offset`, not `Where it is`."""
    words = [
        (f, text) for f in sources(package) for text in docstrings(f) if re.split(r"\W", text, maxsplit=1)[0] in NOUN_PHRASES
    ]
    assert [f"{f.relative_to(ROOT)}: {text.partition(chr(10))[0]}" for f, text in words] == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Rules of one's\nown are told below.", 3),
        ("They are told apart by name, which is good for\n# goods.", 0),
        ("bound for\n# good", 1),
    ],
)
def test_a_private_word_is_found_across_lines(text: str, count: int) -> None:
    assert len(found(text)) == count
