"""What traced functions must not do, and options that make no sense: coded errors with the line of the user."""

from __future__ import annotations

import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_array.trace import MOST_OPS, WARN_OPS
from mind_dialect.errors import MindError

HERE = Path(__file__).name


CONCRETE = {
    "a branch": lambda x: x if x[0] > 0 else -x,
    "a float": lambda x: float(x[0]),
    "an int": lambda x: int(x[0]),
    "an index": lambda x: [1, 2][ma.astype(x[0], ma.int64)],
    "a NumPy array": lambda x: np.asarray(x),
    "a list": lambda x: x.tolist(),
    "an item": lambda x: x[0].item(),
    "DLPack": lambda x: np.from_dlpack(x),
    "a format": lambda x: f"{x[0]:.3f}",
    "rounding": lambda x: round(x[0]),
    "a pickle": lambda x: pickle.dumps(x),
    "a shape": lambda x: ma.zeros(ma.astype(x[0], ma.int64)),
    "an axis": lambda x: ma.sum(x, axis=ma.astype(x[0], ma.int64)),
    "a loop": lambda x: next(i for i in range(3) if x[i] > 0),
}


@pytest.mark.parametrize("name", CONCRETE)
def test_elements_of_a_traced_array_are_not_to_be_had(name: str):
    with pytest.raises(
        TypeError, match=r"E1101: .* of a traced array, <traced \w+\[.*\]>, made at .*; (use|call|return) "
    ) as caught:
        ma.jit(CONCRETE[name])(np.ones(3))
    assert f"{HERE}:" in str(caught.value)


def test_assignment_in_a_traced_function_says_what_to_write():
    def f(x: Any) -> Any:
        x[1:2, 0] = 5.0
        return x

    with pytest.raises(TypeError, match=r"E1103: .*write x = x\.at\[1:2, 0\]\.set\(value\)"):
        ma.jit(f)(np.ones((3, 3)))


def test_a_leaked_array_names_where_it_was_made():
    kept: list[Any] = []
    ma.jit(lambda x: kept.append(x * 2) or x)(np.ones(3))
    for use in (lambda: kept[0] + 1, lambda: ma.jit(lambda x: x + kept[0])(np.ones(3)), lambda: ma.sum(kept[0])):
        with pytest.raises(
            TypeError, match=rf"E1102: array made at {HERE}:\d+ left the function traced at {HERE}:\d+; return it"
        ):
            use()


def test_masks_that_are_traced_say_what_to_write():
    with pytest.raises(MindError, match=r"E1108: .*ma\.where\(mask, x, 0\).*x\.at\[mask\]\.set"):
        ma.jit(lambda x: x[x > 0])(np.ones(3))


def test_a_function_that_calls_itself_is_refused():
    def f(x: Any) -> Any:
        return g(x) + 1

    def first(x: Any) -> Any:
        return second(x)

    def of_gradient(x: Any) -> Any:
        return ma.grad(lambda y: h(y) * y)(x)

    def plain(x: Any) -> Any:
        return plain(x + 1)

    g, h, second = ma.jit(f), ma.jit(of_gradient), ma.jit(lambda x: ma.jit(first)(x))
    calls = {"f": g, "of_gradient": h, "lambda": second}
    for name, call in calls.items():
        with pytest.raises(MindError, match=rf"E1106: {name} \({HERE}:\d+\) calls itself with the signature .*\({HERE}:\d+\)"):
            call(np.ones(()))
    with pytest.raises(MindError, match=rf"E1106: plain \({HERE}:\d+\) calls itself deeper than Python allows"):
        ma.jit(plain)(np.ones(2))


OPTIONS = {
    "no function": (lambda: ma.jit(3), "E1105"),
    "a static parameter by number": (lambda: ma.jit(lambda x, n: x, static=1), "E7001"),
    "static parameters by number": (lambda: ma.jit(lambda x, n: x, static=(0, 1)), "E7001"),
    "a donated parameter that is not there": (lambda: ma.jit(lambda x: x, donate="y"), "E7003"),
    "sizes that are a list": (lambda: ma.jit(lambda x: x, sizes=[("x", ("B",))]), "E7001"),
    "sizes that are a word": (lambda: ma.jit(lambda x: x, sizes={"x": "B"}), "E7001"),
    "sizes that are fractions": (lambda: ma.jit(lambda x: x, sizes={"x": (1.5,)}), "E7001"),
    "sizes of another rank": (lambda: ma.jit(lambda x: x, sizes={"x": ("B", 2)})(np.ones(3)), "E3002"),
    "a name that is none": (lambda: ma.jit(lambda x: x, sizes={"x": ("B C",)})(np.ones(3)), "E7001"),
    "a target": (lambda: ma.jit(lambda x: x, target="tpu")(np.ones(3)), "E6002"),
    "an integer beyond 64 bits": (lambda: ma.jit(lambda n: n)(2**70), "E4005"),
    "a container that holds itself": (lambda: ma.jit(lambda x: x)(endless()), "E1105"),
    "a result that holds itself": (lambda: ma.jit(lambda x: endless())(1.0), "E1105"),
    "more than the memory": (lambda: ma.jit(lambda x: ma.sum(ma.ones((2**30, 2**30))) * x)(1.0), "E6004"),
}


