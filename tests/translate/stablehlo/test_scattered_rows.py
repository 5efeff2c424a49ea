"""Scatters whose windows are rows: one index for each row, against a loop over elements as the specification defines them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

from mind_dialect import ptir
from mind_dialect.ptir.types import read_type
from stablehlo_programs import EXECUTORS, Array, ops, program, read, run, type_of

BODIES: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": ("%s = stablehlo.add %x, %y : tensor<f32> stablehlo.return %s : tensor<f32>", lambda x, y: x + y),
    "maximum": ("%s = stablehlo.maximum %x, %y : tensor<f32> stablehlo.return %s : tensor<f32>", np.maximum),
    "replace": ("stablehlo.return %y : tensor<f32>", lambda x, y: y),
}


@dataclass(frozen=True)
class Case:
    """The shapes of the operand, the indices and the updates, and the dimension numbers."""

    x: Sequence[int]
    indices: Sequence[int]
    updates: Sequence[int]
    windows: Sequence[int]
    inserted: Sequence[int]
    mapped: Sequence[int]
    vector: int
    batching: Sequence[int] = ()
    of_indices: Sequence[int] = ()

    def numbers(self) -> str:
        """Return the dimension numbers as text."""
        named = {"update_window_dims": self.windows, "inserted_window_dims": self.inserted, "input_batching_dims": self.batching}
        named |= {"scatter_indices_batching_dims": self.of_indices, "scatter_dims_to_operand_dims": self.mapped}
        return ", ".join([*(f"{k} = {list(v)}" for k, v in named.items()), f"index_vector_dim = {self.vector}"])

    def scattered(self, x: Array, indices: Array, updates: Array, combine: Callable[[Any, Any], Any]) -> Array:
        """Return the result, one element of the updates after the other."""
        found = x.copy()
        places = indices[..., None] if self.vector == indices.ndim else np.moveaxis(indices, self.vector, -1)
        own = [d for d in range(x.ndim) if d not in self.inserted and d not in self.batching]
        for at in product(*map(range, updates.shape)):
            batch = [n for a, n in enumerate(at) if a not in self.windows]
            index = [0] * x.ndim
            for d, n in zip(self.mapped, places[tuple(batch)], strict=True):
                index[d] += int(n)
            for d, a in zip(self.batching, self.of_indices, strict=True):
                index[d] += batch[a - (a > self.vector)]
            for d, a in zip(own, self.windows, strict=True):
                index[d] += at[a]
            if all(0 <= n < size for n, size in zip(index, x.shape, strict=True)):
                found[tuple(index)] = combine(found[tuple(index)], updates[at])
        return found


ROWS = {
    "rows": Case((5, 4), (9, 1), (9, 4), (1,), (0,), (0,), 1),
    "rows without a dimension of the vector": Case((5, 4), (9,), (9, 4), (1,), (0,), (0,), 1),
    "a row": Case((5, 4), (1,), (4,), (0,), (0,), (0,), 0),
    "rows of many vectors": Case((7, 70), (60, 1), (60, 70), (1,), (0,), (0,), 1),
    "rows of two dimensions": Case((5, 2, 3), (9, 1), (9, 2, 3), (1, 2), (0,), (0,), 1),
    "updates with the row first": Case((5, 4), (9, 1), (4, 9), (0,), (0,), (0,), 1),
    "a middle dimension": Case((3, 5, 4), (9, 1), (3, 9, 4), (0, 2), (1,), (1,), 1),
    "the last dimension": Case((3, 5), (9, 1), (3, 9), (0,), (1,), (1,), 1),
    "two neighbours, exchanged": Case((5, 6, 4), (2, 9), (9, 4), (1,), (0, 1), (1, 0), 0),
    "a window of one row": Case((5, 4), (9, 1), (9, 1, 4), (1, 2), (), (0,), 1),
    "indices of two dimensions": Case((5, 4), (3, 3, 1), (3, 3, 4), (2,), (0,), (0,), 2),
    "batches": Case((2, 5, 4), (9, 2, 1), (9, 2, 4), (2,), (1,), (1,), 2, (0,), (1,)),
    "few rows": Case((12, 4), (9, 1), (9, 4), (1,), (0,), (0,), 1),
    "few rows of a middle dimension": Case((3, 12, 4), (9, 1), (3, 9, 4), (0, 2), (1,), (1,), 1),
}
OTHERS = {
    "parts of rows": Case((5, 4), (9, 1), (9, 3), (1,), (0,), (0,), 1),
    "dimensions that are no neighbours": Case((5, 3, 4), (9, 2), (9, 3), (1,), (0, 2), (0, 2), 1),
    "several rows": Case((5, 4), (9, 1), (9, 2, 4), (1, 2), (), (0,), 1),
    "one column of others": Case((5, 4), (9, 1), (9,), (), (0, 1), (0,), 1),
    "few parts of rows": Case((12, 4), (9, 1), (9, 3), (1,), (0,), (0,), 1),
}


def text(case: Case, body: str, inputs: Sequence[Array]) -> str:
    """Return the program of a case."""
    types = ", ".join(type_of(v) for v in inputs)
    scatter = f"""%r = "stablehlo.scatter"(%a, %b, %c) ({{ ^bb0(%x: tensor<f32>, %y: tensor<f32>): {BODIES[body][0]} }})
      {{scatter_dimension_numbers = #stablehlo.scatter<{case.numbers()}>}} : ({types}) -> {type_of(inputs[0])}"""
    arguments = ", ".join(f"%{name}: {type_of(v)}" for name, v in zip("abc", inputs, strict=True))
    return program(arguments, scatter, type_of(inputs[0]))


def inputs_of(case: Case) -> tuple[Array, Array, Array]:
    """Return an operand with a NaN, indices some of which are outside, and updates with NaN and -0."""
    rng = np.random.default_rng(3)
    x, updates = (rng.normal(size=tuple(shape)).astype(np.float32) for shape in (case.x, case.updates))
    x.flat[1], updates.flat[2], updates.flat[3] = np.nan, np.nan, -0.0
    return x, rng.integers(-2, max(case.x) + 1, tuple(case.indices)).astype(np.int32), updates


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", [*ROWS, *OTHERS])
def test_values(name: str, body: str, executor: str) -> None:
    """Bit for bit: the updates of an element are combined in order."""
    case = {**ROWS, **OTHERS}[name]
    inputs = inputs_of(case)
    np.testing.assert_array_equal(
        run(text(case, body, inputs), *inputs, executor=executor), case.scattered(*inputs, BODIES[body][1])
    )


@pytest.mark.parametrize("name", [*ROWS, *OTHERS])
def test_rows_have_one_index_each(name: str) -> None:
    """Other windows have an index of each element, to which their places in a window are added."""
    case = {**ROWS, **OTHERS}[name]
    module = read(text(case, "add", inputs_of(case)))
    (scatter,) = [op for op in module.walk() if isinstance(op, ptir.ScatterReduceOp)]
    assert ops(module)["scatter_reduce"] == 1
    assert (len(read_type(scatter.operands[0].type).shape) > 1) == (name in ROWS)


SUMS = {
    "f32": ("f32", np.float32),
    "f16": ("f16", np.float16),
    "f64": ("f64", np.float64),
    "si32": ("i32", np.int32),
    "ui8": ("ui8", np.uint8),
    "cf32": ("complex<f32>", np.complex64),
}


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", SUMS)
def test_what_sums_drop_changes_nothing(name: str, executor: str) -> None:
    """Rows outside leave zeros of both signs in the first row as they are, also if NaN would be added."""
    element, dtype = SUMS[name]
    x, updates = np.zeros((6, 3), dtype), np.ones((4, 3), dtype)
    if element not in ("i32", "ui8"):
        x[:, 1], updates[1] = complex(-0.0, -0.0) if element.startswith("complex") else -0.0, np.nan
    indices, expected = np.array([5, -1, 6, 5], np.int32), x.copy()
    expected[5] = 2
    types = [f"tensor<6x3x{element}>", "tensor<4xi32>", f"tensor<4x3x{element}>"]
    scatter = f"""%r = "stablehlo.scatter"(%a, %b, %c) ({{ ^bb0(%x: tensor<{element}>, %y: tensor<{element}>):
      %s = stablehlo.add %x, %y : tensor<{element}> stablehlo.return %s : tensor<{element}> }})
      {{scatter_dimension_numbers = #stablehlo.scatter<{CASE_OF_SUMS.numbers()}>}} : ({", ".join(types)}) -> {types[0]}"""
    arguments = ", ".join(f"%{name}: {type}" for name, type in zip("abc", types, strict=True))
    found = run(program(arguments, scatter, types[0]), x, indices, updates, executor=executor)
    assert np.asarray(found).tobytes() == expected.tobytes()


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("body", ["maximum", "replace"])
@pytest.mark.parametrize(
    "places", [[-1, 7, -2], [-1, 0, 9], [0, -1, 0], [9, 2, 0], [2, 6, 2], [1, 2, -1], [-1, -1, 5], [0, 1, 9]]
)
def test_what_is_dropped_from_fewer_updates_changes_nothing(places: Sequence[int], body: str, executor: str) -> None:
    """Bit for bit: a dropped row never undoes an update of the first row or of a repeated one, wherever it lies among others."""
    rng = np.random.default_rng(5)
    for case in (Case((6, 4), (3, 1), (3, 4), (1,), (0,), (0,), 1), Case((2, 6), (3, 1), (2, 3), (0,), (1,), (1,), 1)):
        x, updates = (rng.normal(size=tuple(shape)).astype(np.float32) for shape in (case.x, case.updates))
        x[:, 0], updates[:, 0] = -0.0, -1.0
        indices = np.array(places, np.int32)[:, None]
        found = run(text(case, body, (x, indices, updates)), x, indices, updates, executor=executor)
        assert np.asarray(found).tobytes() == case.scattered(x, indices, updates, BODIES[body][1]).tobytes()


CASE_OF_SUMS = Case((6, 3), (4,), (4, 3), (1,), (0,), (0,), 1)


@pytest.mark.parametrize(
    ("rows", "body", "pads"), [(11, "add", 0), (12, "add", 1), (11, "maximum", 0), (11, "replace", 0), (12, "replace", 1)]
)
def test_the_larger_one_is_not_copied(rows: int, body: str, pads: int) -> None:
    case = Case((12, 4), (rows, 1), (rows, 4), (1,), (0,), (0,), 1)
    assert ops(read(text(case, body, inputs_of(case))))["pad"] == pads
