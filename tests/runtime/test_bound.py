"""mind_runtime.bind: weights given once, prepared once; calls as those of a compiled program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import mind_runtime
from mind_dialect.errors import MindError
from mind_dialect.verify import verify
from mind_lowering.ptir_optimize import optimize
from mind_runtime import binding
from programs import parse

SOURCE = """module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @step(%x: tensor<2x3xf32>, %w: tensor<3x3xf32> {ptir.parameter}, %cache: tensor<2x3xf32>, %at: tensor<2xsi32>)
      -> (tensor<2x3xf32>, tensor<2x3xf32>) {
    %e = ptir.exp %w : tensor<3x3xf32>
    %y = ptir.dot_general %x, %e batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
      : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %r = ptir.slice %y starts = [0, 0] sizes = [1, 3] : tensor<2x3xf32> -> tensor<1x3xf32>
    %c = ptir.dynamic_update_slice %cache, %r, %at sizes = [1, 3]
      : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<2xsi32>) -> tensor<2x3xf32>
    func.return %y, %c : tensor<2x3xf32>, tensor<2x3xf32>
  }
}"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.array([[0, 1, -1], [2, 0.5, 0], [0, 0, 1]], np.float32)
AT = np.array([1, 0], np.int32)


def module_of(*, split: bool) -> ModuleOp:
    module = parse(SOURCE)
    optimize(module, split=split)
    verify(module)
    return module


def cache() -> np.ndarray:
    return np.zeros((2, 3), np.float32)


@pytest.mark.parametrize("split", [False, True])
def test_a_bound_program_gives_what_the_program_gives(split: bool) -> None:
    expected = mind_runtime.compile(parse(SOURCE))(X, W, cache(), AT)
    step = mind_runtime.bind(module_of(split=split), {"w": W})
    assert [spec.name for spec in step.inputs] == ["x", "cache", "at"]
    for _ in range(2):
        found = step(X, cache(), AT)
        assert all(map(np.array_equal, found, expected))
    assert ("exp" in step.program.source) is not split


def test_what_is_prepared_is_computed_once() -> None:
    """Afterwards the weight may change: the program has what it made of it."""
    weight = W.copy()
    step = mind_runtime.bind(module_of(split=True), {"w": weight})
    before = step(X, cache(), AT)[0]
    weight[:] = 0
    assert np.array_equal(step(X, cache(), AT)[0], before)


def test_a_donated_input_is_updated_in_place() -> None:
    step = mind_runtime.bind(module_of(split=True), {"w": W}, donate=["cache"])
    given = cache()
    _, updated = step(X, given, AT)
    assert updated.ctypes.data == given.ctypes.data
    assert np.array_equal(updated[1], (X @ np.exp(W))[0])
    frozen = cache()
    frozen.flags.writeable = False
    shared = np.zeros((3, 3), np.float32)
    for bad, also in ((frozen, X), (X, X), (np.asfortranarray(cache()), X), (shared[:2], shared[1:])):
        with pytest.raises(MindError, match="E2001"):
            step(also, bad, AT)


def test_a_donated_input_shares_nothing_with_what_is_bound() -> None:
    """The weight is needed as it is, so it is bound itself."""
    source = SOURCE.replace("%e = ptir.exp %w : tensor<3x3xf32>", "").replace("%x, %e batch", "%x, %w batch")
    for weight in (W.copy(), np.zeros((4, 3), np.float32)[1:]):
        step = mind_runtime.bind(parse(source), {"w": weight}, donate=["cache"])
        step(X, cache(), AT)
        with pytest.raises(MindError, match="E2001"):
            step(X, weight[:2], AT)


WRONG: dict[str, tuple[str, Any]] = {
    "an unknown weight": ("E7003", lambda m: mind_runtime.bind(m, {"w": W, "v": W})),
    "no weight to prepare": ("E7003", lambda m: mind_runtime.bind(m, {})),
    "a donated weight": ("E7001", lambda m: mind_runtime.bind(m, {"w": W, "cache": cache()}, donate=["cache"])),
    "a weight of another shape": ("E2001", lambda m: mind_runtime.bind(m, {"w": W[:2]})),
    "a bound input of another dtype": ("E2001", lambda m: mind_runtime.bind(m, {"w": W, "at": np.zeros(2)})),
    "too few arguments": ("E2007", lambda m: mind_runtime.bind(m, {"w": W})(X)),
    "an argument of another dtype": ("E2001", lambda m: mind_runtime.bind(m, {"w": W})(X.astype(np.float64), cache(), AT)),
    "an argument with masked elements": (
        "E2001",
        lambda m: mind_runtime.bind(m, {"w": W})(np.ma.masked_equal(X, 1), cache(), AT),
    ),
    "an unknown function": ("E7003", lambda m: mind_runtime.bind(m, {"w": W}, "walk")),
}


@pytest.mark.parametrize("case", WRONG)
def test_misuse_is_a_coded_error(case: str) -> None:
    code, act = WRONG[case]
    with pytest.raises(MindError) as caught:
        act(module_of(split=True))
    assert caught.value.code == code


def test_which_function_is_asked_for_where_it_is_not_clear() -> None:
    module = module_of(split=True)
    other = mind_runtime.bind(module, {"w": W}, "step_prepare")
    assert other.inputs == ()
    assert np.array_equal(other(), np.exp(W))
    module.body.block.add_op(parse(SOURCE.replace("@step", "@other")).body.block.first_op.clone())
    with pytest.raises(MindError, match="E7001"):
        mind_runtime.bind(module, {"w": W})


@pytest.mark.parametrize("kind", [np.matrix, None])
def test_an_argument_of_another_class_is_taken_as_the_program_takes_it(kind: Any) -> None:
    class Other(np.ndarray):
        pass

    given = X.view(kind or Other)
    expected = mind_runtime.compile(parse(SOURCE))(given, W, cache(), AT)
    for found, want in zip(mind_runtime.bind(module_of(split=True), {"w": W})(given, cache(), AT), expected, strict=True):
        assert type(found) is np.ndarray
        assert np.array_equal(found, want)


def test_what_is_not_prepared_is_not_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is bound may be packed before a run: without a function that prepares, the weights alone."""
    asked: list[set[str]] = []
    original = binding.compile_to_bind

    def compile_to_bind(*arguments: Any) -> Any:
        asked.append({*arguments[6]})
        return original(*arguments)

    monkeypatch.setattr(binding, "compile_to_bind", compile_to_bind)
    mind_runtime.bind(parse(SOURCE), {"w": W})
    mind_runtime.bind(module_of(split=True), {"w": W})
    assert asked[0] == {"w"}
    assert "w" in asked[1]
    assert len(asked[1]) == 2
