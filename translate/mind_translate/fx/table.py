"""All rows: for each ATen overload a function that emits PTIR, or the reason why there is none."""

from __future__ import annotations

from ..unsupported import Refused
from .activations import ACTIVATIONS
from .bags import BAGS
from .converter import Table
from .elementwise import ELEMENTWISE
from .factorizations import FACTORIZATIONS
from .factory import FACTORY
from .indexing import INDEXING
from .linalg import LINALG
from .losses import LOSSES
from .margins import MARGINS
from .narrow import NARROW
from .neighbours import NEIGHBOURS
from .normalization import NORMALIZATION
from .norms import NORMS
from .orders import ORDERS
from .orthogonal import ORTHOGONAL
from .overlaps import OVERLAPS
from .products import PRODUCTS
from .random_numbers import RANDOM_NUMBERS
from .real_functions import REAL_FUNCTIONS
from .reductions import REDUCTIONS
from .running import RUNNING
from .sampling import SAMPLING
from .special import SPECIAL
from .storage import STORAGE
from .structural import STRUCTURAL
from .windows import WINDOWS

_DERIVATIVE = Refused("a derivative that torch generated", "export the forward function, and differentiate it here (vjp)")
_DERIVATIVES = (
    *("_adaptive_avg_pool2d_backward", "avg_pool2d_backward", "convolution_backward", "embedding_dense_backward"),
    *("native_group_norm_backward", "native_layer_norm_backward"),
)
_SIZE = Refused("a result whose size depends on data", "use a mask and torch.where instead")
ROWS: Table = {
    **ACTIVATIONS,
    **ELEMENTWISE,
    **NEIGHBOURS,
    **REAL_FUNCTIONS,
    **ORDERS,
    **STRUCTURAL,
    **STORAGE,
    **RANDOM_NUMBERS,
    **REDUCTIONS,
    **RUNNING,
    **NORMS,
    **INDEXING,
    **BAGS,
    **PRODUCTS,
    **NARROW,
    **LINALG,
    **FACTORIZATIONS,
    **SPECIAL,
    **ORTHOGONAL,
    **NORMALIZATION,
    **MARGINS,
    **LOSSES,
    **FACTORY,
    **WINDOWS,
    **OVERLAPS,
    **SAMPLING,
    **{f"{name}.default": _DERIVATIVE for name in _DERIVATIVES},
    **{f"{name}.default": _SIZE for name in ("_unique", "_unique2", "bincount", "unique_consecutive", "unique_dim")},
    "unique_dim_consecutive.default": _SIZE,
    "masked_select.default": _SIZE,
    "nonzero.default": _SIZE,
}
SIZES = frozenset({"sym_size.int", "sym_numel.default"})
"""Ops whose results are sizes: they are known from the types, and need no rows."""
KEPT = (
    *("_safe_softmax", "binary_cross_entropy", "celu", "detach", "hardsigmoid", "hardswish", "linear", "matmul", "mish"),
    *("multilabel_margin_loss_forward", "scaled_dot_product_attention", "sinc", "softplus", "special_entr"),
    *("roll", "upsample_nearest1d.vec", "upsample_nearest3d.vec"),
    *(f"_upsample_nearest_exact{n}d.vec" for n in (1, 2, 3)),
    *("special_log_ndtr", "special_xlog1py", "std.correction", "std_mean.correction", "xlogy"),
)
"""
Ops, or one overload of an op, that have rows, so that torch is not asked to decompose them. Its decomposition of
`multilabel_margin_loss_forward` has another value than the op; those of functions have another derivative than the op at their
bounds or at 0, or NaN where one of their pieces overflows.
"""
KEPT_STATIC = (
    *("col2im.default", "grid_sampler_2d.default", "unfold_backward.default"),
    *(f"{kind}_pad{n}d.default" for kind in ("reflection", "replication") for n in (1, 2, 3)),
)
"""Overloads whose rows need sizes: torch decomposes calls where a dimension has a name."""
DECOMPOSED = (
    *(
        "dist.default",
        "ldexp.Tensor",
        "narrow_copy.default",
        "native_batch_norm.default",
    ),
    *("tril_indices.default", "triu_indices.default", "upsample_bicubic2d.default", "upsample_bilinear2d.default"),
    "upsample_trilinear3d.default",
)
"""Ops that torch has decompositions of into ops with rows, but leaves whole unless it is asked."""
