"""
Results of a graph that share memory with its arguments or with each other.

A program returns new arrays. Where PyTorch returns a view, the caller may write to it, and so may the next graph after a graph
break; these writes must reach the base. Such results are therefore built as views of the argument, or of the result that holds
their memory, by ops that autograd records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from mind_dialect.errors import error


class ResultView(NamedTuple):
    """A result as a view: shape, strides, and the offset from the first element of its base."""

    base: int
    of_argument: bool
    """The base is the argument of this number; otherwise the result of this number."""
    order: tuple[int, ...]
    """The axes of a result that is the base, outermost in memory first."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    tracked: bool
    """Has a derivative."""

    def holds(self, result: int) -> bool:
        """Return True for the view that is the whole memory of its base, in the strides of PyTorch."""
        return not self.of_argument and self.base == result


def shared_results(arguments: Sequence[Any], results: Sequence[Any]) -> dict[int, ResultView]:
    """Return the results that are views, from a run without data. E7001 where they overlap and none holds all their memory."""
    owners: dict[Any, tuple[bool, int]] = {_memory(x): (True, i) for i, x in enumerate(arguments)}
    members: dict[Any, list[int]] = {}
    for i, y in enumerate(results):
        if y.numel():
            members.setdefault(_memory(y), []).append(i)
    found: dict[int, ResultView] = {}
    for memory, group in members.items():
        if memory not in owners and not _overlap([results[i] for i in group]):
            continue
        of_argument, number = owners.get(memory) or (False, _holder(results, group))
        base = (arguments if of_argument else results)[number]
        for i in group:
            if i != number or of_argument or not base.is_contiguous():
                found[i] = _view(results[i], base, of_argument, number)
    return found


def restored(views: Mapping[int, ResultView], results: Sequence[Any], arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Return results whose views share memory as in PyTorch."""
    found = list(results)
    memories: dict[int, Any] = {}
    for i, view in views.items():
        if view.of_argument:
            base = arguments[view.base]
        else:
            base = memories.setdefault(view.base, results[view.base].permute(view.order).contiguous())
        base = base if view.tracked else base.detach()
        found[i] = base.as_strided(view.shape, view.strides, base.storage_offset() + view.offset)
    return tuple(found)


def _memory(x: Any) -> int:
    return x.untyped_storage()._cdata


def _overlap(tensors: Sequence[Any]) -> bool:
    """Return True if two tensors of one memory have an element in common; the parts of a split have none."""
    if len(tensors) == 1:
        return False
    if len({y.dtype for y in tensors}) > 1:
        return True
    taken = np.zeros(tensors[0].untyped_storage().nbytes() // tensors[0].itemsize, np.bool_)
    for y in tensors:
        part = as_strided(taken[y.storage_offset() :], tuple(y.shape), y.stride())
        if part.any():
            return True
        part[...] = True
    return False


def _holder(results: Sequence[Any], group: Sequence[int]) -> int:
    """Return the result that holds the whole memory of a group, one with a derivative first."""
    whole = [i for i in group if results[i].numel() * results[i].itemsize == results[i].untyped_storage().nbytes()]
    whole = [i for i in whole if results[i].permute(_order(results[i])).is_contiguous()]
    if not whole:
        raise error("E7001", "results that share memory which no result holds as a whole", option="model")
    return max(whole, key=lambda i: (results[i].requires_grad, -i))


def _order(x: Any) -> tuple[int, ...]:
    return tuple(sorted(range(x.ndim), key=lambda i: -x.stride(i)))


def _view(y: Any, base: Any, of_argument: bool, number: int) -> ResultView:
    if (y.dtype, y.is_conj(), y.is_neg()) != (base.dtype, base.is_conj(), base.is_neg()):
        raise error("E7001", "a result that shares memory with a tensor of another dtype, or with its conjugate", option="model")
    if y.requires_grad and not base.requires_grad:
        raise error("E7001", "a result with a derivative that shares memory with a tensor without one", option="model")
    offset = y.storage_offset() - base.storage_offset()
    return ResultView(number, of_argument, _order(base), tuple(y.shape), y.stride(), offset, y.requires_grad)
