"""
Sizes that are known in a function before it runs: the dimensions of its tensors, and the inputs where names get their sizes.

They are those of the shapes that `reify.py` emits, with a name for each unnamed dimension of an input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import Block, SSAValue

from mind_dialect import extents
from mind_dialect.extents.dims import is_expression
from mind_dialect.extents.solutions import solutions
from mind_dialect.shape.evaluate import Shaped
from mind_dialect.shape.lattice import UNKNOWN, Ranked

from .reify import NONE_DESCRIBED, Described, Reifier, fault_error, only_block, ranked_dims

UNNAMED = "unnamed_"
"""Prefix of the names of unnamed dimensions of inputs; the input and the axis follow."""


@dataclass(frozen=True)
class KnownSizes:
    """The sizes that are known in a function, and where the names in them get theirs."""

    dims: Mapping[SSAValue, Ranked]
    """The dimensions of each tensor of the first block, of which unnamed ones of inputs have names that no type has."""
    places: Mapping[str, tuple[SSAValue, int]]
    """The input and axis that a name is the size of."""
    solved: Mapping[str, tuple[tuple[SSAValue, int], extents.Extent]]
    """The input and axis whose size gives a name, and the name as an expression of that size and of other names."""


def known_sizes(function: func.FuncOp, described: Described = NONE_DESCRIBED) -> KnownSizes:
    """
    Return what is known of sizes in a verified function, which does not change; results of calls are what their types say.

    E4000 for a function of several blocks, and the coded error of a shape that cannot be.
    """
    body = only_block(function)
    block = Block(arg_types=[argument.type for argument in body.args])
    reifier = Reifier(function, block, described)
    e, places = reifier.e, dict[str, tuple[SSAValue, int]]()
    for i, (argument, emitted) in enumerate(zip(body.args, block.args, strict=True)):
        if (dims := ranked_dims(argument.type)) is None:
            continue
        named = tuple(f"{UNNAMED}{i}_{axis}" if dim == UNKNOWN else dim for axis, dim in enumerate(dims))
        e.assume(emitted, Shaped(named))
        for axis, dim in enumerate(named):
            if isinstance(dim, str) and not is_expression(dim):
                places.setdefault(dim, (argument, axis))
    reifier.inputs(function, block.args)
    reifier.ops(body)
    for fault in e.faults:
        raise fault_error(fault)
    shapes = [ranked_dims(argument.type) or () for argument in body.args]
    solved = {s.name: ((body.args[s.shape], s.axis), s.size) for s in solutions(shapes, tuple(places))}
    return KnownSizes({value: e.dims(x) for value, x in reifier.shapes.items()}, places, solved)
