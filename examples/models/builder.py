"""
A function of PTIR under construction, and tensors in it that read like arrays.

    build = Builder("layer")
    x, w, b = build.input("x", "f32", (2, 3)), build.parameter("w", "f32", (3, 4)), build.parameter("b", "f32", (4,))
    module = build.finish((x @ w + b).maximum(0.0))

Ops are written as the public producer of PTIR writes them, so that what recognises its programs recognises these: a scalar
operand is a literal broadcast to the other's shape, every broadcast is an op, axes of reductions stay with size 1. Mistakes are
the coded errors of the dialect, raised where they are made. Weights are inputs, never literals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.program import NAME_ATTRIBUTE
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import PtirDType, TensorSpec, dtype_named, read_type, tensor_type
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE

PARAMETER_ATTRIBUTE = "ptir.parameter"
"""Marks an input that is the same in every call: a weight."""
Shape = tuple[int, ...]


def joint_shape(a: Shape, b: Shape) -> Shape:
    """The least shape that both broadcast to; where there is none, one that the dialect will refuse."""
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    return tuple(n if m == 1 else m for m, n in pairs)


class Builder:
    """One function: its inputs in the order of their making, its ops in the order of theirs."""

    def __init__(self, name: str):
        self._name = name
        self._block = Block()
        self._attributes: dict[str, dict[str, Attribute]] = {}

    def input(self, name: str, dtype: str, shape: Sequence[int], **attributes: Attribute) -> Tensor:
        """A new input; E4004 for a name that is taken."""
        if name in self._attributes:
            message = f"input {len(self._attributes)} of @{self._name}: name {name!r} is given twice"
            raise error("E4004", message, index=len(self._attributes), issue="name given twice")
        self._attributes[name] = {NAME_ATTRIBUTE: StringAttr(name), **attributes}
        return Tensor(self, self._block.insert_arg(tensor_type(dtype_named(dtype), tuple(shape)), len(self._block.args)))

    def parameter(self, name: str, dtype: str, shape: Sequence[int]) -> Tensor:
        """A new input that holds weights."""
        return self.input(name, dtype, shape, **{PARAMETER_ATTRIBUTE: UnitAttr()})

    def emit(self, op: type[PtirOp], *operands: Tensor, **properties: Any) -> Tensor:
        """Append an op with one result, whose type the op infers."""
        made = op(*(t.value for t in operands), **properties)
        self._block.add_op(made)
        return Tensor(self, made.results[0])

    def literal(self, dtype: PtirDType, values: float | Sequence[int]) -> Tensor:
        """A literal: a number is a scalar, a list a vector."""
        shape = (len(values),) if isinstance(values, Sequence) else ()
        elements = list(values) if isinstance(values, Sequence) else [values]
        return self.emit(ptir.ConstantOp, value=PtirLiteralAttr.from_values(dtype, shape, elements))

    def scalar(self, dtype: PtirDType, value: float, shape: Sequence[int]) -> Tensor:
        """A scalar that became a tensor of its own before it met `shape`: two broadcasts, as the public producer writes."""
        return self.literal(dtype, value).broadcast_to(()).broadcast_to(shape)

    def iota(self, dtype: str, shape: Sequence[int], axis: int) -> Tensor:
        """0, 1, 2 and on along `axis`."""
        return self.emit(ptir.IotaOp, shape=tuple(shape), dtype=dtype, axis=axis)

    def call(self, callee: FuncOp, *arguments: Tensor) -> list[Tensor]:
        """The results of another function, which the module is still to get."""
        made = CallOp(callee.sym_name.data, [t.value for t in arguments], callee.function_type.outputs.data)
        self._block.add_op(made)
        return [Tensor(self, x) for x in made.results]

    def finish(self, *outputs: Tensor) -> ModuleOp:
        """The module of this one function, which returns `outputs`."""
        values = [t.value for t in outputs]
        self._block.add_op(ReturnOp(*values))
        attributes = ArrayAttr([DictionaryAttr(a) for a in self._attributes.values()])
        types = ([a.type for a in self._block.args], [v.type for v in values])
        func = FuncOp(self._name, types, Region(self._block), arg_attrs=attributes)
        return ModuleOp([func], {VERSION_ATTRIBUTE: StringAttr(SPEC_VERSION)})


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value of the function that `build` makes. Operators take tensors, broadcasting one to the other, and numbers."""

    build: Builder
    value: SSAValue

    @property
    def spec(self) -> TensorSpec:
        """The dtype and dimensions."""
        return read_type(self.value.type)

    @property
    def dtype(self) -> PtirDType:
        """The dtype."""
        return self.spec.dtype

    @property
    def shape(self) -> Shape:
        """The extents; what this builder makes has no dynamic ones."""
        return tuple(d for d in self.spec.shape if isinstance(d, int))

    def _unary(self, op: type[PtirOp], **properties: Any) -> Tensor:
        return self.build.emit(op, self, **properties)

    def _binary(self, op: type[PtirOp], other: Tensor | float, **properties: Any) -> Tensor:
        if not isinstance(other, Tensor):
            other = self.build.literal(self.dtype, other).broadcast_to(self.shape)
        shape = joint_shape(self.shape, other.shape)
        return self.build.emit(op, self.stretched_to(shape), other.stretched_to(shape), **properties)

    def stretched_to(self, shape: Shape) -> Tensor:
        """This tensor broadcast to `shape`, or as it is if it has that shape."""
        return self if self.shape == shape else self.broadcast_to(shape)

    def __add__(self, other: Tensor | float) -> Tensor:
        return self._binary(ptir.AddOp, other)

    def __sub__(self, other: Tensor | float) -> Tensor:
        return self._binary(ptir.SubOp, other)

    def __mul__(self, other: Tensor | float) -> Tensor:
        return self._binary(ptir.MulOp, other)

    def __truediv__(self, other: Tensor | float) -> Tensor:
        return self._binary(ptir.DivOp, other)

    def __neg__(self) -> Tensor:
        return self._unary(ptir.NegOp)

    def __matmul__(self, other: Tensor) -> Tensor:
        """The last axis against the first of a matrix, or the products of stacks of matrices of equal leading axes."""
        if len(other.shape) == 2:
            return self.dot(other, contract=((len(self.shape) - 1,), (0,)))
        batch = tuple(range(len(other.shape) - 2))
        return self.dot(other, contract=((len(self.shape) - 1,), (len(other.shape) - 2,)), batch=(batch, batch))

    def __ge__(self, other: Tensor) -> Tensor:
        return self._binary(ptir.CompareOp, other, kind="greater_equal")

    def maximum(self, other: Tensor | float) -> Tensor:
        """The greater of each two."""
        return self._binary(ptir.MaximumOp, other)

    def minimum(self, other: Tensor | float) -> Tensor:
        """The less of each two."""
        return self._binary(ptir.MinimumOp, other)

    def exp(self) -> Tensor:
        """`e ** self`."""
        return self._unary(ptir.ExpOp)

    def expm1(self) -> Tensor:
        """`e ** self - 1`, exact near 0."""
        return self._unary(ptir.Expm1Op)

    def log(self) -> Tensor:
        """The natural logarithm."""
        return self._unary(ptir.LogOp)

    def sqrt(self) -> Tensor:
        """The square root."""
        return self._unary(ptir.SqrtOp)

    def erf(self) -> Tensor:
        """The error function."""
        return self._unary(ptir.ErfOp)

    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""
        return self._unary(ptir.TanhOp)

    def rsqrt(self) -> Tensor:
        """`1 / sqrt(self)`."""
        return self._unary(ptir.RsqrtOp)

    def stop_gradient(self) -> Tensor:
        """The same values, which derivatives take for constants."""
        return self._unary(ptir.StopGradientOp)

    def cast(self, dtype: str) -> Tensor:
        """In another dtype."""
        return self._unary(ptir.CastOp, dtype=dtype)

    def reduce(self, kind: str, axes: Sequence[int], *, keepdims: bool = True, accumulate: str | None = None) -> Tensor:
        """The sum, max or min over `axes`; `accumulate` is the dtype of accumulator and result."""
        dtypes = {"accum_dtype": accumulate, "out_dtype": accumulate}
        return self._unary(ptir.ReduceOp, kind=kind, axes=tuple(axes), keepdims=keepdims, **dtypes)

    def dot(
        self,
        other: Tensor,
        *,
        contract: tuple[Sequence[int], Sequence[int]],
        batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
        accumulate: str | None = None,
    ) -> Tensor:
        """The contraction of axes of this tensor with axes of `other`; `accumulate` as for `reduce`."""
        properties = {"contract_lhs": contract[0], "contract_rhs": contract[1], "batch_lhs": batch[0], "batch_rhs": batch[1]}
        dtypes = {"accum_dtype": accumulate, "out_dtype": accumulate}
        return self.build.emit(ptir.DotGeneralOp, self, other, **{n: tuple(v) for n, v in properties.items()}, **dtypes)

    def reshape(self, *shape: int) -> Tensor:
        """The same elements under another shape."""
        return self._unary(ptir.ReshapeOp, new_shape=shape)

    def transpose(self, *permutation: int) -> Tensor:
        """Axes in another order."""
        return self._unary(ptir.TransposeOp, perm=permutation)

    def broadcast_to(self, shape: Sequence[int]) -> Tensor:
        """Repeated up to `shape`."""
        return self._unary(ptir.BroadcastToOp, result_shape=tuple(shape))

    def slice(self, starts: Sequence[int], sizes: Sequence[int]) -> Tensor:
        """A window."""
        return self._unary(ptir.SliceOp, starts=tuple(starts), sizes=tuple(sizes))

    def take(self, indices: Tensor) -> Tensor:
        """Rows by index."""
        return self.build.emit(ptir.TakeOp, self, indices)

    def gather(self, indices: Tensor, axis: int) -> Tensor:
        """At each place of `indices` the element at that place, but for its position along `axis`, which is the index."""
        return self.build.emit(ptir.GatherOp, self, indices, axis=axis)

    def select(self, on_true: Tensor, on_false: Tensor) -> Tensor:
        """One where this i1 tensor holds, the other elsewhere."""
        return self.build.emit(ptir.SelectOp, self, on_true, on_false)

    def dynamic_slice(self, start: Tensor, sizes: Sequence[int]) -> Tensor:
        """A window from where `start` says."""
        return self.build.emit(ptir.DynamicSliceOp, self, start, sizes=tuple(sizes))

    def updated(self, update: Tensor, start: Tensor) -> Tensor:
        """This tensor with the window from `start` overwritten."""
        return self.build.emit(ptir.DynamicUpdateSliceOp, self, update, start, sizes=update.shape)
