"""What is mutated exists, reasons for survivors are about lines that exist, and the page of results adds up."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONFIG = tomllib.loads((ROOT / "benchmarks" / "mutants.toml").read_text(encoding="utf-8"))
PAGE = ROOT / "benchmarks" / "results" / "mutants.md"
SURVIVORS = CONFIG.get("survivor", [])


@pytest.mark.parametrize("group", CONFIG["group"], ids=lambda group: group["name"])
def test_the_modules_and_tests_of_a_group_exist(group: dict[str, list[str]]):
    for pattern in group["modules"]:
        assert list(ROOT.glob(pattern)), pattern
    for argument in (*group["tests"], *group.get("filecheck", [])):
        path, _, name = argument.partition("::")
        if not argument.startswith("--"):
            assert (ROOT / path).exists(), path
            assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), argument
    assert group["tests"]


@pytest.mark.parametrize("survivor", SURVIVORS, ids=[f"{s['module']}: {s['becomes']}" for s in SURVIVORS])
def test_the_reason_for_a_survivor_is_about_a_line_that_exists(survivor: dict[str, str]):
    lines = [line.strip() for line in (ROOT / survivor["module"]).read_text(encoding="utf-8").splitlines()]
    joined = " ".join(lines)
    assert survivor["was"] in joined
    assert survivor["was"] != survivor["becomes"]
    assert re.match(r"(equivalent|not killed): \S.{20,}", survivor["reason"])


def test_the_page_gives_a_reason_for_every_survivor():
    text = PAGE.read_text(encoding="utf-8")
    reasons = re.findall(r"^\| `\S+:\d+` \| .* \| ([^|]*) \|$", text, re.MULTILINE)
    assert all(reason.startswith(("equivalent: ", "not killed: ")) for reason in reasons), reasons
    (total,) = re.findall(r"^\| all \| \d+ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", text, re.MULTILINE)
    tried, killed, equivalent, left = map(int, total)
    assert tried == killed + equivalent + left
    assert len(reasons) == equivalent + left
    assert killed > left
