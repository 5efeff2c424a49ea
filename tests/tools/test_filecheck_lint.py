"""FileCheck tests that cannot fail are defects: every RUN line checks something, every check is run, every op has its files."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from mind_dialect.core import CORE_OPS, EXTENSION_OPS
from mind_tools.flags import PASS_ALIASES, TARGET_ALIASES
from mind_tools.universe import PASSES, TARGETS

ROOT = Path(__file__).parents[1] / "filecheck"
FILES = sorted(path for path in ROOT.rglob("*") if path.suffix in (".mlir", ".coreir"))
TOOLS = ("mind-opt", "mind-run", "xdsl-opt")
WILDCARDS = 2
"""A CHECK line may hold so many `{{.*}}`; with more, a wrong result passes as well as a right one."""

FILECHECK = re.compile(r"\| filecheck %s(?: --(?:check-prefix[= ]([\w-]+)|strict-whitespace|match-full-lines))*$")
CHECK = re.compile(r"^\s*(?://|#) ([A-Z][A-Z0-9_-]*?)(?:-NEXT|-SAME|-NOT|-DAG|-EMPTY|-COUNT-\d+|-LABEL)?: *(.*)", re.MULTILINE)
NO_CHECKS = ("RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "NOTE", "TODO")


def substitutions() -> list[tuple[str, str]]:
    """What lit.cfg defines, in the order in which lit applies it."""
    config = SimpleNamespace(environment={}, substitutions=[], available_features=set())
    names = {"config": config, "lit_config": SimpleNamespace(maxIndividualTestTimeIsSupported=(True, ""))}
    exec((ROOT / "lit.cfg").read_text(), {"__file__": str(ROOT / "lit.cfg"), **names})
    assert config.maxIndividualTestTime <= 120
    return config.substitutions


SUBSTITUTIONS = substitutions()


def complaints(text: str) -> list[str]:
    """What is wrong with a FileCheck test."""
    runs = re.findall(r"(?://|#) RUN: (.*)", text)
    found = [] if runs else ["no RUN line"]
    used: set[str] = set()
    for run in runs:
        for name, command in SUBSTITUTIONS:
            run = run.replace(name, command)
        found += [f"no %s: {run}"] * ("%s" not in run.partition("|")[0] and not run.startswith("cat %s"))
        found += [f"none of our tools: {run}"] * (not any(tool in run for tool in TOOLS))
        if (
            check := re.search(r"\| filecheck %s(?: --(?:check-prefix[= ]([\w-]+)|strict-whitespace|match-full-lines))*$", run)
        ) is not None:
            used.add(check[1] or "CHECK")
        elif not (run.startswith("not ") or re.search(r"\b(diff|cmp)\b", run)):
            found.append(f"nothing is checked: {run}")
    lines = re.findall(
        r"^\s*(?://|#) ([A-Z][A-Z0-9_-]*?)(?:-NEXT|-SAME|-NOT|-DAG|-EMPTY|-COUNT-\d+|-LABEL)?: *(.*)", text, re.MULTILINE
    )
    checks = [
        (prefix, rest) for prefix, rest in lines if prefix not in ("RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "NOTE", "TODO")
    ]
    found += [f"no check for the prefix {prefix}" for prefix in sorted(used - {p for p, _ in checks})]
    found += [f"the prefix {prefix} is never run" for prefix in sorted({p for p, _ in checks} - used)]
    found += [f"too many wild cards: {rest}" for _, rest in checks if rest.count("{{.*}}") > WILDCARDS]
    found += [f"checks nothing: {prefix}" for prefix, rest in checks if re.fullmatch(r"({{\.[*+]}}|\s)+", rest)]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_lint(path: Path) -> None:
    assert complaints(path.read_text()) == []


GOOD = "// RUN: mind-opt %s --cse | filecheck %s\n// CHECK: a\n"
DEFECTS = {
    "": "no RUN line",
    "// CHECK: a\n": "no RUN line",
    GOOD.replace("%s --cse", "--cse"): "no %s",
    GOOD.replace(" | filecheck %s", ""): "nothing is checked",
    GOOD.replace("| filecheck %s", "| filecheck %s | cat"): "nothing is checked",
    GOOD.replace("mind-opt", "cat"): "none of our tools",
    GOOD.replace("// CHECK: a", ""): "no check for the prefix CHECK",
    GOOD + "// CHECK-GPU: a\n": "the prefix CHECK-GPU is never run",
    GOOD.replace("filecheck %s", "filecheck %s --check-prefix=GPU"): "no check for the prefix GPU",
    GOOD.replace("CHECK: a", "CHECK: {{.*}} = mind.mul {{.*}}, {{.*}}"): "too many wild cards",
    GOOD.replace("CHECK: a", "CHECK-NEXT: {{.*}}"): "checks nothing",
    "// RUN: MIND_ROUNDTRIP\n": "no check for the prefix CHECK",
}


@pytest.mark.parametrize("text", DEFECTS)
def test_the_lint_finds_defects(text: str) -> None:
    assert complaints(GOOD) == []
    assert any(DEFECTS[text] in complaint for complaint in complaints(text))


def test_every_op_has_a_round_trip_and_an_invalid_file() -> None:
    names = {op.name.partition(".")[2] for op in (*CORE_OPS, *EXTENSION_OPS)}
    wanted = {f"{name}{suffix}.mlir" for name in names for suffix in ("", "-invalid")}
    assert wanted <= {path.name for path in (ROOT / "dialects" / "mind").iterdir()}


@pytest.mark.parametrize("name", [op.name for op in (*CORE_OPS, *EXTENSION_OPS)])
def test_the_files_of_an_op_are_about_it(name: str) -> None:
    good = (ROOT / "dialects" / "mind" / f"{name.partition('.')[2]}.mlir").read_text()
    bad = (ROOT / "dialects" / "mind" / f"{name.partition('.')[2]}-invalid.mlir").read_text()
    assert "RUN: MIND_ROUNDTRIP" in good
    assert "RUN: MIND_GENERIC" in good
    assert "RUN: MIND_INVALID" in bad
    cases = bad.split("// -----")
    assert len(cases) >= 4
    assert all(f"{name}" in case and re.search(r"CHECK: error\[E\d{4}\]: ", case) for case in cases)


def test_every_pass_and_target_is_run_by_some_file() -> None:
    runs = "\n".join(line for path in FILES for line in path.read_text().splitlines() if "RUN:" in line)
    for names, aliases, flag in ((PASSES, PASS_ALIASES, "(?:--|-p '?)"), (TARGETS, TARGET_ALIASES, "-t '?")):
        for name in names:
            spellings = [name, *(short for short, long in aliases.items() if long == name)]
            assert re.search(rf"{flag}({'|'.join(spellings)})(?![\w-])", runs), name
