"""Running functions of tensor, linalg, arith, math and scf with a real MLIR: inputs and results as bits in text."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.printer import Printer

from mind_dialect.program import functions
from mind_dialect.ptir.types import TensorSpec, read_type
from mind_lowering.ptir_kernels.formats import array_dtype

PIPELINE = (
    "--convert-elementwise-to-linalg",
    "--one-shot-bufferize=bufferize-function-boundaries allow-return-allocs-from-loops",
    *("--convert-linalg-to-loops", "--convert-scf-to-cf", "--expand-strided-metadata", "--lower-affine", "--arith-expand"),
    *("--convert-math-to-libm", "--convert-math-to-llvm", "--finalize-memref-to-llvm", "--convert-arith-to-llvm"),
    *("--convert-func-to-llvm", "--convert-cf-to-llvm", "--reconcile-unrealized-casts"),
)


@dataclass
class Call:
    """A function to call, its arguments, and the specs of its inputs and results."""

    name: str
    arguments: Sequence[np.ndarray]
    inputs: Sequence[TensorSpec]
    results: Sequence[TensorSpec]


class Runner:
    """A real mlir-opt with the mlir-runner and the libraries of its installation."""

    def __init__(self, opt: str, runner: str, libraries: Sequence[Path]):
        self.opt, self.runner, self.libraries = opt, runner, libraries

    @staticmethod
    def beside(opt: str) -> Runner | None:
        """The runner of the same version as `opt`, if all that it needs is installed."""
        runner = shutil.which(os.path.basename(opt).replace("mlir-opt", "mlir-runner"))
        folder = Path(os.path.realpath(opt)).parent.parent / "lib"
        found = [next(iter(sorted(folder.glob(f"lib{name}.so*"))), None) for name in ("mlir_runner_utils", "mlir_c_runner_utils")]
        libraries = [path for path in found if path is not None]
        return Runner(opt, runner, libraries) if runner is not None and len(libraries) == len(found) else None

    def accepts(self, text: str) -> None:
        """Assert that mlir-opt verifies a module."""
        result = subprocess.run([self.opt, "--split-input-file"], input=text, text=True, capture_output=True, check=False)
        assert result.returncode == 0, result.stderr[:4000]

    def run(
        self, text: str, calls: Sequence[tuple[str, Sequence[np.ndarray], Sequence[TensorSpec], Sequence[TensorSpec]]]
    ) -> list[Any]:
        """
        Call functions of the module `text`, in generic form: name, arguments, their specs, specs of the results.

        Returns the results of each call. Every function is inside one outer module.
        """
        body = text[text.index("({") + 2 : text.rindex("})")]
        main = "\n".join(line for i, call in enumerate(calls) for line in _call(i, call))
        printer = "func.func private @printMemrefI64(memref<*xi64>) attributes {llvm.emit_c_interface}"
        program = f"module {{\n{body}\n{printer}\nfunc.func @run_all() {{\n{main}\n  return\n}}\n}}"
        lowered = subprocess.run([self.opt, *PIPELINE], input=program, text=True, capture_output=True, check=False)
        assert lowered.returncode == 0, lowered.stderr[:4000]
        libraries = ",".join(map(str, self.libraries))
        command = [self.runner, "-e", "run_all", "--entry-point-result=void", f"--shared-libs={libraries}"]
        done = subprocess.run(command, input=lowered.stdout, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr[:4000]
        printed = re.split(r"^Unranked Memref.*data = *$", done.stdout, flags=re.MULTILINE)[1:]
        specs = [spec for call in calls for spec in call.results]
        assert len(printed) == len(specs)
        found = [_array(text, spec) for text, spec in zip(printed, specs, strict=True)]
        return [[found.pop(0) for _ in call.results] for call in calls]


def _type(spec: TensorSpec) -> str:
    """The type of a converted value: integers without sign."""
    element = str(spec.dtype.type)
    return _typed(spec.shape, element if spec.dtype.is_float else element.lstrip("su"))


def _typed(shape: Sequence[Any], element: str) -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def _call(i: int, call: Call) -> list[str]:
    lines, operands = list[str](), list[str]()
    for n, (array, spec) in enumerate(zip(call.arguments, call.inputs, strict=True)):
        value, bits = f"%a{i}_{n}", _typed(spec.shape, f"i{spec.dtype.bits}")
        content = str(_bits(array, spec)).lower() if array.size else ""
        lines.append(f"  {value}b = arith.constant dense<{content}> : {bits}")
        lines.append(f"  {value} = {_reinterpreted(f'{value}b', bits, _type(spec))}")
        operands.append(value)
    names = ", ".join(f"%r{i}_{n}" for n in range(len(call.results)))
    signature = f"({', '.join(map(_type, call.inputs))}) -> ({', '.join(map(_type, call.results))})"
    lines.append(f"  {names} = call @{call.name}({', '.join(operands)}) : {signature}")
    for n, spec in enumerate(call.results):
        lines += _print(f"%r{i}_{n}", spec)
    return lines


def _reinterpreted(value: str, source: str, target: str) -> str:
    return f"{'tensor.cast' if source == target else 'arith.bitcast'} {value} : {source} to {target}"


def _print(value: str, spec: TensorSpec) -> list[str]:
    bits, wide = _typed(spec.shape, f"i{spec.dtype.bits}"), _typed(spec.shape, "i64")
    memref = wide.replace("tensor", "memref")
    widen = "tensor.cast" if spec.dtype.bits == 64 else "arith.extui"
    return [
        f"  {value}i = {_reinterpreted(value, _type(spec), bits)}",
        f"  {value}w = {widen} {value}i : {bits} to {wide}",
        f"  {value}m = bufferization.to_buffer {value}w : {wide} to {memref}",
        f"  {value}u = memref.cast {value}m : {memref} to memref<*xi64>",
        f"  call @printMemrefI64({value}u) : (memref<*xi64>) -> ()",
    ]


def _bits(array: np.ndarray, spec: TensorSpec) -> Any:
    """The elements as integers of the dtype's width, as nested lists."""
    if spec.dtype.bits == 1:
        return np.asarray(array, bool).tolist()
    if spec.dtype.is_float:
        return np.ascontiguousarray(array).view(f"u{spec.dtype.size}").reshape(array.shape).tolist()
    return np.asarray(array).astype("i8" if spec.dtype.kind == "signed" else "u8").tolist()


