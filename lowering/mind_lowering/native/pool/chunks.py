"""
Work of the pool's threads on chunks of a kernel: take them, run them, note failures; and time, and signals in between.
"""

from __future__ import annotations

from collections.abc import Callable

from ..failures import RECORD_NUMBERS
from ..ir import Function, LlvmModule
from ..record import BACK, FRONT, INTERRUPTED, Record, System
from ..timing import emit_clock

WAIT, WAKE = 128, 129
"""Numbers of Linux: of what to do at a word that threads of one process wait for."""
JOB = (("ptr", "kernel"), ("ptr", "args"), ("i64", "units"), ("i64", "size"), ("i64", "words"), ("i64", "caches"))
"""Parameters of what runs a kernel."""


class Chunks:
    """Functions of the module of the pool."""

    def __init__(self, triple: str, system: System, spin: int, pause: int):
        self.module = LlvmModule(triple, "the pool of threads of the target mind-native")
        self.system, self.spin, self.pause = system, spin, pause

    def function(self, name: str, result: str, *parameters: tuple[str, str], internal: bool = True) -> Function:
        """A new function."""
        return self.module.function(name, result, parameters, internal=internal)

    def rest(self, f: Function) -> None:
        """Let the core do something else for an instant."""
        argument = [] if self.system.hint is None else [("i32", str(self.system.hint))]
        f.call(self.system.pause, "void", *argument)

    def futex(self, f: Function, place: str, code: int, value: str) -> None:
        """Wait at a word that has a value, or wake some who do."""
        f.op(f"call i64 (i64, ...) @syscall(i64 {self.system.futex}, ptr {place}, i32 {code}, i32 {value}, ptr null)", "futex")

    # Time and signals

    def now(self) -> None:
        """The time, in nanoseconds."""
        f = self.function("now", "i64")
        if not self.system.has_pool:
            f.ret(f.mul(f.call("clock", "i64", hint="ticks"), 1000))  # of which there are a million in a second
            return
        emit_clock(f)

    def poll(self) -> None:
        """Let handlers of signals run, if it is time; what one of them raised in another thread's part counts too."""
        f = self.function("mind.poll", "i64", ("ptr", "record"), internal=False)
        flag = f.op(f"load ptr, ptr {f.address('ptr', '%record', str(int(Record.ENDED)))}, align 8", "flag")

        def look() -> None:
            ended = f.op(f"load atomic i32, ptr {flag} monotonic, align 4", "ended")
            f.leave(f.op(f"icmp ne i32 {ended}, 0", "over"), lambda: str(INTERRUPTED))

        f.when(f.op(f"icmp ne ptr {flag}, null", "shared"), look)
        polled = f.address("i64", "%record", str(int(Record.POLLED)), "polled")
        last, now = f.op(f"load i64, ptr {polled}, align 8", "last"), f.op("call i64 @now()", "now")
        since = f.op(f"sub i64 {now}, {last}", "since")
        early = f.op(f"icmp ult i64 {since}, {self.pause}", "early")
        f.leave(early, lambda: "0")
        store = f"store i64 {now}, ptr {polled}, align 8"
        f.leave(f.op(f"icmp eq i64 {last}, 0", "first"), lambda: (f.do(store), "0")[1])
        if self.system.has_pool:  # only the main thread handles signals, and the lock of the interpreter may be far
            thread = f.op(f"call i64 (i64, ...) @syscall(i64 {self.system.gettid})", "thread")
            thread = f.op(f"trunc i64 {thread} to i32", "thread")
            other = f.op(f"icmp ne i32 {thread}, {f.call('getpid', 'i32', hint='process')}", "other")
            f.leave(other, lambda: "0")
        f.do(store)
        state = f.call("PyGILState_Ensure", "i32", hint="state")
        found = f.call("PyErr_CheckSignals", "i32", hint="found")
        raised = f.op(f"icmp ne i32 {found}, 0", "raised")
        places = [("ptr", f.address("i64", "%record", str(Record.RAISED + i), "raised")) for i in range(3)]
        f.when(raised, lambda: void(f.call("PyErr_Fetch", "void", *places)))
        f.call("PyGILState_Release", "void", ("i32", state))
        f.ret(f.op(f"select i1 {raised}, i64 {INTERRUPTED}, i64 0", "status"))

    # One thread alone

    def alone(self) -> None:
        """All units, one chunk after the other."""
        f = self.function("alone", "i64", *JOB[:4], ("ptr", "record"))

        def iteration(chunk: str) -> None:
            begin = f.op(f"mul nsw i64 {chunk}, %size", "begin")
            end = f.least(f.add(begin, "%size"), "%units")
            status = f.op(f"call i64 %kernel(ptr %args, i64 {begin}, i64 {end})", "status")
            f.leave(f.op(f"icmp ne i64 {status}, 0", "failed"), lambda: status)
            found = f.op("call i64 @mind.poll(ptr %record)", "found")
            f.leave(f.op(f"icmp ne i64 {found}, 0", "interrupted"), lambda: found)

        for chunk in f.each("0", count_of(f), hint="chunk"):
            iteration(chunk)
        f.ret("0")

    # Chunks

    def failed(self) -> None:
        """Note that a chunk failed; of several the first is kept."""
        f = self.function("failed", "void", ("i64", "chunk"), ("i64", "status"), ("ptr", "numbers"))

        def attempt() -> str:
            self.rest(f)
            pair = f.op("cmpxchg ptr @fault.lock, i32 0, i32 1 acquire monotonic", "pair")
            return f.op(f"extractvalue {{ i32, i1 }} {pair}, 1", "got")

        until(f, attempt)
        known = f.op("load i64, ptr @fault.chunk, align 8", "known")

        def keep() -> None:
            f.do("store i64 %chunk, ptr @fault.chunk, align 8")
            f.do("store i64 %status, ptr @fault.status, align 8")
            copied(f, "@fault.numbers", "%numbers", str(RECORD_NUMBERS))

        f.when(f.op(f"icmp slt i64 %chunk, {known}", "earlier"), keep)
        f.do("store atomic i32 0, ptr @fault.lock release, align 8")
        f.do("store atomic i32 1, ptr @stop seq_cst, align 8")
        f.ret()

    def perform(self) -> None:
        """Run one chunk of the current job, which stays current until then; a status below 0 is given back."""
        f = self.function("perform", "i64", ("i64", "chunk"), ("ptr", "record"))
        kernel, args = (f.op(f"load atomic ptr, ptr @{n} monotonic, align 8", n) for n in ("kernel", "args"))
        units, size, words = (f.op(f"load atomic i64, ptr @{n} monotonic, align 8", n) for n in ("units", "size", "words"))
        begin = f.op(f"mul nsw i64 %chunk, {size}", "begin")
        end = f.least(f.add(begin, size), units)
        run = f"call i64 {kernel}(ptr {{}}, i64 {begin}, i64 {end})"
        f.leave(f.op(f"icmp eq i64 {words}, 0", "plain"), lambda: f.op(run.format(args), "status"))
        own = f.op(f"alloca [{int(Record.WORDS)} x i64], align 16", "own")
        shared = f.op(f"load ptr, ptr {args}, align 8", "shared")
        copied(f, own, shared, str(int(Record.WORDS)))
        f.do(f"store [{RECORD_NUMBERS} x i64] zeroinitializer, ptr {own}, align 16")
        table = f.op(f"alloca ptr, i64 {words}, align 16", "table")
        copied(f, table, args, words)
        f.do(f"store ptr {own}, ptr {table}, align 8")
        status = f.op(run.format(table), "status")

        def raised() -> str:
            to, source = (f.address("i64", p, str(int(Record.RAISED)), "raised") for p in ("%record", own))
            f.when(f.op("icmp ne ptr %record, null", "caller"), lambda: copied(f, to, source, "3"))
            return status

        f.leave(f.op(f"icmp slt i64 {status}, 0", "raised"), raised)
        failed = f.op(f"icmp ne i64 {status}, 0", "failed")
        f.when(failed, lambda: f.do(f"call void @failed(i64 %chunk, i64 {status}, ptr {own})"))
        f.ret("0")

    def claim(self) -> None:
        """Take a chunk of a job; -1 where there is none."""
        f = self.function("claim", "i64", ("i64", "job"), ("i64", "step"))
        chunk: list[str] = []

        def attempt() -> str:
            now = f.op("load atomic i64, ptr @ticket seq_cst, align 8", "now")
            job = f.op(f"lshr i64 {now}, 32", "job")
            f.leave(f.op(f"icmp ne i64 {job}, %job", "over"), lambda: "-1")
            stop = f.op("load atomic i32, ptr @stop monotonic, align 8", "stop")
            f.leave(f.op(f"icmp ne i32 {stop}, 0", "stopped"), lambda: "-1")
            count = f.op("load atomic i64, ptr @chunks monotonic, align 8", "count")
            front, back = taken(f, now)
            f.leave(f.op(f"icmp sge i64 {f.add(front, back)}, {count}", "none"), lambda: "-1")
            new = f.add(now, "%step")
            pair = f.op(f"cmpxchg ptr @ticket, i64 {now}, i64 {new} seq_cst seq_cst", "pair")
            last = f.op(f"sub i64 {count}, {f.add(back, '1')}", "last")
            is_front = f.op(f"icmp eq i64 %step, {FRONT}", "is_front")
            place = f.op(f"select i1 {is_front}, i64 {front}, i64 {last}", "place")
            chunk.append(chunk_at(f, place, count, job))
            return f.op(f"extractvalue {{ i64, i1 }} {pair}, 1", "got")

        until(f, attempt)
        f.ret(chunk[0])


