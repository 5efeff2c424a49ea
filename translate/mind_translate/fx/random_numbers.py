"""Random numbers of torch: no other library gives them, so that each op has the reason alone."""

from __future__ import annotations

from ..unsupported import Refused
from .converter import Table

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


RANDOM_NUMBERS: Table = {
    **{f"{name}.{overload}": _refused(f"torch.{name}") for name, overloads in _NAMES.items() for overload in overloads},
    "rrelu_with_noise_functional.default": _refused("rrelu in training mode"),
}
