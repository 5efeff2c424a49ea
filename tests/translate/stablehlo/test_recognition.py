"""Bodies and loops are recognised by what they do: where that fires, and the neighbours where it must not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_translate.stablehlo import parse_stablehlo
from mind_translate.stablehlo.counted import trip_count
from mind_translate.stablehlo.foreign import landed_spec
from mind_translate.stablehlo.scalars import arg_kind, sort_order
from mind_translate.stablehlo.sort_keys import argument_columns
from stablehlo_programs import EXECUTORS, Array, ops, program, read, run, same

RNG = np.random.default_rng(11)


def body_of(arguments: str, ops: str) -> Any:
    """The block of a function with these arguments and ops."""
    return parse_stablehlo(f"func.func @f({arguments}) {{ {ops} }}").body.block.first_op.regions[0].block  # pyright: ignore


JAX_ARGMAX = """
      %8 = stablehlo.compare GT, %v, %w, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.compare NE, %v, %v, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %10 = stablehlo.or %8, %9 : tensor<i1>
      %11 = stablehlo.compare EQ, %v, %w, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %12 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %13 = stablehlo.and %11, %12 : tensor<i1>
      %14 = stablehlo.or %10, %13 : tensor<i1>
      %15 = stablehlo.select %10, %v, %w : tensor<i1>, tensor<f32>
      %16 = stablehlo.select %14, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %15, %16 : tensor<f32>, tensor<i32>"""
SHORT_ARGMAX = """
      %p = stablehlo.compare GE, %v, %w : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %n = stablehlo.compare NE, %v, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %q = stablehlo.or %p, %n : tensor<i1>
      %a = stablehlo.select %q, %v, %w : tensor<i1>, tensor<f32>
      %b = stablehlo.select %q, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %a, %b : tensor<f32>, tensor<i32>"""
ARGUMENTS = "%v: tensor<f32>, %i: tensor<i32>, %w: tensor<f32>, %j: tensor<i32>"


@pytest.mark.parametrize(
    ("name", "ops", "kind"),
    [
        ("as JAX writes it", JAX_ARGMAX, "max"),
        ("least", JAX_ARGMAX.replace("GT", "LT"), "min"),
        ("shorter", SHORT_ARGMAX, "max"),
        ("without NaN winning", SHORT_ARGMAX.replace("%q =", "%u =").replace("%q", "%p").replace("%u = ", "%u = "), None),
        ("last of equals", SHORT_ARGMAX.replace("GE", "GT"), None),
        ("index of the other", SHORT_ARGMAX.replace("%q, %i, %j", "%q, %j, %i"), None),
        ("value of the other", JAX_ARGMAX.replace("%10, %v, %w", "%10, %w, %v"), None),
        ("greatest index of equals", JAX_ARGMAX.replace("LT, %i", "GT, %i"), None),
        ("arithmetic", "%s = stablehlo.add %v, %w : tensor<f32> stablehlo.return %s, %i : tensor<f32>, tensor<i32>", None),
    ],
)
def test_reductions_to_a_place(name: str, ops: str, kind: str | None) -> None:
    block = body_of(ARGUMENTS, ops)
    assert arg_kind(block, landed_spec(block.args[0].type).dtype) == kind


def reduced(ops: str, type: str = "f32", init: str = "0xFF800000") -> str:
    body = f"""%iota = stablehlo.iota dim = 1 : tensor<3x5xi32>
    %i = stablehlo.constant dense<{init}> : tensor<{type}>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.reduce(%x init: %i), (%iota init: %z) across dimensions = [1] :
      (tensor<3x5x{type}>, tensor<3x5xi32>, tensor<{type}>, tensor<i32>) -> (tensor<3x{type}>, tensor<3xi32>)
     reducer(%v: tensor<{type}>, %w: tensor<{type}>) (%i1: tensor<i32>, %j1: tensor<i32>) {{
      {ops.replace("f32", type).replace("%i,", "%i1,").replace("%j,", "%j1,").replace("%j ", "%j1 ").replace("%i ", "%i1 ")}
    }}"""
    return program(f"%x: tensor<3x5x{type}>", body, f"tensor<3x{type}>, tensor<3xi32>")


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("least", [False, True], ids=["max", "min"])
def test_argmax_runs(least: bool, executor: str) -> None:
    x = np.array([[1, 3, 3, -2, 0], [np.nan, 1, np.nan, 5, 2], [-np.inf] * 5], np.float32)
    text = reduced(JAX_ARGMAX.replace("GT", "LT") if least else JAX_ARGMAX, init="0x7F800000" if least else "0xFF800000")
    counts = ops(read(text))
    assert (counts["arg_min" if least else "arg_max"], counts["strided_slice"]) == (1, 0)
    values, places = run(text, x, executor=executor)
    find, value = (np.argmin, np.min) if least else (np.argmax, np.max)
    same(places, find(x, 1).astype(np.int32))
    same(values, value(x, 1))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_argmin_of_the_least_integer(executor: str) -> None:
    x = np.array([[0, -(2**31), 5, -(2**31), 1], [1, 2, 3, 4, 5], [-1, -2, 7, 8, -3]], np.int32)
    found = run(
        reduced(JAX_ARGMAX.replace("GT", "LT").replace("NE, %v, %v, FLOAT", "NE, %v, %v, SIGNED"), "i32", "2147483647"),
        x,
        executor=executor,
    )
    same(found[1], np.argmin(x, 1).astype(np.int32))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_other_bodies_of_two_values_fold_by_halves(executor: str) -> None:
    x = RNG.normal(size=(3, 5)).astype(np.float32)
    text = reduced(SHORT_ARGMAX.replace("GE", "GT"))
    assert ops(read(text))["arg_max"] == 0
    values, places = run(text, x, executor=executor)
    same(values, x.max(1))
    same(places, x.argmax(1).astype(np.int32))


# Sorts

LESS = """%r = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>"""
NEGATED = LESS.replace("%r\n", "").replace("%r : tensor<i1>", "%q : tensor<i1>")
NEGATED = NEGATED.replace("stablehlo.return", "%q = stablehlo.not %r : tensor<i1> stablehlo.return")
JAX_LESS = """
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %n = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %1 = stablehlo.compare EQ, %a, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %z, %a : tensor<i1>, tensor<f32>
    %3 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.select %3, %n, %2 : tensor<i1>, tensor<f32>
    %5 = stablehlo.compare EQ, %b, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %6 = stablehlo.select %5, %z, %b : tensor<i1>, tensor<f32>
    %7 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %8 = stablehlo.select %7, %n, %6 : tensor<i1>, tensor<f32>
    %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %9 : tensor<i1>"""
TWO = "%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>"
BY_BOTH = """
    %1 = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = stablehlo.compare EQ, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.and %2, %3 : tensor<i1>
    %5 = stablehlo.or %1, %4 : tensor<i1>
    stablehlo.return %5 : tensor<i1>"""


@pytest.mark.parametrize(
    ("name", "arguments", "ops", "order"),
    [
        ("less", TWO, LESS, [(0, False)]),
        ("greater", TWO, LESS.replace("LT", "GT"), [(0, True)]),
        ("operands exchanged", TWO, LESS.replace("%a, %b", "%b, %a"), [(0, True)]),
        ("the second key", TWO, LESS.replace("%a, %b, FLOAT", "%c, %d, SIGNED").replace("f32", "i32"), [(1, False)]),
        ("as JAX writes it", TWO, JAX_LESS, [(0, False)]),
        ("less or equal, which is no order", TWO, LESS.replace("LT", "LE"), None),
        ("total order of zeros and NaN", TWO, LESS.replace("FLOAT", "TOTALORDER"), None),
        ("compared with a constant", TWO, JAX_LESS.replace("LT, %4, %8", "LT, %4, %z"), None),
        (
            "negated",
            TWO,
            LESS.replace("%r : ", "%q : ").replace("stablehlo.return", "%q = stablehlo.not %r : tensor<i1> stablehlo.return"),
            None,
        ),
        (
            "arithmetic",
            TWO,
            LESS.replace("%r = ", "%s = stablehlo.add %a, %b : tensor<f32> %r = ").replace("LT, %a", "LT, %s"),
            None,
        ),
        ("one key twice", TWO, LESS.replace("%a, %b", "%a, %a"), None),
        ("keys of different operands", TWO.replace("i32", "f32"), LESS.replace("%a, %b", "%a, %d"), None),
    ],
)
def test_comparators(name: str, arguments: str, ops: str, order: list[tuple[int, bool]] | None) -> None:
    block = body_of(arguments, ops)
    found = sort_order(block, argument_columns(block), [landed_spec(v.type).dtype for v in block.args[::2]])
    assert found == (None if order is None else [(operand, "", descending) for operand, descending in order])


def sorted_by(comparator: str) -> str:
    body = f"""%r:2 = "stablehlo.sort"(%x, %y) ({{ ^bb0({TWO}): {comparator} }}) {{dimension = 1 : i64, is_stable = true}} :
      (tensor<3x6xf32>, tensor<3x6xi32>) -> (tensor<3x6xf32>, tensor<3x6xi32>)"""
    return program("%x: tensor<3x6xf32>, %y: tensor<3x6xi32>", body, "tensor<3x6xf32>, tensor<3x6xi32>")


def by_key(ops: str, kind: str = "LT") -> str:
    """A comparator of what `ops` compute of X as %key_X, for the sides `%a, %c` and `%b, %d`."""
    sides = [
        ops.replace("X", side).replace("%f", f"%{f}").replace("%i", f"%{i}") for side, f, i in (("l", "a", "c"), ("r", "b", "d"))
    ]
    type = ops.rpartition(" ")[2]
    compare = f"%r = stablehlo.compare {kind}, %key_l, %key_r : ({type}, {type}) -> tensor<i1>"
    return f"{sides[0]} {sides[1]} {compare} stablehlo.return %r : tensor<i1>"


BY_KEYS: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "absolute value": (by_key("%key_X = stablehlo.abs %f : tensor<f32>"), lambda x, _: np.abs(x)),
    "negation, down": (by_key("%key_X = stablehlo.negate %f : tensor<f32>", "GT"), lambda x, _: x),
    "remainder": (
        by_key(
            "%k_X = stablehlo.constant dense<4> : tensor<i32> %key_X = stablehlo.and %i, %k_X : tensor<i32>",
        ),
        lambda _, y: y & 4,
    ),
    "sum of both": (
        by_key("%k_X = stablehlo.convert %i : (tensor<i32>) -> tensor<f32> %key_X = stablehlo.add %k_X, %f : tensor<f32>"),
        lambda x, y: x + y.astype(np.float32),
    ),
}


@pytest.mark.parametrize("name", BY_KEYS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_sort_by_what_the_comparator_computes(name: str, executor: str) -> None:
    comparator, key = BY_KEYS[name]
    x, y = RNG.normal(size=(3, 6)).astype(np.float32), RNG.integers(0, 9, (3, 6)).astype(np.int32)
    found = run(sorted_by(comparator), x, y, executor=executor)
    order = np.argsort(key(x, y), axis=1, kind="stable")
    same(found[0], np.take_along_axis(x, order, 1))
    same(found[1], np.take_along_axis(y, order, 1))


def test_a_comparator_that_holds_of_equal_elements_keeps_their_order() -> None:
    x, y = RNG.integers(0, 3, (3, 6)).astype(np.float32), RNG.integers(0, 99, (3, 6)).astype(np.int32)
    body = "%r = stablehlo.compare {}, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return %r : tensor<i1>"
    for given, wanted in zip(run(sorted_by(body.format("GE")), x, y), run(sorted_by(body.format("GT")), x, y), strict=True):
        same(given, wanted)


@pytest.mark.parametrize(
    "comparator",
    [
        by_key("%key_X = stablehlo.abs %f : tensor<f32>").replace("%key_r :", "%b :"),
        by_key("%key_X = stablehlo.abs %f : tensor<f32>").replace("stablehlo.abs %b", "stablehlo.negate %b"),
        by_key("%key_X = stablehlo.abs %f : tensor<f32>", "NE"),
    ],
    ids=["one side", "another function", "no order"],
)
def test_sides_that_are_not_computed_alike_are_no_order(comparator: str) -> None:
    with pytest.raises(MindError, match="a comparator that does not order"):
        read(sorted_by(comparator))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_sort_by_two_keys(executor: str) -> None:
    x, y = RNG.normal(size=(3, 6)).astype(np.float32), RNG.integers(0, 3, (3, 6)).astype(np.int32)
    found = run(sorted_by(BY_BOTH), x, y, executor=executor)
    order = np.stack([np.lexsort((-a, b)) for a, b in zip(x, y, strict=True)])
    same(found[0], np.take_along_axis(x, order, 1))
    same(found[1], np.take_along_axis(y, order, 1))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_sort_is_stable_and_puts_nan_last(executor: str) -> None:
    x = np.array([[1, np.nan, -0.0, 0.0, np.inf, 1], [0, 0, 0, 0, 0, 0], [3, 2, np.nan, np.nan, 1, -np.inf]], np.float32)
    y = np.arange(18, dtype=np.int32).reshape(3, 6)
    found = run(sorted_by(JAX_LESS), x, y, executor=executor)
    order = np.argsort(x, 1, kind="stable")
    same(found[0], np.take_along_axis(x, order, 1))
    same(found[1], np.take_along_axis(y, order, 1))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_sort_by_the_total_order(executor: str) -> None:
    x = np.array(
        [[1, np.nan, 0.0, -0.0, -np.inf, -np.nan], [0, -0.0, 0, -0.0, 0, -1], [3, 2, np.nan, -np.nan, 1, np.inf]], np.float32
    )
    y = np.arange(18, dtype=np.int32).reshape(3, 6)
    found = run(sorted_by(LESS.replace("FLOAT", "TOTALORDER")), x, y, executor=executor)
    bits = x.view(np.int32)
    order = np.argsort(np.where(bits < 0, bits ^ np.int32(2**31 - 1), bits), 1, kind="stable")
    same(found[0].view(np.int32), np.take_along_axis(bits, order, 1))
    same(found[1], np.take_along_axis(y, order, 1))


BY_PARTS = """
    %1 = stablehlo.real %a : (tensor<complex<f32>>) -> tensor<f32>
    %2 = stablehlo.real %b : (tensor<complex<f32>>) -> tensor<f32>
    %3 = stablehlo.imag %a : (tensor<complex<f32>>) -> tensor<f32>
    %4 = stablehlo.imag %b : (tensor<complex<f32>>) -> tensor<f32>
    %5 = stablehlo.compare LT, %1, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %6 = stablehlo.compare EQ, %1, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %7 = stablehlo.compare LT, %3, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %8 = stablehlo.and %6, %7 : tensor<i1>
    %9 = stablehlo.or %5, %8 : tensor<i1>
    stablehlo.return %9 : tensor<i1>"""


@pytest.mark.parametrize("executor", EXECUTORS)
def test_complex_numbers_are_sorted_by_their_parts(executor: str) -> None:
    x = (RNG.integers(0, 3, 12) + 1j * RNG.normal(size=12)).astype(np.complex64)
    body = f"""%r = "stablehlo.sort"(%x) ({{ ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>): {BY_PARTS} }})
      {{dimension = 0 : i64}} : (tensor<12xcomplex<f32>>) -> tensor<12xcomplex<f32>>"""
    same(run(program("%x: tensor<12xcomplex<f32>>", body, "tensor<12xcomplex<f32>>"), x, executor=executor), np.sort(x))


# Loops

LOOP = """
    %zero = stablehlo.constant dense<{start}> : tensor<i32>
    %w:4 = stablehlo.while(%i = %zero, %c = %c0, %xs = %x, %ys = %y) : tensor<i32>, tensor<f32>, tensor<6xf32>, tensor<6xf32>
    cond {{
      %n = stablehlo.constant dense<{limit}> : tensor<i32>
      %p = stablehlo.compare {direction}, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }} do {{
      {index}
      %s = stablehlo.dynamic_slice {read}, %k, sizes = [1] : (tensor<6xf32>, tensor<i32>) -> tensor<1xf32>
      %v = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
      %d = stablehlo.multiply %c, %v : tensor<f32>
      %e = stablehlo.reshape %d : (tensor<f32>) -> tensor<1xf32>
      %u = stablehlo.dynamic_update_slice %ys, %e, %k : (tensor<6xf32>, tensor<1xf32>, tensor<i32>) -> tensor<6xf32>
      %one = stablehlo.constant dense<{step}> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %d, %xs, %u : tensor<i32>, tensor<f32>, tensor<6xf32>, tensor<6xf32>
    }}
    %r:3 = stablehlo.optimization_barrier %w#0, %w#1, %w#3 : tensor<i32>, tensor<f32>, tensor<6xf32>"""
