"""
The shapes of PTIR ops: the op's own rule runs on symbolic sizes, and what it finds and demands is emitted.

The extents that are known enter a rule as they are, each other one as a name. The rule decides what it can and raises its coded
error for what no sizes mend. Each demand that it leaves open becomes a constraint with the rule's own code and wording.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from mind_dialect.errors import MindError
from mind_dialect.extents.recording import INTERNAL, Requirement
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims
from mind_dialect.shape import ConstantOp
from mind_dialect.shape.types import size

from ..emitter import Emitter, Shape

_INTERNAL = re.compile(rf"(?:{INTERNAL}|\\u03b4)\d+")
_RELATIONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def derive(e: Emitter, op: PtirOp, *operands: Shape) -> Sequence[Shape]:
    """Emit the shapes of the results of an op of PTIR, and the constraints that its rule leaves open."""
    symbolic = [e.symbols(x) for x in operands]
    try:
        with e.sizes.asked(), e.recorder:
            found = type(op).infer_shape(symbolic, op.values())
    except MindError as error:
        raise MindError(error.code, _INTERNAL.sub(UNKNOWN, error.message), error.context, None, error.category) from None
    shapes = dict(zip(reversed(symbolic), reversed(operands), strict=True))
    for requirement in e.recorder.requirements:
        _demand(e, requirement, shapes)
    return [_shape(e, found, shapes)] * len(op.results)


def _demand(e: Emitter, requirement: Requirement, shapes: Mapping[Dims, Shape]) -> None:
    a, relation, b, code, wording = requirement
    if isinstance(a, tuple) and isinstance(b, tuple):
        of = e.same if relation == "same" else e.broadcast_to
        of(_shape(e, a, shapes), _shape(e, b, shapes))
    elif not isinstance(a, tuple) and not isinstance(b, tuple) and UNKNOWN not in (a, b):
        e.require(e.dim(a), _RELATIONS[relation], e.dim(b), code, _INTERNAL.sub(UNKNOWN, wording))


def _shape(e: Emitter, dims: Dims, shapes: Mapping[Dims, Shape]) -> Shape:
    """Return the shape of these dimensions: that of an operand, if it has them."""
    return shapes[dims] if dims in shapes else e.shape([_extent(e, dim) for dim in dims])


def _extent(e: Emitter, dim: Dim) -> SSAValue:
    return e.emit(ConstantOp.of(UNKNOWN, size)) if dim == UNKNOWN else e.dim(dim)
