"""The places that products of a gradient of an attention are written to: a result of a body, or a part of an array in place."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from mind_dialect.ptir import FUSIBLE, ConcatOp, ConstantOp, DotGeneralOp, PtirOp, ReshapeOp, SliceOp, TransposeOp
from mind_passes.fusion.place_parts import OVERWRITTEN

from ...launch.ref import row_major
from ..kernels.body import Body
from ..kernels.places import spec
from ..kernels.scalars import emit, literal, register
from ..kernels.unsupported import Unsupported


@dataclass(frozen=True)
class Destination:
    """The result that a product is written to, its first place there, the distances of its elements, and ops that change each."""

    result: int
    places: tuple[int, ...]
    start: int = 0
    finish: tuple[PtirOp, ...] = ()

    def function(self, product: DotGeneralOp, name: str) -> str:
        """The function in C++ that changes an element of a product."""
        lines: list[str] = []
        last = "x"
        for i, op in enumerate(self.finish):
            constants = {v: literal(spec(v)[0], o.literal.item()) for v in op.operands if isinstance(o := v.owner, ConstantOp)}
            operands = [constants.get(v, last) for v in op.operands]
            last = f"y{i}"
            lines.append(f"const {register(spec(op.results[0])[0])} {last} = {emit(op, operands)};")
        return f"auto {name} = [&]({register(spec(product.result)[0])} x) {{ {' '.join([*lines, f'return {last};'])} }};"


def placed_parts(body: Body) -> tuple[ConcatOp, int | None] | None:
    """
    Return the concatenation that is the only result of a body, and the number of the input that it updates in place.

    All its operands that are read from the input are parts of it where they are in the result, and nothing else reads it. Without
    such an input they are constants that need not be written. None for a body with other results.
    """
    if len(body.results) != 1 or not isinstance(concat := body.results[0].owner, ConcatOp):
        return None
    axis, shape = _axis(concat), spec(concat.result)[1]
    inputs: set[SSAValue] = set()
    start, skips = 0, False
    for part in concat.operands:
        extents = spec(part)[1]
        if isinstance(op := part.owner, SliceOp):
            starts = tuple(start if a == axis else 0 for a in range(len(shape)))
            if tuple(op.values()["starts"]) != starts or op.x not in body.inputs or op.x.type != concat.result.type:
                return None
            inputs.add(op.x)
        elif isinstance(op, ConstantOp):
            if OVERWRITTEN not in op.attributes:
                return None
            skips = True
        start += extents[axis]
    if len(inputs) + skips != 1 or any(v in inputs and not isinstance(o, SliceOp) for o in body.ops for v in o.operands):
        return None
    return concat, next((i for i, v in enumerate(body.inputs) if v in inputs), None)


def destination_of(product: DotGeneralOp, body: Body, result: int, concat: ConcatOp | None = None) -> Destination:
    """Return where a product is written: a transpose of it, and that reshaped, is a result of a body or in a concatenation."""
    value: SSAValue = product.result
    users = {v: o for o in body.ops for v in o.operands}
    perm = tuple(range(len(spec(value)[1])))
    if isinstance(view := users.get(value), TransposeOp):
        perm, value = tuple(a % len(perm) for a in view.values()["perm"]), view.result
    steps = row_major(spec(value)[1])
    if isinstance(view := users.get(value), ReshapeOp):
        value = view.result
    if perm[-1] != len(perm) - 1:
        raise Unsupported("products with an epilogue")
    places = tuple(steps[perm.index(a)] for a in range(len(perm)))
    if concat is None:
        if body.results[result] is not value:
            raise Unsupported("products with an epilogue")
        return Destination(result, places)
    finish: list[PtirOp] = []
    while (op := users.get(value)) is not concat:
        if op is None or not _changes_each(op, value):
            raise Unsupported("products with an epilogue")
        finish.append(op)
        value = op.results[0]
    return _within(concat, value, places, tuple(finish))


def _within(concat: ConcatOp, part: SSAValue, places: tuple[int, ...], finish: tuple[PtirOp, ...]) -> Destination:
    """Return the destination of a part of a concatenation."""
    axis, number = _axis(concat), [v is part for v in concat.operands].index(True)
    inner = prod(spec(part)[1][axis + 1 :])
    start = inner * sum(spec(v)[1][axis] for v in concat.operands[:number])
    block, whole = inner * spec(part)[1][axis], inner * spec(concat.result)[1][axis]
    if any(step > block and step % block for step in places):
        raise Unsupported("products across the parts of an array")
    return Destination(0, tuple(step // block * whole if step >= block else step for step in places), start, finish)


def _axis(concat: ConcatOp) -> int:
    return concat.values()["axis"] % len(spec(concat.result)[1])


def _changes_each(op: PtirOp, value: SSAValue) -> bool:
    """Return whether an op computes each element of a result from that of a value and constants."""
    others = [v.owner for v in op.operands if v is not value]
    return FUSIBLE.get(type(op)) == "elementwise" and all(isinstance(o, ConstantOp) and o.literal.is_fill for o in others)
