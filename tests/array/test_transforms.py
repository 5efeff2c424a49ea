"""Transformations of `mind_array`: their interface, control flow, and all of them together."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_dialect.errors import MindError
from mind_dialect.ptir import ScanOp, WhileOp, invariant_carries

Array = np.ndarray[Any, Any]


def close(found: Any, expected: Any, rtol: float = 1e-6, atol: float = 1e-8) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol, atol=atol)


# The interface


def test_gradients_have_the_containers_of_their_arguments():
    params = {"w": ma.ones((2, 3)), "b": [ma.zeros(2), 2.0]}
    value, gradient = ma.value_and_grad(lambda p, x: ma.sum(p["w"] @ x + p["b"][0] * p["b"][1]))(params, ma.arange(3.0))
    assert float(value) == 6.0
    assert set(gradient) == {"w", "b"}
    close(gradient["w"], [[0, 1, 2], [0, 1, 2]])
    close(gradient["b"][0], [2, 2])
    first, second = ma.grad(lambda x, y: ma.sum(x * y), (1, 0))(ma.ones(2), ma.ones(2) * 3)
    close(first, [1, 1])
    close(second, [3, 3])


def test_auxiliary_results_pass_through():
    value, gradient = ma.value_and_grad(lambda x: (ma.sum(x * x), {"x": x, "n": 3}), has_aux=True)(ma.ones(2))
    assert float(value[0]) == 2.0
    assert int(value[1]["n"]) == 3
    close(gradient, [2, 2])


def test_vjp_and_jacobians():
    def f(x: Any, y: Any) -> Any:
        return {"a": ma.sin(x) * y, "b": ma.sum(y)}

    x, y = ma.asarray([1.0, 2.0]), ma.asarray([3.0, 4.0])
    result, pull = ma.vjp(f, x, y)
    close(result["a"], np.sin([1, 2]) * [3, 4])
    gx, gy = pull({"a": ma.asarray([1.0, 0.0]), "b": ma.asarray(2.0)})
    close(gx, [np.cos(1) * 3, 0])
    close(gy, [np.sin(1) + 2, 2])
    p, q = {"u": x, "v": 2.0}, ma.asarray([5.0, 6.0, 7.0])

    def g(p: Any, q: Any, k: float = 1.0) -> Any:
        return {"s": ma.outer(p["u"], q) * p["v"] * k, "t": [ma.sum(q**2)]}

    for jacobian in (ma.jacfwd, ma.jacrev):
        found = jacobian(g, (0, 1))(p, q, k=3.0)
        assert ma.tree.structure(found) == ma.tree.structure({"s": ({"u": 0, "v": 0}, 0), "t": [({"u": 0, "v": 0}, 0)]})
        by_p, by_q = found["s"]
        close(by_p["u"], 6 * np.einsum("ik,j->ijk", np.eye(2), [5, 6, 7]))
        close(by_p["v"], 3 * np.outer([1, 2], [5, 6, 7]))
        close(by_q, 6 * np.einsum("i,jk->ijk", [1, 2], np.eye(3)))
        close(found["t"][0][0]["u"], [0, 0])
        close(found["t"][0][1], [10, 12, 14])
        close(jacobian(g, 1)(p, q)["t"][0], [10, 12, 14])
        close(ma.jit(jacobian(lambda x: ma.sin(x)), target="native")(x), np.diag(np.cos([1, 2])))
        close(jacobian(lambda x: ma.stack([ma.sum(x * x), x[0] * x[1], x[1]]))(x), [[2, 4], [2, 1], [0, 1]])
    close(ma.hessian(lambda x: x[0] ** 2 * x[1])(x), [[4, 2], [2, 0]])
    found = ma.hessian(lambda p: ma.sum(p["u"] ** 2) * p["v"])(p)
    close(found["u"]["u"], 4 * np.eye(2))
    close(found["u"]["v"], [2, 4])
    close(found["v"]["u"], [2, 4])
    close(found["v"]["v"], 0)
    with pytest.raises(MindError, match="E1104"):
        pull((1.0, 2.0))


def test_the_transformations_compose_in_every_order():
    def f(x: Any) -> Any:
        return ma.sum(ma.sin(x) * x)

    x = np.random.default_rng(0).standard_normal((3, 4))
    expected = np.cos(x) * x + np.sin(x)
    steps = {"grad": ma.grad, "vmap": ma.vmap, "jit": ma.jit}
    for order in itertools.permutations(steps):
        g: Any = f
        for name in order:
            g = steps[name](g)
        if order.index("grad") < order.index("vmap"):
            close(g(x), expected)
        else:  # the batched function has one loss per example
            with pytest.raises(MindError, match="E5004"):
                g(x)
            summed: Any = f
            for name in order:
                summed = steps[name](summed)
                if name == "vmap":
                    summed = (lambda inner: lambda x: ma.sum(inner(x)))(summed)
            close(summed(x), expected)


def test_vmap_takes_prefixes_of_containers():
    def f(p: Any, x: Any, scale: float) -> Any:
        return p["w"] @ x * scale, ma.sum(x)

    w, xs = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    mapped = ma.vmap(f, in_axes=(None, 1, None), out_axes=(1, 0))
    a, b = mapped({"w": ma.asarray(w)}, ma.asarray(xs), 2.0)
    close(a, 2 * w @ xs)
    close(b, xs.sum(0))
    with pytest.raises(MindError, match=r"E1104: in_axes"):
        ma.vmap(f, in_axes=({"v": 0}, 0, None))({"w": ma.asarray(w)}, ma.asarray(xs), 2.0)
    with pytest.raises(MindError, match=r"E3003: vmap of f: x has extent 4"):
        ma.vmap(f, in_axes=(0, 1, None))({"w": ma.asarray(w)}, ma.asarray(xs), 2.0)
    with pytest.raises(MindError, match="E7001"):
        ma.vmap(lambda x: x, in_axes=None)(ma.ones(2))


def test_adjoints_that_a_custom_rule_returns_for_nobody_leave_loops_intact():
    @ma.custom_vjp
    def scaled(x: Any, s: Any) -> Any:
        return x * s

    def backward(r: Any, g: Any) -> Any:
        ma.sin(g)
        return g * r[1], g * r[0]

    scaled.defvjp(lambda x, s: (x * s, (x, s)), backward)
    xs = np.array([[0.5, 2.0, 3.0], [1.5, -1.0, 0.25]])

    def product(c: Any, row: Any) -> Any:
        return ma.scan(lambda c, x: (scaled(c, x), c), c, row)[0]

    for target in ("numpy", "native"):
        gradient = ma.jit(ma.grad(lambda c: ma.sum(ma.vmap(product, in_axes=(None, 0))(c, ma.asarray(xs)))), target=target)
        close(gradient(2.0), xs.prod(1).sum())
    close(ma.grad(product)(2.0, ma.asarray(xs[0])), 3.0)


def test_custom_rules_hold_in_every_composition():
    @ma.custom_vjp
    def halved(x: Any, limit: Any) -> Any:
        return x * 1.0

    halved.defvjp(lambda x, limit: (x * 1.0, limit), lambda limit, g: (g * limit * 0.5, None))

    def f(x: Any) -> Any:
        return ma.sum(halved(x, 3.0) ** 2)

    x = np.random.default_rng(0).standard_normal((2, 3))
    close(ma.grad(f)(x), 3 * x)
    close(ma.jit(ma.grad(f), target="native")(x), 3 * x)
    close(ma.vmap(ma.grad(f))(x), 3 * x)
    close(ma.grad(lambda x: ma.sum(ma.vmap(f)(x)))(x), 3 * x)
    close(ma.grad(lambda x: ma.scan(lambda c, v: (c + f(v), None), 0.0, x)[0])(x), 3 * x)
    close(ma.grad(lambda x: ma.sum(ma.grad(f)(x) ** 2))(x), 2 * 3 * 3 * x * 1.5)
    assert "custom_call" not in str(ma.trace(ma.grad(f), ma.spec((2, 3))))
    with pytest.raises(MindError, match="E5001"):
        ma.jvp(f, (x,), (x,))
    close(ma.grad(lambda x: ma.sum(halved(x, limit=3.0)))(x), np.full((2, 3), 1.5))
    with pytest.raises(MindError, match="E1105: custom_vjp halved: limit is a str, expected an array"):
        ma.grad(lambda x: ma.sum(halved(x, "3")))(x)
    with pytest.raises(MindError, match="E1105: custom_vjp halved: got an unexpected keyword argument 'bound'"):
        halved(x, 3.0, bound=3.0)
    halved.defvjp(lambda x, limit: (x, ()), lambda r, g: (g,))
    with pytest.raises(
        TypeError, match=r"E2007: .* backward returns 1 adjoints, expected one per argument, 2 \(test_transforms.py"
    ):
        ma.grad(f)(x)


def test_checkpoints_compute_again_and_change_no_number():
    def f(x: Any) -> Any:
        return ma.sin(ma.sin(ma.sin(x)))

    x = np.linspace(-1, 1, 5)
    plain, again = (ma.grad(lambda x, g=g: ma.sum(g(x))) for g in (f, ma.checkpoint(f)))
    np.testing.assert_array_equal(np.asarray(plain(x)), np.asarray(again(x)))
    count = [str(ma.trace(g, ma.spec((5,)))).count("ptir.sin") for g in (plain, again)]
    assert count == [3, 5]


# Control flow


@pytest.mark.parametrize("dtype", [ma.int8, ma.int64, ma.uint8, ma.uint64])
def test_a_switch_takes_the_function_of_its_index(dtype: Any):
    """Against a list of Python, with gradients and batches of indices."""
    x = np.array([0.5, -1.0])

    for count in (1, 2, 5):
        branches = [lambda v, k=k: ma.sin(v * (k + 1.0)) for k in range(count)]
        limits = np.iinfo(dtype)
        indices = [i for i in (limits.min, -1, 0, 1, 3, count - 1, count, limits.max) if limits.min <= i <= limits.max]

        def f(i: Any, v: Any, branches: Any = branches) -> Any:
            return ma.switch(i, branches, v)

        jitted, slope = ma.jit(f), ma.jit(ma.grad(lambda i, v, f=f: ma.sum(f(i, v)), argnums=1))
        chosen = [min(max(int(i), 0), count - 1) + 1.0 for i in indices]
        for i, k in zip(indices, chosen, strict=True):
            index = ma.asarray(i, dtype=dtype)
            np.testing.assert_allclose(jitted(index, x).ndarray, np.sin(x * k), rtol=1e-12)
            np.testing.assert_allclose(slope(index, x).ndarray, np.cos(x * k) * k, rtol=1e-12)
        many = ma.vmap(f, in_axes=(0, None))(ma.asarray(indices, dtype=dtype), x)
        np.testing.assert_allclose(many.ndarray, np.stack([np.sin(x * k) for k in chosen]), rtol=1e-12)
    last = ma.jit(lambda i: ma.switch(i, [lambda k=k: ma.asarray(k) for k in range(130)]))(
        ma.asarray(np.iinfo(dtype).max, dtype=dtype)
    )
    assert int(last) == min(np.iinfo(dtype).max, 129)
    assert [ma.switch(i, [lambda: "a", lambda: "b"]) for i in (-1, 0, 1, 7)] == [*"aabb"]


def test_loops_and_branches_capture_what_they_use():
    w = ma.asarray(np.random.default_rng(0).standard_normal((3, 3)))

    def f(x: Any) -> Any:
        scale = x.sum()
        h, ys = ma.scan(lambda h, v: (ma.tanh(h @ w + v * scale), h), x, ma.arange(4.0))
        h = ma.fori_loop(0, 3, lambda i, h: h * w[0] + i * 0.1, h)
        _, h = ma.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] * scale), (0, h))
        return ma.sum(ma.cond(scale > 0, lambda: h * w[1], lambda: h - w[1])) + ma.sum(ys)

    def by_hand(x: Array) -> Any:
        weights = np.asarray(w)
        scale, h, total = x.sum(), x, 0.0
        for v in range(4):
            total, h = total + h.sum(), np.tanh(h @ weights + v * scale)
        for i in range(3):
            h = h * weights[0] + i * 0.1
        h = h * scale * scale
        return (h * weights[1] if scale > 0 else h - weights[1]).sum() + total

    for x in (np.array([0.3, -0.1, 0.2]), np.array([-0.3, -0.1, 0.2])):
        close(f(ma.asarray(x)), by_hand(x))
        for target in ("numpy", "native"):
            close(ma.jit(f, target=target)(x), by_hand(x))
        h, u = 1e-6, np.array([0.5, -1.0, 2.0])
        close((np.asarray(ma.grad(f)(x)) * u).sum(), (by_hand(x + h * u) - by_hand(x - h * u)) / (2 * h), rtol=1e-5)


def lstm(carried: bool) -> Any:
    """The gradient program of an LSTM whose weights are captured, or threaded through the carry."""

    def loss(w: Any, u: Any, b: Any, xs: Any) -> Any:
        def cell(carry: Any, x: Any) -> Any:
            h, c, *weights = carry
            p, q, r = weights if carried else (w, u, b)
            i, f, g, o = ma.split(x @ p + h @ q + r, 4, axis=-1)
            c = ma.nn.sigmoid(f) * c + ma.nn.sigmoid(i) * ma.tanh(g)
            h = ma.nn.sigmoid(o) * ma.tanh(c)
            return (h, c, *weights), h

        zero = ma.zeros((2, 4))
        return ma.sum(ma.scan(cell, (zero, zero, *((w, u, b) if carried else ())), xs)[1])

    specs = [ma.spec(s) for s in ((3, 16), (4, 16), (16,), (5, 2, 3))]
    return ma.trace(ma.grad(loss, (0, 1, 2)), *specs, passes=None)


def test_captured_weights_have_the_gradient_program_of_threaded_ones():
    counts = []
    for module in (lstm(True), lstm(False)):
        scans = [op for op in module.walk() if isinstance(op, ScanOp)]
        counts.append(
            (sorted(op.name for op in module.walk()), [len(op.operands) for op in scans], [len(op.results) for op in scans])
        )
    assert counts[0] == counts[1]


def test_captures_are_the_invariant_carries_of_a_loop():
    w = ma.ones(3)

    def f(x: Any, n: Any) -> Any:
        _, y = ma.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * w), (0, x))
        return ma.scan(lambda c, v: (c + y * v, c), x, ma.arange(4.0))[0]

    module = ma.trace(f, ma.spec(3), ma.spec((), ma.int64))
    loops = [op for op in module.walk() if isinstance(op, ScanOp | WhileOp)]
    assert [invariant_carries(op) for op in loops] == [[2, 3], [1]], "n and w; y"


def test_scan_goes_backwards_and_without_inputs():
    xs = np.arange(4.0)
    last, ys = ma.scan(lambda c, x: (c * 0.5 + x, c), 0.0, xs, reverse=True)
    carry, expected = 0.0, []
    for x in xs[::-1]:
        expected.append(carry)
        carry = carry * 0.5 + x
    close(last, carry)
    close(ys, expected[::-1])
    close(ma.scan(lambda c, _: (c * 2, None), 1.0, length=5)[0], 32)
    assert ma.scan(lambda c, _: (c, None), 1.0, length=3)[1] is None


def test_a_number_in_the_initial_carry_takes_the_dtype_of_the_body():
    x = ma.ones(3, dtype=ma.float32)
    assert ma.scan(lambda c, v: (c + v, None), 0.0, x)[0].dtype == ma.float32
    assert ma.fori_loop(0, 2, lambda i, c: c * x[0], 1.0).dtype == ma.float32
    assert ma.cond(x[0] > 0, lambda: x[0], lambda: 0.0).dtype == ma.float32


MISMATCHES = {
    "dtype of a carry": (
        lambda x: ma.scan(lambda c, v: ({"h": [c["h"][0] * v]}, None), {"h": [ma.ones(2, dtype=ma.float32)]}, x),
        r"carry\['h'\]\[0\]: float32\[2\] enters, float64\[2\] leaves",
    ),
    "shape of a carry": (
        lambda x: ma.while_loop(lambda c: c[0] > 0, lambda c: ma.concat([c, c]), x),
        r"carry: float64\[3\] enters, float64\[6\] leaves",
    ),
    "container of a carry": (
        lambda x: ma.fori_loop(0, 2, lambda i, c: (c, c), x),
        r"the carry is \*, the body \(.*\) returns \(\*, \*\)",
    ),
    "containers of branches": (lambda x: ma.cond(x[0] > 0, lambda: (x, x), lambda: x), "the branches return"),
    "dtypes of branches": (
        lambda x: ma.cond(x[0] > 0, lambda: {"a": x}, lambda: {"a": x > 0}),
        r"result\['a'\]: float64\[3\] if true, bool\[3\] if false",
    ),
    "no pair": (lambda x: ma.scan(lambda c, v: c, 0.0, x), "expected a pair"),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_containers_that_differ_are_named_with_the_place(name: str):
    call, message = MISMATCHES[name]
    for f in (call, ma.jit(call)):
        with pytest.raises(MindError, match=rf"E1104: .*{message}") as caught:
            f(ma.ones(3))
        assert "test_transforms.py:" in str(caught.value)


WRONG = {
    "a loss that is not a number": (lambda x: ma.grad(lambda x: x)(x), "E5004"),
    "an integer loss": (lambda x: ma.grad(lambda x: ma.sum(ma.astype(x, ma.int64)))(x), "E5005"),
    "an integer argument": (lambda x: ma.grad(lambda n: ma.sum(x) * n)(3), "E5005"),
    "argnums": (lambda x: ma.grad(lambda x: ma.sum(x), 1)(x), "E1110"),
    "a function that cannot be differentiated": (
        lambda x: ma.grad(lambda x: ma.sum(ma.linalg.svd(x)[0]))(ma.ones((2, 3))),
        "E5001",
    ),
    "a tangent of another shape": (lambda x: ma.jvp(ma.sin, (x,), (ma.ones(2),)), "E2001"),
    "tangents missing": (lambda x: ma.jvp(ma.add, (x, x), (x,)), "E1104"),
    "tangents in another container": (lambda x: ma.jvp(lambda p: p["a"], ({"a": x},), ([x],)), "E1104"),
    "tangents of a Hessian in another container": (lambda x: ma.hvp(lambda p: ma.sum(p["a"]), ({"a": x},), ({"b": x},)), "E1104"),
    "primals that are no tuple": (lambda x: ma.jvp(ma.sin, x, x), "E1105"),
    "argnums that are no integers": (lambda x: ma.grad(ma.sum, "x")(x), "E1110"),
    "nothing to differentiate by": (lambda x: ma.grad(lambda *, a: ma.sum(a))(a=x), "E1110"),
    "no pair for has_aux": (lambda x: ma.grad(lambda x: ma.sum(x), has_aux=True)(x), "E1104"),
    "three results for has_aux": (lambda x: ma.grad(lambda x: (ma.sum(x), 1, 2), has_aux=True)(x), "E1104"),
    "a Jacobian by an integer": (lambda x: ma.jacfwd(lambda n: n * 2.0)(3), "E5005"),
    "a Jacobian of an integer": (lambda x: ma.jacrev(lambda x: ma.argmax(x))(x), "E5005"),
    "a Jacobian by an argument that is not there": (lambda x: ma.jacrev(lambda x: x, 2)(x), "E1110"),
    "no function to differentiate": (lambda x: ma.grad(3)(x), "E1105"),
    "no function to map": (lambda x: ma.vmap(x), "E1105"),
    "no function to checkpoint": (lambda x: ma.checkpoint(None), "E1105"),
    "no function for a branch": (lambda x: ma.cond(x[0] > 0, 1, lambda: 2), "E1105"),
    "no function for a rule": (lambda x: ma.custom_vjp(lambda x: x).defvjp(None, lambda r, g: g), "E1105"),
    "a size that is no integer": (lambda x: ma.vmap(lambda: x, size=2.5)(), "E1110"),
    "a length that is no integer": (lambda x: ma.scan(lambda c, _: (c, None), 0.0, length=2.5), "E1110"),
    "a length below 0": (lambda x: ma.scan(lambda c, _: (c, None), 0.0, length=-1), "E1110"),
    "a checkpoint that is no rule": (lambda x: ma.scan(lambda c, v: (c, None), 0.0, x, checkpoint=2), "E7001"),
    "bounds that are no integers": (lambda x: ma.fori_loop(0.5, 3, lambda i, c: c, 0.0), "E1110"),
    "traced bounds that are no integers": (lambda x: ma.fori_loop(0, x[0], lambda i, c: c, 0.0), "E2001"),
    "a bound on iterations": (lambda x: ma.while_loop(lambda c: c < 3, lambda c: c + 1, 0, max_iterations=-1), "E1110"),
    "a switch of nothing": (lambda x: ma.switch(0, []), "E1110"),
    "a switch of no function": (lambda x: ma.switch(0, [lambda: x, 1]), "E1105"),
    "a switch by a float": (lambda x: ma.switch(x[0], [lambda: x, lambda: x]), "E2001"),
    "a switch by several": (lambda x: ma.switch(ma.arange(3), [lambda: x, lambda: x]), "E2001"),
    "a switch of other results": (lambda x: ma.jit(lambda i: ma.switch(i, [lambda: x, lambda: x, lambda: x[0]]))(1), "E1104"),
    "a predicate of rank 1": (lambda x: ma.cond(x > 0, lambda: x, lambda: x), "E2001"),
    "a condition of rank 1": (lambda x: ma.while_loop(lambda c: c > 0, lambda c: c, x), "E2001"),
    "scanned lengths": (lambda x: ma.scan(lambda c, v: (c, None), 0.0, (x, ma.ones(2))), "E3003"),
    "nothing to scan": (lambda x: ma.scan(lambda c, v: (c, None), 0.0), "E1110"),
    "a result that is no array": (lambda x: ma.jit(lambda x: "a")(x), "E1105"),
    "an argument that is no array": (lambda x: ma.jit(lambda x, mode: x)(x, "fast"), "E1105"),
    "a rule that is missing": (lambda x: ma.custom_vjp(lambda x: x)(x), "E5001"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_coded_errors_at_the_line_of_the_caller(name: str):
    call, code = WRONG[name]
    with pytest.raises(MindError) as caught:
        call(ma.ones(3))
    assert caught.value.code == code
    assert "test_transforms.py:" in str(caught.value)


def test_errors_of_loops_name_the_function_that_was_called_and_its_body():
    def body(i: Any, c: Any) -> Any:
        return c, c

    line = body.__code__.co_firstlineno
    with pytest.raises(
        TypeError, match=rf"E1104: fori_loop: the carry is \*, the body \(test_transforms.py:{line}\) returns \(\*, \*\)"
    ):
        ma.fori_loop(0, 3, body, ma.ones(2))
    with pytest.raises(TypeError, match=r"E1104: fori_loop: carry: float64\[2\] enters, float64\[\] leaves"):
        ma.fori_loop(0, 3, lambda i, c: c[0], ma.ones(2))
    with pytest.raises(TypeError, match="E1104: scan: the carry is"):
        ma.scan(lambda c, x: ((c, c), None), ma.ones(2), length=3)


def test_numpy_in_place_of_traced_elements_is_refused_with_what_to_write():
    numbers = np.arange(3.0)
    for function in (lambda i: numbers[i], lambda i: np.array([i, i])):
        with pytest.raises(TypeError, match=r"E1101: .*ma\.asarray\(\[\.\.\.\]\).*ma\.asarray\(x\)\[i\]"):
            ma.jit(function)(1)