def count_of(f: Function) -> str:
    """Emit the number of chunks of the units of a function's parameters."""
    more = f.op("sub i64 %size, 1", "more")
    return f.op(f"sdiv i64 {f.op(f'add i64 %units, {more}', 'more')}, %size", "count")


def taken(f: Function, ticket: str) -> tuple[str, str]:
    """Emit the numbers of chunks that a ticket says are taken from the front and from the back."""
    front = f.op(f"and i64 {ticket}, {BACK - 1}", "front")
    return front, f.op(f"and i64 {f.op(f'lshr i64 {ticket}, 16', 'back')}, {BACK - 1}", "back")


def chunk_at(f: Function, place: str, count: str, job: str) -> str:
    """
    Emit the number of the chunk at a place of a job's order.

    That is the place itself, but in every other job that alternates: there each half of them is backwards, so that the caller and
    the workers, who met in the middle, begin with what they had last.
    """
    half = f.op(f"lshr i64 {count}, 1", "half")
    low = f.op(f"icmp slt i64 {place}, {half}", "low")
    both = f.op(f"select i1 {low}, i64 {half}, i64 {f.add(half, count)}", "both")
    back = f.op(f"sub i64 {f.op(f'sub i64 {both}, 1', 'end')}, {place}", "back")
    mask = f.op("load atomic i64, ptr @alternates monotonic, align 8", "alternates")
    odd = f.op(f"trunc i64 {f.op(f'and i64 {job}, {mask}', 'odd')} to i1", "odd")
    return f.op(f"select i1 {odd}, i64 {back}, i64 {place}", "chunk")


def exchanged(f: Function, expected: str) -> str:
    """Put this process down as the owner of the pool if the owner is as expected; who it was."""
    pair = f.op(f"cmpxchg ptr @owner, i32 {expected}, i32 %process seq_cst seq_cst, align 4", "pair")
    return f.op(f"extractvalue {{ i32, i1 }} {pair}, 0", "seen")


def until(f: Function, attempt: Callable[[], str]) -> None:
    """Do `attempt` until it gives true."""
    head, after = f.label("again"), f.label("so")
    f.do(f"br label %{head}")
    f.start(head)
    f.do(f"br i1 {attempt()}, label %{after}, label %{head}")
    f.start(after)


def copied(f: Function, to: str, source: str, words: str) -> None:
    """Copy words of 64 bits."""
    for i in f.each("0", words):
        word = f.op(f"load i64, ptr {f.address('i64', source, i)}, align 8", "word")
        f.do(f"store i64 {word}, ptr {f.address('i64', to, i)}, align 8")


def void(text: str) -> None:
    """Nothing, of what a call without a value gives."""
