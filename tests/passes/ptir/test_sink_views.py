"""ptir-sink-views: random elementwise programs between views keep their bits, and never gain a view."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from counting import calls
from mind_dialect.dominance import walk
from mind_dialect.ptir import ReshapeOp, TransposeOp, WindowArgOp
from mind_dialect.verify import verify
from mind_lowering.ptir_optimize import optimize
from mind_passes.ptir.sink_views import MOST_USES, sink_views
from programs import parse
from ptir_evaluator import evaluate, function_of, same_bits

SHAPES = ((2, 3, 4), (4, 2, 3), (24,), (3, 2, 4), (2, 4, 3))


def text(shape: tuple[int, ...]) -> str:
    return f"tensor<{'x'.join(map(str, (*shape, 'si32')))}>"


@st.composite
def programs(draw: st.DrawFn) -> ModuleOp:
    """Ops on three matrices of stacks and a vector: elementwise, views, reductions and products of integers."""
    pool: list[tuple[str, tuple[int, ...]]] = [("%x", (2, 3, 4)), ("%y", (2, 3, 4)), ("%z", (3, 2, 4))]
    lines = list[str]()

    def add(op: str, shape: tuple[int, ...]) -> None:
        lines.append(f"%t{len(lines)} = {op} -> {text(shape)}")
        pool.append((f"%t{len(lines) - 1}", shape))

    def recent() -> tuple[str, tuple[int, ...]]:
        return draw(st.sampled_from(pool[-3:]))

    for _ in range(draw(st.integers(3, 14))):
        name, shape = recent()
        match draw(st.sampled_from(["unary", "binary", "binary", "vector", "transpose", "transpose", "reshape"])):
            case "unary":
                add(f"ptir.neg {name} : {text(shape)}", shape)
            case "binary":
                other = draw(st.sampled_from([v for v, s in pool if s == shape]))
                add(f"ptir.mul {name}, {other} : ({text(shape)}, {text(shape)})", shape)
            case "vector":
                lines.append(f"%b{len(lines)} = ptir.iota shape = [{shape[-1]}] dtype = si32 axis = 0 : () -> {text(shape[-1:])}")
                vector = f"ptir.broadcast_to %b{len(lines) - 1} result_shape = {list(shape)} : {text(shape[-1:])}"
                add(vector, shape)
                add(f"ptir.add %t{len(lines) - 1}, {name} : ({text(shape)}, {text(shape)})", shape)
            case "transpose" if len(shape) == 3:
                perm = draw(st.permutations(range(3)))
                add(f"ptir.transpose {name} perm = {list(perm)} : {text(shape)}", tuple(shape[p] for p in perm))
            case _:
                new = draw(st.sampled_from(SHAPES))
                add(f"ptir.reshape {name} new_shape = {list(new)} : {text(shape)}", new)
    name, shape = pool[-1]
    axes = sorted(draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    rest = tuple(n for i, n in enumerate(shape) if i not in axes)
    kind = draw(st.sampled_from(["sum", "max"]))
    add(f"ptir.reduce {name} kind = {kind} axes = {axes} keepdims = false : {text(shape)}", rest)
    flat = f"ptir.dot_general {name}, {name} batch_lhs = [] batch_rhs = [] contract_lhs = {axes} contract_rhs = {axes}"
    add(f"{flat} : ({text(shape)}, {text(shape)})", (*rest, *rest))
    returned = [pool[-1], pool[-2], draw(st.sampled_from(pool))]
    body, types = "\n    ".join(lines), ", ".join(text(s) for _, s in returned)
    module = parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: {text((2, 3, 4))}, %y: {text((2, 3, 4))}, %z: {text((3, 2, 4))}) -> ({types}) {{
    {body}
    func.return {", ".join(v for v, _ in returned)} : {types}
  }}
}}""")
    verify(module)
    return module


def views(module: ModuleOp) -> int:
    """Transposes, and reshapes but for those of vectors that are repeated, which are made for another shape."""
    vectors = (op for op in walk(module) if isinstance(op, ReshapeOp) and op.result.name_hint is None)
    return sum(isinstance(op, TransposeOp | ReshapeOp) for op in walk(module)) - sum(1 for _ in vectors)


@settings(max_examples=40)
@given(programs())
def test_programs_keep_their_bits(module: ModuleOp) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-50, 50, shape).astype(np.int32) for shape in ((2, 3, 4), (2, 3, 4), (3, 2, 4))]
    expected = evaluate(function_of(module), arrays)
    sunk, optimized = module.clone(), module.clone()
    sink_views(sunk)
    optimize(optimized)
    for after in (sunk, optimized):
        verify(after)
        found = evaluate(function_of(after), arrays)
        assert len(found) == len(expected) == 3
        assert all(map(same_bits, found, expected))
    assert views(sunk) <= views(module)


