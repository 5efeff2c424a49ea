"""Lookups on the native target: one kernel with what computes their indices, and with what reads the elements that they find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.ir import SSAValue

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.op import value_of
from mind_dialect.ptir.types import F32, SI32, known_extents, read_type
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.ptir_kernels.formats import array_dtype
from ptir_forms import like, program, reduce

DTYPES = ("f32", "bf16", "i1", "si64")


def flat(x: Any) -> Any:
    return ptir.ReshapeOp(x, new_shape=(int(np.prod(known_extents(value_of(x).type))),))


def wrapped(i: Any, n: int) -> Any:
    """Indices from the end, as NumPy counts them, and inside."""
    from_end = ptir.SelectOp(ptir.CompareOp(i, like(i, 0), kind="less"), ptir.AddOp(i, like(i, n)), i)
    return ptir.ClampOp(from_end, like(i, 0), like(i, n - 1))


def doubled(x: Any) -> Any:
    """A value of any dtype, computed."""
    return ptir.SelectOp(ptir.CompareOp(x, x, kind="equal"), x, like(x, 0))


def along_rows(x: Any, i: Any) -> Any:
    return doubled(ptir.GatherOp(x, wrapped(i, 37), axis=1))


def along_columns(x: Any, i: Any) -> Any:
    """The table lies the other way round."""
    turned = ptir.TransposeOp(x, perm=(1, 0))
    return doubled(ptir.GatherOp(turned, wrapped(ptir.TransposeOp(i, perm=(1, 0)), 37), axis=0))


def flattened(x: Any, i: Any) -> Any:
    return doubled(ptir.TakeOp(flat(x), wrapped(i, 5 * 37)))


def of_part(x: Any, i: Any) -> Any:
    """The table is every other column from the second on."""
    part = ptir.StridedSliceOp(x, starts=(0, 1), limits=(5, 37), strides=(1, 2))
    return doubled(ptir.GatherOp(part, wrapped(i, 18), axis=-1))


def in_rows(x: Any, i: Any) -> Any:
    """Whole rows, at indices of another shape, which are not computed in lanes."""
    column = ptir.SliceOp(wrapped(i, 5), starts=(0, 0), sizes=(5, 1))
    rows = ptir.TakeOp(x, ptir.ReshapeOp(column, new_shape=(5,)))
    return doubled(rows)


def summed(x: Any, i: Any) -> Any:
    found = ptir.GatherOp(x, wrapped(i, 37), axis=1)
    return [reduce(doubled(found), "max", 1), reduce(doubled(found), "max", 0)]


def shared(x: Any, i: Any) -> Any:
    """Indices are a result too, and the table is read place by place besides."""
    where = wrapped(i, 37)
    found = doubled(ptir.GatherOp(x, where, axis=1))
    first = ptir.SliceOp(x, starts=(0, 0), sizes=(5, 19))
    return [where, ptir.SelectOp(ptir.CompareOp(found, first, kind="equal"), found, first)]


FORMS: dict[str, tuple[Callable[..., Any], int]] = {
    "along rows": (along_rows, 1),
    "along columns": (along_columns, 1),
    "flattened": (flattened, 1),
    "of a part": (of_part, 1),
    "whole rows": (in_rows, 2),
    "summed": (summed, 3),
    "shared": (shared, 1),
}
"""By name: a program on a table of 5 x 37 and indices of 5 x 19, and its number of kernels, where its dtype is computed with."""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("isa", RUNNABLE)
def test_values(isa: str, name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on the numpy target, bit by bit, in so many kernels, with checks of what is read."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    body, kernels = FORMS[name]
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2 if dtype == "i1" else 100, (5, 37)).astype(array_dtype(dtype))
    for index in ("si32", "si64"):
        i = rng.integers(-40, 40, (5, 19)).astype(array_dtype(index))
        module = program(f"{dtype}[5,37] {index}[5,19]", body)
        run = mind_runtime.compile(module, target="native")
        expected = mind_runtime.compile(module, target="numpy")(x, i)
        monkeypatch.setenv(CHECKS_VARIABLE, "1")
        checked = mind_runtime.compile(module, target="native")(x, i)
        monkeypatch.delenv(CHECKS_VARIABLE)
        assert ", 0 ops on NumPy" not in run.explain()[0] or f": {kernels} native kernel" in run.explain()[0]
        for found in (run(x, i), checked):
            pairs = zip(*([v] if isinstance(v, np.ndarray) else v for v in (found, expected)), strict=True)
            assert all(a.tobytes() == b.tobytes() for a, b in pairs)


def test_a_lookup_at_indices_that_are_looked_up() -> None:
    def body(x: Any, y: Any, i: Any) -> Any:
        return doubled(ptir.TakeOp(x, ptir.AbsOp(ptir.TakeOp(y, ptir.AbsOp(i)))))

    module = program("f32[9] si32[7] si32[40]", body)
    rng = np.random.default_rng(0)
    x, y, i = rng.normal(size=9).astype(np.float32), rng.integers(-8, 9, 7, np.int32), rng.integers(-6, 7, 40, np.int32)
    run = mind_runtime.compile(module, target="native")
    assert len(run.explain()) == 2
    assert np.array_equal(run(x, y, i), x[abs(y[abs(i)])])


def test_a_large_sum_of_looked_up_elements_is_cut_up() -> None:
    def body(x: Any, i: Any) -> Any:
        found = ptir.TakeOp(x, ptir.AddOp(i, like(i, 1)))
        return reduce(ptir.MulOp(found, found), "sum", 0, keepdims=False)

    module = program("si64[1000] si32[1000003]", body)
    rng = np.random.default_rng(0)
    x, i = rng.integers(0, 1000, 1000), rng.integers(-1, 999, 1000003, np.int32)
    run = mind_runtime.compile(module, target="native")
    assert run(x, i) == (x[i + 1] ** 2).sum()
    assert "take" not in "".join(run.explain()) or "copy" not in "".join(run.explain())


@pytest.mark.parametrize("index", [5, -1, 1 << 20, -(1 << 31)])
@pytest.mark.parametrize("isa", RUNNABLE)
def test_an_index_out_of_bounds(isa: str, index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the lookup, as without a neighbour; lanes beyond the end are not looked at."""
    monkeypatch.setenv(ISA_VARIABLE, isa)

    def body(x: Any, i: Any) -> Any:
        return ptir.ExpOp(ptir.TakeOp(x, ptir.SubOp(i, like(i, 1))))

    module = program("f32[5] si32[19]", body)
    i = np.ones(19, np.int32)
    messages: list[str] = []
    for target in ("native", "numpy"):
        run = mind_runtime.compile(module, target=target)
        run(np.ones(5, np.float32), i)
        with pytest.raises(MindError) as e:
            run(np.ones(5, np.float32), np.concatenate([i[:18], [np.int32(max(index + 1, -(1 << 31)))]]))
        assert e.value.code == "E6001"
        messages.append(str(e.value))
    assert messages[0] == messages[1]


