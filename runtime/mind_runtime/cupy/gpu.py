"""
The GPU that plans run on, by way of CuPy: memory, arrays in it, copies, graphs, products.

Temporaries of CuPy's own functions come from a pool of the program's, so that what a graph was captured with stays its own. That
pool has been filled by a first run on the stream that captures, so that nothing is allocated while it does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from mind_lowering.cupy.products import cublaslt
from mind_lowering.cupy.products.cublas import WORKSPACE_BYTES, Cublas, find_library
from mind_lowering.cupy.products.cublaslt import CublasLt

from ..collector import collector_paused
from ..spans import Limits
from .limits import limits_of

Array = Any


@dataclass(frozen=True)
class Room:
    """Memory of the GPU: what keeps it alive, and where it begins."""

    memory: Any
    address: int
    size: int


class Graph(Protocol):
    """Work that was captured."""

    def launch(self) -> None:
        """Enqueue all of it on the current stream."""
        ...


@dataclass(frozen=True)
class Item:
    """A step, its lane, and the numbers of the steps of other lanes that it waits for."""

    run: Callable[[], None]
    lane: int = 0
    waits: tuple[int, ...] = ()


class Machine(Protocol):
    """The machine that plans run on. All work is enqueued; only `read` waits for it."""

    device: int
    """The number of the GPU."""

    def room(self, size: int) -> Room:
        """New memory, from an address that is a multiple of 256."""
        ...

    def room_of(self, array: Array) -> Room:
        """The memory from where an array in row-major order begins, which stays the array's."""
        ...

    def address(self, array: Array) -> int:
        """Return the address of the first element of an array."""
        ...

    def array(self, room: Room, offset: int, shape: Sequence[int], strides: Sequence[int], dtype: Any) -> Array:
        """An array in memory that is there."""
        ...

    def is_here(self, array: Any) -> bool:
        """Return whether something is an array on this GPU."""
        ...

    def fresh(self, shape: Sequence[int], dtype: Any) -> Array:
        """A new array, for the caller to keep."""
        ...

    def copy(self, target: Array, source: Array) -> None:
        """Enqueue a copy of elements, of arrays of one dtype and shape."""
        ...

    def send(self, target: Array, source: np.ndarray[Any, Any]) -> None:
        """Copy an array of the host."""
        ...

    def read(self, array: Array) -> np.ndarray[Any, Any]:
        """Wait for what was enqueued, and copy an array to the host."""
        ...

    def matmul(self, a: Array, b: Array, out: Array, *, tf32: bool) -> bool:
        """Enqueue products of matrices; False for what the library for it cannot do."""
        ...

    def epilogue(self, form: str, operands: Sequence[Array], results: Sequence[Array], *, tf32: bool) -> bool:
        """Enqueue a product of matrices with an epilogue; False for what the library for it cannot do."""
        ...

    def capture(self, items: Sequence[Item]) -> Graph:
        """The graph of what steps enqueue, none of which runs; lanes may run side by side."""
        ...

    def apart(self, work: Callable[[], None]) -> None:
        """Run `work` on the stream that captures, after what is enqueued and before what comes."""
        ...

    def library(self) -> Any:
        """A context in which temporaries of library functions are the program's."""
        ...

    def timed(self, work: Callable[[], None]) -> Callable[[], float]:
        """Enqueue work; the microseconds that it took, once somebody asks, which waits for it."""
        ...

    def limits(self) -> Limits:
        """Return the best rates of the machine."""
        ...

    def order(self) -> None:
        """Let what comes run after what this machine has run before, on whatever stream that was."""
        ...


