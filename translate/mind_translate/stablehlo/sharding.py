"""
Rows of Shardy: constraints are the identity here.

Shardings of arguments and results stay as attributes of the function, the meshes stay in the module. Constraints inside a
function are dropped, as PTIR values carry none.
"""

from __future__ import annotations

from ..unsupported import Refused
from .converter import StablehloConverter, StablehloRow, Values
from .foreign import ForeignOp


def _identity(to: StablehloConverter, op: ForeignOp) -> Values:
    return op.operands[: len(op.results)]


def _constant(to: StablehloConverter, op: ForeignOp) -> Values:
    return to.apply("stablehlo.constant", [], op.results, op)


def _named(to: StablehloConverter, op: ForeignOp) -> Values:
    """`named_computation` runs its body on its operands."""
    block = op.body()
    to.env.update(zip(block.args, op.operands, strict=True))
    return to.run_block(block)


_PER_DEVICE = Refused("a computation per device", "convert the program before it is partitioned")

SHARDING: dict[str, StablehloRow | Refused] = {
    **dict.fromkeys(
        (
            "sdy.data_flow_edge",
            "sdy.func_data_flow_edge",
            "sdy.propagation_barrier",
            "sdy.reshard",
            "sdy.sharding_constraint",
            "sdy.sharding_group",
        ),
        _identity,
    ),
    **dict.fromkeys(
        (
            "sdy.all_gather",
            "sdy.all_reduce",
            "sdy.all_slice",
            "sdy.all_to_all",
            "sdy.collective_permute",
            "sdy.manual_computation",
            "sdy.reduce_scatter",
            "sdy.replicated_to_unreduced",
            "sdy.sharded_to_unreduced",
        ),
        _PER_DEVICE,
    ),
    "sdy.constant": _constant,
    "sdy.mesh": Refused("a mesh inside of a function", "declare it in the module"),
    "sdy.named_computation": _named,
    "sdy.return": Refused("a terminator outside of a region of Shardy"),
}
