"""All rows: for each op of StableHLO, CHLO and Shardy a function that emits PTIR, or the reason why there is none."""

from __future__ import annotations

from ..unsupported import Refused
from .batch_norm import BATCH_NORM
from .calls import CALLS
from .chlo import CHLO, POINTWISE_CHLO
from .contraction import CONTRACTION
from .control import CONTROL
from .converter import StablehloRow
from .elementwise import POINTWISE as POINTWISE_ROWS
from .indexing import INDEXING
from .ordering import ORDERING
from .reductions import REDUCTIONS
from .sharding import SHARDING
from .structural import STRUCTURAL

ROWS: dict[str, StablehloRow | Refused] = {
    **POINTWISE_ROWS,
    **STRUCTURAL,
    **CONTRACTION,
    **REDUCTIONS,
    **BATCH_NORM,
    **INDEXING,
    **ORDERING,
    **CONTROL,
    **CALLS,
    **CHLO,
    **SHARDING,
}
POINTWISE: frozenset[str] = frozenset(POINTWISE_ROWS) | POINTWISE_CHLO
"""Ops that bodies of reductions may hold."""

_COUNTS: dict[int, str] = {
    1: """
    abs bitcast_convert broadcast broadcast_in_dim cbrt ceil convert cosine count_leading_zeros exponential exponential_minus_one
    floor get_dimension_size imag is_finite log log_plus_one logistic negate not popcnt real reduce_precision reshape reverse
    round_nearest_afz round_nearest_even rsqrt sign sine slice sqrt tan tanh transpose if case
    chlo.acos chlo.acosh chlo.asin chlo.asinh chlo.atan chlo.atanh chlo.bessel_i1e chlo.conj chlo.constant_like chlo.cosh
    chlo.digamma chlo.erf chlo.erf_inv chlo.erfc chlo.is_inf chlo.is_neg_inf chlo.is_pos_inf chlo.lgamma chlo.sinh chlo.square
    chlo.tan chlo.top_k sdy.propagation_barrier sdy.reshard sdy.sharding_constraint sdy.sharding_group sdy.data_flow_edge
    sdy.func_data_flow_edge cholesky fft get_tuple_element rng_bit_generator
    """,
    2: """
    add and atan2 compare complex convolution divide dot dot_general dynamic_broadcast_in_dim dynamic_reshape einsum gather
    maximum minimum multiply or pad power remainder shift_left shift_right_arithmetic shift_right_logical subtract
    torch_index_select xor chlo.mulhi chlo.next_after chlo.polygamma chlo.zeta triangular_solve chlo.broadcast_add
    chlo.broadcast_and chlo.broadcast_atan2 chlo.broadcast_compare chlo.broadcast_complex chlo.broadcast_divide
    chlo.broadcast_maximum chlo.broadcast_minimum chlo.broadcast_multiply chlo.broadcast_next_after chlo.broadcast_or
    chlo.broadcast_polygamma chlo.broadcast_power chlo.broadcast_remainder chlo.broadcast_shift_left
    chlo.broadcast_shift_right_arithmetic chlo.broadcast_shift_right_logical chlo.broadcast_subtract chlo.broadcast_xor
    chlo.broadcast_zeta
    """,
    3: "batch_norm_training clamp dynamic_conv dynamic_gather select select_and_scatter chlo.broadcast_select chlo.ragged_dot",
    4: "real_dynamic_slice",
    5: "batch_norm_grad batch_norm_inference dynamic_pad",
    0: "constant iota chlo.constant sdy.constant",
}
_LEAST: dict[int, str] = {
    0: "composite custom_call optimization_barrier func.call tuple while sdy.named_computation enzyme.autodiff enzyme.fwddiff",
    1: "concatenate dynamic_slice map sort dynamic_iota",
    2: "dynamic_update_slice reduce reduce_window",
    3: "scatter",
}


def _full(name: str) -> str:
    return name if "." in name else f"stablehlo.{name}"


OPERANDS: dict[str, tuple[int, int | None]] = {
    **{_full(name): (count, count) for count, names in _COUNTS.items() for name in names.split()},
    **{_full(name): (count, None) for count, names in _LEAST.items() for name in names.split()},
}
"""Numbers of operands that each op with a row takes: least and most, None for any number."""
