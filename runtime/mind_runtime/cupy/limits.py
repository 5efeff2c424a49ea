"""The best rates of GPUs, from what CUDA says of them."""

from __future__ import annotations

from ..spans import Limits

_LANES = {"80": 64}
"""The number of f32 units of a multiprocessor, by the number of the architecture; 128 for others."""
_TENSOR = {"80": 2048, "86": 1024, "87": 2048, "89": 1024, "90": 4096, "100": 8192, "103": 8192}
"""The operations in f16 or bf16 that the tensor cores of a multiprocessor do in a cycle, additions included."""


def limits_of(name: str, capability: str, attributes: dict[str, int]) -> Limits:
    """
    Return the best rates of a GPU, from its clocks (in kHz), the width of its bus (in bits), and its multiprocessors.

    >>> h100 = {"MemoryClockRate": 2619000, "GlobalMemoryBusWidth": 5120, "ClockRate": 1980000, "MultiProcessorCount": 132}
    >>> found = limits_of("H100", "90", h100)
    >>> round(found.bandwidth / 1e9), round(found.flops["f32"] / 1e12), round(found.flops["bf16"] / 1e12)
    (3352, 67, 1071)
    """
    clock, processors = attributes["ClockRate"] * 1e3, attributes["MultiProcessorCount"]
    bandwidth = 2.0 * attributes["MemoryClockRate"] * 1e3 * attributes["GlobalMemoryBusWidth"] / 8
    flops = {"f32": 2.0 * _LANES.get(capability, 128) * processors * clock}
    if capability in _TENSOR:
        narrow = _TENSOR[capability] * processors * clock
        flops |= {"bf16": narrow, "f16": narrow, "tf32": narrow / 2}
    return Limits(name, bandwidth, flops)
