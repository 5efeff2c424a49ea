"""
The namespace `k` of lowered code on a GPU: the kernels of the NumPy target over CuPy's namespace, and launches of our own.

CuPy is imported when a device is asked for, by `device`. The namespace that code sees is CuPy's, but for the reductions of
binary functions, which CuPy has under other names. A device of another kind, as in tests, gives a namespace and launches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, cast

from mind_dialect.errors import error
from mind_dialect.ptir import PtirOp

from ..kernels import Kernels
from .cuda_cpp.nvrtc import architecture, machine_codes
from .cuda_cpp.text import modules
from .kernels.failures import failure

Array = Any
NO_FAILURE = (1 << 64) - 1
RECORD = 3
"""So many numbers of 64 bits are a record of failures, all ones at first."""
ALIGNMENT = 16


class Device(Protocol):
    """The device of kernels: an array namespace, and functions of compiled modules."""

    xp: Any

    def functions(self, text: str, names: Sequence[str]) -> Sequence[Any]:
        """The kernels of a text by name; each is called as `f((grid,), (block,), arrays)`."""
        ...

    def ready(self, x: Array) -> Array:
        """`x` in row-major order from an address that is a multiple of `ALIGNMENT`: itself, or a copy."""
        ...


@dataclass
class CudaModule:
    """The kernels of a function, compiled together when the first is launched."""

    device: Device
    text: str
    kernels: dict[str, LaunchedKernel]

    def kernel(self, name: str, **how: Any) -> LaunchedKernel:
        """A kernel of the module by its name in CUDA, and how it is launched."""
        made = self.kernels[name] = LaunchedKernel(self, **how)
        return made

    def compile(self) -> None:
        """Have the kernels compiled."""
        names = list(self.kernels)
        found = self.device.functions(self.text, names)
        for name, function in zip(names, found, strict=True):
            self.kernels[name].function = function


@dataclass
class LaunchedKernel:
    """One kernel and how it is launched; see `kernel.Launch`."""

    module: CudaModule
    outputs: Sequence[tuple[tuple[int, ...], Any]]
    grid: int
    block: int
    scratch: int = 0
    counters: int = 0
    into: int | None = None
    fails: Sequence[Sequence[Any]] = ()
    sites: Sequence[PtirOp] = ()
    function: Any = None

    def run(self, arrays: Sequence[Array]) -> None:
        """Launch it on all that it takes."""
        if self.function is None:
            self.module.compile()
        assert self.function is not None
        self.function((self.grid,), (self.block,), tuple(arrays))

    def check(self, record: Sequence[int]) -> None:
        """Raise the error of what a launch has noted in its record, if it has."""
        first, _, number = record
        if first == NO_FAILURE:
            return
        site = first >> 56
        raised = failure(self.fails[site], number)
        op = self.sites[site] if site < len(self.sites) else None
        raise raised if op is None else raised.at(op, op.place())


class CupyKernels(Kernels):
    """The kernels over a device."""

    def __init__(self, device: Device):
        super().__init__(device.xp)
        self.device = device

    def module(self, text: str) -> CudaModule:
        """Kernels as CUDA C++."""
        return CudaModule(self.device, text, {})

    def launch(self, kernel: LaunchedKernel, *inputs: Array) -> Any:
        """The results of one launch, in new arrays or one of the given. What fails in it is raised before anything else runs."""
        xp = self.xp
        given = [*map(self.device.ready, inputs)]
        made = [xp.empty(shape, dtype) for shape, dtype in kernel.outputs] if kernel.into is None else [given[kernel.into]]
        if kernel.grid:
            arrays = [*given, *made]
            if kernel.scratch:
                arrays += [xp.empty(kernel.scratch, "uint8"), xp.zeros(kernel.counters, "uint32")]
            if kernel.fails:
                self._launch_checked(kernel, arrays)
            else:
                kernel.run(arrays)
        return made[0] if len(made) == 1 else made

    def _scattered(self, x: Array, places: Array, updates: Array, kind: str) -> Array:
        """As of the base; of several elements that replace one the last does, whatever the machine would do first."""
        if kind == "replace" and places.size:
            order, first = sorted_places(self.xp, places)
            last = self.xp.ones(places.shape, "bool")
            last[:-1] = first[1:] != first[:-1]
            places, updates = places[order[last]], updates[order[last]]
        return super()._scattered(x, places, updates, kind)

    def _launch_checked(self, kernel: LaunchedKernel, arrays: list[Array]) -> None:
        """As a launch, waited for; E6001, E8004 and their like for what failed in it."""
        record = self.xp.full(RECORD, NO_FAILURE, "uint64")
        kernel.run([*arrays, record])
        kernel.check([int(n) for n in record.tolist()])


class Namespace:
    """CuPy's functions, with `add.reduce` and its like as NumPy has them."""

    def __init__(self, cupy: Any):
        self._cupy = cupy
        self.add = _Reducing(cupy, cupy.add, cupy.sum)
        self.maximum = _Reducing(cupy, cupy.maximum, cupy.amax)
        self.minimum = _Reducing(cupy, cupy.minimum, cupy.amin)
        self.multiply = _Reducing(cupy, cupy.multiply, cupy.prod)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cupy, name)


