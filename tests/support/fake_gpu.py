"""
A machine that is no GPU, with the rules of one: memory is planned or asked for, graphs know addresses, a capture runs nothing.

Arrays of the machine are `FakeArray`s, which NumPy's functions work on. Asking one for a number waits for the machine, which is
counted, and refused during a capture; so is asking for memory. What is captured is undone, as if it had not run, and runs when
the graph is launched. Memory holds rubbish at first.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fake_cublas import FakeCublas
from fake_cublaslt import FakeCublasLt
from mind_lowering.cupy.products.cublas import Cublas
from mind_lowering.cupy.products.cublaslt import CublasLt
from mind_runtime.cupy.gpu import Room
from mind_runtime.profile import Limits

ALIGNMENT = 256


class RuleBroken(AssertionError):
    """What no program may do on a GPU."""


class _Rules:
    capturing = False
    log: Counter[str] = Counter()


RULES = _Rules()


def _waits(name: str) -> Callable[..., Any]:
    plain = getattr(np.ndarray, name)

    def method(self: FakeArray, *arguments: Any) -> Any:
        if RULES.capturing:
            raise RuleBroken(f"{name} of an array waits for the GPU during a capture")
        RULES.log["waits"] += 1
        return plain(self.view(np.ndarray), *arguments)

    return method


class FakeArray(np.ndarray):
    """An array of the machine."""

    __int__, __float__, __bool__, __index__ = map(_waits, ("__int__", "__float__", "__bool__", "__index__"))
    item, tolist = map(_waits, ("item", "tolist"))


class FakeGraph:
    """Work to run again and again. What it works on must still be there."""

    def __init__(self, machine: FakeMachine, work: Callable[[], None]):
        self._machine, self._work = machine, work

    def launch(self) -> None:
        if RULES.capturing:
            raise RuleBroken("a graph is launched during a capture")
        RULES.log["graph launches"] += 1
        self._work()


_POOL: dict[int, list[np.ndarray]] = {}


def _from_pool(size: int) -> Room:
    """Memory that no array has any more, the last one first, or new memory; as CuPy's pool would have it."""
    held = _POOL.setdefault(size, [])
    for i in range(len(held) - 1, -1, -1):
        if sys.getrefcount(held[i]) == 2:
            return _room_in(held[i], size)
    held.append(np.empty(size + 2 * ALIGNMENT, np.uint8))
    RULES.log["pool"] += 1
    return _room_in(held[-1], size)


def _room_in(whole: np.ndarray, size: int) -> Room:
    """Memory within a block, full of rubbish."""
    whole[:] = 0xA5
    start = -whole.ctypes.data % ALIGNMENT
    inside = whole[start : start + max(size, 1)]
    return Room(inside, inside.ctypes.data, size)


def awkward(items: Sequence[Any]) -> Callable[[], None]:
    """Steps in an order that lanes allow and nobody would think of: the last lane first, as far as it can go."""
    lanes: dict[int, list[int]] = {}
    for i, item in enumerate(items):
        assert all(j < i and items[j].lane != item.lane for j in item.waits)
        lanes.setdefault(item.lane, []).append(i)
    begun, order = set[int](), list[int]()
    waiting = {lane: list(numbers) for lane, numbers in lanes.items()}
    while any(waiting.values()):
        for lane in sorted(waiting, reverse=True):
            free = [i for i in waiting[lane][:1] if begun.issuperset(items[i].waits)]
            if free:
                order.append(waiting[lane].pop(0))
                begun.add(order[-1])
                break
        else:
            raise RuleBroken("lanes wait for each other")
    for lane, numbers in lanes.items():
        assert lane == 0 or items[numbers[0]].waits, "a lane that does not come from the first"
    RULES.log["lanes"] = max(RULES.log["lanes"], len(lanes))

    def run() -> None:
        for i in order:
            items[i].run()

    return run


class _Room:
    """The workspace of products."""

    ptr, size = 4096, 1 << 20


