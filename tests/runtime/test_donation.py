"""Donated arguments: memory of their own, found by one sweep over address ranges as NumPy finds it pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser

import mind_dialect
from mind_dialect.errors import MindError
from mind_runtime import compile
from mind_runtime.donation import shared_memory

PROGRAM = """module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<0xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %s = ptir.add %x, %y : tensor<4xf32>
    %d = ptir.sub %x, %y : tensor<4xf32>
    func.return %s, %d : tensor<4xf32>, tensor<4xf32>
  }
}"""


@pytest.fixture(scope="module")
def main():
    """The program, which may overwrite `x` and has `z`, an input of no elements."""
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Func)
    mind_dialect.register(ctx)
    return compile(Parser(ctx, PROGRAM).parse_module(), donate=["x"])


def memory() -> np.ndarray:
    """Ten numbers to make arguments of."""
    return np.arange(10, dtype=np.float32)


def test_neighbours_are_not_shared(main) -> None:
    m = memory()
    s, d = main(m[:4], m[4:8], m[2:2])
    np.testing.assert_array_equal(s, [4, 6, 8, 10])
    np.testing.assert_array_equal(d, [-4, -4, -4, -4])


OWNER = np.zeros(4, np.float32)
SHARED = {
    "the same that owns its memory": lambda m: (OWNER, OWNER),
    "an owner and a view of it": lambda m: (OWNER, OWNER[:]),
    "a view of an owner, and that": lambda m: (OWNER[:], OWNER),
    "the same": lambda m: (m[:4], m[:4]),
    "one element": lambda m: (m[:4], m[3:7]),
    "from below": lambda m: (m[3:7], m[:4]),
    "backwards": lambda m: (m[3:7], m[3::-1]),
    "within a stride": lambda m: (m[3:7], m[:8:2]),
}


@pytest.mark.parametrize("case", SHARED)
def test_a_donated_argument_that_shares_memory_is_refused(main, case: str) -> None:
    x, y = SHARED[case](memory())
    for nothing in (np.zeros(0, np.float32), memory()[:0]):
        with pytest.raises(MindError, match=r"E2001: input x of @main: .* shares memory"):
            main(x, y, nothing)


def test_a_donated_argument_must_be_writeable_and_in_order(main) -> None:
    read_only = memory()[:4]
    read_only.flags.writeable = False
    for x in (read_only, memory()[:8:2]):
        with pytest.raises(MindError, match=r"E2001: input x of @main: .* read-only or not in row-major"):
            main(x, memory()[:4], np.zeros(0, np.float32))


WINDOWS = st.tuples(st.integers(0, 30), st.integers(0, 30), st.sampled_from([-3, -2, -1, 1, 2, 3]))


@given(st.lists(st.tuples(WINDOWS, st.booleans()), max_size=7))
def test_the_sweep_finds_what_numpy_finds_pair_by_pair(windows) -> None:
    base = np.zeros(30, np.float32)
    arrays = [base[a:b:s] for (a, b, s), _ in windows]
    donated = [i for i, (_, given_away) in enumerate(windows) if given_away]
    expected = {i for i in donated if any(j != i and np.may_share_memory(arrays[i], a) for j, a in enumerate(arrays))}
    assert shared_memory(arrays, donated) == expected
