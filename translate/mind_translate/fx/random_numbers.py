"""Random numbers of torch: no other library gives them, so that each op has the reason alone."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ..unsupported import Refused
from .converter import AtenConverter, Call, Results, Table

_NAMES: dict[str, tuple[str, ...]] = {
    "_sample_dirichlet": ("default",),
    "_standard_gamma": ("default",),
    "bernoulli": ("Tensor", "p"),
    "binomial": ("default",),
    "cauchy": ("default",),
    "exponential": ("default",),
    "geometric": ("default",),
    "log_normal": ("default",),
    "multinomial": ("default",),
    "normal": ("Tensor_Tensor", "Tensor_float", "float_Tensor", "float_float"),
    "normal_functional": ("default",),
    "poisson": ("default",),
    "rand": ("default", "generator"),
    "rand_like": ("default", "generator"),
    "randint": ("default", "low", "generator", "low_generator"),
    "randint_like": ("default", "low_dtype", "Tensor", "generator", "low_generator_dtype", "Tensor_generator"),
    "randn": ("default", "generator"),
    "randn_like": ("default", "generator"),
    "random": ("default", "from", "to"),
    "randperm": ("default", "generator"),
    "uniform": ("default",),
}


def _refused(name: str) -> Refused:
    reason = f"{name}, whose random numbers no other library reproduces"
    return Refused(reason, "pass the numbers as an argument, or use model.eval()")


def _rrelu(
    to: AtenConverter,
    call: Call,
    x: SSAValue,
    noise: SSAValue,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    *_: Any,
) -> Results:
    """Outside of training the slope below 0 is the mean of the bounds; the second result is the noise as it was."""
    if training:
        raise _refused("rrelu in training mode")
    return to.select(to.compare("greater", x, 0), x, to.scaled(x, (lower + upper) / 2)), noise


RANDOM_NUMBERS: Table = {
    **{f"{name}.{overload}": _refused(f"torch.{name}") for name, overloads in _NAMES.items() for overload in overloads},
    "rrelu_with_noise_functional.default": _rrelu,
}
