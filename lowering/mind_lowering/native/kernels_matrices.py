"""
The row of `kernels.py` for custom calls of linear algebra: decompositions, systems, inverses and determinants.

The functions of these calls are `mind_array`'s, for NumPy. NumPy has no LU decompositions and no triangular systems of its own,
and a call of Python costs more than a small matrix; in a loop it would take the whole loop from native code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mind_dialect import ptir
from mind_dialect.ptir.literal import static_spec
from mind_dialect.ptir.types import F32, F64, SI32, PtirDType
from mind_dialect.types import Shape

from .matrix_steps import ALONE, MOST_ALONE, Factorization, LaneFactorization, fits_lanes
from .patterns import Builder, in_memory, row
from .target_info import TargetInfo

KINDS: dict[str, str] = {f"mind.linalg.{kind}.v1": kind for kind in ("lu", "solve_lower", "solve_upper", "cholesky", *ALONE)}
"""The targets that have kernels, and what is computed."""
MOST_ROWS = 256
"""Rows of the largest Cholesky factor of a kernel: of larger ones, LAPACK's blocks cost less."""
ATTRS: Mapping[str, Sequence[Mapping[str, str]]] = {
    "cholesky": ({}, {"failure": "error"}, {"failure": "nan"}),
    "qr": ({"mode": "reduced"}, {"mode": "complete"}),
}
"""The attributes of calls that have kernels, of others none."""


def _why_not(op: ptir.CustomCallOp, host: TargetInfo) -> str | None:
    """Return why a call has no kernel: whose it is, its dtype, its shape, or how it fails."""
    values: dict[str, Any] = op.values()
    if (kind := KINDS.get(values["target"])) is None:
        return "its function is a Python function"
    given, found = [static_spec(x.type) for x in op.operands], [static_spec(x.type) for x in op.results]
    dtypes = dict.fromkeys(dtype for dtype, _ in given)
    if any(dtype not in (F32, F64) for dtype in dtypes):
        return f"kernels do not decompose matrices of {' and '.join(map(str, dtypes))}"
    if len(dtypes) != 1 or [shape for _, shape in given] != _operands(kind, given[-1][1]):
        return "its operands are not those of the function"
    attrs: Mapping[str, Any] = values["attrs"]
    if attrs not in ATTRS.get(kind, ({},)):
        return "its function takes other attributes"
    if found != _results(kind, attrs, *given[-1]):
        return "its results are not those of the function"
    return None if _in_lanes(op, kind, host) else _why_not_single(kind, attrs, given[0][1])


def _why_not_single(kind: str, attrs: Mapping[str, Any], shape: Shape) -> str | None:
    """Return why matrices that have no lanes have no kernel."""
    if kind in ALONE:
        return f"matrices have more than {MOST_ALONE} rows or columns, and NumPy has LAPACK"
    if kind == "cholesky" and attrs.get("failure") != "nan":
        return "NumPy raises an error for a matrix without a factor"
    if kind == "cholesky" and shape[-1] > MOST_ROWS:
        return f"matrices have more than {MOST_ROWS} rows, and NumPy has LAPACK"
    return None


def _in_lanes(op: ptir.CustomCallOp, kind: str, host: TargetInfo) -> bool:
    """Return whether matrices have lanes of their own."""
    dtype, shape = static_spec(op.operands[0].type)
    return fits_lanes(kind, dtype, shape, [static_spec(x.type)[1] for x in op.results], host)


def _operands(kind: str, last: Shape) -> Sequence[Shape] | None:
    """The shapes of the operands if `last` is that of the last one, or None if it cannot be."""
    if len(last) < 2 or (kind in ("cholesky", "inv", "det", "slogdet") and last[-1] != last[-2]):
        return None
    return [(*last[:-1], last[-2]), last] if kind.startswith("solve") else [last]


def _results(kind: str, attrs: Mapping[str, Any], dtype: PtirDType, shape: Shape) -> Sequence[tuple[PtirDType, Shape]]:
    """The dtypes and shapes of the results."""
    *batch, m, n = shape
    k = min(m, n)
    match kind:
        case "lu":
            return [(dtype, shape), *((SI32, (*batch, size)) for size in (k, m))]
        case "det":
            return [(dtype, tuple(batch))]
        case "slogdet":
            return [(dtype, tuple(batch))] * 2
        case "qr":
            rows = m if attrs["mode"] == "complete" else k
            return [(dtype, (*batch, m, rows)), (dtype, (*batch, rows, n))]
        case "geqrf":
            return [(dtype, shape), (dtype, (*batch, k)), (dtype, (*batch, m, k))]
        case _:
            return [(dtype, shape)]


def _factorized(build: Builder, op: ptir.CustomCallOp) -> None:
    given = [in_memory(build, x) for x in op.operands]
    found = [build.target(result) for result in op.results]
    if not any(view.count for view in found):
        return
    kind = KINDS[op.values()["target"]]
    name = op.results[0].name_hint or kind
    if _in_lanes(op, kind, build.host):
        raises = kind == "cholesky" and op.values()["attrs"].get("failure") != "nan"
        build.add(LaneFactorization(name, kind, given, found, op, raises))
    else:
        build.add(Factorization(name, kind, given, found))


MATRICES = (row("matrices", ptir.CustomCallOp, _factorized, _why_not),)
"""Their row."""
