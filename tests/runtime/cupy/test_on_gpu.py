"""What only a GPU can show: graphs on CuPy's own streams, arrays of other libraries, memory. Visibly skipped without one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import mind_runtime
from cupy_agreement import arguments, close
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_lowering.cupy.launching import require
from programs import parse
from ptir_control_programs import control_programs
from ptir_forms import program


@pytest.fixture(scope="module")
def cupy() -> Any:
    """CuPy with a GPU, or a visible skip."""
    try:
        require()
    except MindError as e:
        pytest.skip(f"no GPU: {e.message}")
    import cupy as found

    return found


def both(module: Any, values: list[np.ndarray], cupy: Any) -> Any:
    """A program, called on arrays of the host and of the GPU, that stay and that move; it gives what NumPy gives."""
    expected = mind_runtime.compile(module)(*values)
    expected = expected if isinstance(expected, tuple) else (expected,)
    made: Any = mind_runtime.compile(module, target="cupy")
    stay = [cupy.asarray(x) for x in values]
    calls = [values, values, stay, stay, stay, *([cupy.asarray(x) for x in values] for _ in range(12))]
    for i, call in enumerate(calls):
        found = made(*call)
        for x, y in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
            close(x if isinstance(x, np.ndarray) else x.get(), y, f"call {i}")
    return made


def mlp(x: Any, w: Any, b: Any) -> Any:
    p = ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
    return [ptir.TanhOp(ptir.AddOp(p, ptir.BroadcastToOp(b, result_shape=(6, 5)))), ptir.NegOp(p)]


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16"])
def test_a_program_is_one_graph(cupy: Any, dtype: str) -> None:
    module = program(f"{dtype}[6,4] {dtype}[4,5] {dtype}[5]", mlp)
    made = both(module, arguments(mind_runtime.compile(module), 0), cupy)
    assert not made.runner.issues, made.runner.issues
    assert len(made.runner.last.parts) == 1
    assert made.runner.last.parts[0].graph is not None


@settings(max_examples=25, phases=[Phase.explicit, Phase.generate])
@given(control_programs(), st.integers(0, 100))
def test_loops_branches_and_views(cupy: Any, text: str, seed: int) -> None:
    module = parse(text)
    both(module, arguments(mind_runtime.compile(module), seed), cupy)


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_arrays_of_other_libraries_are_not_copied(cupy: Any, library: str) -> None:
    other = pytest.importorskip(library, reason=f"no {library}")
    made: Any = mind_runtime.compile(program("f32[4]", lambda x: ptir.NegOp(x)), target="cupy")
    try:
        given = other.arange(4, dtype=other.float32).cuda() if library == "torch" else other.arange(4, dtype="float32")
        found = made(given)
    except (MindError, RuntimeError, AssertionError) as e:
        pytest.skip(f"{library} has no array on the GPU: {e}")
    np.testing.assert_array_equal(found.get(), [0, -1, -2, -3])
    back = other.from_dlpack(found)
    assert np.asarray(back.cpu() if hasattr(back, "cpu") else back).tolist() == [0, -1, -2, -3]


def test_no_memory_is_asked_for_in_the_steady_state(cupy: Any) -> None:
    module = program("f32[512,512] f32[512,512]", lambda x, y: ptir.ExpOp(ptir.MulOp(ptir.NegOp(x), y)))
    made: Any = mind_runtime.compile(module, target="cupy")
    values = [cupy.ones((512, 512), "float32") for _ in range(2)]
    for _ in range(20):
        made(*values)
    pool = cupy.get_default_memory_pool()
    before = pool.total_bytes(), made.runner.made
    for _ in range(50):
        made(*values)
    assert (pool.total_bytes(), made.runner.made) == before


def test_donated_weights_stay_where_they_are(cupy: Any) -> None:
    module = program("f32[64] f32[64]", lambda w, g: ptir.SubOp(w, g))
    name = mind_runtime.compile(module).inputs[0].name
    made: Any = mind_runtime.compile(module, target="cupy", donate=[name])
    w, g = cupy.zeros(64, "float32"), cupy.ones(64, "float32")
    address = w.data.ptr
    for i in range(10):
        w = made(w, g)
        assert w.data.ptr == address
        assert float(w[0]) == -1 - i


def test_subnormal_numbers_are_numbers(cupy: Any) -> None:
    made: Any = mind_runtime.compile(program("f32[3]", lambda x: ptir.MulOp(x, x)), target="cupy")
    x = np.array([1e-20, 3e-21, 2e-19], np.float32)
    np.testing.assert_array_equal(made(x), x * x)


def test_failures_are_coded_and_the_gpu_goes_on(cupy: Any) -> None:
    module = program("si32[4] si32[4]", lambda x, y: ptir.DivOp(x, y))
    made: Any = mind_runtime.compile(module, target="cupy")
    x, y = np.array([4, 5, 6, 7], np.int32), np.array([1, 0, 3, 0], np.int32)
    for _ in range(4):
        with pytest.raises(MindError, match="division of the integer 5 by 0") as e:
            made(cupy.asarray(x), cupy.asarray(y))
        assert e.value.code == "E8004"
        np.testing.assert_array_equal(made(x, np.maximum(y, 1)), x // np.maximum(y, 1))
    huge = program("f32[1048576,1048576]", lambda x: ptir.NegOp(x))
    with pytest.raises(MindError) as e:
        mind_runtime.compile(huge, target="cupy")
    assert e.value.code == "E6004"


def test_what_is_profiled(cupy: Any) -> None:
    from mind_runtime.profile import profile

    module = program("f32[6,4] f32[4,5] f32[5]", mlp)
    made: Any = mind_runtime.compile(module, target="cupy")
    found = profile(made, [cupy.asarray(x) for x in arguments(made, 0)])
    assert found.limits.bandwidth > 1e10
    assert all(s.duration > 0 for s in found.spans)
    assert found.table()
