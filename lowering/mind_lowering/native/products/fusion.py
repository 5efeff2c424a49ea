"""
A fusion that begins with a product: what follows it place by place is the product's epilogue, a reduction a group after it.

Other forms of fusions with products in them, which only somebody's own passes make, are planned op by op.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import PtirDType

from ...launch.kernel_patterns import Match, Rejection
from ..demanded import shape_of
from ..grouping import is_elementwise
from ..patterns import Builder, Operands, moving
from ..reasons import unsupported
from ..target_info import TargetInfo
from ..views import View
from .axes import Form, accumulator, append, is_tiled
from .chain import MADE, Chain, taken_over


@dataclass(frozen=True)
class FusedProduct:
    """The members of a fusion: views and constants, a product, elementwise ops that follow it, and their reductions."""

    made: Sequence[PtirOp]
    product: ptir.DotGeneralOp
    chain: Sequence[PtirOp]
    reductions: Sequence[PtirOp]


def match_fused_product(op: ptir.FusionOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a fusion of a product, elementwise ops on its result, and reductions of what they give."""
    del operands
    found = fused_product(op, host)
    return found if isinstance(found, Rejection) else Match(moving([*op.operands, *op.results]), found)


def fused_product(op: ptir.FusionOp, host: TargetInfo) -> FusedProduct | Rejection:
    """Return the members of a fusion of a product and what follows it, or why it is none, wherever its operands are."""
    ops = [inner for inner in op.body.block.ops if isinstance(inner, PtirOp) and not isinstance(inner, ptir.YieldOp)]
    products = [inner for inner in ops if isinstance(inner, ptir.DotGeneralOp)]
    if len(products) != 1:
        return Rejection(f"{len(products)} products")
    (product,) = products
    total = accumulator(product)
    if reason := unsupported([product.operand_spec(0).dtype, total, product.result_spec().dtype], host):
        return Rejection(reason)
    chain = [inner for inner in ops if is_elementwise(inner) and not isinstance(inner, ptir.StopGradientOp)]
    reductions = [inner for inner in ops if isinstance(inner, ptir.ReduceOp)]
    if not chain or not _is_chain(ops, product, chain, reductions):
        return Rejection("the ops after the product are not elementwise on its result")
    if not is_tiled(product):
        return Rejection(f"products of no elements, or accumulated in {total}, are not tiled")
    made = [inner for inner in ops if isinstance(inner, MADE)]
    return FusedProduct(made, product, chain, reductions)


def expand_fused_product(build: Builder, op: ptir.FusionOp, match: Match) -> None:
    """Append the product of a fusion with its epilogue, and reductions of what that gives."""
    found: FusedProduct = match.schedule
    for inner in found.made:
        build.step(inner)
    _append(build, found.product, accumulator(found.product), found.chain)
    for reduction in found.reductions:
        build.group([reduction], reduction.results)


def _is_chain(ops: Sequence[PtirOp], product: PtirOp, chain: Sequence[PtirOp], reductions: Sequence[PtirOp]) -> bool:
    """Return whether a product's operands come from outside, elementwise ops of its shape follow, and their reductions end it."""
    shape = shape_of(product.results[0])
    inside: set[Operation] = {product, *chain}
    late: set[Operation] = {*inside, *reductions}
    for op in ops:
        needs = {v.owner for v in op.operands}
        if op in reductions:
            fits = needs <= inside and bool(needs)
        elif op in inside:
            outside = op is product and bool(needs & late)
            fits = shape_of(op.results[0]) == shape and not op.can_fail() and not needs & set(reductions) and not outside
        else:
            fits = isinstance(op, MADE) and not needs & late
        if not fits:
            return False
    return True


def _append(build: Builder, product: ptir.DotGeneralOp, total: PtirDType, chain: Sequence[PtirOp]) -> None:
    """Append a product with its epilogue."""
    form = Form.of(product)
    operands = form.operands(build)
    inside: set[Operation] = {product, *chain}
    results = [r for op in (product, *chain) for r in op.results if any(use.operation not in inside for use in r.uses)]
    targets = [build.target(value) for value in results]
    inputs: dict[SSAValue, View] = {}
    for value in [v for op in chain for v in op.operands if v.owner not in inside]:
        view = build.view(value)
        if view.lookups or not form.joins(operands, targets[0], view):
            view = build.copied(value, view)
        inputs[value] = view
    lhs, rhs, *others = form.matrices(operands, [*targets, *inputs.values()])
    outs, reads = others[: len(targets)], others[len(targets) :]
    made = Chain(product.result, total, chain, dict(zip(inputs, reads, strict=True)), list(zip(results, outs, strict=True)))
    over = taken_over(operands, list(inputs.values()), targets)
    limits = form.limits(build.demanded, results, lhs.shape[-2], rhs.shape[-1])
    append(build, product, (lhs, rhs, outs[0]), made.epilogue(over), limits)
