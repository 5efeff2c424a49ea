"""
The pool of threads, as LLVM IR: a module of its own, one for a process, that knows nothing of programs.

    i64 @mind.share(ptr %kernel, ptr %args, i64 %units, i64 %size, i64 %words, ptr %record)
    i64 @mind.poll(ptr %record)

`share` runs all units of a kernel, `%size` at a time: a chunk. It gives the status of the first chunk that fails, or another if
a signal ended it. The caller takes chunks from the front, workers take them from the back, so that a thread meets again what it
has in its cache; a worker that got none for a while sleeps. The caller waits for chunks that a worker began, and for nothing
else. One thread at a time has the pool: a call from another one, or from within a call, runs alone. A fork of the process makes
workers of its own.

What threads agree on is one word, the ticket: the number of the job, how many chunks are taken from the back, how many from the
front. Chunks are taken by compare-and-swap of all of it, so nobody gets a chunk of a job that is over. A kernel that can fail is
run on a copy of its arguments (`%words` addresses) with a record of failures of its own; its chunks are all taken from the front,
so that the first one that fails is always found.

`poll` lets Python's handlers of signals run if this is the main thread and none has run for a while. What one of them raises is
put in the record, and the status is `INTERRUPTED`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from .failures import RECORD_NUMBERS
from .ir import Function, Module


class Record(IntEnum):
    """What is where in the record of a call, behind the numbers of a failure."""

    SHARE = RECORD_NUMBERS
    """The address of `share`."""
    POLL = RECORD_NUMBERS + 1
    THREADS = RECORD_NUMBERS + 2
    """How many may work on this call, the caller included."""
    POLLED = RECORD_NUMBERS + 3
    """When handlers of signals could last run, in nanoseconds; 0 if that is not known."""
    RAISED = RECORD_NUMBERS + 4
    """Type, value and traceback of what a handler raised."""
    WORDS = RECORD_NUMBERS + 7


INTERRUPTED = -1
"""The status of a call that a handler of a signal ended."""
LOST = -2
"""The status of a call that went on in a fork of its process: what workers had begun is lost."""
MOST_CHUNKS = 0xFFFF
MOST_THREADS = 256
_FRONT, _BACK, _CLOSED = 1, 1 << 16, 0xFFFFFFFF
_TURNS = 64
"""So many times a worker looks for work before it looks at the clock."""
_PATIENCE = 2000
"""So many times the caller looks whether a worker is done before it sleeps until then."""
_BLOCKED = (1 << 64) - 1 - sum(1 << (n - 1) for n in (4, 5, 6, 7, 8, 11))
"""The signals that workers leave to other threads: all but those of faults."""
_WAIT, _WAKE, _MONOTONIC = 128, 129, 1


@dataclass(frozen=True)
class System:
    """What the operating system of a machine has: numbers of Linux's system calls, or no pool at all."""

    pause: str
    futex: int = 0
    gettid: int = 0
    clock: int = 1_000_000
    """Without a pool: how often the C library's `clock` ticks, in a second."""

    @property
    def has_pool(self) -> bool:
        """Whether there are workers."""
        return self.futex != 0


_PAUSES = {"x86_64": "call void @llvm.x86.sse2.pause()", "aarch64": "call void @llvm.aarch64.hint(i32 1)"}
_DECLARED: dict[str, tuple[str, list[str]]] = {"x86_64": ("llvm.x86.sse2.pause", []), "aarch64": ("llvm.aarch64.hint", ["i32"])}
_CALLS = {"x86_64": (202, 186), "aarch64": (98, 178)}


def system_of(triple: str, platform: str) -> System:
    """The system of a machine with LLVM's name `triple` and Python's name `platform`: workers are for Linux."""
    machine = triple.partition("-")[0]
    if platform.startswith("linux") and machine in _CALLS:
        return System(_PAUSES[machine], *_CALLS[machine])
    return System("", clock=1_000 if platform == "win32" else 1_000_000)


