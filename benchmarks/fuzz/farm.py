"""Runs children, takes their answers, survives their deaths, and keeps what was found."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .child import packed, unpacked
from .judge import ROOT, SECONDS, Finding, Kind

SILENCE = 12
"""Times the limit of an input, after which a child without an answer is ended: something waits that does not compute."""
BATCH = 25
EXAMPLES = 3
"""Inputs of one cause that are minimised and kept; the others are counted."""
SOURCES = ("mind_dialect", "passes", "lowering", "runtime", "translate", "tools", "benchmarks/fuzz", "tests/support")
REGRESSIONS = Path(__file__).with_name("regressions")


@dataclass
class Tally:
    """What the inputs of a kind showed so far."""

    next: int = 0
    results: Counter[str] = field(default_factory=Counter)
    findings: dict[str, list[str]] = field(default_factory=dict)
    """Packed examples by cause."""
    details: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    """How many inputs had a cause."""

    def note(self, found: str | Finding, data: bytes) -> bool:
        """Count a result; return whether it is an example to keep."""
        if isinstance(found, str):
            self.results[found] += 1
            return False
        self.counts[found.cause] += 1
        self.details.setdefault(found.cause, found.detail)
        examples = self.findings.setdefault(found.cause, [])
        return len(examples) < EXAMPLES and packed(data) not in examples

    @property
    def inputs(self) -> int:
        """How many inputs were tried."""
        return self.results.total() + self.counts.total()


class Child:
    """A process that tries inputs; a new one takes the place of one that ended."""

    def __init__(self, environment: Mapping[str, str] = {}) -> None:
        path = os.pathsep.join(str(ROOT / p) for p in ("benchmarks", "tests/support", "examples", *SOURCES[1:6], "."))
        fixed = {
            "PYTHONPATH": f"{path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            "MIND_CACHE_DIR": "",
            "PYTHONHASHSEED": "0",
        }
        self._environment = {**os.environ, **fixed, **environment}
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()

    def _start(self) -> subprocess.Popen[str]:
        """Start a process, and a thread that reads what it answers."""
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        process = subprocess.Popen([sys.executable, "-m", "fuzz.child"], env=self._environment, cwd=ROOT, **pipes)
        lines = self._lines = queue.Queue[str]()

        def read() -> None:
            for line in process.stdout or ():
                lines.put(line)
            lines.put("")

        self._reader = threading.Thread(target=read, daemon=True)
        self._reader.start()
        self._process = process
        return process

    def ask(self, order: Mapping[str, Any], silence: float) -> Iterator[dict[str, Any]]:
        """Yield the answers to an order; the last one is {"died": reason} where the process ends or is silent for too long."""
        if self._process is not None and self._process.poll() is not None:
            self.close()
        process = self._process or self._start()
        assert process.stdin is not None
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        while True:
            try:
                line = self._lines.get(timeout=silence)
            except queue.Empty:
                self.close()
                yield {"died": "hang without computing"}
                return
            if not line:
                ended = process.wait()
                self.close()
                yield {"died": f"crash: the process ended with {ended}"}
                return
            found = json.loads(line)
            if "done" in found:
                return
            yield found

    def close(self) -> None:
        """End the process, and the thread that reads from it."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._process = None


