"""An attention whose weights others need too, and what depends on its scores: the gradient that autodiff made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import FUSIBLE, CastOp, DotGeneralOp, ExpOp, PtirOp, ReduceOp
from mind_dialect.ptir.types import F32, F64

from ..building import spec_of
from ..patterns import attention, softmax
from ..patterns.matching import Match, MismatchError
from .softmax import ADJOINT, ONE, WEIGHT, Meaning, check_free, leaf, meaning

MOST_OPS = 64
"""So many ops at most depend on the scores of an attention."""


@dataclass(frozen=True)
class ForwardAttention:
    """An attention, whoever else uses what is inside."""

    match: Match
    root: DotGeneralOp
    product: DotGeneralOp
    greatest: ReduceOp
    exponential: ExpOp
    total: ReduceOp

    @property
    def rank(self) -> int:
        """Of the scores."""
        return len(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the scores."""
        return tuple(n for n in spec_of(self.product.result).shape if isinstance(n, int))


def forward_of(root: DotGeneralOp) -> ForwardAttention | None:
    """The attention that ends in `root` and whose weights have other uses; MismatchError if it lacks sizes, f32 or f64."""
    found = attention.match(root)
    if found is None or found.is_closed():
        return None
    weights = root.lhs.owner
    weights = weights.x.owner if isinstance(weights, CastOp) else weights
    assert isinstance(weights, PtirOp), "matched"
    shares = softmax.find(weights)
    product = next(op for op in found.inside if isinstance(op, DotGeneralOp))
    reductions = {op.values()["kind"]: op for op in found.inside if isinstance(op, ReduceOp)}
    assert shares is not None, "matched"
    if shares.guarded:
        raise MismatchError("rows without keys give 0")
    (exponential,) = (op for op in shares.inside if isinstance(op, ExpOp))
    if not all(isinstance(n, int) for v in (product.result, root.result) for n in spec_of(v).shape):
        raise MismatchError("a dimension has no size")
    if (dtype := spec_of(exponential.result).dtype) not in (F32, F64):
        raise MismatchError(f"the softmax is in {dtype}")
    return ForwardAttention(found, root, product, reductions["max"], exponential, reductions["sum"])


@dataclass
class Region:
    """All that depends on the scores of an attention."""

    forward: ForwardAttention
    place: Mapping[Operation, int]
    """Positions of the ops in the block."""
    adjoint: DotGeneralOp | None = None
    """The product of the result's adjoint and the values, which is the adjoint of the weights; None if it is unused."""
    ops: list[PtirOp] = field(default_factory=list[PtirOp])
    """In order, but for products."""
    products: list[DotGeneralOp] = field(default_factory=list[DotGeneralOp])
    """The products that the gradient ends in."""
    meanings: dict[SSAValue, Meaning] = field(default_factory=dict[SSAValue, Meaning])

    def __post_init__(self) -> None:
        self.adjoint = self._adjoint()
        self._collect()
        self._understand()

    def first(self) -> list[DotGeneralOp]:
        """The products that everything else is made of."""
        return [self.forward.product, *([] if self.adjoint is None else [self.adjoint])]

    def weighted(self, op: DotGeneralOp) -> SSAValue:
        """The operand of a product that depends on scores."""
        left, right = op.lhs in self.meanings, op.rhs in self.meanings
        value = op.lhs if left else op.rhs
        if left is right or spec_of(value).shape != self.forward.shape:
            raise MismatchError("a product of scores with each other, or with some of them")
        return value

    def contracted(self, op: DotGeneralOp) -> int:
        """The axis of scores that a product sums over."""
        side, rank = ("lhs" if self.weighted(op) is op.lhs else "rhs"), self.forward.rank
        values = op.values()
        batch, axes = values[f"batch_{side}"], values[f"contract_{side}"]
        if tuple(batch) != tuple(range(rank - 2)) or len(axes) != 1 or len(spec_of(op.result).shape) != rank:
            raise MismatchError("a product of other than the matrices of scores")
        return axes[0]

    def _adjoint(self) -> DotGeneralOp | None:
        root, found = self.forward.root, list[DotGeneralOp]()
        ours, rank = root.values(), len(spec_of(root.rhs).shape)
        width = set(range(rank)) - {*ours["batch_rhs"], *ours["contract_rhs"]}
        for use in root.rhs.uses:
            op = use.operation
            if isinstance(op, DotGeneralOp) and op is not root and op.rhs is root.rhs and op.parent is root.parent:
                values = op.values()
                same = tuple(values["batch_rhs"]) == tuple(ours["batch_rhs"]) and set(values["contract_rhs"]) == width
                if same and spec_of(op.result).shape == self.forward.shape:
                    found.append(op)
        if len(found) > 1 or self.forward.product in found:
            raise MismatchError("more than one product may be the adjoint of the weights")
        return found[0] if found else None

    def _collect(self) -> None:
        ends = self.first()
        seen: dict[Operation, None] = {}
        waiting: list[SSAValue] = [op.result for op in ends]
        while waiting:
            for use in waiting.pop().uses:
                op = use.operation
                if op is self.forward.root or op in seen:
                    continue
                if op not in self.place:
                    raise MismatchError(f"{op.name} in another block uses what depends on scores")
                known = FUSIBLE.get(type(op)) in ("elementwise", "view", "reduction") or isinstance(op, DotGeneralOp)
                if not known or op in ends:
                    raise MismatchError(f"{op.name} uses what depends on scores")
                if len(seen) == MOST_OPS:
                    raise MismatchError(f"more than {MOST_OPS} ops depend on scores")
                seen[op] = None
                waiting += () if isinstance(op, DotGeneralOp) else op.results
        ordered = sorted(seen, key=self.place.__getitem__)
        self.products = [op for op in ordered if isinstance(op, DotGeneralOp)]
        self.ops = [op for op in ordered if isinstance(op, PtirOp) and not isinstance(op, DotGeneralOp)]
        if not self.products:
            raise MismatchError("no product takes weights but the attention's own")

    def _understand(self) -> None:
        """Find what each value means."""
        forward, known = self.forward, self.meanings
        known[forward.product.result] = Meaning()
        if self.adjoint is not None:
            known[self.adjoint.result] = Meaning({ADJOINT: 1.0})
        for op in self.ops:
            if op is forward.exponential:
                known[op.results[0]] = Meaning({WEIGHT: 1.0}, 1)
            elif op is forward.total:
                known[op.results[0]] = Meaning({ONE: 1.0}, 1)
            else:
                operands = [known[v] if v in known else leaf(v) for v in op.operands]
                known[op.results[0]] = meaning(op, operands, forward.rank - 1)
        check_free([known[self.weighted(op)] for op in self.products])
