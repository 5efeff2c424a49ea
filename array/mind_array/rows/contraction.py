"""Products that sum over axes: `matmul`, `tensordot`, `vecdot`, `einsum`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import Any

from mind_dialect import ptir

from ..array import Array
from ..emit import emit
from ..faults import fault
from ..kinds import is_sequence
from ..operands import array_of, axis_of, broadcast, broadcast_shapes, promoted
from ..table import SMOOTH, row
from . import elementwise as e
from .indexing import diagonal_of
from .manipulation import moveaxis, ravel, reshaped, transposed
from .parts import conj


def dot_general(a: Array, b: Array, contract: tuple[Any, Any], batch: tuple[Any, Any] = ((), ())) -> Array:
    """The contraction of axes of `a` with axes of `b`, for each place along the batch axes, which lead the result."""
    names = ("contract_lhs", "contract_rhs", "batch_lhs", "batch_rhs")
    return emit(ptir.DotGeneralOp, a, b, **{n: tuple(v) for n, v in zip(names, (*contract, *batch), strict=True)})


@row("matmul", category="numeric", arrays=2, derivative=SMOOTH)
def matmul(x1: Any, x2: Any, /) -> Array:
    """Return the products of matrices, their leading axes broadcast; a vector is a row on the left, a column on the right."""
    (a, b), _ = promoted("matmul", "numeric", array_of(x1, "matmul"), array_of(x2, "matmul"))
    if a.ndim == 0 or b.ndim == 0:
        raise fault("E3002", "matmul of an array of rank 0, expected at least 1", expected="at least 1", actual=0)
    inner = a.shape[-1], b.shape[-2] if b.ndim > 1 else b.shape[0]
    if inner[0] != inner[1]:
        shapes = f"shapes {list(a.shape)} and {list(b.shape)}"
        message = f"matmul: {shapes}: the extents {inner[0]} and {inner[1]} that are summed over differ"
        raise fault("E3003", message, dimension="contracted", extents=inner)
    if b.ndim <= 2:
        return dot_general(a, b, ((a.ndim - 1,), (0,)))
    if a.ndim == 1:
        return dot_general(b, a, ((b.ndim - 2,), (0,)))
    leading = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = broadcast(a, (*leading, *a.shape[-2:])), broadcast(b, (*leading, *b.shape[-2:]))
    batch = tuple(range(len(leading)))
    return dot_general(a, b, ((a.ndim - 1,), (b.ndim - 2,)), (batch, batch))


@row("tensordot", category="numeric", arrays=2, derivative=SMOOTH)
def tensordot(x1: Any, x2: Any, /, axes: Any = 2) -> Array:
    """Return the sum of products over axes: the last `axes` of `x1` and the first of `x2`, or two sequences of axes."""
    (a, b), _ = promoted("tensordot", "numeric", array_of(x1, "tensordot"), array_of(x2, "tensordot"))
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise fault("E1110", f"tensordot: axes is {axes} for ranks {a.ndim} and {b.ndim}", argument="axes", value=axes)
        left, right = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        given: list[tuple[Any, ...]] = [tuple(s) if is_sequence(s) else (s,) for s in axes]
        if len(given) != 2:
            raise fault(
                "E1110", f"tensordot: axes is {axes}, expected a number or two sequences", argument="axes", value=str(axes)
            )
        left = tuple(axis_of(i, a.ndim, "tensordot") for i in given[0])
        right = tuple(axis_of(i, b.ndim, "tensordot") for i in given[1])
    return dot_general(a, b, (left, right))


@row("vecdot", category="numeric", arrays=2, derivative=SMOOTH)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Return the sum of `conj(x1) * x2` along an axis of both."""
    (a, b), _ = promoted("vecdot", "numeric", array_of(x1, "vecdot"), array_of(x2, "vecdot"))
    places = axis_of(axis, a.ndim, "vecdot"), axis_of(axis, b.ndim, "vecdot")
    extents = a.shape[places[0]], b.shape[places[1]]
    if extents[0] != extents[1]:
        message = f"vecdot: extents {extents[0]} and {extents[1]} along axis {axis}, expected equal"
        raise fault("E3003", message, dimension="contracted", extents=extents)
    a, b = moveaxis(a, places[0], -1), moveaxis(b, places[1], -1)
    shape = broadcast_shapes(a.shape, b.shape)
    product = e.multiply(broadcast(conj(a), shape), broadcast(b, shape))
    return emit(ptir.ReduceOp, product, kind="sum", axes=(product.ndim - 1,), keepdims=False)