class Farm:
    """A run: the tallies of all kinds, kept in a folder."""

    def __init__(
        self,
        folder: Path,
        kinds: Sequence[Kind],
        seed: int,
        environment: Mapping[str, str] = {},
        seconds: float = SECONDS,
    ):
        self.folder, self.kinds, self.seed = folder, kinds, seed
        self.tallies = {kind.name: Tally() for kind in kinds}
        self.child = Child(environment)
        self._seconds = seconds
        self._digest = sources_digest()

    # Files of the farm

    def load(self) -> None:
        """Go on where the last run of these sources and this seed was; of others, only its findings are tried again."""
        path = self.folder / "state.json"
        if not path.is_file():
            return
        state = json.loads(path.read_text(encoding="ascii"))
        for name, kept in state["kinds"].items():
            if name not in self.tallies:
                continue
            if (state["digest"], state["seed"]) == (self._digest, self.seed):
                counters = {key: Counter(kept[key]) for key in ("results", "counts")}
                self.tallies[name] = Tally(**{**kept, **counters})
            else:
                for data in (d for examples in kept["findings"].values() for d in examples):
                    self.try_one(name, unpacked(data))

    def save(self) -> None:
        """Keep the counts and findings."""
        self.folder.mkdir(parents=True, exist_ok=True)
        kinds = {name: vars(tally) for name, tally in self.tallies.items()}
        text = json.dumps({"digest": self._digest, "seed": self.seed, "kinds": kinds}, indent=1)
        part = self.folder / "state.json.part"
        part.write_text(text, encoding="ascii")
        part.replace(self.folder / "state.json")

    # Running

    def try_one(self, name: str, data: bytes, tries: int = 400) -> str | Finding:
        """Try one input, and keep it, as small as it gets, if it is a finding."""
        found: str | Finding = Finding("no answer", "")
        for a in self._ask_about(name, data, tries):
            if "died" in a:
                found = Finding(a["died"], "")
            elif "cause" in a:
                found, data = Finding(a["cause"], a["detail"]), unpacked(a["data"])
            elif "result" in a:
                found = a["result"]
        if self.tallies[name].note(found, data) and isinstance(found, Finding):
            self.tallies[name].findings[found.cause].append(packed(data))
        return found

    def _ask_about(self, name: str, data: bytes, tries: int) -> Iterator[dict[str, Any]]:
        """Yield what a child says of one input, which it makes smaller: that may take long."""
        order = {"kind": name, "seconds": self._seconds, "data": packed(data), "tries": tries}
        return self.child.ask(order, 5 * SILENCE * self._seconds)

    def regressions(self) -> Iterator[tuple[str, Path]]:
        """Yield the inputs of former findings, with the names of their kinds."""
        for kind in self.kinds:
            for path in sorted((REGRESSIONS / kind.name.replace(" ", "-").lower()).glob("*")):
                yield kind.name, path

    def try_batch(self, kind: Kind, count: int) -> None:
        """Try the next inputs of a kind, whatever happens to the child."""
        tally = self.tallies[kind.name]
        end = tally.next + count
        while tally.next < end:
            numbers = {"seed": self.seed, "start": tally.next, "count": end - tally.next}
            examples: list[bytes] = []
            order = {"kind": kind.name, "seconds": self._seconds, **numbers}
            for a in self.child.ask(order, SILENCE * self._seconds):
                if "end" in a:
                    tally.next = a["end"] + 1
                    found = Finding(a["cause"], a["detail"]) if "cause" in a else a["result"]
                    data = unpacked(a["data"]) if "cause" in a else b""
                    if tally.note(found, data):
                        examples.append(data)
                elif "died" in a:
                    self._died(kind, tally, a["died"])
            for data in examples:
                self._minimise(kind.name, data)

    def _died(self, kind: Kind, tally: Tally, reason: str) -> None:
        """Count the input that ended a child, and keep it as it is."""
        from .child import generated

        data = generated(kind, self.seed, tally.next)
        tally.next += 1
        if tally.note(Finding(reason, ""), data):
            tally.findings[reason].append(packed(data))

    def _minimise(self, name: str, data: bytes) -> None:
        """Keep the smallest input found of the same cause; the input itself is counted already."""
        tally = self.tallies[name]
        for a in self._ask_about(name, data, 400):
            if "cause" in a:
                kept = tally.findings.setdefault(a["cause"], [])
                if len(kept) < EXAMPLES and a["data"] not in kept:
                    kept.append(a["data"])
                    tally.details.setdefault(a["cause"], a["detail"])

    def run(self, seconds: float, inputs: int) -> None:
        """Try inputs of all kinds by their shares, until the time is over or there were so many of them."""
        until = time.monotonic() + seconds
        slow = max(1, BATCH // 5)
        while time.monotonic() < until and sum(t.inputs for t in self.tallies.values()) < inputs:
            for kind in self.kinds:
                if time.monotonic() >= until:
                    break
                for _ in range(max(1, kind.share * slow // 200)):
                    self.try_batch(kind, min(200, kind.share * slow))
                self.save()


def sources_digest() -> str:
    """Return a digest of everything that decides what an input shows."""
    files = sorted(p for folder in SOURCES for p in (ROOT / folder).rglob("*.py"))
    found = hashlib.sha256()
    for path in files:
        found.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]
