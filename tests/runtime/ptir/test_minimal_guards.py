"""Guards keep only what declarations and earlier checks do not imply, and refuse exactly what the ops' own rules refuse."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import mind_runtime
from mind_dialect.errors import MindError
from mind_dialect.extents import parse_declaration
from mind_dialect.program import functions
from mind_dialect.shape import CstrBroadcastableOp, CstrEqOp, CstrRequireOp
from mind_dialect.verify import verify
from mind_passes.shape.reify import reify
from mind_passes.shape.specialize import specialize
from mind_runtime.shapes import Guard
from mind_tools.frontends import parse

HEAD = 'builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {\n'
NAMES: tuple[str, ...] = ("B", "N", "T")
FACTS = ("N == T", "N >= T", "T in 2..4", "T % 2 == 0", "N != 1", "B < 3", "T >= B", "B + T <= 6")


def vector(name: str) -> str:
    return f'tensor<?xf32, "{name}">'


def added(i: int, a: str, b: str) -> str:
    return f"%{i} = ptir.add %{a.lower()}, %{b.lower()} : ({vector(a)}, {vector(b)}) -> {vector(a)}"


def head(i: int, a: str, n: int) -> str:
    return f"%{i} = ptir.slice %{a.lower()} starts = [0] sizes = [{n}] : {vector(a)} -> tensor<{n}xf32>"


def rest(i: int, a: str, n: int) -> str:
    return f'%{i} = ptir.slice %{a.lower()} starts = [{n}] sizes = ["{a}-{n}"] : {vector(a)} -> {vector(f"{a}-{n}")}'


def part(i: int, a: str, b: str) -> str:
    return f"%{i} = ptir.slice %{a.lower()} starts = [0] sizes = [{b}] : {vector(a)} -> {vector(b)}"


def reshaped(i: int, a: str, b: str) -> str:
    return f'%{i} = ptir.reshape %{a.lower()} new_shape = [{b}, 1] : {vector(a)} -> tensor<?x1xf32, "{b},*">'


def random_ops(rng: random.Random) -> list[str]:
    found: list[str] = []
    for i in range(rng.randint(2, 5)):
        a, b = rng.sample(NAMES, 2)
        kinds = (
            lambda i=i, a=a, b=b: added(i, a, b),
            lambda i=i, a=a: head(i, a, rng.randint(0, 4)),
            lambda i=i, a=a: rest(i, a, rng.randint(1, 4)),
            lambda i=i, a=a, b=b: part(i, a, b),
            lambda i=i, a=a, b=b: reshaped(i, a, b),
        )
        found.append(rng.choice(kinds)())
    return found


def program(ops: list[str], facts: tuple[str, ...]) -> str:
    arguments = ", ".join(f"%{n.lower()}: {vector(n)}" for n in NAMES)
    declared = ", ".join(f'"{fact}"' for fact in facts)
    attributes = f" attributes {{mind.dims = [{declared}]}}" if facts else ""
    body = "\n  ".join(ops)
    return f"{HEAD}func.func @f({arguments}) -> {vector('B')}{attributes} {{\n  {body}\n  func.return %b : {vector('B')}\n}}\n}}"


def refused_for(text: str, sizes: dict[str, int]) -> bool:
    """Whether the program with these sizes in the place of names is wrong by the verifier's static rules."""
    module = parse(text)
    try:
        specialize(module, sizes)
        verify(module)
    except MindError:
        return True
    return False


@pytest.mark.parametrize("seed", range(6))
def test_a_guard_refuses_what_the_static_rules_refuse(seed: int) -> None:
    rng = random.Random(seed)
    facts = tuple(rng.sample(FACTS, rng.randint(0, 2)))
    text = program(random_ops(rng), facts)
    points = [dict(zip(NAMES, p, strict=True)) for p in itertools.product(range(5), repeat=3)]
    points = [p for p in points if all(parse_declaration(fact).holds(p) for fact in facts)]
    module = parse(text)
    try:
        verify(module)
        guard = Guard(next(iter(functions(module))))
    except MindError:
        assert all(refused_for(text, p) for p in points), text
        return
    for p in points:
        try:
            guard(*((p[n],) for n in NAMES))
            fits = True
        except MindError:
            fits = False
        assert fits is not refused_for(text, p), (p, text, guard.source.text)


