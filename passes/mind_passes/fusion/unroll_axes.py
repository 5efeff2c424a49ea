"""
Elementwise ops over a short last axis become ops for each of its elements, where they read broadcast operands only.

The differences of all pairs of points in space are an array of `[N, N, 3]`, which is reduced along the last axis for distances
and along another for forces: no fusion has both, so the array is stored. With one array of `[N, N]` for each coordinate, all
reductions but those of the last axis are over one shape, and those of the last axis are elementwise ops:

- `f(x, y)[..., c] = f(x[..., c], y[..., c])` for an elementwise `f`;
- `reduce(x, [.., last])[...] = r(x[..., 0]) op r(x[..., 1]) op ...`, where `r` reduces the other axes; in this order, which for
  floats may round differently from another order, within the bound of a sum of as many terms;
- `reduce(x, axes)[..., c] = reduce(x[..., c], axes)` for axes without the last one, joined by a concat;
- `dot(x, w)[..., c] = reduce(x[..., c] * w, axes)` for a product that has no other free axes than those of `x`, as forces are
  sums of differences times numbers: each element of `x` is read once there, so nothing is lost by not being a product.

It is used where all values of the domain are ops of one block, are read by one another and by reductions alone, and where what
varies along the last axis is small before it is broadcast: so nothing large is cut up. All shapes are static.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import reduce
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FUSIBLE, BroadcastToOp, ConstantOp, DotGeneralOp, FusionOp, PtirOp, ReduceOp
from mind_dialect.ptir.types import Kind, tensor_type

from ..ptir.building import accumulator, axes_of_reduction, constant, is_plain, of_one_shape, spec_of
from ..ptir.failing import is_marked
from .short_products import multiply_short_products

LONGEST = 4
"""Elements of an axis that is unrolled, at most."""
LEAST = 1 << 12
"""Elements of a domain from which on it is unrolled."""
GAIN = 8
"""A domain has so many times the elements of each operand that varies along the axis, at least."""
MOST_OPS = 64
"""Ops of a domain, at most."""
_STEPS: dict[str, type[PtirOp]] = {"sum": ptir.AddOp, "prod": ptir.MulOp, "max": ptir.MaximumOp, "min": ptir.MinimumOp}

Shape = tuple[int, ...]


def unroll_axes(root: Operation) -> bool:
    """Unroll the domains inside `root`, and multiply what sums one term, in place; whether there were any."""
    changed = multiply_short_products(root)
    owners = [op for op in walk(root) if op.regions and not isinstance(op, FusionOp)]
    for block in [block for op in owners for region in op.regions for block in region.blocks]:
        seen, place = set[Operation](), dict[Operation, int]()
        for op in [op for op in block.ops if isinstance(op, ReduceOp | DotGeneralOp)]:
            operand = next((x for x in op.operands if _is_short(spec_of(x).shape)), None)
            if op.parent is None or operand is None or operand.owner in seen:
                continue
            domain = _Domain(block, tuple(n for n in spec_of(operand).shape if isinstance(n, int)))
            is_closed = domain.grow(operand)
            seen.update(domain.ops)
            if is_closed and domain.is_worth_it():
                if not place.keys() >= domain.ops.keys():  # at first, and where another domain made some of the ops
                    place = {op: i for i, op in enumerate(block.ops)}
                domain.unroll(place)
                changed = True
    return changed


def _is_short(shape: Sequence[int | str]) -> bool:
    """Return whether a shape has a short last axis, and no names."""
    sizes = [n for n in shape if isinstance(n, int)]
    return 1 < len(sizes) == len(shape) and 1 < sizes[-1] <= LONGEST and prod(sizes) >= LEAST


@dataclass
class _Domain:
    """Ops over one shape, what they read of other shapes, and what reduces them."""

    block: Block
    shape: Shape
    ops: dict[Operation, None] = field(default_factory=dict[Operation, None])
    sources: dict[SSAValue, BroadcastToOp | ConstantOp] = field(default_factory=dict[SSAValue, BroadcastToOp | ConstantOp])
    reductions: dict[ReduceOp, None] = field(default_factory=dict[ReduceOp, None])
    products: dict[DotGeneralOp, int] = field(default_factory=dict[DotGeneralOp, int])
    """Products with vectors, and which operand of each is of the domain."""
    elements: dict[SSAValue, list[SSAValue]] = field(default_factory=dict[SSAValue, list[SSAValue]])
    """Of each value that is unrolled: a value for each element of the axis."""

    # Finding

    def grow(self, value: SSAValue) -> bool:
        """Add all ops that a value is connected with; whether the domain is closed."""
        waiting = [value]
        while waiting:
            value = waiting.pop()
            owner = value.owner
            if owner in self.ops or value in self.sources:
                continue
            if isinstance(owner, BroadcastToOp) or (isinstance(owner, ConstantOp) and owner.literal.is_fill):
                self.sources[value] = owner
                continue
            if not isinstance(owner, PtirOp) or not self._is_member(owner, self.shape) or len(self.ops) >= MOST_OPS:
                return False
            self.ops[owner] = None
            waiting += owner.operands
            for user in (use.operation for use in value.uses):
                if isinstance(user, ReduceOp) and user.parent is self.block and _can_unroll(user):
                    self.reductions[user] = None
                elif isinstance(user, DotGeneralOp) and user.parent is self.block and self._is_with_vectors(user, value):
                    self.products[user] = user.operands.index(value)
                elif isinstance(user, PtirOp) and self._is_member(user, self.shape):
                    waiting += user.results
                else:
                    return False
        return bool(self.ops)

    def _is_with_vectors(self, op: DotGeneralOp, value: SSAValue) -> bool:
        """Return whether a product sums over axes of a value of the domain, not the last, and all axes of the other meet them."""
        mine, other = ("lhs", "rhs") if op.lhs is value else ("rhs", "lhs")
        values, dtype = op.values(), spec_of(value).dtype
        theirs = spec_of(op.rhs if op.lhs is value else op.lhs)
        used = [*values[f"batch_{mine}"], *values[f"contract_{mine}"]]
        count = len(values[f"batch_{other}"]) + len(values[f"contract_{other}"])
        is_plain_sum = all(values[k] in (None, dtype) for k in ("accum_dtype", "out_dtype")) and theirs.dtype is dtype
        is_real = dtype.kind is Kind.FLOAT and dtype.size >= 4 and spec_of(op.result).dtype is dtype
        fits = count == len(theirs.shape) and op.lhs is not op.rhs and len(self.shape) - 1 not in used
        return fits and is_real and is_plain_sum and bool(values[f"contract_{mine}"])

    def _is_member(self, op: PtirOp, shape: Shape) -> bool:
        """Return whether an op of the block computes each element of a shape by itself, and cannot fail."""
        plain = op.parent is self.block and FUSIBLE.get(type(op)) == "elementwise" and is_plain(op) and not is_marked(op)
        return plain and len(op.results) == 1 and of_one_shape(op) and spec_of(op.results[0]).shape == shape

    def is_worth_it(self) -> bool:
        """Return whether what varies along the last axis is small, and there is such."""
        shapes = [spec_of(op.x).shape for op in self.sources.values() if isinstance(op, BroadcastToOp)]
        sizes = [[n for n in shape if isinstance(n, int)] for shape in shapes]
        if [len(s) for s in sizes] != [len(s) for s in shapes]:
            return False
        varying = [prod(s) for s in sizes if s and s[-1] != 1]
        return bool(varying) and max(varying) * GAIN <= prod(self.shape)

    # Unrolling

    def unroll(self, place: Mapping[Operation, int]) -> None:
        """Replace the reductions by those of ops for each element, and erase the ops of the domain; `place` orders the block."""
        ordered = sorted(self.ops, key=place.__getitem__)
        for value, op in self.sources.items():
            self.elements[value] = self._source(op)
        for op in ordered:
            assert isinstance(op, PtirOp)
            for c in range(self.shape[-1]):
                operands = [self.elements[v][c] for v in op.operands]
                self.elements.setdefault(op.results[0], []).append(self._created(op, operands))
        for op in self.reductions:
            self._reduce(op)
        for product, side in self.products.items():
            self._sum_product(product, side)
        for op in reversed(ordered):
            self.block.erase_op(op)
        for op in self.sources.values():
            if op.parent is not None and not op.results[0].first_use:
                self.block.erase_op(op)

    def _source(self, op: BroadcastToOp | ConstantOp) -> list[SSAValue]:
        """The elements of a constant or of a broadcast, which are broadcast by themselves."""
        rest, count = self.shape[:-1], self.shape[-1]
        if isinstance(op, ConstantOp):
            made = constant(op, spec_of(op.result).dtype, rest, op.literal.data.data)
            self.block.insert_op_before(made, op)
            return [made.result] * count
        sizes = [n for n in spec_of(op.x).shape if isinstance(n, int)]
        if tuple(sizes) == (*rest, 1):
            return [self._without_axis(op.x, op)] * count

        def element(c: int) -> SSAValue:
            x = op.x
            if sizes and sizes[-1] != 1:
                starts = [0] * (len(sizes) - 1) + [c]
                x = self._add(op, lambda: ptir.SliceOp(op.x, starts=starts, sizes=[*sizes[:-1], 1]))
            if sizes:
                x = self._reshaped(op, x, sizes[:-1])
            return x if spec_of(x).shape == rest else self._add(op, lambda: BroadcastToOp(x, result_shape=rest))

        return [element(c) for c in range(count)] if sizes and sizes[-1] != 1 else [element(0)] * count

    def _without_axis(self, value: SSAValue, reader: Operation, depth: int = MOST_OPS) -> SSAValue:
        """
        Return a value, whose last axis has one element, without that axis, for an op that reads it.

        The elementwise ops that compute it lose the axis as well, `depth` of them in a row at most.
        """
        owner, rest = value.owner, self.shape[:-1]
        if isinstance(owner, BroadcastToOp) or (isinstance(owner, ConstantOp) and owner.literal.is_fill):
            return self._source(owner)[0]
        if depth == 0 or not isinstance(owner, PtirOp) or not self._is_member(owner, (*rest, 1)):
            return self._reshaped(reader, value, rest)
        made = self._created(owner, [self._without_axis(v, owner, depth - 1) for v in owner.operands])
        value.replace_all_uses_with(self._reshaped(owner, made, (*rest, 1)))
        self.block.erase_op(owner)
        return made

    def _created(self, op: PtirOp, operands: Sequence[SSAValue]) -> SSAValue:
        """Insert an elementwise op like another, over the domain without its last axis."""
        made = type(op).create(
            operands=operands,
            properties=op.properties,
            attributes=op.attributes,
            result_types=[tensor_type(spec_of(op.results[0]).dtype, self.shape[:-1])],
            location=op.location,
        )
        made.results[0].name_hint = op.results[0].name_hint
        self.block.insert_op_before(made, op)
        return made.results[0]

    def _reduce(self, op: ReduceOp) -> None:
        """Replace a reduction by reductions of each element."""
        axes, last, values = axes_of_reduction(op), len(self.shape) - 1, op.values()
        rest = tuple(a for a in axes if a != last)
        parts = self.elements[op.x]
        if rest:
            parts = [self._reduced(op, x, rest) for x in parts]
        if last in axes:
            step = _STEPS[values["kind"]]
            found = reduce(lambda a, b: self._add(op, lambda: step(a, b)), parts)
            self._replace(op, self._reshaped(op, found, [n for n in spec_of(op.result).shape if isinstance(n, int)]))
        else:
            thin = [self._add(op, lambda x=x: ptir.ReshapeOp(x, new_shape=[*spec_of(x).shape, 1])) for x in parts]
            self._replace(op, self._add(op, lambda: ptir.ConcatOp(*thin, axis=len(spec_of(op.result).shape) - 1)))

    def _sum_product(self, op: DotGeneralOp, side: int) -> None:
        """Replace a product by sums of products of each element; the free axes of the domain follow its batch axes."""
        values, (mine, other) = op.values(), (("lhs", "rhs"), ("rhs", "lhs"))[side]
        batch, contract = values[f"batch_{mine}"], values[f"contract_{mine}"]
        theirs = [*values[f"batch_{other}"], *values[f"contract_{other}"]]
        factor, places = op.operands[1 - side], sorted([*batch, *contract])
        perm = [theirs[[*batch, *contract].index(a)] for a in places]
        if perm != sorted(perm):
            factor = self._add(op, lambda: ptir.TransposeOp(op.operands[1 - side], perm=tuple(perm)))
        whole = self.shape[:-1]
        sizes = tuple(n if a in places else 1 for a, n in enumerate(whole))
        thin = self._reshaped(op, factor, sizes)
        wide = thin if sizes == whole else self._add(op, lambda: BroadcastToOp(thin, result_shape=whole))
        free, rest = ([a for a in range(len(whole)) if a not in axes] for axes in (places, contract))
        moved = [rest.index(a) for a in (*batch, *free)]
        parts: list[SSAValue] = []
        for x in self.elements[op.operands[side]]:
            scaled = self._add(op, lambda x=x: ptir.MulOp(x, wide))
            found = self._add(op, lambda x=scaled: ReduceOp(x, kind="sum", axes=sorted(contract), keepdims=False))
            if moved != sorted(moved):
                found = self._add(op, lambda x=found: ptir.TransposeOp(x, perm=moved))
            parts.append(self._reshaped(op, found, [*[self.shape[a] for a in (*batch, *free)], 1]))
        self._replace(op, self._add(op, lambda: ptir.ConcatOp(*parts, axis=len(spec_of(op.result).shape) - 1)))

    def _reduced(self, op: ReduceOp, x: SSAValue, axes: Sequence[int]) -> SSAValue:
        """One element reduced as `op` does, over some axes."""
        kind, keepdims, total, dtype = (op.values()[k] for k in ("kind", "keepdims", "accum_dtype", "out_dtype"))
        return self._add(op, lambda: ReduceOp(x, kind=kind, axes=axes, keepdims=keepdims, accum_dtype=total, out_dtype=dtype))

    def _replace(self, op: PtirOp, value: SSAValue) -> None:
        """Replace the result of a reduction or a product."""
        op.results[0].replace_all_uses_with(value)
        self.block.erase_op(op)

    def _reshaped(self, op: Operation, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A value in another shape; what was reshaped before is not again."""
        while isinstance(x.owner, ptir.ReshapeOp) and spec_of(x).shape != tuple(shape):
            x = x.owner.x
        return x if spec_of(x).shape == tuple(shape) else self._add(op, lambda: ptir.ReshapeOp(x, new_shape=shape))

    def _add(self, op: Operation, make: Callable[[], PtirOp]) -> SSAValue:
        """Insert an op before another, whose location and name it takes."""
        made = make()
        made.location = op.location
        made.results[0].name_hint = op.results[0].name_hint
        self.block.insert_op_before(made, op)
        return made.results[0]


def _can_unroll(op: ReduceOp) -> bool:
    """Return whether a reduction of the last axis is the same, in its dtype, as elementwise ops."""
    if len(spec_of(op.x).shape) - 1 not in axes_of_reduction(op):
        return True
    dtype = spec_of(op.x).dtype
    return op.values()["kind"] in _STEPS and accumulator(op) is dtype and spec_of(op.result).dtype is dtype


@dataclass(frozen=True)
class PtirUnrollAxesPass(ModulePass):
    """
    Unroll elementwise ops over a short last axis, where they read broadcast operands and are reduced.

    The differences of all pairs of points, for example, become one array per coordinate, which fusions need not store.
    """

    name = "mind-ptir-unroll-axes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        unroll_axes(op)
