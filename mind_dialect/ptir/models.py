"""Ops of a model's vocabulary: normalisation, random numbers, top-k, quantisation, custom calls."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.ir import Operation, Region
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, NoMemoryEffect

from .. import ptir_shapes as shapes
from ..codecs import BOOLEAN
from ..errors import error
from ..op import TENSOR
from ..ptir_shapes import Dims
from .attributes import DIM, DIMS, DTYPE, INTEGER, REAL, TEXT
from .base import OneResultOp, PtirOp
from .call_attributes import CALL_ATTRIBUTES
from .legal import WIDE_FLOATS, mixed
from .types import F32, PtirDType, TensorSpec


@irdl_op_definition
class LayerNormOp(OneResultOp):
    """`(x - mean) / sqrt(variance + epsilon) * gamma + beta` along `feature_axis`, with the biased variance."""

    name = "ptir.layer_norm"
    SAME_DTYPE: ClassVar = ("x", "gamma", "beta")
    RULE: ClassVar = staticmethod(shapes.layer_norm)
    RULE_TAKES: ClassVar = ("feature_axis",)
    x = operand_def(TENSOR)
    gamma = operand_def(TENSOR)
    beta = operand_def(TENSOR)
    epsilon = prop_def(REAL)
    feature_axis = prop_def(INTEGER)

    @classmethod
    def infer(cls, operands: Sequence[TensorSpec], values: Mapping[str, Any]) -> Sequence[TensorSpec]:
        if not 0 <= values["epsilon"] < float("inf"):
            message = f"epsilon {values['epsilon']}, expected a finite number from 0 up"
            raise error("E8002", message, attribute="epsilon", value=values["epsilon"])
        return super().infer(operands, values)


class Draws(MemoryEffect):
    """A draw is told apart by its place among the draws: to xDSL's passes, which must neither merge nor erase it, a write."""

    @classmethod
    def get_effects(cls, op: Operation) -> frozenset[EffectInstance]:
        return frozenset((EffectInstance(MemoryEffectKind.WRITE),))


class RandomOp(OneResultOp, ABC):
    """
    Random numbers of a shape, from Philox4x32-10 with the run's seed and the op's place in the program as key.

    The op is pure: a run with the same seed gives the same numbers. Two of them are two draws, so equal ones are not merged.
    """

    traits = traits_def(Draws())

    RULE: ClassVar = staticmethod(shapes.extents)
    RULE_TAKES: ClassVar = ("shape",)
    shape = prop_def(DIMS)
    dtype = prop_def(DTYPE)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return values["dtype"]


@irdl_op_definition
class RngUniformOp(RandomOp):
    """Uniform in [0, 1)."""

    name = "ptir.rng_uniform"


@irdl_op_definition
class RngNormalOp(RandomOp):
    """Normal of mean 0 and variance 1."""

    name = "ptir.rng_normal"


@irdl_op_definition
class TopKOp(PtirOp):
    """
    The `k` greatest (or least) along `axis`, best first, and their indices; `k` may be an expression of names.

    Of equals the lower index comes first; NaN is greater than all numbers.
    """

    name = "ptir.top_k"
    RULE: ClassVar = staticmethod(shapes.top_k)
    RULE_TAKES: ClassVar = ("k", "axis")
    x = operand_def(TENSOR)
    k = prop_def(DIM)
    axis = prop_def(INTEGER)
    largest = prop_def(BOOLEAN)
    indices_dtype = prop_def(DTYPE)
    result = result_def(TENSOR)
    indices = result_def(TENSOR)
    traits = traits_def(NoMemoryEffect())

    @classmethod
    def infer(cls, operands: Sequence[TensorSpec], values: Mapping[str, Any]) -> Sequence[TensorSpec]:
        (found,) = super().infer(operands, values)
        return [found, TensorSpec(values["indices_dtype"], found.shape)]


def _scaled(x: Dims, *parameters: Dims, axis: int | None = None) -> Dims:
    return shapes.scales(x, parameters, axis)


