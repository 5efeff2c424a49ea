"""Functions that the `xp` dialect can call, closed so that a text from elsewhere reaches nothing else, and their storage."""

from __future__ import annotations

from enum import Enum

from ..ptir_kernels.ufuncs import REDUCERS, UFUNCS


class Storage(Enum):
    """The storage of the result of a function."""

    OWN = "memory of its own"
    WHOLE = "the whole memory of its first operand, under another shape"
    PART = "some of the memory of its first operand, or each element several times"
    CONSTANT = "memory made once, before any call"


CONSTANT, COPY, ROW_MAJOR, EMPTY = "k.constant", "k.copy", "k.row_major", "k.empty"
MATRICES = "xp.matmul"
CHECK, CUSTOM = "k.check", "k.custom_call"

_ARRAY_FUNCTIONS = (*UFUNCS.values(), "divide", "fmod", "where", "matmul", *(f"{name}.reduce" for name in REDUCERS.values()))
_KERNELS = (
    *(*UFUNCS.values(), "divide", "remainder", "rsqrt", "erf", "sign", "logistic", "clamp"),
    *("shift_right_arithmetic", "shift_right_logical", "cast", "bitcast", "truncate", "reduce", "arg_max", "dot_general"),
    *("concat", "tile", "pad", "dimension_size", "real", "imag", "from_parts"),
    *("round_away", "erf_inv", "lgamma", "digamma", "popcount", "count_leading_zeros", "arg_min"),
    *("window_arg", "gather_windows", "scatter_windows", "fft"),
    *("take", "gather", "scatter_add", "scatter_reduce", "dynamic_update_slice", "layer_norm", "reduce_window"),
    *("extract_patches", "rng_uniform", "rng_normal", "top_k", "segment_reduce", "quantize", "dequantize", "requantize"),
    *(
        "cumulative_sum",
        "cumulative",
        "sort",
        "convolution",
        "ragged_dot",
        "product_epilogue",
        "copy",
        "empty",
        "custom_call",
        "keep_positive",
    ),
)
_UPDATES = ("dynamic_update_slice", "scatter_add", "scatter_reduce", "scatter_windows")
_INTO = tuple(f"{name}_into" for name in _UPDATES)
_WHOLE = ("identity", "row_major", "reshape", *_INTO)
_PART = ("transpose", "broadcast_to", "slice", "strided_slice", "reverse", "dynamic_slice", "iota")

FUNCTIONS: dict[str, Storage] = {
    CONSTANT: Storage.CONSTANT,
    CHECK: Storage.OWN,
    **{f"xp.{name}": Storage.OWN for name in _ARRAY_FUNCTIONS},
    **{f"k.{name}": Storage.OWN for name in _KERNELS},
    **{f"k.{name}": Storage.WHOLE for name in _WHOLE},
    **{f"k.{name}": Storage.PART for name in _PART},
}
"""
`xp.` names a function of the array namespace, `k.` a kernel over it.

A transpose counts as a part: it is not in row-major order. So does an iota, which repeats elements of its own.
"""

IN_PLACE = frozenset(f"xp.{name}" for name in (*UFUNCS.values(), "divide", "fmod"))
"""Functions that can put their result into the memory of an operand: elementwise, each element read before it is written."""

UPDATES = {f"k.{name}": f"k.{name}_into" for name in _UPDATES}
"""Functions that update a copy of their first operand, and the form of each that works in its memory."""

REPEATING = frozenset({"k.broadcast_to", "k.iota"})
"""Functions in whose results several elements may share an address."""

ROW_MAJOR_RESULTS = frozenset(
    {
        *("k.dot_general", "k.pad", "k.copy", "k.empty", "k.convolution", "k.extract_patches", "k.take"),
        *("k.rng_uniform", "k.rng_normal", "k.custom_call", "k.scatter_add", "k.scatter_reduce", "k.dynamic_update_slice"),
        *("k.window_arg", "k.gather_windows", "k.scatter_windows", "k.fft", "k.ragged_dot", "k.product_epilogue"),
    }
)
"""
Functions whose results are in row-major order whatever the strides of their operands.

So are those of `MATRICES`, but for stacks of them.
"""
