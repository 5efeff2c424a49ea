"""
Accessibility of the viewer's page and of the site, by axe-core in a headless Chromium: no violation.

`make axe` fetches axe-core; `make docs` builds the site. Without them, or without a Chromium, these tests are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import Page, browser, found
from mind_tools.viewer import view

ROOT = Path(__file__).parents[1]
AXE = ROOT / ".axe" / "axe.min.js"
SITE = ROOT / ".site" / "html"
PAGES = ("index.html", "docs/index.html", "docs/tutorial.html", "docs/reference/passes.html", "docs/gallery.html")
RULES = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}"

pytestmark = [
    pytest.mark.skipif(found() is None, reason="there is no Chromium"),
    pytest.mark.skipif(not AXE.exists(), reason="there is no axe-core: make axe fetches it"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One browser for all tests."""
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def violations(page: Page) -> list[tuple[str, str]]:
    """The rules that the page breaks, each with the first element that does."""
    page.run(f"{AXE.read_text(encoding='utf-8')}; 0")
    found: Any = page.run(f"axe.run(document, {RULES}).then(r => r.violations.map(v => [v.id, v.nodes[0].html.slice(0, 200)]))")
    return [(rule, html) for rule, html in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("key", ["1", "2", "3", "4"])
def test_the_viewer(key: str, scheme: str, page: Page, tmp_path: Path) -> None:
    view(ROOT / "tests" / "filecheck" / "examples" / "readme.mlir", "autodiff,ptir-fuse").save(tmp_path / "loss.html")
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.open(tmp_path / "loss.html")
    page.press(key)
    if key == "2":
        page.wait("/^\\d+ nodes/.test(byId('graph-status').textContent)")
    assert violations(page) == []


@pytest.mark.parametrize("name", PAGES)
def test_the_site(name: str, page: Page) -> None:
    if not (SITE / name).exists():
        pytest.skip("there is no site: make docs builds it")
    page.call("Emulation.setEmulatedMedia", features=[])
    page.open(SITE / name)
    assert violations(page) == []


def test_the_site_is_searched_without_a_server(page: Page) -> None:
    """Opened as a file, with the script that `make docs` fetches."""
    if not (SITE / "search" / "search_index.js").exists() or not (SITE / "docs" / "iframe-worker.js").stat().st_size:
        pytest.skip("there is no site with search in files: make docs builds it, with npm")
    page.open(SITE / "index.html")
    page.run("document.querySelector('[data-md-component=search-query]').focus(); 0")
    page.call("Input.insertText", text="rematerialize")
    page.wait("document.querySelectorAll('.md-search-result__item').length > 1")
    assert "Glossary" in page.run("document.querySelector('.md-search-result__list').textContent")


def test_a_violation_is_found(page: Page, tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text("<!doctype html><html><body><img src=x.png><input></body></html>")
    page.open(tmp_path / "bad.html")
    assert {"image-alt", "label", "html-has-lang", "document-title"} <= {rule for rule, _ in violations(page)}
