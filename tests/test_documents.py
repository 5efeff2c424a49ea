"""
Every example in the README, in the pages next to it and in `docs/` runs, and prints what the page says it prints.

The language of a fenced block says what happens to it:

- `python`: run, sharing names with the page's other Python blocks; a `text` block right after it is what it prints
- `console`: each line after `$` is run by bash, what follows is its output
- `sh`: each line is run, FILE standing for a file of the examples; of `make`, only that the target exists
- any language and a file name: written to that file, for the blocks that follow
- `mlir` alone: accepted by mind-opt, PTIR without its module too
- `text` alone: a picture, nothing to run

A page with the comment `<!-- needs NAME -->` runs where the module NAME is installed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import forked_tools

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])
EXAMPLE = "tests/filecheck/examples/readme.mlir"
FENCE = re.compile(r"^```(?P<info>[^`\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
NEEDS = re.compile(r"^<!-- needs (\w+) -->$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]+\]\((?P<target>[^)#\s]*)(?:#(?P<anchor>[^)]*))?\)")


@dataclass(frozen=True)
class Example:
    """A fenced block: where it stands, what it is, and the output that the page promises."""

    place: str
    language: str
    file: str | None
    body: str
    output: str | None = None


def examples(page: Path) -> list[Example]:
    """The fenced blocks of a page; the output of a Python block is taken into it."""
    text, found, end = page.read_text(encoding="utf-8"), list[Example](), 0
    for match in FENCE.finditer(text):
        language, _, file = match["info"].strip().partition(" ")
        place = f"{page.name}:{text.count(chr(10), 0, match.start()) + 1}"
        adjacent = not text[end : match.start()].strip()
        if language == "text" and not file and adjacent and found and found[-1].language == "python" and found[-1].output is None:
            last = found.pop()
            found.append(Example(last.place, last.language, last.file, last.body, match["body"]))
        else:
            found.append(Example(place, language, file or None, match["body"]))
        end = match.end()
    return found


def shell(command: str, workspace: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash with this interpreter's tools first on the PATH."""
    environment = os.environ | {"PATH": forked_tools.path(), "COLUMNS": "120"}
    line = ["bash", "-o", "pipefail", "-c", command]
    return subprocess.run(line, cwd=workspace, env=environment, text=True, timeout=120, check=False, **_merged())


def _merged() -> dict[str, int]:
    return {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}


def run_python(example: Example, names: dict[str, object]) -> None:
    """Run a Python block; its output is compared if the page gives one."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example.body, example.place, "exec"), names)
    if example.output is not None:
        assert printed.getvalue().rstrip() == example.output.rstrip(), example.place


def run_console(example: Example, workspace: Path) -> None:
    """Run the commands of a console session and compare what each prints."""
    for step in re.split(r"^\$ ", example.body, flags=re.MULTILINE)[1:]:
        command, _, expected = step.partition("\n")
        result = shell(command, workspace)
        assert result.stdout.rstrip() == expected.rstrip(), f"{example.place}: $ {command}"


def run_line(line: str, workspace: Path) -> None:
    """Run one command of a `sh` block; of `make`, look only whether there is such a target."""
    target = re.match(r"make (\S+)", line)
    command = f"make -n -C {ROOT} {target[1]}" if target else re.sub(r"\bFILE\b", str(ROOT / EXAMPLE), line)
    result = shell(command, workspace)
    assert result.returncode == 0, f"{line}\n{result.stdout}"


def run(page: Path, workspace: Path) -> int:
    """Run a page's examples in order; returns how many there were."""
    names: dict[str, object] = {"__name__": "__page__"}
    count = 0
    for example in examples(page):
        count += 1
        if example.file is not None:
            (workspace / example.file).write_text(example.body, encoding="utf-8")
        elif example.language == "python":
            run_python(example, names)
        elif example.language == "console":
            run_console(example, workspace)
        elif example.language == "sh":
            for line in example.body.splitlines():
                run_line(line, workspace)
        elif example.language == "mlir":
            (workspace / "block.mlir").write_text(example.body, encoding="utf-8")
            run_line("mind-opt --lenient block.mlir", workspace)
        else:
            assert example.language == "text", f"{example.place}: nothing runs a block of language {example.language!r}"
    return count


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder which shows the checkout's examples and tests, as the pages name them."""
    for folder in ("examples", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path, workspace: Path) -> None:
    for name in NEEDS.findall(page.read_text(encoding="utf-8")):
        pytest.importorskip(name, reason=f"{name} is not installed")
    run(page, workspace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert not broken_links(page)


def broken_links(page: Path) -> list[str]:
    """The links of a page, to files and to headings, that lead nowhere."""
    found: list[str] = []
    for match in LINK.finditer(re.sub(FENCE, "", page.read_text(encoding="utf-8"))):
        target, anchor = page.parent / match["target"] if match["target"] else page, match["anchor"]
        if "://" not in match["target"] and (not target.exists() or (anchor and anchor not in anchors(target))):
            found.append(match[0])
    return found


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(FENCE, "", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A heading's name\n[a](none.md) [b](page.md#other) [c](#a-headings-name) [d](page.md) [e](https://example.org)\n"
    )
    assert broken_links(page) == ["[a](none.md)", "[b](page.md#other)"]


def test_readme_shows_the_commands_and_the_pipeline() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for promised in ("make demo", "make test", "mind-opt --canonicalize --autodiff FILE | filecheck FILE"):
        assert promised in text


@pytest.mark.parametrize(
    "wrong",
    [
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```python\nraise ValueError\n```\n",
        "```console\n$ echo 1\n2\n```\n",
        "```sh\nfalse\n```\n",
        "```sh\nmake nonsense\n```\n",
        "```mlir\nnonsense\n```\n",
        "```rust\nfn main() {}\n```\n",
    ],
)
def test_a_wrong_example_is_found(wrong: str, workspace: Path) -> None:
    page = workspace / "page.md"
    page.write_text(wrong, encoding="utf-8")
    with pytest.raises((AssertionError, ValueError)):
        run(page, workspace)
