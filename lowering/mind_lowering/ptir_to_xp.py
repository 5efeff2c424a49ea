"""
From PTIR to `xp`: calls of the kernels, branches and loops; then updates in place where the operand dies; then frees.

Dimensions with names get their sizes from the inputs, before anything runs; what a rule cannot know of them the run checks.
Outputs never share memory with inputs, constants or each other, unless an input was donated: its memory may then be written to.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region

from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir_program import input_specs

from . import xp
from .ptir_control import CONTROL
from .xp.frees import insert_frees
from .xp.in_place import update_in_place
from .xp_lowering import Lowering


@dataclass(frozen=True)
class Lowered:
    """A lowered function, and for each of its ops, in the order of a walk, the op that it comes from, if any."""

    func: FuncOp
    origins: list[Operation | None]


def single_block(func: FuncOp) -> Block:
    """Return the block of a function; E4000 for a declaration, and for several blocks."""
    if len(func.body.blocks) != 1:
        raise _no_block_of_ptir(func, f"func.func with {len(func.body.blocks)} blocks", func)
    return func.body.blocks[0]


def ptir_block(func: FuncOp) -> Block:
    """The one block of a function of PTIR that ends in `func.return`; E4000 names what else it, or a region in it, holds."""
    block = single_block(func)
    for op in walk(func):
        is_end = isinstance(op, ReturnOp) and op is block.last_op
        if not isinstance(op, PtirOp) and op is not func and not is_end:
            raise _no_block_of_ptir(func, op.name, op)
    if not isinstance(block.last_op, ReturnOp):
        raise _no_block_of_ptir(func, "a function without func.return", func)
    return block


def _no_block_of_ptir(func: FuncOp, given: str, culprit: Operation) -> MindError:
    message = f"@{func.sym_name.data} is not one block of PTIR: found {given}, expected ptir (or mind) ops and func.return"
    return error("E4000", message, operation=culprit, given=given, expected="ptir ops and func.return")


def lowered_function(func: FuncOp, donate: Collection[int] = (), draws: int = 0, kind: type[Lowering] = Lowering) -> Lowered:
    """
    A verified function of PTIR as a new function of `xp`, which stands in no module; in linear time.

    `donate` names inputs by number whose memory may be overwritten; `draws` random draws were made before it; `kind` lowers
    some ops otherwise. Raises E4000 where the function is not one block of PTIR, E2007 where it returns nothing.
    """
    block = ptir_block(func)
    check_depth(func)
    input_specs(func)
    ending = block.last_op
    if ending is None or not ending.operands:
        raise xp.no_outputs().at(ending or func, "func.return")
    new = Block(arg_types=block.arg_types)
    lowering = kind(CONTROL)
    lowering.draws = draws
    lowering.stand(block.args, new.args)
    lowering.expect_inputs(new.args)
    lowering.function(block, ending)
    new.add_ops(lowering.ops)
    made = FuncOp.create(properties=dict(func.properties), attributes=dict(func.attributes), regions=[Region(new)])
    made.location = func.location
    update_in_place(new, donate, lowering.origins, lowering.overwrites)
    insert_frees(new)
    return Lowered(made, [lowering.origins.get(op) for op in new.walk()])


MAX_DEPTH = 80
"""The greatest nesting depth of regions: Python nests no more than 100."""


def check_depth(func: FuncOp, backend: str = "numpy") -> None:
    """Raise E6003 for regions nested deeper than targets can say."""
    depths: dict[Operation, int] = {func: 0}
    for op in walk(func):
        if op.regions and op is not func and (parent := op.parent_op()) is not None:
            depths[op] = depths[parent] + 1
            if depths[op] > MAX_DEPTH:
                message = f"regions nested deeper than {MAX_DEPTH} are not supported on {backend}"
                raise error("E6003", message, backend=backend).at(op, op.name)
