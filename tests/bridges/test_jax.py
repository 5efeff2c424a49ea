"""Functions of JAX in, functions of JAX out: values, derivatives of every order and batches are JAX's own to a few digits."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.program import functions, input_names
from mind_runtime import compile
from ptir_forms import program

jax = pytest.importorskip("jax", reason="JAX is not installed")
import jax.numpy as jnp  # noqa: E402, after the skip

from mind_bridges.jax import export, from_jax, load, to_jax  # noqa: E402, after the skip

RNG = np.random.default_rng(0)


def array(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) / 2).astype(np.float32)


X, W, B = array(5, 3), array(3, 4), array(4)


def loss(x: Any, w: Any, b: Any) -> Any:
    return jnp.sum(jnp.tanh(x @ w + b) ** 2)


def layer(x: Any, w: Any, b: Any) -> Any:
    return jax.nn.softmax(x @ w + b), jnp.argmax(x, 1)


def same(found: Any, expected: Any, tolerance: float = 5e-6) -> None:
    """Equal trees, relative to the largest number of each array."""
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert a.dtype == b.dtype
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        np.testing.assert_allclose(a, b, 0, tolerance * max(1.0, np.abs(b).max(initial=0)))


@pytest.fixture(scope="module")
def ours() -> Callable[..., Any]:
    return to_jax(from_jax(loss, X, W, B))


DERIVATIVES = {
    "value": lambda f: f,
    "grad": lambda f: jax.grad(f, (0, 1, 2)),
    "jit of grad": lambda f: jax.jit(jax.grad(f, 1)),
    "jvp": lambda f: lambda x, w, b: jax.jvp(f, (x, w, b), (x, 2 * w, b)),
    "jvp in one input": lambda f: lambda x, w, b: jax.jvp(lambda w: f(x, w, b), (w,), (w,)),
    "forward over reverse": lambda f: jax.hessian(f, 2),
    "reverse over reverse": lambda f: lambda x, w, b: jax.grad(lambda w: jnp.sum(jax.grad(f, 2)(x, w, b) ** 2))(w),
    "reverse over forward": lambda f: jax.jacrev(jax.jacfwd(f, 2), 2),
    "forward over forward": lambda f: jax.jacfwd(jax.jacfwd(f, 2), 2),
    "linearize": lambda f: lambda x, w, b: jax.linearize(f, x, w, b)[1](x, w, b),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f), 1),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_of_every_order(name: str, ours: Callable[..., Any]) -> None:
    how = DERIVATIVES[name]
    same(how(ours)(X, W, B), how(loss)(X, W, B), 2e-5)


XS, BS = array(7, 5, 3), array(7, 4)
BATCHES = {
    "of one input": (lambda f: jax.vmap(f, (0, None, None)), (XS, W, B)),
    "of two inputs": (lambda f: jax.vmap(f, (1, None, 0)), (np.swapaxes(XS, 0, 1), W, BS)),
    "of gradients": (lambda f: jax.vmap(jax.grad(f, 1), (0, None, None)), (XS, W, B)),
    "of gradients in what is not batched": (lambda f: jax.vmap(jax.grad(f, (0, 2)), (None, None, 0)), (X, W, BS)),
    "in a gradient": (lambda f: jax.grad(lambda x, w, b: jnp.sum(jax.vmap(f, (0, None, None))(x, w, b)), 1), (XS, W, B)),
    "of batches": (
        lambda f: jax.vmap(jax.vmap(f, (0, None, None)), (None, None, 0)),
        (XS, W, BS),
    ),
    "of tangents": (lambda f: jax.vmap(lambda x, w, b: jax.jvp(f, (x, w, b), (x, w, b))[1], (0, None, None)), (XS, W, B)),
}


@pytest.mark.parametrize("name", BATCHES)
def test_batches(name: str, ours: Callable[..., Any]) -> None:
    how, arguments = BATCHES[name]
    same(how(ours)(*arguments), how(loss)(*arguments), 2e-5)


def test_several_results_some_of_integers() -> None:
    f = to_jax(from_jax(layer, X, W, B))
    same(f(X, W, B), layer(X, W, B))
    for transform in (jax.jacrev, jax.jacfwd):
        same(transform(lambda w: f(X, w, B)[0])(W), transform(lambda w: layer(X, w, B)[0])(W))
    same(jax.vmap(f, (0, None, 0))(XS, W, BS), jax.vmap(layer, (0, None, 0))(XS, W, BS))


def lstm(w: Any, u: Any, xs: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ w + h @ u, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((xs.shape[1], u.shape[0]), jnp.float32)
    (h, _), hs = jax.lax.scan(step, (zero, zero), xs)
    return jnp.sum(h * h) + jnp.mean(hs)


def cnn(w: Any, v: Any, x: Any) -> Any:
    dims = ("NHWC", "HWIO", "NHWC")
    y = jax.nn.relu(jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=dims))
    y = jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jnp.sum(jax.nn.log_softmax(y.reshape(y.shape[0], -1) @ v)[:, 0])


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    p = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), -1)
    return jnp.sum(jnp.einsum("bhqk,bhkd->bhqd", p, v) ** 2)


MODELS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "lstm": (lstm, (array(4, 32), array(8, 32), array(6, 2, 4))),
    "cnn": (cnn, (array(3, 3, 2, 4), array(36, 5), array(2, 6, 6, 2))),
    "attention": (attention, tuple(array(2, 2, 5, 4) for _ in range(3))),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_and_their_gradients_through_both_doors(name: str) -> None:
    f, arguments = MODELS[name]
    module = from_jax(f, *arguments)
    ours = to_jax(module)
    same(jax.jit(ours)(*arguments), f(*arguments))
    wanted = jax.grad(f, tuple(range(len(arguments))))(*arguments)
    same(jax.jit(jax.grad(ours, tuple(range(len(arguments)))))(*arguments), wanted)
    same([compile(module)(*arguments)], [np.asarray(f(*arguments))])


def test_inputs_are_named_after_the_arguments() -> None:
    module = from_jax(loss, X, W, B)
    assert [spec.name for spec in compile(module).inputs] == ["x", "w", "b"]
    f = to_jax(module)
    same(f(X, b=B, w=W), loss(X, W, B))


def test_jitted_functions_keep_the_inputs_that_they_do_not_read() -> None:
    module = from_jax(jax.jit(lambda x, y: jnp.sum(y)), X, B)
    assert input_names(next(iter(functions(module)))) == ["x", "y"]
    same(compile(module)(X, B), jnp.sum(B))
    same(compile(from_jax(jnp.isfinite, np.arange(3)[:2].astype(np.int32)))(np.zeros(2, np.int32)), np.ones(2, bool))


@pytest.mark.parametrize(
    ("f", "lowerings"),
    [
        (lambda x, y: 2 * x, 1),
        (lambda x, y: (jnp.sin(y), 2 * x)[1], 1),
        (lambda x, y: jax.jit(lambda a, b: (jnp.sin(b), 2 * a)[1])(x, y), 2),
    ],
    ids=["not read", "read for nothing", "not read by a callee"],
)
def test_inputs_that_are_not_read_do_not_lower_twice(f: Any, lowerings: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """But where only a function that is called shows it."""
    lower, calls = jax.stages.Traced.lower, list[Any]()

    def counted(self: Any, *arguments: Any, **options: Any) -> Any:
        calls.append(self)
        return lower(self, *arguments, **options)

    monkeypatch.setattr(jax.stages.Traced, "lower", counted)
    module = from_jax(jax.jit(f), X, B)
    assert len(calls) == lowerings
    same(compile(module)(X, B), 2 * X)


def test_static_arguments_shift_no_names() -> None:
    def scaled(x: Any, n: int, y: Any, p: Any) -> Any:
        return jnp.sum(jax.nn.relu(x)) * n + jnp.sum(y) + jnp.sum(p["a"] ** 2)

    tree = {"a": B, "unread": W}
    module = from_jax(jax.jit(scaled, static_argnums=1), X, 3, W, tree)
    assert input_names(next(f for f in functions(module) if f.sym_name.data == "main")) == ["x", "y", "p['a']", "p['unread']"]
    same(compile(module, "main")(X, W, B, W), scaled(X, 3, W, tree))


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arcsinh", "arccosh"])
def test_signs_of_zeros_choose_the_side_of_a_branch_cut(name: str) -> None:
    lines = [complex(x, y) for x in (2.0, -2.0, 0.5) for y in (0.0, -0.0)] + [
        complex(x, y) for x in (0.0, -0.0) for y in (2.0, -2.0)
    ]
    z = np.array(lines, np.complex64)
    found = compile(from_jax(getattr(jnp, name), z))(z)
    np.testing.assert_allclose(found, getattr(np, name)(z), atol=1e-6)


def test_trees_are_an_input_for_each_leaf() -> None:
    def f(params: Any, x: Any) -> Any:
        return {"y": x @ params["w"] + params["b"], "n": x.shape[0]}

    module = from_jax(f, {"w": W, "b": B}, X)
    program_ = compile(module)
    assert len(program_.inputs) == 3
    assert len(program_.outputs) == 2


def test_shapes_stand_for_arrays() -> None:
    spec = jax.ShapeDtypeStruct((3, 4), np.float32)
    assert str(compile(from_jax(lambda w: w.T, spec)).outputs[0]) == "f32[4, 3]"


def _noisy() -> Any:
    return program("f32[4]", lambda x: [ptir.MulOp(x, ptir.RngUniformOp(shape=(4,), dtype="f32"))])


def test_random_programs_take_a_seed() -> None:
    module = _noisy()
    f = to_jax(module)
    x = np.arange(4, dtype=np.float32)
    same(f(x, seed=3 << 40), compile(module)(x, seed=3 << 40), 0)
    same(jax.jit(lambda x, s: f(x, seed=s))(x, np.array([5, 0], np.uint32)), compile(module)(x, seed=5), 0)
    noise = compile(module)(np.ones(4, np.float32), seed=5)
    same(jax.grad(lambda x: jnp.sum(f(x, seed=5)))(x), noise, 0)
    same(jax.vmap(lambda x: f(x, seed=5))(np.ones((2, 4), np.float32)), np.stack([noise, noise]), 0)


def test_a_batch_of_seeds_is_refused() -> None:
    f = to_jax(_noisy())
    with pytest.raises(MindError, match="its seed is batched") as caught:
        jax.vmap(lambda s: f(X[0, :1].repeat(4), seed=s))(np.zeros((3, 2), np.uint32))
    assert caught.value.code == "E6003"


@pytest.mark.parametrize("seed", [-1, 1 << 64, "7", True, np.zeros(3, np.uint32)])
def test_seeds_that_are_none(seed: Any) -> None:
    with pytest.raises(MindError, match="expected an integer from 0") as caught:
        to_jax(_noisy())(np.ones(4, np.float32), seed=seed)
    assert caught.value.code == "E7001"


def test_wrong_arguments_are_named(ours: Callable[..., Any]) -> None:
    for arguments, code, said in (
        ((X, W), "E2007", "expects 3 arguments"),
        ((X, W, B, B), "E2007", "expects 3 arguments"),
        ((W, W, B), "E2001", "input 'x' of @main: expected an array of float32"),
        ((X.astype(np.int32), W, B), "E2001", "found int32"),
    ):
        with pytest.raises(MindError, match=said) as caught:
            ours(*arguments)
        assert caught.value.code == code
    with pytest.raises(MindError, match="no input 'y' left to give") as caught:
        ours(X, W, y=B)
    assert caught.value.code == "E7003"


def test_64_bits_need_them_enabled() -> None:
    wide = program("f64[2]", lambda x: [ptir.NegOp(x)])
    f, x = to_jax(wide), np.ones(2)
    with pytest.raises(MindError, match="jax_enable_x64") as caught:
        f(x)
    assert caught.value.code == "E7001"
    with pytest.raises(MindError, match="jax_enable_x64"):
        from_jax(lambda x: x + 1, x)
    with jax.enable_x64(True):
        same(f(x), -x, 0)
        assert "f64" in str(from_jax(lambda x: x + 1, x))


def test_an_op_without_a_derivative_says_so() -> None:
    def body(x: Any) -> Any:
        def cond(v: Any) -> Any:
            return [ptir.CompareOp(ptir.ReduceOp(v, kind="max", axes=(0,), keepdims=False), number(), kind="less"), v]

        def number() -> Any:
            from ptir_control_programs import number as constant

            return constant(ptir.legal.F32, (), 10.0)

        return list(ptir.WhileOp(x, cond=cond, body=lambda v: [ptir.AddOp(v, v)]).results)

    f = to_jax(program("f32[2]", body))
    x = np.ones(2, np.float32)
    same(f(x), np.full(2, 16, np.float32), 0)
    with pytest.raises(MindError) as caught:
        jax.grad(lambda x: jnp.sum(f(x)))(x)
    assert caught.value.code == "E5001"


def test_artifacts_run_without_us_and_with_gradients(tmp_path: Path) -> None:
    path = tmp_path / "loss.bin"
    export(from_jax(loss, X, W, B), path, vjp_order=2)
    loaded = load(path)
    assert loaded.fun_name == "main"
    same(loaded.call(X, W, B), loss(X, W, B))
    same(jax.grad(loaded.call, 1)(X, W, B), jax.grad(loss, 1)(X, W, B))
    code = f"""
