"""Ops with random operands and attributes, through the constructors of PTIR and the expressions of Core IR."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

from xdsl.ir import Block

from mind_dialect import build
from mind_dialect.errors import MindError, error
from mind_dialect.ptir import OPS_BY_OPCODE, PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import ALL
from mind_dialect.verify import verify
from mind_tools.roundtrip import check_roundtrip
from ptir_programs import function, module_of
from ptir_rows import ROWS, spec, types

from .judge import Difference, Kind
from .texts import all_dialects

SIZES = ("0", "1", "1", "2", "2", "3", "3", "4", "7", "B", "N", "?", "4611686018427387904", "9223372036854775807")
ODD: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        -2,
        7,
        2**31,
        2**63,
        -(2**63),
        2**64,
        10**40,
        0.5,
        -0.0,
        float("nan"),
        float("inf"),
        1e308,
    ),
    *(
        "",
        "sum",
        "f32",
        "si32",
        "?",
        "B",
        "x\0",
        "\ud800",
        [],
        [0],
        [0, 1],
        [1, 0],
        [-1],
        [0, 0],
        [[0, 0]],
        [[1, 1], [1, 1]],
        [2**62],
    ),
    *([None], ["a"], [True], [0.5], [[]], {}, {"a": 1}, {"a": [1, "x"]}, [1, 2, 3, 4, 5, 6, 7, 8]),
]


def as_json(value: Any) -> Any:
    """Return a property as JSON can hold it; literals are {"literal": type, "fill": number}."""
    if isinstance(value, PtirLiteralAttr):
        return {"literal": "f32[2]", "fill": 1.0}
    if isinstance(value, tuple | list):
        return [as_json(v) for v in value]
    return value if isinstance(value, str | int | float | bool | dict | None) else str(value)


def from_json(value: Any) -> Any:
    """Return what Python code would give: tuples, and attributes of literals."""
    if isinstance(value, dict) and "literal" in value:
        dtype, shape = spec(str(value["literal"]))
        return PtirLiteralAttr.filled(dtype, shape, value.get("fill"))
    return tuple(from_json(v) for v in value) if isinstance(value, list) else value


@cache
def rows() -> list[dict[str, Any]]:
    """The rows of the tests' table as descriptions."""
    return [
        {"op": r.op.OPCODE, "operands": r.operands.split(), "properties": {k: as_json(v) for k, v in r.properties.items()}}
        for r in ROWS
        if not r.op.REGION_NAMES
    ]


def changed_type(rng: Random, text: str) -> str:
    """Return a type with another dtype, size or rank."""
    dtype, _, dims = text.rstrip("]").partition("[")
    sizes = [d for d in dims.split(",") if d]
    match rng.choice(("dtype", "size", "size", "size", "rank")):
        case "dtype":
            dtype = str(rng.choice(ALL))
        case "size" if sizes:
            sizes[rng.randrange(len(sizes))] = rng.choice(SIZES)
        case _ if sizes and rng.random() < 0.5:
            del sizes[rng.randrange(len(sizes))]
        case _:
            sizes.insert(rng.randint(0, len(sizes)), rng.choice(SIZES))
    return f"{dtype}[{','.join(sizes)}]"


def changed_value(rng: Random, value: Any) -> Any:
    """Return another value for a property: often of the same form, sometimes of none."""
    if isinstance(value, list) and value and rng.random() < 0.7:
        found = list(value)
        i = rng.randrange(len(found))
        match rng.choice(("part", "part", "part", "delete", "repeat", "swap")):
            case "delete":
                del found[i]
            case "repeat":
                found.insert(i, found[i])
            case "swap":
                j = rng.randrange(len(found))
                found[i], found[j] = found[j], found[i]
            case _:
                found[i] = changed_value(rng, found[i])
        return found
    if type(value) is int and rng.random() < 0.7:
        return value + rng.choice((-2, -1, 1, 2, 5))
    return rng.choice(ODD)


