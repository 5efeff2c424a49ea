"""
The pool of threads, as LLVM IR: a module of its own, one for a process, that knows nothing of programs.

    i64 @mind.share(ptr %kernel, ptr %args, i64 %units, i64 %size, i64 %words, i64 %caches, ptr %record)
    i64 @mind.poll(ptr %record)

`share` runs all units of a kernel, `%size` at a time: a chunk. It gives the status of the first chunk that fails, or another if
a signal ended it. The caller takes chunks from the front, workers take them from the back, so that a thread meets again what it
has in its cache; a worker that got none for a while sleeps. The caller waits for chunks that a worker began, and for nothing
else. Workers compute with floats in the mode of the caller (`float_mode.py`). One thread at a time has the pool: a call from
another one, or from within a call, runs alone. A fork of the process makes workers of its own.

Threads agree on one word, the ticket: the number of the job, and the numbers of chunks taken from the back and from the front.
Chunks are taken by compare-and-swap of all of it, so no thread gets a chunk of a job that is over. A kernel that can fail is run
on a copy of its arguments (`%words` addresses) with a record of failures of its own; its chunks are all taken from the front, so
that the first one that fails is always found. One that moves more than the second-level caches of the threads hold (`%caches` of
them) has its chunks in another order in every other job.

`poll` lets Python's handlers of signals run if this is the main thread and none has run for a while. What one of them raises is
put in the record, and the status is `INTERRUPTED`.
"""

from __future__ import annotations

from ..failures import RECORD_NUMBERS
from ..float_mode import current_mode, set_mode
from ..ir import Function
from ..record import APART, BACK, CLOSED, FRONT, GLOBALS, LOST, Record, System
from .chunks import JOB, WAIT, WAKE, Chunks, copied, count_of, exchanged, taken, until

_TURNS = 64
"""So many times a worker looks for work before it looks at the clock."""
_PATIENCE = 2000
"""So many times the caller looks whether a worker is done before it sleeps until then."""
_STACK = 8 << 20
"""Bytes of a worker's stack: kernels keep blocks of operands there, and what a system gives by itself may be little."""
_BLOCKED = (1 << 64) - 1 - sum(1 << (n - 1) for n in (4, 5, 6, 7, 8, 11))
"""The signals that workers leave to other threads: all but those of faults."""
_RELEASE = "store atomic i32 0, ptr @owner seq_cst, align 8"


def pool_text(triple: str, system: System, spin: int, pause: int) -> str:
    """
    The module: workers look for work for `spin` nanoseconds before they sleep, handlers of signals may run every `pause`
    nanoseconds.
    """
    return _Pool(triple, system, spin, pause).text()


