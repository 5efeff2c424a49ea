"""Shapes of constants and of ops that work element by element: Core IR broadcasts, PTIR wants equal shapes."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from mind_dialect import core, ptir
from mind_dialect.core import CoreOp
from mind_dialect.ptir import PtirOp

from ..emitter import Emitter, Shape
from .row import Row


def _first(e: Emitter, op: Operation, x: Shape, *others: Shape) -> Shape:
    return x


def _broadcast(e: Emitter, op: Operation, a: Shape, b: Shape) -> Shape:
    return e.broadcast(a, b)


def _same(e: Emitter, op: Operation, *shapes: Shape) -> Shape:
    return e.same(*shapes)


def _scalar(e: Emitter, op: Operation) -> Shape:
    return e.shape([])


def _core_literal(e: Emitter, op: core.ConstantOp) -> Shape:
    return e.shape(op.literal.type.get_shape())


def _literal(e: Emitter, op: ptir.ConstantOp) -> Shape:
    return e.stated(op.literal.spec[1])


def _stated(e: Emitter, op: PtirOp) -> Shape:
    return e.stated(op.values()["shape"])


CORE: Mapping[type[CoreOp], Row] = {
    core.ConstI64Op: _scalar,
    core.ConstF32Op: _scalar,
    core.ConstF64Op: _scalar,
    core.ConstantOp: _core_literal,
    core.AddOp: _broadcast,
    core.SubOp: _broadcast,
    core.MulOp: _broadcast,
    core.DivOp: _broadcast,
    core.ReluOp: _first,
    core.NegOp: _first,
    core.ExpOp: _first,
    core.LogOp: _first,
    core.ReluGradOp: _same,
    core.ReciprocalOp: _first,
}

PTIR: Mapping[type[PtirOp], Row] = {
    ptir.ConstantOp: _literal,
    **dict.fromkeys((*ptir.UNARY_OPS, *ptir.UNARY_EXTENSIONS, *ptir.CONVERSIONS), _first),
    **dict.fromkeys((ptir.RealOp, ptir.ImagOp, ptir.ConjOp), _first),
    ptir.ComplexOp: _same,
    **dict.fromkeys((*ptir.FUNCTIONS, ptir.DigammaOp), _first),
    ptir.Atan2Op: _same,
    **dict.fromkeys((*ptir.BINARY_OPS, *ptir.BINARY_EXTENSIONS), _same),
    ptir.CompareOp: _same,
    ptir.SelectOp: _same,
    ptir.CastOp: _first,
    ptir.StopGradientOp: _first,
    ptir.ClampOp: _same,
    ptir.RngUniformOp: _stated,
    ptir.RngNormalOp: _stated,
    ptir.IotaOp: _stated,
    ptir.CumulativeSumOp: _first,
    ptir.CumulativeOp: _first,
    ptir.SortOp: _first,
    ptir.ReverseOp: _first,
}
