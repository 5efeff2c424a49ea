"""
Replacements for functions of torch that read data while torch exports them.

`equal` and `allclose` return a truth value of Python: here a tensor of rank 0. `cov` and `corrcoef` read the number of degrees of
freedom for a warning. The residuals of `linalg.lstsq` have a size that depends on data, but not by every driver. An index that is
an integer tensor of rank 0 is read as a number of Python; here it stays a tensor. `gaussian_nll_loss` reads whether a variance is
negative. `combinations` selects by a mask; a mask that is a list or an array of NumPy becomes the places where it is true.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import numpy as np

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")
"""Of `torch.linalg.lstsq`."""


def _equal(torch: Any, x: Any, y: Any) -> Any:
    """Return whether shapes and elements are equal; NaN is not equal to itself."""
    if x.dtype != y.dtype:
        raise ValueError(f"torch.equal of {x.dtype} and {y.dtype}, expected one dtype")
    return (x == y).all() if x.shape == y.shape else torch.zeros((), dtype=torch.bool, device=x.device)


def _allclose(torch: Any, x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return torch.isclose(x, y, rtol, atol, equal_nan).all()


def _covariance(torch: Any, x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """
    Return the covariances of the rows of `x`, by weighted means: numpy.cov has the formula.

    Degrees of freedom below 0 count as 0, which gives infinities and NaN, as in torch.
    """
    if x.ndim > 2:
        raise ValueError(f"torch.cov of rank {x.ndim}, expected at most 2")
    real = x.dtype.to_real() if x.dtype.is_floating_point or x.dtype.is_complex else torch.get_default_dtype()
    x = x if x.dtype.is_complex else x.to(real)
    x = x.reshape(1, -1) if x.ndim < 2 else x
    weights = torch.ones(x.shape[1:], dtype=real, device=x.device)
    for given in (fweights, aweights):
        weights = weights if given is None else weights * given
    total = weights.sum()
    subtracted = correction if aweights is None or not correction else correction * (weights * aweights).sum() / total
    centred = x - (x * weights).sum(1, keepdim=True) / total
    return ((centred * weights) @ centred.mH / (total - subtracted).clamp(min=0)).squeeze()


def _correlations(torch: Any, x: Any) -> Any:
    """Return the covariances of the rows of `x` relative to their deviations, clipped to 1."""
    found = _covariance(torch, x)
    if not found.ndim:
        return found / found
    deviations = found.diagonal().abs().sqrt()
    found = found / deviations[:, None] / deviations
    if not found.dtype.is_complex:
        return found.clip(-1, 1)
    return torch.complex(found.real.clip(-1, 1), found.imag.clip(-1, 1))


def _least_squares(torch: Any, a: Any, b: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """
    Return the solution of `torch.linalg.lstsq`, its residuals, ranks and singular values.

    `gels` takes matrices for ones of full rank: by Q and R. Other drivers give the shortest solution: by the pseudo-inverse.
    """
    rows, columns = a.shape[-2:]
    driver = "gelsy" if driver is None else driver
    if driver not in DRIVERS:
        raise ValueError(f"driver {driver!r} of torch.linalg.lstsq, expected one of {DRIVERS}")
    if driver in ("gelsd", "gelss") and rows > columns:
        raise ValueError(f"torch.linalg.lstsq of a tall matrix by {driver!r}, whose residuals have a size that depends on data")
    are_vectors = a.ndim == b.ndim + 1
    if a.ndim not in (b.ndim, b.ndim + 1) or b.shape[: a.ndim - 1] != a.shape[:-1]:
        raise ValueError(f"torch.linalg.lstsq of shapes {list(a.shape)} and {list(b.shape)}, expected equal batches and rows")
    sides = b.unsqueeze(-1) if are_vectors else b
    nothing = torch.zeros(0, dtype=a.dtype.to_real())
    residuals, ranks, singular = nothing, nothing.to(torch.int64), nothing
    if driver == "gels":
        found = _by_orthogonal_factors(torch, a, sides)
        if rows > columns:
            residuals = (a @ found - sides).abs().square().sum(-2)
    else:
        tolerance = {} if rcond is None else {"rtol": rcond}
        found, ranks = torch.linalg.pinv(a, **tolerance) @ sides, torch.linalg.matrix_rank(a, **tolerance)
        singular = nothing if driver == "gelsy" else torch.linalg.svdvals(a)
    if are_vectors:
        found = found.squeeze(-1)
    return torch.return_types.linalg_lstsq((found, residuals, ranks, singular))


def _by_orthogonal_factors(torch: Any, a: Any, b: Any) -> Any:
    """Return `R^-1 Q^H b` for `a = Q R`; for a wide `a` the shortest solution, `Q R^-H b` of its adjoint."""
    if a.shape[-2] >= a.shape[-1]:
        q, r = torch.linalg.qr(a)
        return torch.linalg.solve_triangular(r, q.mH @ b, upper=True)
    q, r = torch.linalg.qr(a.mH)
    return q @ torch.linalg.solve_triangular(r.mH, b, upper=False)


def _gaussian_loss(
    torch: Any, x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Return `(log var + (x - target)^2 / var) / 2` for variances of at least `eps`, whose slope stays; NaN for negative ones."""
    var = var if isinstance(var, torch.Tensor) else torch.full_like(x, var)
    if var.shape == x.shape[:-1]:
        var = var.unsqueeze(-1)
    if var.ndim != x.ndim or sum(m != n for m, n in zip(x.shape, var.shape, strict=True)) > 1:
        raise ValueError(f"variances of shape {list(var.shape)} of gaussian_nll_loss for {list(x.shape)}")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction {reduction!r} of gaussian_nll_loss, expected 'none', 'mean' or 'sum'")
    bounded = torch.where(var < eps, var - var.detach() + eps, var)
    bounded = torch.where(var < 0, torch.nan, bounded)
    loss = 0.5 * (bounded.log() + (x - target) ** 2 / bounded) + (0.5 * math.log(2 * math.pi) if full else 0)
    return loss if reduction == "none" else getattr(loss, reduction)()


