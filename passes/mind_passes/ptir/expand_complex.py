"""
Complex numbers as their parts, for targets whose kernels compute real ones.

    %z = ptir.mul %x, %y          =>  %a, %b = the parts of %x;  %c, %d = those of %y
                                      %z = ptir.complex (%a %c - %b %d), (%a %d + %b %c)

Each op reads the parts of its operands and joins those of its result, so that between two such ops nothing is joined. Ops that
stay (Fourier transforms, loops, calls, functions without a rule) read and give whole numbers. Numbers are those of the
kernels of the `numpy` target, but for the last digits of functions and of sums of products, and where those kernels overflow
or lose digits on the way to a finite number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import BytesAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.op import value_of
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import CF32, CF64, F32, I1, Kind, part_of, read_type

from ..widen import with_dtypes
from . import complex_functions as functions
from . import construct as make
from .building import accumulator, put_before
from .complex_functions import Parts
from .construct import Value
from .dead_ops import replace_values
from .expand_narrow import MOVES
from .failing import MARK
from .vector_products import product_of_vectors

Read: TypeAlias = Callable[[SSAValue], Parts]
"""The parts of a value."""

NAMES = ("re", "im")
PART_TYPES: Mapping[Attribute, Attribute] = {d.type: part_of(d).type for d in (CF32, CF64)}


def _each_part(op: PtirOp, read: Read) -> Parts:
    """Return the op on real parts, and the op on imaginary ones: of what is linear, and of what moves numbers."""
    every = [read(v) if is_complex(v) else (v, v) for v in op.operands]
    return _clone(op, [real for real, _ in every], 0), _clone(op, [imag for _, imag in every], 1)


def _clone(op: PtirOp, operands: list[Value], which: int = 0, types: Mapping[Attribute, Attribute] = PART_TYPES) -> PtirOp:
    """Return the op on parts of its operands, `which` of them, with parts of its literals; `types` are those of results."""
    values = {name: _part_of_attribute(a, which) for name, a in op.properties.items()}
    results = [with_dtypes(v.type, types) for v in op.results]
    attributes = dict(op.attributes)  # which say where an index that is out of range came from
    return type(op).create(
        operands=[value_of(v) for v in operands], properties=values, attributes=attributes, result_types=results
    )


def _part_of_attribute(attribute: Attribute, which: int) -> Attribute:
    """Return a dtype as that of parts, and the parts of literals."""
    if not isinstance(attribute, PtirLiteralAttr) or attribute.spec[0].kind is not Kind.COMPLEX:
        return with_dtypes(attribute, PART_TYPES)
    dtype, shape = attribute.spec
    part = part_of(dtype)
    every = memoryview(attribute.data.data).cast("f" if part is F32 else "d")
    return PtirLiteralAttr(make.typed(part, shape), BytesAttr(every[which::2].tobytes()))


def _of(function: Callable[..., Parts | Value]) -> Callable[[PtirOp, Read], Parts | Value]:
    return lambda op, read: function(*(read(v) for v in op.operands))


def _joined(op: ptir.ComplexOp, read: Read) -> Parts:
    return op.lhs, op.rhs


def _dot(op: ptir.DotGeneralOp, read: Read) -> Parts:
    """Four products of real numbers; of vectors elementwise products that are summed, so that each number is read once."""
    x, y = (read(v) for v in op.operands)
    if (found := product_of_vectors(op, x, y)) is not None:
        return found
    accum, out = part_of(accumulator(op)), part_of(op.result_spec().dtype)

    def product(a: Value, b: Value) -> Value:
        """Return sums as they are accumulated: their differences are rounded once."""
        found = _clone(op, [a, b], types={op.result_spec().dtype.type: accum.type})
        if accum is not out:
            found.properties.update(op.store_properties({"out_dtype": accum}))
        return found

    real, imag = functions.product(x, y, product)
    return make.cast(real, out), make.cast(imag, out)


def _compare(op: ptir.CompareOp, read: Read) -> Value:
    """Equal if both parts are."""
    (a, b), (c, d) = (read(v) for v in op.operands)
    kind: str = op.values()["kind"]
    both = ptir.AndOp if kind == "equal" else ptir.OrOp
    return make.elementwise(both, make.compare(kind, a, c), make.compare(kind, b, d), dtype=I1)


def _cast(op: ptir.CastOp, read: Read) -> Parts:
    """Of real numbers the number and 0."""
    part = part_of(op.result_spec().dtype)
    if not is_complex(op.x):
        number = make.cast(op.x, part)
        return number, make.full(0, number)
    a, b = read(op.x)
    return make.cast(a, part), make.cast(b, part)


EXPANSIONS: Mapping[type[PtirOp], Callable[..., Parts | Value]] = {
    **dict.fromkeys((ptir.AddOp, ptir.SubOp, ptir.NegOp, ptir.SelectOp, ptir.ReduceOp, ptir.CumulativeSumOp), _each_part),
    **dict.fromkeys((ptir.ScatterAddOp, ptir.ScatterReduceOp, ptir.SegmentReduceOp, ptir.ReduceWindowOp), _each_part),
    ptir.ComplexOp: _joined,
    ptir.RealOp: _of(functions.real),
    ptir.ImagOp: _of(functions.imag),
    ptir.ConjOp: _of(functions.conj),
    ptir.CastOp: _cast,
    ptir.CompareOp: _compare,
    ptir.MulOp: _of(functions.product),
    ptir.DotGeneralOp: _dot,
    ptir.DivOp: _of(functions.quotient),
    ptir.ReciprocalOp: _of(functions.reciprocal),
    ptir.AbsOp: _of(functions.magnitude),
    ptir.SignOp: _of(functions.sign),
    ptir.ExpOp: _of(functions.exp),
    ptir.LogOp: _of(functions.logarithm),
    ptir.SqrtOp: _of(functions.root),
    ptir.RsqrtOp: _of(functions.reciprocal_root),
    ptir.SinOp: _of(functions.sin),
    ptir.CosOp: _of(functions.cos),
    ptir.TanhOp: _of(functions.tanh),
    ptir.LogisticOp: _of(functions.logistic),
    ptir.Expm1Op: _of(functions.expm1),
    ptir.Log1pOp: _of(functions.log1p),
}
"""The rules: results of ops on complex numbers from the parts of their operands."""

_POWER = "whole exponents, which only the data show, multiply numbers, and a logarithm loses digits of others"
_PRODUCTS = "products of several numbers, of reductions too, and convolutions are rare"
_WHOLE = "it takes numbers as they lie in memory"
LEFT: Mapping[type[PtirOp], str] = {
    ptir.PowOp: _POWER,
    **dict.fromkeys((ptir.CumulativeOp, ptir.ConvolutionOp, ptir.RaggedDotOp, ptir.ScatterWindowsOp), _PRODUCTS),
    **dict.fromkeys((ptir.FftOp, ptir.CustomCallOp, ptir.ConstantOp), _WHOLE),
    **dict.fromkeys((ptir.CondOp, ptir.WhileOp, ptir.ScanOp, ptir.FusionOp, ptir.YieldOp), "the ops in its regions are expanded"),
}
"""The ops on complex numbers that stay, and why."""


def is_complex(value: SSAValue) -> bool:
    """Return whether a value is complex numbers."""
    return read_type(value.type).dtype.kind is Kind.COMPLEX


def expand_complex(module: Operation) -> bool:
    """Compute with complex numbers of static shape by their parts; return whether there was something to change."""
    ops = [op for op in walk(module) if isinstance(op, PtirOp) and _is_concerned(op)]
    expanded = _chosen(ops)
    expansion = _ComplexExpansion()
    for op in ops:
        if op in expanded:
            expansion.expand(op)
    return replace_values(module, expansion.became)


def _is_concerned(op: PtirOp) -> bool:
    values = (*op.operands, *op.results)
    return any(map(is_complex, values)) and all(read_type(v.type).is_static for v in values)


def _chosen(ops: list[PtirOp]) -> set[Operation]:
    """Return the ops that have a rule, and those that move results of such ops to such ops alone."""
    ruled: set[Operation] = {op for op in ops if _has_rule(op)}
    found = set(ruled)
    for op in reversed(ops):  # users first
        if _moves(op) and all(use.operation in found for use in op.results[0].uses):
            found.add(op)
    for op in ops:
        if op not in ruled and not any(v.owner in found for v in op.operands if is_complex(v)):
            found.discard(op)
    return found


def _moves(op: PtirOp) -> bool:
    return type(op) in MOVES and is_complex(op.results[0])


def _has_rule(op: PtirOp) -> bool:
    """Return whether an op has a rule; see `_PRODUCTS`, and reductions of real numbers that are accumulated as complex ones."""
    if isinstance(op, ptir.AccumulatingOp) and not (is_complex(op.operands[0]) and is_complex(op.results[0])):
        return False
    return type(op) in EXPANSIONS and op.values().get("kind") != "prod"


class _ComplexExpansion:
    """The parts of what was expanded so far, and what stands for each value."""

    def __init__(self) -> None:
        self.parts: dict[SSAValue, Parts] = {}
        self.became: dict[SSAValue, SSAValue] = {}

    def read(self, value: SSAValue) -> Parts:
        """Return the parts of a value: those that it was joined from, or ops behind the one that it is of, once for all uses."""
        if value not in self.parts:
            if isinstance(value.owner, ptir.ConstantOp):
                real, imag = (value_of(_clone(value.owner, [], which)) for which in (0, 1))
            else:
                dtype, shape = make.spec(value)
                type = make.typed(part_of(dtype), shape)
                real, imag = (make.make(cls, value, type=type).result for cls in (ptir.RealOp, ptir.ImagOp))
            _put_behind(value, [real, imag])
            self.parts[value] = real, imag
        return self.parts[value]

    def expand(self, op: PtirOp) -> None:
        """Put the expansion of an op before it; what takes a part of whole numbers is none."""
        if isinstance(op, ptir.RealOp | ptir.ImagOp) and op.x not in self.parts and not isinstance(op.x.owner, ptir.ConstantOp):
            return
        rule = EXPANSIONS[type(op)] if _has_rule(op) else _each_part
        (old,), found = op.results, rule(op, self.read)
        if isinstance(found, tuple):
            real, imag = (self._placed(op, part, name) for part, name in zip(found, NAMES, strict=True))
            self.parts[old] = real, imag
            if isinstance(op, ptir.ComplexOp):
                return
            found = make.make(ptir.ComplexOp, real, imag, type=old.type)
        new = self._placed(op, found)
        new.name_hint = new.name_hint or old.name_hint
        op.attributes.pop(MARK, None)  # its parts have it
        self.became[old] = self.became.get(new, new)

    def _placed(self, op: PtirOp, value: Value, name: str = "") -> SSAValue:
        """Insert what is new before an op; parts have names of their result."""
        owner = value_of(value).owner
        is_new = isinstance(owner, Operation) and owner.parent is None
        new = put_before(op, value)
        if is_new and name and (hint := op.results[0].name_hint):
            new.name_hint = f"{hint}.{name}"
        return new


def _put_behind(value: SSAValue, parts: Sequence[SSAValue]) -> None:
    """Insert the ops of the parts of a value behind its own op, or at the beginning of its block."""
    owner = value.owner
    for part, name in reversed([*zip(parts, NAMES, strict=True)]):
        part.name_hint = f"{value.name_hint}.{name}" if value.name_hint else None
        op = part.owner
        assert isinstance(op, Operation)
        if isinstance(owner, Block):
            first = owner.first_op
            assert first is not None, "verified"
            owner.insert_op_before(op, first)
        else:
            assert owner.parent is not None, "in a function"
            op.location = owner.location
            owner.parent.insert_op_after(op, owner)


@dataclass(frozen=True)
class PtirExpandComplexPass(ModulePass):
    """Compute with complex numbers by their parts, where there is a rule."""

    name = "mind-ptir-expand-complex"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        expand_complex(op)
