"""Rows of `ai.onnx.ml`, the operators of classical machine learning, that work on numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir.types import F32, SI64

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow, Values
from .indexing import from_start
from .node import Node
from .scores import TRANSFORMS, WORDS, above, count_labels, greatest, labelled, transformed, two_scores


def _floats(to: OnnxConverter, values: Sequence[float] | None) -> SSAValue:
    return to.array_constant(np.array(values or [], np.float32))


def _per_feature(to: OnnxConverter, values: Sequence[float] | None, default: float) -> SSAValue:
    found = list(values) if values else [default]
    return to.fill(found[0], F32) if len(found) == 1 else _floats(to, found)


def _array_feature_extractor(to: OnnxConverter, node: Node) -> SSAValue:
    """Columns at indices; a vector becomes one row."""
    x, index = node.x(0), node.x(1)
    last = len(to.shape(x)) - 1
    flat = to.reshape(index, (-1,)) if len(to.shape(index)) != 1 else index
    rows = to.emit(ptir.TakeOp, to.transpose(x, [last, *range(last)]), from_start(to, flat, to.shape(x)[last]))
    found = to.transpose(rows, [*range(1, last + 1), 0])
    return found if last else to.reshape(found, (1, *to.shape(found)))


def _binarizer(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    above = to.compare("greater", x, to.like(node.float("threshold", 0.0), x))
    return to.cast(above, to.dtype(x))


def _scaler(to: OnnxConverter, node: Node) -> SSAValue:
    x = to.cast(node.x(), F32)
    return to.times(to.minus(x, _per_feature(to, node.floats("offset"), 0.0)), _per_feature(to, node.floats("scale"), 1.0))


def _imputer(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    if to.dtype(x).is_float:
        replaced, new = node.float("replaced_value_float", 0.0), _per_feature(to, node.floats("imputed_value_floats"), 0.0)
        missing = to.compare("not_equal", x, x) if replaced != replaced else to.compare("equal", x, to.like(replaced, x))
        return to.chosen(missing, to.cast(new, to.dtype(x)), x)
    values = node.ints("imputed_value_int64s") or [0]
    new = to.array_constant(np.array(values if len(values) > 1 else values[0], np.int64))
    return to.chosen(to.compare("equal", x, node.int("replaced_value_int64")), to.cast(new, to.dtype(x)), x)


def _normalizer(to: OnnxConverter, node: Node) -> SSAValue:
    """Rows over their greatest magnitude, their sum of magnitudes or their length."""
    x = to.cast(node.x(), F32)
    norm, axis = node.word("norm", "MAX", ("MAX", "L1", "L2")), len(to.shape(x)) - 1
    size = to.emit(ptir.AbsOp, x)
    if norm == "MAX":
        scale = to.reduced("max", x, [axis])
    elif norm == "L1":
        scale = to.reduced("sum", size, [axis])
    else:
        scale = to.emit(ptir.SqrtOp, to.reduced("sum", to.times(x, x), [axis]))
    return to.over(x, to.select(to.compare("equal", scale, 0), to.like(1, scale), scale))


def _feature_vectorizer(to: OnnxConverter, node: Node) -> SSAValue:
    xs = [to.cast(x, F32) for x in node.xs()]
    rows = [to.reshape(x, (1, *to.shape(x))) if len(to.shape(x)) == 1 else x for x in xs]
    return to.concat(rows, 1)


def _one_hot(to: OnnxConverter, node: Node) -> SSAValue:
    cats = node.ints("cats_int64s")
    if cats is None:
        raise WORDS
    x = node.x()
    if not node.int("zeros", 1):
        raise Refused("an error of the run for unknown categories", "set zeros to 1")
    wide = to.reshape(to.cast(x, SI64), (*to.shape(x), 1))
    return to.cast(to.compared("equal", wide, to.array_constant(np.array(cats, np.int64))), F32)


def _label_encoder(to: OnnxConverter, node: Node) -> SSAValue:
    """The value of the key that equals an element, else the default; NaN is a key like others."""
    arrays: list[object] = []
    for name, dtype in (("keys", None), ("values", None)):
        if (tensor := node.tensor(f"{name}_tensor")) is not None:
            arrays.append(tensor.reshape(-1))
        elif (ints := node.ints(f"{name}_int64s")) is not None:
            arrays.append(np.array(ints, np.int64))
        elif (floats := node.floats(f"{name}_floats")) is not None:
            arrays.append(np.array(floats, np.float32))
        else:
            raise WORDS
        del dtype
    keys, values = (np.asarray(a) for a in arrays)
    if keys.shape != values.shape:
        raise error("E3003", f"{keys.size} keys and {values.size} values", dimension="keys", extents=(keys.size, values.size))
    x = node.x()
    found = to.broadcast(to.array_constant(_default(node, values)), to.shape(x))
    for key, value in reversed(list(zip(keys, values, strict=True))):
        hit = to.compare("not_equal", x, x) if key != key else to.compare("equal", x, to.like(key.item(), x))
        found = to.chosen(hit, to.array_constant(np.asarray(value)), found)
    return found


def _default(
    node: Node, values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]
) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    if (tensor := node.tensor("default_tensor")) is not None:
        return tensor.reshape(()).astype(values.dtype)
    number = node.float("default_float", 0.0) if values.dtype.kind == "f" else node.int("default_int64", -1)
    return np.asarray(number, values.dtype)


def _linear(to: OnnxConverter, node: Node, targets: int) -> SSAValue:
    x = to.cast(node.x(), F32)
    x = to.reshape(x, (1, *to.shape(x))) if len(to.shape(x)) == 1 else x
    coefficients = np.array(node.floats("coefficients") or [], np.float32)
    if targets < 1 or coefficients.size % targets:
        raise error("E8002", f"{coefficients.size} coefficients of {targets} targets", attribute="coefficients", value=targets)
    w = to.array_constant(coefficients.reshape(targets, -1))
    found = to.emit(ptir.DotGeneralOp, x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(1,))
    intercepts = node.floats("intercepts")
    return found if not intercepts else to.plus(found, _floats(to, intercepts))


def _linear_regressor(to: OnnxConverter, node: Node) -> SSAValue:
    return transformed(to, _linear(to, node, node.int("targets", 1)), node.word("post_transform", "NONE", TRANSFORMS))


def _linear_classifier(to: OnnxConverter, node: Node) -> Values:
    """Scores of classes; of two classes with one score, it is that of the second."""
    classes, kind = count_labels(node, "classlabels_ints"), node.word("post_transform", "NONE", TRANSFORMS)
    scores = _linear(to, node, len(node.floats("intercepts") or []) or classes)
    if to.shape(scores)[1] == classes:
        return labelled(to, node, "classlabels_ints", greatest(to, scores), transformed(to, scores, kind))
    if (to.shape(scores)[1], classes) != (1, 2):
        message = f"scores of {to.shape(scores)[1]} targets for {classes} classes"
        raise error("E8002", message, attribute="intercepts", value=to.shape(scores)[1])
    return labelled(to, node, "classlabels_ints", above(to, scores, 0.0), two_scores(to, scores, kind))


LEARNED: dict[str, OnnxRow | Refused] = {
    f"ai.onnx.ml.{name}": row
    for name, row in {
        "ArrayFeatureExtractor": _array_feature_extractor,
        "Binarizer": _binarizer,
        "CastMap": Refused("maps", "pass a tensor instead"),
        "CategoryMapper": WORDS,
        "DictVectorizer": Refused("maps", "pass a tensor instead"),
        "FeatureVectorizer": _feature_vectorizer,
        "Imputer": _imputer,
        "LabelEncoder": _label_encoder,
        "LinearClassifier": _linear_classifier,
        "LinearRegressor": _linear_regressor,
        "Normalizer": _normalizer,
        "OneHotEncoder": _one_hot,
        "Scaler": _scaler,
        "ZipMap": Refused("maps", "use the operand of ZipMap as the result"),
    }.items()
}
