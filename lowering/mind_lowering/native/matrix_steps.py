"""
Steps of small and of single matrices: decompositions, triangular and other systems, inverses, determinants.

Single matrices, and those of a batch that are not small, are computed row by row (`matrices.py`); small ones of a batch one in
each lane of a vector (`lane_matrices.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import F64, PtirDType
from mind_dialect.types import Shape

from .line_axes import LEAST_LANES, LineAxes, line_axes, width_of
from .memory import Access, buffers_of
from .steps import NativeStep
from .target_info import TargetInfo
from .views import View, form

RATE = 4.0
"""Operations in a nanosecond, about."""
MOST_ROOM = 64 << 10
"""Bytes of the matrices of a unit of work in lanes, at most: they are on the stack, and in cache."""
SPECTRA = ("eigh", "eigvalsh", "svd", "svdvals")
"""Kinds that are computed by iterations."""
MOST_IN_SPECTRA = 16
"""Columns of these in lanes, or rows if they are fewer, at most: larger ones take LAPACK fewer iterations."""
LONGEST = 2.5
"""Rows of these for each of the most columns, or columns for each of the most rows, at most."""
SWEEPS = 8
"""Sweeps over all pairs of rows that such matrices take, about."""
ALONE: Mapping[str, int] = {**dict.fromkeys(("slogdet", "qr", "geqrf"), 24), **dict.fromkeys(SPECTRA, 8)}
"""
Kinds that have no other kernels, so that few matrices and single ones are in lanes, or one lane, too.

