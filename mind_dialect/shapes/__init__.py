"""
Shape rules of Core IR: pure functions from shapes and attributes to the result shape. No IR, no arrays.

The verifier, the op constructors, the importers and the expression builder all call these. Each rule raises a coded
`MindError` that names the failing dimension and extents. `negative=True` is `core-v1.1`: axes count from the end, slice
bounds below 0 are clamped to 0. Rules follow the chapters "Core IR" and "Shapes and dtypes" of the MIND specification.
"""

from .contraction import Padding, conv2d, conv2d_backward_filter, conv2d_backward_input, conv2d_pads, dot, matmul
from .elementwise import broadcast, broadcast_axes, broadcast_to, elementwise, relu_grad
from .extents import MAX_EXTENT, Shape, non_negative, normalize_axes, positive, rank_error, same, shown_count
from .indexing import gather, index, index_scatter, scatter_add, slice, slice_bounds, slice_scatter
from .structural import expand_dims, inverse_permutation, mean, reduce, reduced_axes, reshape, squeeze, transpose

__all__ = [
    "MAX_EXTENT",
    "Padding",
    "Shape",
    "broadcast",
    "broadcast_axes",
    "broadcast_to",
    "conv2d",
    "conv2d_backward_filter",
    "conv2d_backward_input",
    "conv2d_pads",
    "dot",
    "elementwise",
    "expand_dims",
    "gather",
    "index",
    "index_scatter",
    "inverse_permutation",
    "matmul",
    "mean",
    "non_negative",
    "normalize_axes",
    "positive",
    "rank_error",
    "reduce",
    "reduced_axes",
    "relu_grad",
    "reshape",
    "same",
    "scatter_add",
    "shown_count",
    "slice",
    "slice_bounds",
    "slice_scatter",
    "squeeze",
    "transpose",
]
