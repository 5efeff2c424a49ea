"""Kinds of inputs for the fuzz farm that fail, each in another way, at known inputs."""

from __future__ import annotations

import os
import time
from random import Random

from fuzz.judge import Difference, Kind

from mind_dialect.errors import error
from mind_tools.frontends import parse


class Planted(Kind):
    """Inputs of five words; one that holds the kind's own name fails."""

    def __init__(self, name: str):
        self.name = name

    def make(self, rng: Random) -> bytes:
        words = ["a", "b", "c", "refused", self.name] if rng.random() < 0.5 else ["a", "b", "refused", "d", "e"]
        return " ".join(rng.sample(words, 4)).encode()

    def run(self, data: bytes) -> None:
        words = data.decode().split()
        if self.name in words:
            fail(self.name)
        if "refused" in words:
            raise error("E1007", "refused")


def fail(name: str) -> None:
    """Fail as the name says."""
    match name:
        case "traceback":
            parse(None)  # type: ignore[arg-type]
        case "hang":
            while True:
                pass
        case "wait":
            time.sleep(1000)
        case "crash":
            os.abort()
        case "memory":
            bytearray(1 << 36)
        case "message":
            raise error("E1007", "x" * 10_000)
        case _:
            raise Difference("one thing and another\nwith details")


NAMES = ("traceback", "hang", "wait", "crash", "memory", "message", "difference")


def kinds() -> list[Kind]:
    """A kind for each way to fail."""
    return [Planted(name) for name in NAMES]