class Gpu:
    """The current GPU of CuPy, for one program."""

    def __init__(self, cupy: Any):
        self.cupy = cupy
        self.device = int(cupy.cuda.Device().id)
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._side: list[Any] = []
        self._pool = cupy.cuda.MemoryPool()
        self._last: Any = None
        self._workspace: _Workspace | None = None

    def room(self, size: int) -> Room:
        pointer = self.cupy.cuda.alloc(max(size, 1))
        return Room(pointer, int(pointer.ptr), size)

    def room_of(self, array: Array) -> Room:
        cuda, address, size = self.cupy.cuda, int(array.data.ptr), int(array.nbytes)
        return Room(cuda.MemoryPointer(cuda.UnownedMemory(address, size, None, self.device), 0), address, size)

    def address(self, array: Array) -> int:
        return int(array.data.ptr)

    def array(self, room: Room, offset: int, shape: Sequence[int], strides: Sequence[int], dtype: Any) -> Array:
        return self.cupy.ndarray(tuple(shape), dtype, room.memory + offset, tuple(strides))

    def is_here(self, array: Any) -> bool:
        return isinstance(array, self.cupy.ndarray)

    def fresh(self, shape: Sequence[int], dtype: Any) -> Array:
        return self.cupy.ndarray(tuple(shape), dtype)

    def copy(self, target: Array, source: Array) -> None:
        if target.flags.c_contiguous and source.flags.c_contiguous:
            target.data.copy_from_device_async(source.data, target.nbytes)
        else:
            self.cupy.copyto(target, source)

    def send(self, target: Array, source: np.ndarray[Any, Any]) -> None:
        target.set(np.ascontiguousarray(source) if source.ndim else source)

    def read(self, array: Array) -> np.ndarray[Any, Any]:
        return array.get()

    def matmul(self, a: Array, b: Array, out: Array, *, tf32: bool) -> bool:
        with _products:
            cublas = _cublas(self.device)
            cublas.workspace = self._room_of_products()  # of this program, as its graphs may run alongside those of others
            cublas.use(int(self.cupy.cuda.get_current_stream().ptr))
            return cublas.multiply(a, b, out, tf32=tf32)

    def epilogue(self, form: str, operands: Sequence[Array], results: Sequence[Array], *, tf32: bool) -> bool:
        stream, workspace = int(self.cupy.cuda.get_current_stream().ptr), self._room_of_products()
        with _products:
            return _cublaslt(self.device).multiply(form, operands, results, workspace, stream, tf32=tf32)

    def _room_of_products(self) -> _Workspace:
        if self._workspace is None:
            memory = self.cupy.cuda.alloc(WORKSPACE_BYTES)
            self._workspace = _Workspace(memory, int(memory.ptr), WORKSPACE_BYTES)
        return self._workspace

    def capture(self, items: Sequence[Item]) -> Graph:
        stream = self._stream
        with collector_paused(), stream:  # what is collected may be handed back to CUDA, which refuses that now
            stream.begin_capture()
            try:
                self._enqueue(items)
            except BaseException:
                with suppress(Exception):
                    stream.end_capture()
                self._stream, self._side = self.cupy.cuda.Stream(non_blocking=True), []
                raise
            return stream.end_capture()

    def _enqueue(self, items: Sequence[Item]) -> None:
        """Run steps in their lanes: the first is the stream that captures, which the others come from and go back to."""
        while len(self._side) < max((item.lane for item in items), default=0):
            self._side.append(self.cupy.cuda.Stream(non_blocking=True))
        lanes = [self._stream, *self._side]
        ends = {item.lane: i for i, item in enumerate(items)}
        waited = {i for item in items for i in item.waits} | set(ends.values())
        marks: dict[int, Any] = {}
        for i, item in enumerate(items):
            stream = lanes[item.lane]
            for other in item.waits:
                stream.wait_event(marks[other])
            with stream:
                item.run()
            if len(ends) > 1 and i in waited:
                marks[i] = stream.record()
        for lane, i in ends.items():
            if lane:
                self._stream.wait_event(marks[i])

    def apart(self, work: Callable[[], None]) -> None:
        outer = self.cupy.cuda.get_current_stream()
        self._stream.wait_event(outer.record())
        try:
            with self._stream:
                work()
        finally:
            outer.wait_event(self._stream.record())

    @contextmanager
    def library(self) -> Generator[None]:
        with self.cupy.cuda.using_allocator(self._pool.malloc):
            yield

    def timed(self, work: Callable[[], None]) -> Callable[[], float]:
        begin, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        begin.record()
        work()
        end.record()

        def elapsed() -> float:
            end.synchronize()
            return 1e3 * float(self.cupy.cuda.get_elapsed_time(begin, end))

        return elapsed

    def limits(self) -> Limits:
        device, runtime = self.cupy.cuda.Device(self.device), self.cupy.cuda.runtime
        properties = runtime.getDeviceProperties(self.device)
        name = properties["name"]
        return limits_of(
            name.decode() if isinstance(name, bytes) else str(name), str(device.compute_capability), device.attributes
        )

    def order(self) -> None:
        stream = self.cupy.cuda.get_current_stream()
        if self._last is not None and self._last.ptr != stream.ptr:
            stream.wait_event(self._last.record())
        self._last = stream


_products = threading.Lock()


@lru_cache(maxsize=16)
def _cublas(device: int) -> Cublas:
    """The handle for a GPU, made once: that takes long."""
    return Cublas(find_library(), None)


@lru_cache(maxsize=16)
def _cublaslt(device: int) -> CublasLt:
    return CublasLt(cublaslt.find_library())


@dataclass(frozen=True)
class _Workspace:
    memory: Any
    ptr: int
    size: int


def machine_of(device: Any) -> Machine:
    """Return the machine for programs on a device: one for each device."""
    made = getattr(device, "machine", None)
    return Gpu(device.cupy) if made is None else made()
