"""
Rows of custom calls, and the ops that PTIR has no form for, each with its reason.

Custom calls that only annotate (shardings, layouts, placements) pass their operands on. Others are known by their target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mind_dialect.errors import brief

from ..unsupported import Refused
from .converter import Converter, Row, Values
from .foreign import ForeignOp
from .linalg import LAPACK, LINALG
from .random_bits import rng_bit_generator

_ANNOTATIONS = frozenset(
    {
        "Sharding",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "annotate_device_placement",
        "LayoutConstraint",
        "xla.sdy.GlobalToLocalShape",
        "xla.sdy.LocalToGlobalShape",
    }
)
"""Targets whose result is their operand."""
_CHECKS = frozenset({"shape_assertion", "stablehlo.shape_assertion"})
"""Targets that check what PTIR's named dimensions check."""
CUSTOM_CALLS: Mapping[str, Callable[[Converter, ForeignOp], Values]] = {**LAPACK}
"""Rows of custom calls by target."""


def _custom_call(to: Converter, op: ForeignOp) -> Values:
    target = op.string("call_target_name")
    if target in _ANNOTATIONS and len(op.operands) == len(op.results):
        return op.operands
    if target in _CHECKS and not op.results:
        return []
    if (row := CUSTOM_CALLS.get(target)) is not None:
        return row(to, op)
    raise Refused(f"a custom call of {brief(target)!r}", "register a ptir.custom_call, or replace it before the import")


_MANY_DEVICES = Refused("communication between devices", "convert the program for one device; shardings place the collectives")
_ON_HOST = Refused("communication with the host", "pass the data as arguments and results")
_TOKENS = Refused("an order of effects", "PTIR programs have no effects")
_QUANTIZED = Refused("quantized types", "dequantize before the import, or use ptir.quantize and ptir.dequantize")
_TUPLES = Refused("tuples", "return several results instead")
_ASYNC = Refused("asynchronous ops", "use the op itself")
_BATCH_NORM = "write it as its arithmetic, as batch-norm expansion does"
_SEEDS = Refused("random numbers of no stated algorithm", "use rng_bit_generator, or PTIR's own ptir.rng_uniform")

CALLS: dict[str, Row | Refused] = {
    "stablehlo.custom_call": _custom_call,
    **dict.fromkeys(
        (
            "stablehlo.all_gather",
            "stablehlo.all_reduce",
            "stablehlo.all_to_all",
            "stablehlo.collective_broadcast",
            "stablehlo.collective_permute",
            "stablehlo.cross-replica-sum",
            "stablehlo.partition_id",
            "stablehlo.reduce_scatter",
            "stablehlo.replica_id",
        ),
        _MANY_DEVICES,
    ),
    **dict.fromkeys(("stablehlo.infeed", "stablehlo.outfeed", "stablehlo.recv", "stablehlo.send"), _ON_HOST),
    **dict.fromkeys(("stablehlo.after_all", "stablehlo.create_token"), _TOKENS),
    **dict.fromkeys(("stablehlo.uniform_dequantize", "stablehlo.uniform_quantize"), _QUANTIZED),
    **dict.fromkeys(("stablehlo.get_tuple_element", "stablehlo.tuple"), _TUPLES),
    **dict.fromkeys(("stablehlo.async_done", "stablehlo.async_start"), _ASYNC),
    "stablehlo.batch_norm_grad": Refused("batch normalization", _BATCH_NORM),
    "stablehlo.batch_norm_inference": Refused("batch normalization", _BATCH_NORM),
    "stablehlo.batch_norm_training": Refused("batch normalization", _BATCH_NORM),
    "stablehlo.return": Refused("a terminator outside of a region of StableHLO"),
    "stablehlo.rng": _SEEDS,
    "stablehlo.rng_bit_generator": rng_bit_generator,
    **LINALG,
}
