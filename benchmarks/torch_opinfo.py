"""
The samples of PyTorch's own operator tests, judged: values and vector-Jacobian products of our import against PyTorch's.

`torch.testing._internal.common_methods_invocations.op_db` describes operators and gives sample inputs. Each sample is a module
whose inputs are the sample's tensors; it is exported, imported, run, and compared with what torch computes; where torch
differentiates it, so is our reverse mode. Samples and cotangents depend on the name of the operator alone.
"""

from __future__ import annotations

import itertools
import warnings
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from suites import Case, Expectation, Outcome, agrees, is_visible, reason_of, shown
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import ModuleOp

from mind_bridges.torch import from_torch
from mind_bridges.torch_export import as_array
from mind_dialect.errors import MindError
from mind_passes.functional import vjp
from mind_runtime import compile

CLOSE = Expectation("expect_close", 0, 0, None)
VALUES, PRODUCTS = "values", "VJPs"
NOT_COMPARED = {
    "logcumsumexp": "torch computes them by logarithms of cotangents, in f32 off by 2e-3; tests of the row compare in f64",
    "nn.functional.max_unpool": "places that are written twice: torch gives each the adjoint, we the one whose value is there",
}
"""How names of operators begin whose VJPs are not compared, and why."""
UNDETERMINED = {
    "empty": "the contents of new memory",
    "empty_like": "the contents of new memory",
    "empty_permuted": "the contents of new memory",
    "empty_strided": "the contents of new memory",
    "new_empty": "the contents of new memory",
    "new_empty_strided": "the contents of new memory",
}
"""Operators whose results nothing determines."""


def operators(*, visible: bool) -> list[Any]:
    """Return the operators that support f32, in the order of their names; several variants have one name."""
    from torch.testing._internal.common_methods_invocations import op_db

    found = [op for op in op_db if torch.float32 in op.dtypes and (is_visible(op.name) or not visible)]
    return sorted(found, key=full_name)


def full_name(op: Any) -> str:
    """The name of an operator with its variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


class Sample(torch.nn.Module):
    """
    A call of an operator on a sample; its tensors are the inputs, results are flat.

    Results are those that PyTorch's own tests differentiate: without the signs of eigenvectors, for example.
    """

    def __init__(self, op: Any, sample: Any):
        super().__init__()
        self.op, self.processed = op, sample.output_process_fn_grad
        leaves, self.tree = pytree.tree_flatten(((sample.input, *sample.args), dict(sample.kwargs)))
        self.leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.tensors = [leaves[i].detach().clone() for i in self.places]

    def forward(self, *tensors: Any) -> Any:
        """Call the operator."""
        leaves = list(self.leaves)
        for i, tensor in zip(self.places, tensors, strict=True):
            leaves[i] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.tree)
        found = self.processed(self.op(*args, **kwargs))
        return tuple(torch.as_tensor(y) for y in pytree.tree_leaves(found) if isinstance(y, torch.Tensor | bool))


def samples(op: Any, most: int) -> Iterator[Sample]:
    """Return the first samples of an operator."""
    torch.manual_seed(zlib.crc32(full_name(op).encode()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in itertools.islice(op.sample_inputs("cpu", torch.float32), most):
            yield Sample(op, sample)


def run_case(op: Any, number: int, sample: Sample, executors: Sequence[str]) -> Case:
    """Judge a sample; its outcomes are by `values numpy`, `VJPs numpy` and so on."""
    case = Case(f"{full_name(op)}#{number}", frozenset({full_name(op)}))
    try:
        expected = [as_array(y) for y in sample(*(x.clone() for x in sample.tensors))]
    except Exception:
        return case  # torch itself does not run it
    try:
        module = from_torch(sample, *sample.tensors)
    except MindError as e:
        case.outcomes = {f"{VALUES} {executor}": Outcome("refused", reason_of(e)) for executor in executors}
        return case
    given = [*module.weights.values(), *map(as_array, sample.tensors)]
    pulled = None if op.name.startswith(tuple(NOT_COMPARED)) else adjoints(sample)
    for executor in executors:
        case.outcomes[f"{VALUES} {executor}"] = judged(module.module, "main", executor, given, expected)
        if pulled is not None:
            cotangents, found = pulled
            outcome = judged_products(module.module, executor, given, cotangents, found, len(module.weights))
            case.outcomes[f"{PRODUCTS} {executor}"] = outcome
    return case


def adjoints(sample: Sample) -> tuple[list[Any], dict[int, Any]] | None:
    """Cotangents of the differentiable results, and torch's adjoints by the number of the tensor; None where there are none."""
    given = [x.clone().requires_grad_(x.is_floating_point()) for x in sample.tensors]
    try:
        results = sample(*given)
        floats = [y for y in results if y.is_floating_point()]
        if not floats or any(y.is_complex() for y in results) or not all(y.requires_grad for y in floats):
            return None
        cotangents = [torch.randn_like(y) for y in floats]
        moving = [x for x in given if x.requires_grad]
        found = torch.autograd.grad(floats, moving, cotangents, allow_unused=True)
    except Exception:
        return None
    zeros = [torch.zeros_like(x) if g is None else g for x, g in zip(moving, found, strict=True)]
    places = [i for i, x in enumerate(given) if x.requires_grad]
    return [as_array(c) for c in cotangents], dict(zip(places, map(as_array, zeros), strict=True))


def judged_products(
    module: ModuleOp, executor: str, given: Sequence[Any], cotangents: Sequence[Any], expected: dict[int, Any], first: int
) -> Outcome:
    """Compare our adjoints with torch's, whose tensors are the inputs from `first` on."""
    try:
        gradient = vjp(module, wrt=[first + i for i in expected])
        made = run(gradient, "main_grad", executor, [*given, *cotangents])
    except MindError as e:
        return Outcome("refused", reason_of(e))
    return compared(made[len(made) - len(expected) :], list(expected.values()))


def judged(module: ModuleOp, name: str, executor: str, given: Sequence[Any], expected: Sequence[Any]) -> Outcome:
    """Compare what a function computes with what is expected; results that follow are new values of buffers."""
    try:
        return compared(run(module, name, executor, given)[: len(expected)], expected)
    except MindError as e:
        return Outcome("refused", reason_of(e))


def run(module: ModuleOp, name: str, executor: str, arguments: Sequence[Any]) -> list[Any]:
    """Return the results of a function. Raises `MindError`."""
    made = compile(module, name, executor)(*arguments)
    return [np.asarray(y) for y in (made if isinstance(made, tuple) else (made,))]


def compared(found: Sequence[Any], expected: Sequence[Any]) -> Outcome:
    """Return whether all results agree; the first that does not is shown."""
    for i, (x, y) in enumerate(zip(found, expected, strict=True)):
        if not agrees(x, y, CLOSE) and not _agrees_in_sum(x, y):
            return Outcome("wrong", (f"result {i}: {shown(x)}, expected {shown(y)}",))
    return Outcome("passed")


def _agrees_in_sum(x: Any, y: Any) -> bool:
    """Return whether finite numbers are close, relative to the largest: they may be sums of many terms."""
    if x.shape != y.shape or x.dtype != y.dtype or y.dtype.kind not in "fc" or not y.size:
        return False
    wide = np.complex128 if y.dtype.kind == "c" else np.float64
    first, second = x.astype(wide), y.astype(wide)
    bound = 16 * float(np.finfo(y.dtype).eps) * max(1.0, float(np.abs(second).max())) * max((1, *y.shape[-2:]))
    return bool(np.isfinite(second).all() and (np.abs(first - second) <= bound).all())
