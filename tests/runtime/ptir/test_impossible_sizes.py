"""Sizes that a call refuses after one that it takes, also where that is compiled for its sizes; zero extents of more ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from host_runs import RUNS
from mind_dialect.errors import MindError
from mind_lowering.custom_calls import register_custom_call, unregister_custom_call
from mind_runtime import compile
from mind_tools.frontends import parse

HEAD = 'builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {\n'
X, Y = 'tensor<?xf32, "T">', 'tensor<?xf32, "2*T">'
HUGE = (1 << 62) - 1
SECOND = '%r = ptir.tanh %y : tensor<?xf32, "{0}">'


class Case(NamedTuple):
    """A program, shapes of arguments that it takes (None for a program that takes none), and shapes that it must refuse."""

    arguments: str
    body: str
    result: str
    good: tuple[tuple[int, ...], ...] | None
    bad: tuple[tuple[int, ...], ...]
    code: str
    facts: str = ""


def iota(dim: str, good: int | None, bad: int) -> Case:
    type = f'tensor<?xsi8, "{dim}">'
    body = f'%r = ptir.iota shape = ["{dim}"] dtype = si8 axis = 0 : {type}'
    return Case(f"%x: {X}", body, type, None if good is None else ((good,),), ((bad,),), "E3006")


def second(dim: str, good: tuple[int, int], bad: tuple[int, int]) -> Case:
    type = f'tensor<?xf32, "{dim}">'
    return Case(f"%x: {X}, %y: {type}", SECOND.format(dim), type, ((good[0],), (good[1],)), ((bad[0],), (bad[1],)), "E8001")


def wide(sizes: str, more: str, code: str) -> Case:
    type = f'tensor<?x{sizes}xf32, "T{",*" * sizes.count("x")},*">'
    body = f"%c = ptir.constant 1.0 : tensor<f32>\n%r = ptir.broadcast_to %c result_shape = [T, {more}] : tensor<f32> -> {type}"
    return Case(f"%x: {X}", body, type, None, ((4,),), code)


CASES: dict[str, Case] = {
    "an extent beyond 64 bits": iota(f"{HUGE}*T", 0, 4),
    "a power beyond 64 bits": iota("T*T*T*T*T*T*T*T", 1, 1000),
    "elements beyond 64 bits": wide("4611686018427387904x2", "4611686018427387904, 2", "E6004"),
    "bytes beyond the memory": wide("1099511627776", "1099511627776", "E6004"),
    "repeats beyond 64 bits": Case(
        *(f"%x: {X}", f'%r = ptir.tile %x repeats = [{HUGE}] : {X} -> tensor<?xf32, "{HUGE}*T">', f'tensor<?xf32, "{HUGE}*T">'),
        *(((0,),), ((4,),), "E3006"),
    ),
    "a negative extent": iota("T-3", 3, 2),
    "an extent that is always negative": iota("-T-1", None, 2),
    "an argument with a negative extent": second("T-3", (4, 1), (2, 0)),
    "a name bound twice": second("T", (2, 2), (2, 3)),
    "a name bound twice by an expression": second("2*T", (2, 4), (2, 3)),
    "a name that two expressions bind": Case(
        *('%y: tensor<?x?xf32, "2*T,3*T">', '%r = ptir.tanh %y : tensor<?x?xf32, "2*T,3*T">', 'tensor<?x?xf32, "2*T,3*T">'),
        *(((2, 3),), ((2, 4),), "E8001"),
    ),
    "an expression that no name gives": Case(f"%y: {Y}", SECOND.format("2*T"), Y, ((4,),), ((5,),), "E8001"),
    "a declared bound that a call breaks": Case(f"%x: {X}", f"%r = ptir.tanh %x : {X}", X, ((3,),), ((4,),), "E8010", '"T <= 3"'),
    "a declared least size": Case(f"%x: {X}", f"%r = ptir.tanh %x : {X}", X, ((1,),), ((0,),), "E8010", '"T >= 1"'),
    "the greatest of nothing": Case(
        *(f"%x: {X}", f"%r = ptir.arg_max %x axis = 0 keepdims = false output_dtype = si32 : {X} -> tensor<si32>"),
        *("tensor<si32>", ((1,),), ((0,),), "E3006"),
    ),
    "the first of nothing": Case(
        *(f"%x: {X}", f"%r = ptir.slice %x starts = [0] sizes = [1] : {X} -> tensor<1xf32>", "tensor<1xf32>"),
        *(((1,),), ((0,),), "E4012"),
    ),
    "the top of nothing": Case(
        f"%x: {X}",
        f"%r, %i = ptir.top_k %x k = 1 axis = 0 largest = true indices_dtype = si32 : {X} -> (tensor<1xf32>, tensor<1xsi32>)",
        *("tensor<1xf32>", ((1,),), ((0,),), "E8002"),
    ),
    "a rest of no elements": Case(
        '%x: tensor<?x?xf32, "T,B">',
        '%r = ptir.reshape %x new_shape = [T, -1] : tensor<?x?xf32, "T,B"> -> tensor<?x?xf32, "T,B">',
        *('tensor<?x?xf32, "T,B">', ((1, 3),), ((0, 3),), "E3007"),
    ),
}
EMPTY: dict[str, tuple[str, Callable[[np.ndarray[Any, Any]], Any]]] = {
    "sum": ("reduce %x kind = sum axes = [0] keepdims = false", lambda x: x.sum()),
    "prod": ("reduce %x kind = prod axes = [0] keepdims = false", lambda x: x.prod()),
    "max": ("reduce %x kind = max axes = [0] keepdims = false", lambda x: x.max(initial=-np.inf)),
    "min": ("reduce %x kind = min axes = [0] keepdims = false", lambda x: x.min(initial=np.inf)),
}
"""What sums and extremes of no elements are: the contract's identities."""


