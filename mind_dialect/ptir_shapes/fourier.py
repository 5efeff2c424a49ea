"""Shapes of discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import error
from .dims import Dims, at_least, equal_dims, rank_error


def fft(x: Dims, *, kind: str, lengths: Sequence[int]) -> Dims:
    """
    Transforms of `lengths` along the last axes; of real numbers, half of the last one, the middle included.

    >>> fft(("B", 8, 6), kind="rfft", lengths=(8, 6)), fft(("B", 4), kind="irfft", lengths=(6,))
    (('B', 8, 4), ('B', 6))
    >>> fft((2, 6), kind="irfft", lengths=(6,))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3003: transformed extents 6 and 4, expected equal
    """
    if not lengths:
        raise error("E8002", "lengths is empty, expected one length for each transformed axis", attribute="lengths", value=())
    at_least(1, lengths=lengths)
    first = len(x) - len(lengths)
    if first < 0:
        raise rank_error("x", f"at least {len(lengths)}", len(x))
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    for n, length in zip(x[first:], half if kind == "irfft" else lengths, strict=True):
        equal_dims("transformed", n, length)
    return (*x[:first], *(half if kind == "rfft" else lengths))