class QuantizationOp(OneResultOp, ABC):
    """
    Between floats and integers, `q = clamp(round_half_even(x / scale) + zero_point)`, `x = (q - zero_point) * scale`.

    `x` is followed by nothing (scale 1, zero point 0) or by what `PARAMETERS` counts: scales are floats, zero points have the
    dtype of the integers they belong to. Without `axis` both are scalars, with it vectors along it.
    """

    PARAMETERS: ClassVar[tuple[str, ...]] = ("scale", "zero_point")
    RULE: ClassVar = staticmethod(_scaled)
    RULE_TAKES: ClassVar = ("axis",)
    x = operand_def(TENSOR)
    parameters = var_operand_def(TENSOR)
    output_dtype = prop_def(DTYPE)
    axis = opt_prop_def(INTEGER)

    @classmethod
    def check_arity(cls, operands: int, results: int | None, regions: int) -> None:
        super().check_arity(operands, results, regions)
        if operands not in (1, 1 + len(cls.PARAMETERS)):
            expected = f"x alone, or x and {list(cls.PARAMETERS)}"
            raise error("E2007", f"found {operands} operands, expected {expected}", expected=expected, actual=operands)

    @classmethod
    def roles(cls, operands: Sequence[Any]) -> dict[str, Any]:
        return {"x": operands[0], **dict(zip(cls.PARAMETERS, operands[1:], strict=False)), "parameters": []}

    @classmethod
    def scale_dtypes(cls, x: PtirDType, values: Mapping[str, Any]) -> tuple[PtirDType | None, ...]:
        """Return the dtype that each parameter must have; None for any float that is not of 8 bits."""
        return (x, values["output_dtype"])

    @classmethod
    def infer(cls, operands: Sequence[TensorSpec], values: Mapping[str, Any]) -> Sequence[TensorSpec]:
        x, parameters = operands[0], operands[1:]
        first: PtirDType | None = None
        for name, wanted, spec in zip(cls.PARAMETERS, cls.scale_dtypes(x.dtype, values), parameters, strict=False):
            if wanted is None:
                check_scale(name, spec.dtype)
                wanted = first = first or spec.dtype
            if spec.dtype is not wanted:
                raise mixed(f"{name} and what it belongs to", spec.dtype, wanted)
        shape = shapes.scales(x.shape, [spec.shape for spec in parameters], values["axis"])
        return [TensorSpec(cls.result_dtype([spec.dtype for spec in operands], values), shape)]

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return values["output_dtype"]


@irdl_op_definition
class QuantizeOp(QuantizationOp):
    """Floats to integers: `clamp(round_half_even(x / scale) + zero_point)`."""

    name = "ptir.quantize"


@irdl_op_definition
class DequantizeOp(QuantizationOp):
    """Integers to floats: `(x - zero_point) * scale`, in `output_dtype`, else the dtype of the scale, else f32."""

    name = "ptir.dequantize"
    axis = opt_prop_def(INTEGER)
    output_dtype = opt_prop_def(DTYPE)

    @classmethod
    def scale_dtypes(cls, x: PtirDType, values: Mapping[str, Any]) -> tuple[PtirDType | None, ...]:
        return (values["output_dtype"], x)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return values["output_dtype"] or (dtypes[1] if len(dtypes) > 1 else F32)


@irdl_op_definition
class RequantizeOp(QuantizationOp):
    """Integers to integers: dequantized with the first pair, quantized with the second."""

    name = "ptir.requantize"
    PARAMETERS: ClassVar = ("scale", "zero_point", "output_scale", "output_zero_point")

    @classmethod
    def scale_dtypes(cls, x: PtirDType, values: Mapping[str, Any]) -> tuple[PtirDType | None, ...]:
        return (None, x, None, values["output_dtype"])


def check_scale(name: str, dtype: PtirDType) -> None:
    """Raise E2005 unless `dtype` is a float that scales have."""
    if dtype not in WIDE_FLOATS:
        names = [str(d) for d in WIDE_FLOATS]
        message = f"{name} has dtype {dtype}, expected one of {names}"
        raise error("E2005", message, category="DTypeNotSupported", dtype=str(dtype), supported=names)


_TARGET = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)+")
_VERSION = re.compile(r"v[0-9]+")


def check_target(target: str) -> None:
    """
    Raise E8002 unless a custom call's name has a namespace and a version.

    >>> check_target("gpt_rs.faer.conv2d.nhwc.f32.v1")
    >>> check_target("conv2d")
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E8002: target 'conv2d', expected a namespace and a version such as my_project.conv2d.v1
    """
    if _TARGET.fullmatch(target) is None or _VERSION.fullmatch(target.rpartition(".")[2]) is None:
        message = f"target {target!r}, expected a namespace and a version such as my_project.conv2d.v1"
        raise error("E8002", message, attribute="target", value=target)


@irdl_op_definition
class CustomCallOp(PtirOp):
    """
    A pure function that is registered under `target`, with the declared result types; an unknown target is E8007 at run time.

    Build it with `result_types`.
    """

    name = "ptir.custom_call"
    args = var_operand_def(TENSOR)
    target = prop_def(TEXT)
    attrs = prop_def(CALL_ATTRIBUTES)
    res = var_result_def(TENSOR)
    traits = traits_def(NoMemoryEffect())

    def is_speculatable(self) -> bool:
        return False  # what it runs may raise

    @classmethod
    def infer_all(
        cls,
        operands: Sequence[TensorSpec],
        values: Mapping[str, Any],
        regions: Sequence[Region],
        declared: Sequence[TensorSpec] | None,
    ) -> Sequence[TensorSpec]:
        cls.check_dtypes(operands, values)
        check_target(values["target"])
        if declared is None:
            raise error("E2003", "nothing infers the result types of a custom call; give result_types", name="result_types")
        return declared
