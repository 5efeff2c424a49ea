"""
A device that is no GPU: NumPy as the array namespace, kernels run by g++ and fibers. What CuPy lacks, it refuses.

With MIND_TEST_GPU set, what is compiled here is compiled for the GPU that there is, and the same tables of tests run there.

NumPy's functions hand out scalars where CuPy hands out arrays of rank 0; both must do.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr

from cuda_emulation import ORDERS, EmulationError, guarded, library, rubbish
from fake_gpu import FakeArray, FakeMachine
from mind_dialect.program import functions
from mind_lowering.cupy.cuda_cpp.text import module_text
from mind_lowering.cupy.launching import CupyKernels, Namespace, device
from mind_lowering.cupy.options import DEFAULT, CupyOptions
from mind_runtime.on_cupy import CupyProgram

ON_GPU = bool(os.environ.get("MIND_TEST_GPU"))
"""Whether the tables of tests run on a GPU instead, as `tests/on_gpu.py` has it."""


class _OnlyCalled:
    """A function that reduces no more than CuPy's: not at all."""

    def __init__(self, function: Any):
        self._function = function
        self.accumulate = function.accumulate

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        return self._function(*arrays, **options)


class _Numpy:
    """NumPy with what CuPy's binary functions can do."""

    add, maximum, minimum = (_OnlyCalled(f) for f in (np.add, np.maximum, np.minimum))

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


class FakeDevice:
    """NumPy arrays as the arrays of a device."""

    def __init__(self) -> None:
        self.xp = Namespace(_Numpy())
        self.launches = 0

    def functions(self, text: str, names: Sequence[str]) -> Sequence[Callable[..., None]]:
        found = library(module_text([text]), tuple(names))
        return [self._function(getattr(found, f"launch_{name}")) for name in names]

    def _function(self, entry: Any) -> Callable[..., None]:
        entry.restype = ctypes.c_char_p

        def launch(grid: tuple[int], block: tuple[int], arrays: Sequence[np.ndarray]) -> None:
            assert 0 < grid[0] < 1 << 31
            assert block[0] <= 1024
            self.launches += 1
            held = []
            for x in arrays:
                assert x.flags.c_contiguous, "a kernel is given an array that is not in row-major order"
                inside, whole = guarded(x.size, x.dtype)
                inside[:] = x.reshape(-1)
                held.append((inside, whole))
            pointers = (ctypes.c_void_p * len(arrays))(*(inside.ctypes.data for inside, _ in held))
            if (issue := entry(pointers, grid[0], block[0], ORDERS[self.launches % len(ORDERS)])) is not None:
                raise EmulationError(issue.decode())
            for x, (inside, whole) in zip(arrays, held, strict=True):
                if rubbish(whole, inside):
                    raise EmulationError("written beyond the end of an array")
                if x.flags.writeable:
                    x.reshape(-1)[:] = inside

        return launch

    def machine(self) -> FakeMachine:
        """What programs on this device run on."""
        return FakeMachine()

    def ready(self, x: Any) -> np.ndarray:
        x = np.asanyarray(x)
        if x.flags.c_contiguous and (x.ctypes.data % 16 == 0 or not isinstance(x, FakeArray)):
            return x
        made = FakeMachine().fresh(x.shape, x.dtype) if isinstance(x, FakeArray) else np.empty(x.shape, x.dtype)
        made[...] = x
        return made


class Batch(FakeDevice):
    """A device for many programs, whose kernels are compiled together: g++ takes a second for a file, however small."""

    def __init__(self) -> None:
        super().__init__()
        self.programs: list[CupyProgram] = []

    def add(self, module: Any) -> CupyProgram:
        """The first function of a module, under a name that no other program of the batch has."""
        func = next(iter(functions(module)))
        func.sym_name = StringAttr(f"f{len(self.programs)}")
        program = CupyProgram(func, device() if ON_GPU else CupyKernels(self), (), 1 << 40)
        self.programs.append(program)
        return program

    def text(self) -> str:
        """All kernels, and what they call."""
        return module_text([program.cuda for program in self.programs])

    def functions(self, text: str, names: Sequence[str]) -> Sequence[Callable[..., None]]:
        whole = self.text()
        every = tuple(re.findall(r"__launch_bounds__\([^)]*\) (\w+)\(", whole))
        found = library(whole, every)
        return [self._function(getattr(found, f"launch_{name}")) for name in names]


def compile_on_fake(module: Any, donated: Sequence[int] = (), options: CupyOptions = DEFAULT) -> CupyProgram:
    """The first function of a module, for a device that is none."""
    kernels = device() if ON_GPU else CupyKernels(FakeDevice())
    return CupyProgram(next(iter(functions(module))), kernels, donated, 1 << 40, options)