class PtirOps(Kind):
    """A row of the table of ops after a few changes. What is built must verify and survive being printed."""

    name, share = "ops of PTIR", 40

    def make(self, rng: Random) -> bytes:
        found = json.loads(json.dumps(rng.choice(rows())))
        for _ in range(rng.choice((1, 1, 2, 3))):
            operands, properties = found["operands"], found["properties"]
            match rng.choice(("type", "types", "operand", "value", "value", "value", "property", "op")):
                case "type" if operands:
                    i = rng.randrange(len(operands))
                    operands[i] = changed_type(rng, operands[i])
                case "types" if operands:
                    old = rng.choice(operands)
                    found["operands"] = [changed_type(Random(1), t) if t == old else t for t in operands]
                case "operand":
                    found["operands"] = operands[1:] if rng.random() < 0.5 else [*operands, *operands[:1]]
                case "value" if properties:
                    key = rng.choice(sorted(properties))
                    properties[key] = changed_value(rng, properties[key])
                case "property":
                    other = rng.choice(rows())["properties"]
                    if properties and rng.random() < 0.3:
                        del properties[rng.choice(sorted(properties))]
                    found["properties"] = {**properties, **dict(rng.sample(sorted(other.items()), min(1, len(other))))}
                case _ if rng.random() < 0.2:
                    found["op"] = rng.choice(rows())["op"]
        return json.dumps(found, sort_keys=True).encode()

    def run(self, data: bytes) -> None:
        found = json.loads(data)
        cls = OPS_BY_OPCODE[found["op"]]
        block = Block(arg_types=types(" ".join(found["operands"])))
        properties = {key: from_json(value) for key, value in found["properties"].items()}
        _check_signature(cls, block.args, properties)
        module = module_of(function(" ".join(found["operands"]), lambda *values: [cls(*values, **properties)]))
        _check(module)


def _check_signature(cls: type[PtirOp], operands: Sequence[Any], properties: Mapping[str, Any]) -> None:
    """Refuse arguments that Python itself would refuse."""
    try:
        inspect.signature(cls).bind(*operands, **properties)
    except TypeError as e:
        raise error("E4000", str(e), given=sorted(properties), expected=None) from None


def _check(module: Any) -> None:
    """Raise `Difference` unless what a constructor accepted verifies and is readable."""
    try:
        verify(module)
        check_roundtrip(module, all_dialects())
    except Exception as e:
        if isinstance(e, MindError) and e.code == "E8001":  # what names of dimensions there are is for the module to say
            raise
        what = "parser changes" if "E7006" in str(e) else "verifier refuses"
        raise Difference(f"a constructor accepts what the {what}\n{e}") from e


FUNCTIONS: Mapping[str, Sequence[Any]] = {
    "sum": ([0], True),
    "mean": ([1], False),
    "reshape": ([3, 2],),
    "transpose": ([1, 0],),
    "expand_dims": ([0],),
    "squeeze": ([0],),
    "index": ([0, 1],),
    "slice": ([0, 0], [2, 3], [1, 2]),
    "relu": (),
    "neg": (),
    "exp": (),
    "log": (),
    "add": ("other",),
    "sub": ("other",),
    "mul": ("other",),
    "div": ("other",),
    "dot": ("other",),
    "matmul": ("other",),
    "gather": ("other",),
    "conv2d": ("other", [1, 1], "Valid"),
}
"""What builds expressions, with arguments after the first one that some operands accept."""


class CoreOps(Kind):
    """A function of `mind_dialect.build` with random arguments. What is built must verify and survive being printed."""

    name, share = "expressions of Core IR", 40

    def make(self, rng: Random) -> bytes:
        name = rng.choice(sorted(FUNCTIONS))
        arguments = [changed_value(rng, a) if a != "other" and rng.random() < 0.6 else a for a in FUNCTIONS[name]]
        if name == "conv2d" and rng.random() < 0.3:
            arguments[2] = rng.choice(("Same", [[1, 0], [0, 2]], [[0, 0], [0, -1]], [[1, 1]]))
        operands = []
        for i in range(2):
            dtype = rng.choice(("f32", "f32", "f64", "i32", "i64", "bf16", "x"))[: None if rng.random() < 0.2 else 3]
            rank = 4 if name == "conv2d" and rng.random() < 0.8 else rng.randint(0, 3)
            operands.append(
                [
                    dtype if i == 0 or rng.random() < 0.3 else operands[0][0],
                    [rng.choice((0, 1, 1, 2, 3, 3, 5)) for _ in range(rank)],
                ]
            )
        if rng.random() < 0.05:
            operands[0][1] = rng.choice(ODD)
        profile = rng.choice((None, "core-v1", "core-v1.1"))
        return json.dumps({"name": name, "arguments": arguments, "operands": operands, "profile": profile}).encode()

    def run(self, data: bytes) -> None:
        found = json.loads(data)
        x, y = (
            build.variable(f"x{i}", dtype, from_json(shape), found["profile"])
            for i, (dtype, shape) in enumerate(found["operands"])
        )
        arguments = [y if a == "other" else from_json(a) for a in found["arguments"]]
        _check(build.program("f", getattr(build, found["name"])(x, *arguments)))


def kinds() -> list[Kind]:
    """The kinds of ops."""
    return [PtirOps(), CoreOps()]
