"""
Kernels of a program replaced by what their fusions mean on NumPy: to test what runs when and where, without a compiler.

Sorts are several kernels, which mean nothing each by itself: these are emulated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

import mind_runtime
from fake_device import FakeDevice
from fake_gpu import RULES, FakeArray
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_lowering.cupy.kernels.random_numbers import loops_around
from mind_lowering.cupy.launching import CupyKernels
from mind_lowering.cupy.options import DEFAULT, CupyOptions
from mind_lowering.kernels import NUMPY
from mind_lowering.launch.compute_ops import KernelOp
from mind_lowering.launch.liveness import launch_ops
from mind_lowering.xp import CallOp
from mind_runtime.on_cupy import CupyProgram


class NumpyDevice(FakeDevice):
    """A device whose kernels were never compiled."""

    def functions(self, text: str, names: Sequence[str]) -> Sequence[Any]:
        raise AssertionError("a kernel that was not replaced")


def meaning(op: KernelOp) -> Any:
    """What the body of a kernel does, as a program of NumPy."""
    body = op.body.clone()
    block = body.block
    ending = block.last_op
    block.insert_op_before(ReturnOp(*ending.operands), ending)
    types = FunctionType.from_lists(list(block.arg_types), list(ending.operand_types))
    ending.detach()
    func = FuncOp("f", types, body)
    return mind_runtime.compile(ModuleOp([func], {"ptir.spec_version": _version()}))


def _version() -> Any:
    from xdsl.dialects.builtin import StringAttr

    from mind_dialect.ptir_program import SPEC_VERSION

    return StringAttr(SPEC_VERSION)


def function_of(op: KernelOp, counters: int) -> Any:
    """A kernel with a body, which checks what it is given."""
    run = meaning(op)

    def launch(grid: Any, block: Any, arrays: Sequence[Any]) -> None:
        RULES.log["launches"] += 1
        n, m = len(op.reads), len(op.results_written)
        for x in arrays:
            assert isinstance(x, FakeArray), "a kernel is given memory of the host"
            assert x.flags.c_contiguous
            aligned = 16 if x.dtype.itemsize < 8 or x is not arrays[-1] else 8  # a record of failures is numbers of 64 bits
            assert not x.size or x.ctypes.data % aligned == 0, "a kernel is given a bad address"
        if counters:
            assert not arrays[n + m + 1].view(np.ndarray).any(), "counters that are not 0"
        try:
            shapes = [spec.shape for spec in run.inputs]  # equal kernels of arrays of other shapes are one
            found = run(*[np.array(x.view(np.ndarray)).reshape(s) for x, s in zip(arrays[:n], shapes, strict=True)])
        except MindError as e:
            number = (e.context.get("operands") or e.context["indices"])[0]
            if arrays[-1].view(np.ndarray)[0] == np.uint64(2**64 - 1):
                arrays[-1].view(np.ndarray)[:] = [0, 2**64 - 1, number % 2**64]
            return
        for x, made in zip(arrays[n : n + m], found if m > 1 else [found], strict=True):
            x.view(np.ndarray)[...] = made.reshape(x.shape)

    return launch


def drawing(op: CallOp) -> Any:
    """A kernel that draws: by the seed and the iterations in its memory."""
    values = dict(op.values())
    turning = values.pop("iterations", None) is not None
    del values["seed"]
    values["dtype"] = np.dtype(NUMPY.dtype(values["dtype"].name))

    def launch(grid: Any, block: Any, arrays: Sequence[Any]) -> None:
        RULES.log["launches"] += 1
        seed, *iterations = (int(n) for n in arrays[0].view(np.ndarray))
        iterations = iterations[: len(loops_around(op))] if turning else []
        arrays[1].view(np.ndarray)[...] = getattr(NUMPY, op.function[2:])(**values, seed=seed, iterations=tuple(iterations))

    return launch


def turning(symbol: str) -> Any:
    """A kernel that counts iterations, or moves the slices of one."""

    def launch(grid: Any, block: Any, arrays: Sequence[Any]) -> None:
        RULES.log["launches"] += 1
        if "slices" in symbol and not RULES.capturing:  # a capture runs nothing: the iteration may be one that is not
            half, iteration = len(arrays) // 2, int(arrays[0].view(np.ndarray)[0])
            for a, b in zip(arrays[1 : 1 + half], arrays[1 + half :], strict=True):
                if symbol.endswith("slices_out"):
                    b.view(np.ndarray)[iteration] = a.view(np.ndarray)
                else:
                    b.view(np.ndarray)[...] = a.view(np.ndarray)[iteration]
        if "slices" in symbol:
            return
        number = arrays[0].view(np.ndarray)
        number[0] = 0 if symbol.endswith("first_iteration") else number[0] + np.uint64(1)

    return launch


def replaced(program: CupyProgram, op: KernelOp, counters: int) -> Any:
    """What a launch does, on NumPy."""
    assert program.runner is not None
    symbol = program.symbols[op.symbol]
    if op.body.blocks:
        return function_of(op, counters)
    origin = program.runner.plan.origins.get(op)
    if origin is None:
        return turning(symbol)
    assert isinstance(origin, CallOp)
    if origin.function.startswith("k.rng_"):
        return drawing(origin)
    every = list(program.symbols.values())
    return FakeDevice().functions(program.cuda, every)[every.index(symbol)]


def on_numpy(module: Any, donated: Sequence[int] = (), options: CupyOptions = DEFAULT) -> CupyProgram:
    """The first function of a module, for a device that is none, its kernels NumPy's."""
    program = CupyProgram(next(iter(functions(module))), CupyKernels(NumpyDevice()), donated, 1 << 40, options)
    if program.runner is not None:
        program.runner.plan.func.verify()  # every launch, and the use of memory
        made: dict[str, Any] = {}
        for op in launch_ops(program.runner.plan.func.body.block):
            if isinstance(op, KernelOp):
                name = op.symbol
                kernel = program.runner._launched[name]
                if name not in made:
                    made[name] = kernel.function = replaced(program, op, kernel.counters)
    return program
