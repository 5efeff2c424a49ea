"""
Rows of `kernels.py` for custom calls of linear algebra: LU decompositions, triangular systems, small Cholesky factors.

The functions of these calls are `mind_array`'s, for NumPy. NumPy has no LU decompositions and no triangular systems of its own,
and a call of Python costs more than a small matrix; in a loop it would take the whole loop from native code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mind_dialect import ptir
from mind_dialect.ptir.literal import static_spec
from mind_dialect.ptir.types import F32, F64, SI32, PtirDType
from mind_dialect.types import Shape

from .matrices import Factorization
from .patterns import Builder, in_memory, row
from .target_info import TargetInfo

KINDS: dict[str, str] = {f"mind.linalg.{kind}.v1": kind for kind in ("lu", "solve_lower", "solve_upper", "cholesky")}
"""The targets that have kernels, and what is computed."""
MOST_ROWS = 256
"""Rows of the largest Cholesky factor of a kernel: of larger ones, LAPACK's blocks cost less."""


def _why_not(op: ptir.CustomCallOp, host: TargetInfo) -> str | None:
    """Return why a call has no kernel: whose it is, its dtype, its shape, or how it fails."""
    values: dict[str, Any] = op.values()
    if (kind := KINDS.get(values["target"])) is None:
        return "its function is a Python function"
    given = [static_spec(x.type) for x in op.operands]
    dtypes = dict.fromkeys(dtype for dtype, _ in given)
    if any(dtype not in (F32, F64) for dtype in dtypes):
        return f"kernels do not decompose matrices of {' and '.join(map(str, dtypes))}"
    if len(dtypes) != 1 or [shape for _, shape in given] != _operands(kind, given[-1][1]):
        return "its operands are not those of the function"
    if [static_spec(x.type) for x in op.results] != _results(kind, *given[-1]):
        return "its results are not those of the function"
    if values["attrs"] != ({"failure": "nan"} if kind == "cholesky" else {}):
        return "NumPy raises an error for a matrix without a factor" if kind == "cholesky" else "its function takes no attributes"
    if kind == "cholesky" and given[0][1][-1] > MOST_ROWS:
        return f"matrices have more than {MOST_ROWS} rows, and NumPy has LAPACK"
    return None


def _operands(kind: str, last: Shape) -> Sequence[Shape] | None:
    """The shapes of the operands if `last` is that of the last one, or None if it cannot be."""
    if len(last) < 2 or (kind == "cholesky" and last[-1] != last[-2]):
        return None
    return [(*last[:-1], last[-2]), last] if kind.startswith("solve") else [last]


def _results(kind: str, dtype: PtirDType, shape: Shape) -> Sequence[tuple[PtirDType, Shape]]:
    """The dtypes and shapes of the results."""
    *batch, m, n = shape
    places = [(SI32, (*batch, size)) for size in (min(m, n), m)] if kind == "lu" else []
    return [(dtype, shape), *places]


def _factorized(build: Builder, op: ptir.CustomCallOp) -> None:
    given = [in_memory(build, x) for x in op.operands]
    found = [build.target(result) for result in op.results]
    if any(view.count for view in found):
        kind = KINDS[op.values()["target"]]
        build.add(Factorization(op.results[0].name_hint or kind, kind, given, found))


MATRICES = (row("matrices", ptir.CustomCallOp, _factorized, _why_not),)
"""Their row."""
