"""Emits StableHLO ops one after the other, and the small forms that many rules need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DenseIntElementsAttr, IntegerAttr, TensorType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect.literals import HEX_ABOVE
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import F32, I1, SI32, UI8, Kind, PtirDType, TensorSpec
from mind_dialect.stablehlo import ATTRIBUTE_TYPES, OP_TYPES
from mind_dialect.stablehlo.literal import DenseAttr
from mind_dialect.stablehlo.types import spec_of, stablehlo_type

Shape = tuple[int, ...]
Values = list[SSAValue]
Body = Callable[[Sequence[SSAValue]], Sequence[SSAValue]]
INTEGERS = (Kind.SIGNED, Kind.UNSIGNED)
PRECISIONS = ("DEFAULT", "HIGH", "HIGHEST")


@dataclass(frozen=True)
class ExportOptions:
    """`precision` is that of products of f32; `checks` adds a result that says which op an input made wrong."""

    precision: str = "HIGHEST"
    checks: bool = False


class StablehloBuilder:
    """The ops emitted so far into the current block, each with the location of the op that it comes from."""

    def __init__(self, origin: Operation, options: ExportOptions):
        self.origin, self.options = origin, options
        self.ops: list[Operation] = []
        self.seed: SSAValue | None = None
        """The run's seed: two words of ui32, the low one first."""
        self.iterations: list[SSAValue] = []
        """The numbers of the iterations of the loops around, si32 or ui32, the outermost first."""
        self.fault: SSAValue | None = None
        """0, or 1 more than the number of the first op of `sites` that was wrong; None without checks."""
        self.sites: list[Operation] = []
        self.draws: dict[Operation, int] = {}
        """The ordinal of each random op."""

    # Emission

    def add(
        self,
        name: str,
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        properties: dict[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ) -> Values:
        """Append an op of StableHLO, or of the dialect that `name` begins with, and return its results."""
        op_type = OP_TYPES[name if "." in name else f"stablehlo.{name}"]
        op = op_type.create(operands=operands, result_types=types, properties=properties or {}, regions=regions)
        op.location = self.origin.location
        self.ops.append(op)
        return list(op.results)

    def __call__(self, name: str, *operands: SSAValue, like: SSAValue | None = None, **properties: Attribute) -> SSAValue:
        """Append an op whose only result has the type of `like`, by default of the first operand."""
        return self.add(name, operands, [(operands[0] if like is None else like).type], properties)[0]

    def typed(self, name: str, spec: tuple[PtirDType, Sequence[Any]], *operands: SSAValue, **properties: Attribute) -> SSAValue:
        """Append an op whose only result has the given dtype and shape."""
        return self.add(name, operands, [stablehlo_type(spec[0], spec[1])], properties)[0]

    def region(self, types: Sequence[Attribute], body: Body) -> Region:
        """A region of one block whose arguments have `types` and which returns what `body` emits."""
        block, outer = Block(arg_types=types), self.ops
        self.ops = []
        try:
            self.add("return", body(block.args), [])
            block.add_ops(self.ops)
        finally:
            self.ops = outer
        return Region(block)

    # Constants

    def literal(self, literal: PtirLiteralAttr) -> SSAValue:
        """A constant tensor; many truths are stored as bytes, whose text every reader takes in its short form."""
        dtype, shape = literal.spec
        if dtype is I1 and not literal.is_fill and math.prod(shape) > HEX_ABOVE:
            stored = self.literal(PtirLiteralAttr.from_bytes(UI8, shape, literal.data.data))
            return self.compare("NE", stored, self.like(0, stored))
        made = DenseAttr.of(literal)
        return self.add("constant", [], [made.type], {"value": made})[0]

    def scalar(self, value: object, dtype: PtirDType) -> SSAValue:
        """A number."""
        return self.literal(PtirLiteralAttr.filled(dtype, (), value))

    def fill(self, value: object, spec: tuple[PtirDType, Sequence[Any]]) -> SSAValue:
        """A tensor with the same number everywhere."""
        return self.broadcast(self.scalar(value, spec[0]), tuple(spec[1]), [])

    def like(self, value: object, x: SSAValue) -> SSAValue:
        """The same number everywhere, of the type of `x`."""
        return self.fill(value, spec_of(x.type))

    def words(self, dtype: PtirDType, values: Sequence[int]) -> SSAValue:
        """A vector of integers."""
        return self.literal(PtirLiteralAttr.from_values(dtype, (len(values),), list(values)))

    # Structure

    def reshape(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The same elements under another shape."""
        dtype, old = spec_of(x.type)
        return x if old == tuple(shape) else self.typed("reshape", (dtype, shape), x)

    def broadcast(self, x: SSAValue, shape: Sequence[int], axes: Sequence[int]) -> SSAValue:
        """`x` repeated to `shape`, its axes at `axes`."""
        dtype, old = spec_of(x.type)
        if old == tuple(shape):
            return x
        return self.typed("broadcast_in_dim", (dtype, shape), x, broadcast_dimensions=integers(axes))

    def slice(self, x: SSAValue, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None = None) -> SSAValue:
        """The elements from `starts` up to `limits`, every `strides`-th."""
        dtype, old = dtype_of(x), shape_of(x)
        steps = [1] * len(old) if strides is None else list(strides)
        shape = [max(0, -(-(b - a) // step)) for a, b, step in zip(starts, limits, steps, strict=True)]
        if not any(starts) and tuple(limits) == old and set(steps) <= {1}:
            return x
        lists = {"start_indices": integers(starts), "limit_indices": integers(limits), "strides": integers(steps)}
        return self.typed("slice", (dtype, shape), x, **lists)

    def concat(self, xs: Sequence[SSAValue], axis: int) -> SSAValue:
        """One after the other along `axis`."""
        if len(xs) == 1:
            return xs[0]
        shape = list(shape_of(xs[0]))
        shape[axis] = sum(shape_of(x)[axis] for x in xs)
        return self.typed("concatenate", (dtype_of(xs[0]), shape), *xs, dimension=integer(axis))

    def pad(self, x: SSAValue, value: SSAValue, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> SSAValue:
        """Numbers before, after and between the elements."""
        if not any((*low, *high, *interior)):
            return x
        old = shape_of(x)
        shape = [a + n + max(n - 1, 0) * hole + z for a, n, hole, z in zip(low, old, interior, high, strict=True)]
        lists = {"edge_padding_low": integers(low), "edge_padding_high": integers(high), "interior_padding": integers(interior)}
        return self.typed("pad", (dtype_of(x), shape), x, value, **lists)

    def iota(self, dtype: PtirDType, shape: Sequence[int], axis: int) -> SSAValue:
        """0, 1, 2 and on along `axis`."""
        return self.typed("iota", (dtype, shape), iota_dimension=integer(axis))

    # Arithmetic

    def convert(self, x: SSAValue, dtype: PtirDType) -> SSAValue:
        """`x` in another dtype as StableHLO converts: integers wrap."""
        return x if dtype_of(x) is dtype else self.typed("convert", (dtype, shape_of(x)), x)

    def compare(self, direction: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`lhs` LT, LE, EQ, GE, GT or NE `rhs`."""
        word = attribute("comparison_direction", direction)
        return self.typed("compare", (I1, shape_of(lhs)), lhs, rhs, comparison_direction=word)

    def select(self, pred: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        """`on_true` where `pred`; a rank-0 `pred` chooses between the whole."""
        return self("select", pred, on_true, on_false, like=on_true)

    def reduce(self, kind: str, x: SSAValue, axes: Sequence[int]) -> SSAValue:
        """The reduction of `x` over `axes`, which goes away, in its own dtype."""
        dtype, shape = dtype_of(x), shape_of(x)
        if not axes:
            return x
        type = stablehlo_type(dtype, [n for i, n in enumerate(shape) if i not in axes])
        operands = [x, self.scalar(identity(kind, dtype), dtype)]
        return self.add("reduce", operands, [type], {"dimensions": integers(axes)}, [self.combining(kind, dtype)])[0]

    def combining(self, kind: str, dtype: PtirDType) -> Region:
        """The body of a reduction: one op on two scalars."""
        scalar = stablehlo_type(dtype, ())
        return self.region([scalar, scalar], lambda v: [self.combined(kind, v[0], v[1])])

    def combined(self, kind: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a` and `b` reduced."""
        return b if kind == "replace" else self(COMBINING[kind], a, b)

    # Checks

    def check(self, bad: SSAValue) -> None:
        """Remember the current op as the first that was wrong, if any element of `bad` holds."""
        assert self.fault is not None
        self.sites.append(self.origin)
        axes = range(len(shape_of(bad)))
        found = self.reduce("or", bad, list(axes))
        number = self.select(found, self.scalar(len(self.sites), SI32), self.scalar(0, SI32))
        is_first = self.compare("EQ", self.fault, self.scalar(0, SI32))
        self.fault = self.select(is_first, number, self.fault)


COMBINING = {
    **{"sum": "add", "add": "add", "prod": "multiply", "mul": "multiply", "max": "maximum", "min": "minimum"},
    **{"and": "and", "or": "or", "xor": "xor"},
}
"""The op that combines two elements, by the kind of a reduction."""


def dtype_of(value: SSAValue) -> PtirDType:
    """The dtype of a value."""
    return spec_of(value.type).dtype


def shape_of(value: SSAValue) -> Shape:
    """The extents of a value."""
    return cast("TensorType[Any]", value.type).get_shape()


def size_of(value: SSAValue) -> int:
    """Return the number of elements of a value."""
    return math.prod(shape_of(value))


def static(spec: TensorSpec) -> Shape:
    """The extents of a spec, which are static in a legal program."""
    return cast(Shape, spec.shape)


def accumulator(dtype: PtirDType, given: PtirDType | None) -> PtirDType:
    """Return the dtype that an op accumulates in: what is stated, else f32 for narrower floats, else the dtype itself."""
    return given or (F32 if dtype.is_float and dtype.bits < 32 else dtype)


def identity(kind: str, dtype: PtirDType) -> Any:
    """
    The number that a reduction of no elements gives.

    >>> from mind_dialect.ptir.types import F8E4M3, F32, SI8, UI4
    >>> identity("max", SI8), identity("min", UI4), identity("max", F32), identity("min", F8E4M3), identity("min", I1)
    (-128, 15, -inf, 448.0, True)
    """
    if kind in ("sum", "add", "xor", "or", "replace"):
        return False if dtype is I1 else 0
    if kind in ("prod", "mul"):
        return 1
    if dtype is I1:
        return kind in ("min", "and")
    if dtype.kind in INTEGERS:
        if kind == "and":
            return -1 if dtype.kind is Kind.SIGNED else bounds(dtype)[1]
        return bounds(dtype)[kind == "min"]
    limit = 448.0 if dtype.name == "fp8_e4m3" else math.inf
    return limit if kind == "min" else -limit


def bounds(dtype: PtirDType) -> tuple[int, int]:
    """
    The least and greatest integer of a dtype.

    >>> from mind_dialect.ptir.types import SI8, UI4
    >>> bounds(SI8), bounds(UI4)
    ((-128, 127), (0, 15))
    """
    element: Any = dtype.element
    return element.least, element.most


# Attributes


def integers(values: Sequence[int]) -> DenseArrayBase:
    """`array<i64: ...>`."""
    return DenseArrayBase.from_list(i64, list(values))


def integer(value: int) -> IntegerAttr:
    """An i64."""
    return IntegerAttr(value, i64)


def flag(value: bool) -> IntegerAttr:
    """`true` or `false`."""
    return IntegerAttr(int(value), i1)


def attribute(name: str, text: str) -> Attribute:
    """An attribute of StableHLO by the text between its brackets."""
    return ATTRIBUTE_TYPES[f"stablehlo.{name}"](text)


def pairs(values: Sequence[tuple[int, int]]) -> Attribute:
    """Padding: `dense<[[1, 1]]> : tensor<1x2xi64>`."""
    flat = [n for pair in values for n in pair]
    return DenseIntElementsAttr.from_list(TensorType(i64, [len(values), 2]), flat)


def numbers(**lists: Sequence[int] | int) -> str:
    """
    The text of dimension numbers; empty lists are left out.

    >>> numbers(offset_dims=[1, 2], collapsed_slice_dims=[], index_vector_dim=1)
    'offset_dims = [1, 2], index_vector_dim = 1'
    """
    return ", ".join(
        f"{name} = {v}" if isinstance(v, int) else f"{name} = {list(v)}"
        for name, v in lists.items()
        if isinstance(v, int) or len(v)
    )


def precision(options: ExportOptions, dtype: PtirDType) -> dict[str, Attribute]:
    """The precision of both operands of a product of f32, which some devices compute with fewer bits by default."""
    if dtype is not F32 or options.precision == "DEFAULT":
        return {}
    return {"precision_config": ArrayAttr([attribute("precision", options.precision)] * 2)}
