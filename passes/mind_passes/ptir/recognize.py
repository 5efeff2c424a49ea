"""
Recognise known functions in many ops: layer norm and convolution become ops, the others of `patterns/` fusions of their name.

The last ops of a block are looked at first, so that an attention is found before the softmax in it; an op belongs to one match.
A match whose inner values somebody else needs is none. A fusion holds copies of the ops it stands for, so it means what they
mean. Linear: each pattern looks at a bounded number of ops.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.errors import error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FusionOp, PtirOp

from .building import insert_new
from .dead_ops import replace_values
from .patterns import PATTERNS, Match
from .patterns.frame import frame


def recognize(root: Operation, names: Sequence[str] = tuple(PATTERNS)) -> bool:
    """Replace the patterns of those names in the canonical ops inside `root`; whether there were any. E7003: no such pattern."""
    for name in names:
        if name not in PATTERNS:
            raise error("E7003", f"unknown pattern {name!r}, expected one of {list(PATTERNS)}", name=name, known=list(PATTERNS))
    framed = "attention" in names and frame(root)
    ops = [op for op in walk(root) if isinstance(op, PtirOp) and not isinstance(op.parent_op(), FusionOp)]
    matches: list[Match] = []
    taken: set[Operation] = set()
    for op in reversed(ops):
        found = None if op in taken else _match(op, names, taken)
        if found is not None:
            matches.append(found)
            taken.update((found.root, *found.inside))
    matches.reverse()
    _replace(root, matches)
    return framed or bool(matches)


def _match(op: PtirOp, names: Sequence[str], taken: set[Operation]) -> Match | None:
    """The first pattern that ends in `op` and takes no op of another."""
    for name in names:
        classes, match = PATTERNS[name]
        found = match(op) if isinstance(op, classes) else None
        if found is not None and taken.isdisjoint(found.inside) and _in_one_block(found) and found.is_closed():
            return found
    return None


def _in_one_block(found: Match) -> bool:
    return all(op.parent is found.root.parent for op in found.inside)


def _replace(root: Operation, matches: Sequence[Match]) -> None:
    """Put new ops before the roots, let everybody use them, and erase what is left without uses."""
    became: dict[SSAValue, SSAValue] = {}
    for found in matches:
        block = found.root.parent
        assert isinstance(block, Block)
        new = found.build(found)
        insert_new(new, found.root, block)
        new.results[0].name_hint = found.root.results[0].name_hint
        became[found.root.results[0]] = new.results[0]
    replace_values(root, became)


@dataclass(frozen=True)
class PtirRecognizePass(ModulePass):
    """
    Recognize layer norms and convolutions as ops; softmax, GELU, RMS norm and attention as fusions.

    Run `ptir-canonicalize` before. `patterns=softmax,gelu` finds only those.
    """

    name = "mind-ptir-recognize"

    patterns: tuple[str, ...] = tuple(PATTERNS)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        recognize(op, self.patterns)
