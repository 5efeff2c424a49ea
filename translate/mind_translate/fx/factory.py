"""Rows of constants that torch computes from numbers alone: windows of signals, and frequencies of Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from xdsl.ir import SSAValue

from .converter import AtenConverter, Call, Row, Table

Window = Callable[..., float]
"""The value at a share of the window, from 0 to 1, for the numbers that its overload takes."""


def _bartlett(t: float) -> float:
    return 1 - abs(2 * t - 1)


def _blackman(t: float) -> float:
    return 0.42 - 0.5 * math.cos(2 * math.pi * t) + 0.08 * math.cos(4 * math.pi * t)


def _hamming(t: float, alpha: float = 0.54, beta: float = 0.46) -> float:
    return alpha - beta * math.cos(2 * math.pi * t)


def _kaiser(t: float, beta: float = 12.0) -> float:
    return _bessel_i0(beta * math.sqrt(max(0.0, 1 - (2 * t - 1) ** 2))) / _bessel_i0(beta)


def _bessel_i0(x: float) -> float:
    """By its power series, whose terms are all positive."""
    term = total = 1.0
    k = 1
    while term > total * 1e-17:
        term *= (x / (2 * k)) ** 2
        total, k = total + term, k + 1
    return total


def _window(value: Window, *, periodic: bool, count: int) -> Row:
    """A window of so many numbers after `periodic`: one is a period of a signal without its last element."""

    def row(to: AtenConverter, call: Call, size: int, *given: Any) -> SSAValue:
        whole = bool(given[0]) if periodic else True
        numbers = [float(v) for v in given[1 : 1 + count]]
        last = size if whole else size - 1
        values = [1.0] if size == 1 else [value(i / last, *numbers) for i in range(size)]
        return to.constant(call.dtype, (size,), values)

    return row


def _frequencies(*, half: bool) -> Row:
    """`[0, 1, ..., -2, -1] / (n d)`, of real signals without the negative ones."""

    def row(to: AtenConverter, call: Call, n: int, d: float = 1.0, *_: Any) -> SSAValue:
        places = [i if half or i < (n + 1) // 2 else i - n for i in range(n // 2 + 1 if half else n)]
        return to.constant(call.dtype, (len(places),), [i / (n * d) for i in places])

    return row


def _overloads(name: str, value: Window, **overloads: int) -> Table:
    """The overloads of a window by the count of their numbers."""
    rows = {f"{name}.{overload}": _window(value, periodic=True, count=count) for overload, count in overloads.items()}
    return {f"{name}.default": _window(value, periodic=False, count=0), **rows}


FACTORY: Table = {
    **_overloads("bartlett_window", _bartlett, periodic=0),
    **_overloads("blackman_window", _blackman, periodic=0),
    **_overloads("hamming_window", _hamming, periodic=0, periodic_alpha=1, periodic_alpha_beta=2),
    **_overloads("kaiser_window", _kaiser, periodic=0, beta=1),
    "fft_fftfreq.default": _frequencies(half=False),
    "fft_rfftfreq.default": _frequencies(half=True),
}
