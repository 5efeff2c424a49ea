"""
The mode in which a thread computes with floats: the bits by which subnormal numbers count as 0.

Of x86-64 they are FTZ and DAZ of MXCSR, for results and for operands; of AArch64 FZ of FPCR is both. What is
emitted has memory on the stack: it may not be in a loop.
"""

from __future__ import annotations

from .ir import Function

_MXCSR, _FPCR = 1 << 15 | 1 << 6, 1 << 24


def current_mode(f: Function) -> str:
    """Emit the mode of this thread, an `i64`."""
    if _is_x86(f):
        place = f.op("alloca i32, align 4", "mxcsr")
        f.call("llvm.x86.sse.stmxcsr", "void", ("ptr", place))
        return f.op(f"zext i32 {f.op(f'load i32, ptr {place}, align 4', 'mode')} to i64", "mode")
    return f.call("llvm.aarch64.get.fpcr", "i64", hint="mode")


def set_mode(f: Function, mode: str) -> None:
    """Emit the change to a mode."""
    if _is_x86(f):
        place = f.op("alloca i32, align 4", "mxcsr")
        f.do(f"store i32 {f.op(f'trunc i64 {mode} to i32', 'mode')}, ptr {place}, align 4")
        f.call("llvm.x86.sse.ldmxcsr", "void", ("ptr", place))
    else:
        f.call("llvm.aarch64.set.fpcr", "void", ("i64", mode))


def flushing(f: Function, mode: str) -> str:
    """Emit a mode in which subnormal numbers count as 0."""
    return f.op(f"or i64 {mode}, {_MXCSR if _is_x86(f) else _FPCR}", "flushing")


def _is_x86(f: Function) -> bool:
    return f.module.triple.startswith("x86_64")