@row("outer", standard=False, category="numeric", arrays=2, derivative=SMOOTH)
def outer(x1: Any, x2: Any, /) -> Array:
    """Return the products of all elements of one array, in row-major order, with all of another."""
    a, b = ravel(array_of(x1, "outer")), ravel(array_of(x2, "outer"))
    return e.multiply(reshaped(a, (*a.shape, 1)), reshaped(b, (1, *b.shape)))


# Einstein notation

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
FIRST_UNNAMED = 0xE000
"""A character for private use, which no user writes as a letter, and those after it."""


@row("einsum", standard=False, category="numeric", arrays=-1, derivative=SMOOTH)
def einsum(subscripts: str, /, *operands: Any, optimize: Any = None) -> Array:
    """
    Return sums of products by the letters of axes, as in `einsum("ij,jk->ik", a, b)`, two operands at a time.

    `...` stands for the other axes, as many as there are; axes of extent 1 are repeated. E1110 for subscripts that say nothing,
    E3002 for another rank than theirs, E3001 for extents that differ. `optimize` is accepted; each time, the two operands with
    the smallest product are taken, in their order among equals.
    """
    arrays, _ = promoted("einsum", "numeric", *(array_of(x, "einsum") for x in operands))
    inputs, output = _read_subscripts(subscripts, [x.ndim for x in arrays])
    terms = _spread([_diagonal(x, letters) for x, letters in zip(arrays, inputs, strict=True)])
    while len(terms) > 1:
        i, j = _next_pair(terms, output)
        b, a = terms.pop(j), terms.pop(i)
        later = set(output).union(*(letters for _, letters in terms))
        terms.insert(0, _product(a, b, later))
    x, letters = terms[0]
    x, letters = _summed(x, letters, set(output))
    return transposed(x, tuple([letters.index(c) for c in output]))


def _next_pair(terms: Sequence[tuple[Array, str]], output: str) -> tuple[int, int]:
    """Return the first two operands with the least elements in their product; the first two where dimensions have no size."""
    sizes = {c: n for x, letters in terms for c, n in zip(letters, x.shape, strict=True)}
    if len(terms) == 2 or any(isinstance(n, str) for n in sizes.values()):
        return 0, 1

    def count(pair: tuple[int, int]) -> int:
        others = [letters for k, (_, letters) in enumerate(terms) if k not in pair]
        kept = set(output).union(*others).intersection(terms[pair[0]][1] + terms[pair[1]][1])
        return prod(sizes[c] for c in kept)

    return min(combinations(range(len(terms)), 2), key=count)


