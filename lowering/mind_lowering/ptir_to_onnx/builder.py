"""Emits ONNX nodes and initializers in the order of the program, under deterministic names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from xdsl.ir import Block

from mind_dialect.errors import brief, error
from mind_dialect.extents import Extent
from mind_dialect.extents.dims import extent_of
from mind_dialect.extents.operations import Algebra, fold
from mind_dialect.ptir.types import BF16, F16, F32, F64, I1, SI8, SI16, SI32, SI64, UI8, UI16, UI32, PtirDType, TensorSpec
from mind_dialect.ptir_shapes import UNKNOWN, Dim

Array = np.ndarray[Any, Any]
MAX_BYTES = (1 << 31) - 1
"""The largest message that protobuf can hold."""
NUMBERS: dict[PtirDType, int] = {
    F32: 1, UI8: 2, SI8: 3, UI16: 4, SI16: 5, SI32: 6, SI64: 7, I1: 9, F16: 10, F64: 11, UI32: 12, BF16: 16,
}  # fmt: skip
"""`TensorProto.DataType` of each dtype that is exported."""
FLOATS = frozenset({F32, F64})
EVERY = frozenset({F32, F64, SI32, SI64, I1})
"""The dtypes that ONNX Runtime has kernels of; the others are stored, moved and cast only, and computed in wider ones."""
STORED = frozenset(NUMBERS)
NUMERIC = EVERY - {I1}
INT64 = NUMBERS[SI64]
ARRAYS: dict[PtirDType, Any] = {F32: np.float32, SI32: np.int32, SI64: np.int64, I1: np.bool_, F64: np.float64}


def reduction_identity(kind: str, dtype: PtirDType) -> Any:
    """Return what a reduction of nothing gives."""
    if kind in ("sum", "prod"):
        return int(kind == "prod")
    bound = np.inf if dtype in FLOATS else np.iinfo(ARRAYS[dtype]).max
    return bound if kind == "min" else -bound if dtype in FLOATS else np.iinfo(ARRAYS[dtype]).min


def package() -> Any:
    """Return the module `onnx`; E7002 where it is not installed."""
    try:
        import_module("onnx.helper")
        return import_module("onnx")
    except ImportError as e:
        message = f"writing ONNX models needs the package onnx: {brief(e)}; install mind-dialect[onnx]"
        raise error("E7002", message, path="onnx") from None


Rule = Callable[["OnnxBuilder", Any, list[str]], str | list[str]]
"""Emits an op, given its operands, and returns its result, or all of several."""


class OnnxBuilder:
    """The nodes and initializers emitted so far; a value is the name of a tensor."""

    def __init__(self, onnx: Any, taken: set[str], inline: Callable[[OnnxBuilder, Block, Sequence[str]], list[str]]):
        self.onnx, self.taken, self._inline = onnx, taken, inline
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.bytes = 0
        self.dims: dict[str, str] = {}
        """The sizes that names of dimensions stand for."""
        self._numbers: dict[tuple[str, bytes, tuple[int, ...]], str] = {}

    def fresh(self, hint: str) -> str:
        """Return a name that no other tensor has."""
        name, n = hint, 0
        while name in self.taken:
            name, n = f"{hint}_{n}", n + 1
        self.taken.add(name)
        return name

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Emit a node with one result."""
        return self.several(operator, 1, *inputs, **attributes)[0]

    def several(self, operator: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        """Emit a node with some results."""
        results = [self.fresh(operator.lower()) for _ in range(count)]
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, results, name=(results or [operator])[0], **attributes))
        return results

    def inline(self, block: Block, values: Sequence[str]) -> list[str]:
        """Emit the ops of a block whose arguments are these values; return what it yields."""
        return self._inline(self, block, values)

    def info(self, name: str, spec: TensorSpec) -> Any:
        """Return the declaration of an input or result of a graph."""
        dims = [None if d == UNKNOWN else d for d in spec.shape]
        return self.onnx.helper.make_tensor_value_info(name, NUMBERS[spec.dtype], dims)

    def subgraph(
        self, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], body: Callable[[list[str]], list[str]]
    ) -> Any:
        """Return a graph for a region; constants stay with the whole model, other values are captured by name."""
        name = self.fresh("graph")
        names = [self.fresh("argument") for _ in inputs]
        outer, self.nodes = self.nodes, []
        found = [self("Identity", value) for value in body(names)]
        nodes, self.nodes = self.nodes, outer
        given = [self.info(n, spec) for n, spec in zip(names, inputs, strict=True)]
        results = [self.info(n, spec) for n, spec in zip(found, outputs, strict=True)]
        return self.onnx.helper.make_graph(nodes, name, given, results)

    def constant(self, array: Array) -> str:
        """Return an initializer that holds an array; equal small arrays share one. E7002 above 2 GB."""
        key = (array.dtype.name, array.tobytes() if array.size <= 64 else b"", array.shape)
        if array.size <= 64 and key in self._numbers:
            return self._numbers[key]
        self.bytes += array.nbytes
        if self.bytes > MAX_BYTES:
            message = f"the constants of the program take more than {MAX_BYTES} bytes, the limit of an ONNX model"
            raise error("E7002", f"{message}; pass large ones as inputs", path="onnx")
        name = self.fresh("constant")
        self.initializers.append(self.onnx.numpy_helper.from_array(array, name))
        if array.size <= 64:
            self._numbers[key] = name
        return name

    def integers(self, values: Any) -> str:
        """Return an initializer of int64, as shapes and axes are."""
        return self.constant(np.array(list(values), np.int64))

    def sizes(self, dims: Sequence[Dim]) -> str:
        """Return dimensions as a vector of int64: an initializer where all have sizes, else computed from the inputs' shapes."""
        if all(isinstance(d, int) for d in dims):
            return self.integers(dims)
        parts = [self.integers([d]) if isinstance(d, int) else self.expression(extent_of(d), self.dims) for d in dims]
        return self("Concat", *parts, axis=0)

    def expression(self, e: Extent, names: Mapping[str, str]) -> str:
        """Emit an expression of names that are vectors of one element; quotients are rounded down."""

        def number(n: int) -> str:
            return self.integers([n])

        def quotient(x: str, n: str) -> str:
            return self("Div", self("Sub", x, self("Mod", x, n)), n)

        add, sub, mul, larger = (partial(self, operator) for operator in ("Add", "Sub", "Mul", "Max"))
        return fold(e, Algebra(number, names.__getitem__, add, sub, mul, quotient, larger))
