"""
The emitter of rows: values and known arrays as operands, operands that broadcast, loops; and shapes that fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import extents as engine
from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.extents import Contradiction, Facts, relation_text
from mind_dialect.extents.dims import are_equal, extent_of, is_nonnegative, simplicity, sub_dims
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import SI64, PtirDType, tensor_type
from mind_dialect.ptir_shapes import Dim, Dims

from ..landing import INTEGER_KINDS, Lander
from ..unsupported import Refused
from .extents import Array, Extent, dim_of, is_symbolic, shape_array, sized
from .model import array_dtype, dtype_of_array
from .values import Sequenced, Unusable, Value, Values

HOW_SIZED = "pass dims= with the sizes of dimensions"
"""The remedy for sizes that are not known."""


class SizesMayDiffer(Refused):
    """Shapes that fit if two dimensions with names are equal."""

    def __init__(self, what: str, first: Dim, second: Dim):
        super().__init__(f"{what} that fit only for some sizes", HOW_SIZED)
        self.sizes = first, second


class Emitter(Lander):
    """Emits ops of PTIR on values, known arrays and numbers."""

    def __init__(self):
        super().__init__()
        self.parameters: dict[SSAValue, Array] = {}
        """Initialisers that are arguments of the program."""
        self.facts = Facts()
        """Facts about sizes that hold in every call: the demands."""
        self.demands: dict[str, engine.Extent] = {}
        """Declarations of sizes of the program, in order, and what each says is at least 0."""

    # Values

    def value(self, value: Value) -> SSAValue:
        """A value of the program; an array becomes a constant. Raises `Refused` for what PTIR cannot hold."""
        if isinstance(value, Unusable):
            raise value.refused
        if isinstance(value, Sequenced):
            raise Refused("a sequence as a tensor", "return or read its elements, as by SequenceAt or ConcatFromSequence")
        if not isinstance(value, np.ndarray):
            return value
        return self._emitted_sizes(value) if is_symbolic(value) else self.array_constant(value)

    def array_constant(self, array: Array) -> SSAValue:
        """A constant of the elements of an array, stored once where all are equal. Raises `Refused`, E4005."""
        dtype = dtype_of_array(array.dtype)
        if dtype is None:
            raise Refused(f"the element type {array.dtype.name}")
        flat = np.ascontiguousarray(array).reshape(-1)
        raw = flat.view(np.uint8).reshape(flat.size, -1) if flat.size else np.zeros((0, 1), np.uint8)
        if dtype.bits == 4:
            raw = raw & 15
        same = flat.size > 1 and bool(np.all(raw == raw[0]))
        data = (raw[0] if same else raw).tobytes()
        if same:
            literal = PtirLiteralAttr.filled(dtype, array.shape, dtype.element.unpack(data)[0])
            if dtype.element.pack(list(literal.values())) == data:
                return self.add(ptir.ConstantOp(literal)).results[0]
            data = raw.tobytes()
        return self.add(ptir.ConstantOp(PtirLiteralAttr.from_bytes(dtype, array.shape, data))).results[0]

    def _emitted_sizes(self, array: Array) -> SSAValue:
        """Sizes as numbers of the run."""
        parts = [self.reshape(self.emitted_size(v), (1,)) for v in array.reshape(-1)]
        return self.reshape(self.concat(parts, 0), array.shape)

    def emitted_size(self, value: Any) -> SSAValue:
        """A size as a number of the run, si64 of rank 0; of an expression that may be negative, the sum of its terms."""
        if not isinstance(value, Extent):
            return self.fill(int(value), SI64)
        if is_nonnegative(dim_of(value)):
            return self.size(dim_of(value))
        terms = [
            self.times(self.fill(factor, SI64), self.size(dim_of(sized(engine.Extent({monomial: 1})))))
            for monomial, factor in value.value.sorted_terms
        ]
        return reduce(self.plus, terms)

    def demand(self, a: Dim, b: Dim) -> None:
        """Let calls have only sizes with `a >= b`, and know it from here on. Raises `Refused` where none has them."""
        if is_nonnegative(sub_dims(a, b)):
            return
        rest, alone = engine.without_quotient(extent_of(a) - extent_of(b)), Facts()
        text = relation_text(rest, ">=", engine.ZERO)
        try:
            self.facts.assume_ge(rest, 0, text)
            alone.assume_ge(rest, 0)
        except Contradiction as e:
            raise Refused(f"sizes that contradict what the model needs elsewhere: {e}", HOW_SIZED) from None
        self.demands = {t: d for t, d in self.demands.items() if alone.ge(d, 0) is not True} | {text: rest}

    def known_array(self, value: SSAValue) -> Array | None:
        """The elements of a parameter or of a small constant; None for data."""
        if value in self.parameters:
            return self.parameters[value]
        dtype, shape = self.spec(value)
        if (known := self.known(value)) is None:
            return None
        return np.array(known).astype(array_dtype(dtype)).reshape([n for n in shape if isinstance(n, int)])

    # Arithmetic

    def two(self, op_type: Callable[..., PtirOp], x: SSAValue | float, y: SSAValue | float) -> SSAValue:
        """A binary op on operands that broadcast; a number stands for a tensor of it."""
        if not isinstance(x, SSAValue):
            assert isinstance(y, SSAValue)
            x = self.like(x, y)
        if not isinstance(y, SSAValue):
            y = self.like(y, x)
        shape = common_shape(self.shape(x), self.shape(y))
        return self.emit(op_type, self.broadcast(x, shape), self.broadcast(y, shape))

    def plus(self, x: SSAValue | float, y: SSAValue | float) -> SSAValue:
        """`x + y`."""
        return self.two(ptir.AddOp, x, y)

    def minus(self, x: SSAValue | float, y: SSAValue | float) -> SSAValue:
        """`x - y`."""
        return self.two(ptir.SubOp, x, y)

    def times(self, x: SSAValue | float, y: SSAValue | float) -> SSAValue:
        """`x * y`."""
        return self.two(ptir.MulOp, x, y)

    def over(self, x: SSAValue | float, y: SSAValue | float) -> SSAValue:
        """`x / y`."""
        return self.two(ptir.DivOp, x, y)

    def compared(self, kind: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """`x kind y` on operands that broadcast."""
        shape = common_shape(self.shape(x), self.shape(y))
        return self.compare(kind, self.broadcast(x, shape), self.broadcast(y, shape))

    def chosen(self, pred: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        """`x` where `pred`, else `y`, on operands that broadcast."""
        shape = common_shape(self.shape(pred), self.shape(x), self.shape(y))
        return self.select(*(self.broadcast(v, shape) for v in (pred, x, y)))

    def reduced(self, kind: str, x: SSAValue, axes: Sequence[int], *, keepdims: bool = True) -> SSAValue:
        """A reduction; of no axes none."""
        return self.emit(ptir.ReduceOp, x, kind=kind, axes=tuple(axes), keepdims=keepdims) if axes else x

    def mean(self, x: SSAValue, axes: Sequence[int], *, keepdims: bool = True) -> SSAValue:
        """The mean along axes, also along those without a size."""
        total = self.reduced("sum", x, axes, keepdims=keepdims)
        dims = [self.shape(x)[a] for a in axes]
        if all(isinstance(n, int) for n in dims):
            return self.over(total, self.like(math.prod(n for n in dims if isinstance(n, int)), total))
        return self.over(total, self.cast(self.value(_product(dims)), self.dtype(x)))

    def counted(self, n: Dim, dtype: PtirDType = SI64) -> SSAValue:
        """0 to n - 1."""
        return self.emit(ptir.IotaOp, shape=(n,), dtype=dtype, axis=0)

    def along(self, v: SSAValue, axis: int, rank: int) -> SSAValue:
        """A vector as a tensor of `rank` dimensions, along `axis`."""
        return self.reshape(v, (*(1,) * axis, *self.shape(v), *(1,) * (rank - axis - 1)))

    def scan(
        self, carries: Values, xs: Values, count: int, body: Callable[[Values, Values], tuple[Values, Values]]
    ) -> tuple[Values, Values]:
        """A loop over axis 0 of `xs`; `body` gives the next carries and `count` rows. Its results are both, the rows stacked."""
        n = len(carries)

        def region(values: Values) -> Values:
            after, rows = body(values[:n], [self.reshape(v, self.shape(v)) for v in values[n:]])
            return [*after, *rows]

        types = [v.type for v in carries] + [self._row_type(v) for v in xs]
        made = self.add(
            ptir.ScanOp(*carries, *xs, carry_count=n, scan_output_count=count, body=self.region(types, region))
        ).results
        return made[:n], made[n:]

    def _row_type(self, x: SSAValue) -> Any:
        dtype, shape = self.spec(x)
        return tensor_type(dtype, shape[1:])


def common_shape(*shapes: Dims) -> Dims:
    """
    The shape that all broadcast to; E3001 where there is none.

    >>> common_shape((2, 1), ("N", 1, 3))
    ('N', 2, 3)
    """
    found: list[Dim] = []
    for place in range(-max(map(len, shapes)), 0):
        sizes = _distinct(shape[place] for shape in shapes if len(shape) >= -place and shape[place] != 1)
        if len(sizes) > 1 and any(isinstance(n, str) for n in sizes):
            raise SizesMayDiffer(f"shapes {_listed(shapes)}", *sizes[:2])
        if len(sizes) > 1:
            message = (
                f"cannot broadcast {_listed(shapes)}: {' and '.join(map(str, sorted(map(str, sizes))))} at dimension {place}"
            )
            raise error("E3001", message, shapes=shapes, dimension=place, extents=tuple(sizes))
        found.append(next(iter(sizes), 1))
    return tuple(found)


def _distinct(sizes: Iterable[Dim]) -> list[Dim]:
    """Sizes without those that are known to be equal to a simpler one."""
    found: list[Dim] = []
    for n in sorted(dict.fromkeys(sizes), key=simplicity):
        if not any(are_equal(n, other) for other in found):
            found.append(n)
    return found


def _listed(shapes: Sequence[Dims]) -> str:
    return " with ".join(f"[{', '.join(map(str, shape))}]" for shape in shapes)


MOST_CONSTANTS = 1 << 26
"""The most positions or weights that a row computes at import: more would not fit into memory."""


def check_constants(count: int, what: str) -> None:
    """Raise `Refused` where an op would need very many constants."""
    if count > MOST_CONSTANTS:
        raise Refused(f"{what} with {count} constants", f"at most {MOST_CONSTANTS} are computed; make the result smaller")


def static(shape: Dims, what: str = "an op") -> tuple[int, ...]:
    """A shape whose dimensions all have sizes. Raises `Refused`."""
    sizes = tuple(n for n in shape if isinstance(n, int))
    if len(sizes) != len(shape):
        raise Refused(f"{what} along a dimension without a size", HOW_SIZED)
    return sizes


def _product(dims: Sequence[Dim]) -> Array:
    sizes = shape_array(dims)
    if sizes is None:
        raise Refused("a mean along a dimension without a size", HOW_SIZED)
    found = np.empty((), object)
    found[()] = math.prod(sizes.tolist())
    return found


def dims_of(sizes: Sequence[Any]) -> list[Dim]:
    """Sizes as dimensions."""
    return [dim_of(v) for v in sizes]


def is_integer(dtype: PtirDType) -> bool:
    """Return whether a dtype is one of integers."""
    return dtype.kind in INTEGER_KINDS
