"""
The interface of every native kernel to the planner and to the printer: a `NativeStep`.

A kernel is a function

    i64 @k.name(ptr %args, i64 %begin, i64 %end)

that does the units of work from `%begin` to `%end`; calls of disjoint ranges may run at the same time, and no result depends on
how the units are shared out. `%args` is a table of addresses: the record of failures, then that of each of `addresses`. A kernel
returns a status (see `failures`). Its text depends on `key` alone, so steps of equal keys share one function.

Another kind of kernel (a tiled product, a row kernel) is another class here, and a row of `codegen.EMIT`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence

from xdsl.ir import SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp

from ..launch.limits import Limit
from . import costs
from .failures import Failure
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


@dataclass(frozen=True)
class Limited:
    """The units of work of a kernel by axis of its grid, and the sizes that limit some of them."""

    grid: Sequence[int]
    limits: Sequence[tuple[SSAValue, Limit]]


class NativeStep(ABC):
    """One call of a native kernel."""

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

    @property
    def flops(self) -> int:
        """The floating-point operations of products in it; what goes element by element is not counted."""
        return 0

    @abstractmethod
    def key(self) -> Hashable:
        """Return all that its text depends on, names apart."""