def test_indices_of_no_elements_are_checked() -> None:
    def body(x: Any, i: Any) -> Any:
        return [ptir.TakeOp(x, i), ptir.AbsOp(ptir.TakeOp(x, ptir.AddOp(i, like(i, 1))))]

    run = mind_runtime.compile(program("f32[5,0] si32[3]", body), target="native")
    x, inside = np.ones((5, 0), np.float32), np.array([0, 3, 1], np.int32)
    assert [v.shape for v in run(x, inside)] == [(3, 0), (3, 0)]
    for index in (4, 5):
        with pytest.raises(MindError, match=r"take .*: index 5 is out of bounds along axis 0 of \[5, 0\]"):
            run(x, np.array([0, index, 1], np.int32))


def test_a_donated_table_is_not_written_over() -> None:
    """A result as large as the table would take its memory, if each element were read at its own place."""

    def body(x: Any, i: Any) -> Any:
        return ptir.AddOp(ptir.GatherOp(x, ptir.AbsOp(i), axis=0), like(x, 1))

    module = program("f32[64] si32[64]", body)
    x, i = np.arange(64, dtype=np.float32), np.arange(-63, 1, dtype=np.int32)
    run = mind_runtime.compile(module, target="native", donate=["arg0"])
    assert np.array_equal(run(x.copy(), i), x[abs(i)] + 1)


def test_a_table_of_parts_is_put_together() -> None:
    def body(x: Any, y: Any, i: Any) -> Any:
        return doubled(ptir.TakeOp(ptir.ConcatOp(x, y, axis=0), ptir.AbsOp(i)))

    module = program("f32[64] f32[70] si32[200]", body)
    rng = np.random.default_rng(0)
    x, y, i = (rng.normal(size=n).astype(np.float32) for n in (64, 70, 200))
    i = rng.integers(-133, 134, 200, np.int32)
    found = mind_runtime.compile(module, target="native")(x, y, i)
    assert np.array_equal(found, np.concatenate([x, y])[abs(i)])


def test_a_search_in_a_loop() -> None:
    """Halving: each step looks up the middle of what is left."""

    def body(table: Any, x: Any) -> Any:
        def step(low: Any, high: Any, *given: Any) -> list[Any]:
            table, x = given
            middle = ptir.ShiftRightLogicalOp(ptir.AddOp(low, high), like(low, 1))
            below = ptir.CompareOp(ptir.TakeOp(table, middle), x, kind="less")
            return [ptir.SelectOp(below, middle, low), ptir.SelectOp(below, high, middle), *given]

        low = ptir.SubOp(ptir.CastOp(x, dtype=ptir.types.SI32), ptir.CastOp(x, dtype=ptir.types.SI32))
        state: list[Any] = [low, ptir.AddOp(low, like(low, 63)), table, x]
        for _ in range(7):
            state = step(*state)
        return state[1]

    module = program("f32[64] f32[50]", body)
    rng = np.random.default_rng(0)
    table, x = np.sort(rng.uniform(size=64)).astype(np.float32), rng.uniform(0.1, 0.9, 50).astype(np.float32)
    run = mind_runtime.compile(module, target="native")
    assert np.array_equal(run(table, x), np.searchsorted(table, x))
    assert len(run.explain()) == 2


