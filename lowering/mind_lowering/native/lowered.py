"""A lowered program: its text, what a call does step by step, and what became of each op."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.func import FuncOp

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import PtirDType

from .failures import FailureSite
from .target_info import TargetInfo


@dataclass(frozen=True)
class TimedKernel:
    """A call of a kernel that an entry times; what `name` says is that of `explain`."""

    name: str
    location: LocationAttr
    bytes: int
    """Size of the elements that it reads and writes."""
    flops: int
    """Operations of products, convolutions and attention."""


@dataclass(frozen=True)
class Entry:
    """A function of the module that runs some kernels."""

    name: str
    timed: Sequence[TimedKernel] = ()
    """Its calls of kernels, if it was lowered to time them."""


@dataclass(frozen=True)
class TableEntry:
    """Memory that code finds through the table: an entry, and bytes from there."""

    place: int
    offset: int = 0
    is_new: bool = False
    """True for a result in memory that the caller gives, not in that of a donated argument or of a step on NumPy."""


@dataclass(frozen=True)
class Reading:
    """An array that a step on NumPy reads, its strides counted in elements."""

    dtype: PtirDType
    shape: Sequence[int]
    strides: Sequence[int]
    memory: TableEntry


@dataclass(frozen=True)
class Foreign:
    """
    A step that the NumPy target runs: a function of PTIR with the op alone in it, what it is given and where results are kept.

    `draws` is how many random draws the program made before it.
    """

    func: FuncOp
    op: PtirOp
    inputs: Sequence[Reading]
    outputs: Sequence[TableEntry]
    draws: int
    reason: str


@dataclass(frozen=True)
class Packing:
    """Packing that runs once for all calls: a function, the inputs that it reads, the table's entries and bytes that it fills."""

    entry: str
    inputs: Sequence[int]
    kept: Sequence[tuple[int, int]]
    consumed: Sequence[int] = ()
    """The inputs that nothing else reads: once they are packed, calls no longer read them."""

    @property
    def bytes(self) -> int:
        """The memory that it keeps."""
        return sum(size for _, size in self.kept)


@dataclass(frozen=True)
class Note:
    """Outcome of one op of the lowered program: the name of its kernel, or why it runs on NumPy; loops have neither."""

    what: str
    kernel: str | None
    reason: str | None = None
    depth: int = 0
    """Number of branches and loops around it."""
    once: bool = False
    """True if it runs once for all calls."""

    def __str__(self) -> str:
        if self.reason is not None:
            return f"numpy   {self.what}: {self.reason}"
        when = "once  " if self.once else "native"
        return f"{when}  {'  ' * self.depth}{self.what if self.kernel is None else f'{self.kernel}: {self.what}'}"


@dataclass(frozen=True)
class Native:
    """A lowered program: the text of its module, the steps of a call, and the memory that they work in."""

    name: str
    host: TargetInfo
    text: str
    steps: Sequence[Entry | Foreign]
    inputs: Sequence[int]
    """The entry of each input in the table, -1 for one that nothing reads."""
    outputs: Sequence[TableEntry]
    """Of each result: memory that the caller gives, that of a donated argument, or what a step on NumPy gives."""
    constants: Sequence[tuple[TableEntry, PtirLiteralAttr]]
    table: int
    """Number of entries of the table of buffers."""
    arena: int
    """Bytes of the arena."""
    sites: Sequence[FailureSite]
    notes: Sequence[Note]
    cost: float = inf
    """About how many nanoseconds a call takes on one thread, where that is known."""
    draws: bool = False
    """True if native code draws random numbers, from the seed in the record."""
    packing: Packing | None = None
    times: int | None = None
    """The entry of the table for the counters of `timing.py`, in the order of `Entry.timed`; None if nothing is timed."""
    launches: FuncOp | None = None
    """The launches that a call runs, and their memory. Calls need none, and programs of the runtime do not hold them."""

    rejected: Sequence[str] = ()
    """Of each op that several rows of the table of kernels could take: the row that takes it, and why others do not."""

    def explain(self, *, rejected: bool = False) -> Iterator[str]:
        """Yield lines that say what runs natively, what on NumPy and why, and if asked for why other kernels were rejected."""
        foreign = sum(n.reason is not None for n in self.notes)
        native = sum(n.kernel is not None for n in self.notes)
        counts = f"{native} native kernel{'s' * (native != 1)}, {foreign} op{'s' * (foreign != 1)} on NumPy"
        yield f"@{self.name} on {self.host.isa}: {counts}, arena {self.arena} bytes"
        yield from map(str, self.notes)
        yield from self.rejected if rejected else ()
