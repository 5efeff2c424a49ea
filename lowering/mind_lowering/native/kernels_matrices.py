"""
Rows of `kernels.py` for custom calls of linear algebra: LU decompositions, triangular systems, small Cholesky factors, systems of
equations, inverses and determinants.

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
from .systems import LinearSystem
from .target_info import TargetInfo

SYSTEMS = ("solve", "inv", "det")
"""The functions of square matrices whose decomposition is on the stack."""
KINDS: dict[str, str] = {f"mind.linalg.{kind}.v1": kind for kind in ("lu", "solve_lower", "solve_upper", "cholesky", *SYSTEMS)}
"""The targets that have kernels, and what is computed."""
FAILURES = ({"failure": "error"}, {"failure": "nan"})
"""Attributes of a Cholesky decomposition: what a matrix without a factor means; by default an error."""
MOST_ROWS = 256
"""Rows of the largest Cholesky factor of a kernel: of larger ones, LAPACK's blocks cost less."""
MOST_SYSTEM_ROWS = 128
"""Rows of the largest matrix of `SYSTEMS`, which the stack has room for: of larger ones, LAPACK's blocks cost less."""


def _why_not(op: ptir.CustomCallOp, host: TargetInfo) -> str | None:
    """Return why a call has no kernel: whose it is, its dtype, its shape, or how it fails."""
    values: dict[str, Any] = op.values()
    if (kind := KINDS.get(values["target"])) is None:
        return "its function is a Python function"
    given = [static_spec(x.type) for x in op.operands]
    dtypes = dict.fromkeys(dtype for dtype, _ in given)
    if any(dtype not in (F32, F64) for dtype in dtypes):
        return f"kernels do not decompose matrices of {' and '.join(map(str, dtypes))}"
    if kind in SYSTEMS:
        return _why_no_system(op, kind)
    if len(dtypes) != 1 or [shape for _, shape in given] != _operands(kind, given[-1][1]):
        return "its operands are not those of the function"
    if [static_spec(x.type) for x in op.results] != _results(kind, *given[-1]):
        return "its results are not those of the function"
    if values["attrs"] not in ([{}, *FAILURES] if kind == "cholesky" else [{}]):
        return "its function does not take its attributes"
    if kind == "cholesky" and given[0][1][-1] > MOST_ROWS:
        return f"matrices have more than {MOST_ROWS} rows, and NumPy has LAPACK"
    return None


def _why_no_system(op: ptir.CustomCallOp, kind: str) -> str | None:
    """Return why a function of square matrices has no kernel."""
    given, results = ([static_spec(x.type) for x in values] for values in (op.operands, op.results))
    (dtype, shape), result = given[0], results[0][1]
    n = shape[-1] if shape else 0
    if len(given) != (2 if kind == "solve" else 1) or any(d != dtype or len(s) < 2 or s[-2] != n for d, s in given):
        return "its operands are not those of the function"
    wanted = {"inv": shape, "det": shape[:-2], "solve": (*result[:-2], *given[-1][1][-2:])}[kind]
    if shape[-1] != shape[-2] or results != [(dtype, wanted)]:
        return "its results are not those of the function"
    if kind == "solve" and not all(_is_broadcast(s[:-2], result[:-2]) for _, s in given):
        return "its results are not those of the function"
    if op.values()["attrs"]:
        return "its function does not take its attributes"
    return f"matrices have more than {MOST_SYSTEM_ROWS} rows, and NumPy has LAPACK" if n > MOST_SYSTEM_ROWS else None


def _is_broadcast(shape: Shape, result: Shape) -> bool:
    """Return whether axes are broadcast to those of a result."""
    return len(shape) <= len(result) and all(m in (1, n) for m, n in zip(shape[::-1], result[::-1], strict=False))


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
    kind = KINDS[op.values()["target"]]
    if kind in SYSTEMS:
        if found[0].count:
            build.add(LinearSystem(op.results[0].name_hint or kind, kind, op, given, found[0]))
    elif any(view.count for view in found):
        fails = kind == "cholesky" and op.values()["attrs"] != FAILURES[1]
        build.add(Factorization(op.results[0].name_hint or kind, kind, given, found, op if fails else None))


MATRICES = (row("matrices", ptir.CustomCallOp, _factorized, _why_not),)
"""Their row."""