def kernels(types: str, body: Callable[..., Any]) -> list[str]:
    return mind_runtime.compile(program(types, body), target="native").explain()[1:]


def test_a_function_is_not_computed_between_indices_and_loads() -> None:
    def body(x: Any, i: Any) -> Any:
        return ptir.AbsOp(ptir.TakeOp(x, ptir.CastOp(ptir.SinOp(i), dtype=SI32)))

    assert len(kernels("f32[64] f32[64,64]", body)) == 2
    assert len(kernels("f32[64] si32[64,64]", lambda x, i: ptir.SinOp(ptir.TakeOp(x, ptir.AbsOp(i))))) == 1


@pytest.mark.parametrize("isa", RUNNABLE)
def test_large_operands_across_the_results_are_transposed_first(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of memory would be read once for each of its elements."""
    monkeypatch.setenv(ISA_VARIABLE, isa)

    def body(x: Any, i: Any, y: Any) -> Any:
        where = ptir.AbsOp(ptir.TransposeOp(i, perm=(1, 0)))
        return ptir.AddOp(ptir.TakeOp(x, where), ptir.TransposeOp(y, perm=(1, 0)))

    for rows, columns, copies in ((130, 140, 2), (24, 20, 0)):
        types = f"si32[64] si32[{rows},{columns}] si32[{rows},{columns}]"
        assert len(kernels(types, body)) == 1 + copies
        rng = np.random.default_rng(0)
        x, i, y = (rng.integers(-63, 64, s, np.int32) for s in ((64,), (rows, columns), (rows, columns)))
        run = mind_runtime.compile(program(types, body), target="native")
        assert np.array_equal(run(x, i, y), x[abs(i.T)] + y.T)


class Drawn:
    """A random program dense in lookups, on values of a few shapes; its elementwise ops are exact."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def pick(self, values: Sequence[Any], of: Callable[[SSAValue], bool] = lambda _: True) -> Any:
        found = [v for v in values if of(value_of(v))]
        return found[self.rng.integers(len(found))] if found else None

    def table(self, values: Sequence[Any]) -> Any:
        """Something to look up in: a value, other views of one, parts of two, a number everywhere, places."""
        x = self.pick(values, lambda v: read_type(v.type).dtype is F32)
        extents = known_extents(value_of(x).type)
        kind = self.rng.integers(7)
        if kind == 0:
            return ptir.TransposeOp(x, perm=tuple(reversed(range(len(extents)))))
        if kind == 1:
            return ptir.ReverseOp(x, axes=(len(extents) - 1,))
        if kind == 2:
            return ptir.ConcatOp(x, ptir.NegOp(x), axis=0)
        if kind == 3:
            return ptir.BroadcastToOp(x, result_shape=(2, *extents))
        if kind == 4:
            return like(x, 3)
        return ptir.IotaOp(shape=extents, dtype=F32, axis=0) if kind == 5 else x

    def step(self, values: list[Any]) -> Any:
        i = self.pick(values, lambda v: read_type(v.type).dtype is SI32)
        x = self.table(values)
        extents = known_extents(value_of(x).type)
        if self.rng.integers(2):
            axis = int(self.rng.integers(len(extents)))
            three = ptir.SliceOp(flat(i), starts=(0,), sizes=(3,))
            line = ptir.ReshapeOp(three, new_shape=tuple(3 if a == axis else 1 for a in range(len(extents))))
            spread = ptir.BroadcastToOp(line, result_shape=tuple(3 if a == axis else n for a, n in enumerate(extents)))
            return ptir.GatherOp(x, wrapped(spread, extents[axis]), axis=axis)
        if self.rng.integers(2):
            return ptir.TakeOp(x, wrapped(i, extents[0]))
        return ptir.TakeOp(flat(x), wrapped(i, int(np.prod(extents))))

    def body(self, *arguments: Any) -> list[Any]:
        values = list(arguments)
        for _ in range(8):
            made = self.step(values)
            extents = known_extents(value_of(made).type)
            if np.prod(extents) > 5000:
                continue
            if self.rng.integers(2):
                made = ptir.MaximumOp(made, like(made, float(self.rng.integers(3))))
            if self.rng.integers(3) == 0:
                values.append(ptir.CastOp(made, dtype=SI32))
            if self.rng.integers(4) == 0:
                made = reduce(made, "max", int(self.rng.integers(len(extents))))
            values.append(made)
        return values[len(arguments) :] or values


@pytest.mark.parametrize("seed", range(20))
def test_drawn_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = program("f32[7] f32[5,6] si32[4] si32[2,5]", Drawn(seed).body)
    rng = np.random.default_rng(seed)
    floats = [rng.integers(-9, 9, s).astype(np.float32) for s in ((7,), (5, 6))]
    given = [*floats, *(rng.integers(-50, 50, s, np.int32) for s in ((4,), (2, 5)))]
    expected = mind_runtime.compile(module, target="numpy")(*given)
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    found = mind_runtime.compile(module, target="native")(*given)
    pairs = zip(*([v] if isinstance(v, np.ndarray) else v for v in (found, expected)), strict=True)
    assert all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)
