"""Functions of torch against our import of them: values, and vector-Jacobian products."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from mind_bridges.torch import from_torch
from mind_bridges.torch_export import as_array
from mind_passes.functional import vjp
from mind_runtime import compile

Inputs = tuple[Any, ...]
Row = tuple[Callable[..., Any], Callable[[], Inputs]]
"""A function and what makes its arguments."""


class Function(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *xs: Any) -> Any:
        """Call it."""
        return self.function(*xs)


def normal(*shape: int) -> Any:
    """Normal random numbers."""
    return torch.randn(shape)


def outputs(found: Any) -> list[Any]:
    """The tensors among results."""
    return list(torch.utils._pytree.tree_leaves(found))


def given(row: Row) -> Inputs:
    """The arguments of a row, the same each time."""
    torch.manual_seed(1)
    return row[1]()


def run(function: Callable[..., Any], arguments: Inputs, target: str) -> list[Any]:
    """What our program of a function computes."""
    module, weights = from_torch(Function(function), *arguments)
    found = compile(module, target=target)(*weights.values(), *map(as_array, arguments))
    return list(found) if isinstance(found, tuple) else [found]


def check_values(row: Row, target: str, tolerance: float = 2e-5) -> None:
    """All results are torch's, in dtype, shape, NaN and infinities."""
    arguments = given(row)
    for ours, theirs in zip(run(row[0], arguments, target), outputs(row[0](*arguments)), strict=True):
        theirs = as_array(theirs)
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, tolerance, tolerance)


def differentiated(row: Row) -> tuple[list[Any], list[Any]]:
    """The arguments of a row, and its results that have derivatives; none where an argument is infinite or NaN."""
    arguments = [x.clone().requires_grad_(x.is_floating_point()) for x in given(row)]
    if not all(torch.isfinite(x).all() for x in arguments):
        return arguments, []
    return arguments, [y for y in outputs(row[0](*arguments)) if y.requires_grad]


def check_derivatives(row: Row) -> None:
    """The adjoints of all floating-point arguments are torch's."""
    arguments, results = differentiated(row)
    moving = [i for i, x in enumerate(arguments) if x.requires_grad]
    cotangents = [torch.randn_like(y) for y in results]
    expected = torch.autograd.grad(results, [arguments[i] for i in moving], cotangents, allow_unused=True)
    for ours, theirs in zip(products(row[0], arguments, moving, cotangents), expected, strict=True):
        np.testing.assert_allclose(ours, 0 * ours if theirs is None else as_array(theirs), 1e-4, 1e-4)


def checks_of(rows: Mapping[str, Row], least: int, *tolerance: float) -> tuple[Callable[..., None], ...]:
    """
    The tests of a table of rows: values on each target, how many rows have derivatives, more than `least`, and derivatives.

    A module names them `test_values, test_most_rows_have_derivatives, test_derivatives`.
    """
    smooth = [name for name in rows if differentiated(rows[name])[1]]

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("target", ["numpy", "native"])
    @pytest.mark.parametrize("name", rows)
    def test_values(name: str, target: str) -> None:
        check_values(rows[name], target, *tolerance)

    def test_most_rows_have_derivatives() -> None:
        assert len(smooth) > least

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("name", smooth)
    def test_derivatives(name: str) -> None:
        check_derivatives(rows[name])

    return test_values, test_most_rows_have_derivatives, test_derivatives


def products(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    moving: Sequence[int],
    cotangents: Sequence[Any],
    target: str = "numpy",
) -> list[Any]:
    """Our adjoints of some arguments, for cotangents of the results that have derivatives."""
    module, weights = from_torch(Function(function), *(x.detach() for x in arguments))
    gradient = vjp(module, wrt=[len(weights) + i for i in moving])
    found = compile(gradient, "main_grad", target)(*weights.values(), *map(as_array, arguments), *map(as_array, cotangents))
    return list(found[len(found) - len(moving) :])
