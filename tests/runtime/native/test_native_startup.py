"""What a process opens and generates in threads for its first native program: once, and whole when the process ends."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import dedent

import pytest

pytest.importorskip("llvmlite")


def run(code: str) -> str:
    """Return what a new process without a cache on disk prints."""
    made = "import os\nos.environ['MIND_CACHE_DIR'] = ''\n" + dedent(code)
    done = subprocess.run([sys.executable, "-c", made], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_threads_link_the_code_of_the_runtime_once() -> None:
    printed = run(
        """
        from threading import Barrier, Thread
        from mind_runtime.native import jit, support
        linked, found, ready, load = [], [], Barrier(4), jit.load_for_good

        def counted(*arguments):
            linked.append(1)
            return load(*arguments)

        def ask():
            ready.wait()
            found.append(support.support())

        support.load_for_good = counted
        threads = [Thread(target=ask) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(len(linked), len({id(x) for x in found}), len(found))
        """
    )
    assert printed.split() == ["1", "1", "4"] or printed.split() == ["0", "1", "4"]


def test_a_process_may_end_while_its_threads_work() -> None:
    run("import mind_runtime.native as n\nn.require()\nfrom mind_runtime.native.startup import start\nstart()")
    run("import mind_runtime.native as n\nn.require()")


def test_a_library_in_another_place_is_left_to_llvmlite() -> None:
    printed = run(
        """
        from pathlib import Path
        from mind_runtime.native import llvm
        llvm._open(Path("/nowhere/libllvmlite.so"))
        llvm.require()
        print(llvm.version())
        """
    )
    assert printed.strip()


def test_what_cannot_be_generated_in_the_thread_is_an_error_of_the_program() -> None:
    printed = run(
        """
        os.environ["MIND_SPIN_MICROSECONDS"] = "none"
        import numpy as np, mind_array as ma, mind_runtime
        from mind_dialect.errors import MindError
        try:
            mind_runtime.compile(ma.trace(lambda x: x + 1.0, ma.spec((8,), "float32")), target="native")(np.ones(8, np.float32))
        except MindError as e:
            print(e.code)
        """
    )
    assert printed.strip() == "E7001"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_fork_waits_for_the_threads() -> None:
    printed = run(
        """
        import signal
        import mind_runtime.native as n
        from mind_runtime.native.startup import start
        from mind_runtime.native.support import support
        n.require()
        start()
        child = os.fork()
        if not child:
            signal.alarm(60)  # ends a fork that waits for a lock of a thread that it lacks
            os._exit(n.pool.pool() is None or support() is None)
        print(os.waitpid(child, 0)[1])
        """
    )
    assert printed.strip() == "0"