def _array(text: str, spec: TensorSpec) -> np.ndarray:
    """The printed bits as an array of the dtype."""
    dtype = spec.dtype
    if 0 in spec.shape:
        return np.zeros(spec.shape, array_dtype(dtype.name))
    numbers = [int(n) for n in re.findall(r"-?\d+", text)]
    if dtype.is_float:
        bits = np.array([n % (1 << dtype.bits) for n in numbers], f"u{dtype.size}")
        return bits.view(array_dtype(dtype.name)).reshape(spec.shape)
    sign = 1 << (dtype.bits - 1)
    wrapped = [(n % (1 << dtype.bits) ^ sign) - sign if dtype.kind == "signed" else n % (1 << dtype.bits) for n in numbers]
    wide = np.array(wrapped, "u8" if dtype.kind == "unsigned" else "i8")
    return wide.astype(array_dtype(dtype.name)).reshape(spec.shape)


def signature(func: FuncOp) -> tuple[list[TensorSpec], list[TensorSpec]]:
    """The PTIR specs of a function's inputs and results."""
    type = func.function_type
    return [read_type(t) for t in type.inputs.data], [read_type(t) for t in type.outputs.data]


def text_of(module: ModuleOp, *, generic: bool = True) -> str:
    stream = io.StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def only_function(module: ModuleOp) -> FuncOp:
    (func,) = functions(module)
    return func
