"""Functions of the native target's vector math as callables on arrays, for any machine that this one can stand in for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import llvmlite.binding as llvm
import numpy as np

from mind_lowering.native.ir import LlvmModule
from mind_lowering.native.lanes import Lanes
from mind_lowering.native.target_info import TARGETS
from mind_lowering.native.vmath import call

TYPES = {"float": np.float32, "double": np.float64}
BINARY = frozenset({"pow", "fmod", "atan2", "share"})
Kernel = Callable[..., np.ndarray]


def text(opcode: str, type: str, width: int, isa: str) -> str:
    """A module with `@apply(ptr x, ptr y, ptr out, i64 n)`, which takes `width` elements at once."""
    host, size = TARGETS[isa], np.dtype(TYPES[type]).itemsize
    module = LlvmModule(host.triple, opcode, host.attributes)
    f = module.function("apply", "void", [("ptr", "x"), ("ptr", "y"), ("ptr", "out"), ("i64", "n")], internal=False)
    lanes = Lanes(f, host, width, hint=opcode)

    def body(i: str) -> None:
        names = ("%x", "%y") if opcode in BINARY else ("%x",)
        operands = [lanes.op(f"load {lanes.of(type)}, ptr {f.address(type, n, i)}, align {size}") for n in names]
        result = call(lanes, opcode, type, operands)
        f.do(f"store {lanes.of(type)} {result}, ptr {f.address(type, '%out', i)}, align {size}")

    f.loop("0", "%n", width, body)
    f.ret()
    return module.text()


def machine(isa: str, code: str = "jitdefault") -> llvm.TargetMachine:
    """LLVM's idea of a machine; of `code` in `small` pieces calls are by name."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    host = TARGETS[isa]
    return llvm.Target.from_triple(host.triple).create_target_machine(cpu=host.cpu, opt=2, reloc="pic", codemodel=code)


@cache
def address(opcode: str, type: str, width: int, isa: str) -> tuple[int, object]:
    """The address of `apply`, and what keeps it alive."""
    target = machine(isa)
    parsed = llvm.parse_assembly(text(opcode, type, width, isa))
    parsed.verify()
    engine = llvm.create_mcjit_compiler(parsed, target)
    engine.finalize_object()
    return engine.get_function_address("apply"), engine


def compiled(opcode: str, type: str, width: int, isa: str) -> Kernel:
    """The function on arrays of any length."""
    place, _ = address(opcode, type, width, isa)
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(place)

    def apply(x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
        n = -(-x.size // width) * width
        operands = [np.ones(n, TYPES[type]) for _ in range(2)]
        for operand, given in zip(operands, (x, y), strict=True):
            if given is not None:
                operand[: x.size] = given
        out = np.empty(n, TYPES[type])
        entry(operands[0].ctypes.data, operands[1].ctypes.data, out.ctypes.data, n)
        return out[: x.size]

    return apply


def ulps(found: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """How far `found` is from a higher precision, in units in the last place of the exact value; 0 where both are NaN."""
    dtype = found.dtype.type
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        wanted = exact.astype(dtype)
        _, exponent = np.frexp(np.abs(exact))
        unit = np.ldexp(exact.dtype.type(1), np.maximum(exponent, info.minexp + 1) - info.nmant - 1)
        distance = np.abs(found.astype(exact.dtype) - exact) / unit
    special = ~np.isfinite(wanted) | ~np.isfinite(found)
    same = (np.isnan(wanted) & np.isnan(found)) | (wanted == found)
    distance = np.where(special, np.where(same, 0, np.inf), distance)
    return np.where((wanted == 0) & (found == 0) & (np.signbit(wanted) != np.signbit(found)), np.inf, distance).astype(np.float64)
