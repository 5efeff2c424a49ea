"""
What a program may give: the numbers of the reference kernels, and how far rounding may move them.

The program runs several times with noise behind every op whose rounding is not prescribed: sums in any order, functions within a
few units of the last place. A number must lie within what the noise shows; where noise iterations it into NaN or infinity, or
nothing can be said, every number is right. Ops that are exact add no noise, so what they give must be equal bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

import ptir_evaluator
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError
from mind_dialect.ptir import RandomOp
from mind_dialect.ptir.types import read_type
from mind_lowering.ptir_kernels.formats import format_of
from ptir_evaluator import same_bits

TRIALS = 6
SUMS = ("ptir.dot_general", "ptir.convolution", "ptir.cumulative_sum", "ptir.segment_reduce", "ptir.scatter_add")
EXACT = frozenset(
    f"ptir.{name}"
    for name in (
        "constant neg abs add sub mul div maximum minimum sqrt floor ceil sign not and or xor select compare "
        "cast reshape transpose "
        "broadcast_to slice strided_slice concat pad iota gather take dynamic_slice dynamic_update_slice reverse tile top_k sort "
        "arg_max argmax arg_min stop_gradient clamp extract_patches is_finite shift_left shift_right round trunc reciprocal"
    ).split()
)
"""Ops whose results are prescribed bit by bit, but for those of `EXTREMA`."""
EXTREMA = ("ptir.maximum", "ptir.minimum")
"""Ops that may give either of two zeros, as PTIR does not say which is the greater."""


@dataclass(frozen=True)
class Expected:
    """Results, and how far each number may be from them: infinite where nothing can be said."""

    results: tuple[Any, ...]
    bounds: tuple[Any, ...]


@dataclass(frozen=True)
class Noisy(ptir_evaluator.Run):
    """An evaluation that shakes what is not prescribed."""

    rng: Any = None

    def perform(self, op: Operation, *operands: Any, **more: Any) -> Any:
        """Perform an op, and move its floats."""
        found = super().perform(op, *operands, **more)
        kind = op.properties.get("kind")
        is_extremum = op.name in ("ptir.reduce", "ptir.reduce_window") and str(getattr(kind, "data", kind)) != "sum"
        if (is_extremum or op.name in EXTREMA) and _is_float(found):
            return np.where((found == 0) & (self.rng.random(found.shape) < 0.5), -found, found)
        if op.name in EXACT or isinstance(op, RandomOp) or not _is_float(found):
            return found
        scale = finite = found
        if op.name in (*SUMS, "ptir.reduce", "ptir.reduce_window"):
            scale = super().perform(op, *(np.abs(x) if _is_float(x) else x for x in operands), **more)
            finite = super().perform(op, *(_finite_part(x) if _is_float(x) else x for x in operands), **more)
        return self._moved(found, scale, finite)

    def _moved(self, found: Any, scale: Any, finite: Any) -> Any:
        """
        Return numbers some units of the last place of `scale` away; where `scale` overflows, anything.

        An infinity stays unless what is `finite` of a sum overflows too: to NaN, if that comes first and has the other sign.
        """
        form = format_of(found.dtype)
        wide = np.complex128 if found.dtype.kind == "c" else np.float64
        value, size = np.asarray(found).astype(wide), np.abs(np.asarray(scale).astype(wide))
        most = float(np.finfo(np.float64 if form.name in ("f64", "cf64") else np.float32).max) if form.name != "f16" else 65504.0
        noise = self.rng.choice([-6.0, -3.0, 3.0, 6.0], value.shape) * (
            size * EPSILON.get(form.name, 1e-7) + LEAST.get(form.name, 0)
        )
        made = np.where(np.isfinite(value), value + np.where(np.isfinite(noise), noise, 0), value)
        lost = ~(size < most / 8) & np.isfinite(value) | np.isinf(size) & ~np.isinf(np.asarray(value))
        if finite is not found:
            lost |= np.isinf(value) & ~(np.abs(np.asarray(finite).astype(wide)) < most / 8)
        some = self.rng.choice([np.nan, np.inf, 0.0], value.shape)
        return np.asarray(np.where(lost, some, made)).astype(found.dtype)


CORE_CODES = {"E6006": "E8004"}
"""Codes of Core IR for what the contract of PTIR gives another one."""
EPSILON = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-23, "f64": 2.0**-52, "cf32": 2.0**-23, "cf64": 2.0**-52}
LEAST = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 2.0**-1074}


def _finite_part(x: Any) -> Any:
    """Return magnitudes with 0 in place of NaN and infinity."""
    return np.where(np.isfinite(x), np.abs(x), np.zeros((), x.dtype))


def _is_float(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic) and (x.dtype.kind in "fc" or x.dtype.name.startswith(("bfloat", "float8")))


def expectation(func: FuncOp, arrays: Sequence[Any], number: int) -> Expected | MindError:
    """What a function gives by the reference kernels, and within which bounds."""
    try:
        results = tuple(map(np.asarray, ptir_evaluator.evaluate(func, arrays)))
    except MindError as e:
        return e
    trials: list[tuple[Any, ...]] = []
    for i in range(TRIALS):
        context = _context(func, arrays)
        noisy = Noisy(context.seed, context.ordinals, context.sizes, context.iterations, np.random.default_rng([number, i]))
        try:
            with np.errstate(all="ignore"):
                trials.append(tuple(map(np.asarray, ptir_evaluator.evaluate_block(func.body.block, arrays, noisy))))
        except MindError:
            return Expected(results, tuple(np.full(r.shape, np.inf) for r in results))
    is_exact = all(same_bits(r, t[i]) for t in trials for i, r in enumerate(results))
    slack = 0.0 if is_exact and not any(_inexact(op) for op in walk(func)) else 4.0
    return Expected(results, tuple(_bound(r, [t[i] for t in trials], slack) for i, r in enumerate(results)))


def _inexact(op: Operation) -> bool:
    return op.name.startswith("ptir.") and op.name not in EXACT


def _context(func: FuncOp, arrays: Sequence[Any]) -> ptir_evaluator.Run:
    """The run that `evaluate` would begin with."""
    sizes = {
        name: size
        for argument, x in zip(func.body.block.args, arrays, strict=True)
        for name, size in zip(read_type(argument.type).shape, x.shape, strict=True)
    }
    ordinals = {op: i for i, op in enumerate(op for op in walk(func) if isinstance(op, RandomOp))}
    return ptir_evaluator.Run({"seed": 0}, ordinals, sizes)


def _bound(result: Any, trials: Sequence[Any], slack: float) -> Any:
    """How far the trials are from a result, and some more."""
    if any(t.shape != result.shape for t in trials):
        return np.full(result.shape, np.inf)
    wide = np.complex128 if result.dtype.kind == "c" else np.float64
    value = result.astype(wide)
    with np.errstate(all="ignore"):
        apart = [np.where(_alike(value, t.astype(wide)), 0.0, np.abs(value - t.astype(wide))) for t in trials]
        spread = np.max([np.where(np.isnan(a), np.inf, a) for a in apart], axis=0)
        form = format_of(result.dtype).name if _is_float(result) else ""
        units = slack * (np.abs(np.where(np.isfinite(value), value, 0)) * EPSILON.get(form, 0.0) + LEAST.get(form, 0.0))
    return 4 * spread + units


def _alike(a: Any, b: Any) -> Any:
    return (a == b) | (np.isnan(a) & np.isnan(b))


def disagreement(found: tuple[Any, ...] | MindError, expected: Expected | MindError) -> str | None:
    """Say in a few words how an outcome differs from what is expected; None if it does not."""
    if isinstance(found, MindError) or isinstance(expected, MindError):
        if isinstance(found, MindError) and isinstance(expected, MindError):
            return None if CORE_CODES.get(found.code, found.code) == expected.code else f"{found.code} and {expected.code}"
        if isinstance(expected, Expected) and any(np.isinf(b).any() for b in expected.bounds):
            return None
        return f"{found.code} and results" if isinstance(found, MindError) else f"results and {expected.code}"  # type: ignore[union-attr]
    if len(found) != len(expected.results):
        return "numbers of results"
    for x, y, bound in zip(found, expected.results, expected.bounds, strict=True):
        if (x.dtype, x.shape) != (y.dtype, y.shape):
            return f"types of results: {x.dtype}{x.shape}, {y.dtype}{y.shape}"
        if not bound.any():
            if not same_bits(x, y):
                return f"bits of {y.dtype}"
        elif _outside(x, y, bound):
            return f"numbers of {y.dtype}"
    return None


def _outside(x: Any, y: Any, bound: Any) -> bool:
    wide = np.complex128 if y.dtype.kind == "c" else np.float64
    a, b = x.astype(wide), y.astype(wide)
    with np.errstate(all="ignore"):
        return bool(np.any(~_alike(a, b) & ~(np.abs(a - b) <= bound) & np.isfinite(bound)))
