"""Emits StableHLO ops one after the other, and the small forms that many rules need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeGuard, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect.extents import Extent, Facts, extent, floordiv, max_of, symbol
from mind_dialect.extents.dims import add_dims, ceildiv_dims, extent_of, max_dims, mul_dims, sub_dims
from mind_dialect.extents.operations import Algebra, fold
from mind_dialect.literals import HEX_ABOVE
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import F32, I1, SI32, SI64, UI8, Kind, PtirDType, TensorSpec
from mind_dialect.ptir_shapes import Dim
from mind_dialect.stablehlo import OP_TYPES
from mind_dialect.stablehlo.literal import DenseAttr
from mind_dialect.stablehlo.types import spec_of, stablehlo_type

from .attributes import attribute, integer, integers

Shape = tuple[int, ...]
Values = list[SSAValue]
Body = Callable[[Sequence[SSAValue]], Sequence[SSAValue]]
INTEGERS = (Kind.SIGNED, Kind.UNSIGNED)
PRECISIONS = ("DEFAULT", "HIGH", "HIGHEST")


@dataclass(frozen=True)
class ExportOptions:
    """
    `precision` is that of products of f32; `checks` adds a result that says which op an input made wrong.

    `dynamic` allows dimensions with names; with `bounds`, types of arguments state their upper bounds that are declared.
    """

    precision: str = "HIGHEST"
    checks: bool = False
    dynamic: bool = False
    bounds: bool = False


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
        self.facts = Facts()
        """The facts about the sizes of dimensions."""
        self.sizes: dict[Extent, SSAValue] = {}
        """The sizes that are computed in the blocks around, those of names among them: si64 of rank 0."""

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
        block, outer, sizes = Block(arg_types=types), self.ops, self.sizes
        self.ops, self.sizes = [], dict(sizes)
        try:
            self.add("return", body(block.args), [])
            block.add_ops(self.ops)
        finally:
            self.ops, self.sizes = outer, sizes
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

    # Sizes

    def value(self, e: Extent) -> SSAValue:
        """The size that an expression is, si64: arithmetic on the sizes of names."""
        if (found := self.sizes.get(e)) is not None:
            return found

        def number(n: int) -> _Size:
            return extent(n), self.scalar(n, SI64)

        def name(text: str) -> _Size:
            return symbol(text), self.sizes[symbol(text)]

        def both(of: Callable[[Extent, Extent], Extent], name: str) -> Callable[[_Size, _Size], _Size]:
            return lambda a, b: (of(a[0], b[0]), self(name, a[1], b[1]))

        add, sub, mul = both(Extent.__add__, "add"), both(Extent.__sub__, "subtract"), both(Extent.__mul__, "multiply")
        algebra = Algebra(number, name, add, sub, mul, self._floordiv, both(max_of, "maximum"))
        self.sizes[e] = fold(e, algebra)[1]
        return self.sizes[e]

    def _floordiv(self, a: _Size, b: _Size) -> _Size:
        """
        A quotient rounded down, by a positive number, where StableHLO rounds towards 0.

        A dividend with a least value is divided as one that is not negative, so that readers may take it for a size.
        """
        (e, x), divisor = a, b[0].constant
        least = self.facts.bounds(e)[0]
        if least == -math.inf:
            whole, rest = self("divide", x, b[1]), self("remainder", x, b[1])
            below = self("subtract", whole, self.scalar(1, SI64))
            return floordiv(e, b[0]), self.select(self.compare("LT", rest, self.scalar(0, SI64)), below, whole)
        if not (more := max(0, -(int(least) // divisor))):
            return floordiv(e, b[0]), self("divide", x, b[1])
        whole = self("divide", self("add", x, self.scalar(more * divisor, SI64)), b[1])
        return floordiv(e, b[0]), self("subtract", whole, self.scalar(more, SI64))

    def extent(self, dim: Dim, dtype: PtirDType) -> SSAValue:
        """The size of a dimension, a scalar of `dtype`."""
        return self.scalar(dim, dtype) if isinstance(dim, int) else self.convert(self.value(extent_of(dim)), dtype)

    def has_elements(self, dim: Dim) -> bool:
        """Return whether a dimension is known not to be empty."""
        return dim >= 1 if isinstance(dim, int) else self.facts.bounds(extent_of(dim))[0] >= 1

    def vector(self, dims: Sequence[Dim]) -> SSAValue:
        """Sizes of dimensions as an operand of an op, a vector of si64."""
        if is_static(dims):
            return self.words(SI64, dims)
        parts = [self.words(SI64, [n]) if isinstance(n, int) else self.reshape(self.value(extent_of(n)), (1,)) for n in dims]
        return self.concat(parts, 0)

    # Structure

    def reshape(self, x: SSAValue, shape: Sequence[Dim]) -> SSAValue:
        """The same elements under another shape."""
        dtype, old = spec_of(x.type)
        if old == tuple(shape):
            return x
        if is_static(shape):
            return self.typed("reshape", (dtype, shape), x)
        return self.typed("dynamic_reshape", (dtype, shape), x, self.vector(shape))

    def broadcast(self, x: SSAValue, shape: Sequence[Dim], axes: Sequence[int]) -> SSAValue:
        """`x` repeated to `shape`, its axes at `axes`."""
        dtype, old = spec_of(x.type)
        if old == tuple(shape):
            return x
        lists = {"broadcast_dimensions": integers(axes)}
        if is_static(shape):
            return self.typed("broadcast_in_dim", (dtype, shape), x, **lists)
        return self.typed("dynamic_broadcast_in_dim", (dtype, shape), x, self.vector(shape), **lists)

    def slice(self, x: SSAValue, starts: Sequence[Dim], limits: Sequence[Dim], strides: Sequence[int] | None = None) -> SSAValue:
        """The elements from `starts` up to `limits`, every `strides`-th."""
        dtype, old = spec_of(x.type)
        steps = [1] * len(old) if strides is None else list(strides)
        shape = [_span(a, b, step) for a, b, step in zip(starts, limits, steps, strict=True)]
        if not any(starts) and tuple(limits) == old and set(steps) <= {1}:
            return x
        if not is_static((*starts, *limits)):
            bounds = (self.vector(starts), self.vector(limits), self.words(SI64, steps))
            return self.typed("real_dynamic_slice", (dtype, shape), x, *bounds)
        lists = {"start_indices": _integers(starts), "limit_indices": _integers(limits), "strides": integers(steps)}
        return self.typed("slice", (dtype, shape), x, **lists)

    def concat(self, xs: Sequence[SSAValue], axis: int) -> SSAValue:
        """One after the other along `axis`."""
        if len(xs) == 1:
            return xs[0]
        shape = list(spec_of(xs[0].type).shape)
        shape[axis] = reduce(add_dims, [spec_of(x.type).shape[axis] for x in xs])
        return self.typed("concatenate", (dtype_of(xs[0]), shape), *xs, dimension=integer(axis))

    def pad(self, x: SSAValue, value: SSAValue, low: Sequence[Dim], high: Sequence[Dim], interior: Sequence[int]) -> SSAValue:
        """Numbers before, after and between the elements."""
        if not any((*low, *high, *interior)):
            return x
        dtype, old = spec_of(x.type)
        shape = [_padded(a, n, hole, z) for a, n, hole, z in zip(low, old, interior, high, strict=True)]
        if not is_static((*low, *high)):
            edges = (self.vector(low), self.vector(high), self.words(SI64, interior))
            return self.typed("dynamic_pad", (dtype, shape), x, value, *edges)
        lists = {"edge_padding_low": _integers(low), "edge_padding_high": _integers(high), "interior_padding": integers(interior)}
        return self.typed("pad", (dtype, shape), x, value, **lists)

    def iota(self, dtype: PtirDType, shape: Sequence[Dim], axis: int) -> SSAValue:
        """0, 1, 2 and on along `axis`."""
        if is_static(shape):
            return self.typed("iota", (dtype, shape), iota_dimension=integer(axis))
        return self.typed("dynamic_iota", (dtype, shape), self.vector(shape), iota_dimension=integer(axis))

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
    """The extents of a value that is static, or whose extents are only passed on."""
    return static(spec_of(value.type))


def size_of(value: SSAValue) -> int:
    """Return the number of elements of a value."""
    return math.prod(shape_of(value))


def static(spec: TensorSpec) -> Shape:
    """The extents of a spec, where a legal program has static ones, or where they are only passed on."""
    return cast(Shape, spec.shape)


def is_static(dims: Sequence[Dim]) -> TypeGuard[Sequence[int]]:
    """Return whether all dimensions have sizes."""
    return all(isinstance(n, int) for n in dims)


_Size = tuple[Extent, SSAValue]
"""A size that is computed, and its expression."""


def _span(start: Dim, limit: Dim, step: int) -> Dim:
    """The number of elements from `start` up to `limit`, every `step`-th."""
    return max_dims(ceildiv_dims(sub_dims(limit, start), step), 0)


def _padded(low: Dim, n: Dim, hole: int, high: Dim) -> Dim:
    return reduce(add_dims, [low, n, mul_dims(max_dims(sub_dims(n, 1), 0), hole), high])


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


def _integers(values: Sequence[Dim]) -> DenseArrayBase:
    return integers([n for n in values if isinstance(n, int)])


def precision(options: ExportOptions, dtype: PtirDType) -> dict[str, Attribute]:
    """The precision of both operands of a product of f32, which some devices compute with fewer bits by default."""
    if dtype is not F32 or options.precision == "DEFAULT":
        return {}
    return {"precision_config": ArrayAttr([attribute("precision", options.precision)] * 2)}