Of matrices with more rows or columns than these, LAPACK's blocks cost less than a call of Python.
"""


@dataclass
class Factorization(NativeStep):
    """
    Matrices that are decomposed, or triangular systems that are solved, by `kind`; `found` are dense.

    - `lu`: of `x` L and U in one array, the pivots, and the order of the rows;
    - `cholesky`: of `x`, whose lower triangle is read, the lower factor, NaN if there is none;
    - `solve_lower`, `solve_upper`: of `a`, of which one triangle is read, and `b` the solution of `a x = b`.
    """

    name: str
    kind: str
    given: Sequence[View]
    found: Sequence[View]
    failing: PtirOp | None = None
    """The op that ends the call for a matrix without a result."""

    @property
    def sources(self) -> Sequence[PtirOp]:
        return () if self.failing is None else (self.failing,)

    @property
    def addresses(self) -> Sequence[View]:
        return [*self.given, *self.found]

    def access(self) -> Access:
        return Access(buffers_of(self.given), buffers_of(self.found))

    @property
    def flops(self) -> int:
        """Two for each product that is subtracted."""
        m, n = self.found[0].shape[-2:]
        k, batch = min(m, n), prod(self.found[0].shape[:-2])
        each = {"lu": k * (m * n - k * (m + n) // 2 + k * k // 3), "cholesky": m**3 // 6}.get(self.kind, m * m * n // 2)
        return 2 * batch * each

    def cost(self, host: TargetInfo) -> float:
        """That of its products, and of a division for each element."""
        return self.flops / RATE + 2.0 * self.found[0].count

    def key(self) -> Hashable:
        return self.kind, self.failing is None, tuple(map(form, self.addresses))

    def contents(self) -> str:
        return f"{self.kind} of {' and '.join(str(list(view.shape)) for view in self.given)}"


@dataclass
class LaneFactorization(Factorization):
    """
    Small matrices, of a batch one in each lane of a vector; of the kinds of `Factorization` and of `LinearSystem`, and

    - `slogdet`: of `x` the sign of the determinant and the logarithm of its magnitude;
    - `qr`: of `x` Q and R, `geqrf`: of `x` R with the reflectors below it, their scales, and Q, as LAPACK has them;
    - `eigh`: of `x`, whose lower triangle is read, the eigenvalues and the vectors, `eigvalsh`: the eigenvalues;
    - `svd`: of `x`, with at least as many rows as columns, the left vectors, the singular values and the right vectors,
      `svdvals`: the singular values.
    """

    @property
    def total(self) -> PtirDType:
        """The dtype that is computed in."""
        return total_of(self.kind, self.given[0].dtype)

    @property
    def shape(self) -> Sequence[int]:
        """The rows and columns of a matrix."""
        return self.given[0].shape[-2:]

    @property
    def batch_rank(self) -> int:
        """The number of leading axes."""
        return len(self.given[0].shape) - 2

    @property
    def axes(self) -> LineAxes:
        """The axes of the batch; one of extent 1 for a single matrix."""
        batch = self.given[0].shape[: self.batch_rank]
        found = line_axes(batch, [[view.strides[a] for view in self.addresses] for a in range(len(batch))])
        return found or LineAxes((1,), ((0,) * len(self.addresses),))

    def width(self, host: TargetInfo) -> int:
        """The number of lanes."""
        return _lanes_of(self.kind, self.given[0].dtype, self.rooms, self.axes.extents[-1], host)

    @property
    def rooms(self) -> Sequence[tuple[int, int, bool]]:
        """Rows and columns of the matrices on the stack, and whether they are of places."""
        return rooms_of(self.kind, self.shape, [view.shape[-1:] for view in self.found])

    @property
    def flops(self) -> int:
        """For each pair of rows in each sweep, six for each element of the two."""
        if self.kind not in SPECTRA:
            return super().flops
        elements = sum(m * n for m, n, _ in self.rooms if n > 1)
        return prod(self.given[0].shape[: self.batch_rank]) * 3 * SWEEPS * (self.shape[-1] - 1) * elements

    def cost(self, host: TargetInfo) -> float:
        """A fifth of what rows take, by the elements of all matrices and the columns that change each, in each sweep."""
        (m, n), elements = self.shape, sum(m * n for m, n, _ in self.rooms)
        sweeps = SWEEPS if self.kind in SPECTRA else 1
        return prod(self.given[0].shape[: self.batch_rank]) * elements * (min(m, n) / RATE + 2.0) / 5 * sweeps

    def contents(self) -> str:
        return f"{super().contents()}{', in lanes' if prod(self.axes.extents) > 1 else ''}"


def total_of(kind: str, dtype: PtirDType) -> PtirDType:
    """Return what matrices in lanes are computed in: for what NumPy has a function for, as that does, in f64."""
    return dtype if kind in ("lu", "solve_lower", "solve_upper") else F64


def rooms_of(kind: str, shape: Sequence[int], found: Sequence[Sequence[int]]) -> Sequence[tuple[int, int, bool]]:
    """Return rows and columns of the matrices in lanes, and which are of places, given the last extents of the results."""
    m, n = shape
    k = min(m, n)
    match kind:
        case "lu":
            rest = [(m, 1, True), (k, 1, True)]
        case "qr":
            rest = [(m, found[0][-1], False), (k, 1, False)]
        case "geqrf":
            rest = [(m, found[2][-1], False), (k, 1, False)]
        case "eigh" | "eigvalsh":
            rest = [(n, 1, False), (n, n, False)][: len(found)]
        case "svd":
            rest = [(n, 1, False), (m, found[0][-1], False), (n, n, False), (n, 1, False)]
        case "svdvals":
            rest = [(n, 1, False)]
        case "solve" | "solve_lower" | "solve_upper" | "inv":
            rest = [(m, found[0][-1], False)]
        case _:
            rest = []
    return [(m, n, False), *rest]


def _lanes_of(kind: str, dtype: PtirDType, rooms: Sequence[tuple[int, int, bool]], count: int, host: TargetInfo) -> int:
    """Return the number of matrices at once, of `count`; on machines of short vectors more than one of these holds."""
    size = total_of(kind, dtype).size
    width = width_of(max(LEAST_LANES, host.lanes(size)), count)
    while width and sum(m * n for m, n, _ in rooms) * width * size > MOST_ROOM:
        width //= 2
    return width


def _is_small(shape: Shape, columns: int) -> bool:
    """Return whether matrices have few columns, or rows, and not many more of the other: LAPACK decomposes long ones first."""
    least, most = sorted(shape[-2:])
    return least <= columns and most <= LONGEST * columns


def fits_lanes(kind: str, dtype: PtirDType, shape: Shape, found: Sequence[Shape], host: TargetInfo) -> bool:
    """Return whether a batch has enough matrices, and these are so small, that each has a lane of its own."""
    if 0 in shape or (kind in SPECTRA and not _is_small(shape, MOST_IN_SPECTRA)):
        return False
    width = _lanes_of(kind, dtype, rooms_of(kind, shape[-2:], found), max(shape[:-2], default=1), host)
    most = ALONE.get(kind, 0)
    alone = _is_small(shape, most) if kind in SPECTRA else max(shape[-2:]) <= most
    return width >= (1 if alone else LEAST_LANES)
