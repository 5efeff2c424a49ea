"""One program run by several executors, and which of them agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from mind_dialect.errors import MindError, error

from ..compilation import compile, find_function
from ..executors import executor_of
from ..signature import TensorSpec
from .differences import Difference, compare, longest_sum, tolerance_of, worst

UNAVAILABLE, REFUSED, FAILED, RAN = "not available", "refused", "failed", "ran"
UNSUPPORTED = ("E6003", "E7004", "E8008")
"""Codes that say that an executor does not take a program, whatever the arguments."""
CHECKED = ("E6001", "E6006", "E8004")
"""Codes of what the arguments make wrong: an index out of range, an integer divided by zero."""
KNOWN_SIZES = 3
"""Calls after which an executor that compiles for the sizes that it sees again has done so."""


@dataclass(frozen=True)
class Outcome:
    """
    The outcome of a program on an executor: `ran` with results, `failed` in the run, `refused` to compile, or `not available`.

    `error` is the coded error of the other three.
    """

    executor: str
    status: str
    results: tuple[Any, ...] = ()
    error: MindError | None = None
    checks: bool = True
    """As of its executor: one without checks may return anything where the program is an error."""

    @property
    def counts(self) -> bool:
        """Return whether the executor took the program, so that its outcome must agree with others."""
        return self.status in (RAN, FAILED)


@dataclass(frozen=True)
class Agreement:
    """Outcomes of executors on the same arguments; `tolerances` of each result, relative to its largest magnitude."""

    outcomes: tuple[Outcome, ...]
    outputs: tuple[TensorSpec, ...]
    tolerances: tuple[float, ...]
    _compared: dict[tuple[str, str], tuple[int, Difference]] = field(default_factory=dict[Any, Any], compare=False)

    def pairs(self) -> list[tuple[Outcome, Outcome]]:
        """Return all pairs of executors that took the program, in the order in which they were named."""
        return list(combinations([outcome for outcome in self.outcomes if outcome.counts], 2))

    def difference(self, left: Outcome, right: Outcome) -> tuple[int, Difference]:
        """Return the result in which two outcomes differ most, by position, and how; errors agree if their codes do."""
        key = left.executor, right.executor
        if key not in self._compared:
            self._compared[key] = self._compare(left, right)
        return self._compared[key]

    def disagreements(self) -> list[tuple[Outcome, Outcome]]:
        """Return the pairs that differ by more than the tolerance."""
        return [pair for pair in self.pairs() if not self.difference(*pair)[1].agrees]

    def _compare(self, left: Outcome, right: Outcome) -> tuple[int, Difference]:
        if left.error is not None or right.error is not None:
            codes = [outcome.error.code if outcome.error is not None else "results" for outcome in (left, right)]
            unchecked = any(code in CHECKED and not other.checks for code, other in zip(codes, (right, left), strict=True))
            if codes[0] == codes[1] or unchecked:
                return 0, Difference(0.0)
            return 0, Difference(float("inf"), issue=f"{codes[0]} and {codes[1]}")
        if not left.results:
            return 0, Difference(0.0)
        found = [compare(*both) for both in zip(left.results, right.results, self.tolerances, strict=True)]
        return (i := worst(found)), found[i]


def run_everywhere(
    module: ModuleOp, function: str | None, arguments: Sequence[Any], executors: Sequence[str], seed: int = 0
) -> Agreement:
    """
    Run a function of PTIR by each executor on the same arguments, as `compile(module, function, target)` would.

    Arguments are copied for each run. E7003 and E7001 for the function, E6002 for an unknown executor, E7001 for one named
    twice; what an executor refuses or fails with is its outcome. `seed` is that of random numbers.
    """
    func = find_function(module, function)
    if len(set(executors)) < len(executors):
        twice = next(name for i, name in enumerate(executors) if name in executors[:i])
        raise error("E7001", f"executor {twice!r} is named twice", option="executors")
    outputs = tuple(TensorSpec.of(f"result {i}", type) for i, type in enumerate(func.function_type.outputs))
    terms = longest_sum(func, _sizes(func, arguments))
    outcomes = tuple(_outcome(name, module, func.sym_name.data, arguments, seed) for name in executors)
    return Agreement(outcomes, outputs, tuple(tolerance_of(spec.dtype, terms) for spec in outputs))


def _outcome(executor: str, module: ModuleOp, function: str, arguments: Sequence[Any], seed: int) -> Outcome:
    found = executor_of(executor)
    try:
        found.require()
    except MindError as e:
        return Outcome(executor, UNAVAILABLE, error=e)
    try:
        program = compile(module, function, executor)
    except MindError as e:
        return Outcome(executor, REFUSED, error=e)
    results: Any = ()
    try:
        for _ in range(1 if all(spec.is_static for spec in program.inputs) else KNOWN_SIZES):
            results = program(*(np.copy(argument) for argument in arguments), seed=seed)
    except MindError as e:  # a form for sizes that are known at a call may be refused there
        return Outcome(executor, REFUSED if e.code in UNSUPPORTED else FAILED, error=e, checks=found.checks)
    return Outcome(executor, RAN, tuple(map(np.asarray, results_of(results))), checks=found.checks)


def results_of(returned: Any) -> tuple[Any, ...]:
    """Return the results of a call of a program as a tuple."""
    return cast("tuple[Any, ...]", returned) if isinstance(returned, tuple) else (returned,)


def _sizes(func: FuncOp, arguments: Sequence[Any]) -> dict[str, int]:
    specs = [TensorSpec.of(str(i), type) for i, type in enumerate(func.function_type.inputs)]
    pairs = [pair for spec, a in zip(specs, arguments, strict=False) for pair in zip(spec.shape, np.shape(a), strict=False)]
    return {dim: n for dim, n in pairs if isinstance(dim, str)}
