"""The measured steps of a call, as a table next to what the machine could do at best, and as a trace."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

REPEATS = 10
"""Number of measured calls; the median of each step is reported."""


@dataclass(frozen=True)
class Limits:
    """The best rates of a machine: bytes and floating-point operations in a second; 0 where unknown."""

    name: str = ""
    bandwidth: float = 0.0
    flops: dict[str, float] = field(default_factory=dict[str, float])
    """By the name of a dtype."""


@dataclass(frozen=True)
class Span:
    """One step: when it began and how long it took, in microseconds, what it moved and computed, and in which dtype."""

    name: str
    start: float
    duration: float
    bytes: int = 0
    flops: int = 0
    dtype: str = ""
    locations: tuple[str, ...] = ()
    """Source locations of the ops that the step comes from."""
    runs: int = 1
    """The number of runs of the step, in a loop for example; the other numbers are those of all its runs."""


@dataclass(frozen=True)
class Profile:
    """The steps of one call, each with the median of its durations, and how long a whole call takes unobserved."""

    spans: tuple[Span, ...]
    limits: Limits
    call: float = 0.0
    """Microseconds."""
    function: str = ""

    def table(self) -> str:
        """Lines of text: for each step its time, bytes, and rates next to the limits; the most time first."""
        total = sum(s.duration for s in self.spans)
        lines = [f"{'us':>10}  {'share':>6}  {'bytes':>12}  {'GB/s':>8}  {'GFLOP/s':>9}  {'of limit':>8}  step"]
        for s in sorted(self.spans, key=lambda s: -s.duration):
            share = f"{100 * s.duration / total:.1f} %" if total else ""
            lines.append(
                f"{s.duration:>10.2f}  {share:>6}  {s.bytes:>12}  {_rate(s.bytes, s.duration):>8}  "
                f"{_rate(s.flops, s.duration):>9}  {self._of_limit(s):>8}  {s.name}{f' ({s.runs} runs)' if s.runs > 1 else ''}"
            )
        lines.append(f"{total:>10.2f}  {'':>6}  {sum(s.bytes for s in self.spans):>12}  all steps, one by one")
        lines.append(f"{self.call:>10.2f}  a whole call{self._limits()}")
        return "\n".join(lines)

    def _of_limit(self, span: Span) -> str:
        """The nearer of the two limits, in percent."""
        if not span.duration:
            return ""
        shares = [span.bytes / span.duration * 1e6 / self.limits.bandwidth] if self.limits.bandwidth and span.bytes else []
        most = self.limits.flops.get(span.dtype, 0.0)
        shares += [span.flops / span.duration * 1e6 / most] if most and span.flops else []
        return f"{100 * max(shares):.0f} %" if shares else ""

    def _limits(self) -> str:
        if not self.limits.bandwidth:
            return ""
        rates = [f"{self.limits.bandwidth / 1e9:.0f} GB/s"]
        rates += [f"{rate / 1e12:.0f} TFLOP/s in {dtype}" for dtype, rate in self.limits.flops.items()]
        return f"; {self.limits.name} has at most {', '.join(rates)}"

    def trace(self) -> dict[str, Any]:
        """The steps as a trace of Chrome's."""
        events: list[dict[str, Any]] = [
            {
                **{"name": s.name, "ph": "X", "ts": s.start, "dur": s.duration, "pid": 0, "tid": 0, "cat": "step"},
                "args": {"bytes": s.bytes, "flops": s.flops, "dtype": s.dtype, "locations": list(s.locations), "runs": s.runs},
            }
            for s in self.spans
        ]
        about = {"machine": self.limits.name, "call us": self.call, "function": self.function}
        return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}


def _rate(count: int, microseconds: float) -> str:
    return f"{count / microseconds / 1e3:.1f}" if count and microseconds else ""


def medians(runs: Sequence[Sequence[Span]]) -> tuple[Span, ...]:
    """The steps of one call from those of several, each with the median of its durations, one after the other."""
    found: list[Span] = []
    start = 0.0
    for steps in zip(*runs, strict=True):
        first = steps[0]
        duration = float(np.median([s.duration for s in steps]))
        found.append(replace(first, start=start, duration=duration))
        start += duration
    return tuple(found)


def time_of(run: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The median time of a call in microseconds."""
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e6)
    return float(np.median(times))
