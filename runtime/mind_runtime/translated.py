"""
Programs that another system runs from a form of its own, which we write for the sizes of each call.

What such a system refuses of a program is E8008 or E7004 when it is compiled, or at the first call with new sizes where the
sizes are not known before; what fails in it while it runs is E6008. It does not report what PTIR rejects at run time, indices
out of range and integers divided by zero, in our codes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp

from mind_dialect.errors import MindError, brief, error
from mind_dialect.ptir_shapes import UNKNOWN
from mind_lowering.memory_need import Need, byte_count, check_need, physical_memory

from .program import Program, checked_seed
from .request import Request, numpy_program
from .shapes import KEPT, Shapes, bound_function

Run = Callable[[Sequence[Any], int], Sequence[Any]]
"""A compiled function of static sizes: arrays and a seed in, arrays out."""


class TranslatedProgram(Program):
    """A function that another system runs; a subclass says by `build` how."""

    target = ""
    """The name of the executor, for messages."""

    @abstractmethod
    def build(self, func: FuncOp) -> Run:
        """Return what runs a function of static sizes; E8008 or E7004 for what the system does not take."""

    @classmethod
    def of(cls, request: Request) -> Program:
        """Return the program of a request; a function of static sizes is built at once."""
        made: Any = numpy_program(request, cls)
        made.prepare()
        return made

    def prepare(self) -> None:
        """Build the function if its sizes are known."""
        self._built: OrderedDict[Shapes, Run] = OrderedDict()
        self._static = self.build(self.function) if all(spec.is_static for spec in self.inputs) else None

    def execute(self, arguments: Sequence[Any], seed: int = 0) -> Any:
        """As of a `Program`; E6008 for what fails in the system."""
        run = self._static or self._for(tuple([tuple(a.shape) for a in arguments]))
        try:
            results = run([np.ascontiguousarray(a).reshape(a.shape) for a in arguments], checked_seed(seed))
        except MindError:
            raise
        except Exception as e:
            message = f"@{self.name} failed in {self.target}: {brief(first_line(e))}"
            raise error("E6008", message, device=self.target, status=type(e).__name__) from None
        arrays = [np.array(r, s.numpy_dtype, order="C").reshape(np.shape(r)) for r, s in zip(results, self.outputs, strict=True)]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def _for(self, shapes: Shapes) -> Run:
        """Return the program for inputs of these shapes; E8001 where shapes do not fit, E6003 for an unnamed dimension."""
        if (found := self._built.get(shapes)) is None:
            self.check_shapes(*shapes)
            if (bound := bound_function(self.function, shapes)) is None:
                message = f"@{self.name} has a dimension {UNKNOWN} without a name, expected named dimensions"
                raise error("E6003", message, backend=self.target)
            check_results(bound[0])
            found = self._built[shapes] = self.build(bound[0])
            if len(self._built) > KEPT:
                self._built.popitem(last=False)
        return found

    def explain(self) -> list[str]:
        """Lines that say what runs where."""
        return [f"@{self.name} runs as a whole in {self.target}"]


def check_results(func: FuncOp) -> None:
    """Raise E6004 for a value of a function of static sizes that no memory holds, before constants are computed."""
    limit = physical_memory()
    for op in func.body.block.ops:
        for type in op.result_types:
            check_need(Need(byte_count(type, {}), type), limit)


def first_line(e: BaseException) -> str:
    """Return the first line of a message that says something."""
    return next((line.strip() for line in str(e).splitlines() if line.strip()), type(e).__name__)


def required(target: str, *modules: str, install: str) -> Any:
    """Return the last of the modules that a target needs; E6002, with what to install, where one is absent."""
    try:
        return [import_module(name) for name in modules][-1]
    except ImportError as e:
        message = f"the target {target!r} needs {install} ({brief(first_line(e))})"
        raise error("E6002", message, requested=target, available=["numpy"]) from None


def refused(target: str, e: BaseException) -> MindError:
    """Return E7004 with the system's own words for a form of ours that it does not take."""
    issue = first_line(e)
    return error("E7004", f"{target} does not take this program: {brief(issue)}", stage=target, issue=issue)
