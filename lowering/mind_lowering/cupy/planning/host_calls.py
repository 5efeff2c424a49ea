"""
Calls of the array library that a CUDA graph can hold, by name, and why the others run by themselves: closed by a test.

A call can be captured that enqueues kernels and nothing else: it asks nothing of the GPU, and sends nothing to it.
"""

from __future__ import annotations

from mind_dialect.ptir.types import Kind, read_type

from ...ptir_kernels.ufuncs import REDUCERS, UFUNCS
from ...xp import CallOp

VIEWS = frozenset(
    f"k.{name}" for name in ("identity", "row_major", "reshape", "transpose", "broadcast_to", "slice", "strided_slice", "reverse")
)
"""Calls that may be another place of the same memory."""

_CAPTURED = (
    *(*UFUNCS.values(), "divide", "remainder", "rsqrt", "erf", "sign", "logistic", "clamp"),
    *(
        "shift_right_arithmetic",
        "shift_right_logical",
        "cast",
        "reduce",
        "arg_max",
        "dot_general",
        "pad",
        "layer_norm",
        "product_epilogue",
    ),
    *("bitcast", "truncate", "real", "imag", "from_parts", "round_away", "popcount", "count_leading_zeros", "arg_min"),
    *("erf_inv", "lgamma", "digamma"),
    *("copy", "keep_positive", "iota", "empty", "constant"),
)
_ARRAY_FUNCTIONS = (*UFUNCS.values(), "divide", "fmod", "where", "matmul", *(f"{name}.reduce" for name in REDUCERS.values()))
CAPTURED = frozenset((*(f"k.{n}" for n in _CAPTURED), *(f"xp.{n}" for n in _ARRAY_FUNCTIONS), *VIEWS))
"""Calls that only enqueue kernels."""

_SEED = "its numbers depend on the seed of the call"
_SENDS = "CuPy may send what it needs from the host"
_CHECKS = "it looks at indices on the host"
_SORTS = "sorting on the GPU waits for it"
HOST: dict[str, str] = {
    "k.check": "shapes are checked on the host",
    "k.custom_call": "it is somebody else's",
    **dict.fromkeys(("k.rng_uniform", "k.rng_normal"), _SEED),
    **dict.fromkeys(("k.concat", "k.tile", "k.reduce_window", "k.window_arg", "k.extract_patches", "k.convolution"), _SENDS),
    **dict.fromkeys(("k.cumulative_sum", "k.cumulative", "k.dimension_size"), _SENDS),
    **dict.fromkeys(("k.quantize", "k.dequantize", "k.requantize"), _SENDS),
    **dict.fromkeys(("k.take", "k.gather", "k.segment_reduce", "k.dynamic_slice", "k.dynamic_update_slice"), _CHECKS),
    **dict.fromkeys(("k.scatter_add", "k.scatter_reduce", "k.scatter_add_into", "k.scatter_reduce_into"), _CHECKS),
    **dict.fromkeys(("k.gather_windows", "k.scatter_windows", "k.scatter_windows_into"), _CHECKS),
    "k.fft": "cuFFT plans on the host",
    "k.ragged_dot": "it looks at the sizes of groups on the host",
    "k.dynamic_update_slice_into": _CHECKS,
    **dict.fromkeys(("k.sort", "k.top_k"), _SORTS),
}
"""Calls that run by themselves, each with the reason."""

_DIVIDING = ("k.divide", "k.remainder")


def host_reason(op: CallOp) -> str | None:
    """Return the reason why a call cannot be captured; None if it can."""
    function = op.function
    if function in _DIVIDING and read_type(op.operands[0].type).dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
        return "it looks for zeros on the host"
    return HOST.get(function)
