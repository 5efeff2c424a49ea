"""
Tries inputs in a process of bounded memory, on the orders of the farm: a line of JSON each way for every step.

An order is {"kind", "seconds", "seed", "start", "count"} for generated inputs, or {"kind", "seconds", "data", "tries"} for one,
which is minimised if it is a finding. Answers are
{"begin": number}, {"end": number, "result": code}, {"end": number, "cause", "detail", "data"}, and {"done": true}.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import sys
import warnings
from random import Random
from typing import Any

from . import kinds
from .judge import Finding, Kind, judge, minimised

MEMORY = 8 << 30
"""Bytes of address space that a child may have."""
ORDERS = sys.stdin
ANSWERS = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="ascii")


def answer(**what: Any) -> None:
    """Tell the farm something."""
    print(json.dumps(what), file=ANSWERS, flush=True)


def generated(kind: Kind, seed: int, number: int) -> bytes:
    """Return the input of a number."""
    return kind.make(Random(f"{seed}:{kind.name}:{number}"))


def packed(data: bytes) -> str:
    """Return bytes as text for a line of JSON."""
    return base64.b64encode(data).decode("ascii")


def unpacked(text: str) -> bytes:
    """Return the bytes that `packed` packed."""
    return base64.b64decode(text)


def try_range(kind: Kind, seconds: float, seed: int, start: int, count: int) -> None:
    """Try generated inputs one after the other."""
    for number in range(start, start + count):
        answer(begin=number)
        data = generated(kind, seed, number)
        found = judge(kind, data, seconds)
        if isinstance(found, Finding):
            answer(end=number, cause=found.cause, detail=found.detail, data=packed(data))
        else:
            answer(end=number, result=found)


def try_one(kind: Kind, seconds: float, data: bytes, tries: int) -> None:
    """Try one input, and make it smaller if it is a finding."""
    answer(begin=0)
    found = judge(kind, data, seconds)
    if not isinstance(found, Finding):
        answer(end=0, result=found)
        return
    small = minimised(kind, data, found.cause, 8 if found.cause.startswith("hang") else tries, seconds)
    answer(end=0, cause=found.cause, detail=found.detail, data=packed(small))


def main() -> None:
    """Follow orders until there are none."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("error")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what inputs print is no answer
    known = kinds.all_kinds()
    for line in ORDERS:
        order = json.loads(line)
        kind = known[order["kind"]]
        if "data" in order:
            try_one(kind, order["seconds"], unpacked(order["data"]), order["tries"])
        else:
            try_range(kind, order["seconds"], order["seed"], order["start"], order["count"])
        answer(done=True)


if __name__ == "__main__":
    main()
