"""Trees, support vectors and linear classifiers of `ai.onnx.ml`, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import onnx_nodes
from mind_dialect.errors import MindError
from mind_runtime import compile
from mind_translate.onnx import read_onnx
from onnx_nodes import agrees, node_model, normal, runtime

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
ML = "ai.onnx.ml"
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def forest(
    prefix: str, ids: int, *, seed: int = 0, trees: int = 5, depth: int = 4, modes: tuple[str, ...] = MODES[:1], low: float = -1
) -> dict[str, Any]:
    """Return attributes of drawn trees over 4 features that have whole numbers as splits; some branches end early."""
    rng = np.random.default_rng(seed)
    nodes: dict[str, list[Any]] = {
        k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    }
    tracked: list[int] = []
    votes: dict[str, list[Any]] = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}

    def grow(tree: int, levels: int, count: list[int]) -> int:
        own, place = count[0], len(nodes["treeids"])
        count[0] += 1
        for column in nodes.values():
            column.append(None)
        tracked.append(int(rng.integers(2)))
        leaf = levels == 0 or (levels < depth - 1 and rng.random() < 0.2)
        row = [tree, own, int(rng.integers(4)), float(rng.integers(-1, 2)), "LEAF" if leaf else str(rng.choice(modes))]
        row += [0, 0] if leaf else [grow(tree, levels - 1, count), grow(tree, levels - 1, count)]
        for column, value in zip(nodes.values(), row, strict=True):
            column[place] = value
        for i in range(ids) if leaf else ():
            for column, value in zip(votes.values(), [tree, own, i, float(np.float32(rng.uniform(low, 1)))], strict=True):
                column.append(value)
        return own

    for tree in range(trees):
        grow(tree, depth, [0])
    return {
        **{f"nodes_{k}": v for k, v in nodes.items()},
        **{f"{prefix}_{k}": v for k, v in votes.items()},
        "nodes_missing_value_tracks_true": tracked,
    }


def rows(count: int = 40, dtype: Any = np.float32) -> Any:
    """Return rows of whole numbers, some of them NaN."""
    x = np.random.default_rng(3).integers(-2, 3, (count, 4)).astype(dtype)
    return np.where(np.random.default_rng(4).random(x.shape) < 0.1, np.nan, x).astype(dtype)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("targets", [1, 3])
def test_regressions(aggregate: str, targets: int) -> None:
    attributes = forest("target", targets, seed=targets)
    base = normal(targets).tolist()
    agrees(
        "TreeEnsembleRegressor",
        [rows()],
        domain=ML,
        n_targets=targets,
        aggregate_function=aggregate,
        base_values=base,
        **attributes,
    )


@pytest.mark.parametrize("mode", MODES)
def test_modes(mode: str) -> None:
    agrees("TreeEnsembleRegressor", [rows()], domain=ML, n_targets=1, **forest("target", 1, modes=(mode,)))


def test_trees_of_several_modes() -> None:
    agrees("TreeEnsembleRegressor", [rows()], domain=ML, n_targets=1, **forest("target", 1, modes=MODES, trees=9, depth=6))


def test_a_tree_that_is_a_leaf() -> None:
    agrees("TreeEnsembleRegressor", [rows()], domain=ML, **forest("target", 2, trees=3, depth=0), n_targets=2)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("classes", [3, 4])
def test_classes(post: str, classes: int) -> None:
    labels = [5, 3, 9, -1][:classes]
    agrees(
        "TreeEnsembleClassifier",
        [rows()],
        2,
        domain=ML,
        classlabels_int64s=labels,
        post_transform=post,
        base_values=normal(classes).tolist(),
        **forest("class", classes, seed=classes),
    )


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("low", [-1.0, 0.0])
@pytest.mark.parametrize("base", [[], [0.3]])
def test_two_classes_with_one_score(post: str, low: float, base: list[float]) -> None:
    more = {"base_values": base} if base else {}
    attributes = forest("class", 1, low=low, trees=1 if not low else 4)
    agrees("TreeEnsembleClassifier", [rows()], 2, domain=ML, classlabels_int64s=[7, 4], post_transform=post, **more, **attributes)


def test_two_classes_with_two_scores_have_the_label_of_the_greater_one() -> None:
    attributes = forest("class", 2, low=0)
    data, feeds = node_model("TreeEnsembleClassifier", [rows()], 2, domain=ML, classlabels_int64s=[7, 4], **attributes)
    (_, scores) = runtime().InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, feeds)
    label, found = compile(read_onnx(data))(*feeds.values())
    np.testing.assert_allclose(found, scores, rtol=1e-5)
    np.testing.assert_array_equal(label, np.where(scores[:, 1] > scores[:, 0], 4, 7))


def test_doubles() -> None:
    """Splits in f64 decide between numbers that are equal in f32."""
    onnx = pytest.importorskip("onnx")
    attributes = forest("target", 1)
    splits = np.array(attributes.pop("nodes_values")) + 1e-12
    weights = np.array(attributes.pop("target_weights"))
    more = {
        "nodes_values_as_tensor": onnx.numpy_helper.from_array(splits),
        "target_weights_as_tensor": onnx.numpy_helper.from_array(weights),
    }
    x = np.random.default_rng(3).integers(-2, 3, (30, 4)) + 1e-12
    agrees("TreeEnsembleRegressor", [x], domain=ML, n_targets=1, **more, **attributes)


def tables(**more: Any) -> dict[str, Any]:
    """Return attributes of `TreeEnsemble`: two trees, one of two nodes."""
    onnx = pytest.importorskip("onnx")
    array = onnx.numpy_helper.from_array
    return {
        "nodes_featureids": [0, 1, 2],
        "nodes_modes": array(np.array([0, 1, 3], np.uint8)),
        "nodes_splits": array(np.array([0.5, -0.2, 0.1], np.float32)),
        "nodes_truenodeids": [1, 0, 3],
        "nodes_trueleafs": [0, 1, 1],
        "nodes_falsenodeids": [1, 2, 3],
        "nodes_falseleafs": [1, 1, 1],
        "tree_roots": [0, 2],
        "leaf_targetids": [0, 0, 0, 1],
        "leaf_weights": array(np.array([1, 2, 3, 4], np.float32)),
        "n_targets": 2,
        **more,
    }


@pytest.mark.parametrize("aggregate", [0, 1])
def test_trees_by_tables(aggregate: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(onnx_nodes.VERSIONS, ML, 5)
    agrees("TreeEnsemble", [normal(30, 4)], domain=ML, **tables(aggregate_function=aggregate))


def test_transforms_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 is SOFTMAX and 2 LOGISTIC, as the specification says; ONNX Runtime swaps them."""
    monkeypatch.setitem(onnx_nodes.VERSIONS, ML, 5)
    found: list[Any] = []
    for post in range(3):
        data, feeds = node_model("TreeEnsemble", [normal(30, 4)], domain=ML, **tables(post_transform=post))
        found.append(compile(read_onnx(data))(*feeds.values()))
    powers = np.exp(found[0])
    np.testing.assert_allclose(found[1], powers / powers.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(found[2], powers / (1 + powers), rtol=1e-5)


def test_labels_that_are_words_leave_the_scores() -> None:
    onnx = pytest.importorskip("onnx")
    attributes = forest("class", 3)
    data, feeds = node_model("TreeEnsembleClassifier", [rows()], 2, domain=ML, classlabels_strings=["a", "b", "c"], **attributes)
    with pytest.raises(MindError, match="output y0: words") as caught:
        read_onnx(data)
    assert caught.value.code == "E8008"
    made = onnx.load_from_string(data)
    del made.graph.output[0]
    (expected,) = runtime().InferenceSession(data, providers=["CPUExecutionProvider"]).run(["y1"], feeds)
    np.testing.assert_allclose(compile(read_onnx(made.SerializeToString()))(*feeds.values()), expected, rtol=1e-5)


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "a cycle": ({"nodes_truenodeids": [0, 0, 3], "nodes_trueleafs": [0, 1, 1]}, "E8002", "form a cycle"),
    "a node that is none": ({"nodes_falsenodeids": [1, 2, 4]}, "E8002", "nodes_truenodeids has 7, of 7"),
    "a root that is none": ({"tree_roots": [3]}, "E8002", "tree_roots has 3, of 3"),
    "a feature that is none": ({"nodes_featureids": [0, 1, 4]}, "E8002", "compares feature 4 of 4"),
    "a target that is none": ({"n_targets": 1}, "E8002", "leaf_targetids has 1, of 1"),
    "an aggregate that is none": ({"aggregate_function": 4}, "E8002", "aggregate_function has 4, of 4"),
    "leaves without a weight": ({"aggregate_function": 2}, "E8008", "the MIN of leaves that have no weight for some targets"),
    "probits": ({"post_transform": 4}, "E8008", "post_transform PROBIT"),
    "too few entries": ({"nodes_truenodeids": [1, 0]}, "E8002", "nodes_truenodeids has 2 entries, expected 3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_trees_that_are_wrong_or_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    more, code, words = REFUSED[name]
    monkeypatch.setitem(onnx_nodes.VERSIONS, ML, 5)
    data, _ = node_model("TreeEnsemble", [normal(30, 4)], domain=ML, **tables(**more))
    with pytest.raises(MindError, match=words) as caught:
        read_onnx(data)
    assert caught.value.code == code


def test_deep_trees_are_refused() -> None:
    n = 70
    attributes = {
        "nodes_treeids": [0] * (2 * n + 1),
        "nodes_nodeids": list(range(2 * n + 1)),
        "nodes_featureids": [0] * (2 * n + 1),
        "nodes_values": [0.0] * (2 * n + 1),
        "nodes_modes": ["BRANCH_LEQ"] * n + ["LEAF"] * (n + 1),
        "nodes_truenodeids": [*range(1, n), 2 * n, *[0] * (n + 1)],
        "nodes_falsenodeids": [*range(n, 2 * n), *[0] * (n + 1)],
        "target_treeids": [0],
        "target_nodeids": [n],
        "target_ids": [0],
        "target_weights": [1.0],
    }
    data, _ = node_model("TreeEnsembleRegressor", [normal(3, 1)], domain=ML, **attributes)
    with pytest.raises(MindError, match="trees of 70 levels; limit the depth of trees to 64"):
        read_onnx(data)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
def test_linear_classes_with_one_score(post: str) -> None:
    agrees(
        "LinearClassifier",
        [normal(30, 4)],
        2,
        domain=ML,
        coefficients=normal(4).tolist(),
        intercepts=[0.1],
        classlabels_ints=[9, 4],
        post_transform=post,
    )


KERNELS: dict[str, list[float]] = {"LINEAR": [0, 0, 0], "POLY": [0.4, 1.5, 3], "RBF": [0.3, 0, 0], "SIGMOID": [0.2, 0.1, 0]}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("one_class", [0, 1])
def test_regressions_by_support_vectors(kernel: str, one_class: int) -> None:
    agrees(
        "SVMRegressor",
        [normal(30, 4)],
        domain=ML,
        kernel_type=kernel,
        kernel_params=[float(v) for v in KERNELS[kernel]],
        coefficients=normal(6).tolist(),
        support_vectors=normal(24).tolist(),
        n_supports=6,
        rho=[0.3],
        one_class=one_class,
        tolerance=1e-4,
    )


def test_a_regression_without_support_vectors() -> None:
    agrees(
        "SVMRegressor",
        [normal(30, 4)],
        domain=ML,
        kernel_type="LINEAR",
        kernel_params=[0.0, 0.0, 0.0],
        coefficients=normal(4).tolist(),
        rho=[0.3],
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_classes_by_support_vectors(kernel: str, classes: int) -> None:
    agrees(
        "SVMClassifier",
        [normal(30, 4)],
        2,
        domain=ML,
        kernel_type=kernel,
        kernel_params=[float(v) for v in KERNELS[kernel]],
        coefficients=normal(classes - 1, 10).reshape(-1).tolist(),
        support_vectors=normal(40).tolist(),
        vectors_per_class={2: [1, 9], 3: [1, 4, 5], 4: [1, 4, 2, 3]}[classes],
        rho=normal(classes * (classes - 1) // 2).tolist(),
        classlabels_ints=[8, 3, 5, -2][:classes],
        tolerance=1e-4,
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_support_vectors(classes: int) -> None:
    pairs = classes * (classes - 1) // 2
    given: dict[str, Any] = {
        "kernel_type": "RBF",
        "kernel_params": [0.3, 0.0, 0.0],
        "coefficients": normal(classes - 1, 6).reshape(-1).tolist(),
        "support_vectors": normal(24).tolist(),
        "vectors_per_class": [6 // classes] * classes,
        "rho": [0.1] * pairs,
        "classlabels_ints": list(range(classes)),
        "prob_a": [-1.5] * pairs,
        "prob_b": [0.1] * pairs,
    }
    if classes == 2:
        agrees("SVMClassifier", [normal(30, 4)], 2, domain=ML, tolerance=5e-3, **given)  # its iteration ends within that
        return
    with pytest.raises(MindError, match="probabilities of more than two classes"):
        read_onnx(node_model("SVMClassifier", [normal(30, 4)], 2, domain=ML, **given)[0])
