"""Functions of `mind_array` beyond the standard, and large cases, against formulas in NumPy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mind_array as ma
from complex_numbers import edges, finite
from mind_array.calls import call
from mind_array.ptir import WITHOUT_FUNCTION
from mind_array.rows.reductions import _SEARCH_LIMIT
from mind_array.rows.trigonometry import TARGETS
from mind_dialect.errors import MindError
from mind_dialect.ptir import OPS_BY_OPCODE, LayerNormOp
from mind_lowering.ptir_optimize import optimize
from mind_runtime import compile

RNG = np.random.default_rng(0)
X, Y, Z = (RNG.standard_normal(s) for s in ((2, 5, 4), (2, 6, 4), (2, 6, 3)))


def softmax(x: Any) -> Any:
    shifted = np.exp(x - x.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


def windows(x: Any, size: int, stride: int, pad: int, filling: float) -> Any:
    """The windows of images `[N, H, W, C]`: `[N, H', W', size, size, C]`."""
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)), constant_values=filling)
    views = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (1, 2))[:, ::stride, ::stride]
    return np.moveaxis(views, 3, -1)


IMAGE, FILTERS, BIAS = RNG.standard_normal((2, 6, 6, 4)), RNG.standard_normal((3, 3, 4, 5)), RNG.standard_normal(5)
GAMMA, BETA = RNG.standard_normal(4), RNG.standard_normal(4)
LABELS = np.array([[0, 1, 2, 3, 3], [3, 2, 1, 0, 0]])
erf = np.vectorize(math.erf)

SUBNORMAL, BYTES = np.array([5e-324, 1e-323, 3e-310]), np.array([3, 100, -120], np.int8)
MASK = RNG.random((X.shape[1], Y.shape[1])) < 0.6
MASK[:, 0], MASK[-1] = True, False


def masked_attention(kept: Any) -> Any:
    """Attention of X, Y and Z with those keys j that each query i keeps; 0 where there are none."""
    scores = X @ Y.swapaxes(1, 2) / math.sqrt(X.shape[-1])
    mask = np.array([[kept(i, j) for j in range(scores.shape[2])] for i in range(scores.shape[1])])
    powers = np.where(mask, np.exp(scores), 0)
    total = powers.sum(-1, keepdims=True)
    return powers / np.where(total == 0, 1, total) @ Z


FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "relu": (lambda: ma.nn.relu(ma.asarray(X)), lambda: np.maximum(X, 0)),
    "sigmoid": (lambda: ma.nn.sigmoid(ma.asarray(X)), lambda: 1 / (1 + np.exp(-X))),
    "silu": (lambda: ma.nn.silu(ma.asarray(X)), lambda: X / (1 + np.exp(-X))),
    "softplus": (lambda: ma.nn.softplus(ma.asarray(X)), lambda: np.log1p(np.exp(X))),
    "gelu": (lambda: ma.nn.gelu(ma.asarray(X)), lambda: X * (1 + erf(X / math.sqrt(2))) / 2),
    "gelu by tanh": (
        lambda: ma.nn.gelu(ma.asarray(X), approximate="tanh"),
        lambda: X * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3))) / 2,
    ),
    "softmax": (lambda: ma.nn.softmax(ma.asarray(X)), lambda: softmax(X)),
    "softmax along 1": (lambda: ma.nn.softmax(ma.asarray(X), axis=1), lambda: softmax(X.swapaxes(1, 2)).swapaxes(1, 2)),
    "log_softmax": (lambda: ma.nn.log_softmax(ma.asarray(X)), lambda: np.log(softmax(X))),
    "logsumexp": (lambda: ma.nn.logsumexp(ma.asarray(X) * 500, axis=(0, 2)), lambda: 500 * X.max((0, 2))),
    "layer_norm": (
        lambda: ma.nn.layer_norm(ma.asarray(X), ma.asarray(GAMMA), ma.asarray(BETA)),
        lambda: (X - X.mean(-1, keepdims=True)) / np.sqrt(X.var(-1, keepdims=True) + 1e-5) * GAMMA + BETA,
    ),
    "layer_norm along 1": (
        lambda: ma.nn.layer_norm(ma.asarray(X), ma.asarray(BIAS), axis=1),
        lambda: (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-5) * BIAS[:, None],
    ),
    "rms_norm": (
        lambda: ma.nn.rms_norm(ma.asarray(X), ma.asarray(GAMMA)),
        lambda: X / np.sqrt((X**2).mean(-1, keepdims=True) + 1e-5) * GAMMA,
    ),
    "attention": (
        lambda: ma.nn.attention(ma.asarray(X), ma.asarray(Y), ma.asarray(Z)),
        lambda: softmax(X @ Y.swapaxes(1, 2) / 2) @ Z,
    ),
    **{
        f"attention {name}": (
            lambda given=given: ma.nn.attention(ma.asarray(X), ma.asarray(Y), ma.asarray(Z), **given),
            lambda kept=kept: masked_attention(kept),
        )
        for name, (given, kept) in {
            "causal": ({"causal": True}, lambda i, j: j <= i),
            "window": ({"window": 1}, lambda i, j: abs(i - j) <= 1),
            "window before": ({"window": (2, 0)}, lambda i, j: i - 2 <= j <= i),
            "causal window": ({"causal": True, "window": (1, 3)}, lambda i, j: i - 1 <= j <= i),
        }.items()
    },
    "attention cap": (
        lambda: ma.nn.attention(ma.asarray(X), ma.asarray(Y), ma.asarray(Z), cap=0.7, scale=2.0),
        lambda: softmax(0.7 * np.tanh(X @ Y.swapaxes(1, 2) * 2.0 / 0.7)) @ Z,
    ),
    "attention with a mask": (  # the last query has no keys
        lambda: ma.nn.attention(ma.asarray(X), ma.asarray(Y), ma.asarray(Z), ma.asarray(MASK)),
        lambda: masked_attention(lambda i, j: MASK[i, j]),
    ),
    "straight_through": (lambda: ma.nn.straight_through(ma.round(ma.asarray(X)), ma.asarray(X)), lambda: np.round(X)),
    "cross_entropy": (
        lambda: ma.nn.cross_entropy(ma.asarray(X), ma.asarray(LABELS)),
        lambda: -np.log(np.take_along_axis(softmax(X), LABELS[..., None], -1)).mean(),
    ),
    "one_hot": (lambda: ma.nn.one_hot(ma.asarray(LABELS), 4), lambda: np.eye(4)[LABELS]),
    "conv": (
        lambda: ma.nn.conv(ma.asarray(IMAGE), ma.asarray(FILTERS), ma.asarray(BIAS), stride=2, padding=1),
        lambda: np.einsum("nhwijc,ijco->nhwo", windows(IMAGE, 3, 2, 1, 0.0), FILTERS) + BIAS,
    ),
    "conv, same": (
        lambda: ma.nn.conv(ma.asarray(IMAGE), ma.asarray(FILTERS), padding="same"),
        lambda: np.einsum("nhwijc,ijco->nhwo", windows(IMAGE, 3, 1, 1, 0.0), FILTERS),
    ),
    "conv, same, of two": (  # nothing before, one place after
        lambda: ma.nn.conv(ma.asarray(IMAGE), ma.asarray(FILTERS[:2, :2]), padding="same"),
        lambda: np.einsum("nhwijc,ijco->nhwo", windows(IMAGE, 2, 1, 1, 0.0)[:, 1:, 1:], FILTERS[:2, :2]),
    ),
    "conv, same, by two steps": (  # 6 places give 3, with one place after
        lambda: ma.nn.conv(ma.asarray(IMAGE), ma.asarray(FILTERS), padding="same", stride=2),
        lambda: np.einsum("nhwijc,ijco->nhwo", windows(IMAGE, 3, 1, 1, 0.0)[:, 1::2, 1::2], FILTERS),
    ),
    "conv, valid": (
        lambda: ma.nn.conv(ma.asarray(IMAGE), ma.asarray(FILTERS), padding="valid"),
        lambda: np.einsum("nhwijc,ijco->nhwo", windows(IMAGE, 3, 1, 0, 0.0), FILTERS),
    ),
    "max_pool": (
        lambda: ma.nn.max_pool(ma.asarray(IMAGE), 3, stride=2, padding=1),
        lambda: windows(IMAGE, 3, 2, 1, -np.inf).max((3, 4)),
    ),
    "avg_pool": (lambda: ma.nn.avg_pool(ma.asarray(IMAGE), 2), lambda: windows(IMAGE, 2, 2, 0, 0.0).mean((3, 4))),
    "segment_sum": (
        lambda: ma.segment_sum(ma.asarray(X[0]), ma.asarray([1, 1, 0, 3, 1]), num_segments=4),
        lambda: np.stack([X[0][2], X[0][[0, 1, 4]].sum(0), np.zeros(4), X[0][3]]),
    ),
    "top_k": (lambda: ma.top_k(ma.asarray(X), 2)[0], lambda: -np.sort(-X, -1)[..., :2]),
    "einsum trace": (lambda: ma.einsum("aij,akj->ik", ma.asarray(X), ma.asarray(Y)), lambda: np.einsum("aij,akj->ik", X, Y)),
    "einsum diagonal": (lambda: ma.einsum("ii->i", ma.asarray(X[0, :4])), lambda: np.diagonal(X[0, :4])),
    "einsum three": (
        lambda: ma.einsum("aij,akj,akm->aim", ma.asarray(X), ma.asarray(Y), ma.asarray(Z)),
        lambda: np.einsum("aij,akj,akm->aim", X, Y, Z),
    ),
    "einsum implicit": (lambda: ma.einsum("ba", ma.asarray(X[0])), lambda: np.einsum("ba", X[0])),
    "quantile": (lambda: ma.quantile(ma.asarray(X), 0.37, axis=1), lambda: np.quantile(X, 0.37, axis=1)),
    "median of all": (lambda: ma.median(ma.asarray(X)), lambda: np.median(X)),
    "norm of a matrix": (lambda: ma.linalg.norm(ma.asarray(X[0]), "nuc"), lambda: np.linalg.norm(X[0], "nuc")),
    "norm of axes": (lambda: ma.linalg.norm(ma.asarray(X), 1, (0, 2)), lambda: np.linalg.norm(X, 1, (0, 2))),
    "dynamic_slice": (lambda: ma.dynamic_slice(ma.asarray(X), (1, 4, -2), (1, 2, 2)), lambda: X[1:2, 3:5, 0:2]),
    "hypot": (
        lambda: ma.hypot(ma.asarray([3e200, 0.0, np.inf]), ma.asarray([4e200, 0.0, np.nan])),
        lambda: np.array([5e200, 0, np.inf]),
    ),
    "sinh": (lambda: ma.sinh(ma.asarray([-710.0, 1e-9, 3.0])), lambda: np.sinh([-710.0, 1e-9, 3.0])),
    "asinh": (lambda: ma.asinh(ma.asarray([-1e200, 1e-9, 3.0])), lambda: np.arcsinh([-1e200, 1e-9, 3.0])),
    "log2": (lambda: ma.log2(2.0 ** ma.arange(-1000.0, 1000.0)), lambda: np.arange(-1000.0, 1000.0)),
    "log10 of subnormal numbers": (lambda: ma.log10(ma.asarray(SUBNORMAL)), lambda: np.log10(SUBNORMAL)),
    "log10 of a subnormal number of f32": (
        lambda: ma.astype(ma.log10(np.full(3, 1e-45, np.float32)), ma.float64),
        lambda: np.log10(np.full(3, 1e-45, np.float32)),
    ),
    "vander of bytes": (lambda: ma.vander(BYTES), lambda: np.vander(BYTES)),
    "polyder of bytes": (lambda: ma.polyder(BYTES, 2), lambda: np.polyder(BYTES, 2)),
}


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logarithms_of_powers_of_10_are_whole(dtype: Any, target: str):
    powers = np.arange(np.ceil(np.log10(np.finfo(dtype).tiny)), np.floor(np.log10(np.finfo(dtype).max)) + 1)
    found = ma.jit(ma.log10, target=target)((10.0**powers).astype(dtype))
    np.testing.assert_array_equal(np.asarray(found), powers.astype(dtype))


@pytest.mark.parametrize("dtype", [ma.float16, ma.bfloat16, ma.float32, ma.float64], ids=str)
def test_powers_are_those_of_ieee_754_however_the_exponent_is_given(dtype: Any):
    """Against `math.pow`: NumPy takes the square root for an exponent 0.5 that is repeated."""
    bases = [-math.inf, -4.0, -1.0, -0.0, 0.0, 1.0, 4.0, math.inf, math.nan]

    def expected(x: float, y: float) -> float:
        try:
            return math.pow(x, y)
        except ValueError:
            return math.inf if x == 0 else math.nan

    x = ma.asarray(bases, dtype=dtype)
    for y in (0.5, -0.5, 1.5, -1.0, 2.0, 0.0, 3.0):
        exponent = ma.asarray(y, dtype=dtype)
        exact = np.array([math.copysign(math.inf, v) if v == 0 and y == -1 else expected(v, y) for v in bases])
        forms: list[Any] = [lambda x, y=y: x**y, lambda x, e=exponent: x**e, lambda x, e=exponent: x ** ma.full_like(x, e)]
        forms += [lambda x, f=f: ma.stack([f(x[i]) for i in range(len(bases))]) for f in forms[:2]]
        for f in forms:
            for g in (f, ma.jit(f), ma.jit(f, target="native")):
                found = g(x)
                assert found.dtype == dtype
                np.testing.assert_array_equal(np.asarray(found, np.float64), exact, err_msg=f"exponent {y}")
                np.testing.assert_array_equal(np.signbit(found), np.signbit(exact) | (np.isnan(exact) & np.signbit(found)))


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_quotients_of_floats_are_floored_before_they_are_rounded(dtype: Any, target: str):
    rng = np.random.default_rng(0)
    tenths = rng.integers(-40, 41, 4000) / 10
    x = np.concatenate([tenths, rng.standard_normal(2000) * 100, 10.0 ** rng.integers(-3, 4, 500), [1.0, -1.0, 0.3]]).astype(
        dtype
    )
    y = np.concatenate([np.roll(np.where(tenths == 0, 0.7, tenths), 1), rng.standard_normal(2000), rng.choice([0.1, -0.1], 503)])
    y = y.astype(dtype)
    found = np.asarray(ma.jit(ma.floor_divide, target=target)(x, y))
    exact = [math.floor(Fraction(float(a)) / Fraction(float(b))) for a, b in zip(x, y, strict=True)]
    with np.errstate(over="ignore"):
        nearest = np.array(exact, np.float64).astype(dtype).astype(np.float64)
    np.testing.assert_allclose(found.astype(np.float64), nearest, rtol=float(np.finfo(dtype).eps), atol=0)
    if dtype != np.float16:
        np.testing.assert_array_equal(found, np.floor_divide(x, y))
    odd = np.array([0.0, -0.0, 5.0, -5.0, np.inf, np.nan, 5.0, -5.0], dtype), np.array([-3, 3, 0, 0, 2, 1, np.inf, np.inf], dtype)
    found = np.asarray(ma.jit(ma.floor_divide, target=target)(*odd))
    np.testing.assert_array_equal(found, np.array([-0.0, -0.0, np.inf, -np.inf, np.inf, np.nan, 0.0, -0.0]))
    np.testing.assert_array_equal(np.signbit(found[:2]), True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_its_formula_eager_and_compiled(name: str):
    ours, theirs = FUNCTIONS[name]
    for found in (ours(), ma.jit(ours)(), ma.jit(ours, target="native")()):
        np.testing.assert_allclose(np.asarray(found), theirs(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("count", [7, _SEARCH_LIMIT + 1000])
def test_searching_by_comparison_and_by_bisection(count: int, side: Any):
    ordered = np.sort(RNG.integers(0, count // 2, count).astype(float))
    ordered[-2:] = np.nan
    wanted = np.concatenate([RNG.choice(ordered[:-2], 50), [-1.0, count, np.nan, 0.5]])
    found = ma.searchsorted(ma.asarray(ordered), ma.asarray(wanted), side=side)
    np.testing.assert_array_equal(found.ndarray, np.searchsorted(ordered, wanted, side=side))


def test_normalisation_is_recognised_by_the_optimiser():
    spec = ma.spec((8, 16), "float32")
    module = ma.trace(ma.nn.layer_norm, spec, ma.spec(16, "float32"), ma.spec(16, "float32"))
    optimize(module)
    assert sum(isinstance(op, LayerNormOp) for op in module.walk()) == 1


# The ops of PTIR as functions


@pytest.mark.quick
def test_every_op_has_a_function_or_a_reason():
    for opcode in OPS_BY_OPCODE:
        if opcode in WITHOUT_FUNCTION:
            with pytest.raises(AttributeError, match="E7003"):
                getattr(ma.ptir, opcode)
        else:
            assert getattr(ma.ptir, opcode).__doc__ == OPS_BY_OPCODE[opcode].__doc__
    assert set(WITHOUT_FUNCTION) < set(OPS_BY_OPCODE)
    with pytest.raises(AttributeError, match=r"E7003: ma\.ptir has no function 'matmul', expected one of"):
        _ = ma.ptir.matmul


def test_an_op_is_called_with_its_properties():
    x = ma.asarray(X, dtype=ma.float32)
    np.testing.assert_array_equal(ma.ptir.reduce(x, kind="max", axes=[0], keepdims=False).ndarray, x.ndarray.max(0))
    assert ma.ptir.cast(x, dtype="si8").dtype == ma.int8
    assert ma.ptir.iota(shape=(3,), dtype=ma.int32, axis=0).tolist() == [0, 1, 2]
    with pytest.raises(MindError, match="E3001"):
        ma.ptir.add(x, x[:1])


def test_a_module_is_a_function():
    module = ma.trace(lambda x, w: (x @ w, x), ma.spec((2, 3), name="x"), ma.spec((3, 2), name="w"), name="f")
    f = ma.from_module(module)
    x, w = RNG.standard_normal((2, 3)), RNG.standard_normal((3, 2))
    for found in (f(x, w), f(w=w, x=x), ma.jit(f)(x, w)):
        np.testing.assert_allclose(found[0].ndarray, x @ w)
    np.testing.assert_allclose(ma.grad(lambda w: ma.sum(f(x, w)[0]))(w).ndarray, x.sum(0)[:, None] * np.ones(2))
    with pytest.raises(MindError, match=r"E2007: @f takes \['x', 'w'\]"):
        f(x)
    with pytest.raises(MindError, match="E2001: w of @f is float64"):
        f(x, w[0])
    with pytest.raises(MindError, match="E7003"):
        ma.from_module(module, "g")


def test_gradients_by_complex_numbers_follow_the_convention_of_the_passes():
    z = ma.asarray([1 + 2j, 3 - 1j])
    np.testing.assert_allclose(ma.grad(lambda z: ma.sum(ma.abs(z) ** 2))(z).ndarray, 2 * np.conj(z.ndarray))
    np.testing.assert_allclose(ma.jvp(lambda z: z * z, (z,), (z,))[1].ndarray, 2 * z.ndarray**2)


def test_straight_through_has_the_derivative_of_its_second_argument():
    x = np.array([0.4, -1.7, 2.5, np.inf])
    (gradient,) = [np.asarray(ma.grad(lambda x: ma.sum(ma.nn.straight_through(ma.round(x), x * 3.0)))(x))]
    np.testing.assert_array_equal(gradient, [3, 3, 3, 0])
    weight = np.array([1.0, 2.0, 3.0, 4.0])
    (through,) = [np.asarray(ma.grad(lambda x: ma.sum(ma.round(x) * ma.asarray(weight)))(x[:3].repeat(2)[:4]))]
    np.testing.assert_array_equal(through, np.zeros(4))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ma.nn.straight_through(ma.ones(3), ma.ones(4)), "expected equal ones"),
        (lambda: ma.nn.attention(*[ma.ones((2, 3))] * 3, cap=0.0), "cap is 0.0"),
        (lambda: ma.nn.attention(*[ma.ones((2, 3))] * 3, window=(1, -2)), "window is"),
        (lambda: ma.nn.attention(*[ma.ones((2, 3))] * 3, window=(1, 2, 3)), "window is"),
    ],
)
def test_wrong_arguments_are_named(call: Any, words: str):
    with pytest.raises(ValueError, match=words) as caught:
        call()
    assert "E1110" in str(caught.value)


def test_attention_with_a_band_is_one_kernel():
    """The pass finds it, and native code keeps the scores in its cache."""
    x = np.random.default_rng(0).standard_normal((2, 40, 8)).astype(np.float32)
    f = ma.jit(lambda q: ma.nn.attention(q, q, q, causal=True, window=(9, 0), cap=5.0), target="native")
    f(x)
    module = ma.trace(lambda q: ma.nn.attention(q, q, q, causal=True, window=(9, 0), cap=5.0), ma.spec((2, 40, 8), "float32"))
    from mind_runtime import compile

    assert sum("attention of" in line for line in compile(module, target="native").explain()) == 1


@pytest.mark.parametrize(
    ("values", "median"),
    [
        ([1, math.nan, 2, 3], math.nan),
        ([math.nan, 1, 2], math.nan),
        ([math.inf, -math.inf, 0], 0),
        ([1, math.inf], math.inf),
        ([-math.inf, -math.inf], -math.inf),
        ([-1.5e308, 1.5e308], 0),
    ],
)
def test_medians_of_special_values(values: list[float], median: float):
    np.testing.assert_equal(np.median(values), median)
    for target in ("numpy", "native"):
        x = np.array([values, [0.0] * len(values)])
        got = ma.jit(lambda x: (ma.median(x, axis=1), ma.quantile(x, 0.5, axis=1, keepdims=True)), target=target)(x)
        np.testing.assert_array_equal(np.asarray(got[0]), [median, 0])
        np.testing.assert_array_equal(np.asarray(got[1]), [[median], [0]])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_signs_of_complex_numbers_of_any_magnitude(dtype: Any) -> None:
    """Directions of numbers whose magnitude is subnormal or beyond the greatest number, where NumPy rounds."""
    limits = np.finfo(dtype)
    sizes = [
        16 * float(limits.smallest_subnormal),
        float(limits.tiny),
        1e-30,
        1.0,
        1e30,
        float(limits.max) / 4,
        float(limits.max),
    ]
    for a, b in ((3, 4), (-3, 4), (5, -12), (-8, -15), (0, 1), (-1, 0), (16, 12)):
        x = np.array([complex(size * (a / 16), size * (b / 16)) for size in sizes], dtype)
        for found in (ma.sign(x), ma.jit(ma.sign, target="native")(x)):
            np.testing.assert_allclose(found, np.full(x.shape, complex(a, b) / abs(complex(a, b))), rtol=4 * limits.eps)
    ends = np.array(
        [complex(np.inf, 1), complex(1, -np.inf), complex(-np.inf, np.nan), complex(np.inf, np.inf), np.nan, 0], dtype
    )
    np.testing.assert_array_equal(ma.sign(ends), [1, -1j, *[complex(np.nan, np.nan)] * 3, 0])


def test_the_sign_of_zeros_is_a_positive_zero() -> None:
    """The standard and NumPy say so."""
    x = np.array([-0.0, 0.0, -2.0, np.inf, np.nan])
    for found in (ma.sign(x), ma.jit(ma.sign, target="native")(x)):
        np.testing.assert_array_equal(found, np.sign(x))
        np.testing.assert_array_equal(np.signbit(np.asarray(found)[:2]), [False, False])


@pytest.mark.parametrize("precision", ["f4", "f8"])
@pytest.mark.parametrize("name", ["sinh", "cosh", "tan"])
def test_hyperbolic_functions_of_complex_numbers(name: str, precision: str) -> None:
    """They are those of NumPy at all edges, but for the sign of a zero where the real part is NaN, and native kernels."""
    z = np.concatenate([edges(precision), finite(precision)])
    with np.errstate(all="ignore"):
        found, wanted = np.asarray(getattr(ma, name)(z)), getattr(np, name)(z)
        close = np.abs(found - wanted) <= 4 * np.finfo(precision).eps * np.abs(wanted)
    for x, y in ((found.real, wanted.real), (found.imag, wanted.imag)):
        same = ((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y)) | (np.isnan(z.real) & (x == y))
        assert (same | close).all(), z[~(same | close)][:5]
    module = ma.trace(getattr(ma, name), ma.spec(z.shape, z.dtype))
    assert " 0 ops on NumPy" in compile(module, target="native").explain()[0]


def test_saved_programs_may_call_hyperbolic_functions() -> None:
    """Version 0.1.0 had custom calls for those of complex numbers."""
    z = X[0] + 1j * X[1]
    for name in ("sinh", "cosh", "tan"):

        def saved(x: Any, name: str = name) -> Any:
            return call(TARGETS[name], (x,), [(x.dtype, x.shape)])

        np.testing.assert_array_equal(ma.jit(saved)(z), getattr(np, name)(z))
        ours = ma.jvp(getattr(ma, name), (ma.asarray(z),), (ma.ones(z.shape, ma.complex128),))
        np.testing.assert_allclose(ma.jvp(saved, (ma.asarray(z),), (ma.ones(z.shape, ma.complex128),))[1], ours[1])


@pytest.mark.parametrize(("name", "ufunc"), [("cummax", np.maximum), ("cummin", np.minimum)])
def test_running_extremes_are_those_that_numpy_accumulates(name: str, ufunc: np.ufunc):
    function = getattr(ma, name)
    x = np.array([[0.5, -1.0, np.nan, 3.0], [2.0, 2.0, -0.0, -np.inf], [1.0, 7.0, 0.0, np.inf]])
    for given in (x, x.astype(np.float16), np.arange(12, dtype=np.int8).reshape(3, 4)[::-1], x[:, :0]):
        for axis in (None, 0, 1, -1):
            expected = ufunc.accumulate(given.ravel() if axis is None else given, axis=0 if axis is None else axis)
            for found in (function(given, axis), ma.jit(lambda y, axis=axis: function(y, axis=axis))(given)):
                np.testing.assert_array_equal(np.asarray(found), expected, strict=True)
    with pytest.raises(MindError, match="E3004"):
        function(x, 2)
