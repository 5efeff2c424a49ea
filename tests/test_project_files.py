"""The project's own files agree: workflows run `.ci/run`, documented commands exist, and there is one version."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import mind_dialect

yaml = pytest.importorskip("yaml", reason="reading workflows needs the dependency group `test`")

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(path: Path) -> Any:
    """The content of a YAML file; the tags by which mkdocs names Python functions are left out."""
    text = re.sub(r"!!python/\S+", "", path.read_text(encoding="utf-8"))
    return yaml.safe_load(text)


def jobs(path: Path) -> dict[str, Any]:
    """The jobs of a workflow by name."""
    return read(path)["jobs"]


def commands(path: Path) -> list[str]:
    """All that the steps of a workflow run."""
    return [step["run"] for job in jobs(path).values() for step in job["steps"] if "run" in step]


def targets(text: str) -> set[str]:
    """The make targets that a text runs or names; stamps of environments are files."""
    return set(re.findall(r"\bmake (?:--\S+ )?(?:[A-Z]+=\S+ )*([a-z][\w-]*)", text))


def declared() -> set[str]:
    """The targets that the Makefile declares."""
    return set(re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[0].split())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_triggers_least_rights_and_steps_that_do_something(path: Path) -> None:
    workflow = read(path)
    assert set(workflow) >= {"name", True, "permissions", "jobs"}  # YAML 1.1 reads the key `on` as true
    assert workflow["permissions"] == {"contents": "read"}
    for job in jobs(path).values():
        assert set(job) >= {"runs-on", "steps"}
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])
        assert set([job["needs"]] if "needs" in job else []) <= jobs(path).keys()


def test_the_workflow_for_changes_runs_the_same_script_as_a_checkout() -> None:
    test = ROOT / ".github" / "workflows" / "test.yml"
    assert ".ci/run" in commands(test)
    matrix = jobs(test)["matrix"]["strategy"]["matrix"]["python"]
    classified = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    assert matrix == classified
    assert PROJECT["requires-python"] == f">={matrix[0]}"


def test_targets_of_workflows_and_of_the_ci_script_exist() -> None:
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    named = targets("\n".join(line for line in run.splitlines() if line.startswith("make ")))
    assert {"test", "test-skipped", "test-machines"} <= named
    named |= {target for path in WORKFLOWS for command in commands(path) for target in targets(command)}
    assert named >= {"docs", "test-failed"}
    assert named <= declared()


def test_targets_of_the_page_on_contributing_exist() -> None:
    named = targets(CONTRIBUTING)
    assert {"quick", "test", "test-rest", "docs"} <= named
    assert named <= declared()
    for target in sorted(named):
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr


def test_paths_that_the_page_on_contributing_names_exist() -> None:
    named = re.findall(r"`((?:mind_dialect|passes|lowering|tools|tests|docs|\.ci)/[^`*]*)`", CONTRIBUTING)
    assert len(named) >= 9
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_a_target_that_does_not_exist_is_found() -> None:
    assert targets("run `make nonsense IN=x` or make --jobs=2 demo") == {"nonsense", "demo"}
    assert not {"nonsense"} <= declared()


def test_releases_are_published_without_a_stored_token() -> None:
    publish = jobs(ROOT / ".github" / "workflows" / "release.yml")["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert any(step.get("uses", "").startswith("pypa/gh-action-pypi-publish@") for step in publish["steps"])
    assert "secrets." not in "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.name)
def test_a_form_for_issues_is_complete(path: Path) -> None:
    form = read(path)
    assert set(form) == {"name", "description", "body"}
    assert all(field["type"] in ("textarea", "input") and field["attributes"]["label"] for field in form["body"])


def test_hooks_before_a_commit_are_the_checks_of_the_makefile() -> None:
    hooks = [hook["entry"] for repo in read(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    run = {" ".join(entry.removeprefix(".venv/bin/").split()[:2]) for entry in hooks}
    assert run == {"ruff check", "ruff format", "basedpyright --pythonpath"}


def test_the_citation_names_this_version() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == mind_dialect.__version__
    assert citation["title"] == PROJECT["name"]
    assert citation["license"] in PROJECT["license"].split(" AND ")
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in PROJECT["authors"]]


def test_a_release_has_the_urls_of_the_repository_that_builds_it() -> None:
    """A checkout has none; what the workflow appends is valid, and all of it is of that repository."""
    assert "urls" not in PROJECT
    run = commands(ROOT / ".github" / "workflows" / "release.yml")
    assert run.index(".ci/project_urls >> pyproject.toml") < run.index(".venv/bin/python -m build")
    given = {"GITHUB_SERVER_URL": "https://example.org", "GITHUB_REPOSITORY": "someone/some-dialect", "PATH": os.environ["PATH"]}
    done = subprocess.run([ROOT / ".ci" / "project_urls"], env=given, capture_output=True, text=True, timeout=60, check=True)
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8") + done.stdout)["project"]["urls"]
    assert urls == {
        "Source": "https://example.org/someone/some-dialect",
        "Documentation": "https://someone.github.io/some-dialect/",
        "Changelog": "https://example.org/someone/some-dialect/blob/main/CHANGELOG.md",
        "Issues": "https://example.org/someone/some-dialect/issues",
    }
