"""Memory of results that is used again: aligned, bounded, sound in threads, in forks and when Python ends."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mind_runtime.native import abi, support

if support.why_not() is not None:
    pytest.skip(f"no native calls here: {support.why_not()}", allow_module_level=True)

MIB = 1 << 20


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """No memory is kept at first, and none comes from what earlier tests left in cycles."""
    gc.collect()
    support.release()
    gc.disable()
    yield
    gc.enable()
    support.release()


def at(x: Any) -> int:
    return x.__array_interface__["data"][0]


def made(count: int) -> Any:
    return support.empty((count,), np.uint8)


@pytest.mark.parametrize("count", [support.LARGE, support.LARGE + 1, 65535, 65536, MIB, 2 * MIB, 2 * MIB + 1, 40 * MIB + 7])
def test_arrays_are_plain_aligned_and_writeable(count: int) -> None:
    x = made(count)
    assert type(x) is np.ndarray
    assert x.base is None
    assert x.flags.owndata
    assert x.flags.writeable
    assert at(x) % 64 == 0
    x[:] = 7
    assert x[0] == x[-1] == 7


def test_a_block_is_used_again_for_as_much_and_not_for_less() -> None:
    x = made(3 * MIB)
    place = at(x)
    del x
    less = made(2 * MIB)
    assert at(less) != place
    again = made(3 * MIB - 100)
    assert at(again) == place
    assert at(made(3 * MIB)) != place


def test_small_blocks_are_left_to_the_system() -> None:
    x = made(support.LARGE)
    del x
    found = support.support()
    assert found is not None
    assert found.keep(support.KEPT) == 0


def test_what_is_kept_goes_with_the_cache_of_programs() -> None:
    import mind_runtime
    from mind_runtime.native import executable

    assert executable.clear  # which is loaded now
    x = made(3 * MIB)
    del x
    found = support.support()
    assert found is not None
    assert found.keep(support.KEPT) > 3 * MIB
    mind_runtime.clear_cache()
    assert found.keep(support.KEPT) == 0


def test_what_is_kept_is_bounded() -> None:
    found = support.support()
    assert found is not None
    try:
        found.keep(10 * MIB)
        for _ in range(3):
            arrays = [made(MIB + 4096 * i) for i in range(80)]
            del arrays
            assert 0 < found.keep(10 * MIB) <= 10 * MIB
        large = made(11 * MIB)
        del large
        assert found.keep(10 * MIB) <= 10 * MIB
    finally:
        found.keep(support.KEPT)


def test_the_one_kept_longest_goes_first() -> None:
    found = support.support()
    assert found is not None
    try:
        found.keep(10 * MIB)
        arrays = [made(n * MIB) for n in (2, 3, 4)]
        places = [at(x) for x in arrays]
        while arrays:
            del arrays[0]
        fourth = made(5 * MIB)
        del fourth
        assert found.keep(10 * MIB) <= 10 * MIB
        assert at(made(4 * MIB)) == places[2]
    finally:
        found.keep(support.KEPT)


def test_it_does_so_whatever_was_kept_before() -> None:
    """Evictions of earlier blocks leave no trace in the order of later ones."""
    found = support.support()
    assert found is not None
    for before in range(8):
        found.keep(10 * MIB)
        earlier = [made(3 * MIB) for _ in range(3 + before)]
        while earlier:
            del earlier[0]
        support.release()
        test_the_one_kept_longest_goes_first()
        support.release()


def test_resizing_keeps_the_elements() -> None:
    x = made(MIB)
    x[:] = np.arange(MIB, dtype=np.uint8)
    for count in (MIB - 5, 3 * MIB, 70_000, 5, MIB):
        before = x.copy()
        x.resize(count, refcheck=False)
        least = min(count, len(before))
        np.testing.assert_array_equal(x[:least], before[:least])
        x[:] = np.arange(count, dtype=np.uint8)


def test_numpy_itself_goes_on_with_its_own_memory() -> None:
    handler: Any = pytest.importorskip("numpy._core.multiarray").get_handler_name
    assert handler(made(MIB)) == "mind-dialect"
    assert handler(np.empty(MIB, np.uint8)) == "default_allocator"
    with pytest.raises((MemoryError, ValueError)):
        made(1 << 50)
    assert handler(np.empty(MIB, np.uint8)) == "default_allocator"


def test_threads_do_not_get_the_same_block() -> None:
    wrong: list[int] = []

    def work(i: int) -> None:
        for n in range(300):
            x, y = made(70_000 + 4096 * (n % 5)), made(70_000)
            x[:], y[:] = i, i + 100
            if not ((x == i).all() and (y == i + 100).all()):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_arrays_outlive_modules_and_forks() -> None:
    script = """
import os, sys, builtins, numpy as np
from mind_runtime.native import support
builtins.kept = [support.empty((n << 18,), np.float32) for n in range(1, 9)]
child = os.fork()
builtins.kept.append(support.empty((1 << 20,), np.float32))
del builtins.kept[0]
support.empty((1 << 18,), np.float32)[:] = 1
if child:
    assert os.waitpid(child, 0)[1] == 0
    print("done")
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=dict(os.environ), timeout=120)
    assert (run.returncode, run.stdout.strip(), run.stderr) == (0, "done", "")


# What Python looks like inside


def test_fields_are_where_native_code_looks() -> None:
    assert abi.reason_against() is None
    assert set(abi.symbols()) >= {"PyArray_NewFromDescr", "PyObject_Vectorcall", "mind_out"}
    assert all(abi.symbols().values())


@pytest.mark.parametrize("field", ["TYPE", "DATA", "RANK", "DIMS", "DTYPE", "FLAGS"])
def test_another_layout_is_noticed(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abi, field, {"DIMS": abi.DATA}.get(field, abi.TYPE - 8))
    assert "another layout" in (abi.reason_against() or "")


def test_builds_without_the_lock_are_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abi.sys, "abiflags", "t")
    assert abi.reason_against() is not None


def test_preparing_weights_leaves_no_memory_for_calls() -> None:
    """The exponentials of the weights are packed; the array of them goes back to the system, as no call asks for as much."""
    import mind_runtime
    from mind_passes.ptir.split_parameters import split_parameters
    from programs import parse
    from ptir_evaluator import function_of

    module = parse("""module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<64x512xf32>, %w: tensor<512x512xf32> {ptir.parameter}) -> tensor<64x512xf32> {
    %e = ptir.exp %w : tensor<512x512xf32>
    %r = ptir.dot_general %x, %e batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] :
      (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
    func.return %r : tensor<64x512xf32>
  }
}""")
    split_parameters(function_of(module))
    x, w = (np.random.default_rng(0).standard_normal(n).astype(np.float32) for n in ((64, 512), (512, 512)))
    program = mind_runtime.bind(module, {"w": w}, target="native")
    assert any(line.startswith("once") for line in program.program.explain())
    found = support.support()
    assert found is not None
    assert found.keep(support.KEPT) == 0
    np.testing.assert_allclose(program(x), x @ np.exp(w), rtol=1e-4, atol=1e-2)