class _Reducing:
    """A binary function that also reduces, several axes at once, accumulates, and updates elements."""

    def __init__(self, xp: Any, function: Any, reduction: Any):
        self._xp, self._function, self._reduction = xp, function, reduction

    def __call__(self, *arrays: Any, **options: Any) -> Array:
        return self._function(*arrays, **options)

    def reduce(self, x: Array, *, axis: Any, keepdims: bool = False, **options: Any) -> Array:
        """As of a NumPy function."""
        return self._reduction(x, axis=axis, keepdims=keepdims, **options)

    def accumulate(self, x: Array, **options: Any) -> Array:
        """As of a NumPy function."""
        return self._function.accumulate(x, **options)

    def at(self, target: Array, where: Any, updates: Array) -> None:
        """
        As of a NumPy function: updates of one element come one after the other, in their order.

        Without atomics, whose order would be that of the machine: as many steps as one element has updates at most.
        """
        xp = self._xp
        places = xp.ravel_multi_index(where, target.shape) if isinstance(where, tuple) else where
        if not places.size:
            return
        order, first = sorted_places(xp, places)
        iterations = xp.arange(places.size) - first
        for iteration in range(int(iterations.max()) + 1):
            picked = order[iterations == iteration]
            index: Any = tuple([w[picked] for w in cast("tuple[Any, ...]", where)]) if isinstance(where, tuple) else where[picked]
            target[index] = self._function(target[index], updates[picked])


def sorted_places(xp: Any, places: Array) -> tuple[Array, Array]:
    """Return the order that sorts places, equal ones as they come, and for each sorted one the place of its first equal."""
    order = xp.argsort(places, kind="stable")
    ordered = places[order]
    return order, xp.searchsorted(ordered, ordered, side="left")


class CupyDevice:
    """The current GPU of CuPy."""

    def __init__(self) -> None:
        import cupy  # pyright: ignore[reportMissingImports, reportMissingTypeStubs, reportUnknownVariableType]

        self.cupy: Any = cupy
        self.xp = Namespace(cupy)

    def functions(self, text: str, names: Sequence[str]) -> Sequence[Any]:
        """Compiled by NVRTC for this GPU, or found on disk."""
        machine = architecture(str(self.cupy.cuda.Device().compute_capability))
        held = modules(text)
        found: dict[str, Any] = {}
        for code, (_, here) in zip(machine_codes([source for source, _ in held], machine), held, strict=True):
            module = self.cupy.cuda.function.Module()
            module.load(code)
            found |= {name: module.get_function(name) for name in here}
        return [found[name] for name in names]

    def ready(self, x: Array) -> Array:
        """`x`, copied if its elements are not one after the other from a good address."""
        if not isinstance(x, self.cupy.ndarray):
            return self.cupy.asarray(x)
        return x if x.flags.c_contiguous and x.data.ptr % ALIGNMENT == 0 else self.cupy.array(x, order="C", copy=True)


def require() -> None:
    """Raise E6002 unless CuPy and a GPU are there."""
    hint = "pip install 'mind-dialect[cupy]' on a machine with an NVIDIA GPU"
    try:
        import cupy  # pyright: ignore[reportMissingImports, reportMissingTypeStubs, reportUnknownVariableType]
    except ImportError:
        message = f"the target 'cupy' needs the package cupy, which is not installed: {hint}"
        raise error("E6002", message, requested="cupy", available=["numpy"]) from None
    found: Any = cupy
    try:
        count = found.cuda.runtime.getDeviceCount()
    except found.cuda.runtime.CUDARuntimeError as e:
        message = f"the target 'cupy' needs an NVIDIA GPU, and CUDA finds none: {e}"
        raise error("E6002", message, requested="cupy", available=["numpy"]) from None
    if not count:
        raise error("E6002", "the target 'cupy' needs an NVIDIA GPU, and there is none", requested="cupy", available=["numpy"])


@lru_cache(maxsize=1)
def device() -> CupyKernels:
    """The kernels over the GPU; E6002 without CuPy or a GPU."""
    require()
    return CupyKernels(CupyDevice())
