"""A fusion that begins with a convolution: what follows it place by place is done on its results in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp

from ...launch.kernel_patterns import Match, Rejection
from ...launch.views import VIEWS
from ..demanded import shape_of
from ..grouping import is_elementwise
from ..patterns import Builder, Operands, moving
from ..products.chain import Chain, Epilogue, taken_over
from ..target_info import TargetInfo
from ..views import View, reshaped
from .by_places import why_not_by_places
from .convolution import is_long
from .phases import why_no_phases
from .plan import Append, accumulator, append, append_by_phases, why_no_convolution

_MADE = (*VIEWS, ptir.ConstantOp, ptir.IotaOp)
"""Ops that are views of what is outside."""


@dataclass(frozen=True)
class FusedConvolution:
    """The members of a fusion: a convolution, its result or what reshapes it, elementwise ops, and views of what is outside."""

    op: ptir.ConvolutionOp
    root: PtirOp
    chain: list[PtirOp]
    outside: list[PtirOp]


def match_fused_convolution(op: ptir.FusionOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a fusion of a convolution and elementwise ops on its result."""
    del operands
    found = fused_convolution(op, host)
    return found if isinstance(found, Rejection) else Match(moving([*op.operands, *op.results]), found)


def fused_convolution(op: ptir.FusionOp, host: TargetInfo) -> FusedConvolution | Rejection:
    """Return the members of a fusion of a convolution and what follows it, or why it is none, wherever its operands are."""
    ops = [inner for inner in op.body.block.ops if isinstance(inner, PtirOp) and not isinstance(inner, ptir.YieldOp)]
    found = [inner for inner in ops if isinstance(inner, ptir.ConvolutionOp)]
    if len(found) != 1:
        return Rejection(f"{len(found)} convolutions")
    if reason := why_no_convolution(found[0], host):
        return Rejection(reason)
    if 0 in shape_of(found[0].rhs):
        return Rejection("windows of no elements")
    if why_not_by_places(found[0], host) is None:
        return Rejection("its lanes run from place to place")
    if is_long(found[0]):
        return Rejection("the sums of a long window are finished block by block")
    root: PtirOp = found[0]
    (use,) = list(root.results[0].uses)[:1]
    if isinstance(use.operation, ptir.ReshapeOp) and len(list(root.results[0].uses)) == 1:
        root = use.operation
    chain = [inner for inner in ops if is_elementwise(inner) and not isinstance(inner, ptir.StopGradientOp)]
    outside = [inner for inner in ops if inner not in (found[0], root) and inner not in chain]
    if not chain or not _is_chain(found[0], root, chain, outside):
        return Rejection("the ops after the convolution are not elementwise on its result")
    return FusedConvolution(found[0], root, chain, outside)


def match_fused_phases(op: ptir.FusionOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a fusion as `match_fused_convolution` does whose convolution is computed by phases."""
    found = match_fused_convolution(op, operands, host)
    if isinstance(found, Match) and (reason := why_no_phases(found.schedule.op)) is not None:
        return Rejection(reason)
    return found


def expand_fused_convolution(build: Builder, op: ptir.FusionOp, match: Match) -> None:
    """Append the convolution of a fusion with its epilogue."""
    _expand(build, match.schedule, append)


def expand_fused_phases(build: Builder, op: ptir.FusionOp, match: Match) -> None:
    """Append the convolution of a fusion with its epilogue, phase by phase."""
    _expand(build, match.schedule, append_by_phases)


def _expand(build: Builder, found: FusedConvolution, how: Append) -> None:
    for inner in found.outside:
        build.step(inner)
    _append(build, found.op, found.root, found.chain, how)


def _is_chain(first: PtirOp, root: PtirOp, chain: list[PtirOp], outside: list[PtirOp]) -> bool:
    """Return whether a convolution, which `root` is or reshapes, feeds elementwise ops of its shape; others are views."""
    inside: set[Operation | object] = {first, root, *chain}
    if any(v.owner in inside for op in (first, *outside) for v in op.operands):
        return False
    shape = shape_of(root.results[0])
    whole = 0 not in shape and all(shape_of(op.results[0]) == shape and not op.can_fail() for op in chain)
    return whole and all(isinstance(op, _MADE) for op in outside)


def _append(build: Builder, op: ptir.ConvolutionOp, root: PtirOp, chain: list[PtirOp], how: Append) -> None:
    inside: set[Operation | object] = {op, root, *chain}
    shape = shape_of(op.result)
    results = [r for inner in (root, *chain) for r in inner.results if any(use.operation not in inside for use in r.uses)]
    targets = [build.target(value) for value in results]
    inputs: dict[SSAValue, View] = {}
    for value in [v for inner in chain for v in inner.operands if v.owner not in inside]:
        view = build.view(value)
        if view.lookups or reshaped(view, shape) is None:
            view = build.copied(value, view)
        inputs[value] = view
    operands = [build.view(v) for v in op.operands]
    over = taken_over(operands, list(inputs.values()), targets)

    def follow(views: Sequence[View]) -> Epilogue:
        outs, reads = views[: len(targets)], views[len(targets) :]
        made = Chain(
            root.results[0], accumulator(op), chain, dict(zip(inputs, reads, strict=True)), list(zip(results, outs, strict=True))
        )
        return made.epilogue(over)

    how(build, op, [_placed(view, shape) for view in (*targets, *inputs.values())], follow)


def _placed(view: View, shape: tuple[int, ...]) -> View:
    """A view in the shape of the convolution."""
    found = reshaped(view, shape)
    assert found is not None, "asked before"
    return replace(found, shape=shape)
