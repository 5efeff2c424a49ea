"""Rows of functions of real numbers, divisors of integers, windows and frequencies against PyTorch."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch_rows import Row, checks_of, normal  # noqa: E402, after the skip

INF, NAN = math.inf, math.nan
SPECIAL = torch.tensor([0.0, -0.0, INF, -INF, NAN, 1.5, -2.5, 0.5])
PAIRS = (SPECIAL.repeat_interleave(len(SPECIAL)), SPECIAL.repeat(len(SPECIAL)))
LEFT, RIGHT = torch.tensor([3, -4, 0, 12, 7, 0]), torch.tensor([6, 8, 5, 0, -2, 0])


def scaled(function: Any, *arguments: Any) -> Any:
    """A product with a constant that torch computes from numbers."""
    return lambda x: x * function(*arguments)


ROWS: dict[str, Row] = {
    "signs of specials": (torch.copysign, lambda: PAIRS),
    "signs": (torch.copysign, lambda: (normal(5), normal(5))),
    "signs of a number": (lambda x: (torch.copysign(x, -2.0), torch.copysign(x, 3.0)), lambda: (normal(5),)),
    "signs of -0": (lambda x: torch.copysign(x, -0.0), lambda: (normal(5),)),
    "signs of integers": (torch.copysign, lambda: (LEFT, RIGHT)),
    "powers of 2": (torch.exp2, lambda: (normal(5),)),
    "powers of 2 of integers": (torch.exp2, lambda: (LEFT,)),
    "powers of 2 of specials": (torch.exp2, lambda: (SPECIAL,)),
    "powers of 2 of f16": (torch.exp2, lambda: (normal(5).half(),)),
    "mantissas": (lambda x: torch.frexp(x)[0], lambda: (normal(9),)),
    "mantissas and powers": (torch.frexp, lambda: (torch.tensor([0.0, -0.0, 1.0, -3.0, 0.1, 1e-40, 3e38, INF, -INF, NAN]),)),
    "mantissas in f64": (
        lambda x: torch.frexp(x.detach()),
        lambda: (torch.tensor([0.0, 1.0, -3.0, 5e-324, 1e308, 1e-300]).double(),),
    ),
    "mantissas in bf16": (lambda x: torch.frexp(x.detach()), lambda: (normal(5).bfloat16(),)),
    "divisors": (torch.gcd, lambda: (LEFT, RIGHT)),
    "divisors that broadcast": (torch.gcd, lambda: (LEFT[:, None], RIGHT)),
    "divisors of bytes": (
        torch.gcd,
        lambda: (torch.tensor([200, 0], dtype=torch.uint8), torch.tensor([150, 3], dtype=torch.uint8)),
    ),
    "the divisor of two numbers": (torch.gcd, lambda: (torch.tensor(12), torch.tensor(18))),
    "divisors of nothing": (torch.gcd, lambda: (torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64))),
    "divisors of neighbouring Fibonacci numbers": (
        torch.gcd,
        lambda: (torch.tensor([7540113804746346429]), torch.tensor([4660046610375530309])),
    ),
    "multiples": (torch.lcm, lambda: (LEFT, RIGHT)),
    "lengths": (torch.hypot, lambda: (normal(5), normal(5))),
    "lengths of specials": (torch.hypot, lambda: PAIRS),
    "lengths without overflow": (torch.hypot, lambda: (torch.tensor([1e30, 3e-30]), torch.tensor([1e30, 4e-30]))),
    "lengths of bf16": (lambda x, y: torch.hypot(x, y).detach(), lambda: (normal(5).bfloat16(), normal(5).bfloat16())),
    "hundredths": (lambda x: torch.round(x, decimals=2), lambda: (10 * normal(9),)),
    "tens": (lambda x: torch.round(x, decimals=-1), lambda: (100 * normal(9),)),
    "tails": (torch.erfc, lambda: (3 * normal(9),)),
    "tails of specials": (torch.erfc, lambda: (SPECIAL,)),
    "tails of integers": (torch.erfc, lambda: (LEFT,)),
    "tails without decay": (
        torch.special.erfcx,
        lambda: (torch.cat([5 * normal(9), torch.tensor([1.0, 9.0, 50.0, 1e10, 1e30])]),),
    ),
    "tails without decay of specials": (torch.special.erfcx, lambda: (SPECIAL,)),
    "logarithms of tails": (torch.special.log_ndtr, lambda: (3 * normal(9),)),
    "logarithms of sums of powers of 2": (torch.logaddexp2, lambda: (normal(5), normal(5))),
    "modified Bessel functions": (
        lambda x: (torch.special.modified_bessel_i0(x), torch.special.modified_bessel_i1(x)),
        lambda: (5 * normal(9).detach(),),
    ),
    "arguments of real numbers": (torch.angle, lambda: (normal(5),)),
    "arguments of specials": (torch.angle, lambda: (SPECIAL,)),
    "arguments of integers": (torch.angle, lambda: (LEFT,)),
    "arguments of complex numbers": (lambda x, y: torch.angle(torch.complex(x, y)), lambda: (normal(9), normal(9))),
    "numbers first": (
        lambda x: (torch.bitwise_and(5, x), torch.bitwise_or(5, x), torch.bitwise_xor(5, x), torch.remainder(5, x + 100)),
        lambda: (LEFT,),
    ),
    "shifts of a number": (
        lambda x: (torch.bitwise_left_shift(5, x), torch.bitwise_right_shift(500, x)),
        lambda: (LEFT.abs(),),
    ),
    "remainders of a number": (lambda x: torch.remainder(5.5, x.detach()), lambda: (normal(5),)),
    **{
        f"{name}, {arguments}": (scaled(getattr(torch, f"{name}_window"), 6, *arguments), lambda: (normal(6),))
        for name, most in (("bartlett", ()), ("blackman", ()), ("hamming", (0.5, 0.4)), ("kaiser", (3.0,)))
        for arguments in ((), (True,), (False,), (False, *most), (True, *most[:1]))
    },
    "a window of one": (scaled(torch.kaiser_window, 1), lambda: (normal(1),)),
    "frequencies": (lambda x: (x * torch.fft.fftfreq(5, 0.5), x[1:] * torch.fft.fftfreq(4)), lambda: (normal(5),)),
    "frequencies of real signals": (
        lambda x: (x * torch.fft.rfftfreq(8, 0.5), x * torch.fft.rfftfreq(9)),
        lambda: (normal(5),),
    ),
}
test_values, test_most_rows_have_derivatives, test_derivatives = checks_of(ROWS, 30)