def _is_number(torch: Any, index: Any) -> bool:
    """Return whether an index is an integer tensor of rank 0."""
    if not isinstance(index, torch.Tensor) or index.ndim:
        return False
    return index.dtype != torch.bool and not index.dtype.is_floating_point and not index.dtype.is_complex


def _wrapped(torch: Any, index: Any, size: Any) -> Any:
    """Return an index from 0 up, of shape [1]."""
    index = index.reshape(1).to(torch.int64)
    return torch.where(index < 0, index + size, index)


def _keys(key: Any) -> list[Any]:
    """Return the indices of all dimensions; those of masks that are lists or arrays of NumPy by the places that are true."""
    keys = list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]
    return [k for given in keys for k in ([part.tolist() for part in np.nonzero(given)] if _is_mask(given) else [given])]


def _is_mask(key: Any) -> bool:
    """Return whether an index is a list of truth values, or an array of NumPy of them."""
    if isinstance(key, np.ndarray):
        array = cast("np.ndarray[Any, Any]", key)
        return array.dtype == np.bool_ and array.ndim > 0
    values = cast("list[Any]", key) if isinstance(key, list) else []
    return bool(values) and all(isinstance(v, bool) for v in values)


def _plain(key: Any) -> Any:
    """Return an index without masks that are lists or arrays of NumPy."""
    keys = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
    return tuple(_keys(key)) if any(map(_is_mask, keys)) else cast("Any", key)


def _item(torch: Any, x: Any, key: Any) -> Any:
    """
    Return `x[key]`; of a dimension that a tensor of rank 0 indexes, one place is selected, and then taken by the number 0.

    `torch.export` itself makes `select` of it, unless another tensor is an index, too.
    """
    keys = _keys(key)
    if not any(_is_number(torch, k) for k in keys):
        return x[_plain(key)]
    used = [_used(torch, k) for k in keys]
    for i, k in enumerate(keys):
        if not _is_number(torch, k):
            continue
        after_dots = any(other is Ellipsis for other in keys[:i])
        dim = x.ndim - sum(used[i:]) if after_dots else sum(used[:i])
        if not 0 <= dim < x.ndim:
            raise IndexError(f"{sum(used)} indices for a tensor of rank {x.ndim}")
        x, keys[i] = x.index_select(dim, _wrapped(torch, k, x.shape[dim])), 0
    return x[tuple(keys)]


def _used(torch: Any, key: Any) -> int:
    """Return how many dimensions an index is for."""
    if key is None or key is Ellipsis or isinstance(key, bool):
        return 0
    return key.ndim if isinstance(key, torch.Tensor) and key.dtype in (torch.bool, torch.uint8) else 1


def _set_item(torch: Any, x: Any, key: Any, value: Any) -> None:
    """Assign `x[key] = value`; numbers and tensors of rank 0 together index one place of the first dimensions."""
    keys = _keys(key)
    if not any(_is_number(torch, k) for k in keys) or not all(_is_number(torch, k) or type(k) is int for k in keys):
        x[_plain(key)] = value
        return
    places = [torch.as_tensor(k, device=x.device) for k in keys]
    places = [_wrapped(torch, k, n) for k, n in zip(places, x.shape, strict=False)]
    x.index_put_(tuple(places), torch.as_tensor(value, dtype=x.dtype, device=x.device))


def _one_hot(torch: Any, x: Any, num_classes: int = -1) -> Any:
    """Return `one_hot`, of a count of classes that does not follow from data."""
    if num_classes == -1:
        raise ValueError("one_hot of as many classes as the data have: state num_classes=")
    return torch.nn.functional.one_hot(x, num_classes)


def _combinations(torch: Any, x: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """Return all selections of `r` elements of a vector, in their order."""
    if x.ndim != 1 or r < 0:
        raise ValueError(f"torch.combinations of {r} elements of a tensor of rank {x.ndim}, expected a vector")
    select = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = list(select(range(len(x)), r)) if r else []
    return x[torch.tensor(places)] if places else x.new_empty((0, r) if r else (0,))


def replacing(torch: Any, more: Mapping[Any, Callable[..., Any]] | None = None) -> Any:
    """Return a context in which calls of the functions, and of more, are calls of their replacements."""
    replaced: dict[Any, Callable[..., Any]] = {
        **(more or {}),
        torch.nn.functional.one_hot: _one_hot,
        torch.combinations: _combinations,
        torch.equal: _equal,
        torch.Tensor.equal: _equal,
        torch.allclose: _allclose,
        torch.Tensor.allclose: _allclose,
        torch.cov: _covariance,
        torch.Tensor.cov: _covariance,
        torch.corrcoef: _correlations,
        torch.Tensor.corrcoef: _correlations,
        torch.linalg.lstsq: _least_squares,
        torch.nn.functional.gaussian_nll_loss: _gaussian_loss,
        torch.Tensor.__getitem__: _item,
        torch.Tensor.__setitem__: _set_item,
    }

    class Replacing(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called = partial(replaced[func], torch) if func in replaced else func
            return called(*args, **(kwargs or {}))

    return Replacing()
