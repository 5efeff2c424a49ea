"""Takes between transposes as gathers: the same elements, the same failures, and only where both transposes are there."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.verify import verify
from mind_passes.fusion.gather_axes import gather_axes
from mind_runtime import compile
from programs import parse

SHAPE = (3, 4, 5)
INDICES = {"a vector": (6,), "a matrix": (2, 3), "one": (1,), "a number": (), "none": (0,)}


def tensor(shape: tuple[int, ...], dtype: str = "f32") -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{dtype}>"


def program(first: tuple[int, ...], last: tuple[int, ...], indices: tuple[int, ...], index: str = "si64") -> str:
    front = tuple(SHAPE[a] for a in first)
    taken = (*indices, *front[1:])
    result = tuple(taken[a] for a in last)
    return f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: {tensor(SHAPE)}, %i: {tensor(indices, index)}) -> {tensor(result)} {{
    %t = ptir.transpose %x perm = {list(first)} : {tensor(SHAPE)} -> {tensor(front)}
    %y = ptir.take %t, %i : ({tensor(front)}, {tensor(indices, index)}) -> {tensor(taken)}
    %r = ptir.transpose %y perm = {list(last)} : {tensor(taken)} -> {tensor(result)}
    func.return %r : {tensor(result)}
  }}
}}"""


def count(module: ModuleOp, *kinds: type[ptir.PtirOp]) -> int:
    return sum(isinstance(op, kinds) for op in module.walk())


def rewritten(text: str, *, is_changed: bool) -> ModuleOp:
    module = parse(text)
    assert gather_axes(module) is is_changed
    verify(module)
    assert count(module, ptir.TakeOp) == int(not is_changed)
    return module


X = np.arange(60, dtype=np.float32).reshape(SHAPE)


@pytest.mark.parametrize("last", list(permutations(range(3))))
@pytest.mark.parametrize("first", list(permutations(range(3))))
@pytest.mark.parametrize("index", ["si32", "si64"])
def test_rows_along_each_axis_in_each_order(first: tuple[int, ...], last: tuple[int, ...], index: str) -> None:
    at = np.array([2, 0, 1, 2, 2, 0], {"si32": np.int32, "si64": np.int64}[index])
    text = program(first, last, (6,), index)
    expected = np.take(X.transpose(first), at, 0).transpose(last)
    np.testing.assert_array_equal(compile(rewritten(text, is_changed=True))(X, at), expected)
    if index == "si64" and first[0] == 1:
        np.testing.assert_array_equal(compile(parse(text), target="native")(X, at), expected)


@pytest.mark.parametrize("last", list(permutations(range(4))))
@pytest.mark.parametrize("first", [(1, 0, 2), (2, 1, 0), (0, 2, 1)])
def test_indices_of_two_axes(first: tuple[int, ...], last: tuple[int, ...]) -> None:
    at = np.array([[2, 0, 1], [2, 2, 0]])
    text = program(first, last, (2, 3))
    expected = np.take(X.transpose(first), at, 0).transpose(last)
    np.testing.assert_array_equal(compile(rewritten(text, is_changed=True))(X, at), expected)
    if last[0] == 2:
        np.testing.assert_array_equal(compile(parse(text), target="native")(X, at), expected)


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("bad", [-1, 4, 1 << 40])
def test_an_index_outside_fails_as_before(bad: int, target: str) -> None:
    at = np.array([0, bad, 1])
    with pytest.raises(MindError) as e:
        compile(parse(program((1, 0, 2), (1, 0, 2), (3,))), target=target)(X, at)
    assert e.value.code == "E6001"
    assert "take" in str(e.value)


@pytest.mark.parametrize("indices", ["none", "a number"])
def test_no_rows_and_one_row_stay(indices: str) -> None:
    shape = INDICES[indices]
    last = (1, 0, 2) if shape else (1, 0)
    rewritten(program((1, 0, 2), last, shape), is_changed=False)


def test_rows_of_no_elements_stay() -> None:
    rewritten(program((1, 0, 2), (1, 0, 2), (2,)).replace("x5x", "x0x"), is_changed=False)


OTHERS = {
    "nothing before": ("%x", "ptir.transpose %y perm = [1, 0] : tensor<4x4xf32>", ""),
    "nothing after": ("%t", "ptir.neg %y : tensor<4x4xf32>", ""),
    "another reader": ("%t", "ptir.transpose %y perm = [1, 0] : tensor<4x4xf32>", ", %y"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_takes_stay(name: str) -> None:
    taken, after, more = OTHERS[name]
    types = ", ".join(["tensor<4x4xf32>"] * (2 if more else 1))
    rewritten(
        f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<4x4xf32>, %i: tensor<4xsi64>) -> ({types}) {{
    %t = ptir.transpose %x perm = [1, 0] : tensor<4x4xf32>
    %y = ptir.take {taken}, %i : (tensor<4x4xf32>, tensor<4xsi64>) -> tensor<4x4xf32>
    %r = {after}
    func.return %r{more} : {types}
  }}
}}""",
        is_changed=False,
    )


def test_dimensions_with_names_stay() -> None:
    text = program((1, 0, 2), (1, 0, 2), (2,)).replace("tensor<3x", "tensor<?x").replace("tensor<4x3x", "tensor<4x?x")
    text = text.replace("tensor<2x3x", "tensor<2x?x").replace("tensor<?x2x5xf32>", "tensor<?x2x5xf32>")
    rewritten(text, is_changed=False)
