"""Bound weights move into large pages, the same contents at the same addresses; unused pages of the heap are returned."""

from __future__ import annotations

import ctypes
import mmap
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_lowering import code_cache
from mind_runtime.native import executable, pages
from mind_runtime.native import program as native_program
from ptir_forms import dot, program


def small_pages(count: int) -> Any:
    """So many floats, in small pages, 16 bytes after the beginning of one."""
    room = mmap.mmap(-1, 4 * count + 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        room.madvise(mmap.MADV_NOHUGEPAGE)
    found = np.frombuffer(room, np.float32, count, 16)
    found[:] = np.arange(count) % 1000
    return found


def large_bytes(arrays: list[Any]) -> int:
    """Bytes in large pages, of the mappings that arrays are in."""
    found, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if m := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            first, last = int(m[1], 16), int(m[2], 16)
            inside = any(first < a.ctypes.data + a.nbytes and a.ctypes.data < last for a in arrays)
        elif inside and line.startswith("AnonHugePages:"):
            found += int(line.split()[1]) << 10
    return found


def test_contents_stay_and_pages_grow() -> None:
    arrays = [small_pages((5 << 20) // 4), small_pages((9 << 20) // 4)]
    before = [array.copy() for array in arrays]
    found = pages.stretches([(array.ctypes.data, array.ctypes.data + array.nbytes) for array in arrays])
    assert large_bytes(arrays) == 0
    moved = pages.move(found, arrays)
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)
    assert large_bytes(arrays) == moved * pages.LARGE
    if not moved:
        pytest.skip("this system moves nothing at once")


def test_nobody_is_asked_for_little_or_where_the_system_does_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    array = small_pages((5 << 20) // 4)
    assert pages.settle([array]) is None
    monkeypatch.setattr(pages, "LEAST", 1 << 20)
    (tmp_path / "enabled").write_text("always madvise [never]\n")
    for setting in (tmp_path / "enabled", tmp_path / "absent"):
        monkeypatch.setattr(pages, "_SETTING", setting)
        assert pages.settle([array]) is None


def test_weights_of_a_bound_program(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []

    def settle(arrays: Any) -> None:
        begun.extend(arrays)
        monkeypatch.setattr(pages, "LEAST", 1 << 20)
        if (thread := pages.settle(begun)) is not None:
            thread.join()

    monkeypatch.setattr(native_program, "settle", settle)
    w = small_pages(1024 * 700).reshape(1024, 700)
    module = program("f32[1,1024] f32[1024,700]", lambda x, w: dot(x, w, (1,), (0,)))
    made = mind_runtime.bind(module, {"arg1": w}, target="native")
    assert [array.ctypes.data for array in begun] == [w.ctypes.data]
    x = np.ones((1, 1024), np.float32)
    np.testing.assert_array_equal(made(x), w.sum(0, keepdims=True))


def anonymous_bytes() -> int:
    """Return the memory of this process that is of no file."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) << 10


def test_pages_that_the_heap_does_not_use_are_returned() -> None:
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "malloc_trim"):
        pytest.skip("the C library has no malloc_trim")
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    blocks = [libc.malloc(64 << 10) for _ in range(513)]
    for block in blocks:
        ctypes.memset(block, 1, 64 << 10)
    for block in blocks[:-1]:
        libc.free(block)
    before = anonymous_bytes()
    pages.return_heap()
    assert anonymous_bytes() <= before - (24 << 20)
    libc.free(blocks[-1])


def test_the_heap_is_returned_after_long_modules_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(code_cache.VARIABLE, "")
    counted: list[int] = []
    monkeypatch.setattr(executable, "return_heap", lambda: counted.append(1))
    for long, expected in ((1 << 30, []), (100, [1])):
        mind_runtime.clear_cache()
        monkeypatch.setattr(executable, "LONG", long)
        mind_runtime.compile(program("f32[8]", lambda x: [ptir.NegOp(x)]), target="native")
        assert counted == expected