def endless() -> list[Any]:
    """A list that holds itself."""
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize("name", OPTIONS)
def test_options_and_arguments_that_make_no_sense_are_coded_errors(name: str):
    call, code = OPTIONS[name]
    with pytest.raises(MindError) as caught:
        call()
    assert caught.value.code == code
    assert f"({HERE}:" in str(caught.value)


def test_an_array_of_the_outside_is_not_changed_while_a_function_is_traced():
    w = ma.ones(3)

    def f(x: Any) -> Any:
        w[0] = 5.0
        return x * w

    with pytest.raises(TypeError, match=r"E1103: .*write x = x\.at\[0\]\.set\(value\)"):
        ma.jit(f)(np.ones(3))
    np.testing.assert_array_equal(w.ndarray, np.ones(3))


def test_arrays_of_regions_and_of_other_functions_do_not_leave_them():
    kept: list[Any] = []

    def of_region(x: Any) -> Any:
        ma.scan(lambda c, v: (kept.append(v) or c, None), 0.0, x)
        return kept.pop() + 1

    def of_branch(x: Any) -> Any:
        ma.cond(x[0] > 0, lambda: kept.append(x * 2) or x, lambda: x)
        return kept.pop() + 1

    def of_gradient(x: Any) -> Any:
        ma.grad(lambda v: (kept.append(v * 2), ma.sum(v))[1])(x)
        return kept.pop() + 1

    for f in (of_region, of_branch, of_gradient):
        with pytest.raises(TypeError, match=rf"E1102: array made at {HERE}:\d+ left the function traced at {HERE}:\d+"):
            ma.jit(f)(np.ones(3))


def test_a_long_unrolled_loop_warns_and_a_huge_one_stops(monkeypatch: pytest.MonkeyPatch):
    assert (WARN_OPS, MOST_OPS) == (10_000, 100_000)
    limits = sys.modules["mind_array.trace"]  # the attribute of that name is the function
    monkeypatch.setattr(limits, "WARN_OPS", 100)
    monkeypatch.setattr(limits, "MOST_OPS", 1000)

    def f(x: Any, n: int) -> Any:
        for _ in range(n):
            x = x + x
        return x

    with pytest.warns(UserWarning, match=rf"{HERE}:\d+ recorded 100 ops: .*ma\.fori_loop"):
        ma.trace(lambda x: f(x, 101), ma.spec((2,)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(MindError, match=rf"E1106: {HERE}:\d+ recorded 1000 ops"):
            ma.trace(lambda x: f(x, 1001), ma.spec((2,)))


def test_a_function_that_is_traced_again_and_again_warns_with_what_differs():
    g = ma.jit(lambda x: x + 1)
    for n in range(1, 9):
        g(np.ones(n))
    with pytest.warns(UserWarning, match="was traced 9 times; last for other dtypes or shapes"):
        g(np.ones(9))


def test_errors_of_a_run_have_the_line_of_the_user():
    for target in ("numpy", "native"):
        with pytest.raises(ZeroDivisionError, match=rf"E8004: .*\({HERE}:\d+\)"):
            ma.jit(lambda x, y: x // y, target=target)(np.ones(2, np.int32), np.zeros(2, np.int32))


def test_a_failed_trace_leaves_nothing_behind():
    g = ma.jit(lambda x: x + "a")
    for _ in range(2):
        with pytest.raises(TypeError):
            g(np.ones(2))
    assert float(ma.sum(ma.ones(3))) == 3


WINDOWS = {
    "a word": ("padding is 'full', expected 'same', 'valid'", lambda x: ma.nn.conv(x, x[:, :2, :2, :], padding="full")),
    "a fraction": ("padding is 0.5, of type float, expected an integer", lambda x: ma.nn.conv(x, x[:, :2, :2, :], padding=0.5)),
    "three axes": (
        "stride is \\(1, 1, 1\\), expected an integer or 2",
        lambda x: ma.nn.max_pool(x, 2, stride=(1, 1, 1)),
    ),
    "a stride": ("stride is 'two', expected an integer", lambda x: ma.nn.max_pool(x, 2, stride="two")),
    "groups": ("groups is None, of type NoneType, expected an integer", lambda x: ma.nn.conv(x, x[:, :2, :2, :], groups=None)),
    "a window": ("avg_pool: window is True, expected an integer", lambda x: ma.nn.avg_pool(x, True)),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_that_make_no_sense_are_named(name: str):
    said, call = WINDOWS[name]
    with pytest.raises(ValueError, match=f"E1110.*{said}"):
        call(ma.ones((2, 6, 6, 2)))


def test_same_padding_by_steps_needs_a_size():
    strided = ma.jit(lambda x, w: ma.nn.conv(x, w, padding="same", stride=2), sizes={"x": ("B", "H", 6, 1)})
    with pytest.raises(ValueError, match=r"E1110.*expected stride 1 for an extent without a size"):
        strided(np.ones((1, 6, 6, 1)), np.ones((3, 3, 1, 1)))
    named = ma.jit(lambda x, w: ma.nn.conv(x, w, padding="same"), sizes={"x": ("B", "H", 6, 1)})
    assert named(np.ones((1, 5, 6, 1)), np.ones((3, 3, 1, 1))).shape == (1, 5, 6, 1)
