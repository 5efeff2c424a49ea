"""
The interface of every native kernel to the planner and to the printer: a `NativeStep`.

A kernel is a function

    i64 @k.name(ptr %args, i64 %begin, i64 %end)

that does the units of work from `%begin` to `%end`; calls of disjoint ranges may run at the same time, and no result depends on
how the units are shared out. `%args` is a table of addresses: the record of failures, then that of each of `addresses`. A kernel
returns a status (see `failures`). Its text depends on `key` alone, so steps of equal keys share one function.

Another kind of kernel (a tiled product, a row kernel) is another class here. One that needs several kernels, or the whole
program's table of buffers instead of one of its own, makes them in `kernels`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from mind_dialect.ptir import PtirOp

from . import costs
from .failures import Failure, Sites
from .ir import Function, LlvmModule, identifier
from .memory import Access
from .target_info import TargetInfo
from .views import View


@dataclass(frozen=True)
class NativeKernel:
    """
    A function of the module, and how many units of work it has.

    `sites` are what can fail: how, and the number of the op in its step. `own` says that it is given a table of its step's own
    addresses, not the program's. `polls` says that it looks for signals itself, so that its status may be below 0.
    """

    name: str
    units: int
    sites: Sequence[tuple[Failure, int]] = ()
    own: bool = False
    polls: bool = False


class NativeStep(ABC):
    """One call of a native kernel, or of a few, one after the other."""

    name: str

    @property
    def sources(self) -> Sequence[PtirOp]:
        """The ops that a failure may name, in the same order for equal keys."""
        return ()

    @property
    def addresses(self) -> Sequence[View]:
        """The views whose first elements a kernel of its own table is given, in order."""
        return ()

    @abstractmethod
    def access(self) -> Access:
        """The buffers that it reads and writes."""

    @abstractmethod
    def contents(self) -> str:
        """Return a description of the computation, in words."""

    def cost(self, host: TargetInfo) -> float:
        """
        About how many nanoseconds its kernels take on one thread: what decides whether threads share them, and in what pieces.

        By default that of reading and writing its buffers once.
        """
        access = self.access()
        return sum(b.bytes for b in dict.fromkeys((*access.reads, *access.writes))) / costs.BYTES

    @abstractmethod
    def kernels(self, module: LlvmModule, host: TargetInfo, known: dict[Hashable, NativeKernel]) -> Sequence[NativeKernel]:
        """Its kernels, in the order of their calls, added to the module; `known` holds those that others may share."""


class SharedStep(NativeStep):
    """One kernel, shared with other steps of the same key."""

    @abstractmethod
    def key(self) -> Hashable:
        """Return all that its text depends on, names apart."""

    @abstractmethod
    def emit(self, f: Function, host: TargetInfo, sites: Sites) -> int:
        """The body of the function; how many units of work it has."""

    def kernels(self, module: LlvmModule, host: TargetInfo, known: dict[Hashable, NativeKernel]) -> Sequence[NativeKernel]:
        key = (type(self), self.key(), tuple([(v.offset, v.base) for v in self.addresses]) if host.checked else ())
        if key in known:
            return [known[key]]
        name = module.unique(f"k.{identifier(self.name)}")
        f = module.function(name, "i64", [("ptr", "args"), ("i64", "begin"), ("i64", "end")])
        f.notes.append(f"{self.name}: {self.contents()}")
        sites = Sites()
        units = self.emit(f, host, sites)
        numbers = {op: i for i, op in enumerate(self.sources)}
        fails = tuple([(s.failure, -1 if s.op is None else numbers[s.op]) for s in sites.found])
        known[key] = made = NativeKernel(name, units, fails, own=True, polls=f.polls)
        return [made]
