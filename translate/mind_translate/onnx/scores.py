"""Scores of classes and targets, as the operators of `ai.onnx.ml` return them: transforms, labels, two classes with one score."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import SI64

from ..unsupported import Refused
from .converter import OnnxConverter, Values
from .node import Node
from .reductions import softmax
from .values import Unusable

WORDS = Refused("words", "PTIR has tensors of numbers only; map words to numbers before the program")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def transformed(to: OnnxConverter, scores: SSAValue, kind: str) -> SSAValue:
    """Scores `[N, E]` after the attribute `post_transform`; SOFTMAX_ZERO leaves scores of 0 as they are."""
    if kind == "NONE":
        return scores
    if kind == "LOGISTIC":
        return to.emit(ptir.LogisticOp, scores)
    if kind not in ("SOFTMAX", "SOFTMAX_ZERO"):
        raise Refused(f"post_transform {kind}", "use NONE, LOGISTIC, SOFTMAX or SOFTMAX_ZERO")
    _, powers, total = softmax(to, scores, 1)
    if kind == "SOFTMAX_ZERO":
        powers = to.select(to.compare("equal", scores, 0), to.like(0, powers), powers)
        total = to.reduced("sum", powers, [1])
    found = to.over(powers, total)
    return found if kind == "SOFTMAX" else to.select(to.compare("equal", scores, 0), to.like(0, found), found)


def two_scores(to: OnnxConverter, score: SSAValue, kind: str, *, shares: bool = True) -> SSAValue:
    """The scores of two classes from that of the second, `[N, 1]`: `1 - s` or, where they are no shares, `-s`, and `s`."""
    if kind not in ("NONE", "LOGISTIC"):
        raise Refused(f"post_transform {kind} of two classes with one score", "use NONE or LOGISTIC, or give each class scores")
    if kind == "NONE" and shares:
        return to.concat([to.minus(1, score), score], 1)
    return transformed(to, to.concat([to.emit(ptir.NegOp, score), score], 1), kind)


def labelled(to: OnnxConverter, node: Node, labels: str, best: SSAValue, scores: SSAValue) -> Values:
    """The labels of classes by number, and scores. Labels that are words cannot be read; the scores can."""
    found = node.ints(labels)
    if found is None or node.words("classlabels_strings"):
        return [Unusable(WORDS), scores]
    return [to.emit(ptir.TakeOp, to.array_constant(np.array(found, np.int64)), best), scores]


def count_labels(node: Node, labels: str) -> int:
    """The number of classes."""
    return len(node.words("classlabels_strings") or node.ints(labels) or [])


def greatest(to: OnnxConverter, scores: SSAValue) -> SSAValue:
    """The number of the greatest score in each row, the first of equals."""
    return to.emit(ptir.ArgMaxOp, scores, axis=1, keepdims=False, output_dtype=SI64)


def above(to: OnnxConverter, score: SSAValue, threshold: float) -> SSAValue:
    """1 where the only score of a row, `[N, 1]`, is greater than a number, else 0."""
    return to.cast(to.reshape(to.compare("greater", score, to.like(threshold, score)), to.shape(score)[:1]), SI64)
