"""
The draw of a random op in xDSL's interpreter: its place among those of the program, and the iterations of the loops around
it.

Both are what they are in the program with all calls put in place, so that the numbers are those of a compiled program. Calls of
`func` and loops of `scf` are counted too, whoever else runs them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from mind_dialect import ptir
from mind_dialect.dominance import walk

Values = tuple[Any, ...]


class Draws:
    """The state of the random numbers of a run."""

    def __init__(self) -> None:
        self._iterations: list[int] = []
        self._before = 0
        self._places: dict[Operation, int] = {}
        self._counts: dict[Operation, int] = {}

    @property
    def iterations(self) -> tuple[int, ...]:
        """The induction variables of the loops around the current op, the outermost first."""
        return tuple(self._iterations)

    def ordinal(self, op: Operation) -> int:
        """The number of a random op among those of the program."""
        return self._before + self._place(op)

    @contextmanager
    def loop(self) -> Generator[None]:
        """While a loop runs; each iteration begins with `iteration`."""
        self._iterations.append(-1)
        try:
            yield
        finally:
            self._iterations.pop()

    def iteration(self) -> None:
        """An iteration of the innermost loop begins."""
        self._iterations[-1] += 1

    @contextmanager
    def call(self, op: CallOp) -> Generator[None]:
        """While a called function runs."""
        before = self._before
        self._before += self._place(op)
        try:
            yield
        finally:
            self._before = before

    def _place(self, op: Operation) -> int:
        """Return the number of draws before a random op or call in its function."""
        if op not in self._places:
            func = op
            while (outer := func.parent_op()) is not None and not isinstance(func, FuncOp):
                func = outer
            self._count(func)
        return self._places[op]

    def _count(self, func: Operation) -> int:
        """Return the number of draws of a function, with those of the functions that it calls, of a recursion once."""
        if func not in self._counts:
            self._counts[func] = 0
            count = 0
            for op in walk(func):
                if isinstance(op, ptir.RandomOp):
                    self._places[op] = count
                    count += 1
                elif isinstance(op, CallOp):
                    self._places[op] = count
                    callee = SymbolTable.lookup_symbol(op, op.callee)
                    count += self._count(callee) if isinstance(callee, FuncOp) else 0
            self._counts[func] = count
        return self._counts[func]


@register_impls
class CountedFunctions(InterpreterFunctions):
    """Calls and foreign loops as xDSL runs them, counted."""

    def __init__(self, draws: Draws):
        self.draws = draws

    @impl(CallOp)
    def run_call(self, interpreter: Interpreter, op: CallOp, args: Values) -> Values:
        """A call."""
        with self.draws.call(op):
            return interpreter.call_op(op.callee, args)

    @impl(scf.ForOp)
    def run_for(self, interpreter: Interpreter, op: scf.ForOp, args: Values) -> Values:
        """A loop over a range."""
        first, end, step, *rest = args
        carried = tuple(rest)
        with self.draws.loop():
            for i in range(first, end, step):
                self.draws.iteration()
                carried = interpreter.run_ssacfg_region(op.body, (i, *carried), "scf.for")
        return carried

    @impl(scf.WhileOp)
    def run_while(self, interpreter: Interpreter, op: scf.WhileOp, args: Values) -> Values:
        """A loop that ends by itself."""
        with self.draws.loop():
            while True:
                self.draws.iteration()
                go_on, *passed = interpreter.run_ssacfg_region(op.before_region, args, "scf.while")
                if not go_on:
                    return tuple(passed)
                args = interpreter.run_ssacfg_region(op.after_region, tuple(passed), "scf.while")