import jax, numpy as np, sys
call = jax.export.deserialize(bytearray(open({str(path)!r}, 'rb').read())).call
x, w, b = (np.ones(s, np.float32) for s in ((5, 3), (3, 4), (4,)))
print(call(x, w, b), jax.grad(call, 2)(x, w, b).shape, [m for m in sys.modules if m.startswith('mind')])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split(maxsplit=1)[1].strip() == "(4,) []"


def test_files_that_are_no_artifacts(tmp_path: Path) -> None:
    path = tmp_path / "no.bin"
    for data in (b"", b"nothing", b"\0" * 100):
        path.write_bytes(data)
        with pytest.raises(MindError, match=r"no\.bin is not an artifact") as caught:
            load(path)
        assert caught.value.code == "E7002"
    with pytest.raises(MindError) as caught:
        load(tmp_path / "absent.bin")
    assert caught.value.code == "E7002"
    with pytest.raises(MindError) as caught:
        export(from_jax(loss, X, W, B), tmp_path / "absent" / "loss.bin")
    assert caught.value.code == "E7002"


def test_what_has_no_form_in_ptir_is_listed() -> None:
    def f(x: Any) -> Any:
        return jnp.linalg.eigvals(x)

    with pytest.raises(MindError, match=r"at .*: a custom call of 'lapack_sgeev_ffi'") as caught:
        from_jax(f, X[:2, :2])
    assert caught.value.code == "E8008"