def _read_subscripts(text: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; the axes of `...` are characters that are no letters."""
    plain = text.replace(" ", "").replace("...", ELLIPSIS)
    left, arrow, output = plain.partition("->")
    inputs = left.split(",")
    if not all(c.isalpha() or c == ELLIPSIS for c in (left + output).replace(",", "")) or len(inputs) != len(ranks):
        message = f"einsum: {text!r} for {len(ranks)} operands, expected letters of axes such as 'ij,jk->ik'"
        raise fault("E1110", message, argument="subscripts", value=text)
    if not arrow:
        once = sorted(c for c in set(left) - {",", ELLIPSIS} if left.count(c) == 1)
        output = "".join([ELLIPSIS * (ELLIPSIS in left), *once])
    rest = [rank - len(letters.replace(ELLIPSIS, "")) for letters, rank in zip(inputs, ranks, strict=True)]
    for letters, rank, others in zip(inputs, ranks, rest, strict=True):
        if others < 0 or (others and ELLIPSIS not in letters):
            shown = letters.replace(ELLIPSIS, "...")
            message = f"einsum: {shown!r} for an operand of rank {rank}, expected a letter per axis"
            raise fault("E3002", message, expected=len(letters.replace(ELLIPSIS, "")), actual=rank)
    most = max(rest)
    is_read = len({*output}) == len(output) and {*output} <= {*left} and (ELLIPSIS in output or not most)
    if not is_read or any(letters.count(ELLIPSIS) > 1 for letters in inputs):
        what = "letters of inputs, each once, and '...' if inputs have it"
        shown = output.replace(ELLIPSIS, "...")
        raise fault("E1110", f"einsum: output {shown!r} of {text!r}, expected {what}", argument="subscripts", value=text)

    def written(letters: str, count: int) -> str:
        return letters.replace(ELLIPSIS, "".join(chr(FIRST_UNNAMED + i) for i in reversed(range(count))))

    return [written(letters, n) for letters, n in zip(inputs, rest, strict=True)], written(output, most)


def _spread(terms: list[tuple[Array, str]]) -> list[tuple[Array, str]]:
    """The operands without axes of extent 1 whose letter has another extent elsewhere."""
    wide = {c for x, letters in terms for c, n in zip(letters, x.shape, strict=True) if n != 1}

    def narrowed(x: Array, letters: str) -> tuple[Array, str]:
        kept = [i for i, c in enumerate(letters) if x.shape[i] != 1 or c not in wide]
        return reshaped(x, tuple(x.shape[i] for i in kept)), "".join(letters[i] for i in kept)

    return [narrowed(x, letters) for x, letters in terms]


def _diagonal(x: Array, letters: str) -> tuple[Array, str]:
    """An operand without repeated letters."""
    for c in dict.fromkeys(letters):
        while letters.count(c) > 1:
            i = letters.index(c)
            j = letters.index(c, i + 1)
            x = diagonal_of(moveaxis(x, (i, j), (-2, -1)), 0)
            letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + c
    return x, letters


def _summed(x: Array, letters: str, kept: set[str]) -> tuple[Array, str]:
    axes = tuple(i for i, c in enumerate(letters) if c not in kept)
    if axes:
        x = emit(ptir.ReduceOp, x, kind="sum", axes=axes, keepdims=False)
    return x, "".join(c for c in letters if c in kept)


def _product(a: tuple[Array, str], b: tuple[Array, str], later: set[str]) -> tuple[Array, str]:
    """The product of two operands, letters that nothing needs any more summed over."""
    (x, left), (y, right) = _summed(*a, later | set(b[1])), _summed(*b, later | set(a[1]))
    both = [c for c in left if c in right]
    batch, contract = [c for c in both if c in later], [c for c in both if c not in later]
    rest = [c for letters in (left, right) for c in letters if c not in both]
    if not contract:
        spread = [_along_letters(v, letters, [*batch, *rest]) for v, letters in ((x, left), (y, right))]
        return e.multiply(*spread), "".join([*batch, *rest])
    places = [tuple(letters.index(c) for c in group) for group in (contract, batch) for letters in (left, right)]
    found = dot_general(x, y, (places[0], places[1]), (places[2], places[3]))
    return found, "".join([*batch, *rest])


def _along_letters(x: Array, letters: str, wanted: Sequence[str]) -> Array:
    """Return an operand with an axis for each wanted letter, of extent 1 where it has none."""
    there = transposed(x, tuple([letters.index(c) for c in wanted if c in letters]))
    sizes = dict(zip(letters, x.shape, strict=True))
    return reshaped(there, tuple(sizes.get(c, 1) for c in wanted))
