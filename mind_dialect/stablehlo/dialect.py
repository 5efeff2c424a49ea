"""
StableHLO, CHLO and Shardy as xDSL dialects: enough to hold a program that is read or built, and to print it in the generic form.

An op has no verifier here: whoever reads a program checks what it reads. Attributes keep the text between their brackets. Op
names are those of the StableHLO specification and of the dialects' own definitions; which of them PTIR can express is said by the
importer's tables of rows, and which ops of PTIR they can express by the exporter's.
"""

from __future__ import annotations

import re
from typing import Any, cast

from xdsl.ir import Attribute, Data, Dialect, Operation, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, traits_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator

STABLEHLO_NAMES: tuple[str, ...] = tuple(
    """
    abs add after_all all_gather all_reduce all_to_all and async_done async_start atan2 batch_norm_grad batch_norm_inference
    batch_norm_training bitcast_convert broadcast broadcast_in_dim case cbrt ceil cholesky clamp collective_broadcast
    collective_permute compare complex composite concatenate constant convert convolution cosine count_leading_zeros create_token
    cross-replica-sum custom_call divide dot dot_general dynamic_broadcast_in_dim dynamic_conv dynamic_gather dynamic_iota
    dynamic_pad dynamic_reshape dynamic_slice dynamic_update_slice einsum exponential exponential_minus_one fft floor gather
    get_dimension_size get_tuple_element if imag infeed iota is_finite log log_plus_one logistic map maximum minimum multiply
    negate not optimization_barrier or outfeed pad partition_id popcnt power real real_dynamic_slice recv reduce reduce_precision
    reduce_scatter reduce_window remainder replica_id reshape return reverse rng rng_bit_generator round_nearest_afz
    round_nearest_even rsqrt scatter select select_and_scatter send set_dimension_size shift_left shift_right_arithmetic
    shift_right_logical sign sine slice sort sqrt subtract tan tanh torch_index_select transpose triangular_solve tuple
    unary_einsum uniform_dequantize uniform_quantize while xor
    """.split()
)
CHLO_NAMES: tuple[str, ...] = tuple(
    """
    _asin_acos_kernel acos acosh asin asinh atan atanh bessel_i1e broadcast_add broadcast_and broadcast_atan2 broadcast_compare
    broadcast_complex broadcast_divide broadcast_maximum broadcast_minimum broadcast_multiply broadcast_next_after broadcast_or
    broadcast_polygamma broadcast_power broadcast_remainder broadcast_select broadcast_shift_left
    broadcast_shift_right_arithmetic broadcast_shift_right_logical broadcast_subtract broadcast_xor broadcast_zeta conj constant
    constant_like cosh digamma erf erf_inv erfc is_inf is_neg_inf is_pos_inf lgamma mulhi next_after polygamma ragged_dot scan
    sinh square tan top_k zeta
    """.split()
)
SDY_NAMES: tuple[str, ...] = tuple(
    """
    all_gather all_reduce all_slice all_to_all collective_permute constant data_flow_edge func_data_flow_edge manual_computation
    mesh named_computation propagation_barrier reduce_scatter replicated_to_unreduced reshard return sharded_to_unreduced
    sharding_constraint sharding_group
    """.split()
)
ATTRIBUTE_NAMES: dict[str, tuple[str, ...]] = {
    "stablehlo": tuple(
        """
        bounds channel_handle comparison_direction comparison_type conv custom_call_api_version dot dot_algorithm fft_type gather
        output_operand_alias precision replica_group_mesh_axes result_accuracy result_accuracy_mode rng_algorithm
        rng_distribution scatter transpose type_extensions axis_ref mesh mesh_axis sub_axis_info
        """.split()
    ),
    "chlo": ("comparison_direction", "comparison_type", "precision", "ragged_dot"),
    "sdy": tuple(
        """
        axis_ref axis_ref_list dim_mapping dimension_sharding edge_sharding list_of_axis_ref_lists manual_axes mesh mesh_axis
        op_sharding_rule propagation_edges sharding sharding_per_value sub_axis_info
        """.split()
    ),
    "mhlo": ("sharding", "frontend_attributes", "layout_mode"),
}
ENUMERATIONS: frozenset[str] = frozenset(
    """
    comparison_direction comparison_type custom_call_api_version fft_type precision result_accuracy_mode rng_algorithm
    rng_distribution transpose
    """.split()
)
"""Attributes that are one word, which MLIR writes as in `#stablehlo<precision HIGHEST>`."""
TYPE_NAMES: dict[str, tuple[str, ...]] = {"stablehlo": ("token", "future"), "quant": ("uniform",), "torch": ("int",)}