def chain(n: int, links: int = 1) -> ModuleOp:
    """`n` ops between two transposes, `links` times."""
    lines = ["%v0 = ptir.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>"]
    shape = "tensor<3x2xf32>"
    for i in range(1, n):
        lines.append(f"%v{i} = ptir.neg %v{i - 1} : {shape}")
        if i % (n // links) == 0:
            lines.append(f"%u{i} = ptir.transpose %v{i} perm = [1, 0] : {shape} -> tensor<2x3xf32>")
            lines.append(f"%w{i} = ptir.exp %u{i} : tensor<2x3xf32>")
            lines[-3] = lines[-3].replace(f"%v{i} =", f"%o{i} =")
            lines[-2] = lines[-2].replace(f" %v{i} ", f" %o{i} ")
            lines.append(f"%v{i} = ptir.transpose %w{i} perm = [1, 0] : tensor<2x3xf32> -> {shape}")
    body = "\n    ".join(lines)
    return parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {{
    {body}
    %r = ptir.transpose %v{n - 1} perm = [1, 0] : {shape} -> tensor<2x3xf32>
    func.return %r : tensor<2x3xf32>
  }}
}}""")


@pytest.mark.parametrize("links", [1, 10])
def test_effort_is_linear_and_needs_no_recursion(links: int) -> None:
    small, large = chain(1000, links), chain(2000, links)
    sink_views(chain(10, links))  # what is computed once per type and class
    assert calls(lambda: sink_views(large)) < 2.4 * calls(lambda: sink_views(small))
    assert not any(isinstance(op, TransposeOp) for op in walk(large))


def test_transposes_of_every_value_are_tried_in_linear_time() -> None:
    """Each value is transposed for others too, so that nothing moves."""

    def effort(n: int) -> int:
        lines = ["%v0 = ptir.transpose %x perm = [1, 0] : tensor<2x2xf32>"]
        for i in range(1, n):
            lines.append(f"%v{i} = ptir.neg %v{i - 1} : tensor<2x2xf32>")
            lines.append(f"%u{i} = ptir.transpose %v{i} perm = [1, 0] : tensor<2x2xf32>")
        values = [f"%u{i}" for i in range(1, n)]
        types = ", ".join(["tensor<2x2xf32>"] * len(values))
        module = parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<2x2xf32>) -> ({types}) {{
    {chr(10).join(lines)}
    func.return {", ".join(values)} : {types}
  }}
}}""")
        return calls(lambda: sink_views(module))

    assert effort(200) < 2.5 * effort(100)


