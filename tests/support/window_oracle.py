"""Definitions of windowed ops, written out place by place."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np


def shared_equally(x: Any, v: Mapping[str, Any], g: Any) -> Any:
    """The gradient of a windowed extreme with properties `v`, place by place: the extremes of a window share its adjoint."""
    best = np.max if v["kind"] == "max" else np.min
    found = np.zeros(x.shape)
    for place in itertools.product(*map(range, g.shape)):
        inside = []
        for offset in itertools.product(*map(range, v["window_dims"])):
            at = [
                p * s + o * d - low
                for p, s, o, d, (low, _) in zip(place, v["strides"], offset, v["window_dilation"], v["padding"], strict=True)
            ]
            if any(n % b for n, b in zip(at, v["base_dilation"], strict=True)):
                continue
            at = [n // b for n, b in zip(at, v["base_dilation"], strict=True)]
            if all(0 <= n < size for n, size in zip(at, x.shape, strict=True)):
                inside.append(tuple(at))
        winners = [i for i in inside if x[i] == best([x[k] for k in inside])]
        for i in winners:
            found[i] += g[place] / len(winners)
    return found
