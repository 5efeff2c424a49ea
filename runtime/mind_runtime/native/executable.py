"""
Executables of the target `native`: linked code of a function and what runs it, which equal functions share.

An executable is found among the last ones of this process, else on disk (`image.py`), else the function is compiled.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from mind_dialect.errors import MindError
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import read_type
from mind_lowering.core_to_ptir import is_core
from mind_lowering.memory_need import Need, check_rank
from mind_lowering.native import Entry, Foreign, Native, TargetInfo
from mind_lowering.ptir_to_xp import lowered_function
from mind_lowering.xp.python import PythonSource
from mind_passes.dim_names import dims_of

from ..collector import collect_recent
from ..compiled import CACHE_SIZE, CACHED_LITERAL_BYTES, Body, body_of
from ..core_errors import attributed
from ..program import Program
from ..signature import TensorSpec
from . import image, jit
from .call import NativeRunner
from .callable import Plan
from .digest import digest
from .pages import return_heap
from .plans import Type
from .startup import start
from .support import release

MANY = 256
"""Ops of a function from which on its garbage is collected: that of fewer ops is less than what a look at new objects takes."""
LONG = 1 << 13
"""Characters of a module from which on compiling leaves enough in the heap to return it: it takes a hundred times as long."""


@dataclass(frozen=True)
class Executable:
    """Linked code of a function, as the body of a program, and what runs it; or the reason why there is none."""

    body: Body | None
    runner: NativeRunner | None = None
    plan: Plan | None = None
    """The native entry for calls; None where they go through Python."""
    reason: str = ""
    fixed: tuple[int, ...] = ()
    """Numbers of the inputs that its code takes for the same in all calls, so that these pack nothing of them."""


_cache: OrderedDict[Hashable, Executable] = OrderedDict()
_lock = threading.Lock()


def clear() -> None:
    """Forget compiled functions and memory kept for results; programs in use go on working."""
    with _lock:
        _cache.clear()
    release()


def executable_of(func: FuncOp, host: TargetInfo, donated: tuple[int, ...], threads: int, fixed: tuple[int, ...]) -> Executable:
    """Return the executable of a function, perhaps that of an equal one which was compiled before."""
    if not is_core(func) and (unsized := _dynamic_input(func)) is not None:
        return _without_code(unsized)
    name = image_name(func, host, donated, fixed)
    if name is None:
        return _compiled(func, host, donated, threads, fixed)
    key = (name, tuple([op.location for op in func.walk()]), threads)
    with _lock:
        if (found := _cache.get(key)) is not None:
            _cache.move_to_end(key)
            return found
    new = executable_on_disk(name, func, host, donated, threads, fixed) or _compiled(func, host, donated, threads, fixed, name)
    if new.body is None or new.body.constant_bytes <= CACHED_LITERAL_BYTES:
        with _lock:
            _cache[key] = new
            while len(_cache) > CACHE_SIZE:
                _cache.popitem(last=False)
    return new


def image_name(func: FuncOp, host: TargetInfo, donated: tuple[int, ...], fixed: tuple[int, ...]) -> str | None:
    """The name of the image of a function for this machine; None if it has none."""
    return digest(func, donated, fixed, host, jit.machine_of(host))


def _compiled(
    func: FuncOp, host: TargetInfo, donated: tuple[int, ...], threads: int, fixed: tuple[int, ...], name: str | None = None
) -> Executable:
    """Compile a function; its image is written to disk under `name`, if it has one."""
    start()
    from mind_lowering.native import program as lowering  # slow to load, and what was compiled before takes none of it

    work = lowering.prepared(func, host)
    if (unsized := lowering.dynamic(work)) is not None:
        return _without_code(unsized)
    many = sum(1 for _ in work.walk()) >= MANY
    if many:
        collect_recent()  # what passes replaced, so that lowering uses its memory again
    native = lowering.lower(work, host, donated, fixed)
    entries = [s.name for s in native.steps if isinstance(s, Entry)]
    library = jit.load(native.text, native.host, entries if native.packing is None else [*entries, native.packing.entry])
    if name is not None:
        image.write(name, native, lambda: image.literals_of(func))
    foreign = [foreign_step(step) for step in native.steps if isinstance(step, Foreign)]
    (short, whole), long = without_text(native), len(native.text) >= LONG
    del work, native
    if many:
        collect_recent()
    if long:
        return_heap()
    again = lowered_again(lambda: func, host, donated, fixed)
    return _linked(func, donated, threads, short, library, foreign, whole, again, fixed=fixed)


def lowered_again(
    source: Callable[[], FuncOp], host: TargetInfo, donated: tuple[int, ...], fixed: tuple[int, ...]
) -> Callable[[], Native]:
    """Return a function that lowers the function of `source` for who asks for what programs do not hold."""

    def again() -> Native:
        from mind_lowering.native import program as lowering

        return lowering.lower(lowering.prepared(source(), host), host, donated, fixed)

    return again


def without_text(native: Native) -> tuple[Native, Callable[[], Native]]:
    """
    Return a program without its text and launches, as calls need neither, and a function that returns it with its text.

    The text is held compressed, to about a tenth: that of a large model has several megabytes. Launches take as much, in many
    small objects, and are lowered again for the plan of the arena.
    """
    short, data = replace(native, text="", launches=None), zlib.compress(native.text.encode(), 1)
    return short, lambda: replace(short, text=zlib.decompress(data).decode())


def without_general(func: FuncOp) -> Executable:
    """Return the executable of a function with open sizes that runs in programs for sizes only."""
    source = PythonSource(func.sym_name.data, "", (), (), draws=False)
    return Executable(Body(_nothing, _nothing.__code__, source, func.body.block, Need(0, None), 0), reason="it runs for sizes")


def _dynamic_input(func: FuncOp) -> str | None:
    """The first type of an input of a function of PTIR that has a dimension without a size, if there is one."""
    types = func.function_type.inputs.data
    return next((str(read_type(t)) for t in types if any(isinstance(d, str) for d in dims_of(t) or ())), None)


def _without_code(unsized: str) -> Executable:
    return Executable(
        None, reason=f"{unsized} has a dimension without a size; calls are compiled for their sizes where that can be"
    )


def executable_on_disk(
    name: str,
    func: FuncOp,
    host: TargetInfo,
    donated: tuple[int, ...],
    threads: int,
    fixed: tuple[int, ...],
    with_ops: Callable[[], FuncOp] | None = None,
    literals: image.Literals | None = None,
) -> Executable | None:
    """
    Return the executable of an image on disk, if there is one.

    Where `func` is a signature, `with_ops` returns the function, and `literals` its constants.
    """
    own = literals or (lambda: image.literals_of(func))
    found = image.read(name, host, len(func.function_type.outputs), len(func.function_type.inputs), own)
    if found is None:
        return None
    source = with_ops or (lambda: func)
    whole = lru_cache(maxsize=1)(lowered_again(source, host, donated, fixed))
    return _linked(func, donated, threads, found.native, found.library, [], whole, whole, source, fixed)


def _linked(
    func: FuncOp,
    donated: tuple[int, ...],
    threads: int,
    native: Native,
    library: jit.Library,
    foreign: Sequence[tuple[Callable[..., Any], Body]],
    whole: Callable[[], Native],
    again: Callable[[], Native],
    source: Callable[[], FuncOp] | None = None,
    fixed: tuple[int, ...] = (),
) -> Executable:
    """Return the executable of a function whose code is linked; `source` returns the function with its ops."""
    types = func.function_type.outputs.data
    inputs, outputs = (types_of(ts) for ts in (func.function_type.inputs.data, types))
    runner = NativeRunner(native, library, outputs, [run for run, _ in foreign], threads, whole, again)
    need = _need(native, types, outputs, [body for _, body in foreign])
    python = PythonSource(native.name, "", (), (), native.draws or any(body.source.draws for _, body in foreign))
    kept = 0 if native.packing is None or native.packing.inputs else native.packing.bytes
    constant_bytes = sum(len(literal.data.data) for _, literal in native.constants) + kept
    run = _as_core(runner.run, source or (lambda: func))
    body = Body(run, _nothing.__code__, python, func.body.block, need, constant_bytes)
    return Executable(body, runner, runner.plan(inputs, donated), fixed=fixed)


def _nothing() -> None:
    """Whose code no traceback shows: native failures name their op themselves."""


def types_of(types: Sequence[Attribute]) -> list[Type]:
    """Return the NumPy dtype and the shape of each type, without extents that have no size."""
    specs = [TensorSpec.of("", t) for t in types]
    return [(spec.numpy_dtype, tuple(n for n in spec.shape if isinstance(n, int))) for spec in specs]


def foreign_step(step: Foreign) -> tuple[Callable[..., Any], Body]:
    """Return a step on NumPy as a program, whose errors name its op, and its body."""
    lowered = lowered_function(step.func, draws=step.draws)
    body = body_of(lowered.func)
    return Program(step.func, body, lowered.origins, (), 1 << 62).execute, body


def _need(native: Native, types: Sequence[Attribute], outputs: Sequence[Type], foreign: Sequence[Body]) -> Need:
    """The arena, the results, and what a step on NumPy needs at most in addition."""
    sizes = [dtype.itemsize * prod(shape) for dtype, shape in outputs]
    for t in types:
        check_rank(t)
    largest = max(zip(sizes, types, strict=True), key=lambda pair: pair[0])[1]
    inner = max((body.need for body in foreign), key=lambda need: need.bytes, default=Need(0, None))
    kept = 0 if native.packing is None else native.packing.bytes
    return Need(native.arena + kept + sum(sizes) + inner.bytes, inner.type if inner.bytes > max(sizes) else largest)


def _as_core(run: Callable[..., Any], source: Callable[[], FuncOp]) -> Callable[..., Any]:
    """Return `run`, whose errors are those of `as_core_error`."""

    def converted(*arguments: Any, **options: Any) -> Any:
        try:
            return run(*arguments, **options)
        except MindError as e:
            raise as_core_error(e, source()) from None

    return converted


def as_core_error(e: BaseException, func: FuncOp) -> BaseException:
    """Return an error that native code reports, of Core IR as its specification has it: E6006 instead of E8004."""
    if not isinstance(e, MindError):
        return e
    e = attributed(e, func)
    return MindError("E6006", e.message, e.context, e.op) if e.code == "E8004" and is_core(func) else e
