"""The fuzz farm: no input of a sample fails without a code, what was mended stays so, and each kind of failure would be found."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

pytest.importorskip("llvmlite", reason="no llvmlite: programs have nothing to be compared with")

from fuzz import __main__ as command  # noqa: E402
from fuzz import child, farm, page, programs  # noqa: E402
from fuzz.judge import Finding, judge, minimised  # noqa: E402
from fuzz.kinds import PLANTED, all_kinds  # noqa: E402

import planted_failures  # noqa: E402
from mind_dialect.errors import error  # noqa: E402

KINDS = all_kinds()
SEED = 4
REGRESSIONS = sorted(p for p in farm.REGRESSIONS.rglob("*") if p.is_file())


@pytest.mark.parametrize("name", KINDS)
def test_no_input_of_a_sample_fails_without_a_code(name: str) -> None:
    kind = KINDS[name]
    results: Counter[str] = Counter()
    for number in range(max(30, 5 * min(kind.share, 40))):
        data = child.generated(kind, SEED, number)
        found = judge(kind, data)
        assert not isinstance(found, Finding), (data, found.detail)
        results[found] += 1
    assert results["accepted"] >= 3, "some inputs get through"
    assert name in ("programs", "arrays") or len(results) >= 3, "inputs reach several checks"


def test_an_input_depends_on_seed_kind_and_number_alone() -> None:
    made = {name: [child.generated(kind, SEED, n) for n in range(6)] for name, kind in KINDS.items()}
    assert made == {name: [child.generated(kind, SEED, n) for n in range(6)] for name, kind in reversed(KINDS.items())}
    assert all(child.generated(kind, SEED + 1, 0) != made[name][0] for name, kind in KINDS.items())
    assert all(len(set(inputs)) > 1 for inputs in made.values())


@pytest.mark.filterwarnings("error")
def test_a_program_that_numpy_warns_of_is_not_generated() -> None:
    """Number 217 divides a variance by no degrees of freedom; warnings are errors where inputs are generated."""
    assert child.generated(all_kinds()["arrays"], 29112026, 217).startswith(b"# ")


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: f"{path.parent.name} {path.name}")
def test_what_was_mended_stays_so(path: Path) -> None:
    (kind,) = (kind for kind in KINDS.values() if kind.name.replace(" ", "-").lower() == path.parent.name)
    found = judge(kind, path.read_bytes())
    assert not isinstance(found, Finding), found.detail


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A farm of kinds that fail, after some inputs of each."""
    environment = {PLANTED: planted_failures.__name__}
    made = farm.Farm(tmp_path_factory.mktemp("farm"), planted_failures.kinds(), SEED, environment, seconds=0.3)
    try:
        for kind in made.kinds:
            made.try_batch(kind, 12)
        made.save()
    finally:
        made.child.close()
    return made


CAUSES = {
    "traceback": "AttributeError in mind_dialect/source_text.py:decode",
    "hang": "hang in no frame of ours",
    "wait": "hang without computing",
    "crash": "crash: the process ended with -6",
    "memory": "MemoryError in no frame of ours",
    "message": "E1007 of 6000+ characters",
    "difference": "difference: one thing and another",
}


@pytest.mark.parametrize("name", planted_failures.NAMES)
def test_each_kind_of_failure_is_found_once_and_made_small(planted: Any, name: str) -> None:
    tally = planted.tallies[name]
    assert tally.inputs == tally.next == 12, "no input is lost where a child ends"
    ((cause, count),) = tally.counts.items()
    assert CAUSES[name] in cause
    kind = planted_failures.Planted(name)
    assert count == sum(name in child.generated(kind, SEED, n).decode().split() for n in range(12)) >= 1
    examples = [child.unpacked(data).decode() for data in tally.findings[cause]]
    assert examples
    if name in ("traceback", "memory", "message", "difference"):
        assert examples == [name]
    assert tally.results["accepted"] + tally.results["E1007"] == 12 - count


def test_a_run_goes_on_where_it_was_stopped(planted: Any) -> None:
    environment = {PLANTED: planted_failures.__name__}
    again = farm.Farm(planted.folder, planted_failures.kinds(), SEED, environment, seconds=0.3)
    again.load()
    assert {n: vars(t) for n, t in again.tallies.items()} == {n: vars(t) for n, t in planted.tallies.items()}
    other = farm.Farm(planted.folder, [planted_failures.Planted("difference")], SEED + 1, environment, seconds=0.3)
    try:
        other.load()
    finally:
        other.child.close()
    (tally,) = other.tallies.values()
    assert (tally.next, list(tally.counts)) == (0, ["difference: one thing and another"]), "findings are tried again"


def test_the_page_counts_what_was_tried(planted: Any) -> None:
    text = page.page(planted)
    tally = planted.tallies["message"]
    row = f"| message | 12 | {tally.results['accepted']} | {tally.results['E1007']} | E1007 {tally.results['E1007']} | 1 |"
    assert row in text
    assert "| all | 84 |" in text
    assert f"- difference: difference: one thing and another, {planted.tallies['difference'].counts.total()} inputs" in text


@pytest.mark.parametrize("wrong", ["number", "sign of zero", "code"])
def test_a_program_that_gives_something_else_is_found(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = programs.outcome

    def outcome(module: Any, func: Any, target: str, arrays: Any) -> Any:
        found = plain(module, func, target, arrays)
        if target == "numpy" or not isinstance(found, tuple):
            return found
        if wrong == "code":
            return error("E6004", "", shape=None, dtype=None, backend=target)
        return tuple(changed(x) for x in found)

    def changed(x: np.ndarray) -> np.ndarray:
        x = np.array(x)
        if wrong == "number" and x.size and x.dtype.kind in "iu":
            x.flat[0] ^= 1
        elif wrong == "sign of zero" and x.dtype.kind == "f":
            x[x == 0] = -x[x == 0]
        return x

    monkeypatch.setattr(programs, "outcome", outcome)
    found = [judge(KINDS["programs"], child.generated(KINDS["programs"], SEED, n)) for n in range(30)]
    causes = {f.cause for f in found if isinstance(f, Finding)}
    assert causes
    assert all(cause.startswith("difference: native and the kernels: ") for cause in causes), causes


def test_a_wrong_program_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = KINDS["programs"]
    plain = programs.outcome

    def outcome(module: Any, func: Any, target: str, arrays: Any) -> Any:
        is_wrong = target == "native" and any(op.name == "ptir.neg" for op in module.walk())
        return error("E6004", "", shape=None, dtype=None, backend="") if is_wrong else plain(module, func, target, arrays)

    monkeypatch.setattr(programs, "outcome", outcome)
    inputs = (child.generated(kind, SEED, n) for n in range(200))
    data = next(d for d in inputs if d.count(b"ptir.neg") > 1 and d.count(b" = ") > 8 and b"ptir.yield" not in d)
    found = judge(kind, data)
    assert isinstance(found, Finding)
    small = minimised(kind, data, found.cause)
    assert small.count(b" = ptir.") == small.count(b" = ptir.neg") == 1


def test_the_command_line_tries_one_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "input"
    file.write_bytes(b"f32[2]\n[1, 2]")
    assert command.main(["--kind", "literals", "--try", str(file)]) == 0
    assert capsys.readouterr().out == "accepted\n"
    file.write_bytes(b"f32[2]\n[1, x]")
    assert command.main(["--kind", "literals", "--try", str(file)]) == 0
    assert capsys.readouterr().out == "E1005\n"