def text(case: Case, before: str = "") -> str:
    facts = f" attributes {{mind.dims = [{case.facts}]}}" if case.facts else ""
    signature = f"func.func @f({case.arguments}) -> {case.result}{facts}"
    return f"{HEAD}{signature} {{\n{before}{case.body}\nfunc.return %r : {case.result}\n}}\n}}"


def zeros(shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    return [np.zeros(shape, np.float32) for shape in shapes]


def refused(code: str, run: Callable[[], Any]) -> None:
    with pytest.raises(MindError) as found:
        run()
    assert found.value.code == code


EAGER: dict[str, Callable[[Any], Any]] = {
    "numpy, eager": lambda module: compile(module, target="numpy", specialize={"eager": True}),
    "native, eager": lambda module: compile(module, target="native", specialize={"eager": True}),
}


@pytest.mark.parametrize("executor", [*RUNS, *EAGER])
@pytest.mark.parametrize("name", CASES)
def test_sizes_that_cannot_be_are_refused(name: str, executor: str) -> None:
    """Also after a call with other sizes, for which a program is compiled by then."""
    case, make = CASES[name], {**RUNS, **EAGER}[executor]
    if case.good is None:
        refused(case.code, lambda: make(parse(text(case)))(*zeros(case.bad)))
        return
    run = make(parse(text(case)))
    for _ in range(2):
        run(*zeros(case.good))
        refused(case.code, lambda: run(*zeros(case.bad)))


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", CASES)
def test_nothing_runs_before_sizes_are_refused(name: str, target: Any) -> None:
    """An op that comes first and counts its runs."""
    case, ran = CASES[name], []

    def counted(xp: Any, x: Any) -> Any:
        ran.append(x)
        return x

    register_custom_call("test.counted.v1", counted)
    try:
        argument, type = case.arguments.split(", %y")[0].split(": ", 1)
        call = f'{argument}_1 = ptir.custom_call {argument} target = "test.counted.v1" attrs = {{}} : {type} -> {type}\n'
        first = case._replace(body=case.body.replace(argument, f"{argument}_1"))
        module = parse(text(first, call))
        refused(case.code, lambda: compile(module, target=target)(*zeros(case.bad)))
        assert not ran
        if case.good is not None and argument in case.body:
            compile(module, target=target)(*zeros(case.good))
            assert len(ran) == 1
    finally:
        unregister_custom_call("test.counted.v1")


@pytest.mark.parametrize("executor", RUNS)
@pytest.mark.parametrize("name", EMPTY)
def test_zero_extents_have_the_identities_of_the_contract(name: str, executor: str) -> None:
    op, wanted = EMPTY[name]
    case = Case(f"%x: {X}", f"%r = ptir.{op} : {X} -> tensor<f32>", "tensor<f32>", None, (), "")
    for n in (0, 2):
        x = np.ones(n, np.float32)
        assert np.asarray(RUNS[executor](parse(text(case)))(x)) == wanted(x)