class ForeignOp(Operation):
    """An op of another system's dialect, as it was read. It prints in the generic form."""

    traits = traits_def()

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        """Read what follows the op's name in the pretty form."""
        from .forms import parse_pretty  # loaded by the first pretty op

        return parse_pretty(cls, parser)


class ForeignAttribute(Data[str]):
    """An attribute of another system's dialect: the text between its brackets."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """Read `<...>`, or what is left of `#dialect<name ...>` up to its bracket."""
        state = cast(Any, parser)  # xDSL scans the bodies of unregistered attributes with methods that it keeps to itself
        if state._current_token.text == "<":
            return state._parse_dialect_symbol_body()
        start: int = state._current_token.span.start
        content: str = state.lexer.input.content
        if _OPAQUE.search(content, max(0, start - 80), start) is None:
            return ""
        end = state._raw_scan_balanced(start)
        state._resume_from(end)
        return content[start:end].strip()

    def print_parameter(self, printer: Printer) -> None:
        if self.data or self.name in _NEVER_BARE:
            printer.print_string(f"<{self.data}>")


_OPAQUE = re.compile(r"[#!]\w+<\s*\w+\s*$")


_NEVER_BARE = frozenset({"stablehlo.dot", "stablehlo.gather", "stablehlo.scatter"})
"""Attributes that MLIR reads only with brackets, also around nothing."""


class ForeignEnumeration(ForeignAttribute, SpacedOpaqueSyntaxAttribute):
    """A word of another system's dialect."""

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data)


class ForeignType(ForeignAttribute, TypeAttribute):
    """A type of another system's dialect."""


class ForeignTerminator(ForeignOp):
    """An op that ends a region."""

    traits = traits_def(IsTerminator())


class ForeignBodies(ForeignOp):
    """An op whose regions may be empty blocks."""

    traits = traits_def(NoTerminator())


def _dialect(name: str, ops: tuple[str, ...]) -> Dialect:
    def op(short: str) -> type[Operation]:
        base = ForeignTerminator if short == "return" else ForeignBodies if short in ("custom_call", "mesh") else ForeignOp
        return cast(type[Operation], type(f"{name}_{short}", (base,), {"name": f"{name}.{short}"}))

    def attribute(base: type[ForeignAttribute], short: str) -> type[Attribute]:
        return irdl_attr_definition(type(f"{name}_{short}", (base,), {"name": f"{name}.{short}", "__module__": __name__}))

    names = ATTRIBUTE_NAMES.get(name, ())
    attributes = [attribute(ForeignEnumeration if short in ENUMERATIONS else ForeignAttribute, short) for short in names]
    types = [attribute(ForeignType, short) for short in TYPE_NAMES.get(name, ())]
    return Dialect(name, [op(short) for short in ops], [*attributes, *types])


Stablehlo = _dialect("stablehlo", STABLEHLO_NAMES)
Chlo = _dialect("chlo", CHLO_NAMES)
Sdy = _dialect("sdy", SDY_NAMES)
Mhlo = _dialect("mhlo", ())
Quant = _dialect("quant", ())
Torch = _dialect("torch", ("symbolic_int", "bind_symbolic_shape"))
"""Ops of its own that torch-mlir keeps next to StableHLO: symbols of sizes, and the dimensions that they bind."""

DIALECTS: dict[str, Dialect] = {d.name: d for d in (Stablehlo, Chlo, Sdy, Mhlo, Quant)}
OP_TYPES: dict[str, type[Operation]] = {op.name: op for d in (Stablehlo, Chlo, Sdy) for op in d.operations}
"""The op classes by full name."""
ATTRIBUTE_TYPES: dict[str, type[ForeignAttribute]] = {
    attribute.name: cast("type[ForeignAttribute]", attribute) for d in DIALECTS.values() for attribute in d.attributes
}
"""The attribute and type classes by full name."""
