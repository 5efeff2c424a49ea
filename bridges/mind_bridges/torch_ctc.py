"""
The loss of connectionist temporal classification, by a loop over time: torch has it as one op that it cannot export.

Sums over alignments are those of logarithms; a finite number stands for the logarithm of 0, so that derivatives stay finite.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any, cast

NOTHING = -1e30
"""Stands for the logarithm of 0."""


def ctc_loss(
    torch: Any,
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """Return the loss of `torch.nn.functional.ctc_loss`; its derivative is 0 where it is infinite."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction {reduction!r} of ctc_loss, expected 'none', 'mean' or 'sum'")
    is_one = log_probs.ndim == 2
    if is_one:
        log_probs, targets = log_probs.unsqueeze(1), targets.reshape(1, -1)
    batch = log_probs.shape[1]
    targets = _padded(torch, targets, target_lengths, batch)
    times, sizes = (torch.as_tensor(v).reshape(-1).to(torch.int64).expand(batch) for v in (input_lengths, target_lengths))
    loss = _negative_logarithms(torch, log_probs, targets, times, sizes, blank)
    is_infinite = loss > -NOTHING / 2
    loss = torch.where(is_infinite, 0.0 if zero_infinity else math.inf, loss)
    if reduction == "mean":
        return (loss / sizes.clamp(min=1)).mean()
    if reduction == "sum":
        return loss.sum()
    return loss[0] if is_one else loss


def _padded(torch: Any, targets: Any, lengths: Any, batch: int) -> Any:
    """Return targets of shape [batch, longest]; concatenated ones are split by lengths that are numbers."""
    if targets.ndim == 2:
        return targets.to(torch.int64)
    if not isinstance(lengths, list | tuple):
        raise ValueError("ctc_loss of concatenated targets whose lengths are a tensor: pad them to the shape (N, S)")
    counts = [int(n) for n in cast("Sequence[Any]", lengths)]
    starts = [sum(counts[:i]) for i in range(batch)]
    longest = max(counts, default=0)
    places = [min(start + i, max(sum(counts) - 1, 0)) for start in starts for i in range(longest)]
    if not places:
        return targets.new_zeros((batch, 0), dtype=torch.int64)
    return targets.to(torch.int64)[torch.tensor(places)].reshape(batch, longest)


def _labels(torch: Any, targets: Any, sizes: Any, blank: int) -> Any:
    """Return the targets of each sequence with a blank before, between and behind them; behind its size blanks alone."""
    batch, longest = targets.shape
    inside = torch.where(torch.arange(longest) < sizes[:, None], targets, blank)
    pairs = torch.stack([torch.full((batch, longest), blank), inside], 2).reshape(batch, 2 * longest)
    return torch.cat([pairs, torch.full((batch, 1), blank)], 1)


def _negative_logarithms(torch: Any, log_probs: Any, targets: Any, times: Any, sizes: Any, blank: int) -> Any:
    """Return the loss of each sequence, infinities as great numbers, by the sums over prefixes of alignments."""
    scan, count = importlib.import_module("torch._higher_order_ops.scan").scan, 2 * targets.shape[1] + 1
    labels, places = _labels(torch, targets, sizes, blank), torch.arange(count)
    seen = log_probs.gather(2, labels.expand(len(log_probs), -1, -1)).clamp(min=NOTHING)
    before = torch.nn.functional.pad(labels, (2, 0), value=blank)[:, :-2]
    skips = (labels != blank) & (labels != before)
    first = torch.where((places < 2) & (places <= 2 * sizes[:, None]), seen[0], NOTHING)

    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        alpha, time = carry
        one, two = (torch.nn.functional.pad(alpha, (n, 0), value=NOTHING)[:, :count] for n in (1, 2))
        found = torch.logsumexp(torch.stack([alpha, one, torch.where(skips, two, NOTHING)]), 0) + row
        found = torch.where(time < times[:, None], found.clamp(min=NOTHING), alpha)
        return (found, time + 1), time + 0

    carry: Any = (first, torch.ones((), dtype=torch.int64))
    if len(seen) > 1:
        carry, _ = scan(step, carry, seen[1:], dim=0)
    last = carry[0]
    ends = torch.stack([2 * sizes, (2 * sizes - 1).clamp(min=0)], 1)
    found = last.gather(1, ends)
    found = torch.where((ends[:, :1] == 0) & torch.tensor([False, True]), NOTHING, found)
    loss = -torch.logsumexp(found, 1)
    is_empty = torch.where(sizes == 0, 0.0, -NOTHING)
    return torch.where(times == 0, is_empty, loss)
