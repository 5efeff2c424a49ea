"""Random well-typed programs for property tests, drawn as expressions; every opcode of the specification can occur, and `Div`."""

from __future__ import annotations

import math

from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from mind_dialect import build as b
from mind_dialect.build import Expression

DTYPES = ("i32", "i64", "f32", "f64")
SPECIALS = (0.0, -0.0, math.nan, math.inf, -math.inf, 1e-45, 0.1, 3.4028234663852886e38, 1.0)
EXTENTS = st.integers(1, 3)
SHAPES = st.lists(EXTENTS, max_size=3).map(tuple)


class Pool(list):
    """The expressions so far, and names for new variables."""

    fresh = 0

    def variable(self, like: Expression, shape: tuple[int, ...]) -> Expression:
        """A new variable of the dtype and profile of another."""
        self.fresh += 1
        return b.variable(f"new {self.fresh}", str(like.dtype), shape, str(like.profile))


def numbers(dtype: str) -> st.SearchStrategy:
    """Elements of a dtype, special ones included."""
    if dtype[0] == "i":
        bits = int(dtype[1:]) - 1
        return st.integers(-(1 << bits), (1 << bits) - 1)
    return st.one_of(st.sampled_from(SPECIALS), st.floats(width=int(dtype[1:])))


def _nested(draw, shape, dtype):
    if not shape:
        return draw(numbers(dtype))
    return [_nested(draw, shape[1:], dtype) for _ in range(shape[0])]


def _constant(draw, pool):
    dtype, shape = draw(st.sampled_from(DTYPES)), draw(SHAPES)
    kind = draw(st.sampled_from(["literal", "full", "i64", "f32", "f64"]))
    if kind == "literal":
        return b.literal(_nested(draw, shape, dtype), dtype)
    if kind == "full":
        return b.full(shape, draw(numbers(dtype)), dtype)
    return getattr(b, f"const_{kind}")(draw(numbers(kind)))


def _axes(draw, rank, most=3):
    return draw(st.lists(st.integers(0, rank - 1), max_size=most, unique=True)) if rank else []


def _broadcastable(draw, shape):
    kept = shape[draw(st.integers(0, len(shape))) :]
    return tuple(n if draw(st.booleans()) else 1 for n in kept)


def _binary(draw, pool):
    x = draw(st.sampled_from(pool))
    y = pool.variable(x, tuple(max(1, n) for n in _broadcastable(draw, x.shape)))
    ops = [b.add, b.sub, b.mul] + ([b.div] if x.profile == "core-v1.1" else [])
    y = draw(st.sampled_from([x, y]))
    op = draw(st.sampled_from(ops))
    return op(x, y) if draw(st.booleans()) else op(y, x)


def _unary(draw, pool):
    x = draw(st.sampled_from(pool))
    return draw(st.sampled_from([b.relu, b.neg, b.exp, b.log] if x.dtype.is_float else [b.neg]))(x)


def _reduction(draw, pool):
    x = draw(st.sampled_from(pool))
    op = b.sum if 0 in x.shape else draw(st.sampled_from([b.sum, b.mean]))
    return op(x, _axes(draw, len(x.shape)), draw(st.booleans()))


def _structural(draw, pool):
    x = draw(st.sampled_from(pool))
    kind = draw(st.sampled_from(["reshape", "transpose", "expand_dims", "squeeze"]))
    if kind == "reshape" and 0 not in x.shape:
        count = math.prod(x.shape)
        return b.reshape(x, draw(st.sampled_from([[count], [1, count], [count, 1], [-1], [-1, 1]])))
    if kind == "transpose":
        return b.transpose(x, draw(st.permutations(range(len(x.shape)))))
    if kind == "expand_dims" and len(x.shape) < 4:
        return b.expand_dims(x, [draw(st.integers(0, len(x.shape)))])
    ones = [i for i, n in enumerate(x.shape) if n == 1]
    return b.squeeze(x, [i for i in ones if draw(st.booleans())])


def _indexing(draw, pool):
    x = draw(st.sampled_from(pool))
    kind = draw(st.sampled_from(["index", "slice", "gather"]))
    if kind == "index" and 0 not in x.shape:
        return b.index(x, [draw(st.integers(0, n - 1)) for n in x.shape])
    if kind == "gather" and x.shape and x.shape[0]:
        dtype = draw(st.sampled_from(["i32", "i64"]))
        return b.gather(x, b.literal([draw(st.integers(0, x.shape[0] - 1)) for _ in range(2)], dtype))
    starts = [draw(st.integers(0, n)) for n in x.shape]
    ends = [draw(st.integers(0, n)) for n in x.shape]
    return b.slice(x, starts, ends, [draw(st.integers(1, 2)) for _ in x.shape])


def _product(draw, pool):
    x = draw(st.sampled_from(pool))
    kind, n = draw(st.sampled_from(["dot", "matmul", "conv2d"])), draw(EXTENTS)
    if kind == "dot" and len(x.shape) in (1, 2) and 0 not in x.shape:
        return b.dot(x, pool.variable(x, draw(st.sampled_from([(x.shape[-1],), (x.shape[-1], n)]))))
    if kind == "matmul" and len(x.shape) >= 2 and 0 not in x.shape:
        return b.matmul(x, pool.variable(x, (x.shape[-1], n)))
    image = pool.variable(x, (1, draw(st.integers(3, 5)), draw(st.integers(3, 5)), 2))
    filter = pool.variable(x, (n, n, 2, 1))
    padding = draw(st.sampled_from(["Valid", "Same", ((0, 1), (2, 0))]))
    return b.conv2d(image, filter, (draw(st.integers(1, 2)), 1), padding)


STEPS = (_constant, _binary, _unary, _reduction, _structural, _indexing, _product)
PLAIN_NAMES = st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126), min_size=1)
"""Names that survive MLIR text in stock xDSL, which reads back some others as bytes."""
NAMES = st.one_of(st.sampled_from(["main", "f", "loss", "nan", "true", "x.y"]), st.text(st.characters(codec="utf-8"), min_size=1))


@st.composite
def modules(draw, any_name=NAMES) -> ModuleOp:
    """A module of one or two functions, in either profile, with any function and input names."""
    functions = []
    for name in draw(st.lists(any_name, min_size=1, max_size=2, unique=True)):
        profile = draw(st.sampled_from(["core-v1", "core-v1.1"]))
        names = draw(st.lists(any_name, min_size=1, max_size=3, unique=True))
        pool = Pool(b.variable(n, draw(st.sampled_from(DTYPES)), draw(SHAPES), profile) for n in names)
        for step in draw(st.lists(st.sampled_from(STEPS), min_size=5, max_size=16)):
            made = step(draw, pool)
            if math.prod(made.shape) <= 200:
                pool.append(made)
        some = draw(st.lists(st.sampled_from(pool), max_size=3))
        functions.append(b.function(name, *(pool if draw(st.booleans()) else some)))
    return ModuleOp(functions)
