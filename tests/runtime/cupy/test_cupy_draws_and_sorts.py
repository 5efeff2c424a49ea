"""Random numbers and sorts as kernels: the bits of the NumPy target, within graphs, whatever the order of threads is."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import mind_runtime
from cuda_emulation import ARCHITECTURES, compiled, compiler
from cupy_agreement import close
from fake_device import Batch, compile_on_fake
from fake_gpu import RULES, FakeMachine
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES
from mind_lowering.cupy.kernels import sorts
from mind_lowering.cupy.kernels.call_kernels import STAGED
from mind_lowering.cupy.planning.host_calls import HOST
from mind_runtime.on_cupy import CupyProgram
from native_control_programs import counted, scan
from numpy_launches import on_numpy
from ptir_forms import program

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")
FLOATS = ("f32", "f64", "f16", "bf16")


def ordered(axis: int = -1) -> Any:
    return lambda x: [ptir.SortOp(x, axis=axis, descending=d) for d in (False, True)]


def best(k: int, axis: int = -1, dtype: str = "si32") -> Any:
    def body(x: Any) -> list[Any]:
        made = [ptir.TopKOp(x, k=k, axis=axis, largest=g, indices_dtype=DTYPES[dtype]) for g in (True, False)]
        return [r for op in made for r in op.results]

    return body


def draws(*shapes: tuple[int, ...], dtypes: tuple[str, ...] = FLOATS) -> Any:
    kinds = (ptir.RngUniformOp, ptir.RngNormalOp)
    return lambda x: [kind(shape=s, dtype=DTYPES[t]) for kind in kinds for t in dtypes for s in shapes]


def one_draw() -> Any:
    return ptir.RngUniformOp(shape=(4,), dtype=DTYPES["f32"])


def nested(x: Any) -> Any:
    def inner(x: Any, row: Any) -> Any:
        new = ptir.AddOp(x, one_draw())
        return [new, ptir.MulOp(new, row)]

    def body(x: Any, row: Any) -> Any:
        last, rows = scan(inner, ptir.AddOp(x, one_draw()), ptir.BroadcastToOp(row, result_shape=(2, 4)), stacks=1)
        return [last, rows]

    return list(scan(body, x, ptir.BroadcastToOp(x, result_shape=(3, 4)), stacks=1))


def waiting(n: Any, x: Any) -> Any:
    return list(counted(n, lambda x: [ptir.AddOp(x, one_draw())], x))


CASES: list[tuple[str, str, Any]] = [
    *((f"sort axis {axis}", "f32[3,70,5]", ordered(axis)) for axis in (1, 2)),
    *((f"sort {t}", f"{t}[3,20]", ordered()) for t in ("f16", "bf16", "i1", "si8", "ui32", "ui64")),
    ("merged", "si16[2,4100]", ordered()),
    ("merged columns", "f64[1030,2]", ordered(0)),
    ("a row of one", "f32[4,1]", ordered()),
    ("nothing", "f32[0,4]", lambda x: [*ordered(0)(x), *ordered(1)(x)]),
    *((f"best {k} of {n}", f"f32[3,{n}]", best(k)) for k, n in ((9, 9), (40, 70), (1100, 2100))),
    ("best in rounds", "f64[2100]", best(400)),
    ("best of columns", "si16[2100,2]", best(3, 0, "si64")),
    ("draws", "f32[1]", draws((3, 7), (0,))),
    ("more draws", "f32[1]", draws((1031,), dtypes=("f32",))),
    ("draws in loops", "f32[4]", nested),
    ("draws in a loop that waits", "si32[] f32[4]", waiting),
]


@lru_cache(maxsize=1)
def cases() -> tuple[Batch, list[tuple[str, CupyProgram, Any]]]:
    batch = Batch()
    modules = [(name, program(types, body)) for name, types, body in CASES]
    return batch, [(name, batch.add(module.clone()), module) for name, module in modules]


def numbers(made: Any, seed: int) -> list[np.ndarray]:
    """With many equals, and what is no number, and both zeros."""
    rng, found = np.random.default_rng(seed), list[np.ndarray]()
    for spec in made.inputs:
        x = rng.integers(0 if spec.dtype.name[0] == "u" else -50, 50, spec.shape).astype(spec.numpy_dtype)
        if spec.dtype.name in FLOATS and x.size:
            x = np.where(x == 0, np.where(rng.random(x.shape) < 0.5, 0, -0.0), x).astype(spec.numpy_dtype)
            x = np.where(x == 7, np.where(rng.random(x.shape) < 0.5, np.nan, np.inf), x).astype(spec.numpy_dtype)
        found.append(np.abs(x) % 4 if spec.shape == () else x)
    return found


def test_they_give_the_bits_of_numpy() -> None:
    """But for the logarithm, sine and cosine of normal numbers, whose last digit is the machine's."""
    compiler()
    for i, (name, made, module) in enumerate(cases()[1]):
        assert not [line for line in made.explain() if line.startswith(("host:", "call of"))], name
        plain: Any = mind_runtime.compile(module)
        for seed in (1, 2**40 + i) if "draws" in name else (0,):
            values = numbers(made, i)
            found, expected = made(*values, seed=seed), plain(*values, seed=seed)
            for j, (x, y) in enumerate(zip(found, expected, strict=True)):
                if name in ("draws", "more draws") and j >= len(found) // 2:
                    close(x, y, f"{name} {j}")
                else:
                    assert x.tobytes() == y.tobytes(), (name, j)


