"""JAX's programs and gradients, read without jaxlib, against JAX; our gradients of them, on XLA too, against JAX's."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.verify import verify
from mind_passes.functional import value_and_grad
from mind_runtime import compile
from mind_translate.stablehlo import read_stablehlo
from stablehlo_programs import EXECUTORS, ops

HAS_JAX = importlib.util.find_spec("jax") is not None
pytestmark = pytest.mark.skipif(not HAS_JAX, reason="no JAX: nothing to compare with")
if HAS_JAX:
    import jax

    from jax_programs import LOSSES, PROGRAMS
else:
    LOSSES, PROGRAMS = {}, {}
TOLERANCE = 5e-6


def lowered(name: str, generic: bool = False) -> ModuleOp:
    """The PTIR module of a program."""
    function, arguments = PROGRAMS[name]
    stage = jax.jit(function).lower(*arguments)
    text = (
        stage.compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=True)
        if generic
        else stage.as_text(debug_info=True)
    )
    module = read_stablehlo(text, name)
    verify(module)
    return module


def flat(tree: Any) -> list[Any]:
    """The arrays of a tree."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def compare(found: Any, wanted: list[Any]) -> None:
    """Assert equal dtypes and shapes, integers equal, floats close."""
    results = [found] if len(wanted) == 1 else list(found)
    assert len(results) == len(wanted)
    for given, expected in zip(results, wanted, strict=True):
        assert (given.dtype, given.shape) == (expected.dtype, expected.shape)
        if expected.dtype.kind in "biu":
            np.testing.assert_array_equal(given, expected)
        else:
            np.testing.assert_allclose(given, expected, rtol=TOLERANCE, atol=TOLERANCE * max(1, float(np.abs(expected).max())))


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_jaxs(name: str, executor: str) -> None:
    function, arguments = PROGRAMS[name]
    compare(compile(lowered(name), "main", executor)(*flat(arguments)), flat(function(*arguments)))


@pytest.mark.parametrize(
    "name", ["adam", "gpt scanned gradient", "cnn gradient", "sorts", "indexing", "argmax, argmin", "switch"]
)
def test_both_forms_give_the_same_ops(name: str) -> None:
    assert ops(lowered(name)) == ops(lowered(name, generic=True))


@pytest.mark.parametrize("executor", [*EXECUTORS, "xla"])
@pytest.mark.parametrize("name", LOSSES)
def test_our_gradients_are_jaxs(name: str, executor: str) -> None:
    function, arguments = LOSSES[name]
    leaves = flat(arguments)
    wrt = [i for i, leaf in enumerate(leaves) if leaf.dtype.kind == "f"]
    floats = tuple(i for i, a in enumerate(arguments) if all(leaf.dtype.kind == "f" for leaf in flat(a)))
    module = lowered(name)
    found = run_gradient(module, wrt, leaves, executor)
    wanted = flat(jax.value_and_grad(function, argnums=floats)(*arguments))
    compare(found, wanted)


def run_gradient(module: ModuleOp, wrt: list[int], leaves: list[Any], executor: str) -> Any:
    """The value and the gradients of `@main`."""
    made = value_and_grad(module, "main", wrt=wrt)
    verify(made)
    return compile(made, "main_grad", executor)(*leaves)


def test_scanned_layers_are_scans() -> None:
    counts = ops(lowered("gpt scanned"))
    assert (counts["scan"], counts["while"]) == (1, 0)
    assert ops(lowered("lstm gradient"))["while"] == 0
