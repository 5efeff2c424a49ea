"""
Decides for which sizes of its dimensions a dynamic program is compiled, and which of these programs are kept.

The general program runs any sizes; a program for some sizes is faster but has to be compiled. The decision is that of ski rental:
sizes are compiled for when the time they lost in the general program exceeds the expected time to compile, so the total is at
most about twice the best choice in hindsight, and sizes that come rarely are never compiled for. What compiling takes and gains
is learnt per class of sizes: 0, 1, or a range up to a power of two, divisible by the vector width or not.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Generic, Protocol, TypeVar

from mind_dialect.lazy_dataclass import dataclass

from .specialization import Specialization, class_of

Sizes = tuple[int, ...]
Shapes = tuple[Sizes, ...]
T = TypeVar("T")

REMEMBERED = 1024
"""So many sizes, and so many classes, have an account; the least recent ones without a program go first."""
WINDOW = 64
"""Uses are counted in windows of so many calls for each size that is remembered."""
DECAY = 0.5
"""The lost time of sizes that were not called in a window shrinks by this; of others it adds up, however short their runs are."""
TIMED = 8
"""So many calls of a new program are timed."""
MARGIN = 1.5
"""A program is evicted only for one that is expected to gain this many times as much per byte."""
FIRST_BYTES = 1 << 16
"""The bytes that a program is expected to take before any was compiled."""


class SizeState(Enum):
    """Ways in which calls with some sizes run."""

    GENERAL = "general"
    PENDING = "compiling"
    COMPILED = "compiled"
    EVICTED = "evicted"
    REFUSED = "not compilable"
    SLOWER = "no faster"

    @property
    def may_compile(self) -> bool:
        """Return whether a program may still come, without one that was lost before."""
        return self in (SizeState.GENERAL, SizeState.PENDING)


@dataclass(frozen=True)
class Built(Generic[T]):
    """A program for some sizes, the bytes that it keeps and the seconds that compiling took."""

    program: T
    bytes: int
    seconds: float


class Compiler(Protocol[T]):
    """Compiles for sizes; `seconds` and `gain` are the expected time and saved share of a run before any was measured."""

    seconds: float
    gain: float

    def build(self, shapes: Shapes) -> Built[T] | None:
        """Compile now; None where no program for these shapes is legal or fits."""
        ...

    def start(self, shapes: Shapes, done: Callable[[Built[T] | None], None]) -> bool:
        """Begin to compile in the background, and call `done` with what `build` returns; False if that cannot be."""
        ...


class Account(Generic[T]):
    """Counts and times of the calls with some sizes."""

    __slots__ = (
        "before",
        "bytes",
        "calls",
        "factor",
        "general",
        "kind",
        "lost",
        "now",
        "program",
        "shapes",
        "special",
        "state",
        "timed",
        "unpadded",
    )

    def __init__(self, shapes: Shapes, kind: str):
        self.shapes, self.kind = shapes, kind
        self.state = SizeState.GENERAL
        self.program: T | None = None
        self.calls = self.now = self.before = self.timed = self.bytes = 0
        self.lost = 0.0
        self.factor = 1
        """The loss after which a size is compiled for, in multiples of the expected time to compile."""
        self.general = self.special = float("inf")
        """Seconds of the fastest call in either program."""
        self.unpadded = float("inf")
        """Seconds of the fastest call in the general program while there was none for the class of the sizes."""

    @property
    def gain(self) -> float:
        """The share of a general run that the own program saves."""
        return 1 - self.special / self.general if 0 < self.general < float("inf") else 0.0


@dataclass
class _Class:
    """Measurements of a class of sizes; None before the first."""

    seconds: float | None = None
    gain: float | None = None
    bytes: int | None = None
    calls: int = 0
    lost: float = 0.0
    spent: float = 0.0


class Specialized(Generic[T]):
    """The programs for sizes of one dynamic program. `check` raises what is wrong with shapes, and returns sizes by name."""

    def __init__(
        self,
        compiler: Compiler[T],
        check: Callable[..., Mapping[str, int]],
        limits: Specialization,
        clock: Callable[[], float] = time.perf_counter,
    ):
        self.limits, self.clock = limits, clock
        self._compiler, self._check = compiler, check
        self._accounts: OrderedDict[Shapes, Account[T]] = OrderedDict()
        self._classes: OrderedDict[str, _Class] = OrderedDict()
        self._any = _Class()
        """The last measurements of any class."""
        self._lock = threading.RLock()
        self._began = 0.0
        self.spent = 0.0
        """Seconds of compiling so far."""
        self._pending: Account[T] | None = None
        self._calls = self._window = 0
        self.shares_with: Specialized[T] | None = None
        """Other programs with which these share the time for compiling."""
        self.dropped: Callable[[], None] = lambda: None
        """Called when a program is dropped, so that nothing else goes on to run it."""

    def of(self, shapes: Shapes) -> Account[T]:
        """Return the account of these shapes, whose `program` is what to run if it has one. Raises what the check raises."""
        if (found := self._accounts.get(shapes)) is not None:
            return found
        kind = class_of(self._check(*shapes))
        with self._lock:
            if not self._accounts:
                self._began = self.clock()
            found = self._accounts.setdefault(shapes, Account(shapes, kind))
            self._forget()
        if self.limits.eager and found.state is SizeState.GENERAL and len(self) < self.limits.max_programs:
            self._build(found)
        return found

    def compiled(self, shapes: Shapes) -> T | None:
        """Return the program for these shapes, compiled now if there is none and limits of memory allow it."""
        account = self.of(shapes)
        if account.program is None and account.state is not SizeState.REFUSED and self.limits.max_programs:
            self._build(account, forced=True)
        return account.program

    def _build(self, account: Account[T], *, forced: bool = False) -> None:
        """Compile for an account within this call."""
        try:
            built = self._compiler.build(account.shapes)
        except BaseException:  # an interrupt: the next call may compile
            with self._lock:
                self._pending, account.state = None if self._pending is account else self._pending, SizeState.GENERAL
            raise
        self._arrived(account, built, forced=forced)

    def used(self, account: Account[T], calls: int = 1) -> None:
        """Count calls that the account's program runs."""
        self._calls += calls
        account.calls += calls
        account.now += calls

    def while_kept(self, account: Account[T], program: T, act: Callable[[], None]) -> None:
        """Act if this is still the program of the account."""
        with self._lock:
            if account.program is program:
                act()

    def timed(self, account: Account[T], seconds: float) -> None:
        """Take in how long one of the first calls of the account's program took; one that is no faster is dropped."""
        account.timed += 1
        account.special = min(account.special, seconds)
        if account.timed >= TIMED and not self.limits.eager:
            with self._lock:
                if account.state is SizeState.COMPILED and account.general < float("inf"):
                    self._class(account).gain = self._any.gain = max(0.0, account.gain)
                    if account.gain <= 0:
                        self._drop(account, SizeState.SLOWER)

    def ran(self, account: Account[T], seconds: float) -> None:
        """Take in how long a call took in the general program, and compile if that pays."""
        with self._lock:
            self.used(account)
            account.general = min(account.general, seconds)
            found = self._class(account)
            lost = seconds * (found.gain if found.gain is not None else self._gain())
            account.lost += lost
            found.lost += lost
            if account.shapes in self._accounts:
                self._accounts.move_to_end(account.shapes)
            self._turn()
            if not self._pays(account):
                return
            account.state, self._pending = SizeState.PENDING, account
        if self.limits.background and self._compiler.start(account.shapes, lambda built: self._arrived(account, built)):
            return
        self._build(account)

    @property
    def began(self) -> float:
        """The time of the first call, 0 before it."""
        return self._began

    def __len__(self) -> int:
        """Return how many sizes have a program of their own."""
        return sum(account.program is not None for account in list(self._accounts.values()))

    @property
    def bytes(self) -> int:
        """The bytes that all programs take."""
        return sum(account.bytes for account in list(self._accounts.values()))

    def report(self) -> list[str]:
        """Return lines that say, for each class of sizes, calls, time lost, time spent on compiling, and what runs them."""
        with self._lock:
            states: dict[str, Counter[SizeState]] = {}
            calls: Counter[str] = Counter()
            for account in self._accounts.values():
                states.setdefault(account.kind, Counter())[account.state] += 1
                calls[account.kind] += account.calls
            share = f"{self.limits.compile_share:.0%} of the time"
            head = (
                f"{len(self)} programs of at most {self.limits.max_programs}, {self.bytes:,} of {self.limits.max_bytes:,} bytes"
            )
            lines = [f"compiled for sizes: {head}; {self.spent:.3f} s of compiling, at most {share}"]
            for kind, found in states.items():
                about = self._classes.get(kind, _Class())
                how = ", ".join(f"{n} {state.value}" for state, n in sorted(found.items(), key=lambda pair: pair[0].value))
                took = f"{calls[kind]} calls, {about.lost:.3f} s lost, {about.spent:.3f} s of compiling"
                lines.append(f"sizes   {kind or 'all'}: {took}; {how}")
            return lines

    def _class(self, account: Account[T]) -> _Class:
        found = self._classes.setdefault(account.kind, _Class())
        if len(self._classes) > REMEMBERED:
            self._classes.popitem(last=False)
        return found

    def _gain(self) -> float:
        return self._compiler.gain if self._any.gain is None else self._any.gain

    def _forget(self) -> None:
        """Drop the least recent account without a program, if there are too many."""
        if len(self._accounts) <= REMEMBERED:
            return
        for shapes, account in self._accounts.items():
            if account.program is None and account.state is not SizeState.PENDING:
                del self._accounts[shapes]
                return

    def _turn(self) -> None:
        """Begin a new window when this one is over."""
        if self._calls - self._window < WINDOW * len(self._accounts):
            return
        self._window = self._calls
        for account in self._accounts.values():
            account.lost *= 1 if account.now else DECAY
            account.before, account.now = account.now, 0

    def _pays(self, account: Account[T]) -> bool:
        """Return whether to compile for an account now."""
        if account.state not in (SizeState.GENERAL, SizeState.EVICTED) or self._pending is not None:
            return False
        expected = self._expected(account, "seconds", self._compiler.seconds)
        if account.lost < account.factor * expected:
            return False
        spent = self.spent + (0.0 if self.shares_with is None else self.shares_with.spent)
        began = self._began if self.shares_with is None else min(self._began, self.shares_with.began or self._began)
        if spent + expected > self.limits.compile_share * (self.clock() - began):
            return False
        return self._victims(account, int(self._expected(account, "bytes", min(FIRST_BYTES, self.limits.max_bytes)))) is not None

    def _expected(self, account: Account[T], what: str, first: float) -> float:
        """Return a measurement of the class, else the last of any class, else `first`."""
        for known in (self._class(account), self._any):
            if (found := getattr(known, what)) is not None:
                return found
        return first

    def _victims(self, account: Account[T], size: int, *, forced: bool = False) -> list[Account[T]] | None:
        """Return the accounts whose programs are to go for a new one of `size` bytes; None where it is not worth them."""
        held = [a for a in self._accounts.values() if a.program is not None]
        programs, total = len(held) + 1, self.bytes + size
        worth = self._worth(account, size)
        victims: list[Account[T]] = []
        for victim in sorted(held, key=lambda a: self._worth(a, a.bytes)):
            if programs <= self.limits.max_programs and total <= self.limits.max_bytes:
                break
            if not forced and self._worth(victim, victim.bytes) * MARGIN > worth:
                return None
            victims.append(victim)
            programs, total = programs - 1, total - victim.bytes
        return victims if programs <= self.limits.max_programs and total <= self.limits.max_bytes else None

    def _worth(self, account: Account[T], size: int) -> float:
        """The seconds per byte that a program saves in two windows."""
        measured = account.timed >= TIMED and account.general < float("inf")
        gain = account.gain if measured else self._class(account).gain
        saved = (self._gain() if gain is None else gain) * (account.general if account.general < float("inf") else 1.0)
        return (account.now + account.before) * saved / max(1, size)

    def _arrived(self, account: Account[T], built: Built[T] | None, *, forced: bool = False) -> None:
        """Let what was compiled run calls from now on, if there is still room for it."""
        with self._lock:
            if self._pending is account:
                self._pending = None
            if built is None:
                account.state = SizeState.REFUSED
                return
            found = self._class(account)
            self.spent += built.seconds
            found.spent += built.seconds
            for known in (found, self._any):
                known.seconds, known.bytes = built.seconds, built.bytes
            victims = self._victims(account, built.bytes, forced=forced)
            if victims is None:
                self._drop(account, SizeState.REFUSED if built.bytes > self.limits.max_bytes else SizeState.EVICTED)
                return
            for victim in victims:
                self._drop(victim, SizeState.EVICTED)
            if account.shapes in self._accounts:
                account.bytes, account.timed, account.special = built.bytes, 0, float("inf")
                account.state, account.program = SizeState.COMPILED, built.program

    def _drop(self, account: Account[T], state: SizeState) -> None:
        """Let the general program run an account; it has to lose twice the time to compile before it is compiled for again."""
        if account.program is not None:
            self.dropped()
        account.program, account.state, account.bytes = None, state, 0
        account.lost, account.factor = 0.0, 2
