"""A profile of a run, as the viewer shows it over a program: which op spent which time, by source locations."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mind_dialect.errors import MindError, brief, error

from .recording import Step


@dataclass(frozen=True)
class Timing:
    """The steps of a run: names, microseconds, bytes and source locations; `function` ran, on `machine`."""

    steps: tuple[tuple[str, float, int, tuple[str, ...]], ...]
    function: str
    machine: str


def read_timing(path: Path | str) -> Timing:
    """Return what `mind-run --trace` wrote to a file; E7002 for a file that cannot be read or is something else."""
    try:
        data: Any = json.loads(Path(path).read_text(encoding="utf-8"))
        about: Any = data["otherData"]
        steps = tuple(_step(event) for event in data["traceEvents"])
        return Timing(steps, f"@{_text(about['function'])}", _text(about["machine"]))
    except OSError as e:
        raise error("E7002", f"{path}: {e.strerror or e}", path=str(path)) from None
    except RecursionError:
        raise _no_trace(path, "nested too deeply") from None
    except (ValueError, KeyError, TypeError) as e:
        raise _no_trace(path, f"{type(e).__name__}: {e}") from None


def _no_trace(path: Path | str, issue: str) -> MindError:
    message = f"{path}: expected a trace of mind-run --trace, found {brief(issue)}"
    return error("E7002", message, path=str(path))


def _step(event: Any) -> tuple[str, float, int, tuple[str, ...]]:
    duration, about = event["dur"], event["args"]
    if isinstance(duration, bool) or not isinstance(duration, int | float) or not math.isfinite(duration) or duration < 0:
        raise ValueError(f"a duration of {duration!r}")
    size, places = about["bytes"], about["locations"]
    if not isinstance(size, int) or not isinstance(places, list):
        raise ValueError(f"a step with {size!r} bytes at {places!r}")
    return _text(event["name"]), float(duration), size, tuple(_text(place) for place in cast("list[Any]", places))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} in place of a text")
    return value


def check_overlap(timing: Timing, steps: Sequence[Step], path: Path | str) -> None:
    """E7001 unless an op of some step has a location of the profile."""
    places = {place for _, _, _, found in timing.steps for place in found}
    if places.isdisjoint(place for step in steps for place in step.ops.location):
        some = next(iter(sorted(places)), "none")
        message = (
            f"{path}: the profile is of another program: its locations, such as {brief(some)!r}, belong to no op here; "
            "give mind-run and mind-view the same file, by the same path"
        )
        raise error("E7001", message, option="--profile")


def timing_data(timing: Timing | None, strings: Any) -> Mapping[str, Any] | None:
    """Return a profile as data of the page; `strings` numbers texts."""
    if timing is None:
        return None
    steps = [[name, time, size, [strings(place) for place in places]] for name, time, size, places in timing.steps]
    return {"steps": steps, "function": timing.function, "machine": timing.machine}
