"""What `make test` leaves out of exhaustive tables, `make test-rest` runs: together they run everything once."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = "tests/lowering/ptir/test_casts.py"


@functools.cache
def collected(*options: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", TABLE, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    return [line for line in done.stdout.splitlines() if "::test_" in line]


def test_both_parts_of_a_table_are_the_table() -> None:
    everything, first, rest = collected(), collected("--thin=4", "--turn=9"), collected("--thin=4", "--turn=9", "--rest")
    thinned = [name for name in everything if "::test_cast[" in name]
    assert len(thinned) > 300
    assert len(thinned) / 6 < len([name for name in first if name in thinned]) < len(thinned) / 3
    assert set(everything) - set(thinned) < set(first)
    assert sorted(first + rest) == sorted(everything)


def test_turns_of_a_thinned_table_are_the_table() -> None:
    parts = [collected("--thin=4", f"--turn={turn}") for turn in range(13, 17)]
    assert {name for part in parts for name in part} == set(collected())
    assert sum(name.partition("::")[2].startswith("test_cast[") for part in parts for name in part) == sum(
        name.partition("::")[2].startswith("test_cast[") for name in collected()
    )


def test_turns_are_all_of_it_together() -> None:
    parts = [collected("--sample=3", f"--turn={turn}") for turn in (16, 17, 18)]
    assert all(len(collected()) / 4 < len(part) for part in parts)
    assert sorted(name for part in parts for name in part) == sorted(collected())


def test_what_was_skipped_runs_alone(tmp_path: Path) -> None:
    skipped = tmp_path / "skipped"
    name = f"{TABLE}::test_narrow_floats_are_rounded_once"
    chosen = [found for found in collected() if found.startswith(f"{name}[")][:3]
    skipped.write_text("\n".join(chosen), encoding="utf-8")
    assert collected(f"--only-from={skipped}") == chosen


def test_quick_takes_marked_tests_alone() -> None:
    assert collected("--quick") == []
    assert [name.partition("::")[2] for name in collected("--quick", "tests/lowering/ptir/test_core_to_ptir.py")] == [
        "test_every_op_has_a_rule_in_the_common_order"
    ]


def test_what_is_left_out_is_run_before_a_change_lands() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert (makefile.count("$(THIN)"), makefile.count("$(PART)")) == (2, 1)
    commands = [line.split(" || ")[0] for line in ci.splitlines() if line.startswith("make ")]
    assert commands[:2] == ["make test $turn", "make test-skipped SAMPLE=8 $turn"]
    assert 'turn="TURN=$((16#$commit))"' in ci