class _Pool(Chunks):
    """All functions of the module."""

    def text(self) -> str:
        """All of it."""
        self.now()
        self.poll()
        self.alone()
        if self.system.has_pool:
            aligned = {n: 64 if n in APART else 8 for n in GLOBALS}
            self.module.globals += [f"@{n} = internal global {v}, align {aligned[n]}" for n, v in GLOBALS.items()]
            self.module.globals.append("declare i64 @syscall(i64, ...)")
            for part in (
                self.failed,
                self.perform,
                self.claim,
                self.awaited,
                self.as_caller,
                self.worker,
                self.crew,
                self.acquire,
                self.ended,
            ):
                part()
        self.share()
        return self.module.text()

    # Workers

    def worker(self) -> None:
        """Emit the function of a worker thread: its number and the job that was over when it began are its argument."""
        f = self.function("worker", "ptr", ("ptr", "argument"))
        both = f.op("ptrtoint ptr %argument to i64", "both")
        number, first = f.op(f"and i64 {both}, {CLOSED}", "number"), f.op(f"lshr i64 {both}, 32", "first")
        last = f.op("alloca i64, align 8", "last")
        f.do(f"store i64 {first}, ptr {last}, align 8")

        def iteration() -> str:
            job = f.op(f"call i64 @awaited(i64 {f.op(f'load i64, ptr {last}, align 8', 'last')})", "job")
            f.do(f"store i64 {job}, ptr {last}, align 8")
            most = f.op("load atomic i64, ptr @most monotonic, align 8", "most")
            f.when(f.op(f"icmp slt i64 {number}, {most}", "wanted"), lambda: self.work(f, job))
            return "false"

        until(f, iteration)
        f.ret("null")

    def as_caller(self) -> None:
        """Compute with floats in the mode of the caller of the current job."""
        f = self.function("as.caller", "void")
        set_mode(f, f.op("load atomic i64, ptr @mode monotonic, align 8", "mode"))
        f.ret()

    def work(self, f: Function, job: str) -> None:
        """Take chunks of a job until there is none."""
        f.do("call void @as.caller()")
        words = f.op("load atomic i64, ptr @words monotonic, align 8", "words")
        step = f.op(f"select i1 {f.op(f'icmp eq i64 {words}, 0', 'plain')}, i64 {BACK}, i64 {FRONT}", "step")

        def attempt() -> str:
            chunk = f.op(f"call i64 @claim(i64 {job}, i64 {step})", "chunk")

            def run() -> None:
                f.op(f"call i64 @perform(i64 {chunk}, ptr null)", "ended")
                f.op("atomicrmw add ptr @done, i32 1 seq_cst", "done")
                waiting = f.op("load atomic i32, ptr @waiting seq_cst, align 8", "waiting")
                f.when(f.op(f"icmp ne i32 {waiting}, 0", "wanted"), lambda: self.futex(f, "@done", WAKE, "1"))

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
            for _ in f.each("0", str(_TURNS)):
                found()
                self.rest(f)
            since = f.op(f"sub i64 {f.op('call i64 @now()', 'now')}, {start}", "since")
            return f.op(f"icmp sge i64 {since}, {self.spin}", "tired")

        def sleep() -> str:
            f.op("atomicrmw add ptr @sleepers, i32 1 seq_cst", "before")
            self.futex(f, word, WAIT, f.op("trunc i64 %last to i32", "last"))
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
        for i in f.each("0", "16"):
            f.do(f"store i64 -1, ptr {f.address('i64', masks, i)}, align 8")
        f.do(f"store i64 {_BLOCKED - (1 << 64)}, ptr {masks}, align 8")
        mask = [("i32", "2"), ("ptr", masks), ("ptr", old)]  # SIG_SETMASK
        f.call("pthread_sigmask", "i32", *mask)
        thread = f.op("alloca i64, align 8", "thread")
        attributes = f.op("alloca [32 x i64], align 16", "attributes")  # more than any system's
        f.call("pthread_attr_init", "i32", ("ptr", attributes))
        f.call("pthread_attr_setstacksize", "i32", ("ptr", attributes), ("i64", str(_STACK)))
        now = f.op("load atomic i64, ptr @ticket seq_cst, align 8", "now")
        job = f.op(f"and i64 {now}, {CLOSED << 32}", "job")

        def end() -> str:
            f.call("pthread_attr_destroy", "i32", ("ptr", attributes))
            f.call("pthread_sigmask", "i32", ("i32", "2"), ("ptr", old), ("ptr", "null"))
            return f.add(f.op("load i64, ptr @workers, align 8", "workers"), "1")

        for i in f.each(f.add(have, "1"), "%threads", hint="number"):
            number = f.op(f"or i64 {job}, {i}", "number")
            given = f.op(f"inttoptr i64 {number} to ptr", "given")
            begun = f.call("pthread_create", "i32", ("ptr", thread), ("ptr", attributes), ("ptr", "@worker"), ("ptr", given))
            f.do(f"store i32 {begun}, ptr @refused, align 8")
            f.leave(f.op(f"icmp ne i32 {begun}, 0", "refused"), end)
            f.call("pthread_detach", "i32", ("i64", f.op(f"load i64, ptr {thread}, align 8", "thread")))
            f.do(f"store i64 {i}, ptr @workers, align 8")
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
            f.op(f"atomicrmw or ptr @ticket, i64 {CLOSED} seq_cst", "before")  # of a job that another thread was in the middle of
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
            for _ in f.each("0", str(_PATIENCE)):
                found()
                self.rest(f)
            f.do("store atomic i32 1, ptr @waiting seq_cst, align 4")
            self.futex(f, "@done", WAIT, found())
            return "false"

        until(f, look)
        f.ret()

    def share(self) -> None:
        """Run a kernel by several threads, if there are some."""
        f = self.function("mind.share", "i64", *JOB, ("ptr", "record"), internal=False)
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
        flag = f.address("ptr", "%record", str(int(Record.ENDED)), "flag")
        f.do(f"store ptr @interrupted, ptr {flag}, align 8")
        job = self.publish(f, count, threads)
        mine, found = self.take_part(f, job)
        self.conclude(f, process, flag, mine, found)

    def conclude(self, f: Function, process: str, flag: str, mine: str, found: str) -> None:
        """Close a job, wait for the threads that have begun it, and return its status."""
        before = f.op(f"atomicrmw or ptr @ticket, i64 {CLOSED} seq_cst", "before")
        front, back = taken(f, before)
        begun = f.op(f"trunc i64 {f.op(f'sub i64 {f.add(front, back)}, {mine}', 'begun')} to i32", "begun")

        def lost() -> str:
            f.do(f"store ptr null, ptr {flag}, align 8")
            f.do(_RELEASE)
            return str(LOST)

        f.leave(f.op(f"icmp ne i32 {f.call('getpid', 'i32', hint='here')}, {process}", "lost"), lost)
        f.do(f"call void @ended(i32 {begun})")
        f.do(f"store ptr null, ptr {flag}, align 8")
        status = f.op("load i64, ptr @fault.status, align 8", "status")
        f.when(f.op(f"icmp ne i64 {status}, 0", "failed"), lambda: copied(f, "%record", "@fault.numbers", str(RECORD_NUMBERS)))
        f.do(_RELEASE)
        interrupted = f.op(f"icmp ne i64 {found}, 0", "interrupted")
        f.ret(f.op(f"select i1 {interrupted}, i64 {found}, i64 {status}", "status"))

    def publish(self, f: Function, count: str, threads: str) -> str:
        """Put up a job for everybody; its number."""
        for name in ("kernel", "args"):
            f.do(f"store atomic ptr %{name}, ptr @{name} monotonic, align 8")
        plain, far = f.op("icmp eq i64 %words, 0", "plain"), f.op(f"icmp sgt i64 %caches, {threads}", "far")
        numbers = {
            "units": "%units",
            "size": "%size",
            "words": "%words",
            "chunks": count,
            "most": threads,
            "mode": current_mode(f),
            "alternates": f.op(f"zext i1 {f.op(f'and i1 {plain}, {far}', 'alternates')} to i64", "alternates"),
        }
        for name, value in numbers.items():
            f.do(f"store atomic i64 {value}, ptr @{name} monotonic, align 8")
        for name in ("stop", "interrupted", "done", "waiting"):
            f.do(f"store atomic i32 0, ptr @{name} monotonic, align 8")
        f.do(f"store i64 {(1 << 63) - 1}, ptr @fault.chunk, align 8")
        f.do("store i64 0, ptr @fault.status, align 8")
        old = f.op("load atomic i64, ptr @ticket seq_cst, align 8", "old")
        ticket = f.op(f"add i64 {old}, 1", "ticket")  # of a ticket that is closed: the next job, nothing taken
        f.do(f"store atomic i64 {ticket}, ptr @ticket seq_cst, align 8")
        sleepers = f.op("load atomic i32, ptr @sleepers seq_cst, align 8", "sleepers")
        word = f.op("getelementptr i8, ptr @ticket, i64 4", "word")
        many = f.op(f"trunc i64 {count} to i32", "many")
        f.when(f.op(f"icmp ne i32 {sleepers}, 0", "asleep"), lambda: self.futex(f, word, WAKE, many))
        return f.op(f"lshr i64 {ticket}, 32", "job")

    def take_part(self, f: Function, job: str) -> tuple[str, str]:
        """Emit the caller's part: return the number of chunks, and the status of a handler of a signal that ended it."""
        mine, found = (f.op("alloca i64, align 8", name) for name in ("mine", "found"))
        for place in (mine, found):
            f.do(f"store i64 0, ptr {place}, align 8")

        def stop() -> None:
            for name in ("interrupted", "stop"):
                f.do(f"store atomic i32 1, ptr @{name} seq_cst, align 8")

        def attempt() -> str:
            chunk = f.op(f"call i64 @claim(i64 {job}, i64 {FRONT})", "chunk")
            none = f.op(f"icmp slt i64 {chunk}, 0", "none")

            def run() -> None:
                ended = f.op(f"call i64 @perform(i64 {chunk}, ptr %record)", "ended")
                f.do(f"store i64 {f.add(f.op(f'load i64, ptr {mine}, align 8', 'mine'), '1')}, ptr {mine}, align 8")
                f.do(f"store i64 {ended}, ptr {found}, align 8")

                def look() -> None:
                    f.do(f"store i64 {f.op('call i64 @mind.poll(ptr %record)', 'status')}, ptr {found}, align 8")

                f.when(f.op(f"icmp eq i64 {ended}, 0", "whole"), look)
                raised = f.op(f"icmp ne i64 {f.op(f'load i64, ptr {found}, align 8', 'found')}, 0", "raised")
                f.when(raised, stop)

            f.when(f.op(f"xor i1 {none}, true", "some"), run)
            return none

        until(f, attempt)
        return f.op(f"load i64, ptr {mine}, align 8", "mine"), f.op(f"load i64, ptr {found}, align 8", "found")
