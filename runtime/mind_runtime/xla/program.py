"""
The callable that `compile` makes for the target `xla`: a `Program` that XLA compiles and runs, by way of JAX.

Arguments are NumPy arrays, which are copied to the devices, or JAX arrays that are there already. If every argument was NumPy's,
so are the results; else they are JAX's. A function whose dimensions have names is compiled for the sizes of each call, and the
last few of these are kept.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, error
from mind_dialect.program import input_names
from mind_dialect.ptir_shapes import UNKNOWN
from mind_lowering.core_to_ptir import is_core
from mind_lowering.memory_need import Need, check_need, check_rank, read_any
from mind_lowering.ptir_to_stablehlo.text import StablehloProgram, stablehlo_program
from mind_lowering.xp.python import PythonSource

from ..compiled import Body
from ..donation import MemoryRanges, shared_memory
from ..program import Program, checked_seed, place_of
from ..shapes import KEPT, bound_function
from ..signature import TensorSpec, admit
from .artifact import exported
from .collectives import count_collectives
from .faults import fault_error, runtime_error
from .options import DEFAULT, XlaOptions
from .session import devices, require
from .sharding import MODULE, Layout, make_mesh, named_sharding, read_layout, read_mesh, stated_layouts, stated_mesh

Shardings = Mapping[str, Any]


class XlaProgram(Program):
    """A compiled function that XLA runs, on one device or on a mesh of them."""

    def __init__(
        self,
        func: FuncOp,
        donated: Collection[int],
        limit: int,
        options: XlaOptions = DEFAULT,
        mesh: Any = None,
        layouts: Mapping[str, Layout] | None = None,
    ):
        self.options, self.mesh, self.layouts = options, mesh, dict(layouts or {})
        self._jax = require()
        self._is_core = is_core(func)
        self._resident: dict[int, Any] = {}
        self._compiled: OrderedDict[tuple[tuple[int, ...], ...], XlaProgram] = OrderedDict()
        self._lock = threading.Lock()
        need = _need(func)
        check_need(need, limit)
        self.exported: Any = None
        """The `jax.export.Exported` that runs; None for a function with named dimensions, which has one for each binding."""
        self.program: StablehloProgram | None = None
        text = ""
        if all(isinstance(n, int) for argument in func.body.block.args for n in dims(argument.type)):
            self.program = stablehlo_program(func, options.exported(), shardings=False)
            text = self.program.text
            self.exported = exported(self.program, func.sym_name.data, [self._platform])
        source = PythonSource(func.sym_name.data, text, (), (), draws=self.program is not None and self.program.takes_seed)
        body = Body(_never, _never.__code__, source, func.body.block, need, 0)
        super().__init__(func, body, (), donated, limit)
        for name in self.layouts:
            if name not in (known := [s.name for s in self.inputs]):
                raise error("E7003", f"no input {name!r} to shard, expected one of {known}", name=name, known=known)

    @property
    def _platform(self) -> str:
        return self._devices[0].platform if self.mesh is None else self.mesh.devices.flat[0].platform

    @cached_property
    def _devices(self) -> list[Any]:
        return devices(self.options.platform)

    @cached_property
    def _function(self) -> Any:
        """The jitted call; compiled by JAX for each way in which arguments lie on devices."""
        return self._jax.jit(self.exported.call, donate_argnums=self.donated)

    # Arguments

    def __call__(self, *arguments: Any, seed: int = 0, out: Any = None) -> Any:
        """
        As `Program.__call__`, for arrays of NumPy or of JAX.

        E6004 where XLA has no memory, E6008 for what else it raises.
        """
        if len(arguments) != len(self.inputs):
            raise self._wrong_count(len(arguments))
        given = [self._admitted(i, argument) for i, argument in enumerate(arguments)]
        if self.donated:
            self.check_donated(given)
        return self.execute(given, seed) if out is None else self.into(out, lambda: self.execute(given, seed))

    def is_here(self, argument: Any) -> bool:
        """Return whether an argument is an array of JAX."""
        return isinstance(argument, self._jax.Array)

    def _admitted(self, i: int, argument: Any) -> Any:
        """An argument as an array of NumPy or of JAX; E2001 for another dtype or shape."""
        if not self.is_here(argument):
            return admit(argument, self.inputs[i], self._what(i))
        spec = self.inputs[i]
        if argument.dtype != spec.numpy_dtype or not spec.fits(argument.shape):
            expected = f"an array of {spec.numpy_dtype}[{', '.join(map(str, spec.shape))}]"
            actual = f"{argument.dtype}{list(argument.shape)}"
            raise error("E2001", f"{self._what(i)}: expected {expected}, found {actual}", expected=str(spec), actual=actual)
        return argument

    def admit(self, i: int, argument: Any) -> Any:
        """Put what is given permanently, as weights are, on the devices from now on."""
        given = self._admitted(i, argument)
        if self.is_here(given):
            return given
        made = self.place(i, given)
        self._resident[id(made)] = made
        return made

    def place(self, i: int, argument: Any) -> Any:
        """A NumPy array as a JAX array that lies as input `i` does."""
        with self._jax.enable_x64(True):
            return self._jax.device_put(argument, self.sharding(i))

    def sharding(self, i: int) -> Any:
        """Return the layout of the arrays of input `i`: whole on one device, or as stated on the mesh."""
        if self.mesh is None:
            return self._jax.sharding.SingleDeviceSharding(self._devices[0])
        return named_sharding(self.mesh, self.layouts.get(self.inputs[i].name, ()))

    def check_donated(self, arguments: Sequence[Any]) -> None:
        """As of a `Program`, of arrays of NumPy; those of JAX are checked by JAX."""
        if not any(map(self.is_here, arguments)):
            super().check_donated(arguments)

    def shared_memory(self, arguments: Sequence[Any]) -> set[int]:
        return shared_memory(arguments, self.donated)

    def memory_of(self, arrays: Collection[Any]) -> MemoryRanges | None:
        return None

    # Calls

    def execute(self, arguments: Sequence[Any], seed: int = 0) -> Any:
        """As of a `Program`; the results are NumPy's if all was that is not there permanently."""
        if self._dynamic:
            return self._for(tuple([tuple(a.shape) for a in arguments])).execute(arguments, seed)
        home = not any(self.is_here(a) and id(a) not in self._resident for a in arguments)
        results = self._results_of(arguments, seed)
        if home:
            results = [self._home(x) for x in results]
        return results[0] if len(self.outputs) == 1 else tuple(results)

    def _results_of(self, arguments: Sequence[Any], seed: int) -> list[Any]:
        assert self.program is not None
        given = self._given(arguments, seed)
        try:
            with self._jax.enable_x64(True), warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Some donated buffers were not usable")
                results = list(self._function(*given))
        except MindError:
            raise
        except Exception as e:
            raise self._failure(e) from e
        if self.program.sites is not None and (number := int(self._home(results.pop()))):
            op = self.program.sites[number - 1]
            e = fault_error(op).at(op, place_of(op))
            raise MindError("E6006", e.message, e.context, e.op) if self._is_core and e.code == "E8004" else e
        return results

    def _given(self, arguments: Sequence[Any], seed: int) -> list[Any]:
        assert self.program is not None
        given = [a if self.is_here(a) and not self._must_move(i, a) else self.place(i, a) for i, a in enumerate(arguments)]
        if self.program.takes_seed:
            seed = checked_seed(seed)
            words = np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32)
            where = self.sharding(0) if self.mesh is None else named_sharding(self.mesh, ())
            given.append(self._jax.device_put(words, where))
        return given

    def _must_move(self, i: int, argument: Any) -> bool:
        """Return whether an array of JAX lies otherwise than its input's layout says; where none is given it stays."""
        return self.mesh is not None and self.inputs[i].name in self.layouts and argument.sharding != self.sharding(i)

    def _home(self, x: Any) -> np.ndarray[Any, Any]:
        """A result as a new array of NumPy; E6003 for one that lies on devices of other processes."""
        if not x.is_fully_addressable and not x.is_fully_replicated:
            message = f"a result of @{self.name} lies on devices of other processes, expected JAX arrays as arguments then"
            raise error("E6003", message, backend="xla")
        try:
            return np.array(x, order="C", copy=True)
        except Exception as e:
            raise self._failure(e) from e

    def _failure(self, e: Exception) -> MindError:
        return runtime_error(e, self.name, self._func.function_type.outputs.data)

    # Named dimensions

    def _for(self, shapes: tuple[tuple[int, ...], ...]) -> XlaProgram:
        """The program for of these shapes. E8001 and what else is wrong with them; E6003 for a dimension without a name."""
        with self._lock:
            if (found := self._compiled.get(shapes)) is not None:
                self._compiled.move_to_end(shapes)
                return found
        self.check_shapes(*shapes)
        if (bound := bound_function(self._func, shapes)) is None:
            message = (
                f"@{self.name} has a dimension {UNKNOWN} without a name, expected named dimensions, whose sizes are in its inputs"
            )
            raise error("E6003", message, backend="xla")
        made = XlaProgram(bound[0], self.donated, self._limit, self.options, self.mesh, self._layouts_for(bound[0]))
        with self._lock:
            self._compiled[shapes] = made
            while len(self._compiled) > KEPT:
                self._compiled.popitem(last=False)
        return made

    def _layouts_for(self, func: FuncOp) -> dict[str, Layout]:
        static = [TensorSpec.of(spec.name, a.type) for spec, a in zip(self.inputs, func.body.block.args, strict=True)]
        return {s.name: read_layout(self.layouts[s.name], s, self.mesh) for s in static if s.name in self.layouts}

    # What can be asked

    def memory_need(self, *arguments: Any) -> int:
        """The bytes that XLA plans for temporaries and results of a call on such arguments."""
        if self._dynamic:
            return self._for(tuple([tuple(a.shape) for a in arguments])).memory_need(*arguments)
        found = self._executable(arguments).memory_analysis()
        return 0 if found is None else int(found.temp_size_in_bytes + found.output_size_in_bytes)

    def collectives(self, *arguments: Any) -> dict[str, int]:
        """Count the collectives of each kind that XLA puts into the program for such arguments."""
        if self._dynamic:
            return self._for(tuple([tuple(a.shape) for a in arguments])).collectives(*arguments)
        return count_collectives(self._executable(arguments).as_text())

    def _executable(self, arguments: Sequence[Any]) -> Any:
        given = self._given([self._admitted(i, a) for i, a in enumerate(arguments)], 0)
        try:
            with self._jax.enable_x64(True):
                return self._function.lower(*given).compile()
        except Exception as e:
            raise self._failure(e) from e

    def explain(self) -> list[str]:
        """Lines that say where the program runs and how its inputs lie there."""
        where = "1 device" if self.mesh is None else f"mesh {', '.join(f'{n}={k}' for n, k in dict(self.mesh.shape).items())}"
        count = 0 if self.program is None or self.program.sites is None else len(self.program.sites)
        checks = "" if not count else f", {count} ops checked for what is out of range"
        lines = [f"@{self.name} on xla: {self._platform}, {where}{checks}"]
        for name, layout in self.layouts.items():
            parts = ["+".join(axes) or "_" for axes in layout]
            lines.append(f"  {name}: {', '.join(parts) or 'whole'}")
        if self.program is None:
            return [*lines, "  compiled for the sizes of each call"]
        return lines


