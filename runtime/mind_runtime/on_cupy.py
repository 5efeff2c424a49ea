"""
The callable that `compile` makes for the target `cupy`: a `Program` whose arrays are on a GPU.

Arguments are NumPy arrays, which are copied to the GPU, or arrays that are there already: CuPy's, or what has `__dlpack__`. If
every argument was NumPy's, so are the results; else they are CuPy's. A function whose dimensions have names is compiled for the
sizes of each call.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp

from mind_dialect.errors import MindError, error
from mind_lowering.core_to_ptir import is_core
from mind_lowering.cupy.launching import CupyKernels, device
from mind_lowering.cupy.lower import lowered_for_cupy
from mind_lowering.cupy.source import cupy_source

from .memory import allocation_error, check_need, check_rank, peak
from .program import Program, _Body, admit  # pyright: ignore[reportPrivateUsage]
from .shapes import bound_function


class CupyProgram(Program):
    """A compiled function that runs on a GPU."""

    def __init__(self, func: FuncOp, kernels: CupyKernels, donated: Collection[int], limit: int):
        self._kernels = kernels
        made = lowered_for_cupy(func, donated)
        self._is_core = is_core(func)
        self._cuda = ""
        super().__init__(func, self._made(made.func), made.origins, donated, limit)
        check_need(self._body.need, limit)

    def _made(self, func: FuncOp) -> _Body:
        """Print the function and compile the text, in a namespace that holds what it uses and nothing else."""
        k = self._kernels
        source, kernels = cupy_source(func)
        block = func.body.block
        for argument in block.args:
            check_rank(argument.type)
        scope: dict[str, Any] = {"__builtins__": {}, "xp": k.xp, "k": k}
        for name, literal in source.constants:
            scope[name] = k.constant(value=literal)
        self._cuda = kernels.text()
        module = k.module(self._cuda)
        for name, kernel in kernels.found.items():
            how = kernel.launch
            outputs = [(spec.shape, k.dtype(spec.dtype.name)) for spec in how.outputs]
            sizes = {"grid": how.grid, "block": how.block, "scratch": how.scratch, "counters": how.counters}
            scope[name] = module.kernel(kernels.symbols[name], outputs=outputs, fails=how.fails, sites=kernel.sites, **sizes)
        exec(builtins.compile(source.text, f"<mind-cupy {source.name}>", "exec", dont_inherit=True), scope)
        run = scope[source.name]
        constant_bytes = sum(len(literal.data.data) for _, literal in source.constants)
        return _Body(run, run.__code__, source, block, peak(block), constant_bytes)

    def __call__(self, *arguments: Any, seed: int = 0) -> Any:
        """As `Program.__call__`, for arrays of NumPy or on the GPU. E6008 for what a device does that it should not."""
        if len(arguments) != len(self.inputs):
            raise self._wrong_count(len(arguments))
        xp = self._kernels.xp
        given: list[Any] = []
        for i, argument in enumerate(arguments):
            if isinstance(argument, np.ndarray | np.generic):
                given.append(xp.asarray(self.admit(i, argument)))
            else:
                given.append(self._on_device(i, argument))
        results = self.execute(given, seed)
        if any(not isinstance(a, np.ndarray | np.generic) for a in arguments):
            return results
        one = len(self.outputs) == 1
        arrays = [self._home(x) for x in ([results] if one else results)]
        return arrays[0] if one else tuple(arrays)

    def _home(self, x: Any) -> Any:
        return x.get() if hasattr(x, "get") else np.asarray(x)

    def _on_device(self, i: int, argument: Any) -> Any:
        """An array of the device, or what can become one without a copy; E2001 for another."""
        xp, spec = self._kernels.xp, self.inputs[i]
        if not isinstance(argument, xp.ndarray):
            if not hasattr(argument, "__dlpack__"):
                return admit(argument, spec, self._what(i))  # which raises
            try:
                argument = xp.from_dlpack(argument)
            except Exception as e:
                message = f"{self._what(i)}: expected an array on the GPU, found {type(argument).__name__}: {e}"
                raise error("E2001", message, expected=str(spec), actual=type(argument).__name__) from None
        if argument.dtype != spec.numpy_dtype or not spec.fits(argument.shape):
            actual = f"{argument.dtype}{list(argument.shape)}"
            message = (
                f"{self._what(i)}: expected an array of {spec.numpy_dtype}[{', '.join(map(str, spec.shape))}], found {actual}"
            )
            raise error("E2001", message, expected=str(spec), actual=actual)
        return argument

    def execute(self, arguments: Sequence[Any], seed: int = 0) -> Any:
        try:
            return super().execute(arguments, seed)
        except MindError as e:
            if self._is_core and e.code == "E8004":
                raise MindError("E6006", e.message, e.context, e.op) from None
            raise
        except Exception as e:
            raise self._device_failure(e) from e

    def _device_failure(self, e: Exception) -> Exception:
        """What CuPy raises, as a coded error; what is no failure of a device stays as it is."""
        name, module = type(e).__name__, type(e).__module__
        if name == "OutOfMemoryError":
            return allocation_error(self._func.function_type.outputs.data[0], f"the GPU is out of memory: {e}")
        if module.partition(".")[0] in ("cupy", "cupy_backends", "cuda"):
            return error("E6008", f"the GPU failed in @{self.name}: {name}: {e}", device="cuda", status=name)
        return e

    def explain(self) -> list[str]:
        """Lines that say which kernels run."""
        return [f"@{self.name} on cupy: {self._cuda.count('__global__')} CUDA kernels", *self._body.source.text.splitlines()]

    @property
    def cuda(self) -> str:
        """The kernels, without what they all call."""
        return self._cuda

    def _specialised(self, shapes: tuple[tuple[int, ...], ...]) -> Program | None:
        """As of a `Program`, on the GPU."""
        try:
            bound = None if self._guard is None else bound_function(self._func, shapes)
            return None if bound is None else CupyProgram(bound[0], self._kernels, self.donated, self._limit)
        except MindError:
            return None


def compile_for_cupy(func: FuncOp, donated: Collection[int], limit: int | None) -> Program:
    """Compile a function for the GPU; E6002 without one, and as `compile`."""
    kernels = device()
    if limit is None:
        limit = int(kernels.xp.cuda.Device().mem_info[1])
    for argument in func.body.block.args if len(func.body.blocks) == 1 else ():
        check_rank(argument.type)
    return CupyProgram(func, kernels, donated, limit)
