"""A request to compile a function, as executors take it, and the program of the target `numpy` for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from xdsl.dialects.func import FuncOp

from mind_dialect.lazy_dataclass import dataclass
from mind_lowering.memory_need import check_need, physical_memory

from .general import general_body
from .program import Program


@dataclass(frozen=True)
class Request:
    """A function to compile, of one block, which an executor leaves as it is, and how to compile it."""

    func: FuncOp
    donated: tuple[int, ...] = ()
    """The numbers of the inputs whose memory the program may overwrite."""
    fixed: tuple[int, ...] = ()
    """The numbers of the inputs that will be bound, so that what depends on them alone may be prepared once."""
    memory_limit: int | None = None
    """In bytes; None if none is set."""
    options: Any = None
    """The words in braces as parsed by `Executor.options`."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The given ones of `threads`, `mesh`, `shardings` and `specialize`, all of which the executor takes."""

    @property
    def host_limit(self) -> int:
        """The limit, or the memory of the machine where none is set."""
        return physical_memory() if self.memory_limit is None else self.memory_limit


def numpy_program(request: Request, kind: type[Program] = Program) -> Program:
    """Return a program of the target `numpy`, or of a subclass of it that runs something else."""
    body, origins = general_body(request.func, request.donated, request.host_limit)
    check_need(body.need, request.host_limit)
    return kind(request.func, body, origins, request.donated, request.host_limit)