@pytest.mark.parametrize("users", range(1, 14))
def test_reshaped_values_of_many_users_stay_where_they_are(users: int) -> None:
    shape = "tensor<6xsi32>"
    lines = ["%t = ptir.reshape %x new_shape = [6] : tensor<2x3xsi32> -> " + shape, f"%v = ptir.abs %t : {shape}"]
    lines += [f"%u0 = ptir.neg %v : {shape}"]
    lines += [f"%u{i} = ptir.mul %u{i - 1}, %v : {shape}" for i in range(1, users)]
    body = "\n    ".join(lines)
    module = parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<2x3xsi32>) -> tensor<2x3xsi32> {{
    {body}
    %r = ptir.reshape %u{users - 1} new_shape = [2, 3] : {shape} -> tensor<2x3xsi32>
    func.return %r : tensor<2x3xsi32>
  }}
}}""")
    x = np.array([[1, -2, 3], [-1, 2, 0]], np.int32)
    expected = evaluate(function_of(module), [x])
    sunk = module.clone()
    assert sink_views(sunk) == (users <= MOST_USES)
    verify(sunk)
    assert all(map(same_bits, evaluate(function_of(sunk), [x]), expected))


WINNERS = {
    "x": "tensor<2x6x5x3xf32>",
    "perm": [0, 3, 1, 2],
    "padding": [[0, 0], [0, 0], [1, 0], [1, 1]],
    "between": "%v = ptir.abs %t : {v}",
    "used": "",
    "results": "%y",
    "types": "{y}",
}
"""A max pool, channels first, of ops on an image whose channels are last."""


def winners(**changed: object) -> ModuleOp:
    """The values of first extremes of windows, changed here and there."""
    parts = {**WINNERS, **changed}
    source, perm = (2, 6, 5, 3), parts["perm"]
    assert isinstance(perm, list)
    shape = [source[p] for p in perm]
    padding, window, strides = parts["padding"], parts.get("window", [1, 1, 3, 2]), [1, 1, 2, 1]
    assert isinstance(padding, list)
    assert isinstance(window, list)
    places = [(n + sum(p) - k) // s + 1 for n, p, k, s in zip(shape, padding, window, strides, strict=True)]
    named = {
        "v": f"tensor<{'x'.join(map(str, shape))}xf32>",
        "y": f"tensor<{'x'.join(map(str, places))}xf32>",
        "i": f"tensor<{'x'.join(map(str, places))}xsi64>",
        "f": "tensor<180xf32>",
    }
    options = f"window_dims = {window} strides = {strides} padding = {padding} window_dilation = [1, 1, 1, 1]"
    text = f"""module attributes {{{{ptir.spec_version = "ptir.v0.4"}}}} {{{{
  func.func @f(%x: {parts["x"]}) -> ({parts["types"]}) {{{{
    %t = ptir.transpose %x perm = {perm} : {parts["x"]} -> {{v}}
    {parts["between"]}
    %i = ptir.window_arg %v kind = max {options} output_dtype = si64 : {{v}} -> {{i}}
    %flat = ptir.reshape %v new_shape = [180] : {{v}} -> {{f}}
    %y = ptir.take %flat, %i : ({{f}}, {{i}}) -> {{y}}
    {parts["used"]}
    func.return {parts["results"]} : {parts["types"]}
  }}}}
}}}}"""
    module = parse(text.format(**named))
    verify(module)
    return module


def images() -> list[np.ndarray]:
    """Images with equal elements, zeros of both signs, infinities and NaN."""
    rng = np.random.default_rng(1)
    x = rng.choice(
        np.array([0.0, -0.0, 1, -1, -np.inf, np.inf, np.nan], np.float32), (2, 6, 5, 3), p=[0.3, 0.3, 0.1, 0.1, 0.1, 0.05, 0.05]
    )
    return [x]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"between": "%u = ptir.exp %t : {v} %v = ptir.mul %u, %t : {v}"},
        {"perm": [3, 0, 1, 2], "padding": [[0, 0], [0, 0], [2, 2], [0, 1]]},
        {"perm": [1, 3, 0, 2], "window": [1, 1, 1, 2], "padding": [[0, 0], [0, 0], [0, 0], [1, 1]]},
        {"used": "%z = ptir.neg %y : {y}", "results": "%y, %z", "types": "{y}, {y}"},
    ],
)
def test_first_extremes_are_found_before_a_transpose(changed: dict[str, object]) -> None:
    module = winners(**changed)
    expected = evaluate(function_of(module), images())
    sunk = module.clone()
    assert sink_views(sunk)
    verify(sunk)
    assert not sink_views(sunk.clone())
    ops = [op for op in walk(sunk) if isinstance(op, WindowArgOp | TransposeOp)]
    assert isinstance(ops[-1], TransposeOp)
    assert tuple(ops[-2].operands[0].type.get_shape()) == (2, 6, 5, 3)
    assert all(map(same_bits, evaluate(function_of(sunk), images()), expected))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"perm": [0, 3, 2, 1], "padding": [[0, 0]] * 4}, id="another order of windowed axes"),
        pytest.param({"results": "%y, %i", "types": "{y}, {i}"}, id="the index is a result"),
        pytest.param({"results": "%y, %v", "types": "{y}, {v}"}, id="the operand is a result"),
        pytest.param({"results": "%y, %flat", "types": "{y}, {f}"}, id="the flattened operand is a result"),
        pytest.param({"results": "%y, %t", "types": "{y}, {v}"}, id="the view is a result"),
        pytest.param({"padding": [[0, 0], [0, 0], [3, 0], [0, 0]]}, id="windows of padding alone"),
        pytest.param({"padding": [[0, 0], [0, 0], [0, 0], [0, 2]]}, id="windows of padding alone, behind"),
        pytest.param({"between": "%v = ptir.reverse %t axes = [1] : {v}"}, id="an op that is not elementwise"),
    ],
)
def test_first_extremes_stay(changed: dict[str, object]) -> None:
    module = winners(**changed)
    assert not sink_views(module)


@pytest.mark.parametrize("seed", range(60))
def test_cubes_and_their_transposes_keep_their_bits(seed: int) -> None:
    """Where a value and its transpose are of one shape, an op may read both."""
    draw = random.Random(seed)
    rank, values = draw.choice([2, 2, 3]), ["%x0", "%x1", "%one"]
    kind = f"tensor<{'x'.join('3' * rank)}xf32>"
    lines = [f"%one = ptir.constant fill 1.0 : {kind}"]
    for number in range(draw.randrange(3, 14)):
        a, b = draw.choice(values[-4:]), draw.choice([*values[-3:], "%one"])
        op = draw.choice(
            ["add {0}, {1}", "mul {0}, {1}", "neg {0}", f"transpose {{0}} perm = {draw.sample(range(rank), rank)}"]
        ).format(a, b)
        lines.append(f"%v{number} = ptir.{op} : {kind}" + f" -> {kind}" * ("transpose" in op))
        values.append(f"%v{number}")
    results = [values[-1], *draw.sample(values[3:], draw.randrange(2))]
    types = ", ".join([kind] * len(results))
    module = parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
      func.func @f(%x0: {kind}, %x1: {kind}) -> ({types}) {{
        {chr(10).join(lines)}
        func.return {", ".join(results)} : {types}
      }}
    }}""")
    verify(module)
    inputs = [np.random.default_rng(seed + i).standard_normal((3,) * rank).astype(np.float32) for i in range(2)]
    expected = evaluate(function_of(module), inputs)
    for _ in range(8):
        views = sum(isinstance(op, TransposeOp) for op in walk(module))
        if not sink_views(module):
            break
        verify(module)
        assert sum(isinstance(op, TransposeOp) for op in walk(module)) <= views
    else:
        pytest.fail("the pass does not end")
    assert all(map(same_bits, evaluate(function_of(module), inputs), expected))
