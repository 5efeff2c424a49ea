"""Support vector machines: kernels of rows and support vectors, and sums of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir.types import F32

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow, Values
from .emitter import static
from .extents import Array
from .node import Node
from .products import dot
from .scores import TRANSFORMS, count_labels, greatest, labelled, transformed

_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def _rows(to: OnnxConverter, node: Node) -> SSAValue:
    x = to.cast(node.x(), F32)
    return to.reshape(x, (1, *to.shape(x))) if len(to.shape(x)) == 1 else x


def _array(node: Node, name: str, count: int) -> Array:
    """An attribute of floats; E8002 for more or fewer than `count`."""
    found = np.array(node.floats(name) or [], np.float32)
    if found.size != count:
        raise error("E8002", f"{name} has {found.size} entries, expected {count}", attribute=name, value=found.size)
    return found


def _kernel(to: OnnxConverter, node: Node, x: SSAValue, vectors: Array) -> SSAValue:
    """The kernel of each row of `[N, F]` with each of `[S, F]`: of RBF from differences, as sums of squares lose digits."""
    kind = node.word("kernel_type", "LINEAR", _KERNELS)
    gamma, offset, degree = (node.floats("kernel_params") or [0.0, 0.0, 0.0])[:3]
    held = to.array_constant(vectors)
    if kind == "RBF":
        (n, f), s = to.shape(x), len(vectors)
        apart = to.minus(to.reshape(x, (n, 1, f)), to.reshape(held, (1, s, f)))
        return to.emit(ptir.ExpOp, to.times(to.reduced("sum", to.times(apart, apart), [2], keepdims=False), -gamma))
    product = dot(to, x, held, [], [], [1], [1])
    if kind == "LINEAR":
        return product
    product = to.plus(to.times(product, gamma), offset)
    return to.emit(ptir.TanhOp, product) if kind == "SIGMOID" else to.emit(ptir.PowOp, product, to.like(degree, product))


def _weighed(to: OnnxConverter, x: SSAValue, weights: Array, offsets: Array) -> SSAValue:
    """`x w + b`."""
    found = dot(to, x, to.array_constant(weights), [], [], [1], [0])
    return to.plus(found, to.array_constant(offsets))


def _vectors(to: OnnxConverter, node: Node, x: SSAValue, count: int) -> Array:
    (features,) = static(to.shape(x)[1:], "the features of a support vector machine")
    return _array(node, "support_vectors", count * features).reshape(count, features)


def _regressor(to: OnnxConverter, node: Node) -> SSAValue:
    """A weighted sum of kernels, or of features where there are no support vectors; of one class its sign."""
    x, count = _rows(to, node), node.int("n_supports")
    if count > 0:
        x = _kernel(to, node, x, _vectors(to, node, x, count))
    (width,) = static(to.shape(x)[1:], "the features of a support vector machine")
    found = _weighed(to, x, _array(node, "coefficients", width)[:, None], _array(node, "rho", 1))
    if node.word("post_transform", "NONE", TRANSFORMS) != "NONE":
        raise Refused("post_transform of a support vector regression", "write the transform as a node of its own")
    if not node.int("one_class"):
        return found
    return to.select(to.compare("greater", found, 0), to.like(1, found), to.like(-1, found))


def _classifier(to: OnnxConverter, node: Node) -> Values:
    """Votes of a decision between each two classes; scores are the decisions, of two classes both signs of one."""
    sizes, classes = node.ints("vectors_per_class") or [], count_labels(node, "classlabels_ints")
    if not sizes:
        raise Refused("a support vector classifier without support vectors", "write it as a LinearClassifier")
    if len(sizes) != classes or classes < 2:
        raise error("E8002", f"vectors of {len(sizes)} classes, labels of {classes}", attribute="vectors_per_class", value=sizes)
    x, count = _rows(to, node), sum(sizes)
    kernel = _kernel(to, node, x, _vectors(to, node, x, count))
    stored = _array(node, "coefficients", (classes - 1) * count).reshape(classes - 1, count)
    pairs = list(combinations(range(classes), 2))
    first = np.cumsum([0, *sizes])
    weights = np.zeros((count, len(pairs)), np.float32)
    for k, (i, j) in enumerate(pairs):
        weights[first[i] : first[i + 1], k] = stored[j - 1, first[i] : first[i + 1]]
        weights[first[j] : first[j + 1], k] = stored[i, first[j] : first[j + 1]]
    decisions = _weighed(to, kernel, weights, _array(node, "rho", len(pairs)))
    won, lost = (np.array([[float(pair[side] == c) for c in range(classes)] for pair in pairs], np.float32) for side in (0, 1))
    wins = to.cast(to.compare("greater", decisions, 0), F32)
    votes = to.plus(
        dot(to, wins, to.array_constant(won), [], [], [1], [0]),
        dot(to, to.minus(1, wins), to.array_constant(lost), [], [], [1], [0]),
    )
    best = greatest(to, votes)
    return labelled(to, node, "classlabels_ints", best, _class_scores(to, node, decisions, classes))


def _class_scores(to: OnnxConverter, node: Node, decisions: SSAValue, classes: int) -> SSAValue:
    """Decisions, or the probabilities of two classes by the sigmoid that `prob_a` and `prob_b` state."""
    kind = node.word("post_transform", "NONE", TRANSFORMS)
    if node.floats("prob_a"):
        if classes > 2 or kind != "NONE":
            raise Refused("probabilities of more than two classes", "export the model without probabilities")
        slope, offset = _array(node, "prob_a", 1), _array(node, "prob_b", 1)
        far = to.plus(to.times(decisions, to.array_constant(-slope)), to.array_constant(-offset))
        share = to.emit(ptir.LogisticOp, far)
        return to.concat([share, to.minus(1, share)], 1)
    both = to.concat([to.emit(ptir.NegOp, decisions), decisions], 1) if classes == 2 else decisions
    return transformed(to, both, kind)


VECTORS: dict[str, OnnxRow | Refused] = {
    "ai.onnx.ml.SVMClassifier": _classifier,
    "ai.onnx.ml.SVMRegressor": _regressor,
}