GLOBALS = {
    "ticket": "i64 4294967295",  # of job 0, which is closed
    "done": "i32 0",
    "waiting": "i32 0",
    "sleepers": "i32 0",
    "stop": "i32 0",
    "owner": "i32 0",
    "home": "i32 0",
    "workers": "i64 0",
    "refused": "i32 0",
    "fault.lock": "i32 0",
    "fault.chunk": "i64 0",
    "fault.status": "i64 0",
    "fault.numbers": f"[{RECORD_NUMBERS} x i64] zeroinitializer",
    "kernel": "ptr null",
    "args": "ptr null",
    "units": "i64 0",
    "size": "i64 0",
    "words": "i64 0",
    "chunks": "i64 0",
    "most": "i64 0",
}
"""What threads share. Ticket, done, stop and those from `kernel` on are of the job at hand."""
_APART = frozenset({"ticket", "done", "stop", "owner", "kernel"})
"""Each begins a cache line."""


def pool_text(triple: str, system: System, spin: int, pause: int) -> str:
    """
    The module: workers look for work for `spin` nanoseconds before they sleep, handlers of signals may run every `pause`
    nanoseconds.
    """
    return _Pool(triple, system, spin, pause).text()


class _Pool:
    """The functions of the module."""

    def __init__(self, triple: str, system: System, spin: int, pause: int):
        self.module = Module(triple, "the pool of threads of the target mind-native")
        self.system, self.spin, self.pause = system, spin, pause
        self.machine = triple.partition("-")[0]

    def text(self) -> str:
        """All of it."""
        self.now()
        self.poll()
        self.alone()
        if self.system.has_pool:
            aligned = {n: 64 if n in _APART else 8 for n in GLOBALS}
            self.module.globals += [f"@{n} = internal global {v}, align {aligned[n]}" for n, v in GLOBALS.items()]
            self.module.globals.append("declare i64 @syscall(i64, ...)")
            self.module.declare(_DECLARED[self.machine][0], "void", _DECLARED[self.machine][1])
            for part in (self.failed, self.perform, self.claim, self.awaited, self.worker, self.crew, self.acquire, self.ended):
                part()
        self.share()
        return self.module.text()

    def function(self, name: str, result: str, *parameters: tuple[str, str], internal: bool = True) -> Function:
        """A new function."""
        return self.module.function(name, result, parameters, internal=internal)

    # Time and signals

    def now(self) -> None:
        """The time, in nanoseconds."""
        f = self.function("now", "i64")
        if not self.system.has_pool:
            ticks = f.call("clock", "i64", hint="ticks")
            f.ret(f.mul(ticks, 1_000_000_000 // self.system.clock))
            return
        time = f.op("alloca [2 x i64], align 16", "time")
        f.call("clock_gettime", "i32", ("i32", str(_MONOTONIC)), ("ptr", time))
        seconds = f.op(f"load i64, ptr {time}, align 8", "seconds")
        rest = f.op(f"load i64, ptr {f.address('i64', time, '1')}, align 8", "rest")
        f.ret(f.add(f.mul(seconds, 1_000_000_000), rest))

    def poll(self) -> None:
        """Let handlers of signals run, if it is time."""
        f = self.function("mind.poll", "i64", ("ptr", "record"), internal=False)
        polled = f.address("i64", "%record", str(int(Record.POLLED)), "polled")
        last, now = f.op(f"load i64, ptr {polled}, align 8", "last"), f.op("call i64 @now()", "now")
        since = f.op(f"sub i64 {now}, {last}", "since")
        early = f.op(f"icmp ult i64 {since}, {self.pause}", "early")
        f.leave(early, lambda: "0")
        f.do(f"store i64 {now}, ptr {polled}, align 8")
        f.leave(f.op(f"icmp eq i64 {last}, 0", "first"), lambda: "0")
        if self.system.has_pool:
            thread = f.op(f"call i64 (i64, ...) @syscall(i64 {self.system.gettid})", "thread")
            thread = f.op(f"trunc i64 {thread} to i32", "thread")
            other = f.op(f"icmp ne i32 {thread}, {f.call('getpid', 'i32', hint='process')}", "other")
            f.leave(other, lambda: "0")  # only the main thread handles signals, and the lock of the interpreter may be far
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
        f = self.function("alone", "i64", *_JOB[:4], ("ptr", "record"))

        def turn(chunk: str, /, *values: str) -> None:
            begin = f.op(f"mul nsw i64 {chunk}, %size", "begin")
            end = f.least(f.add(begin, "%size"), "%units")
            status = f.op(f"call i64 %kernel(ptr %args, i64 {begin}, i64 {end})", "status")
            f.leave(f.op(f"icmp ne i64 {status}, 0", "failed"), lambda: status)
            found = f.op("call i64 @mind.poll(ptr %record)", "found")
            f.leave(f.op(f"icmp ne i64 {found}, 0", "interrupted"), lambda: found)

        f.loop("0", count_of(f), 1, turn, hint="chunk")
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
        """Run one chunk of the job at hand, which stays at hand until then."""
        f = self.function("perform", "void", ("i64", "chunk"))
        kernel, args = (f.op(f"load atomic ptr, ptr @{n} monotonic, align 8", n) for n in ("kernel", "args"))
        units, size, words = (f.op(f"load atomic i64, ptr @{n} monotonic, align 8", n) for n in ("units", "size", "words"))
        begin = f.op(f"mul nsw i64 %chunk, {size}", "begin")
        end = f.least(f.add(begin, size), units)
        run = f"call i64 {kernel}(ptr {{}}, i64 {begin}, i64 {end})"

        def plain() -> str:
            f.op(run.format(args), "status")
            return ""

        f.leave(f.op(f"icmp eq i64 {words}, 0", "plain"), plain)
        own = f.op(f"alloca [{RECORD_NUMBERS} x i64], align 16", "own")
        f.do(f"store [{RECORD_NUMBERS} x i64] zeroinitializer, ptr {own}, align 16")
        table = f.op(f"alloca ptr, i64 {words}, align 16", "table")
        copied(f, table, args, words)
        f.do(f"store ptr {own}, ptr {table}, align 8")
        status = f.op(run.format(table), "status")
        f.when(
            f.op(f"icmp ne i64 {status}, 0", "failed"),
            lambda: f.do(f"call void @failed(i64 %chunk, i64 {status}, ptr {own})"),
        )
        f.ret()

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
            is_front = f.op(f"icmp eq i64 %step, {_FRONT}", "is_front")
            chunk.append(f.op(f"select i1 {is_front}, i64 {front}, i64 {last}", "chunk"))
            return f.op(f"extractvalue {{ i64, i1 }} {pair}, 1", "got")

        until(f, attempt)
        f.ret(chunk[0])

    # Workers

    def rest(self, f: Function) -> None:
        """Let the core do something else for an instant."""
        f.do(self.system.pause)

    def futex(self, f: Function, place: str, code: int, value: str) -> None:
        """Wait at a word that has a value, or wake some who do."""
        f.op(f"call i64 (i64, ...) @syscall(i64 {self.system.futex}, ptr {place}, i32 {code}, i32 {value}, ptr null)", "futex")

    def worker(self) -> None:
        """What a thread does: its number and the job that was over when it began are its argument."""
        f = self.function("worker", "ptr", ("ptr", "argument"))
        both = f.op("ptrtoint ptr %argument to i64", "both")
        number, first = f.op(f"and i64 {both}, {_CLOSED}", "number"), f.op(f"lshr i64 {both}, 32", "first")
        last = f.op("alloca i64, align 8", "last")
        f.do(f"store i64 {first}, ptr {last}, align 8")

        def turn() -> str:
            job = f.op(f"call i64 @awaited(i64 {f.op(f'load i64, ptr {last}, align 8', 'last')})", "job")
            f.do(f"store i64 {job}, ptr {last}, align 8")
            most = f.op("load atomic i64, ptr @most monotonic, align 8", "most")
            f.when(f.op(f"icmp slt i64 {number}, {most}", "wanted"), lambda: self.work(f, job))
            return "false"

        until(f, turn)
        f.ret("null")

    def work(self, f: Function, job: str) -> None:
        """Take chunks of a job until there is none."""
        words = f.op("load atomic i64, ptr @words monotonic, align 8", "words")
        step = f.op(f"select i1 {f.op(f'icmp eq i64 {words}, 0', 'plain')}, i64 {_BACK}, i64 {_FRONT}", "step")

        def attempt() -> str:
            chunk = f.op(f"call i64 @claim(i64 {job}, i64 {step})", "chunk")

            def run() -> None:
                f.do(f"call void @perform(i64 {chunk})")
                f.op("atomicrmw add ptr @done, i32 1 seq_cst", "done")
                waiting = f.op("load atomic i32, ptr @waiting seq_cst, align 8", "waiting")
                f.when(f.op(f"icmp ne i32 {waiting}, 0", "wanted"), lambda: self.futex(f, "@done", _WAKE, "1"))

            none = f.op(f"icmp slt i64 {chunk}, 0", "none")
            f.when(f.op(f"xor i1 {none}, true", "some"), run)
            return none

        until(f, attempt)

    def awaited(self) -> None:
        """Wait for another job than the last one: awake for a while, then asleep. Its number."""
        f = self.function("awaited", "i64", ("i64", "last"))
        start = f.op("call i64 @now()", "start")
        word = f.op("getelementptr i8, ptr @ticket, i64 4", "word")

        def found() -> None:
            now = f.op("load atomic i64, ptr @ticket seq_cst, align 8", "now")
            job = f.op(f"lshr i64 {now}, 32", "job")
            f.leave(f.op(f"icmp ne i64 {job}, %last", "new"), lambda: job)

        def look() -> str:
            def turn(i: str, /, *values: str) -> None:
                found()
                self.rest(f)

            f.loop("0", str(_TURNS), 1, turn)
            since = f.op(f"sub i64 {f.op('call i64 @now()', 'now')}, {start}", "since")
            return f.op(f"icmp sge i64 {since}, {self.spin}", "tired")

        def sleep() -> str:
            f.op("atomicrmw add ptr @sleepers, i32 1 seq_cst", "before")
            self.futex(f, word, _WAIT, f.op("trunc i64 %last to i32", "last"))
            f.op("atomicrmw sub ptr @sleepers, i32 1 seq_cst", "after")
            found()
            return "false"

        until(f, look)
        until(f, sleep)
        f.ret("0")

    def crew(self) -> None:
        """Begin workers, up to a number of threads with the caller; how many threads there are; a refusal is the last."""
        f = self.function("crew", "i64", ("i64", "threads"))
        have = f.op("load i64, ptr @workers, align 8", "have")
        f.leave(f.op(f"icmp sge i64 {f.add(have, '1')}, %threads", "enough"), lambda: "%threads")
        refused = f.op("load i32, ptr @refused, align 8", "refused")
        f.leave(f.op(f"icmp ne i32 {refused}, 0", "hopeless"), lambda: f.add(have, "1"))
        masks = f.op("alloca [32 x i64], align 16", "masks")  # two sets of 1024 signals
        old = f.address("i64", masks, "16", "old")

        def all_signals(i: str, /, *values: str) -> None:
            f.do(f"store i64 -1, ptr {f.address('i64', masks, i)}, align 8")

        f.loop("0", "16", 1, all_signals)
        f.do(f"store i64 {_BLOCKED - (1 << 64)}, ptr {masks}, align 8")
        mask = [("i32", "2"), ("ptr", masks), ("ptr", old)]  # SIG_SETMASK
        f.call("pthread_sigmask", "i32", *mask)
        thread = f.op("alloca i64, align 8", "thread")
        now = f.op("load atomic i64, ptr @ticket seq_cst, align 8", "now")
        job = f.op(f"and i64 {now}, {_CLOSED << 32}", "job")

        def another(i: str, /, *values: str) -> None:
            number = f.op(f"or i64 {job}, {i}", "number")
            given = f.op(f"inttoptr i64 {number} to ptr", "given")
            begun = f.call("pthread_create", "i32", ("ptr", thread), ("ptr", "null"), ("ptr", "@worker"), ("ptr", given))
            f.do(f"store i32 {begun}, ptr @refused, align 8")
            f.leave(f.op(f"icmp ne i32 {begun}, 0", "refused"), end)
            f.call("pthread_detach", "i32", ("i64", f.op(f"load i64, ptr {thread}, align 8", "thread")))
            f.do(f"store i64 {i}, ptr @workers, align 8")

        def end() -> str:
            f.call("pthread_sigmask", "i32", ("i32", "2"), ("ptr", old), ("ptr", "null"))
            return f.add(f.op("load i64, ptr @workers, align 8", "workers"), "1")

        f.loop(f.add(have, "1"), "%threads", 1, another, hint="number")
        f.ret(end())

    # Jobs

    def acquire(self) -> None:
        """Try to get the pool; what is left of the parent's in a fork is dropped."""
        f = self.function("acquire", "i1", ("i32", "process"))
        seen = exchanged(f, "0")
        f.leave(f.op(f"icmp eq i32 {seen}, %process", "busy"), lambda: "false")

        def ghost() -> None:
            found = exchanged(f, seen)
            f.leave(f.op(f"icmp ne i32 {found}, {seen}", "late"), lambda: "false")

        f.when(f.op(f"icmp ne i32 {seen}, 0", "ghost"), ghost)
        home = f.op("load i32, ptr @home, align 8", "home")

        def settle() -> None:
            f.do("store i32 %process, ptr @home, align 8")
            f.do("store i64 0, ptr @workers, align 8")
            for name in ("refused", "sleepers", "fault.lock"):
                f.do(f"store i32 0, ptr @{name}, align 8")

        f.when(f.op(f"icmp ne i32 {home}, %process", "moved"), settle)
        f.ret("true")

    def ended(self) -> None:
        """Wait until so many chunks are done by workers."""
        f = self.function("ended", "void", ("i32", "begun"))

        def found() -> str:
            done = f.op("load atomic i32, ptr @done seq_cst, align 4", "done")
            f.leave(f.op(f"icmp eq i32 {done}, %begun", "all"), lambda: "")
            return done

        def look() -> str:
            def turn(i: str, /, *values: str) -> None:
                found()
                self.rest(f)

            f.loop("0", str(_PATIENCE), 1, turn)
            f.do("store atomic i32 1, ptr @waiting seq_cst, align 4")
            self.futex(f, "@done", _WAIT, found())
            return "false"

        until(f, look)
        f.ret()

    def share(self) -> None:
        """Run a kernel by several threads, if there are some."""
        f = self.function("mind.share", "i64", *_JOB, ("ptr", "record"), internal=False)
        alone = "call i64 @alone(ptr %kernel, ptr %args, i64 %units, i64 %size, ptr %record)"
        if not self.system.has_pool:
            f.ret(f.op(alone, "status"))
            return

        def by_one() -> str:
            return f.op(alone, "status")

        threads = f.op(f"load i64, ptr {f.address('i64', '%record', str(int(Record.THREADS)))}, align 8", "threads")
        count = count_of(f)
        f.leave(f.op(f"icmp slt i64 {threads}, 2", "single"), by_one)
        f.leave(f.op(f"icmp slt i64 {count}, 2", "small"), by_one)
        f.leave(f.op("icmp slt i64 %words, 0", "serial"), by_one)
        process = f.call("getpid", "i32", hint="process")
        free = f.op(f"call i1 @acquire(i32 {process})", "free")
        f.leave(f.op(f"xor i1 {free}, true", "busy"), by_one)
        crew = f.op(f"call i64 @crew(i64 {threads})", "crew")

        def nobody() -> str:
            f.do(_RELEASE)
            return by_one()

        f.leave(f.op(f"icmp slt i64 {crew}, 2", "nobody"), nobody)
        job = self.publish(f, count, threads)
        mine, found = self.take_part(f, job)
        before = f.op(f"atomicrmw or ptr @ticket, i64 {_CLOSED} seq_cst", "before")
        front, back = taken(f, before)
        begun = f.op(f"trunc i64 {f.op(f'sub i64 {f.add(front, back)}, {mine}', 'begun')} to i32", "begun")

        def lost() -> str:
            f.do(_RELEASE)
            return str(LOST)

        f.leave(f.op(f"icmp ne i32 {f.call('getpid', 'i32', hint='here')}, {process}", "lost"), lost)
        f.do(f"call void @ended(i32 {begun})")
        status = f.op("load i64, ptr @fault.status, align 8", "status")
        f.when(f.op(f"icmp ne i64 {status}, 0", "failed"), lambda: copied(f, "%record", "@fault.numbers", str(RECORD_NUMBERS)))
        f.do(_RELEASE)
        interrupted = f.op(f"icmp ne i64 {found}, 0", "interrupted")
        f.ret(f.op(f"select i1 {interrupted}, i64 {found}, i64 {status}", "status"))

    def publish(self, f: Function, count: str, threads: str) -> str:
        """Put up a job for everybody; its number."""
        for name in ("kernel", "args"):
            f.do(f"store atomic ptr %{name}, ptr @{name} monotonic, align 8")
        for name, value in (("units", "%units"), ("size", "%size"), ("words", "%words"), ("chunks", count), ("most", threads)):
            f.do(f"store atomic i64 {value}, ptr @{name} monotonic, align 8")
        for name in ("stop", "done", "waiting"):
            f.do(f"store atomic i32 0, ptr @{name} monotonic, align 8")
        f.do(f"store i64 {(1 << 63) - 1}, ptr @fault.chunk, align 8")
        f.do("store i64 0, ptr @fault.status, align 8")
        old = f.op("load atomic i64, ptr @ticket seq_cst, align 8", "old")
        ticket = f.op(f"add i64 {old}, 1", "ticket")  # of a ticket that is closed: the next job, nothing taken
        f.do(f"store atomic i64 {ticket}, ptr @ticket seq_cst, align 8")
        sleepers = f.op("load atomic i32, ptr @sleepers seq_cst, align 8", "sleepers")
        word = f.op("getelementptr i8, ptr @ticket, i64 4", "word")
        many = f.op(f"trunc i64 {count} to i32", "many")
        f.when(f.op(f"icmp ne i32 {sleepers}, 0", "asleep"), lambda: self.futex(f, word, _WAKE, many))
        return f.op(f"lshr i64 {ticket}, 32", "job")

    def take_part(self, f: Function, job: str) -> tuple[str, str]:
        """What the caller does: how many chunks, and the status of a handler of a signal that ended it."""
        mine, found = (f.op("alloca i64, align 8", name) for name in ("mine", "found"))
        for place in (mine, found):
            f.do(f"store i64 0, ptr {place}, align 8")

        def attempt() -> str:
            chunk = f.op(f"call i64 @claim(i64 {job}, i64 {_FRONT})", "chunk")
            none = f.op(f"icmp slt i64 {chunk}, 0", "none")

            def run() -> None:
                f.do(f"call void @perform(i64 {chunk})")
                f.do(f"store i64 {f.add(f.op(f'load i64, ptr {mine}, align 8', 'mine'), '1')}, ptr {mine}, align 8")
                status = f.op("call i64 @mind.poll(ptr %record)", "status")
                f.do(f"store i64 {status}, ptr {found}, align 8")
                raised = f.op(f"icmp ne i64 {status}, 0", "raised")
                f.when(raised, lambda: f.do("store atomic i32 1, ptr @stop seq_cst, align 8"))

            f.when(f.op(f"xor i1 {none}, true", "some"), run)
            return none

        until(f, attempt)
        return f.op(f"load i64, ptr {mine}, align 8", "mine"), f.op(f"load i64, ptr {found}, align 8", "found")


_JOB = (("ptr", "kernel"), ("ptr", "args"), ("i64", "units"), ("i64", "size"), ("i64", "words"))
_RELEASE = "store atomic i32 0, ptr @owner seq_cst, align 8"


def count_of(f: Function) -> str:
    """How many chunks the units of a function's parameters are."""
    more = f.op("sub i64 %size, 1", "more")
    return f.op(f"sdiv i64 {f.op(f'add i64 %units, {more}', 'more')}, %size", "count")


def taken(f: Function, ticket: str) -> tuple[str, str]:
    """How many chunks a ticket says are taken from the front and from the back."""
    front = f.op(f"and i64 {ticket}, {_BACK - 1}", "front")
    return front, f.op(f"and i64 {f.op(f'lshr i64 {ticket}, 16', 'back')}, {_BACK - 1}", "back")


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

    def turn(i: str, /, *values: str) -> None:
        word = f.op(f"load i64, ptr {f.address('i64', source, i)}, align 8", "word")
        f.do(f"store i64 {word}, ptr {f.address('i64', to, i)}, align 8")

    f.loop("0", words, 1, turn)


def void(text: str) -> None:
    """Nothing, of what a call without a value gives."""