class FakeMachine:
    """NumPy's memory and functions as those of a GPU."""

    device = 0
    refuses: str | None = None
    """What a capture fails with, to see what happens then."""

    def __init__(self) -> None:
        self._blocks: list[weakref.ref[np.ndarray]] = []
        self._given: dict[int, tuple[Any, Any]] = {}
        self._cublas = Cublas(FakeCublas(), None)
        self._cublaslt = CublasLt(FakeCublasLt())
        self._library = False

    def room(self, size: int) -> Room:
        if RULES.capturing:
            raise RuleBroken("memory is asked for during a capture")
        RULES.log["rooms"] += 1
        whole = np.full(size + 2 * ALIGNMENT, 0xA5, np.uint8)
        start = -whole.ctypes.data % ALIGNMENT
        inside = whole[start : start + max(size, 1)]
        self._blocks.append(weakref.ref(whole))
        return Room(inside, inside.ctypes.data, size)

    def room_of(self, array: Any) -> Room:
        assert array.flags.c_contiguous or not array.size
        address = array.ctypes.data
        raw = np.frombuffer((ctypes.c_ubyte * max(array.nbytes, 1)).from_address(address), np.uint8)
        if array.nbytes:
            self._given[address] = (array, raw)
        return Room(raw, address, array.nbytes)

    def address(self, array: Any) -> int:
        if array.flags.c_contiguous:
            self.room_of(array)
        return array.ctypes.data

    def array(self, room: Room, offset: int, shape: Sequence[int], strides: Sequence[int], dtype: Any) -> Any:
        dtype = np.dtype(dtype)
        if 0 in shape:
            return np.empty(shape, dtype).view(FakeArray)
        reach = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0) + dtype.itemsize
        low = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
        assert low >= 0, "an array begins before its memory"
        assert reach <= room.size, "an array ends behind its memory"
        raw = np.dtype(f"u{dtype.itemsize}") if dtype.kind == "V" or dtype.name not in np.sctypeDict else dtype
        return np.ndarray(tuple(shape), raw, room.memory, offset, tuple(strides)).view(dtype).view(FakeArray)

    def is_here(self, array: Any) -> bool:
        return isinstance(array, FakeArray)

    def fresh(self, shape: Sequence[int], dtype: Any) -> Any:
        if RULES.capturing:
            raise RuleBroken("an array is made during a capture")
        RULES.log["fresh"] += 1
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        room = _from_pool(size)
        strides = np.empty(shape, np.dtype(f"V{np.dtype(dtype).itemsize}")).strides if 0 not in shape else ()
        return self.array(room, 0, shape, strides, dtype)

    def copy(self, target: Any, source: Any) -> None:
        assert isinstance(target, FakeArray), "copied to the host"
        assert self._library or isinstance(source, FakeArray), "copied from the host"
        assert (target.dtype, target.shape) == (source.dtype, source.shape)
        overlap = target.size and np.may_share_memory(target, source, max_work=10000)
        assert not overlap, "a copy of what it writes: the order would be that of the machine"
        RULES.log["copies"] += 1
        target[...] = source

    def send(self, target: Any, source: Any) -> None:
        if RULES.capturing:
            raise RuleBroken("the host sends an array during a capture")
        assert isinstance(target, FakeArray)
        RULES.log["sends"] += 1
        target[...] = source

    def read(self, array: Any) -> np.ndarray:
        if RULES.capturing:
            raise RuleBroken("the host reads an array during a capture")
        RULES.log["waits"] += 1
        return np.array(array.view(np.ndarray))

    def matmul(self, a: Any, b: Any, out: Any, *, tf32: bool) -> bool:
        RULES.log["products"] += 1
        return self._cublas.multiply(a, b, out, tf32=tf32)

    def epilogue(self, form: str, operands: Sequence[Any], results: Sequence[Any], *, tf32: bool) -> bool:
        RULES.log["epilogues"] += 1
        return self._cublaslt.multiply(form, operands, results, _Room(), 0, tf32=tf32)

    def capture(self, items: Sequence[Any]) -> FakeGraph:
        work = awkward(items)
        if self.refuses is not None:
            raise RuntimeError(self.refuses)
        held = [whole for ref in self._blocks if (whole := ref()) is not None]
        held += [raw for _, raw in self._given.values()]
        before = [np.array(x) for x in held]
        RULES.capturing = True
        try:
            work()
        finally:
            RULES.capturing = False
            for whole, old in zip(held, before, strict=True):
                if whole.flags.writeable:
                    whole[...] = old
        RULES.log["captures"] += 1
        return FakeGraph(self, work)

    def apart(self, work: Callable[[], None]) -> None:
        RULES.log["apart"] += 1
        work()

    @contextlib.contextmanager
    def library(self) -> Iterator[None]:
        self._library = True
        yield
        self._library = False

    def timed(self, work: Callable[[], None]) -> Callable[[], float]:
        start = time.perf_counter()
        work()
        took = 1e6 * (time.perf_counter() - start)
        return lambda: took

    def limits(self) -> Limits:
        return Limits("no GPU", 1e11, {"f32": 1e12})

    def order(self) -> None:
        self._given.clear()
