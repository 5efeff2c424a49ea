"""A compiled function with arrays for some of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mind_dialect.errors import error

from .program import Program


class Bound:
    """
    A compiled function some of whose inputs have their arrays already: call it with one array for each of the others.

    `inputs` says what is left, in the order of the function's. Calls are those of `Program`, its errors too. The arrays that
    are bound are used as they are and must stay as they are; those that native code has packed for its kernels, and no longer
    reads, are not held. A donated input cannot be bound (E7001).
    """

    def __init__(self, program: Program, arrays: Mapping[str, Any]):
        names = [spec.name for spec in program.inputs]
        for name in arrays:
            if name not in names:
                raise error("E7003", f"no input {name!r} to bind, expected one of {names}", name=name, known=names)
        self.program = program
        free = [i for i, name in enumerate(names) if name not in arrays]
        self.inputs = tuple(program.inputs[i] for i in free)
        self.free = free
        """Numbers of the inputs that are left."""
        self._given: list[Any] = [None if n not in arrays else program.admit(i, arrays[n]) for i, n in enumerate(names)]
        for i in program.donated:
            if names[i] in arrays:
                raise error(
                    "E7001", f"input {names[i]!r} is donated, which each call does again; it cannot be bound", option="donate"
                )
        self._memory = program.memory_of([a for a in self._given if a is not None]) if program.donated else None
        for i in program.take_calls(self, {i: a for i, a in enumerate(self._given) if a is not None}):
            self._given[i] = None

    def __call__(self, *arguments: Any, seed: int = 0, out: Any = None) -> Any:
        """Run on NumPy arrays for the inputs that are left; as `Program.__call__`."""
        program, every = self.program, self.every(arguments)
        if program.donated:
            if self._memory is None:
                program.check_donated(every)
            else:
                program.check_donated_beside(every, self.free, self._memory)
        if out is None:
            return program.execute_bound(every, seed, self)
        return program.into(out, lambda: program.execute_bound(every, seed, self))

    _slowly = __call__

    def every(self, arguments: Sequence[Any]) -> list[Any]:
        """
        Return the arrays of all inputs, given those of the inputs that are left: None for bound ones that calls do not read.

        E2007 for another number of arguments; errors of arguments are those of a call.
        """
        program = self.program
        if len(arguments) != len(self.free):
            wanted, n = ", ".join(f"{s.name}: {s}" for s in self.inputs), len(self.free)
            message = f"@{program.name} expects {n} arguments in addition to those bound ({wanted}), found {len(arguments)}"
            raise error("E2007", message, expected=n, actual=len(arguments))
        every = self._given.copy()
        for argument, i in zip(arguments, self.free, strict=True):
            every[i] = argument if program.checks[i].fits(argument) else program.admit(i, argument)
        return every

    def failed(self, status: int, record: int) -> None:
        """As of the program, which may have native code for calls."""
        self.program.failed(status, record)
