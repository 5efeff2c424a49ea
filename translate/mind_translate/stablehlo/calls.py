"""
Rows of custom calls, and the ops that PTIR has no form for, each with its reason.

Custom calls that only annotate (shardings, layouts, placements) pass their operands on. Others are known by their target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.traits import SymbolTable

from mind_dialect import ptir
from mind_dialect.errors import brief, error
from mind_dialect.ptir.types import SI32

from ..unsupported import Refused
from .chlo import top_k
from .converter import StablehloConverter, StablehloRow, Values
from .elementwise import total_order
from .foreign import ForeignOp, name_of
from .linalg import LAPACK, LINALG
from .random_bits import rng_bit_generator
from .reductions import dynamic_reduce_window

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
"""Targets that check sizes: what they demand is declared; what names of dimensions demand anyway is not said again."""


def _approx_top_k(to: StablehloConverter, op: ForeignOp) -> Values:
    """The exact greatest or least, as XLA has them where no device approximates: `recall_target` may be exceeded."""
    config = op.attributes.get("mhlo.backend_config")
    axis = config.data.get("reduction_dim") if isinstance(config, DictionaryAttr) else None
    rank, count = len(op.shape), len(op.results)
    if not isinstance(axis, IntegerAttr) or not 0 <= axis.value.data < rank or len(op.operands) != 2 * count:
        raise op.wrong("mhlo.backend_config", f"reduction_dim below {rank}, and an initial value for each operand")
    along = axis.value.data
    k, given = op.shape[along], op.operands[:count]
    if not isinstance(k, int):
        raise Refused("a result of ApproxTopK whose size is not known", "give it a size")
    key = total_order(to, given[0]) if to.dtype(given[0]).is_float else given[0]
    made = to.add(ptir.TopKOp(key, k=k, axis=along, largest=_takes_largest(op), indices_dtype=SI32))
    return [to.emit(ptir.GatherOp, x, made.results[1], axis=along) for x in given]


def _takes_largest(op: ForeignOp) -> bool:
    """Return whether the comparator of an ApproxTopK is `x > y` of its first two arguments, not `x < y`; others are refused."""
    found = op.attributes.get("called_computations")
    called = cast("ArrayAttr[Attribute]", found).data if isinstance(found, ArrayAttr) else ()
    name = called[0] if len(called) == 1 else None
    function = SymbolTable.lookup_symbol(op.op, name) if isinstance(name, SymbolRefAttr) else None
    if isinstance(function, FuncOp) and len(function.body.blocks) == 1:
        block = function.body.block
        ops = list(block.ops)
        if len(ops) == 2 and name_of(ops[0]) == "stablehlo.compare" and list(ops[0].operands) == list(block.args[:2]):
            direction = ForeignOp(ops[0], (), ()).word("comparison_direction", ("GT", "LT", "GE", "LE", "EQ", "NE"))
            if direction in ("GT", "LT"):
                return direction == "GT"
    raise Refused("an ApproxTopK with a comparator other than x > y or x < y", "use chlo.top_k or a sort")


def _mhlo_function(name: str) -> Callable[[StablehloConverter, ForeignOp], Values]:
    """Return the row of a function of one operand that a version of MHLO has, by that of CHLO."""

    def row(to: StablehloConverter, op: ForeignOp) -> Values:
        if len(op.operands) != 1 or len(op.results) != 1:
            raise error("E2007", f"has {len(op.operands)} operands, expected 1", expected=1, actual=len(op.operands))
        return to.apply(f"chlo.{name}", op.operands, op.results, op)

    return row


def _mhlo_top_k(to: StablehloConverter, op: ForeignOp) -> Values:
    """The greatest, or the least, of the last axis."""
    stated = op.attributes.get("mhlo.attributes")
    k, largest = (stated.data.get(name) if isinstance(stated, DictionaryAttr) else None for name in ("k", "largest"))
    if not isinstance(k, IntegerAttr) or len(op.operands) != 1 or len(op.results) != 2:
        raise op.wrong("mhlo.attributes", "k and largest, for one operand and two results")
    is_largest = not isinstance(largest, IntegerAttr) or bool(largest.value.data)
    return top_k(to, op.operands[0], k.value.data, op.results[1].dtype, largest=is_largest)


MHLO_FUNCTIONS = tuple("acos acosh asin asinh atan atanh cosh digamma erf erf_inv erfc lgamma sinh square tan".split())
"""Functions that frameworks write as custom calls, such as `mhlo.erf`, where StableHLO has no op."""
CUSTOM_CALLS: Mapping[str, Callable[[StablehloConverter, ForeignOp], Values]] = {
    **LAPACK,
    **{f"mhlo.{name}": _mhlo_function(name) for name in MHLO_FUNCTIONS},
    "ApproxTopK": _approx_top_k,
    "mhlo.topk": _mhlo_top_k,
    "stablehlo.dynamic_reduce_window": dynamic_reduce_window,
}
"""Rows of custom calls by target."""

_REFUSED_CALLS: Mapping[str, tuple[str, str]] = {
    "_callback": (
        "a call of Python, such as jax.debug.print or jax.pure_callback",
        "remove it from the function, or return the value that it needs as a result",
    ),
}
"""The reasons for which calls without a row are refused, and their cures, by a part of the target."""


def _custom_call(to: StablehloConverter, op: ForeignOp) -> Values:
    target = op.string("call_target_name")
    if target in _ANNOTATIONS and len(op.operands) == len(op.results):
        return op.operands
    if target in _CHECKS and not op.results:
        message = op.attributes.get("error_message")
        if op.operands:
            to.sizes.asserted(op.operands[0], message.data if isinstance(message, StringAttr) else "")
        return []
    if (row := CUSTOM_CALLS.get(target)) is not None:
        return row(to, op)
    for kind, (found, cure) in _REFUSED_CALLS.items():
        if kind in target:
            raise Refused(f"{found} ({brief(target)})", cure)
    raise Refused(f"a custom call of {brief(target)!r}", "register a ptir.custom_call, or replace it before the import")


def _no_tuple(to: StablehloConverter, op: ForeignOp) -> Values:
    """Raise E4016: tuples were replaced by their elements, so this op has operands or results that it cannot have."""
    message = "expected one tuple as a result" if op.short == "tuple" else "expected one tuple as operand, and an element of it"
    raise error("E4016", message, issue=message)


_MANY_DEVICES = Refused(
    "communication between devices", "convert the program for one device; XLA inserts the collectives from shardings"
)
_ON_HOST = Refused("communication with the host", "pass the data as arguments and results")
_TOKENS = Refused("ordered effects", "PTIR programs have no effects")
_QUANTIZED = Refused("quantized types", "dequantize before the import, or use ptir.quantize and ptir.dequantize")
_ASYNC = Refused("asynchronous ops", "use the op itself")
_SEEDS = Refused("random numbers of an unspecified algorithm", "use rng_bit_generator, or PTIR's own ptir.rng_uniform")

CALLS: dict[str, StablehloRow | Refused] = {
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
    **dict.fromkeys(("stablehlo.get_tuple_element", "stablehlo.tuple"), _no_tuple),
    **dict.fromkeys(("stablehlo.async_done", "stablehlo.async_start"), _ASYNC),
    "stablehlo.return": Refused("a terminator outside of a region of StableHLO"),
    "stablehlo.rng": _SEEDS,
    "stablehlo.rng_bit_generator": rng_bit_generator,
    **LINALG,
}
