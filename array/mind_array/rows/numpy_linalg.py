"""NumPy's functions of linear algebra beyond the standard, as compositions of other rows."""

from __future__ import annotations

from typing import Any

from ..array import Array
from ..dtypes import real_of
from ..faults import fault
from ..operands import array_of
from ..table import PIECEWISE, SMOOTH, row
from .contraction import matmul
from .dtype_functions import finfo
from .linalg import inv, matrices, matrix_rank, norm, svdvals
from .manipulation import reshape
from .parts import abs_
from .pseudo_inverse import pinv
from .reductions import sum_


@row("linalg.cond", standard=False, module="linalg", category="floating", derivative=PIECEWISE)
def cond(x: Any, /, p: Any = None) -> Array:
    """Return the condition of matrices: a norm of order `p` times that of the inverse; by default that of singular values."""
    array = matrices(x, "cond", square=p not in (None, 2, -2))
    if p in (None, 2, -2):
        values = svdvals(array)
        first, last = values[..., 0], values[..., -1]
        return last / first if p == -2 else first / last
    return norm(array, p, axis=(-2, -1)) * norm(inv(array), p, axis=(-2, -1))


@row("linalg.multi_dot", standard=False, module="linalg", category="numeric", arrays=-1, derivative=SMOOTH)
def multi_dot(arrays: Any, /) -> Array:
    """Return the product of matrices, the ends of which may be vectors, in the order of fewest multiplications."""
    given = [array_of(x, "multi_dot") for x in arrays]
    inner = given[1:-1]
    if len(given) < 2 or any(x.ndim != 2 for x in inner) or any(x.ndim not in (1, 2) for x in (given[0], given[-1])):
        message = f"multi_dot: ranks {[x.ndim for x in given]}, expected at least two matrices; the first and last may be vectors"
        raise fault("E3002", message, expected=2, actual=len(given))
    first, last = given[0].ndim, given[-1].ndim
    given[0] = reshape(given[0], (1, -1)) if first == 1 else given[0]
    given[-1] = reshape(given[-1], (-1, 1)) if last == 1 else given[-1]
    found = _ordered(given)
    return reshape(found, (*found.shape[: first - 1], *found.shape[1:last])) if min(first, last) == 1 else found


def _ordered(given: list[Array]) -> Array:
    """Multiply matrices in the best order, by the recurrence over parts of the chain."""
    sizes = [x.shape[0] for x in given] + [given[-1].shape[1]]
    count = len(given)
    best: dict[tuple[int, int], tuple[float, int]] = {(i, i): (0.0, i) for i in range(count)}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            best[i, j] = min(
                (best[i, k][0] + best[k + 1, j][0] + float(sizes[i] * sizes[k + 1] * sizes[j + 1]), k) for k in range(i, j)
            )

    def product(i: int, j: int) -> Array:
        k = best[i, j][1]
        return given[i] if i == j else matmul(product(i, k), product(k + 1, j))

    return product(0, count - 1)


@row("linalg.lstsq", standard=False, module="linalg", category="floating", arrays=2, derivative=SMOOTH)
def lstsq(a: Any, b: Any, /, rcond: float | None = None) -> tuple[Array, Array, Array, Array]:
    """
    Return the least solutions of `a @ x == b` in the mean square, the squares that are left, the rank, and the singular values.

    The squares are those of each column of `b`, also of matrices without full rank, where NumPy has none.
    """
    array, sides = matrices(a, "lstsq", square=False), array_of(b, "lstsq", "b")
    if array.ndim != 2 or sides.ndim not in (1, 2) or sides.shape[0] != array.shape[0]:
        message = f"lstsq: shapes {list(array.shape)} and {list(sides.shape)}, expected a matrix, and as many rows"
        raise fault("E3003", message, dimension="rows", extents=(array.shape[0], sides.shape[0] if sides.ndim else 0))
    m, n = array.shape
    share = max(m, n) * finfo(real_of(array.dtype)).eps if rcond is None else max(rcond, 0.0)
    x = matmul(pinv(array, rtol=share), sides)
    rest = abs_(sides - matmul(array, x))
    left = sum_(rest * rest, axis=0)
    left = reshape(left, (-1,)) if m > n else reshape(left, (-1,))[:0]
    return x, left, matrix_rank(array, rtol=share), svdvals(array)


__all__ = ["cond", "lstsq", "multi_dot"]