PLAIN = "%o = stablehlo.constant dense<0> : tensor<i32> %k = stablehlo.add %i, %o : tensor<i32>"
BACK = "%o = stablehlo.constant dense<5> : tensor<i32> %k = stablehlo.subtract %o, %i : tensor<i32>"


def loop(**changes: Any) -> str:
    values = {
        "start": 0,
        "limit": 6,
        "direction": "LT",
        "step": 1,
        "index": PLAIN,
        "read": "%xs",
        "written": "%ys",
        "carry": "%d",
        "last": "%u",
    }
    body = LOOP.format(**{**values, **changes})
    return program("%x: tensor<6xf32>, %y: tensor<6xf32>, %c0: tensor<f32>", body, "tensor<i32>, tensor<f32>, tensor<6xf32>")


def expected(x: Any, y: Any, c: Any, iterations: list[int], end: int) -> tuple[Any, Any, Any]:
    y = y.copy()
    for k in iterations:
        c = np.float32(c * x[k])
        y[k] = c
    return np.int32(end), c, y


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    ("changes", "rows", "end", "outputs"),
    [
        ({}, [0, 1, 2, 3, 4, 5], 6, 1),
        ({"index": BACK}, [5, 4, 3, 2, 1, 0], 6, 1),
        ({"start": 2, "limit": 5}, [2, 3, 4], 5, 1),
        ({"direction": "LE", "limit": 4}, [0, 1, 2, 3, 4], 5, 1),
        ({"direction": "NE"}, [0, 1, 2, 3, 4, 5], 6, 1),
        ({"start": 5, "step": -1, "direction": "GE", "limit": 0}, [5, 4, 3, 2, 1, 0], -1, 1),
        ({"step": 2}, [0, 2, 4], 6, 0),
        ({"start": 6}, [], 6, None),
        ({"read": "%ys"}, None, 6, 0),
        ({"limit": 9}, None, 9, 0),
    ],
    ids=[
        "whole",
        "backwards",
        "part",
        "up to",
        "not equal",
        "down",
        "step 2",
        "never",
        "reads what it writes",
        "leaves the array",
    ],
)
def test_counted_loops_are_scans(
    changes: dict[str, Any], rows: list[int] | None, end: int, outputs: int | None, executor: str
) -> None:
    x, y = RNG.uniform(0.5, 2, 6).astype(np.float32), RNG.uniform(0.5, 2, 6).astype(np.float32)
    c = np.float32(1.5)
    text = loop(**changes)
    made = read(text)
    assert ops(made)["while"] == 0
    scans = [op for op in made.walk() if op.name == "ptir.scan"]
    assert len(scans) == (0 if outputs is None else 1)
    if outputs is not None:
        assert scans[0].values()["scan_output_count"] == outputs  # pyright: ignore
    found = run(text, x, y, c, executor=executor)
    if rows is None:  # what clamped windows give, one iteration at a time
        z, c = y.copy(), np.float32(1.5)
        for i in range(end):
            k = min(i, 5)
            c = np.float32(c * (z[k] if changes.get("read") == "%ys" else x[k]))
            z[k] = c
        wanted: Any = (np.int32(end), c, z)
    else:
        wanted = expected(x, y, c, rows, end)
    for given, value in zip(found, wanted, strict=True):
        same(given, value, 1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"step": 0},
        {"direction": "GT", "limit": -1},
        {"direction": "NE", "step": 4, "limit": 6},
        {"direction": "EQ", "limit": 0},
    ],
    ids=["never ends", "runs over", "misses the limit", "another comparison"],
)
def test_other_loops_stay_while(changes: dict[str, Any]) -> None:
    counts = ops(read(loop(**changes)))
    assert (counts["while"], counts["scan"]) == (1, 0)


def test_a_limit_that_is_data_stays_while() -> None:
    text = loop().replace(
        "%n = stablehlo.constant dense<6> : tensor<i32>", "%n = stablehlo.convert %c0 : (tensor<f32>) -> tensor<i32>"
    )
    assert ops(read(text))["while"] == 1


def test_trip_counts_are_those_of_a_loop() -> None:
    holds = {
        "less": int.__lt__,
        "less_equal": int.__le__,
        "greater": int.__gt__,
        "greater_equal": int.__ge__,
        "not_equal": int.__ne__,
    }
    for kind, compare in holds.items():
        for start in range(-3, 4):
            for limit in range(-3, 4):
                for step in range(-3, 4):
                    i, count = start, 0
                    while compare(i, limit) and count < 50:
                        i, count = i + step, count + 1
                    assert trip_count(start, step, limit, kind) == (count if count < 50 else None), (start, step, limit, kind)
