# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
"""Arguments of wrong types and unusable values: every function ends in a result or a coded error, and in no other exception."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mind_array as ma
from array_arguments import M, X, example
from mind_array.arguments import checked
from mind_array.table import TABLE, Row
from mind_dialect.errors import MindError

UNUSABLE: dict[str, Any] = {
    "a string": "ab",
    "None": None,
    "an object": object(),
    "a dict": {"a": 1},
    "a set": {1},
    "bytes": b"x",
    "NaN": float("nan"),
    "a fraction": 1.5,
    "a huge integer": 10**30,
    "a large integer": 2**62,
    "a negative integer": -(10**6),
    "zero": 0,
    "an imaginary number": 1j,
    "True": True,
    "nothing": (),
    "an uneven list": [1, [2]],
    "a list of another depth": [[1, 2], [3]],
    "a list of None": [None],
    "a tuple with a word": (1, "a"),
    "a function": lambda *args: None,
    "a type": int,
    "a slice": slice(0, 2),
    "an ellipsis": ...,
    "a date": np.datetime64("2020-01-01"),
    "text in NumPy": np.array("s"),
    "objects in NumPy": np.array([None], object),
    "a record": np.zeros(2, [("a", "f4")]),
    "floats": np.array([0.5, 1.5]),
    "an array": ma.asarray([1.0, 2.0]),
    "no elements": ma.zeros((0,)),
    "complex numbers": ma.asarray([1j]),
}


def eager(row: Row, positional: list[Any], named: dict[str, Any]) -> None:
    row.function(*(ma.asarray(x) if is_numeric(x) else x for x in positional), **named)


def traced(row: Row, positional: list[Any], named: dict[str, Any]) -> None:
    """Record a function, its arrays being traced."""
    places = [i for i, x in enumerate(positional) if is_numeric(x)]

    def f(*xs: Any) -> Any:
        arguments = list(positional)
        for i, x in zip(places, xs, strict=True):
            arguments[i] = x
        row.function(*arguments, **named)
        return 0.0

    ma.trace(f, *(ma.spec(positional[i].shape, positional[i].dtype) for i in places))


def is_numeric(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "biuf"


def hostile(row: Row) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """Yield calls with one argument replaced, and what they are."""
    positional, named, names = example(row)
    for what, value in UNUSABLE.items():
        for i, name in enumerate(names):
            yield f"{name} is {what}", [*positional[:i], value, *positional[i + 1 :]], named
        for name in named:
            yield f"{name} is {what}", positional, {**named, name: value}


def foreign(calls: Iterator[tuple[str, Callable[[], Any]]]) -> list[str]:
    """Return the calls that raise anything but a coded error."""
    found: list[str] = []
    for what, call in calls:
        try:
            call()
        except MindError:
            continue
        except Exception as e:
            found.append(f"{what}: {type(e).__name__}: {e}")
    return found


ROWS = pytest.mark.parametrize("row", TABLE.values(), ids=lambda r: r.qualified)


@ROWS
def test_examples_of_arguments_fit(row: Row):
    positional, named, _ = example(row)
    eager(row, positional, named)


@ROWS
def test_unusable_arguments_are_coded_errors(row: Row):
    assert foreign((what, lambda a=a, n=n: eager(row, a, n)) for what, a, n in hostile(row)) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", [r for r in TABLE.values() if not r.host], ids=lambda r: r.qualified)
def test_unusable_arguments_are_coded_errors_while_tracing(row: Row):
    assert foreign((what, lambda a=a, n=n: traced(row, a, n)) for what, a, n in hostile(row)) == []


SEED = ma.random.key(0)
RANDOM: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "key": ((0,), {}),
    "bits": ((SEED, (3,)), {}),
    "split": ((SEED, 2), {}),
    "fold_in": ((SEED, 3), {}),
    "uniform": ((SEED, (3,)), {"minval": 0.0, "maxval": 2.0, "dtype": ma.float32}),
    "normal": ((SEED, (3,)), {"dtype": ma.float32}),
    "truncated_normal": ((SEED, -1.0, 1.0, (3,)), {"dtype": ma.float32}),
    "bernoulli": ((SEED, 0.5, (3,)), {}),
    "randint": ((SEED, (3,), 0, 5), {"dtype": ma.int32}),
    "permutation": ((SEED, ma.asarray(X)), {"axis": 0}),
    "categorical": ((SEED, ma.asarray(X)), {"axis": -1}),
}


@pytest.mark.parametrize("name", ma.random.__all__)
def test_unusable_arguments_of_random_functions_are_coded_errors(name: str):
    positional, named = RANDOM[name]
    function = getattr(ma.random, name)
    calls: list[tuple[str, Callable[[], Any]]] = []
    for what, x in UNUSABLE.items():
        for i in range(len(positional)):
            arguments = (*positional[:i], x, *positional[i + 1 :])
            calls.append((f"{i} is {what}", lambda a=arguments: function(*a, **named)))
        calls += [(f"{n} is {what}", lambda n=n, x=x: function(*positional, **{**named, n: x})) for n in named]
    assert foreign(iter(calls)) == []
    assert foreign((what, lambda call=call: ma.trace(lambda y: call(), ma.spec(2))) for what, call in calls) == []


KEYS: dict[str, Any] = {
    **UNUSABLE,
    "a mask of another shape": np.ones(7, bool),
    "a bound that is a word": slice("a", None),
    "a bound that is a fraction": slice(0.5, 2),
    "bounds that are arrays": slice(ma.asarray([0, 1]), None),
    "a bound that is a float array": slice(ma.asarray(1.5), None),
    "a step of zero": slice(None, None, 0),
    "a step that is a word": slice(None, None, "x"),
    "a huge bound": slice(10**30),
    "two ellipses": (..., ...),
    "too many": (0,) * 5,
    "a tuple in a tuple": ((0, 1),),
    "a list of slices": [slice(0, 1)],
    "a large unsigned integer": np.array([2**63], np.uint64),
    "bfloat16": ma.asarray([1.0], ma.bfloat16),
}
"""Keys of `x[key]` and `x.at[key]`, few of which select anything."""


def selections(x: Any, key: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "x[key]", lambda: x[key]
    for name in ("set", "add", "multiply", "min", "max"):
        yield name, lambda name=name: getattr(x.at[key], name)(1.0)
    for mode in ("clip", "wrap", "fill"):
        yield mode, lambda mode=mode: x.at[key].get(mode=mode)


@pytest.mark.parametrize("what", KEYS)
def test_unusable_keys_are_coded_errors(what: str):
    x, key = ma.asarray(X), KEYS[what]
    assert foreign(selections(x, key)) == []
    for name, _ in selections(x, key):
        record = lambda name=name: ma.trace(lambda x: dict(selections(x, key))[name](), ma.spec((3, 4)))  # noqa: E731
        assert foreign(iter([(name, record)])) == []
    assert foreign(iter([("assignment", lambda: ma.copy(x).__setitem__(key, 1.0))])) == []


METHODS = {
    **dict.fromkeys(("astype", "clip", "dot", "item", "repeat", "reshape", "round", "squeeze", "take", "to_device"), ()),
    **dict.fromkeys(("transpose", "sum", "max", "prod", "mean", "var", "argmax", "sort", "argsort", "searchsorted"), ()),
    **dict.fromkeys(("cumsum", "cumprod", "all", "diagonal", "trace"), ()),
    **{"swapaxes": (0,)},
}
"""Methods, with the arguments before the one that is replaced."""
NAMED = {"sum": ("axis", "keepdims", "where", "initial", "dtype"), "var": ("correction",), "cumsum": ("dtype",)}
UNDER_PROTOCOLS = ("sum", "sort", "clip", "take", "where", "transpose", "reshape", "var", "median", "tile", "quantile")


@pytest.mark.parametrize("what", UNUSABLE)
def test_unusable_arguments_of_methods_and_under_the_protocols_are_coded_errors(what: str):
    x, value = ma.asarray(X), UNUSABLE[what]
    calls: list[tuple[str, Callable[[], Any]]] = []
    calls += [(n, lambda n=n, before=before: getattr(x, n)(*before, value)) for n, before in METHODS.items()]
    calls += [(n, lambda n=n, o=o: getattr(x, n)(**{o: value})) for n, options in NAMED.items() for o in options]
    calls += [(f"np.{n}", lambda n=n: getattr(np, n)(x, value)) for n in UNDER_PROTOCOLS]
    calls += [(f"np.add.{n}", lambda n=n: getattr(np.add, n)(x, axis=value)) for n in ("reduce", "accumulate")]
    calls += [(f"at {n}", lambda n=n: getattr(x.at[0], n)(value)) for n in ("set", "add", "multiply", "min", "max")]
    calls += [("mode", lambda: x.at[0].get(mode=value)), ("fill", lambda: x.at[0].get(mode="fill", fill_value=value))]
    calls += [("assignment", lambda: ma.copy(x).__setitem__(0, value))]
    assert foreign(iter(calls)) == []


MA: Any = ma
NP: Any = np
MESSAGES: dict[str, tuple[Callable[[], Any], str]] = {
    "an axis": (lambda: MA.stack([X, X], axis="rows"), r"E1110: stack: axis is 'rows', of type str, expected an integer"),
    "a fraction": (lambda: MA.tril(X, 1.5), r"E1110: tril: k is 1.5, of type float, expected an integer"),
    "a flag": (lambda: MA.sum(X, keepdims="no"), r"E1110: sum: keepdims is 'no', of type str, expected True or False"),
    "a number": (lambda: MA.geomspace("a", 2.0), r"E1110: geomspace: start is 'a', of type str, expected a real number"),
    "arrays": (lambda: MA.lexsort(1.0), r"E2001: lexsort: keys is 1.0, of type float, expected a sequence of arrays"),
    "a method": (lambda: MA.asarray(X).swapaxes(0, None), r"E1110: swapaxes: axis2 is None, of type NoneType"),
    "NumPy": (lambda: NP.tile(MA.asarray(X), "ab"), r"E1110: tile: .*'ab'|np.tile: reps is 'ab'"),
    "a function": (lambda: MA.apply_along_axis(3, 0, X), r"func1d is 3, of type int, expected a function"),
}


@pytest.mark.parametrize("what", MESSAGES)
def test_messages_name_the_function_the_argument_and_both_types(what: str):
    call, message = MESSAGES[what]
    with pytest.raises(MindError, match=message):
        call()


def test_errors_of_functions_of_the_caller_go_through():
    def fails(*args: Any) -> Any:
        raise KeyError("mine")

    for call in (lambda: MA.apply_along_axis(fails, 0, X), lambda: MA.piecewise(MA.asarray(X), [M], [fails])):
        with pytest.raises(KeyError, match="mine"):
            call()
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        MA.sum(X, foo=1)
    assert checked(lambda x, axis: x, "f")(1.0, axis="a") == 1.0


def squares(x: Any) -> Any:
    return ma.sum(x * x)


def same(x: Any) -> Any:
    return x


def step(c: Any, x: Any) -> Any:
    return c, x


V = ma.asarray([1.0, 2.0])
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "tree.map": lambda v: ma.tree.map(v, [1]),
    "structure": lambda v: ma.tree.unflatten(v, [1]),
    "leaves": lambda v: ma.tree.unflatten(ma.tree.structure([1, 2, 3]), v),
    "norm": lambda v: ma.tree.norm([V, v]),
    "argnums": lambda v: ma.grad(squares, v)(V),
    "has_aux": lambda v: ma.grad(squares, has_aux=v)(V),
    "loss": lambda v: ma.grad(lambda x: v)(V),
    "cotangent": lambda v: ma.vjp(squares, V)[1](v),
    "tangents": lambda v: ma.jvp(squares, (V,), v),
    "in_axes": lambda v: ma.vmap(squares, in_axes=v)(V),
    "out_axes": lambda v: ma.vmap(same, out_axes=v)(V),
    "size": lambda v: ma.vmap(same, size=v)(V),
    "randomness": lambda v: ma.vmap(same, randomness=v)(V),
    "target": lambda v: ma.jit(same, target=v)(V),
    "donate": lambda v: ma.jit(same, donate=v)(ma.copy(V)),
    "static": lambda v: ma.jit(same, static=v)(V),
    "sizes": lambda v: ma.jit(same, sizes=v)(V),
    "passes": lambda v: ma.jit(same, passes=v)(V),
    "one of the passes": lambda v: ma.jit(same, passes=[v])(V),
    "threads": lambda v: ma.jit(same, target="native", threads=v)(V),
    "memory_limit": lambda v: ma.jit(same, memory_limit=v)(V),
    "result": lambda v: ma.jit(lambda x: v)(V),
    "init": lambda v: ma.scan(step, v, V),
    "xs": lambda v: ma.scan(step, V, v),
    "length": lambda v: ma.scan(step, V, V, v),
    "reverse": lambda v: ma.scan(step, V, V, reverse=v),
    "checkpoint": lambda v: ma.scan(step, V, V, checkpoint=v),
    "carry": lambda v: ma.scan(lambda c, x: (v, x), V, V),
    "lower": lambda v: ma.fori_loop(v, 3, lambda i, c: c, V),
    "max_iterations": lambda v: ma.while_loop(lambda c: c[0] < 0, same, V, max_iterations=v),
    "condition": lambda v: ma.while_loop(lambda c: v, same, V) if v is not True else None,
    "pred": lambda v: ma.cond(v, same, same, V),
    "a branch": lambda v: ma.cond(ma.asarray(True), same, lambda x: v, V),
    "branches": lambda v: ma.switch(1, v, V),
    "index": lambda v: ma.switch(v, [same, same], V),
    "name": lambda v: ma.trace(same, V, name=v),
    "passes of trace": lambda v: ma.trace(same, V, passes=v),
    "shape": lambda v: ma.spec(v),
    "lowered": lambda v: ma.save("none", v),
    "path": lambda v: ma.save(v, ma.jit(same).lower(V)) if not isinstance(v, str) else None,
    "a file": lambda v: ma.load(v),
}
"""Transformations and their options, one of which is unusable."""


@pytest.mark.parametrize("name", TRANSFORMS)
def test_unusable_arguments_of_transformations_are_coded_errors(name: str):
    assert foreign((what, lambda v=v: TRANSFORMS[name](v)) for what, v in UNUSABLE.items()) == []


@pytest.mark.parametrize("pred", [True, False, np.bool_(True), 1])
def test_both_branches_are_functions_however_the_condition_is_known(pred: Any):
    for branches in ((same, 3), (3, same)):
        with pytest.raises(MindError, match=r"E1105: cond: 3 is of type int, expected a function"):
            MA.cond(pred, *branches, V)


def test_norms_of_complex_numbers_are_of_their_moduli():
    found = ma.tree.norm({"a": ma.asarray([3j, 4 + 0j]), "b": ma.asarray([12.0])})
    assert (found.dtype, float(found)) == (ma.float64, 13.0)
