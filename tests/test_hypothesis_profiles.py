"""Property tests have one profile, in `conftest.py`: the same examples in every run, and no failure for the speed of a run."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
STATED = re.compile(r"\b(deadline|derandomize|suppress_health_check|HealthCheck)\b")


def test_the_profile_is_repeatable() -> None:
    here = settings()
    assert here.derandomize
    assert here.deadline is None
    assert HealthCheck.too_slow in here.suppress_health_check


def test_a_profile_looks_for_new_examples() -> None:
    search = settings.get_profile("search")
    assert not search.derandomize
    assert search.deadline is None


def test_nothing_else_states_what_the_profile_states() -> None:
    own = {Path(__file__).name, "conftest.py"}
    found = [path for path in TESTS.rglob("*.py") if path.name not in own and STATED.search(path.read_text(encoding="utf-8"))]
    assert not found
