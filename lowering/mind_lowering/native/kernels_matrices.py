"""
The row of `kernels.py` for custom calls of linear algebra: decompositions, systems, inverses and determinants.

The functions of these calls are `mind_array`'s, for NumPy. NumPy has no LU decompositions and no triangular systems of its own,
and a call of Python costs more than a small matrix; in a loop it would take the whole loop from native code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from xdsl.ir import OpResult

from mind_dialect import ptir
from mind_dialect.ptir.literal import static_spec
from mind_dialect.ptir.types import F32, F64, SI32, PtirDType
from mind_dialect.types import Shape

from .matrix_steps import ALONE, SPECTRA, Factorization, LaneFactorization, fits_lanes
from .patterns import Builder, in_memory, row
from .systems import LinearSystem
from .target_info import TargetInfo
from .views import View, broadcast

SYSTEMS = ("solve", "inv", "det")
"""The functions of square matrices whose decomposition is on the stack."""
KINDS: dict[str, str] = {
    f"mind.linalg.{kind}.v1": kind for kind in ("lu", "solve_lower", "solve_upper", "cholesky", *SYSTEMS, *ALONE)
}
"""The targets that have kernels, and what is computed."""
_FAILURES: Sequence[Mapping[str, Any]] = ({}, {"failure": "error"}, {"failure": "nan"})
ATTRS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    **dict.fromkeys(("cholesky", "eigh", "eigvalsh", "svdvals"), _FAILURES),
    "qr": ({"mode": "reduced"}, {"mode": "complete"}),
    "svd": [{"full_matrices": full, **failure} for full in (False, True) for failure in _FAILURES],
}
"""The attributes of calls that have kernels, of others none."""
FAILING = ("solve", "inv", "cholesky", *SPECTRA)
"""Kinds that end the call for a matrix without a result, unless this is to be NaN."""
MOST_ROWS: Mapping[str, int] = {"cholesky": 256, **dict.fromkeys(SYSTEMS, 128), **ALONE}
"""Rows and columns of the largest matrices of kernels, by kind: of larger ones, LAPACK's blocks cost less."""


def _why_not(op: ptir.CustomCallOp, host: TargetInfo) -> str | None:
    """Return why a call has no kernel: whose it is, its dtype, its attributes, its shape."""
    values: dict[str, Any] = op.values()
    if (kind := KINDS.get(values["target"])) is None:
        return "its function is a Python function"
    given, found = [static_spec(x.type) for x in op.operands], [static_spec(x.type) for x in op.results]
    dtypes = dict.fromkeys(dtype for dtype, _ in given)
    if any(dtype not in (F32, F64) for dtype in dtypes):
        return f"kernels do not decompose matrices of {' and '.join(map(str, dtypes))}"
    attrs: Mapping[str, Any] = values["attrs"]
    if attrs not in ATTRS.get(kind, ({},)):
        return "its function does not take its attributes"
    shapes = [shape for _, shape in given]
    if len(dtypes) != 1 or not _are_operands(kind, shapes):
        return "its operands are not those of the function"
    if kind == "solve":
        is_result = len(found) == 1 and found[0][0] == given[0][0] and _is_solution(found[0][1], shapes)
    else:
        is_result = found == _results(kind, attrs, *given[-1])
    if not is_result:
        return "its results are not those of the function"
    most = max(shapes[0][-2:])
    if _in_lanes(op, kind, host) or (kind not in ALONE and most <= MOST_ROWS.get(kind, most)):
        return None
    return f"matrices do not have 1 to {MOST_ROWS[kind]} rows and columns, and NumPy has LAPACK"


def _used(op: ptir.CustomCallOp, kind: str) -> tuple[str, Sequence[OpResult]]:
    """Return the kind that has the results which are used, and these: without vectors, values alone."""
    rest = {"eigh": ("eigvalsh", op.results[:1], op.results[1:]), "svd": ("svdvals", op.results[1:2], op.results[::2])}
    if kind in rest and not any(x.uses for x in rest[kind][2]):
        return rest[kind][:2]
    return kind, op.results


def _in_lanes(op: ptir.CustomCallOp, kind: str, host: TargetInfo) -> bool:
    """Return whether matrices have lanes of their own."""
    kind, results = _used(op, kind)
    (dtype, shape), found = static_spec(op.operands[0].type), [static_spec(x.type)[1] for x in results]
    *batch, m, n = (*found[0][:-2], *shape[-2:]) if kind == "solve" else shape
    if _is_wide(kind, (m, n)):
        m, n, found = n, m, [found[-1]]
    return fits_lanes(kind, dtype, (*batch, m, n), found, host)


def _is_wide(kind: str, shape: Sequence[int]) -> bool:
    """Return whether a kernel takes matrices transposed."""
    return kind in ("svd", "svdvals") and shape[-2] < shape[-1]


def _are_operands(kind: str, shapes: Sequence[Shape]) -> bool:
    """Return whether shapes are those of operands: matrices, some square, and right-hand sides."""
    if len(shapes) != (2 if kind.startswith("solve") else 1) or any(len(shape) < 2 for shape in shapes):
        return False
    *batch, m, n = shapes[0]
    if kind not in ("lu", "qr", "geqrf", "svd", "svdvals") and m != n:
        return False
    return kind == "solve" or (
        all([*shape[:-1]] == [*batch, m] for shape in shapes) and (all(shape[-2] == n for shape in shapes[1:]))
    )


def _is_solution(result: Shape, operands: Sequence[Shape]) -> bool:
    """Return whether a shape is that of a solution: operands are broadcast over its leading axes."""
    a, b = operands
    leading = all(
        len(shape) <= len(result) and all(m in (1, n) for m, n in zip(shape[-3::-1], result[-3::-1], strict=False))
        for shape in operands
    )
    return leading and a[-1] == b[-2] and result[-2:] == b[-2:]


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
        case "eigh":
            return [(dtype, (*batch, n)), (dtype, shape)]
        case "eigvalsh":
            return [(dtype, (*batch, n))]
        case "svd":
            rows, columns = (m, n) if attrs["full_matrices"] else (k, k)
            return [(dtype, (*batch, m, rows)), (dtype, (*batch, k)), (dtype, (*batch, columns, n))]
        case "svdvals":
            return [(dtype, (*batch, k))]
        case _:
            return [(dtype, shape)]


def _turned(x: View) -> View:
    """Return matrices with rows for columns."""
    (*batch, m, n), (*apart, down, along) = x.shape, x.strides
    return replace(x, shape=(*batch, n, m), strides=(*apart, along, down))


def _factorized(build: Builder, op: ptir.CustomCallOp) -> None:
    given = [in_memory(build, x) for x in op.operands]
    values = op.values()
    kind, results = _used(op, KINDS[values["target"]])
    found = [build.target(result) for result in results]
    if not any(view.count for view in found):
        return
    name = op.results[0].name_hint or kind
    if kind == "solve":
        given = [broadcast(view, (*found[0].shape[:-2], *view.shape[-2:])) for view in given]
    if _is_wide(kind, given[0].shape):
        given, found = [_turned(given[0])], found if kind == "svdvals" else [_turned(found[2]), found[1], _turned(found[0])]
    failing = op if kind in FAILING and values["attrs"].get("failure") != "nan" else None
    if _in_lanes(op, kind, build.host):
        build.add(LaneFactorization(name, kind, given, found, failing))
    elif kind in SYSTEMS:
        build.add(LinearSystem(name, kind, op, given, found[0]))
    else:
        build.add(Factorization(name, kind, given, found, failing))


MATRICES = (row("matrices", ptir.CustomCallOp, _factorized, _why_not),)
"""Their row."""