def dims(type: Any) -> Sequence[int | str]:
    """The dimensions of a type of Core IR or PTIR."""
    return [n if n >= 0 else UNKNOWN for n in type.get_shape()]


def _never(*_: Any) -> Any:
    raise AssertionError("a program on xla runs no Python")


def _need(func: FuncOp) -> Need:
    """The largest value: XLA may avoid it, but a program with one beyond all memory is refused before it is tried."""
    found = Need(0, None)
    for argument in func.body.block.args:
        check_rank(argument.type)
    for op in walk(func):
        for result in _results(op):
            dtype, shape = read_any(result)
            if (size := dtype.size * prod(n for n in shape if isinstance(n, int))) > found.bytes:
                found = Need(size, result)
    return found


def _results(op: Operation) -> Sequence[Any]:
    return [] if isinstance(op, FuncOp) else [t for t in op.result_types if hasattr(t, "get_shape")]


def compile_for_xla(
    func: FuncOp,
    donated: Collection[int],
    limit: int,
    options: XlaOptions = DEFAULT,
    mesh: Any = None,
    shardings: Shardings | None = None,
) -> XlaProgram:
    """
    Compile a function for XLA, on a mesh of devices if one is given; `shardings` says by name how inputs lie there.

    Inputs without one are whole on every device. The mesh `module` is the one that the module declares, and the shardings are
    then those that inputs state, unless given. E7001 for shardings without a mesh, and as `read_mesh` and `read_layout`.
    """
    require()
    names = input_names(func)
    given: dict[str, Any] = dict(shardings or {})
    if mesh is None:
        if given:
            raise error(
                "E7001", "shardings without a mesh; give mesh='data=4,model=2' or a jax.sharding.Mesh", option="shardings"
            )
        return XlaProgram(func, donated, limit, options)
    if isinstance(mesh, str) and mesh == MODULE:
        given = {**stated_layouts(func, names), **given}
        mesh = make_mesh(stated_mesh(func), options.platform)
    else:
        mesh = read_mesh(mesh, options.platform)
    unknown = [name for name in given if name not in names]
    if unknown:
        raise error("E7003", f"no input {unknown[0]!r} to shard, expected one of {names}", name=unknown[0], known=names)
    specs = {n: TensorSpec.of(n, a.type) for n, a in zip(names, func.body.block.args, strict=True)}
    layouts = {name: read_layout(value, specs[name], mesh) for name, value in given.items()}
    return XlaProgram(func, donated, limit, options, mesh, layouts)
