"""
The lattice against what it stands for: every concretisation of small values, computed by NumPy; hypothesis beyond.

`alpha` is the best description of a set of outcomes, written from the order alone; a function is sound and most precise if it
equals `alpha` of the outcomes of all concretisations of its operands.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache, reduce
from math import prod
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mind_dialect.extents.dims import size_in
from mind_dialect.shape import lattice
from mind_dialect.shape.combine import broadcast, concat, is_broadcastable, split_at
from mind_dialect.shape.lattice import (
    MAX_EXTENT,
    MAX_RANK,
    UNRANKED,
    Invalid,
    any_of,
    eq,
    generalize,
    get_extent,
    join,
    num_elements,
)

BAD = Invalid("given")
EXTENTS = (0, 1, 2, "?", "B")
SIZES = (*EXTENTS, "C", BAD)
EXPRESSIONS = ("B+1", "2*B", "B*C", "B+C", "B floordiv 2", "max(B,C)", "min(2,B)")
RANKED = [s for n in range(3) for s in itertools.product(EXTENTS, repeat=n)]
SHAPES = [*RANKED, UNRANKED, BAD]
PLAIN = [s for s in SHAPES if s is UNRANKED or s is BAD or "B" not in s]
UNIVERSE = (0, 1, 2, 3)
ENVIRONMENTS = [{"B": b, "C": c} for b in UNIVERSE for c in UNIVERSE]
ANY_SHAPE = [*(s for n in range(3) for s in itertools.product(UNIVERSE, repeat=n)), (1, 1, 1), (2, 2, 2)]
"""Stands for all shapes: one rank more than those of `SHAPES`."""


def sizes_of(size: Any, env: dict[str, int]) -> list[int]:
    if isinstance(size, Invalid):
        return []
    return list(UNIVERSE) if size == "?" else [cast(int, size_in(size, env))]


@cache
def _shapes_of(shape: Any, b: int, c: int) -> list[tuple[int, ...]]:
    if isinstance(shape, Invalid):
        return []
    return ANY_SHAPE if shape is UNRANKED else list(itertools.product(*(sizes_of(n, {"B": b, "C": c}) for n in shape)))


def shapes_of(shape: Any, env: dict[str, int]) -> list[tuple[int, ...]]:
    return _shapes_of(shape, env["B"], env["C"])


def environments(*values: Any) -> list[dict[str, int]]:
    """All sizes of the names that occur."""
    text = repr(values)
    return [e for e in ENVIRONMENTS if ("B" in text or e["B"] == 0) and ("C" in text or e["C"] == 0)]


def outcomes(function: Callable[..., Any], *values: Any) -> Iterator[tuple[dict[str, int], Any]]:
    """What `function` returns for each concretisation; those for which it raises are left out."""
    for env in environments(*values):
        options = [sizes_of(v, env) if isinstance(v, int | str) else shapes_of(v, env) for v in values]
        for chosen in itertools.product(*options):
            try:
                yield env, function(*chosen)
            except (ValueError, IndexError, ZeroDivisionError):
                pass


def alpha_size(found: list[tuple[dict[str, int], int]], names: str) -> Any:
    if not found:
        return BAD
    if all(n == found[0][1] for _, n in found):
        return found[0][1]
    return next((name for name in names if all(n == env[name] for env, n in found)), "?")


def alpha(found: list[tuple[dict[str, int], tuple[int, ...]]], names: str) -> Any:
    if not found:
        return BAD
    if len({len(s) for _, s in found}) > 1:
        return UNRANKED
    return tuple(alpha_size([(env, s[i]) for env, s in found], names) for i in range(len(found[0][1])))


def names_in(*values: Any) -> str:
    return "".join(name for name in "BC" if f"'{name}'" in repr(values))


def contains(value: Any, env: dict[str, int], concrete: Any) -> bool:
    """Whether `concrete` is one of what `value` stands for."""
    if isinstance(value, Invalid):
        return False
    if isinstance(concrete, int):
        return value == "?" or size_in(value, env) == concrete
    if value is UNRANKED:
        return True
    return len(value) == len(concrete) and all(contains(m, env, n) for m, n in zip(value, concrete, strict=True))


def check_sound(function: Callable[..., Any], oracle: Callable[..., Any], *values: Any) -> None:
    found = function(*values)
    for env, concrete in outcomes(oracle, *values):
        assert contains(found, env, concrete), (values, found, env, concrete)


# What is meant, on concrete shapes


@cache
def numpy_broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def raising(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    if (found := numpy_broadcast(*shapes)) is None:
        raise ValueError
    return found


def same(a: Any, b: Any) -> Any:
    if a != b:
        raise ValueError
    return a


def of_equal_rank(function: Callable[[int, int], int]) -> Callable[..., tuple[int, ...]]:
    return lambda a, b: tuple(function(m, n) for m, n in zip(a, b, strict=True))


def part(i: int) -> Callable[[tuple[int, ...], int], tuple[int, ...]]:
    def split(shape: tuple[int, ...], index: int) -> tuple[int, ...]:
        if not -len(shape) <= index <= len(shape):
            raise IndexError
        place = index if index >= 0 else len(shape) + index
        return (shape[:place], shape[place:])[i]

    return split


# Laws


@pytest.mark.parametrize("operation", [join, generalize, lambda a, b: broadcast(a, b)], ids=["join", "generalize", "broadcast"])
def test_commutative_and_idempotent(operation: Callable[..., Any]) -> None:
    for a, b in itertools.product(SHAPES, repeat=2):
        assert operation(a, b) == operation(b, a)
    for a in SHAPES:
        assert operation(a, a) == (a if operation is not broadcast or "?" not in a else operation(a, a))


@pytest.mark.parametrize("operation", [join, generalize])
def test_associative(operation: Callable[..., Any]) -> None:
    pairs = {(a, b): operation(a, b) for a, b in itertools.product(SHAPES, repeat=2)}
    for a, b, c in itertools.product(SHAPES, repeat=3):
        assert operation(pairs[a, b], c) == operation(a, pairs[b, c])
    for a, b, c in itertools.product(SIZES, repeat=3):
        of_sizes = lattice.join_size if operation is join else lattice.generalize_size
        assert of_sizes(of_sizes(a, b), c) == of_sizes(a, of_sizes(b, c))
        assert of_sizes(a, b) == of_sizes(b, a)


def test_broadcast_is_associative_among_ranked_shapes_but_two_at_a_time_can_hide_a_contradiction() -> None:
    shapes = [*RANKED, BAD]
    pairs = {(a, b): broadcast(a, b) for a, b in itertools.product(shapes, repeat=2)}
    for a, b, c in itertools.product(shapes, repeat=3):
        if "B" in repr((a, b, c)):
            continue  # B beside B is B, beside ? it is ?
        assert broadcast(pairs[a, b], c) == broadcast(a, pairs[b, c]) == broadcast(a, b, c)
    assert broadcast(broadcast((2,), UNRANKED), (3,)) == UNRANKED
    assert isinstance(broadcast((2,), UNRANKED, (3,)), Invalid)


def test_identities_and_what_absorbs() -> None:
    for a in SHAPES:
        assert join(a, UNRANKED) == a == broadcast(a, ())
        assert generalize(a, BAD) == a
        assert join(a, BAD) == BAD == broadcast(a, BAD)
        assert generalize(a, UNRANKED) == UNRANKED


def test_join_and_generalize_absorb_each_other() -> None:
    for a, b in itertools.product(PLAIN, repeat=2):
        assert join(a, generalize(a, b)) == a == generalize(a, join(a, b))


# Sound and most precise


def test_join_is_the_intersection() -> None:
    for a, b in itertools.product(SHAPES, repeat=2):
        check_sound(join, same, a, b)
        if "B" not in repr((a, b)):
            assert join(a, b) == alpha(list(outcomes(same, a, b)), ""), (a, b)
    for a, b in itertools.product(SIZES, repeat=2):
        assert lattice.join_size(a, b) == alpha_size(list(outcomes(same, a, b)), names_in(a, b)), (a, b)


def test_generalize_is_the_best_description_of_the_union() -> None:
    for a, b in itertools.product(SHAPES, repeat=2):
        either = [(env, s) for env in environments(a, b) for v in (a, b) for s in shapes_of(v, env)]
        assert generalize(a, b) == alpha(either, names_in(a, b)), (a, b)


def test_broadcast_of_two_shapes() -> None:
    for a, b in itertools.product(SHAPES, repeat=2):
        assert broadcast(a, b) == alpha(list(outcomes(raising, a, b)), names_in(a, b)), (a, b)


def test_broadcast_of_three_shapes() -> None:
    columns = [(), *((n,) for n in (*EXTENTS, "C")), UNRANKED]
    for shapes in itertools.product(columns, repeat=3):
        expected = alpha(list(outcomes(raising, *shapes)), names_in(*shapes))
        for order in itertools.permutations(shapes):
            assert broadcast(*order) == expected, order


def test_is_broadcastable_and_eq_answer_when_and_only_when_it_is_certain() -> None:
    for a, b in itertools.product(SHAPES, repeat=2):
        if BAD in (a, b):
            continue
        for function, oracle in ((is_broadcastable, lambda x, y: numpy_broadcast(x, y) is not None), (eq, lambda x, y: x == y)):
            answers = {answer for _, answer in outcomes(oracle, a, b)}
            expected = answers.pop() if len(answers) == 1 else None
            assert function(a, b) in (None, expected), (function.__name__, a, b)
            if "B" not in repr((a, b)):
                assert function(a, b) == expected, (function.__name__, a, b)


def test_of_invalid_shapes() -> None:
    assert eq(BAD, Invalid("other")) is True
    assert eq(BAD, (2,)) is False
    assert eq(UNRANKED) is True
    assert eq() is True
    assert is_broadcastable(BAD, (2,)) is False
    assert is_broadcastable(UNRANKED) is True
    assert is_broadcastable(UNRANKED, UNRANKED) is None


@pytest.mark.parametrize(
    ("function", "oracle"),
    [
        (concat, lambda a, b: a + b),
        (lattice.max_shape, of_equal_rank(max)),
        (lattice.min_shape, of_equal_rank(min)),
        (any_of, same),
        (lambda s, i: split_at(s, i)[0], part(0)),
        (lambda s, i: split_at(s, i)[1], part(1)),
        (get_extent, lambda s, i: s[i]),
        (lambda s, _: num_elements(s), lambda s, _: prod(s)),
        (lambda s, _: lattice.rank(s), lambda s, _: len(s)),
    ],
    ids=["concat", "max", "min", "any", "head", "tail", "get_extent", "num_elements", "rank"],
)
def test_functions_of_shapes_are_sound(function: Callable[..., Any], oracle: Callable[..., Any]) -> None:
    indexed = oracle.__code__.co_varnames[1] in ("i", "index", "_")
    for a, b in itertools.product(SHAPES, (0, 1, 2, 3, -1, -2, "?", "B", BAD) if indexed else SHAPES):
        if isinstance(b, int) and b < 0 and function is get_extent:
            assert isinstance(function(a, b), Invalid)
        else:
            check_sound(function, oracle, a, b)


def test_concat_split_and_get_extent_lose_nothing() -> None:
    for a, b in itertools.product(PLAIN, repeat=2):
        assert concat(a, b) == (alpha(list(outcomes(lambda x, y: x + y, a, b)), "") if BAD not in (a, b) else BAD)
    for a, i in itertools.product([s for s in PLAIN if s is not UNRANKED], (-3, -2, -1, 0, 1, 2, 3)):
        assert split_at(a, i) == tuple(alpha(list(outcomes(part(k), a, i)), "") for k in (0, 1)), (a, i)
        if i >= 0:
            assert get_extent(a, i) == alpha_size(list(outcomes(lambda s, i: s[i], a, i)), ""), (a, i)


@pytest.mark.parametrize(
    ("function", "oracle"),
    [
        (lattice.add, lambda a, b: a + b),
        (lattice.mul, lambda a, b: a * b),
        (lattice.div, lambda a, b: a // b),
        (lattice.max_size, max),
        (lattice.min_size, min),
        (lattice.generalize_size, lambda a, b: a),
        (lattice.generalize_size, lambda a, b: b),
    ],
)
def test_functions_of_sizes_are_sound(function: Callable[..., Any], oracle: Callable[..., Any]) -> None:
    for a, b in itertools.product((*SIZES, *EXPRESSIONS), repeat=2):
        if function is not lattice.generalize_size or BAD not in (a, b):
            check_sound(function, oracle, a, b)
            if isinstance(a, int) and isinstance(b, int) and not (b == 0 and function is lattice.div):
                assert function is lattice.generalize_size or function(a, b) == oracle(a, b)


def test_expressions_join_to_what_both_are() -> None:
    for a, b in itertools.product((*SIZES, *EXPRESSIONS), repeat=2):
        found = lattice.join_size(a, b)
        assert found == lattice.join_size(b, a)
        if isinstance(found, Invalid):
            assert not list(outcomes(same, a, b)), (a, b)
        else:
            check_sound(lattice.join_size, same, a, b)
            assert found in (a, b)
    for a, b, c in itertools.product((*SIZES, *EXPRESSIONS), repeat=3):
        one, other = lattice.join_size(lattice.join_size(a, b), c), lattice.join_size(a, lattice.join_size(b, c))
        assert one == other or isinstance(one, Invalid) or isinstance(other, Invalid), (a, b, c)


def test_arithmetic_of_names_is_exact() -> None:
    assert lattice.mul("B", "C") == lattice.mul("C", "B") == "B*C"
    assert lattice.div(lattice.mul("B", 2), 2) == "B"
    assert lattice.div("B", "C") == "?"  # C may be 0
    assert num_elements(("B", 2, "C")) == num_elements((2, "C", "B")) == "2*B*C"
    assert eq(("B", 2), (2, "B")) is None
    assert eq(("B+1",), ("B",)) is False
    assert isinstance(join(("B", "B+1"), ("B", "B")), Invalid)


def test_unknown_sums_and_products_are_unknown_as_the_specification_says() -> None:
    for n in (0, 2, "?"):
        assert lattice.mul("?", n) == lattice.add("?", n or "?") == "?"
    assert num_elements((0, "?")) == "?"


# Reasons


@pytest.mark.parametrize("shapes", [((2,), (3,)), ((2, 3), (4, 5)), ((2, 1), (3, 4)), ((0,), (2,))])
def test_broadcast_fails_in_the_words_of_numpy(shapes: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ValueError, match="broadcast") as caught:
        np.add(*(np.zeros(s) for s in shapes))
    found = broadcast(*shapes)
    assert isinstance(found, Invalid)
    assert found.reason == str(caught.value).strip()


def test_get_extent_fails_in_the_words_of_numpy() -> None:
    with pytest.raises(np.exceptions.AxisError) as caught:
        np.zeros((2, 3)).sum(axis=2)
    found = get_extent((2, 3), 2)
    assert isinstance(found, Invalid)
    assert found.reason == str(caught.value)


def test_the_leftmost_reason_wins() -> None:
    one, two = Invalid("one"), Invalid("two")
    results = [
        *(f(one, two) for f in (join, generalize, broadcast, concat, any_of, lattice.add, lattice.max_shape, get_extent)),
        *(f((2,), one, two) for f in (broadcast, any_of)),
        *split_at(one, two),
        join((2,), (3,), "one"),
        broadcast((2,), (3,), error="one"),
        num_elements(one),
        lattice.rank(one),
        lattice.ranked([3, one, two]),
    ]
    assert [r.reason for r in results if isinstance(r, Invalid)] == ["one"] * len(results)


def test_what_has_no_bound_is_invalid() -> None:
    big = 1 << 62
    reasons = [
        lattice.add(MAX_EXTENT, 1),
        lattice.mul(big, 2),
        num_elements((big, 2)),
        num_elements((MAX_EXTENT,) * MAX_RANK),
        concat((1,) * MAX_RANK, (1,)),
        lattice.ranked([1] * (MAX_RANK + 1)),
        split_at(UNRANKED, MAX_RANK + 1)[0],
    ]
    for found in reasons:
        assert isinstance(found, Invalid)
        assert len(found.reason) < 300
    assert lattice.add(MAX_EXTENT, 0) == lattice.mul(MAX_EXTENT, 1) == num_elements((MAX_EXTENT, 1)) == MAX_EXTENT
    assert concat((1,) * (MAX_RANK - 1), (1,)) == (1,) * MAX_RANK


# Beyond small shapes

concrete_shapes = st.lists(st.sampled_from([0, 1, 1, 2, 3, 7]), max_size=5).map(tuple)


@st.composite
def described(draw: st.DrawFn) -> tuple[list[Any], list[tuple[int, ...]]]:
    """Shapes, and what is known of them."""
    concrete = draw(st.lists(concrete_shapes, min_size=1, max_size=4))
    if draw(st.booleans()):  # make success likely
        target = draw(concrete_shapes)
        concrete = [tuple(draw(st.sampled_from([1, n])) for n in target[draw(st.integers(0, len(target))) :]) for _ in concrete]
    names = {7: "S", 3: "T", 1: "U"}
    forms = [
        lambda s: s,
        lambda s: tuple(draw(st.sampled_from([n, "?", names.get(n, n)])) for n in s),
        lambda _: UNRANKED,
    ]
    return [draw(st.sampled_from(forms))(s) for s in concrete], concrete


@settings(max_examples=400)
@given(described())
def test_broadcast_beyond_small_shapes(case: tuple[list[Any], list[tuple[int, ...]]]) -> None:
    known, concrete = case
    env = {"S": 7, "T": 3, "U": 1}
    found, actual = broadcast(*known), numpy_broadcast(*concrete)
    assert broadcast(*reversed(known)) == found
    if actual is not None:
        assert contains(found, env, actual)
        assert contains(broadcast(*concrete), env, actual)
    else:
        assert isinstance(broadcast(*concrete), Invalid)
    assert is_broadcastable(*known) in (None, actual is not None)


@settings(max_examples=400)
@given(described())
def test_joins_of_descriptions_of_one_shape_describe_it(case: tuple[list[Any], list[tuple[int, ...]]]) -> None:
    known, concrete = case
    env = {"S": 7, "T": 3, "U": 1}
    assert contains(reduce(generalize, known), env, concrete[-1])
    for k, c in zip(known, concrete, strict=True):
        assert contains(join(k, tuple("?" * len(c))), env, c)
        assert contains(num_elements(k), env, prod(c))
        assert contains(any_of(k, c), env, c)
        assert eq(k, c) in (None, True)
