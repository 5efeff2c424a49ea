"""
Programs of one op for tests of vectorisation: a row for each op and kind, of every dtype that it works in.

Types are written as in `ptir_rows`, with `{d}` for the dtype. `below` gives for operands that are indices the first number that
is out of range.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from mind_dialect.ptir import OPS_BY_OPCODE
from mind_dialect.ptir.attributes import scalar
from mind_dialect.ptir.legal import LEGAL
from mind_dialect.ptir.reduction import REDUCE_KINDS
from mind_dialect.ptir.types import PtirDType, read_type
from mind_lowering.ptir_kernels.formats import array_dtype
from ptir_forms import program
from ptir_oracle import array, samples
from ptir_rows import conv, patches, places, read_rows, segments, top, window, write_rows


@dataclass(frozen=True)
class Row:
    """An op on operands; several rows of one key have different `name`s."""

    key: str
    types: str
    properties: dict[str, Any] = field(default_factory=dict)
    below: dict[int, int] = field(default_factory=dict)
    name: str = ""
    dtypes: tuple[str, ...] = ()
    """The dtypes to run, where not all that are legal fit."""

    def legal(self) -> list[PtirDType]:
        return [d for d in next(iter(LEGAL[self.key].values())) if not self.dtypes or d.name in self.dtypes]

    def module(self, dtype: PtirDType) -> ModuleOp:
        opcode, _, kind = self.key.partition(" ")
        op = OPS_BY_OPCODE[opcode]
        values = {**({"kind": kind} if kind else {}), **self.properties}
        for name in op.SCALARS:
            values[name] = scalar(dtype, array([values[name]], dtype)[0].item())

        def body(*operands: Any) -> Any:
            made = op(*operands, **values)
            return list(made.results)

        return program(self.types.replace("{d}", dtype.name), body)

    def __str__(self) -> str:
        return f"{self.key} {self.name}".strip().replace(" ", "-")


def R(key: str, types: str, name: str = "", below: dict[int, int] | None = None, dtypes: tuple[str, ...] = (), **properties: Any):
    return Row(key, types, properties, below or {}, name, dtypes)


ARITHMETIC = ("atan2", "add", "sub", "mul", "maximum", "minimum", "pow", "and", "or", "xor")
SHIFTS = ("shift_left", "shift_right_arithmetic", "shift_right_logical")
UNARY = (
    *("neg", "abs", "exp", "log", "tanh", "erf", "rsqrt", "reciprocal", "stop_gradient", "sqrt", "sin", "cos", "floor"),
    *("ceil", "round", "sign", "logistic", "expm1", "log1p", "not"),
    *("cbrt", "round_away", "erf_inv", "lgamma", "digamma", "popcount", "count_leading_zeros"),
)
COMPARISONS = tuple(key for key in LEGAL if key.startswith("compare "))
DOT = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (1,), "contract_rhs": (0,)}
padded_places = {
    "window_dims": (2, 3),
    "strides": (1, 2),
    "padding": ((2, 0), (1, 1)),
    "window_dilation": (1, 1),
}
SCATTER = {"inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
MODES = (("raise", 5), ("clamp", 7), ("fill", 7))
NARROW = ("bf16", "f16", "f32", "f64")

ROWS: tuple[Row, ...] = (
    *(R(key, "{d}[2,3]") for key in UNARY),
    *(R(key, "{d}[2,3] {d}[2,3]") for key in (*ARITHMETIC, *COMPARISONS)),
    *(R(key, "{d}[2,3] {d}[2,3]", "by", dtypes=("f32", "f64", "f16", "cf32")) for key in ("div",)),
    R("remainder", "{d}[2,3] {d}[2,3]", dtypes=("f32", "f64")),
    *(R(key, "{d}[2,3] {d}[2,3]", below={1: 4}) for key in SHIFTS),
    R("select", "i1[3] {d}[3] {d}[3]"),
    R("clamp", "{d}[3] {d}[3] {d}[3]"),
    R("cast", "{d}[2,3]", dtype="cf64"),
    *(R(key, "{d}[2,3]") for key in ("real", "imag", "conj")),
    R("complex", "{d}[2,3] {d}[2,3]", dtypes=("f32",)),
    R("bitcast", "{d}[2,3]", dtypes=("f32", "si32"), dtype="ui32"),
    R("truncate", "{d}[2,3]", dtype="si8"),
    *(R(f"reduce {kind}", "{d}[2,3]", axes=(-1,), keepdims=False) for kind in REDUCE_KINDS),
    *(R(f"reduce {kind}", "{d}[2,3]", "kept", axes=(0, -1), keepdims=True) for kind in REDUCE_KINDS),
    R("reduce sum", "{d}[2,3]", "nothing", axes=(), keepdims=False),
    R("arg_max", "{d}[2,3]", axis=-2, keepdims=True, output_dtype="si32"),
    R("arg_min", "{d}[2,3]", axis=-2, keepdims=False, output_dtype="si64"),
    R("dot_general", "{d}[2,3] {d}[3,4]", **DOT),
    R("dot_general", "{d}[2,5,3] {d}[5,3,4]", "batches", batch_lhs=(1,), batch_rhs=(-3,), contract_lhs=(-1,), contract_rhs=(1,)),
    R("dot_general", "{d}[3] {d}[3]", "vectors", batch_lhs=(), batch_rhs=(), contract_lhs=(0,), contract_rhs=(-1,)),
    R("dot_general", "{d}[2] {d}[3]", "outer", batch_lhs=(), batch_rhs=(), contract_lhs=(), contract_rhs=()),
    R("reshape", "{d}[2,3]", new_shape=(3, -1)),
    R("reshape", "{d}[0,3]", "empty", new_shape=(0, 7)),
    R("transpose", "{d}[2,3,4]", perm=(-1, 0, 1)),
    R("broadcast_to", "{d}[3,1]", result_shape=(2, 3, 4)),
    R("broadcast_to", "{d}[]", "scalar", result_shape=(2,)),
    R("slice", "{d}[4,3]", starts=(1, 0), sizes=(2, 3)),
    R("slice", "{d}[4,3]", "both", starts=(0, 1), sizes=(0, 1)),
    R("strided_slice", "{d}[7,4]", starts=(1, 0), limits=(7, 4), strides=(3, 2)),
    R("concat", "{d}[2,3] {d}[2,1] {d}[2,2]", axis=-1),
    R("pad", "{d}[2,3]", low=(1, 0), high=(0, 2), interior=(0, 1), pad_value=1),
    R("tile", "{d}[2,3]", repeats=(2, 0)),
    R("tile", "{d}[2,3]", "more", repeats=(1, 2)),
    R("reverse", "{d}[2,3]", axes=(-1,)),
    R("dimension_size", "{d}[2,3]", axis=-1),
    R("take", "{d}[5,2] si32[3]", below={1: 5}),
    R("take", "{d}[5] si64[]", "scalar", below={1: 5}),
    R("take", "{d}[5,2,2] si32[2,3]", "matrix", below={1: 5}),
    R("gather", "{d}[2,5] si32[2,3]", below={1: 5}, axis=-1),
    R("gather", "{d}[5,2] si64[3,2]", "first", below={1: 5}, axis=0),
    R("scatter_add", "{d}[5,2] si32[3] {d}[3,2]", below={1: 5}, update_window_dims=(1,), **SCATTER),
    R("scatter_add", "{d}[5,2] si32[1,3] {d}[3,1]", "vector", {1: 5}, update_window_dims=(1,), index_vector_dim=0, **SCATTER),
    R(
        "scatter_add",
        "{d}[4,6] si64[3,2] {d}[2,3]",
        "windows",
        {1: 3},
        update_window_dims=(0,),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(1, 0),
        index_vector_dim=-1 + 2,
    ),
    *(R(f"scatter_reduce {k}", "{d}[5,2] si32[3,2] {d}[3,2]", below={1: 5}, axis=0) for k in ("add", "max", "min", "replace")),
    *(R("gather_windows", "{d}[5,4] si32[3,1]", m, {1: n}, **{**read_rows, "mode": m}) for m, n in MODES),
    *(
        R(f"scatter_windows {k}", "{d}[5,4] si32[3,1] {d}[3,3]", below={1: 7}, **write_rows)
        for k in ("add", "mul", "min", "max", "replace")
    ),
    R("ragged_dot rows", "{d}[5,2] {d}[3,2,4] si32[3]"),
    R("ragged_dot contract", "{d}[5,2] {d}[5,4] si64[3]"),
    *(R(f"fft {kind}", "{d}[2,4]", lengths=(4,)) for kind in ("fft", "ifft", "rfft")),
    R("fft irfft", "{d}[2,4]", lengths=(2, 6)),
    R("dynamic_slice", "{d}[5,4] si32[2]", sizes=(2, 4)),
    R("dynamic_slice", "{d}[2,3,4] si64[3]", "deep", sizes=(1, 2, 3)),
    R("dynamic_slice", "{d}[5,4] si32[2]", "nothing", sizes=(0, 4)),
    R("dynamic_slice", "{d}[] si32[0]", "scalar", sizes=()),
    R("dynamic_update_slice", "{d}[5,4] {d}[2,3] si32[2]", sizes=(2, 3)),
    R("dynamic_update_slice", "{d}[] {d}[] si32[0]", "scalar", sizes=()),
    R("layer_norm", "{d}[2,4] {d}[4] {d}[4]", epsilon=1e-3, feature_axis=-1),
    R("layer_norm", "{d}[4,2] {d}[4] {d}[4]", "first", epsilon=1e-3, feature_axis=0),
    *(R(f"reduce_window {kind}", "{d}[5]", **window) for kind in ("sum", "max", "min")),
    *(R(f"window_arg {kind}", "{d}[5]", output_dtype="si32", **places) for kind in ("max", "min")),
    R("window_arg max", "{d}[4,3]", "padding", output_dtype="si64", **padded_places),
    R("extract_patches", "{d}[2,5,5,2]", **patches),
    R("convolution", "{d}[2,4,4,2] {d}[2,2,2,3]", **conv),
    R("convolution", "{d}[1,4,4,4] {d}[2,2,2,6]", "groups", **{**conv, "feature_group_count": 2}),
    R("top_k", "{d}[2,5]", k=3, axis=-1, **top),
    R("sort", "{d}[2,4]", axis=0, descending=True),
    *(R(f"cumulative {kind}", "{d}[2,4]", axis=0, exclusive=True, reverse=True) for kind in ("prod", "max", "min")),
    R("cumulative_sum", "{d}[2,4]", axis=-1, exclusive=True, reverse=True),
    *(R(f"segment_reduce {kind}", "{d}[4,2] si32[4]", below={1: 3}, num_segments=3, **segments) for kind in ("sum", "max")),
    R("quantize", "{d}[2,3]", output_dtype="si8"),
    R("quantize", "{d}[2,3] {d}[] si8[]", "scaled", output_dtype="si8"),
    R("quantize", "{d}[2,3] {d}[3] si8[3]", "along", output_dtype="si8", axis=-1),
    R("dequantize", "{d}[2,3] f32[] {d}[]", "scaled"),
    R("dequantize", "{d}[2,3] f32[2] {d}[2]", "along", axis=0),
    R("requantize", "{d}[2,3] f32[] {d}[] f32[] ui8[]", "scaled", output_dtype="ui8"),
    R("requantize", "{d}[3] f32[3] {d}[3] f32[3] ui8[3]", "along", output_dtype="ui8", axis=0),
)
ROUNDED = frozenset(
    [
        *("exp", "log", "tanh", "erf", "rsqrt", "sqrt", "sin", "cos", "logistic", "expm1", "log1p", "pow", "reciprocal", "div"),
        *("cbrt", "erf_inv", "lgamma", "digamma", "atan2"),
        *(
            "reduce sum",
            "reduce prod",
            "cumulative_sum",
            "cumulative prod",
            "layer_norm",
            "dot_general",
            "convolution",
            "reduce_window sum",
        ),
    ]
)
"""What may differ in its last places, since sums are taken in another order, or by another instruction."""


def inputs(func: FuncOp, row: Row, seed: int = 0, count: int | None = None) -> list[np.ndarray]:
    """Arguments of a function; `count` of each along a new axis 0."""
    found = []
    for i, argument in enumerate(func.body.block.args):
        dtype, shape = read_type(argument.type)
        shape = tuple(n if isinstance(n, int) else 2 for n in shape)
        shape = shape if count is None else (count, *shape)
        size = int(np.prod(shape))
        if i in row.below:
            drawn = np.random.default_rng([seed, i]).integers(0, row.below[i], size)
            found.append(drawn.astype(array_dtype(dtype.name)).reshape(shape))
        else:
            pool = samples(dtype, max(size, 12), special=row.key not in ROUNDED and "quantize" not in row.key, seed=seed + i)
            if "quantize" in row.key and dtype.is_float:
                pool = np.abs(pool.astype(np.float64)).astype(pool.dtype) + pool.dtype.type(0.25)
            order = np.random.default_rng([seed, i]).permutation(max(size, len(pool))) % len(pool)
            found.append(pool[order[:size]].reshape(shape))
    return found


def patterns(count: int) -> list[tuple[bool, ...]]:
    """Which operands are batched, at least one."""
    return [p for p in product((True, False), repeat=count) if any(p)]
