"""
Ensembles of decision trees: all rows go down all trees at once, one level after the other.

    place[n, t] = children[place[n, t], 0 if x[n, feature[place[n, t]]] <= split[place[n, t]] else 1]

A leaf is its own child, so that trees of different depth take as many levels. What leaves weigh is looked up at the last places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import brief, error
from mind_dialect.ptir.types import F32, F64

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow, Values
from .emitter import static
from .extents import Array
from .node import Node
from .scores import TRANSFORMS, above, count_labels, greatest, labelled, transformed, two_scores

MOST_LEVELS = 64
"""Trees may be this deep: each level is ops of its own."""
_KINDS = {
    "BRANCH_LEQ": "less_equal",
    "BRANCH_LT": "less",
    "BRANCH_GTE": "greater_equal",
    "BRANCH_GT": "greater",
    "BRANCH_EQ": "equal",
    "BRANCH_NEQ": "not_equal",
}
_NUMBERED = (*_KINDS, "BRANCH_MEMBER")
"""The modes of `TreeEnsemble`, by number."""
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
"""The aggregates of `TreeEnsemble`, by number."""


@dataclass(frozen=True)
class Forest:
    """Nodes of all trees, leaves among them: tables by the number of a node, and the numbers of the roots."""

    features: Array
    splits: Array
    modes: Array
    """Comparisons; of a leaf no word."""
    children: Array
    """`[nodes, 2]`: the next node where the comparison holds, and where it does not; of a leaf itself."""
    missing: Array
    """True where the comparison holds for NaN."""
    roots: Array
    weights: Array
    """`[nodes, targets]`, 0 but at leaves."""
    weighted: Array
    """True where a node has a weight for a target."""

    def levels(self) -> int:
        """Return the depth of the deepest tree. Raises E8002 for a cycle, `Refused` for trees that are too deep."""
        level, found = self.roots, 0
        while (inner := level[self.modes[level] != ""]).size:
            level, found = np.unique(self.children[inner]), found + 1
            if found > len(self.features):
                raise error("E8002", "nodes of a tree form a cycle", attribute="nodes_truenodeids", value=int(level[0]))
        if found > MOST_LEVELS:
            raise Refused(f"trees of {found} levels", f"limit the depth of trees to {MOST_LEVELS}")
        return found

    @property
    def leaves(self) -> Array:
        """The numbers of the leaves."""
        return np.flatnonzero(self.modes == "")


def _matrix(to: OnnxConverter, node: Node) -> SSAValue:
    """The features of rows, `[N, F]`, as floats."""
    x = node.x()
    x = x if to.dtype(x) is F64 else to.cast(x, F32)
    return to.reshape(x, (1, *to.shape(x))) if len(to.shape(x)) == 1 else x


def _scores(to: OnnxConverter, x: SSAValue, forest: Forest, aggregate: str) -> SSAValue:
    """The aggregated weights of leaves, `[N, targets]`."""
    places = _last_places(to, x, forest)
    if aggregate in ("MIN", "MAX") and not forest.weighted[forest.leaves].all():
        raise Refused(
            f"the {aggregate} of leaves that have no weight for some targets", "give each leaf a weight for each target"
        )
    weights = forest.weights.astype(np.float64 if to.dtype(x) is F64 else np.float32)
    alone = weights.shape[1] == 1
    rows = to.emit(ptir.TakeOp, to.array_constant(weights[:, 0] if alone else weights), places)
    found = to.reduced("sum" if aggregate in ("SUM", "AVERAGE") else aggregate.lower(), rows, [1], keepdims=alone)
    return to.over(found, len(forest.roots)) if aggregate == "AVERAGE" else found


def _last_places(to: OnnxConverter, x: SSAValue, forest: Forest) -> SSAValue:
    """The leaf of each row in each tree, `[N, trees]`."""
    rows, (features,) = to.shape(x)[0], static(to.shape(x)[1:], "the features of trees")
    if (most := int(forest.features.max(initial=0))) >= features or forest.features.min(initial=0) < 0:
        raise error("E8002", f"a node compares feature {most} of {features}", attribute="nodes_featureids", value=most)
    kinds = sorted({str(m) for m in forest.modes if m})
    if unknown := [m for m in kinds if m not in _KINDS]:
        raise Refused(f"nodes of the mode {brief(unknown[0])}", "write the test for members as tests for equality")
    splits = forest.splits.astype(np.float64 if to.dtype(x) is F64 else np.float32)
    tables = {
        "feature": to.array_constant(forest.features),
        "split": to.array_constant(splits),
        "child": to.array_constant(forest.children.reshape(-1)),
        "missing": to.array_constant(forest.missing),
    }
    of_kind = {kind: to.array_constant(forest.modes == kind) for kind in kinds[1:]}
    places = to.broadcast(to.array_constant(forest.roots), (rows, len(forest.roots)))
    for _ in range(forest.levels()):
        value = to.emit(ptir.GatherOp, x, to.emit(ptir.TakeOp, tables["feature"], places), axis=1)
        split = to.emit(ptir.TakeOp, tables["split"], places)
        holds = to.compare(_KINDS[kinds[0]], value, split)
        for kind, table in of_kind.items():
            holds = to.select(to.emit(ptir.TakeOp, table, places), to.compare(_KINDS[kind], value, split), holds)
        if forest.missing.any():
            known = to.emit(ptir.TakeOp, tables["missing"], places)
            holds = to.emit(ptir.OrOp, holds, to.emit(ptir.AndOp, to.compare("not_equal", value, value), known))
        side = to.select(holds, to.like(0, places), to.like(1, places))
        places = to.emit(ptir.TakeOp, tables["child"], to.plus(to.plus(places, places), side))
    return places


def _list(node: Node, name: str, count: int | None = None) -> list[int]:
    found = node.ints(name) or []
    if count is not None and len(found) != count:
        raise error("E8002", f"{name} has {len(found)} entries, expected {count}", attribute=name, value=len(found))
    return found


def _numbers(node: Node, name: str, count: int | None = None) -> Array:
    """An attribute of floats, or its form as a tensor; E8002 for more or fewer than `count`."""
    tensor = node.tensor(f"{name}_as_tensor")
    found = np.array(node.floats(name) or [], np.float32) if tensor is None else tensor.reshape(-1)
    if count is not None and len(found) != count:
        raise error("E8002", f"{name} has {len(found)} entries, expected {count}", attribute=name, value=len(found))
    return found


def _by_identifiers(node: Node, prefix: str, targets: int) -> Forest:
    """The forest of `TreeEnsembleRegressor` and `TreeEnsembleClassifier`: nodes have a number within their tree."""
    trees = _list(node, "nodes_treeids")
    count = len(trees)
    numbers = {key: i for i, key in enumerate(zip(trees, _list(node, "nodes_nodeids", count), strict=True))}
    if len(numbers) != count:
        raise error("E8002", "nodes of a tree with the same number", attribute="nodes_nodeids", value=count - len(numbers))

    def number(tree: int, name: str, identifier: int) -> int:
        if (tree, identifier) not in numbers:
            message = f"{name} names node {identifier} of tree {tree}, which is none"
            raise error("E8002", message, attribute=name, value=identifier)
        return numbers[tree, identifier]

    modes = np.array(node.words("nodes_modes") or [], dtype=object)
    if len(modes) != count:
        raise error("E8002", f"nodes_modes has {len(modes)} entries, expected {count}", attribute="nodes_modes", value=len(modes))
    inner = modes != "LEAF"
    children = np.repeat(np.arange(count)[:, None], 2, 1)
    for side, name in enumerate(("nodes_truenodeids", "nodes_falsenodeids")):
        given = _list(node, name, count)
        for i in np.flatnonzero(inner).tolist():
            children[i, side] = number(trees[i], name, given[i])
    below = np.zeros(count, np.bool_)
    below[children[inner].reshape(-1)] = True
    tracked = node.ints("nodes_missing_value_tracks_true") or [0] * count
    return Forest(
        np.where(inner, np.array(_list(node, "nodes_featureids", count), np.int64), 0),
        np.where(inner, _numbers(node, "nodes_values", count), 0),
        np.where(inner, modes, ""),
        children,
        np.array(tracked, np.bool_) & inner,
        np.flatnonzero(~below),
        *_votes(node, prefix, number, (count, targets)),
    )


def _votes(node: Node, prefix: str, number: Callable[[int, str, int], int], shape: tuple[int, int]) -> tuple[Array, Array]:
    """The weights of leaves for targets, and where there are any."""
    weights, weighted = np.zeros(shape), np.zeros(shape, np.bool_)
    trees = _list(node, f"{prefix}_treeids")
    identifiers, targets = (_list(node, f"{prefix}_{name}", len(trees)) for name in ("nodeids", "ids"))
    _check_range(f"{prefix}_ids", targets, shape[1])
    for tree, identifier, target, weight in zip(
        trees, identifiers, targets, _numbers(node, f"{prefix}_weights", len(trees)), strict=True
    ):
        place = number(tree, f"{prefix}_nodeids", identifier), target
        weights[place] += float(weight)
        weighted[place] = True
    return weights, weighted


def _by_tables(node: Node, targets: int) -> Forest:
    """The forest of `TreeEnsemble`: nodes and leaves are numbered apart; a leaf has the number of nodes added here."""
    features = _list(node, "nodes_featureids")
    count = len(features)
    targets_of, weights_of = _list(node, "leaf_targetids"), node.tensor("leaf_weights")
    splits, modes = node.tensor("nodes_splits"), node.tensor("nodes_modes")
    given: Mapping[str, Array | None] = {"nodes_splits": splits, "nodes_modes": modes, "leaf_weights": weights_of}
    sizes = {"nodes_splits": count, "nodes_modes": count, "leaf_weights": len(targets_of)}
    for name, array in given.items():
        if array is None or array.size != sizes[name]:
            message = f"{name} has {0 if array is None else array.size} entries, expected {sizes[name]}"
            raise error("E8002", message, attribute=name, value=sizes[name])
    assert splits is not None
    assert modes is not None
    assert weights_of is not None
    total = count + len(targets_of)
    children = np.repeat(np.arange(total)[:, None], 2, 1)
    for side, name in enumerate(("true", "false")):
        next_ones = np.array(_list(node, f"nodes_{name}nodeids", count), np.int64)
        is_leaf = np.array(_list(node, f"nodes_{name}leafs", count), np.bool_)
        children[:count, side] = next_ones + np.where(is_leaf, count, 0)
    _check_range("tree_roots", roots := _list(node, "tree_roots"), count)
    _check_range("nodes_truenodeids", children.reshape(-1).tolist(), total)
    _check_range("leaf_targetids", targets_of, targets)
    leaves, columns = np.arange(count, total), np.array(targets_of, np.int64)
    weights, weighted = np.zeros((total, targets)), np.zeros((total, targets), np.bool_)
    weights[leaves, columns], weighted[leaves, columns] = weights_of.reshape(-1), True
    numbers = [int(m) for m in modes.reshape(-1)]
    names = [_NUMBERED[m] if m < len(_NUMBERED) else str(m) for m in numbers]
    return Forest(
        np.array([*features, *[0] * len(targets_of)], np.int64),
        np.concatenate([splits.reshape(-1), np.zeros(len(targets_of), splits.dtype)]),
        np.array([*names, *[""] * len(targets_of)], dtype=object),
        children,
        np.array([*(node.ints("nodes_missing_value_tracks_true") or [0] * count), *[0] * len(targets_of)], np.bool_),
        np.array(roots, np.int64),
        weights,
        weighted,
    )


def _check_range(name: str, given: Sequence[int], count: int) -> None:
    for number in given:
        if not 0 <= number < count:
            raise error("E8002", f"{name} has {number}, of {count}", attribute=name, value=number)


def _with_base(to: OnnxConverter, node: Node, scores: SSAValue, targets: int) -> SSAValue:
    base = _numbers(node, "base_values")
    if not base.size:
        return scores
    if base.size not in (1, targets):
        raise error("E8002", f"{base.size} base_values of {targets} targets", attribute="base_values", value=base.size)
    return to.plus(scores, to.cast(to.array_constant(base), to.dtype(scores)))


def _targets(node: Node) -> int:
    targets = node.int("n_targets", 1)
    if targets < 1:
        raise error("E8002", f"n_targets is {targets}, expected 1 or more", attribute="n_targets", value=targets)
    return targets


def _regressor(to: OnnxConverter, node: Node) -> SSAValue:
    targets = _targets(node)
    aggregate = node.word("aggregate_function", "SUM", _AGGREGATES)
    scores = _scores(to, _matrix(to, node), _by_identifiers(node, "target", targets), aggregate)
    found = _with_base(to, node, scores, targets)
    return to.cast(transformed(to, found, node.word("post_transform", "NONE", TRANSFORMS)), F32)


def _ensemble(to: OnnxConverter, node: Node) -> SSAValue:
    targets = _targets(node)
    numbers: dict[str, Any] = {"aggregate_function": (1, _AGGREGATES), "post_transform": (0, TRANSFORMS)}
    words: list[str] = []
    for name, (default, names) in numbers.items():
        _check_range(name, [number := node.int(name, default)], len(names))
        words.append(names[number])
    scores = _scores(to, _matrix(to, node), _by_tables(node, targets), words[0])
    return transformed(to, scores, words[1])


def _classifier(to: OnnxConverter, node: Node) -> Values:
    """Two classes with weights of one: its score is that of the second class, and a share where no weight is below 0."""
    classes = count_labels(node, "classlabels_int64s")
    if classes < 1:
        raise error("E8002", "no labels of classes", attribute="classlabels_int64s", value=0)
    forest = _by_identifiers(node, "class", classes)
    kind = node.word("post_transform", "NONE", TRANSFORMS)
    scores = _scores(to, _matrix(to, node), forest, "SUM")
    ids = set(node.ints("class_ids") or [])
    if classes != 2 or len(ids) != 1:
        scores = to.cast(_with_base(to, node, scores, classes), F32)
        return labelled(to, node, "classlabels_int64s", greatest(to, scores), transformed(to, scores, kind))
    if ids != {0} or _numbers(node, "base_values").size > 1:
        raise Refused("weights or base values of the second of two classes alone", "give them to the first class, or to both")
    score = to.cast(_with_base(to, node, to.part(scores, 1, 0, 1), 1), F32)
    shares = bool((forest.weights >= 0).all())
    best = above(to, score, 0.5 if shares else 0.0)
    return labelled(to, node, "classlabels_int64s", best, two_scores(to, score, kind, shares=shares))


TREES: dict[str, OnnxRow | Refused] = {
    "ai.onnx.ml.TreeEnsemble": _ensemble,
    "ai.onnx.ml.TreeEnsembleClassifier": _classifier,
    "ai.onnx.ml.TreeEnsembleRegressor": _regressor,
}
