"""
The callable that `compile` makes for the target `cupy`: a `Program` whose arrays are on a GPU.

Arguments are NumPy arrays, which are copied to the GPU, or arrays that are there already: CuPy's, or what has `__dlpack__`. If
every argument was NumPy's, so are the results; else they are CuPy's. A function whose dimensions have names is compiled for the
sizes of each call. What has sizes runs by a plan (`cupy/`), other functions as the Python that is printed.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect.errors import MindError, error
from mind_lowering.core_to_ptir import is_core
from mind_lowering.cupy.kernels.call_kernels import call_kernels
from mind_lowering.cupy.launching import CupyKernels, device
from mind_lowering.cupy.lower import lowered_for_cupy
from mind_lowering.cupy.options import DEFAULT, CupyOptions
from mind_lowering.cupy.planning.planner import LaunchPlan, Unplanned, plan_function
from mind_lowering.cupy.reasons import reasons
from mind_lowering.cupy.source import cupy_source
from mind_lowering.memory_need import Need, allocation_error, check_need, check_rank
from mind_lowering.memory_plan import MemoryPlan
from mind_lowering.xp.peak import peak

from .compiled import Body
from .core_errors import attributed, place_of
from .cupy.arguments import on_device, shared_memory
from .cupy.gpu import machine_of
from .cupy.runner import CudaRunner
from .donation import MemoryRanges
from .program import Program, checked_seed
from .shapes import bound_function
from .signature import admit
from .specialized import Shapes


class CupyProgram(Program):
    """A compiled function that runs on a GPU."""

    target = "cupy"
    compiles_in_background = False  # capturing a graph and compiling on another thread disturb each other

    def __init__(self, func: FuncOp, kernels: CupyKernels, donated: Collection[int], limit: int, options: CupyOptions = DEFAULT):
        self._kernels, self.options = kernels, options
        made = lowered_for_cupy(func, donated, options)
        self._is_core = is_core(func)
        self._cuda = ""
        self.symbols: dict[str, str] = {}
        """The names of kernels in CUDA, by those in Python."""
        self.runner: CudaRunner | None = None
        """The runner of the plan; None where there is none, for which `unplanned` is the reason."""
        self.unplanned: str | None = None
        self._machine = machine_of(kernels.device)
        self._origin: dict[Operation, Operation | None] = dict(zip(made.func.body.block.walk(), made.origins, strict=True))
        self._resident: dict[int, Any] = {}
        super().__init__(func, self._made(made.func, donated), made.origins, donated, limit)
        check_need(self._body.need, limit)

    def _made(self, func: FuncOp, donated: Collection[int]) -> Body:
        """Print the function and compile the text, in a namespace that holds what it uses and nothing else; plan it."""
        k = self._kernels
        source, kernels = cupy_source(func)
        calls = call_kernels(func, source.name, kernels)
        block = func.body.block
        for argument in block.args:
            check_rank(argument.type)
        scope: dict[str, Any] = {"__builtins__": {}, "xp": k.xp, "k": k}
        for name, literal in source.constants:
            scope[name] = k.constant(value=literal)
        plan: LaunchPlan | None = None
        try:
            plan = plan_function(func, kernels.launches(), donated, calls)  # which adds kernels
        except Unplanned as e:
            self.unplanned = str(e)
        self._cuda = kernels.text()
        self.symbols = dict(kernels.symbols)
        module = k.module(self._cuda)
        launched: dict[str, Any] = {}
        for name, kernel in kernels.found.items():
            how = kernel.launch
            outputs = [(spec.shape, k.dtype(spec.dtype.name)) for spec in how.outputs]
            sizes = {"grid": how.grid, "block": how.block, "scratch": how.scratch, "counters": how.counters, "into": how.into}
            launched[name] = module.kernel(kernels.symbols[name], outputs=outputs, fails=how.fails, sites=kernel.sites, **sizes)
        scope |= launched
        exec(builtins.compile(source.text, f"<mind-cupy {source.name}>", "exec", dont_inherit=True), scope)
        need = peak(block)
        if plan is not None:
            self.runner = CudaRunner(self._machine, plan, k, launched, self._blamed, self.options)
            need = Need(max(need.bytes, self.runner.bytes), need.type)
        run = scope[source.name]
        constant_bytes = sum(len(literal.data.data) for _, literal in source.constants)
        return Body(run, run.__code__, source, block, need, constant_bytes)

    def __call__(self, *arguments: Any, seed: int = 0, out: Any = None) -> Any:
        """As `Program.__call__`, for arrays of NumPy or on the GPU. E6008 for what a device does that it should not."""
        if len(arguments) != len(self.inputs):
            raise self._wrong_count(len(arguments))
        if out is None and self.runner is not None and (found := self._quick(arguments, seed)) is not None:
            return found[0] if len(found) == 1 else tuple(found)
        given = [self._admitted(i, argument) for i, argument in enumerate(arguments)]
        if self.donated:
            self.check_donated(given)
        return self.execute(given, seed) if out is None else self.into(out, lambda: self.execute(given, seed))

    def _quick(self, arguments: Sequence[Any], seed: int) -> list[Any] | None:
        """Return what a runner that knows the arguments makes of them; None if it does not."""
        assert self.runner is not None
        try:
            return self.runner.quick(arguments, checked_seed(seed))
        except Exception as e:
            raise self._device_failure(e) from e

    def _admitted(self, i: int, argument: Any) -> Any:
        """An argument as an array of NumPy, or of the GPU in a form that kernels take; E2001 for what is neither."""
        if not self._machine.is_here(argument) and isinstance(argument, np.ndarray | np.generic):
            return admit(argument, self.inputs[i], self._what(i))
        made = on_device(argument, self.inputs[i], self._what(i), self._machine, self._kernels.xp)
        return made if i in self.donated else self._kernels.device.ready(made)

    def admit(self, i: int, argument: Any) -> Any:
        """Bind values permanently, as weights are: they stay on the GPU."""
        given = self._admitted(i, argument)
        if not isinstance(argument, np.ndarray) or self._machine.is_here(given):
            return given
        made = self._machine.fresh(given.shape, given.dtype)
        self._machine.send(made, given)
        self._resident[id(made)] = made
        return made

    def shared_memory(self, arguments: Sequence[Any]) -> set[int]:
        return shared_memory(arguments, self.donated, self._machine)

    def memory_of(self, arrays: Collection[Any]) -> MemoryRanges | None:
        return None

    def execute(self, arguments: Sequence[Any], seed: int = 0) -> Any:
        """As of a `Program`; the results are NumPy's if all arguments were that are not bound."""
        here = self._machine.is_here
        home = not any(here(a) and id(a) not in self._resident for a in arguments)
        try:
            found = self._executed(arguments, seed, home=home)
        except MindError as e:
            found = attributed(e, self._func)
            if self._is_core and found.code == "E8004":
                found = MindError("E6006", found.message, found.context, found.op)
            raise found from None
        except Exception as e:
            raise self._device_failure(e) from e
        return found

    def _executed(self, arguments: Sequence[Any], seed: int, *, home: bool) -> Any:
        if self.runner is not None:
            with np.errstate(all="ignore"):
                results = self.runner(arguments, checked_seed(seed), home=home)
            return results[0] if len(self.outputs) == 1 else tuple(results)
        if not self._dynamic:
            return self._in_general(arguments, seed, home=home)
        return self.run_by_sizes(
            arguments,
            lambda program, given: program._executed(given, seed, home=home),
            lambda: self._in_general(arguments, seed, home=home),
        )

    def _in_general(self, arguments: Sequence[Any], seed: int, *, home: bool) -> Any:
        """Run the Python that is printed; the results are NumPy's if they are to go home."""
        given = [a if self._machine.is_here(a) else self._kernels.xp.asarray(a) for a in arguments]
        results = self.run_general(given, seed)
        if not home:
            return results
        one = len(self.outputs) == 1
        arrays = [self._machine.read(x) for x in ([results] if one else results)]
        return arrays[0] if one else tuple(arrays)

    def arena_plan(self, *arguments: Any) -> MemoryPlan | None:
        """As of a `Program`, on the GPU."""
        if self.runner is not None:
            return self.runner.arena_plan()
        bound = self.by_sizes.compiled(self.open_shapes(arguments)) if self._dynamic else None
        return None if bound is None else bound.arena_plan(*arguments)

    def device_memory(self, *arguments: Any) -> dict[str, int] | None:
        """Return the plan's bytes on the GPU; None without a plan, where each call asks CuPy for what it needs."""
        if self.runner is not None:
            return self.runner.memory([self._machine.is_here(a) for a in arguments])
        program = self.by_sizes.compiled(self.open_shapes(arguments)) if self._dynamic else None
        return None if program is None else program.device_memory(*arguments)

    def _blamed(self, op: Operation, e: MindError) -> MindError:
        """An error of a step, with the op of the program that it comes from."""
        origin = self._origin.get(op)
        return e if origin is None else attributed(e.at(origin, place_of(origin)), self._func)

    def _device_failure(self, e: Exception) -> Exception:
        """Return an error of CuPy as a coded error; what is no failure of a device stays as it is."""
        name, module = type(e).__name__, type(e).__module__
        if name == "OutOfMemoryError" or isinstance(e, MemoryError):
            return allocation_error(self._func.function_type.outputs.data[0], f"the GPU is out of memory: {e}")
        if module.partition(".")[0] in ("cupy", "cupy_backends", "cuda"):
            return error("E6008", f"the GPU failed in @{self.name}: {name}: {e}", device="cuda", status=name)
        return e

    def explain(self) -> list[str]:
        """Lines that say which kernels run, what the host takes part in and why, and what is no graph."""
        lines = [f"@{self.name} on cupy: {self._cuda.count('__global__')} CUDA kernels"]
        if self.runner is not None:
            lines += self.runner.explain()
        else:
            lines.append(f"no plan and no graph: {self.unplanned}; calls are compiled for their sizes where that can be")
        lines += reasons(self._func, self.options)
        return [*lines, *self.explain_sizes(), *self._body.source.text.splitlines()]

    @property
    def cuda(self) -> str:
        """The kernels, without what they all call."""
        return self._cuda

    def specialised(self, shapes: Shapes) -> Program | None:
        """As of a `Program`, on the GPU."""
        try:
            bound = None if self._guard is None else bound_function(self._func, shapes)
            return None if bound is None else CupyProgram(bound[0], self._kernels, self.donated, self._limit, self.options)
        except MindError:
            return None


def compile_for_cupy(func: FuncOp, donated: Collection[int], limit: int | None, options: CupyOptions = DEFAULT) -> Program:
    """Compile a function for the GPU; E6002 without one, and as `compile`."""
    kernels = device()
    if limit is None:
        limit = int(kernels.xp.cuda.Device().mem_info[1])
    for argument in func.body.block.args if len(func.body.blocks) == 1 else ():
        check_rank(argument.type)
    return CupyProgram(func, kernels, donated, limit, options)