def test_nvrtc_takes_them() -> None:
    batch, named = Batch(), {"merged columns", "best 1100 of 2100", "draws in loops", "draws"}
    for name, types, body in CASES:
        if name in named:
            batch.add(program(types, body))
    assert compiled(batch.text(), ARCHITECTURES[1])


@pytest.mark.parametrize(("types", "body"), [("f32[2,5000]", ordered()), ("f32[4]", nested)])
def test_a_program_with_them_is_one_graph(types: str, body: Any) -> None:
    made = on_numpy(program(types, body))
    machine = FakeMachine()
    (x,) = numbers(made, 0)
    here = machine.fresh(x.shape, x.dtype)
    here[...] = x
    made(here)
    made(here)
    RULES.log.clear()
    made(here)
    assert (RULES.log["graph launches"], RULES.log["captures"], RULES.log["waits"]) == (1, 0, 0)


def test_another_seed_is_one_more_launch_and_a_wrong_one_an_error() -> None:
    made: Any = on_numpy(program("f32[1]", draws((5,), dtypes=("f32",))))
    here = FakeMachine().fresh((1,), np.float32)
    seen = [made(here, seed=seed)[0].tolist() for seed in (3, 3, 3, 4, 3)]
    assert seen[0] == seen[1] == seen[2] == seen[4] != seen[3]
    with pytest.raises(MindError, match="seed -1"):
        made(here, seed=-1)


def test_what_no_kernel_sorts_is_a_call() -> None:
    made = compile_on_fake(program("si4[3,4]", ordered()))
    assert any("sorting on the GPU waits" in line for line in made.explain())


def test_many_rows_and_long_ones_are_counted_in_64_bits() -> None:
    for types, body in (("si8[70000,20000]", ordered()), ("si8[2,1100000000]", best(3))):
        made = compile_on_fake(program(types, body))
        assert "typedef long long I;" in made.cuda
        assert not [line for line in made.explain() if line.startswith("host:")]
    made = compile_on_fake(program("si8[3000000000]", ordered()))
    assert [line for line in made.explain() if line.startswith("host:")], "a place has 32 bits"


def test_each_of_these_calls_has_a_reason_where_it_stays_one() -> None:
    assert set(STAGED) <= set(HOST)
    assert sorts.LEAST_TILE & (sorts.LEAST_TILE - 1) == 0
