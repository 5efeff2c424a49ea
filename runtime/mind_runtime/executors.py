"""
Executors: what makes a callable of a function, by the names that `target=` and `mind-run --target` take.

    register_executor("mine", Executor(compile=lambda request: MyProgram(request)))

An installed package needs no import: it names an `Executor` in the entry-point group `mind_dialect.executors`, under the name of
the target. It is loaded when somebody asks for the target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mind_dialect.errors import MindError, brief, error
from mind_dialect.lazy_dataclass import dataclass
from mind_lowering.cupy.options import CupyOptions
from mind_lowering.native.options import NativeOptions

from .native import require as require_native
from .program import Program
from .request import Request, numpy_program
from .xla.options import XlaOptions

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

__all__ = [
    "GROUP",
    "Executor",
    "Request",
    "checked_request",
    "executor_names",
    "executor_of",
    "numpy_program",
    "register_executor",
]
GROUP = "mind_dialect.executors"


def _nothing() -> None:
    """An executor that needs nothing has it."""


@dataclass(frozen=True)
class Executor:
    """
    Runs functions on a target.

    `compile` makes the program; it raises a `MindError` for what it cannot run. `require` raises E6002 unless everything that the
    target needs is there. `options` reads the words in braces, as `tf32` of `cupy{tf32}`; None for a target that takes none.
    `arguments` are those of `threads`, `mesh`, `shardings` and `specialize` that it takes.
    """

    compile: Callable[[Request], Program]
    require: Callable[[], None] = _nothing
    options: Callable[[Mapping[str, Any]], Any] | None = None
    arguments: frozenset[str] = frozenset()
    checks: bool = True
    """True if runs reject indices out of range and integer divisions by zero with our codes, as all of our executors do."""
    packs_filters: bool = False
    """True if bound filters of convolutions are packed, whatever their layout: `bind` leaves their transposes to the program."""


def _native_program(request: Request) -> Program:
    from .native.program import compile_native

    threads = request.arguments.get("threads")
    return compile_native(request.func, request.donated, request.host_limit, threads, request.fixed, request.options)


def _cupy_program(request: Request) -> Program:
    from .on_cupy import compile_for_cupy

    return compile_for_cupy(request.func, request.donated, request.memory_limit, request.options)


def _require_cupy() -> None:
    from mind_lowering.cupy.launching import require

    require()


def _xla_program(request: Request) -> Program:
    from .xla.program import compile_for_xla

    mesh, shardings = request.arguments.get("mesh"), request.arguments.get("shardings")
    return compile_for_xla(request.func, request.donated, request.host_limit, request.options, mesh, shardings)


def _require_jax() -> None:
    from .xla.session import require

    require()


def _onnx_program(request: Request) -> Program:
    from .on_onnxruntime import OnnxProgram

    return OnnxProgram.of(request)


def _require_onnx() -> None:
    from .on_onnxruntime import require

    require()


def _iree_program(request: Request) -> Program:
    from .on_iree import IreeProgram

    return IreeProgram.of(request)


def _require_iree() -> None:
    from .on_iree import require

    require()


_BUILT_IN: dict[str, Executor] = {
    "numpy": Executor(numpy_program, arguments=frozenset({"specialize"})),
    "native": Executor(
        _native_program, require_native, NativeOptions.of, frozenset({"threads", "specialize"}), packs_filters=True
    ),
    "cupy": Executor(_cupy_program, _require_cupy, CupyOptions.of, frozenset({"specialize"})),
    "xla": Executor(_xla_program, _require_jax, XlaOptions.of, frozenset({"mesh", "shardings"})),
    "onnx": Executor(_onnx_program, _require_onnx, checks=False),
    "iree": Executor(_iree_program, _require_iree, checks=False),
}
_registered: dict[str, Executor] = {}


def register_executor(name: str, executor: Executor | None) -> None:
    """Let `target=name` run on an executor from now on; None forgets it. E7001 for the name of one of our own."""
    if name in _BUILT_IN:
        raise error("E7001", f"the executor {name!r} is one of mind-dialect's, and cannot be replaced", option=name)
    _registered.pop(name, None)
    if executor is not None:
        _registered[name] = executor


def executor_names() -> list[str]:
    """Return the names of all executors: ours, registered ones, and those of installed packages."""
    return list(dict.fromkeys([*_BUILT_IN, *_registered, *sorted(e.name for e in _installed())]))


def _installed() -> EntryPoints:
    from importlib.metadata import entry_points  # slow to load

    return entry_points(group=GROUP)


def executor_of(name: str) -> Executor:
    """Return the executor of a target; E6002 for a name that is none, or an installed one that cannot be loaded."""
    if (found := _BUILT_IN.get(name) or _registered.get(name)) is not None:
        return found
    for entry in _installed().select(name=name):
        try:
            loaded = entry.load()
        except Exception as e:  # whatever another package does when it is imported
            raise _unusable(name, f"cannot be loaded: {type(e).__name__}: {e}") from e
        if not isinstance(loaded, Executor):
            raise _unusable(name, f"is {brief(repr(loaded))}, expected a mind_runtime.executors.Executor")
        return loaded
    known = executor_names()
    raise error("E6002", f"target {name!r} is not available, expected one of {known}", requested=name, available=known)


def _unusable(name: str, issue: str) -> MindError:
    available = list(_BUILT_IN)
    return error("E6002", f"the executor {name!r} of an installed package {issue}", requested=name, available=available)


def checked_request(name: str, words: Mapping[str, Any], arguments: Mapping[str, Any]) -> tuple[Executor, Any]:
    """Return the executor of a target and its options; E7001 for what it does not take, E6002 where it is not there."""
    executor = executor_of(name)
    if words and executor.options is None:
        raise error("E7001", f"the target {name!r} takes no options, found {list(words)}", option=next(iter(words)))
    for argument, value in arguments.items():
        if argument not in executor.arguments:
            takers = " and ".join(repr(n) for n, e in (_BUILT_IN | _registered).items() if argument in e.arguments)
            message = f"{argument} {brief(value)} for the target {name!r}: it is an option of {takers}"
            raise error("E7001", message, option=argument)
    options = None if executor.options is None else executor.options(words)
    executor.require()
    return executor, options
