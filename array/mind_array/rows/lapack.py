"""
Iterations of LAPACK, for matrices of finite numbers alone.

Given infinities, LAPACK may not return at all, or return vectors that are none without an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

_SINGULAR_VALUES = "SVD did not converge"
_EIGENVALUES = "Eigenvalues did not converge"


def _iterated(xp: Any, compute: Callable[[Any], Any], x: Any, issue: str, *, lower: bool = False, failure: str = "error") -> Any:
    """
    Return one or more arrays computed of finite matrices, of which `lower` reads the lower triangle alone.

    A matrix with infinities or NaN is an error, `issue`; with `failure="nan"` its results are NaN.
    """
    x = xp.tril(x) if lower else x
    finite = xp.isfinite(x).all(axis=(-2, -1))
    if finite.all():
        return compute(x)
    if failure == "error":
        raise np.linalg.LinAlgError(issue)
    found = compute(xp.where(finite[..., None, None], x, x.dtype.type(0)))
    several = cast("tuple[Any, ...]", found if isinstance(found, tuple) else (found,))
    apart = [finite.reshape((*finite.shape, *(1,) * (y.ndim - finite.ndim))) for y in several]
    results = [xp.where(kept, y, y.dtype.type(math.nan)) for kept, y in zip(apart, several, strict=True)]
    return tuple(results) if len(results) > 1 else results[0]


def svd(xp: Any, x: Any, *, full_matrices: bool, failure: str = "error") -> Any:
    """Return the left vectors, the singular values and the right vectors."""
    return _iterated(xp, lambda y: tuple(xp.linalg.svd(y, full_matrices=full_matrices)), x, _SINGULAR_VALUES, failure=failure)


def svdvals(xp: Any, x: Any, *, failure: str = "error") -> Any:
    """Return the singular values."""
    return _iterated(xp, lambda y: xp.linalg.svd(y, compute_uv=False), x, _SINGULAR_VALUES, failure=failure)


def eigh(xp: Any, x: Any, *, failure: str = "error") -> Any:
    """Return the eigenvalues and the vectors."""
    return _iterated(xp, lambda y: tuple(xp.linalg.eigh(y)), x, _EIGENVALUES, lower=True, failure=failure)


def eigvalsh(xp: Any, x: Any, *, failure: str = "error") -> Any:
    """Return the eigenvalues."""
    return _iterated(xp, xp.linalg.eigvalsh, x, _EIGENVALUES, lower=True, failure=failure)
