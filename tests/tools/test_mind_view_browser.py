"""The page of mind-view in a headless Chromium: by keyboard alone, without a request, with nothing of a program run as code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Page, browser, found
from mind_tools.viewer import view
from tool_runs import mind_run

pytestmark = pytest.mark.skipif(found() is None, reason="there is no Chromium")

LOSS = Path(__file__).parents[2] / "tests" / "filecheck" / "examples" / "readme.mlir"
LONG = 10_000
CONTRAST = """() => {
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (hex) => {
    const [r, g, b] = [1, 3, 5].map((i) => linear(parseInt(hex.slice(i, i + 2), 16) / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const value = (name) => luminance(getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  const on = (grounds, texts) => grounds.flatMap((ground) => texts.map((text) => [text, ground]));
  const pairs = [
    ...on(["--page", "--panel", "--chosen"], ["--text", "--quiet", "--accent"]),
    ...on(["--added", "--removed", "--changed", "--strong"], ["--text"]),
  ];
  return pairs.map(([a, b]) => {
    const [x, y] = [value(a), value(b)].sort((p, q) => q - p);
    return [a, b, (x + 0.05) / (y + 0.05)];
  });
}"""
"""For each text and ground of the style sheet the contrast, as WCAG 2.2 defines it."""
IN_SIGHT = """(() => {
  const a = document.querySelector('.node.selected').getBoundingClientRect(), b = byId('canvas').getBoundingClientRect();
  return a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
})()"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One browser for all tests."""
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture
def shown(page: Page, tmp_path: Path) -> Iterator[Page]:
    """The page of the README's program; at the end nothing has failed and nothing was asked for."""
    page.requests.clear()
    page.problems.clear()
    file = tmp_path / "loss.html"
    view(LOSS, "autodiff,lower-to-native,convert-ptir-to-launch").save(file)
    page.open(file)
    yield page
    assert page.problems == []
    assert [url for url in page.requests if not url.startswith(("file:", "blob:"))] == []


def focused(page: Page) -> str:
    """What has the focus is called, without the sign of a box that opens."""
    name: str = page.run("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent")
    return name.lstrip("\u25be\u25b8 ")


def graph(page: Page) -> list[str]:
    """Open the graph, and return the names of its nodes."""
    page.press("2")
    page.wait("/^\\d+ nodes/.test(byId('graph-status').textContent)")
    return page.run("[...document.querySelectorAll('.node')].map(node => node.getAttribute('aria-label'))")


def test_the_program_side_by_side(shown: Page) -> None:
    shown.run("showStep(1)")
    assert shown.run("byId('change').textContent") == "mind-autodiff: 9 added"
    rows = shown.run("[...document.querySelectorAll('.row[data-differs]')].map(row => row.textContent)")
    assert len(rows) == 9
    assert all("added" in row and "+" in row for row in rows), "in words and as a mark, not as a colour alone"
    shown.press("[")
    assert shown.run("byId('change').textContent").startswith("as it is read")
    shown.press("]", "n")
    assert "func.func @loss_grad" in shown.run("document.activeElement.textContent")
    shown.press("ArrowDown", "Enter")
    details = shown.run("byId('details').textContent")
    assert "mind.mul" in details
    assert "gradient of @loss with respect to x, w" in details
    assert "launch.kernel @broadcast_to_mul_exp_reduce_mul_mul" in details


def test_the_words_that_differ_are_marked(shown: Page) -> None:
    shown.run("showStep(2)")
    marks = "(row) => [...row.querySelectorAll('code')].map(code => [...code.querySelectorAll('mark')].map(m => m.textContent))"
    found = shown.run(f"[...document.querySelectorAll('.row[data-differs]')].map({marks})")
    assert [["%1", "mind.exp", "%0"], ["%2", "ptir.exp", "%1"]] in found
    assert [[], ['attributes {ptir.spec_version = "ptir.v0.4"} ']] in found


def test_folded_lines_open(shown: Page) -> None:
    shown.run("showStep(1)")
    before = shown.run("document.querySelectorAll('.row').length")
    shown.run("document.querySelector('.fold').focus()")
    shown.press("Enter")
    assert shown.run("document.querySelectorAll('.row').length") == before + 4 == shown.run("current().rows.length")


def test_the_graph_by_keyboard(shown: Page) -> None:
    shown.run("showStep(1)")
    names = graph(shown)
    assert len(names) == shown.run("current().op.length")
    assert "\u25be func.func @loss_grad 7 ops, open" in names
    shown.run("document.querySelector('.node[tabindex=\"0\"]').focus()")
    assert focused(shown).startswith("func.func @loss ")
    shown.press("ArrowRight", "ArrowDown")
    assert focused(shown).startswith("%0 = mind.mul")
    shown.press("ArrowDown", "Enter")
    assert focused(shown).startswith("%1 = mind.exp")
    assert "mind.exp" in shown.run("byId('details').textContent")
    assert shown.run("document.querySelectorAll('.edge.into').length") == 1
    shown.press("ArrowUp")
    assert focused(shown).startswith("%0 = mind.mul")
    scale = shown.run("graphPane.scale")
    shown.press("+")
    assert shown.run("graphPane.scale") > scale


def test_a_box_closes_and_opens(shown: Page) -> None:
    shown.run("showStep(1)")
    everything = len(graph(shown))
    shown.run("document.querySelector('.node[tabindex=\"0\"]').focus()")
    shown.press(" ")
    shown.wait(f"document.querySelectorAll('.node').length < {everything}")
    assert focused(shown).startswith("func.func @loss ")
    assert "closed, holds" in focused(shown)
    shown.press(" ")
    shown.wait(f"document.querySelectorAll('.node').length === {everything}")


def test_edges_are_uses(shown: Page) -> None:
    """As many as pairs of a row and what defines its operands, where all boxes are open."""
    shown.run("showStep(1)")
    graph(shown)
    pairs = shown.run("new Set(current().uses.flatMap((u, r) => u.filter((_, i) => i % 2 === 0).map((f) => `${f} ${r}`))).size")
    assert shown.run("document.querySelectorAll('.edge').length") == pairs > 0


def test_the_search(shown: Page) -> None:
    shown.run("showStep(1)")
    shown.press("/", *"exp")
    assert shown.run("byId('found').textContent") == "2 found"
    shown.press("Enter")
    assert shown.run("byId('found').textContent") == "1 of 2 found"
    assert "mind.exp" in shown.run("document.querySelector('.row.selected').textContent")
    shown.press("Enter", "Enter")
    assert shown.run("byId('found').textContent") == "1 of 2 found"
    shown.press(*"zzz")
    assert shown.run("byId('found').textContent") == "none found"


def test_everything_has_a_name_and_tabs_reach_it(shown: Page) -> None:
    names = shown.run("[...document.querySelectorAll('button')].filter(b => !(b.textContent.trim() || b.ariaLabel)).length")
    assert names == 0
    assert shown.run("[...document.querySelectorAll('input')].every(i => i.labels.length === 1)")
    shown.press("3")
    assert shown.run("!byId('memory').hidden && byId('program').hidden && byId('graph').hidden")
    assert shown.run("document.querySelectorAll('#memory svg rect').length") > 4
    shown.press("ArrowRight")
    assert focused(shown) == "Profile"
    assert "mind-run --trace FILE" in shown.run("byId('profile').textContent")
    shown.press("ArrowRight")
    assert focused(shown) == "Program"
    assert shown.run("!byId('program').hidden")


def test_text_has_contrast(shown: Page) -> None:
    """At least 4.5 to 1, as WCAG 2.2 asks (1.4.3), in both colour schemes."""
    script = f"({CONTRAST})()"
    for scheme in ("light", "dark"):
        shown.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        low = [entry for entry in shown.run(script) if entry[2] < 4.5]
        assert low == [], scheme
    shown.call("Emulation.setEmulatedMedia", features=[])


@pytest.mark.parametrize("name", ["</script><img src=x onerror=alert(1)>", "'\"`${alert(1)}", "\u2028]]>--><!--<script>alert(1)"])
def test_a_hostile_name_is_shown_as_text(page: Page, tmp_path: Path, name: str) -> None:
    quoted = json.dumps(name, ensure_ascii=False)
    file = tmp_path / "hostile.mlir"
    file.write_text(
        f"func.func @{quoted}(%x: tensor<2xf32>) -> tensor<2xf32> {{\n"
        f"  %0 = mind.exp %x : tensor<2xf32> loc({quoted}({quoted}:1:2))\n"
        "  func.return %0 : tensor<2xf32>\n}",
        encoding="utf-8",
    )
    page.problems.clear()
    page.requests.clear()
    view(file).save(tmp_path / "out.html")
    page.run("window.alert = undefined, 0")
    page.open(tmp_path / "out.html")
    graph(page)
    page.run("select(strings[current().op[2]] === 'mind.exp' ? 2 : -1, true)")
    assert name in page.run("byId('details').textContent")
    assert page.run("document.images.length") == 0
    assert page.problems == []
    assert [url for url in page.requests if not url.startswith(("file:", "blob:"))] == []


def test_a_long_program_opens_in_parts(page: Page, tmp_path: Path) -> None:
    ops = "\n".join(f"  %v{i + 1} = mind.exp %v{i} : tensor<4xf32>" for i in range(LONG))
    file = tmp_path / "long.mlir"
    file.write_text(f"func.func @f(%v0: tensor<4xf32>) -> tensor<4xf32> {{\n{ops}\n  func.return %v{LONG} : tensor<4xf32>\n}}")
    view(file).save(tmp_path / "long.html")
    page.open(tmp_path / "long.html")
    assert len(graph(page)) < 100
    page.run("byId('query').focus()")
    page.press(*f"%v{LONG // 2} =", "Enter")
    page.wait("document.querySelectorAll('.node.selected').length === 1")
    assert page.run("document.querySelector('.node.selected').getAttribute('aria-label')").startswith(f"%v{LONG // 2} = mind.exp")
    assert page.run(IN_SIGHT)


def test_the_frame_of_a_notebook(page: Page, tmp_path: Path) -> None:
    """The page runs in it, layout included, and cannot reach what is around it."""
    (tmp_path / "notebook.html").write_text(f"<!doctype html><meta charset=utf-8>{view(LOSS)._repr_html_()}", encoding="utf-8")
    page.problems.clear()
    page.open(tmp_path / "notebook.html", height=700)
    reached = "(() => { try { return Boolean(document.querySelector('iframe').contentDocument); } catch { return false; } })()"
    assert page.run(reached) is False
    (frame,) = [child["frame"]["id"] for child in page.call("Page.getFrameTree")["frameTree"]["childFrames"]]
    world = page.call("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
    page.run("document.getElementById('tab-graph').click()", world)
    page.wait("/^\\d+ nodes/.test(document.getElementById('graph-status').textContent)", world)
    assert page.run("document.querySelectorAll('.node').length", world) > 4
    assert page.problems == []


@pytest.fixture
def profiled(page: Page, tmp_path: Path) -> Page:
    """The page of the README's program with the profile of a run, by NumPy."""
    trace, file = tmp_path / "trace.json", tmp_path / "loss.html"
    assert mind_run(LOSS, "--all", "random:0", "--trace", trace).status == 0
    view(LOSS, "autodiff,ptir-fuse,convert-ptir-to-launch", profile=trace).save(file)
    page.problems.clear()
    page.open(file)
    return page


def test_the_profile_is_a_table_that_leads_to_ops(profiled: Page) -> None:
    profiled.run("showStep(0)")
    profiled.press("4")
    rows = profiled.run("[...document.querySelectorAll('#times tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
    assert sorted(row[0] for row in rows) == ["k.copy", "xp.add.reduce", "xp.exp", "xp.multiply"]
    shares = [float(row[2].removesuffix(" %")) for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert abs(sum(shares) - 100) < 0.5
    assert profiled.run("document.querySelectorAll('#times meter[aria-label]').length") == 4
    link = "[...document.querySelectorAll('#times tr')].find(r => r.textContent.includes('xp.exp')).querySelector('button')"
    profiled.run(f"{link}.click()")
    details = profiled.run("byId('details').textContent")
    assert "mind.exp" in details
    assert "measured as xp.exp" in details
    assert profiled.problems == []


def test_the_graph_shows_times_in_words_and_bars(profiled: Page) -> None:
    """Of the function that ran only: its gradient has ops of the same locations."""
    profiled.run("showStep(1)")
    names = graph(profiled)
    timed = [name for name in names if re.search(r"\d %(,|$)", name)]
    assert len(timed) == 5, "the function, its three ops and its return"
    assert {name.split(" = ")[-1].split()[0] for name in timed if "open" not in name} == {
        *("mind.mul", "mind.exp", "mind.sum", "func.return")
    }
    assert profiled.run("document.querySelectorAll('.node rect.time').length") == 5
    assert any("func.func @loss 100.0 %" in name for name in names)


def test_a_kernel_has_the_time_of_its_ops(profiled: Page) -> None:
    profiled.run("showStep(steps.length - 1)")
    kernels = [name for name in graph(profiled) if "launch.kernel" in name and " %" in name]
    assert [name.split()[2] for name in kernels] == ["@mul", "@exp", "@reduce"]


def test_native_kernels_have_their_times(page: Page, tmp_path: Path) -> None:
    """Measured in native code, shown on the ops of the program and on the launches, which have no bodies."""
    pytest.importorskip("llvmlite", reason="no llvmlite: no native code")
    trace, file = tmp_path / "trace.json", tmp_path / "loss.html"
    assert mind_run(LOSS, "--all", "random:0", "--target", "native", "--trace", trace).status == 0
    view(LOSS, "lower-to-native{launches=true}", profile=trace).save(file)
    page.problems.clear()
    page.open(file)
    page.run("showStep(0)")
    assert sum("100.0 %" in name and "open" not in name for name in graph(page)) == 3, "the three ops of one kernel"
    page.run("showStep(steps.length - 1)")
    (kernel,) = [name for name in graph(page) if "launch.kernel" in name]
    assert "100.0 %" in kernel
    page.run("select(steps.at(-1).op.findIndex((name) => strings[name] === 'launch.kernel'), true)")
    details = page.run("byId('details').textContent")
    assert details.count("readme.mlir:") == 3
    assert page.problems == []
