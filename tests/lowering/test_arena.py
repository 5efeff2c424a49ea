"""Offsets that are planned before a run, against a search byte by byte."""

from __future__ import annotations

import random

import pytest

from mind_lowering.arena import Slot, place_by_size, place_in_order


def _random_slots(seed: int) -> list[Slot]:
    rng = random.Random(seed)
    end, spread = rng.choice([3, 40, 3000]), rng.choice([1, 5, 1000])
    firsts = [rng.randrange(end) for _ in range(rng.randrange(60))]
    return [Slot(rng.choice([0, 1, 3, 8, 8, 20]), first, first + rng.randrange(spread)) for first in firsts]


def _meet(one: Slot, other: Slot) -> bool:
    return one.first <= other.last and other.first <= one.last


def _lowest_free(slot: Slot, placed: list[Slot]) -> int:
    """Return the lowest offset at which no byte of a slot is that of another in use at a time."""
    taken = {byte for s in placed if _meet(s, slot) for byte in range(s.at, s.at + s.size)}
    return next(at for at in range(1 << 20) if taken.isdisjoint(range(at, at + slot.size)))


@pytest.mark.parametrize("seed", range(60))
def test_by_size_each_slot_has_the_lowest_offset_that_is_free(seed: int):
    slots = _random_slots(seed)
    total = place_by_size(slots)
    placed: list[Slot] = []
    for slot in sorted(slots, key=lambda s: (-s.size, s.first)):
        assert slot.at == _lowest_free(slot, placed), slot
        placed.append(slot)
    assert total == max((s.at + s.size for s in slots if s.size), default=0)


@pytest.mark.parametrize("seed", range(60))
def test_in_order_no_two_slots_in_use_at_a_time_share_a_byte(seed: int):
    slots = _random_slots(seed)
    total = place_in_order(slots)
    for i, one in enumerate(slots):
        assert 0 <= one.at <= one.at + one.size <= total
        for other in slots[:i]:
            if _meet(one, other) and one.size and other.size:
                assert one.at + one.size <= other.at or other.at + other.size <= one.at, (one, other)