def checks(ops: list[str], *facts: str) -> list[str]:
    """The relations that are left to a call, by the op that each is for."""
    module = parse(program(ops, facts))
    verify(module)
    made = reify(next(iter(functions(module))))
    assert not made.faults
    kinds = (CstrRequireOp, CstrEqOp, CstrBroadcastableOp)
    found = [op for op in made.function.walk() if isinstance(op, kinds)]
    return [str(op.attributes["mind.op"]).strip('"') for op in found]


@pytest.mark.parametrize(
    ("ops", "facts", "left"),
    [
        pytest.param([added(0, "B", "N"), added(1, "N", "B")], (), ["add %0"], id="the second of equal ones"),
        pytest.param([added(0, "B", "N"), added(1, "N", "T"), added(2, "B", "T")], (), ["add %0", "add %1"], id="transitive"),
        pytest.param([added(0, "B", "N"), reshaped(1, "N", "B")], (), ["add %0"], id="one op for another"),
        pytest.param([head(0, "N", 4), head(1, "N", 2)], (), ["slice %0"], id="a weaker one later"),
        pytest.param([head(0, "N", 2), head(1, "N", 4)], (), ["slice %1"], id="a weaker one earlier"),
        pytest.param([head(0, "N", 4), rest(1, "N", 3)], (), ["slice %0"], id="what a part leaves"),
        pytest.param([added(0, "B", "N")], ("N == B",), [], id="declared"),
        pytest.param([head(0, "T", 8), rest(1, "T", 4)], ("T in 1..64", "T % 8 == 0"), [], id="by divisor and range"),
        pytest.param([part(0, "N", "T"), part(1, "T", "N")], (), ["slice %0", "slice %1"], id="two that depend on one another"),
        pytest.param([head(0, "N", 4), head(1, "T", 2)], (), ["slice %0", "slice %1"], id="of different names"),
        pytest.param([part(0, "N", "T"), head(1, "T", 2), head(2, "N", 2)], (), ["slice %0", "slice %1"], id="by two others"),
    ],
)
def test_a_guard_keeps_what_is_not_implied(ops: list[str], facts: tuple[str, ...], left: list[str]) -> None:
    assert checks(ops, *facts) == left


def test_facts_that_checks_contradict_are_refused_with_both_sources() -> None:
    module = parse(program([added(0, "B", "N"), added(1, "N", "T")], ("B < T",)))
    with pytest.raises(MindError, match=r"add %1: .*") as found:
        mind_runtime.compile(module)
    assert found.value.code == "E3001"


def test_messages_say_which_dimensions_of_which_arguments() -> None:
    program_ = mind_runtime.compile(parse(program([part(0, "N", "T")], ("T in 1..8",))))
    with pytest.raises(MindError) as found:
        program_(*(np.zeros(n, np.float32) for n in (1, 2, 3)))
    assert found.value.message == (
        "slice %0: slice 0 + T = 3 at dimension 0 of extent 2, expected start + size <= 2; "
        "N is dimension 0 of input n, T is dimension 0 of input t"
    )
    for refused in (program_, program_.output_shapes):
        with pytest.raises(MindError, match=r"declared is 'T in 1\.\.8'") as broken:
            refused(*(np.zeros(n, np.float32) for n in (1, 2, 9)))
        assert broken.value.code == "E8010"


def test_a_printed_guard_checks_what_is_declared() -> None:
    module = parse(program([part(0, "N", "T")], ("T % 4 == 0", "N - T >= 1")))
    guard = Guard(next(iter(functions(module))))
    assert guard((1,), (6,), (4,)) == ((1,),)
    for sizes in ((1, 6, 3), (1, 4, 4)):
        with pytest.raises(MindError, match="declared is") as found:
            guard(*((n,) for n in sizes))
        assert found.value.code == "E8010"
