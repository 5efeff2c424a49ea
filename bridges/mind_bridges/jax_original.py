"""
An artifact of `jax.export` run by JAX itself, as the reference for the program that is read from it.

    original = JaxOriginal(load("model.jaxexport"))
    original.module()                         the program; results and inputs in the order of the artifact's leaves
    original.results(arrays)                  by JAX
    original.adjoints(arrays, cotangents)     by the derivative that the artifact holds
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import brief, error
from mind_runtime.xla.session import require
from mind_translate.stablehlo import read_stablehlo

NO_DERIVATIVE = "the artifact holds no derivative; write it with exported.serialize(vjp_order=1)"


class JaxOriginal:
    """Runs a `jax.export.Exported`; inputs are the leaves of its arguments that the StableHLO inside takes."""

    def __init__(self, exported: Any):
        self.jax = require()
        self.exported = exported
        self.kept: Sequence[int] = exported.module_kept_var_idx
        """The positions of the leaves that the program reads; JAX drops the others from the StableHLO."""

    @property
    def device(self) -> Any | None:
        """Return the first device here of a platform that the artifact is for, if there is one."""
        for platform in self.exported.platforms:
            try:
                return self.jax.devices(platform)[0]
            except RuntimeError:
                continue
        return None

    @property
    def has_adjoints(self) -> bool:
        """Return whether the artifact was serialized with a derivative."""
        return bool(self.exported.has_vjp())

    def module(self, name: str) -> ModuleOp:
        """Return the program in PTIR, `name` in its errors; E8008 with all that PTIR cannot express."""
        return read_stablehlo(self.exported.mlir_module(), name)

    def results(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the leaves of the result as NumPy arrays. E6008."""

        def call() -> Any:
            arguments, named = self.jax.tree_util.tree_unflatten(self.exported.in_tree, self._leaves(arrays))
            return self.exported.call(*arguments, **named)

        return self._run(call)

    def adjoints(self, arrays: Sequence[Any], cotangents: Mapping[int, Any]) -> list[Any]:
        """Return the adjoint of each floating-point input; `cotangents` are those of results by position. E6008."""
        shapes = [np.shape(result) for result in self.results(arrays)]

        def call() -> Any:
            derivative = self.exported.vjp()
            avals = derivative.in_avals[len(self.exported.in_avals) :]
            given = [
                np.asarray(cotangents[i]).astype(aval.dtype) if i in cotangents else np.zeros(shape, aval.dtype)
                for i, (shape, aval) in enumerate(zip(shapes, avals, strict=True))
            ]
            return derivative.call(*self._leaves(arrays), *given)

        found = self._run(call)
        return [found[i] for i in self.kept if self._is_float(self.exported.in_avals[i].dtype)]

    def _is_float(self, dtype: Any) -> bool:
        return bool(self.jax.numpy.issubdtype(dtype, self.jax.numpy.floating))

    def _leaves(self, arrays: Sequence[Any]) -> list[Any]:
        """Return an array for each leaf of the arguments: zeros for those that the program does not read."""
        given = dict(zip(self.kept, arrays, strict=True))
        return [given[i] if i in given else np.zeros(aval.shape, aval.dtype) for i, aval in enumerate(self.exported.in_avals)]

    def _run(self, call: Callable[[], Any]) -> list[Any]:
        """Return the leaves of what a call into JAX gives, run with 64-bit dtypes."""
        try:
            with self.jax.enable_x64(True), self.jax.default_device(self.device):
                return [np.asarray(leaf) for leaf in self.jax.tree_util.tree_leaves(call())]
        except Exception as e:
            raise error("E6008", f"the original fails in JAX: {brief(e)}", device="jax", status=type(e).__name__) from None
