"""Calls from Python with arrays of every layout, wrong ones included, with `out=` and donated inputs, on NumPy and native."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

import mind_runtime
from mind_dialect.errors import MindError
from mind_tools.frontends import parse

from .judge import Difference, Kind

TEXT = """
module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<{m}x{n}xf32>, %y: tensor<{m}x{n}xf32>) -> (tensor<{m}x{n}xf32>, tensor<{n}x{m}xf32>) {{
    %a = ptir.add %x, %y : tensor<{m}x{n}xf32>
    %b = ptir.maximum %a, %y : tensor<{m}x{n}xf32>
    %c = ptir.transpose %b perm = [1, 0] : tensor<{m}x{n}xf32> -> tensor<{n}x{m}xf32>
    func.return %a, %c : tensor<{m}x{n}xf32>, tensor<{n}x{m}xf32>
  }}
}}
"""
SHAPES = ((2, 3), (1, 4), (5, 1), (0, 3), (4, 4), (1, 1))
LAYOUTS = (
    *("c", "c", "f", "strided", "reversed", "columns", "broadcast", "readonly", "unaligned", "swapped", "subclass", "masked"),
    *("list", "scalar", "none", "text", "object", "wide", "integer", "transposed", "longer", "flat", "overlapping"),
)
TARGETS = ("numpy", "native")


@cache
def program(shape: tuple[int, int], target: str, donate: tuple[str, ...]) -> Any:
    """The program for a shape, compiled once."""
    return mind_runtime.compile(parse(TEXT.format(m=shape[0], n=shape[1])), target=target, donate=donate)


class Wrapped(np.ndarray):
    """An array of another class."""


def array(layout: str, shape: tuple[int, ...], start: int) -> Any:
    """Return an argument of a layout, its elements counted from `start`."""
    rows, columns = shape
    plain = np.arange(start, start + rows * columns, dtype=np.float32).reshape(shape)
    wide = np.zeros((2 * rows + 1, 2 * columns + 1), np.float32)
    match layout:
        case "f":
            return np.asfortranarray(plain)
        case "strided":
            wide[: 2 * rows : 2, : 2 * columns : 2] = plain
            return wide[: 2 * rows : 2, : 2 * columns : 2]
        case "reversed":
            return plain[::-1, ::-1]
        case "columns":
            wide[:rows, :columns] = plain
            return wide[:rows, :columns]
        case "broadcast":
            return np.broadcast_to(np.float32(start), shape)
        case "readonly":
            plain.flags.writeable = False
            return plain
        case "unaligned":
            room = np.zeros(plain.nbytes + 1, np.uint8)
            room[1:] = np.frombuffer(plain.tobytes(), np.uint8)
            return room[1:].view(np.float32).reshape(shape)
        case "overlapping":
            return as_strided(np.arange(start, start + rows + columns + 1, dtype=np.float32), shape, (4, 4))
        case _:
            return _wrong(layout, plain)


def _wrong(layout: str, plain: Any) -> Any:
    """Return an argument that is no array of the declared type, or one of another class."""
    made = {
        "swapped": lambda: plain.astype(">f4"),
        "subclass": lambda: plain.view(Wrapped),
        "masked": lambda: np.ma.masked_equal(plain, 1.0),
        "list": plain.tolist,
        "scalar": lambda: 1.0,
        "none": lambda: None,
        "text": lambda: "x",
        "object": lambda: plain.astype(object),
        "wide": lambda: plain.astype(np.float64),
        "integer": lambda: plain.astype(np.int32),
        "transposed": lambda: plain.T,
        "longer": lambda: np.concatenate([plain, plain]),
        "flat": lambda: plain.reshape(-1),
    }
    return made.get(layout, lambda: plain)()


class Calls(Kind):
    """A call, by a description of its arguments; 'same' and 'overlap' share memory with another of them."""

    name, share = "calls", 20

    def make(self, rng: Random) -> bytes:
        found: dict[str, Any] = {"shape": rng.choice(SHAPES), "x": rng.choice(LAYOUTS[:9]), "y": rng.choice(LAYOUTS[:9])}
        if rng.random() < 0.4:
            found[rng.choice("xy")] = rng.choice(LAYOUTS)
        found["share"] = rng.choice(("", "", "", "y is x", "y overlaps x"))
        found["donate"] = rng.choice(([], [], ["x"], ["x", "y"], ["y"]))
        found["out"] = rng.choice(
            (None, None, [rng.choice(LAYOUTS[:9]), rng.choice(LAYOUTS[:9])], [rng.choice(LAYOUTS), "c"], ["c"], [])
        )
        found["aliases"] = rng.choice(("", "", "", "a is x", "a overlaps x", "b is a", "a is y", "a is y backwards"))
        found["count"] = rng.choice((2, 2, 2, 2, 2, 2, 1, 3, 0))
        return json.dumps(found, sort_keys=True).encode()

    def run(self, data: bytes) -> None:
        found = json.loads(data)
        outcomes = [_outcome(found, target) for target in TARGETS]
        if not _same(*outcomes):
            raise Difference(f"a call means one thing on {TARGETS[0]} and another on {TARGETS[1]}\n{outcomes}")
        if isinstance(outcomes[0], MindError):
            raise outcomes[0]
        x, y = _inputs(found)[:2]
        x, y = np.array(x), np.array(y)
        if not _same(outcomes[0], [x + y, np.maximum(x + y, y).T]):
            raise Difference(f"a call gives other numbers than NumPy\n{outcomes[0]}")


def _inputs(found: Any) -> list[Any]:
    """Return fresh arguments as a description says."""
    shape = tuple(found["shape"])
    x, y = array(found["x"], shape, 1), array(found["y"], shape, 50)
    if found["share"] == "y is x":
        y = x
    elif found["share"] == "y overlaps x":
        room = np.arange(2 * shape[0] * shape[1] + 1, dtype=np.float32)
        count = shape[0] * shape[1]
        x, y = room[:count].reshape(shape), room[count // 2 : count // 2 + count].reshape(shape)
    return [x, y, x, y][: found["count"]] if found["count"] != 2 else [x, y]


def _out(found: Any, arguments: Sequence[Any]) -> Any:
    """Return the arrays for results, or None."""
    if found["out"] is None:
        return None
    shape = tuple(found["shape"])
    made = [array(layout, s, 0) for layout, s in zip(found["out"], (shape, shape[::-1]), strict=False)]
    x, y = (*arguments, None, None)[:2]
    if made and isinstance(x, np.ndarray):
        match found["aliases"]:
            case "a is x":
                made[0] = x
            case "a is y":
                made[0] = y
            case "a is y backwards" if isinstance(y, np.ndarray) and y.ndim == 2:
                made[0] = y[::-1]
            case "a overlaps x" if isinstance(x, np.ndarray) and isinstance(x.base, np.ndarray) and x.base.size > x.size:
                made[0] = x.base.reshape(-1)[1 : 1 + x.size].reshape(x.shape) if x.base.size >= x.size + 1 else x
            case "b is a" if len(made) == 2:
                made[1] = made[0]
            case _:
                pass
    return tuple(made)


def _outcome(found: Any, target: str) -> list[Any] | MindError:
    """Call the program; return copies of its results or its error. Arguments that are not given away stay as they are."""
    run = program(tuple(found["shape"]), target, tuple(found["donate"]))
    arguments = _inputs(found)
    out = _out(found, arguments)
    before = [np.array(a) for a in arguments if isinstance(a, np.ndarray)]
    try:
        results = run(*arguments) if out is None else run(*arguments, out=out)
    except MindError as e:
        _check_untouched(arguments, before)
        return e
    if out is None and not found["donate"]:
        _check_untouched(arguments, before)
    return [np.array(r) for r in results]


def _check_untouched(arguments: Sequence[Any], before: Sequence[Any]) -> None:
    """Raise `Difference` if a call changed an argument."""
    after = [a for a in arguments if isinstance(a, np.ndarray)]
    if any(a.tobytes() != b.tobytes() for a, b in zip(after, before, strict=True)):
        raise Difference("a call changes an argument that it was not given")


def _same(a: Any, b: Any) -> bool:
    """Whether two outcomes are the same."""
    if isinstance(a, MindError) or isinstance(b, MindError):
        return type(a) is type(b) and (a.code, str(a)) == (b.code, str(b))
    return len(a) == len(b) and all(x.dtype == y.dtype and np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def kinds() -> list[Kind]:
    """The calls, where native code can be made."""
    try:
        import llvmlite  # noqa: F401
    except ImportError:
        print("without llvmlite no calls are tried", file=sys.stderr)
        return []
    return [Calls()]
