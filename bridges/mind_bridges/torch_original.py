"""
An exported program of torch run by torch itself, as the judge of what we make of it.

    original = TorchOriginal(open_exported("model.pt2"))
    original.results(arrays)                  as `from_torch` orders inputs and results
    original.adjoints(arrays, cotangents)     by torch.autograd
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mind_dialect.errors import brief, error

from .torch_export import as_array, require
from .torch_gradients import stopped_gradients

_WRITTEN = ("BUFFER_MUTATION", "USER_INPUT_MUTATION", "PARAMETER_MUTATION")


class TorchOriginal:
    """Runs the graph of an exported program; inputs and results are those of `from_torch`, in its order."""

    def __init__(self, program: Any):
        self.torch = require()
        with warnings.catch_warnings(), stopped_gradients(self.torch, program):
            warnings.simplefilter("ignore")
            self.program = program.run_decompositions({})
        kinds = [spec.kind.name for spec in self.program.graph_signature.output_specs]
        self.differentiable = range(sum(kind == "USER_OUTPUT" for kind in kinds))
        """The positions of the user's results; torch does not differentiate the new values of buffers."""

    def results(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the results as NumPy arrays: the user's, then new values of what the program writes to. E6008."""
        with self.torch.no_grad():
            return [as_array(value) for value in self._run([self._tensor(a) for a in arrays])]

    def adjoints(self, arrays: Sequence[Any], cotangents: Mapping[int, Any]) -> list[Any | None]:
        """
        Return the adjoint of each floating-point input; `cotangents` are those of results by position. E6008.

        None for buffers, by which torch does not differentiate.
        """
        given = [self._tensor(a) for a in arrays]
        kinds = [spec.kind.name for spec, value in self._inputs() if isinstance(value, self.torch.Tensor)]
        floats = [(x, kind != "BUFFER") for x, kind in zip(given, kinds, strict=True) if x.dtype.is_floating_point]
        moving = [x.requires_grad_() for x, moves in floats if moves]
        found = self._run(given)
        pairs = [(found[i], self._tensor(g)) for i, g in cotangents.items() if found[i].requires_grad]
        if not pairs:
            adjoints = [self.torch.zeros_like(x) for x in moving]
        else:
            outputs, weights = zip(*pairs, strict=True)
            adjoints = self.torch.autograd.grad(outputs, moving, weights, allow_unused=True, materialize_grads=True)
        ordered = iter(adjoints)
        return [as_array(next(ordered)) if moves else None for _, moves in floats]

    def _inputs(self) -> list[tuple[Any, Any]]:
        """Return what each input of the graph is, and its example or value."""
        nodes = {node.name: node for node in self.program.graph.nodes if node.op == "placeholder"}
        return [(spec, nodes[spec.arg.name].meta.get("val")) for spec in self.program.graph_signature.input_specs]

    def _run(self, given: Sequence[Any]) -> list[Any]:
        """Return the tensors among the results."""
        tensors = iter(given)
        placed = [next(tensors) if isinstance(value, self.torch.Tensor) else value for _, value in self._inputs()]
        try:
            found = self.program.graph_module(*placed)
        except Exception as e:
            raise error("E6008", f"the original fails in torch: {brief(e)}", device="torch", status=type(e).__name__) from None
        specs = self.program.graph_signature.output_specs
        pairs = [(s.kind.name in _WRITTEN, v) for s, v in zip(specs, found, strict=True) if isinstance(v, self.torch.Tensor)]
        return [v for written, v in pairs if not written] + [v for written, v in pairs if written]

    def _tensor(self, array: Any) -> Any:
        """Return a tensor with a copy of the elements of an array."""
        name = array.dtype.name
        if array.dtype.kind == "V" or name.startswith(("bfloat", "float8")):
            bits = self.torch.from_numpy(array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8).copy())
            return bits.view(getattr(self.torch, name))
        return self.torch.from_numpy(np.array(array, order="C").reshape(array.shape))
